"""Shares of discrete Laplace noise: the law of the coins in exact fractions, and every draw word by word."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from barrow.errors import ParameterError
from barrow.noise.counts import shares
from barrow.noise.counts.shares import Chance, flip, geometric, kept_by_urn, noise_shares, rounded_at_random
from barrow.noise.source import RandomSource, SeededSource
from tests.noise.enumeration import exact_distribution
from tests.thorough import often


class Words(RandomSource):
    """Hands out the given words, and counts them."""

    def __init__(self, words):
        self.left, self.read = list(words), 0

    @property
    def private(self):
        return False

    def words(self, count):
        taken, self.left = self.left[:count], self.left[count:]
        assert len(taken) == count
        self.read += count
        return np.array(taken, dtype=np.uint64)


class Logged(RandomSource):
    """A seeded source that remembers what it handed out."""

    private = False

    def __init__(self, seed):
        self.inner, self.log = SeededSource(seed), []

    def words(self, count):
        result = self.inner.words(count)
        self.log.append(result.tolist())
        return result


@given(st.fractions(0, 1), st.integers(0, 5), st.booleans(), st.integers(0, 200))
@settings(max_examples=200, deadline=None)
def test_chances_are_enclosed(ratio, place, digit, bits):
    value = ratio ** (2**place)
    value = value / (1 + value) if digit else value
    low, high = Chance(ratio, place, digit).enclosed(bits)
    assert low <= value * 2**bits <= high
    assert high - low <= 2


@pytest.mark.parametrize("chance", [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(5, 8), Fraction(3, 16)])
def test_coins_are_exact_where_bits_decide(chance):
    law, rest = exact_distribution(lambda s: bool(flip([Chance(chance)], s)[0]), bits=4, words=1)
    assert rest == 0
    assert law.get(True, Fraction(0)) == chance


@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(128, 129), Fraction(10**30, 3 * 10**30 + 1)])
def test_coins_read_on_where_a_word_leaves_them_open(chance):
    """The second route compares the whole string of words, as a fraction, with the chance."""
    first = int(chance * 2**64)
    rest = chance * 2**64 - first
    second = int(rest * 2**64)
    for words in ([first - 1], [first + 1], [first, second - 1], [first, second + 1], [first, second, 0]):
        source = Words(words)
        u = sum(Fraction(word, 2 ** (64 * (i + 1))) for i, word in enumerate(words))
        assert bool(flip([Chance(chance)], source)[0]) == (u < chance), words
        assert source.read == len(words)


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(2, 3), Fraction(4, 5), Fraction(8, 9), Fraction(16, 17)])
def test_the_coins_of_a_geometric_variable_multiply_to_its_law(p):
    """Digits are independent, so the law is a product; it equals (1 - p) p^k as exact fractions, for 64 values."""
    low, more = shares._digits(p)
    ones = [c.ratio ** (2**c.place) / (1 + c.ratio ** (2**c.place)) for c in low]
    again = more.ratio ** (2**more.place)
    assert (more.digit, more.place) == (False, len(low))
    for k in range(64):
        rest, digits = divmod(k, 2 ** len(low))
        law = again**rest * (1 - again)
        for i, one in enumerate(ones):
            law *= one if digits >> i & 1 else 1 - one
        assert law == (1 - p) * p**k


def test_geometric_draws_are_those_of_the_words():
    """Every word compared, by a second route, with the exact fraction it is compared with."""
    p, number = Fraction(16, 17), 40
    low, more = shares._digits(p)
    for seed in range(often(10, 100)):
        source = Logged(seed)
        sample, log = geometric([p] * number, source=source).tolist(), source.log
        expected = [0] * number
        for place in range(len(low)):
            r = p ** (2**place)
            for i, word in enumerate(log[place]):
                expected[i] += (Fraction(word, 2**64) < r / (1 + r)) << place
        active = list(range(number))
        for words in log[len(low) :]:
            assert len(words) == len(active)
            active = [i for i, w in zip(active, words, strict=True) if Fraction(w, 2**64) < p ** (2**more.place)]
            for i in active:
                expected[i] += 1 << more.place
        assert (sample, active) == (expected, [])


def urn_law(balls: int, parts: int) -> dict[int, Fraction]:
    """By the urn's own rule, all ways added up."""
    law = {0: Fraction(1)}
    for seen in range(balls):
        then: dict[int, Fraction] = defaultdict(Fraction)
        for kept, chance in law.items():
            up = (Fraction(1, parts) + kept) / (1 + seen)
            then[kept + 1] += chance * up
            then[kept] += chance * (1 - up)
        law = dict(then)
    return law


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_an_urn_makes_a_negative_binomial_of_a_geometric_variable(parts):
    """The rule is the beta-binomial law, as exact fractions; over a geometric number of balls it is NB(1/parts)."""
    r = Fraction(1, parts)

    def rising(base: Fraction, count: int) -> Fraction:
        return math.prod((base + i for i in range(count)), start=Fraction(1))

    for balls in range(10):
        closed = {
            x: math.comb(balls, x) * rising(r, x) * rising(1 - r, balls - x) / math.factorial(balls)
            for x in range(balls + 1)
        }
        assert {x: chance for x, chance in urn_law(balls, parts).items() if chance} == closed
    for p in (0.5, 0.9):
        k = np.arange(600)
        for x in range(24):
            mixed = float(((1 - p) * p**k * stats.betabinom.pmf(x, k, 1 / parts, 1 - 1 / parts)).sum())
            assert mixed == pytest.approx(stats.nbinom.pmf(x, 1 / parts, 1 - p), abs=1e-11)


