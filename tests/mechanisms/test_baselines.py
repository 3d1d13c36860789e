"""User-level baselines: sensitivities, the hypercube mechanism exactly, and its error."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts, linear_noise
from barrow.mechanisms.baselines import (
    DuchiNoise,
    duchi_release,
    user_level_candidates,
    user_level_noise,
    user_level_release,
)
from barrow.mechanisms.baselines.duchi import half_cube
from barrow.noise.simulation import SeededSource
from barrow.privacy import UserLevelRelease
from barrow.queries import density, function, histogram, mean
from barrow.spaces import Discrete, Line

ABC = Discrete(["a", "b", "c"])
LINE = Line(0, 10, step=1)


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
    found = [user_level_release(query, counts, 1, noise="laplace", source=source).values - truth for _ in range(1000)]
    measured = np.abs(found).mean() / (query.range_upper(1) / 10)
    assert abs(measured - 1.0) < 0.025  # five deviations of 40,000 draws; the paper's half of it is far off
    assert abs(measured / 1.05 - 1) > 0.025


def corner_law(corner, agree):
    """Exact probabilities of every z given v, by enumeration."""
    corners = list(itertools.product((-1, 1), repeat=len(corner)))
    near = {z for z in corners if sum(a * b for a, b in zip(z, corner, strict=True)) >= 0}
    far = len(corners) - len(near)
    return {z: agree / len(near) if z in near else (1 - agree) / far for z in corners}


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_hypercube_mechanism_by_enumeration(d):
    query = function(ABC, np.random.default_rng(d).normal(size=(3, d)))
    for epsilon in ("0.1", 1, 5):
        noise = DuchiNoise.of(query, epsilon)
        laws = [corner_law(v, noise.agree) for v in itertools.product((-1, 1), repeat=d)]
        ratio = max(a[z] / b[z] for a in laws for b in laws for z in a)
        assert math.log(float(ratio)) <= float(Fraction(epsilon)) * (1 + 1e-12)
        assert math.log(float(ratio)) >= float(Fraction(epsilon)) * (1 - 1e-9)
        v = (1,) * d
        law = corner_law(v, noise.agree)
        for j in range(d):
            assert sum(p * z[j] for z, p in law.items()) * noise.stretch == 1  # unbiased, exactly


@pytest.mark.parametrize("d", [1, 2])
def test_sampled_corners_follow_the_enumerated_law(d):
    query = function(ABC, [[0] * d, [1] * d, [2] * d])
    counts, source, draws = UserCounts.of_users(ABC, [[2]]), SeededSource(9), 4000
    seen = [tuple(duchi_release(query, counts, 1, source=source)[0].tolist()) for _ in range(draws)]
    law = corner_law((1,) * d, DuchiNoise.of(query, 1).agree)
    for z, p in law.items():
        assert abs(seen.count(z) / draws - p) < 5.5 * math.sqrt(p * (1 - p) / draws)


def test_ties_on_both_sides_would_break_the_promise():
    """Power: the usual statement for an even number of outputs fails the same enumeration."""
    agree = math.exp(1) / (1 + math.exp(1))
    near, far = agree / 3, (1 - agree) / 3
    assert math.log((near + far) / far) > 1.2


def test_half_cube_mean_is_that_of_the_enumeration():
    for d in range(1, 9):
        half = [z for z in itertools.product((-1, 1), repeat=d) if sum(z) >= 0]
        assert half_cube(d) == (len(half), Fraction(sum(z[0] for z in half), len(half)))


def test_reports_are_unbiased_and_as_spread_as_predicted():
    query = function(ABC, [[0, 0, 1], [1, 5, 1], [3, 2, 0]])
    counts = UserCounts.of_users(ABC, [[0, 1, 2, 2]])
    center = counts.center(query)
    truth = np.array([float(center.exact_entry(j)) for j in range(3)])
    source = SeededSource(6)
    values = []
    for _ in range(6000):
        corner, noise = duchi_release(query, counts, 1, source=source)
        values.append(noise.values(corner))
    values = np.array(values)
    assert (np.abs(values.mean(axis=0) - truth) < 5 * noise.deviations / math.sqrt(6000)).all()
    assert (values.std(axis=0) <= noise.deviations * 1.0001).all()
    assert (values.std(axis=0) >= noise.deviations * 0.8).all()


def test_hypercube_beats_laplace_locally_at_small_epsilon():
    query = mean(LINE)
    duchi = DuchiNoise.of(query, 1).deviations[0]
    laplace = user_level_noise(query, 1, model="local").deviation
    assert duchi < laplace


def test_errors():
    many = UserCounts.of_users(ABC, [[0], [1]])
    with pytest.raises(ParameterError, match="those of 2 users"):
        duchi_release(histogram(ABC), many, 1)
    with pytest.raises(ParameterError, match="each user answers alone"):
        user_level_release(histogram(ABC), many, 1, model="local")
    with pytest.raises(ParameterError, match="epsilon is 0"):
        user_level_noise(histogram(ABC), 0, users=3)
    with pytest.raises(ParameterError, match="too small"):
        DuchiNoise.of(histogram(ABC), 1e-13)
