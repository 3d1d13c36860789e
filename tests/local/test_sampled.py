"""Local studies of people who hold any number of items."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.local import (
    FrequencyStudy,
    ItemClient,
    ItemServer,
    SampledStudy,
    aggregate_items,
    randomise_items,
    sampled_study_from_json,
)
from barrow.planning import Goal
from barrow.policy import Policy
from barrow.privacy import DiscreteEmd, SampledItems
from barrow.spaces import Discrete

SPACE = Discrete(["a", "b", "c"])
GOALS = [Goal("0.1", 2), Goal("0.5", 6)]


def study(**options):
    given = {"samples": 20, "randomiser": "exponential", **options}
    return SampledStudy(SPACE, GOALS, "1e-6", **given)


def test_people_of_all_sizes_report_alike(tmp_path):
    agreed = study()
    reports = [
        randomise_items(agreed, held, memory=tmp_path / f"{i}.json")
        for i, held in enumerate([[], ["a"], ["a", "b"] * 300, ["c"] * 20])
    ]
    assert {len(report.values) for report in reports} == {20}
    result = aggregate_items(agreed, [json.dumps(report.to_json()) for report in reports])
    assert (result.n, sum(result.counts)) == (4, 80)
    assert isinstance(result.guarantee.definition, DiscreteEmd)
    assert any("how many a person holds is hidden" in line for line in result.public)


def test_a_report_is_drawn_once(tmp_path):
    client = ItemClient(study(), tmp_path / "me.json")
    assert client.report(["a"]) == client.report(["b"] * 99)


def test_the_study_travels_as_plain_data():
    agreed = study(radius="0.2", randomiser={"kind": "exponential"})
    again = sampled_study_from_json(json.loads(json.dumps(agreed.to_json())))
    assert again.digest == agreed.digest
    assert again.guarantee == agreed.guarantee
    assert again.guarantee.definition.radius == Fraction(1, 5)
    assert study(samples=21).digest != study().digest
    promised = SampledStudy(SPACE, Policy(SPACE, ["1/10, 1, 2"]), "1e-6", samples=20, randomiser="exponential")
    assert promised.choice.goals == (Goal("0.1", 2),)


def test_every_goal_is_kept():
    agreed = study()
    for goal, got in zip(agreed.choice.goals, agreed.choice.guarantees, strict=True):
        assert got.definition.parameters["epsilon"] <= goal.epsilon
    assert agreed.lines()[0].startswith("Sampling")


def test_fewer_people_in_the_mix_are_told_what_holds_for_them(tmp_path):
    agreed = study(model="shuffle", users=50)
    server = ItemServer(agreed)
    for i in range(3):
        server.add(randomise_items(agreed, ["a", "b"], memory=tmp_path / f"{i}.json"))
    got = server.result().guarantee
    assert got == agreed.guarantee_for(3)
    assert isinstance(got.definition, DiscreteEmd)
    assert got.definition.parameters["epsilon"] >= agreed.guarantee.definition.parameters["epsilon"]
    inner = agreed.mechanism.event
    assert got != price(SampledItems(samples=20, radius=agreed.reduced.radius, delta="1e-6", inner=inner))


def test_frequencies_are_estimated_from_samples():
    asked = FrequencyStudy(study(samples=200), None)
    assert asked.lines()[0].startswith("Sampling")
    assert asked.digest == study(samples=200).digest


def test_wrong_studies():
    with pytest.raises(ParameterError, match="samples is 0"):
        study(samples=0)
    with pytest.raises(ParameterError, match="trust no center"):
        study(model="central", users=3)
    with pytest.raises(ParameterError, match="radius is"):
        study(radius=2)
    with pytest.raises(ParameterError, match="not a sampled item study"):
        sampled_study_from_json({**study().to_json(), "version": 2})
