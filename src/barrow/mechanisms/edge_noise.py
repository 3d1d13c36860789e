"""Noise along edges with the face of additive noise, so that plans, clients and statements treat it like any other.

The noise of a node is a sum of independent noises of its edges and of the cycles it lies on; half widths of all nodes
are found at once, as nodes with equal surroundings share one number (docs/proofs/edge-decoding.md, Section 7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from barrow.mechanisms.additive import NEVER
from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.edge_sums import EdgeSum, laplace_half_widths
from barrow.noise import Center, RandomSource, RoundedValues, rounded_gaussian
from barrow.noise.additive.graph_noise import cycle_moments
from barrow.noise.source import SeededSource
from barrow.numerics import float_up
from barrow.numerics.search import distinct
from barrow.promises import Event, Model
from barrow.queries import Quantised
from barrow.spaces.space import Floats, Ids

_MANY = 30
"""The mean of so many reports is taken as Gaussian, for predictions only."""


@dataclass(frozen=True, eq=False)
class EdgeNoise:
    """The noise of a histogram along edges; its outputs are the nodes, each with a half width of its own.

    Attributes:
        plan: The histogram along edges; in the local model its number of users is how many reports are expected.

    >>> from barrow.mechanisms.edge_histogram import edge_histogram
    >>> from barrow.spaces import Line
    >>> noise = EdgeNoise(edge_histogram(Line(0, 4, step=1, cells=True), 25, users=1000))
    >>> noise.name, noise.dimension, round(noise.half_width, 6)
    ('edge Laplace', 4, 0.000658)
    """

    plan: EdgeHistogram

    p = "1"
    """As the Laplace distribution it has pure guarantees."""

    @property
    def name(self) -> str:
        """What the noise is called; cycles that are drawn together are K-norm noise."""
        return "edge Laplace" if self.plan.faces is None else "edge K-norm"

    @property
    def dimension(self) -> int:
        """The number of nodes."""
        return self.plan.graph.nodes

    @property
    def scale(self) -> Fraction:
        """The noise of an edge as long as the space is wide; that of an edge of length l is 1/l times as large."""
        return self.plan.scale

    @property
    def grid(self) -> Fraction:
        """The public grid of the values."""
        return self.plan.grid

    @property
    def alpha(self) -> Fraction:
        """The alpha that it was made for."""
        return self.plan.alpha

    @property
    def event(self) -> Event:
        """What drawing it causes."""
        return self.plan.event

    @property
    def rounding_upper(self) -> float:
        """Hats are exact."""
        return 0.0

    def half_widths(self, reports: int) -> Floats:
        """What each node's value, the mean of so many reports, is off by with probability at most 5 %."""
        if reports == self.plan.reports:
            return self._own
        alone = node_half_widths(_of(self.plan, reports))
        return np.asarray(alone)

    @cached_property
    def _own(self) -> Floats:
        return node_half_widths(self.plan)

    @cached_property
    def half_width(self) -> float:
        """What one value of one report, or of the release, is off by with probability at most 5 %: the widest."""
        return self.mean_half_width(1)

    def mean_half_width(self, reports: int) -> float:
        """The same for means of reports."""
        return float(self.half_widths(reports).max())

    @cached_property
    def simultaneous_half_width(self) -> float:
        """What no value is off by more than, with probability at least 95 %: every node gets its share of the 5 %."""
        return float(node_half_widths(_of(self.plan, 1), 0.05 / self.dimension).max())

    @cached_property
    def deviation(self) -> float:
        """The largest standard deviation of a node's value in one report, or in the release."""
        whole = float(np.max(self.plan.covariance.diagonal())) * self.plan.reports
        return math.sqrt(whole + float(self.grid) ** 2 / 12.0)

    def reaches_upper(self, miss: float) -> Floats:
        """No node's noise in one report is beyond its entry with probability above ``miss``, rounding included."""
        graph = self.plan.graph
        sizes = float_up(self.scale) / graph.lengths
        total = np.bincount(graph.tails, sizes, graph.nodes) + np.bincount(graph.heads, sizes, graph.nodes)
        degree = np.bincount(np.concatenate([graph.tails, graph.heads]), minlength=graph.nodes)
        # The noise of an edge is at most exponential, and one of ``degree`` many is beyond with this probability.
        return np.asarray(total * (np.log(degree) - math.log(miss)) * (1.0 + 1e-9) + float_up(self.grid))

    def limits(self, table: Quantised) -> list[tuple[int, int]]:
        """The least and the largest integer that an honest report holds, for each node: it carries between 0 and 1."""
        reaches = [math.ceil(Fraction(reach) / self.grid) for reach in self.reaches_upper(NEVER).tolist()]
        one = math.ceil(1 / self.grid)
        return [(-reach, one + reach) for reach in reaches]

    def draw(self, center: Center, source: RandomSource | None = None) -> RoundedValues:
        """``center`` plus noise, exactly rounded to the grid."""
        return self.plan.draw(center, source)

    def mean_draw(self, reports: int, source: SeededSource) -> Floats:
        """Simulated noise of the mean of so many reports; of many a Gaussian with the same covariance."""
        nodes, zero = self.dimension, np.zeros(self.dimension, dtype=np.int64)
        if reports < _MANY:
            samples = [self.draw(Center.from_integers(zero), source).values for _ in range(reports)]
            return np.asarray(np.mean(samples, axis=0))
        graph = self.plan.graph
        zeros = Center.from_integers(np.zeros(graph.edges, dtype=np.int64))
        normal = rounded_gaussian(zeros, Fraction(1), source=source).values
        flow = normal * math.sqrt(2.0) / graph.lengths
        faces = self.plan.faces
        if faces is not None:
            rows, kinds = np.unique(graph.lengths[faces], axis=0, return_inverse=True)
            sizes, ways = np.linalg.eigh(np.array([cycle_moments(tuple(row)) for row in rows.tolist()]))
            roots = ways * np.sqrt(np.maximum(sizes, 0.0))[:, None, :]
            drawn_round = np.einsum("fij,fj->fi", roots[kinds.ravel()], normal[faces])
            flow[faces] = graph.face_signs * drawn_round
        result = graph.incidence @ flow * (float(self.scale) / math.sqrt(reports))
        return np.asarray(result).reshape(nodes)


