"""Hierarchies and products with Laplace noise, their weights optimised for a workload: do they ever win?"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize

from barrow.queries import Query, table_floats
from barrow.spaces.space import Floats

_SHARP, _NEAR = 60.0, 12


def dyadic(n: int) -> Floats:
    """Sums of n places, of halves, quarters, …, single places."""
    width, rows = n, []
    while True:
        rows += [np.isin(np.arange(n), np.arange(a, a + width)) * 1.0 for a in range(0, n, width)]
        if width == 1:
            return np.array(rows)
        width = (width + 1) // 2


def quadtree(n: int) -> Floats:
    """Square blocks of n x n places, at every level."""
    rows, width = [], (n + 1) // 2
    while True:
        line = [np.isin(np.arange(n), np.arange(a, a + width)) * 1.0 for a in range(0, n, width)]
        rows += [np.outer(a, b).ravel() for a in line for b in line]
        if width == 1:
            return np.array(rows)
        width = (width + 1) // 2


def haar(n: int) -> Floats:
    """Differences of halves, n a power of 2, and the sum of all."""
    rows, width = [np.ones(n)], n
    while width >= 2:
        for a in range(0, n, width):
            row = np.zeros(n)
            row[a : a + width // 2], row[a + width // 2 : a + width] = 1.0, -1.0
            rows.append(row)
        width //= 2
    return np.array(rows)


def prefixes(n: int) -> Floats:
    """The first place, the first two, … all."""
    return np.tril(np.ones((n, n)))


def _product(rows: Floats) -> Floats:
    return np.asarray(np.kron(rows, rows), dtype=np.float64)


def families(side: int, flat: bool) -> dict[str, Floats]:
    """Rows of sums of places, by name: on a line of so many places, or on a square."""
    if not flat:
        return {
            "dyadic": dyadic(side),
            "haar": haar(side),
            "haar and prefixes": np.vstack([haar(side), prefixes(side)]),
        }
    return {
        "quadtree": quadtree(side),
        "dyadic x dyadic": _product(dyadic(side)),
        "haar x haar": _product(haar(side)),
        "prefixes x prefixes": _product(prefixes(side)),
    }


def least_rms(query: Query, rows: Floats, users: int) -> float:
    """About the least root mean square error, at alpha 1, of the answers by least squares from weighted sums.

    Pairs that are far apart are not looked at, so that it may be too small, never too large by that.
    """
    rows = np.unique(rows[np.ptp(rows, axis=1) > 0.0], axis=0)
    workload, space = table_floats(query).T, query.space
    grounded, sums = workload[:, :-1] - workload[:, -1:], rows[:, :-1] - rows[:, -1:]
    x, y = np.triu_indices(space.items, 1)
    far = np.asarray(space.distance(x, y))
    near = far <= np.sort(far)[min(len(far) - 1, space.items * _NEAR)]
    steep = np.unique(np.round(np.abs(rows[:, x[near]] - rows[:, y[near]]).T / far[near][:, None], 9), axis=0)
    steep, wanted = steep[steep.sum(axis=1) > 0.0], grounded.T @ grounded

    def trace(weights: Floats) -> tuple[float, Floats]:
        moments = (sums * (weights**2)[:, None]).T @ sums
        inverse = np.linalg.inv(moments + 1e-10 * np.trace(moments) / len(moments) * np.eye(len(moments)))
        return float((inverse * wanted).sum()), inverse

    def value(logs: Floats) -> tuple[float, Floats]:
        weights = np.exp(logs)
        total, inverse = trace(weights)
        use = steep @ weights
        parts = (use / use.max()) ** _SHARP
        pull = np.einsum("ij,jk,ik->i", sums, inverse @ wanted @ inverse, sums, optimize=True)
        gradient = -2.0 * weights**2 * pull / total + 2.0 * ((parts / parts.sum() / use) @ steep) * weights
        return math.log(total) + 2.0 * math.log(use.max()) + 2.0 / _SHARP * math.log(parts.sum()), gradient

    found = minimize(value, np.zeros(len(rows)), jac=True, method="L-BFGS-B", options={"maxiter": 400})
    weights = np.exp(found.x)
    return math.sqrt(2.0 * trace(weights)[0] / len(workload)) * float((steep @ weights).max()) / users
