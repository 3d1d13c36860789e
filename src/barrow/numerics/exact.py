"""Exact rationals in, directed floats and printed digits out.

Public parameters (alpha, epsilon, delta, shares, radii) are kept as :class:`fractions.Fraction`, so that sums and
comparisons are exact and budgets do not drift. Only at the edge does a rational become a float or a text, and then the
name says to which side it was rounded: what is printed as a bound is still a bound. ``at_most`` rounds up, ``at_least``
rounds down, ``near`` rounds to nearest (a float means the shortest decimal that names it), and no tolerance hides a
wrong side.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np

from barrow.errors import ParameterError

Exact = Fraction | int | float | str | Decimal | np.integer[Any] | np.floating[Any]
"""What may be given where an exact number is wanted."""
_LETTERS = 8000
"""Longer texts are refused."""
_EXPONENT = 400
"""Powers of ten beyond this, either way, are refused: doubles end at 308."""
_BITS = 13_000
"""Longer numerators and denominators are refused; the text of what is allowed is below the limit of letters."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?|[+-]?[0-9]+ ?/ ?[0-9]+")
"""A number as text, in the digits 0 to 9: other scripts, and 1_0, are not what everybody reads alike."""
PERCENT = "%"
_EXACT = Context(prec=40, Emin=-(10**6), Emax=10**6)
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def exact(value: Exact, name: str = "the number") -> Fraction:
    """The rational that ``value`` denotes, as a person would read it.

    Text, decimals and floats mean the decimal that they show: 0.1 is 1/10 and 1e-9 is 1/10^9, whatever the binary
    value of the float. A float that carries a computed bound is passed as ``Fraction(x)``, which keeps every bit.

    >>> exact("0.2"), exact("1/30"), exact(0.1), exact("1e-12") == exact(1e-12) == Fraction(1, 10**12)
    (Fraction(1, 5), Fraction(1, 30), Fraction(1, 10), True)
    >>> exact("two", "alpha")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: alpha is 'two', which is not a number.
      allowed: a finite number, e.g. 25, 0.2, "1/30" or "1e-12"
      fix:     write it as a decimal or a fraction
    """
    if type(value) is int or type(value) is Fraction:
        result = Fraction(value)
    else:
        try:
            result = _read(value, name)
        except ParameterError:
            raise
        except (ValueError, TypeError, ArithmeticError):
            raise ParameterError(
                f"{name} is {_short(value)}, which is not a number.",
                allowed='a finite number, e.g. 25, 0.2, "1/30" or "1e-12"',
                fix="write it as a decimal or a fraction",
            ) from None
    if result.numerator.bit_length() > _BITS or result.denominator.bit_length() > _BITS:
        raise _too_long(value, name)
    return result


def _read(value: Any, name: str) -> Fraction:
    if isinstance(value, bool):
        raise TypeError
    if isinstance(value, Decimal):
        size = value.adjusted() if value.is_finite() and value else 0
        if abs(size) > _EXPONENT:
            raise _too_long(value, name)
        return Fraction(value)
    if isinstance(value, int | np.integer | Fraction):
        return Fraction(value if isinstance(value, Fraction) else int(value))
    if not isinstance(value, str | float | np.floating):
        raise TypeError
    # str() of a float, also of numpy's, is the shortest decimal that reads back to it.
    text = str(value).strip()
    if len(text) > _LETTERS:
        raise _too_long(value, name)
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError
    if (power := match[1]) and (len(power) > 5 or abs(int(power)) > _EXPONENT):
        raise _too_long(value, name)
    return Fraction(text.replace(" ", ""))


def _too_long(value: Any, name: str) -> ParameterError:
    return ParameterError(
        f"{name} is {_short(value)}, which is beyond what is computed with.",
        allowed=f"a number of at most {_LETTERS:,} characters with an exponent from -{_EXPONENT} to {_EXPONENT}",
        fix=f"{name}=1e-12 or {name}=25, for instance" if name.isidentifier() else "write a number of everyday size",
    )


def _short(value: Any) -> str:
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        digits = max(value.numerator.bit_length(), value.denominator.bit_length()) // 3
        return f"a number of about {digits:,} digits" if digits > 60 else repr(value)
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def whole(value: Any, name: str, *, least: int = 1, most: int | None = None, fix: str | None = None) -> int:
    """``value`` as a whole number from ``least`` to ``most``: the one check of whole numbers.

    >>> whole(1083, "users"), whole("1e5", "users"), whole(0, "steps", least=0)
    (1083, 100000, 0)
    >>> whole(1.5, "users")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: users is 1.5.
      allowed: a whole number, 1 or more
      fix:     users=1000
    """
    number: int | None = value if type(value) is int else None
    if number is None:
        try:
            result = exact(value, name)
            number = result.numerator if result.denominator == 1 else None
        except ParameterError:
            number = None
    if number is None or number < least or (most is not None and number > most):
        top = f"a whole number, {least:,} or more" if most is None else f"a whole number from {least:,} to {most:,}"
        example = min(max(least, 1000), most) if most is not None else max(least, 1000)
        raise ParameterError(f"{name} is {_short(value)}.", allowed=top, fix=fix or f"{name}={example}")
    return number


