"""How far apart the nodes of a graph should be: fewer nodes have less noise and blur the truth more.

The spacing is chosen beforehand, by the simulated error of decoded releases at a public reference distribution: it is a
function of public numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from barrow.mechanisms.edge_histogram import Spacing, spacings
from barrow.mechanisms.histograms import HistogramNoise
from barrow.noise.source import SeededSource
from barrow.numerics.search import median
from barrow.planning.simulate import stand_in
from barrow.spaces import Space
from barrow.spaces.space import Floats
from barrow.transport import measure_of

_SEED = 20250307
_NODES_DRAWN, _FEWEST, _MOST = 1200, 2, 5
"""Errors of few nodes vary more: so many nodes are drawn in all, in no fewer and no more releases than these."""
_MEASURED = 2000
"""Spacings are ranked on a grid of at most about so many items: errors of neighbouring ones differ by far more than a
coarser grid moves them, and the time grows with its square. The error that is said of the best is measured anew."""
_FEW_ITEMS = 1000
"""On larger spaces one release of each spacing may do."""
_LEFT, _LEFT_OF_PRODUCTS, _BLUR = 0.3, 0.08, 0.05
"""The best spacing leaves at least these shares of its noise and of its gap: by test half of the noise or more, since
decoders that take away more of it do so at the price of detail, which coarser nodes have as well. Along the many edges
of a node of a product noise costs more than it does harm."""

_OF_EDGES = 0.75
"""The noise of a product has about so many exponential sizes for each edge: most edges are drawn in cycles of four."""
_MOST_OF_PRODUCTS = 30_000
"""More nodes of a product take longer than twenty seconds to plan; a question can ask for its own spacing."""


def best_spacing(
    space: Space,
    reference: Floats,
    make: Callable[[Space, Spacing], HistogramNoise],
    most: int | None = None,
    *,
    quick: bool = False,
) -> Spacing:
    """The spacing of least simulated error; None where nodes are as fine as the items.

    Args:
        space: The public space.
        reference: A public distribution over the items.
        make: The histogram along edges of a spacing, on the space or on one that stands in for it.
        most: How many nodes there may be; by default any number.
        quick: Whether the one is taken where blur and noise are about equal, without any simulation.
    """
    tried, sizes, patience = spacings(space), _NodeSizes(space, make), 1
    left = _LEFT_OF_PRODUCTS if space.geometry.parts else _LEFT
    if space.geometry.parts:  # where gaps are wide a step of them changes nothing, or much
        patience, alike = 2, {sizes[s].nodes: s for s in reversed(tried)}
        tried = list(reversed(alike.values()))
        most = min(_MOST_OF_PRODUCTS, most or _MOST_OF_PRODUCTS)
    if most is not None:
        tried = [s for s in tried if sizes[s].nodes <= most] or tried[:1]
    if len(tried) == 1:
        return tried[0]
    known: dict[int, float] = {}

    def error(index: int) -> float:
        if index not in known:
            known[index] = _error(space, reference, sizes[tried[index]].nodes, lambda at: make(at, tried[index]))
        return known[index]

    # Where blur and noise are about equal the search starts; then it goes on while it gets better.
    here = min(range(len(tried)), key=lambda i: _guess(sizes[tried[i]]))
    if quick:
        return tried[here]
    error(here)
    for step in (1, -1):
        at, worse, least = here, 0, known[here]
        while worse < patience and 0 <= at + step < len(tried) and _worth(sizes[tried[at + step]], known, left):
            at += step
            worse = worse + 1 if error(at) >= least else 0
            least = min(least, known[at])
    finest = len(tried) - 1  # nodes at all items do not blur at all
    if _worth(sizes[tried[finest]], known, left):
        error(finest)
    return tried[min(known, key=lambda i: known[i])]


@dataclass(frozen=True)
class Size:
    """What is known of a histogram along edges before anything is simulated.

    Attributes:
        nodes: How many there are.
        gap: How long edges are where nodes share items between them.
        cost: What the noise costs along the graph on average, at most about.
    """

    nodes: int
    gap: float
    cost: float


class _NodeSizes(dict[Spacing, Size]):
    """The size of each spacing that is looked at; of a product from its parts, whose graphs are small."""

    def __init__(self, space: Space, make: Callable[[Space, Spacing], HistogramNoise]) -> None:
        super().__init__()
        self.space, self.make = space, make

    def __missing__(self, spacing: Spacing) -> Size:
        inner = self.space.records_space
        if inner.geometry.parts:
            result = self._of_product(inner, spacing)
        else:
            built = self.make(self.space, spacing)
            result = Size(built.noise.dimension, node_gap(built), noise_cost(built))
        self[spacing] = result
        return result

    def _of_product(self, inner: Space, spacing: Spacing) -> Size:
        gaps = [None] * len(inner.geometry.parts) if spacing is None else list(cast("Sequence[Spacing]", spacing))
        chosen = [
            (part.graph(gap), float(weight))
            for (part, weight), gap in zip(inner.geometry.parts, gaps, strict=True)
            if part.items > 1
        ]
        nodes = math.prod(graph.nodes for graph, _ in chosen)
        edges = sum(nodes // graph.nodes * graph.edges for graph, _ in chosen)
        shared = [weight * median(graph.lengths) for graph, weight in chosen if graph.weights is not None]
        return Size(nodes + self.space.items - inner.items, max(shared, default=0.0), _OF_EDGES * edges * self._unit)

    @cached_property
    def _unit(self) -> float:
        """What the noise of one edge costs, from a few nodes."""
        small = stand_in(self.space, np.full(self.space.items, 1.0 / self.space.items), 1, _MEASURED).space
        built = self.make(small, spacings(self.space)[0])
        return noise_cost(built) / built.along_edges.plan.freedom


def _guess(size: Size) -> float:
    """A rough error before anything is simulated: how far items are carried, plus a share of the noise."""
    return 0.35 * (size.gap + size.cost)


def node_gap(mechanism: HistogramNoise) -> float:
    """How long edges are where nodes share items between them."""
    graph = mechanism.along_edges.plan.graph
    return 0.0 if graph.weights is None else median(graph.lengths)


def noise_cost(mechanism: HistogramNoise) -> float:
    """What the noise that is decoded costs along the graph on average, at most about."""
    plan = mechanism.along_edges.plan
    return plan.noise_cost_upper * (2.0 / plan.reports) ** 0.5 if plan.reports > 1 else plan.noise_cost_upper


def _worth(size: Size, known: dict[int, float], left: float) -> bool:
    """Not if the noise alone, or the blur alone, must leave more than the least error that is known."""
    return max(left * size.cost, _BLUR * size.gap) < min(known.values())


def _error(space: Space, reference: Floats, nodes: int, make: Callable[[Space], HistogramNoise]) -> float:
    fewest = _FEWEST if space.items <= _FEW_ITEMS else 1
    draws = min(_MOST, max(fewest, _NODES_DRAWN // nodes))
    here = stand_in(space, reference, nodes, _MEASURED)
    built, measure, source = make(here.space), measure_of(here.space, _MEASURED), SeededSource(_SEED)
    results = [measure.distance(built.simulated(here.reference, source) - here.reference) for _ in range(draws)]
    return here.error(float(np.mean(results)))
