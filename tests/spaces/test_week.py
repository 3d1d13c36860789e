"""The hours of the week."""

from __future__ import annotations

import pytest

from barrow.errors import ParameterError
from barrow.spaces import Week, parse_space, space_from_spec
from barrow.study import Study


def test_days_and_hours_go_around():
    week = Week()
    ids = week.encode([["Sun", "Mon", "Mon"], [23.5, 23.5, 0.5]])
    assert week.distance(ids[0], ids[1]) == pytest.approx(0.5 / 3.5)
    assert week.distance(ids[1], ids[2]) == pytest.approx(0.5 / 12)


def test_plain_data_and_the_command_line():
    for week in (Week(), Week(step=2, weight="0.3")):
        assert space_from_spec(week.to_spec()) == week
        assert type(space_from_spec(week.to_spec())) is Week
    assert parse_space("week(step=3)").size == 56
    with pytest.raises(ParameterError):
        Week(weight=2)


def test_a_histogram_of_the_week_is_planned():
    plan = Study("week", alpha=40, users=5000).plan("histogram")
    assert plan.error < 0.2
    assert len(plan.terms.space.records_space.labels) == 168
