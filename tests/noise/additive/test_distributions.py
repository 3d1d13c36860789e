"""The distributions of the noise: each test accepts the true distribution and rejects a scale that is wrong by 5%.

Seeds are fixed, so a test passes always or never. ``FAIR`` is the least p-value that is accepted; samples are
so large that a 5% error of the scale is rejected at ``FALSE``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import mpmath
import numpy as np
import pytest
from scipy import stats

from barrow import heavy
from barrow.noise import rounded_gaussian, rounded_knorm, rounded_laplace
from barrow.noise.additive import knorm
from barrow.noise.additive.knorm import PowerNoise, PowerVariates
from barrow.noise.lazy_uniform import working_precision
from barrow.noise.source import SeededSource

FAIR, FALSE = 1e-4, 1e-9
WRONG = (0.95, 1.05)
INDEPENDENT = {"laplace": (rounded_laplace, stats.laplace), "gaussian": (rounded_gaussian, stats.norm)}


def _check_scale(values, distribution):
    """Kolmogorov-Smirnov: the true scale passes, 5% less and 5% more do not."""
    assert stats.kstest(values, distribution.cdf).pvalue > FAIR
    for factor in WRONG:
        assert stats.kstest(np.asarray(values) * factor, distribution.cdf).pvalue < FALSE


@pytest.fixture(scope="module", params=INDEPENDENT)
def independent(request):
    draw, distribution = INDEPENDENT[request.param]
    values = draw(np.zeros(300_000, dtype=int), "2.5", source=SeededSource(101)).values / 2.5
    return values, distribution


def test_scale_of_independent_noise(independent):
    _check_scale(*independent)


def test_bins_of_independent_noise(independent):
    """Chi-square on unions of cells, whose probabilities under rounded noise are known exactly."""
    values, distribution = independent
    cells = np.rint(values * 2.5 * 512)
    edges = np.rint(distribution.ppf(np.arange(1, 200) / 200) * 2.5 * 512) - 0.5
    counts = np.histogram(cells, np.concatenate([[-np.inf], edges, [np.inf]]))[0]

    def pvalue(factor):
        at_edges = distribution.cdf(edges / (512 * 2.5 * factor))
        return stats.chisquare(counts, np.diff(np.concatenate([[0.0], at_edges, [1.0]])) * len(cells)).pvalue

    assert pvalue(1.0) > FAIR
    assert max(pvalue(factor) for factor in WRONG) < FALSE


def test_entries_are_independent(independent):
    values, distribution = independent
    for lag in (1, 2, 3, 2**14):
        # The table of the eighths of one entry and the next.
        eighth = np.minimum((distribution.cdf(values) * 8).astype(int), 7)
        table = np.bincount(eighth[:-lag] * 8 + eighth[lag:], minlength=64).reshape(8, 8)
        assert stats.chi2_contingency(table).pvalue > FAIR
    # Power: noise of which a tenth is shared with the neighbour is rejected.
    mixed = np.sqrt(0.9) * values[1:] + np.sqrt(0.1) * values[:-1]
    eighth = np.searchsorted(np.quantile(mixed, np.arange(1, 8) / 8), mixed)
    table = np.bincount(eighth[:-1] * 8 + eighth[1:], minlength=64).reshape(8, 8)
    assert stats.chi2_contingency(table).pvalue < FALSE


@pytest.mark.parametrize(("name", "far"), [("laplace", 12.0), ("gaussian", 4.5)])
def test_tails(name, far):
    draw, distribution = INDEPENDENT[name]
    size, blocks = 2_000_000, 10
    source = SeededSource(103)
    zeros = np.zeros(size, dtype=int)
    counts = np.zeros(3)
    for _ in range(blocks):
        magnitude = np.abs(draw(zeros, 1, source=source).values)
        counts += [(magnitude > far).sum(), (magnitude * 0.95 > far).sum(), (magnitude * 1.05 > far).sum()]
    expected = 2 * distribution.sf(far) * size * blocks
    assert expected > 100
    assert abs(counts[0] - expected) < 4 * math.sqrt(expected)
    assert expected - counts[1] > 4 * math.sqrt(expected)
    assert counts[2] - expected > 6 * math.sqrt(expected)


def test_the_two_tails_are_equally_heavy(independent):
    values, _ = independent
    positive = int((values > 0).sum()), int((values < 0).sum())
    assert stats.binomtest(positive[0], sum(positive)).pvalue > FAIR


def test_a_center_only_shifts_the_noise(independent):
    _, distribution = independent
    draw = next(d for d, known in INDEPENDENT.values() if known is distribution)
    q = [Fraction(1, 3)] * 100_000
    values = draw(q, 1, source=SeededSource(107)).values
    assert stats.kstest(values - 1 / 3, distribution.cdf).pvalue > FAIR
    assert stats.kstest(values - 1 / 3 - 0.05, distribution.cdf).pvalue < FALSE


# K-norm noise: radius and direction.

SIZE = {2: 20_000, math.inf: 20_000, 3: 20_000}


@lru_cache
def _drawn(p):
    source = SeededSource(109)
    return np.array([rounded_knorm([0, 0, 0], 1, p, source=source).values for _ in range(SIZE[p])])


@pytest.fixture(params=SIZE, ids=lambda p: f"p={p}")
def vectors(request):
    """Noise vectors in three dimensions, and p."""
    return request.param, _drawn(request.param)


def test_radius(vectors):
    p, x = vectors
    _check_scale(np.linalg.norm(x, ord=p, axis=1), stats.gamma(3))


def test_radius_of_the_wrong_dimension_is_rejected(vectors):
    p, x = vectors
    assert stats.kstest(np.linalg.norm(x, ord=p, axis=1), stats.gamma(4).cdf).pvalue < FALSE


def test_direction(vectors):
    p, x = vectors
    unit = x / np.linalg.norm(x, ord=p, axis=1, keepdims=True)
    for i in range(3):
        signs = int((unit[:, i] > 0).sum())
        assert stats.binomtest(signs, int((unit[:, i] != 0).sum())).pvalue > FAIR
        if p == 2:
            # Archimedes: a coordinate of the sphere in three dimensions is uniform.
            assert stats.kstest(unit[:, i], stats.uniform(-1, 2).cdf).pvalue > FAIR
        elif p == 3:
            # Cone measure: |x_i|^3/||x||^3 is Beta(1/3, 2/3).
            assert stats.kstest(np.abs(unit[:, i]) ** 3, stats.beta(1 / 3, 2 / 3).cdf).pvalue > FAIR
        else:
            largest = np.abs(x).argmax(axis=1)
            others = unit[largest != i, i]
            assert stats.binomtest(int((largest == i).sum()), len(x), 1 / 3).pvalue > FAIR
            assert stats.kstest(others, stats.uniform(-1, 2).cdf).pvalue > FAIR
            assert stats.kstest(others * 0.95, stats.uniform(-1, 2).cdf).pvalue < 1e-3


def test_radius_and_direction_are_independent(vectors):
    p, x = vectors
    radius = np.linalg.norm(x, ord=p, axis=1)
    unit = x / radius[:, None]
    assert stats.spearmanr(radius, np.abs(unit[:, 0])).pvalue > FAIR
    assert stats.spearmanr(np.abs(x[:, 0]), np.abs(x[:, 1])).pvalue < FALSE


def test_coordinates_are_exchangeable_and_consecutive_vectors_independent(vectors):
    _, x = vectors
    for i, j in ((0, 1), (1, 2)):
        assert stats.ks_2samp(x[:, i], x[:, j]).pvalue > FAIR
    assert stats.spearmanr(np.abs(x[:-1]).sum(axis=1), np.abs(x[1:]).sum(axis=1)).pvalue > FAIR


@pytest.mark.parametrize("vectors", [3], indirect=True, ids=["p=3"])
def test_the_surface_measure_would_be_rejected(vectors):
    """Errata A7: the surface measure has density h = ||grad ||x||_p||_2 with respect to the cone measure."""
    _, x = vectors
    unit = np.abs(x) / np.linalg.norm(x, ord=3, axis=1, keepdims=True)
    mine = np.sqrt((unit**4).sum(axis=1))
    # The mean of h under both measures, from a large sample of the cone measure made by another library.
    powers = np.random.default_rng(113).dirichlet([1 / 3] * 3, 2_000_000)
    h = np.sqrt((powers ** (4 / 3)).sum(axis=1))
    cone, surface = h.mean(), (h * h).mean() / h.mean()
    error = mine.std() / math.sqrt(len(mine))
    assert abs(mine.mean() - cone) < 3.9 * error
    assert abs(mine.mean() - surface) > 6 * error


def test_one_norm_is_independent_laplace():
    for draw in (
        lambda s: rounded_knorm([0] * 60_000, 1, 1, source=s),
        lambda s: rounded_knorm([0] * 60_000, 1, "1.0", source=s),
    ):
        assert (
            draw(SeededSource(5)).integers == rounded_laplace([0] * 60_000, 1, source=SeededSource(5)).integers
        ).all()


@pytest.mark.parametrize("p", [2, "inf", 3, "7/2"])
def test_one_dimension_is_laplace(p):
    mine = rounded_knorm([0], 1, p, source=SeededSource(5)).integers
    assert mine == rounded_laplace([0], 1, source=SeededSource(5)).integers


@pytest.mark.parametrize("p", [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(40)], ids=str)
def test_power_variates(p):
    """|x|^p is Gamma(1/p): for p = 1 an exponential, for p = 2 half a chi-square."""
    variates = PowerVariates(20_000, p, SeededSource(127))
    x = variates.approximate().values
    distribution = stats.gamma(float(1 / p))
    assert stats.kstest(np.abs(x) ** float(p), distribution.cdf).pvalue > FAIR
    assert stats.kstest(np.abs(x) ** float(p * Fraction(5, 4)), distribution.cdf).pvalue < FALSE
    assert stats.binomtest(int((x > 0).sum()), len(x)).pvalue > FAIR


@pytest.mark.parametrize("p", [Fraction(3, 2), Fraction(7, 3), Fraction(3), Fraction(40)], ids=str)
def test_floats_of_power_variates_are_as_near_as_they_say(p, monkeypatch):
    """Against balls of the same bits; and who decides, floats or balls, changes nothing but the bits that are drawn."""
    size = 3000
    variates, noise = PowerVariates(size, p, SeededSource(11)), PowerNoise(size, p, SeededSource(12))
    for parts, step in ((variates, 1), (noise, 97)):
        z = parts.approximate()
        with working_precision(232):
            off = [abs(float(parts.ball(i, 200).mid() - heavy.arb(float(z.values[i])))) for i in range(0, size, step)]
        bound = np.broadcast_to(z.error, size)[::step]
        assert (np.array(off) <= bound).all()
        assert (np.array(off) > bound / 2000).any()  # the bound is not empty
    assert np.max(z.error) < 1e-9 * z.largest
    monkeypatch.setattr(knorm, "SMALL", 2.0)  # every uniform counts as small: balls decide every proposal
    slow = PowerVariates(200, p, SeededSource(13))
    monkeypatch.undo()
    x = np.array([float(slow.ball(i, 96).mid()) for i in range(200)])
    assert stats.kstest(np.abs(x) ** float(p), stats.gamma(float(1 / p)).cdf).pvalue > FAIR


def test_general_p_against_a_replay_in_mpmath():
    """The same words, read by a second implementation of the same representation."""

    class Recorder(SeededSource):
        def __init__(self, seed):
            super().__init__(seed)
            self.seen = []

        def words(self, count):
            sample = super().words(count)
            self.seen.extend(sample.tolist())
            return sample

    p, size, grid = 3, 4, Fraction(1, 256)
    for seed in range(25):
        source = Recorder(seed)
        mine = rounded_knorm([Fraction(1, 7)] * size, 1, p, grid=grid, source=source).integers.tolist()
        tape = iter(source.seen)

        def uniform(word):
            return mpmath.mpf(2 * min(word, 2**64 - 1 - word) + 1) / 2**64

        with mpmath.workprec(200):
            radius = -sum(mpmath.log(uniform(next(tape))) for _ in range(size))
            x, open_ones = [None] * size, list(range(size))
            while open_ones:  # a word of each kind for every place that is still open
                choices, values, keeps = ([next(tape) for _ in open_ones] for _ in range(3))
                for i, choice, value, keep in zip(tuple(open_ones), choices, values, keeps, strict=True):
                    tail = uniform(choice) > 1 / (1 + mpmath.exp(-1) / p)
                    y = 1 - mpmath.log(uniform(value)) / p if tail else uniform(value)
                    bound = mpmath.exp(1 + p * (y - 1) - y**p) if tail else mpmath.exp(-(y**p))
                    if uniform(keep) < bound:
                        x[i] = (1 if value < 2**63 else -1) * y
                        open_ones.remove(i)
            norm = sum(abs(y) ** p for y in x) ** (mpmath.mpf(1) / p)
            right = [int(mpmath.floor((mpmath.mpf(1) / 7 + radius * y / norm) * 256 + 0.5)) for y in x]
        assert mine == right
