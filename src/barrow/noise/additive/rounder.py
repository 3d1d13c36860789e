"""From a center and noise to integers: k[i] = floor((q[i] + scale * Z[i])/grid + 1/2), exactly.

Whole arrays are evaluated in floats with an error bound. Entries that the bound leaves open are evaluated
in balls of growing precision, from the same bits of randomness, until the integer is certain.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.noise.additive.center import Center
from barrow.noise.additive.variates import Noise
from barrow.noise.lazy_uniform import decided, working_precision
from barrow.numerics import float_up

_SLACK = 2.0**-49
"""Per unit of |q/grid| and of scale*largest/grid: covers every rounding of the evaluation (proof page)."""
_WIDEST_RATIO = 2**60
_FINEST_GRID, _COARSEST_GRID = Fraction(2) ** -900, Fraction(2) ** 900


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

    def add(self, noise: Noise, start: int, stop: int) -> None:
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

    def _by_floats(self, noise: Noise, start: int, stop: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
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

    def _by_balls(self, noise: Noise, index: int, entry: Fraction) -> int:
        from flint import arb, fmpq

        shift = entry / self._grid + Fraction(1, 2)
        shift_exact = fmpq(shift.numerator, shift.denominator)
        ratio_exact = fmpq(self._ratio.numerator, self._ratio.denominator)
        # The integer itself has to fit into the working precision, beside the bits behind the point.
        room = max(abs(int(shift)).bit_length(), int(self._ratio).bit_length())

        def attempt(precision: int) -> int | None:
            with working_precision(precision + room + 64):
                z = noise.ball(index, precision + room)
                cell = (arb(shift_exact) + arb(ratio_exact) * z).floor().unique_fmpz()
            return None if cell is None else int(cell)

        return int(decided(attempt))

    def _settle(self, index: int, value: int) -> None:
        if -(2**63) <= value < 2**63:
            self._integers[index] = value
        else:
            self._wide[index] = value
