"""The l2-ball mechanism: sides exactly, unbiased, variances, the smallest ball, and what it gains."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.baselines import DuchiNoise
from scipy import integrate, stats

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts
from barrow.mechanisms.user_level.ball import BallNoise, enclosing_ball, half_sphere_mean
from barrow.mechanisms.user_level.noise import user_level_noise
from barrow.noise.additive.hemisphere import HemispherePoint, rounded_hemisphere
from barrow.noise.source import SeededSource
from barrow.promises import UserLevelRelease
from barrow.queries import function, histogram, mean
from barrow.randomisers import exceeds_exp
from barrow.spaces import Discrete, Euclidean, Line

ABC = Discrete(["a", "b", "c"])


@pytest.mark.parametrize("epsilon", ["0.01", "1", "5", "30"])
def test_the_odds_of_the_two_sides_are_at_most_e_to_the_epsilon(epsilon):
    """Reports have one of two densities on the sphere, whatever the data: their ratio is the whole loss."""
    noise = BallNoise.of(histogram(ABC), epsilon)
    odds = noise.agree / (1 - noise.agree)
    assert not exceeds_exp(odds, Fraction(epsilon))
    assert exceeds_exp(odds * (1 + Fraction(1, 10**10)), Fraction(epsilon))
    assert noise.event == UserLevelRelease(epsilon, model="local")


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 20])
def test_the_mean_of_a_half_sphere_by_quadrature(d):
    if d == 1:
        assert half_sphere_mean(1) == pytest.approx(1.0)
        return
    power = (d - 3) / 2
    top = integrate.quad(lambda t: t * (1 - t * t) ** power, 0, 1)[0]
    below = integrate.quad(lambda t: (1 - t * t) ** power, 0, 1)[0]
    assert half_sphere_mean(d) == pytest.approx(top / below, rel=1e-6)


def test_one_output_is_the_two_point_mechanism():
    noise = BallNoise.of(mean(Line(0, 10, step=5, cells=True)), 1)
    other = DuchiNoise.of(mean(Line(0, 10, step=5, cells=True)), 1)
    assert float(noise.length) == pytest.approx(float(other.stretch * other.radii[0]), rel=1e-9)
    assert noise.agree == pytest.approx(other.agree, rel=1e-9)
    source, draws = SeededSource(2), 2500
    values = [rounded_hemisphere([Fraction(1, 2)], 1, noise.agree, 3, source=source).values[0] for _ in range(draws)]
    assert {round(abs(v), 9) for v in values} == {3.0}
    # The side is right with probability 3/4, and told with probability agree.
    p = 0.75 * float(noise.agree) + 0.25 * (1 - float(noise.agree))
    assert abs(np.mean(np.array(values) > 0) - p) < 5 * math.sqrt(p * (1 - p) / draws)
    assert abs(np.mean(np.array(values) > 0) - (p + 0.08)) > 5 * math.sqrt(p * (1 - p) / draws)


def test_points_are_uniform_on_their_half():
    source, v = SeededSource(3), [Fraction(1), Fraction(2)]
    angles = []
    for _ in range(4000):
        z = HemispherePoint(v, True, source).approximate().values
        angles.append(math.atan2(z[1], z[0]) - math.atan2(2, 1))
    around = (np.array(angles) + math.pi) % (2 * math.pi) - math.pi
    assert np.abs(around).max() < math.pi / 2
    assert stats.kstest(around / math.pi + 0.5, stats.uniform.cdf).pvalue > 1e-4
    far = HemispherePoint(v, False, source).approximate().values
    assert far @ [1, 2] < 0


def test_floats_and_balls_agree():
    source = SeededSource(5)
    for d in (1, 2, 9):
        point = HemispherePoint([Fraction(j, 7) for j in range(1, d + 1)], True, source)
        near = point.approximate()
        for j in range(d):
            assert abs(float(point.ball(j, 120).mid()) - near.values[j]) <= near.error


@pytest.mark.parametrize("d", [2, 5])
def test_reports_are_unbiased_and_as_spread_as_predicted(d):
    query = function(ABC, np.random.default_rng(d).normal(size=(3, d)))
    counts = UserCounts.of_users(ABC, [[0, 1, 1, 2]])
    center = counts.center(query)
    truth = np.array([float(center.exact_entry(j)) for j in range(d)])
    noise, source, draws = BallNoise.of(query, 1), SeededSource(6), 2500
    values = np.array([noise.draw(center, source).values for _ in range(draws)])
    assert (np.abs(values.mean(axis=0) - truth) < 5 * noise.deviation / math.sqrt(draws)).all()
    second = ((values - np.array([float(m) for m in noise.middle])) ** 2).mean(axis=0)
    # The second moment about the middle is the same for every output and all data.
    assert second == pytest.approx(float(noise.length) ** 2 / d, rel=0.09)
    assert (values.std(axis=0) <= noise.deviation * 1.02).all()


def test_an_empty_direction_is_a_fair_one():
    source = SeededSource(7)
    values = np.array([rounded_hemisphere([Fraction(0)] * 2, 1, "0.9", 1, source=source).values for _ in range(1500)])
    assert np.abs(values.mean(axis=0)).max() < 5 * math.sqrt(0.5 / 1500)


def test_the_ball_holds_every_answer_and_is_nearly_the_smallest():
    rng = np.random.default_rng(1)
    for d in (1, 2, 3, 8):
        points = rng.normal(size=(12, d))
        middle, radius = enclosing_ball(function(Discrete([str(i) for i in range(12)]), points))
        reach = np.linalg.norm(points - np.array([float(m) for m in middle]), axis=1)
        assert reach.max() <= float(radius) * (1 + 1e-6)
        # No ball is smaller than half the largest distance, and Jung's theorem bounds it from above.
        widest = max(np.linalg.norm(a - b) for a, b in itertools.combinations(points, 2))
        assert widest / 2 * (1 - 1e-6) <= float(radius) <= widest * math.sqrt(d / (2 * (d + 1))) * 1.02
    _, radius = enclosing_ball(histogram(Discrete([str(i) for i in range(20)])))
    assert float(radius) == pytest.approx(math.sqrt(1 - 1 / 20), rel=1e-3)
    _, radius = enclosing_ball(mean(Euclidean([0, 0], [4, 3], step=1)))
    assert float(radius) == pytest.approx(math.hypot(3, 2) / 2, rel=5e-3)


def test_what_it_gains_over_the_hypercube_and_over_additive_noise():
    rng, gains = np.random.default_rng(4), []
    for d in (2, 4, 8):
        query = function(Discrete([str(i) for i in range(12)]), rng.normal(size=(12, d)))
        ball = BallNoise.of(query, 1).deviation
        gains.append(float(DuchiNoise.of(query, 1).deviations.max()) / ball)
        assert user_level_noise(query, 1, model="local").deviation > 1.05 * ball
    assert min(gains) > 1.1
    assert max(gains) > 1.5


def test_errors():
    with pytest.raises(ParameterError, match="too small"):
        BallNoise.of(histogram(ABC), 1e-15)
    with pytest.raises(ParameterError, match="no ball"):
        BallNoise.of(histogram(Discrete([str(i) for i in range(2100)])), 1)
    with pytest.raises(ParameterError, match="agree is 2"):
        rounded_hemisphere([Fraction(1)], 1, 2, 1)


def test_ball_noise():
    noise = BallNoise.of(mean(Line(0, 10, step=5, cells=True)), 1)
    assert round(float(noise.agree), 6) == 0.731059
    assert round(float(noise.length / noise.radius), 4) == 2.164


def test_ball_noise_mean_half_width():
    assert round(BallNoise.of(mean(Line(0, 10, step=5, cells=True)), 1).mean_half_width(10000), 4) == 0.106


def test_half_sphere_mean():
    assert [round(half_sphere_mean(d), 6) for d in (1, 2, 3)] == [1.0, 0.63662, 0.5]


def test_enclosing_ball():
    _middle, radius = enclosing_ball(histogram(Discrete(["a", "b", "c", "d"])))
    assert round(float(radius), 3) == 0.866
