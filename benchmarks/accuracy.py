"""How accurate a histogram is at equal guarantees: ``scripts/bench accuracy [--repeats 50] [--data FILE ...]``.

The paper's setting (Section 6.2): clustered spaces, n = 1e4 users with m = 1e3 items each, delta = 1e-9. Noise along a
tree against GKRR with three accountants, and against ordinary user-level DP at epsilon = alpha r. Populations are drawn
from Dirichlet(0.1) and Dirichlet(1); errors are mean earth mover's distances over all repetitions. The tree uses its
default decoder; every other method the decoder that is best for it in hindsight, and user-level DP also the best of all
its mechanisms. The figures are the other's mean error divided by ours.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from barrow.accounting import calibrate_shuffle
from barrow.accounting.blanket import parse_randomiser
from barrow.errors import ParameterError
from barrow.mechanisms import FrequencyEstimator, item_wise
from barrow.mechanisms.decoding.grid import nearest_in_simplex
from barrow.mechanisms.decoding.tree import decode, edge_values
from barrow.mechanisms.histograms import histogram_noise
from barrow.mechanisms.itemwise import least_distance
from barrow.noise import Center, rounded_gaussian
from barrow.noise.source import SeededSource
from barrow.randomisers import randomiser_from_spec
from barrow.randomisers.spec import family_of_spec
from barrow.spaces import Clustered, Space, Tree, edge_tree
from benchmarks import _airports, _multiscale, trees
from benchmarks._timing import finish
from benchmarks.baselines import HistogramBaseline
from benchmarks.baselines.planning import histogram_baselines

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Draw = Callable[[Integers, SeededSource], dict[str, Floats]]
"""From items to estimates by decoder."""

SETTINGS = ((10, 10, 0.05), (5, 4, 0.02), (20, 50, 0.01))
ALPHAS = (5, 25, 100)
USERS, ITEMS, DELTA = 10**4, 10**3, "1e-9"
METHODS = {"gkrr_theorem": "theorem", "gkrr_flow": "flow", "gkrr_blanket": "blanket"}
_BASELINES = 4


def ours(space: Space, alpha: float, users: int, model: str) -> Draw:
    """Noise along the tree, with the default decoder."""
    plan = histogram_noise(space, "tree", Fraction(alpha), DELTA, users=users, model=model)
    tree, variance = edge_tree(space), plan.on_outputs.deviation**2 / plan.reports
    law = "gaussian" if plan.noise.p is None or plan.reports >= 30 else "laplace"

    def draw(held: Integers, source: SeededSource) -> dict[str, Floats]:
        exact = edge_values(tree, held / held.sum())
        zeros = np.zeros(tree.edges)
        if plan.reports >= 30:  # the mean of many reports is drawn as a Gaussian
            values = exact + rounded_gaussian(zeros, Fraction(variance**0.5), source=source).values
        else:
            samples = [plan.noise.draw(Center.of(zeros), source).values for _ in range(plan.reports)]
            values = exact + np.mean(samples, axis=0)
        return {"default": decode(tree, values, variances=variance, distribution=law)}

    return draw


def decoded(space: Space, estimate: Floats, variances: Floats) -> dict[str, Floats]:
    """An unbiased estimate by every decoder; ``variances`` are those of its masses below edges."""
    tree = edge_tree(space)
    values = edge_values(tree, estimate)
    spread = np.maximum(variances, 1e-300) * tree.lengths**2
    return {
        "none": estimate,
        "simplex": nearest_in_simplex(estimate),
        "nearest": decode(tree, values, how="nearest"),
        "top_down": decode(tree, values, how="top_down", variances=spread),
        "shrunk": decode(tree, values, how="empirical_bayes", variances=spread, distribution="gaussian"),
    }


def gkrr(space: Space, alpha0: float, users: int, items: int, model: str) -> Draw:
    """Every item randomised at alpha0, and the estimate decoded in every way."""
    n = None if model == "local" else users
    built = item_wise(randomiser_from_spec(space, Fraction(alpha0)), items=items, users=n, model=model, delta=DELTA)
    plan = FrequencyEstimator(built, users)
    order = _order(plan, space)
    variances = plan.error.deviations(plan.reports)[order] ** 2

    def draw(held: Integers, source: SeededSource) -> dict[str, Floats]:
        return decoded(space, plan.estimate(built.randomiser.from_counts(held, source=source)), variances)

    return draw


def _order(plan: FrequencyEstimator, space: Space) -> Integers:
    """Which of the estimator's spans each edge of the tree is."""
    tree, spans = edge_tree(space), plan.error.spans
    known = {(int(a), int(b)): i for i, (a, b) in enumerate(zip(spans.starts, spans.ends, strict=True))}
    return np.array([known[int(a), int(b)] for a, b in zip(tree.starts, tree.ends, strict=True)])


def user_level(made: HistogramBaseline, space: Space) -> Draw:
    """A baseline, decoded in every way."""
    variances = made.edge_variances()

    def draw(held: Integers, source: SeededSource) -> dict[str, Floats]:
        return decoded(space, made.estimate_pooled(held, source=source).values, variances)

    return draw


