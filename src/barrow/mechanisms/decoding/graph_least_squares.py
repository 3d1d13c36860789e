"""The histogram with the least discrepancy from noisy values at nodes, by an interior point method.

Minimises (y - W'g)^T C^+ (y - W'g)/2 over g >= 0 (its mass is then 1 by itself). The conditions for a minimum are
C v + W'g = y, s = -W v >= 0, g >= 0 and g s = 0; Newton steps solve with C + W' diag(g/s) W, which is as sparse as the
graph (docs/proofs/edge-decoding.md, Section 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.mechanisms.decoding.graph_covariance import NodeCovariance
from barrow.spaces.base import Floats
from barrow.transport.graph_flow import factorised

_MOST = 60
_ENOUGH = 1e-6


def least_squares(covariance: NodeCovariance, weights: Any, y: Floats, enough: float = _ENOUGH) -> tuple[Floats, int]:
    """The histogram and the number of steps; the objective is within ``enough`` per node of the least.

    Args:
        covariance: Of the noise at the nodes.
        weights: (items, nodes), sparse.
        y: Noisy values with sum 1.
        enough: When to stop.

    >>> from scipy.sparse import csr_array, eye_array
    >>> path = NodeCovariance(csr_array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]) / 1e4)
    >>> found, _ = least_squares(path, eye_array(3, format="csr"), np.array([0.6, -0.2, 0.6]))
    >>> found.round(4).tolist()
    [0.5, 0.0, 0.5]
    """
    from scipy.sparse import diags_array

    items = weights.shape[0]
    turned = weights.T.tocsr()
    unit = float(covariance.matrix.diagonal().mean())
    matrix = (covariance.matrix / unit).tocsc()
    mean = 1.0 / items
    g = np.full(items, mean)
    first = max(1e-3, float(np.abs(y).max()))
    s, v = np.full(items, first), np.full(y.size, -first)
    steps = 0
    while steps < _MOST:
        steps += 1
        residual = y - matrix @ v - turned @ g
        slack = -(weights @ v) - s
        mu = float(g @ s) / items
        if mu * items / unit <= enough * y.size and float(np.abs(residual).max()) <= 1e-9 * mean + 1e-13:
            break
        newton = _Newton(factorised(matrix + turned @ diags_array(g / s) @ weights), weights, turned, residual, slack)
        _, dg, ds = newton.step(g, s, -g * s)
        reach = min(_reach(g, dg), _reach(s, ds), 1.0)
        after = float((g + reach * dg) @ (s + reach * ds)) / items
        dv, dg, ds = newton.step(g, s, (after / mu) ** 3 * mu - g * s - dg * ds)
        reach = min(1.0, 0.995 * _reach(g, dg), 0.995 * _reach(s, ds))
        g, s, v = g + reach * dg, s + reach * ds, v + reach * dv
    return np.asarray(g / g.sum()), steps


@dataclass(frozen=True, eq=False)
class _Newton:
    """Newton steps from one point: the same matrix for the predictor and the corrector."""

    solve: Any
    weights: Any
    turned: Any
    residual: Floats
    slack: Floats

    def step(self, g: Floats, s: Floats, target: Floats) -> tuple[Floats, Floats, Floats]:
        """Changes of v, g and s with g ds + s dg = target."""
        dv = self.solve(self.residual - self.turned @ ((target - g * self.slack) / s))
        ds = -(self.weights @ dv) + self.slack
        return dv, (target - g * ds) / s, ds


def _reach(x: Floats, dx: Floats) -> float:
    """The longest step that keeps ``x`` above 0."""
    falling = dx < 0.0
    return float((-x[falling] / dx[falling]).min()) if falling.any() else np.inf
