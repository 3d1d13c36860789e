"""Lipschitz constants and ranges against brute force over all pairs, in high precision."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.queries import (
    density,
    distance_to,
    function,
    histogram,
    linear_embedding,
    mean,
    multiscale,
    region_share,
    similarity,
)
from barrow.queries import lipschitz as engine
from barrow.queries.coordinates import spectral_norm_upper
from barrow.queries.lipschitz import by_all_pairs, by_range, not_lipschitz, range_by_pairs
from barrow.queries.quantised import default_step, quantise, relative_slack, row_norms, vector_norm
from barrow.queries.tables import _spots
from barrow.spaces import Circle, Clustered, Discrete, Earth, Embedding, Euclidean, Finite, Line, Product, Tree

NORMS = [1.0, 2.0, math.inf, 1.5, 3.0, 40.0]


def brute(query, p):
    """Largest quotient and largest difference, from the quantised table, with 40 digits."""
    table = query.table.integers.toarray() if query.table.sparse else query.table.integers
    far = query.space.block()
    with mpmath.workdps(40):
        step = mpmath.mpf(query.step.numerator) / query.step.denominator
        ratio, span = mpmath.mpf(0), mpmath.mpf(0)
        for i in range(len(table)):
            for j in range(i):
                gaps = [abs(int(a) - int(b)) for a, b in zip(table[i], table[j], strict=True)]
                top = max(gaps)
                if top == 0:
                    continue
                if p == math.inf:
                    size = mpmath.mpf(top)
                else:
                    size = mpmath.power(mpmath.fsum(mpmath.power(g, p) for g in gaps if g), mpmath.mpf(1) / p)
                span = max(span, size * step)
                ratio = max(ratio, size * step / mpmath.mpf(float(far[i, j])))
        return float(ratio), float(span)


WORDS = Embedding([f"w{i}" for i in range(9)], np.random.default_rng(4).normal(size=(9, 3)))
ANGLES = Embedding([f"w{i}" for i in range(9)], np.random.default_rng(5).normal(size=(9, 3)), metric="angular")
BOX = Euclidean([0, 0], [1, 2], step=0.4)
BALL = Euclidean(center=[0, 0], radius=1, step=0.5)
LINE = Line(-3, 7, step=0.6, unit="km")
RAGGED = Line(0, 10, points=[0, 0.1, 2, 7, 7.5, 10])
HOURS = Circle.hours(2)
PLACE = Earth(box=(40, -74, 41, -73), cell=25)
TREE = Tree([("a", "left", 1), ("b", "left", 1), ("left", "root", 2), ("c", "root", 3)])
BOTH = Product([Line(0, 4, step=1, cells=True), Discrete(["x", "y"])], weights=["1/3", "2/3"])

QUERIES = {
    "mean on a line": mean(LINE),
    "mean on ragged points": mean(RAGGED),
    "mean in a box": mean(BOX),
    "mean in a ball": mean(BALL),
    "mean of vectors": mean(WORDS),
    "mean of directions": mean(ANGLES),
    "similarity": similarity(WORDS, [[1, 2, 3], [0, -1, 1]]),
    "cosine": similarity(ANGLES, [[1, 2, 3], [0, -1, 1]]),
    "linear": linear_embedding(WORDS, [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 2], [1, 1, 1]]),
    "distance on a line": distance_to(LINE, 1.234),
    "distance on a circle": distance_to(HOURS, 5.5),
    "distance on Earth": distance_to(PLACE, (40.7, -73.2)),
    "distance in a tree": distance_to(TREE, "b"),
    "distance in a product": distance_to(BOTH, (1.3, "x")),
    "disc": region_share(PLACE, center=(40.7, -73.2), radius="20 km", ramp="30 km"),
    "members": region_share(TREE, members=["a"], ramp="0.5"),
    "histogram of a tree": histogram(TREE),
    "histogram of clusters": histogram(Clustered.grid(2, 3, r=0.1)),
    "density on a line": density(LINE, bandwidth="2 km"),
    "density on a circle": density(HOURS, bandwidth="5 h"),
    "density in a box": density(BOX, bandwidth="0.4"),
    "density in a ball": density(BALL, bandwidth="0.5"),
    "density on Earth": density(PLACE, bandwidth="50 km"),
    "function": function(TREE, [[0, 1], [5, 1], [2, -3]]),
}


@pytest.mark.parametrize("name", QUERIES)
def test_constant_and_range_bound_brute_force_and_are_not_loose(name):
    query = QUERIES[name]
    for p, result in zip(NORMS, query.constants(NORMS), strict=True):
        ratio, span = brute(query, p)
        assert result.lipschitz_upper >= ratio
        assert span <= result.range_upper <= result.lipschitz_upper
        assert 0 < result.range_ratio <= 1
        if result.method in ("all pairs", "neighbours", "near pairs"):
            assert result.lipschitz_upper <= ratio * (1 + 1e-9)
        if result.method == "all pairs" or query.dimension == 1:
            assert result.range_upper <= span * (1 + 1e-9)


@pytest.mark.parametrize("name", [n for n, q in QUERIES.items() if q.closed_form is not None])
def test_closed_forms_bound_brute_force_even_where_a_search_is_preferred(name):
    query = QUERIES[name]
    for p in NORMS:
        closed = query._closed([p])[p].lipschitz_upper
        assert closed >= brute(query, p)[0]


def test_closed_forms_that_are_called_tight_are_tight():
    for name in ("mean on a line", "distance on a line", "histogram of clusters", "mean in a box", "disc"):
        query = QUERIES[name]
        closed = query._closed([2.0])[2.0].lipschitz_upper
        # On a coarse grid no two cells lie exactly along a ray from the centre of the disc.
        assert closed <= brute(query, 2.0)[0] * (1.03 if name == "disc" else 1 + 1e-6)


def test_wrong_closed_forms_would_be_caught():
    """Power: 2/h for a plane, and 1/d_min for a histogram in the 1-norm, are too small, and brute force says so."""
    grid = Euclidean([0, 0], [1, 1], step=1 / 32)
    query = density(grid, bandwidth=str(0.25 / math.sqrt(2)))
    h = 0.25 / grid.diameter
    assert over_all_pairs(query, 1.0) > 2 / h * 1.2
    clusters = QUERIES["histogram of clusters"]
    assert brute(clusters, 1.0)[0] > 1.5 / clusters.space.least_distance_lower


def over_all_pairs(query, p):
    return engine.by_all_pairs(query.space, query.table, [p])[p].lipschitz_upper


def test_neighbours_alone_are_not_enough_in_the_plane():
    """The worst pair of tensor hats is diagonal: neighbours along the axes show 2/h only."""
    grid = Euclidean([0, 0], [1, 1], step=1 / 16)
    query = density(grid, bandwidth=str(0.25 / math.sqrt(2)))
    best = engine.by_all_pairs(grid, query.table, [1.0])[1.0]
    a, b = grid.points[best.pair[0]], grid.points[best.pair[1]]
    assert (np.abs(a - b) > 0).all()


@pytest.mark.parametrize("name", ["density in a box", "density in a ball", "density on Earth"])
def test_near_pairs_agree_with_all_pairs(name):
    query = QUERIES[name]
    near = engine.by_near_pairs(query.space, query.table, [1.0, 2.0, math.inf], *query.cartesian)
    full = engine.by_all_pairs(query.space, query.table, [1.0, 2.0, math.inf])
    for p in near:
        assert near[p].lipschitz_upper == pytest.approx(full[p].lipschitz_upper, rel=1e-12)


def test_near_pairs_widen_their_reach_until_far_pairs_cannot_matter():
    query = density(Earth(box=(0, 0, 3, 3), cell=20), bandwidth="60 km")
    points, reach = query.cartesian
    short = engine.by_near_pairs(query.space, query.table, [1.0], points, reach / 6)[1.0]
    full = engine.by_all_pairs(query.space, query.table, [1.0])[1.0]
    assert short.lipschitz_upper == pytest.approx(full.lipschitz_upper, rel=1e-12)


CHAINED = {
    "plane": density(Euclidean([0, 0], [1, 1], step=1 / 48), bandwidth="0.3"),
    "ball": density(Euclidean(center=[0, 0], radius=1, step=1 / 24), bandwidth="0.3"),
    "mid latitudes": density(Earth(box=(40, -74, 43, -70), cell=8), bandwidth="150 km"),
    "far north": density(Earth(box=(70, 10, 76, 30), cell=14), bandwidth="250 km"),
    "far south": density(Earth(box=(-76, 10, -70, 30), cell=14), bandwidth="250 km"),
    "globe": density(Earth(cell=400), bandwidth="7000 km"),
}


@pytest.mark.parametrize("name", CHAINED)
def test_chains_along_geodesics_bound_all_pairs(name, monkeypatch):
    query = CHAINED[name]
    full = engine.by_all_pairs(query.space, query.table, [1.0, 2.0])
    monkeypatch.setattr(engine, "_EASY_PAIRS", 0.0)
    visited, stretch = engine._visits(query.space, *tree_of(query))
    assert visited < query.cartesian[1]
    assert 1.0 < stretch < 1.14
    chained = engine.by_near_pairs(query.space, query.table, [1.0, 2.0], *query.cartesian)
    for p in (1.0, 2.0):
        assert full[p].lipschitz_upper <= chained[p].lipschitz_upper <= full[p].lipschitz_upper * 1.15


def tree_of(query):
    from scipy.spatial import cKDTree

    points, reach = query.cartesian
    return cKDTree(points), points, reach


def test_geodesics_bulge_no_farther_than_said():
    """Points along geodesics between items of a northern box, against the nearest item."""
    from barrow.spaces.sphere import unit_vectors

    space = Earth(box=(70, 10, 76, 30), cell=14)
    vectors = unit_vectors(space.points)
    rng, length = np.random.default_rng(0), 600 / space.diameter
    rho = engine._offset_upper(space, length) * space.diameter
    worst = 0.0
    for _ in range(400):
        a, b = vectors[rng.integers(len(vectors), size=2)] if _ else vectors[[-1, -20]]
        angle = math.acos(min(1.0, float(a @ b)))
        if not 0 < angle * 6371.0088 <= 600:
            continue
        for t in np.linspace(0, 1, 21):
            p = (math.sin((1 - t) * angle) * a + math.sin(t * angle) * b) / math.sin(angle)
            worst = max(worst, 6371.0088 * math.acos(min(1.0, float((vectors @ p).max()))))
    assert worst <= rho
    assert worst > space.snapping_upper * space.diameter * 0.9


def test_boxes_with_a_gap_behind_them_have_no_chains():
    assert engine._offset_upper(Earth(box=(-50, -170, 50, 170), cell=500), 0.01) is None
    assert engine._offset_upper(Earth(box=(-50, -180, 50, 180), cell=500), 0.01) is not None
    assert engine._offset_upper(Earth(cell=500), 0.9) is None


def test_blocks_do_not_matter(monkeypatch):
    query = QUERIES["linear"]
    whole = engine.by_all_pairs(query.space, query.table, [1.0, 2.0])
    monkeypatch.setattr(engine, "_BLOCK", 20)
    assert engine.by_all_pairs(query.space, query.table, [1.0, 2.0]) == whole


BOXES = {
    "mid latitudes": ((40, -74, 43, -70), 20, 100),
    "to the pole": ((80, 0, 90, 180), 100, 400),
    "short of the pole": ((85, -180, 89.9, 180), 60, 200),
    "south": ((-76, 10, -70, 30), 40, 150),
    "a gap behind it": ((-50, -170, 50, 170), 700, 2500),
    "globe": ((-90, -180, 90, 180), 700, 3000),
}


@pytest.mark.parametrize("name", BOXES)
def test_rows_of_hats_on_earth_keep_their_formula_over_all_pairs(name):
    box, cell, km = BOXES[name]
    earth = Earth(box=box, cell=cell)
    query = density(earth, bandwidth=f"{km} km")
    assert query.constants([1.0])[0].method == "closed form"
    assert np.asarray(query.table.floats().sum(axis=1)).ravel() * float(query.step) == pytest.approx(1.0)
    for p in NORMS[:3]:
        full = engine.by_all_pairs(earth, query.table, [p])[p].lipschitz_upper
        assert full <= query.lipschitz_upper(p) <= 2.2 * full
    assert 2.0 < query.lipschitz_upper(1) * km / earth.diameter < 4.3


def test_the_formula_needs_both_axes():
    """Power: the slope along one axis alone would be too small."""
    earth = Earth(box=(40, -74, 43, -70), cell=8)
    query = density(earth, bandwidth="150 km")
    full = engine.by_all_pairs(earth, query.table, [1.0])[1.0].lipschitz_upper
    assert full > 1.05 * 2.0 * earth.diameter / 150


def test_constants_of_large_grids_take_no_time():
    earth = Earth(box=(24.5, -125.0, 49.5, -66.5), cell=8.5)
    query = density(earth, bandwidth="50 km")
    assert earth.items > 190_000
    assert 2.8 < query.lipschitz_upper(1) * 50 / earth.diameter < 3.0


def test_density_rows_add_up_to_one():
    for name in (
        "density on a line",
        "density on a circle",
        "density in a box",
        "density in a ball",
        "density on Earth",
    ):
        query = QUERIES[name]
        totals = np.asarray(query.table.floats().sum(axis=1)) * float(query.step)
        assert np.abs(totals - 1).max() < 1e-12
        assert query.table.integers.min() >= 0


def test_paper_constants():
    line = Line(0, 1, step=1 / 1000)
    assert density(line, bandwidth="0.1").lipschitz_upper(1) == pytest.approx(20, rel=1e-6)
    assert distance_to(Earth(cell=1000), (0, 0)).lipschitz_upper(1) == pytest.approx(20015.1144, rel=1e-6)
    rows = np.random.default_rng(0).normal(size=(4, 3))
    query = linear_embedding(WORDS, rows)
    assert query.lipschitz_upper(2) <= np.linalg.norm(rows, 2) * WORDS.diameter * (1 + 1e-9)


@given(st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_random_functions_on_random_spaces(seed):
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    points = rng.normal(size=(k, 2))
    far = np.abs(points[:, None] - points[None]).sum(axis=2)
    space = Finite([str(i) for i in range(k)], far)
    query = function(space, rng.normal(size=(k, d)) * 10.0 ** rng.integers(-3, 4))
    p = float(rng.choice([1.0, 2.0, math.inf, 1.7]))
    ratio, span = brute(query, p)
    assert ratio <= query.lipschitz_upper(p) <= ratio * (1 + 1e-9)
    assert span <= query.range_upper(p) <= span * (1 + 1e-9)


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 7))
@settings(max_examples=30, deadline=None)
def test_spectral_norm_is_an_upper_bound(seed, rows, columns):
    matrix = np.random.default_rng(seed).normal(size=(rows, columns))
    with mpmath.workdps(30):
        gram = mpmath.matrix((matrix @ matrix.T).tolist())
        top = mpmath.sqrt(max(mpmath.eigsy(gram, eigvals_only=True)))
    assert spectral_norm_upper(matrix) >= float(top) * (1 - 1e-12)
    assert spectral_norm_upper(matrix) <= float(top) * (1 + 1e-8)


def test_quantising_raises_the_constant_and_it_is_that_of_the_quantised_function():
    line = Line(0, 1, step=1 / 64)
    fine = mean(line)
    coarse = quantise(line.points[:, None], step="1/100")
    assert fine.lipschitz_upper(1) == pytest.approx(1.0, rel=1e-9)
    raised = engine.by_neighbours(line, coarse, [1.0])[1.0].lipschitz_upper
    assert raised == pytest.approx(0.02 * 64, rel=1e-9)  # neighbours 1/64 apart may be rounded 0.02 apart


def test_closed_forms_allow_for_what_quantising_adds():
    """With a coarse step the real function's constant is too small, and the term for rounding makes up for it."""
    query = QUERIES["mean in a box"]
    coarse = replace(query, table=quantise(BOX.points, step="3/10"), _by_order={})
    ratio = brute(coarse, 2.0)[0]
    assert query.closed_form.bound(2.0) < ratio * 0.95
    assert coarse.lipschitz_upper(2) >= ratio


