"""Studies whose releases add up in quadrature, from the plan to the statement."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import barrow as bw
from barrow.cli.main import cli
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.study import read_study


def study(tmp_path, **options):
    people = bw.read({"uid": list(range(40)), "age": [20 + i % 50 for i in range(40)]}, user="uid", item="age")
    given = {
        "users": 40, "dataset": "ages", "data": people, "delta": "1e-9", "ledger": str(tmp_path / "ages.ledger"),
        "questions": [f"mean(name='m{i}', noise='gaussian', fraction='1/4')" for i in range(4)],
        "composition": "quadrature",
    }  # fmt: skip
    return bw.Study("line(low=0, high=100, step=10, unit='years')", ["all, 5 years, 2"], **{**given, **options})


def test_a_series_is_planned_paid_stated_and_verified_in_quadrature(tmp_path):
    series = study(tmp_path)
    adding = study(tmp_path, composition="additive")
    assert series.plan("m0").error < adding.plan("m0").error
    assert float(series.plan("m0").event.mu / adding.plan("m0").event.mu) == pytest.approx(1.97, abs=0.03)
    ledger = Ledger.create(tmp_path / "ages.ledger", series)
    for i in range(4):
        done = series.release(f"m{i}", out=tmp_path / f"out{i}")
        assert "in quadrature, as the root of the sum of the squares" in " ".join(str(done.text).split())
    assert ledger.verify().within_limits is True
    assert {r.data["composer"] for r in ledger.records() if r.kind == "reserve"} == {"quadrature"}
    assert all(check.holds for check in bw.verify(tmp_path / "out3", ledger=tmp_path / "ages.ledger"))
    spent = ledger.balances()[0].spent.loss
    assert 1.99 < float(spent) <= 2


def test_the_file_says_so_and_what_cannot_be_is_refused(tmp_path):
    series = study(tmp_path, data=None)
    series.write(tmp_path / "study.toml")
    assert 'composition = "quadrature"' in (tmp_path / "study.toml").read_text()
    assert read_study(tmp_path / "study.toml").composition == "quadrature"
    for wrong in ({"delta": 0}, {"composition": "squares"}):
        with pytest.raises(ParameterError):
            study(tmp_path, **wrong)


def test_a_plan_of_many_releases_says_which_sum_is_better():
    ask = ["plan", "--space", "line(low=0, high=100, step=10)", "--users", "1000", "--promise", "all, anywhere, 0.5",
           "--delta", "1e-9", "--question", "mean"]  # fmt: skip
    many = CliRunner().invoke(cli, [*ask, "--releases", "50"])
    assert many.exit_code == 0, many.output
    assert 'composition = "quadrature"' in many.output
    assert "quadrature" not in CliRunner().invoke(cli, [*ask, "--releases", "2"]).output
