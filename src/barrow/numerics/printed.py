"""Numbers as people read them, one formatter per side: what is printed as a bound is still a bound.

``at_most`` rounds up, ``at_least`` rounds down, ``near`` rounds to nearest. All three work on exact rationals (a float
means the shortest decimal that names it), so no tolerance hides a wrong side.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cache

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics import Exact, exact

PERCENT = "%"
_EXACT = Context(prec=40, Emin=-(10**6), Emax=10**6)
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def at_most(value: Exact, unit: str = "", *, digits: int = 3) -> str:
    """The value with ``digits`` significant digits, rounded up; ``unit="%"`` prints a share in per cent.

    >>> at_most(0.693, "%"), at_most(0.69301, "%"), at_most(43.116), at_most("1e-12"), at_most(12345, "km")
    ('69.3 %', '69.4 %', '43.2', '1 × 10⁻¹²', '12,400 km')
    """
    return _written(value, unit, digits, ROUND_CEILING)


def at_least(value: Exact, unit: str = "", *, digits: int = 3) -> str:
    """The value with ``digits`` significant digits, rounded down.

    >>> at_least(0.6939, "%"), at_least(43.19), at_least(-0.0012345)
    ('69.3 %', '43.1', '-0.00124')
    """
    return _written(value, unit, digits, ROUND_FLOOR)


def near(value: Exact, unit: str = "", *, digits: int = 3, zeros: bool = False) -> str:
    """The value rounded to nearest: for released values and axes, never for bounds; in columns with its last zeros.

    >>> near(0.04567, "%"), near(1234567), near(0), near(0.0417, "%", digits=4, zeros=True)
    ('4.57 %', '1,230,000', '0', '4.170 %')
    """
    return _written(value, unit, digits, ROUND_HALF_EVEN, zeros)


def between(low: Exact, high: Exact, unit: str = "", *, digits: int = 3, zeros: bool = False) -> str:
    """An interval, rounded outwards.

    >>> between(0.1234, 0.1456, "%"), between(-1, 2.5, "km"), between(0.0369, 0.04, "%", zeros=True)
    ('12.3 % to 14.6 %', '-1 km to 2.5 km', '3.69 % to 4.00 %')
    """
    ends = _written(low, unit, digits, ROUND_FLOOR, zeros), _written(high, unit, digits, ROUND_CEILING, zeros)
    return " to ".join(ends)


def _written(value: Exact, unit: str, digits: int, rounding: str, zeros: bool = False) -> str:
    if isinstance(value, float) and math.isinf(value):
        text = "∞" if value > 0 else "-∞"
        return text if not unit or unit == PERCENT else f"{text} {unit}"
    if digits < 1:
        raise ParameterError(f"digits is {digits}.", allowed="1 or more", fix="digits=3")
    hundred = unit == PERCENT
    if isinstance(value, float | np.floating) and math.isfinite(value):
        # A float means the shortest decimal that names it: 0.1 is a tenth. At most 17 digits, so this is exact.
        shortest = Decimal(repr(float(value)))
        rounded = _context(digits, rounding).plus(shortest.scaleb(2, _EXACT) if hundred else shortest)
    else:
        rounded = rounded_to(exact(value) * (100 if hundred else 1), digits, rounding)
    said = _digits(rounded, digits if zeros else 0)
    return f"{said} {unit}" if unit else said


def _digits(rounded: Decimal, least: int) -> str:
    """The digits of a number, at least so many of them."""
    if not rounded:
        return "0"
    exponent = rounded.adjusted()
    if -5 <= exponent < 12:
        if least:
            return f"{rounded:,.{max(least - 1 - exponent, 0)}f}"
        text = f"{rounded:,f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa = f"{rounded.scaleb(-exponent):f}"
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa} × 10{str(exponent).translate(_SUPERSCRIPTS)}"


def rounded_to(value: Fraction, digits: int, rounding: str) -> Decimal:
    """A rational as a decimal of so many digits, to the side that ``rounding`` names; exact, whatever its size."""
    # One correctly rounded division of two exact integers: nothing is rounded twice.
    return _context(digits, rounding).divide(Decimal(value.numerator), Decimal(value.denominator))


@cache
def _context(digits: int, rounding: str) -> Context:
    return Context(prec=digits, rounding=rounding, Emin=-(10**6), Emax=10**6)