def test_a_circle_has_no_end():
    jump = function(HOURS, np.arange(12.0))
    result = jump.constants([1])[0]
    assert result.pair == (11, 0)
    assert result.lipschitz_upper == pytest.approx(11 * 6, rel=1e-9)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
@settings(deadline=None, max_examples=50)
def test_quantised_values_are_within_the_stated_error(values):
    table = quantise(np.array(values)[:, None])
    gaps = [abs(int(i[0]) * table.step - v) for i, v in zip(table.integers, map(mpmath.mpf, values), strict=True)]
    assert max(abs(float(g)) for g in gaps) <= table.error_upper
    assert np.abs(table.integers).max() <= 2**50


def test_row_norms_survive_huge_and_tiny_entries():
    rows = np.array([[1e15, 1.0], [1e-15, 1e-15], [0.0, 0.0]])
    assert row_norms(rows, 60.0).tolist() == pytest.approx([1e15, 1e-15 * 2 ** (1 / 60), 0.0])


def test_declared_constants_are_checked_over_all_pairs_and_improved():
    line = Discrete(["a", "b", "c"])
    query = function(line, [0, 1, 5], lipschitz=9)
    assert query.lipschitz_upper(1) == pytest.approx(5, rel=1e-9)
    with pytest.raises(ParameterError, match=r"'a' and 'c'|'c' and 'a'"):
        function(line, [0, 1, 5], lipschitz=4)
    two = function(line, [[0, 0], [1, 1], [5, 5]], lipschitz={2: 8})
    assert two.lipschitz_upper(2) == pytest.approx(5 * math.sqrt(2), rel=1e-9)


