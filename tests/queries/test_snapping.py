"""What snapping does to answers: functions at raw records, by formulas of their own, against their values at items."""

from __future__ import annotations

import math

import numpy as np
import pytest

from barrow.queries import density, distance_to, function, histogram, mean, region_share
from barrow.spaces import EARTH_RADIUS_KM, Earth, Euclidean, Line

line = Line(0, 100, unit="km", step=4, cells=True)
box = Euclidean([0, 0], [10, 20], step=0.5)
earth = Earth(box=(40.5, -74.3, 41.0, -73.6), cell=1)
CENTRE = (40.75, -73.98)


def hats(x: float, low: float, high: float, width: float) -> np.ndarray:
    intervals = max(round((high - low) / width), 1)
    centres = np.linspace(low, high, intervals + 1)
    return np.maximum(0.0, 1.0 - np.abs(x - centres) / ((high - low) / intervals))


def on_box(record) -> np.ndarray:
    return np.outer(hats(record[0], 0, 10, 2), hats(record[1], 0, 20, 2)).ravel()


def kilometres(record) -> float:
    (a, x), (b, y) = (np.radians(CENTRE), np.radians(record))
    return EARTH_RADIUS_KM * math.acos(math.sin(a) * math.sin(b) + math.cos(a) * math.cos(b) * math.cos(x - y))


CASES = {
    "mean on a line": (mean(line), lambda r: [r[0]]),
    "mean in a box": (mean(box), lambda r: r),
    "distance on a line": (distance_to(line, 30), lambda r: [abs(r[0] - 30)]),
    "distance on Earth": (distance_to(earth, CENTRE), lambda r: [kilometres(r)]),
    "region": (
        region_share(line, center=50, radius="10 km", ramp="20 km"),
        lambda r: [min(max(1 - (abs(r[0] - 50) - 10) / 20, 0), 1)],
    ),
    "density on a line": (density(line, bandwidth="20 km"), lambda r: hats(r[0], 0, 100, 20)),
    "density in a box": (density(box, bandwidth=2 / box.diameter), on_box),
}


def records_of(space, count: int = 4000) -> np.ndarray:
    """Raw records anywhere in the space, and corners of cells among them, which snapping moves farthest."""
    low, high = ([0.0], [100.0]) if space is line else ([0.0, 0.0], [10.0, 20.0])
    if space is earth:
        low, high = list(earth.box[:2]), list(earth.box[2:])
    spread = np.random.default_rng(5).uniform(low, high, (count, len(low)))
    if space is earth:
        return spread
    step = float(space.step)
    return np.concatenate([spread, np.minimum(np.floor(spread / step) * step + 1e-9, high)])


@pytest.mark.parametrize("name", CASES)
def test_snapping_moves_no_answer_farther(name):
    query, real = CASES[name]
    records = records_of(query.space)
    columns = records[:, 0] if records.shape[1] == 1 else records
    ids = query.space.encode(columns)
    table = query.table.floats()
    values = (table.toarray() if query.table.sparse else table)[ids] * float(query.step)
    truth = np.array([real(record) for record in records])
    moved = np.abs(values - truth).max()
    assert moved <= query.snapping_upper + query.rounding_upper + 1e-9
    if name != "density in a box":  # the bound is about both axes at once, and an output is steepest along one
        assert moved > 0.6 * query.snapping_upper


def test_cells_do_not_change():
    assert histogram(line).snapping_upper == 0.0
    assert mean(Line(0, 100, step=1, whole=True)).snapping_upper == 0.0


def test_functions_known_at_items_only():
    middles = line.points
    bent = np.abs(middles - 50.0)  # pieces of many steps
    query = function(line, bent.tolist())
    records = records_of(line)[:, 0]
    moved = np.abs(bent[line.encode(records)] - np.abs(records - 50.0)).max()
    assert query.snapping_upper == pytest.approx(2 * 2.0)  # twice the slope of 1, half a step
    assert 1.9 < moved <= query.snapping_upper
    # The assumption is needed: a wave with a node at every middle looks flat on the grid.
    wave = 5.0 * np.sin(np.pi * (records - 2.0) / 2.0)
    flat = function(line, [0.0] * (line.items - 1) + [1e-6])
    assert np.abs(wave).max() > flat.snapping_upper
