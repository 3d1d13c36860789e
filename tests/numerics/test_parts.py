"""What internal names do, each by one known answer."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from barrow.numerics.binomial import binomial_cdf, binomial_log_pmf, fair_tail, tail_error
from barrow.numerics.digest import table_digest
from barrow.numerics.exact import ROUND_CEILING, ROUND_FLOOR, rounded_to
from barrow.numerics.gdp import gdp_delta_upper_array, mills


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
