"""Events and statements are what their schemas say, and wrong ones are not."""

from __future__ import annotations

import json

import pytest

import barrow as bw
from barrow.promises.events import (
    EVENTS,
    GaussianNoise,
    ItemChannel,
    KNormNoise,
    PersonGaussianNoise,
    PersonKNormNoise,
    PureRelease,
    SampledItems,
    SecureSum,
    ShuffledReports,
    UserLevelRelease,
)
from barrow.study.schemas import event_schema, statement_schema

REPORTS = ShuffledReports("1.5", reports=100, items=10, delta="1e-6", model="shuffle")
EXAMPLES = [
    KNormNoise("1/3", model="central", range_ratio="0.1"),
    GaussianNoise(3, delta="1e-12", model="local"),
    PersonKNormNoise("1/3", model="central", range_ratio="1/30"),
    PersonGaussianNoise(3, delta="1e-12", model="central"),
    PureRelease(5, model="central"),
    SecureSum(5, range_ratio="1/3", aggregators=3, dishonest=1),
    REPORTS,
    ShuffledReports(1, reports=9, items=3, delta=0, model="local", randomiser="krr:3"),
    ShuffledReports(1, reports=9, items=3, delta=0, model="local", channel=ItemChannel([[3, 1], [1, 3]], [1.0])),
    SampledItems(samples=10, delta="1e-6", inner=REPORTS),
    UserLevelRelease(1, model="central"),
]


def _validator(schema):
    import jsonschema  # takes seconds; others import EXAMPLES alone

    return jsonschema.Draft202012Validator(schema)


def _valid(text, schema) -> bool:
    return _validator(schema).is_valid(text)


def test_there_is_an_example_of_every_event():
    assert {type(event).__name__ for event in EXAMPLES} == set(EVENTS)


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_events(event):
    text = event.to_json()
    assert _valid(text, event_schema())
    assert not _valid({**text, "version": 9}, event_schema())
    assert not _valid({**text, "more": 1}, event_schema())
    some = next(name for name in text if name not in ("event", "version"))
    assert not _valid({name: value for name, value in text.items() if name != some}, event_schema())
    assert not _valid({**text, some: [1]}, event_schema())


@pytest.mark.parametrize(
    "asked", ["mean", "histogram", "items(samples=5)", "quantile", "density(bandwidth='20 years')"]
)
def test_statements(asked, tmp_path):
    words = {"title": "Ages of 3 people", "description": "Made up."}
    space = "line(low=0, high=100, step=10, unit='years')"
    study = bw.Study(space, ["all, 5 years, 1"], users=3, dataset="ages", **words)
    people = bw.read({"uid": [1, 1, 2, 3], "age": [20, 30, 40, 50]}, user="uid", item="age")
    ledger = bw.Ledger.create(tmp_path / "ages.ledger", study)
    study.release(asked, people, ledger=ledger, out=tmp_path / "out", renderers=())
    statement = json.loads((tmp_path / "out" / "statement.json").read_text())
    schema = statement_schema()
    _validator(schema).validate(statement)
    assert {*schema["$defs"]["Statement"]["properties"]} == set(statement)
    for name in ("event", "protected", "worst_case", "people"):
        assert not _valid({**statement, name: "?"}, schema)
        assert not _valid({key: value for key, value in statement.items() if key != name}, schema)


def test_event_schema():
    assert event_schema()["$defs"]["KNormNoise"]["required"] == ["event", "version", "alpha", "model", "range_ratio"]


def test_statement_schema():
    assert statement_schema()["$defs"]["Statement"]["properties"]["event"] == {
        "description": "What the mechanism did.",
        "$ref": "#/$defs/Event",
    }
