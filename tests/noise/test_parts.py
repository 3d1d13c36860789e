"""What internal names do, each by one known answer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.noise import rounded_laplace
from barrow.noise.additive.edges import NodeSums, checked_edge_grid, cones, cycle_moments, cycle_signs, weighted
from barrow.noise.additive.hemisphere import HemispherePoint, rounded_hemisphere
from barrow.noise.additive.knorm import CubeNoise, EuclideanNoise, PowerNoise
from barrow.noise.additive.polytope import Polytope, PolytopeNoise, rounded_polytope
from barrow.noise.additive.rounded import rounded_vector
from barrow.noise.additive.values import checked_grid, checked_scale
from barrow.noise.additive.variates import Exponential, SymmetricVariates, UnitVariates
from barrow.noise.counts.binomial import binomials, binomials_and_poisson
from barrow.noise.counts.binomial_inversion import partial_sums
from barrow.noise.counts.binomial_rejection import (
    SLOT_BITS,
    Distributions,
    attempt,
    error_bound,
    slots_of,
    stirling,
    tables,
)
from barrow.noise.counts.cascade import Cascade, poisson
from barrow.noise.counts.chances import Chances
from barrow.noise.counts.uniform_int import checked_counts, placed, scaled_to_spans, uniform_in_spans
from barrow.noise.lazy_uniform import LazyUniform, decided
from barrow.noise.source import SeededSource, as_words, checked_count, checked_source
from barrow.numerics.exact import nearest_float


def test_nearest_float():
    assert repr((nearest_float(Fraction(1, 4)), nearest_float(Fraction(-(10**400))))) == "(0.25, -inf)"


def test_checked_edge_grid():
    assert checked_edge_grid("1/8", Fraction(1), 2.0) == Fraction(1, 8)


def test_node_sums():
    source = SeededSource(1)
    drawn = SymmetricVariates(Exponential(), source.words(2), source)
    sums = NodeSums(3, np.array([0, 1]), np.array([1, 2]), np.array([0.5, 0.25]), drawn)
    assert abs(sums.approximate().values.sum()) < 1e-12


def test_cones():
    signs, weights = cones((1.0, 1.0, 1.0, 1.0))
    assert len(signs) == 12
    assert set(weights) == {1}
    assert sorted(cones((1.0, 2.0, 1.0, 2.0))[1]) == [1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]


def test_cycle_moments():
    assert [round(x, 9) for x in cycle_moments((1.0, 1.0, 1.0, 1.0))[0]] == [
        1.5,
        -0.166666667,
        -0.166666667,
        -0.166666667,
    ]


def test_cycle_signs():
    signs = cycle_signs(np.ones((5, 4)), SeededSource(1))
    assert (signs == 0).sum(axis=1).tolist() == [1, 1, 1, 1, 1]


def test_weighted():
    assert weighted(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64), (1, 1, 2), SeededSource(1)).tolist() == [0, 2, 2]


def test_checked_scale():
    assert checked_scale("0.1") == Fraction(1, 10)


def test_checked_grid():
    with pytest.raises(ParameterError) as refused:
        checked_grid(2, Fraction(1))
    assert str(refused.value) == (
        "grid is 2, coarser than the noise, whose scale is 1.\n"
        "  allowed: a number above 0 and at most scale\n"
        "  fix:     leave grid out (it would be 0.0009765625)"
    )


def test_hemisphere_point():
    point = HemispherePoint([Fraction(1), Fraction(-1, 3)], True, SeededSource(1))
    z = point.approximate().values
    assert z[0] - z[1] / 3 > 0
    assert round(float(z @ z), 9) == 1.0


def test_rounded_hemisphere():
    assert len(rounded_hemisphere([Fraction(1, 2), Fraction(0)], 1, "0.7", 3)) == 2


def test_euclidean_noise():
    z = EuclideanNoise(3, SeededSource(1)).approximate()
    assert z.values.shape == (3,)
    assert z.error < 1e-10


def test_cube_noise():
    assert CubeNoise(3, SeededSource(1)).approximate().values.shape == (3,)


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


def test_rounded_polytope():
    assert len(rounded_polytope([0, 0], 1, Polytope.of([[1, 0], [0, 1], [1, 1]]))) == 2


def test_rounded_vector():
    assert len(rounded_vector([0, 0], lambda source: CubeNoise(2, source), 1, None, None)) == 2


def test_symmetric_variates():
    source = SeededSource(1)
    noise = SymmetricVariates(Exponential(), source.words(4), source)
    z = noise.approximate()
    assert all(abs(float(noise.ball(i, 96).mid()) - z.values[i]) <= z.error for i in range(4))


def test_unit_variates():
    source = SeededSource(1)
    z = UnitVariates(source.words(4), source).approximate()
    assert np.abs(z.values).max() <= z.largest


def test_binomials():
    assert binomials(np.array([5]), Chances.of(np.array([1]), np.array([1])), checked_source(None)).tolist() == [5]


def test_binomials_and_poisson():
    never = Chances.of(np.array([0]), np.array([1]))
    assert [a.tolist() for a in binomials_and_poisson(np.array([5]), never, np.array([0]), checked_source(None))] == [
        [0],
        [0],
    ]


def test_partial_sums():
    assert partial_sums(np.array([2.0]), np.array([0.5]), np.array([0.5]), 3).ravel().tolist() == [0.25, 0.75, 1.0]


def test_distributions_of():
    assert Distributions.of(np.array([100]), Chances.of(np.array([1]), np.array([3])), np.array([50])).rows.shape == (
        10,
        2,
    )


def test_attempt():
    none = np.array([], dtype=np.int64)
    distributions = Distributions.of(none, Chances.of(none, none), np.full(100, 400))
    shift, good = attempt(distributions, None, SeededSource(1))
    assert good.sum() > 70
    assert np.abs(shift).max() <= 240


def test_stirling():
    assert round(float(stirling(np.array([10.0]))[0]), 7) == 0.0083306


def test_error_bound():
    assert error_bound(1.0) < 2.0 ** (-19)


def test_cascade_of():
    assert Cascade.of([0, 0, 1], [2, 1, 2], [-1, 0, 0]).widths.tolist() == [2]


def test_poisson():
    assert poisson(np.array([0, 0]), SeededSource(1)).tolist() == [0, 0]


def test_chances_of():
    made = Chances.of(np.array([1, 3], dtype=np.uint64), np.array([4, 4], dtype=np.uint64))
    assert made.above.tolist() == [1, 1]
    assert made.p.tolist() == [0.25, 0.25]
    assert made.flipped.tolist() == [False, True]


def test_chances_take():
    assert Chances.of(np.array([1, 2]), np.array([5, 5])).take(np.array([1])).fraction(0) == (2, 5)


def test_chances_fraction():
    assert Chances.of(np.array([3]), np.array([4])).fraction(0) == (1, 4)


def test_envelopes_entries():
    assert tables().entries == 385


def test_slots_of():
    assert (slots_of(np.array([17.0, 33.0, 1e30])) >> SLOT_BITS).tolist() == [0, 1, 10]


def test_uniform_in_spans():
    assert (
        repr(uniform_in_spans(np.array([5, 7]), np.array([1, 1]), np.array([1, 2]), checked_source(None)))
        == "(array([5, 7, 7]), None)"
    )


def test_scaled_to_spans():
    assert (
        repr(
            scaled_to_spans(
                np.arange(4, dtype=np.uint64), np.array([9]), np.array([3], dtype=np.uint64), np.array([4]), 2
            )
        )
        == "(array([ 9,  9, 10, 11]), array([0]))"
    )


def test_placed():
    place, kept = placed(np.arange(8, dtype=np.uint32), np.full(8, 3, dtype=np.uint32), bits=3)
    assert np.bincount(place[kept]).tolist() == [2, 2, 2]


def test_checked_counts():
    assert checked_counts([1, 2]).tolist() == [1, 2]


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


def test_seeded_source():
    first = rounded_laplace([0, 0], 1, source=SeededSource(1))
    again = rounded_laplace([0, 0], 1, source=SeededSource(1))
    assert (first.integers == again.integers).all()
    assert not first.private


def test_as_words():
    assert as_words(bytes([1, 0, 0, 0, 0, 0, 0, 0])).tolist() == [1]


def test_checked_count():
    assert checked_count(3) == 3


def test_checked_source():
    with pytest.raises(ParameterError) as refused:
        checked_source(7)
    assert str(refused.value) == (
        "source is a int, which is no source of randomness.\n"
        "  allowed: None (the system's randomness) or a Source\n"
        "  fix:     leave source out"
    )
