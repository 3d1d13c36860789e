from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from barrow.noise.counts import binomial_inversion
from barrow.noise.counts.binomial import FEW, binomials_and_poisson, exact_binomial
from barrow.noise.counts.binomial_inversion import ERROR, decide, partial_sums
from barrow.noise.counts.binomial_rejection import LEAST
from barrow.noise.counts.chances import Chances
from barrow.noise.lazy_uniform import LazyUniform
from barrow.noise.source import SeededSource
from tests.noise.counts.test_binomial_rejection import Words, p_value


def exact_sums(n: int, p: Fraction, columns: int) -> list[Fraction]:
    total, results = Fraction(0), []
    for j in range(columns):
        total += math.comb(n, j) * p**j * (1 - p) ** (n - j) if j <= n else 0
        results.append(total)
    return results


@settings(deadline=None, max_examples=150)
@given(st.integers(1, 400), st.integers(0, 500), st.integers(1, 1000))
def test_partial_sums_are_as_accurate_as_claimed(n, a, b):
    p = Fraction(a, 2 * max(a, b, 1))
    if n * p * (1 - p) >= 32:
        return
    chances = Chances.of(np.array([p.numerator]), np.array([p.denominator]))
    result = partial_sums(np.array([float(n)]), chances.p, chances.q, 60)[:, 0].tolist()
    for mine, true in zip(result, exact_sums(n, p, 60), strict=True):
        assert abs(Fraction(mine) - true) <= ERROR / 4


@pytest.mark.parametrize("n", [2**40 + 1, 2**61 - 1])
def test_partial_sums_of_many_rare_items(n):
    """Against the limit distribution, whose distance is below mean^2/n."""
    chances = Chances.of(np.array([12], dtype=np.uint64), np.array([n], dtype=np.uint64))
    result = partial_sums(np.array([float(n)]), chances.p, chances.q, 50)[:, 0]
    assert np.abs(result - stats.poisson(12).cdf(np.arange(50))).max() < 1e-9


@pytest.mark.parametrize(
    ("n", "a", "b"), [(65, 1, 3), (65, 2, 3), (100, 1, 50), (10**6, 5, 10**6), (10**9, 10**9 - 16, 10**9), (70, 7, 100)]
)
def test_draws_are_binomial_and_a_percent_is_seen(n, a, b):
    p = a / b
    assert n > FEW
    assert n * p * (1 - p) < LEAST
    draws = exact_binomial(np.full(400_000, n), a, b, source=SeededSource(4))
    assert p_value(draws, stats.binom(n, p)) > 1e-6
    less = p * 0.985 if p <= 0.5 else 1 - (1 - p) * 0.985
    assert p_value(draws, stats.binom(n, less)) < 1e-6


def test_the_distribution_does_not_depend_on_the_error_bound(monkeypatch):
    n, chances = np.full(300, 1000), Chances.of(np.full(300, 3), np.full(300, 1000))
    want = binomial_inversion.draw(n, chances, SeededSource(2))
    requests = []
    true = binomial_inversion.decide
    monkeypatch.setattr(binomial_inversion, "decide", lambda *args: requests.append(1) or true(*args))
    monkeypatch.setattr(binomial_inversion, "ERROR", 0.02)
    assert np.array_equal(binomial_inversion.draw(n, chances, SeededSource(2)), want)
    assert 50 < len(requests) < 300


@pytest.mark.parametrize(("n", "a", "b"), [(3, 1, 2), (70, 1, 5), (10**6, 3, 10**6)])
def test_balls_find_the_sum_that_was_passed(n, a, b):
    sums = exact_sums(min(n, 70), Fraction(a, b), 4) if n < 100 else None
    if sums is None:
        q = Fraction(b - a, b)
        from mpmath import floor, mpf, workdps

        with workdps(60):
            word = int(floor(mpf(q.numerator) ** n / mpf(q.denominator) ** n * 2**64))
        assert decide(n, a, b, LazyUniform(word - 1, 64, Words())) == 0
        assert decide(n, a, b, LazyUniform(word + 1, 64, Words())) == 1
        return
    for j, total in enumerate(sums[:3]):
        exact = total * 2**64
        word = exact.numerator // exact.denominator
        assert decide(n, a, b, LazyUniform(word - 1, 64, Words())) == j
        assert decide(n, a, b, LazyUniform(word + 1, 64, Words())) == j + 1
    if n == 3:
        assert decide(n, a, b, LazyUniform(2**64 - 1, 64, Words(2**64 - 1))) == n


def test_beyond_the_last_column_balls_go_on():
    """U above every partial sum that was computed: the answer is still the right one."""
    n = np.array([10**6])
    chances = Chances.of(np.array([1]), np.array([10**6]))
    result = int(binomial_inversion.draw(n, chances, Words(2**64 - 1))[0])
    # 1 - U is below 2^-64, extended by zeros: the Poisson tail says 19 or so.
    tail = stats.binom(10**6, 1e-6).sf
    assert tail(result) <= 2.0**-64 <= tail(result - 1) * (1 + 1e-9)


def test_all_ways_meet_in_one_function():
    counts = np.array([0, 3, 70, 10**6, 10**6, 5, 200])
    chances = Chances.of(
        np.array([1, 1, 1, 1, 0, 5, 7], dtype=np.uint64), np.array([2, 3, 9, 4, 7, 5, 8], dtype=np.uint64)
    )
    result, poisson = binomials_and_poisson(counts, chances, np.array([0, 10**4, 0, 50]), SeededSource(3))
    assert result[[0, 4, 5]].tolist() == [0, 0, 5]
    assert 0 <= result[1] <= 3
    assert 0 <= result[2] < 40
    assert abs(int(result[3]) - 250_000) < 4000
    assert abs(int(result[6]) - 175) < 40
    assert poisson[[0, 2]].tolist() == [0, 0]
    assert abs(int(poisson[1]) - 10**4) < 800
    assert poisson[3] < 120


def test_partial_sums():
    assert partial_sums(np.array([2.0]), np.array([0.5]), np.array([0.5]), 3).ravel().tolist() == [0.25, 0.75, 1.0]
