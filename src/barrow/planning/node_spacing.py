"""How far apart the nodes of a graph should be: fewer nodes have less noise and blur the truth more.

The spacing is chosen beforehand, by the simulated error of decoded releases at a public reference distribution: it is a
function of public numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from barrow.mechanisms.edge_histogram import Spacing, spacings
from barrow.mechanisms.histograms import HistogramNoise
from barrow.noise.source import SeededSource
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
_LEFT, _BLUR = 0.3, 0.05
"""The best spacing leaves at least these shares of its noise and of its gap: by test half of the noise or more, since
decoders that take away more of it do so at the price of detail, which coarser nodes have as well."""


def best_spacing(
    space: Space, reference: Floats, make: Callable[[Space, Spacing], HistogramNoise], most: int | None = None
) -> Spacing:
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
    built = _Built(space, tried, make)

    def error(index: int) -> float:
        if index not in known:
            known[index] = _error(space, reference, built[index].noise.dimension, lambda at: make(at, tried[index]))
        return known[index]

    # Where blur and noise are about equal the search starts; then it goes on while it gets better.
    here = min(range(len(tried)), key=lambda i: _guess(built[i]))
    error(here)
    for step in (1, -1):
        while 0 <= here + step < len(tried) and _worth(built[here + step], known):
            if error(here + step) >= error(here):
                break
            here += step
    finest = len(tried) - 1  # nodes at all items do not blur at all
    if _worth(built[finest], known):
        error(finest)
    return tried[min(known, key=lambda i: known[i])]


class _Built(dict[int, HistogramNoise]):
    """The histogram of each spacing that is looked at, made once."""

    def __init__(
        self, space: Space, tried: Sequence[Spacing], make: Callable[[Space, Spacing], HistogramNoise]
    ) -> None:
        super().__init__()
        self.space, self.tried, self.make = space, tried, make

    def __missing__(self, index: int) -> HistogramNoise:
        result = self[index] = self.make(self.space, self.tried[index])
        return result


def _guess(mechanism: HistogramNoise) -> float:
    """A rough error before anything is simulated: how far items are carried, plus a share of the noise."""
    return 0.35 * (node_gap(mechanism) + noise_cost(mechanism))


def node_gap(mechanism: HistogramNoise) -> float:
    """How long edges are where nodes share items between them."""
    graph = mechanism.along_edges.plan.graph
    return 0.0 if graph.weights is None else float(np.median(graph.lengths))


def noise_cost(mechanism: HistogramNoise) -> float:
    """What the noise that is decoded costs along the graph on average, at most about."""
    plan = mechanism.along_edges.plan
    return plan.noise_cost_upper * (2.0 / plan.reports) ** 0.5 if plan.reports > 1 else plan.noise_cost_upper


def _worth(mechanism: HistogramNoise, known: dict[int, float]) -> bool:
    """Not if the noise alone, or the blur alone, must leave more than the least error that is known."""
    return max(_LEFT * noise_cost(mechanism), _BLUR * node_gap(mechanism)) < min(known.values())


def _error(space: Space, reference: Floats, nodes: int, make: Callable[[Space], HistogramNoise]) -> float:
    fewest = _FEWEST if space.items <= _FEW_ITEMS else 1
    draws = min(_MOST, max(fewest, _NODES_DRAWN // nodes))
    here = stand_in(space, reference, nodes, _MEASURED)
    built, measure, source = make(here.space), measure_of(here.space, _MEASURED), SeededSource(_SEED)
    results = [measure.distance(built.simulated(here.reference, source) - here.reference) for _ in range(draws)]
    return here.error(float(np.mean(results)))
