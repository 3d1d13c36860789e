"""The one assumption of the float path: log, power and ndtri are within 16 units in the last place."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri

from barrow.noise.additive import variates
from barrow.noise.additive.variates import ULPS, Exponential, HalfNormal, SymmetricVariates, UnitVariates
from barrow.noise.source import SeededSource


def _points(count: int) -> np.ndarray:
    """Uniforms in [2^-18, 1]: random ones, powers of two, their neighbours, and both ends in single steps."""
    rng = np.random.default_rng(23)
    powers = 2.0 ** -np.arange(0, 19)
    branch = np.array([0.135335283236612691, 0.5, 0.2706705664732254, 0.0249979, np.exp(-32.0 / 8)])
    special = np.concatenate([powers, branch])
    near = np.concatenate([special * (1 + k * 2.0**-52) for k in range(-8, 9)])
    top = 1 - np.arange(200) * 2.0**-53
    top_coarse = 1 - 2.0 ** -np.arange(1, 54)
    spread = 2.0 ** -(18 * rng.random(count))
    points = np.concatenate([rng.random(count), spread, near, top, top_coarse])
    return np.unique(points[(points >= 2.0**-18) & (points <= 1.0)])


def _worst_ulps(computed: np.ndarray, true: list) -> float:
    worst = mpmath.mpf(0)
    for mine, exact in zip(computed.tolist(), true, strict=True):
        error = abs(mpmath.mpf(mine) - exact)
        if error:
            worst = max(worst, error / abs(exact) * 2**52)
    return float(worst)


def test_log_is_within_the_assumption():
    # numpy chooses vector code by length and alignment: look at both long and short, shifted arrays.
    points = _points(4000)
    with mpmath.workprec(200):
        true = [mpmath.log(mpmath.mpf(float(u))) for u in points]
        shifted = np.concatenate([np.log(part.copy()) for part in np.array_split(points, 701)])
        assert _worst_ulps(np.log(points), true) <= ULPS
        assert _worst_ulps(shifted, true) <= ULPS


@pytest.mark.parametrize("p", [1.5, 7 / 3, 3.0, 40.0])
def test_power_is_within_the_assumption(p):
    points = np.concatenate([_points(700), 1.0 + 12.5 * np.random.default_rng(5).random(700) / p])
    for exponent in (p, 1.0 / p):
        computed = points**exponent
        with mpmath.workprec(200):
            true = [mpmath.mpf(float(x)) ** mpmath.mpf(exponent) for x in points]
            assert _worst_ulps(computed, true) <= ULPS
            assert _worst_ulps(computed * (1 + 20 * 2.0**-52), true) > ULPS


def test_ndtri_is_within_the_assumption():
    points = _points(2500) / 2
    computed = ndtri(points)
    with mpmath.workprec(200):
        true = []
        for u, z in zip(points.tolist(), computed.tolist(), strict=True):
            # Two Newton steps from the computed value, which is right to many digits: the rest is far below
            # 1e-50.
            x = mpmath.mpf(z)
            for _ in range(2):
                tail = mpmath.erfc(-x / mpmath.sqrt(2)) / 2
                x -= (tail - mpmath.mpf(u)) * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(x * x / 2)
            true.append(x)
        assert _worst_ulps(computed, true) <= ULPS
        # Power: the same measurement sees an error of 20 units.
        assert _worst_ulps(computed * (1 + 20 * 2.0**-52), true) > ULPS


@pytest.mark.parametrize("distribution", [Exponential(), HalfNormal()], ids=["laplace", "gaussian"])
def test_the_bound_of_whole_variates_holds_and_is_not_empty(distribution, route):
    rng = np.random.default_rng(29)
    size = 1500
    # Magnitudes down to 2^-18 and beyond, both signs.
    bits = (2.0 ** (63 - 19 * rng.random(size))).astype(np.uint64) + rng.integers(0, 1000, size, dtype=np.uint64)
    words = np.where(rng.random(size) < 0.5, bits, ~bits)
    worst = 0.0
    for extension in (0, 2**64 - 1):
        noise = SymmetricVariates(distribution, words, route.ScriptedSource([], extension))
        z = noise.approximate()
        assert np.abs(z.values).max() <= z.largest
        with mpmath.workprec(300):
            for word, mine in zip(words.tolist(), z.values.tolist(), strict=True):
                sign, u = route.limit(word, extension)
                if isinstance(distribution, Exponential):
                    true = -sign * mpmath.log(u)
                else:
                    x = mpmath.mpf(abs(mine))
                    for _ in range(2):
                        tail = mpmath.erfc(x / mpmath.sqrt(2))
                        x += (tail - u) * mpmath.sqrt(mpmath.pi / 2) * mpmath.exp(x * x / 2)
                    true = sign * x
                worst = max(worst, float(abs(mine - true)))
    assert worst <= variates._ERROR
    # A bound a thousand times smaller would be false: the test can fail.
    assert worst > variates._ERROR / 1000


def test_unit_variates(route):
    words = SeededSource(31).words(2000)
    for extension in (0, 2**64 - 1):
        z = UnitVariates(words, route.ScriptedSource([], extension)).approximate()
        with mpmath.workprec(200):
            errors = [
                abs(mine - sign * u)
                for mine, (sign, u) in zip(z.values.tolist(), (route.limit(w, extension) for w in words), strict=True)
            ]
        assert max(errors) <= z.error
