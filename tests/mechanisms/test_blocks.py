"""Blocks that stand out together: widths one by one, merging by enumeration, and a miss anywhere in the family."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from benchmarks._coverage import flights
from benchmarks._intervals_truth import released
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from barrow.mechanisms.blocks import NestedBlocks, all_at_once, dyadic_levels, edge_blocks, grid_shape, halved_levels
from barrow.mechanisms.blocks import node_levels as levels_of
from barrow.mechanisms.edge_histogram import edge_histogram
from barrow.mechanisms.edge_intervals import half_width
from barrow.mechanisms.histogram_regions import ReleasedShares
from barrow.mechanisms.histograms import histogram_noise
from barrow.mechanisms.user_level.histograms import user_level_histogram
from barrow.noise.source import SeededSource
from barrow.spaces import Circle, Clustered, Earth, Euclidean, Line, NoRecords, Product
from barrow.spaces.augmented import base_space

TOWN = Earth(box=(40.0, -74.0, 40.4, -73.4), cell=2)
GRAPHS = {
    "coarse map": (NoRecords(TOWN), TOWN.diameter / 9),
    "fine grid": (Euclidean([0, 0], [5, 7], step=1), None),
    "fine grid with no records": (NoRecords(Euclidean([0, 0], [6, 4], step=1)), None),
    "coarse line": (NoRecords(Line(0, 40, step=1)), 3.0),
    "circle": (Circle.hours(), None),
    "product": (Product([Line(0, 4, step=1), Line(0, 3, step=1)]), None),
    "box": (Euclidean([0, 0, 0], [3, 2, 2], step=1), None),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_widths_by_kinds_of_boundaries_are_those_of_each_block_alone(name):
    space, spacing = GRAPHS[name]
    plan = edge_histogram(space, 20, users=500, spacing=spacing)
    levels = levels_of(plan)
    result = edge_blocks(plan, levels, 0.05)
    total = 0.0
    for (of, count, miss), widths in zip(all_at_once(levels, 0.05), result.widths, strict=True):
        assert len(widths) == count
        for block in range(count):
            alone = half_width(plan, (of == block).astype(float), miss)
            assert widths[block] == pytest.approx(alone, rel=1e-8)
        total += miss * count
    assert 0.0499 < total <= 0.05


@pytest.mark.parametrize("name", GRAPHS)
def test_blocks_are_nested_and_hold_every_item_but_those_that_were_added(name):
    space, spacing = GRAPHS[name]
    plan = edge_histogram(space, 20, users=500, spacing=spacing)
    levels = levels_of(plan)
    carried = plan.decoder.weights[: base_space(space).items]
    for fine, coarse in pairwise(levels):
        assert ((fine < 0) == (coarse < 0)).all()
        for block in range(fine.max() + 1):
            assert len(np.unique(coarse[fine == block])) == 1
    assert (np.asarray(carried[:, levels[0] < 0].sum()) == 0.0).all()
    assert len(np.unique(levels[0][levels[0] >= 0])) == (levels[0] >= 0).sum()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=6), st.integers(0, 10**6))
def test_merging_and_lower_ends_by_enumeration(shares, seed):
    """Every antichain of blocks is tried."""
    released_shares = np.array(shares)
    levels = dyadic_levels((len(shares),))
    rng = np.random.default_rng(seed)
    widths = tuple(rng.uniform(0.1, 0.6, of.max() + 1) for of in levels)
    built = NestedBlocks(levels, widths)
    blocks = [
        (level, frozenset(np.flatnonzero(of == b)), released_shares[of == b].sum() - wide[b])
        for level, (of, wide) in enumerate(zip(levels, widths, strict=True))
        for b in range(len(wide))
    ]
    out = [block for block in blocks if block[2] > 0]
    shown = {(m, end) for level, m, end in out if not any(o <= m and finer < level for finer, o, _ in out)}
    result = built.merged(released_shares)
    got = {frozenset(np.flatnonzero(result.of_unit == k)): result.low[k] for k in range(len(result.share))}
    assert got == pytest.approx(dict(shown))
    inside = rng.random(len(shares)) < 0.7
    subset = [(m, end) for _, m, end in out if all(inside[i] for i in m)]
    best = 0.0
    for size in range(1, 5):
        for chosen in combinations(subset, size):
            if all(not (a & b) for (a, _), (b, _) in combinations(chosen, 2)):
                best = max(best, sum(end for _, end in chosen))
    assert built.lower(released_shares, inside) == pytest.approx(best)


def family_misses(made, truth, releases, seed, narrower=1.0):
    clean = np.asarray(made.matrix @ truth)
    law = ReleasedShares.of(made.space, made, clean)
    source, result, exact = SeededSource(seed), 0, law.family()
    for _ in range(releases):
        here = ReleasedShares.of(made.space, made, released(made, clean, source))
        rows = zip(replace(here, cache=law.cache).family(), exact, strict=True)
        result += any(bool((np.abs(a - b) > narrower * w).any()) for (a, w), (b, _) in rows)
    return result


def _bundled():
    earth, where = flights()
    return histogram_noise(NoRecords(earth), "edges", 100, users=4043, spacing=400), np.append(where, 0.0)


def _line():
    line = Line(0, 120, step=1)
    return histogram_noise(line, "tree", 25, users=1000), np.full(line.items, 1 / line.items)


def _cells():
    space = NoRecords(Line(0, 120, step=1))
    return user_level_histogram(space, "cells", 1, users=1000), np.full(space.items, 1 / space.items)


def _levels():
    space = NoRecords(Clustered.grid(8, 8, r=0.1))
    return user_level_histogram(space, "levels", 1, users=1000), np.full(space.items, 1 / space.items)


@pytest.mark.parametrize("make", [_bundled, _line, _cells, _levels])
def test_a_miss_anywhere_in_the_family_is_rare_and_would_be_seen(make):
    """By the union bound at most 5 % of releases miss anywhere; with widths of 0.7 many more do."""
    built, truth = make()
    limit = int(binom.isf(1e-7, 120, 0.05))
    assert family_misses(built, truth, 120, 11) <= limit
    assert family_misses(built, truth, 120, 11, narrower=0.7) > limit


def test_shapes_of_grids_and_places_in_none():
    assert grid_shape(Euclidean([0, 0], [6, 9], step=1).graph()) == (6, 9)
    assert grid_shape(TOWN.graph(TOWN.diameter / 9)) is not None
    assert grid_shape(Circle.hours().graph()) == (24,)
    assert grid_shape(Clustered.grid(3, 3, r=0.1).graph()) is None
    places = np.random.default_rng(1).random((37, 2))
    levels = halved_levels(places)
    assert len(np.unique(levels[0])) == 37
    for level, of in enumerate(levels):
        assert np.bincount(of).max() <= 4**level
