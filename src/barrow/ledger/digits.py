"""Exact numbers for people: decimals that are exact, or marked, or rounded to the safe side."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from barrow.numerics import exact


def show(value: Fraction) -> str:
    """``value`` for people: exact where the decimal is short, else four digits with a mark.

    >>> show(Fraction(1, 4)), show(Fraction(1, 3)), show(Fraction(1, 10**9)), show(Fraction(10**7))
    ('0.25', '≈0.3333', '1e-9', '10000000')
    """
    text = typed_down(value)
    return text if exact(text) == value else "≈" + _plain(Decimal(f"{float(value):.4g}"))


def typed_down(value: Fraction) -> str:
    """A decimal of at most 12 digits that can be typed: ``value`` itself, or rounded down."""
    if value == 0:
        return "0"
    digits = 12
    exponent = len(str(abs(value.numerator))) - len(str(value.denominator)) - digits
    scaled = value / Fraction(10) ** exponent
    if scaled >= 10**digits:
        exponent, scaled = exponent + 1, scaled / 10
    if value.denominator == 1 and value < 10**15:
        return str(value.numerator)
    return _plain(Decimal(scaled.__floor__()).scaleb(exponent))


def _plain(number: Decimal) -> str:
    number = number.normalize()
    _, digits, exponent = number.as_tuple()
    if -7 < number.adjusted() < 15 and isinstance(exponent, int):
        return f"{number:f}"
    mantissa = "".join(map(str, digits))
    point = mantissa[0] + ("." + mantissa[1:] if len(mantissa) > 1 else "")
    return f"{'-' if number < 0 else ''}{point}e{number.adjusted()}"
