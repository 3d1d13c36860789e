"""Section 4.1: linear queries, their sensitivity, PrivEMDLinear and its noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from barrow.accounting.pricing import gaussian_alpha_upper, gaussian_mu_lower
from barrow.audit.additive import audit_additive
from barrow.errors import ParameterError
from barrow.mechanisms import linear_noise
from barrow.numerics import gdp_delta_upper
from barrow.promises import Policy
from barrow.queries import Query, distance_to, mean, query_from_spec, region_share, similarity
from barrow.spaces import Clustered, Earth, Embedding, Euclidean, Line
from barrow.transport import emd, emd_between
from lab.paper.measuring import histograms, said_of, sized, small_users
from lab.paper.registry import CORRECTED, HOLDS, UNSAFE, Effort, Grid, Measured, row

_MILE = 1.609344


def _largest_ratio(query: Query, seed: int, pairs: int) -> float:
    """The largest |q(K) - q(K')|_1/EMD over random pairs and over all pairs of single items, by the query's table."""
    space = query.space
    table = query.table.floats()
    values = np.asarray(table.todense() if query.table.sparse else table) * float(query.step)
    sample = histograms(seed, 2 * pairs, space.items)
    result = 0.0
    for a, b in zip(sample[::2], sample[1::2], strict=True):
        result = max(result, float(np.abs((a - b) @ values).sum()) / float(np.asarray(emd(space, a, b))))
    apart = space.block()
    for x in range(space.items):
        for y in range(x):
            result = max(result, float(np.abs(values[x] - values[y]).sum()) / float(apart[x, y]))
    return result


@row(
    "thm:sens",
    "Theorem 4.1 (and 1.1)",
    "If f is ell-Lipschitz, |q_f(K) - q_f(K')| <= ell EMD(K, K'); this is tight.",
    ("barrow.queries.Query", "barrow.mechanisms.linear_noise"),
    links=("proofs/linear.md", "proofs/lipschitz.md"),
)
def _sensitivity(effort: Effort) -> Measured:
    line, square = Line(0, 10, step=1), Euclidean([0, 0], [3, 3], step=1)
    queries = {"mean on a line": mean(line), "mean on a square": mean(square), "distance": distance_to(line, 3)}
    shares = {
        name: _largest_ratio(q, 20 + i, 200) / q.lipschitz_upper(1) for i, (name, q) in enumerate(queries.items())
    }
    text = "; ".join(f"{name}: {share:.6f}" for name, share in shares.items())
    return Measured(
        "The largest ratio over 200 random pairs and all pairs of single items, as a share of the certified ell: "
        f"{text} (1 is tight).",
        HOLDS if max(shares.values()) <= 1.0 + 1e-12 else UNSAFE,
        dict(shares),
    )


@row(
    "thm:sens:queries",
    "Section 4.1, remarks",
    "Averages, kernel-smoothed regions and similarities are Lipschitz; an indicator of a region is not.",
    ("barrow.queries.mean", "barrow.queries.region_share", "barrow.queries.similarity"),
    links="queries.md",
)
def _queries(effort: Effort) -> Measured:
    line = Line(0, 100, step=1, unit="km")
    words = Embedding(["a", "b", "c", "d"], [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    result = {
        "mean on a line of 100 km": mean(line).lipschitz_upper(1),
        "region with an edge of 10 km": region_share(line, center=30, radius="10 km", ramp="10 km").lipschitz_upper(1),
        "region with an edge of 1 km": region_share(line, center=30, radius="10 km", ramp="1 km").lipschitz_upper(1),
        "similarity to (1, 0)": similarity(words, [[1, 0]]).lipschitz_upper(1),
    }
    steeper = result["region with an edge of 1 km"] / result["region with an edge of 10 km"]
    return Measured(
        "Certified constants per diameter: "
        + "; ".join(f"{name} {sized(value)}" for name, value in result.items())
        + f". A ten times sharper edge of a region costs {sized(steeper)} times the noise; a step has no constant.",
        HOLDS if all(math.isfinite(v) for v in result.values()) and steeper > 5 else UNSAFE,
        result,
    )


@row(
    "lemma:lin",
    "Lemma 4.2",
    "PrivEMDLinear is (alpha, 0)-EMD-DP: unbounded locally with scale 1/alpha, bounded centrally with 1/(alpha n).",
    "barrow.mechanisms.linear_noise",
    erratum="The central release is unbounded as well when it is the mean over users (proof linked).",
    links=("proofs/linear.md", "proofs/central-unbounded.md", "proofs/exact-noise.md"),
)
def _private(effort: Effort) -> Measured:
    line = Line(0, 3, step=1, cells=True)
    query = mean(line)
    built = []
    for model, n, others in (("local", None, [[]]), ("central", 3, [[(0,), (1, 2)]])):
        noise = linear_noise(query, 2, noise="laplace", model=model, users=n)
        built.append(audit_additive("Laplace", model, noise, query, small_users(3, (1, 2, 3)), others=others, alpha=2))
    result = said_of(built, "Laplace noise on a mean at alpha = 2, users of 1 to 3 items, alone and among three")
    return Measured(result.text, CORRECTED if result.verdict == HOLDS else UNSAFE, result.numbers)


@row(
    "alg:lap",
    "Algorithm 1",
    "The direction U of the noise is uniform on {|x| = 1}, for any norm.",
    "barrow.noise.additive.knorm",
    erratum="Uniform on the surface is right for p = 1, 2 and infinity only. In general the cone measure is needed "
    "(a uniform point of the ball divided by its norm); with the surface measure the density jumps near the centre, "
    "which no alpha pays for.",
    links=("proofs/exact-noise.md", "proofs/linear.md"),
)
def _algorithm(effort: Effort) -> Measured:
    angles = np.linspace(1e-9, math.pi / 2 - 1e-9, 20_001)
    x = np.stack([np.cos(angles), np.sin(angles)])
    x = x / (np.abs(x) ** 3).sum(axis=0) ** (1 / 3)
    # Surface measure has the density |grad |x|_3|_2 relative to the cone measure.
    density = np.sqrt((np.abs(x) ** 4).sum(axis=0))
    loss = math.log(density.max() / density.min())
    square = Euclidean([0, 0], [2, 2], step=1, unit="km")
    noise = linear_noise(mean(square), 2, noise="3", model="local")
    built = audit_additive("3-norm", "local", noise, mean(square), small_users(4, (1,)), alpha=2)
    result = said_of(built, "Shipped noise of the 3-norm (cone measure) at alpha = 2")
    return Measured(
        f"3-norm, two outputs: with the surface measure two directions differ in density by {loss:.4f} in the exponent "
        f"at every radius, so data at EMD 0.001 lose at least {loss:.4f} where alpha = 25 allows 0.025. {result.text}",
        UNSAFE if loss > 0.025 and result.verdict == HOLDS else HOLDS,
        {"surface_loss": loss, **result.numbers},
    )


@row(
    "alg:lap:gamma",
    "Section 4.1, text before Lemma 4.2",
    "The radius is Gamma(d, omega/alpha), with omega = 1/alpha locally.",
    "barrow.mechanisms.linear_noise",
    erratum="A slip: with omega = 1/alpha that would be the scale 1/alpha^2. Algorithm 1 and Lemma 4.2 say Gamma(d, "
    "omega); barrow draws ell Gamma(d, 1/alpha), divided by n centrally.",
    links="proofs/linear.md",
)
def _gamma(effort: Effort) -> Measured:
    query = distance_to(Line(0, 1, step=0.125), 0)
    ell = query.lipschitz_upper(1)
    scale = float(linear_noise(query, 25, model="local", noise="laplace").scale)
    wrong = ell / 25**2
    return Measured(
        f"At alpha = 25 barrow's scale is {sized(scale / ell)} ell = ell/alpha. Noise of scale ell/alpha^2 = "
        f"{sized(wrong / ell)} ell would cost alpha = {sized(ell / wrong)}.",
        UNSAFE if ell / wrong > 25 else HOLDS,
        {"scale": scale / ell, "scale_as_written": wrong / ell, "alpha_as_written": ell / wrong},
    )


@row(
    "rem:gaussian",
    "Section 4.1, remarks; Lemma 6.2",
    "Gaussian noise of width omega sqrt(1.25 ln(1/delta))/alpha is (alpha, delta)-EMD-DP.",
    ("barrow.accounting.pricing.gaussian_mu_lower", "barrow.accounting.pricing.gaussian_alpha_upper"),
    erratum="Not private in general: the classic formula has 2 ln(1.25/delta) and needs eps <= 1, and alpha is often "
    "far above 1. barrow solves delta(mu, alpha) = delta exactly; w = 1 is the worst case, so one equation is enough.",
    links="proofs/gaussian.md",
)
def _gaussian(effort: Effort) -> Measured:
    rows, numbers, broken = [], dict[str, float](), 0
    for alpha, delta in ((25.0, 1e-12), (1.0, 1e-12), (0.1, 1e-6), (5.0, 1e-9), (100.0, 1e-12)):
        width = math.sqrt(1.25 * math.log(1.0 / delta)) / alpha
        true = gdp_delta_upper(1.0 / width, alpha)
        costs = gaussian_alpha_upper(Fraction(1.0 / width), Fraction(delta))
        right = 1.0 / gaussian_mu_lower(Fraction(alpha), Fraction(delta))
        broken += true > delta
        rows.append((sized(alpha), f"{delta:g}", sized(width), f"{true:.3g}", sized(costs), sized(right)))
        numbers[f"delta_{alpha:g}_{delta:g}"] = true
        numbers[f"sigma_{alpha:g}_{delta:g}"] = right
    columns = ("alpha", "delta", "printed sigma/ell", "its true delta", "alpha it costs at delta", "sigma/ell needed")
    return Measured(
        f"The printed width breaks {broken} of {len(rows)} settings; at alpha = 25 its true delta is "
        f"{numbers['delta_25_1e-12']:.3g} instead of 1e-12.",
        UNSAFE if broken else HOLDS,
        numbers,
        (Grid("The printed Gaussian width", columns, tuple(rows)),),
    )


@row(
    "ex:distance",
    "Section 4.1, concrete example",
    "The mean distance from a city in the local model: 0.04 a user, 1.26e-4 in all, 1.6 miles.",
    ("barrow.queries.distance_to", "barrow.mechanisms.linear_noise"),
    erratum="1.6 miles is the mean size of one user's noise over sqrt(n). The expected error of the mean of n Laplace "
    "variables is 2/sqrt(pi) = 1.128 times that.",
    links="proofs/linear.md",
)
def _distance(effort: Effort) -> Measured:
    users = 10**5
    earth = Earth(cell=500)
    alpha = Policy(Earth(), ["1/30, 1000 mi, 0.2", "all, 100 mi, 0.2"]).alpha_exact
    query = distance_to(earth, [48.85, 2.35])
    noise = linear_noise(query, alpha, model="local", noise="laplace")
    scale = float(noise.scale) / _MILE
    size = scale / math.sqrt(users)
    expected = noise.deviation / _MILE / math.sqrt(users) * math.sqrt(2.0 / math.pi)
    width = noise.mean_half_width(users) / _MILE
    return Measured(
        f"At alpha = {float(alpha):.2f} one user's noise has the scale {sized(scale)} miles "
        f"({scale * _MILE / earth.diameter:.4f} of the diameter); over sqrt(n) that is {size:.2f} miles, the expected "
        f"error of the mean is {expected:.2f} miles and 95 % of means are within {width:.2f} miles.",
        CORRECTED if expected > 1.65 else HOLDS,
        {"alpha": float(alpha), "miles": size, "expected_miles": expected, "half_width_miles": width},
    )


@row(
    "sec:clustered",
    "Section 6.2",
    "The clustered space: distance 0, r inside a cluster, 1 across; a metric for r < 1/2, the two-level tree.",
    "barrow.spaces.Clustered",
    links=("spaces.md", "proofs/closed-forms.md"),
)
def _clustered(effort: Effort) -> Measured:
    space = Clustered.grid(4, 3, r=0.2)
    apart = space.block()
    worst = max(float(apart[x, z] - apart[x, y] - apart[y, z]) for x in range(12) for y in range(12) for z in range(12))
    sample = histograms(5, 40, 12)
    gap = 0.0
    for a, b in zip(sample[::2], sample[1::2], strict=True):
        groups = np.abs((a - b).reshape(4, 3).sum(axis=1)).sum()
        formula = 0.2 / 2 * np.abs(a - b).sum() + 0.8 / 2 * groups
        gap = max(gap, abs(float(formula) - float(np.asarray(emd(space, a, b)))))
    return Measured(
        f"On 4 x 3 items the triangle inequality holds for all triples (largest excess {max(worst, 0.0):.1g}), and EMD "
        "is (r/2)|D|_1 + ((1-r)/2)|DP|_1 for 20 random pairs to 1e-12.",
        HOLDS if worst <= 1e-12 and gap < 1e-12 else UNSAFE,
        {"triples": 12**3, "agrees": bool(worst <= 1e-12 and gap < 1e-12)},
    )


@row(
    "rem:non-normalised",
    "Section 4.1",
    "The non-normalised query F K can be estimated by multiplying the normalised one by an estimate of |K|.",
    ("barrow.queries.Query", "barrow.transport.emd_between"),
    erratum="Only where |K| is public. Twice the same records have EMD 0 and twice the total, so that no estimate "
    "of |K| "
    "with finite noise is EMD-DP; barrow refuses totals over records, and multiplies by the public number of people.",
    links=("queries.md", "proofs/central-unbounded.md"),
)
def _non_normalised(effort: Effort) -> Measured:
    line = Line(0, 10, step=1)
    once, twice = [2, 5, 9], [2, 5, 9] * 2
    moved = float(emd_between(line, once, twice))
    values = mean(line).table.floats()[:, 0] * float(mean(line).step)
    totals = float(values[once].sum()), float(values[twice].sum())
    try:
        query_from_spec(line, {"kind": "mean", "over": "records"})
        refused = False
    except ParameterError:
        refused = True
    return Measured(
        f"A person's records, and each of them twice: EMD {sized(moved)}, totals {sized(totals[0])} and "
        f"{sized(totals[1])}. Asking over records is {'refused' if refused else 'accepted'}.",
        CORRECTED if moved == 0.0 and totals[0] != totals[1] and refused else HOLDS,
        {"emd": moved, "total_once": totals[0], "total_twice": totals[1], "refused": refused},
    )
