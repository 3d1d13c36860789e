"""Intervals of decoded histograms hold about as often as they say, also with few draws."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks._coverage import Held, along, held
from benchmarks._multiscale import ALPHA, SQUARE, populations

from barrow.errors import ParameterError
from barrow.mechanisms.histograms import histogram_noise
from barrow.noise.source import SeededSource
from barrow.planning.simulate import resampled
from barrow.spaces import Clustered, Line


@pytest.fixture(scope="module")
def grid():
    return histogram_noise(SQUARE, "edges", ALPHA, users=10**4)


def test_items_above_the_noise_lie_within_on_nine_populations(grid):
    found = Held()
    for seed, truth in enumerate(populations()):
        found.add(held(grid, truth, 77 + seed))
    above, below = found.shares
    assert found.above > 400
    assert above >= 0.93
    assert below >= 0.95


def test_intervals_are_not_idly_wide(grid):
    """Half as wide they would fail: the test above can tell."""
    truth = populations()[0]
    shares = grid.simulated(truth, SeededSource(5))
    found = resampled(grid, shares)
    out = shares > found.noise
    half = (found.high - shares)[out]
    assert (np.abs(truth - shares)[out] > half / 3).mean() > 0.07
    assert np.median(half / shares[out]) < 0.9


@pytest.mark.parametrize("space", [Line(0, 100, step=1), Clustered.grid(10, 10, r=0.05)], ids=["line", "tree"])
def test_small_spaces(space):
    kind = "tree" if isinstance(space, Clustered) else "edges"
    made, found = histogram_noise(space, kind, ALPHA, users=10**4), Held()
    for seed, truth in enumerate(along(space)):
        found.add(held(made, truth, seed))
    assert found.shares[0] >= 0.93
    assert found.shares[1] >= 0.93


def test_what_does_not_stand_out_has_no_lower_end(grid):
    shares = grid.simulated(populations()[3], SeededSource(1))
    found = resampled(grid, shares)
    below = shares <= found.noise
    assert (found.low[below] == 0.0).all()
    assert (found.high >= shares).all()
    assert all(abs(other.sum() - 1.0) < 1e-9 for other in found.redraws)


def test_regions_hold_and_the_whole_is_certain():
    """Few intervals miss; a limit that intervals of half the width could not keep."""
    line = Line(0, 100, step=1)
    made, misses, halves, tries = histogram_noise(line, "edges", ALPHA, users=10**4), 0, 0, 0
    for seed, truth in enumerate(along(line) * 3):
        shares = made.simulated(truth, SeededSource(300 + seed))
        found = resampled(made, shares)
        for a, b in ((10, 40), (0, 50), (60, 101), (25, 35)):
            inside = np.zeros(line.items, dtype=bool)
            inside[a:b] = True
            share, low, high = found.region(inside)
            off = truth[inside].sum() - share
            misses += not low - share - 1e-12 <= off <= high - share + 1e-12
            halves += not (low - share) / 2 <= off <= (high - share) / 2
            tries += 1
    assert misses <= 0.07 * tries
    assert halves > 0.14 * tries
    share, low, high = found.region(np.ones(line.items, dtype=bool))
    assert share == pytest.approx(1.0)
    assert high - low < 1e-9
    with pytest.raises(ParameterError, match="one truth value"):
        found.region(np.ones(3, dtype=bool))


def test_equal_releases_get_equal_intervals(grid):
    shares = np.full(SQUARE.items, 1.0 / SQUARE.items)
    first, second = resampled(grid, shares), resampled(grid, shares)
    assert (first.low == second.low).all()
    assert first.noise == second.noise
