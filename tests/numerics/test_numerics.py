"""Exact numbers, directed rounding, safe searches and Gaussian tails against 60 digits."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.numerics import (
    exact,
    exact_text,
    float_down,
    float_up,
    gdp_delta_upper,
    gdp_mu_lower,
    largest_safe,
    smallest_safe,
    whole,
)
from barrow.numerics.binomial import binomial_cdf, binomial_log_pmf, fair_tail, tail_error
from barrow.numerics.digest import table_digest
from barrow.numerics.exact import ROUND_CEILING, ROUND_FLOOR, rounded_to
from barrow.numerics.gdp import gdp_delta_upper_array, mills

FRACTIONS = st.fractions(max_denominator=10**40)


@settings(max_examples=300)
@given(FRACTIONS)
def test_rounding_has_a_side_and_is_next_to_the_number(value):
    up, down = float_up(value), float_down(value)
    assert Fraction(down) <= value <= Fraction(up)
    assert up == down or np.nextafter(down, np.inf) == up
    if Fraction(float(value)) == value:
        assert up == down


@settings(max_examples=300)
@given(FRACTIONS)
def test_texts_are_read_back_exactly(value):
    assert exact(exact_text(value)) == value


def test_numbers_mean_what_they_say():
    assert exact("0.1") == exact(Decimal("0.1")) == Fraction(1, 10)
    assert exact(0.1) == exact(np.float64(0.1)) == exact(np.float32(0.1)) == Fraction(1, 10) != Fraction(0.1)
    assert exact(1e-9) == Fraction(1, 10**9)
    assert exact(np.float64(0.5)) == exact(np.int32(1)) / 2
    for bad in ("", "x", "1/0", float("inf"), float("nan"), True, None):
        with pytest.raises(ParameterError, match="not a number"):
            exact(bad)
    with pytest.raises(ParameterError, match="not a number"):
        exact(np.bool_(True))
    assert float_up(Fraction(10) ** 400) == np.inf
    assert float_down(Fraction(10) ** 400) == np.finfo(float).max


ABSURD = ["1e99999999", "1e-99999999", "1e401", "9" * 9000, Decimal("1e99999999"), 10**5000, Fraction(1, 7**9000)]


@pytest.mark.parametrize("value", ABSURD, ids=[f"absurd{i}" for i in range(len(ABSURD))])
def test_absurd_numbers_are_refused_at_once(value):
    start = time.thread_time()  # of the processor, whatever else the machine does
    with pytest.raises(ParameterError, match="beyond what is computed with") as caught:
        exact(value, "alpha")
    assert time.thread_time() - start < 1.0  # computing with them would take minutes
    assert len(str(caught.value)) < 400
    assert caught.value.fix


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_the_decimals_that_they_show(value):
    assert exact(value) == Fraction(repr(value))
    assert float(exact(value)) == value


@pytest.mark.parametrize("value", [7, "7", 7.0, "7e0", Decimal(7), Fraction(7), np.int8(7), np.float32(7)])
def test_whole_numbers_of_every_kind(value):
    assert whole(value, "users") == 7
    assert type(whole(value, "users", least=7, most=7)) is int


@pytest.mark.parametrize(
    "value", [True, None, 0, 101, "x", 7.5, "1/3", float("inf"), float("nan"), "1e999999", [7], 8 + 0j]
)
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(ParameterError, match="users is ") as caught:
        whole(value, "users", most=100)
    assert caught.value.allowed == "a whole number from 1 to 100"
    assert caught.value.fix == "users=100"


def test_searches_return_a_tested_safe_end():
    tested = {}

    def is_safe(x: float) -> bool:
        tested[x] = x <= 0.3
        return tested[x]

    result = largest_safe(is_safe, 0.0, 1.0)
    assert tested[result]
    assert result == pytest.approx(0.3, rel=1e-10)
    assert largest_safe(lambda x: True, 0.0, 1.0) == 1.0
    assert smallest_safe(lambda x: x >= 0.3, 0.0, 1.0) >= 0.3
    with pytest.raises(ParameterError, match="Nothing safe"):
        largest_safe(lambda x: False, 0.0, 1.0)


def exact_gdp_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(80):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@settings(max_examples=400, deadline=None)
@given(st.floats(1e-6, 100), st.floats(-8, 37))
def test_gdp_delta_is_an_upper_bound_and_tight(mu, x):
    epsilon = mu * (x + mu / 2)
    if epsilon < 0:
        return
    true, ours = exact_gdp_delta(mu, epsilon), gdp_delta_upper(mu, epsilon)
    assert ours >= true
    if true > 1e-300:
        # The difference of two nearly equal terms costs a factor of about epsilon/mu^2.
        assert ours <= true * (1 + 1e-9 * max(1.0, 1 / mu))


REFERENCE = [  # at 40 digits
    (1.0, 1e-12, 0.152489651246),
    (25.0, 1e-12, 2.99099946767),
    (0.1, 1e-6, 0.0275446502438),
    (5.0, 1e-9, 0.825278296583),
    (100.0, 1e-12, 8.8069897123),
]


@pytest.mark.parametrize(("epsilon", "delta", "mu"), REFERENCE)
def test_mu_to_ten_digits_and_on_the_safe_side(epsilon, delta, mu):
    ours = gdp_mu_lower(epsilon, delta)
    assert ours == pytest.approx(mu, rel=1e-10)
    assert exact_gdp_delta(ours, epsilon) <= mpmath.mpf(delta)
    assert exact_gdp_delta(ours * (1 + 1e-9), epsilon) > mpmath.mpf(delta)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-3, 400), st.floats(-30, -1))
def test_mu_is_safe_and_nearly_largest(epsilon, log_delta):
    delta = 10.0**log_delta
    mu = gdp_mu_lower(epsilon, delta)
    assert exact_gdp_delta(mu, epsilon) <= mpmath.mpf(delta)
    assert exact_gdp_delta(mu * (1 + 1e-6), epsilon) > mpmath.mpf(delta)


def test_bad_input():
    for call in (
        lambda: gdp_delta_upper(-1.0, 1.0),
        lambda: gdp_delta_upper(float("nan"), 1.0),
        lambda: gdp_delta_upper(1.0, -1.0),
        lambda: gdp_mu_lower(1.0, 0.0),
        lambda: gdp_mu_lower(1.0, 1.0),
    ):
        with pytest.raises(ParameterError):
            call()


def test_tail_error():
    assert float(tail_error(100.0)) < 1e-11


def test_binomial_log_pmf():
    assert round(float(np.exp(binomial_log_pmf(3, 10, 0.5))) * 1024, 9) == 120.0


def test_binomial_cdf():
    assert round(float(binomial_cdf(3, 10, 0.5, 0.5)) * 1024, 9) == 176.0


def test_fair_tail():
    assert round(float(fair_tail(8, 10)) * 1024, 9) == 56.0


def test_table_digest():
    assert table_digest(["a", "bc"]) != table_digest(["ab", "c"])


def test_mills():
    assert float(mills(0.0)) == math.sqrt(math.pi / 2)


def test_gdp_delta_upper_array():
    assert [round(float(d) * 1000000000000.0, 6) for d in gdp_delta_upper_array([2.99099946767], [25.0])] == [1.0]
    assert gdp_delta_upper_array([0.0, 1.0], [1.0, -800.0]).tolist() == [0.0, 1.0]


def test_rounded_to():
    assert rounded_to(Fraction(2, 3), 2, ROUND_FLOOR) == Decimal("0.66")
    assert rounded_to(Fraction(2, 3), 2, ROUND_CEILING) == Decimal("0.67")
