"""Distances against 50 digits, closed geometry against brute force."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from barrow.spaces import EARTH_RADIUS_KM, HALF_CIRCUMFERENCE_KM, Earth, Embedding, Euclidean, Tree
from barrow.spaces.sphere import box_diameter_upper, great_circle

LATITUDE = st.floats(-90, 90)
LONGITUDE = st.floats(-180, 180)


def exact_angle(lat_a, lon_a, lat_b, lon_b):
    """The central angle by the sine and cosine of spherical trigonometry, in 50 digits."""
    with mpmath.workdps(60):
        a, b = mpmath.radians(mpmath.mpf(lat_a)), mpmath.radians(mpmath.mpf(lat_b))
        turn = mpmath.radians(mpmath.mpf(lon_a) - mpmath.mpf(lon_b))
        across = mpmath.sqrt(
            (mpmath.cos(b) * mpmath.sin(turn)) ** 2
            + (mpmath.cos(a) * mpmath.sin(b) - mpmath.sin(a) * mpmath.cos(b) * mpmath.cos(turn)) ** 2
        )
        return mpmath.atan2(across, mpmath.sin(a) * mpmath.sin(b) + mpmath.cos(a) * mpmath.cos(b) * mpmath.cos(turn))


@settings(deadline=None, max_examples=300)
@given(LATITUDE, LONGITUDE, LATITUDE, LONGITUDE, st.sampled_from([1.0, 1e-3, 1e-6]))
def test_great_circles_keep_their_relative_accuracy(lat_a, lon_a, lat_b, lon_b, near):
    lat_b = lat_a + (lat_b - lat_a) * near
    lon_b = lon_a + (lon_b - lon_a) * near
    true = exact_angle(lat_a, lon_a, lat_b, lon_b)
    assume(true == 0 or true > 1e-100)  # squares underflow far below the size of an atom
    ours = float(great_circle(*map(np.array, (lat_a, lon_a, lat_b, lon_b))))
    # Near a pole cos(lat) has lost the digits that the latitude in degrees still had.
    floor = 1e-15 * 10 if max(abs(lat_a), abs(lat_b)) > 89.9 else 0.0
    assert abs(ours - true) <= 2.0**-44 * true + floor


@settings(deadline=None, max_examples=100)
@given(LATITUDE, LONGITUDE)
def test_antipodes_are_half_a_turn_apart(lat, lon):
    other = lon - 180 if lon > 0 else lon + 180
    assert abs(float(great_circle(*map(np.array, (lat, lon, -lat, other)))) - np.pi) < 1e-14


def test_half_the_circumference_is_rounded_up():
    assert 0 <= HALF_CIRCUMFERENCE_KM - float(mpmath.pi) * EARTH_RADIUS_KM < 1e-3


@settings(deadline=None, max_examples=60)
@given(st.floats(-90, 89), st.floats(0.01, 180), st.floats(-180, 0), st.floats(0.01, 180), st.integers(0, 2**32))
def test_no_two_points_of_a_box_are_further_apart_than_its_diameter(south, height, west, width, seed):
    north, east = min(90.0, south + height), west + width
    bound = box_diameter_upper(south, west, north, east)
    rng = np.random.default_rng(seed)
    lat = rng.choice([south, north, *rng.uniform(south, north, 30)], 2000)
    lon = rng.choice([west, east, west, east, *rng.uniform(west, east, 5)], 2000)
    far = great_circle(lat[:1000], lon[:1000], lat[1000:], lon[1000:]).max()
    assert far <= bound
    if width <= 90:
        assert bound <= far * 1.5 + 1e-9


def test_embedding_distances_match_fifty_digits():
    rng = np.random.default_rng(1)
    base = rng.normal(size=6)
    vectors = np.stack([base, base + 1e-9 * rng.normal(size=6), -base, rng.normal(size=6)])
    for metric in ("euclidean", "angular"):
        space = Embedding(["a", "b", "c", "d"], vectors, metric=metric)
        for i in range(4):
            for j in range(i):
                with mpmath.workdps(50):
                    u = [mpmath.mpf(x) for x in space.points[i]]
                    v = [mpmath.mpf(x) for x in space.points[j]]
                    apart = mpmath.sqrt(sum((x - y) ** 2 for x, y in zip(u, v, strict=True)))
                    along = mpmath.sqrt(sum((x + y) ** 2 for x, y in zip(u, v, strict=True)))
                    true = apart if metric == "euclidean" else 2 * mpmath.atan2(apart, along) * 180 / mpmath.pi
                    true /= mpmath.mpf(space.diameter)
                # A direction is a rounded unit vector; the angle of the rounded ones is what counts.
                for ours in (space.distance(i, j).item(), space.block()[i, j]):
                    assert abs(ours - true) <= 2.0**-44 * true


def random_tree(rng: np.random.Generator, nodes: int) -> list[tuple[str, str, float]]:
    edges = [(f"n{i}", f"n{rng.integers(0, i)}" if i else "", 1.0) for i in range(nodes)][1:]
    return [(c, p, float(np.exp(rng.uniform(-6, 2)))) for c, p, _ in edges]


@settings(deadline=None, max_examples=60)
@given(st.integers(3, 40), st.integers(0, 2**32))
def test_tree_distances_are_shortest_paths(nodes, seed):
    from scipy.sparse.csgraph import shortest_path

    edges = random_tree(np.random.default_rng(seed), nodes)
    if len({p for _, p, _ in edges}) == len(edges):
        return  # a path has one leaf only besides the root
    tree = Tree(edges)
    names = sorted({x for c, p, _ in edges for x in (c, p)})
    graph = np.zeros((len(names), len(names)))
    for c, p, length in edges:
        graph[names.index(c), names.index(p)] = length
    full = shortest_path(graph, directed=False)
    leaves = [names.index(x) for x in tree.labels]
    wanted = full[np.ix_(leaves, leaves)] / tree.diameter
    assert np.allclose(tree.block(), wanted, rtol=max(1e-12, 8 * tree.distance_error), atol=1e-16)
    assert wanted.max() <= 1.0
    assert wanted.max() > 1 - 1e-9
    off = wanted[~np.eye(len(leaves), dtype=bool)]
    if off.size:
        assert tree.least_distance_lower == pytest.approx(off.min(), rel=1e-9)


def test_a_deep_tree_admits_its_error():
    deep = Tree([("a", "n", 1e-9), ("b", "n", 1e-9), ("n", "root", 1.0), ("c", "root", 1.0)])
    with mpmath.workdps(50):
        true = 2 * mpmath.mpf(1e-9) / mpmath.mpf(deep.diameter)
    assert abs(deep.distance(0, 1).item() - true) <= deep.distance_error * true
    assert deep.distance_error > 2.0**-44


def test_cells_are_no_larger_than_asked():
    space = Earth(box=(30, -10, 70, 30), cell=100)
    rows = space.rows
    height = 40 / len(rows.columns)
    assert height * np.pi / 180 * EARTH_RADIUS_KM <= 100 * (1 + 1e-9)
    south = 30 + height * np.arange(len(rows.columns))
    widths = great_circle(south, np.zeros(len(south)), south, 40 / rows.columns) * EARTH_RADIUS_KM
    assert widths.max() <= 100 * (1 + 1e-9)
    assert space.size == rows.columns.sum() == len(space.points)


def test_nearest_moves_records_to_the_space():
    box = Euclidean([0, 0], [1, 1], step=0.5)
    assert box.encode([[9, 0.1], [-3, -3]], unknown="nearest").tolist() == [2, 0]
    disc = Euclidean(center=[0, 0], radius=1, step=0.5)
    far, rim = disc.encode([[9.0, 0.0], [1.0, 0.0]], unknown="nearest")
    assert far == rim
    earth = Earth(box=(40, -75, 41, -74), cell=10)
    assert earth.encode([(50.0, -90.0)], unknown="nearest") == earth.encode([(41.0, -75.0)])
    with pytest.raises(Exception, match="missing or are not items"):
        box.encode([[np.nan, 0.0]], unknown="nearest")


def test_great_circle():
    zero = np.array(0.0)
    assert np.isclose(great_circle(zero, zero, zero, np.array(180.0)), np.pi)


def test_box_diameter_upper():
    assert round(box_diameter_upper(40.5, -74.3, 41.0, -73.6) * EARTH_RADIUS_KM, 1) == 81.0
