"""Half widths of all node values of a release along edges at once: nodes with equal surroundings share one number.

The noise of a node is a sum of independent noises of its edges and of the cycles it lies on. Its distribution, wrapped
round a circle, has a Fourier series whose coefficients are values of the characteristic function; what wrapping may
hide is bounded by Chernoff's inequality, and what is cut off the series by how fast the coefficients fall
(docs/proofs/edge-decoding.md, Section 7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.noise_distribution import NoiseDistribution
from barrow.noise.additive.edges import cones
from barrow.numerics import float_up
from barrow.spaces.base import Floats, Ids

_FEW_TERMS, _MOST_TERMS = 120, 4000
_MOST_PARTS = 64
"""Of more parts only as many count towards how fast the series falls."""


def node_half_widths(plan: EdgeHistogram, level: float = 0.05) -> Floats:
    """The value of node v is farther from its value without noise than entry v with probability at most ``level``.

    >>> from barrow.mechanisms.edge_histogram import edge_histogram
    >>> from barrow.spaces import Line
    >>> plan = edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1000)
    >>> node_half_widths(plan).round(5).tolist()  # one edge, or two
    [0.01198, 0.01648, 0.01648, 0.01198]
    """
    parts = _Parts.of(plan)
    first, kinds = parts.kinds()
    found = np.array([parts.half_width(int(v), level) for v in first]) * float_up(plan.scale)
    if plan.reports > 1:
        deviations = np.array([parts.deviation(int(v)) for v in first]) * float_up(plan.scale)
        found = np.maximum(found, NoiseDistribution(None, 1).quantile(level) * deviations) / math.sqrt(plan.reports)
    return np.asarray(found[kinds] * (1.0 + 1e-9) + float_up(plan.grid) / 2.0)


@dataclass(frozen=True, eq=False)
class _Parts:
    """What each node's noise is a sum of, at scale 1.

    Attributes:
        nodes: The node of each part.
        codes: Which distribution it is.
        laplace: Scales of the first distributions.
        cycles: Then, for each kind of corner of a cycle: the weights of its cones and signed scales (cones, 2).
    """

    count: int
    nodes: Ids
    codes: Ids
    laplace: Floats
    cycles: list[tuple[Floats, Floats]]

    @staticmethod
    def of(plan: EdgeHistogram) -> _Parts:
        graph = plan.graph
        alone = np.ones(graph.edges, dtype=bool)
        if plan.faces is not None:
            alone[plan.faces] = False
        scales, codes = np.unique(1.0 / graph.lengths[alone], return_inverse=True)
        ends = np.concatenate([graph.tails[alone], graph.heads[alone]])
        both = np.concatenate([codes, codes])
        if plan.faces is None:
            return _Parts(graph.nodes, ends, both, scales, [])
        # Node k of a face lies between its edges k-1 and k: the cycle's noise adds f_(k-1) - f_k there.
        around = graph.lengths[plan.faces]
        turned = np.concatenate([np.roll(around, 1 - k, axis=1) for k in range(4)])
        corners = np.concatenate([graph.face_nodes[:, k] for k in range(4)])
        rows, kinds = np.unique(turned, axis=0, return_inverse=True)
        cycles = [_corner(tuple(row)) for row in rows.tolist()]
        return _Parts(
            graph.nodes,
            np.concatenate([ends, corners]),
            np.concatenate([both, len(scales) + kinds.ravel()]),
            scales,
            cycles,
        )

    def kinds(self) -> tuple[Ids, Ids]:
        """One node of each kind of surroundings, and the kind of every node."""
        distributions = len(self.laplace) + len(self.cycles)
        sums = np.zeros((2, self.count), dtype=np.uint64)
        for row, mark in zip(sums, _marks(2 * distributions).reshape(2, distributions), strict=True):
            np.add.at(row, self.nodes, mark[self.codes])
        _, first, kinds = np.unique(sums.T, axis=0, return_index=True, return_inverse=True)
        return first, kinds.ravel()

    def _at(self, node: int) -> tuple[Floats, list[tuple[Floats, Floats]]]:
        start, end = np.searchsorted(self._sorted[0], [node, node + 1])
        codes = self._sorted[1][start:end]
        few = len(self.laplace)
        return self.laplace[codes[codes < few]], [self.cycles[c - few] for c in codes[codes >= few].tolist()]

    @property
    def _sorted(self) -> tuple[Ids, Ids]:
        known = self.__dict__.get("_order")
        if known is None:
            order = np.argsort(self.nodes, kind="stable")
            known = self.nodes[order], self.codes[order]
            object.__setattr__(self, "_order", known)
        return known

    def deviation(self, node: int) -> float:
        """The standard deviation of a node's noise."""
        scales, cycles = self._at(node)
        total = 2.0 * float((scales**2).sum())
        for share, signed in cycles:
            total += float(share @ ((signed**2).sum(axis=1) + signed.sum(axis=1) ** 2))
        return math.sqrt(total)

    def half_width(self, node: int, level: float) -> float:
        """The least x with P[|noise| > x] at most ``level``, rounded up."""
        scales, cycles = self._at(node)
        if len(scales) == 1 and not cycles:
            return float(scales[0]) * math.log(1.0 / level)
        size = self.deviation(node)
        scales, cycles = scales / size, [(share, signed / size) for share, signed in cycles]
        largest = max([float(scales.max(initial=0.0)), *(float(np.abs(s).max()) for _, s in cycles)])
        tilt = min(1.0, 0.5 / largest)
        grown = -float(np.log1p(-((tilt * scales) ** 2)).sum())
        grown += sum(math.log(float(share @ np.prod(1.0 / (1.0 - tilt * signed), axis=1))) for share, signed in cycles)
        hidden = 1e-5 * level
        half = (grown + math.log(2.0 / hidden)) / tilt  # beyond it lies at most what may be hidden
        terms = _FEW_TERMS
        while (cut := _cut(scales, cycles, terms * math.pi / half)) > 1e-3 * level and terms < _MOST_TERMS:
            terms *= 2
        t: Floats = np.arange(1.0, terms + 1) * (math.pi / half)
        values = np.exp(-np.log1p((scales[:, None] * t) ** 2).sum(axis=0))
        for share, signed in cycles:
            values = values * _transform(share, signed, t)
        for low, high in ((1.7, 2.4), (2.4, 12.0)):
            x = np.linspace(low, min(half, high), 141)
            inside = (x + 2.0 * (np.sin(np.outer(x, t)) @ (values / t))) / half
            good = np.flatnonzero(1.0 - inside + cut + hidden + 1e-12 <= level)
            if good.size:
                return size * float(x[good[0]])
        return size * (grown + math.log(2.0 / level)) / tilt


