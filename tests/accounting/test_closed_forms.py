"""Theorem 4.4, Gaussian noise and projection against reference values and mpmath, and their sides."""

import math
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.accounting import best_projection
from barrow.accounting.calibrate import per_report_alpha, per_report_composition
from barrow.accounting.pricing import gaussian_alpha_upper, gaussian_mu_lower
from barrow.accounting.sampling import projection_distance_paper, projection_distance_upper
from barrow.accounting.theorem import (
    paper_asymptotic_alpha0,
    theorem_alpha0_lower,
    theorem_alpha_upper,
    theorem_bound,
    theorem_group_bound,
)
from barrow.errors import ParameterError
from barrow.numerics.gdp import gdp_delta_upper_array, gdp_epsilon_upper
from barrow.promises import DiscreteEmd

# Reference values at 40 digits, cut to 12: (alpha0, N, m, delta, alpha, ln 1/delta0).
THEOREM_ALPHA = [
    ("1", 10**8, 1000, "1e-12", 4.15861319377, 31.4671866295),
    ("2.5", 10**8, 1000, "1e-12", 25.4178201027, 44.7331590622),
    ("3", 10**8, 1000, "1e-12", 41.9875709868, 52.6520198165),
    ("0.02", 1000, 1000, "1e-12", 18.9856282726, 46.4380504627),
    ("0.01", 10**4, 10**4, "1e-9", 32.0220468203, 52.6938852776),
]
# (alpha, N, m, delta, alpha0).
THEOREM_ALPHA0 = [
    (25, 10**8, 1000, "1e-12", 2.48386972128),
    (5, 10**8, 1000, "1e-12", 1.12168823985),
    (25, 1000, 1000, "1e-12", 0.0249678263914),
    (25, 10**4, 10**4, "1e-12", 0.00782145542678),
    (25, 10**5, 10**5, "1e-12", 0.00243764450583),
    (25, 10**6, 100, "1e-9", 2.6114648632),
]
GAUSSIAN_MU = [
    (1, "1e-12", 0.152489651246),
    (25, "1e-12", 2.99099946767),
    ("0.1", "1e-6", 0.0275446502438),
    (5, "1e-9", 0.825278296583),
    (100, "1e-12", 8.8069897123),
]
# (r, s, delta_p, c, the paper's c).
PROJECTION = [
    ("0.008", 1000, "1e-12", 0.0367034710991, 0.102206771847),
    ("0.008", 10**4, "1e-12", 0.0154745598941, 0.0276030148338),
    ("0.008", 10**5, "1e-12", 0.0101828824348, 0.0201426391325),
    ("0.05", 500, "1e-9", 0.123860903207, 0.24505027314),
    ("0.05", 10**6, "1e-9", 0.0514093058392, 0.120772847916),
]
TEN_DIGITS = 1e-11


@pytest.mark.parametrize(("alpha0", "n", "m", "delta", "alpha", "log_inverse"), THEOREM_ALPHA)
def test_theorem_alpha_matches_reference(alpha0, n, m, delta, alpha, log_inverse):
    bound = theorem_bound(alpha0, reports=n, items=m, delta=delta)
    assert bound.applies
    assert bound.alpha == pytest.approx(alpha, rel=TEN_DIGITS)
    assert bound.log_inverse_delta0 == pytest.approx(log_inverse, rel=TEN_DIGITS)


@pytest.mark.parametrize(("alpha0", "n", "m", "delta", "alpha", "log_inverse"), THEOREM_ALPHA)
def test_theorem_alpha_is_the_supremum_over_w_in_mpmath(alpha0, n, m, delta, alpha, log_inverse):
    with mp.workdps(40):
        a0, small = mp.mpf(alpha0), mp.mpf(delta)

        def h(w, ell):
            c = 8 * mp.sqrt(mp.e**a0 * (mp.log(4 * m) + ell) / n) + 8 * mp.e**a0 / n
            return m * mp.log(1 + mp.tanh(a0 * w / 2) * c)

        ell = mp.findroot(lambda x: x - h(1, x) - mp.log(1 / small), log_inverse)
        slopes = [h(mp.mpf(w), ell) / w for w in (1e-9, 1e-4, 0.01, 0.1, 0.5, 1.0)]
        bound = theorem_bound(alpha0, reports=n, items=m, delta=delta)
        assert slopes == sorted(slopes, reverse=True)
        assert bound.alpha >= slopes[0]
        assert bound.alpha <= slopes[0] * (1 + mp.mpf(10) ** -6)
        assert bound.log_inverse_delta0 >= ell


@pytest.mark.parametrize(("alpha", "n", "m", "delta", "alpha0"), THEOREM_ALPHA0)
def test_theorem_alpha0_matches_reference_and_is_safe(alpha, n, m, delta, alpha0):
    result = theorem_alpha0_lower(alpha, reports=n, items=m, delta=delta)
    assert result == pytest.approx(alpha0, rel=TEN_DIGITS)
    assert theorem_alpha_upper(result, reports=n, items=m, delta=delta) <= alpha
    assert theorem_alpha_upper(result * 1.000001, reports=n, items=m, delta=delta) > alpha


