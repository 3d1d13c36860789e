"""Shares up to points of a line: what they are, the law of their noise by another way, and intervals that hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from barrow.mechanisms.cumulative import Parts, cumulative_of
from barrow.mechanisms.edge_noise import EdgeNoise
from barrow.mechanisms.edge_sums import EdgeSum, sum_half_width
from barrow.mechanisms.histograms import histogram_noise
from barrow.mechanisms.user_level.histograms import user_level_histogram
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.spaces import Discrete, Line
from barrow.spaces.augmented import with_no_records

LINE = Line(0, 60, step=1, unit="min", cells=True)
UNEVEN = Line(0, 60, points=[0, 1, 2, 4, 7, 7.5, 10, 20, 21, 22, 30, 31, 45, 46, 47, 48, 60])


def made_for(name):
    kind, _, how = name.partition(" ")
    space = LINE if "uneven" not in how else UNEVEN
    space = with_no_records(space) if "apart" in how else space
    if kind == "levels":
        return space, user_level_histogram(space, "levels", 1, users=500)
    if "gaussian" in how:
        return space, histogram_noise(space, kind, 20, "1e-6", users=500, noise="gaussian")
    spacing = 6.0 if "coarse" in how else None
    return space, histogram_noise(space, kind, 20, users=500, spacing=spacing)


KINDS = [
    "cells", "cells apart", "cells uneven", "cells gaussian", "cells apart gaussian", "tree", "tree uneven",
    "tree gaussian", "edges", "edges apart", "edges uneven apart", "edges coarse", "edges coarse apart", "levels",
    "levels apart",
]  # fmt: skip


def shares_of(space, seed=3):
    rng = np.random.default_rng(seed)
    result = rng.dirichlet(np.full(space.items, 0.3))
    if space.no_records_distance is not None:
        result[-1] = 0.2
        result[:-1] *= 0.8 / result[:-1].sum()
    return result


@pytest.mark.parametrize("name", KINDS)
def test_without_noise_each_value_is_the_share_up_to_its_points(name):
    space, built = made_for(name)
    result, shares = cumulative_of(space, built), shares_of(space)
    people = shares[: space.records_space.items].sum()
    below = np.cumsum(shares[: space.records_space.items])
    raw = np.asarray(built.matrix @ shares)
    for q in (0.0, 0.3, 0.9):
        values = result.excess(raw, q) + q * people
        assert (values >= below[result.first] - 1e-6).all()
        assert (values <= below[result.last] + 1e-6).all()
        if "coarse" not in name:
            assert np.allclose(values, below[:-1], atol=1e-6)
    assert result.holders(raw)[0] == pytest.approx(people, abs=1e-6)
    assert (np.diff(result.first) >= 0).all()
    assert (np.diff(result.last) >= 0).all()


@pytest.mark.parametrize("q", [0.1, 0.5])
@pytest.mark.parametrize("name", KINDS)
def test_the_noise_of_a_value_is_that_of_what_is_added_up(name, q):
    """Second route: the covariance of the released values, through the matrix of what is made of them."""
    space, built = made_for(name)
    result = cumulative_of(space, built)
    size = built.query.dimension
    zero = result.excess(np.zeros(size), q)
    ways = np.array([result.excess(row, q) - zero for row in np.eye(size)])
    if isinstance(built.noise, EdgeNoise):
        covariance = np.asarray(built.noise.plan.covariance.todense())
    else:
        covariance = np.eye(size) * (built.noise.distribution.deviation * float(built.noise.scale)) ** 2
    variances = np.einsum("ij,ik,kj->j", ways, covariance, ways)

    def of(parts):
        return (parts.counts * parts.scales**2).sum(axis=1) * (1.0 if result.gaussian else 2.0)

    stated = of(result.noise(q))
    if "apart" in name and "edges" in name:  # the part of people without records is taken at its largest
        assert (stated >= variances * (1.0 - 1e-9)).all()
        assert (stated <= variances * 1.2).all()
    else:
        assert np.allclose(stated, variances, rtol=1e-6)
    for size, weights, parts in result.windows(q):
        whole = np.convolve(weights, np.ones(size), "valid")
        mean = np.array([np.convolve(row * weights, np.ones(size), "valid") / whole for row in ways])
        variances = np.einsum("ij,ik,kj->j", mean, covariance, mean)
        assert (of(parts) >= variances * (1.0 - 1e-9)).all()
        assert (of(parts) <= variances * 1.2).all()


def test_sums_of_many_noises_agree_with_those_of_edges():
    for scales, counts in (([1.0], [7]), ([1.0, 0.3], [5, 40]), ([2.0, 1.0, 0.1], [1, 3, 9])):
        other = EdgeSum(np.repeat(scales, counts)).half_width(0.02)
        assert sum_half_width(np.array(scales), np.array(counts), 0.02) == pytest.approx(other, rel=1e-3)
    many = Parts(np.arange(1, 400)[:, None], np.ones((399, 1))).half_widths(0.05, gaussian=False)
    exact = [sum_half_width(np.array([1.0]), np.array([count]), 0.05) for count in range(1, 400, 23)]
    assert (many[::23] >= np.array(exact) * (1 - 1e-9)).all()
    assert (many[::23] <= np.array(exact) * 1.04).all()


def misses(name, q, level, draws, shrink=1.0):
    space, built = made_for(name)
    result, shares = cumulative_of(space, built), shares_of(space)
    below = np.cumsum(shares[: space.records_space.items])
    true = int(np.searchsorted(below, q * below[-1] * (1 - 1e-12)))
    raw = np.asarray(built.matrix @ shares)
    zero = Center.from_integers(np.zeros(len(raw), dtype=np.int64))
    wrong = 0
    for seed in range(draws):
        noise = built.noise.draw(zero, SeededSource(seed)).values
        first, last = result.interval(raw + noise / shrink, q, level)
        wrong += not first <= true <= last
    return wrong


@pytest.mark.parametrize("name", KINDS)
def test_intervals_hold_the_quantile(name):
    draws = 300
    wrong = max(misses(name, q, 0.2, draws) for q in (0.2, 0.5))
    assert wrong <= binom.isf(1e-7, draws, 0.2)


def test_intervals_that_are_too_narrow_would_be_seen():
    """Half the width: the same test fails."""
    draws = 300
    assert misses("cells", 0.5, 0.2, draws, shrink=0.25) > binom.isf(1e-7, draws, 0.2)


@pytest.mark.parametrize("name", ["cells apart", "edges apart", "edges coarse", "levels apart"])
def test_the_band_holds_the_whole_distribution_function(name):
    space, built = made_for(name)
    result, shares = cumulative_of(space, built), shares_of(space)
    held = np.cumsum(shares[: space.records_space.items])
    held /= held[-1]
    raw = np.asarray(built.matrix @ shares)
    zero = Center.from_integers(np.zeros(len(raw), dtype=np.int64))
    wrong = 0
    for seed in range(200):
        _, low, high = result.band(raw + built.noise.draw(zero, SeededSource(seed)).values, 0.2)
        wrong += bool((low > held[result.last] + 1e-9).any() or (high < held[result.first] - 1e-9).any())
        assert (np.diff(low) >= 0).all()
        assert (np.diff(high) >= 0).all()
    assert wrong <= binom.isf(1e-7, 200, 0.2)


def test_where_nothing_is_known_about_sums():
    names = Discrete(["a", "b", "c"])
    assert cumulative_of(names, histogram_noise(names, "cells", 5, users=100)) is None
    norms = histogram_noise(LINE, "cells", 5, users=100, noise="l2")
    assert cumulative_of(LINE, norms) is None
    local = histogram_noise(LINE, "cells", 5, users=100, model="local")
    assert cumulative_of(LINE, local) is None