def _of(plan: EdgeHistogram, reports: int) -> EdgeHistogram:
    """The same noise with so many reports averaged; 1 is a single report, or the release itself."""
    if plan.model is Model.LOCAL:
        return replace(plan, users=reports)
    return plan


_FEW = 64
"""Nodes with as many edges or fewer are looked at all at once."""


def node_half_widths(plan: EdgeHistogram, miss: float = 0.05) -> Floats:
    """The value of node v is farther from its value without noise than entry v with probability at most ``miss``."""
    nodes, codes, laplace, corners = _parts(plan)
    order = np.argsort(nodes, kind="stable")
    nodes, codes = nodes[order], codes[order]
    starts = np.searchsorted(nodes, np.arange(plan.graph.nodes + 1))
    first, kinds = kinds_of(nodes, codes, plan.graph.nodes, len(laplace) + len(corners))
    degrees = (starts[1:] - starts[:-1])[first]
    result = np.zeros(len(first))
    for degree in distinct(degrees).tolist():
        here = np.flatnonzero(degrees == degree)
        mine = codes[starts[first[here]][:, None] + np.arange(degree)]
        plain = (mine < len(laplace)).all(axis=1) & (degree <= _FEW)
        if plain.any():
            result[here[plain]] = laplace_half_widths(laplace[mine[plain]], miss, plan.reports)
        for place, row in zip(here[~plain].tolist(), mine[~plain], strict=True):
            round_it = corners[row[row >= len(laplace)] - len(laplace)]
            turns = np.tile([1.0, -1.0, 0.0, 0.0], (len(round_it), 1))
            scales = laplace[row[row < len(laplace)]]
            result[place] = EdgeSum(scales, turns, round_it, reports=plan.reports).half_width(miss)
    return np.asarray(result[kinds] * (float_up(plan.scale) * (1.0 + 1e-9)) + float_up(plan.grid) / 2.0)


def _parts(plan: EdgeHistogram) -> tuple[Ids, Ids, Floats, Floats]:
    """The node and the distribution of each part, at scale 1: scales of Laplace variables, then lengths round corners.

    Node k of a face lies between its edges k-1 and k: the cycle's noise adds f_(k-1) - f_k there.
    """
    graph, alone = plan.graph, plan.alone
    scales, codes = np.unique(1.0 / graph.lengths[alone], return_inverse=True)
    nodes = np.concatenate([graph.tails[alone], graph.heads[alone]])
    codes = np.concatenate([codes, codes])
    if plan.faces is None:
        return nodes, codes, scales, np.zeros((0, 4))
    around = graph.lengths[plan.faces]
    turned = np.concatenate([np.roll(around, 1 - k, axis=1) for k in range(4)])
    rows, corners = np.unique(turned, axis=0, return_inverse=True)
    nodes = np.concatenate([nodes, *(graph.face_nodes[:, k] for k in range(4))])
    return nodes, np.concatenate([codes, len(scales) + corners.ravel()]), scales, rows


def kinds_of(nodes: Ids, codes: Ids, count: int, distributions: int) -> tuple[Ids, Ids]:
    """One node of each kind of surroundings, and the kind of every node: equal sums of two marks for each part."""
    sums = np.zeros((2, count), dtype=np.uint64)
    for row, mark in zip(sums, marks(2 * distributions).reshape(2, distributions), strict=True):
        np.add.at(row, nodes, mark[codes])
    _, first, kinds = np.unique(sums.T, axis=0, return_index=True, return_inverse=True)
    return first, kinds.ravel()


def marks(count: int) -> NDArray[np.uint64]:
    """Different 64-bit numbers whose sums tell different multisets apart: the counter, thoroughly mixed."""
    x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))
