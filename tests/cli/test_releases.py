"""Studies that are released many times under the same promises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import barrow as bw
from barrow.errors import LedgerError

INIT = [
    "init", "rows.csv", "--user", "uid", "--item", "age", "--users", "5000", "--dataset", "rows",
    "--space", "line(low=0, high=100, step=1, unit='years')", "--promise", "all, 5 years, 0.5",
    "--missing", "default item",
]  # fmt: skip


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("uid,age\na,20\nb,30\n")


def test_a_study_is_made_for_many_releases(barrow, rows):
    code, out, _ = barrow(*INIT, "--question", "mean", "--delta", "1e-6", "--releases", "50", "--json")
    told = json.loads(out)
    assert (code, told["releases"], told["composition"]) == (0, 50, "quadrature")
    assert 'composition = "quadrature"' in Path("study.toml").read_text()
    assert 'fraction = "0.02"' in Path("study.toml").read_text()
    planned = json.loads(barrow("plan", "--json")[1])
    assert planned["fraction"] == "0.02"
    assert barrow("release", "--quiet")[0] == 0  # the ledger was made for it


def test_few_releases_add(barrow, rows):
    code, out, _ = barrow(*INIT, "--question", "mean", "--delta", "1e-6", "--releases", "2")
    assert code == 0
    assert "Each of 2 releases has its share of every promise; together they cost a sum." in out
    assert "composition" not in Path("study.toml").read_text()


def test_nothing_is_asked_many_times(barrow, rows):
    code, _, err = barrow(*INIT, "--releases", "2")
    assert code == 1
    assert "no question is given" in err
    assert not Path("study.toml").exists()


def test_what_cannot_add_in_quadrature_is_said(tmp_path):
    table = bw.read({"uid": [1, 1, 1, 2, 2, 2], "age": [20, 30, 40, 50, 60, 70]}, user="uid", item="age")
    options = {"users": 2, "delta": "1e-6", "dataset": "rows", "data": table, "composition": "quadrature"}
    questions = ["items(items=3)", "mean"]
    study = bw.Study("line(low=0, high=99, step=33, unit='year')", ["all, 5 year, 3"], questions=questions, **options)
    assert "it is neither Gaussian nor pure" in str(study.plan("items"))
    assert "it is neither Gaussian nor pure" not in str(study.plan("mean"))
    assert "neither Gaussian" not in str(study.replace(composition="additive").plan("items"))
    ledger = bw.Ledger.create(tmp_path / "rows.ledger", study)
    with pytest.raises(LedgerError):  # as the plan said
        study.release("items", ledger=ledger, out=tmp_path / "out")
