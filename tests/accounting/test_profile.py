"""The lemmas behind the rate of a shuffle, each by a route that does not use it."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from barrow.accounting.excess import log_excess_upper, rate_of_excess
from barrow.accounting.one_step import mean_excess_upper, sign_excess_upper
from barrow.accounting.profile import inflation_upper, log_mean_excess_upper, rate_from_lines, rate_upper
from barrow.numerics.gdp import SQRT_TWO_PI, mills

POINTS = 16


def gaussian_side(c, clones, shrink=1.0):
    """exp(-C c^4/24) E[(Z/sqrt C - c)_+]."""
    x = c * np.sqrt(shrink * clones)
    call = np.exp(-x * x / 2) * (1 - x * mills(x)) / SQRT_TWO_PI / np.sqrt(shrink * clones)
    return np.exp(-clones * c**4 / 24) * call


def margin(signs, shrink=1.0, deepest=27.0):
    """The least margin of lemma G over c, in units of phi(x)/(sqrt(T) T), at 16 points of every linear piece."""
    u = np.arange(signs // 2, signs)
    low, high = np.maximum((2 * u - signs) / signs, 0), (2 * u + 2 - signs) / signs
    keep = low * math.sqrt(signs) < deepest
    u, low, high = u[keep], low[keep], high[keep]
    pmf, tail = binom.pmf(u, signs - 1, 0.5), binom.sf(u, signs - 1, 0.5)
    c = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, POINTS + 1)
    left = pmf[:, None] * (1 - c) / 2 - c * tail[:, None]
    clones = signs - 1
    scale = np.exp(-clones * c * c / 2 - clones * c**4 / 24) / SQRT_TWO_PI / math.sqrt(clones)
    return float(np.min((gaussian_side(c, clones, shrink) - left) / scale)) * signs


def test_lemma_g_for_every_small_number_of_signs():
    # The theory says the margin tends to 1/4; piecewise linearity costs less than 1/100 between the points.
    margins = [margin(signs) for signs in range(2, 701)]
    assert min(margins) > 0.24
    assert margins[-1] < 0.26


@pytest.mark.parametrize("signs", [1000, 1001, 2047, 3000, 4096, 4097])
def test_lemma_g_for_larger_numbers_of_signs(signs):
    assert margin(signs) > 0.24


def test_lemma_g_fails_for_a_slightly_narrower_gaussian():
    # The truth is 1/(T - 1/2): with variance 1/(T - 0.4) the lemma is false, and this check sees it.
    assert margin(201, shrink=(201 - 0.4) / 200) < 0


def remainders(x, tau):
    """The remainders of section 6.3 of docs/proofs/shuffle-flow.md at T = 1/tau, in units of phi(x)/T.

    Each is a sum of powers of tau with coefficients of 0 or more, so that all of them decrease in T.
    """
    v = np.linspace(0, 9.5, 19_001)
    dv, y = v[1], x + v
    g = np.exp(-(y * y - x * x) / 2) * v  # in units of phi(x)
    q, p = -0.25 + y**2 / 2 - y**4 / 12, 1 / 18 + y**4 / 4  # Q = q + p/T

    def size(h):
        return float(np.sum(np.abs(h))) * dv

    def bend(h):
        """The variation of h' including its jump at x."""
        return abs(h[1] / dv) + float(np.sum(np.abs(np.diff(np.gradient(h, dv)))))

    r1 = 0.00803 * 8 * math.sqrt(tau) * (6 * x + 12 * float(mills(np.array([x]))[0]))
    extra = tau * (1 / 18 + (x * x + 8) / 4)
    r2 = tau / 2 * (bend(g * q) + tau * bend(g * p))
    r3 = tau * (size(g * q * q) + 2 * tau * size(g * q * p) + tau**2 * size(g * p * p))
    r4 = tau * tau / 2 * (bend(g * q * q) + 2 * tau * bend(g * q * p) + tau**2 * bend(g * p * p))
    return r1 + extra + r2 + r3 + r4 + tau * x**4 / 48


def test_remainders_of_lemma_g_from_seven_hundred_signs_on():
    x = np.linspace(0, 5.1, 103)
    share = np.array([remainders(float(c), 1 / 700) / (0.25 + c * c / 24) for c in x])
    assert np.max(share) < 0.3
    # Between the points nothing can happen: neighbours differ by far less than what is left.
    assert np.max(np.abs(np.diff(share))) < 0.01
    # The check can fail: with so few signs the remainders eat up the margin.
    assert remainders(5.1, 1 / 100) > 0.25 + 5.1**2 / 24