def _crowded(monkeypatch):
    """Lets every space seem too large for all pairs."""
    monkeypatch.setattr("barrow.queries.tables.PAIR_WORK", 1.0)
    monkeypatch.setattr("barrow.queries.query.PAIR_WORK", 1.0)


def test_declared_constants_of_large_spaces_are_spot_checked_believed_and_named(monkeypatch):
    _crowded(monkeypatch)
    space = Euclidean(center=[0, 0], radius=1, step=1 / 8)
    values = np.stack([space.points[:, 0], 2 * space.points[:, 1]], axis=1)
    query = function(space, values, lipschitz={2: 2 * space.diameter})
    assert query.constants([2])[0].method == "declared"
    assert query.constant_proved is False
    assert query.constant_method == "declared"
    for p in (1.0, 2.0, math.inf):
        assert query.lipschitz_upper(p) >= over_all_pairs(query, p) * (1 - 1e-12)
    with pytest.raises(ParameterError, match="not Lipschitz with the constant declared: between"):
        function(space, values, lipschitz={2: 1.5 * space.diameter})
    with pytest.raises(ParameterError, match="too many pairs"):
        function(space, values).lipschitz_upper(1)


@pytest.mark.parametrize("steps", [(1 / 16, 1.0), (1 / 24, 0.4)])
def test_on_a_box_chains_prove_the_constant_and_a_lie_is_not_believed(monkeypatch, steps):
    _crowded(monkeypatch)
    step, height = steps
    space = Euclidean([0, 0], [1, height], step=step)
    rng = np.random.default_rng(1)
    # The function is rough: a spike that no spot check needs to meet, and random values beside it.
    values = np.concatenate([space.points, 0.01 * rng.normal(size=(space.items, 1))], axis=1)
    values[space.items // 2 + 3, 1] += 5.0
    for query in (function(space, values), function(space, values, lipschitz={1: 1000})):
        assert query.constant_proved is True
        assert query.constant_method == "chains"
        for p in (1.0, 2.0, math.inf):
            real = over_all_pairs(query, p)
            assert real * (1 - 1e-12) <= query.lipschitz_upper(p) <= real * 1.14


def test_a_spike_hidden_from_spot_checks_is_found_on_a_large_box(monkeypatch):
    monkeypatch.setattr("barrow.queries.tables._SPOT_CHECKS", 2**12)
    space = Euclidean([0, 0], [1, 1], step=1 / 300)
    seen = np.concatenate([np.concatenate(pair) for pair in _spots(space.items)])
    values = np.zeros(space.items)
    hidden = np.setdiff1d(np.arange(space.items), seen)
    # The largest and the least value are looked at too: they are far apart, and nothing is wrong between these two.
    values[hidden[0]], values[hidden[1000]], values[hidden[-1]] = -1.0, 1.0, 1.2
    query = function(space, values, lipschitz=2.5)  # a lie that no spot check meets
    assert query.constant_proved
    assert query.lipschitz_upper(1) >= 300 * math.sqrt(2) * (1 - 1e-12)


def test_on_discrete_items_the_range_is_the_proof(monkeypatch):
    _crowded(monkeypatch)
    query = function(Discrete([str(i) for i in range(9)]), np.arange(9.0), lipschitz=100)
    assert (query.constant_method, query.constant_proved) == ("range", True)
    assert query.lipschitz_upper(1) == pytest.approx(8, rel=1e-9)


def test_steep_offsets_are_all_visited():
    """The constant of a plane wave in any direction is found: no direction of steps is left out."""
    space = Euclidean([0, 0], [1, 1], step=1 / 40)
    for angle in np.linspace(0, math.pi, 7):
        ramp = space.points @ np.array([math.cos(angle), math.sin(angle)])
        result = engine.by_chains(space, quantise(ramp[:, None]), [1.0])[1.0].lipschitz_upper
        assert over_all_pairs(function(space, ramp), 1.0) * (1 - 1e-12) <= result <= space.diameter * 1.02


def test_spectral_norm_upper():
    assert round(spectral_norm_upper(np.array([[3.0, 0.0], [0.0, 4.0]])), 6) == 4.0


def test_by_all_pairs():
    result = by_all_pairs(Discrete(["a", "b"]), quantise(np.eye(2), step=1), [1.0])[1.0]
    assert round(result.lipschitz_upper, 9) == 2.0
    assert result.pair == (0, 1)


def test_range_by_pairs():
    assert round(range_by_pairs(quantise(np.array([[0.0, 0.0], [3.0, 4.0]])), 2.0), 9) == 5.0


def test_by_range():
    result = by_range(Discrete(["a", "b", "c"]), quantise(np.array([[0.0], [1.0], [5.0]])), [1.0])
    assert round(result[1.0].lipschitz_upper, 9) == 5.0


def test_not_lipschitz():
    assert (
        not_lipschitz(Discrete(["a", "b"]), 0, 1).problem
        == "The query is not Lipschitz: 'a' and 'b' are at distance 0, but it differs between them."
    )


def test_quantise():
    assert quantise(np.array([[1.0], [3.0]])).step == Fraction(1, 2**48)


def test_default_step():
    assert default_step(0.9) == Fraction(1, 2**50)


def test_relative_slack():
    assert relative_slack(10) < 2e-14


def test_vector_norm():
    assert vector_norm(np.array([3.0, 4.0]), 2.0) == 5.0


def test_row_norms():
    assert row_norms(np.array([[3.0, -4.0]]), 1.0).tolist() == [7.0]


def test_pairs_that_are_known_give_what_is_found_anew():
    def asked(north, shares, anew):
        if anew:
            engine._KNOWN.clear()
        space = Earth(box=(40.0, -74.0, north, -73.0), cell=10)
        return multiscale(space, bandwidths=["30 km", "cells"], shares=shares).constants([1])[0]

    requests = [(north, shares) for shares in (["1/4", "3/4"], ["1/2", "1/2"]) for north in (41.0, 42.0)]
    anew = [asked(*request, True) for request in requests]
    engine._KNOWN.clear()
    assert [asked(*request, False) for request in requests] == anew
    assert len(engine._KNOWN) < sum(constants.method == "near pairs" for constants in anew)
    assert len({constants.lipschitz_upper for constants in anew}) == len(anew)


@pytest.mark.parametrize("bits", [1, 3, 20])
def test_a_coarser_table_says_how_far_off_it_is_and_how_much_more_rows_may_differ(bits):
    rng = np.random.default_rng(8)
    fine = quantise(np.concatenate([rng.normal(size=(40, 3)), [[0.0, 1.0, -1.0]]]), step="1/1048576")
    coarse = fine.coarser(bits)
    exact = fine.integers.astype(object) * fine.step
    moved = coarse.integers.astype(object) * coarse.step - exact
    largest = max(abs(x) for x in moved.ravel().tolist())
    said = Fraction(coarse.error_upper) - Fraction(fine.error_upper)
    assert said * Fraction(99, 100) < coarse.step / 2
    assert said * Fraction(9, 10) < largest <= said * (1 + Fraction(1, 2**40))  # a sum of floats
    for p in (1.0, 2.0):
        before, after = (
            row_norms((t.floats()[:, None] - t.floats()).reshape(-1, 3), p) * float(t.step) for t in (fine, coarse)
        )
        assert (after - before).max() <= coarse.moved_upper(fine, p)
