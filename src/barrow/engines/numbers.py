"""Numbers that are written as texts: the same ones for every engine."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import numpy as np

BLANKS = " \t\n\r\f\v"
_DIGITS = "[0-9](_?[0-9])*"
_PADDED = rf"^[{BLANKS}]*{{}}[{BLANKS}]*$"
NUMBER = _PADDED.format(rf"[+-]?({_DIGITS}[.]?|({_DIGITS})?[.]{_DIGITS})([eE][+-]?{_DIGITS})?")
"""A number in the grammar of Python's ``float``, ASCII only; written for every engine's regular expressions."""
INFINITE = _PADDED.format("[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?")
LONG_EXPONENT = "[eE][+-]?[0-9_]{5,}"
"""Exponents of five or more characters are no numbers: nobody writes them, and engines differ about them."""
MOST_CHARACTERS = 400

_NUMBER, _INFINITE, _LONG = (re.compile(x) for x in (NUMBER, INFINITE, LONG_EXPONENT))


def to_number(value: object) -> float:
    """A private value as a double; NaN if it is none. Never an error, which would repeat the value.

    Texts are read as Python reads floats, in ASCII only, of at most 400 characters and with exponents of at most four.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        plain = len(value) <= MOST_CHARACTERS and not _LONG.search(value)
        if not plain or not (_NUMBER.fullmatch(value) or _INFINITE.fullmatch(value)):
            return math.nan
    elif isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all doubles is outside every space, like the text "1e400"
        return math.inf if isinstance(value, int) and value > 0 else -math.inf
    except (ValueError, ArithmeticError):
        return math.nan
