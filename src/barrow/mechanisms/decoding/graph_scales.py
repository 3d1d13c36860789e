"""Bumps of all scales on a public graph: what smooth decoders mix.

The graph is coarsened by joining neighbours, nearest first, until what is left is one piece. A bump of one scale is a
mixture of a few bumps of the scale before, so all of them together are applied in time linear in the size of the
graph, whatever the space. Everything here is a function of the graph alone, which is public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.numerics.search import distinct, median
from barrow.spaces.neighbours import NeighbourGraph
from barrow.spaces.space import Floats, Ids

_FEWEST = 3
_MOST_SCALES = 40


@dataclass(frozen=True, eq=False)
class GraphScales:
    """Histograms of all scales over the items, as a chain of sparse steps from the broadest to single items.

    Attributes:
        steps: Step j, (bumps of scale j, bumps of scale j+1): column c is what bump c is a mixture of; scale 0 is the
            items themselves.
        widths: How broad the bumps of each scale are, as lengths along the graph.
        prior: How much is expected of each bump: the items first, the uniform histogram last, with sum 1.
    """

    steps: tuple[Any, ...]
    widths: tuple[float, ...]
    prior: Floats
    items: int

    @property
    def counts(self) -> tuple[int, ...]:
        """How many bumps each scale has, the uniform histogram apart."""
        return (self.items, *(step.shape[1] for step in self.steps))

    @property
    def atoms(self) -> int:
        """The number of all bumps."""
        return len(self.prior)

    @cached_property
    def ends(self) -> list[int]:
        """Where the bumps of each scale end among all; the uniform histogram is the last one."""
        return [int(end) for end in np.cumsum(self.counts)]

    def spread(self, mixture: Floats) -> Floats:
        """The histogram over the items that a mixture of bumps is."""
        total, end = mixture[self.ends[-2] if self.steps else 0 : self.ends[-1]], len(self.steps)
        for step, at in zip(self._steps, range(end - 1, -1, -1), strict=True):
            total = step(total) + mixture[self.ends[at - 1] if at else 0 : self.ends[at]]
        return np.asarray(total + mixture[-1] / self.items)

    def gather(self, scores: Floats) -> Floats:
        """The mean score of each bump, from scores of the items: the transpose of :meth:`spread`."""
        results = [scores]
        for step in self._turned:
            results.append(step(results[-1]))
        return np.concatenate([*results, [scores.mean()]])

    @cached_property
    def _steps(self) -> list[Callable[[Floats], Floats]]:
        """From the broadest scale to the items."""
        return [heavy.times(step) for step in reversed(self.steps)]

    @cached_property
    def _turned(self) -> list[Callable[[Floats], Floats]]:
        return [heavy.times(step.T.tocsr()) for step in self.steps]


def graph_scales(graph: NeighbourGraph, items: int | None = None) -> GraphScales:
    """All scales of a graph: items, what nodes carry where that is not one item each, and pieces twice as wide each.

    Where some nodes carry no item, ``items`` says how many of the first ones do.
    """
    if graph.weights is not None:
        items = int(graph.weights.shape[0])
    elif items is None:
        items = graph.nodes
    level = _Level(graph.nodes, graph.tails, graph.heads, graph.lengths)
    width = median(graph.lengths)
    steps: list[Any] = []
    widths = [width]
    if graph.weights is None:
        pending: Any = heavy.diagonal(np.ones(items), graph.nodes)
    else:
        pending = _columns(heavy.sparse.csr_array(graph.weights))
        finest = float((graph.nodes / items) ** (1.0 / _dimension(graph)))
        widths = [width * min(1.0, finest)]
        if not _is_identity(pending):
            steps, pending, widths = [pending], heavy.sparse.eye_array(graph.nodes, format="csr"), [*widths, width]
    while level.nodes > _FEWEST and len(widths) < _MOST_SCALES:
        step, coarser = level.coarser()
        if coarser.nodes > 0.95 * level.nodes:
            break
        level, pending = coarser, pending @ step
        now = median(level.lengths) if len(level.lengths) else np.inf
        if now >= 1.9 * width and level.nodes >= _FEWEST:
            pending = _columns(heavy.sparse.csr_array(pending))
            steps.append(pending)
            widths.append(now)
            width, pending = now, heavy.sparse.eye_array(level.nodes, format="csr")
    counts = [items, *(step.shape[1] for step in steps)]
    prior = [np.full(count, w / count) for w, count in zip(widths, counts, strict=True)]
    prior.append(np.array([2.0 * widths[-1]]))
    scales = GraphScales(tuple(steps), tuple(widths), np.concatenate(prior), items)
    # Pieces that carry no item are no histograms: nothing is expected of them.
    full = scales.gather(np.ones(items)) > 0.5
    total = np.where(full, scales.prior, 0.0)
    return replace(scales, prior=np.maximum(total / total.sum(), 1e-300))


def _dimension(graph: NeighbourGraph) -> float:
    """About how many dimensions: half the mean degree, which is 1 on a path and 2 on a grid of squares."""
    return float(max(1.0, graph.edges / graph.nodes))


def _is_identity(matrix: Any) -> bool:
    return bool(matrix.shape[0] == matrix.shape[1] == matrix.nnz)


def _columns(matrix: Any) -> Any:
    """The matrix with columns of sum 1; columns without entries stay empty."""
    sums = np.asarray(matrix.sum(axis=0)).ravel()
    return (matrix @ heavy.diagonal(1.0 / np.where(sums > 0.0, sums, 1.0))).tocsr()


@dataclass(frozen=True, eq=False)
class _Level:
    """A graph on the way to coarser ones."""

    nodes: int
    tails: Ids
    heads: Ids
    lengths: Floats

    def coarser(self) -> tuple[Any, _Level]:
        """One pass: a node joins its nearest free neighbour, or the piece of the nearest one if none is free.

        Returns:
            The step, (nodes, pieces): indicators of the pieces, smoothed by half a step of a walk along the edges.
            And the graph of the pieces.
        """
        piece, off = self._pieces()
        pieces = int(piece.max()) + 1
        near = 1.0 / self.lengths**2
        ends = np.concatenate([self.tails, self.heads]), np.concatenate([self.heads, self.tails])
        walk = heavy.sparse.csr_array((np.concatenate([near, near]), ends), shape=(self.nodes, self.nodes))
        walk = heavy.diagonal(1.0 / np.asarray(walk.sum(axis=1)).ravel()) @ walk
        member = heavy.sparse.csr_array(
            (np.ones(self.nodes), (np.arange(self.nodes), piece)), shape=(self.nodes, pieces)
        )
        step = (0.5 * (heavy.diagonal(np.ones(self.nodes)) + walk).T @ member).tocsr()
        return step, self._joined(piece, off, pieces)

    def _pieces(self) -> tuple[NDArray[np.int64], Floats]:
        both = (
            np.concatenate([self.lengths, self.lengths]),
            (np.concatenate([self.tails, self.heads]), np.concatenate([self.heads, self.tails])),
        )
        matrix = heavy.sparse.coo_array(both, shape=(self.nodes, self.nodes)).tocsr()
        starts, heads, lengths = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
        piece, off, built = [-1] * self.nodes, [0.0] * self.nodes, 0
        for node in range(self.nodes):
            if piece[node] >= 0:
                continue
            free, taken, nearest, length = -1, -1, np.inf, np.inf
            for at in range(starts[node], starts[node + 1]):
                head, far = heads[at], lengths[at]
                if piece[head] < 0:
                    if far < nearest * (1.0 - 1e-9):
                        free, nearest = head, far
                elif far < length * (1.0 - 1e-9):
                    taken, length = head, far
            if free >= 0:
                piece[node] = piece[free] = built
                off[node] = off[free] = nearest / 2.0
                built += 1
            else:
                piece[node], off[node] = piece[taken], length / 2.0
        return np.array(piece), np.array(off)

    def _joined(self, piece: Ids, off: Floats, pieces: int) -> _Level:
        """The edges between pieces: as long as those that cross, and by how far off the middle where one end is met."""
        a, b = piece[self.tails], piece[self.heads]
        cross = a != b
        swap = a[cross] > b[cross]
        u = np.where(swap, self.heads[cross], self.tails[cross])
        x = np.where(swap, self.tails[cross], self.heads[cross])
        key = piece[u] * pieces + piece[x]
        keys, group = np.unique(key, return_inverse=True)
        count = np.bincount(group, minlength=len(keys))
        mean = np.bincount(group, self.lengths[cross], minlength=len(keys)) / np.maximum(count, 1)
        for end in (u, x):
            ends = distinct(group * np.int64(self.nodes) + end)
            met = np.bincount(ends // self.nodes, minlength=len(keys))
            single = met == 1
            shift = np.bincount(group, off[end], minlength=len(keys)) / np.maximum(count, 1)
            mean += np.where(single, shift, 0.0)
        return _Level(pieces, keys // pieces, keys % pieces, mean)
