"""Histograms along the edges of a graph that aggregators add up: samples at nodes, and discrete noise along edges.

Rounding a flow along a graph with cycles is not private, so each person's device draws s samples of their own items,
each carried to a node of the graph by chance, and answers with how many lie at each node. Whole numbers that differ by
a flow of whole numbers, with discrete Laplace noise on every edge, are private for samples; and s samples cost a factor
e^(alpha/s) for people of any size (docs/proofs/summed.md, Section 6; docs/proofs/sampling.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from barrow.mechanisms.edge_histogram import EdgeHistogram, Spacing, diameter_upper, edge_histogram
from barrow.mechanisms.edge_noise import EdgeNoise, node_half_widths
from barrow.mechanisms.summed import SumForm, SumGroup
from barrow.noise import RandomSource, uniform_below, uniform_places
from barrow.noise.additive.graph_noise import checked_edge_grid
from barrow.noise.counts.shares import noise_shares
from barrow.numerics import Exact, checked_people, float_up
from barrow.numerics.search import distinct
from barrow.promises import Aggregation, Event, Model, SampledItems, SecureSum
from barrow.promises.definitions import positive
from barrow.queries import Query
from barrow.spaces import NeighbourGraph, Space
from barrow.spaces.space import Ids

_LEAST_BITS, _MOST_BITS, _MOST_URN_BITS = 10, 24, 16
"""Of s. Where two or more must be honest, noise comes from an urn with as many balls as it has samples: seconds."""
_SAMPLING = 16
"""The variance that sampling adds to the share of any region is at most the noise's own over this."""


@dataclass(frozen=True, eq=False)
class SampledEdgeNoise(EdgeNoise):
    """What samples and the aggregators' noise along edges do to the mean over people, ready to plan with.

    As an :class:`EdgeNoise` it is one of ``plan.users`` independent draws whose mean has at least the variance of what
    is released along every edge, sampling included.

    Attributes:
        rate: The alpha that is kept for people of any size.
        inner: The alpha of the release about samples, per unit of length along the graph.
        samples: s, a power of two less 1.
        people: How many take part.
        parties: Who adds up.

    >>> from barrow.spaces import Euclidean
    >>> noise = sampled_edge_noise(Euclidean([0, 0], [1, 1], step=1/4), 25, users=1000)
    >>> noise.samples, noise.plan.reports, round(float(noise.inner), 3)
    (16383, 2, 24.962)
    """

    rate: Fraction
    inner: Fraction
    samples: int
    people: int
    parties: Aggregation

    @property
    def name(self) -> str:
        """What the noise is called."""
        return "discrete edge Laplace"

    @property
    def alpha(self) -> Fraction:
        """What is kept for people of any size."""
        return self.rate

    @property
    def stated(self) -> tuple[Fraction, Fraction]:
        """Of the mean over people: the scale that the honest aggregators' noise has at least, and the grid."""
        return 1 / (self.inner * self.people), Fraction(1, self.samples * self.people)

    @cached_property
    def event(self) -> Event:
        """A release about samples of each person."""
        spread = _spread(self.plan.space, self.plan.graph)
        inner = SecureSum(self.inner * spread, aggregators=self.parties.aggregators, dishonest=self.parties.dishonest)
        return SampledItems(samples=self.samples, delta=0, inner=inner)

    @cached_property
    def simultaneous_half_width(self) -> float:
        """What no value is off by more than, with probability at least 95 %: every node gets its share of the 5 %."""
        return float(node_half_widths(self.plan, 0.05 / self.dimension).max())

    @cached_property
    def ratios(self) -> list[Fraction]:
        """P of each edge: 1/(1 + t) >= e^-t, t = inner length/s."""
        return edge_ratios(self.inner, self.samples, self.plan.graph)

    @property
    def form(self) -> SumForm:
        """Counts at nodes that add up to s."""
        nodes = self.dimension
        group = SumGroup(tuple(range(nodes)), self.samples, 0)
        return SumForm(Fraction(1, self.samples), (0,) * nodes, (self.samples,) * nodes, (group,))

    def sample(self, query: Query, items: Ids, *, source: RandomSource | None = None) -> list[int]:
        """One person's answer: s of their items, drawn with replacement and carried to nodes, counted by node."""
        rows, held = query.table.integers.tocsr(), items if len(items) else np.array([query.space.default_item])
        chosen = held[uniform_places(np.full(self.samples, len(held)), source=source)]
        part = slice(rows.indptr[chosen[0]], rows.indptr[chosen[0] + 1])
        drawn = uniform_below(np.full(self.samples, rows.data[part].sum()), source=source)
        result = np.zeros(self.dimension, dtype=np.int64)
        for item in distinct(chosen).tolist():
            part = slice(rows.indptr[item], rows.indptr[item + 1])
            places = np.searchsorted(np.cumsum(rows.data[part]), drawn[chosen == item], side="right")
            np.add.at(result, rows.indices[part][places], 1)
        return [int(count) for count in result]

    def noise_share(self, *, source: RandomSource | None = None) -> list[int]:
        """One aggregator's noise at the nodes: added at one end of every edge, subtracted at the other."""
        graph = self.plan.graph
        drawn = noise_shares(self.ratios, self.parties.honest, source=source)
        result = np.zeros(graph.nodes, dtype=np.int64)
        np.add.at(result, graph.heads, drawn)
        np.add.at(result, graph.tails, -drawn)
        return [int(value) for value in result]


