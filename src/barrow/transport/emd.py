"""The earth mover's distance with the cheapest exact solver that the space allows.

Without a closed form that is network simplex (POT) or linear programming (HiGHS), and assignment. Mass that both sides
share at an item need not move, whatever the metric, so only the difference is transported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from barrow import heavy
from barrow.errors import BarrowError, DataError, ParameterError, reading
from barrow.spaces.geometry import ones
from barrow.spaces.neighbours import Net
from barrow.spaces.space import Floats, Ids, Space
from barrow.transport.graph_flow import exact_flow
from barrow.transport.solver import Simplex, pot

_MASS_ERROR = 1e-9
_MANY_PAIRS = 1 << 16
"""Beyond so many pairs of items that give and take, flows along the edges of a graph are quicker."""
_FLOAT = np.dtype(np.float64)
_CHUNK = 1 << 15
"""How many numbers are worked on at once, so that they stay in the cache."""


def histogram(space: Space, items: ArrayLike) -> Floats:
    """The normalised histogram of a non-empty multiset of item ids.

    >>> from barrow.spaces import Discrete
    >>> histogram(Discrete(["a", "b"]), [0, 1, 1, 1]).tolist()
    [0.25, 0.75]
    """
    ids = data_set(space, items)
    return np.bincount(ids, minlength=space.items) / ids.size


def data_set(space: Space, items: ArrayLike) -> Ids:
    """A non-empty one-dimensional array of item ids."""
    ids = np.asarray(items)
    if ids.size == 0:
        raise DataError(
            "A data set is empty, so it has no histogram.",
            allowed="at least one item for each user",
            fix="give users without items the space's public default item: [space.default_item]",
        )
    return np.atleast_1d(space._ids(ids))


def weights(space: Space, a: ArrayLike, b: ArrayLike) -> tuple[Floats, Floats]:
    """``a`` and ``b`` as rows of mass 1 over the items; negative entries are allowed (a difference may be signed)."""
    if not isinstance(space, Space):
        raise ParameterError(f"The space is {space!r:.60}.", allowed="a space", fix="emd(Line(0, 100, step=1), a, b)")
    return _rows(space.items, a, "a"), _rows(space.items, b, "b")


def _rows(items: int, values: ArrayLike, name: str) -> Floats:
    if type(values) is np.ndarray and values.dtype is _FLOAT:
        array = values  # the most frequent case, in which nothing has to be read
    else:
        with reading(name, allowed="one weight for each item of a space", fix="histogram(space, ids)"):
            array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] != items:
        raise ParameterError(
            f"{name} has shape {array.shape}.",
            allowed=f"one weight for each of the {items} items along the last axis",
            fix="histogram(space, ids) makes one from item ids",
        )
    totals = array.dot(ones(items))
    wrong = abs(float(totals) - 1.0) if array.ndim == 1 else np.abs(totals - 1.0).max(initial=0.0)
    if not wrong <= _MASS_ERROR:
        raise ParameterError(
            f"{name} does not have mass 1 (it misses it by {wrong:.3g}).",
            allowed="weights with sum 1",
            fix=f"{name} / {name}.sum() if the weights are counts",
        )
    return array


def emd(space: Space, a: ArrayLike, b: ArrayLike) -> float | Floats:
    """The normalised earth mover's distance between histograms; many pairs at once along leading axes.

    Line, circle, tree, clustered and discrete spaces use closed forms in O(k) per pair. Other spaces use an exact
    solver on the difference. Entries may be negative as long as each row has mass 1: then this is the Kantorovich-
    Rubinstein norm of the difference.

    Args:
        space: The space of items.
        a: Weights of mass 1 over the items, along the last axis.
        b: The same; leading axes broadcast.

    >>> from barrow.spaces import Line
    >>> emd(Line(0, 8, step=1, cells=True), np.eye(8)[0], np.eye(8)[2])
    0.25
    """
    x, y = weights(space, a, b)
    if x.ndim == y.ndim == 1:
        return float(space.geometry.flow_cost(x - y)) if space.geometry.has_closed_form else _cost(space, x - y)
    return _in_closed_form(space, x, y) if space.geometry.has_closed_form else _each(space, np.subtract(x, y))


def _in_closed_form(space: Space, a: Floats, b: Floats) -> Floats:
    """EMD of many pairs by the closed form of ``space``, a chunk at a time."""
    left, right = np.broadcast_arrays(a, b)
    size = left.shape[-1]
    rows_a, rows_b = left.reshape(-1, size), right.reshape(-1, size)
    out = np.empty(len(rows_a))
    step = max(1, _CHUNK // size)
    room = np.empty((step, size))
    for start in range(0, len(out), step):
        chunk = slice(start, start + step)
        difference = room[: len(out[chunk])]
        np.subtract(rows_a[chunk], rows_b[chunk], out=difference)
        out[chunk] = space.geometry.flow_cost(difference)
    return out.reshape(left.shape[:-1])


def kr_norm(space: Space, difference: ArrayLike) -> float | Floats:
    """The Kantorovich-Rubinstein norm of signed weights of total mass 0: EMD without the two ends.

    >>> from barrow.spaces import Discrete
    >>> kr_norm(Discrete(["a", "b"]), [0.25, -0.25])
    0.25
    """
    d = np.asarray(difference, dtype=np.float64)
    if d.ndim == 0 or d.shape[-1] != space.items:
        raise ParameterError(
            f"difference has shape {d.shape}.",
            allowed=f"{space.items} entries along the last axis",
            fix="a - b",
        )
    excess = np.abs(d.dot(ones(d.shape[-1]))).max(initial=0.0)
    if not excess <= 1e-9 * max(1.0, float(np.abs(d).max(initial=0.0))):
        raise ParameterError(
            f"difference has total mass {excess:.3g}.",
            allowed="total mass 0",
            fix="subtract weights of equal mass",
        )
    if d.ndim == 1:
        return float(space.geometry.flow_cost(d)) if space.geometry.has_closed_form else _cost(space, d)
    return _in_closed_form(space, d, np.zeros(d.shape[-1])) if space.geometry.has_closed_form else _each(space, d)


def _each(space: Space, differences: Floats) -> Floats:
    rows = differences.reshape(-1, differences.shape[-1])
    return np.array([_cost(space, row) for row in rows]).reshape(differences.shape[:-1])


def _cost(space: Space, difference: Floats) -> float:
    """What the cheapest transport costs: on a graph with many items along its edges, elsewhere from item to item."""
    paths = space.geometry.paths
    if paths is not None and int((difference > 0.0).sum()) * int((difference < 0.0).sum()) > _MANY_PAIRS:
        flow = exact_flow(Net(space.items, *paths), difference)
        if flow is not None:
            return flow.upper
    return transport(space, difference)[0]


def emd_between(space: Space, a: ArrayLike, b: ArrayLike) -> float:
    """EMD between two users' data, given as item ids; sizes may differ.

    Without a closed form, two data sets of the same small size are matched directly (``lem:bvn``).

    >>> from barrow.spaces import Discrete
    >>> emd_between(Discrete(["a", "b"]), [0, 0], [0, 1, 0, 1])
    0.5
    """
    x, y = data_set(space, a), data_set(space, b)
    if not space.geometry.has_closed_form and x.size == y.size <= space.items:
        return assign(space, x, y)[0]
    return float(emd(space, histogram(space, x), histogram(space, y)))


@dataclass(frozen=True)
class Coupling:
    """A cheapest transport plan: ``mass[i]`` goes from item ``source[i]`` to item ``target[i]``; ``cost`` is the EMD.

    >>> from barrow.spaces import Discrete
    >>> coupling(Discrete(["a", "b"]), [1, 0], [0.75, 0.25]).mass.tolist()
    [0.75, 0.25]
    """

    source: Ids
    target: Ids
    mass: Floats
    cost: float


def coupling(space: Space, a: ArrayLike, b: ArrayLike) -> Coupling:
    """A cheapest coupling of two histograms (non-negative weights of mass 1), mass that stays put included.

    >>> from barrow.spaces import Line
    >>> plan = coupling(Line(0, 3, step=1, cells=True), [1, 0, 0], [0, 0.5, 0.5])
    >>> plan.target.tolist(), round(plan.cost, 9)
    ([1, 2], 0.5)
    """
    x, y = weights(space, a, b)
    if x.ndim != 1 or y.ndim != 1 or min(x.min(), y.min()) < 0.0:
        raise ParameterError(
            "A coupling is made of two histograms.",
            allowed="two one-dimensional arrays without negative entries",
            fix="project the weights to the simplex first, or ask for emd() only",
        )
    stay = np.minimum(x, y)
    indices = np.flatnonzero(stay)
    cost, source, target, mass = transport(space, x - y)
    return Coupling(
        np.concatenate([indices, source]),
        np.concatenate([indices, target]),
        np.concatenate([stay[indices], mass]),
        cost,
    )


def transport(space: Space, difference: Floats) -> tuple[float, Ids, Ids, Floats]:
    """The cheapest way to turn the negative part of ``difference`` into room for the positive part.

    Returns:
        The cost, and the moves: from item, to item, mass.
    """
    source, target = np.flatnonzero(difference > 0.0), np.flatnonzero(difference < 0.0)
    if source.size == 0 or target.size == 0:
        return 0.0, source[:0], target[:0], np.zeros(0)
    supply, demand = difference[source], -difference[target]
    # The two totals differ by rounding only; solvers want them equal.
    demand = demand * (supply.sum() / demand.sum())
    costs = np.ascontiguousarray(space.block(source, target))
    solver = pot()
    plan = _by_linear_programme(costs, supply, demand) if solver is None else _by_network(solver, costs, supply, demand)
    i, j = np.nonzero(plan > 0.0)
    mass = plan[i, j]
    return float(mass @ costs[i, j]), source[i], target[j], mass


def _by_network(solver: Simplex, costs: Floats, supply: Floats, demand: Floats) -> Floats:
    plan = solver.dense(supply, demand, costs)
    if plan is None:
        raise BarrowError(
            "The network simplex did not finish.",
            allowed="histograms with fewer items",
            fix="use a coarser grid, or a tree, line or clustered space, whose distance has a closed form",
        )
    return plan


def _by_linear_programme(costs: Floats, supply: Floats, demand: Floats) -> Floats:
    n, m = costs.shape
    rows = heavy.sparse.kron(heavy.sparse.eye_array(n), np.ones((1, m)))
    columns = heavy.sparse.kron(np.ones((1, n)), heavy.sparse.eye_array(m))
    # One equation follows from the others; without it rounding cannot make the programme infeasible.
    constraints = heavy.sparse.vstack([rows, columns]).tocsr()[:-1]
    # HiGHS forgives each equation its tolerance, whatever the mass: work with large masses and a small tolerance.
    scale = 1e4 / supply.sum()
    result = heavy.optimize.linprog(  # type: ignore[call-overload]  # the stubs do not know sparse constraints
        costs.ravel(),
        A_eq=constraints,
        b_eq=np.concatenate([supply, demand])[:-1] * scale,
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not result.success:
        raise BarrowError(
            f"The linear programme was not solved: {result.message}",
            fix="pip install 'barrow[emd]' for the network simplex",
        )
    return np.asarray(result.x / scale).reshape(n, m).clip(0.0)


def assign(space: Space, a: Ids, b: Ids) -> tuple[float, Ids]:
    """The cheapest matching of two data sets of the same size (``lem:bvn``): mean distance, and who goes where.

    >>> from barrow.spaces import Line
    >>> assign(Line(0, 2, points=[0, 1, 2]), np.array([0, 1]), np.array([2, 0]))
    (0.25, array([1, 0]))
    """
    costs = space.block(a, b)
    rows, columns = heavy.optimize.linear_sum_assignment(costs)
    return float(costs[rows, columns].mean()), columns.astype(np.int64)
