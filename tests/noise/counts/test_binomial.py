from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.baselines.uniform import uniform_multinomials
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from barrow.errors import ParameterError
from barrow.noise.counts import binomial as counts_module
from barrow.noise.counts.binomial import (
    _halves,
    exact_binomial,
    exact_multinomials,
)
from barrow.noise.counts.chances import Chances
from barrow.noise.counts.uniform_int import uniform_below
from barrow.noise.source import SeededSource
from tests.noise.enumeration import exact_distribution


def binomial_pmf(n: int, p: Fraction) -> dict[int, Fraction]:
    return {j: math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)}


def assertexact_distribution(found, rest, true, *, most=Fraction(1, 8)):
    """Every outcome has at least its decided probability and at most that plus what is still open."""
    assert rest <= most
    assert sum(found.values()) + rest == 1
    for outcome in {*found, *true}:
        low = found.get(outcome, Fraction(0))
        assert low <= true.get(outcome, Fraction(0)) <= low + rest, outcome


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_halves_are_binomial_exactly(n):
    distribution, rest = exact_distribution(lambda s: int(_halves(np.array([n]), s)[0]), bits=n, words=1)
    assert rest == 0
    assert distribution == binomial_pmf(n, Fraction(1, 2))


@pytest.mark.parametrize(("a", "b"), [(1, 2), (1, 4), (3, 4), (5, 8), (11, 16)])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_dyadic_binomials_are_exact(n, a, b):
    distribution, rest = exact_distribution(lambda s: int(exact_binomial([n], a, b, source=s)[0]), bits=n, words=4)
    assert rest == 0
    assert distribution == {j: q for j, q in binomial_pmf(n, Fraction(a, b)).items() if q}


