"""How accurate and how fast histograms along trees are: ``scripts/bench trees [--repeats 50]``.

Four tables: the mean EMD error on the paper's clustered spaces (n = 1e4 users, delta = 1e-9 where noise is Gaussian);
that of the paper's mechanism there; decoders compared over spaces, populations and noise; and seconds for a million
leaves. The last line is one JSON object, with ``decode_1e6_seconds`` for the default decoder.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable

import numpy as np

from barrow.accounting.theorem import theorem_alpha0_lower
from barrow.mechanisms import FrequencyEstimator, HistogramNoise, item_wise
from barrow.mechanisms.decoding.tree import decode, edge_values
from barrow.mechanisms.histograms import histogram_noise
from barrow.noise import Center, rounded_gaussian
from barrow.noise.source import SeededSource
from barrow.randomisers import gkrr
from barrow.spaces import Clustered, Discrete, EdgeTree, Line, Tree, edge_tree
from barrow.spaces.space import Floats

Draw = Callable[[int], Floats]
DECODERS = {"top_down": "top_down", "nearest": "nearest", "shrunk": "empirical_bayes"}
"""By the names that keys have had."""
HOW = tuple(DECODERS)


def populations(generator: np.random.Generator) -> dict[str, Draw]:
    """Populations over k items, drawn at random or permuted."""

    def normal(weights: Floats) -> Floats:
        return np.asarray(weights / weights.sum())

    return {
        "Dirichlet(1)": lambda k: generator.dirichlet(np.ones(k)),
        "Dirichlet(0.1)": lambda k: generator.dirichlet(np.full(k, 0.1)),
        "Zipf": lambda k: generator.permutation(normal(1.0 / np.arange(1.0, k + 1))),
        "lognormal": lambda k: normal(np.exp(1.5 * generator.normal(size=k))),
        "geometric": lambda k: generator.permutation(normal(np.asarray(0.9 ** np.arange(k), dtype=np.float64))),
        "5 items": lambda k: np.asarray(np.eye(k)[generator.integers(0, k, 5)].mean(axis=0)),
        "uniform": lambda k: np.full(k, 1.0 / k),
    }


def variance(plan: HistogramNoise) -> float:
    """The variance of each edge value that is decoded."""
    return plan.on_outputs.deviation**2 / plan.reports


def noise(plan: HistogramNoise, source: SeededSource) -> Floats:
    """The noise of the values that are decoded; means of 1e4 reports are drawn as Gaussian."""
    zeros = np.zeros(plan.query.dimension)
    if plan.reports > 1:
        return rounded_gaussian(zeros, math.sqrt(variance(plan)), source=source).values
    return np.asarray(plan.noise.draw(Center.of(zeros), source).values)


def paper(repeats: int) -> list[dict[str, object]]:
    """The mean EMD error on clustered spaces, by model, alpha and population."""
    rows: list[dict[str, object]] = []
    source, generator = SeededSource(1), np.random.default_rng(1)
    print("space r alpha model noise population: raw | top_down nearest shrunk")
    for s, t, r in ((10, 10, 0.05), (5, 4, 0.02), (20, 50, 0.01)):
        space = Clustered.grid(s, t, r=r)
        tree = edge_tree(space)
        for alpha in (5, 25, 100):
            for model, law in (("central", "laplace"), ("local", "laplace"), ("local", "gaussian")):
                plan = histogram_noise(space, "tree", alpha, "1e-9", users=10_000, model=model, noise=law)
                left = "laplace" if model == "central" else "gaussian"
                for name in ("Dirichlet(1)", "Dirichlet(0.1)"):
                    draw = populations(generator)[name]
                    result: dict[str, list[float]] = {how: [] for how in ("raw", *HOW)}
                    for _ in range(repeats):
                        # 1e4 users with 1e3 items each: the mean over users is what is to be found.
                        truth = generator.multinomial(10**7, draw(space.items)) / 1e7
                        exact = edge_values(tree, truth)
                        values = exact + noise(plan, source)
                        result["raw"].append(float(np.abs(values - exact).sum()))
                        for how in HOW:
                            built = decode(tree, values, how=DECODERS[how], variances=variance(plan), distribution=left)
                            result[how].append(float(np.abs(edge_values(tree, built) - exact).sum()))
                    means = {how: float(np.mean(x)) for how, x in result.items()}
                    shown = " ".join(f"{means[how]:.6f}" for how in HOW)
                    print(f"{s}x{t} {r} {alpha} {model} {law} {name}: {means['raw']:.6f} | {shown}", flush=True)
                    rows.append(
                        {"s": s, "t": t, "r": r, "alpha": alpha, "model": model, "noise": law, "of": name, **means}
                    )
    return rows


def itemwise(repeats: int) -> list[dict[str, object]]:
    """The paper's mechanism at equal privacy: GKRR on 1e3 items of 1e4 users, alpha0 by Theorem 4.4 or composition."""
    rows: list[dict[str, object]] = []
    source, generator = SeededSource(2), np.random.default_rng(4)
    print("\nGKRR, alpha = 25, delta = 1e-9, Dirichlet(1): undecoded | top_down nearest along the tree")
    for s, t, r in ((10, 10, 0.05), (5, 4, 0.02), (20, 50, 0.01)):
        space = Clustered.grid(s, t, r=r)
        tree = edge_tree(space)
        for model, reports in (("central", 10**7), ("local", 10**3)):
            alpha0 = max(theorem_alpha0_lower(25, reports=reports, items=1000, delta="1e-9") or 0.0, 25 / 1000)
            randomiser = gkrr(space, alpha0)
            estimator = FrequencyEstimator(item_wise(randomiser, items=1000, users=10_000))
            result: dict[str, list[float]] = {how: [] for how in ("raw", *HOW[:2])}
            for _ in range(repeats):
                held = generator.multinomial(10**7, generator.dirichlet(np.ones(space.items)))
                exact = edge_values(tree, held / 1e7)
                values = edge_values(tree, estimator.estimate(randomiser.from_counts(held, source=source)))
                result["raw"].append(float(np.abs(values - exact).sum()))
                for how in HOW[:2]:
                    built = decode(tree, values, how=how)
                    result[how].append(float(np.abs(edge_values(tree, built) - exact).sum()))
            means = {how: float(np.mean(x)) for how, x in result.items()}
            print(
                f"{s}x{t} {r} {model}: {means['raw']:.5f} | {means['top_down']:.5f} {means['nearest']:.5f}", flush=True
            )
            rows.append({"s": s, "t": t, "r": r, "model": model, **means})
    return rows


