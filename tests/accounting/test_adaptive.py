"""Composition of releases that are chosen as one goes: the filter, pure releases as Gaussian ones, an adversary."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.accounting import adaptive_alpha_upper, compose, pure_mu_upper
from barrow.accounting.pricing import gaussian_alpha_upper
from barrow.errors import ParameterError
from barrow.numerics import gdp_delta_upper
from barrow.promises import GaussianNoise, KNormNoise, PureRelease, ShuffledReports


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-9, 600))
def test_pure_mu_is_an_upper_bound_and_tight(epsilon):
    with mpmath.workdps(60):
        tail = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
        guess = mpmath.sqrt(2 * mpmath.mpf(epsilon)) if epsilon > 3 else mpmath.mpf(epsilon) * 0.6
        x = mpmath.findroot(lambda t: mpmath.log(mpmath.erfc(t / mpmath.sqrt(2)) / 2) - mpmath.log(tail), guess)
        true = 2 * x
    ours = pure_mu_upper(epsilon)
    assert ours >= true * (1 - mpmath.mpf(10) ** -30)
    assert ours <= true * (1 + 1e-6)
    assert ours <= math.sqrt(math.pi / 2) * epsilon * (1 + 1e-12)


def test_the_gaussian_trade_off_lies_below_that_of_every_pure_pair():
    from scipy.special import ndtr, ndtri

    a = np.linspace(1e-6, 1 - 1e-6, 4001)
    for epsilon in (0.01, 0.3, 1.0, 4.0):
        pure = np.maximum.reduce([np.zeros_like(a), 1 - math.exp(epsilon) * a, math.exp(-epsilon) * (1 - a)])
        gaussian = ndtr(-ndtri(a) - pure_mu_upper(epsilon))
        assert (gaussian <= pure + 1e-12).all()
        tighter = ndtr(-ndtri(a) - 0.99 * pure_mu_upper(epsilon))
        assert not (tighter <= pure + 1e-12).all()  # one percent less would not be enough


def worst_delta(mu: float, epsilon: float, epsilons: list[float], rounds: int) -> float:
    """Exact: the largest hockey-stick divergence at ``epsilon`` that an adaptive adversary reaches.

    In each round they choose one of ``epsilons`` (a randomised response) or stop, as long as the sum of mu^2 stays
    within mu^2; the value function is max over choices of expectations, by recursion on the likelihood ratio.
    """

    def value(log_ratio: float, left: float, round_: int) -> float:
        best = max(0.0, 1.0 - math.exp(epsilon - log_ratio))  # stop: (1 - e^eps Q/P)+
        if round_ == rounds:
            return best
        for e in epsilons:
            cost = pure_mu_upper(e) ** 2
            if cost <= left + 1e-12:
                p = 1 / (1 + math.exp(-e))
                best = max(
                    best,
                    p * value(log_ratio + e, left - cost, round_ + 1)
                    + (1 - p) * value(log_ratio - e, left - cost, round_ + 1),
                )
        return best

    return value(0.0, mu * mu, 0)


@pytest.mark.parametrize("epsilon", [0.2, 0.8, 1.5])
def test_no_adversary_gets_past_the_filter(epsilon):
    mu = 1.2
    reached = worst_delta(mu, epsilon, [0.25, 0.5, 0.9], rounds=7)
    allowed = gdp_delta_upper(mu, epsilon)
    assert reached <= allowed
    assert reached > 0.25 * allowed  # the adversary is a real one


def exact_divergence(epsilons: tuple[float, ...], epsilon: float) -> float:
    """The hockey-stick divergence of a fixed list of randomised responses, by enumeration."""
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        p = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, epsilons, strict=True))
        q = math.prod(1 / (1 + math.exp(s * e)) for s, e in zip(signs, epsilons, strict=True))
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


def test_a_filter_by_the_exact_composition_of_the_list_so_far_would_leak():
    """Why a ledger may not use the tightest bound of a fixed list: every history satisfies it, and yet delta grows."""
    menu, epsilon = (0.44, 0.95, 1.79), 1.38
    delta = exact_divergence((1.79, 0.44), epsilon)

    def value(log_ratio: float, history: tuple[float, ...]) -> float:
        best = max(0.0, 1.0 - math.exp(epsilon - log_ratio))
        if len(history) < 5:
            for e in menu:
                longer = tuple(sorted((*history, e)))
                if exact_divergence(longer, epsilon) <= delta + 1e-12:
                    p = 1 / (1 + math.exp(-e))
                    best = max(best, p * value(log_ratio + e, longer) + (1 - p) * value(log_ratio - e, longer))
        return best

    assert value(0.0, ()) > 1.3 * delta


def test_gaussian_releases_add_exactly_in_quadrature():
    events = [GaussianNoise("0.3", delta="1e-9", model="central")] * 9 + [
        GaussianNoise("0.4", delta="1e-9", model="central")
    ]
    mu = math.sqrt(9 * 0.09 + 0.16)
    assert float(adaptive_alpha_upper(events, "1e-9")) == pytest.approx(gaussian_alpha_upper(mu, 1e-9), rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(["0.05", "0.2", "1", "3"]), min_size=1, max_size=30), st.sampled_from(["1e-6", "1e-12"])
)
def test_it_holds_at_every_distance_and_never_below_the_fixed_list(alphas, delta):
    events = [KNormNoise(a, model="central") for a in alphas]
    alpha = float(adaptive_alpha_upper(events, delta))
    for w in (1e-4, 1e-2, 0.1, 0.37, 0.8, 1.0):
        mu = math.sqrt(sum(pure_mu_upper(float(Fraction(a)) * w) ** 2 for a in alphas))
        assert gdp_delta_upper(mu, alpha * w) <= float(delta) * (1 + 1e-9)
    if len(events) > 1:
        assert alpha * 1.01 >= float(compose(events, delta).definition.alpha) or alpha >= sum(
            float(Fraction(a)) for a in alphas
        )
    more = float(adaptive_alpha_upper([*events, events[0]], delta))
    assert more >= alpha * (1 - 5e-3)


def test_many_small_releases_are_worth_it():
    events = [PureRelease("0.05", model="central")] * 400
    assert adaptive_alpha_upper(events, "1e-6") < 7 < 20


def test_what_has_tails_is_refused():
    shuffled = ShuffledReports(1, reports=10**6, items=10, delta="1e-9", model="central")
    with pytest.raises(ParameterError, match="ShuffledReports"):
        adaptive_alpha_upper([shuffled], "1e-9")
    with pytest.raises(ParameterError, match="delta is 0"):
        adaptive_alpha_upper([PureRelease(1, model="central")], 0)
    assert adaptive_alpha_upper([], "1e-9") == 0
