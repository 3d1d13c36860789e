"""Shares up to points of a line, read off a released histogram: quantiles and distribution functions with intervals.

Along edges every share up to a point has a noise of its own; shares of cells, or of groups and cells, are added up from
whichever end is nearer. A quantile's interval is found by testing points in order from either end, so that nothing is
paid for looking at many of them; means over several points in a row are tested too, where their noise is independent
(docs/proofs/quantiles.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from barrow.mechanisms.additive import NoiseDistribution
from barrow.mechanisms.edge_intervals import Mask
from barrow.mechanisms.edge_noise import EdgeNoise
from barrow.mechanisms.edge_sums import sum_half_width
from barrow.mechanisms.histograms import HistogramNoise
from barrow.mechanisms.user_level.levels import grouped, has_groups
from barrow.numerics import float_up
from barrow.queries.quantised import default_step
from barrow.spaces import Space, edge_tree
from barrow.spaces.space import Floats, Ids

_STEPS = 48
"""Numbers of noises added up are rounded up to so many steps for each doubling: sums of more noises are wider."""
_SAFE = 1.0 + 1e-9


@dataclass(frozen=True)
class Parts:
    """A noise as a sum of independent ones: for each value, how many of each scale.

    Attributes:
        counts: Shape (values, kinds).
        scales: Shape (values, kinds): Laplace scales, or standard deviations.
    """

    counts: Ids
    scales: Floats

    def with_one(self, scale: float) -> Parts:
        """And one more of this scale everywhere."""
        if not scale:
            return self
        ones = np.ones((len(self.counts), 1), dtype=np.int64)
        return Parts(np.hstack([self.counts, ones]), np.hstack([self.scales, scale * ones]))

    def half_widths(self, level: float, gaussian: bool) -> Floats:
        """Each sum is beyond its half width with probability at most ``level``."""
        if gaussian:
            deviations = np.sqrt((self.counts * self.scales**2).sum(axis=1))
            return np.asarray(deviations * (NoiseDistribution(None, 1).quantile(level) * _SAFE))
        # More noises, or larger ones, are farther from 0: what is symmetric and has one peak stays so.
        counts = np.where(self.counts > 0, 2.0 ** (np.ceil(np.log2(np.maximum(self.counts, 1)) * _STEPS) / _STEPS), 0.0)
        keys = np.hstack([np.ceil(counts), np.where(self.counts > 0, self.scales, 0.0)])
        rows, each = np.unique(keys, axis=0, return_inverse=True)
        kinds = self.counts.shape[1]
        results = [_sum_width(tuple(row[kinds:]), tuple(row[:kinds]), level) for row in rows.tolist()]
        return np.asarray(results)[each.ravel()]


@lru_cache(maxsize=65_536)
def _sum_width(scales: tuple[float, ...], counts: tuple[float, ...], level: float) -> float:
    there = [(scale, int(count)) for scale, count in zip(scales, counts, strict=True) if scale and count]
    if not there:
        return 0.0
    return sum_half_width(np.array([s for s, _ in there]), np.array([c for _, c in there]), level)


@dataclass(frozen=True, eq=False)
class Cumulative(ABC):
    """Noisy shares of people's records up to points of a line, from a histogram with additive noise; all is public.

    Attributes:
        space: The space, which may have an item for people without records beside the line.
        built: The histogram's mechanism.
    """

    space: Space
    built: HistogramNoise

    @property
    def points(self) -> int:
        """How many points the line has."""
        return self.space.records_space.items

    @property
    def apart(self) -> bool:
        """Whether people without records have an item of their own."""
        return self.space.no_records_distance is not None

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian."""
        return self.built.noise.p is None

    @property
    @abstractmethod
    def first(self) -> Ids:
        """For each value, the last point that counts in full: the value is at least the share up to it."""

    @property
    @abstractmethod
    def last(self) -> Ids:
        """For each value, the last point that counts at all: the value is at most the share up to it."""

    @abstractmethod
    def excess(self, raw: ArrayLike, q: float) -> Floats:
        """The share of all people's records up to each point, less ``q`` times the share of people with records."""

    @abstractmethod
    def noise(self, q: float) -> Parts:
        """The noise of :meth:`excess`."""

    @property
    @abstractmethod
    def rounding(self) -> Floats:
        """What rounding to the grid, and of the query, moves each value by at most."""

    def windows(self, q: float) -> list[tuple[int, Floats, Parts]]:
        """Means over several values in a row: how many, the weight of each value, and the noise of each mean."""
        return []

    def holders(self, raw: ArrayLike, level: float = 0.05) -> tuple[float, float]:
        """The share of people with records, and its half width."""
        if not self.apart:
            return 1.0, 0.0
        return 1.0 - self._own(np.asarray(raw, dtype=np.float64)), self._own_half_width(level)

    def _own(self, raw: Floats) -> float:
        return float(raw[-1] * self.built.factors[-1])

    @abstractmethod
    def _own_half_width(self, level: float) -> float:
        """Of the released share of people without records."""

    def half_widths(self, q: float, level: float = 0.05) -> Floats:
        """Each of :meth:`excess` is off by more with probability at most ``level``."""
        return self.noise(q).half_widths(level, self.gaussian) * _SAFE + self.rounding

    def interval(self, raw: ArrayLike, q: float, level: float = 0.05) -> tuple[int, int]:
        """The first and the last point that may be the ``q``-quantile; it lies outside with at most ``level``.

        From the left, every point is asked whether the quantile may lie at it or before; the first that is not ruled
        out ends the search. Only one answer can be wrong first, that of the quantile itself.
        """
        values, last_point = self.excess(raw, q), self.points - 1
        below, above = self._ruled_out(values, q, level)
        indices = np.flatnonzero(~below)
        low = (
            int(self.first[indices[0] - 1]) + 1
            if indices.size and indices[0]
            else (last_point if not indices.size else 0)
        )
        indices = np.flatnonzero(~above)
        if not indices.size:
            high = int(self.last[0])
        else:
            high = int(self.last[indices[-1] + 1]) if indices[-1] + 1 < len(values) else last_point
        return min(low, high), max(low, high)

    def _ruled_out(self, values: Floats, q: float, level: float) -> tuple[Mask, Mask]:
        """Where the share is surely below, and where it is surely reached."""
        windows = self.windows(q)
        own = level / 2.0 if windows else level
        width = self.half_widths(q, own)
        below, above = values + width < 0.0, values - width >= 0.0
        for size, weights, parts in windows:
            whole = np.convolve(weights, np.ones(size), "valid")
            means = np.convolve(values * weights, np.ones(size), "valid") / whole
            slack = np.convolve(self.rounding * weights, np.ones(size), "valid") / whole
            wide = parts.half_widths(level / 2.0 / len(windows), self.gaussian) * _SAFE + slack + 1e-12
            # If the quantile is at a point or before, the share is reached there and from there on.
            below[: len(means)] |= means + wide < 0.0
            above[size - 1 :] |= means - wide >= 0.0
        return below, above

    def band(self, raw: ArrayLike, level: float = 0.05) -> tuple[Floats, Floats, Floats]:
        """The share of records up to each value's point among people with records, and a band that holds all at once.

        The lower end is one for the last point of each value, the upper end for its first.
        """
        values, width = self.excess(raw, 0.0), self.half_widths(0.0, level / (len(self.first) + self.apart))
        people, off = self.holders(raw, level / (len(self.first) + 1))
        least, most = max(people - off, 0.0), min(people + off, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(most > 0.0, (values - width) / most, 0.0)
            high = np.where(least > 0.0, (values + width) / least, 1.0)
        low = np.maximum.accumulate(np.clip(low, 0.0, 1.0))
        high = np.minimum.accumulate(np.clip(high, 0.0, 1.0)[::-1])[::-1]
        return values / max(people, 1e-300), low, high


@dataclass(frozen=True, eq=False)
class _Path(Cumulative):
    """Noise along the edges of the line: each share up to a point has that of one edge."""

    @cached_property
    def _lengths(self) -> Floats:
        if isinstance(self.built.noise, EdgeNoise):
            return np.asarray(self.built.along_edges.plan.graph.lengths[: self._gaps])
        return edge_tree(self.space).lengths

    @cached_property
    def _gaps(self) -> int:
        if isinstance(self.built.noise, EdgeNoise):
            return self.built.along_edges.plan.graph.nodes - 1 - self.apart
        return edge_tree(self.space).edges

    @cached_property
    def _reach(self) -> tuple[Ids, Ids]:
        """The last item wholly on the nodes up to each gap, and the last one that touches them."""
        if not isinstance(self.built.noise, EdgeNoise) or self.built.along_edges.plan.graph.weights is None:
            every = np.arange(self._gaps)
            return every, every
        weights = self.built.noise.plan.decoder.weights.tocsr()[: self.points, : self._gaps + 1]
        weights.eliminate_zeros()
        least = np.minimum.reduceat(weights.indices, weights.indptr[:-1])
        most = np.maximum.reduceat(weights.indices, weights.indptr[:-1])
        gaps = np.arange(self._gaps)
        return np.searchsorted(most, gaps, side="right") - 1, np.searchsorted(least, gaps, side="right") - 1

    @property
    def first(self) -> Ids:
        """As :class:`Cumulative` says."""
        return self._reach[0]

    @property
    def last(self) -> Ids:
        """As :class:`Cumulative` says."""
        return self._reach[1]

    @property
    def _scale(self) -> float:
        return float_up(self.built.noise.scale)

    @property
    def _hub(self) -> float:
        """The scale of the noise between the line and people without records."""
        return self._scale / float(self.built.along_edges.plan.graph.lengths[-1]) if self.apart else 0.0

    def excess(self, raw: ArrayLike, q: float) -> Floats:
        """As :class:`Cumulative` says."""
        shares = np.asarray(raw, dtype=np.float64) * self.built.factors
        if not isinstance(self.built.noise, EdgeNoise):
            return np.asarray(shares - q)
        people = 1.0 - (float(shares[-1]) if self.apart else 0.0)
        return np.asarray(np.cumsum(shares)[: self._gaps] - q * people)

    def noise(self, q: float) -> Parts:
        """One edge, and that to people without records as far as it matters."""
        one = np.ones((self._gaps, 1), dtype=np.int64)
        return Parts(one, (self._scale / self._lengths)[:, None]).with_one(max(q, 1.0 - q) * self._hub)

    def windows(self, q: float) -> list[tuple[int, Floats, Parts]]:
        """Twice as many points each time; every edge's share counts by the edge's length."""
        results, size = [], 2
        while size <= self._gaps // 4:
            whole = np.convolve(self._lengths, np.ones(size), "valid")
            whole = 2.0 ** (np.floor(np.log2(whole) * _STEPS * 8) / (_STEPS * 8))  # shorter is noisier
            counts = np.full((len(whole), 1), size)
            parts = Parts(counts, (self._scale / whole)[:, None]).with_one(max(q, 1.0 - q) * self._hub)
            results.append((size, self._lengths, parts))
            size *= 2
        return results

    @cached_property
    def rounding(self) -> Floats:
        """Half the grid for each value that is added up."""
        half = float_up(self.built.noise.grid) / 2.0
        if isinstance(self.built.noise, EdgeNoise):
            return half * (np.arange(1.0, self._gaps + 1.0) + self.apart) * _SAFE
        slack = 2.0 * float(default_step(float(self._lengths.max())))
        return np.asarray((half + slack) * self.built.factors * _SAFE)

    def _own_half_width(self, level: float) -> float:
        wide = Parts(np.ones((1, 1), dtype=np.int64), np.array([[self._hub]])).half_widths(level, self.gaussian)
        return float(wide[0]) * _SAFE + float_up(self.built.noise.grid) / 2.0


@dataclass(frozen=True, eq=False)
class _Sums(Cumulative):
    """Shares of cells, or of groups of cells and of cells, added up from whichever end has less noise.

    Attributes:
        groups: The point after the last one of each group; as many as points where there are no groups.
    """

    groups: Ids

    @property
    def first(self) -> Ids:
        """As :class:`Cumulative` says."""
        return np.arange(self.points - 1)

    last = first

    @property
    def _levels(self) -> int:
        return 0 if len(self.groups) == self.points else len(self.groups)

    @property
    def _sizes(self) -> tuple[float, float, float]:
        """The scales of shares of groups, of cells and of people without records."""
        noise = self.built.noise
        scales = float_up(noise.scale) * self.built.factors
        own = float(scales[-1]) if self.apart else 0.0
        return (float(scales[0]) if self._levels else 0.0), float(scales[self._levels : self._levels + 1][0]), own

    @cached_property
    def _ways(self) -> tuple[Ids, Ids]:
        """From the left: up to which group's end groups are added up, and how many cells come to it or go."""
        up_to = np.arange(1, self.points)
        if not self._levels:
            return np.zeros_like(up_to), up_to
        starts = np.append(0, self.groups[:-1])
        group = np.searchsorted(self.groups, up_to, side="left")
        inside, outside = up_to - starts[group], self.groups[group] - up_to
        return group + (outside < inside), np.minimum(inside, outside)

    def _from_left(self, q: float) -> tuple[Ids, Ids, Mask]:
        """How many groups and cells are added up for each point, and whether from the left."""
        many, cells = self._ways
        total = self._levels or self.points
        group, cell, own = self._sizes
        other = (total - many, cells) if self._levels else (np.zeros_like(many), total - cells)
        costs = [
            many * group**2 + cells * cell**2 + (q * own) ** 2,
            other[0] * group**2 + other[1] * cell**2 + ((1.0 - q) * own) ** 2,
        ]
        left = costs[0] <= costs[1]
        return np.where(left, many, other[0]), np.where(left, cells, other[1]), left

    def excess(self, raw: ArrayLike, q: float) -> Floats:
        """As :class:`Cumulative` says."""
        shares = np.asarray(raw, dtype=np.float64) * self.built.factors
        people = 1.0 - (float(shares[-1]) if self.apart else 0.0)
        cells = np.concatenate([[0.0], np.cumsum(shares[self._levels : self._levels + self.points])])
        many, _ = self._ways
        up_to = np.arange(1, self.points)
        if self._levels:
            groups = np.concatenate([[0.0], np.cumsum(shares[: self._levels])])
            edges = np.append(0, self.groups)
            left = groups[many] + cells[up_to] - cells[edges[many]]
            right = groups[-1] - groups[many] - (cells[up_to] - cells[edges[many]])
        else:
            left, right = cells[up_to], cells[-1] - cells[up_to]
        return np.asarray(np.where(self._from_left(q)[2], left - q * people, (1.0 - q) * people - right))

    def noise(self, q: float) -> Parts:
        """Of the groups and cells that are added up, and of people without records."""
        groups, cells, left = self._from_left(q)
        group, cell, own = self._sizes
        counts = np.stack([groups, cells, np.full_like(cells, int(self.apart))], axis=1)
        scales = np.stack([np.full(len(cells), group), np.full(len(cells), cell), np.where(left, q, 1.0 - q) * own])
        return Parts(np.where(scales.T > 0.0, counts, 0), scales.T)

    @cached_property
    def rounding(self) -> Floats:
        """Half the grid for each value that is added up, and what the query rounds."""
        half = float_up(self.built.noise.grid) / 2.0 + self.built.noise.rounding_upper
        largest = float(self.built.factors.max())
        return np.full(self.points - 1, half * largest * len(self.built.factors) * _SAFE)

    def _own_half_width(self, level: float) -> float:
        wide = Parts(np.ones((1, 1), dtype=np.int64), np.array([[self._sizes[2]]])).half_widths(level, self.gaussian)
        return float(wide[0]) * _SAFE + float_up(self.built.noise.grid) / 2.0 * float(self.built.factors[-1])


def cumulative_of(space: Space, mechanism: HistogramNoise) -> Cumulative | None:
    """Shares up to the points of a line, by a mechanism; None where nothing is known about sums of its values.

    >>> from barrow.mechanisms.histograms import histogram_noise
    >>> from barrow.spaces import Line
    >>> line = Line(0, 100, step=1, cells=True)
    >>> built = histogram_noise(line, "cells", 25, users=1000)
    >>> cumulative_of(line, built).interval(np.full(100, 0.01), 0.5)[0] <= 49
    True
    """
    line = space.records_space
    if not line.geometry.on_line or line.items < 2 or mechanism.reports != 1 or mechanism.noise.p not in (None, "1"):
        return None
    if isinstance(mechanism.noise, EdgeNoise) or mechanism.kind == "tree":
        path = _Path(space, mechanism)
        return path if _is_path(path) else None
    if mechanism.kind == "cells":
        return _Sums(space, mechanism, np.arange(1, line.items + 1))
    if mechanism.kind == "levels" and has_groups(line) and (grouped(line).order == np.arange(line.items)).all():
        tree = grouped(line).tree
        return _Sums(space, mechanism, tree.ends[: tree.edges - line.items])
    return None


def _is_path(result: _Path) -> bool:
    """Whether the graph is the line itself, with people without records at its end or beside it."""
    noise = result.built.noise
    if not isinstance(noise, EdgeNoise):
        return result.space.no_records_distance is None and edge_tree(result.space).path
    graph, gaps = noise.plan.graph, result._gaps
    every = np.arange(gaps)
    return bool(
        noise.plan.faces is None
        and graph.edges == gaps + result.apart
        and (graph.tails[:gaps] == every).all()
        and (graph.heads[:gaps] == every + 1).all()
    )