def decoders(repeats: int) -> dict[str, dict[str, float]]:
    """Geometric mean of each decoder's error relative to top_down, by population; and its worst case."""
    generator = np.random.default_rng(2)
    nested = [f"{a}/{b}/{c}" for a in range(5) for b in range(8) for c in range(10)]
    trees: dict[str, EdgeTree] = {
        "10x10": edge_tree(Clustered.grid(10, 10, r=0.05)),
        "5x4": edge_tree(Clustered.grid(5, 4, r=0.02)),
        "20x50": edge_tree(Clustered.grid(20, 50, r=0.01)),
        "5x8x10": edge_tree(Tree.nested(nested, distances=[1, 0.25, 0.05])),
        "star of 50": edge_tree(Discrete([str(i) for i in range(50)])),
        "line of 100": edge_tree(Line(0, 1, step=0.01)),
    }
    ratios: dict[str, dict[str, list[float]]] = {}
    for tree_name, tree in trees.items():
        for name, draw in populations(generator).items():
            for scale in (4e-6, 4e-5, 4e-4, 2e-3):
                errors: dict[str, list[float]] = {how: [] for how in HOW}
                for _ in range(repeats):
                    exact = edge_values(tree, draw(tree.items))
                    values = exact + generator.laplace(scale=scale, size=tree.edges)
                    for how in HOW:
                        built = decode(tree, values, how=DECODERS[how], variances=2 * scale**2)
                        errors[how].append(float(np.abs(edge_values(tree, built) - exact).sum()))
                for how in HOW:
                    ratio = float(np.mean(errors[how]) / np.mean(errors["top_down"]))
                    key = "on a line" if tree.path else name
                    ratios.setdefault(how, {}).setdefault(key, []).append(ratio)
                    if not tree.path:
                        ratios[how].setdefault(f"on {tree_name}", []).append(ratio)
                        ratios[how].setdefault(f"scale {scale:g}", []).append(ratio)
                        ratios[how].setdefault("all trees", []).append(ratio)
    table: dict[str, dict[str, float]] = {}
    for how in HOW[1:]:
        table[how] = {key: math.exp(float(np.mean(np.log(x)))) for key, x in ratios[how].items()}
        table[how]["worst"] = max(ratios[how]["all trees"])
    print(f"\n{'relative to top_down':22} " + " ".join(f"{how:>8}" for how in HOW[1:]))
    for key in table["nearest"]:
        print(f"{key:22} " + " ".join(f"{table[how][key]:8.3f}" for how in HOW[1:]))
    return table


def speed() -> dict[str, float]:
    """Seconds to decode a million leaves, and a line of a million points."""
    generator = np.random.default_rng(3)
    result = {}
    space = Clustered.grid(1000, 1000, r=0.05)
    start = time.perf_counter()
    histogram_noise(space, "tree", 25, users=10_000)
    result["plan_1e6_seconds"] = time.perf_counter() - start
    tree = edge_tree(space)
    exact = edge_values(tree, generator.dirichlet(np.full(tree.items, 0.1)))
    values = exact + generator.laplace(scale=4e-8, size=tree.edges)
    for how in HOW:
        start = time.perf_counter()
        decode(tree, values, how=DECODERS[how], variances=2 * 4e-8**2)
        result[f"decode_1e6_seconds_{how}"] = time.perf_counter() - start
    line = edge_tree(Line(0, 1, step=1e-6))
    noisy = edge_values(line, np.full(line.items, 1e-6)) + generator.laplace(scale=1e-9, size=line.edges)
    start = time.perf_counter()
    decode(line, noisy)
    result["decode_line_1e6_seconds"] = time.perf_counter() - start
    result["decode_1e6_seconds"] = result["decode_1e6_seconds_shrunk"]
    return result


def main() -> None:
    """Prints the tables, and the JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=50)
    repeats = parser.parse_args().repeats
    rows = paper(repeats)
    gkrr_rows = itemwise(repeats)
    table = decoders(max(2, repeats // 4))
    timing = speed()
    print()
    print(json.dumps({**timing, "decoders": table, "clustered": rows, "gkrr": gkrr_rows}))


if __name__ == "__main__":
    main()
