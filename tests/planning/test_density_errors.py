"""What a density is predicted to err by, against raw records that nothing has snapped to a grid."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from barrow.engines import Counts
from barrow.planning.densities import snapping_moves
from barrow.planning.simulate import reference_distribution
from barrow.questions import Density, Terms
from barrow.questions.estimates import estimate
from barrow.questions.plan_text import answer_json
from barrow.spaces import Circle, Earth, Euclidean, Line, NoRecords
from barrow.spaces.shapes import cell_corners

BOX = (40, 0, 50, 15)
SETTINGS = {
    "line, coarse": (Line(0, 100, unit="years", step=5), "10 years"),
    "line, fine": (Line(0, 100, unit="years", step=0.5), "10 years"),
    "line of cells": (Line(0, 100, unit="years", step=5, cells=True), "12 years"),
    "circle, coarse": (Circle(24, unit="h", step=2), "4 h"),
    "circle, fine": (Circle(24, unit="h", step=0.25), "4 h"),
    "plane, coarse": (Euclidean([0, 0], [40, 40], unit="km", step=5), "10 km"),
    "plane, fine": (Euclidean([0, 0], [40, 40], unit="km", step=1), "10 km"),
    "Earth, coarse": (Earth(box=BOX, cell=100), "200 km"),
    "Earth, fine": (Earth(box=BOX, cell=20), "200 km"),
}
COARSE = [name for name in SETTINGS if "fine" not in name]
USERS, DRAWS = 4000, 20


def hats(space, query, x):
    """The weight of every raw place at every centre, by formulas of its own: hats between neighbouring centres."""
    centres = np.asarray(query.places, dtype=np.float64).reshape(query.dimension, -1)
    if isinstance(space, Circle):
        apart = np.abs(x - centres[:, 0])
        return np.maximum(0.0, 1.0 - np.minimum(apart, space.period - apart) * len(centres) / space.period)
    rows = np.unique(centres[:, 0])
    result = np.maximum(0.0, 1.0 - np.abs(x[:, :1] - centres[:, 0]) / (rows[1] - rows[0]))
    for row in rows if x.shape[1] == 2 else ():  # each row of centres has a spacing of its own
        mine = np.flatnonzero(centres[:, 0] == row)
        gap = np.diff(centres[mine, 1])[0]
        result[:, mine] *= np.maximum(0.0, 1.0 - np.abs(x[:, 1:] - centres[mine, 1]) / gap)
    return result


def raw(space, rng, reference):
    """A raw place for each person, anywhere in a cell of the reference."""
    lower, upper = cell_corners(space)
    items = rng.choice(space.items, USERS, p=reference)
    return lower[items] + rng.random((USERS, lower.shape[1])) * (upper - lower)[items]


def releases(name):
    """Plan, and the errors of values and of decoded shares of real releases, against the raw places."""
    space, bandwidth = SETTINGS[name]
    plan = Density(bandwidth=bandwidth).plan(Terms(space, USERS, given=Fraction(100)))
    rng, values, shares = np.random.default_rng(5), [], []
    reference = reference_distribution(space)
    for _ in range(DRAWS):
        x = raw(space, rng, reference)
        true = hats(space, plan.query, x).mean(axis=0)
        assert true.sum() == pytest.approx(1.0)
        held = np.bincount(space.encode(x[:, 0] if x.shape[1] == 1 else x), minlength=space.items)
        there = np.flatnonzero(held)
        counts = Counts(there, np.ones(len(there), dtype=np.int64), held[there], users=USERS)
        rows = plan.tables(plan.draw(plan.statistics(counts)))["values"]
        values.append([row["value"] for row in rows] - true)
        shares.append([row["share"] for row in rows] - true)
    return plan, np.array(values), np.array(shares)


@pytest.mark.parametrize("name", SETTINGS)
def test_predictions_hold_against_raw_records(name):
    plan, values, shares = releases(name)
    ratios = [
        np.quantile(np.abs(values), 0.95) / plan.error,
        math.sqrt((values**2).mean()) / plan.expected.values,
        math.sqrt((shares**2).mean()) / plan.expected.decoded,
    ]
    assert 0.67 <= min(ratios) <= max(ratios) <= 1.5, ratios
    if name in COARSE:  # the noise alone, which was predicted before, is far too little
        assert np.quantile(np.abs(values), 0.95) > 1.5 * plan.half_width
        assert math.sqrt((values**2).mean()) > 1.5 * plan.noise.deviation
    assert np.abs(values).max() <= plan.measured.snapping_upper + 50 * plan.half_width_all


@pytest.mark.parametrize("name", ["line, coarse", "plane, coarse", "Earth, coarse"])
def test_the_mean_and_the_variance_of_what_snapping_moves(name):
    space, bandwidth = SETTINGS[name]
    density, reference = Density(bandwidth=bandwidth), reference_distribution(space)
    query = density.query(space)
    mean, variance = snapping_moves(query, reference, density.query)
    x = np.concatenate([raw(space, np.random.default_rng(k), reference) for k in range(25)])
    ids = space.encode(x[:, 0] if x.shape[1] == 1 else x)
    moved = (query.table.floats() * float(query.step)).toarray()[ids] - hats(space, query, x)
    seen = moved.std(axis=0) / math.sqrt(len(x))
    assert (np.abs(moved.mean(axis=0) - mean) <= 6 * seen + 0.1 * np.abs(mean).max()).all()
    assert np.sqrt(variance.mean()) == pytest.approx(math.sqrt(moved.var(axis=0).mean()), rel=0.1)


def test_a_grid_of_very_many_cells_is_judged_by_a_coarser_one(monkeypatch):
    space = Earth(box=BOX, cell=20)
    density, reference = Density(bandwidth="200 km"), reference_distribution(space)
    query = density.query(space)
    fine = snapping_moves(query, reference, density.query)[1]
    monkeypatch.setattr("barrow.planning.densities._FINE", 16 * 900)
    assert np.sqrt(snapping_moves(query, reference, density.query)[1].mean()) == pytest.approx(
        np.sqrt(fine.mean()), rel=0.3
    )


def test_what_is_not_snapped_adds_nothing_and_people_without_records_have_a_share():
    whole = Line(0, 100, unit="years", step=1, whole=True)
    plan = Density(bandwidth="10 years").plan(Terms(whole, 1000, given=Fraction(9)))
    assert (plan.error, estimate(plan).snapping, plan.expected.snapping) == (plan.half_width, 0.0, 0.0)
    some = NoRecords(SETTINGS["line, coarse"][0])
    plan = Density(bandwidth="10 years").plan(Terms(some, 1000, given=Fraction(9)))
    assert plan.half_width < plan.error < plan.half_width + plan.measured.snapping_upper
    error, data = answer_json(plan)["error"], answer_json(plan)["answer"]
    assert (error, data["snapping_typical"]) == (plan.error, plan.expected.snapping)
    assert 0 < data["expected_error"]["decoded"] <= data["expected_error"]["values"]
