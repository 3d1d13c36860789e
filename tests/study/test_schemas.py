"""Events and statements are what their schemas say, and wrong ones are not."""

from __future__ import annotations

import json

import jsonschema
import pytest

import barrow as bw
from barrow.privacy.events import (
    EVENTS,
    GaussianNoise,
    ItemChannel,
    KNormNoise,
    PureRelease,
    SampledItems,
    ShuffledReports,
    UserLevelRelease,
)
from barrow.study.schemas import event_schema, statement_schema

REPORTS = ShuffledReports("1.5", reports=100, items=10, delta="1e-6", model="shuffle")
EXAMPLES = [
    KNormNoise("1/3", model="central", range_ratio="0.1"),
    GaussianNoise(3, delta="1e-12", model="local"),
    PureRelease(5, model="central"),
    REPORTS,
    ShuffledReports(1, reports=9, items=3, delta=0, model="local", randomiser="krr:3"),
    ShuffledReports(1, reports=9, items=3, delta=0, model="local", channel=ItemChannel([[3, 1], [1, 3]], [1.0])),
    SampledItems(samples=10, delta="1e-6", inner=REPORTS),
    UserLevelRelease(1, model="central"),
]


def _valid(said, schema) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(said)


def test_there_is_an_example_of_every_event():
    assert {type(event).__name__ for event in EXAMPLES} == set(EVENTS)


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_events(event):
    said = event.to_json()
    assert _valid(said, event_schema())
    assert not _valid({**said, "version": 9}, event_schema())
    assert not _valid({**said, "more": 1}, event_schema())
    some = next(name for name in said if name not in ("event", "version"))
    assert not _valid({name: value for name, value in said.items() if name != some}, event_schema())
    assert not _valid({**said, some: [1]}, event_schema())


@pytest.mark.parametrize(
    "asked", ["mean", "histogram", "items(samples=5)", "quantile", "density(bandwidth='20 years')"]
)
def test_statements(asked, tmp_path):
    study = bw.Study("line(low=0, high=100, step=10, unit='years')", ["all, 5 years, 1"], users=3, dataset="ages")
    people = bw.read({"uid": [1, 1, 2, 3], "age": [20, 30, 40, 50]}, user="uid", item="age")
    ledger = bw.Ledger.create(tmp_path / "ages.ledger", study)
    study.release(asked, people, ledger=ledger, out=tmp_path / "out", renderers=())
    said = json.loads((tmp_path / "out" / "statement.json").read_text())
    schema = statement_schema()
    jsonschema.Draft202012Validator(schema).validate(said)
    assert {*schema["$defs"]["Statement"]["properties"]} == set(said)
    for name in ("event", "protected", "worst_case", "people"):
        assert not _valid({**said, name: "?"}, schema)
        assert not _valid({key: value for key, value in said.items() if key != name}, schema)
