"""The stated 95 % interval covers what is true of the records as they are, not of what they are snapped to."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from barrow.noise.source import SeededSource
from barrow.numerics.exact import at_most
from barrow.questions.plan_text import answer_lines
from barrow.spaces import EARTH_RADIUS_KM, Circle, Earth, Line
from barrow.spaces.nearness import distances_from
from barrow.study import Study, read

USERS, DRAWS = 2000, 400
CENTRE = (40.75, -73.98)
ages = Line(0, 100, unit="years", step=1)
earth = Earth(box=(40.5, -74.3, 41.0, -73.6), cell=4)


def kilometres(lat: float, lon: float) -> float:
    """From the centre, by the spherical law of cosines: another formula than the library's."""
    a, b = math.radians(CENTRE[0]), math.radians(lat)
    turn = math.cos(math.radians(lon - CENTRE[1]))
    return EARTH_RADIUS_KM * math.acos(math.sin(a) * math.sin(b) + math.cos(a) * math.cos(b) * turn)


def planned(space, question, records):
    """The plan, and a thousandfold-accurate release's seeded values for the same records, one a person."""
    columns = {"uid": list(range(len(records))), **{f"c{i}": list(c) for i, c in enumerate(zip(*records, strict=True))}}
    data = read(columns, user="uid", item=[name for name in columns if name != "uid"])
    study = Study(space, alpha=400, users=len(records), questions=[question], data=data, missing="default item")
    plan = study.plan()
    center = plan.statistics(data.count(data.validate(study.space), study.space, len(records)))
    source = SeededSource(3)
    return plan, np.array([plan.noise.draw(center, source).values[0] for _ in range(DRAWS)])


def coverage(values, truth, width) -> float:
    return float((np.abs(values - truth) <= width).mean())


def whole_ages():
    return np.random.default_rng(1).integers(18, 90, USERS)


@pytest.mark.parametrize(
    "space",
    [ages, Line(0, 100, unit="years", step=1, whole=True), Line(0, 100, unit="years", step=1, cells=True)],
    ids=["points", "whole", "cells"],
)
def test_whole_numbers(space):
    raw = whole_ages()
    plan, values = planned(space, "mean", [(int(age),) for age in raw])
    assert coverage(values, raw.mean(), plan.half_width) >= 0.93
    noise = plan.half_width - plan.measured.snapping_upper
    assert noise < 0.1  # so that an interval without the snapping is far from half a year
    if space.cells:  # the middle of the cell, without what snapping may move
        assert coverage(values, raw.mean(), noise) < 0.5
    else:  # whole ages are items, so the noise is all that there is
        assert 0.93 <= coverage(values, raw.mean(), noise) <= 0.975
    if space.whole:
        assert plan.measured.snapping_upper == 0.0


def test_ages_of_exactly_thirty_come_out_as_thirty():
    plan, values = planned(ages, "mean", [(30,)] * USERS)
    assert abs(np.median(values) - 30.0) < plan.noise.half_width
    assert plan.noise.half_width < 0.01


def test_ages_between_whole_numbers_are_covered():
    """Records that all lie just below a midpoint are moved by nearly half a step, all the same way."""
    plan, values = planned(ages, "mean", [(30.49,)] * USERS)
    assert coverage(values, 30.49, plan.half_width) >= 0.93
    assert coverage(values, 30.49, plan.half_width - plan.measured.snapping_upper) < 0.5


def test_places():
    """Everybody stands on the far side of their cell, seen from the centre."""
    rng = np.random.default_rng(2)
    lat, lon = rng.uniform(40.52, 40.98, 40 * USERS), rng.uniform(-74.28, -73.62, 40 * USERS)
    far = np.array([kilometres(a, b) for a, b in zip(lat, lon, strict=True)])
    middle = distances_from(earth, CENTRE)[earth.encode(np.stack([lat, lon], axis=1))] * earth.diameter
    order = np.argsort(middle - far)[:USERS]
    raw = [(float(lat[i]), float(lon[i])) for i in order]
    plan, values = planned(earth, f"distance(to={CENTRE})", raw)
    truth = far[order].mean()
    assert coverage(values, truth, plan.half_width) >= 0.93
    assert coverage(values, truth, plan.half_width - plan.measured.snapping_upper) < 0.5


@pytest.mark.parametrize(
    ("space", "question"),
    [
        (Line(0, 24, unit="h", step=1), "mean"),
        (Line(0, 24, unit="h", step=1), "region(center=6, radius='1 h', ramp='6 h')"),
        (Circle.hours(step=1), "distance(to=0)"),
    ],
    ids=["line", "region", "circle"],
)
def test_times(space, question):
    """Visits at 9:29 or 9:01, depending on which way the items move them."""
    for hour in (9 + 29 / 60, 9 + 1 / 60, 9 + 59 / 60):
        plan, values = planned(space, question, [(hour,)] * USERS)
        truth = {"mean": hour, "distance": hour, "region": 1 - (hour - 7) / 6}[plan.question.kind]
        assert coverage(values, truth, plan.half_width) >= 0.93
    plan, values = planned(space, question, [(9 + 29 / 60 if isinstance(space, Line) else 9 + 1 / 60,)] * USERS)
    hour = 9 + 29 / 60 if isinstance(space, Line) else 9 + 1 / 60
    truth = {"mean": hour, "distance": hour, "region": 1 - (hour - 7) / 6}[plan.question.kind]
    assert coverage(values, truth, plan.half_width - plan.measured.snapping_upper) < 0.5


def test_a_density_says_that_it_is_about_snapped_records_and_by_how_much():
    study = Study(ages, alpha=25, users=1000, questions=["density(bandwidth='10 years')"])
    plan = study.plan()
    text = "\n".join(answer_lines(plan))
    words = " ".join(text.split())
    assert re.search(
        r"records snapped to the grid, and snapping itself moves a value by about \S+ \(by up to 0\.0501\)", words
    )
    assert f"from the records as they are, predicted: noise ± {at_most(plan.half_width)}" in words
    assert plan.measured.snapping_upper == pytest.approx(0.5 / 10, rel=1e-6)  # slope 1/h times half a year


def test_whole_numbers_cost_nothing_for_snapping():
    """A promise about 5 years is charged for 5 years, not for 6."""
    promises = ["all, 5 years, 0.5"]
    exact = Study(Line(0, 100, unit="years", step=1, whole=True), promises, users=1000)
    snapped = Study(ages, promises, users=1000)
    assert exact.plan("mean").alpha == 10
    assert float(snapped.plan("mean").alpha) == pytest.approx(0.5 / 0.06, rel=1e-6)
