"""Composition over releases against exact sums, two-sided grids and the additive bound."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.accounting import compose, price
from barrow.accounting.pricing import gaussian_alpha_upper
from barrow.accounting.releases import (
    compose_losses,
    composed_delta_upper,
    composed_epsilon_upper,
    laplace_losses,
    response_losses,
)
from barrow.errors import ParameterError
from barrow.numerics.gdp import gdp_delta_upper_array
from barrow.promises import (
    DiscreteEmd,
    Emd,
    Event,
    GaussianNoise,
    KNormNoise,
    PureRelease,
    SampledItems,
    ShuffledReports,
    UserLevel,
    UserLevelRelease,
    event_from_json,
)
from tests.accounting.routes import laplace_pair_delta

LAPLACE = KNormNoise("0.2", model="central")
RESPONSE = PureRelease("0.2", model="central")
GAUSSIAN = GaussianNoise(1, delta="1e-12", model="central")
SHUFFLED = ShuffledReports(3, reports=10**8, items=1000, delta="1e-12", model="central")
SAMPLED = SampledItems(samples=1000, radius="0.008", delta="1e-9", inner=PureRelease(20, model="central", bounded=True))


def response_delta(k, eps, at):
    """The exact delta of k randomised-response pairs (Kairouz-Oh-Viswanath)."""
    p = math.exp(eps) / (1 + math.exp(eps))
    terms = (
        math.comb(k, j) * (p**j * (1 - p) ** (k - j) - math.exp(at) * (1 - p) ** j * p ** (k - j)) for j in range(k + 1)
    )
    return sum(max(t, 0.0) for t in terms)


@pytest.mark.parametrize(
    ("k", "eps", "at"), [(1, 1.0, 0.3), (3, 0.5, 0.7), (20, 0.2, 2.0), (20, 0.2, 3.5), (60, 0.1, 3.0)]
)
def test_response_composition_against_the_exact_sum(k, eps, at):
    exact = response_delta(k, eps, at)
    result = composed_delta_upper(compose_losses([], [eps] * k), 0.0, at)
    assert exact <= result * (1 + 1e-12)
    assert result <= exact * 1.02 + 1e-15


@pytest.mark.parametrize(
    ("epsilons", "at"), [([1.0], 0.3), ([0.7, 0.7], 0.5), ([0.3, 0.8, 0.5], 0.9), ([0.2] * 20, 3.0)]
)
def test_laplace_composition_between_losses_rounded_down_and_up(epsilons, at):
    """A second route: losses rounded down to a fine grid bound delta from below, rounded up from above."""
    step = 0.0005
    sides = []
    for side in (0, 1):
        law = np.ones(1)
        first = 0
        for eps in epsilons:
            n = round(eps / step)
            cells = np.arange(-n, n)
            mass = 0.5 * (np.exp(((cells + 1) * step - eps) / 2) - np.exp((cells * step - eps) / 2))
            part = np.zeros(2 * n + 1)
            part[side : side + 2 * n] += mass
            part[-1] += 0.5
            part[0] += 0.5 * math.exp(-eps)
            law, first = np.convolve(law, part), first - n
        losses = step * (first + np.arange(law.size))
        sides.append(float(np.sum(law * np.maximum(0, -np.expm1(at - losses)))))
    result = composed_delta_upper(compose_losses(epsilons, []), 0.0, at)
    assert sides[0] <= result * (1 + 1e-12)
    assert result <= sides[1] * 1.005


def test_reference_epsilons_of_twenty_releases():
    # 20 releases at 0.2, delta = 1e-6: 3.67 for Laplace, 3.83 for randomised response.
    assert composed_epsilon_upper(compose_losses([0.2] * 20, []), 0.0, 1e-6, 4.0) == pytest.approx(3.67, abs=5e-3)
    assert composed_epsilon_upper(compose_losses([], [0.2] * 20), 0.0, 1e-6, 4.0) == pytest.approx(3.83, abs=5e-3)


@settings(deadline=None, max_examples=60)
@given(st.floats(1e-9, 5), st.floats(0.01, 3))
def test_grids_are_pairs_of_distributions(eps, cells):
    for make in (laplace_losses, response_losses):
        grid = make(eps, eps / (7 * cells))
        assert float(grid.masses.sum()) == pytest.approx(1, abs=1e-12)
        assert float(np.sum(grid.masses * np.exp(-grid.losses))) <= 1 + 1e-12
        for share in (0.0, 0.31, 0.77):
            response = -math.expm1((share - 1) * eps) / (1 + math.exp(-eps))
            truth = laplace_pair_delta(eps, share * eps) if make is laplace_losses else response
            assert truth <= composed_delta_upper(grid, 0.0, share * eps) * (1 + 1e-9)


def test_gaussian_with_response_against_the_exact_mixture():
    mu, eps, at = 1.3, 0.8, 2.5
    p = math.exp(eps) / (1 + math.exp(eps))
    exact = float(np.dot([p, 1 - p], gdp_delta_upper_array(mu, np.array([at - eps, at + eps]))))
    result = composed_delta_upper(compose_losses([], [eps]), mu, at)
    assert exact <= result * (1 + 1e-9)
    assert result <= exact * 1.001


def test_knorm_noise_is_dominated_by_the_laplace_pair():
    """Densities e^-|x| in the plane with the Euclidean, maximum and 1-norm, integrated on a grid."""
    axis = np.linspace(-22, 22, 881)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    cell = (axis[1] - axis[0]) ** 2
    norms = {
        "two": lambda a, b: np.hypot(a, b),
        "max": lambda a, b: np.maximum(np.abs(a), np.abs(b)),
        "one": lambda a, b: np.abs(a) + np.abs(b),
    }
    for norm in norms.values():
        here = np.exp(-norm(x, y))
        total = here.sum() * cell
        for direction in ((1.0, 0.0), (0.6, 0.8)):
            size = 1.5 / norm(*direction)
            there = np.exp(-norm(x - size * direction[0], y - size * direction[1]))
            for at in (0.0, 0.6, 1.2):
                exact = np.maximum(here - math.exp(at) * there, 0).sum() * cell / total
                assert exact <= laplace_pair_delta(1.5, at) * (1 + 2e-3)


def test_alpha_of_lists():
    assert 3.67 < compose([LAPLACE] * 20, "1e-6").definition.alpha < 3.70
    assert 3.83 < compose([RESPONSE] * 20, "1e-6").definition.alpha < 3.86
    four = compose([GAUSSIAN] * 4, "1e-12").definition
    assert float(four.alpha) == pytest.approx(gaussian_alpha_upper(2, "1e-12"), rel=1e-9)
    assert compose([LAPLACE] * 20, 0).definition == Emd(4, 0, model="central")


@settings(deadline=None, max_examples=8)
@given(
    st.lists(
        st.sampled_from(
            [
                LAPLACE,
                RESPONSE,
                GAUSSIAN,
                SHUFFLED,
                KNormNoise(2, model="local", range_ratio="0.1"),
                GaussianNoise("0.3", delta="1e-12", model="local", range_ratio="0.5"),
                PureRelease("1.5", model="central", bounded=True),
            ]
        ),
        min_size=1,
        max_size=5,
    )
)
def test_composition_lies_between_its_parts_and_their_sum(events):
    delta = Fraction(1, 10**9)
    whole = compose(events, delta).definition
    parts = [price(e).definition for e in events]
    assert sum(p.delta for p in parts) <= delta
    assert whole.alpha <= sum(p.alpha for p in parts)
    # More releases cost more: adding one never lowers alpha (to the looseness of the cells).
    assert compose([*events, RESPONSE], delta).definition.alpha * Fraction(101, 100) >= whole.alpha
    assert whole.bounded is any(e.bounded if isinstance(e, PureRelease) else e is SHUFFLED for e in events)


def test_every_w_of_a_numeric_composition():
    """At random w the composed delta at alpha w is within the total, by a finer and independent evaluation."""
    events = [KNormNoise("0.9", model="central", range_ratio="0.3"), RESPONSE, RESPONSE, GAUSSIAN]
    alpha = float(compose(events, "1e-9").definition.alpha)
    rng = np.random.default_rng(3)
    for w in np.concatenate([10.0 ** rng.uniform(-8, 0, 25), [1.0, 0.3]]):
        laplace = [0.9 * min(w, 0.3)]
        p = math.exp(0.2 * w) / (1 + math.exp(0.2 * w))
        # Exact in the responses and the Gaussian; the Laplace pair on 4000 cells, losses rounded down.
        cells = np.linspace(-laplace[0], laplace[0], 4001)
        mass = np.diff(0.5 * np.exp((cells - laplace[0]) / 2))
        losses = np.concatenate([cells[:-1], [laplace[0], -laplace[0]]])
        masses = np.concatenate([mass, [0.5, 0.5 * math.exp(-laplace[0])]])
        total = 0.0
        for loss, weight in ((0.4, p * p), (0.0, 2 * p * (1 - p)), (-0.4, (1 - p) ** 2)):
            total += weight * float(np.dot(masses, gdp_delta_upper_array(w, alpha * w - losses - loss * w)))
        assert total <= 1e-9


def test_shuffled_releases_add_in_quadrature_and_an_old_list_is_priced_again():
    events = [SHUFFLED] * 3
    stored = [e.to_json() for e in events]
    again: list[Event] = [event_from_json(data) for data in stored]
    guarantee = compose(again, "3e-12")
    assert guarantee.method == "composition_numeric"
    one = float(price(SHUFFLED).definition.alpha)
    assert math.sqrt(3) * one * 0.9 < float(guarantee.definition.alpha) < 1.85 * one
    assert guarantee.worst_case.epsilon < guarantee.definition.alpha
    assert guarantee == compose(events, "3e-12")


def test_lists_with_user_level_or_sampled_releases():
    user = compose([LAPLACE, UserLevelRelease(2, delta="1e-9", model="central")], "1e-8").definition
    assert isinstance(user, UserLevel)
    assert float(user.epsilon) <= 2.2
    discrete = compose([SAMPLED, SAMPLED, LAPLACE], "2e-9").definition
    assert isinstance(discrete, DiscreteEmd)
    assert discrete.radius == Fraction("0.008")
    single = price(SAMPLED).definition
    assert single.epsilon < discrete.epsilon <= 2 * single.epsilon + Fraction("0.0016")
    mixed = compose([SAMPLED, UserLevelRelease(1, model="central")], "1e-9").definition
    assert isinstance(mixed, UserLevel)
    assert mixed.epsilon <= 21
    event = SampledItems(samples=1000, radius="0.008", delta="1e-8", inner=GAUSSIAN)
    many = compose([event] * 6, "6e-8").definition
    alone = price(event).definition
    assert alone.epsilon < many.epsilon <= 6 * alone.epsilon
    far = compose([SampledItems(samples=20, radius="0.5", delta="1e-8", inner=GAUSSIAN)] * 6, "6e-8")
    assert far.method == "composition_numeric"


def test_a_single_event_is_its_price():
    for event in (LAPLACE, GAUSSIAN, SHUFFLED, SAMPLED, RESPONSE, UserLevelRelease(1, delta="1e-9", model="local")):
        delta = getattr(event, "delta", Fraction(0))
        assert compose([event], delta) == price(event)


@pytest.mark.parametrize(
    ("events", "delta", "text"),
    [
        ([], "1e-9", "no events"),
        ([GAUSSIAN, LAPLACE], 0, "need more"),
        ([UserLevelRelease(1, delta="1e-6", model="central"), LAPLACE], "1e-9", "need more"),
        ([Event()], "1e-9", "has no price"),
    ],
)
def test_bad_lists_teach(events, delta, text):
    with pytest.raises(ParameterError, match=text):
        compose(events, delta)


def test_loss_grid():
    grid = compose_losses([1.0], [])
    assert 0.632 < float(np.sum(grid.masses * np.maximum(0, 1 - np.exp(0 - grid.losses)))) + 0.239 < 0.64


def test_response_losses():
    grid = response_losses(1.0, 0.5)
    assert round(float(grid.masses.sum()), 12) == 1.0


def test_laplace_losses():
    grid = laplace_losses(1.0, 0.125)
    assert round(float(grid.masses.sum()), 12) == 1.0


def test_compose_losses():
    assert compose_losses([], []).masses.tolist() == [1.0]


def test_composed_delta_upper():
    assert composed_delta_upper(compose_losses([], []), 2.99099946767, 25.0) < 1.001e-12


def test_composed_epsilon_upper():
    assert 3.6 < composed_epsilon_upper(compose_losses([0.2] * 20, []), 0.0, 1e-06, 4.0) < 3.7
