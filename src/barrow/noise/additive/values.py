"""What goes into a draw and what comes out of it: an exact vector, and its noisy values on a public grid.

A :class:`Center` is the vector to which noise is added: rationals, with floats near them and a bound on how near.
:class:`RoundedValues` are what is released.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.errors import BarrowError, DataError, ParameterError
from barrow.numerics import Exact, exact, exact_text, whole
from barrow.numerics.exact import nearest_float

_UNIT = 2.0**-53
_TINY = 2.0**-1074


@dataclass(frozen=True, eq=False, repr=False)
class Center:
    """An exact rational vector q, known approximately at once and exactly on demand.

    For every entry, ``|q[i] - approximation[i]| <= absolute[i] + relative * |approximation[i]|``. The exact
    value of an entry is asked for only if the approximation leaves the rounding open. The entries are
    private: they appear neither in ``repr`` nor in an error.

    Attributes:
        approximation: One float per entry (infinite if the entry is beyond the floats).
        absolute: Bound on the absolute error, one for all entries or one per entry.
        relative: Bound on the relative error.
        exact_entry: ``exact_entry(i)`` is the rational q[i].

    >>> Center.of(["1/3", 2]).exact_entry(0)
    Fraction(1, 3)
    >>> Center.of(["1/3", 2])
    Center(size=2)
    """

    approximation: NDArray[np.float64]
    absolute: float | NDArray[np.float64]
    relative: float
    exact_entry: Callable[[int], Fraction]

    def __post_init__(self) -> None:
        shape = np.shape(self.approximation)
        if len(shape) != 1 or shape[0] == 0:
            raise ParameterError(
                f"center has shape {shape}.",
                allowed="a vector of one or more entries",
                fix="center=[0], or flatten the array",
            )
        if np.shape(self.absolute) not in ((), shape):
            raise ParameterError(
                f"the error bound has shape {np.shape(self.absolute)} for a center of shape {shape}.",
                allowed="one number, or one per entry",
                fix="error=0.0",
            )
        if not (np.all(np.asarray(self.absolute) >= 0.0) and self.relative >= 0.0):
            raise ParameterError("An error bound is negative or NaN.", allowed="0 or more", fix="error=0.0")

    def __repr__(self) -> str:
        return f"Center(size={len(self)})"

    def __len__(self) -> int:
        return len(self.approximation)

    @classmethod
    def of(cls, values: Center | Sequence[Any] | NDArray[Any]) -> Center:
        """The center of a list of exact numbers: integers, fractions, texts, or floats at their own value.

        >>> Center.of(np.array([1, 2])).exact_entry(1)
        Fraction(2, 1)
        """
        if isinstance(values, Center):
            return values
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
            return cls.from_integers(values)
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            floats = values.astype(np.float64)
            if not np.all(np.isfinite(floats)):
                raise _not_finite()
            return cls(floats, 0.0, 0.0, lambda i: Fraction(float(floats[i])))
        if isinstance(values, str | bytes) or not isinstance(values, Sequence | np.ndarray):
            raise ParameterError(
                f"center is a {type(values).__name__}.", allowed="a vector of exact numbers", fix="center=[0]"
            )
        if np.ndim(np.asarray(values, dtype=object)) != 1:
            raise ParameterError("center is not a vector.", allowed="a flat list of numbers", fix="center=[0]")
        try:
            rationals = [Fraction(v) if isinstance(v, float) else exact(v) for v in values]
        except (BarrowError, ValueError, OverflowError):
            raise _not_finite() from None
        return cls.from_fractions(rationals)

    @classmethod
    def from_fractions(cls, rationals: Sequence[Fraction]) -> Center:
        """The center with these entries.

        >>> len(Center.from_fractions([Fraction(1, 3)]))
        1
        """
        numbers = tuple(rationals)
        return cls(np.array([nearest_float(q) for q in numbers], dtype=np.float64), _TINY, _UNIT, numbers.__getitem__)

    @classmethod
    def from_integers(cls, numerators: Sequence[int] | NDArray[Any], denominator: int = 1) -> Center:
        """The center ``numerators / denominator``; numerators may be Python integers of any size.

        >>> Center.from_integers([1, 2, 3], 30).exact_entry(2)
        Fraction(1, 10)
        """
        below = whole(denominator, "denominator", fix="denominator=1")
        array = np.asarray(numerators)
        if array.dtype.kind not in "iu" or below >= 2**1000:
            array = np.asarray(numerators, dtype=object)
            if any(isinstance(n, bool | np.bool_) or not isinstance(n, int | np.integer) for n in array.flat):
                raise DataError("An entry of the center is not an integer.", allowed="integer numerators")
            return cls.from_fractions([Fraction(int(n), below) for n in array.tolist()])
        numbers = array.copy()
        # Three roundings: numerator, denominator, quotient.
        floats = numbers.astype(np.float64) / float(below)
        return cls(floats, _TINY, 4.0 * _UNIT, lambda i: Fraction(int(numbers[i]), below))

    @classmethod
    def approximated(
        cls,
        values: NDArray[np.float64],
        error: float | NDArray[np.float64],
        exact_entry: Callable[[int], Fraction],
    ) -> Center:
        """The center whose entries are within ``error`` of ``values`` and given exactly by ``exact_entry``.

        The bound is taken at its word: a bound that is too small makes the output wrong.

        >>> third = Fraction(1, 3)
        >>> Center.approximated(np.array([1 / 3]), 1e-16, lambda i: third)
        Center(size=1)
        """
        floats = np.array(values, dtype=np.float64)
        if not np.all(np.isfinite(floats)):
            raise _not_finite()
        bound = float(error) if np.ndim(error) == 0 else np.array(error, dtype=np.float64)
        return cls(floats, bound, 0.0, exact_entry)


def _not_finite() -> DataError:
    return DataError("An entry of the center is not a finite number.", allowed="finite numbers")


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
