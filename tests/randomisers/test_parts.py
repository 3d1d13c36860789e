"""What internal names do, each by one known answer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from barrow.randomisers.base import TOTAL, wanted_alpha0
from barrow.randomisers.claim import log_rate_upper, lower
from barrow.randomisers.exponential import exponential, planar_laplace
from barrow.randomisers.laplace import laplace
from barrow.randomisers.matrix import too_many, whole_rows
from barrow.randomisers.pooled import PooledStops
from barrow.randomisers.shape import star_shape
from barrow.spaces import Circle, Discrete, Embedding, Euclidean, Line


def test_wanted_alpha0():
    assert wanted_alpha0("2.5") == Fraction(5, 2)


def test_log_rate_upper():
    assert log_rate_upper(Fraction(3), Fraction(1, 4)) >= 4 * math.log(3) - 1e-15


def test_lower():
    assert lower(1.0, Discrete(["a", "b"])) < 1


def test_exponential_randomiser():
    clock = exponential(Circle(24, unit="h", step=1), 5)
    assert float(clock.alpha0_upper) <= 5.0
    assert round(clock.distortion, 2) == 2.25


def test_planar_laplace_randomiser():
    assert planar_laplace(Euclidean([0, 0], [1, 1], step=0.25), 10).kind == "planar_laplace"


def test_laplace_randomiser():
    words = Embedding(["cat", "dog", "car"], [[0, 1], [0, 2], [5, 0]])
    channel = laplace(words, 20)
    assert channel.alpha0_upper == 20
    assert channel.from_items([0, 1, 2]).shape == (3,)


def test_whole_rows():
    assert whole_rows(np.array([[0.5, 0.5], [0.0, 1.0]])).sum(axis=1).tolist() == [2**62, 2**62]


def test_too_many():
    assert "matrix" in str(too_many(Line(0, 1, step=0.1)))


def test_pooled_stops_of():
    quarters = np.array([TOTAL // 4, TOTAL, TOTAL])
    made = PooledStops.of(star_shape(2, Fraction(1)), [TOTAL // 4, 3 * TOTAL // 4, 3 * TOTAL // 4], quarters)
    assert made.stay.q.tolist() == [0.75, 0.75]
    assert made.share.tolist() == [0.25]
