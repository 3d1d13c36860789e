"""Decoders of noise along edges that the default one is compared with: least squares, and empirical Bayes.

Least squares is the histogram with the least discrepancy from noisy values at nodes, by an interior point method. It
minimises (y - W'g)^T C^+ (y - W'g)/2 over g >= 0 (its mass is then 1 by itself). The conditions for a minimum are
C v + W'g = y, s = -W v >= 0, g >= 0 and g s = 0; Newton steps solve with C + W' diag(g/s) W, which is as sparse as the
graph (docs/proofs/edge-decoding.md, Sections 1, 2 and 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from barrow.mechanisms.decoding.graph import GraphDecoder, GraphMap
from barrow.spaces.space import Floats
from barrow.transport.graph_flow import factorised, grounded

_MOST = 60
_ENOUGH = 1e-6


@dataclass(frozen=True, eq=False)
class NodeCovariance:
    """The covariance C of what noise along edges adds to the nodes: sparse, and zero on constants."""

    matrix: Any

    @cached_property
    def _unit(self) -> float:
        # In units of the typical variance no entry is tiny.
        return float(np.median(self.matrix.diagonal()))

    @cached_property
    def _solve(self) -> Any:
        return grounded(self.matrix / self._unit)

    def inverse(self, values: Floats) -> Floats:
        """C^+ values, of mean 0, for values of sum 0 (their mean is taken off)."""
        return np.asarray(self._solve(values - values.mean()) / self._unit)

    def discrepancy(self, values: Floats) -> float:
        """values^T C^+ values: on average the number of nodes minus 1 if ``values`` are noise."""
        centred = values - values.mean()
        return float(centred @ self.inverse(centred))


def decode(decoder: GraphDecoder, values: Floats, how: str) -> Floats:
    """The histogram by ``"least_squares"``, ``"empirical_bayes"`` or a decoder of the package."""
    if how == "least_squares":
        return least_squares(decoder.covariance.tocsr(), decoder.weights, decoder.checked(values))[0]
    if how == "empirical_bayes":
        return empirical_bayes(decoder, values)
    return decoder.decode(values, how)


def empirical_bayes(decoder: GraphDecoder, values: Floats, *, rounds: int = 1) -> Floats:
    """As ``smooth``, where what the map holds at each scale becomes what is expected there."""
    y = decoder.checked(values)
    prior = decoder.scales.prior
    result = decoder.discrepant(y, prior)
    for _ in range(rounds):
        prior = _refitted(decoder, y, prior, result)
        result = decoder.discrepant(y, prior)
    return result.weights


def _refitted(decoder: GraphDecoder, y: Floats, prior: Floats, found: GraphMap) -> Floats:
    """The prior with the mass that the map holds at each scale, half and half with what was expected there."""
    held = decoder.dual(y, prior).mixture(found.dual, found.strength)
    new = prior.copy()
    ends = decoder.scales.ends
    for part, mine in zip(np.split(new, ends), np.split(held, ends), strict=True):
        before = float(part.sum())
        if before > 0.0:
            part *= 0.5 + 0.5 * float(mine.sum()) / before
    return np.asarray(new / new.sum())


def least_squares(covariance: Any, weights: Any, y: Floats, enough: float = _ENOUGH) -> tuple[Floats, int]:
    """The histogram and the number of steps; the objective is within ``enough`` per node of the least."""
    from scipy.sparse import diags_array

    items = weights.shape[0]
    turned = weights.T.tocsr()
    unit = float(covariance.diagonal().mean())
    matrix = (covariance / unit).tocsc()
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
