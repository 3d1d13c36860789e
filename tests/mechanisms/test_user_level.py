"""Additive noise under user-level DP: sensitivities, scales, events."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts, linear_noise
from barrow.mechanisms.user_level.noise import user_level_candidates, user_level_noise
from barrow.noise.source import SeededSource
from barrow.promises import UserLevelRelease
from barrow.queries import density, function, histogram, mean
from barrow.spaces import Discrete, Line

ABC = Discrete(["a", "b", "c"])
LINE = Line(0, 10, step=1, cells=True)


def test_replacing_one_user_moves_a_histogram_by_two_over_n():
    noise = user_level_noise(histogram(ABC), 1, noise="laplace", users=1000)
    assert float(noise.scale) == pytest.approx(2 / 1000, rel=1e-9)
    assert noise.event == UserLevelRelease(1, model="central")
    before = UserCounts.of_users(ABC, [[0]] * 1000).center(histogram(ABC))
    after = UserCounts.of_users(ABC, [[0]] * 999 + [[1, 1, 1]]).center(histogram(ABC))
    moved = sum(abs(before.exact_entry(j) - after.exact_entry(j)) for j in range(3))
    assert moved == Fraction(2, 1000)


def test_the_central_baseline_never_has_less_noise_than_the_change_it_hides():
    rng = np.random.default_rng(1)
    query = function(LINE, rng.normal(size=(10, 3)))
    for p, order in ((1, 1), (2, 2), ("inf", np.inf)):
        noise = user_level_noise(query, 2, noise=p, users=7)
        table = query.table.integers * float(query.step)
        far = max(np.linalg.norm(a - b, order) for a, b in itertools.combinations(table, 2))
        assert float(noise.scale) == pytest.approx(far / (2 * 7), rel=1e-9)


def test_at_equal_numbers_emd_noise_is_never_smaller_and_for_fine_densities_alpha_buys_more():
    query = density(Line(0, 1, step=1 / 500), bandwidth="0.02")
    assert linear_noise(query, 1, users=10).scale >= user_level_noise(query, 1, users=10).scale


def test_gaussian_baseline_uses_the_two_norm_and_states_its_delta():
    query = histogram(ABC)
    noise = user_level_noise(query, 1, "1e-6", noise="gaussian", model="local")
    assert noise.event == UserLevelRelease(1, delta="1e-6", model="local")
    assert noise.sensitivity_upper == pytest.approx(math.sqrt(2))
    pure = user_level_noise(query, 1, "1e-6", noise="laplace", model="local")
    assert pure.event.delta == 0
    widths = [c.half_width for c in user_level_candidates(query, 1, "1e-6", users=9)]
    assert widths == sorted(widths)


def test_release_has_the_right_scale():
    counts = UserCounts.of_users(ABC, [[0]] + [[1]] * 9)
    source, query = SeededSource(5), function(ABC, np.random.default_rng(0).normal(size=(3, 40)))
    truth = np.array([float(counts.center(query).exact_entry(j)) for j in range(40)])
    noise = user_level_noise(query, 1, noise="laplace", users=10)
    results = [noise.draw(counts.center(query), source).values - truth for _ in range(1000)]
    measured = np.abs(results).mean() / (query.range_upper(1) / 10)
    assert abs(measured - 1.0) < 0.025  # five deviations of 40,000 draws; the paper's half of it is far off
    assert abs(measured / 1.05 - 1) > 0.025


def test_errors():
    with pytest.raises(ParameterError, match="epsilon is 0"):
        user_level_noise(histogram(ABC), 0, users=3)


def test_user_level_candidates():
    query = histogram(Discrete(["a", "b", "c"]))
    best = user_level_candidates(query, 1, noise="laplace", users=1000)[0]
    assert best.name == "Laplace"
    assert round(1000 * float(best.scale), 9) == 2.0


def test_user_level_noise():
    assert round(float(user_level_noise(mean(Line(0, 10, step=5, cells=True)), 1, users=100).scale), 9) == 0.05
