"""How accurate and how fast noise along edges is: ``scripts/bench edges [--draws 3] [--only grid32]``.

Mean earth mover's distances at alpha = 25. ``grid32_*`` are the nine populations of 32 x 32 cells of
benchmarks/_multiscale.py, ``line256_*`` eight populations of 256 cells from uniform to spikes, decoded by the default
decoder, with the spacing of the nodes chosen beforehand at the public reference. ``*_over_floor`` is the undecoded
error times alpha n/(N-1): 1 is the least that any additive noise can have. ``finite150_vs_cells`` is the decoded error
of noise on the cells, by the best of its decoders, divided by ours. Seconds are those of the processor, so that other
work on the machine does not count. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from barrow.mechanisms.decoding.grid import nearest_in_simplex
from barrow.mechanisms.edge_histogram import EdgeHistogram, edge_histogram
from barrow.mechanisms.floors import noise_floor_lower, worst_case_floor_lower
from barrow.mechanisms.histograms import HistogramNoise, histogram_noise
from barrow.mechanisms.multiscale import mixed_reference
from barrow.mechanisms.region_weights import region_interval
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.planning.node_spacing import best_spacing
from barrow.spaces import Euclidean, Finite, Line, Space
from barrow.spaces.spanners import certified_graph, star_graph
from barrow.transport import emd
from benchmarks._multiscale import SQUARE, check_ins, populations
from benchmarks._timing import finish
from benchmarks.baselines.graph_decoders import decode

ALPHA = 25
HOW = ("smooth", "empirical_bayes", "least_squares", "nearest")


def spacing_for(space: Space, users: int) -> Any:
    """The spacing of least simulated error where half of the records are in clusters and half in single items."""

    def make(at: Space, gap: Any) -> HistogramNoise:
        return histogram_noise(at, "edges", ALPHA, users=users, spacing=gap)

    return best_spacing(space, mixed_reference(space), make)


def noise(plan: EdgeHistogram, source: SeededSource) -> Any:
    """One draw of the noise at the nodes."""
    return plan.draw(Center.from_integers(np.zeros(plan.graph.nodes, dtype=np.int64)), source).values


def line_populations(cells: int) -> list[Any]:
    """From uniform to single cells."""
    x, draw = (np.arange(cells) + 0.5) / cells, np.random.default_rng(5)
    few, places = np.zeros(cells), np.zeros(cells)
    few[draw.integers(0, cells, 5)] = draw.random(5)
    np.add.at(places, draw.integers(0, cells, 60), 1.0 / np.arange(1, 61) ** 0.9)
    results = [
        np.ones(cells),
        np.exp(-((x - 0.3) ** 2) / 0.02),
        np.exp(-((x - 0.3) ** 2) / 0.0008) + 0.5 * np.exp(-((x - 0.7) ** 2) / 0.005),
        np.exp(-6.0 * x),
        few,
        places + 0.1 * places.mean(),
        draw.dirichlet(np.full(cells, 0.3)),
        0.1 + ((x > 0.4) & (x < 0.55)),
    ]
    return [p / p.sum() for p in results]


def errors(space: Space, plan: EdgeHistogram, people: list[Any], draws: int, how: tuple[str, ...]) -> dict[str, float]:
    """The mean EMD of each decoder."""
    sums = dict.fromkeys(how, 0.0)
    for seed in range(draws):
        for i, truth in enumerate(people):
            values = plan.decoder.weights.T @ truth + noise(plan, SeededSource(7919 * plan.users + 101 * seed + i))
            for name in how:
                sums[name] += float(emd(space, decode(plan.decoder, values, name), truth))
    return {name: total / (draws * len(people)) for name, total in sums.items()}


def maps(name: str, space: Space, people: list[Any], sizes: tuple[int, ...], draws: int) -> dict[str, float]:
    """Decoded errors with the spacing chosen beforehand."""
    result: dict[str, float] = {}
    for users in sizes:
        plan = edge_histogram(space, ALPHA, users=users, spacing=spacing_for(space, users))
        each = errors(space, plan, people, draws, HOW)
        floors = noise_floor_lower(space.items, ALPHA, users=users), worst_case_floor_lower(space, ALPHA, users=users)
        shown = " ".join(f"{how} {value:.5f}" for how, value in each.items())
        nodes = f"{plan.graph.nodes} nodes"
        print(f"{name} n={users:,}: {nodes}; {shown}; floors {floors[0]:.5f} {floors[1]:.5f}", flush=True)
        power = len(str(users)) - 1
        key = f"n1e{power}" if users == 10**power and power > 2 else f"n{users}"
        result[f"{name}_{key}"] = round(each["smooth"], 5)
    return result


def over_floor(space: Space, plan: EdgeHistogram, draws: int = 30) -> float:
    """The undecoded error times alpha n/(N-1)."""
    even, source, total = np.full(space.items, 1.0 / space.items), SeededSource(11), 0.0
    for _ in range(draws):
        sample = noise(plan, source)[: space.items]
        total += float(emd(space, even + sample - sample.mean(), even))
    return total / draws * ALPHA * plan.users / (space.items - 1)


def planar(count: int = 150) -> tuple[Finite, Any]:
    """Uniform points of the unit square, as a plain matrix of distances."""
    points = np.random.default_rng(3).random((count, 2))
    apart = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)) / np.sqrt(2.0)
    return Finite([str(i) for i in range(count)], apart), points


def road(count: int = 150) -> tuple[Finite, Any]:
    """A road-like graph: a spanning tree of random points and the shortest other Delaunay edges."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree
    from scipy.spatial import Delaunay

    points = np.random.default_rng(4).random((count, 2))
    sides = np.unique(np.sort(Delaunay(points).simplices[:, [0, 1, 1, 2, 0, 2]].reshape(-1, 2), axis=1), axis=0)
    lengths = np.sqrt(((points[sides[:, 0]] - points[sides[:, 1]]) ** 2).sum(axis=1))
    all_sides = coo_array((lengths, (sides[:, 0], sides[:, 1])), shape=(count, count)).tocsr()
    tree = minimum_spanning_tree(all_sides).tocoo()
    subset = {tuple(sorted(pair)) for pair in zip(tree.row.tolist(), tree.col.tolist(), strict=True)}
    order = np.argsort(lengths)
    subset |= {tuple(sides[i].tolist()) for i in order[: count + count // 10]}
    ends = np.array(sorted(subset))
    length = np.sqrt(((points[ends[:, 0]] - points[ends[:, 1]]) ** 2).sum(axis=1))
    graph = coo_array((length, (ends[:, 0], ends[:, 1])), shape=(count, count)).tocsr()
    paths = dijkstra(graph, directed=False)
    paths = (paths + paths.T) / 2.0
    space = Finite([str(i) for i in range(count)], paths / paths.max())
    return space, certified_graph(space, ends[:, 0], ends[:, 1])


def noise_over_floors() -> dict[str, float]:
    """Noise before decoding, in units of the least possible."""
    streets, graph = road()
    plane, _ = planar()
    square = Euclidean([0, 0], [1, 1], step=1 / 16)
    return {
        "road150_over_floor": over_floor(streets, edge_histogram(streets, ALPHA, users=1000, graph=graph)),
        "planar150_over_floor": over_floor(plane, edge_histogram(plane, ALPHA, users=1000)),
        "square16_over_floor": over_floor(square, edge_histogram(square, ALPHA, users=1000)),
    }


def finite_against_cells(draws: int) -> float:
    """Decoded errors on 150 points: cells, by the best of three decoders, divided by ours."""
    space, points = planar()
    draw = np.random.default_rng(8)
    people = [draw.dirichlet(np.full(space.items, c)) for c in (0.1, 0.3, 1.0)]
    people += [w / w.sum() for w in (np.exp(-((points - at) ** 2).sum(axis=1) / 0.03) for at in draw.random((3, 2)))]
    ours = edge_histogram(space, ALPHA, users=1000)
    cells = edge_histogram(space, ALPHA, users=1000, graph=_cells(space))
    mine = errors(space, ours, people, draws, ("smooth", "nearest", "least_squares"))
    other = errors(space, cells, people, draws, ("smooth", "nearest", "least_squares"))
    scale, simplex = 2.0 / (ALPHA * 1000 * space.least_distance_lower), 0.0
    for truth in people:
        simplex += float(emd(space, nearest_in_simplex(truth + draw.laplace(scale=scale, size=space.items)), truth))
    other["simplex"] = simplex / len(people)
    print(
        "150 points:", {k: round(v, 5) for k, v in mine.items()}, "cells:", {k: round(v, 5) for k, v in other.items()}
    )
    return min(other.values()) / mine["smooth"]


def _cells(space: Space) -> Any:
    """Noise on the cells as a star: every edge is half the least distance long."""
    from dataclasses import replace

    star = star_graph(space)
    return replace(star, lengths=np.full(star.edges, space.least_distance_lower / 2.0))


def coverage(draws: int = 400, regions: int = 30) -> float:
    """How often intervals of 95% hold the share of random regions of 32 x 32 cells."""
    plan, draw = edge_histogram(SQUARE, ALPHA, users=1000), np.random.default_rng(2)
    truth, held, source = check_ins(1), 0, SeededSource(17)
    masks = []
    for _ in range(regions):
        near = np.sqrt(((SQUARE.points - draw.random(2)) ** 2).sum(axis=1)) < draw.uniform(0.05, 0.4)
        low, high = np.sort(draw.random((2, 2)), axis=0)
        box = ((SQUARE.points >= low) & (SQUARE.points <= high)).all(axis=1)
        masks.append((near, box, near | box)[int(draw.integers(3))])
    usable = [mask for mask in masks if mask.any() and not mask.all()]
    samples = [truth + noise(plan, source) for _ in range(draws)]
    for mask in usable:
        result = region_interval(plan, truth, mask)
        wide = max(result.high - result.estimate, result.estimate - result.low)
        held += sum(abs(float((values - truth)[mask].sum())) <= wide for values in samples)
    return held / (len(usable) * draws)


def speed() -> dict[str, float]:
    """Seconds for 1e5 nodes, and for a map of 300 x 300 cells with a million users."""
    strip = Euclidean([0, 0], [1, 1], step=1 / 317)
    plan = edge_histogram(strip, ALPHA, users=10**6)
    center = Center.from_integers(np.zeros(plan.graph.nodes, dtype=np.int64))
    plan.draw(center)
    start = time.process_time()
    plan.draw(center)
    result = {"release_1e5_nodes_seconds": time.process_time() - start}
    square = Euclidean([0, 0], [1, 1], step=1 / 300)
    places = np.clip(np.random.default_rng(0).normal(0.5, 0.15, (2000, 2)), 0, 0.999)
    weights = np.bincount(square.encode(places), weights=1.0 / np.arange(1, 2001) ** 0.9, minlength=square.items)
    truth = 0.9 * weights / weights.sum() + 0.1 / square.items
    for name, spacing in (("", spacing_for(square, 10**6)), ("_cells", None)):
        plan = edge_histogram(square, ALPHA, users=10**6, spacing=spacing)
        values = plan.decoder.weights.T @ truth + noise(plan, SeededSource(1))
        start = time.process_time()
        plan.decoder.smooth(values)
        result[f"decode_300x300{name}_seconds"] = time.process_time() - start
    return result


def main() -> None:
    """Prints errors, then one line of JSON."""
    parts: dict[str, Callable[[int], dict[str, float]]] = {
        "grid32": lambda draws: maps("grid32", SQUARE, populations(), (10**3, 10**4, 10**5), draws),
        "line256": lambda draws: maps(
            "line256", Line(0, 1, step=1 / 256), line_populations(256), (40, 400, 4000), draws
        ),
        "floors": lambda _: {name: round(value, 3) for name, value in noise_over_floors().items()},
        "finite": lambda draws: {"finite150_vs_cells": round(finite_against_cells(draws), 2)},
        "regions": lambda _: {"region_coverage_95": round(coverage(), 4)},
        "speed": lambda _: {name: round(value, 3) for name, value in speed().items()},
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--only", choices=list(parts), help="one part of it")
    given = parser.parse_args()
    figures: dict[str, float] = {}
    for name, measured in parts.items():
        if given.only in (None, name):
            figures |= measured(given.draws)
    finish(figures)


if __name__ == "__main__":
    main()
