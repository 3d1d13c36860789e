"""One formatter per side: what is printed as a bound is a bound, to so many digits and no looser than it must be."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.numerics.exact import at_least, at_most, between, near

BACK = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
DIGITS = st.integers(1, 8)


def read(text: str, unit: str = "") -> Fraction:
    """The number that a person reads."""
    text = text.removesuffix(f" {unit}") if unit else text
    power = re.fullmatch(r"(-?[\d.]+) × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", text)
    if power:
        return Fraction(power[1]) * Fraction(10) ** int(power[2].translate(BACK))
    return Fraction(text.replace(",", "")) / (100 if unit == "%" else 1)


def meant(value: float) -> Fraction:
    return Fraction(Decimal(repr(value)))


@given(FLOATS, DIGITS)
def test_sides(value, digits):
    below, middle, above = (read(f(value, digits=digits)) for f in (at_least, near, at_most))
    assert below <= meant(value) <= above
    assert below <= middle <= above
    assert float(above) >= value
    assert float(below) <= value


@given(st.floats(0.5, 1, exclude_max=True))
def test_a_probability_is_never_understated(p):
    assert read(at_most(p, "%"), "%") >= meant(p)
    assert float(read(at_most(p, "%"), "%")) >= p
    assert read(at_most(p, "%"), "%") <= meant(p) + Fraction(1, 1000)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9), DIGITS)
def test_bounds_are_tight(value, digits):
    """Within one unit of the last digit."""
    unit = Fraction(10) ** (math.floor(math.log10(value)) - digits + 1)
    assert value <= read(at_most(value, digits=digits)) < value + 2 * unit
    assert value >= read(at_least(value, digits=digits)) > value - 2 * unit


@given(FLOATS, FLOATS)
def test_intervals_grow_outwards(a, b):
    low, high = sorted((a, b))
    first, second = between(low, high).split(" to ")
    assert read(first) <= meant(low)
    assert meant(high) <= read(second)


def test_the_case_that_was_wrong_once():
    assert at_most(0.6931, "%") == "69.4 %"
    assert at_most(0.693, "%") == "69.3 %"
    assert at_most(0.1, "%") == "10 %"
    assert at_most(np.float64(0.1), "%") == "10 %"
    assert at_most(0.99951, "%") == "100 %"
    assert at_least(0.99999, "%") == "99.9 %"
    assert at_most(math.inf) == "∞"
    assert at_most(Fraction(1, 3), digits=1) == "0.4"


@pytest.mark.parametrize("bad", [math.nan, "x", None, True])
def test_what_is_no_number_is_refused(bad):
    for write in (at_most, at_least, near):
        with pytest.raises(ParameterError):
            write(bad)
