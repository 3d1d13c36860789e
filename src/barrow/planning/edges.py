"""How far apart the nodes of a graph should be: fewer nodes have less noise and blur the truth more.

The spacing is chosen beforehand, by the simulated error of decoded releases at a public reference distribution: it is a
function of public numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from barrow.mechanisms.edge_histogram import EdgeHistogram, spacings
from barrow.mechanisms.histograms import HistogramNoise
from barrow.noise.source import SeededSource
from barrow.planning.simulate import MOST_RANKED, stand_in
from barrow.spaces import Space
from barrow.spaces.base import Floats
from barrow.transport import measure_of

_SEED = 20250307
_NODES_DRAWN, _FEWEST, _MOST = 1200, 2, 5
"""Errors of few nodes vary more: so many nodes are drawn in all, in no fewer and no more releases than these."""
_FEW_ITEMS = 1000
"""On larger spaces one release of each spacing may do."""
_LEFT, _BLUR = 0.3, 0.05
"""The best spacing leaves at least these shares of its noise and of its gap: by test half of the noise or more, since
decoders that take away more of it do so at the price of detail, which coarser nodes have as well."""


def best_spacing(
    space: Space, reference: Floats, make: Callable[[Space, Any], HistogramNoise], most: int | None = None
) -> Any:
    """The spacing of least simulated error; None where nodes are as fine as the items.

    Args:
        space: The public space.
        reference: A public distribution over the items.
        make: The histogram along edges of a spacing, on the space or on one that stands in for it.
        most: How many nodes there may be; by default any number.
    """
    tried = spacings(space)
    if most is not None:
        tried = [s for s in tried if make(space, s).noise.dimension <= most] or tried[:1]
    if len(tried) == 1:
        return tried[0]
    known: dict[int, float] = {}
    made = _Made(space, tried, make)

    def error(index: int) -> float:
        if index not in known:
            known[index] = _error(space, reference, made[index].noise.dimension, lambda at: make(at, tried[index]))
        return known[index]

    # Where blur and noise are about equal the search starts; then it goes on while it gets better.
    here = min(range(len(tried)), key=lambda i: _guess(made[i]))
    error(here)
    for step in (1, -1):
        while 0 <= here + step < len(tried) and _worth(made[here + step], known):
            if error(here + step) >= error(here):
                break
            here += step
    finest = len(tried) - 1  # nodes at all items do not blur at all
    if _worth(made[finest], known):
        error(finest)
    return tried[min(known, key=lambda i: known[i])]


class _Made(dict[int, HistogramNoise]):
    """The histogram of each spacing that is looked at, made once."""

    def __init__(self, space: Space, tried: list[Any], make: Callable[[Space, Any], HistogramNoise]) -> None:
        super().__init__()
        self.space, self.tried, self.make = space, tried, make

    def __missing__(self, index: int) -> HistogramNoise:
        found = self[index] = self.make(self.space, self.tried[index])
        return found


def _guess(made: HistogramNoise) -> float:
    """A rough error before anything is simulated: how far items are carried, plus a share of the noise."""
    return 0.35 * (node_gap(made) + noise_cost(made))


def node_gap(made: HistogramNoise) -> float:
    """How long edges are where nodes share items between them."""
    graph = made.noise.plan.graph
    return 0.0 if graph.weights is None else float(np.median(graph.lengths))


def noise_cost(made: HistogramNoise) -> float:
    """What the noise that is decoded costs along the graph on average, at most about."""
    plan: EdgeHistogram = made.noise.plan
    return plan.noise_cost_upper * (2.0 / plan.reports) ** 0.5 if plan.reports > 1 else plan.noise_cost_upper


def _worth(made: HistogramNoise, known: dict[int, float]) -> bool:
    """Not if the noise alone, or the blur alone, must leave more than the least error that is known."""
    return max(_LEFT * noise_cost(made), _BLUR * node_gap(made)) < min(known.values())


def _error(space: Space, reference: Floats, nodes: int, make: Callable[[Space], HistogramNoise]) -> float:
    fewest = _FEWEST if space.items <= _FEW_ITEMS else 1
    draws = min(_MOST, max(fewest, _NODES_DRAWN // nodes))
    here = stand_in(space, reference, nodes, MOST_RANKED)
    made, measure, source = make(here.space), measure_of(here.space, MOST_RANKED), SeededSource(_SEED)
    found = [measure.distance(made.simulated(here.reference, source) - here.reference) for _ in range(draws)]
    return here.error(float(np.mean(found)))
