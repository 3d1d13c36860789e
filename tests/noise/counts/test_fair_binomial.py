from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from barrow.noise.counts import fair_binomial
from barrow.noise.counts.binomial import _halves
from barrow.noise.counts.fair_binomial import ERROR, SMALLEST, acceptance, block_bits, large_halves
from barrow.noise.lazy_uniform import LazyUniform
from barrow.noise.simulation import SeededSource
from barrow.noise.source import Source


def true_chance(m: int, i: int, b: int) -> mpmath.mpf:
    with mpmath.workdps(60):
        if abs(i) > m:
            return mpmath.mpf(0)
        log = 2 * mpmath.loggamma(m + 1) - mpmath.loggamma(m + i + 1) - mpmath.loggamma(m - i + 1)
        return mpmath.mpf(2) ** b * mpmath.exp(log)


def block_of(m: int, i: int) -> int:
    s = 1 << int(block_bits(np.array([m]))[0])
    return (i if i >= 0 else -i - 1) // s


@settings(deadline=None, max_examples=400)
@given(st.integers(SMALLEST // 2, 2**61 - 1), st.floats(-12, 12))
def test_the_acceptance_is_as_accurate_as_claimed_and_at_most_one(m, deviations):
    i = round(deviations * math.sqrt(m / 2))
    b = block_of(m, i)
    computed = float(acceptance(np.array([m]), np.array([i]), np.array([b]))[0])
    true = true_chance(m, i, b)
    assert abs(mpmath.mpf(computed) - true) <= ERROR / 8
    assert true <= 1 + mpmath.mpf(10) ** -30


@pytest.mark.parametrize("m", [SMALLEST // 2, SMALLEST // 2 + 1, 3000])
def test_far_deviations_too(m):
    for i in [*range(0, m + 50, 37), m // 8, m // 8 + 1, m // 2, m // 2 + 1, m, m + 1]:
        for signed in (i, -i):
            b = block_of(m, signed)
            computed = float(acceptance(np.array([m]), np.array([signed]), np.array([b]))[0])
            assert abs(mpmath.mpf(computed) - true_chance(m, signed, b)) <= ERROR / 8


def test_what_is_proposed_and_accepted_is_binomial():
    """q(i) a(i) over all i, with exact binomial coefficients: proportional to the distribution, and every i once."""
    m = 1100
    s = 1 << int(block_bits(np.array([m]))[0])
    assert 10 * s * s >= 7 * (m + s) > 10 * (s // 2) ** 2 - 7 * (s // 2)
    middle = math.comb(2 * m, m)
    for i in (-m, -s - 1, -s, -1, 0, 1, s - 1, s, 3 * s + 1, m):
        b = block_of(m, i)
        q = Fraction(1, 2 ** (b + 1) * 2 * s)
        a = Fraction(2**b * math.comb(2 * m, m + i), middle)
        assert a <= 1
        assert q * a == Fraction(math.comb(2 * m, m + i), middle * 4 * s)
    seen = {(b * s + v) if sign == 0 else -(b * s + v) - 1 for b in range(4) for v in range(s) for sign in (0, 1)}
    assert seen == set(range(-4 * s, 4 * s))


class _Fixed(Source):
    """Hands out the same word for ever."""

    def __init__(self, word: int) -> None:
        self._word = word

    @property
    def private(self) -> bool:
        return False

    def words(self, count):
        return np.full(count, self._word, dtype=np.uint64)


@pytest.mark.parametrize(("m", "i"), [(1024, 7), (1500, -40), (10**6, 900), (10**12, -(10**6))])
def test_the_balls_decide_what_floats_cannot(m, i):
    b = block_of(m, i)
    with mpmath.workdps(60):
        word = int(mpmath.floor(true_chance(m, i, b) * 2**64))
    for first, more, want in ((word - 1, 2**64 - 1, True), (word + 1, 0, False)):
        assert fair_binomial._settle(m, i, b, LazyUniform(first, 64, _Fixed(more))) is want
    # In the very interval of a, the next bits decide.
    with mpmath.workdps(60):
        rest = true_chance(m, i, b) * 2**64 - word
        below, above = rest > mpmath.mpf("0.01"), rest < mpmath.mpf("0.99")
    assert not below or fair_binomial._settle(m, i, b, LazyUniform(word, 64, _Fixed(0)))
    assert not above or not fair_binomial._settle(m, i, b, LazyUniform(word, 64, _Fixed(2**64 - 1)))
    assert not fair_binomial._settle(m, m + 1, 99, LazyUniform(0, 64, _Fixed(0)))


def test_open_comparisons_go_to_the_balls(monkeypatch):
    asked = []
    true = fair_binomial._settle
    monkeypatch.setattr(fair_binomial, "_settle", lambda *args: asked.append(args) or true(*args))
    m, i = 5000, 20
    word = int(acceptance(np.array([m]), np.array([i]), np.array([0]))[0] * 2.0**64)
    good = fair_binomial._accepted(np.array([m, m]), np.array([i, 0]), np.array([0, 0]), _Fixed(word))
    assert len(asked) == 1
    assert asked[0][:3] == (m, i, 0)
    assert good[1]


def _p_value(draws, n, shift=0.0):
    edges = stats.binom.ppf(np.linspace(0, 1, 31)[1:-1], n, 0.5)
    cdf = np.concatenate([[0.0], stats.binom.cdf(edges, n, 0.5), [1.0]])
    moved = draws + round(shift * math.sqrt(n) / 2)
    cumulative = np.searchsorted(np.sort(moved), edges, side="right")
    found = np.diff(np.concatenate([[0], cumulative, [len(draws)]]))
    expected = np.diff(cdf) * len(draws)
    return float(stats.chi2.sf(((found - expected) ** 2 / expected).sum(), len(expected) - 1))


@pytest.mark.parametrize("n", [SMALLEST, SMALLEST + 1, 5001, 10**6])
def test_draws_are_binomial_and_a_wrong_distribution_is_seen(n):
    draws = large_halves(np.full(100_000, n), SeededSource(n))
    assert _p_value(draws, n) > 1e-6
    assert _p_value(draws, n, shift=0.05) < 1e-6
    wide = n // 2 + np.rint((draws - n // 2) * 1.05).astype(np.int64)
    assert _p_value(wide, n) < 1e-6


def test_huge_counts():
    n = 2**61
    draws = large_halves(np.full(2000, n), SeededSource(9))
    z = (draws - n // 2) / (math.sqrt(n) / 2)
    assert stats.kstest(z, "norm").pvalue > 1e-6
    assert stats.kstest(z * 1.25, "norm").pvalue < 1e-6


def test_both_ways_meet_in_one_function():
    found = _halves(np.array([SMALLEST - 1, SMALLEST, 0, 10**9]), SeededSource(2))
    assert found[2] == 0
    assert (np.abs(found - np.array([1023.5, 1024, 0, 5e8])) <= [200, 200, 0, 2e5]).all()


def test_a_wrong_acceptance_is_seen(monkeypatch):
    """Accepting everything is a mutation that the distribution's test notices."""
    monkeypatch.setattr(fair_binomial, "_accepted", lambda m, i, b, source: np.abs(i) <= m)
    assert _p_value(large_halves(np.full(20_000, 4000), SeededSource(1)), 4000) < 1e-12