@pytest.mark.parametrize(("a", "b"), [(1, 3), (2, 3), (3, 7), (1, 10), (2**62 // 3, 2**62), (10**30, 3 * 10**30 + 1)])
@pytest.mark.parametrize("n", [1, 2])
def test_other_binomials_are_exact_as_far_as_bits_were_read(n, a, b):
    distribution, rest = exact_distribution(lambda s: int(exact_binomial([n], a, b, source=s)[0]), bits=n, words=5)
    assertexact_distribution(distribution, rest, binomial_pmf(n, Fraction(a, b)))


def test_multinomials_are_exact():
    weights = [1, 3, 2]

    def draw(s):
        return tuple(exact_multinomials([2], [weights], source=s)[0].tolist())

    distribution, rest = exact_distribution(draw, bits=2, words=5)
    true = {}
    for x in range(3):
        for y in range(3):
            key = [0, 0, 0]
            key[x] += 1
            key[y] += 1
            true[tuple(key)] = true.get(tuple(key), Fraction(0)) + Fraction(weights[x] * weights[y], 36)
    assertexact_distribution(distribution, rest, true, most=Fraction(1, 4))


def test_uniform_multinomials_are_exact():
    distribution, rest = exact_distribution(
        lambda s: tuple(uniform_multinomials([1], 3, source=s)[0].tolist()), bits=2, words=4
    )
    assert rest == Fraction(1, 256)
    assert len(set(distribution.values())) == 1
    assert len(distribution) == 3
    distribution, rest = exact_distribution(
        lambda s: tuple(uniform_multinomials([2], 4, source=s)[0].tolist()), bits=2, words=4
    )
    assert rest == 0
    for cells, q in distribution.items():
        assert q == Fraction(1 if 2 in cells else 2, 16)


def test_uniform_numbers_are_exact():
    distribution, rest = exact_distribution(lambda s: int(uniform_below([5], source=s)[0]), bits=3, words=3)
    assert rest == Fraction(3, 8) ** 3
    assert len(distribution) == 5
    assert len(set(distribution.values())) == 1


def test_enumeration_sees_a_wrong_sampler(monkeypatch):
    """Counting undecided items as successes, or dropping a bit of p, is found by the enumeration."""
    good = counts_module._halves
    monkeypatch.setattr(counts_module, "_halves", lambda c, s: c - good(c, s) // 2)
    distribution, rest = exact_distribution(lambda s: int(exact_binomial([2], 1, 4, source=s)[0]), bits=2, words=6)
    with pytest.raises(AssertionError):
        assertexact_distribution(distribution, rest, binomial_pmf(2, Fraction(1, 4)), most=Fraction(1))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=8),
    st.lists(st.integers(0, 50), min_size=1, max_size=9),
    st.integers(0, 10**6),
)
def test_everything_is_kept(totals, weights, seed):
    source = SeededSource(seed)
    if sum(weights):
        result = exact_multinomials(totals, [weights], source=source)
        assert result.sum(axis=1).tolist() == totals
        assert (result[:, np.array(weights) == 0] == 0).all()
    spread = uniform_multinomials(totals, len(weights), source=source)
    assert spread.sum(axis=1).tolist() == totals
    wins = exact_binomial(totals, 2, 5, source=source)
    assert ((wins >= 0) & (wins <= totals)).all()


def test_halves_count_the_ones_of_the_first_bits_of_a_word_each():
    totals = np.arange(1, counts_module.FEW + 1)
    words = SeededSource(3).words(len(totals)).tolist()
    want = [f"{word:064b}"[:total].count("1") for word, total in zip(words, totals.tolist(), strict=True)]
    assert _halves(totals, SeededSource(3)).tolist() == want


def _chi_square(found, expected) -> float:
    return float(stats.chi2.sf(((found - expected) ** 2 / expected).sum(), len(expected) - 1))


def test_large_binomials_have_the_right_distribution_and_a_wrong_one_is_seen():
    draws = exact_binomial(np.full(20_000, 1000), 3, 10, source=SeededSource(5))
    edges = stats.binom.ppf(np.linspace(0, 1, 21)[1:-1], 1000, 0.3)

    def p_value(p):
        cdf = np.concatenate([[0.0], stats.binom.cdf(edges, 1000, p), [1.0]])
        result = np.diff(np.concatenate([[0], [int((draws <= e).sum()) for e in edges], [len(draws)]]))
        return _chi_square(result, np.diff(cdf) * len(draws))

    assert p_value(0.3) > 1e-6
    assert p_value(0.302) < 1e-12


def test_large_multinomials_have_the_right_distribution_and_a_wrong_one_is_seen():
    weights = np.arange(1, 101)
    result = exact_multinomials([10**7], [weights.tolist()], source=SeededSource(6))[0]
    assert _chi_square(result, weights / weights.sum() * 10**7) > 1e-6
    assert _chi_square(result, (weights + 0.5) / (weights + 0.5).sum() * 10**7) < 1e-12
    flat = uniform_multinomials([10**7], 1000, source=SeededSource(7))[0]
    assert _chi_square(flat, np.full(1000, 10**4)) > 1e-6
    skew = np.linspace(0.98, 1.02, 1000)
    assert _chi_square(flat, 10**4 * skew) < 1e-12


def test_denominators_beyond_64_bits_are_exact_too():
    huge = 3 * 10**40
    result = exact_binomial(np.full(1000, 1000), 10**40, huge, source=SeededSource(8))
    again = exact_binomial(np.full(1000, 1000), 1, 3, source=SeededSource(8))
    assert result.tolist() == again.tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda: exact_binomial([-1], 1, 2),
        lambda: exact_binomial([1.5], 1, 2),
        lambda: exact_binomial([1], 3, 2),
        lambda: exact_binomial([1], 1, 0),
        lambda: exact_binomial([1], 0.5, 1),
        lambda: exact_multinomials([1], [[0, 0]]),
        lambda: exact_multinomials([1, 2, 3], [[1, 2], [1, 2]]),
        lambda: exact_multinomials([1], [[]]),
        lambda: uniform_multinomials([1], 0),
        lambda: uniform_below([0]),
        lambda: exact_binomial([1], 1, 2, source=7),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ParameterError):
        call()


def test_chances_of():
    built = Chances.of(np.array([1, 3], dtype=np.uint64), np.array([4, 4], dtype=np.uint64))
    assert built.above.tolist() == [1, 1]
    assert built.p.tolist() == [0.25, 0.25]
    assert built.flipped.tolist() == [False, True]


def test_chances_fraction():
    assert Chances.of(np.array([3]), np.array([4])).fraction(0) == (1, 4)
