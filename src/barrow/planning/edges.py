"""How far apart the nodes of a graph should be: fewer nodes have less noise and blur the truth more.

The spacing is chosen beforehand, by the simulated error of decoded releases at a public reference distribution: it is a
function of public numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.histograms import HistogramNoise
from barrow.mechanisms.pyramid_errors import signed_distance
from barrow.noise.simulation import SeededSource
from barrow.spaces import NeighbourGraph, Product, Space
from barrow.spaces.base import Floats
from barrow.transport.graph_flow import cheapest_flow

_SEED = 20250307
_NODES_DRAWN, _FEWEST, _MOST = 1200, 2, 10
"""Errors of few nodes vary more: so many nodes are drawn in all, in no fewer and no more releases than these."""
_COARSEST, _RATIO = 2, 2.0**0.5
_MOST_RANKED = 5000
"""On larger spaces errors are ranked along a graph of about so many nodes."""
_LEFT, _BLUR = 0.15, 0.05
"""Decoders leave at least these shares of the noise and of the gap between nodes, or else another spacing is better."""


def best_spacing(space: Space, reference: Floats, make: Callable[[Any], HistogramNoise]) -> Any:
    """The spacing of least simulated error; None where nodes are as fine as the items.

    Args:
        space: The public space.
        reference: A public distribution over the items.
        make: The histogram along edges of a spacing.

    >>> from barrow.mechanisms.histograms import histogram_noise
    >>> from barrow.spaces import Line
    >>> line, flat = Line(0, 256, step=1), np.full(256, 1 / 256)
    >>> few, many = (lambda s, n=n: histogram_noise(line, "edges", 25, users=n, spacing=s) for n in (20, 10**6))
    >>> best_spacing(line, flat, few) is None, best_spacing(line, np.eye(256)[9], many) is None
    (False, True)
    """
    spacings = spacings_of(space)
    if len(spacings) == 1:
        return spacings[0]
    measure = _measure(space, spacings)
    known: dict[int, float] = {}

    def error(index: int) -> float:
        if index not in known:
            made = make(spacings[index])
            known[index] = _error(made, reference, measure, space.items)
        return known[index]

    # Where blur and noise are about equal the search starts; then it goes on while it gets better.
    here = min(range(len(spacings)), key=lambda i: _guess(make(spacings[i])))
    error(here)
    for step in (1, -1):
        while 0 <= here + step < len(spacings) and _worth(make, spacings, here + step, known):
            if error(here + step) >= error(here):
                break
            here += step
    finest = len(spacings) - 1  # nodes at all items do not blur at all
    if _worth(make, spacings, finest, known):
        error(finest)
    return spacings[min(known, key=lambda i: known[i])]


def spacings_of(space: Space) -> list[Any]:
    """Spacings to choose from, the coarsest first and None last; None alone where nodes are the items.

    >>> from barrow.spaces import Discrete, Line
    >>> spacings_of(Discrete(["a", "b"])), [s and round(s, 2) for s in spacings_of(Line(0, 8, step=1))]
    ([None], [4.0, 2.83, 2.0, 1.41, None])
    """
    if isinstance(space, Product) or (space.has_tree and space.kind != "line"):
        return [None]
    found: list[Any] = []
    before = 0
    gap = float(f"{space.diameter / _COARSEST:.6g}")
    try:
        while True:
            nodes = space.graph(gap).nodes
            if nodes > 0.9 * space.items:
                break
            if nodes > before:
                found.append(gap)
                before = nodes
            gap = float(f"{gap / _RATIO:.6g}")
    except ParameterError:
        found = found or []
    return [*found, None]


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


def _worth(make: Callable[[Any], HistogramNoise], spacings: list[Any], index: int, known: dict[int, float]) -> bool:
    """Not if the noise alone, or the blur alone, must leave more than the least error that is known."""
    made = make(spacings[index])
    return max(_LEFT * _cost(made), _BLUR * _gap(made)) < min(known.values())


def _error(made: HistogramNoise, reference: Floats, measure: Callable[[Floats], float], items: int) -> float:
    source = SeededSource(_SEED)
    fewest = _FEWEST if items <= 4 * _MOST_RANKED else 1
    draws = min(_MOST, max(fewest, _NODES_DRAWN // made.noise.dimension))
    return float(np.mean([measure(made.simulated(reference, source) - reference) for _ in range(draws)]))


def _measure(space: Space, spacings: list[Any]) -> Callable[[Floats], float]:
    """The earth mover's distance; on large spaces along the finest graph that is not too large, which is less."""
    if space.items <= _MOST_RANKED or len(spacings) == 1:
        return lambda difference: signed_distance(space, difference)[0]
    graph: NeighbourGraph = max(
        (space.graph(s) for s in spacings[:-1]), key=lambda g: g.nodes if g.nodes <= _MOST_RANKED else -g.nodes
    )
    carried = graph.weights

    def along(difference: Floats) -> float:
        at_nodes = np.zeros(graph.nodes)
        at_nodes[: space.items] = difference if carried is None else 0.0
        if carried is not None:
            at_nodes = np.asarray(carried.T @ difference)
        return cheapest_flow(graph.nodes, graph.tails, graph.heads, graph.lengths, at_nodes).upper

    return along
