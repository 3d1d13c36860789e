"""Noise along edges with the face of additive noise, so that plans, clients and statements treat it like any other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.edge_widths import node_half_widths
from barrow.noise import Center, RoundedValues, Source, rounded_gaussian
from barrow.noise.additive.edges import cycle_moments
from barrow.noise.simulation import SeededSource
from barrow.numerics import float_up
from barrow.privacy import Event, Model
from barrow.spaces.base import Floats

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

    def reaches_upper(self, level: float) -> Floats:
        """No node's noise in one report is beyond its entry with probability above ``level``, rounding included."""
        graph = self.plan.graph
        sizes = float_up(self.scale) / graph.lengths
        total = np.bincount(graph.tails, sizes, graph.nodes) + np.bincount(graph.heads, sizes, graph.nodes)
        degree = np.bincount(np.concatenate([graph.tails, graph.heads]), minlength=graph.nodes)
        # The noise of an edge is at most exponential, and one of ``degree`` many is beyond with this probability.
        return np.asarray(total * (np.log(degree) - math.log(level)) * (1.0 + 1e-9) + float_up(self.grid))

    def draw(self, center: Center, source: Source | None = None) -> RoundedValues:
        """``center`` plus noise, exactly rounded to the grid."""
        return self.plan.draw(center, source)

    def mean_draw(self, reports: int, source: SeededSource) -> Floats:
        """Simulated noise of the mean of so many reports; of many a Gaussian with the same covariance."""
        nodes, zero = self.dimension, np.zeros(self.dimension, dtype=np.int64)
        if reports < _MANY:
            drawn = [self.draw(Center.from_integers(zero), source).values for _ in range(reports)]
            return np.asarray(np.mean(drawn, axis=0))
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
        found: Any = graph.incidence @ flow * (float(self.scale) / math.sqrt(reports))
        return np.asarray(found).reshape(nodes)


def _of(plan: EdgeHistogram, reports: int) -> EdgeHistogram:
    """The same noise with so many reports averaged; 1 is a single report, or the release itself."""
    from dataclasses import replace

    if plan.model is Model.LOCAL:
        return replace(plan, users=reports)
    return plan
