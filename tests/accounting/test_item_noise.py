"""Gaussian and cut-off Laplace noise on shuffled items: entries, rates and exact histograms by other routes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from barrow.accounting import matrix_blanket_alpha_upper
from barrow.accounting.approximate import gaussian_items_alpha_upper
from barrow.accounting.item_noise import (
    gaussian_matrix,
    planar_laplace_matrix,
    shuffled_gaussian_alpha_lower,
    shuffled_gaussian_alpha_upper,
)
from barrow.accounting.matrix_blanket import matrix_alpha0_upper, matrix_blanket_profile
from barrow.accounting.pricing import gaussian_alpha_upper
from barrow.errors import ParameterError


@pytest.mark.parametrize("mu", [0.25, 1.0, 4.0])
def test_entries_in_many_digits(mu: float) -> None:
    points, cells, reach = [0.0, 0.3, 1.0], 24, 2.5
    result = gaussian_matrix(points, Fraction(mu), cells=cells, reach=reach)
    edges = [float(x) for x in np.linspace(-reach / mu, 1.0 + reach / mu, cells - 1)]
    with mpmath.workdps(40):
        for row, point in zip(result, points, strict=True):
            ends = [-mpmath.inf, *((mpmath.mpf(e) - mpmath.mpf(point)) * mpmath.mpf(mu) for e in edges), mpmath.inf]
            for entry, (low, high) in zip(row, itertools.pairwise(ends), strict=True):
                exact = (
                    mpmath.quad(mpmath.npdf, [low, high]) if high - low < 20 else mpmath.ncdf(high) - mpmath.ncdf(low)
                )
                assert abs(mpmath.mpf(float(entry)) / exact - 1) < mpmath.mpf("1e-12")


def test_the_certified_rate_is_just_above_the_first_order_one_by_quadrature() -> None:
    """mu at the largest distance over m is at least the root of sum (A_x - A_x')^2/g over N, and near it."""
    points, mu, n, m = np.linspace(0, 1, 5), 1.0, 10**7, 100
    matrix = gaussian_matrix(points, 1, cells=40)
    profile = matrix_blanket_profile(matrix, np.abs(points[:, None] - points), reports=n, items=m, delta="1e-9")
    assert profile is not None
    edges = [-mpmath.inf, *(mpmath.mpf(float(e)) for e in np.linspace(-2 / mu, 1 + 2 / mu, 39)), mpmath.inf]
    with mpmath.workdps(30):
        total = mpmath.mpf(0)
        for low, high in itertools.pairwise(edges):
            chances = [mpmath.ncdf(high - p) - mpmath.ncdf(low - p) for p in points.tolist()]
            total += (chances[0] - chances[-1]) ** 2 / min(chances)
        first = float(m * mpmath.sqrt(total / n))
    assert first <= profile.mu_upper(1.0) <= 1.1 * first


def test_exact_histograms_of_few_reports_cost_no_more() -> None:
    points = np.array([0.0, 1.0])
    matrix = gaussian_matrix(points, 1, cells=3, reach=0.0)
    apart, reports, delta = np.abs(points[:, None] - points), 60, 1e-3
    alpha = matrix_blanket_alpha_upper(matrix, apart, reports=reports, items=1, delta=Fraction(delta))
    rest = [0] * 30 + [1] * 29

    def exact(first: int) -> dict[tuple[int, ...], float]:
        result = {(0, 0, 0): 1.0}
        for item in [first, *rest]:
            longer: dict[tuple[int, ...], float] = {}
            for counts, chance in result.items():
                for y in range(3):
                    key = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                    longer[key] = longer.get(key, 0.0) + chance * float(matrix[item, y])
            result = longer
        return result

    one, other = exact(0), exact(1)
    keys = sorted(one)
    p, q = (np.array([d[k] for k in keys]) for d in (one, other))
    worst = max(np.maximum(p - math.exp(alpha) * q, 0).sum(), np.maximum(q - math.exp(alpha) * p, 0).sum())
    assert worst <= delta
    # It is tight enough that a third of the alpha would be caught.
    third = math.exp(alpha / 3)
    assert max(np.maximum(p - third * q, 0).sum(), np.maximum(q - third * p, 0).sum()) > delta


def test_between_the_attack_and_the_black_box() -> None:
    result = shuffled_gaussian_alpha_upper(1, points=11, reports=10**6, items=100, delta="1e-9")
    assert (
        gaussian_alpha_upper(Fraction(100, 1000) * Fraction(9, 10), "1e-9") < result
    )  # rounding costs the attack a little
    assert result < 0.01 * gaussian_items_alpha_upper(1, reports=10**6, items=100, delta="1e-9")


def test_a_planar_laplace_that_is_cut_off() -> None:
    side = np.linspace(0, math.sqrt(0.5), 4)
    places = np.array([(x, y) for x in side for y in side])
    matrix = planar_laplace_matrix(places, places, 3)
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    assert np.allclose(matrix.sum(axis=1), 1.0)
    with mpmath.workdps(30):
        far = [
            mpmath.sqrt(
                sum((mpmath.mpf(float(a)) - mpmath.mpf(float(b))) ** 2 for a, b in zip(places[0], p, strict=True))
            )
            for p in places
        ]
        chances = [mpmath.exp(-3 * d) for d in far]
        assert abs(float(chances[5] / sum(chances)) / matrix[0, 5] - 1) < 1e-13
    result = matrix_blanket_alpha_upper(matrix, apart, reports=10**7, items=100, delta="1e-9")
    assert 0 < result < 3


def test_wrong_windows_are_refused() -> None:
    for options in ({"cells": 2}, {"cells": 1000}, {"reach": -1.0}):
        with pytest.raises(ParameterError, match="points and"):
            gaussian_matrix([0, 1], 1, **options)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="points and"):
        gaussian_matrix([0, 2], 1)
    with pytest.raises(ParameterError, match="outputs"):
        planar_laplace_matrix([0, 1], [[0, 1]], 1)