def edge_ratios(inner: Fraction, samples: int, graph: NeighbourGraph) -> list[Fraction]:
    """The rational p of every edge; any p of at least e^(-inner length/s) is private."""
    return [1 / (1 + inner * Fraction(length) / samples) for length in graph.lengths.tolist()]


def _spread(space: Space, graph: NeighbourGraph) -> Fraction:
    """How far samples may lie apart along the graph, at least 1."""
    if graph.weights is None and graph.nodes == space.items:  # then samples are items, and no way is longer than theirs
        return Fraction(1)
    return Fraction(max(1.0, diameter_upper(space, graph)))


def samples_for(people: int, alpha: Fraction, longest: float, parties: Aggregation) -> int:
    """s, a power of two less 1, for which sampling adds little to the noise of any region.

    The share P of a region has the variance P (1 - P)/(n s) <= 1/(4 n s) by sampling, and at least that of the noise of
    one edge of length l at its border, 2 m/(m - b)/(alpha n l)^2.
    """
    most = _MOST_BITS if parties.honest == 1 else _MOST_URN_BITS
    wanted = _SAMPLING * people * (float(alpha) * longest) ** 2 / (8.0 * float(parties.noise_factor))
    bits = max(_LEAST_BITS, math.ceil(math.log2(max(wanted, 1.0) + 1.0)))
    return (1 << min(bits, most)) - 1


def inner_for(alpha: Fraction, samples: int) -> Fraction:
    """An x with x e^(x/s) <= alpha, rounded down: alpha e^(-alpha/s) (docs/proofs/sampling.md).

    >>> round(float(inner_for(Fraction(25), 1023)), 3)
    24.396
    """
    return Fraction(float(alpha) * math.exp(-float_up(alpha / samples)) * (1.0 - 1e-12))


def sampled_edge_noise(
    space: Space, alpha: Exact, *, users: int, parties: Aggregation | None = None, spacing: Spacing = None
) -> SampledEdgeNoise:
    """Aggregators' noise along the graph of a space on samples of each person: (alpha, 0)-EMD-DP, unbounded.

    Args:
        space: The public space.
        alpha: Privacy loss per unit of EMD, for people of any size.
        users: How many people take part; only the accuracy depends on it.
        parties: Who adds up; two aggregators by default.
        spacing: The widest gap between nodes, see :meth:`barrow.spaces.Space.graph`.
    """
    who, rate, n = parties or Aggregation(), positive(alpha, "alpha"), checked_people(users)
    base = edge_histogram(space, rate, users=1, model=Model.LOCAL, spacing=spacing, blocks="edges")
    longest = float(base.graph.lengths.max())
    s = samples_for(who.planned or n, rate, longest, who)
    inner = inner_for(rate, s) / _spread(space, base.graph)
    return SampledEdgeNoise(_planned(base, inner, s, n, who), rate, inner, s, n, who)


def _planned(base: EdgeHistogram, inner: Fraction, s: int, people: int, who: Aggregation) -> EdgeHistogram:
    """The noise as the mean of a few reports: along every edge at least the variance of all that is added."""
    copies = math.floor(who.noise_factor)
    longest = float(base.graph.lengths.max())
    t = float(inner) * longest / s
    factor = float(who.noise_factor) * (1.0 + t)
    sampling = people * (float(inner) * longest) ** 2 / (8.0 * factor * s)  # of one edge's own variance, at most
    alpha = Fraction(float(inner) * people / math.sqrt(copies * factor * (1.0 + sampling)) * (1.0 - 1e-12))
    grid = checked_edge_grid(None, 1 / alpha, longest)
    return replace(base, alpha=alpha, users=copies, grid=grid)
