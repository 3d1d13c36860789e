"""How often "more than the noise" is false: the stated level holds over all comparisons together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from barrow.mechanisms.additive import NoiseDistribution
from barrow.render.report.series import differences
from tests.thorough import often

MONTHS = [f"2026-{month:02}" for month in range(1, 13)]


def noise(kind: str, rng: np.random.Generator, count: int) -> np.ndarray:
    if kind == "laplace":
        return rng.laplace(size=count)
    if kind == "gaussian":
        return rng.normal(size=count)
    direction = rng.normal(size=(count, 3))  # one of three outputs of l2 noise: a gamma radius times a direction
    radius = rng.gamma(3.0, size=count)
    return radius * direction[:, 0] / np.linalg.norm(direction, axis=1)


WIDTHS = {"laplace": (1.0, 1), "gaussian": (None, 1), "l2": (2.0, 3)}


def false_claims(kind: str, draws: int, *, shrink: float = 1.0, additive: bool = True) -> int:
    """How often any two of twelve equal months are called different."""
    rng, half = np.random.default_rng(8), NoiseDistribution(*WIDTHS[kind]).quantile(0.05) * shrink
    false = 0
    for _ in range(draws):
        values = 40.0 + noise(kind, rng, len(MONTHS))
        (told,) = differences(MONTHS, values, values - half, values + half, additive=additive)
        false += told.startswith("Differences larger than the noise")
    return false


@pytest.mark.parametrize("kind", WIDTHS)
def test_all_comparisons_together_hold_at_the_stated_level(kind):
    draws = often(400, 20_000)
    most = draws * 0.05 + 4 * math.sqrt(draws * 0.05)
    assert false_claims(kind, draws) <= most
    assert false_claims(kind, draws, shrink=0.4) > most  # the test can fail


def test_intervals_that_are_not_widened_would_be_wrong_too_often():
    """Which is why a report of ratios says that each pair alone is wrong with 10 %, and not all together."""
    draws = often(400, 20_000)
    names = MONTHS[:2]
    rng, half = np.random.default_rng(8), NoiseDistribution(1.0, 1).quantile(0.05)
    values = rng.laplace(size=(draws, 2))
    alone = sum("More" in differences(names, v, v - half, v + half, additive=False)[0] for v in values)
    assert alone <= draws * 0.10 + 4 * math.sqrt(draws * 0.1)
    (told,) = differences(names, [0.0, 9.0], [-1.0, 8.0], [1.0, 10.0], additive=False)
    assert "each pair alone is wrong with probability at most 10 %" in told
    (told,) = differences(names, [0.0, 9.0], [-1.0, 8.0], [1.0, 10.0], additive=False, at_once=True)
    assert "All comparisons together hold with probability 95 %" in told


def test_a_difference_beyond_the_noise_is_found():
    half = NoiseDistribution(1.0, 1).quantile(0.05)
    wide = 2 * half * math.log(20 * 12) / math.log(20)
    values = np.full(12, 40.0)
    values[6] += wide * 1.01
    (told,) = differences(MONTHS, values, values - half, values + half, additive=True)
    assert told.startswith("Differences larger than the noise: 2026-01 and 2026-07")
    values[6] -= wide * 0.02
    (told,) = differences(MONTHS, values, values - half, values + half, additive=True)
    assert told == "No two values differ by more than the noise."