@pytest.mark.parametrize(("mu", "items"), [(4, 3), (5, 12)])
def test_what_the_attack_rules_out_in_many_digits(mu: int, items: int) -> None:
    """Both chances summed term by term; one more item of the attacked user would be seen."""
    reports, delta = 10**4, mpmath.mpf("1e-9")
    result = shuffled_gaussian_alpha_lower(mu, reports=reports, items=items, delta="1e-9")
    with mpmath.workdps(150):

        def above(count: int, trials: int, chance: mpmath.mpf) -> mpmath.mpf:
            below = [mpmath.binomial(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(count + 1)]
            return 1 - mpmath.fsum(below)

        far = mpmath.ncdf(-mu)
        ratios = [(above(k, items, mpmath.mpf("0.5")) - delta) / above(k, reports, far) for k in range(items)]
        exact = max(mpmath.log(ratio) for ratio in ratios if ratio > 0)
    assert result <= exact
    assert result > float(exact) * (1 - 1e-7)
    longer = shuffled_gaussian_alpha_lower(mu, reports=reports, items=items + 1, delta="1e-9")
    assert longer > 1.01 * result


def test_little_noise_is_priced_or_refused_in_words() -> None:
    """At mu = 4 the blanket of a window without far cells still mixes; at 6 nothing does, and no number is given."""
    setting = {"points": 3, "reports": 10**7, "items": 20, "delta": "1e-9"}
    result = shuffled_gaussian_alpha_upper(4, cells=12, **setting)
    pure = matrix_alpha0_upper(gaussian_matrix([0, 0.5, 1], 4, cells=12, reach=0.0), _THIRDS) * 20
    assert shuffled_gaussian_alpha_lower(4, reports=10**7, items=20, delta="1e-9") <= result < pure / 20
    with pytest.raises(ParameterError, match="hides next to nothing: alpha = 565 ") as error:
        shuffled_gaussian_alpha_upper(6, cells=12, **setting)
    least = shuffled_gaussian_alpha_lower(6, reports=10**7, items=20, delta="1e-9")
    assert f"below {least:.1f}" in str(error.value)
    assert least > 50
    assert error.value.fix == "mu=3"


_THIRDS = np.abs(np.subtract.outer([0, 0.5, 1], [0, 0.5, 1]))
