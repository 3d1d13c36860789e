"""The norm of the query's polytope: containment and gauge exactly, the sampler with power, moments by triangulation."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, spatial, stats
from scipy.special import gammaincc

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts
from barrow.mechanisms.additive import NoiseDistribution
from barrow.mechanisms.user_level.noise import (
    _gamma_tail,
    hull_corners,
    query_polytope,
    user_level_candidates,
    user_level_noise,
)
from barrow.noise import Center
from barrow.noise.additive.polytope import Polytope, PolytopeNoise, rounded_polytope
from barrow.noise.source import SeededSource
from barrow.promises import UserLevelRelease
from barrow.queries import function, histogram, mean
from barrow.spaces import Discrete, Euclidean

HEXAGON = Polytope.of([[1, 0], [0, 1], [1, -1]])


def table_of(query):
    whole = query.table.integers
    return (whole.toarray() if query.table.sparse else whole).tolist()


def gauge(polytope, z):
    return max(abs(sum((a * x for a, x in zip(row, z, strict=True)), Fraction(0))) for row in polytope.facets)


def random_query(seed, items, outputs):
    points = np.random.default_rng(seed).normal(size=(items, outputs))
    return function(Discrete([str(i) for i in range(items)]), points)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(4, 9), st.integers(2, 3))
def test_the_polytope_holds_every_difference_exactly_and_touches_some(seed, items, outputs):
    query = random_query(seed, items, outputs)
    polytope, unit = query_polytope(query)
    touched = [Fraction(0)] * len(polytope.facets)
    for a, b in itertools.combinations(table_of(query), 2):
        z = [(x - y) * query.step / unit for x, y in zip(a, b, strict=True)]
        assert gauge(polytope, z) <= 1
        for i, row in enumerate(polytope.facets):
            touched[i] = max(touched[i], abs(sum(p * q for p, q in zip(row, z, strict=True))))
    assert min(touched) > 1 - Fraction(1, 10**9)


@pytest.mark.parametrize("outputs", [2, 3, 4])
def test_the_gauge_is_that_of_a_linear_program(outputs):
    """Second route: ||z||_K is the least sum of weights of differences that add up to z."""
    query = random_query(5, 7, outputs)
    polytope, unit = query_polytope(query)
    points = np.array(table_of(query), dtype=float) * float(query.step) / float(unit)
    apart = np.array([a - b for a, b in itertools.permutations(points, 2)])
    for z in np.random.default_rng(1).normal(size=(6, outputs)):
        least = optimize.linprog(np.ones(len(apart)), A_eq=apart.T, b_eq=z).fun
        assert float(gauge(polytope, [Fraction(x) for x in z.tolist()])) == pytest.approx(least, rel=1e-7)


def draws(polytope, count, seed=3):
    source = SeededSource(seed)
    return np.array([PolytopeNoise(polytope, source).approximate().values for _ in range(count)])


@pytest.mark.parametrize("polytope", [HEXAGON, query_polytope(random_query(2, 8, 3))[0]], ids=["hexagon", "random"])
def test_the_norm_of_the_noise_is_a_gamma_variable_and_another_scale_is_rejected(polytope):
    d = polytope.dimension
    rows = np.array([[float(a) for a in row] for row in polytope.facets])
    sizes = np.abs(draws(polytope, 4000) @ rows.T).max(axis=1)
    assert stats.kstest(sizes, stats.gamma(d).cdf).pvalue > 1e-4
    assert stats.kstest(sizes * 1.1, stats.gamma(d).cdf).pvalue < 1e-4


def test_second_moments_are_those_of_a_triangulation():
    """E zz' = (d + 1)(d + 2) E YY', Y uniform in K: exactly, over the simplices of its corners."""
    polytope = query_polytope(random_query(2, 8, 3))[0]
    rows = np.array([[float(a) for a in row] for row in polytope.facets])
    both = np.concatenate([rows, -rows])
    corners = spatial.HalfspaceIntersection(np.c_[both, -np.ones(len(both))], np.zeros(3)).intersections
    volume, moment = 0.0, np.zeros((3, 3))
    for simplex in spatial.Delaunay(corners).simplices:
        p = corners[simplex]
        v = abs(np.linalg.det(p[1:] - p[0]))
        total = p.sum(axis=0)
        moment += v * (p.T @ p + np.outer(total, total)) / 20.0
        volume += v
    exact = 20.0 * moment / volume
    measured = np.cov(draws(polytope, 6000, seed=5).T)
    assert np.abs(measured - exact).max() < 0.13 * np.diag(exact).max()
    query = random_query(2, 8, 3)
    built = user_level_candidates(query, 1, noise="polytope", users=10)[0]
    known = float(built.scale) * np.sqrt(np.diag(exact))
    assert built.deviations == pytest.approx(known, rel=0.02)


def test_a_box_is_the_l_infinity_norm():
    square = mean(Euclidean([0, 0], [1, 1], step=0.25))
    built = user_level_candidates(square, 1, noise="polytope", users=10)[0]
    other = user_level_candidates(square, 1, noise="linf", users=10)[0]
    assert built.half_width == pytest.approx(other.half_width, rel=0.02)
    assert built.half_width >= other.half_width * 0.999
    assert built.simultaneous_half_width == pytest.approx(other.simultaneous_half_width, rel=0.02)
    one = np.abs(draws(built.polytope, 6000)[:, 0]) * float(built.scale) / float(other.scale)
    law = NoiseDistribution(math.inf, 2)
    assert stats.kstest(one, np.vectorize(lambda t: 1.0 - law.tail(t))).pvalue > 1e-4


def test_half_widths_cover_and_are_not_too_wide():
    query = random_query(8, 9, 3)
    built = user_level_candidates(query, 1, noise="polytope", users=50)[0]
    source, zero = SeededSource(4), Center.of([0, 0, 0])
    off = np.abs([built.draw(zero, source).values for _ in range(2500)])
    share = (off > built.half_widths).mean(axis=0)
    assert (share < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 2500)).all()
    assert (share > 0.05 - 5 * math.sqrt(0.05 * 0.95 / 2500)).all()
    assert (off.max(axis=1) > built.simultaneous_half_width).mean() < 0.065


def test_it_is_more_accurate_than_norms_of_the_axes():
    for seed, outputs in ((1, 3), (2, 4)):
        result = {c.name: c.half_width for c in user_level_candidates(random_query(seed, 10, outputs), 1, users=100)}
        assert result.pop("query K-norm") < min(result.values()) / 1.1


def test_privacy_of_the_mean_over_users_on_a_tiny_space_exactly():
    """All pairs of users with up to three items: no change moves the mean by more than epsilon scales."""
    query = random_query(3, 4, 2)
    built = user_level_candidates(query, "1/2", noise="polytope", users=2)[0]
    assert built.event == UserLevelRelease("1/2", model="central")
    users = [s for m in (1, 2, 3) for s in itertools.combinations_with_replacement(range(4), m)]
    centers = [UserCounts.of_users(query.space, [[0], list(s)]).center(query) for s in users]
    values = [[c.exact_entry(j) for j in range(2)] for c in centers]
    losses = [
        gauge(built.polytope, [(x - y) / built.scale for x, y in zip(a, b, strict=True)])
        for a, b in itertools.combinations(values, 2)
    ]
    assert len(losses) > 500
    assert max(losses) <= Fraction(1, 2)
    assert max(losses) > Fraction(1, 2) * (1 - Fraction(1, 10**8))


def test_floats_and_balls_agree_and_draws_are_rounded_exactly():
    source = SeededSource(9)
    for _ in range(50):
        noise = PolytopeNoise(HEXAGON, source)
        near = noise.approximate()
        for j in range(2):
            assert abs(float(noise.ball(j, 120).mid()) - near.values[j]) <= near.error
    query, counts = random_query(1, 5, 3), UserCounts.of_users(Discrete(list("01234")), [[0], [1, 2]])
    assert user_level_noise(query, 1, users=2).draw(counts.center(query)).private
    assert len(rounded_polytope([0, "1/3"], 1, HEXAGON, grid="1/8").values) == 2


def test_flat_and_large_queries_have_none():
    assert query_polytope(histogram(Discrete(list("abcd")))) is None  # its answers sum to 1
    assert query_polytope(random_query(1, 9, 6)) is None
    assert query_polytope(mean(Euclidean([0, 0], [1, 3], step=1))) is None
    with pytest.raises(ParameterError, match="span no polytope"):
        user_level_candidates(histogram(Discrete(list("abcd"))), 1, noise="polytope", users=3)
    with pytest.raises(ParameterError, match="do not bound"):
        Polytope.of([[1, 1], [2, 2]])
    with pytest.raises(ParameterError, match="2 dimensions and the center 3"):
        rounded_polytope([0, 0, 0], 1, HEXAGON)


def test_many_corners_are_held_too():
    points = np.random.default_rng(1).normal(size=(300, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    query = function(Discrete([str(i) for i in range(300)]), points)
    polytope, unit = query_polytope(query)
    rows = np.array([[float(a) for a in row] for row in polytope.facets])
    apart = (points[:, None] - points[None]).reshape(-1, 3) / float(unit)
    assert np.abs(apart @ rows.T).max() <= 1 + 1e-6


@pytest.mark.parametrize("shape", [1, 2, 4, 6])
def test_the_tail_of_gamma_is_the_one_of_scipy(shape):
    x = np.concatenate([[0.0], np.geomspace(1e-6, 700.0, 60)])
    np.testing.assert_allclose(_gamma_tail(shape, x), gammaincc(shape, x), rtol=1e-11)


def test_query_polytope():
    result, unit = query_polytope(mean(Euclidean([0, 0], [2, 4], step=1)))
    assert len(result.facets) == 2
    assert round(float(unit), 6) == 3.0


def test_query_noise():
    built = user_level_candidates(mean(Euclidean([0, 0], [2, 4], step=1)), 1, users=100, noise="polytope")[0]
    assert built.name == "query K-norm"
    assert built.dimension == 2


def test_corners_in_a_plane_are_those_of_qhull():
    rng = np.random.default_rng(3)
    for points in (rng.normal(size=(200, 2)), rng.integers(0, 6, (80, 2)).astype(float), rng.uniform(size=(3, 2))):
        expected = {tuple(points[i]) for i in spatial.ConvexHull(points).vertices}
        assert {tuple(points[i]) for i in hull_corners(points)} == expected
    flat = np.column_stack([np.arange(5.0), 2.0 * np.arange(5.0)])
    assert len(hull_corners(flat)) < 3
