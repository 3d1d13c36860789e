"""The outside as one item: never more than promised, for records inside and outside alike."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.errors import DataError, ParameterError
from barrow.promises import Policy
from barrow.queries import density, distance_to, histogram, mean, region_share
from barrow.spaces import EARTH_RADIUS_KM, Discrete, Earth, Elsewhere, Euclidean, Line
from barrow.spaces.sphere import great_circle

BOX = (40.70, -74.02, 40.72, -74.00)
CITY = Earth(box=BOX, cell=0.05)
PROMISE = "all, 300 m, 0.5"
SPACES = {
    "line": (Line(-3, 7.5, step=0.7), (-6, 11)),
    "whole": (Line(-3, 9, step=1, whole=True), (-6, 12)),
    "box": (Euclidean([0, -1], [3, 1], step=0.25), ([-1, -2], [4, 2])),
    "city": (CITY, ([40.69, -74.03], [40.73, -73.99])),
    "pacific": (Earth(box=(-10, -180, 10, 120), cell=700), ([-90, -180], [90, 180])),
    "arctic": (Earth(box=(70, -180, 90, 180), cell=300), ([40, -180], [90, 180])),
    "wedge": (Earth(box=(50, -10, 90, 100), cell=400), ([30, -180], [90, 180])),
    "polar": (Earth(box=(70, -180, 85, 180), cell=300), ([40, -180], [90, 180])),
}


def far(space, x, y):
    """The distance of records, wherever they are, as a share of the diameter."""
    if isinstance(space, Earth):
        return great_circle(x[:, 0], x[:, 1], y[:, 0], y[:, 1]) * EARTH_RADIUS_KM / space.diameter
    return np.abs(x - y) / space.diameter if x.ndim == 1 else np.linalg.norm(x - y, axis=1) / space.diameter


def pairs(space, low, high, count=20_000):
    """Records all over the neighbourhood, and beside each another at any scale."""
    rng = np.random.default_rng(4)
    shape = (count, *np.shape(low))
    x, other = rng.uniform(low, high, shape), rng.uniform(low, high, shape)
    scale = 10.0 ** rng.uniform(-5, 0, (count, *[1] * len(np.shape(low))))
    y = x + (other - x) * scale
    whole = isinstance(space, Line) and space.whole
    return (np.rint(x), np.rint(y)) if whole else (x, y)


@pytest.mark.parametrize("name", SPACES)
def test_no_record_moves_farther_than_it_moves(name):
    """docs/proofs/elsewhere.md: d'(s(x), s(y)) <= d(x, y) + 2 rho, for records inside, outside and across."""
    inner, (low, high) = SPACES[name]
    space = Elsewhere(inner)
    x, y = pairs(inner, low, high)
    a, b = space.encode(x), space.encode(y)
    outside = a == space.items - 1
    assert (outside != (b == space.items - 1)).sum() > 100  # many cross the edge
    slack = far(inner, x, y) + 2 * space.snapping_upper - space.distance(a, b)
    assert slack.min() >= -1e-12
    crossing = outside != (b == space.items - 1)
    assert (space.distance(a, b)[crossing] > 0).all()