def test_side_condition_is_enforced():
    assert theorem_alpha_upper(6, reports=1000, items=1, delta="1e-6") is None
    result = theorem_alpha0_lower(10**6, reports=10**5, items=1, delta="1e-6")
    bound = theorem_bound(result, reports=10**5, items=1, delta="1e-6")
    assert bound.applies
    assert math.exp(result) * 16 * (math.log(4) + bound.log_inverse_delta0) <= 10**5
    assert not theorem_bound(result * 1.0001, reports=10**5, items=1, delta="1e-6").applies
    assert theorem_alpha0_lower(25, reports=100, items=10, delta="1e-12") is None


def test_outside_its_side_condition_the_theorem_is_false():
    """3-ary response, 1000 reports, alpha0 = 6, one change by 1: the formula claims delta = 1e-6 at its epsilon."""
    import numpy as np
    from scipy.stats import binom

    n, alpha0, delta = 1000, 6.0, 1e-6
    c = 8 * math.sqrt(math.exp(alpha0) * math.log(4 / delta) / n) + 8 * math.exp(alpha0) / n
    epsilon = math.log1p(math.tanh(alpha0 / 2) * c)
    own, other = math.exp(alpha0) / (math.exp(alpha0) + 2), 1 / (math.exp(alpha0) + 2)
    # 999 reports hold the third item: their counts (a, b) of the first two outputs; the last report adds one of them.
    k = np.arange(60)
    first = binom.pmf(k, n - 1, other)
    second = np.array([binom.pmf(k, n - 1 - a, other / (1 - other)) for a in k])
    counts = first[:, None] * second
    up, across = np.roll(counts, 1, axis=0), np.roll(counts, 1, axis=1)
    p = own * up + other * across + other * counts
    q = other * up + own * across + other * counts
    true = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
    assert true == pytest.approx(0.075, abs=0.005)
    assert theorem_alpha_upper(alpha0, reports=n, items=1, delta=delta) is None


def test_the_papers_example_holds_at_w_one_only():
    # "alpha0 about 3.0": 25.02 at w = 1, but the same alpha0 costs 41.99 as w goes to 0.
    bound = theorem_bound("2.9989", reports=10**8, items=1000, delta="1e-12")
    c = bound.alpha / (1000 * 2.9989 / 2)
    assert 1000 * math.log1p(math.tanh(2.9989 / 2) * c) == pytest.approx(25.0, abs=0.05)
    assert bound.alpha > 41.9


def test_papers_closed_form_is_unsafe_and_loose():
    unsafe = paper_asymptotic_alpha0(25, users=10**7, items=1000, delta="1e-12")
    assert unsafe == pytest.approx(5.993, abs=5e-4)
    assert theorem_alpha_upper(unsafe, reports=10**10, items=1000, delta="1e-12") == pytest.approx(32.8, abs=0.05)
    loose = paper_asymptotic_alpha0(25, users=1, items=1000, delta="1e-12")
    assert loose < 0.3 * theorem_alpha0_lower(25, reports=1000, items=1000, delta="1e-12")


def test_group_bound_follows_the_formula():
    bound = theorem_group_bound(1, reports=10**6, changed=10, moved=5, delta0="1e-12")
    c = 8 * math.sqrt(math.e * math.log(40 / 1e-12) / 1e6) + 8 * math.e / 1e6
    assert bound.epsilon == pytest.approx(10 * math.log(1 + math.tanh(0.25) * c), rel=1e-11)
    assert bound.delta == pytest.approx(1e-12 * math.exp(bound.epsilon), rel=1e-11)
    assert theorem_group_bound(9, reports=10**4, changed=10, moved=5, delta0="1e-12") is None
    with pytest.raises(ParameterError, match="only 10 reports change"):
        theorem_group_bound(1, reports=10**6, changed=10, moved=11, delta0="1e-12")


@pytest.mark.parametrize(("alpha", "delta", "mu"), GAUSSIAN_MU)
def test_gaussian_mu_matches_reference_and_mpmath(alpha, delta, mu):
    result = gaussian_mu_lower(alpha, delta)
    assert result == pytest.approx(mu, rel=TEN_DIGITS)
    assert gaussian_alpha_upper(Fraction(result), delta) == pytest.approx(float(Fraction(alpha)), rel=1e-11)
    with mp.workdps(50):
        for side, factor in ((False, 1), (True, mp.mpf(1) + mp.mpf(10) ** -9)):
            m, a = mp.mpf(result) * factor, mp.mpf(str(alpha))
            true = mp.ncdf(m / 2 - a / m) - mp.e**a * mp.ncdf(-m / 2 - a / m)
            assert (true > mp.mpf(delta)) is side


