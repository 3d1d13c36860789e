"""Frequencies from people who randomise their own items."""

from __future__ import annotations

import json

import numpy as np
import pytest

from barrow.errors import DataError, ParameterError
from barrow.local import (
    FrequencyServer,
    FrequencyStudy,
    ItemClient,
    ItemStudy,
    Report,
    aggregate_frequency,
    aggregate_items,
)
from barrow.mechanisms import FrequencyEstimator
from barrow.noise.simulation import SeededSource
from barrow.spaces import Circle, Clustered, Discrete, Embedding
from barrow.transport import emd

SPACE = Clustered.grid(3, 3, r=0.1)


def study(decode: str | None = None, **changes) -> FrequencyStudy:
    return FrequencyStudy(ItemStudy(SPACE, **{"alpha": 60, "delta": "1e-6", "items": 6, **changes}), decode)


def reports(made: FrequencyStudy, people: int) -> list[Report]:
    source = SeededSource(8)
    found = []
    for i in range(people):
        drawn = made.items.mechanism.randomise([0, 0, 0, 1, 4, 8], source=source).counts
        values = np.repeat(np.arange(len(drawn)), drawn).tolist()
        found.append(Report(made.digest, f"{i:032x}", tuple(values)))
    return found


def test_frequencies_come_near_what_people_hold():
    made = study()
    held = np.bincount([0, 0, 0, 1, 4, 8], minlength=9) / 6
    found = aggregate_frequency(made, reports(made, 3000))
    assert sum(found.estimate) == pytest.approx(1.0)
    assert emd(SPACE, found.histogram, held) < 2 * found.error_upper
    assert emd(SPACE, found.histogram, held) <= found.decoded_upper
    assert 0 < found.predicted_error < found.error_upper
    assert found.counted.n == 3000
    assert found.counted.guarantee.definition.parameters["alpha"] <= 60
    # The error is that of the people counted: four times as many halve it.
    fewer = aggregate_frequency(made, reports(made, 750))
    assert fewer.error_upper == pytest.approx(2 * found.error_upper)


def test_the_result_is_that_of_the_estimator():
    made = study("bayesian")
    sent = reports(made, 40)
    found, counted = aggregate_frequency(made, sent), aggregate_items(made.items, sent)
    plan = FrequencyEstimator(made.items.mechanism, users=40, how="bayesian")
    assert found.counted.counts == counted.counts
    assert np.array_equal(found.estimate, plan.estimate(counted.counts))
    assert np.array_equal(found.histogram, plan.decode(counted.counts))
    assert found.decoded_upper is None


def test_one_report_answers_both_questions(tmp_path):
    made = study()
    assert made.digest == made.items.digest == study("none").digest
    client = ItemClient(made.items, tmp_path / "me.json")
    mine = client.report(ids=[0] * 6)
    assert ItemClient(study("none").items, tmp_path / "me.json").report(ids=[8] * 6) == mine


def test_plain_data_of_a_result():
    made = study("none")
    told = json.loads(json.dumps(aggregate_frequency(made, [*reports(made, 5), "hello"]).to_json()))
    assert told["decoded"] is None
    assert told["decode"] == "none"
    assert told["refused"] == {"malformed": 1}
    assert sum(told["reports"].values()) == 30
    assert set(told["estimate"]) == set(SPACE.labels)
    assert told["error_upper"] == told["decoded_error_upper"]
    assert told["guarantee"]
    assert sum(
        json.loads(json.dumps(aggregate_frequency(study(), reports(made, 5)).to_json()))["decoded"].values()
    ) == (pytest.approx(1.0))


def test_reports_that_do_not_fit_are_refused_by_reason():
    made, server = study(), FrequencyServer(study())
    server.add_all(
        [
            Report(made.digest, "0" * 32, (0,) * 6),
            Report(made.digest, "1" * 32, (0,) * 5),
            Report(made.digest, "2" * 32, (0,) * 7),
            Report(study(alpha=61).digest, "3" * 32, (0,) * 6),
            Report(made.digest, "0" * 32, (1,) * 6),
            Report(made.digest, "4" * 32, (9,) * 6),
        ]
    )
    assert server.n == 1
    assert server.refused == {"wrong size": 2, "another study": 1, "repeated": 1, "impossible value": 1}
    with pytest.raises(ParameterError, match="No report"):
        FrequencyServer(study()).frequencies()


def test_the_shuffle_model_states_what_holds_for_those_who_came():
    made = study(model="shuffle", users=1000, alpha=6)
    found = aggregate_frequency(made, reports(made, 30))
    assert found.counted.guarantee.definition.parameters["alpha"] > 6
    assert found.error_upper == pytest.approx(made.estimator.for_users(30).error_upper)


def test_studies_that_cannot_be_answered_are_refused_before_anybody_reports(tmp_path):
    words = Embedding(["cat", "dog", "car"], [[0, 1], [0, 2], [5, 0]])
    with pytest.raises(ParameterError, match="not known as a matrix"):
        FrequencyStudy(ItemStudy(words, 60, items=2, randomiser="laplace"))
    answers = {"kind": "mapped", "answers": ["animal", "animal", "thing"]}
    with pytest.raises(ParameterError, match="2 different reports for 3 items"):
        FrequencyStudy(ItemStudy(words, 60, items=2, randomiser=answers))
    with pytest.raises(ParameterError, match="not those of a tree"):
        FrequencyStudy(ItemStudy(Circle(24, step=3), 60, items=2), "tree")
    with pytest.raises(DataError):
        ItemClient(study().items, tmp_path / "me.json").report(ids=[])


def test_a_hopeless_study_says_so():
    made = FrequencyStudy(ItemStudy(Discrete(["a", "b", "c"]), "0.01", items=2))
    found = aggregate_frequency(made, [Report(made.digest, "0" * 32, (0, 0))])
    assert "more than a blind guess" in found.warning
    assert sum(found.histogram) == pytest.approx(1.0)
