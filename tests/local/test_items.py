from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import DataError, LedgerError, ParameterError
from barrow.local import (
    ItemClient,
    ItemServer,
    ItemStudy,
    Report,
    aggregate_items,
    item_study_from_json,
    randomise_items,
)
from barrow.spaces import Clustered, Discrete, Line

SPACE = Clustered.grid(3, 3, r=0.1)


def study(**changes) -> ItemStudy:
    return ItemStudy(SPACE, **{"alpha": 30, "delta": "1e-6", "items": 6, **changes})


def test_a_report_goes_from_client_to_server(tmp_path):
    made = study()
    reports = []
    for person in range(5):
        client = ItemClient(made, tmp_path / f"{person}.json")
        report = client.report(ids=[0, 1, 2, 3, 4, 8])
        assert report == client.report(ids=[8] * 6)
        assert list(report.values) == sorted(report.values)
        reports.append(report.to_text())
    result = aggregate_items(made, reports)
    assert result.n == 5
    assert sum(result.counts) == 30
    assert not result.refused
    assert result.guarantee.definition.bounded
    assert result.guarantee.definition.parameters["alpha"] <= 30
    assert result.to_json()["histogram"]["0/0"] == result.counts[0]


def test_reports_that_do_not_fit_are_refused_and_counted_by_reason():
    made = study()
    good = Report(made.digest, "0" * 32, (0, 0, 1, 2, 3, 8))
    wrong_version = {**good.to_json(), "version": 2}
    server = ItemServer(made)
    assert server.add(good) is None
    refused = {
        "malformed": ["{", json.dumps({"barrow": "local report"}), json.dumps({**good.to_json(), "values": [1.5] * 6})],
        "another version": [json.dumps(wrong_version)],
        "another study": [Report(study(items=7).digest, "1" * 32, (0,) * 7)],
        "wrong size": [Report(made.digest, "2" * 32, (0,) * 5), Report(made.digest, "3" * 32, (0,) * 7)],
        "repeated": [good],
        "impossible value": [
            Report(made.digest, "4" * 32, (0, 0, 0, 0, 0, 9)),
            Report(made.digest, "5" * 32, (-1, 0, 0, 0, 0, 0)),
            Report(made.digest, "6" * 32, (1, 0, 0, 0, 0, 0)),
        ],
    }
    for reason, reports in refused.items():
        for report in reports:
            assert server.add(report) == reason
    assert dict(server.refused) == {reason: len(reports) for reason, reports in refused.items()}
    assert server.result().counts == (2, 1, 1, 1, 0, 0, 0, 0, 1)


def test_users_of_other_sizes_are_refused_without_a_number(tmp_path):
    for records in ([], ["0/0"], ["0/0"] * 7):
        with pytest.raises(DataError) as caught:
            randomise_items(study(), records, memory=tmp_path / "m.json")
        assert not any(c.isdigit() for c in str(caught.value))
    assert not (tmp_path / "m.json").exists()


def test_the_shuffle_model_states_what_holds_for_those_who_came():
    made = study(model="shuffle", users=1000, alpha=6)
    assert made.mechanism.event.reports == 6000
    assert made.mechanism.event.alpha0 > study(alpha=6).mechanism.event.alpha0
    few = aggregate_items(made, [Report(made.digest, f"{i:032x}", (0,) * 6) for i in range(3)])
    many = aggregate_items(made, [Report(made.digest, f"{i:032x}", (0,) * 6) for i in range(1000)])
    alpha = [float(r.guarantee.definition.parameters["alpha"]) for r in (few, many)]
    assert alpha[1] <= 6 < alpha[0]


def test_plain_data_come_back():
    for made in (study(), study(model="shuffle", users=50), study(randomiser="exponential")):
        again = item_study_from_json(json.loads(json.dumps(made.to_json())))
        assert again.digest == made.digest
        assert again.mechanism.event == made.mechanism.event
    assert study().digest != study(alpha=29).digest != study(delta="1e-7").digest


def test_a_wrong_memory_is_not_taken_for_a_report(tmp_path):
    made = study()
    client = ItemClient(made, tmp_path / "m.json")
    with client.memory.locked():
        client.memory.store(Report(made.digest, "0" * 32, (1, 2)))
    with pytest.raises(LedgerError):
        client.report(ids=[0] * 6)


def test_wrong_studies():
    with pytest.raises(ParameterError, match="trust no center"):
        study(model="central")
    with pytest.raises(ParameterError):
        study(model="shuffle")
    with pytest.raises(ParameterError, match="noise and nothing else"):
        ItemStudy(Line(0, 10, step=1), Fraction(1, 10**7), items=1000)
    with pytest.raises(ParameterError, match="which items"):
        ItemClient(study(), "nowhere.json").report()
    with pytest.raises(ParameterError, match="No report"):
        ItemServer(study()).result()


def test_pure_studies_split_alpha_evenly():
    made = ItemStudy(Discrete(["a", "b", "c"]), 3, items=6)
    assert made.mechanism.event.alpha0 <= Fraction(1, 2)
    assert float(made.mechanism.event.alpha0) == pytest.approx(0.5, rel=1e-6)
    assert made.guarantee.method == "per_report_composition"


def test_the_server_sees_the_law_of_the_randomiser(tmp_path):
    made = ItemStudy(Discrete(["a", "b"]), 400, items=400)
    reports = [randomise_items(made, ["a"] * 400, memory=tmp_path / f"{i}.json") for i in range(20)]
    share = np.array(aggregate_items(made, reports).counts)[0] / 8000
    true = float(made.mechanism.randomiser.probability(0, 0))
    assert abs(share - true) < 6 * np.sqrt(true * (1 - true) / 8000)
