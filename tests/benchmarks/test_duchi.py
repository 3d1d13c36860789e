"""The hypercube mechanism exactly, by enumeration, and its error: a second route beside the l2 ball."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.baselines import DuchiNoise, duchi_release
from benchmarks.baselines.duchi import half_cube

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts
from barrow.mechanisms.user_level.noise import user_level_noise
from barrow.noise.source import SeededSource
from barrow.queries import function, histogram, mean
from barrow.spaces import Discrete, Line

ABC = Discrete(["a", "b", "c"])
LINE = Line(0, 10, step=1, cells=True)


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
    with pytest.raises(ParameterError, match="too small"):
        DuchiNoise.of(histogram(ABC), 1e-13)
