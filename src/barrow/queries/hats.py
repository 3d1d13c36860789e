"""What the nodes of a space's neighbourhood graph carry: the share of people's items at each, or near it.

Where items are nodes this is the histogram; on coarser nodes an item is shared between the nodes around it by exact
dyadic weights (hats). Noise along the graph's edges makes it private (docs/proofs/edge-noise.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.queries.base import Query, check_over
from barrow.queries.quantised import Quantised
from barrow.spaces import NeighbourGraph, Space
from barrow.spaces.neighbours import WEIGHT_BITS


def hats(space: Space, *, spacing: Any = None, graph: NeighbourGraph | None = None, over: str = "people") -> Query:
    """The share of people (their items) that each node of the neighbourhood graph carries.

    Args:
        space: The public space.
        spacing: The widest gap between nodes; see :meth:`barrow.spaces.Space.graph`.
        graph: Instead of ``spacing``: the graph itself.
        over: ``"people"``: every person counts once.

    >>> from barrow.spaces import Line
    >>> query = hats(Line(0, 5, points=[0, 1, 3, 4]), spacing=2)
    >>> query.dimension, (query.table.floats() * float(query.step)).toarray().tolist()
    (3, [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    """
    check_over(over)
    if graph is not None and (spacing is not None or not isinstance(graph, NeighbourGraph)):
        raise ParameterError(
            f"spacing is {spacing!r} and graph is a {type(graph).__name__}.",
            allowed="a spacing, or a NeighbourGraph",
            fix="leave graph out",
        )
    if graph is None:
        return node_query(space, space.graph(spacing), spacing)
    return node_query(space, graph, named=False)


def node_query(space: Space, graph: NeighbourGraph, spacing: Any = None, *, named: bool = True) -> Query:
    """The query of :func:`hats` for a graph that is known: that of ``spacing`` if it is ``named`` so."""
    arguments: dict[str, Any] = {} if spacing is None else {"spacing": plain_spacing(spacing)}
    if not named:
        arguments = {"graph": graph.digest}
    return Query(
        space,
        "hats",
        "",
        f"the share of people (their items) at each of the {graph.nodes:,} nodes of the space's graph",
        node_table(space, graph),
        arguments,
        names=lambda: [f"node {v}" for v in range(graph.nodes)],
    )


def node_table(space: Space, graph: NeighbourGraph) -> Quantised:
    """The exact weights of every item on the nodes."""
    from scipy.sparse import csr_array

    items, nodes = space.items, graph.nodes
    if graph.weights is None:
        if nodes < items:
            raise _mismatch(items, nodes)
        each = np.arange(items)
        ones = np.ones(items, dtype=np.int64)
        return Quantised(csr_array((ones, (each, each)), shape=(items, nodes)), Fraction(1), 0.0)
    whole = graph.whole_weights
    if whole.shape[0] != items:
        raise _mismatch(items, whole.shape[0])
    return Quantised(whole, Fraction(1, 2**WEIGHT_BITS), 0.0)


def plain_spacing(spacing: Any) -> Any:
    """A spacing as plain data."""
    if isinstance(spacing, Sequence):
        return [plain_spacing(x) for x in spacing]
    return None if spacing is None else float(spacing)


def _mismatch(items: int, carried: int) -> ParameterError:
    return ParameterError(
        f"The graph carries {carried:,} items, but the space has {items:,}.",
        allowed="a graph of this space",
        fix="space.graph()",
    )
