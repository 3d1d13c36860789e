"""Neighbourhood graphs of any finite metric: greedy spanners with a certified stretch, and the star.

Edges get the distance of their ends; if no path is longer than t times the distance, lengths divided by t satisfy the
contraction condition. A greedy t-spanner looks at all pairs, the nearest first, and takes those that the edges so far
do not join by a path of at most t times their distance. Which t is best is found by simulating the noise, which needs
no data (docs/proofs/edge-noise.md, Section 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.noise.source import SeededSource
from barrow.numerics import Exact, exact, exact_text
from barrow.numerics.search import distinct
from barrow.spaces.neighbours import NeighbourGraph
from barrow.spaces.space import Floats, Ids, Space, strips

MOST_CERTIFIED = 2000
"""Items up to which all pairs are looked at; beyond, the star is used, which needs nearest neighbours only."""
STRETCHES = tuple(Fraction(t) for t in ("1.1", "1.3", "1.6", "2", "3"))
"""The spanners that are tried."""
_SAMPLE = 150
_DRAWS = 3
_ALIKE = 1.03
_CHUNK = 2**14


@dataclass(frozen=True, eq=False)
class Spanner:
    """The edges of a greedy spanner of a matrix of distances, and its shortest paths."""

    tails: Ids
    heads: Ids
    paths: Floats


def greedy_spanner(distances: Floats, stretch: float) -> Spanner:
    """The greedy spanner: every pair is joined by a path of at most ``stretch`` times its distance."""
    count = len(distances)
    low, high = np.triu_indices(count, 1)
    order = np.argsort(distances[low, high], kind="stable")
    low, high = low[order], high[order]
    apart = distances[low, high]
    paths = np.full((count, count), np.inf)
    np.fill_diagonal(paths, 0.0)
    tails: list[int] = []
    heads: list[int] = []
    for start in range(0, len(low), _CHUNK):
        u, v, d = low[start : start + _CHUNK], high[start : start + _CHUNK], apart[start : start + _CHUNK]
        # Paths only get shorter, so that a pair that is near enough now needs no second look.
        for k in np.flatnonzero(paths[u, v] > stretch * d).tolist():
            a, b, length = int(u[k]), int(v[k]), float(d[k])
            if paths[a, b] > stretch * length:
                tails.append(a)
                heads.append(b)
                _join(paths, a, b, length)
    return Spanner(np.array(tails, dtype=np.int64), np.array(heads, dtype=np.int64), paths)


def _join(paths: Floats, a: int, b: int, length: float) -> None:
    """Shortest paths that pass a new edge from ``a`` to ``b``: only nodes that it brings nearer can gain."""
    from_a, from_b = paths[a], paths[b]
    near = np.flatnonzero(from_a + length < from_b)
    far = np.flatnonzero(from_b + length < from_a)
    block = near[:, None], far
    shorter = np.minimum(paths[block], (from_a[near] + length)[:, None] + from_b[far])
    paths[block] = shorter
    paths[far[:, None], near] = shorter.T


def check_memory(items: int) -> None:
    """Refuses all pairs of so many items."""
    if items > MOST_CERTIFIED:
        raise ParameterError(
            f"A spanner of {items:,} items looks at all pairs and would need {items * items * 20 / 2**30:,.1f} GiB.",
            allowed=f"at most {MOST_CERTIFIED:,} items",
            fix="a coarser space, nodes at a spacing where the space has coordinates, or spaces.star_graph(space)",
        )


def spanner_graph(space: Space, stretch: Exact | None = None) -> NeighbourGraph:
    """The graph of a space that is known by its distances: a greedy spanner, or the star where that errs less.

    Args:
        space: Any space.
        stretch: How much longer than the distance a path may be, above 1; by default the best of several, and the
            star for more items than all pairs can be looked at.

    >>> from barrow.spaces import Finite
    >>> spanner_graph(Finite(["a", "b", "c"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]]))
    NeighbourGraph(3 nodes, 2 edges)
    """
    wanted = None if stretch is None else exact(stretch, "stretch")
    if wanted is not None and wanted < 1:
        raise ParameterError(f"stretch is {exact_text(wanted)}.", allowed="a number of at least 1", fix="stretch=1.3")
    if wanted is None and space.items > MOST_CERTIFIED:
        return star_graph(space)
    check_memory(space.items)
    distances = space.block()
    if wanted is None:
        wanted = _best_stretch(space, distances)
    if wanted is None:
        return star_graph(space)
    result = greedy_spanner(distances, float(wanted))
    return _divided(space, result.tails, result.heads, distances, result.paths)


def certified_graph(space: Space, tails: Any, heads: Any) -> NeighbourGraph:
    """The graph of given edges between items, with lengths divided by the stretch that all pairs show.

    >>> from barrow.spaces import Finite
    >>> ring = Finite(list("abcd"), [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    >>> round(float(certified_graph(ring, [0, 1, 2], [1, 2, 3]).stretch), 9)
    3.0
    """
    check_memory(space.items)
    distances = space.block()
    a, b = np.asarray(tails, dtype=np.int64), np.asarray(heads, dtype=np.int64)
    paths = NeighbourGraph(space.items, a, b, distances[a, b]).distances()
    return _divided(space, a, b, distances, paths)


def _divided(space: Space, tails: Ids, heads: Ids, distances: Floats, paths: Floats) -> NeighbourGraph:
    """Lengths divided by the largest ratio of a path to its distance, rounded to the safe side."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = float(np.nanmax(np.where(distances > 0.0, paths / distances, 1.0)))
    # Distances are off by their relative error at both places, a path's sum by as many units as it has edges.
    slack = 4.0 * space.distance_error + (len(distances) + 8) * 2.0**-50
    stretch = math.nextafter(max(ratio, 1.0) * (1.0 + slack), math.inf)
    lengths = distances[tails, heads] / stretch * (1.0 - slack)
    certified = math.nextafter(stretch * (1.0 + 4.0 * slack), math.inf)
    return NeighbourGraph(len(distances), tails, heads, lengths, stretch=Fraction(certified))


def star_graph(space: Space, near: Floats | None = None) -> NeighbourGraph:
    """Every item joined to one node in the middle by half the distance to its nearest neighbour.

    Args:
        space: Any space.
        near: These distances, if they are known.

    >>> from barrow.spaces import Finite
    >>> star_graph(Finite(["a", "b", "c"], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])).lengths.round(9).tolist()
    [0.25, 0.25, 0.25]
    """
    known = nearest_distances(space) if near is None else near
    arms = known * (0.5 * (1.0 - 4.0 * space.distance_error - 2.0**-40))
    count = space.items
    stretch = Fraction(math.nextafter(1.0 / (2.0 * float(arms.min())), math.inf))
    return NeighbourGraph(count + 1, np.arange(count), np.full(count, count), arms, stretch=max(stretch, Fraction(1)))


def nearest_distances(space: Space) -> Floats:
    """The distance of each item to its nearest neighbour, a strip of rows at a time."""
    near = np.zeros(space.items)
    for rows, block in strips(space):
        block[np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)] = np.inf
        near[rows] = block.min(axis=1)
    return near


def _best_stretch(space: Space, distances: Floats) -> Fraction | None:
    """The stretch with the least simulated error, on a sample of the items where there are many; None for the star."""
    chosen = distinct(np.linspace(0, len(distances) - 1, min(len(distances), _SAMPLE)).astype(np.int64))
    sample = distances[np.ix_(chosen, chosen)]
    if len(chosen) < 3:
        return Fraction(1)
    spanners = {t: greedy_spanner(sample, float(t)) for t in STRETCHES}
    judge = spanners[STRETCHES[0]]
    network = NeighbourGraph(len(sample), judge.tails, judge.heads, sample[judge.tails, judge.heads])
    errors: dict[Fraction | None, float] = {}
    for t, result in spanners.items():
        graph = _divided(space, result.tails, result.heads, sample, result.paths)
        errors[t] = simulated_error(network, graph.incidence, graph.lengths)
    # The star: the middle node carries no mass, so that its noise is spread over the items.
    near = np.where(np.eye(len(sample), dtype=bool), np.inf, sample).min(axis=1)
    errors[None] = simulated_error(network, np.eye(len(sample)), near / 2.0)
    # Few draws do not tell errors apart that are this close: then the graph with fewer edges is taken.
    best = min(errors.values()) * _ALIKE
    return next(t for t in (None, *reversed(STRETCHES)) if errors[t] <= best)


def simulated_error(network: NeighbourGraph, incidence: Any, lengths: Floats, draws: int = _DRAWS) -> float:
    """The mean cost, along ``network``, of the noise ``incidence`` @ Laplace(1/lengths), by public simulation."""
    from barrow.noise.additive.variates import Exponential, SymmetricVariates

    source, total = SeededSource(2**20), 0.0
    for _ in range(draws):
        noise = SymmetricVariates(Exponential(), source.words(len(lengths)), source).approximate().values / lengths
        moved = incidence @ noise
        total += flow_cost(network, moved - moved.mean())
    return total / draws


def flow_cost(network: NeighbourGraph, difference: Floats) -> float:
    """The least cost of a flow along the edges that makes up ``difference``, whose sum is 0: W1 of the graph."""
    both = heavy.sparse.hstack([network.incidence, -network.incidence]).tocsr()
    # One equation follows from the others; without it rounding cannot make them contradict each other.
    result = heavy.optimize.linprog(
        np.concatenate([network.lengths, network.lengths]), A_eq=both[1:], b_eq=difference[1:], method="highs"
    )
    return float(result.fun or 0.0)
