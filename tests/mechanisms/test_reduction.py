"""BoundedEMDReduction: any number of items becomes exactly s reports; by enumeration it is as private as it claims."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from barrow.accounting import price
from barrow.errors import DataError, ParameterError
from barrow.mechanisms import item_wise, reduced
from barrow.noise import system_source
from barrow.noise.source import SeededSource
from barrow.promises import SampledItems, event_from_json
from barrow.randomisers import randomised_response
from barrow.spaces import Discrete, Line

SPACE = Discrete(["a", "b", "c"], default="c")


def plan(samples=12, alpha0=2, users=None, radius="0.1", delta="1e-6"):
    model = "local" if users is None else "central"
    inner = item_wise(randomised_response(SPACE, alpha0), items=samples, users=users, model=model, delta=delta)
    return reduced(inner, radius=radius)


@pytest.mark.parametrize("held", [[], [0], [1, 1, 2], list(range(3)) * 500])
def test_any_number_of_items_gives_s_reports(held):
    answer = plan().randomise(held)
    assert answer.counts.sum() == 12
    assert answer.private
    assert answer.event == plan().event
    assert isinstance(answer.event, SampledItems)
    assert event_from_json(answer.event.to_json()) == answer.event


def test_nobody_without_items():
    assert plan().draw_items([]).tolist() == [2] * 12
    assert plan(samples=1).draw_items([1]).tolist() == [1]


def test_unknown_items_are_refused():
    with pytest.raises(ParameterError, match="not items of the space"):
        plan().randomise([7])


def test_draws_are_independent_and_uniform():
    held = [0] * 5 + [1] * 3 + [2]
    sample = plan(samples=90_000).draw_items(held, source=SeededSource(8))
    expected = np.array([5, 3, 1]) * 10_000
    result = np.bincount(sample)
    limit = chi2.isf(1e-7, 2)
    assert float(((result - expected) ** 2 / expected).sum()) < limit
    shuffled = np.random.default_rng(1).permutation(held * 10_000)  # without replacement: exact, so far too even
    even = np.bincount(shuffled)
    assert float(((even - expected) ** 2 / expected).sum()) < chi2.ppf(1e-7, 2)
    assert float(((result - expected) ** 2 / expected).sum()) > chi2.ppf(1e-7, 2)
    pairs = np.bincount(sample[0::2] * 3 + sample[1::2], minlength=9)
    both = np.outer(expected, expected).ravel() / expected.sum() / 2
    assert float(((pairs - both) ** 2 / both).sum()) < chi2.isf(1e-7, 8)


def test_the_curator_releases_samples():
    built = plan(samples=4, users=10)
    answer = built.release([20, 15, 5])
    assert answer.counts.sum() == 40
    assert answer.private
    assert answer.event == built.event
    assert not built.release([20, 15, 5], sampled_privately=False).private
    assert not built.release([20, 15, 5], source=SeededSource(1)).private
    with pytest.raises(DataError):
        built.release([20, 15, 6])


def law(probabilities, samples, channel):
    """The exact law of the histogram of reports of ``samples`` draws."""
    reports = [sum(p * row[y] for p, row in zip(probabilities, channel, strict=True)) for y in range(2)]
    return [
        math.comb(samples, k) * reports[0] ** k * reports[1] ** (samples - k) for k in range(samples + 1)
    ]  # fmt: skip


def smallest_delta(p, q, epsilon):
    return max(sum(max(0.0, x - math.exp(epsilon) * y) for x, y in zip(a, b, strict=True)) for a, b in ((p, q), (q, p)))


@pytest.mark.parametrize(("samples", "alpha0", "radius"), [(1, 2, "0.2"), (8, 1, "0.1"), (30, 0.3, "0.05")])
def test_by_enumeration_the_release_is_as_private_as_it_says(samples, alpha0, radius):
    """Two items at distance 1, every pair of histograms on a grid within the radius: the claimed epsilon suffices."""
    inner = item_wise(randomised_response(Discrete(["a", "b"]), alpha0), items=samples, model="local", delta="1e-4")
    built = reduced(inner, radius=radius)
    claim = price(built.event).definition
    flip = 1 / (1 + math.exp(float(inner.event.alpha0)))
    channel = [[1 - flip, flip], [flip, 1 - flip]]
    grid, worst = 40, 0.0
    for i, j in itertools.combinations(range(grid + 1), 2):
        if Fraction(j - i, grid) <= Fraction(radius):
            laws = [law([x / grid, 1 - x / grid], samples, channel) for x in (i, j)]
            worst = max(worst, smallest_delta(*laws, float(claim.parameters["epsilon"])))
            if j - i == int(Fraction(radius) * grid):
                # A fiftieth of the claim would be broken by some pair: the enumeration can fail.
                worst_of_less = smallest_delta(*laws, float(claim.parameters["epsilon"]) / 50)
                broken = worst_of_less > 1e-4
    assert worst <= 1e-4
    assert broken


def test_wrong_parameters():
    inner = item_wise(randomised_response(SPACE, 1), items=3, model="local")
    for radius in (0, -1, "1.01"):
        with pytest.raises(ParameterError, match="radius is"):
            reduced(inner, radius=radius)
    with pytest.raises(ParameterError, match="delta is"):
        reduced(inner, radius=1, delta=1)
    with pytest.raises(ParameterError, match="inner release is a Line"):
        reduced(Line(0, 1, step=0.5), radius=1)
    assert system_source().private