@settings(deadline=None, max_examples=60)
@given(st.floats(0.01, 40), st.floats(1e-3, 60), st.floats(0.02, 1.0))
def test_gaussian_worst_distance_is_one(mu, alpha, w):
    # delta(w) at (mu w, alpha w) increases with w (docs/proofs/gaussian.md); the slack of the bound is 1e-10.
    near, far = gdp_delta_upper_array([mu * w, mu], [alpha * w, alpha])
    assert near <= far * (1 + 1e-9) + 1e-300


@settings(deadline=None, max_examples=60)
@given(st.floats(0.01, 30), st.floats(-60, 60))
def test_gdp_array_is_an_upper_bound_in_mpmath(mu, epsilon):
    with mp.workdps(60):
        m, e = mp.mpf(mu), mp.mpf(epsilon)
        true = mp.ncdf(m / 2 - e / m) - mp.e**e * mp.ncdf(-m / 2 - e / m)
        bound = float(gdp_delta_upper_array([mu], [epsilon])[0])
        assert bound >= true
        if true > 1e-250:
            assert bound <= true * (1 + mp.mpf(10) ** -9) + mp.mpf(10) ** -15


def test_gdp_epsilon_of_a_tiny_mu_is_zero():
    assert gdp_epsilon_upper(1e-9, 1e-6) == 0.0
    assert gaussian_alpha_upper("1e-9", "1e-6") > 0.0


@pytest.mark.parametrize(("r", "s", "delta_p", "c", "paper"), PROJECTION)
def test_projection_matches_reference(r, s, delta_p, c, paper):
    assert projection_distance_upper(r, s, delta_p) == pytest.approx(c, rel=TEN_DIGITS)
    assert projection_distance_paper(r, s, delta_p) == pytest.approx(paper, rel=TEN_DIGITS)
    assert best_projection(r, s, delta_p) == (projection_distance_upper(r, s, delta_p), "projection_kl")


@settings(deadline=None, max_examples=60)
@given(st.floats(1e-4, 0.9), st.integers(1, 10**7), st.floats(1e-30, 0.5))
def test_projection_is_on_the_safe_side(r, s, delta_p):
    c = projection_distance_upper(r, s, delta_p)
    assert r < c <= 1
    if c < 1:
        with mp.workdps(50):
            mc, mr = mp.mpf(c), mp.mpf(r)
            kl = mc * mp.log(mc / mr) + (1 - mc) * mp.log((1 - mc) / (1 - mr))
            assert mp.e ** (-s * kl) <= mp.mpf(delta_p)


def test_projection_bounds_the_exact_binomial_tail():
    # Distances that are 0 or 1 are the extreme case of Hoeffding's bound: the tail is then binomial and exact.
    from scipy.stats import binom

    for r, s, delta_p in ((0.05, 200, 1e-6), (0.3, 50, 1e-3), (0.01, 1000, 1e-9)):
        c = projection_distance_upper(r, s, delta_p)
        assert binom.sf(math.ceil(c * s) - 1, s, r) <= delta_p
        smaller = r + 0.6 * (c - r)
        assert binom.sf(math.ceil(smaller * s) - 1, s, r) > delta_p


def test_projection_needs_no_delta_at_distance_one():
    assert projection_distance_upper("0.5", 3, "1e-12") == 1.0
    assert projection_distance_upper(1, 3, "1e-12") == 1.0


def test_group_privacy_is_the_geometric_sum():
    promise = DiscreteEmd("0.1", "1e-9", radius="0.1")
    result = promise.delta_at("0.95")
    delta, eps = 0.0, 0.0
    for _ in range(10):  # one weak triangle inequality at a time
        delta, eps = delta * math.exp(0.1) + 1e-9, eps + 0.1
    assert promise.steps_at("0.95") == 10
    assert promise.epsilon_at("0.95") == pytest.approx(eps)
    assert result == pytest.approx(delta, rel=1e-12)
    assert result >= delta * (1 - 1e-15)
    # Table 1's delta e^(eps j) is too small here, which is why it is not used.
    assert math.exp(0.1 * 10) * 1e-9 < result


def test_per_report_composition_is_exact():
    assert per_report_composition(25, items=1000) == Fraction(1, 40)
    assert per_report_alpha(per_report_composition("1/3", items=7), items=7) == Fraction(1, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: theorem_bound(1, reports=10, items=20, delta="1e-6"), "at most reports"),
        (lambda: theorem_bound(1, reports=10, items=5, delta=0), "per_report_composition"),
        (lambda: theorem_bound(700, reports=10, items=5, delta="1e-6"), "alpha0 is 700"),
        (lambda: gaussian_mu_lower(25, 0), "delta is 0"),
        (lambda: gaussian_mu_lower(25, "1e-300"), "too small"),
        (lambda: gaussian_mu_lower(25, 1), "strictly between"),
        (lambda: per_report_composition(25, items=0), "items is 0"),
        (lambda: per_report_composition(25, items=2.5), "items is 2.5"),
        (lambda: projection_distance_upper("0.1", 100, 0), "delta is 0"),
    ],
)
def test_bad_input_teaches(call, text):
    with pytest.raises(ParameterError, match=text.replace(".", r"\.")):
        call()
