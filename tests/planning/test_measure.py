"""One measure of errors at every size, against refined simulations and exact solvers."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.mechanisms.histograms import histogram_noise
from barrow.planning.simulate import StandIn, raw_error, reference_distribution, simulate, stand_in
from barrow.spaces import Circle, Discrete, Earth, Elsewhere, Euclidean, Hexagons, Line, Product
from barrow.spaces.grids import snapping_means
from barrow.spaces.neighbours import Net
from barrow.transport import emd, kr_norm, measure_of
from barrow.transport.graph_flow import cheapest_flow, emd_flow_upper

MAP = Earth(box=(40.5, -74.3, 41.0, -73.6), cell=4)


@pytest.mark.parametrize(
    ("space", "raw", "apart"),
    [
        (Line(0, 10, step=1), lambda r: r.uniform(0, 10, 40_000), lambda x, at: np.abs(x - at)),
        (Line(0, 10, points=[1, 2, 7]), lambda r: r.uniform(0, 10, 40_000), lambda x, at: np.abs(x - at)),
        (
            Circle(24, step=3, unit="h"),
            lambda r: r.uniform(0, 24, 40_000),
            lambda x, at: np.minimum(np.abs(x - at), 24 - np.abs(x - at)),
        ),
        (
            Euclidean([0, 0], [4, 3], step=1),
            lambda r: r.uniform([0, 0], [4, 3], (40_000, 2)),
            lambda x, at: np.linalg.norm(x - at, axis=1),
        ),
        (
            Euclidean([0, 0, 0], [2, 2, 3], step=1),
            lambda r: r.uniform([0, 0, 0], [2, 2, 3], (40_000, 3)),
            lambda x, at: np.linalg.norm(x - at, axis=1),
        ),
    ],
)
def test_typical_snapping_is_that_of_records_anywhere_in_their_cells(space, raw, apart):
    records = raw(np.random.default_rng(0))
    items = space.encode(records)
    true = apart(records, np.asarray(space.points)[items]) / space.diameter
    means = np.bincount(items, weights=true) / np.bincount(items)
    assert snapping_means(space) == pytest.approx(means, rel=0.05, abs=1e-3)
    assert (snapping_means(space) <= space.snapping_upper).all()
    assert true.mean() != pytest.approx(2 * float(snapping_means(space).mean()), rel=0.3)


def test_nothing_is_snapped_where_nothing_is():
    assert not snapping_means(Line(0, 9, step=1, whole=True)).any()
    assert not snapping_means(Circle.weekdays(whole=True)).any()
    assert (snapping_means(Circle.weekdays()) == 0.5 / 7).all()
    assert not snapping_means(Discrete(["a", "b"])).any()
    inner = Line(0, 9, step=1, cells=True)
    assert snapping_means(Elsewhere(inner)).tolist() == [*snapping_means(inner), 0.0]
    both = Product([Line(0, 4, step=1, cells=True), Circle(6, step=1)], weights=["3/4", "1/4"])
    assert snapping_means(both) == pytest.approx(np.full(24, 0.75 / 16 + 0.25 / 12))


def test_the_total_is_between_its_bounds_and_near_the_truth_on_a_line():
    """Second route: the exact distance from raw records, with the mass of a cell anywhere in it."""
    line, rng = Line(0, 1, step=1 / 16), np.random.default_rng(1)
    cells = rng.dirichlet(np.ones(16))
    raw = (np.repeat(np.arange(16), 64) + (np.tile(np.arange(64), 16) + 0.5) / 64) / 16
    mass = np.repeat(cells / 64, 64)
    for size in (0.001, 0.01, 0.05, 0.3):
        released = cells + size * rng.normal(size=16) * cells
        released = np.maximum(released, 0) / np.maximum(released, 0).sum()
        at = np.concatenate([line.points, raw])
        order = np.argsort(at)
        gap = np.cumsum(np.concatenate([released, -mass])[order])
        true = float(np.abs(gap[:-1]) @ np.diff(at[order]))
        decoded, moved = float(emd(line, released, cells)), float(cells @ snapping_means(line))
        assert max(moved, decoded - moved) * 0.999 <= true <= (decoded + moved) * 1.001
        assert 0.8 < true / raw_error(decoded, moved) < 1.2


@pytest.mark.parametrize(
    "space",
    [
        MAP,
        Euclidean([0, 0], [1, 1.4], step=1 / 15),
        Product([Earth(box=(40, -75, 41, -74), cell=25), Circle(24, step=6)], weights=["1/2", "1/2"]),
        Product([Line(0, 9, step=1), Discrete(["a", "b", "c"])], weights=["1/2", "1/2"]),
        Elsewhere(Earth(box=(40, -75, 41, -74), cell=15)),
        Hexagons.around(40.7, -74.0, resolution=8, rings=5),
    ],
    ids=lambda s: s.kind,
)
def test_paths_between_near_items_are_hardly_longer_than_distances(space):
    rng = np.random.default_rng(3)
    for concentration in (0.05, 1.0):
        a, b = rng.dirichlet(np.full(space.items, concentration), size=2)
        exact = float(kr_norm(space, a - b))
        result = emd_flow_upper(space, a, b)
        assert exact * (1 - 1e-6) <= result <= 1.04 * exact


def test_large_spaces_are_measured_on_a_coarser_grid_nearly_alike():
    large = Earth(box=(40.5, -74.3, 41.0, -73.6), cell=2)
    coarse, fine = measure_of(large, 300), measure_of(large)
    assert (coarse.method, fine.method) == ("coarser grid", "near items")
    rng = np.random.default_rng(4)
    a, b = (np.repeat(rng.dirichlet(np.ones(105)), 8) for _ in range(2))
    assert coarse.distance(a - b) == pytest.approx(fine.distance(a - b), rel=0.15)
    assert coarse.distance(a - a) == 0.0


class _Exact:
    """A mechanism without noise."""

    def __init__(self, space):
        self.space = space

    def simulated(self, reference, source):
        return reference


def test_without_noise_the_error_is_what_snapping_moves():
    reference = np.full(MAP.items, 1 / MAP.items)
    result = simulate(_Exact(MAP), reference)
    assert result.decoded == 0.0
    assert result.mean == pytest.approx(float(snapping_means(MAP).mean()) * MAP.diameter)
    assert 0.35 * 3.9 < result.mean < 0.3826 * 4.0


def test_a_coarser_grid_stands_in_for_a_finer_one():
    """What is simulated on a stand-in, with what its cells hide, errs as the space itself does."""
    space = Euclidean([0, 0], [1, 1], step=1 / 120)
    reference = reference_distribution(space)
    whole = histogram_noise(space, "edges", 25, users=3000, spacing=1 / 16)
    here = stand_in(space, reference, whole.noise.dimension, 4000)
    assert whole.noise.dimension * 2.5 <= here.space.items <= 4000 < space.items
    assert here.reference.sum() == pytest.approx(1.0)
    small = histogram_noise(here.space, "edges", 25, users=3000, spacing=1 / 16)
    true = simulate(whole, reference, 2).decoded / space.diameter
    result = here.error(simulate(small, here.reference, 2).decoded / space.diameter)
    assert result == pytest.approx(true, rel=0.15)
    assert stand_in(space, reference, 8000, 4000).space is space  # too many nodes for coarser cells
    assert stand_in(space, reference, 100, 20_000).lost == 0.0


def test_a_star_has_one_flow():
    rng = np.random.default_rng(1)
    difference = rng.normal(size=7)
    difference -= difference.mean()
    lengths = rng.uniform(0.1, 1.0, 6)
    middle, others = np.full(6, 6), np.arange(6)
    for tails, heads in ((others, middle), (middle, others)):
        star = cheapest_flow(Net(7, tails, heads, lengths), difference)
        # One more edge, longer than any way around it: the general solvers must find the same.
        same = cheapest_flow(Net(7, [*tails, 0], [*heads, 1], [*lengths, 50.0]), difference)
        assert star.upper == pytest.approx(same.upper, rel=1e-6)
        assert star.masses == pytest.approx(same.masses[:6], abs=1e-9)
    assert star.upper == pytest.approx(np.abs(difference[:6]) @ lengths)


def test_stand_in():
    assert StandIn(Discrete(["a", "b"]), np.array([0.5, 0.5]), 0.3).error(0.4) == 0.5


def test_stand_in_of_simulate():
    here = stand_in(Line(0, 10**5, step=1, cells=True), np.full(10**5, 1e-5), 300, 2000)
    assert here.space.items == 2000
    assert round(float(here.reference.sum()), 9) == 1.0
    assert here.lost < 2e-4
