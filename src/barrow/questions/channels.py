"""What a client does to one person's items, written down so that any client can do it, and prove it, by itself.

A channel is whole numbers only: stopping weights along a tree (randomised response, GKRR, trees), or a table with the
scale and grid of Laplace noise. The metric goes with it, so that a client proves the channel's parameter from the card
alone (docs/collect-format.md). Everything else needs a client that can plan the study again, as this library can.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from barrow.mechanisms import AdditiveNoise
from barrow.privacy import KNormNoise
from barrow.queries import Query
from barrow.randomisers.mixture import MixtureRandomiser
from barrow.randomisers.shape import Shape, tree_shape
from barrow.spaces import Space

Channel = tuple[dict[str, Any], dict[str, Any]]
"""A channel and its metric as plain data."""
MOST_ENTRIES = 2**20
"""Tables larger than this are not written down."""


def stops_channel(randomiser: Any, *, items: int, sampled: bool, default: int) -> Channel | None:
    """Stopping weights along a tree; None for randomisers of other kinds."""
    if not isinstance(randomiser, MixtureRandomiser):
        return None
    shape = randomiser.shape
    nodes = zip(shape.starts.tolist(), shape.ends.tolist(), shape.parents.tolist(), randomiser.stops, strict=True)
    channel = {
        "kind": "stops",
        "messages": items,
        "sampled": sampled,
        "default": default,
        "alpha0": str(randomiser.alpha0_upper),
        "nodes": [[start, end, parent, str(stop)] for start, end, parent, stop in nodes],
    }
    return channel, {"kind": "tree", "depths": [str(depth) for depth in shape.depths]}


def laplace_channel(query: Query, noise: Any) -> Channel | None:
    """A table and Laplace noise; None for other noises, large tables, and metrics that are no line and no tree."""
    laplace = isinstance(noise, AdditiveNoise) and noise.name == "Laplace"
    if not laplace or not isinstance(noise.event, KNormNoise) or query.space.items * noise.dimension > MOST_ENTRIES:
        return None
    metric = exact_metric(query.space)
    if metric is None:
        return None
    table = query.table
    rows = np.asarray(table.integers.toarray() if table.sparse else table.integers)
    channel = {
        "kind": "laplace",
        "messages": 1,
        "default": query.space.default_item,
        "alpha": str(Fraction(noise.event.alpha)),
        "scale": str(noise.scale),
        "grid": str(noise.grid),
        "step": str(Fraction(table.step)),
        "table": [[str(int(value)) for value in row] for row in rows],
    }
    return channel, metric


def exact_metric(space: Space) -> dict[str, Any] | None:
    """The metric as exact fractions of the diameter, where the space is a line or a tree."""
    if space.marks is not None:
        return {"kind": "line", "points": [str(mark) for mark in space.marks]}
    if not space.has_tree:
        return None
    shape: Shape = tree_shape(space)
    spans = zip(shape.starts.tolist(), shape.ends.tolist(), shape.parents.tolist(), strict=True)
    return {"kind": "tree", "depths": [str(d) for d in shape.depths], "nodes": [list(span) for span in spans]}
