"""What internal names do, each by one known answer."""

from __future__ import annotations

import math

import numpy as np

from barrow.accounting.blanket import (
    ResponseRandomiser,
    blanket_tail_profile,
    class_rate_upper,
    first_order,
    largest_fit,
    search_alpha0,
    with_entries,
)
from barrow.accounting.calibrate import calibrate_shuffle, shuffle_alpha0_guess
from barrow.accounting.excess import log_excess_upper, rate_of_excess
from barrow.accounting.flow import tail_profile
from barrow.accounting.inputs import alpha0_up, alpha_down, least_down, open_delta, reports_and_items
from barrow.accounting.losses import (
    compose_losses,
    composed_delta_upper,
    composed_epsilon_upper,
    laplace_losses,
    response_losses,
)
from barrow.accounting.matrix_blanket import (
    MatrixFamily,
    channel_profile,
    channel_within,
    dominating_distribution,
    first_order_matrix,
)
from barrow.accounting.one_step import mean_excess_upper, sign_excess_upper
from barrow.accounting.profile import SQRT_TWO_PI, inflation_upper, log_mean_excess_upper, rate_from_lines, rate_upper
from barrow.numerics.gdp import mills
from barrow.privacy.events import ItemChannel, KNormNoise


def test_with_entries():
    assert 0 < with_entries(0.5) - 0.5 < 1e-10


def test_class_rate_upper():
    rows = ResponseRandomiser(10).changes(1.0)[0][1]
    limit = math.sqrt(float(np.sum(rows[:, 0] * (rows[:, 1] - rows[:, 2]) ** 2 * rows[:, 3])) / 1000000.0)
    assert 1.0 < class_rate_upper(rows, 1000000.0, 7.0) / limit < 1.01


def test_blanket_tail_profile():
    profile = blanket_tail_profile(ResponseRandomiser(10), 1.0, reports=10**6, items=100, tail=1e-12)
    assert profile.head_upper <= 1e-12


def test_first_order():
    fits = first_order(25.0, ResponseRandomiser(10), 10**6, 1000, 1e-09)
    assert fits(0.03)
    assert not fits(10.0)


def test_largest_fit():
    assert 1.9 < largest_fit(lambda alpha0: alpha0 < 2.0, 0.1, 0.01) < 2.0


def test_search_alpha0():
    assert round(search_alpha0(lambda a: a * a, lambda a: a < 2.1, 0.1, 4.0), 2) == 2.0


def test_shuffle_alpha0_guess():
    guess = shuffle_alpha0_guess(25, "1e-9", reports=10**6, items=1000, randomiser=ResponseRandomiser(10))
    found = calibrate_shuffle(25, "1e-9", reports=10**6, items=1000, randomiser=ResponseRandomiser(10))
    assert found.alpha0 <= guess < 1.1 * found.alpha0


def test_log_excess_upper():
    found = log_excess_upper(np.array([0.25, 0.25]), np.array([1.0, -1.0]), 0.0, 10000.0)
    assert 1.0 < math.exp(found) / math.sqrt(0.5 / (2 * math.pi * 10000.0)) < 1.001


def test_rate_of_excess():
    def call(c):
        return math.log(math.exp(-c * c / 2) * (1 - c * float(mills(np.array([c]))[0])) / SQRT_TWO_PI)

    assert 2.0 < rate_of_excess(call, 7.0, 7.0, lines=200) < 2.01


def test_tail_profile():
    profile = tail_profile(4, reports=10**8, items=1000, tail=1e-15, clones="strong", least_distance=None)
    assert profile.head_upper <= 1e-15


def test_the_guarantee_of_knorm_noise():
    assert str(KNormNoise(alpha=25, model="local", range_ratio="1/5").guarantee()) == (
        "(α=25, δ=0)-unbounded EMD-DP (local) by knorm [lemma:lin]; "
        "worst case (ε=5, δ=0)-unbounded user-level DP (local)"
    )


def test_reports_and_items():
    assert reports_and_items(10**8, 1000) == (100000000, 1000)


def test_open_delta():
    assert open_delta("1e-12", "flow") <= 1e-12


def test_alpha0_up():
    assert alpha0_up("4.3") >= 4.3


def test_alpha_down():
    assert alpha_down(25) == 25.0


def test_least_down():
    assert least_down(None) == 0.0
    assert least_down("1/4") == 0.25


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


def test_dominating_distribution():
    mass, points = dominating_distribution(np.array([[1.0, -1.0], [0.5, -0.5]]), np.full((2, 2), 0.25), 0.0)
    assert round(float(mass @ points**2), 6) == 0.5
    assert abs(mass @ points) < 1e-12


def test_first_order_matrix():
    def binary(alpha0):
        p = 1 / (1 + np.exp(-alpha0))
        return [[p, 1 - p], [1 - p, p]]

    fits = first_order_matrix(1.0, MatrixFamily(binary, [[0, 1], [1, 0]]), 10**7, 10, 1e-09)
    assert fits(0.1)
    assert not fits(20.0)


def test_channel_profile():
    flip = ItemChannel([[3, 1], [1, 3]], [1.0])
    assert channel_profile(flip, reports=10**6, items=10, head=1e-10, floor=1e-10).mu_upper(1.0) < 0.02


def test_channel_within():
    flip = ItemChannel([[3, 1], [1, 3]], [1.0])
    assert channel_within(flip, reports=10**6, items=10, delta="1e-9").holds(0.2, 1e-09)


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
