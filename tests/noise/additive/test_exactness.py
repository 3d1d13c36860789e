"""Every released integer against mpmath at the limit of the same bits; ties forced; wrong bounds caught."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barrow.noise import Center, rounded_laplace
from barrow.noise.additive import knorm, rounded, variates
from barrow.noise.additive.hemisphere import HemispherePoint
from barrow.noise.additive.knorm import EuclideanNoise, PowerNoise
from barrow.noise.additive.polytope import Polytope, PolytopeNoise
from barrow.noise.additive.variates import Exponential, SymmetricVariates, UnitVariates
from barrow.noise.lazy_uniform import LazyUniform, decided, working_precision
from barrow.noise.source import SeededSource
from barrow.numerics.exact import nearest_float

DISTRIBUTIONS = ("laplace", "gaussian", "knorm2", "knorminf")
ENDS = (0, 2**64 - 1, 0x5555555555555555)

fractions = st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=10**6)
positive = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**6)
word = st.integers(1, 2**64 - 2)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("extension", ENDS)
def test_random_words_agree_with_mpmath(distribution, extension, route):
    words = SeededSource(7).words(route.words_needed(distribution, 60)).tolist()
    center = [Fraction(i * i, 7) for i in range(60)]
    for grid in (Fraction(1, 1024), Fraction(1), Fraction(1, 3), Fraction(1, 2**40)):
        assert route.mismatches(distribution, center, Fraction(1), grid, words, extension) == 0


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_center_scale_grid_and_words(distribution, route, data):
    center = data.draw(st.lists(fractions, min_size=2, max_size=3))
    scale = data.draw(positive)
    grid = scale / data.draw(st.fractions(min_value=1, max_value=2**50, max_denominator=1000))
    needed = route.words_needed(distribution, len(center))
    words = data.draw(st.lists(word, min_size=needed, max_size=needed))
    extension = data.draw(st.integers(0, 2**64 - 1))
    assert route.mismatches(distribution, center, scale, grid, words, extension) == 0


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize("extension", ENDS)
def test_ties_are_refined_until_decided(distribution, extension, route):
    for scale, grid in (
        (Fraction(1), Fraction(1)),
        (Fraction(1), Fraction(1, 1024)),
        (Fraction(7, 3), Fraction(1, 5)),
    ):
        words = route.near_ties(distribution, scale, grid, range(1, 41) if grid < 1 else range(1, 5))
        center = [0] * len(words)
        assert route.mismatches(distribution, center, scale, grid, words, extension) == 0
        _, extended = route.released(distribution, center, scale, grid, words, extension)
        assert extended >= len(words), "a tie was decided from 63 bits"


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_a_tie_of_127_bits_needs_and_gets_more(distribution, route):
    import mpmath

    with mpmath.workprec(700):
        edge = mpmath.mpf(5) / 2
        u = mpmath.exp(-edge) if distribution == "laplace" else mpmath.erfc(edge / mpmath.sqrt(2))
        long = int(mpmath.floor(u * 2**127))
    first, extension = long >> 64, long & (2**64 - 1)
    assert route.mismatches(distribution, [0], Fraction(1), Fraction(1), [first], extension) == 0
    _, extended = route.released(distribution, [0], Fraction(1), Fraction(1), [first], extension)
    assert extended > 1


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_mirrored_words_mirror_the_noise(distribution, route):
    words = SeededSource(3).words(200).tolist()
    mirrored = [2**64 - 1 - w for w in words]
    third = Fraction(1, 3)
    # A center off the lattice of ties: floor(x + 1/2) is then odd in x.
    plus, _ = route.released(distribution, [third] * 200, Fraction(1), Fraction(1, 64), words, 5)
    minus, _ = route.released(distribution, [-third] * 200, Fraction(1), Fraction(1, 64), mirrored, 5)
    assert plus == [-k for k in minus]


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize("w", [0, 2**64 - 1, 2**63, 2**63 - 1, 1, 2**63 + 1, 2**44, 2**45, 2**45 - 1, 2**62])
def test_extreme_words(distribution, w, route):
    for extension in (1, 0x123456789ABCDEF, 2**63):
        assert route.mismatches(distribution, [0, 0], Fraction(1), Fraction(1, 1000), [w, 2**61], extension) == 0


def test_many_zero_bits_only_make_the_noise_large(route):
    class Zeros(route.ScriptedSource):
        def words(self, count):
            taken, self._script = self._script[:count], self._script[count:]
            return np.array(taken + [1] * (count - len(taken)), dtype=np.uint64)

    # 63 + 64 * 40 zero bits, then ones: U is about 2^-2624.
    value = rounded_laplace([0], 1, source=Zeros([0] * 41, 1)).values[0]
    assert value == pytest.approx((63 + 64 * 41) * np.log(2), rel=1e-3)


@pytest.mark.parametrize("q", [2**53 + 1, -(2**62), 10**30, Fraction(10**40, 3), -(10**400)], ids=range(5))
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_centers_beyond_the_floats(distribution, q, route):
    words = SeededSource(11).words(route.words_needed(distribution, 3)).tolist()
    if abs(q) < 10**300:
        assert route.mismatches(distribution, [q, 0, q], Fraction(1), Fraction(1, 1024), words, 9) == 0
    mine, _ = route.released(distribution, [q, 0, q], Fraction(1), Fraction(1, 1024), words, 9)
    zero, _ = route.released(distribution, [0, 0, 0], Fraction(1), Fraction(1, 1024), words, 9)
    if Fraction(q).denominator == 1:
        assert mine == [q * 1024 + zero[0], zero[1], q * 1024 + zero[2]]


def test_tiny_and_huge_scales(route):
    words = SeededSource(13).words(5).tolist()
    for scale in (Fraction(1, 10**400), Fraction(10**400), Fraction(1, 2**1000), Fraction(2**950)):
        at_one, _ = route.released("laplace", [0] * 5, Fraction(1), Fraction(1, 1024), words, 3)
        mine, _ = route.released("laplace", [0] * 5, scale, scale / 1024, words, 3)
        assert mine == at_one


def test_approximated_centers_ask_for_exact_entries_only_when_needed(route):
    rationals = [Fraction(i, 3) for i in range(2000)]
    floats = np.array([float(q) for q in rationals])
    requests = []

    def entry(i):
        requests.append(i)
        return rationals[i]

    words = SeededSource(17).words(2000).tolist()
    right = route.expected("laplace", rationals, Fraction(1), Fraction(1, 16), words, 77)
    rough = floats + 1e-4 * np.sin(np.arange(2000))
    for values, error, at_most in ((floats, 1e-12, 3), (rough, 1e-4, 100), (rough, np.full(2000, 1e-4), 100)):
        requests.clear()
        center = Center.approximated(values, error, entry)
        mine, _ = route.released("laplace", center, Fraction(1), Fraction(1, 16), words, 77)
        assert mine == right
        assert len(requests) <= at_most
    assert requests, "the rough center must leave something open"


def test_integer_centers_of_every_kind_agree(route):
    numerators = np.arange(-50, 50)
    words = SeededSource(19).words(100).tolist()
    kinds = [
        Center.from_integers(numerators, 7),
        Center.from_integers(numerators.astype(np.int16), 7),
        Center.from_integers(numerators.astype(object), 7),
        Center.from_integers([int(n) * 7**400 for n in numerators], 7**401),
        [Fraction(int(n), 7) for n in numerators],
        [f"{n}/7" for n in numerators],
    ]
    results = [route.released("gaussian", c, Fraction(1), Fraction(1, 99), words, 5)[0] for c in kinds]
    assert all(r == results[0] for r in results)
    floats = [float(n) / 8 for n in numerators]
    by_array, _ = route.released("laplace", np.array(floats), Fraction(1), Fraction(1, 99), words, 5)
    by_list, _ = route.released("laplace", floats, Fraction(1), Fraction(1, 99), words, 5)
    assert by_array == by_list


OFFSETS = [Fraction(s, 2**e) for e in range(8, 130, 2) for s in (1, -1)]


def _chosen_mismatches(route, distribution, scale, grid, extension):
    words = SeededSource(37).words(route.words_needed(distribution, len(OFFSETS))).tolist()
    center, right = route.against(distribution, scale, grid, words, extension, OFFSETS)
    mine, _ = route.released(distribution, center, scale, grid, words, extension)
    return sum(a != b for a, b in zip(right, mine, strict=True))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("extension", ENDS)
@pytest.mark.parametrize(
    ("scale", "grid"),
    [
        (1, 1),
        (1, Fraction(1, 1024)),
        (Fraction(7, 3), Fraction(1, 5)),
        (1, Fraction(1, 2**45)),
        (2**40, 2**30),
    ],
    ids=range(5),
)
def test_centers_chosen_against_the_noise(distribution, extension, scale, grid, route):
    """Centers that put each entry between 2^-8 and 2^-128 cells from an edge, on either side."""
    assert _chosen_mismatches(route, distribution, Fraction(scale), Fraction(grid), extension) == 0


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_bound_of_zero_is_caught_by_chosen_centers(distribution, route, monkeypatch):
    def without_error(kind):
        honest = kind.approximate
        monkeypatch.setattr(kind, "approximate", lambda self: variates.Approximation(honest(self).values, 0.0, 0.0))

    for kind in (variates.SymmetricVariates, knorm.EuclideanNoise, knorm.CubeNoise):
        without_error(kind)
    monkeypatch.setattr(rounded, "_SLACK", 0.0)
    assert _chosen_mismatches(route, distribution, Fraction(1), Fraction(1, 1024), ENDS[2]) > 10


# Mutations: each must be caught by the comparison that the tests above make.


def _tie_mismatches(route, distribution, extensions=(0, 2**64 - 1)):
    # The 63 known bits hold the edge of a cell, and the extension says on which side of it the number is.
    total = 0
    for extension in extensions:
        for scale, grid in ((Fraction(1), Fraction(1, 1024)), (Fraction(7, 3), Fraction(1, 5))):
            words = route.near_ties(distribution, scale, grid, range(1, 61))
            total += route.mismatches(distribution, [0] * 60, scale, grid, words, extension)
    return total


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_an_error_bound_of_zero_is_caught(distribution, route, monkeypatch):
    assert _tie_mismatches(route, distribution) == 0
    monkeypatch.setattr(variates, "_ERROR", 0.0)
    monkeypatch.setattr(rounded, "_SLACK", 0.0)
    assert _tie_mismatches(route, distribution) > 10


def test_a_float_error_that_is_understated_is_caught(route):
    rationals = [Fraction(i, 3) for i in range(2000)]
    rough = np.array([float(q) for q in rationals]) + 1e-3
    words = SeededSource(17).words(2000).tolist()

    def wrong(error):
        return route.mismatches(
            "laplace",
            Center.approximated(rough, error, rationals.__getitem__),
            Fraction(1),
            Fraction(1, 64),
            words,
            1,
        )

    assert wrong(0.0) > 10
    assert wrong(1.001e-3) == 0


def test_drawing_again_instead_of_extending_is_caught(route, monkeypatch):
    def fresh(word, source):
        new = int(source.words(1)[0])
        sign = 1 if word < 2**63 else -1
        return sign, variates.LazyUniform(new >> 1, 63, source)

    monkeypatch.setattr(variates.LazyUniform, "after_sign", staticmethod(fresh))
    assert _tie_mismatches(route, "laplace", (0x5555555555555555,)) > 10


@pytest.mark.parametrize("kind", [knorm.EuclideanNoise, knorm.CubeNoise])
@pytest.mark.parametrize("size", [2, 3, 40, 1500])
def test_the_stated_error_of_vectors_holds(kind, size):
    for seed in range(3 if size > 100 else 20):
        noise = kind(size, SeededSource(seed))
        floats = noise.approximate()
        assert floats.error < 1e-6 * floats.largest
        assert np.abs(floats.values).max() <= floats.largest
        with working_precision(200):
            for i in range(0, size, 1 + size // 50):
                assert abs(noise.ball(i, 128) - float(floats.values[i])) < floats.error


def test_nearest_float():
    assert repr((nearest_float(Fraction(1, 4)), nearest_float(Fraction(-(10**400))))) == "(0.25, -inf)"


def test_hemisphere_point():
    point = HemispherePoint([Fraction(1), Fraction(-1, 3)], True, SeededSource(1))
    z = point.approximate().values
    assert z[0] - z[1] / 3 > 0
    assert round(float(z @ z), 9) == 1.0


def test_euclidean_noise():
    z = EuclideanNoise(3, SeededSource(1)).approximate()
    assert z.values.shape == (3,)
    assert z.error < 1e-10


def test_power_noise():
    assert PowerNoise(3, Fraction(3), SeededSource(1)).ball(0, 96).is_finite()


def test_polytope():
    cross = Polytope.of([[1, 1], [1, -1]])
    assert cross.dimension == 2
    assert cross.inverse[0] == (Fraction(1, 2), Fraction(1, 2))


def test_polytope_points():
    cross = Polytope.of([[1, 0], [0, 1], [1, 1], [1, -1]])
    assert np.abs(cross.points(1000, SeededSource(1))).sum(axis=1).max() <= 1.0


def test_polytope_noise():
    cross = Polytope.of([[1, 0], [0, 1], [1, 1], [1, -1]])
    noise = PolytopeNoise(cross, SeededSource(1))
    near = noise.approximate()
    assert abs(float(noise.ball(0, 96).mid()) - near.values[0]) <= near.error


def test_symmetric_variates():
    source = SeededSource(1)
    noise = SymmetricVariates(Exponential(), source.words(4), source)
    z = noise.approximate()
    assert all(abs(float(noise.ball(i, 96).mid()) - z.values[i]) <= z.error for i in range(4))


def test_unit_variates():
    source = SeededSource(1)
    z = UnitVariates(source.words(4), source).approximate()
    assert np.abs(z.values).max() <= z.largest


def test_lazy_uniform():
    u = LazyUniform(5, 3, SeededSource(1))
    u.reach(100)
    assert u.length == 131
    assert u.bits >> u.length - 3 == 5


def test_lazy_uniform_after_sign():
    assert [(s, u.bits) for s, u in (LazyUniform.after_sign(w, SeededSource(1)) for w in (5, 2**64 - 6))] == [
        (1, 5),
        (-1, 5),
    ]


def test_decided():
    assert decided(lambda precision: precision if precision > 200 else None) == 384
