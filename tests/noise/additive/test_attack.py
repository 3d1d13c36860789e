"""The precision-based attack: no bit of a released value may tell q = 0 from q = 1."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from barrow.noise import rounded_gaussian, rounded_knorm, rounded_laplace
from barrow.noise.source import SeededSource

COUNT = 4000
ZERO, ONE = [0] * COUNT, [1] * COUNT


def lowest_bits(values: np.ndarray) -> np.ndarray:
    """The exponent of the lowest set bit of each float: the attacker's statistic."""
    mantissa, exponent = np.frexp(values)
    integer = np.abs(mantissa * 2.0**53).astype(np.int64)
    low = np.where(integer == 0, 1, integer & -integer)
    return exponent - 53 + np.log2(low).astype(int)


def telltale(at_zero: np.ndarray, at_one: np.ndarray) -> float:
    """How much more often q = 0 sets a bit below 2^-53 than q = 1: 0 for a safe release."""
    return abs(float((lowest_bits(at_zero) < -53).mean() - (lowest_bits(at_one) < -53).mean()))


def _knorm(p):
    def draw(center, scale, **options):
        # In two dimensions at a time: the tail of the distribution stays comparable to that of independent noise.
        parts = [rounded_knorm(center[i : i + 2], scale, p, **options) for i in range(0, len(center), 2)]
        return np.concatenate([r.values for r in parts]), parts[0].grid

    return draw


DRAWS = {
    "laplace": lambda *a, **k: ((r := rounded_laplace(*a, **k)).values, r.grid),
    "gaussian": lambda *a, **k: ((r := rounded_gaussian(*a, **k)).values, r.grid),
    "knorm2": _knorm(2),
    "knorminf": _knorm("inf"),
    "knorm3": _knorm(3),
}


@pytest.mark.parametrize("name", ["laplace", "normal", "gamma times sphere"])
def test_the_attack_works_on_naive_noise(name):
    rng = np.random.default_rng(1)

    def naive(q):
        if name == "laplace":
            return q + rng.laplace(size=20_000)
        if name == "normal":
            return q + rng.normal(size=20_000)
        direction = rng.normal(size=(10_000, 2))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return q + (rng.gamma(2, size=(10_000, 1)) * direction).ravel()

    assert telltale(naive(0.0), naive(1.0)) > 0.1


@pytest.mark.parametrize("name", DRAWS)
def test_the_attack_sees_nothing_here(name):
    at_zero, grid = DRAWS[name](ZERO, 1, source=SeededSource(3))
    at_one, same = DRAWS[name](ONE, 1, source=SeededSource(4))
    assert telltale(at_zero, at_one) == 0.0
    assert grid == same
    for values in (at_zero, at_one):
        assert np.all(values / float(grid) == np.rint(values / float(grid)))
    # Below the point the bits of the multiples are alike: the lowest eight bits of k.
    low = [np.bincount(np.rint(v / float(grid)).astype(int) % 8, minlength=8) for v in (at_zero, at_one)]
    assert stats.chi2_contingency(low).pvalue > 1e-4


def test_both_supports_are_the_whole_grid():
    for draw in (rounded_laplace, rounded_gaussian):
        for center in ([0] * 40_000, [1] * 40_000, [Fraction(1, 3)] * 40_000):
            k = draw(center, 1, grid="1/16", source=SeededSource(8)).integers
            middle = int(center[0] * 16)
            assert set(range(middle - 32, middle + 32)) <= set(k.tolist())


@pytest.mark.parametrize("draw", [rounded_laplace, rounded_gaussian])
def test_a_grid_finer_than_the_floats_is_still_filled_evenly(draw):
    # With a grid of 2^-70 every bit of k counts, far below what a float of size 1 can hold.
    for center in (ZERO, ONE):
        result = draw(center, 1, grid=Fraction(1, 2**70), source=SeededSource(9))
        low = np.bincount([k % 16 for k in result.integers.tolist()], minlength=16)
        assert stats.chisquare(low).pvalue > 1e-4
    assert any(abs(k) > 2**63 for k in result.integers.tolist())


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_loss_between_neighbours_is_the_ideal_one(name):
    """Cell probabilities are those of the ideal distribution, at two centers off the grid."""
    draw, distribution = {"laplace": (rounded_laplace, stats.laplace), "gaussian": (rounded_gaussian, stats.norm)}[name]
    size, grid = 400_000, Fraction(1, 2)
    for q in (Fraction(1, 10), Fraction(1, 4)):
        k = draw(
            np.full(size, float(q)) if q == Fraction(1, 4) else [q] * size,
            1,
            grid=grid,
            source=SeededSource(12),
        )
        edges = (np.arange(-8, 9) - 0.5) * float(grid) - float(q)
        ideal = np.diff(np.concatenate([[0.0], distribution.cdf(edges), [1.0]]))
        counts = np.histogram(k.integers, np.concatenate([[-math.inf], np.arange(-8, 9) - 0.5, [math.inf]]))[0]
        assert stats.chisquare(counts, ideal * size).pvalue > 1e-4
        shifted = np.diff(np.concatenate([[0.0], distribution.cdf(edges + 0.02), [1.0]]))
        assert stats.chisquare(counts, shifted * size).pvalue < 1e-9
