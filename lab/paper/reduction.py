"""Section 5: samples of users of any size, the projection, and group privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from barrow.accounting import price, sampled_alpha_upper, sampled_epsilon_upper
from barrow.accounting.sampling import (
    inner_alpha_for,
    inner_alpha_within,
    projection_distance_paper,
    projection_distance_upper,
)
from barrow.mechanisms import UserCounts, item_wise, reduced
from barrow.noise import exact_binomial
from barrow.noise.source import SeededSource
from barrow.promises import DiscreteEmd, group_delta_upper
from barrow.queries import histogram
from barrow.randomisers import exponential
from barrow.spaces import Discrete, Line
from lab.paper.measuring import exact_items, said_of, sized, small_users, uniforms
from lab.paper.registry import CORRECTED, HOLDS, UNSAFE, Effort, Grid, Measured, Plot, row


@row(
    "ref:group",
    "Fact 5.2",
    "(eps, delta, r)-discrete EMD-DP gives delta ceil(d/r) exp(ceil(d/r)) at distance d.",
    ("barrow.promises.group_delta_upper", "barrow.promises.DiscreteEmd"),
    erratum="eps is missing in the exponent. Exact: delta (e^(j eps) - 1)/(e^eps - 1) with j = ceil(d/r).",
    links="proofs/group-privacy.md",
)
def _fact(effort: Effort) -> Measured:
    rows, broken = [], 0
    numbers: dict[str, float] = {}
    for eps, j in ((0.2, 10), (1.0, 5), (2.0, 5), (3.0, 10)):
        exact = group_delta_upper(Fraction(eps), Fraction("1e-12"), j) / 1e-12
        # j steps of randomised response with slack attain the geometric sum, so nothing smaller is true.
        attained = sum(math.exp(i * eps) for i in range(j))
        paper = j * math.exp(j)
        broken += attained > paper
        rows.append((sized(eps), str(j), sized(exact), sized(paper), sized(j * math.exp(eps * j))))
        numbers[f"exact_{eps:g}_{j}"] = exact
    columns = ("eps", "steps j", "exact factor", "as printed, j e^j", "with eps, j e^(eps j)")
    return Measured(
        f"{broken} of {len(rows)} settings need a larger factor on delta than is printed (eps above 1); for small eps "
        "the printed one is far too large.",
        UNSAFE if broken else HOLDS,
        numbers,
        (Grid("What delta is multiplied by", columns, tuple(rows)),),
    )


@row(
    "rem:discrete-roughly",
    "Section 5, after Fact 5.2",
    "(eps, delta, r)-discrete EMD-DP is roughly (2 eps/r, delta)-EMD-DP, but for distances below r.",
    ("barrow.promises.group_delta_upper", "barrow.promises.DiscreteEmd"),
    erratum="True of eps: eps ceil(d/r) <= 2 eps d/r for d >= r. Not of delta, which grows by (e^(j eps) - "
    "1)/(e^eps - 1), "
    "j = ceil(d/r): a release with two outcomes attains it.",
    links="proofs/group-privacy.md",
)
def _roughly(effort: Effort) -> Measured:
    rows, broken, numbers = [], 0, dict[str, float]()
    delta = 1e-12
    for eps, r in ((0.2, 0.25), (0.2, 0.008), (1.0, 0.1)):
        steps = math.ceil(1 / r)
        # P[yes] at j steps of length r: each is e^eps times the last plus delta, and "no" is as private.
        chances = [0.0]
        for _ in range(steps):
            chances.append(math.exp(eps) * chances[-1] + delta)
        private = all(
            b <= math.exp(eps) * a + delta * (1 + 1e-9) and 1 - a <= math.exp(eps) * (1 - b) + delta
            for a, b in pairwise(chances)
        )
        claim = group_delta_upper(Fraction(eps), Fraction(delta), steps)
        broken += private and chances[-1] > 1.5 * delta  # at distance 1 from data where "yes" never happens
        rows.append((sized(eps), sized(r), *(sized(x / delta, 3) for x in (1.0 * delta, chances[-1], claim))))
        numbers[f"factor_{eps:g}_{r:g}"] = chances[-1] / delta
    columns = ("eps", "r", "delta as printed", "attained at distance 1", "barrow's bound")
    return Measured(
        "A release that is (eps, 1e-12, r)-discrete EMD-DP says “yes” with probability "
        f"{sized(min(numbers.values()), 3)} "
        f"to {sized(max(numbers.values()), 3)} times 1e-12 at distance 1 from data where it never does: (2 eps/r, "
        "delta) is "
        f"broken in {broken} of {len(rows)} settings.",
        UNSAFE if broken else HOLDS,
        numbers,
        (Grid("delta at distance 1, in units of delta", columns, tuple(rows)),),
    )


@row(
    "tab:privacy:group",
    "Table 1, discrete central row",
    "Group privacy gives (eps ceil(d/r), delta exp(eps ceil(d/r))).",
    "barrow.promises.DiscreteEmd",
    erratum="The factor ceil(d/r) is missing: below eps = ln 2 the true sum is larger than what is printed.",
    links="proofs/group-privacy.md",
)
def _cell(effort: Effort) -> Measured:
    eps, steps = 0.1, 20
    exact = group_delta_upper(Fraction("0.1"), Fraction("1e-12"), steps) / 1e-12
    attained = sum(math.exp(i * eps) for i in range(steps))
    printed = math.exp(eps * steps)
    bound = DiscreteEmd("0.1", "1e-12", radius="0.05").epsilon_at(1)
    edge = max(e for e in np.linspace(0.01, 2, 400) if sum(math.exp(i * e) for i in range(200)) > math.exp(200 * e))
    return Measured(
        f"eps = 0.1, 20 steps: the sum that a chain attains is {sized(attained)} delta, the printed factor "
        f"{sized(printed)}; barrow says {sized(exact)} (eps {sized(bound)}). The printed one is too small up "
        f"to eps = {edge:.3f} (ln 2 = {math.log(2):.3f}) for many steps.",
        UNSAFE if attained > printed else HOLDS,
        {"attained": attained, "printed": printed, "exact": exact, "unsafe_up_to": float(edge)},
    )


@row(
    "alg:red-central",
    "Algorithm 3",
    "Draw s items with replacement from each user, then apply a bounded mechanism.",
    ("barrow.mechanisms.reduced", "barrow.accounting.sampled_alpha_upper"),
    links=("reduction.md", "proofs/sampling.md"),
)
def _algorithm(effort: Effort) -> Measured:
    built = exponential(Line(0, 3, step=1), 1)
    plan = reduced(item_wise(built, items=3, model="local"))
    promised = price(plan.event)
    result = exact_items(built, promised, small_users(4, (1, 2, 3)), samples=3)
    return said_of(result, f"Three samples of users of 1 to 3 items, promised as {promised.definition}")


def _tail(samples: int, mean: float, threshold: float) -> float:
    """P[Bin(s, mean) >= s threshold]: what two-valued coupled distances do, exactly."""
    from scipy.special import betainc

    k = math.ceil(samples * threshold - 1e-9)
    return 0.0 if k > samples else float(betainc(k, samples - k + 1, mean))


@row(
    "lem:coupling-dist",
    "Lemma 5.4 (5.2 in the text)",
    "s coupled samples are at EMD at least (1 + sqrt 2) EMD + (3/s) ln(1/delta) with probability at most delta.",
    ("barrow.accounting.sampling.projection_distance_paper", "barrow.accounting.sampling.projection_distance_upper"),
    erratum="Holds, and keeps a factor 2.41 for ever. Chernoff's bound with the exact divergence tends to EMD itself.",
    links="proofs/projection.md",
)
def _projection(effort: Effort) -> Measured:
    rows, worst, numbers = [], 0.0, dict[str, float]()
    for r, s, delta in (("0.008", 1000, 1e-12), ("0.008", 100_000, 1e-12), ("0.05", 500, 1e-9), ("0.05", 10**6, 1e-9)):
        paper = projection_distance_paper(r, s, Fraction(delta))
        tight = projection_distance_upper(r, s, Fraction(delta))
        true = _tail(s, float(r), paper)
        worst = max(worst, true / delta, _tail(s, float(r), tight) / delta)
        least = _quantile(s, float(r), delta)
        rows.append((r, f"{s:,}", f"{delta:g}", sized(paper), sized(tight), sized(least), f"{true:.1e}"))
        numbers |= {f"paper_{r}_{s}": paper, f"chernoff_{r}_{s}": tight, f"exact_{r}_{s}": least}
    columns = ("EMD", "s", "delta", "the paper's c", "by Chernoff", "least true c", "P[at least the paper's c]")
    grid = np.geomspace(100, 10**6, 13)
    curves = (
        ("the lemma", tuple(grid), tuple(projection_distance_paper("0.008", int(s), "1e-12") for s in grid)),
        ("by Chernoff", tuple(grid), tuple(projection_distance_upper("0.008", int(s), "1e-12") for s in grid)),
    )
    return Measured(
        f"For coupled distances of 0 or 1 (the worst case), exactly: no bound is exceeded (at most {worst:.2g} of "
        f"delta). At EMD 0.008 and s = 1000 the lemma says {sized(numbers['paper_0.008_1000'])}, Chernoff "
        f"{sized(numbers['chernoff_0.008_1000'])}, and {sized(numbers['exact_0.008_1000'])} is true.",
        HOLDS if worst <= 1.0 else UNSAFE,
        numbers,
        (Grid("How far samples may be apart", columns, tuple(rows)),),
        (Plot("EMD of samples of users at EMD 0.008, delta = 1e-12", "samples", "EMD", curves),),
    )


def _quantile(samples: int, mean: float, delta: float) -> float:
    """The least c with P[Bin(s, mean)/s >= c] <= delta."""
    low, high = 0, samples + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _tail(samples, mean, middle / samples) <= delta else (middle, high)
    return high / samples


@row(
    "lem:coupling-dist:simulated",
    "Lemma 5.4 (5.2 in the text)",
    "The same, by drawing the samples.",
    "barrow.accounting.sampling.projection_distance_upper",
    links="proofs/projection.md",
    steady=False,
)
def _simulated(effort: Effort) -> Measured:
    s, r, delta, draws = 200, Fraction("0.05"), "0.01", effort.of(20_000, 400_000)
    sample = exact_binomial(np.full(draws, s), r.numerator, r.denominator, source=SeededSource(11)) / s
    paper, tight = projection_distance_paper(r, s, delta), projection_distance_upper(r, s, delta)
    beyond = float((sample >= paper).mean()), float((sample >= tight).mean())
    error = 3.0 * math.sqrt(0.01 / draws)
    return Measured(
        f"{draws:,} draws of 200 coupled samples at EMD 0.05: {beyond[0]:.5f} are at {paper:.4f} (the lemma) or "
        f"beyond, {beyond[1]:.5f} at {tight:.4f} (Chernoff); both may be at most 0.01.",
        HOLDS if max(beyond) <= 0.01 + error else UNSAFE,
        {"draws": draws, "beyond_paper": beyond[0], "beyond_chernoff": beyond[1]},
    )


@row(
    "thm:emd-dp-central",
    "Theorem 5.5 (5.3 in the text)",
    "If A is (alpha, delta)-bounded with alpha = eps/((1 + sqrt 2) r + (3/s) ln(1/delta)), the reduction is (eps, 2 "
    "delta, r)-discrete EMD-DP.",
    (
        "barrow.accounting.sampled_epsilon_upper",
        "barrow.accounting.sampling.inner_alpha_within",
        "barrow.mechanisms.reduced",
    ),
    erratum="Holds, and is far from tight: sampling is (alpha e^(alpha/s), delta)-UNBOUNDED EMD-DP at every distance, "
    "without a radius and without a second delta.",
    links=("proofs/sampling.md", "proofs/projection.md"),
)
def _theorem(effort: Effort) -> Measured:
    rows, numbers = [], dict[str, float]()
    for s in (1000, 10_000, 100_000):
        paper = 0.2 / projection_distance_paper("0.008", s, "1e-12")
        chernoff = 0.2 / projection_distance_upper("0.008", s, "1e-12")
        exact = inner_alpha_within("0.2", "0.008", s)
        everywhere = inner_alpha_for(25, s)
        rows.append((f"{s:,}", sized(paper), sized(chernoff), sized(exact), sized(everywhere)))
        numbers |= {f"paper_{s}": paper, f"chernoff_{s}": chernoff, f"exact_{s}": exact, f"every_w_{s}": everywhere}
    columns = ("s", "Theorem 5.3", "with Chernoff", "exact at r", "for alpha = 25 at every w")
    better = numbers["exact_1000"] / numbers["paper_1000"]
    return Measured(
        f"To promise eps = 0.2 within r = 0.008 the inner alpha may be {sized(numbers['paper_1000'])} by the theorem "
        "and "
        f"{sized(numbers['exact_1000'])} exactly at s = 1000: {sized(better)} times more, at one delta instead of two.",
        HOLDS if better >= 1 else UNSAFE,
        numbers,
        (Grid("The alpha that the bounded release may spend", columns, tuple(rows)),),
    )


@row(
    "thm:emd-dp-central-inf",
    "Theorem 1.3 (informal)",
    "For r >= 2 ln(1/delta)/s the reduction of an (alpha, delta)-bounded mechanism is (alpha r, delta, r)-discrete.",
    "barrow.accounting.sampled_epsilon_upper",
    erratum="Disagrees with Theorem 5.3 (whose factor there is 3.9). True up to the factor e^(alpha/s).",
    links="proofs/sampling.md",
)
def _informal(effort: Effort) -> Measured:
    s, delta, alpha = 1000, 1e-12, 25
    r = Fraction(2 * math.log(1 / delta) / s)
    factor = projection_distance_paper(r, s, Fraction(delta)) / float(r)
    real = sampled_epsilon_upper(alpha, s, r)
    claim = alpha * float(r)
    return Measured(
        f"s = 1000, delta = 1e-12, r = {sized(float(r))}: the informal theorem says eps = {sized(claim)}, Theorem 5.3 "
        f"{sized(claim * factor)}, and {sized(real)} is proved ({100 * (real / claim - 1):.2f} % above the informal "
        "one).",
        CORRECTED if real > claim else HOLDS,
        {"informal": claim, "formal": claim * factor, "proved": real},
    )


@row(
    "rem:sampling-not-dp",
    "Section 5",
    "Sampling preserves EMD only up to an additive term, so the guarantee cannot keep growing stronger as EMD -> 0: a "
    "radius r is needed.",
    ("barrow.accounting.sampled_alpha_upper", "barrow.accounting.sampling.inner_alpha_for"),
    erratum="The projection has an additive term; the mechanism behind it does not. Its loss at distance w is at most "
    "s ln R(alpha/s, w) <= alpha e^(alpha/s) w, for every w.",
    links="proofs/sampling.md",
)
def _every_distance(effort: Effort) -> Measured:
    grid = [Fraction(1, 10**k) for k in range(7)]
    shares = [sampled_epsilon_upper(25, 1000, w) / float(w) for w in grid]
    most = sampled_alpha_upper(25, 1000)
    return Measured(
        f"alpha = 25 on 1000 samples: the loss per distance is {sized(shares[0])} at w = 1, {sized(shares[3])} at "
        f"0.001 and {sized(shares[6])} at 1e-6, never above {sized(most)}: no radius is needed.",
        CORRECTED if max(shares) <= most * (1 + 1e-9) else UNSAFE,
        {"at_1": shares[0], "at_1e-3": shares[3], "at_1e-6": shares[6], "alpha": most},
    )


@row(
    "rem:many-samples",
    "Section 5, remarks",
    "There is no privacy disadvantage to taking many samples.",
    "barrow.accounting.sampling.inner_alpha_for",
    links="reduction.md",
)
def _many(effort: Effort) -> Measured:
    result = {s: inner_alpha_for(25, s) for s in (10, 100, 1000, 10_000, 100_000)}
    rising = all(a < b for a, b in zip(list(result.values()), list(result.values())[1:], strict=False))
    return Measured(
        "For alpha = 25 the inner release may spend "
        + ", ".join(f"{value:.4g} at s = {s:,}" for s, value in result.items())
        + ": more samples cost less.",
        HOLDS if rising else UNSAFE,
        {f"inner_{s}": value for s, value in result.items()},
    )


@row(
    "rem:heterogeneous",
    "Section 5, remarks",
    "Where people hold different numbers of records from different distributions, sampling equalises their weight, and "
    "utility may not be preserved.",
    ("barrow.mechanisms.UserCounts", "barrow.mechanisms.reduced"),
    links=("queries.md", "reduction.md", "proofs/central-unbounded.md"),
)
def _heterogeneous(effort: Effort) -> Measured:
    space = Discrete(["bus", "car"])
    people = [[0] * 1000] * 10 + [[1] * 10] * 90
    center = UserCounts.of_users(space, people).center(histogram(space))
    by_people = float(center.exact_entry(0))
    by_records = sum(row.count(0) for row in people) / sum(map(len, people))
    # Sampling s records of each: the mean of the draws is the share by people, whatever s is.
    sample = uniforms(91, len(people) * 50).reshape(len(people), 50)
    sampled = float(
        np.mean([[row[int(u * len(row))] == 0 for u in us] for row, us in zip(people, sample, strict=True)])
    )
    return Measured(
        f"10 people with 1000 bus rides and 90 with 10 car rides each: buses are {100 * by_people:.0f} % of people's "
        f"rides, each person counting once, {100 * sampled:.0f} % of 50 samples each, and {100 * by_records:.1f} % of "
        "records. Every answer of barrow is the first of these and says so.",
        HOLDS if abs(sampled - by_people) < 1e-9 and by_records > 2 * by_people else CORRECTED,
        {"by_people": by_people, "by_samples": sampled, "by_records": by_records},
    )