@pytest.mark.parametrize("balls", [1, 2, 3])
def test_the_urn_that_is_drawn_follows_its_rule(balls):
    law, rest = exact_distribution(
        lambda s: int(kept_by_urn(np.array([balls]), 2, source=s)[0]), bits=3, words=2 * balls
    )
    true = urn_law(balls, 2)
    assert sum(law.values()) + rest == 1
    assert all(law.get(x, 0) <= true[x] <= law.get(x, 0) + rest for x in true)
    assert rest <= Fraction(1, 4)


@pytest.mark.parametrize(("parts", "parties"), [(1, 1), (1, 2), (2, 2), (2, 3)])
def test_shares_add_up_to_discrete_laplace_noise(parts, parties):
    """By the moments of 20,000 sums: false alarm below 1e-6, and p off by 5 % is seen."""
    p, number = Fraction(16, 17), 20_000
    sums = sum(noise_shares([p] * number, parts, source=SeededSource(10 * parts + i)) for i in range(parties))
    q = float(p)

    def wrong(q: float) -> float:
        variance = parties / parts * 2 * q / (1 - q) ** 2
        fourth = 3 + 6.5 * parts / parties  # kurtosis, rounded up
        return abs(float(np.mean(sums.astype(float) ** 2)) / variance - 1) / math.sqrt((fourth - 1) / number)

    assert wrong(q) < 4.9
    assert wrong(1 / (1 + 1.05 / 16)) > 2.5
    assert wrong(1 / (1 + 1.2 / 16)) > 4.9
    assert abs(float(sums.mean())) < 4.9 * math.sqrt(parties / parts * 2 * q / (1 - q) ** 2 / number)
    if parties == parts:
        values = np.arange(-40, 41)
        seen = np.array([(sums == v).sum() for v in values])
        law = (1 - q) / (1 + q) * q ** np.abs(values)
        expected = np.append(law, 1 - law.sum()) * number
        assert stats.chisquare(np.append(seen, number - seen.sum()), expected).pvalue > 1e-6


@given(st.lists(st.fractions(-20, 20), min_size=1, max_size=5))
@settings(max_examples=50, deadline=None)
def test_rounding_goes_to_a_neighbour(values):
    rounded = rounded_at_random(values, source=SeededSource(3))
    assert all(abs(r - v) < 1 for r, v in zip(rounded, values, strict=True))


def test_rounding_is_a_coin_on_the_fraction():
    law, rest = exact_distribution(lambda s: rounded_at_random([Fraction(-19, 8)], source=s)[0], bits=3, words=1)
    assert (law, rest) == ({-2: Fraction(5, 8), -3: Fraction(3, 8)}, 0)


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1), Fraction(2**60, 2**60 + 1), 0.5, Fraction(-1, 2)])
def test_no_other_p_is_drawn(p):
    with pytest.raises(ParameterError, match="p is"):
        geometric([p])