@pytest.mark.parametrize("name", SPACES)
def test_the_distance_to_the_edge_is_that_to_the_nearest_place_outside(name):
    """By brute force over places outside: never above it, and not far below."""
    inner, _ = SPACES[name]
    if not isinstance(inner, Earth):
        pytest.skip("differences of coordinates")
    space = Elsewhere(inner)
    south, west, north, east = inner.box
    t = np.linspace(0, 1, 4001)
    sides = [(np.full_like(t, lat), west + (east - west) * t) for lat in (south, north) if abs(lat) < 90]
    if east - west < 360:
        sides += [(south + (north - south) * t, np.full_like(t, lon)) for lon in (west, east)]
    lat, lon = (np.concatenate(z) for z in zip(*sides, strict=True))
    chosen = inner.points[:: max(1, len(inner.points) // 200)]
    brute = great_circle(chosen[:, :1], chosen[:, 1:], lat[None], lon[None]).min(axis=1) * EARTH_RADIUS_KM
    result = space.edges[:: max(1, len(inner.points) // 200)] * space.diameter
    assert (result <= brute).all()
    assert (result >= brute - 0.002 * inner.diameter).all()


def test_across_the_edge_the_other_rules_cost_more_than_promised_and_elsewhere_never():
    """17 m from 8 m inside to 9 m outside: 0.58 under "default" where 0.5 is promised for 300 m."""
    metre = 1 / (EARTH_RADIUS_KM * 1000 * np.pi / 180)
    inside, outside = [BOX[2] - 8 * metre, -74.01], [BOX[2] + 9 * metre, -74.01]
    default = Earth(box=BOX, cell=0.05, default=(BOX[2] - 470 * metre, -74.01))
    rate = float(Policy(default, [PROMISE]).alpha_exact)

    def cost(space, unknown, x, y):
        a, b = space.encode([x, y], unknown=unknown)
        return rate * float(space.distance(a, b))

    assert 0.55 < cost(default, "default", inside, outside) < 0.62
    assert cost(Elsewhere(default), "error", inside, outside) <= 0.5
    # "nearest" moves in latitude and longitude: near the antipode a short way leads from one side to the other.
    there, beyond = [-40.71, 105.99 - 0.001], [-40.71, 105.99 + 0.001]
    assert far(CITY, np.array([there]), np.array([beyond]))[0] * CITY.diameter < 0.3
    assert cost(CITY, "nearest", there, beyond) > 1.0
    assert cost(Elsewhere(CITY), "error", there, beyond) == 0.0
    x, y = pairs(CITY, *SPACES["city"][1])
    near = far(CITY, x, y) * CITY.diameter <= 0.3
    space = Elsewhere(CITY)
    worst = rate * space.distance(space.encode(x[near]), space.encode(y[near])).max()
    assert 0.3 < worst <= 0.5
    lost = [cost(default, "default", a, b) for a, b in zip(x[near][:3000], y[near][:3000], strict=True)]
    assert max(lost) > 0.5


@pytest.mark.parametrize("name", ["line", "whole", "box"])
def test_constants_are_those_of_all_pairs_under_the_new_distance(name):
    space = Elsewhere(SPACES[name][0])
    block = space.block()
    apart = block[~np.eye(len(block), dtype=bool)]
    assert histogram(space).lipschitz_upper(1) == pytest.approx(2 / apart.min(), rel=1e-6)
    assert histogram(space).lipschitz_upper(1) >= 2 / apart.min()
    short = [(i, j) for i in range(len(block) - 1) for j in range(i) if block[i, j] < space.inner.block()[i, j] * 0.999]
    assert len(short) > 0  # the way through the outside counts


def test_what_has_no_meaning_elsewhere_is_refused():
    space = Elsewhere(Line(0, 100, unit="km", step=1, cells=True))
    for ask in (
        lambda: mean(space),
        lambda: distance_to(space, 3),
        lambda: density(space, bandwidth="10 km"),
        lambda: region_share(space, center=3, radius="5 km", ramp="5 km"),
    ):
        with pytest.raises(ParameterError):
            ask()
    for inner in (Discrete(["a", "b"]), Euclidean(center=[0, 0], radius=1, step=0.5), Elsewhere(Line(0, 1, step=0.5))):
        with pytest.raises(ParameterError, match="no edge"):
            Elsewhere(inner)
    with pytest.raises(ParameterError, match="lie on the edge"):
        Elsewhere(Line(0, 10, step=1))
    with pytest.raises(ParameterError, match="whole Earth"):
        Elsewhere(Earth(cell=2000))
    with pytest.raises(ParameterError, match="no grid"):
        Elsewhere(Line(0, 10))
    for bad in ([np.nan, 0.0], [95.0, 0.0], [0.0, 200.0], [np.inf, 0.0]):
        with pytest.raises(DataError):
            Elsewhere(CITY).encode([bad])
    with pytest.raises(DataError):
        Elsewhere(Line(0, 10, step=1, whole=True)).encode([99.5])