def test_the_midpoint_kernel_and_its_use():
    # The primitive of the kernel less its mean, and the variation of g'' against (6 x + 12 R) phi.
    u = np.linspace(0, 0.5, 100_001)
    primitive = (1 / 8 - (0.5 - u) ** 3) / 6 - u / 24
    assert 0.0080 < np.max(np.abs(primitive)) < 0.00803
    y = np.linspace(0, 12, 1_200_001)
    for x in (0.0, 0.4, 1.0, 1.9, 3.3, 5.1):
        z = x + y
        third = np.exp(-(z * z - x * x) / 2) * (3 * (z * z - 1) + y * (3 * z - z**3))
        bound = 6 * x + 12 * float(mills(np.array([x]))[0])
        assert 2 * x + float(np.sum(np.abs(third))) * y[1] < bound


@pytest.mark.parametrize("signs", [700, 701, 2500])
def test_the_weights_of_signs_against_their_bound(signs):
    """Inequality (4) and its continuation beyond |z| = 1/2, at 30 digits."""
    with mp.workdps(30):
        for plus in [*range((signs + 1) // 2, signs, 23), signs - 1, signs]:
            z = mp.mpf(2 * plus - signs) / signs
            y2 = z * z * signs
            log_w = mp.log(mp.binomial(signs, plus)) - signs * mp.log(2)
            log_w += mp.log(mp.sqrt(mp.pi * signs / 2)) + y2 / 2
            small = -mp.mpf(1) / 4 + mp.mpf(1) / (18 * signs) + y2 / 2 - y2**2 / 12 * (1 - mp.mpf(3) / signs)
            assert signs * log_w <= (small if z <= 0.5 else -(y2**2) / 16)
            if z < 0.05:
                assert signs * log_w > small - mp.mpf("0.01")


def test_lemma_g_at_fifty_digits():
    with mp.workdps(50):
        for signs, c in ((37, "0.31"), (200, "0.4"), (500, "0.25"), (501, "0.002")):
            c_ = mp.mpf(c)
            left = mp.fsum(
                mp.binomial(signs, a) / mp.mpf(2) ** signs * (mp.mpf(2 * a - signs) / signs - c_)
                for a in range(signs + 1)
                if mp.mpf(2 * a - signs) / signs > c_
            )
            s = 1 / mp.sqrt(signs - 1)
            x = c_ / s
            call = s * (mp.npdf(x) - x * mp.ncdf(-x))
            assert left <= mp.e ** (-(signs - 1) * c_**4 / 24) * call
            result = float(sign_excess_upper(float(c_), np.array([float(signs)]))[0])
            assert left <= mp.mpf(result) * (1 + mp.mpf(10) ** -14)
            assert result == pytest.approx(float(left), rel=1e-9)


def test_one_sign_is_below_the_tangent():
    # No clone: (1 - c)/2 against the tangent of the Gaussian side at one clone, which is at most 0.6.
    c = np.linspace(0, 1, 2001)
    call, phi = gaussian_side(c, 1.0), np.exp(-c * c / 2) / SQRT_TWO_PI
    tangent = call * (1 + c**4 / 24) + np.exp(-(c**4) / 24) * phi / 2
    assert np.all((1 - c) / 2 <= tangent)
    assert np.all(tangent <= 0.6)


def exact_excess(c, reports, rho):
    """e(c) summed term by term over the clones, with scipy's binomials."""
    clones = np.arange(reports)
    weights = binom.pmf(clones, reports - 1, rho)
    signs = clones + 1
    threshold = np.ceil(signs * (1 + c) / 2)
    pmf = binom.pmf(threshold - 1, signs - 1, 0.5)
    tail = binom.sf(threshold - 1, signs - 1, 0.5)
    return float(np.sum(weights * np.maximum(pmf * (1 - c) / 2 - c * tail, 0)))


@settings(deadline=None, max_examples=150)
@given(st.floats(0.005, 4), st.integers(5, 1500), st.floats(0, 9), st.floats(0, 1))
def test_mean_excess_bounds_hold(alpha0, reports, depth, share):
    rho = math.exp(-alpha0)
    c = min(0.99, depth / math.sqrt(1 + (reports - 1) * rho))
    omega = 1 + share * math.tanh(alpha0 / 2)
    exact = exact_excess(c, reports, omega * rho)
    assert exact * (1 - 1e-9) <= mean_excess_upper(c, alpha0, reports, omega - 1)
    # Summed term by term up to 1201 reports, in blocks beyond.
    loose = 1e-7 if reports <= 1201 else 0.02
    assert mean_excess_upper(c, alpha0, reports, omega - 1) <= exact * (1 + loose) + 1e-290
    # The closed form at the standard rate covers every stronger one by scaling.
    largest = 1 + math.tanh(alpha0 / 2)
    scaled = log_mean_excess_upper(np.array([c * math.sqrt(omega)]), alpha0, float(reports), largest)[0]
    assert math.log(max(exact, 1e-300)) <= scaled - 0.5 * math.log(omega) + 1e-9


def test_blocks_agree_with_the_full_sum():
    for alpha0, reports, c in ((2.0, 30_000, 0.03), (0.5, 20_000, 0.05), (4.0, 200_000, 0.06)):
        exact = exact_excess(c, reports, math.exp(-alpha0))
        assert exact * (1 - 1e-9) <= mean_excess_upper(c, alpha0, reports) <= exact * 1.01


@pytest.mark.parametrize(("alpha0", "reports", "level"), [(0.1, 400, 7.0), (1.0, 1500, 6.0), (2.0, 3000, 7.5)])
def test_rate_dominates_the_exact_profile(alpha0, reports, level):
    """V(s) = min_c [c s + e(c)] with the exact e, against (kappa/2) phi(Phi^-1(s)); and kappa is not loose."""
    kappa = rate_upper(alpha0, float(reports), level, 1.0)
    c = np.linspace(0, 0.9, 700)
    e = np.array([exact_excess(x, reports, math.exp(-alpha0)) for x in c])
    z = np.linspace(0, level, 400)
    v = np.min(c[None, :] * ndtr(-z)[:, None] + e[None, :], axis=1)
    ratio = v / (np.exp(-z * z / 2) / SQRT_TWO_PI)
    assert np.all(ratio <= kappa / 2 * (1 + 1e-12))
    assert kappa / 2 <= np.max(ratio) * 1.02


def test_rate_tends_to_its_gaussian_limit_from_above():
    for reports in (1e5, 1e7, 1e9, 1e12):
        limit = 2 / math.sqrt(reports * math.exp(-3))
        assert 1 < rate_upper(3.0, reports, 9.0, 1.0) / limit < 1 + 20 / math.sqrt(reports)


@settings(deadline=None, max_examples=200)
@given(st.floats(-8, 8), st.floats(1e-4, 0.6))
def test_inflation_bounds_the_midpoint_step(x, t):
    """Solve the step exactly: h = (Phi(x+t) - Phi(x))/phi(Phi^-1(mid)), and t must be at most h (1 + eta)."""
    y = x + t
    level = max(abs(x), abs(y), 0.5)
    # Differences of Phi are taken on the side where they do not cancel.
    a, b = (x, y) if x + y <= 0 else (-y, -x)
    gap = float(ndtr(b) - ndtr(a))
    middle = float(ndtri((ndtr(a) + ndtr(b)) / 2))
    h = gap / (math.exp(-middle * middle / 2) / SQRT_TWO_PI)
    bound = inflation_upper(h, level)
    assert t <= h * bound * (1 + 1e-9)
    assert inflation_upper(h, level) >= 1.0


def test_inflation_is_small_where_it_matters_and_gives_up_where_it_must():
    assert inflation_upper(0.003, 10.0) < 1 + 1e-4
    assert inflation_upper(0.0, 10.0) == 1.0
    assert math.isinf(inflation_upper(5.0, 10.0))
    assert math.isinf(rate_upper(5.0, 10.0, 8.0, 1.0))
    assert math.isinf(rate_upper(1.0, 1.0, 8.0, 1.0))


def test_log_excess_upper():
    result = log_excess_upper(np.array([0.25, 0.25]), np.array([1.0, -1.0]), 0.0, 10000.0)
    assert 1.0 < math.exp(result) / math.sqrt(0.5 / (2 * math.pi * 10000.0)) < 1.001


def test_rate_of_excess():
    def call(c):
        return math.log(math.exp(-c * c / 2) * (1 - c * float(mills(np.array([c]))[0])) / SQRT_TWO_PI)

    assert 2.0 < rate_of_excess(call, 7.0, 7.0, lines=200) < 2.01


def test_sign_excess_upper():
    assert float(sign_excess_upper(0.5, np.array([1.0]))[0]) - 0.25 < 1e-11


def test_mean_excess_upper():
    assert 0.0 < mean_excess_upper(0.9, 1.0, 60) < mean_excess_upper(0.1, 1.0, 60)


def test_log_mean_excess_upper():
    assert log_mean_excess_upper(np.array([0.0]), 1.0, 10000.0, 1.0)[0] > math.log(0.3989 / math.sqrt(10000.0 / math.e))


def test_rate_upper():
    assert 1.0 < rate_upper(4.4, 100000000.0, 8.5, 1.0) / (2 / math.sqrt(100000000.0 * math.exp(-4.4))) < 1.0001


def test_rate_from_lines():
    c = np.linspace(0.0, 8.0, 2000)
    call = np.log(np.exp(-c * c / 2) * (1 - c * mills(c)) / SQRT_TWO_PI)
    assert 2.0 < rate_from_lines(c, call, 7.0) < 2.0001


def test_inflation_upper():
    assert 1.0 < inflation_upper(0.003, 10.0) < 1.0002
