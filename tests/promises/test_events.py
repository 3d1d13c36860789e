"""Events are frozen, exact, versioned plain data; what is not known is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.promises import (
    EVENTS,
    Event,
    GaussianNoise,
    KNormNoise,
    PersonGaussianNoise,
    PersonKNormNoise,
    PureRelease,
    SampledItems,
    SecureSum,
    ShuffledReports,
    UserLevelRelease,
    event_from_json,
)
from barrow.promises.events import to_channel

EXAMPLES: list[Event] = [
    KNormNoise(alpha="24.87", model="central", range_ratio="1/3"),
    GaussianNoise(mu="2.99", delta="1e-12", model="local"),
    PersonKNormNoise(alpha="24.87", model="central", range_ratio="1/30"),
    PersonGaussianNoise(mu="2.99", delta="1e-12", model="central", range_ratio="1/30"),
    PureRelease(alpha=5, model="shuffle", bounded=True),
    SecureSum(alpha=25, range_ratio="1/3", aggregators=3),
    ShuffledReports(alpha0="4.3", reports=10**8, items=1000, delta="1e-12", model="central", least_distance="0.05"),
    SampledItems(samples=500, radius="0.01", delta="1e-9", inner=PureRelease(alpha=5, model="local", bounded=True)),
    UserLevelRelease(epsilon=1, delta="1e-9", model="central"),
]


def test_every_kind_has_an_example():
    assert {type(e).__name__ for e in EXAMPLES} == set(EVENTS)


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda e: type(e).__name__)
def test_events_round_trip_exactly_and_are_frozen(event):
    again = event_from_json(json.loads(json.dumps(event.to_json())))
    assert again == event
    assert hash(again) == hash(event)
    with pytest.raises(AttributeError):
        event.model = "local"


@settings(max_examples=100)
@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**6))
def test_amounts_survive_to_the_last_digit(alpha):
    event = KNormNoise(alpha=alpha, model="local")
    assert event_from_json(json.loads(json.dumps(event.to_json()))).alpha == alpha


WRONG = {
    "unknown": ({"event": "Magic", "version": 1}, "'Magic', version 1, is not known"),
    "version": (KNormNoise(alpha=1, model="local").to_json() | {"version": 2}, "version 2, is not known"),
    "extra": (KNormNoise(alpha=1, model="local").to_json() | {"x": 1}, "fields"),
    "missing": ({"event": "KNormNoise", "version": 1, "alpha": "1"}, "fields"),
    "negative": (KNormNoise(alpha=1, model="local").to_json() | {"alpha": "-1"}, "alpha is -1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_foreign_events_are_refused(name):
    data, pattern = WRONG[name]
    with pytest.raises(ParameterError, match=pattern):
        event_from_json(data)


BAD = {
    "too few reports": (lambda: ShuffledReports(1, reports=5, items=10, delta=0, model="central"), "items is 10 but"),
    "no reports": (lambda: ShuffledReports(1, reports=0, items=0, delta=0, model="central"), "reports is 0"),
    "fraction of a report": (lambda: ShuffledReports(1, reports=1.5, items=1, delta=0, model="local"), "1.5"),
    "pure gaussian": (lambda: GaussianNoise(mu=1, delta=0, model="local"), "no pure guarantee"),
    "ratio": (lambda: KNormNoise(alpha=1, model="local", range_ratio=2), "range_ratio is 2"),
}


@pytest.mark.parametrize("name", BAD)
def test_impossible_events_are_refused(name):
    call, pattern = BAD[name]
    with pytest.raises(ParameterError, match=pattern):
        call()


def test_every_field_is_written_and_asked_for():
    plain = ShuffledReports(1, reports=10, items=5, delta="1e-6", model="central")
    assert plain.to_json()["randomiser"] is None
    named = ShuffledReports(1, reports=10, items=5, delta="1e-6", model="central", randomiser="gkrr:10x10:1/30")
    assert named.to_json() == plain.to_json() | {"randomiser": "gkrr:10x10:1/30"}
    assert event_from_json(json.loads(json.dumps(named.to_json()))) == named != plain
    without = {k: v for k, v in plain.to_json().items() if k != "least_distance"}
    with pytest.raises(ParameterError, match="fields"):
        event_from_json(without)
    with pytest.raises(ParameterError, match="known family"):
        event_from_json(plain.to_json() | {"randomiser": "rappor:5"})


def test_to_channel():
    assert to_channel({"weights": ["3 1", "1 3"], "distances": [1.0]}).items == 2
