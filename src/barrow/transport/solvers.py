"""Exact transport on any finite metric: network simplex (POT) or linear programming (HiGHS), and assignment.

Mass that both sides share at an item need not move, whatever the metric, so only the difference is transported.
"""

from __future__ import annotations

import importlib
import os
from functools import lru_cache
from typing import Any

import numpy as np

from barrow.errors import BarrowError
from barrow.spaces.base import Floats, Ids, Space

_QUIET = ("POT_BACKEND_DISABLE_PYTORCH", "POT_BACKEND_DISABLE_JAX", "POT_BACKEND_DISABLE_CUPY",
          "POT_BACKEND_DISABLE_TENSORFLOW")  # fmt: skip


@lru_cache(maxsize=1)
def pot() -> Any | None:
    """POT's module of linear programmes, or None where the extra ``emd`` is not installed.

    While it loads, its search for deep learning libraries is switched off: it costs seconds and is not used.
    """
    before = {name: os.environ.get(name) for name in _QUIET}
    os.environ.update(dict.fromkeys(_QUIET, "1"))
    try:
        return importlib.import_module("ot.lp")
    except ImportError:
        return None
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


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


def _by_network(solver: Any, costs: Floats, supply: Floats, demand: Floats) -> Floats:
    plan, log = solver.emd(supply, demand, costs, numItermax=50_000_000, log=True, check_marginals=False)
    if log.get("warning"):
        raise BarrowError(
            "The network simplex did not finish.",
            allowed="histograms with fewer items",
            fix="use a coarser grid, or a tree, line or clustered space, whose distance has a closed form",
        )
    return np.asarray(plan)


def _by_linear_programme(costs: Floats, supply: Floats, demand: Floats) -> Floats:
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    n, m = costs.shape
    rows = kron(eye_array(n), np.ones((1, m)))
    columns = kron(np.ones((1, n)), eye_array(m))
    # One equation follows from the others; without it rounding cannot make the programme infeasible.
    constraints = vstack([rows, columns]).tocsr()[:-1]
    # HiGHS forgives each equation its tolerance, whatever the mass: work with large masses and a small tolerance.
    scale = 1e4 / supply.sum()
    result = linprog(  # type: ignore[call-overload]  # the stubs do not know sparse constraints
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
    from scipy.optimize import linear_sum_assignment

    costs = space.block(a, b)
    rows, columns = linear_sum_assignment(costs)
    return float(costs[rows, columns].mean()), columns.astype(np.int64)