def methods(space: Space, alpha: float, epsilon: Fraction, users: int, items: int, model: str) -> dict[str, Draw]:
    """Every method by its name, ``tree`` among them."""
    family = family_of_spec(space, None)
    result = calibrate_shuffle(
        Fraction(alpha),
        DELTA,
        reports=items if model == "local" else items * users,
        items=items,
        least_distance=least_distance(space),
        randomiser=None if family is None else parse_randomiser(family),
        limit=False,
    )
    built = {"tree": ours(space, alpha, users, model)}
    for name, method in METHODS.items():
        if method != "blanket" or family is not None:
            # Plain composition needs no theorem: a method is never worse than that.
            alpha0 = max(result.methods.get(method) or 0.0, float(result.composition))
            built[name] = gkrr(space, alpha0, users, items, model)
    candidates = histogram_baselines(space, epsilon, DELTA, users=users, items=items, model=model)
    for candidate in candidates[:_BASELINES]:
        built[f"user_level:{candidate.name}"] = user_level(candidate.mechanism, space)
    return built


def errors(space: Space, made: dict[str, Draw], populations: Sequence[Floats], total: int) -> dict[str, float]:
    """The mean EMD of each method over populations, by the decoder that is best for it on all of them."""
    tree, source, generator = edge_tree(space), SeededSource(7), np.random.default_rng(7)
    sums: dict[str, dict[str, float]] = {name: {} for name in made}
    for population in populations:
        held = generator.multinomial(total, population)
        exact = edge_values(tree, held / total)
        for name, draw in made.items():
            for how, result in draw(held, source).items():
                error = float(np.abs(edge_values(tree, result) - exact).sum())
                sums[name][how] = sums[name].get(how, 0.0) + error / len(populations)
    return {name: min(by.values()) for name, by in sums.items()}


def ratios(found: dict[str, float], prefix: str) -> dict[str, float]:
    """The others' errors divided by the tree's; user-level DP by its best mechanism."""
    best: dict[str, float] = {}
    for name, error in found.items():
        key = name.split(":")[0]
        best[key] = min(best.get(key, np.inf), error)
    tree = best.pop("tree")
    print(f"{prefix:24} tree {tree:.3g}" + "".join(f"  {name} {error:.3g}" for name, error in best.items()), flush=True)
    return {f"{prefix}_tree_vs_{name}": round(error / tree, 2) for name, error in best.items()}


def paper(repeats: int) -> dict[str, float]:
    """The paper's setting, central and local."""
    figures: dict[str, float] = {}
    generator = np.random.default_rng(1)
    for s, t, r in SETTINGS:
        space = Clustered.grid(s, t, r=r)
        populations = [generator.dirichlet(np.full(s * t, c)) for c in (0.1, 1.0) for _ in range(repeats)]
        for model in ("central", "local"):
            for alpha in ALPHAS:
                built = methods(space, alpha, Fraction(alpha) * Fraction(str(r)), USERS, ITEMS, model)
                result = errors(space, built, populations, USERS * ITEMS)
                figures |= ratios(result, f"{model}_{s}x{t}_a{alpha}")
    return figures


def real(name: str, space: Tree, shares: Floats, users: int, repeats: int) -> dict[str, float]:
    """Real data on a tree: everybody is taken to hold 100 items, as GKRR needs it."""
    figures: dict[str, float] = {}
    near = Fraction(space.least_distance_lower).limit_denominator(10**6)
    for model in ("central", "local"):
        for alpha in ALPHAS:
            try:
                built = methods(space, alpha, alpha * near, users, 100, model)
            except ParameterError as error:
                print(f"{name}, {model}, alpha {alpha}: {error.problem}", file=sys.stderr)
                continue
            result = errors(space, built, [shares] * repeats, users * 100)
            figures |= ratios(result, f"{name}_{model}_a{alpha}")
    return figures


def from_file(path: str, user: str, item: str, distances: Sequence[float]) -> tuple[Tree, Floats, int]:
    """Any file of users and paths such as country/city: its tree, the mean over users, and their number."""
    import duckdb

    rows = (
        duckdb.connect()
        .execute(
            f"""WITH one AS (SELECT "{user}" AS u, "{item}" AS x, count(*) AS c FROM '{path}' GROUP BY ALL),
        sizes AS (SELECT u, sum(c) AS m FROM one GROUP BY u)
        SELECT x, sum(c / m), (SELECT count(*) FROM sizes) FROM one JOIN sizes USING (u) GROUP BY x ORDER BY x"""
        )
        .fetchall()
    )
    space = Tree.nested([str(x) for x, _, _ in rows], distances=distances)
    by_label = {str(x): total for x, total, _ in rows}
    shares = np.array([by_label[label] for label in space.labels])
    return space, shares / shares.sum(), int(rows[0][2])


def main() -> None:
    """Prints errors, then all ratios as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=50, help="repetitions for each population")
    parser.add_argument("--data", help="a CSV or Parquet file of users and paths, instead of the embedded flights")
    parser.add_argument("--user", default="user", help="its column of users")
    parser.add_argument("--item", default="item", help="its column of paths such as country/city")
    parser.add_argument("--distances", default="1,0.1", help="distances of items that part at each level")
    request = parser.parse_args()
    start = time.perf_counter()
    if request.data is not None:
        space, shares, users = from_file(
            request.data, request.user, request.item, [float(d) for d in request.distances.split(",")]
        )
        finish(real("data", space, shares, users, request.repeats))
        return
    figures = paper(request.repeats)
    space = _airports.airports()
    shares, users = _airports.flights(space)
    figures |= real("flights", space, shares, users, request.repeats)
    figures |= _multiscale.figures()
    figures["decode_1e6_seconds"] = trees.speed()["decode_1e6_seconds"]
    print(f"{time.perf_counter() - start:.0f} s")
    finish(figures)


if __name__ == "__main__":
    main()
