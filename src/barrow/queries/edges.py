"""Histograms that are asked along edges: of a tree, and of a space's neighbourhood graph.

Along a tree it is, for every edge, its length times the share of people's items below it. EMD is the 1-norm of the
difference of these values, so their Lipschitz constant in the 1-norm is 1, whatever the tree: the noise does not grow
where items are close together (docs/proofs/tree-histograms.md).

On a graph it is the share of people's items at each node, or near it. Where items are nodes this is the histogram; on
coarser nodes an item is shared between the nodes around it by exact dyadic weights (hats). Noise along the graph's
edges makes it private (docs/proofs/edge-noise.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.queries.quantised import Quantised, default_step
from barrow.queries.query import ClosedForm, Query
from barrow.spaces import EdgeTree, NeighbourGraph, Space, edge_names, edge_tree
from barrow.spaces.neighbours import WEIGHT_BITS
from barrow.spaces.space import Floats, Ids

_MOST_ENTRIES = 3 * 10**7
_SLACK = 2.0**-39
"""A space may shorten its longest distances by 2^-40 (a diameter that was given); the rest is rounding."""


def tree_edges(space: Space) -> Query:
    """For each edge of the tree behind the space: its length times the share of people (their items) below it.

    :func:`barrow.mechanisms.decoding.tree.decode` turns noisy values into a histogram.

    Args:
        space: A tree, clustered, discrete or line space.

    >>> from barrow.spaces import Clustered
    >>> query = tree_edges(Clustered.grid(2, 2, r=0.25))
    >>> query.outputs, [round(query.lipschitz_upper(p), 6) for p in (1, 2)]
    (('0', '1', '0/0', '0/1', '1/0', '1/1'), [1.0, 0.707107])
    """
    tree = edge_tree(space)
    entries = int((tree.ends - tree.starts).sum())
    if entries > _MOST_ENTRIES:
        raise ParameterError(
            f"The tree is so deep that its items are below {entries:,} edges in all.",
            allowed=f"at most {_MOST_ENTRIES:,}; a line may have about {int((2 * _MOST_ENTRIES) ** 0.5):,} points",
            fix="a coarser step, or a density",
        )
    return Query(
        space,
        "tree_edges",
        "",
        f"the share of people (their items) below each of the {tree.edges:,} edges of the tree, times its length",
        _table(tree),
        {},
        _constants(tree),
        lambda: edge_names(space),
    )


def _table(tree: EdgeTree) -> Quantised:
    step = default_step(float(tree.lengths.max()))
    # Rounded down: quantised lengths are those of a tree whose distances are no longer than the real ones.
    lengths = np.floor(tree.lengths / float(step)).astype(np.int64)
    if not (lengths > 0).all():
        raise ParameterError(
            f"An edge is {tree.lengths.min() / tree.lengths.max():.3g} times as long as the longest one.",
            allowed="lengths that differ by a factor of less than 2^49",
            fix="join items that are so close together",
        )
    widths = tree.ends - tree.starts
    edges = np.repeat(np.arange(tree.edges), widths)
    items = np.arange(len(edges)) - np.repeat(np.cumsum(widths) - widths, widths) + tree.starts[edges]
    integers = heavy.sparse.csr_array((lengths[edges], (items, edges)), shape=(tree.items, tree.edges))
    return Quantised(integers, step, 2.0 * float(step))


def _constants(tree: EdgeTree) -> ClosedForm:
    slack = 1.0 + _SLACK + len(tree.levels) * 2.0**-50
    nearest, whole = (np.zeros(tree.edges), True) if tree.path else nearest_beyond(tree)
    bound, span = _lipschitz(tree, nearest, slack), _range(tree, slack)
    return ClosedForm(bound, tight=whole, range_bound=span, quantised=True)


def _lipschitz(tree: EdgeTree, nearest: Floats, slack: float) -> Callable[[float], float]:
    """The largest ||lengths along a way||_p over its whole length.

    A way with no edge longer than half of it has at most 2^(1/p - 1). One with such an edge, of length a, and the rest
    of total length b < a, has at most (a^p + b^p)^(1/p)/(a + b), which falls with b; and b is no less than ``nearest``.
    """
    long, rest = tree.lengths, nearest
    share = np.where(rest < long, long / (long + rest), 0.5)

    def bound(p: float) -> float:
        largest = float(share.max())
        if p == math.inf:
            return largest * slack
        # (s^p + (1-s)^p)^(1/p) grows with s from 1/2 on.
        return float((largest**p + (1.0 - largest) ** p) ** (1.0 / p)) * slack

    return bound


def nearest_beyond(tree: EdgeTree) -> tuple[Floats, bool]:
    """For each edge, the length of the shortest way through it, but for itself.

    Returns:
        The lengths, and whether the bound that they give is attained: some shortest way of the steepest edge goes
        over one more edge, or no edge is longer than half of every way through it.
    """
    down, hops_down = np.zeros(tree.edges), np.zeros(tree.edges, dtype=np.int64)
    up, hops_up = np.zeros(tree.edges), np.zeros(tree.edges, dtype=np.int64)
    for here in reversed(tree.levels):
        first, _ = _two_shortest(tree, down, here)
        above = tree.parents[first]
        first, above = first[above >= 0], above[above >= 0]
        down[above] = down[first] + tree.lengths[first]
        hops_down[above] = hops_down[first] + 1
    for here in tree.levels:
        first, second = _two_shortest(tree, down, here)
        group = np.searchsorted(tree.parents[first], tree.parents[here])
        other = np.where(here == first[group], second[group], first[group])
        lone = other < 0  # the only edge below its parent: only the way further up is left
        up[here] = np.where(lone, np.inf, down[other] + tree.lengths[other])
        hops_up[here] = hops_down[other] + 1
        above = tree.parents[here]
        further = np.where(above >= 0, up[above] + tree.lengths[above], np.inf)
        better = further < up[here]
        up[here[better]] = further[better]
        hops_up[here[better]] = hops_up[above[better]] + 1
    rest = down + up
    share = np.where(rest < tree.lengths, tree.lengths / (tree.lengths + rest), 0.5)
    steepest = share == share.max()
    attained = bool(share.max() == 0.5) or bool(((hops_down + hops_up)[steepest] == 1).any())
    return rest, attained


def _two_shortest(tree: EdgeTree, down: Floats, here: Ids) -> tuple[Ids, Ids]:
    """Of the edges below each parent, the two over which a leaf is nearest; -1 where there is no second one."""
    order = here[np.lexsort(((tree.lengths + down)[here], tree.parents[here]))]
    new = np.append(True, np.diff(tree.parents[order]) != 0)
    begins = np.flatnonzero(new)
    after = np.minimum(begins + 1, len(order) - 1)
    return order[begins], np.where(new[after] | (after == begins), -1, order[after])


def _range(tree: EdgeTree, slack: float) -> Callable[[float], float]:
    """The largest ||lengths along a way||_p: the longest way of the tree with lengths to the power p."""

    def span(p: float) -> float:
        if p == math.inf:
            return float(tree.lengths.max()) * slack
        powers = (tree.lengths / tree.lengths.max()) ** p
        if tree.path:
            return float(powers.sum() ** (1.0 / p) * tree.lengths.max()) * slack
        down, longest = np.zeros(tree.edges), 0.0
        for here in reversed(tree.levels):
            arms = down[here] + powers[here]
            parents = tree.parents[here]
            order = np.lexsort((arms, parents))
            new = np.append(np.diff(parents[order]) != 0, True)
            last = np.flatnonzero(new)
            before = np.maximum(last - 1, 0)
            second = np.where(new[before] & (before < last) | (before == last), 0.0, arms[order[before]])
            longest = max(longest, float((arms[order[last]] + second).max()))
            above = parents[order[last]]
            inner = above >= 0
            down[above[inner]] = arms[order[last]][inner]
        return float(longest ** (1.0 / p) * tree.lengths.max()) * slack

    return span


def hats(space: Space, *, spacing: Any = None, graph: NeighbourGraph | None = None) -> Query:
    """The share of people (their items) that each node of the neighbourhood graph carries.

    Args:
        space: The public space.
        spacing: The widest gap between nodes; see :meth:`barrow.spaces.Space.graph`.
        graph: Instead of ``spacing``: the graph itself.

    >>> from barrow.spaces import Line
    >>> query = hats(Line(0, 5, points=[0, 1, 3, 4]), spacing=2)
    >>> query.dimension, (query.table.floats() * float(query.step)).toarray().tolist()
    (3, [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    """
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
    items, nodes = space.items, graph.nodes
    if graph.weights is None:
        if nodes < items:
            raise _mismatch(items, nodes)
        each = np.arange(items)
        ones = np.ones(items, dtype=np.int64)
        return Quantised(heavy.sparse.csr_array((ones, (each, each)), shape=(items, nodes)), Fraction(1), 0.0)
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
