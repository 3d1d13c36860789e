from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from barrow.noise.counts import binomial_rejection
from barrow.noise.counts.binomial import exact_binomial
from barrow.noise.counts.binomial_rejection import (
    LEAST,
    PER_SIGMA,
    REACH,
    SLOT_BITS,
    Distributions,
    acceptance,
    attempt,
    bounds,
    draw,
    error_bound,
    slots_of,
    stirling,
    tables,
)
from barrow.noise.counts.chances import Chances
from barrow.noise.source import RandomSource, SeededSource

NOBODY = np.zeros(0, dtype=np.int64)
NEVER = Chances.of(NOBODY, NOBODY)
HATS = tables()
SIDE = REACH * PER_SIGMA


def one_binomial(n: int, a: int, b: int) -> Distributions:
    kind = np.uint64 if b <= 2**63 else object
    return Distributions.of(np.array([n]), Chances.of(np.array([a], dtype=kind), np.array([b], dtype=kind)), NOBODY)


def one_poisson(mean: int) -> Distributions:
    return Distributions.of(NOBODY, NEVER, np.array([mean]))


def true_f(n: int | None, a: int, b: int, k: int) -> mpmath.mpf:
    """sqrt(2 pi) sigma P[k]; n None: a Poisson distribution of mean a."""
    with mpmath.workdps(60):
        if n is None:
            if k < 0:
                return mpmath.mpf(0)
            log = k * mpmath.log(a) - a - mpmath.loggamma(k + 1)
            return mpmath.exp(log) * mpmath.sqrt(2 * mpmath.pi * a)
        if not 0 <= k <= n:
            return mpmath.mpf(0)
        p, q = mpmath.mpf(a) / b, mpmath.mpf(b - a) / b
        log = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
        log += k * mpmath.log(p) + (n - k) * mpmath.log(q)
        return mpmath.exp(log) * mpmath.sqrt(2 * mpmath.pi * n * p * q)


def entry_of(distributions: Distributions, at: float) -> int:
    """The entry whose block holds the deviation ``at`` from the middle, in units of sigma/16."""
    block = min(max(math.floor(at), -SIDE), SIDE - 1) + SIDE
    return (int(distributions.offsets[0]) >> SLOT_BITS) * HATS.entries + block


