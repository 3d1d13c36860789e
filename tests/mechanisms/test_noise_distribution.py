"""Quantiles and deviations of noise: closed forms, mpmath, and simulation."""

import math

import mpmath
import numpy as np
import pytest
from scipy import special

from barrow.errors import ParameterError
from barrow.mechanisms import NoiseDistribution
from barrow.mechanisms.additive import gamma_quantile, gamma_tail

DISTRIBUTIONS = [(p, d) for p in (1.0, 1.5, 2.0, 4.0, math.inf) for d in (1, 2, 5, 20)] + [(None, 1), (None, 7)]


def draw(p, d, count, seed=1):
    """Noise by another construction than the library uses: generalised normal coordinates give the cone measure."""
    rng = np.random.default_rng(seed)
    if p is None:
        return rng.normal(size=(count, d))
    radius = rng.gamma(d, size=count)
    if p == math.inf:
        x = rng.uniform(-1, 1, size=(count, d))
        unit = x / np.abs(x).max(axis=1, keepdims=True)
        return unit * radius[:, None]
    x = rng.gamma(1 / p, size=(count, d)) ** (1 / p) * rng.choice([-1, 1], size=(count, d))
    return x / (np.abs(x) ** p).sum(axis=1, keepdims=True) ** (1 / p) * radius[:, None]


@pytest.mark.parametrize(("p", "d"), DISTRIBUTIONS)
def test_quantiles_and_deviations_against_simulation(p, d):
    distribution, count = NoiseDistribution(p, d), 100_000
    x = draw(p, d, count)
    for share in (0.3, 0.05, 0.01):
        beyond = (np.abs(x[:, 0]) > distribution.quantile(share)).mean()
        sd = math.sqrt(share * (1 - share) / count)
        assert abs(beyond - share) < 5.5 * sd
        # Power: a quantile 10% too small would be seen.
        assert (np.abs(x[:, 0]) > 0.9 * distribution.quantile(share)).mean() > share + 3 * sd
    assert np.mean(x[:, 0] ** 2) == pytest.approx(distribution.deviation**2, rel=0.05)


@pytest.mark.parametrize(("p", "d"), DISTRIBUTIONS)
def test_simultaneous_quantiles_cover_all_outputs(p, d):
    distribution, count = NoiseDistribution(p, d), 20_000
    largest = np.abs(draw(p, d, count, seed=2)).max(axis=1)
    inside = (largest <= distribution.simultaneous_quantile(0.05)).mean()
    assert inside >= 0.95 - 5.5 * math.sqrt(0.05 * 0.95 / count)
    if p in (None, 1.0, math.inf):
        assert inside <= 0.95 + 5.5 * math.sqrt(0.05 * 0.95 / count)
    assert distribution.simultaneous_quantile(0.05) >= distribution.quantile(0.05) * (1 - 1e-12)


@pytest.mark.parametrize(("p", "d"), [(2.0, 2), (2.0, 3), (3.0, 4), (1.5, 6), (2.0, 50)])
def test_tails_against_quadrature_with_thirty_digits(p, d):
    distribution = NoiseDistribution(p, d)
    for t in (0.5, 2.0, 8.0):
        with mpmath.workdps(30):
            a, c = mpmath.mpf(1) / p, 1 + mpmath.mpf(d - 1) / p

            def inner(g, a=a, c=c, t=t):
                share = (t / g) ** mpmath.mpf(p)
                return mpmath.betainc(a, c, share, 1, regularized=True) * g**d * mpmath.exp(-g) / mpmath.factorial(d)

            truth = mpmath.quad(inner, [t, t + 2, t + 10, d + 30, 4 * d + 150])
        assert distribution.tail(t) == pytest.approx(float(truth), rel=1e-6)


def test_the_cube_against_quadrature():
    distribution = NoiseDistribution(math.inf, 3)
    truth = mpmath.quad(lambda g: (1 - 2 / g) * g**3 * mpmath.exp(-g) / 6, [2, 10, 60])
    assert distribution.tail(2.0) == pytest.approx(float(truth), rel=1e-9)


def test_many_outputs():
    for p in (1.0, 2.0, math.inf, None):
        distribution = NoiseDistribution(p, 10**6)
        assert 0 < distribution.quantile(0.05) < distribution.simultaneous_quantile(0.05)
    # In many dimensions an l2 coordinate is nearly normal with deviation sqrt(d).
    assert NoiseDistribution(2.0, 10**6).quantile(0.05) == pytest.approx(1.96 * 1000, rel=1e-2)


@pytest.mark.parametrize("share", [0, 1, -1, math.nan])
def test_shares_are_checked(share):
    with pytest.raises(ParameterError, match="share is"):
        NoiseDistribution(1.0, 1).quantile(share)


def test_gamma_tails_and_quantiles_are_those_of_scipy():
    for shape in (1, 2, 3, 10, 50, 51, 400):
        for x in (0.1, 1.0, shape * 1.0, shape + 30.0):
            assert gamma_tail(shape, x) == pytest.approx(special.gammaincc(shape, x), rel=1e-11)
        for share in (0.9, 0.05, 1e-6, 1e-18):
            exact = float(special.gammainccinv(shape, share))
            assert exact <= gamma_quantile(shape, share) <= exact * (1.0 + 3e-9)


def test_a_disc_is_the_beta_distribution():
    """The closed form of two outputs under the 2-norm, against the general one by another quadrature."""
    for t in (0.5, 2.0, 5.0, 20.0):
        g = np.linspace(t, t + 120.0, 400_001)
        beyond = special.betainc(1.5, 0.5, 1.0 - np.minimum((t / g) ** 2, 1.0))
        exact = float(np.trapezoid(g**2 * np.exp(-g) / 2.0 * beyond, g))
        assert NoiseDistribution(2.0, 2).tail(t) == pytest.approx(exact, rel=1e-6)
