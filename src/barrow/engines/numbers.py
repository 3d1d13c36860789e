"""Numbers that are written as texts: the same ones for every engine."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np


def to_number(value: object) -> float:
    """A private value as a double; NaN if it is none. Never an error, which would repeat the value.

    Texts are read as Python reads floats, in ASCII only, which is also what DuckDB reads.

    >>> [to_number(x) for x in (3, " 1e3 ", "abc", None, "１")]
    [3.0, 1000.0, nan, nan, nan]
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        if not value.isascii():
            return math.nan
    elif isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all doubles is outside every space, like the text "1e400"
        return math.inf if isinstance(value, int) and value > 0 else -math.inf
    except (ValueError, ArithmeticError):
        return math.nan