def _marks(count: int) -> Any:
    """Different 64-bit numbers whose sums tell different multisets apart: the counter, thoroughly mixed."""
    x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def _corner(lengths: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Weights of the cones of a cycle, and the signed scales of what its first two edges add to the node between."""
    signs, weights = cones(lengths)
    share = np.array([float(w) for w in weights])
    signed = np.array(signs, dtype=np.float64)[:, :2] * np.array([1.0, -1.0]) / np.array(lengths[:2])
    return share / share.sum(), signed


def _transform(share: Floats, signed: Floats, t: Floats) -> Floats:
    """The characteristic function of a corner, which is real."""
    each: Any = np.prod(1.0 / (1.0 - 1j * signed[:, :, None] * t), axis=1)
    return np.asarray((share @ each).real)


def _cut(scales: Floats, cycles: list[tuple[Floats, Floats]], last: float) -> float:
    """What the rest of the series may be: each part's coefficients fall like a constant divided by t^2."""
    constants = list((1.0 / scales**2).tolist())
    for share, signed in cycles:
        used = np.abs(np.where(signed == 0.0, 1.0, signed))
        # Of one exponential the real part, 1/(1 + (ct)^2), counts; of two the product of sizes.
        alone = (signed == 0.0).any(axis=1)
        constants.append(float(share @ (1.0 / np.where(alone, used.prod(axis=1) ** 2, used.prod(axis=1)))))
    ratios = sorted(c / last**2 for c in constants)[:_MOST_PARTS]
    falls = [r for r in ratios if r < 1.0] or ratios[:1]
    return 2.0 / math.pi * float(np.prod(falls)) / (2 * len(falls))
