"""Rows of values as numbers, bounds and pictures."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from barrow.questions.answer import share_row
from barrow.questions.statement import AnswerFacts, Statement
from barrow.questions.value_tables import bounds_of, counted_rows, places_of, unit_of
from barrow.render.released import values_figure
from barrow.study import Study, make_statement


def statement_of(**facts: Any) -> Statement:
    """A statement of a mean, with other facts."""
    study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    return structs.replace(make_statement(study, study.plan("mean")), **facts)


def test_counted_rows():
    assert counted_rows([{"report": "b"}, {"report": "a"}, {"report": "b"}]) == [
        {"report": "a", "count": 1},
        {"report": "b", "count": 2},
    ]


def test_bounds_of():
    assert (
        bounds_of(AnswerFacts(half_width_95_all=0.5), {"values": [{"value": 2.0, "half_width_95": 0.25}] * 20}).noise
        == 0.5
    )


def test_unit_of():
    assert unit_of(AnswerFacts(unit="km"), [{"value": 1.0}], False) == "km"


def test_places_of():
    assert places_of([{"lat": 0.0, "lon": 0.0}, {"lat": 0.0, "lon": 2.0}]).corners is not None


def test_picture():
    rows = [{"output": "mean", "value": 31.0, "half_width_95": 0.5, "unit": "years"}]
    assert (
        str(values_figure(statement_of(), {"values": rows}, title="Mean"))
        == "Mean. mean: 31 years, 95 % interval 30.5 to 31.5 years."
    )


def test_share_row():
    assert share_row(0.9, 0.2)["high_95"] == 1.0