def norm_power(p: Exact) -> Fraction | None:
    """The order of a norm as a rational of at least 1, or ``None`` for infinity.

    >>> norm_power("inf"), norm_power("3/2")
    (None, Fraction(3, 2))
    """
    if (isinstance(p, float) and p == math.inf) or (isinstance(p, str) and p.strip().lower() == "inf"):
        return None
    power = exact(p, "p")
    if power < 1:
        raise ParameterError(
            f"p is {exact_text(power)}, for which ||x||_p is not a norm.", allowed='1 or more, or "inf"', fix="p=2"
        )
    return power


def ungrouped(text: str, name: str) -> str:
    """A text without the commas that group thousands of its numbers; others are refused: 2,5 is not 25.

    >>> ungrouped("1,000", "the distance"), ungrouped("0.5", "the distance")
    ('1000', '0.5')
    >>> ungrouped("2,5", "the share")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: the share is '2,5', whose comma does not group thousands.
      allowed: a decimal point; commas between thousands, e.g. 1,000
      fix:     2.5
    """
    for number in re.findall(r"[0-9.,]*,[0-9.,]*", text):
        if not re.fullmatch(r"[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?", number):
            raise ParameterError(
                f"{name} is {_short(text)}, whose comma does not group thousands.",
                allowed="a decimal point; commas between thousands, e.g. 1,000",
                fix=text.replace(number, number.replace(".", "").replace(",", ".")),
            )
    return text.replace(",", "")


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


