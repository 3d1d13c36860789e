"""Section 6.2: frequency estimation, its bounds and its baselines."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from barrow.mechanisms import EstimateError, FrequencyEstimator, channel_of, item_wise
from barrow.mechanisms.frequency import whole_counts
from barrow.mechanisms.frequency_error import (
    general_utility_upper,
    gkrr_rate_upper,
    gkrr_utility_upper,
    paper_remark_upper,
)
from barrow.mechanisms.user_level.noise import user_level_noise
from barrow.noise.source import SeededSource
from barrow.queries import histogram
from barrow.randomisers import gkrr
from barrow.spaces import Clustered, Discrete
from barrow.spaces.space import Floats
from lab.paper.frequencies import Setting, hadamard_matrix
from lab.paper.measuring import exponent, sized, uniforms
from lab.paper.registry import CORRECTED, HOLDS, UNSAFE, VACUOUS, Effort, Grid, Measured, Number, row


@row(
    "alg:hist-local",
    "Algorithm 4",
    "FreqEstLocal: average the reports' histograms, multiply by a right inverse of the channel; the estimate is "
    "unbiased.",
    ("barrow.mechanisms.FrequencyEstimator", "barrow.mechanisms.channel_of"),
    erratum="The estimate can have negative entries, so its EMD is not defined. barrow measures it by the norm dual to "
    "1-Lipschitz functions (EMD where both are histograms) and releases its projection to the simplex as well.",
    links=("histograms.md", "proofs/frequency.md"),
    steady=False,
)
def _estimator(effort: Effort) -> Measured:
    setting = Setting(3, 3, "0.1", users=100, items=10)
    draws, alpha0 = effort.of(400, 4000), 2.0
    built = item_wise(gkrr(setting.space, 2), items=10, users=100)
    estimator, source = FrequencyEstimator(built), SeededSource(5)
    held = whole_counts(setting.truth, 1000)
    result = np.array([estimator.estimate(built.randomiser.from_counts(held, source=source)) for _ in range(draws)])
    error = EstimateError(setting.space, channel_of(built.randomiser))
    spread = np.sqrt(np.diag(error.covariance(1000, held / 1000)) / draws)
    off = float(np.abs((result.mean(axis=0) - held / 1000) / spread).max())
    negative = float((result < 0).any(axis=1).mean())
    return Measured(
        f"{draws:,} estimates of 9 items from 1,000 GKRR reports at alpha0 = {sized(alpha0)}: every mean is within "
        f"{off:.1f} standard errors of the truth, and {100 * negative:.0f} % of the estimates have a negative entry.",
        CORRECTED if off < 5 and negative > 0 else (HOLDS if off < 5 else UNSAFE),
        {"draws": draws, "standard_errors": off, "negative_share": negative},
    )


@row(
    "lem:local-hist-utility-baseline",
    "Lemma 6.4",
    "Hadamard response on every item errs by O(sqrt(k/(mn)) + sqrt(k^2 ln(m/delta)/(n eps^2))).",
    "barrow.mechanisms.MatrixChannel",
    links=("user-level.md", "histograms.md"),
)
def _hadamard(effort: Effort) -> Measured:
    ks = [(3, 5), (5, 6), (7, 9), (9, 14)]
    errors = [Setting(s, t, model="local", users=10**4).hadamard(Setting(s, t).printed_budget) for s, t in ks]
    slope_k = exponent([s * t for s, t in ks], errors)
    eps = [0.25, 0.5, 1.0]
    by_eps = [Setting(model="local", users=10**4, epsilon=e) for e in eps]
    slope_eps = exponent(eps, [s.hadamard(s.printed_budget) for s in by_eps])
    base = Setting(model="local", users=10**4)
    ratio = base.hadamard(base.printed_budget) / base.hadamard_once()
    return Measured(
        f"Exact variances, m = 10^5, n = 10^4: the EMD error grows as k^{slope_k:.2f} (k = 15 to 126, EMD on clusters) "
        "and as "
        f"eps^{slope_eps:.2f}. One drawn item with all of eps errs {sized(ratio)} times less, and needs no delta.",
        HOLDS if slope_k < 1.1 and abs(slope_eps + 1) < 0.05 else CORRECTED,
        {"exponent_k": slope_k, "exponent_eps": slope_eps, "once_better": ratio},
    )


@row(
    "rem:hadamard-budget",
    "Lemma 6.4, remarks",
    "Each of m reports may use eps/sqrt(m ln(m/delta)): (eps, delta)-user-level DP follows from composition.",
    "barrow.accounting.compose",
    erratum="A constant is missing. For binary randomised response the budget breaks (eps, delta); for Hadamard "
    "response "
    "itself it happens to hold. barrow calibrates compositions exactly and prefers one drawn item with all of eps.",
    links=("user-level.md", "proofs/user-level.md"),
)
def _budget(effort: Effort) -> Measured:
    rows, broken, numbers = [], 0, dict[str, float]()
    settings = ((100, 1.0, 1e-6), (1000, 1.0, 1e-6), (1000, 4.0, 1e-6), (1000, 8.0, 1e-4), (10**4, 8.0, 1e-4))
    for m, eps, delta in settings:
        each = eps / math.sqrt(m * math.log(m / delta))
        binary = _composed(each, m, eps, 1.0)
        half = _composed(each, m, eps, 0.5)  # two items of Hadamard response differ on half of the reports
        broken += binary > delta
        rows.append((f"{m:,}", sized(eps), f"{delta:g}", sized(each), f"{binary:.1e}", f"{half:.1e}"))
        numbers[f"binary_{m}_{eps:g}"] = binary
    columns = ("m", "eps", "delta", "budget of a report", "exact delta, binary response", "exact delta, Hadamard")
    return Measured(
        f"Exact composition of m reports: binary randomised response exceeds delta in {broken} of {len(rows)} "
        "settings.",
        UNSAFE if broken else HOLDS,
        numbers,
        (Grid("The printed budget", columns, tuple(rows)),),
    )


def _composed(each: float, m: int, eps: float, active: float) -> float:
    """The exact delta of m reports whose loss is +each or -each with chance ``active`` and 0 otherwise."""
    p = 1.0 / (1.0 + math.exp(-each))
    steps = np.array([active * (1 - p), 1 - active, active * p])
    lost = np.array([active * p, 1 - active, active * (1 - p)])
    one, other = _power(steps, m), _power(lost, m)
    losses = each * (np.arange(len(one)) - m)
    holds = losses > eps
    return float(np.maximum(one[holds] - math.exp(eps) * other[holds], 0.0).sum())


def _power(step: Floats, times: int) -> Floats:
    """The distribution of a sum of ``times`` steps, by doubling."""
    from scipy.signal import fftconvolve

    result, square = np.ones(1), step
    while times:
        if times & 1:
            result = np.maximum(fftconvolve(result, square), 0.0)
        times >>= 1
        square = np.maximum(fftconvolve(square, square), 0.0) if times else square
    return np.asarray(result)


@row(
    "krr:channel",
    "Section 6.2 and Appendix C.3",
    "GKRR's matrix is aI + (bI + c1) x 1, and its inverse has the given a', b', c' with a' + tb' + stc' = 1.",
    ("barrow.randomisers.gkrr", "barrow.mechanisms.TreeChannel"),
    links=("proofs/frequency.md", "proofs/randomisers.md"),
)
def _channel(effort: Effort) -> Measured:
    worst = 0.0
    for s, t, r, alpha0 in ((4, 3, 0.1, 1.0), (2, 5, 0.25, 3.0), (6, 2, 0.02, 0.3)):
        space = Clustered.grid(s, t, r=r)
        e, near = math.exp(alpha0), math.exp((1 - r) * alpha0)
        z, gap = e + (t - 1) * near + (s - 1) * t, e + (t - 1) * near - t
        first = z / (e - near)
        third = -1.0 / gap
        second = -(near - 1.0) * z / ((e - near) * gap)
        ones = np.kron(np.eye(s), np.ones((t, t)))
        inverse = first * np.eye(s * t) + second * ones + third
        channel = channel_of(gkrr(space, Fraction(alpha0)))
        rows = np.array([channel.forward(unit) for unit in np.eye(s * t)])
        worst = max(
            worst, float(np.abs(rows @ inverse - np.eye(s * t)).max()), abs(first + t * second + s * t * third - 1)
        )
    return Measured(
        f"Three channels: the product of barrow's matrix (from exact integer weights) with the paper's inverse is the "
        f"identity to {worst:.0e}, and a' + tb' + stc' = 1.",
        HOLDS if worst < 1e-9 else CORRECTED,
        {"agrees": bool(worst < 1e-9)},
    )


def _settings(effort: Effort) -> list[tuple[Setting, float]]:
    shapes = [(5, 4, "0.02"), (10, 10, "0.05"), (3, 20, "0.1")] + ([] if effort.quick else [(20, 50, "0.01")])
    return [(Setting(s, t, r, users=1000, items=1000), a0) for s, t, r in shapes for a0 in (1.0, 3.0)]


@row(
    "thm:general-hist-utility",
    "Theorem 6.5",
    "max_K E EMD <= r sqrt(st(|B^T|^2 - 1)/(mn)) + sqrt(s(|P^T B^T|^2 - 1)/(mn)).",
    "barrow.mechanisms.frequency_error.general_utility_upper",
    erratum="Holds; since EMD = (r/2)|D|_1 + ((1-r)/2)|DP|_1, half of it is a bound as well.",
    links="proofs/frequency.md",
    steady=False,
)
def _general(effort: Effort) -> Measured:
    def compared(setting: Setting, alpha0: float, decoded: float) -> tuple[float, float]:
        channel = channel_of(gkrr(setting.space, Fraction(alpha0)))
        ours = EstimateError(setting.space, channel).expected_upper(setting.reports)
        return ours, general_utility_upper(setting.space, channel, reports=setting.reports)

    result, shares = _against_simulation(effort, "Theorem 6.5", "barrow's bound for any data", compared)
    text = f"{len(result.rows)} settings, a million reports each: the simulated error is {min(shares):.2f} to "
    return _within_bound(f"{text}{max(shares):.2f} of the bound.", result, shares)


@row(
    "rem:small-r",
    "Theorem 6.5, remarks",
    "For small r the first term approaches 0, and the second may, as few reports leave their cluster.",
    ("barrow.randomisers.gkrr", "barrow.mechanisms.MatrixChannel"),
    erratum="Not for GKRR at a given alpha0: inside a cluster reports become alike, |B^T| grows as 1/r, and the "
    "first term "
    "tends to a constant; the second vanishes only where e^alpha0 is far above the number of clusters. Both vanish "
    "where "
    "alpha0 grows as 1/r.",
    links="proofs/frequency.md",
)
def _small_r(effort: Effort) -> Measured:
    s, t = 5, 4
    sums = np.kron(np.eye(s), np.ones((t, 1)))

    def terms(r: float, alpha0: float) -> tuple[float, float]:
        channel = channel_of(gkrr(Clustered.grid(s, t, r=r), Fraction(alpha0)))
        matrix = np.array([channel.forward(unit) for unit in np.eye(s * t)])
        back = np.linalg.inv(matrix)
        norms = [float(np.sqrt((b**2).sum(axis=1)).max()) for b in (back, back @ sums)]
        return r * math.sqrt(s * t * (norms[0] ** 2 - 1)), math.sqrt(s * max(norms[1] ** 2 - 1, 0.0))

    rows, fixed, growing = [], [], []
    for r in (0.2, 0.05, 0.0125):
        fixed.append(terms(r, 2.0))
        growing.append(terms(r, min(0.5 / r, 40.0)))
        rows.append((sized(r), *(sized(x, 3) for pair in (fixed[-1], growing[-1]) for x in pair)))
    columns = ("r", "first, alpha0 = 2", "second, alpha0 = 2", "first, alpha0 = 0.5/r", "second, alpha0 = 0.5/r")
    stays = fixed[-1][0] / fixed[0][0]
    return Measured(
        f"5 x 4 items, terms times sqrt(mn): at alpha0 = 2, r from 0.2 to 0.0125, the first term goes from "
        f"{sized(fixed[0][0], 3)} to {sized(fixed[-1][0], 3)} and the second from {sized(fixed[0][1], 3)} to "
        f"{sized(fixed[-1][1], 3)}; at alpha0 = 0.5/r they go to {sized(growing[-1][0], 3)} and "
        f"{sized(growing[-1][1], 3)}.",
        CORRECTED if stays > 0.5 and growing[-1][0] < 0.2 * growing[0][0] else HOLDS,
        {"stays": stays, "first_fixed": fixed[-1][0], "first_growing": growing[-1][0], "second_fixed": fixed[-1][1]},
        (Grid("The two terms of Theorem 6.5 for GKRR", columns, tuple(rows)),),
    )


def _against_simulation(
    effort: Effort, theorem: str, beside: str, compared: Callable[[Setting, float, float], tuple[float, float]]
) -> tuple[Grid, list[float]]:
    """Simulated errors, a number beside each and a bound; and the errors as shares of the bounds."""
    rows, shares = [], []
    for i, (setting, alpha0) in enumerate(_settings(effort)):
        raw, decoded = setting.simulated(alpha0, effort.of(10, 60), 50 + i)
        other, bound = compared(setting, alpha0, decoded)
        shares.append(raw / bound)
        items = f"{setting.clusters} x {setting.inside}"
        rows.append((items, sized(alpha0), *(sized(x, 3) for x in (raw, other, bound))))
    columns = ("items", "alpha0", "simulated EMD", beside, theorem)
    return Grid(f"{theorem} against simulation", columns, tuple(rows)), shares


def _within_bound(text: str, found: Grid, shares: list[float]) -> Measured:
    numbers: dict[str, Number] = {"least_share": min(shares), "largest_share": max(shares)}
    return Measured(text, HOLDS if max(shares) <= 1.0 else UNSAFE, numbers, (found,))


@row(
    "thm:krr-utility",
    "Theorem 6.6",
    "GKRR errs by at most r sqrt(st^3/(mn)) (e^a0 + s)/(e^a0 - e^((1-r)a0)) + sqrt(s^2 t^2/(mn)) (...).",
    "barrow.mechanisms.frequency_error.gkrr_utility_upper",
    links="proofs/frequency.md",
    steady=False,
)
def _krr(effort: Effort) -> Measured:
    def compared(setting: Setting, alpha0: float, decoded: float) -> tuple[float, float]:
        return decoded, _printed_bound(setting, alpha0)

    result, shares = _against_simulation(effort, "Theorem 6.6", "decoded", compared)
    text = f"{len(result.rows)} settings: the simulated error is {min(shares):.3f} to {max(shares):.3f} of the bound."
    return _within_bound(text, result, shares)


def _printed_bound(setting: Setting, alpha0: float) -> float:
    clusters, inside, r = setting.clusters, setting.inside, float(setting.r)
    return gkrr_utility_upper(clusters=clusters, inside=inside, r=r, alpha0=alpha0, reports=setting.reports)


@row(
    "thm:krr-utility:proof",
    "Appendix C.3",
    "In the proof: ... + 2te^(2a0) + ... <= (t(e^a0 + s))^2.",
    "barrow.mechanisms.frequency_error.gkrr_utility_upper",
    erratum="That step is false for e^alpha0 > t and few clusters. The conclusion a'^2 - 1 <= (t(e+s)/D)^2 is true by "
    "another argument (proof linked).",
    links="proofs/frequency.md",
)
def _step(effort: Effort) -> Measured:
    false = conclusion = cases = 0
    for u in uniforms(77, 4 * 4000).reshape(-1, 4):
        s, t = 1 + int(20 * u[0]), 1 + int(20 * u[1])
        r, alpha0 = 0.01 + 0.48 * u[2], 0.05 + 6.0 * u[3]
        e, near = math.exp(alpha0), math.exp((1 - r) * alpha0)
        top = t * t * e * e + 2 * (s - 1) * t * t * e + (s - 1) ** 2 * t * t + 2 * t * e * e + 2 * (s - 1) * t * e
        first = (e + (t - 1) * near + (s - 1) * t) / (e - near)
        false += top > (t * (e + s)) ** 2 * (1 + 1e-12)
        conclusion += first**2 - 1 > (t * (e + s) / (e - near)) ** 2 * (1 + 1e-12)
        cases += 1
    return Measured(
        f"{cases:,} random (s, t, r, alpha0): the step is false in {false:,}, the conclusion in {conclusion}.",
        CORRECTED if false and not conclusion else (HOLDS if not false else UNSAFE),
        {"cases": cases, "step_false": false, "conclusion_false": conclusion},
    )


@row(
    "rem:krr:inequalities",
    "Appendix C.3, first case",
    "(e^a0 + s)/(e^a0 - e^((1-r)a0)) <= s/(r a0), and the terms add up with 1 + 2/sqrt(t) <= 2.",
    "barrow.mechanisms.frequency_error.gkrr_rate_upper",
    erratum="Both are false (the first is about (s+1)/(r a0) for small a0, the second needs t >= 4). The rate holds: "
    "k^(3/2) times (4 + 2/a0) over sqrt(N).",
    links="proofs/frequency.md",
)
def _inequalities(effort: Effort) -> Measured:
    false = rate = cases = 0
    for u in uniforms(78, 4 * 4000).reshape(-1, 4):
        s, t = 2 + int(18 * u[0]), 1 + int(20 * u[1])
        r, alpha0 = 0.01 + 0.48 * u[2], 0.01 + 0.99 * u[3]
        gap = math.exp(alpha0) - math.exp((1 - r) * alpha0)
        false += (math.exp(alpha0) + s) / gap > s / (r * alpha0)
        theorem = gkrr_utility_upper(clusters=s, inside=t, r=r, alpha0=alpha0, reports=10**6)
        rate += theorem / 2 > gkrr_rate_upper(k=s * t, alpha0=alpha0, reports=10**6)
        cases += 1
    return Measured(
        f"{cases:,} draws with alpha0 <= 1: the first inequality is false in {false:,}; the corrected rate is below "
        f"half of Theorem 6.6 (which is a bound too) in {rate}.",
        CORRECTED if false and not rate else (HOLDS if not false else UNSAFE),
        {"cases": cases, "false": false, "rate_below": rate},
    )


@row(
    "rem:krr-utility",
    "Theorem 6.6, remarks",
    "max_K E EMD <= 4 sqrt(k^3/(mn)) + 64 sqrt(k^3)/(alpha sqrt(n)) sqrt(ln(4m e^alpha/delta)).",
    "barrow.mechanisms.frequency_error.paper_remark_upper",
    erratum="No EMD exceeds 1, and the bound does at every size the paper has in mind; it is also stated at the closed "
    "form's alpha0.",
    links="proofs/frequency.md",
)
def _remark(effort: Effort) -> Measured:
    rows, vacuous = [], 0
    numbers = {}
    for k, users in ((20, 10**4), (100, 10**4), (100, 10**6), (1000, 10**6), (20, 10**8)):
        bound = paper_remark_upper(k=k, items=1000, users=users, alpha=25, delta=1e-9)
        vacuous += bound >= 1.0
        rows.append((str(k), f"{users:,}", sized(bound, 3), "says nothing" if bound >= 1 else "says something"))
        numbers[f"bound_{k}_{users}"] = bound
    return Measured(
        f"alpha = 25, m = 1000, delta = 1e-9: {vacuous} of {len(rows)} settings have a bound of 1 or more (k = 100, n "
        f"= 10^4: {numbers['bound_100_10000']:.0f}).",
        VACUOUS if vacuous > len(rows) // 2 else HOLDS,
        numbers,
        (Grid("The closed bound, local model", ("k", "n", "bound", ""), tuple(rows)),),
    )


@row(
    "lem:lap-freq",
    "Lemma 6.7",
    "Laplace noise of scale 1/(n eps) on every entry of the histogram is (eps, 0)-user-level DP and errs by O(k/(n "
    "eps)).",
    "barrow.mechanisms.user_level.noise.user_level_noise",
    erratum="Replacing one user's data moves the histogram by up to 2/n in l1: the scale must be 2/(n eps).",
    links=("user-level.md", "proofs/user-level.md"),
)
def _laplace(effort: Effort) -> Measured:
    noise = user_level_noise(histogram(Discrete([str(i) for i in range(20)])), 1, noise="laplace", users=1000)
    needed = float(noise.scale) * 1000
    ks = [(5, 4), (10, 10), (20, 20)]
    errors = [Setting(s, t).laplace(effort.of(40, 40), 9) for s, t in ks]
    slope = exponent([s * t for s, t in ks], errors)
    return Measured(
        f"The l1 change of one user among n is 2/n; scale 1/(n eps) has the privacy loss {sized(needed)} eps. With the "
        f"right scale the EMD error on clusters grows as k^{slope:.2f} (k = 20 to 400).",
        UNSAFE if needed > 1.0 + 1e-9 else HOLDS,
        {"loss_factor": needed, "exponent_k": slope},
    )


@row(
    "coro:krr-utility-central",
    "Corollary 6.8",
    "In the central model GKRR with the alpha0 of equation (7) has the error of Theorem 6.6 with N = mn reports.",
    ("barrow.mechanisms.frequency_error.gkrr_utility_upper", "barrow.planning.item_choice.choose_items"),
    erratum="The error formula holds at any alpha0; the alpha0 of equation (7) is not a certified setting.",
    links=("proofs/frequency.md", "why-not-the-papers-formula.md"),
    steady=False,
)
def _central(effort: Effort) -> Measured:
    rows, shares = [], []
    for s, t, r in ((5, 4, "0.02"), (10, 10, "0.05")):
        setting = Setting(s, t, r, users=10**4, items=1000)
        for method in ("theorem", "flow", "blanket"):
            alpha0 = setting.alpha0(method) or 0.0
            raw, decoded = setting.simulated(alpha0, effort.of(5, 40), 70 + s)
            bound = _printed_bound(setting, alpha0)
            shares.append(raw / bound)
            rows.append((f"{s} x {t}", method, *(sized(x, 3) for x in (alpha0, raw, decoded, bound))))
    columns = ("items", "accountant", "alpha0", "simulated EMD", "decoded", "Corollary 6.8 there")
    return Measured(
        f"n = 10^4, m = 1000, alpha = 25, delta = 1e-9: the simulated error is at most {max(shares):.2f} of the bound "
        "at each certified alpha0.",
        CORRECTED if max(shares) <= 1.0 else UNSAFE,
        {"largest_share": max(shares)},
        (Grid("The corollary at certified alpha0", columns, tuple(rows)),),
    )


@row(
    "rem:krr-utility-central",
    "Corollary 6.8, remarks",
    "max_K E EMD <= 4 sqrt(k^3/(mn)) + 64 sqrt(k^3)/(alpha n) sqrt(ln(4m e^alpha/delta)).",
    "barrow.mechanisms.frequency_error.paper_remark_upper",
    links="proofs/frequency.md",
)
def _remark_central(effort: Effort) -> Measured:
    values = {
        users: paper_remark_upper(k=100, items=1000, users=users, alpha=25, delta=1e-9, model="central")
        for users in (10**3, 10**4, 10**5, 10**6)
    }
    reached = {
        users: Setting(10, 10, "0.05", users=users, items=1000).expected(
            Setting(10, 10, "0.05", users=users, items=1000).alpha0("theorem") or 1e-3
        )
        for users in values
    }
    vacuous = sum(v >= 1.0 for v in values.values())
    over = max(reached[u] / values[u] for u in values)
    return Measured(
        "k = 100, m = 1000, alpha = 25: "
        + "; ".join(
            f"n = {u:,}: bound {sized(values[u], 3)}, error with Theorem 4.4 {sized(reached[u], 3)}" for u in values
        )
        + ".",
        VACUOUS if vacuous > 1 else (HOLDS if over <= 1 else UNSAFE),
        {f"bound_{u}": v for u, v in values.items()} | {f"error_{u}": v for u, v in reached.items()},
    )


@row(
    "krr:hadamard-matrix",
    "Section 6.2",
    "Hadamard response: A = q1 + q2 H, normalised, every entry proportional to e^eps or 1.",
    "barrow.mechanisms.MatrixChannel",
    links="user-level.md",
)
def _matrix(effort: Effort) -> Measured:
    matrix = hadamard_matrix(20, 1.0)
    ratio = float((matrix.max(axis=0) / matrix.min(axis=0)).max())
    even = float(np.abs(matrix.sum(axis=1) - 1).max())
    return Measured(
        f"20 items, {matrix.shape[1]} reports: rows add up to 1 (to {even:.0e}) and the largest ratio of two entries "
        f"of a column is {ratio:.9f} = e.",
        HOLDS if abs(ratio / math.e - 1) < 1e-12 and even < 1e-12 else UNSAFE,
        {"ratio": ratio, "reports": matrix.shape[1]},
    )
