"""Item-wise releases through study, plan, engine, ledger, statement and command line."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from barrow.cli.main import main
from barrow.errors import DataError, LedgerError, ParameterError
from barrow.ledger import Budget, Ledger, SpaceRef
from barrow.mechanisms.itemwise import refuse_sizes
from barrow.promises import Emd
from barrow.questions.items import ItemsAnswer
from barrow.questions.plan_text import answer_json
from barrow.spaces import Clustered, Earth, Euclidean
from barrow.study import Study, explain, read, verify

SPACE = Clustered.grid(4, 5, r=0.1)
USERS, ITEMS = 200, 10


def write_items(path, *, users=USERS, extra=()):
    rng = np.random.default_rng(5)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["uid", "what"])
        for user in range(users):
            for x in rng.integers(0, SPACE.items, ITEMS):
                writer.writerow([f"p{user}", SPACE.labels[x]])
        writer.writerows(extra)
    return path


def held(path):
    return read(str(path), user="uid", item="what")


def make_study(folder, **changes):
    study = Study(
        SPACE,
        alpha=20,
        delta=1e-6,
        users=USERS,
        dataset="things",
        questions=[{"kind": "items", "items": ITEMS}],
        data=held(write_items(folder / "items.csv")),
        ledger=str(folder / "things.ledger"),
    )
    return study.replace(**changes)


def make_ledger(study, alpha=100, *, items=ITEMS, model="central"):
    limit = Emd(alpha, "1e-3", model=model, bounded=items is not None)
    return Ledger.create(str(study.ledger), Budget("things", USERS, SpaceRef.of(study.space), limit, items=items))


@pytest.mark.parametrize("model", ["central", "shuffle", "local"])
def test_from_study_to_verified_statement(tmp_path, model):
    study = make_study(tmp_path, model=model)
    ledger = make_ledger(study)
    result = study.release(ledger=ledger, out=tmp_path / "out")
    assert int(result.values.sum()) == USERS * ITEMS
    assert len(result.values) == SPACE.items
    statement = result.statement
    assert statement.alpha <= 20.0
    assert statement.event["event"] == "ShuffledReports"
    assert statement.event["reports"] == (ITEMS if model == "local" else USERS * ITEMS)
    assert statement.answer.noise.method == result.plan.guarantee.method
    assert (
        f"(({model})" in f"({statement.definition[statement.definition.index('(') :]}" or model in statement.definition
    )
    assert "bounded" in statement.definition
    assert "each holding exactly 10 items" in " ".join(result.text.split())
    assert "that each person holds exactly 10 items" in statement.not_hidden
    assert all(check.holds for check in verify(result.folder, ledger=ledger))
    assert "α₀" in explain(statement)
    rows = result.rows()
    assert rows[0]["report"] == "0/0"
    assert sum(row["count"] for row in rows) == USERS * ITEMS
    assert (result.folder / "values.csv").read_text().splitlines()[0] == "report,count"


def test_the_ledger_is_charged_once_and_a_second_release_is_refused(tmp_path):
    study = make_study(tmp_path)
    ledger = make_ledger(study, alpha=30)
    first = study.release(ledger=ledger)
    assert study.release(ledger=ledger).values.tolist() == first.values.tolist()
    with pytest.raises(LedgerError):
        study.release(ledger=ledger, key="again")


def test_an_unbounded_budget_or_another_m_does_not_pay(tmp_path):
    study = make_study(tmp_path)
    with pytest.raises(LedgerError):
        study.release(ledger=make_ledger(study, items=None))
    other = study.replace(ledger=str(tmp_path / "other"))
    with pytest.raises(LedgerError):
        other.release(ledger=make_ledger(other, items=ITEMS + 1))


def test_users_of_other_sizes_are_refused_before_anything_is_paid(tmp_path):
    study = make_study(tmp_path)
    ledger = make_ledger(study)
    for extra in ([["p0", "0/0"]], [["new", "0/0"]]):
        bad = held(write_items(tmp_path / "bad.csv", users=USERS - 1, extra=extra))
        with pytest.raises(DataError) as caught:
            study.release(data=bad, ledger=ledger, out=tmp_path / "out")
        assert str(caught.value) == str(refuse_sizes())
    assert ledger.records()[-1].kind != "reserve"
    assert not (tmp_path / "out").exists()


def test_missing_people_hold_the_default_item(tmp_path):
    """With next to no noise, the ten missing people show up as default items."""
    study = make_study(tmp_path, alpha=390)
    few = held(write_items(tmp_path / "few.csv", users=USERS - 10))
    result = study.release(data=few, ledger=make_ledger(study, alpha=1000))
    assert int(result.values.sum()) == USERS * ITEMS
    counts = np.bincount(
        SPACE.encode([r.split(",")[1] for r in (tmp_path / "few.csv").read_text().split()[1:]]), minlength=20
    )
    counts[0] += 100
    assert np.abs(result.values - counts).max() < 40


def test_the_list_is_the_sorted_histogram(tmp_path):
    study = make_study(tmp_path, questions=[{"kind": "items", "items": ITEMS, "output": "list"}])
    result = study.release(ledger=make_ledger(study))
    assert len(result.values) == USERS * ITEMS
    listed = (result.folder / "values.csv").read_text().splitlines()[1:]
    assert len(listed) == USERS * ITEMS
    labels = list(SPACE.labels)
    assert [labels.index(x) for x in listed] == sorted(labels.index(x) for x in listed)


def test_plans_read_no_data_and_warn():
    study = Study(SPACE, alpha=20, delta=1e-6, users=200)
    plan = study.plan("items(items=10)")
    assert isinstance(plan, ItemsAnswer)
    assert plan.guarantee.definition.parameters["alpha"] <= 20
    assert "warning" not in answer_json(plan)["answer"]
    assert "uniform guess" in str(plan)
    weak = study.replace(alpha="0.01").plan("items(items=10)")
    assert "nearly useless" in str(weak)
    assert "nearly useless" in answer_json(weak)["answer"]["warning"]
    assert "exactly 10 items" in plan._repr_mimebundle_()["text/html"]
    assert repr(plan).startswith("ItemsAnswer(")
    assert answer_json(plan) == answer_json(study.plan("items(items=10)")) != answer_json(weak)


def test_promises_are_kept(tmp_path):
    study = make_study(tmp_path, alpha=None, promises=["all, 0.1, 2", "1/10, 1, 2"])
    result = study.release(ledger=Ledger.create(str(study.ledger), study))
    for row in result.statement.protected:
        assert row.epsilon <= row.epsilon_promised


def test_wrong_questions():
    def plan(**options):
        return Study(SPACE, alpha=20, users=200).plan({"kind": "items", **options})

    for options in ({}, {"items": 0}, {"items": 2.5}, {"items": 10, "output": "shuffled"}, {"items": 10, "m": 3}):
        with pytest.raises(ParameterError):
            plan(**options)
    with pytest.raises(ParameterError, match="Did you mean"):
        plan(items=10, randomiser="gkr")
    with pytest.raises(ParameterError, match="reports"):
        plan(items=10**6, output="list")
    space = Euclidean([0, 0], [1, 1], step=0.1)
    with pytest.raises(ParameterError, match="one by one"):
        Study(space, alpha=10**7, users=200).plan({"kind": "items", "items": 10**5, "randomiser": "laplace"})


def test_a_users_matrix_that_breaks_the_calibrated_claim_is_refused_by_name():
    matrix = np.full((20, 20), 0.001)
    np.fill_diagonal(matrix, 1 - 0.019)
    question = {"kind": "items", "items": 10, "randomiser": {"kind": "matrix", "matrix": matrix.tolist()}}
    with pytest.raises(ParameterError, match="'0/0' gives report number 0"):
        Study(SPACE, alpha=20, users=200).plan(question)


def test_places_come_with_their_coordinates(tmp_path):
    space = Earth(box=(40.5, -74.3, 41.0, -73.6), cell=10)
    rows = [(u, 40.6 + 0.3 * (u % 7) / 7, -74.2 + 0.5 * (u % 5) / 5) for u in range(50) for _ in range(4)]
    columns = {"uid": [r[0] for r in rows], "lat": [r[1] for r in rows], "lon": [r[2] for r in rows]}
    study = Study(
        space, alpha=20_000, delta=1e-6, questions=["items(items=4)"], dataset="places", users=50,
        data=read(columns, user="uid", item=["lat", "lon"]), ledger=str(tmp_path / "l"),
    )  # fmt: skip
    limit = Emd(30_000, "1e-3", model="central", bounded=True)
    ledger = Ledger.create(str(tmp_path / "l"), Budget("places", 50, SpaceRef.of(space), limit, items=4))
    result = study.release(ledger=ledger, out=tmp_path / "o")
    assert set(result.rows()[0]) == {"report", "lat", "lon", "count"}
    features = json.loads((result.folder / "values.geojson").read_text())["features"]
    assert sum(f["properties"]["reports"] for f in features) == 200


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    study = make_study(tmp_path, ledger="things.ledger")
    study.write(tmp_path / "study.toml")
    make_ledger(study)

    def call(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    code, out, _ = call("plan", "--study", "study.toml", "--verbose")
    assert code == 0
    assert "α₀" in out
    code, out, _ = call("plan", "--question", "items(items=10)", "--quiet")
    assert code == 0
    assert float(out) > 0
    code, out, err = call("release", "--study", "study.toml", "--out", "o")
    assert code == 0, err
    assert "2,000 reports of 20 kinds" in out
    code, out, _ = call("verify", "o", "--ledger", "things.ledger")
    assert code == 0
    code, out, _ = call("explain", "o/statement.json")
    assert code == 0
    assert "only the multiset" in out
