"""Audits of a study's own noise: honest noise passes, half of it is seen, nothing is read."""

from __future__ import annotations

import json

import pytest

from barrow.audit import audit_study
from barrow.cli.main import main
from barrow.errors import ParameterError
from barrow.study import Study

QUESTIONS = ["mean(fraction='1/2')", "histogram(fraction='1/4')", "density(bandwidth='3', fraction='1/4')"]


def test_honest_noise_passes_and_half_of_it_does_not():
    study = Study("line(low=0, high=10, step=1)", alpha=4, users=30, questions=QUESTIONS[:1])
    (result,) = audit_study(study, draws=4000)
    assert result.passed
    assert result.result.informative
    assert result.control is not None
    assert not result.control.passed


def test_every_kind_of_question_is_drawn():
    study = Study("line(low=0, high=10, step=1)", alpha=4, users=30, delta="1e-6", questions=[
        *QUESTIONS[:2], {"kind": "items", "items": 3, "fraction": "1/8"},
    ])  # fmt: skip
    result = audit_study(study, draws=300)
    assert [finding.passed for finding in result] == [True] * 3
    assert result[2].control is None


def test_the_command_reads_no_record(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Study("line(low=0, high=10, step=1)", alpha=2, users=20, questions=["mean"]).write("study.toml")
    for arguments in (["study.toml"], ["study.toml", "--json"]):
        with pytest.raises(SystemExit) as stop:
            main(["audit", *arguments])
        assert not stop.value.code
        out = capsys.readouterr().out
    assert json.loads(out)["findings"][0]["passed"] is True


def test_it_says_how_long_it_takes_and_can_be_cut():
    study = Study("line(low=0, high=10, step=1)", alpha=4, users=30, questions=QUESTIONS[:1])
    told = []
    (whole,) = audit_study(study, draws=2000, tell=told.append)
    (short,) = audit_study(study, draws=2000, minutes=1e-6, tell=told.append)
    assert "mean (2,000 draws of each data set)" in told[0]
    assert "mean (200 draws of each data set)" in told[1]
    assert whole.passed
    assert short.passed
    for minutes in (0, -1, float("nan")):
        with pytest.raises(ParameterError, match="minutes"):
            audit_study(study, minutes=minutes)
