"""Item-wise, sampled and histogram surveys, from clients to servers; and messages that nobody can link."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from barrow.errors import DataError, LedgerError, ParameterError
from barrow.local.client import LocalClient, Survey
from barrow.local.mixing import mix, permuted, read_batch
from barrow.local.report import Report, message_of, value_of
from barrow.local.server import Server
from barrow.spaces import Clustered, Discrete, Line
from barrow.study import Study
from barrow.transport import emd

SPACE = Clustered.grid(3, 3, r=0.1)


def study(question="items(items=6)", **changes):
    options = {"alpha": 30, "delta": "1e-6", "model": "local", "questions": [question], **changes}
    return Study(options.pop("space", SPACE), **options)


def test_a_report_goes_from_client_to_server(tmp_path):
    survey = Survey(study())
    server = Server(survey)
    for person in range(5):
        client = LocalClient(survey, memory=tmp_path / f"{person}.json")
        report = client.report(ids=[0, 1, 2, 3, 4, 8])
        assert report == client.report(ids=[8] * 6)
        assert list(report.values) == sorted(report.values)
        server.add_all([report.to_text()])
    result = server.result()
    assert result.n == 5
    assert sum(result.details["histogram"].values()) == 30
    assert not result.refused
    assert result.guarantee.definition.bounded
    assert result.guarantee.definition.parameters["alpha"] <= 30


def test_reports_that_do_not_fit_are_refused_and_counted_by_reason():
    built = study()
    digest = Survey(built).digest
    good = Report(digest, "0" * 32, (0, 0, 1, 2, 3, 8))
    server = Server(built)
    assert server.add(good) is None
    refused = {
        "malformed": ["{", json.dumps({"barrow": "local report"}), json.dumps({**good.to_json(), "values": [1.5] * 6})],
        "another version": [json.dumps({**good.to_json(), "version": 2})],
        "another study": [Report(Survey(study("items(items=7)")).digest, "1" * 32, (0,) * 7)],
        "wrong size": [Report(digest, "2" * 32, (0,) * 5), Report(digest, "3" * 32, (0,) * 7)],
        "repeated": [good],
        "impossible value": [
            Report(digest, "4" * 32, (0, 0, 0, 0, 0, 9)),
            Report(digest, "5" * 32, (-1, 0, 0, 0, 0, 0)),
            Report(digest, "6" * 32, (1, 0, 0, 0, 0, 0)),
        ],
    }
    for reason, reports in refused.items():
        for report in reports:
            assert server.add(report) == reason
    assert dict(server.refused) == {reason: len(reports) for reason, reports in refused.items()}
    assert list(server.result().details["histogram"].values()) == [2, 1, 1, 1, 0, 0, 0, 0, 1]


def test_users_of_other_sizes_are_refused_without_a_number(tmp_path):
    for records in ([], ["0/0"], ["0/0"] * 7):
        with pytest.raises(DataError) as caught:
            LocalClient(study(), memory=tmp_path / "m.json").report(records)
        assert not any(c.isdigit() for c in str(caught.value))
    assert not (tmp_path / "m.json").exists()


def test_a_wrong_memory_is_not_taken_for_a_report(tmp_path):
    client = LocalClient(study(), memory=tmp_path / "m.json")
    with client.memory.locked():
        client.memory.store(Report(client.survey.digest, "0" * 32, (1, 2)))
    with pytest.raises(LedgerError):
        client.report(ids=[0] * 6)


def test_wrong_studies():
    with pytest.raises(ParameterError, match="how many people"):
        Survey(study(model="shuffle"))
    with pytest.raises(ParameterError, match="pure noise"):
        Survey(study("items(items=1000)", space=Line(0, 10, step=1, cells=True), alpha="1e-7", delta=0))
    with pytest.raises(ParameterError, match="No report"):
        Server(study()).result()


def test_pure_studies_split_alpha_evenly():
    plan = Survey(study(space=Discrete(["a", "b", "c"]), alpha=3, delta=0)).plan
    assert plan.event.alpha0 <= Fraction(1, 2)
    assert float(plan.event.alpha0) == pytest.approx(0.5, rel=1e-6)
    assert plan.guarantee.method == "per_report_composition"


def test_the_server_sees_the_distribution_of_the_randomiser(tmp_path):
    survey = Survey(study("items(items=400)", space=Discrete(["a", "b"]), alpha=400, delta=0))
    server = Server(survey)
    for i in range(20):
        server.add(LocalClient(survey, memory=tmp_path / f"{i}.json").report(["a"] * 400))
    share = server.result().details["histogram"]["a"] / 8000
    true = float(server.survey.plan.itemwise.randomiser.probability(0, 0))
    assert abs(share - true) < 6 * np.sqrt(true * (1 - true) / 8000)


@pytest.mark.parametrize(
    "question", ["frequency(items=6)", "frequency(samples=12)", "histogram", "histogram(mechanism='cells')"]
)
def test_frequencies_and_histograms_are_found_again(tmp_path, question):
    survey = Survey(study(question, alpha=2000, users=60))
    server = Server(survey)
    truth = np.zeros(9)
    for i in range(60):
        held = [0, 0, 0, 4, 4, 8] if i % 3 else [2] * 6
        truth += np.bincount(held, minlength=9) / 6
        server.add(LocalClient(survey, memory=tmp_path / f"{i}.json").report(ids=held))
    result = server.result()
    shares = np.array([row["share"] for row in result.tables["values"]])
    assert shares.sum() == pytest.approx(1.0)
    assert float(emd(SPACE, shares, truth / 60)) < 0.15
    assert json.loads(json.dumps(result.to_json()))["n"] == 60


# Messages of the shuffle model.

SHUFFLED = Survey(study("items(items=2)", space=Discrete(["a", "b", "c"]), alpha=1, model="shuffle", users=20))


def messages(folder, people, made=SHUFFLED):
    return [
        line
        for i in range(people)
        for line in LocalClient(made, memory=folder / f"{i}.json").messages(["a", "b"] if i % 2 else ["c", "c"])
    ]


def test_messages_share_nothing_but_the_study_and_are_of_one_size(tmp_path):
    client = LocalClient(SHUFFLED, memory=tmp_path / "me.json")
    lines = client.messages(["a", "b"])
    assert lines == client.messages(["c", "c"])
    assert len(lines) == 2
    assert len({len(line) for line in messages(tmp_path, 6)}) == 1
    for line in lines:
        assert set(json.loads(line)) == {"barrow", "version", "study", "value"}
    with pytest.raises(ParameterError, match="link all values"):
        client.report(["a", "b"])
    with pytest.raises(ParameterError, match="local"):
        LocalClient(study(), memory=tmp_path / "x.json").messages(["0/0"] * 6)


def test_linked_reports_are_refused_in_a_shuffle_study(tmp_path):
    server = Server(SHUFFLED)
    linked = Report(server.survey.digest, "0" * 32, (0, 1))
    assert server.add(linked) == "linked report"
    server.add_all([linked.to_text()])
    assert server.refused == {"linked report": 2}
    assert server.n == 0
    assert mix(server.survey, [*messages(tmp_path, 2), linked.to_text()]).refused == {"linked report": 1}
    with pytest.raises(ParameterError, match="link the values"):
        read_batch(server.survey, [linked.to_text()])


def test_a_batch_is_opened_only_when_enough_people_are_in_it(tmp_path):
    survey = SHUFFLED
    full, few = mix(survey, messages(tmp_path, 20)), mix(survey, messages(tmp_path, 2))
    server = Server(SHUFFLED)
    with pytest.raises(ParameterError, match="2 people, but the guarantee needs 20"):
        server.open(few)
    server.open(full)
    assert server.n == 20
    assert sum(server.result().details["histogram"].values()) == 40
    assert server.result().guarantee == survey.plan.guarantee
    with pytest.raises(ParameterError, match="opened before"):
        server.open(full)
    weak = Server(SHUFFLED)
    weak.open(few, accept_weaker=True)
    told = weak.result()
    assert told.details["weaker"] is True
    assert told.guarantee.definition.parameters["alpha"] > survey.plan.guarantee.definition.parameters["alpha"]
    text = str(told)
    assert f"Promised to each person: {survey.plan.guarantee}" in text
    assert f"What now holds is weaker: {told.guarantee}" in text
    assert "was promised" not in text


def test_batches_are_read_back_whole_or_not_at_all(tmp_path):
    survey = SHUFFLED
    lines = list(mix(survey, messages(tmp_path, 4)).lines(3))
    assert read_batch(survey, lines).people == 4
    for wrong in (lines[1:], lines[:-1], [*lines, lines[-1]], [lines[0], *lines[2:], "{}"], []):
        with pytest.raises(ParameterError):
            read_batch(survey, wrong)
    with pytest.raises(ParameterError, match="whole number of people"):
        mix(survey, messages(tmp_path, 2)[:-1])
    other = Survey(SHUFFLED.study.replace(alpha=5))
    with pytest.raises(ParameterError):
        read_batch(other, lines)


@pytest.mark.parametrize(
    "change", [("2", "02"), ('"value"', '"x":1,"value"'), (":", ": "), ('"version":1', '"version":2')]
)
def test_odd_messages_are_refused(change):
    digest = SHUFFLED.digest
    line = message_of(digest, 2, 3)
    assert value_of(digest, line, 3) == 2
    assert isinstance(value_of(digest, line.replace(*change), 3), str)
    assert isinstance(value_of(digest, line.replace('"2"', '"7"'), 3), str)


def test_every_order_is_as_likely():
    """All 24 orders of four messages; a test that sees a shuffle which never moves the last one."""
    counts = Counter(tuple(permuted(np.arange(4)).tolist()) for _ in range(4800))
    assert set(counts) == set(permutations(range(4)))
    chi = sum((counts[order] - 200) ** 2 / 200 for order in permutations(range(4)))
    assert chi < 63  # 23 degrees of freedom, 1 in 100,000
    lazy = Counter((*permuted(np.arange(3)).tolist(), 3) for _ in range(4800))
    assert sum((lazy[order] - 200) ** 2 / 200 for order in permutations(range(4))) > 63
