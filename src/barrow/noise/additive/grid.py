"""The public grid on which values are released, and the released values themselves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.noise.additive.center import nearest_float
from barrow.numerics import Exact, exact, exact_text


def checked_scale(scale: Exact) -> Fraction:
    """``scale`` as a positive rational."""
    value = exact(scale, "scale")
    if value <= 0:
        raise ParameterError(
            f"scale is {exact_text(value)}.", allowed="a number above 0", fix='scale=1, or scale="1/30"'
        )
    return value


def default_grid(scale: Exact) -> Fraction:
    """The power of two nearest to scale/1024, nearest in ratio.

    Rounding to it adds a variance of about grid^2/12, below 2e-7 of the scale's square.

    >>> default_grid(1), default_grid(1000), default_grid("0.7")
    (Fraction(1, 1024), Fraction(1, 1), Fraction(1, 2048))
    """
    target = checked_scale(scale) / 1024
    square = target * target
    # The largest e with 2^(2e-1) <= target^2; bit lengths give it up to one step.
    exponent = (target.numerator.bit_length() - target.denominator.bit_length()) + 2
    while Fraction(2) ** (2 * exponent - 1) > square:
        exponent -= 1
    return Fraction(2) ** exponent


def checked_grid(grid: Exact | None, scale: Fraction) -> Fraction:
    """``grid`` as a rational in (0, scale], or the default one.

    A grid coarser than the noise is refused: the answer would be private all the same, but most of what it
    says would be the rounding, and its error would no longer be that of the noise.
    """
    if grid is None:
        return default_grid(scale)
    value = exact(grid, "grid")
    if not 0 < value <= scale:
        coarse = f", coarser than the noise, whose scale is {exact_text(scale)}" if value > 0 else ""
        raise ParameterError(
            f"grid is {exact_text(value)}{coarse}.",
            allowed="a number above 0 and at most scale",
            fix=f"leave grid out (it would be {exact_text(default_grid(scale))})",
        )
    return value


@dataclass(frozen=True, eq=False)
class RoundedValues:
    """Noisy values, each an integer multiple of a public grid.

    Attributes:
        integers: The multiples: ``int64`` if all fit, otherwise Python integers.
        grid: The grid.
        private: Whether the noise was drawn from a source that nobody can replay.

    >>> noisy = RoundedValues(np.array([3, -1]), Fraction(1, 4), private=True)
    >>> noisy.values.tolist(), noisy.fractions()
    ([0.75, -0.25], [Fraction(3, 4), Fraction(-1, 4)])
    """

    integers: NDArray[Any]
    grid: Fraction
    private: bool

    def __post_init__(self) -> None:
        self.integers.setflags(write=False)

    def __len__(self) -> int:
        return len(self.integers)

    @property
    def values(self) -> NDArray[np.float64]:
        """The values as floats; exact if the grid is a power of two and the integers are below 2^53."""
        step = nearest_float(self.grid)
        if self.integers.dtype == object or step == np.inf:
            return np.array([nearest_float(value) for value in self.fractions()], dtype=np.float64)
        with np.errstate(over="ignore"):
            return self.integers * step

    def fractions(self) -> list[Fraction]:
        """The values as exact rationals."""
        return [int(k) * self.grid for k in self.integers.tolist()]
