"""Tables 1 and 2, and the crossovers: conversions, measured errors with fitted exponents, both kinds of baselines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from barrow.mechanisms import linear_noise
from barrow.mechanisms.user_level.ball import BallNoise
from barrow.mechanisms.user_level.noise import user_level_noise
from barrow.planning.rules import paper_rule_central, paper_rule_linear, paper_rule_local
from barrow.promises import (
    Definition,
    DiscreteEmd,
    Emd,
    ItemMetric,
    UserLevel,
    item_to_emd,
    to_discrete,
    to_emd,
    to_user_level,
)
from barrow.queries import mean
from barrow.spaces import Euclidean
from lab.paper.frequencies import METHODS, Setting, crossover
from lab.paper.measuring import exponent, sized
from lab.paper.registry import CORRECTED, HOLDS, UNSAFE, Effort, Grid, Measured, Number, Plot, row

_CODE = (
    "barrow.mechanisms.FrequencyEstimator",
    "barrow.planning.user_level.user_level_histograms",
    "barrow.planning.histograms.histogram_candidates",
)
_LOCAL = Setting(users=10**5, items=10**4, model="local", alpha=25.0)
_CENTRAL = Setting(users=1000, items=10**5, model="central", alpha=25.0)


@row(
    "tab:privacy",
    "Table 1",
    "Nine definitions (item, user, EMD; local, central; bounded, unbounded, discrete) and how they imply each other.",
    (
        "barrow.promises.Emd",
        "barrow.promises.DiscreteEmd",
        "barrow.promises.UserLevel",
        "barrow.promises.to_user_level",
    ),
    erratum="The discrete central row lacks a factor (tab:privacy:group); central unbounded EMD-DP is added, which the "
    "paper says cannot be defined.",
    links=("definitions.md", "proofs/definitions.md"),
)
def _definitions(effort: Effort) -> Measured:
    small = "1e-12"
    each: list[Definition] = [
        ItemMetric("0.025"),
        UserLevel(1, small, model="local"),
        UserLevel(1, small, model="central"),
        Emd(25, small, model="local", bounded=True),
        Emd(25, small, model="local"),
        DiscreteEmd("0.2", small, radius="0.008", model="local"),
        Emd(25, small, model="central", bounded=True),
        Emd(25, small, model="central"),
        DiscreteEmd("0.2", small, radius="0.008", model="central"),
    ]
    rows = []
    for definition in each:
        at = [f"{definition.epsilon_at(w):.4g}" for w in ("0.008", "0.1", 1)]
        rows.append((str(definition), *at, f"{definition.delta_at(1):.3g}", _implied(definition)))
    columns = ("definition", "eps at EMD 0.008", "at 0.1", "at 1", "delta at 1", "implies")
    rising = all(d.epsilon_at(a) <= d.epsilon_at(b) for d in each for a, b in pairwise(("0.008", "0.1", "1")))
    return Measured(
        f"{len(each)} definitions as values, each a promise at every distance; for instance {each[3]} implies "
        f"{_implied(each[3])}.",
        CORRECTED if rising else UNSAFE,
        {"definitions": len(each), "rising": rising},
        (Grid("The definitions and what they imply", columns, tuple(rows)),),
    )


def _implied(definition: Definition) -> str:
    if isinstance(definition, ItemMetric):
        return str(item_to_emd(definition, items=1000).definition)
    if isinstance(definition, UserLevel):
        return str(to_emd(definition, items=1000, least_distance="0.01").definition)
    if isinstance(definition, DiscreteEmd):
        return str(to_discrete(definition, radius="0.1").definition)
    if isinstance(definition, Emd):
        return str(to_user_level(definition).definition)
    return ""


@row(
    "tab:lin-query-error",
    "Table 2a",
    "Linear queries, central: user-level DP errs by O(d/(eps n)), EMD-DP by O(d sqrt(ln(1/delta))/(alpha n)); local "
    "errors are sqrt(n) higher.",
    ("barrow.mechanisms.linear_noise", "barrow.mechanisms.user_level.noise.user_level_noise"),
    erratum="With K-norm noise EMD-DP needs no delta and no sqrt(ln(1/delta)); the gain over user-level DP is "
    "alpha/eps times the query's range over its Lipschitz constant.",
    links=("planning.md", "proofs/linear.md", "user-level.md"),
)
def _linear(effort: Effort) -> Measured:
    query = mean(Euclidean([0, 0], [4, 4], step=1))

    def ours(alpha: float, users: int, model: str) -> float:
        result = linear_noise(
            query, Fraction(alpha), model=model, users=users if model == "central" else None
        ).deviation
        return result if model == "central" else result / math.sqrt(users)

    def theirs(epsilon: float, users: int, model: str) -> float:
        if model == "central":
            return user_level_noise(query, Fraction(epsilon), users=users).deviation
        return BallNoise.of(query, Fraction(epsilon)).deviation / math.sqrt(users)

    sizes, rates = [100, 1000, 10_000], [1.0, 5.0, 25.0]
    rows: list[tuple[str, ...]] = []
    numbers: dict[str, float] = {}
    for model in ("central", "local"):
        by_n = exponent(sizes, [ours(25, n, model) for n in sizes])
        by_alpha = exponent(rates, [ours(a, 1000, model) for a in rates])
        user_n = exponent(sizes, [theirs(1, n, model) for n in sizes])
        values = ours(1, 1000, model), ours(25, 1000, model), theirs(1, 1000, model)
        rows.append((model, *(sized(v, 3) for v in values), f"{by_n:.2f}", f"{by_alpha:.2f}", f"{user_n:.2f}"))
        numbers |= {f"{model}_n": by_n, f"{model}_alpha": by_alpha, f"{model}_gain": values[2] / values[1]}
    columns = (
        "model",
        "EMD-DP, alpha = 1",
        "alpha = 25",
        "user-level, eps = 1",
        "n exponent",
        "alpha exponent",
        "its n",
    )
    holds = abs(numbers["central_n"] + 1) < 0.01 and abs(numbers["local_n"] + 0.5) < 0.01
    return Measured(
        "The mean on a 4 x 4 square, deviation of a coordinate at n = 1000: EMD-DP falls as "
        f"n^{numbers['central_n']:.2f} centrally and n^{numbers['local_n']:.2f} locally, and as "
        f"alpha^{numbers['central_alpha']:.2f}; at alpha = 25 against eps = 1 it errs "
        f"{sized(numbers['central_gain'], 3)} times less (local {sized(numbers['local_gain'], 3)}).",
        CORRECTED if holds else UNSAFE,
        numbers,
        (Grid("Linear queries, measured", columns, tuple(rows)),),
    )


def _sweeps(base: Setting, effort: Effort) -> dict[str, tuple[list[float], list[Setting]]]:
    """Settings along each parameter, the others as in ``base``."""
    more = not effort.quick
    ns = [base.users * f for f in ((1, 4, 16) if more else (1, 16))]
    ms = [base.items // f for f in ((16, 4, 1) if more else (16, 1))]
    shapes = [(5, 2), (5, 4), (10, 4), (20, 4)] if more else [(5, 4), (20, 4)]
    alphas = [6.25, 12.5, 25.0, 50.0] if more else [12.5, 50.0]
    rs = ["0.01", "0.05", "0.2"] if more else ["0.01", "0.2"]
    return {
        "n": ([float(n) for n in ns], [replace(base, users=n) for n in ns]),
        "m": ([float(m) for m in ms], [replace(base, items=m) for m in ms]),
        "k": ([float(s * t) for s, t in shapes], [replace(base, clusters=s, inside=t) for s, t in shapes]),
        "alpha": (alphas, [replace(base, alpha=a) for a in alphas]),
        "r": ([float(r) for r in rs], [replace(base, r=r) for r in rs]),
    }


def _measured(setting: Setting, effort: Effort) -> dict[str, float]:
    """Every column of Table 2b at one setting: simulated EMD errors, NaN where a method says nothing."""
    draws = effort.of(4, 16)
    result: dict[str, float] = {}
    for i, method in enumerate(METHODS):
        alpha0 = setting.alpha0(method)
        result[method] = math.nan if alpha0 is None else setting.simulated(alpha0, draws, 300 + i)[0]
    result["barrow"] = setting.best()[1]
    result["paper's baseline"] = setting.paper_baseline(effort.of(40, 200), 310)
    result["strongest baseline"] = setting.strongest(effort.of(8, 32))[1]
    return result


def _table(
    base: Setting, effort: Effort, paper: dict[str, str]
) -> tuple[dict[str, Number], tuple[Grid, ...], tuple[Plot, ...]]:
    numbers: dict[str, Number] = {}
    rows: list[tuple[str, ...]] = []
    fits: dict[str, dict[str, float]] = {}
    plots: list[Plot] = []
    columns: list[str] = []
    cache: dict[Setting, dict[str, float]] = {}
    for name, (values, settings) in _sweeps(base, effort).items():
        results = []
        for setting in settings:
            if setting not in cache:
                cache[setting] = _measured(setting, effort)
            results.append(cache[setting])
        columns = list(results[0])
        for value, each in zip(values, results, strict=True):
            rows.append((f"{name} = {sized(value)}", *(_shown(each[c]) for c in columns)))
        fits[name] = {c: exponent(values, [e[c] for e in results]) for c in columns if all(e[c] > 0 for e in results)}
        numbers |= {f"{name}_exponent_{c}": fit for c, fit in fits[name].items()}
        curves = tuple(
            (c, tuple(values), tuple(e[c] for e in results))
            for c in columns
            if all(0 < e[c] < math.inf for e in results)
        )
        if name in ("n", "alpha"):
            plots.append(Plot(f"EMD error by {name}, {base.name}", name, "EMD error", curves))
    numbers |= {f"error_{c}": v for c, v in cache[base].items() if v == v} if base in cache else {}
    exponents = tuple(
        (name, paper[name], *(f"{fit[c]:.2f}" if c in fit else "says nothing" for c in columns))
        for name, fit in fits.items()
    )
    head = f"{base.name}, r = {base.r}, n = {base.users:,}, m = {base.items:,}, alpha = 25, eps = 1, delta = 1e-9"
    return (
        numbers,
        (
            Grid(f"EMD errors ({head}, one parameter varied)", ("setting", *columns), tuple(rows)),
            Grid("Fitted exponents", ("in", "the paper's bound", *columns), exponents),
        ),
        tuple(plots),
    )


def _shown(value: float) -> str:
    """An error; an EMD of 1 or more is no information."""
    if value != value:
        return "says nothing"
    return f"{value:.3g}" + (" (vacuous)" if value >= 1.0 else "")


_NOTE = (
    "Columns theorem, flow and blanket are the paper's mechanism (GKRR, unbiased estimate, before decoding) at the "
    "alpha0 that each accountant certifies; barrow is the best histogram it would release."
)


@row(
    "tab:hist-error:local",
    "Table 2b, local",
    "Local frequency estimation: Hadamard response O(sqrt(k^2 ln(m/delta)/(n eps^2))), GKRR O(sqrt(k^3 "
    "max(ln(m/delta), alpha)/(n alpha^2))).",
    _CODE,
    erratum="Rates hold; constants are large, the printed baseline is not the best user-level DP, and noise along "
    "edges beats GKRR.",
    links=("histograms.md", "user-level.md", "proofs/edge-noise.md"),
    steady=False,
)
def _hist_local(effort: Effort) -> Measured:
    steep = "-1 (-1/2 for alpha > ln(m/delta))"
    paper = {"n": "-1/2", "m": "0", "k": "3/2", "alpha": steep, "r": "none at given alpha"}
    return _said(_LOCAL, effort, paper, -0.5)


@row(
    "tab:hist-error:central",
    "Table 2b, central",
    "Central frequency estimation: Laplace O(k/(n eps)), GKRR O((k^(3/2)/(n alpha)) sqrt(max(ln(m/delta), alpha))) for "
    "n < m/alpha.",
    _CODE,
    erratum="As in the local model; how the error grows with k depends on how items are clustered (open:k-dependence).",
    links=("histograms.md", "user-level.md", "proofs/tree-histograms.md"),
    steady=False,
)
def _hist_central(effort: Effort) -> Measured:
    paper = {"n": "-1", "m": "0", "k": "3/2", "alpha": "-1, later -1/2", "r": "none"}
    return _said(_CENTRAL, effort, paper, -1.0)


def _said(base: Setting, effort: Effort, paper: dict[str, str], sure: float) -> Measured:
    numbers, tables, plots = _table(base, effort, paper)
    fit = {key: value for key, value in numbers.items() if isinstance(value, float)}
    by_n = fit["n_exponent_flow"]
    theirs = fit["error_paper's baseline"]
    gain = theirs / fit["error_barrow"]
    strong = fit["error_strongest baseline"] / fit["error_barrow"]
    text = (
        f"{base.name}: with the flow bound the error falls as n^{by_n:.2f} (the paper: {paper['n']}), grows as "
        f"k^{fit['k_exponent_flow']:.2f} (3/2) and falls as alpha^{fit['alpha_exponent_flow']:.2f}. At alpha = 25, eps "
        f"= 1: GKRR with Theorem 4.4 {_shown(fit.get('error_theorem', math.nan))}, flow {fit['error_flow']:.3g}, "
        f"blanket {fit['error_blanket']:.3g}, barrow's best {fit['error_barrow']:.3g}; the paper's baseline "
        f"{_shown(theirs)}, the strongest {fit['error_strongest baseline']:.3g} ({gain:.3g} and {strong:.3g} times "
        f"barrow's). {_NOTE}"
    )
    return Measured(text, CORRECTED if abs(by_n - sure) < 0.15 else UNSAFE, numbers, tables, plots)


def _crossings(
    settings: Sequence[Setting], effort: Effort, rule: Callable[[Setting], float]
) -> tuple[Grid, dict[str, Number]]:
    rows: list[tuple[str, ...]] = []
    numbers: dict[str, Number] = {}
    for setting in settings:
        baseline = setting.paper_baseline(effort.of(60, 300), 320)
        name, strong = setting.strongest(effort.of(8, 32))
        key = f"{setting.clusters}x{setting.inside}_n{setting.users}_eps{setting.epsilon:g}"
        cells: list[str] = []
        numbers[f"{key}_rule"] = rule(setting)
        for method in METHODS:
            for target, what in ((baseline, "paper"), (strong, "strong")):

                def error(alpha: float, method: str = method, setting: Setting = setting) -> float | None:
                    here = replace(setting, alpha=round(alpha, 9))
                    alpha0 = here.alpha0(method)
                    return None if alpha0 is None or alpha0 < 1e-9 else here.expected(alpha0)

                result = crossover(error, target, setting.epsilon)
                cells.append("none" if result is None else sized(result, 3))
                numbers[f"{key}_{method}_{what}"] = math.inf if result is None else result
        shape = f"{setting.clusters} x {setting.inside}"
        place = f"{shape}, n = {setting.users:,}, m = {setting.items:,}, eps = {setting.epsilon:g}"
        rows.append((place, sized(rule(setting), 3), *cells, f"{sized(baseline, 3)} / {sized(strong, 3)} ({name})"))
    columns = ("setting", "the paper's rule", "Theorem 4.4", "against the strongest", "flow", "against the strongest",
               "blanket", "against the strongest", "error of the baselines")  # fmt: skip
    return Grid("From which alpha on GKRR errs less, delta = 1e-9, r = 0.02", columns, tuple(rows)), numbers


_CROSSINGS = (
    "A rule without constants. The paper's own theorem crosses several times later, the flow bound about there and the "
    "privacy blanket earlier; against the strongest user-level baseline all cross later. No crossover lies below eps."
)


@row(
    "rem:crossover-local",
    "Section 6.2, local",
    "EMD-DP errs less if alpha > eps sqrt(k), or eps^2 k/ln(m/delta).",
    ("barrow.planning.rules.paper_rule_local", "barrow.planning.comparing.compare_histograms"),
    erratum=_CROSSINGS,
    links=("planning.md", "user-level.md"),
    steady=False,
)
def _local_crossing(effort: Effort) -> Measured:
    base = replace(_LOCAL, items=1000)
    settings = [replace(base, epsilon=e) for e in ((1.0,) if effort.quick else (0.5, 1.0))]
    settings += [] if effort.quick else [replace(base, clusters=10, inside=10)]
    grid, numbers = _crossings(
        settings,
        effort,
        lambda s: paper_rule_local(Fraction(s.epsilon), s.delta, items=s.k, users_items=s.items).alpha,
    )
    return _told(grid, numbers, "5x4_n100000_eps1")


@row(
    "rem:crossover-central",
    "Section 6.2, central",
    "EMD-DP errs less if alpha >= eps sqrt(k ln(m/delta)), or eps^2 k; in short for alpha > eps^2 k.",
    ("barrow.planning.rules.paper_rule_central", "barrow.planning.comparing.compare_histograms"),
    erratum=_CROSSINGS,
    links=("planning.md", "user-level.md"),
    steady=False,
)
def _central_crossing(effort: Effort) -> Measured:
    settings = [replace(_CENTRAL, epsilon=e) for e in ((1.0,) if effort.quick else (0.5, 1.0, 2.0))]
    if not effort.quick:
        settings += [replace(_CENTRAL, clusters=10, inside=10), replace(_CENTRAL, users=10**4, items=1000)]
    grid, numbers = _crossings(
        settings,
        effort,
        lambda s: paper_rule_central(Fraction(s.epsilon), s.delta, items=s.k, users_items=s.items, users=s.users).alpha,
    )
    return _told(grid, numbers, "5x4_n1000_eps1")


def _told(grid: Grid, numbers: dict[str, Number], key: str) -> Measured:
    value = {name: float(numbers[f"{key}_{name}"]) for name in ("rule", "theorem_paper", "flow_paper", "blanket_paper")}
    strong = {name: float(numbers[f"{key}_{name}_strong"]) for name in METHODS}
    below = min(float(v) for k, v in numbers.items() if not k.endswith("rule"))
    claim = {name: "none below 10,000" if math.isinf(v) else sized(v, 3) for name, v in (value | strong).items()}
    return Measured(
        f"5 x 4, eps = 1 ({key}): the rule says {claim['rule']}; the paper's mechanism crosses its own baseline at "
        f"{claim['theorem_paper']} with Theorem 4.4, {claim['flow_paper']} with the flow bound, "
        f"{claim['blanket_paper']} with the blanket; the strongest baseline at {claim['theorem']}, {claim['flow']}, "
        f"{claim['blanket']}.",
        CORRECTED if value["theorem_paper"] > 1.5 * value["rule"] and below >= 0.5 else HOLDS,
        numbers,
        (grid,),
    )


@row(
    "rem:crossover-linear",
    "Section 6.1",
    "For linear queries EMD-DP errs less for alpha > eps.",
    ("barrow.planning.rules.paper_rule_linear", "barrow.mechanisms.linear_noise"),
    erratum="True up to the factor range/Lipschitz constant, and against K-norm noise shaped by the query up to that "
    "noise's advantage: the measured crossover is stated in every comparison.",
    links="planning.md",
)
def _linear_crossing(effort: Effort) -> Measured:
    query = mean(Euclidean([0, 0], [4, 4], step=1))
    rule = paper_rule_linear(1).alpha
    target = user_level_noise(query, 1, users=1000).deviation
    result = crossover(
        lambda a: linear_noise(query, Fraction(a), model="central", users=1000).deviation, target, 1.0, 100.0
    )
    measured = math.inf if result is None else result
    return Measured(
        f"The mean on a square, n = 1000: the rule says {sized(rule)}, measured {sized(measured, 3)} against the most "
        "accurate user-level noise at eps = 1.",
        CORRECTED if measured > 1.02 * rule else HOLDS,
        {"rule": rule, "measured": measured},
    )
