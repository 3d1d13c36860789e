"""Privacy losses on a grid: Laplace and randomised-response pairs, composed by convolution, rounded up.

A pair is described by the distribution, under the first of it, of its loss ln(P/Q). Mass between two grid points is
moved to them so that both its P-mass and its Q-mass are kept: the divergence, a convex function of e^eps, is replaced
by its chords, so the new pair dominates the old one (docs/proofs/composition.md), and domination survives products.
All masses are positive, and convolution adds products of them, so nothing cancels.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from barrow.numerics.gdp import gdp_delta_upper_array

Floats = NDArray[np.float64]

_GRID = 1000
"""Grid points for up to 50 releases; the number grows with that of releases, up to three times as many."""
_ROUNDING = 1.0 + 1e-10
"""Bounds the relative rounding of masses, products and sums; it multiplies every delta."""


@dataclass(frozen=True)
class LossGrid:
    """Masses under P of losses (first + i) * step."""

    first: int
    step: float
    masses: Floats

    @property
    def losses(self) -> Floats:
        """The losses, one for each mass."""
        return self.step * (self.first + np.arange(self.masses.size, dtype=np.float64))


def _add_point(masses: Floats, first: int, step: float, loss: float, mass: float) -> None:
    """Split a point between its two neighbours on the grid, keeping its P-mass and its Q-mass."""
    index = math.floor(loss / step)
    into = min(max(loss - index * step, 0.0), step)
    upper = -math.expm1(-into) / -math.expm1(-step)
    lower = math.expm1(step - into) / math.expm1(step)
    masses[index - first] += mass * lower
    masses[index - first + 1] += mass * upper


def response_losses(epsilon: float, step: float) -> LossGrid:
    """The randomised-response pair: losses +epsilon and -epsilon."""
    first = -math.ceil(epsilon / step) - 1
    masses = np.zeros(-2 * first + 2)
    _add_point(masses, first, step, epsilon, 1.0 / (1.0 + math.exp(-epsilon)))
    _add_point(masses, first, step, -epsilon, 1.0 / (1.0 + math.exp(epsilon)))
    return LossGrid(first, step, masses)


def laplace_losses(epsilon: float, step: float) -> LossGrid:
    """The Laplace pair of sensitivity ``epsilon``: atoms at both ends, density e^((l - epsilon)/2)/4 between."""
    first = -math.ceil(epsilon / step) - 1
    masses = np.zeros(-2 * first + 2)
    _add_point(masses, first, step, epsilon, 0.5)
    _add_point(masses, first, step, -epsilon, 0.5 * math.exp(-epsilon))
    low, high = math.ceil(-epsilon / step), math.floor(epsilon / step)
    if low >= high:
        # The whole density lies within two cells: all of it at the largest loss is a safe place.
        _add_point(masses, first, step, epsilon, -0.5 * math.expm1(-epsilon))
        return LossGrid(first, step, masses)
    cells = np.arange(low, high, dtype=np.float64)
    bend = 2.0 * math.sinh(step / 4.0) ** 2
    masses[low - first : high - first] += np.exp(((cells + 1.0) * step - epsilon) / 2.0) * bend / math.expm1(step)
    masses[low - first + 1 : high - first + 1] += np.exp((cells * step - epsilon) / 2.0) * bend / -math.expm1(-step)
    # The two ends that do not fill a cell: their mass goes to their upper end.
    for a, b in ((-epsilon, low * step), (high * step, epsilon)):
        if b > a:
            mass = 0.5 * math.exp((a - epsilon) / 2.0) * math.expm1((b - a) / 2.0)
            _add_point(masses, first, step, min(b, epsilon), mass)
    return LossGrid(first, step, masses)


def _product(a: LossGrid, b: LossGrid) -> LossGrid:
    return LossGrid(a.first + b.first, a.step, np.convolve(a.masses, b.masses))


def _power(grid: LossGrid, times: int) -> LossGrid:
    result: LossGrid | None = None
    square = grid
    while times:
        if times & 1:
            result = square if result is None else _product(result, square)
        times >>= 1
        if times:
            square = _product(square, square)
    return grid if result is None else result


def compose_losses(laplace: list[float], response: list[float]) -> LossGrid:
    """The distribution of the sum of all losses, on a grid of a few thousand points."""
    total = math.fsum(laplace) + math.fsum(response)
    if total <= 0.0:
        return LossGrid(0, 1.0, np.ones(1))
    releases = len(laplace) + len(response)
    step = 2.0 * total / (_GRID * min(3.0, max(1.0, releases / 50.0)))
    whole: LossGrid | None = None
    for kind, epsilons in ((laplace_losses, laplace), (response_losses, response)):
        for epsilon, times in sorted(Counter(e for e in epsilons if e > 0.0).items()):
            part = _power(kind(epsilon, step), times)
            whole = part if whole is None else _product(whole, part)
    return LossGrid(0, 1.0, np.ones(1)) if whole is None else whole


def composed_delta_upper(grid: LossGrid, mu: float, epsilon: float) -> float:
    """Delta at ``epsilon`` of the discrete part composed with a mu-GDP part, rounded up.

    delta(eps) is the mean of delta_mu(eps - loss) over the losses of the discrete part.
    """
    if mu == 0.0:
        parts = -np.expm1(np.minimum(epsilon - grid.losses, 0.0))
    else:
        parts = gdp_delta_upper_array(mu, epsilon - grid.losses)
    return min(1.0, float(np.dot(grid.masses, parts)) * _ROUNDING)


def composed_epsilon_upper(grid: LossGrid, mu: float, delta: float, ceiling: float) -> float:
    """The smallest epsilon, rounded up, at which it has at most ``delta``; ``ceiling`` if none is below."""
    if composed_delta_upper(grid, mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, ceiling
    if composed_delta_upper(grid, mu, high) > delta:
        return ceiling
    while high - low > 1e-4 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if composed_delta_upper(grid, mu, middle) <= delta else (middle, high)
    return high
