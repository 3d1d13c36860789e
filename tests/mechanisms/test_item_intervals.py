"""Intervals of items: rates by enumeration, the rule by p-values, and coverage of every mechanism."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from benchmarks._intervals_truth import measure, released
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from barrow.errors import ParameterError
from barrow.mechanisms import FrequencyEstimator, item_wise
from barrow.mechanisms.histogram_regions import ReleasedShares, checked_confidence
from barrow.mechanisms.histograms import histogram_noise
from barrow.mechanisms.item_intervals import intervals_of, item_intervals, standing_out
from barrow.mechanisms.user_level.histograms import user_level_histogram
from barrow.noise.source import SeededSource
from barrow.randomisers import gkrr
from barrow.spaces import Clustered, Discrete, Earth, Euclidean, Line, NoRecords, Tree

ATOMS = np.arange(-7, 8)
LAW = 0.6 ** np.abs(ATOMS)
LAW = LAW / LAW.sum()


def exact_rates(truth, miss, narrower=1.0):
    """The mean shares of intervals and of limits that miss, over all draws of a discrete noise."""

    def widths(rate):
        beyond = [LAW[np.abs(ATOMS) > w].sum() for w in range(8)]
        return np.full(len(truth), next(w for w in range(8) if beyond[w] <= min(narrower * rate, 1.0)) + 0.5) / 100

    two, one = 0.0, 0.0
    for places in product(range(len(ATOMS)), repeat=len(truth)):
        chance = float(np.prod(LAW[list(places)]))
        result = standing_out(truth + ATOMS[list(places)] / 100, widths, miss)
        missed = (truth < result.low - 1e-12) | (truth > result.high + 1e-12)
        if result.out.any():
            two += chance * missed[result.out].mean()
        if not result.out.all():
            one += chance * missed[~result.out].mean()
    return two, one


@pytest.mark.parametrize("truth", [[0.0, 0.0, 0.0], [0.03, 0.05, 0.0], [0.04, 0.04, 0.04], [0.09, 0.02, 0.0]])
def test_mean_shares_of_misses_are_kept_exactly(truth):
    two, one = exact_rates(np.array(truth), 0.2)
    assert two <= 0.2
    assert one <= 0.2


def test_narrower_intervals_would_be_seen():
    rates = [exact_rates(np.array(truth), 0.2, narrower=4.0) for truth in ([0.04, 0.04, 0.04], [0.03, 0.05, 0.0])]
    assert max(two for two, _ in rates) > 0.2
    assert max(one for _, one in rates) > 0.2


@given(st.lists(st.floats(-3, 30), min_size=1, max_size=12))
def test_the_rule_is_that_of_benjamini_and_hochberg(values):
    shares, many = np.array(values), len(values)
    result = standing_out(shares / 100, lambda rate: np.full(many, np.log(1 / rate)) / 100, 0.05)
    p = np.where(shares > 0, np.exp(-np.maximum(shares, 0)) / 2, 1.0)
    ranks = np.sort(p) <= 0.025 * np.arange(1, many + 1) / many
    count = int(np.flatnonzero(ranks).max()) + 1 if ranks.any() else 0
    near = np.abs(np.sort(p) / (0.025 * np.arange(1, many + 1) / many) - 1) < 1e-9
    if not near.any():
        assert int(result.out.sum()) == count


TOWN = Earth(box=(40.0, -74.0, 40.4, -73.4), cell=2)
TREE = Tree([("a", "l", 1), ("b", "l", 2), ("l", "m", 1), ("c", "m", 1), ("m", "root", 2), ("d", "root", 3)])
MADE = {
    "cells": lambda: user_level_histogram(NoRecords(Line(0, 60, step=1)), "cells", 1, users=2000),
    "levels": lambda: user_level_histogram(NoRecords(Line(0, 60, step=1)), "levels", 1, users=2000),
    "tree": lambda: histogram_noise(TREE, "tree", 20, users=500),
    "user-level tree": lambda: user_level_histogram(NoRecords(Clustered.grid(5, 6, r=0.1)), "tree", 2, users=2000),
    "line": lambda: histogram_noise(Line(0, 60, step=1), "tree", 60, users=2000),
    "edges": lambda: histogram_noise(NoRecords(Euclidean([0, 0], [7, 6], step=1)), "edges", 60, users=2000),
    "gaussian": lambda: histogram_noise(Clustered.grid(5, 6, r=0.1), "tree", 20, 1e-6, users=500, noise="gaussian"),
    "reports": lambda: histogram_noise(Line(0, 12, step=1), "tree", 60, users=7, model="local"),
}


def skewed(items, seed):
    result = np.random.default_rng(seed).dirichlet(np.full(items, 0.3))
    return np.where(result < 0.002, 0.0, result) / result[result >= 0.002].sum()


@pytest.mark.parametrize("name", MADE)
def test_intervals_cover_on_every_mechanism(name):
    built = MADE[name]()
    truth, releases = skewed(built.space.items, 5), 60
    figures = measure(built, truth, releases, 21).figures()
    for sort in ("standing_out", "busiest", "nonzero", "limits"):
        if sort in figures:
            many, held = figures[sort]["count"], figures[sort]["held"]
            # Misses of one release may come together, by a shared edge: counted as if there were a fifth as many.
            assert held >= 1 - float(binom.isf(1e-6, max(many // 5, 1), 0.05)) / max(many // 5, 1), (
                sort,
                figures[sort],
            )
    assert figures["standing_out"]["count"] > 20


@pytest.mark.parametrize("name", ["cells", "levels", "tree", "line", "edges"])
def test_half_widths_of_items_are_not_idle(name):
    """At a miss rate of a tenth, a tenth of all noises is beyond: a width of another law would be seen."""
    built = MADE[name]()
    clean = np.zeros(built.query.dimension)
    law, source, beyond = ReleasedShares.of(built.space, built, clean), SeededSource(8), []
    middle, wide = law.item_shares(), law.item_widths(0.1)
    for _ in range(300):
        off = ReleasedShares.of(built.space, built, released(built, clean, source)).item_shares() - middle
        beyond.append(np.abs(off) > wide)
    assert 0.08 < np.mean(beyond) < 0.115
    assert np.mean(beyond, axis=0).max() < 0.2


def test_no_cell_of_a_coarse_map_has_two_ends_and_limits_hold():
    space = NoRecords(TOWN)
    built = histogram_noise(space, "edges", 200, users=3000, spacing=TOWN.diameter / 9)
    truth = np.zeros(space.items)
    truth[[5, 80, 81, 200]] = 0.25  # as far from smooth as can be
    clean, source, held = np.asarray(built.matrix @ truth), SeededSource(2), []
    law = ReleasedShares.of(space, built, clean)
    for _ in range(200):
        result = item_intervals(replace(law, shares=released(built, clean, source)))
        assert not result.out.any()
        held.append((truth <= result.high)[[5, 80, 81, 200]])
    assert np.mean(held, axis=0).min() > 0.88  # false alarm below 1e-6 at 95 %
    at_node = int(np.argmax(built.noise.plan.graph.weights.max(axis=1).toarray().ravel()[: TOWN.items]))
    assert result.high[at_node] < 0.2  # where nothing is, limits say so


@pytest.mark.parametrize("noise", ["l2", "linf"])
def test_cells_with_noise_of_other_norms_have_intervals(noise):
    built = histogram_noise(Discrete(list("abcdefgh")), "cells", 30, users=200, noise=noise)
    assert ReleasedShares.of(built.space, built, np.zeros(8)) is None
    truth, source, right, out = np.array([0.5, 0.3, 0.2, 0, 0, 0, 0, 0]), SeededSource(3), [], 0
    for _ in range(100):
        result = intervals_of(built, None, released(built, truth, source))
        right.append((result.low <= truth) & (truth <= result.high))
        out += int(result.out[:3].sum())
    assert np.mean(right) > 0.94
    assert out > 100


def test_scales_have_limits_too():
    built = histogram_noise(Euclidean([0, 0], [6, 6], step=1), "multiscale", 60, users=3000)
    truth = skewed(36, 3)
    clean, source, held = np.asarray(built.matrix @ truth), SeededSource(2), []
    for _ in range(60):
        raw = released(built, clean, source)
        result = intervals_of(built, None, raw)
        assert not result.out.any()
        held.append((truth <= result.high).mean())
    assert np.mean(held) > 0.93


def test_deviations_of_frequencies_are_those_of_the_reports():
    estimator = FrequencyEstimator(item_wise(gkrr(Clustered.grid(3, 4, r=0.25), 2), items=10, users=1000))
    counts = np.random.default_rng(1).multinomial(10_000, np.random.default_rng(2).dirichlet(np.ones(12)))
    inverse = estimator.channel.right_inverse()
    each = np.repeat(inverse, counts, axis=0)  # what every single report adds to the estimate
    assert estimator.deviations(counts) == pytest.approx(each.std(axis=0) / 100.0)


@pytest.mark.parametrize("confidence", [0.05, 0.499, 1.0, float("nan"), True, "0.95"])
def test_confidence_is_how_often_intervals_hold(confidence):
    with pytest.raises(ParameterError, match=r"confidence=0\.95"):
        checked_confidence(confidence)
