"""Binomial probabilities and tails against 50 digits."""

import math

import mpmath as mp
import numpy as np
import pytest

from barrow.numerics.binomial import binomial_cdf, binomial_log_pmf, fair_tail, tail_error

SIZES = [(50, 0.3), (1000, 0.5), (10**5, 0.5), (10**6, 0.01), (10**12, 1e-9)]


def exact_log_pmf(k, n, p):
    p_ = mp.mpf(p)
    return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1) + k * mp.log(p_) + (n - k) * mp.log(1 - p_)


def exact_tail(k, n, p, down):
    """The tail from k outwards, summed by ratios until nothing is left."""
    p_, term, total, j = mp.mpf(p), mp.mpf(1), mp.mpf(1), k
    while term > mp.mpf(10) ** -18 and 0 < j < n:
        term *= mp.mpf(j) * (1 - p_) / ((n - j + 1) * p_) if down else mp.mpf(n - j) * p_ / ((j + 1) * (1 - p_))
        total, j = total + term, j - 1 if down else j + 1
    return total * mp.e ** exact_log_pmf(k, n, p)


@pytest.mark.parametrize(("n", "p"), SIZES)
def test_probabilities_and_tails(n, p):
    deviation = math.sqrt(n * p * (1 - p))
    error = float(tail_error(n))
    with mp.workdps(50):
        for x in (-12, -7, -3, 0, 4, 9, 13):
            k = int(n * p + x * deviation)
            if not 0 < k < n:
                continue
            assert abs(mp.mpf(float(binomial_log_pmf(k, n, p))) - exact_log_pmf(k, n, p)) < error / 5
            if x < 0:
                ratio = mp.mpf(float(binomial_cdf(k, n, p, 1 - p))) / exact_tail(k, n, p, True)
                assert abs(ratio - 1) < error / 2
            if x > 0 and p == 0.5:
                assert abs(mp.mpf(float(fair_tail(k, n))) / exact_tail(k, n, p, False) - 1) < error / 2


def test_edges():
    assert float(fair_tail(0, 5)) == 1.0
    assert float(fair_tail(6, 5)) == 0.0
    assert float(fair_tail(1, 0)) == 0.0
    assert float(binomial_cdf(-1, 5, 0.2, 0.8)) == 0.0
    assert float(binomial_cdf(5, 5, 0.2, 0.8)) == 1.0
    assert binomial_log_pmf(-1, 5, 0.2) == -np.inf
    assert float(binomial_log_pmf(0, 5, 0.2)) == pytest.approx(5 * math.log(0.8))
    assert float(binomial_log_pmf(5, 5, 0.2)) == pytest.approx(5 * math.log(0.2))
    assert float(binomial_log_pmf(0, 0, 0.5)) == 0.0
    total = np.exp(binomial_log_pmf(np.arange(31), 30, 0.37)).sum()
    assert total == pytest.approx(1, abs=1e-13)
    assert float(binomial_cdf(12, 30, 0.7, 0.3)) == pytest.approx(
        float(np.exp(binomial_log_pmf(np.arange(13), 30, 0.7)).sum())
    )
