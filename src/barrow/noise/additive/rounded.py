"""Exactly rounded Laplace, Gaussian and K-norm noise.

The released value is floor((q + scale * Z)/grid + 1/2) * grid, where Z has its ideal real distribution: a
function of the output of the ideal mechanism, so that whatever is proved about the ideal mechanism holds to
the letter. Whole arrays are evaluated in floats with an error bound; entries that the bound leaves open are
evaluated in balls of growing precision, from the same bits of randomness, until the integer is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.noise.additive.knorm import CubeNoise, EuclideanNoise, PowerNoise
from barrow.noise.additive.values import Center, RoundedValues, checked_grid, checked_scale
from barrow.noise.additive.variates import Exponential, HalfNormal, Magnitude, RandomVector, SymmetricVariates
from barrow.noise.lazy_uniform import decided, working_precision
from barrow.noise.source import RandomSource, checked_source
from barrow.numerics import Exact, float_up
from barrow.numerics.exact import norm_power

Centered = Center | Sequence[Any] | NDArray[Any]
"""What noise can be added to: a :class:`Center`, or a vector of exact numbers."""
_BLOCK = 2**14
"""Entries per pass: the float arrays of one pass stay in the cache."""
_SLACK = 2.0**-49
"""Per unit of |q/grid| and of scale*largest/grid: covers every rounding of the evaluation (proof page)."""
_WIDEST_RATIO = 2**60
_FINEST_GRID, _COARSEST_GRID = Fraction(2) ** -900, Fraction(2) ** 900


def rounded_laplace(
    center: Centered, scale: Exact, *, grid: Exact | None = None, source: RandomSource | None = None
) -> RoundedValues:
    """Adds independent Laplace noise, density exp(-|x|/scale)/(2 scale), and rounds exactly to the grid.

    Args:
        center: The exact values.
        scale: The scale, an exact number above 0.
        grid: The public grid, at most ``scale``; by default the power of two nearest to scale/1024.
        source: Where randomness comes from; by default the system's.

    >>> noisy = rounded_laplace([0, "1/3"], 10)
    >>> len(noisy), noisy.grid, noisy.private
    (2, Fraction(1, 128), True)
    """
    return _independent(Exponential(), center, scale, grid, source)


def rounded_gaussian(
    center: Centered, scale: Exact, *, grid: Exact | None = None, source: RandomSource | None = None
) -> RoundedValues:
    """Adds independent normal noise with standard deviation ``scale`` and rounds exactly to the grid.

    The arguments are those of :func:`rounded_laplace`. A standard deviation that is not rational must be
    rounded up by whoever computes it.

    >>> rounded_gaussian([0, 1], "0.5", grid="0.01").grid
    Fraction(1, 100)
    """
    return _independent(HalfNormal(), center, scale, grid, source)


def rounded_knorm(
    center: Centered, scale: Exact, p: Exact, *, grid: Exact | None = None, source: RandomSource | None = None
) -> RoundedValues:
    """Adds a noise vector with density proportional to exp(-||x||_p/scale) and rounds exactly to the grid.

    ``p`` is a rational of at least 1, or infinity (``math.inf`` or ``"inf"``). The remaining
    arguments are those of :func:`rounded_laplace`.

    >>> [len(rounded_knorm([0, 0, 0], 1, p)) for p in (1, 2, "inf", 3)]
    [3, 3, 3, 3]
    """
    power = norm_power(p)
    vector = Center.of(center)
    size = len(vector)
    # In one dimension every p-norm is |x|.
    if power == 1 or size == 1:
        return rounded_laplace(vector, scale, grid=grid, source=source)

    def noise(origin: RandomSource) -> RandomVector:
        if power is None:
            return CubeNoise(size, origin)
        return EuclideanNoise(size, origin) if power == 2 else PowerNoise(size, power, origin)

    return rounded_vector(vector, noise, scale, grid, source)


def rounded_vector(
    center: Centered,
    noise: Callable[[RandomSource], RandomVector],
    scale: Exact,
    grid: Exact | None,
    source: RandomSource | None,
) -> RoundedValues:
    """Adds ``scale`` times one noise vector, which ``noise`` draws from a source, and rounds exactly to the grid."""
    vector, spread, origin = Center.of(center), checked_scale(scale), checked_source(source)
    cell = checked_grid(grid, spread)
    rounder = Rounder(vector, spread, cell)
    rounder.add(noise(origin), 0, len(vector))
    return RoundedValues(rounder.integers(), cell, origin.private)


def _independent(
    distribution: Magnitude, center: Centered, scale: Exact, grid: Exact | None, source: RandomSource | None
) -> RoundedValues:
    vector = Center.of(center)
    spread = checked_scale(scale)
    cell = checked_grid(grid, spread)
    origin = checked_source(source)
    rounder = Rounder(vector, spread, cell)
    for start in range(0, len(vector), _BLOCK):
        stop = min(start + _BLOCK, len(vector))
        rounder.add(SymmetricVariates(distribution, origin.words(stop - start), origin), start, stop)
    return RoundedValues(rounder.integers(), cell, origin.private)


class Rounder:
    """Rounds the entries of one center with noise of one scale on one grid."""

    def __init__(self, center: Center, scale: Fraction, grid: Fraction) -> None:
        self._center = center
        self._grid = grid
        self._ratio = scale / grid
        # Outside these ranges floats overflow: then every entry is evaluated in balls.
        self._floats_fit = self._ratio <= _WIDEST_RATIO and _FINEST_GRID <= grid <= _COARSEST_GRID
        if self._floats_fit:
            self._ratio_float, self._per_cell = float_up(self._ratio), float_up(1 / grid)
        self._integers = np.zeros(len(center), dtype=np.int64)
        self._wide: dict[int, int] = {}

    def add(self, noise: RandomVector, start: int, stop: int) -> None:
        """Settles the entries ``start`` to ``stop``; entry ``start + j`` gets the noise ``j``."""
        if self._floats_fit:
            cells, open_entries = self._by_floats(noise, start, stop)
            self._integers[start:stop] = cells
        else:
            open_entries = np.arange(stop - start)
        for j in open_entries.tolist():
            self._settle(start + j, self._by_balls(noise, j, self._center.exact_entry(start + j)))

    def integers(self) -> NDArray[Any]:
        """The result: ``int64`` if all entries fit, otherwise Python integers."""
        if not self._wide:
            return self._integers
        wide = self._integers.astype(object)
        for i, k in self._wide.items():
            wide[i] = k
        return wide

    def _by_floats(self, noise: RandomVector, start: int, stop: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        approximation = noise.approximate()
        ratio, per_cell = self._ratio_float, self._per_cell
        center = self._center
        absolute = center.absolute if isinstance(center.absolute, float) else center.absolute[start:stop]
        with np.errstate(over="ignore", invalid="ignore"):
            position = center.approximation[start:stop] * per_cell
            error = np.abs(position)
            error *= center.relative + _SLACK
            error += absolute * (per_cell * 1.0001) + (
                ratio * approximation.error * 1.0001 + (ratio * approximation.largest + 1.0) * _SLACK
            )
            position += ratio * approximation.values
            position += 0.5
            cells = np.floor(position)
            position -= cells
            position -= 0.5
            distance = np.abs(position, out=position)
            distance += error
            # "not less" rather than "at least": a NaN must count as open.
            open_entries = np.flatnonzero(~(distance < 0.5))
        if open_entries.size:
            cells[open_entries] = 0.0
        return cells, open_entries

    def _by_balls(self, noise: RandomVector, index: int, entry: Fraction) -> int:
        shift = entry / self._grid + Fraction(1, 2)
        shift_exact = heavy.fmpq(shift.numerator, shift.denominator)
        ratio_exact = heavy.fmpq(self._ratio.numerator, self._ratio.denominator)
        # The integer itself has to fit into the working precision, beside the bits behind the point.
        room = max(abs(int(shift)).bit_length(), int(self._ratio).bit_length())

        def attempt(precision: int) -> int | None:
            with working_precision(precision + room + 64):
                z = noise.ball(index, precision + room)
                cell = (heavy.arb(shift_exact) + heavy.arb(ratio_exact) * z).floor().unique_fmpz()
            return None if cell is None else int(cell)

        return int(decided(attempt))

    def _settle(self, index: int, value: int) -> None:
        if -(2**63) <= value < 2**63:
            self._integers[index] = value
        else:
            self._wide[index] = value
