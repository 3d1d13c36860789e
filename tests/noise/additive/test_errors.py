"""Bad input is refused with a text that teaches, before a single word is drawn."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import DataError, ParameterError
from barrow.noise import Center, RoundedValues, default_grid, rounded_gaussian, rounded_knorm, rounded_laplace
from barrow.noise.additive.values import checked_grid
from barrow.noise.source import RandomSource, checked_source


class Untouched(RandomSource):
    """Fails the test if anything is drawn."""

    @property
    def private(self) -> bool:
        return True

    def words(self, count):
        raise AssertionError("randomness was drawn before the input was checked")


DRAWS = {
    "laplace": rounded_laplace,
    "gaussian": rounded_gaussian,
    "knorm1": lambda c, s, **k: rounded_knorm(c, s, 1, **k),
    "knorm2": lambda c, s, **k: rounded_knorm(c, s, 2, **k),
    "knorminf": lambda c, s, **k: rounded_knorm(c, s, math.inf, **k),
    "knorm3": lambda c, s, **k: rounded_knorm(c, s, 3, **k),
}


@pytest.fixture(params=DRAWS)
def draw(request):
    return lambda *a, **k: DRAWS[request.param](*a, **{"source": Untouched(), **k})


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, -math.inf, "x", None, True, np.float64("nan")])
def test_scales(draw, scale):
    with pytest.raises(ParameterError, match="scale is"):
        draw([0, 0], scale)


@pytest.mark.parametrize("grid", [0, -1, math.nan, math.inf, "x", 2, "1.0000000001"])
def test_grids(draw, grid):
    with pytest.raises(ParameterError, match="grid is"):
        draw([0, 0], 1, grid=grid)


def test_the_coarsest_grid_is_the_scale():
    assert rounded_laplace([0], "1/3", grid="1/3").grid == Fraction(1, 3)


@pytest.mark.parametrize(
    "center",
    [
        [],
        np.zeros(0),
        np.zeros((2, 2)),
        np.zeros((2, 2), dtype=int),
        3,
        "12",
        None,
        [[1, 2], [3, 4]],
        np.float64(1),
    ],
)
def test_shapes(draw, center):
    with pytest.raises(ParameterError, match="center"):
        draw(center, 1)


@pytest.mark.parametrize(
    "center",
    [
        [math.nan, 12345],
        [12345, math.inf],
        np.array([math.nan, 12345.0]),
        ["x", 12345],
        [None, 12345],
        [True, 12345],
    ],
)
def test_private_values_are_not_in_the_text(draw, center):
    with pytest.raises(DataError) as caught:
        draw(center, 1)
    assert "12345" not in str(caught.value)
    assert str(caught.value) == "An entry of the center is not a finite number.\n  allowed: finite numbers"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("source", [1, np.random.default_rng(1), "seed", b"x"])
def test_sources(draw, source):
    with pytest.raises(ParameterError, match="no source of randomness"):
        draw([0, 0], 1, source=source)


@pytest.mark.parametrize("p", [0, "1/2", -1, math.nan, -math.inf, "two", None])
def test_powers(p):
    with pytest.raises(ParameterError, match="p is"):
        rounded_knorm([0, 0], 1, p, source=Untouched())


def test_centers():
    floats = np.array([1.0, 2.0])
    for error in (-1.0, math.nan, np.array([1.0]), np.array([-1.0, 1.0])):
        with pytest.raises(ParameterError, match="error bound"):
            Center.approximated(floats, error, Fraction)
    with pytest.raises(DataError):
        Center.approximated(np.array([math.nan]), 0.0, Fraction)
    for denominator in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="denominator"):
            Center.from_integers([1], denominator)
    for numerators in ([1.5], [True], ["1"]):
        with pytest.raises(DataError, match="not an integer"):
            Center.from_integers(numerators)


def test_a_center_does_not_show_its_entries():
    assert repr(Center.of([12345])) == "Center(size=1)"
    assert "12345" not in str(Center.from_integers([12345], 7))


def test_a_center_does_not_follow_later_changes_of_the_array():
    for array in (np.array([1, 2]), np.array([1.0, 2.0])):
        center = Center.of(array)
        array[0] = 99
        assert center.exact_entry(0) == 1
        assert center.approximation[0] == 1.0


def test_default_grid_is_the_nearest_power_of_two_in_ratio():
    rng = np.random.default_rng(5)
    for _ in range(300):
        scale = Fraction(int(rng.integers(1, 2**40)), int(rng.integers(1, 2**40)))
        grid = default_grid(scale)
        ratio = scale / 1024 / grid
        assert Fraction(1, 2) <= ratio * ratio < 2
        assert grid.numerator == 1 or grid.denominator == 1
        assert bin(grid.numerator * grid.denominator).count("1") == 1
    assert default_grid(Fraction(10) ** 500) > 10**496


def test_results_are_frozen():
    noisy = rounded_laplace([0, 1], 1)
    with pytest.raises(ValueError, match="read-only"):
        noisy.integers[0] = 0
    with pytest.raises(AttributeError):
        noisy.private = False  # type: ignore[misc]


def test_values_and_fractions():
    wide = RoundedValues(np.array([2**70, -1], dtype=object), Fraction(1, 3), True)
    assert wide.fractions() == [Fraction(2**70, 3), Fraction(-1, 3)]
    assert wide.values.tolist() == [2**70 / 3, -1 / 3]
    beyond = RoundedValues(np.array([1, 0, -1]), Fraction(10) ** 400, True)
    assert beyond.values.tolist() == [math.inf, 0.0, -math.inf]


def test_checked_grid():
    with pytest.raises(ParameterError) as refused:
        checked_grid(2, Fraction(1))
    assert str(refused.value) == (
        "grid is 2, coarser than the noise, whose scale is 1.\n"
        "  allowed: a number above 0 and at most scale\n"
        "  fix:     leave grid out (it would be 0.0009765625)"
    )


def test_checked_source():
    with pytest.raises(ParameterError) as refused:
        checked_source(7)
    assert str(refused.value) == (
        "source is a int, which is no source of randomness.\n"
        "  allowed: None (the system's randomness) or a Source\n"
        "  fix:     leave source out"
    )