def hat_of(entry: int) -> Fraction:
    return Fraction(float(HATS.scale[entry // HATS.entries])) * int(HATS.slots[entry])


distributions_strategy = st.one_of(
    st.tuples(st.none(), st.integers(18, 2**50), st.just(1)),
    st.tuples(st.integers(70, 2**62), st.integers(1, 2**62), st.integers(2**63, 2**70)).filter(
        lambda t: t[0] * t[1] * (t[2] - t[1]) >= 17.1 * t[2] ** 2
    ),
    st.tuples(st.integers(300, 10**9), st.integers(1, 10**6), st.just(2 * 10**6)).filter(
        lambda t: t[0] * t[1] * (t[2] - t[1]) >= 17.1 * t[2] ** 2
    ),
)


@settings(deadline=None, max_examples=400)
@given(distributions_strategy, st.floats(-7, 7), st.floats(-0.99, 0.99))
def test_the_acceptance_is_as_accurate_as_claimed_and_at_most_one(distribution, deviations, more):
    n, a, b = distribution
    distributions = one_poisson(a) if n is None else one_binomial(n, a, b)
    step = float(distributions.rows[3, 0])
    at = deviations * PER_SIGMA + more
    shift = float(np.floor(at * step + float(distributions.rows[2, 0])))
    entry = entry_of(distributions, at)
    computed, ends = acceptance(distributions.rows, len(distributions.counts), np.array([shift]), HATS.log[[entry]])
    k = int(distributions.rows[0, 0]) + int(shift)
    envelope = hat_of(entry)
    true = true_f(n, a, b, k) * envelope.denominator / envelope.numerator
    assert true <= 1
    bound = error_bound(distributions.reach)
    if ends[0]:
        assert true <= float(computed[0]) + bound
    else:
        assert abs(mpmath.mpf(float(computed[0])) - true) <= bound


def small_distributions():
    """Every binomial and Poisson distribution of a small variance that the first classes serve, in part."""
    for mean in (18, 20, 31, 32, 33, 64, 130, 255):
        yield None, mean, 1
    yield from ((69, 1, 2), (80, 1, 3), (100, 1, 3), (129, 1, 2), (300, 1, 14), (2000, 1, 100), (10**6, 40, 10**6))


@pytest.mark.parametrize(("n", "a", "b"), list(small_distributions()))
def test_the_envelope_is_above_the_distribution_everywhere(n, a, b):
    """Block by block, the probabilities of all k that round from it: at most the envelope, near to it in the middle."""
    distributions = one_poisson(a) if n is None else one_binomial(n, a, b)
    step, start, nearest = (float(distributions.rows[i, 0]) for i in (3, 2, 0))
    first = (int(distributions.offsets[0]) >> SLOT_BITS) * HATS.entries
    largest = 0.0
    for block in range(2 * SIDE):
        edge = float(HATS.edge[first + block])
        envelope = hat_of(first + block)
        low, high = math.floor(start + step * edge), math.floor(start + step * (edge + 1))
        for shift in range(low, high + 1):
            ratio = true_f(n, a, b, int(nearest) + shift) * envelope.denominator / envelope.numerator
            assert ratio <= 1
            largest = max(largest, float(ratio))
    assert largest > 0.8
    # The tail: blocks of one sigma, each half as likely as the one before, and all of them below the error bound.
    for beyond in range(40):
        envelope = hat_of(first + 2 * SIDE) / (2 ** (beyond + 2) * PER_SIGMA)
        for edge in ((REACH + beyond) * PER_SIGMA, -(REACH + beyond) * PER_SIGMA):
            k = int(nearest) + math.floor(start + step * edge)
            for near in (k, k + 1):
                assert true_f(n, a, b, near) <= mpmath.mpf(2) ** -20 * envelope.numerator / envelope.denominator


def test_a_smaller_envelope_would_be_seen():
    """The bounds are not idle: three quarters of them would be too low."""
    distributions = one_poisson(18)
    step, start = float(distributions.rows[3, 0]), float(distributions.rows[2, 0])
    right, left = bounds(16.0)
    worst = 0.0
    for j in range(60):
        worst = max(worst, float(true_f(None, 18, 1, 18 + math.floor(start + step * j))) / right[j])
        worst = max(worst, float(true_f(None, 18, 1, 18 + math.floor(start - step * j))) / left[j])
    assert 0.75 < worst <= 1.0


def test_tables_are_whole_and_classes_are_below_the_variances_they_serve():
    assert HATS.slots.reshape(-1, HATS.entries).sum(axis=1).tolist() == [2**SLOT_BITS] * 11
    assert np.array_equal(np.bincount(HATS.entry, minlength=len(HATS.slots)), HATS.slots)
    assert HATS.slots.min() >= 1
    for variance in (LEAST, 31.99, 32.01, 1000.0, 2.0**14, 1e18):
        c = int(slots_of(np.array([variance]))[0]) >> SLOT_BITS
        assert 2.0 ** (4 + c) <= variance
        right, left = bounds(2.0 ** (4 + c))
        envelope = HATS.slots[c * HATS.entries : (c + 1) * HATS.entries - 1] * HATS.scale[c]
        assert (envelope[SIDE:] >= right[:-1]).all()
        assert (envelope[:SIDE][::-1] >= left[:-1]).all()
        # Beyond the last block, the tail's envelope is far above the bound, and falls more slowly than it.
        assert max(right[-1], left[-1]) < 2.0**-20 * HATS.scale[c] / 64


def p_value(draws, distribution, points=31):
    """Chi-square of draws against a distribution of scipy, over about equally likely ranges and both far tails."""
    shares = [1e-4, 1e-3, 1e-2, *np.linspace(0, 1, points)[1:-1], 0.99, 0.999, 0.9999]
    edges = np.unique(distribution.ppf(shares))
    cdf = np.concatenate([[0.0], distribution.cdf(edges), [1.0]])
    cumulative = np.searchsorted(np.sort(draws), edges, side="right")
    result = np.diff(np.concatenate([[0], cumulative, [len(draws)]]))
    expected = np.diff(cdf) * len(draws)
    keep = expected > 5
    rest = np.append(result[keep], result[~keep].sum()), np.append(expected[keep], expected[~keep].sum())
    result, expected = rest if rest[1][-1] > 5 else (result[keep], expected[keep])
    return float(stats.chi2.sf(((result - expected) ** 2 / expected).sum(), len(expected) - 1))


def binomials(n, a, b, size, seed):
    return exact_binomial(np.full(size, n), a, b, source=SeededSource(seed))


CASES = [
    (69, 1, 2),
    (100, 2, 3),
    (200, 1, 10),
    (10**4, 38, 10**4),
    (10**4, 9962, 10**4),
    (10**5, 1, 3),
    (10**9, 1, 10**6),
    (10**9, 10**6 - 1, 10**6),
    (10**7, 10**40, 3 * 10**40 + 1),
]


@pytest.mark.parametrize(("n", "a", "b"), CASES)
def test_draws_are_binomial_and_a_percent_is_seen(n, a, b):
    size = 200_000
    p = a / b
    draws = binomials(n, a, b, size, 17)
    assert p_value(draws, stats.binom(n, p)) > 1e-6
    # A relative hundredth of the rarer side, or of the width, is rejected.
    less = p * 0.99 if p <= 0.5 else 1 - (1 - p) * 0.99
    assert p_value(draws, stats.binom(n, less)) < 1e-6
    wide = np.rint(n * p + (draws - n * p) * 1.05).astype(np.int64)
    assert p_value(wide, stats.binom(n, p)) < 1e-6


@pytest.mark.parametrize("mean", [18, 40, 1000, 10**8])
def test_draws_are_poisson_and_a_percent_is_seen(mean):
    draws = draw(NOBODY, NEVER, np.full(200_000, mean), SeededSource(mean))
    assert p_value(draws, stats.poisson(mean)) > 1e-6
    assert p_value(draws, stats.poisson(mean * 1.01)) < 1e-6


def test_huge_counts():
    n = 2**61
    draws = binomials(n, 1, 3, 4000, 3)
    z = (draws - n // 3) / math.sqrt(n * 2 / 9)
    assert stats.kstest(z, "norm").pvalue > 1e-6
    assert stats.kstest(z * 1.2, "norm").pvalue < 1e-6


def test_many_distributions_at_once_do_not_mix():
    n = np.array([500, 10**6, 40_000] * 400)
    a, b = np.array([1, 1, 2] * 400, dtype=np.uint64), np.array([2, 4, 5] * 400, dtype=np.uint64)
    means = np.array([100, 10**6] * 300)
    result = draw(n, Chances.of(a, b), means, SeededSource(8))
    sigma = np.sqrt(np.concatenate([n * (a / b) * (1 - a / b), means]))
    z = (result - np.concatenate([n * (a / b), means])) / sigma
    for low in range(3):
        assert stats.kstest(z[:1200][low::3] + 0.5 / sigma[low], "norm").pvalue > 1e-6
    assert np.abs(z).max() < 6


class Words(RandomSource):
    """Hands out given words, then zeros for ever."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    @property
    def private(self) -> bool:
        return False

    def words(self, count):
        taken, self._words = self._words[:count], self._words[count:]
        return np.array(taken + [0] * (count - len(taken)), dtype=np.uint64)


def test_open_comparisons_are_settled_on_the_same_bits(monkeypatch):
    """U right below and right above the chance of the proposal: the balls say which, and then the next bits."""
    distributions = one_binomial(10**6, 1, 4)
    first = int(distributions.offsets[0])
    slot = int(np.flatnonzero(HATS.entry[first : first + 2**SLOT_BITS] % HATS.entries == SIDE + 20)[0])
    place = slot << (64 - SLOT_BITS) | 2**40
    settled = []
    true_settled = binomial_rejection._settled
    monkeypatch.setattr(binomial_rejection, "_settled", lambda *args: settled.append(1) or true_settled(*args))
    shift, _ = attempt(distributions, None, Words(place, 0))
    entry = int(HATS.entry[first + slot])
    envelope = hat_of(entry)
    k = int(distributions.rows[0, 0]) + int(shift[0])
    with mpmath.workdps(60):
        scaled = true_f(10**6, 1, 4, k) * envelope.denominator / envelope.numerator * 2**64
        word = int(mpmath.floor(scaled))
        next_word = int(mpmath.floor((scaled - word) * 2**64))
    assert 2**60 < word < 2**64
    settled.clear()
    for words, want in (
        ((place, word - 1), True),
        ((place, word + 1), False),
        ((place, word, next_word - 2**30), True),
        ((place, word, next_word + 2**30), False),
    ):
        again, good = attempt(distributions, None, Words(*words))
        assert again[0] == shift[0]
        assert bool(good[0]) is want
    assert len(settled) == 4
    # Far away from the chance, floats decide.
    attempt(distributions, None, Words(place, word // 2))
    attempt(distributions, None, Words(place, min(2**64 - 1, word + word // 100)))
    assert len(settled) == 4


def test_a_place_at_a_whole_number_is_settled_on_the_same_bits():
    """A proposal within 2^-51 of the next whole number: later bits of the place decide which it is."""
    distributions = one_binomial(2**40 + 12345, 1, 3)
    step, start = Fraction(float(distributions.rows[3, 0])), Fraction(float(distributions.rows[2, 0]))
    first, bits = int(distributions.offsets[0]), 64 - SLOT_BITS
    slot = int(np.flatnonzero(HATS.entry[first : first + 2**SLOT_BITS] % HATS.entries == SIDE)[0])
    target = math.floor(start + step / 2)  # a whole number inside the block
    exact = (target - start) / step * 2**bits  # where the place reaches it, in units of its last bit
    inside = math.floor(exact)
    assert exact != inside
    rest = math.floor((exact - inside) * 2**64)
    for more, want in ((rest - 1, target - 1), (rest + 1, target)):
        # The words are the place, U, and what the place is extended by.
        shift, _ = attempt(distributions, None, Words(slot << bits | inside, 0, more))
        assert shift[0] == want


def test_the_distribution_does_not_depend_on_the_error_bound(monkeypatch):
    """With a bound so large that balls decide a good part, the same bits give the same answers and distribution."""
    n, a, b = np.full(300, 300), np.full(300, 1, dtype=np.uint64), np.full(300, 3, dtype=np.uint64)
    distributions = Distributions.of(n, Chances.of(a, b), np.full(300, 25))
    want = attempt(distributions, None, SeededSource(5))
    requests = []
    true_below = binomial_rejection._below
    monkeypatch.setattr(binomial_rejection, "_below", lambda *args: requests.append(1) or true_below(*args))
    monkeypatch.setattr(binomial_rejection, "error_bound", lambda reach: 0.15)
    shift, good = attempt(distributions, None, SeededSource(5))
    assert np.array_equal(shift, want[0])
    assert np.array_equal(good, want[1])
    assert len(requests) > 150
    requests.clear()
    draws = binomials(300, 1, 3, 10_000, 6)
    assert len(requests) > 2500
    assert p_value(draws, stats.binom(300, 1 / 3)) > 1e-6
    assert p_value(draws, stats.binom(300, 0.34)) < 1e-6


def test_the_tail_has_the_right_shape():
    """Signs and blocks of the tail come from further words: a fair sign, half as likely from block to block."""
    distributions = one_poisson(10_000)
    first = int(distributions.offsets[0])
    slot = int(np.flatnonzero(HATS.entry[first : first + 2**SLOT_BITS] % HATS.entries == HATS.entries - 1)[0])
    entry = int(HATS.entry[first + slot])
    middle = 2 ** (63 - SLOT_BITS)
    for word, beyond in ((2**63, 0), (2**62, 1), (2**60 + 5, 3)):
        for sign, side in ((0, 1), (2**63, -1)):
            shift, good = binomial_rejection._settled(distributions, 0, entry, middle, 2**63, Words(word, sign))
            assert not good
            assert abs(shift - side * 100 * (REACH + beyond + 0.5)) <= 1
    # Floats refuse the tail unless U is tiny.
    assert not attempt(distributions, None, Words(slot << (64 - SLOT_BITS), 2**62))[1][0]


def test_a_wrong_acceptance_is_seen(monkeypatch):
    """Taking every proposal is a mutation that the test of the distribution notices."""
    true = binomial_rejection.attempt
    monkeypatch.setattr(binomial_rejection, "attempt", lambda *args: (lambda s, g: (s, np.ones_like(g)))(*true(*args)))
    assert p_value(binomials(2000, 1, 2, 100_000, 1), stats.binom(2000, 0.5)) < 1e-12


def test_logs_in_balls_are_the_distributions():
    for n, a, b, k in ((100, 1, 3, 30), (2**62, 5, 7, 2**61), (10**5, 10**40, 3 * 10**40 + 1, 33_000)):
        with mpmath.workdps(30):
            want = mpmath.log(true_f(n, a, b, k))
        assert abs(float(arb(binomial_rejection._log_binomial(n, a, b, k)())) - float(want)) <= 1e-6 * max(
            1, abs(float(want))
        )
    assert binomial_rejection._log_binomial(10, 1, 2, 11) is None
    assert binomial_rejection._log_poisson(10, -1) is None


def test_attempt():
    none = np.array([], dtype=np.int64)
    distributions = Distributions.of(none, Chances.of(none, none), np.full(100, 400))
    shift, good = attempt(distributions, None, SeededSource(1))
    assert good.sum() > 70
    assert np.abs(shift).max() <= 240


def test_stirling():
    assert round(float(stirling(np.array([10.0]))[0]), 7) == 0.0083306


def test_error_bound():
    assert error_bound(1.0) < 2.0 ** (-19)


def test_slots_of():
    assert (slots_of(np.array([17.0, 33.0, 1e30])) >> SLOT_BITS).tolist() == [0, 1, 10]
