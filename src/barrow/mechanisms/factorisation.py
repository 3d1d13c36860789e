"""Combinations of shares from which the answers of a workload follow, however they are found: public, and free.

Each is a query like any other, whose constant is certified like any other's; noise along the edges or round the faces
of the space's graph needs none, as it is proved for the graph (docs/proofs/strategies.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.mechanisms.ellipsoids import MOST_DENSE, MOST_STEPS, Ellipsoid, least_trace, least_trace_around
from barrow.mechanisms.scales import least_scales, scales_around
from barrow.mechanisms.steep_pairs import SteepPairs
from barrow.queries import Query, strategy_query, table_floats, tree_edges
from barrow.queries.edges import node_query
from barrow.spaces import Space, edge_tree
from barrow.spaces.neighbours import NeighbourGraph
from barrow.spaces.space import Floats

_LEAST_SINGULAR = 1e-12
_MOST_OUTPUTS = 4000
_MOST_ENTRIES = 2**23
"""Numbers of a table of answers by nodes or edges, up to which such a table is written out."""
MOST_ITEMS = 1000
"""On larger spaces pairs of items are looked for; of answers of a high rank all of them are looked at up to 2,500."""
_HIGH_RANK = 200
_STEP_WORK = 1e11
"""The cube of the rank times the number of steps, on large spaces."""
_LOOKS, _HELD = 8, 1.002
"""How often steep pairs are looked for, and from which change per distance on; noise is for a change of 1."""
EDGES, FACES = "edges", "faces"


@dataclass(frozen=True, eq=False, repr=False)
class Factorisation:
    """Combinations from which the answers of a workload can be computed; public, and independent of any budget.

    Attributes:
        name: How they were found: ``"plain"`` (the answers themselves), ``"ellipsoid"``, ``"scales"``, ``"tree"``,
            or the values of the nodes of the space's graph, with noise along ``"edges"`` or round ``"faces"``.
        query: The query that is released, A.
        answers: R, shape (answers, combinations).
        offsets: What is added to each answer.
        off_upper: How far R A q + offsets may be from the answer of the quantised workload, whatever the data.
        trace_lower: No Gaussian noise of constant 1 has a smaller sum of (weighted) variances; None where unknown.

    >>> from barrow.queries import histogram
    >>> from barrow.spaces import Discrete
    >>> [each.name for each in factorisations(histogram(Discrete(["a", "b", "c"])))]
    ['plain', 'ellipsoid', 'scales', 'tree', 'edges']
    """

    name: str
    query: Query
    answers: Floats
    offsets: Floats
    off_upper: Floats
    trace_lower: float | None = None

    def __repr__(self) -> str:
        return f"Factorisation({self.name}, {self.answers.shape[1]} combinations for {self.answers.shape[0]} answers)"


@lru_cache(maxsize=12)
def factorisations(workload: Query, weights: tuple[float, ...] | None = None) -> tuple[Factorisation, ...]:
    """Every factorisation for ``workload``; the last few are remembered, as they take seconds on large spaces.

    >>> from barrow.queries import histogram
    >>> from barrow.spaces import Line
    >>> factorisations(histogram(Line(0, 4, step=1, cells=True)))[1]
    Factorisation(ellipsoid, 3 combinations for 4 answers)
    """
    if workload.space.items < 2 or workload.space.items * workload.dimension > _MOST_ENTRIES:
        return ()
    values = table_floats(workload)
    counts = np.ones(workload.dimension) if weights is None else np.asarray(weights)
    if counts.shape != (workload.dimension,) or not (counts > 0.0).all():
        raise ParameterError(
            f"There are {len(counts)} weights for {workload.dimension} answers, or some are not above 0.",
            allowed="a number above 0 for each answer",
            fix="leave weights out",
        )
    ellipsoid = _by_ellipsoid(workload, values, counts)
    bound = None if ellipsoid is None else ellipsoid.trace_lower
    none = np.zeros(workload.dimension)
    plain = Factorisation("plain", workload, np.eye(workload.dimension), none, none, bound)
    results = [
        plain if workload.dimension <= _MOST_OUTPUTS else None,
        ellipsoid,
        _by_scales(workload, values, counts),
        _by_tree(workload, values),
        *_by_graph(workload, values),
    ]
    return tuple(each for each in results if each is not None)


def _factored(
    name: str, workload: Query, values: Floats, query: Query, answers: Floats, bound: float | None
) -> Factorisation:
    """A factorisation with what it misses: half the width of the difference, whose middle is added to the answers."""
    missed = values - table_floats(query) @ answers.T
    low, high = missed.min(axis=0), missed.max(axis=0)
    largest = float(np.abs(table_floats(query)).max(initial=0.0))
    floats = _floats(values, answers, largest)
    return Factorisation(name, query, answers, (low + high) / 2.0, (high - low) / 2.0 + floats, bound)


def _floats(values: Floats, answers: Floats, largest: float) -> Floats:
    """How far answers may be off because they are computed in floats, from values of at most ``largest``."""
    total = np.abs(answers).sum(axis=1) * largest + np.abs(values).max(axis=0)
    return np.asarray(total * answers.shape[1] * 2.0**-50)


def _by_ellipsoid(workload: Query, values: Floats, counts: Floats) -> Factorisation | None:
    """Gaussian noise whose covariance has the least trace; A = F S^(-1/2) in the directions that answers vary in."""
    space = workload.space
    left, sizes, right = heavy.linalg.svd((values - values.mean(axis=0)) * counts, full_matrices=False)
    holds = sizes > sizes[0] * _LEAST_SINGULAR
    rows, back = left[:, holds] * sizes[holds], right[holds].T / counts[:, None]
    result = _least_trace(space, rows)
    query = strategy_query(workload, rows @ result.inverse)
    if not _has_constant(query, 2):
        return None
    return _factored("ellipsoid", workload, values, query, back @ result.root, result.trace_lower)


def _least_trace(space: Space, rows: Floats) -> Ellipsoid:
    """Around all pairs of items; on a large space around steep ones, with others as long as there are any."""
    few = space.items <= MOST_ITEMS or (space.items <= MOST_DENSE and rows.shape[1] >= _HIGH_RANK)
    if few:
        every = np.arange(space.items)
        return least_trace(rows, np.asarray(space.block(every, every)))
    most = int(min(MOST_STEPS, max(2.0, _STEP_WORK / rows.shape[1] ** 3)))
    pairs = SteepPairs.of(space)
    changes = pairs.changes(rows)
    for _ in range(_LOOKS):
        result = least_trace_around(changes, most=most)
        more = pairs.violating(rows @ result.inverse, 2.0, _HELD)
        if not len(more):
            break
        changes = np.concatenate([changes, more @ result.root])
    return result


def _by_scales(workload: Query, values: Floats, counts: Floats) -> Factorisation | None:
    """The answers themselves, each in a unit of its own, so that Laplace noise has the least sum of variances."""
    space = workload.space
    if not 2 <= workload.dimension <= _MOST_OUTPUTS:
        return None
    varying = np.ptp(values, axis=0) > 0.0
    if not varying.any():
        return None
    scales = np.zeros(workload.dimension)
    scales[varying] = _least_scales(space, values[:, varying], counts[varying])
    indices = np.flatnonzero(varying)
    query = strategy_query(workload, values[:, indices] / scales[indices])
    if not _has_constant(query, 1):
        return None
    answers = np.zeros((workload.dimension, len(indices)))
    answers[indices, np.arange(len(indices))] = scales[indices]
    return _factored("scales", workload, values, query, answers, None)


def _least_scales(space: Space, values: Floats, counts: Floats) -> Floats:
    """For all pairs of items; on a large space for steep ones, with others as long as there are any."""
    if space.items <= MOST_ITEMS:
        every = np.arange(space.items)
        return least_scales(values, np.asarray(space.block(every, every)), counts)
    pairs = SteepPairs.of(space)
    steep = np.abs(pairs.changes(values))
    for _ in range(_LOOKS):
        scales = scales_around(steep, counts)
        more = pairs.violating(values / scales, 1.0, _HELD)
        if not len(more):
            break
        steep = np.concatenate([steep, np.abs(more) * scales])
    return scales


def _has_constant(query: Query, p: int) -> bool:
    """Whether the constant can be certified: there may be too many pairs to visit, and none known on paper."""
    try:
        query.constants([p])
    except ParameterError:
        return False
    return True


def _by_tree(workload: Query, values: Floats) -> Factorisation | None:
    """Shares below the edges of a tree metric: an answer is a sum over edges of how it changes along them.

    A function on a tree's items is a constant plus, for each edge, a coefficient times "below it", and least squares
    finds coefficients for every function: on a line they are the steps of the function.
    """
    space = workload.space
    if space.geometry.periodic or not (space.geometry.on_line or space.geometry.tree is not None):
        return None
    if space.items > MOST_ITEMS:
        return None  # along the edges of the graph it is the same noise
    tree, query = edge_tree(space), tree_edges(space)
    if tree.path:
        answers = (values[:-1] - values[1:]).T / tree.lengths
    else:
        table = table_floats(query)
        design = np.hstack([table, np.ones((space.items, 1))])
        answers = heavy.linalg.lstsq(design, values, lapack_driver="gelsd")[0][:-1].T
    return _factored("tree", workload, values, query, answers, None)


def _by_graph(workload: Query, values: Floats) -> list[Factorisation]:
    """The values of the nodes themselves: an answer is a sum over them, and only edges along which it changes count.

    Nodes without items carry nothing, so that an answer may count them at will: by least squares, as little as it can.
    """
    space = workload.space
    graph = space.graph()
    if graph.weights is not None or graph.nodes * workload.dimension > _MOST_ENTRIES:
        return []
    answers = np.ascontiguousarray(_extended(graph, values).T)
    query, none = node_query(space, graph), np.zeros(workload.dimension)
    off = _floats(values, answers, 1.0)
    names = [EDGES] if graph.faces is None or not len(graph.faces) else [EDGES, FACES]
    return [Factorisation(name, query, answers, none, off) for name in names]


def _extended(graph: NeighbourGraph, values: Floats) -> Floats:
    """Functions on items as functions on nodes: between them each is the mean of its neighbours, by their noise."""
    items, nodes = len(values), graph.nodes
    if nodes == items:
        return values
    near = 1.0 / graph.lengths**2
    matrix = graph.incidence @ heavy.diagonal(near) @ graph.incidence.T
    inside = heavy.sparse.csc_array(matrix)[items:, items:]
    pull = -(heavy.sparse.csr_array(matrix)[items:, :items] @ values)
    solved = heavy.sparse.linalg.splu(heavy.sparse.csc_array(inside)).solve(np.asarray(pull))
    return np.vstack([values, np.asarray(solved).reshape(nodes - items, -1)])
