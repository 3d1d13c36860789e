"""Composition of equal reports, against enumeration, 50 digits and the Gaussian limit; and the paper's budget."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from benchmarks.baselines.homogeneous import (
    _delta,
    _numbers,
    _tails,
    homogeneous_delta_upper,
    homogeneous_epsilon0_lower,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.numerics import gdp_mu_lower
from barrow.numerics.binomial import binomial_log_pmf


def enumerated(epsilon0, m, epsilon, active):
    """max over events of P - e^eps Q, by all 3^m outcomes of m three-valued reports, at 50 digits."""
    with mp.workdps(50):
        a, h, factor = mp.e ** mp.mpf(epsilon0), mp.mpf(active), mp.e ** mp.mpf(epsilon)
        first = {1: h * a / (1 + a), -1: h / (1 + a), 0: 1 - h}
        second = {1: h / (1 + a), -1: h * a / (1 + a), 0: 1 - h}
        total = mp.mpf(0)
        for outcome in itertools.product((1, 0, -1), repeat=m):
            p, q = mp.fprod(first[o] for o in outcome), mp.fprod(second[o] for o in outcome)
            total += max(mp.mpf(0), p - factor * q)
        return total


def summed(epsilon0, m, epsilon, active=1):
    """The same for any m: a sum over the number of active reports and their signs, at 50 digits."""
    with mp.workdps(50):
        e0, eps, h = mp.mpf(epsilon0), mp.mpf(epsilon), mp.mpf(active)
        p = 1 / (1 + mp.e**-e0)
        total = mp.mpf(0)
        for n in range(m + 1) if active != 1 else [m]:
            weight = mp.binomial(m, n) * h**n * (1 - h) ** (m - n)
            for x in range(n + 1):
                loss = (2 * x - n) * e0
                if loss > eps:
                    total += weight * mp.binomial(n, x) * p**x * (1 - p) ** (n - x) * (1 - mp.e ** (eps - loss))
        return total


@pytest.mark.parametrize("m", [1, 2, 3, 5])
@pytest.mark.parametrize("active", ["1", "0.5", "0.07"])
def test_against_all_outcomes(m, active):
    for epsilon0 in ("0.05", "1", "3"):
        for epsilon in ("0", "0.2", "1.5", "4"):
            wanted = enumerated(epsilon0, m, epsilon, active)
            result = homogeneous_delta_upper(epsilon0, m, epsilon, active=active)
            assert result >= wanted
            assert result <= wanted * (1 + mp.mpf(10) ** -10) + mp.mpf(10) ** -12
            if Fraction(epsilon0) * m <= Fraction(epsilon):
                assert result == 0.0 == wanted


@pytest.mark.parametrize(
    ("epsilon0", "m", "epsilon", "active"),
    [("0.05", 400, "1", 1), ("0.02", 1000, "2", 1), ("2.5", 60, "40", 1), ("0.1", 150, "1", "0.5"),
     ("0.4", 200, "3", "0.03"), ("6", 12, "30", "0.3"), ("0.001", 300, "0.01", 1)],
)  # fmt: skip
def test_against_sums_at_fifty_digits(epsilon0, m, epsilon, active):
    wanted = summed(epsilon0, m, epsilon, active)
    result = homogeneous_delta_upper(epsilon0, m, epsilon, active=active)
    assert wanted <= result <= wanted * (1 + mp.mpf("2e-6"))
    # Power: one report more, or a smaller epsilon by a thousandth, is told apart.
    assert summed(epsilon0, m + 1, epsilon, active) > result
    assert homogeneous_delta_upper(epsilon0, m, Fraction(epsilon) * Fraction(999, 1000), active=active) > result


def test_a_million_reports_in_log_space():
    """Against a sum of probabilities over the tail, term by term."""
    for m, epsilon, delta in ((10**6, 1.25, 1e-9), (10**5, 8.0, 1e-12), (10**6, 0.05, 1e-6)):
        step = homogeneous_epsilon0_lower(epsilon, delta, m)
        p = 1.0 / (1.0 + math.exp(-step))
        first = int((m + epsilon / step) / 2) - 2
        x = np.arange(first, min(m, first + 20 * int(math.sqrt(m))) + 1, dtype=float)
        gain = -np.expm1(np.minimum(epsilon - (2 * x - m) * step, 0.0))
        direct = float((np.exp(binomial_log_pmf(x, m, p)) * gain).sum())
        assert direct <= delta
        assert direct >= delta * (1 - 1e-6)


def test_buckets_cost_little_and_err_on_the_safe_side():
    """With many reports the number of active ones is rounded up to a few; here it is not rounded at all."""
    for m, active, step, epsilon in ((20_000, 0.5, 0.0015, 1.0), (10**5, 0.01, 0.02, 2.0)):
        mean, width = m * active, math.sqrt(m * active)
        numbers = np.arange(int(mean - 9 * width), int(mean + 9 * width), dtype=float)
        exact = float(
            (np.exp(binomial_log_pmf(numbers, m, active)) * _tails(numbers, 1 / (1 + math.exp(-step)), epsilon)).sum()
        )
        result = homogeneous_delta_upper(step, m, epsilon, active=active)
        assert exact <= result <= exact * 1.02
        values, masses, beyond = _numbers(m, active, 8.0)
        assert len(values) <= 194
        assert 1.0 <= masses.sum() + beyond <= 1 + 1e-9


def test_the_number_of_active_reports_must_be_averaged_not_replaced_by_its_mean():
    m, active, step, epsilon = 40, 0.05, 1.0, 4.0
    shortcut = homogeneous_delta_upper(step, int(m * active), epsilon)
    assert shortcut < summed("1", m, "4", "0.05") / 10
    assert homogeneous_delta_upper(step, m, epsilon, active=active) >= summed("1", m, "4", "0.05")


@pytest.mark.parametrize("active", [1, 0.5, 0.1])
def test_many_weak_reports_tend_to_gaussian_privacy(active):
    step = homogeneous_epsilon0_lower(1, "1e-6", 10**6, active=active)
    assert step * math.sqrt(10**6 * active) == pytest.approx(gdp_mu_lower(1.0, 1e-6), rel=2e-3)


@pytest.mark.parametrize(("epsilon", "delta", "m"), [(1, "1e-9", 10), ("0.3", "1e-6", 1000), (20, "1e-9", 50)])
@pytest.mark.parametrize("active", [1, "0.5", "0.02"])
def test_the_inverse_is_safe_and_tight(epsilon, delta, m, active):
    step = homogeneous_epsilon0_lower(epsilon, delta, m, active=active)
    assert Fraction(step) * m >= Fraction(epsilon) * (1 - Fraction(1, 10**12))  # never worse than plain composition
    assert homogeneous_delta_upper(step, m, epsilon, active=active) <= float(delta)
    assert homogeneous_delta_upper(step * (1 + 1e-5), m, epsilon, active=active) > float(delta)


def test_active_may_depend_on_epsilon0():
    """Randomised response on k items: the own law of 100 items allows far more than the worst law."""

    def share(k):
        return lambda e: min(1.0, (math.exp(e) + 1) / (math.exp(e) + k - 1))

    worst = homogeneous_epsilon0_lower(1, "1e-6", 100)
    assert homogeneous_epsilon0_lower(1, "1e-6", 100, active=share(2)) == pytest.approx(worst, rel=1e-6)
    assert homogeneous_epsilon0_lower(1, "1e-6", 100, active=share(100)) > 2 * worst


def paper_budget(epsilon, m, delta):
    return epsilon / math.sqrt(m * math.log(m / delta))


def test_the_papers_budget_is_not_private_for_every_channel():
    """eps/sqrt(m ln(m/delta)) for each report: fails for binary randomised response, whose law is the worst one."""
    broken = 0
    for epsilon, m, delta in itertools.product((0.1, 0.5, 1, 2, 4, 8), (100, 1000), (1e-6, 1e-9)):
        broken += homogeneous_delta_upper(paper_budget(epsilon, m, delta), m, epsilon) > delta
    assert broken == 15
    # Not rounding: at 50 digits it is off by a factor of 7, and for eps = 8 by more than 1,000.
    with mp.workdps(50):
        assert summed(mp.mpf(paper_budget(1, 100, 1e-9)), 100, 1) > 7e-9
        assert summed(mp.mpf(paper_budget(8, 100, 1e-9)), 100, 8) > 1e-6
    # Hadamard response tells two items apart with every second report only, which saves the paper's use of it.
    for epsilon, m, delta in itertools.product((0.1, 0.5, 1, 2, 4, 8), (100, 1000), (1e-6, 1e-9)):
        assert homogeneous_delta_upper(paper_budget(epsilon, m, delta), m, epsilon, active="0.5") < delta


@settings(deadline=None, max_examples=40)
@given(
    step=st.floats(1e-4, 5.0),
    m=st.integers(1, 3000),
    epsilon=st.floats(0.0, 10.0),
    active=st.floats(1e-3, 1.0),
)
def test_more_of_anything_is_never_more_private(step, m, epsilon, active):
    here = homogeneous_delta_upper(step, m, epsilon, active=active)
    near = here * (1 - 0.03) - 1e-12  # buckets may differ between the two
    assert 0.0 <= here <= 1.0
    assert homogeneous_delta_upper(step * 1.1, m, epsilon, active=active) >= near
    assert homogeneous_delta_upper(step, m + 1 + m // 10, epsilon, active=active) >= near
    assert homogeneous_delta_upper(step, m, epsilon, active=min(1.0, active * 1.2)) >= near
    assert homogeneous_delta_upper(step, m, epsilon + 0.1, active=active) <= here * 1.03 + 1e-12


def test_edges_and_errors():
    assert homogeneous_delta_upper(40, 3, 1) == 1.0  # beyond what floats tell apart, nothing is claimed
    assert homogeneous_delta_upper(40, 3, 120) == 0.0
    assert homogeneous_delta_upper(800, 1, 1, active="0.25") == pytest.approx(0.25 * -math.expm1(-799))
    assert homogeneous_epsilon0_lower(100, "1e-9", 2) == 50.0
    assert homogeneous_epsilon0_lower(1, 0, 10**6) <= 1e-6
    assert 0.0 <= homogeneous_delta_upper("0.9", 1000, "899.9") < 1e-100
    for wrong in ({"active": 0}, {"active": 2}, {"epsilon": -1}, {"uses": 0}, {"epsilon0": 0}):
        with pytest.raises(ParameterError):
            homogeneous_delta_upper(**({"epsilon0": 1, "uses": 2, "epsilon": 1} | wrong))


def test_what_lies_beyond_the_last_number_counts_in_full():
    m, active, step, epsilon = 2000, 0.5, 0.01, 4.0
    _, _, beyond = _numbers(m, active, 8.0)
    inside = homogeneous_delta_upper(step, m, epsilon, active=active)
    assert 0.0 < inside < beyond  # a delta that need not be tight stops early, and must still cover the rest
    assert _delta(step, m, epsilon, active, enough=1.0) >= beyond
