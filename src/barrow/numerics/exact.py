"""Exact rationals in, directed floats out.

Public parameters (alpha, epsilon, delta, shares, radii) are kept as :class:`fractions.Fraction`, so that sums and
comparisons are exact and budgets do not drift. Only at the edge does a rational become a float, and then its name
says to which side it was rounded.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.errors import ParameterError

Exact = Fraction | int | float | str | Decimal | np.integer[Any] | np.floating[Any]
"""What may be given where an exact number is wanted."""


def exact(value: Exact, name: str = "the number") -> Fraction:
    """The rational that ``value`` denotes.

    Text and decimals mean what they say; a float means its own binary value, so nothing is rounded.

    >>> exact("0.2"), exact("1/30"), exact(0.5), exact("1e-12") == Fraction(1, 10**12)
    (Fraction(1, 5), Fraction(1, 30), Fraction(1, 2), True)
    >>> exact("two", "alpha")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: alpha is 'two', which is not a number.
      allowed: a finite number, e.g. 25, 0.2, "1/30" or "1e-12"
      fix:     write it as a decimal or a fraction
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, np.integer | np.floating):
            value = float(value) if isinstance(value, np.floating) else int(value)
        if isinstance(value, str):
            value = value.strip().replace("_", "")
        return Fraction(value)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        raise ParameterError(
            f"{name} is {value!r}, which is not a number.",
            allowed='a finite number, e.g. 25, 0.2, "1/30" or "1e-12"',
            fix="write it as a decimal or a fraction",
        ) from None


def exact_text(value: Fraction) -> str:
    """A text that :func:`exact` reads back to the same rational: a short decimal where there is one.

    >>> [exact_text(Fraction(*pair)) for pair in ((1, 30), (25, 1), (1, 5), (1, 10**12))]
    ['1/30', '25', '0.2', '1e-12']
    """
    if value.denominator == 1 or value.denominator.bit_length() > 200 or value.numerator.bit_length() > 200:
        return str(value)
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    short = str(decimal.normalize()).replace("E", "e")
    return short if len(short) <= 18 and Fraction(short) == value else str(value)


def _nearest(value: Fraction) -> float:
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def float_up(value: Fraction) -> float:
    """The smallest float that is not below ``value``.

    >>> float_up(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    x = _nearest(value)
    if math.isinf(x):
        return x if x > 0 else math.nextafter(x, 0.0)
    return math.nextafter(x, math.inf) if Fraction(x) < value else x


def float_down(value: Fraction) -> float:
    """The largest float that is not above ``value``.

    >>> float_down(Fraction(1, 10)) <= Fraction(1, 10)
    True
    """
    return -float_up(-value)
