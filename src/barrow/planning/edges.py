"""How far apart the nodes of a graph should be: fewer nodes have less noise and blur the truth more.

The spacing is chosen beforehand, by the simulated error of decoded releases at a public reference distribution: it is a
function of public numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.edge_spacing import spacings
from barrow.mechanisms.histograms import HistogramNoise, histogram_noise
from barrow.mechanisms.pyramid_scales import mixed_reference
from barrow.noise.simulation import SeededSource
from barrow.numerics import Exact
from barrow.spaces import Space
from barrow.spaces.base import Floats
from barrow.transport import measure_of

_SEED = 20250307
_NODES_DRAWN, _FEWEST, _MOST = 1200, 2, 5
"""Errors of few nodes vary more: so many nodes are drawn in all, in no fewer and no more releases than these."""
_MOST_RANKED, _FEW_ITEMS = 5000, 1000
"""On larger spaces errors are ranked on a coarser grid of about so many items."""
_LEFT, _BLUR = 0.15, 0.05
"""Decoders leave at least these shares of the noise and of the gap between nodes, or else another spacing is better."""


def best_spacing(
    space: Space, reference: Floats, make: Callable[[Any], HistogramNoise], most: int | None = None
) -> Any:
    """The spacing of least simulated error; None where nodes are as fine as the items.

    Args:
        space: The public space.
        reference: A public distribution over the items.
        make: The histogram along edges of a spacing.
        most: How many nodes there may be; by default any number.

    >>> from barrow.mechanisms.histograms import histogram_noise
    >>> from barrow.spaces import Line
    >>> line, flat = Line(0, 256, step=1, cells=True), np.full(256, 1 / 256)
    >>> few, many = (lambda s, n=n: histogram_noise(line, "edges", 25, users=n, spacing=s) for n in (20, 10**6))
    >>> best_spacing(line, flat, few) is None, best_spacing(line, np.eye(256)[9], many) is None
    (False, True)
    """
    tried = spacings(space)
    if most is not None:
        tried = [s for s in tried if make(s).noise.dimension <= most] or tried[:1]
    if len(tried) == 1:
        return tried[0]
    measure = measure_of(space, _MOST_RANKED).distance
    known: dict[int, float] = {}

    def error(index: int) -> float:
        if index not in known:
            made = make(tried[index])
            known[index] = _error(made, reference, measure, space.items)
        return known[index]

    # Where blur and noise are about equal the search starts; then it goes on while it gets better.
    here = min(range(len(tried)), key=lambda i: _guess(make(tried[i])))
    error(here)
    for step in (1, -1):
        while 0 <= here + step < len(tried) and _worth(make, tried, here + step, known):
            if error(here + step) >= error(here):
                break
            here += step
    finest = len(tried) - 1  # nodes at all items do not blur at all
    if _worth(make, tried, finest, known):
        error(finest)
    return tried[min(known, key=lambda i: known[i])]


def _guess(made: HistogramNoise) -> float:
    """A rough error before anything is simulated: how far items are carried, plus a share of the noise."""
    return 0.35 * (_gap(made) + _cost(made))


def _gap(made: HistogramNoise) -> float:
    """How long edges are where nodes share items between them."""
    graph = made.noise.plan.graph
    return 0.0 if graph.weights is None else float(np.median(graph.lengths))


def _cost(made: HistogramNoise) -> float:
    plan: EdgeHistogram = made.noise.plan
    return plan.noise_cost_upper * (2.0 / plan.reports) ** 0.5 if plan.reports > 1 else plan.noise_cost_upper


def _worth(make: Callable[[Any], HistogramNoise], tried: list[Any], index: int, known: dict[int, float]) -> bool:
    """Not if the noise alone, or the blur alone, must leave more than the least error that is known."""
    made = make(tried[index])
    return max(_LEFT * _cost(made), _BLUR * _gap(made)) < min(known.values())


def _error(made: HistogramNoise, reference: Floats, measure: Callable[[Floats], float], items: int) -> float:
    source = SeededSource(_SEED)
    fewest = _FEWEST if items <= _FEW_ITEMS else 1
    draws = min(_MOST, max(fewest, _NODES_DRAWN // made.noise.dimension))
    return float(np.mean([measure(made.simulated(reference, source) - reference) for _ in range(draws)]))


def spacing_for(space: Space, alpha: Exact, *, users: int, model: str = "central") -> Any:
    """The spacing of least simulated error where half of the records are in clusters and half in single items.

    >>> from barrow.spaces import Line
    >>> line = Line(0, 1, step=1/64)
    >>> spacing_for(line, 25, users=10) is None, spacing_for(line, 25, users=10**6) is None
    (False, True)
    """
    return best_spacing(
        space,
        mixed_reference(space),
        lambda gap: histogram_noise(space, "edges", alpha, users=users, model=model, spacing=gap),
    )