def sum_of_fractions(parts: Iterable[tuple[int, int]]) -> Fraction:
    """The sum of fractions given as numerators and denominators, by halves, so that denominators grow slowly.

    >>> sum_of_fractions([(1, 2), (1, 3), (1, 6)])
    Fraction(1, 1)
    """
    left = list(parts) or [(0, 1)]
    while len(left) > 1:
        joined = []
        for (a, m), (b, k) in zip(left[::2], left[1::2], strict=False):
            common = math.lcm(m, k)
            joined.append((a * (common // m) + b * (common // k), common))
        left = joined + ([left[-1]] if len(left) % 2 else [])
    return Fraction(*left[0])


def nearest_float(value: Fraction) -> float:
    """The float nearest to ``value``; infinite beyond the floats."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def float_up(value: Fraction) -> float:
    """The smallest float that is not below ``value``.

    >>> float_up(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    try:
        x = value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    return math.nextafter(x, math.inf) if Fraction(x) < value else x


def float_down(value: Fraction) -> float:
    """The largest float that is not above ``value``.

    >>> float_down(Fraction(1, 10)) <= Fraction(1, 10)
    True
    """
    return -float_up(-value)


def short_down(value: float, bits: int) -> float:
    """The largest float of at most ``bits`` binary digits that is not above ``value``.

    What a search finds depends on the last digits of sums, which processors add in different orders: cut off, all of
    them find the same.

    >>> short_down(0.7, 4), short_down(3.5090661096, 16)
    (0.6875, 3.509033203125)
    """
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.floor(math.ldexp(mantissa, bits)), exponent - bits)


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


@lru_cache(2**12, typed=True)  # pictures and tables say the same numbers; 0.1 and its exact value differ
def between(low: Exact, high: Exact, unit: str = "", *, zeros: bool = False) -> str:
    """An interval, rounded outwards, in the digits that its width justifies; columns of tables keep their last zeros.

    >>> between(0.1234, 0.1456, "%"), between(-1, 2.5, "km"), between(0.0369, 0.04, "%", zeros=True)
    ('12.3 % to 14.6 %', '-1 to 2.5 km', '3.69 % to 4.00 %')
    >>> between(127880.6, 127939.2, "visits"), between(12.3596, 12.369, "min"), between(5, 5, "min")
    ('127,880 to 127,940 visits', '12.3596 to 12.369 min', '5 to 5 min')
    """
    last = _last_place((float(high) - float(low)) / 2.0)
    first, second = (_places(end, last) for end in (low, high))
    whole = unit == PERCENT or not (math.isfinite(float(low)) and math.isfinite(float(high)))
    start = _written(low, unit if whole else "", first, ROUND_FLOOR, zeros)
    return f"{start} to {_written(high, unit, second, ROUND_CEILING, zeros)}"


@lru_cache(2**12, typed=True)
def within(value: Exact, low: Exact, high: Exact, unit: str = "", *, zeros: bool = False) -> str:
    """A released value in the digits that its 95 % interval justifies.

    >>> within(127911.3, 127880.6, 127939.2, "visits"), within(0.1384, 0.1234, 0.1456, "%"), within(5, 5, 5)
    ('127,911 visits', '13.8 %', '5')
    """
    digits = max(_places(value, _last_place((float(high) - float(low)) / 2.0)), 2)
    return _written(value, unit, digits, ROUND_HALF_EVEN, zeros)


def _last_place(width: float) -> int | None:
    """The power of ten of the last digit that an interval of this half width justifies: its second."""
    return math.floor(math.log10(width)) - 1 if 0.0 < width < math.inf else None


def _places(value: Exact, last: int | None, usual: int = 3) -> int:
    """How many digits of a number stand before and at this place: at least one, at most nine."""
    size = abs(float(value))
    if last is None or size == 0.0 or not math.isfinite(size):
        return usual
    return min(max(1, math.floor(math.log10(size)) - last + 1), 9)


def with_interval(value: float | None, low: float, high: float | None, unit: str = "", period: float = 0.0) -> str:
    """A released value and its 95 % interval, with the digits that its width justifies; the ends rounded outwards.

    Args:
        value: None where it is not determined.
        low: The lower end.
        high: The upper end; None where there is none.
        unit: Of all three: "%" for shares.
        period: The length of the circle on which they lie; an interval may go through its beginning.

    >>> with_interval(2247.82, 2224.94, 2270.7, "EUR"), with_interval(0.25, 0.2, 0.3, "%")
    ('2,248 EUR, from 2,224 to 2,271 (95 %)', '25 %, from 20 % to 30 % (95 %)')
    >>> with_interval(None, 1234567.4, 7654321.0), with_interval(3.0, 3.0, 3.0, "km"), with_interval(0.512, 0.5, None)
    ('not determined, from 1,200,000 to 7,700,000 (95 %)', '3 km, from 3 to 3 (95 %)', '0.512, from 0.5 to any (95 %)')
    """
    wide = math.inf if high is None else (high - low + (period if high < low else 0.0)) / 2.0
    last = _last_place(wide)

    def written(number: float, rounding: str, unit: str) -> str:
        return _written(number, unit, _places(number, last, usual=4), rounding)

    each = unit if unit == PERCENT else ""
    text = "not determined" if value is None else written(value, ROUND_HALF_EVEN, unit)
    top = "any" if high is None else written(high, ROUND_CEILING, each)
    return f"{text}, from {written(low, ROUND_FLOOR, each)} to {top} (95 %)"


@lru_cache(2**12, typed=True)
def plus_minus(value: float, width: float, unit: str = "") -> str:
    """A released value and its half width in the digits that the width justifies; no true value is left out by it.

    >>> plus_minus(1765.92, 39.4, "km"), plus_minus(0.0424713, 0.00532), plus_minus(32.2, 0.0, "min")
    ('1,766 ± 40 km', '0.0425 ± 0.0054', '32.2 ± 0 min')
    >>> plus_minus(0.7573, 0.2589, "%")
    '76 % ± 27 %'
    """
    if unit == PERCENT:
        return " % ± ".join(plus_minus(100.0 * value, math.nextafter(100.0 * width, math.inf)).split(" ± ")) + " %"
    if not 0.0 < width < math.inf:
        return f"{near(value, digits=6)} ± {at_most(width)} {unit}".rstrip()
    last = math.floor(math.log10(width)) - 1
    digits = 1 if value == 0.0 else min(max(1, math.floor(math.log10(abs(value))) - last + 1), 17)
    shown = rounded_to(Fraction(value), digits, ROUND_HALF_EVEN)
    off = Fraction(width) + abs(Fraction(shown) - Fraction(value))
    return f"{near(value, digits=digits)} ± {at_most(off, digits=2)} {unit}".rstrip()


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
    sentence, exponent = "0", rounded.adjusted()
    if rounded and -5 <= exponent < 12:
        text = f"{rounded:,.{max(digits - 1 - exponent, 0)}f}" if zeros else f"{rounded:,f}"
        sentence = text.rstrip("0").rstrip(".") if "." in text and not zeros else text
    elif rounded:
        mantissa = f"{rounded.scaleb(-exponent):f}"
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        sentence = f"{mantissa} × 10{str(exponent).translate(_SUPERSCRIPTS)}"
    return f"{sentence} {unit}" if unit else sentence


def rounded_to(value: Fraction, digits: int, rounding: str) -> Decimal:
    """A rational as a decimal of so many digits, to the side that ``rounding`` names; exact, whatever its size."""
    # One correctly rounded division of two exact integers: nothing is rounded twice.
    return _context(digits, rounding).divide(Decimal(value.numerator), Decimal(value.denominator))


@cache
def _context(digits: int, rounding: str) -> Context:
    return Context(prec=digits, rounding=rounding, Emin=-(10**6), Emax=10**6)
