"""Sections 1 to 3 and 8: the definitions, how they imply each other, and alpha from promises."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np

from barrow.accounting import price
from barrow.audit.additive import audit_additive
from barrow.mechanisms import item_wise, reduced
from barrow.mechanisms.histograms import histogram_noise
from barrow.mechanisms.user_level.noise import user_level_noise
from barrow.mechanisms.user_level.subsets import SubsetSelection
from barrow.promises import DiscreteEmd, Emd, Policy, UserLevel, emd_rate_from, to_emd, to_user_level
from barrow.queries import histogram
from barrow.randomisers import exceeds_exp, exponential, gkrr, randomised_response
from barrow.spaces import Circle, Clustered, Discrete, Earth, Line
from barrow.transport import coupling, emd, emd_between
from barrow.transport.emd import assign
from lab.paper.measuring import exact_items, histograms, said_of, sized, small_users, uniforms
from lab.paper.registry import CORRECTED, HOLDS, UNSAFE, Effort, Measured, row

_MILE = Fraction("1.609344")
"""Kilometres."""


@row(
    "sec:intro:relation",
    "Section 1.1.4",
    "At alpha = eps EMD-DP implies user-level DP, because no EMD exceeds 1; nearer data are protected better.",
    ("barrow.promises.to_user_level", "barrow.promises.Emd"),
    links="proofs/definitions.md",
)
def _relation(effort: Effort) -> Measured:
    promise = Emd(1, "1e-9", model="central")
    implied = to_user_level(promise).definition
    near, far = promise.epsilon_at("1/100"), promise.epsilon_at(1)
    holds = implied.epsilon_at(1) == far == 1.0 and near < far
    return Measured(
        f"(1, 1e-9)-EMD-DP is {implied}; at EMD 0.01 it promises eps = {sized(near)}, at EMD 1 eps = {sized(far)}.",
        HOLDS if holds else UNSAFE,
        {"epsilon_at_0.01": near, "epsilon_at_1": far},
    )


@row(
    "def:user-level-dp-local",
    "Definition 2.1",
    "User-level local DP: whatever one user holds, and however much of it, outputs are (eps, delta)-indistinguishable.",
    ("barrow.promises.UserLevel", "barrow.mechanisms.user_level.subsets.SubsetSelection"),
    links="definitions.md",
)
def _user_local(effort: Effort) -> Measured:
    ratios = {k: SubsetSelection(k, 1).ratio for k in (2, 20, 1000)}
    holds = not any(exceeds_exp(ratio, Fraction(1)) for ratio in ratios.values())
    return Measured(
        "One report by subset selection, whatever a user holds, at eps = 1: its exact likelihood ratio, "
        + ", ".join(f"{float(ratio):.9f} for {k:,} items" for k, ratio in ratios.items())
        + f", never exceeds e = {math.e:.9f} (decided in exact arithmetic).",
        HOLDS if holds else UNSAFE,
        {f"ratio_{k}": float(ratio) for k, ratio in ratios.items()},
    )


@row(
    "def:user-level-central-dp",
    "Definition 2.2",
    "User-level central DP: replacing all data of one of n users changes outputs by at most (eps, delta).",
    ("barrow.promises.UserLevel", "barrow.mechanisms.user_level.noise.user_level_noise"),
    links=("definitions.md", "user-level.md"),
)
def _user_central(effort: Effort) -> Measured:
    query = histogram(Discrete("abc"))
    noise = user_level_noise(query, 1, noise="laplace", users=2)
    users = small_users(3, (1, 2, 3))
    result = audit_additive("user level", "central", noise, query, users, others=[[(1,)]])  # type: ignore[arg-type]
    return said_of(result, "A Laplace histogram of two users at eps = 1")


@row(
    "def:metric-dp",
    "Definition 2.3",
    "Local d_X-DP: two items x, x' are (alpha d(x, x'), delta)-indistinguishable.",
    ("barrow.promises.ItemMetric", "barrow.randomisers.gkrr"),
    links=("items.md", "proofs/randomisers.md"),
)
def _metric(effort: Effort) -> Measured:
    space = Clustered.grid(3, 2, r=0.25)
    built = gkrr(space, 2)
    rows = np.array(built.weight_rows(), dtype=object)
    worst = 0.0
    for x in range(space.items):
        for y in range(space.items):
            if x != y:
                loss = max(math.log(Fraction(int(a), int(b))) for a, b in zip(rows[x], rows[y], strict=True))
                worst = max(worst, loss / space.distance(x, y).item())
    return Measured(
        f"GKRR at alpha0 = 2 on 3 x 2 items: over all pairs of items and all reports the largest loss per distance is "
        f"{sized(worst, 9)}, from the exact integer weights that are drawn from.",
        HOLDS if worst <= 2.0 + 1e-12 else UNSAFE,
        {"loss_per_distance": worst},
    )


@row(
    "def:coupling",
    "Definition 2.4",
    "A coupling has the two histograms as its marginals; EMD is the least expected distance, at most 1.",
    ("barrow.transport.coupling", "barrow.transport.emd"),
    links=("transport.md", "proofs/closed-forms.md"),
)
def _coupling(effort: Effort) -> Measured:
    spaces = (Line(0, 8, step=1), Circle(24, unit="h", step=3), Clustered.grid(3, 3, r=0.2), Discrete("abcdef"))
    gap = off = 0.0
    for i, space in enumerate(spaces):
        sample = histograms(100 + i, 10, space.items)
        for a, b in zip(sample[::2], sample[1::2], strict=True):
            plan = coupling(space, a, b)
            gap = max(gap, abs(plan.cost - float(np.asarray(emd(space, a, b)))))
            left = a - np.bincount(plan.source, plan.mass, space.items)
            off = max(off, float(np.abs(left + np.bincount(plan.target, plan.mass, space.items) - b).max()))
    return Measured(
        "On four spaces, 20 random pairs: the cost of the optimal coupling and the closed form of EMD differ by at "
        "most 1e-9, and what is moved makes one histogram the other.",
        HOLDS if gap < 1e-9 and off < 1e-9 else UNSAFE,
        {"pairs": 20, "agrees": bool(gap < 1e-9 and off < 1e-9)},
    )


@row(
    "lem:bvn",
    "Lemma 2.5",
    "Between two data sets of the same size the EMD is the mean distance of the best matching of items.",
    ("barrow.transport.emd_between", "barrow.transport.assign"),
    links="transport.md",
)
def _matching(effort: Effort) -> Measured:
    space, gap, pairs = Clustered.grid(2, 3, r=0.25), 0.0, 0
    data = [np.array(d) for d in combinations_with_replacement(range(space.items), 3)]
    for a in data:
        for b in data:
            gap, pairs = max(gap, abs(assign(space, a, b)[0] - emd_between(space, a, b))), pairs + 1
    return Measured(
        f"All {pairs:,} pairs of three items on 2 x 3 clustered items: the best matching and the EMD differ by at most "
        "1e-12.",
        HOLDS if gap < 1e-12 else UNSAFE,
        {"pairs": pairs, "agrees": bool(gap < 1e-12)},
    )


@row(
    "def:emd-dp",
    "Definition 3.1",
    "Local EMD-DP: two data sets are (alpha EMD, delta)-indistinguishable; bounded if only for equal sizes.",
    ("barrow.promises.Emd", "barrow.mechanisms.item_wise"),
    links="definitions.md",
)
def _emd_local(effort: Effort) -> Measured:
    built = gkrr(Clustered.grid(2, 2, r=0.25), 2)
    promised = price(item_wise(built, items=4, model="local").event)
    result = exact_items(built, promised, small_users(4, [4]))
    return said_of(result, f"Four items by GKRR at alpha0 = 2, promised as {promised.definition}")


@row(
    "def:emd-dp-central",
    "Definition 3.2",
    "Bounded central EMD-DP: one of n users of m items each changes. The unbounded central model cannot be defined so.",
    ("barrow.promises.Emd", "barrow.mechanisms.histogram_noise"),
    erratum="It can: for the mean over users (each weighs 1/n, whatever it holds) one user moves the answer by at most "
    "ell w/n, so central EMD-DP without a bound on sizes is defined, and barrow's additive releases have it.",
    links=("proofs/central-unbounded.md", "definitions.md"),
)
def _emd_central(effort: Effort) -> Measured:
    plan = histogram_noise(Clustered.grid(2, 2, r=0.25), "tree", 2, users=3)
    users, others = small_users(4, (1, 2)), [[(0,), (1, 2, 3)]]
    built = audit_additive("tree", "central", plan.on_outputs, plan.query, users, others=others, alpha=2)
    result = said_of(built, "Noise on the edges of a tree at alpha = 2, users of 1 and 2 items among three")
    return Measured(result.text, CORRECTED if result.verdict == HOLDS else UNSAFE, result.numbers)


@row(
    "sec:semantics:alpha",
    "Section 3, setting the parameters",
    "alpha = inf over (q, tau) of E(q, tau)/(q tau) protects every change of a share tau by a mean distance q.",
    "barrow.promises.Policy",
    links=("proofs/promises.md", "proofs/snapping.md"),
)
def _setting(effort: Effort) -> Measured:
    space = Line(0, 100, step=1, unit="km")
    policy = Policy(space, ["1/30, 10 km, 0.5", "all, 2 km, 0.3", "1/2, 5 km, 0.4"])
    requests = [satisfied.promise.epsilon / satisfied.emd for satisfied in policy.satisfied]
    got = [satisfied.epsilon_got <= float(satisfied.promise.epsilon) * (1.0 + 1e-12) for satisfied in policy.satisfied]
    same = abs(float(policy.alpha_exact / min(requests)) - 1.0) < 1e-12
    return Measured(
        f"Three promises on a line of 100 km give alpha = {sized(policy.alpha)}, the smallest of eps/(tau (q + 2 "
        f"rho)), rho what snapping moves; every promise is kept, {sum(row.binds for row in policy.satisfied)} binds.",
        HOLDS if same and all(got) else UNSAFE,
        {"alpha": policy.alpha, "kept": all(got)},
    )


@row(
    "ex:earth",
    "Section 3, footnote",
    "The largest distance on Earth is about 12,930 miles.",
    "barrow.spaces.Earth",
    erratum="Half the circumference is 12,437 miles (20,015 km); the paper's own q = 0.08 and 0.008 fit that.",
    links="proofs/geography.md",
)
def _earth(effort: Effort) -> Measured:
    miles = float(Fraction(Earth().diameter) / _MILE)
    shares = 1000 / miles, 100 / miles
    return Measured(
        f"The Earth's space has a diameter of {miles:,.0f} miles; 1000 and 100 miles are {shares[0]:.5f} and "
        f"{shares[1]:.6f} of it (with 12,930 they would be {1000 / 12930:.5f} and {100 / 12930:.6f}).",
        CORRECTED if abs(miles - 12930) > 1 else HOLDS,
        {"miles": miles, "q1": shares[0], "q2": shares[1]},
    )


@row(
    "ex:alpha",
    "Section 3, concrete example",
    "A day within 1000 miles and everything within 100 miles, each at eps = 0.2, give alpha = 25.",
    "barrow.promises.Policy",
    erratum="25 comes from q rounded to 0.008; 100 miles are 0.0080406 of half the circumference.",
    links="proofs/promises.md",
)
def _alpha(effort: Effort) -> Measured:
    policy = Policy(Earth(), ["1/30, 1000 mi, 0.2", "all, 100 mi, 0.2"], delta="1e-12")
    rounded = min(Fraction("0.2") / (Fraction(1, 30) * Fraction("0.08")), Fraction("0.2") / Fraction("0.008"))
    binds = [satisfied.promise.share_text for satisfied in policy.satisfied if satisfied.binds]
    return Measured(
        f"alpha = {policy.alpha:.2f}; the promise about {binds[0]} of the data binds. With q rounded to 0.08 and 0.008 "
        f"it is {sized(float(rounded))}.",
        CORRECTED if policy.alpha < float(rounded) else HOLDS,
        {"alpha": policy.alpha, "alpha_rounded_q": float(rounded)},
    )


@row(
    "sec:interpret:dmax",
    "Section 8",
    "(alpha, delta)-metric DP is (alpha d_max, delta)-DP.",
    "barrow.promises.to_user_level",
    links="proofs/definitions.md",
)
def _dmax(effort: Effort) -> Measured:
    result = to_user_level(Emd(25, "1e-12", model="central"), largest_distance="0.4").definition
    built = randomised_response(Discrete("abc"), 2)
    rows = np.array(built.weight_rows(), dtype=object)
    loss = max(math.log(Fraction(int(a), int(b))) for x in rows for y in rows for a, b in zip(x, y, strict=True))
    return Measured(
        f"alpha = 25 where no two users are further apart than 0.4 is {result}. Randomised response at alpha0 = 2, "
        f"where all distances are 1, has the loss {sized(loss, 9)}: the translation is attained.",
        HOLDS if result.epsilon_at(1) <= 10.0 + 1e-9 and loss <= 2.0 else UNSAFE,
        {"epsilon": result.epsilon_at(1), "attained": loss},
    )


@row(
    "sec:interpret:dmin",
    "Section 8",
    "(eps, delta)-DP is (eps/d_min, delta)-metric DP, d_min the least distance between inputs.",
    "barrow.promises.to_emd",
    erratum="For data sets of m items the least EMD is d_min/m, not d_min: alpha = eps m/d_min.",
    links="proofs/definitions.md",
)
def _dmin(effort: Effort) -> Measured:
    space, items = Line(0, 10, step=1), 5
    users = [np.array(u) for u in combinations_with_replacement(range(space.items), items)]
    picks = (uniforms(7, 400) * len(users)).astype(int).reshape(-1, 2)
    least = min(d for i, j in picks if (d := emd_between(space, users[i], users[j])) > 0)
    first = emd_between(space, np.zeros(items, dtype=int), np.array([0, 0, 0, 0, 1]))
    safe = to_emd(UserLevel(1, model="central"), items=items, least_distance="0.1").definition.epsilon_at(1)
    naive = 1 / 0.1
    return Measured(
        f"On a line of least distance 0.1 two users of 5 items are as near as {sized(min(least, first))} = d_min/m; "
        f"eps = 1 is alpha = {sized(safe)}, not {sized(naive)}.",
        CORRECTED if min(least, first) * naive < 1.0 - 1e-9 else HOLDS,
        {"least_emd": min(least, first), "alpha": safe, "alpha_paper": naive},
    )


@row(
    "def:discrete-emd-dp-local",
    "Definition 5.1",
    "Discrete local EMD-DP: (eps, delta) for all pairs within EMD r, of any sizes.",
    "barrow.promises.DiscreteEmd",
    links=("definitions.md", "proofs/group-privacy.md"),
)
def _discrete_local(effort: Effort) -> Measured:
    built = exponential(Line(0, 3, step=1), 1)
    plan = reduced(item_wise(built, items=3, model="local"), radius="1/10", delta="1e-3")
    users = [user for user in small_users(4, (1, 2, 10)) if user[0] == 0]
    promised = price(plan.event)
    result = exact_items(built, promised, users, samples=3)
    return said_of(result, f"Three samples of users of 1, 2 and 10 items, promised as {promised.definition}")


@row(
    "def:discrete-emd-dp-central",
    "Definition 5.3",
    "Discrete central EMD-DP; roughly (2 eps/r, delta)-bounded central EMD-DP for distances of at least r.",
    ("barrow.promises.DiscreteEmd", "barrow.promises.emd_rate_from"),
    links="proofs/group-privacy.md",
)
def _discrete_central(effort: Effort) -> Measured:
    promise = DiscreteEmd("0.2", 0, radius="0.008", model="central")
    rate = float(emd_rate_from(promise))
    distances = np.geomspace(0.008, 1.0, 400)
    worst = max(promise.epsilon_at(Fraction(float(w))) / (rate * float(w)) for w in distances)
    return Measured(
        f"(0.2, 0, 0.008)-discrete EMD-DP reads as alpha = 2 eps/r = {sized(rate)}; over 400 distances from r to 1 "
        f"group privacy uses at most {100 * worst:.2f} % of alpha w.",
        HOLDS if worst <= 1.0 + 1e-9 else UNSAFE,
        {"alpha": rate, "largest_share": worst},
    )
