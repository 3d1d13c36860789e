"""What is remembered between processes is this person's own, or is not remembered; it moves no noise and no price."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from barrow import remembered
from barrow.accounting import price
from barrow.cli.main import main
from barrow.planning import histograms as planned
from barrow.planning.histograms import noise_within
from barrow.questions import Answer, Histogram, recalled
from barrow.questions.comparing import baseline_error, by_user_level
from barrow.questions.plan_text import notes_of
from barrow.questions.recalled import RecalledHistogram, keep_choices
from barrow.remembered import keep, recall, remembering
from barrow.study import Study

STUDY = """
dataset = "hours"
users = 2000
[data]
source = "records.csv"
user = "who"
items = ["hour"]
[space]
kind = "line"
low = 0
high = 24
step = 0.5
unit = "hours"
[[promise]]
share = "all"
distance = "1 hours"
epsilon = 0.5
[[question]]
kind = "KIND"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(remembered.VARIABLE, str(tmp_path / "memory"))
    monkeypatch.delenv("BARROW_PICTURES", raising=False)  # a folder: what is in it is not seen
    monkeypatch.chdir(tmp_path)
    Path("records.csv").write_text("who,hour\n1,2.5\n2,7.5\n")
    Path("study.toml").write_text(STUDY.replace("KIND", "mean"))
    return tmp_path / "memory"


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name != "seal")


def test_only_commands_remember(folder: Path) -> None:
    keep("choice", "a", "text")
    assert not folder.exists()
    with remembering():
        assert recall("choice", "a") is None
        keep("choice", "a", "text")
        assert recall("choice", "a") == "text"
        assert recall("choice", "b") is None
        assert recall("plan", "a") is None
    assert recall("choice", "a") is None
    assert (folder / "seal").stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0


def test_what_another_hand_wrote_is_not_remembered(folder: Path, tmp_path: Path) -> None:
    with remembering():
        keep("choice", "a", "mine")
        (place,) = entries(folder)
        whole = place.read_bytes()
        keep("choice", "b", "of another study")
        (other,) = (path for path in entries(folder) if path != place)
        longer = whole + b" and more"
        for planted in (b"", b"garbage", whole[:-1] + b"X", b"\0" * 32 + whole[32:], longer, other.read_bytes()):
            place.write_bytes(planted)
            assert recall("choice", "a") is None, planted
        place.write_bytes(whole)
        assert recall("choice", "a") == "mine"
        place.chmod(0o666)  # anybody may write into it
        assert recall("choice", "a") is None
        place.chmod(0o600)
        folder.chmod(0o777)
        assert recall("choice", "a") is None
        folder.chmod(0o700)
        (folder / "seal").write_bytes(os.urandom(32))
        assert recall("choice", "a") is None
        place.unlink()
        place.symlink_to(tmp_path / "records.csv")
        assert recall("choice", "a") is None


def test_nothing_is_remembered_where_nothing_can_be_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.write_text("a file where the folder would be")
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            main(["plan"])
        assert ended.value.code == 0
        assert "Error     each value" in capsys.readouterr().out
    assert folder.is_file()


def test_other_code_remembers_nothing_of_ours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with remembering():
        keep("choice", "a", "text")
        monkeypatch.setattr(remembered, "code_digest", lambda: "another version")
        assert recall("choice", "a") is None


def test_few_entries_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "_MOST_ENTRIES", 3)
    with remembering():
        for number in range(6):
            keep("choice", str(number), "text")
        assert len(entries(folder)) == 3
        assert recall("choice", "5") == "text"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["plan", *arguments])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_the_same_plan_again_is_shown_and_nothing_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, told = printed(capsys), printed(capsys, "--json")
    with monkeypatch.context() as patched:
        patched.setattr("barrow.cli.main.cli.main", None)  # no command runs
        assert (printed(capsys), printed(capsys, "--json")) == (first, told)
    ended = main_code(["plan", "nothing"])
    assert ended == 1
    assert "no question" in capsys.readouterr().err


def main_code(arguments: list[str]) -> object:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


@pytest.mark.parametrize("what", ["study", "records", "ledger", "width", "text", "calendar"])
def test_whatever_a_plan_rests_on_may_change(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    study = Path("study.toml")
    if what == "ledger":
        study.write_text('ledger = "hours.ledger"\n' + study.read_text())
    if what == "calendar":  # the last period is another one tomorrow
        timed = 'user = "who"\ntime = "when"\nperiod = "day"\nzone = "UTC"'
        study.write_text("periods = 12\n" + study.read_text().replace('user = "who"', timed))
        Path("records.csv").write_text("who,hour,when\n1,2.5,2026-01-01 00:00:00\n")
    first = printed(capsys)
    calls = []
    monkeypatch.setattr("barrow.cli.plan._show", lambda *_, **__: calls.append(1))
    if what == "study":
        study.write_text(study.read_text().replace("0.5\n[[q", "0.25\n[[q"))
    elif what == "records":
        Path("records.csv").write_text("who,hour\n1,2.5\n2,7.6\n")
    elif what == "ledger":
        assert main_code(["ledger", "init", "hours.ledger", "--study", "study.toml"]) == 0
    elif what == "width":
        monkeypatch.setenv("COLUMNS", "60")
    elif what == "text":
        (place,) = entries(folder)
        place.write_bytes(place.read_bytes().replace(b"0.257", b"0.001"))
    assert printed(capsys) != first
    assert calls == [1]


def planned_histogram(folder: Path, **options: object) -> tuple[Study, Histogram, Answer]:
    study = Study("line(low=0, high=24, step=0.5, unit='hours')", ["all, 1 hours, 0.5"], users=2000)
    question = Histogram(**options)  # type: ignore[arg-type]
    with remembering():
        answer = question.plan(study.terms(question))
        notes_of(answer), answer.facts()
        keep_choices([answer])
    return study, question, answer


def rewritten(
    folder: Path, study: Study, question: Histogram, monkeypatch: pytest.MonkeyPatch, **change: object
) -> Answer:
    """The plan where a memory with a good seal says something else."""
    with remembering():
        with monkeypatch.context() as patched:
            patched.setattr(remembered, "_MOST_BYTES", 10**6)
            kept: dict[str, str] = {}
            patched.setattr(
                "barrow.questions.recalled.recall",
                lambda kind, about: kept.setdefault(about, recall(kind, about) or ""),
            )
            question.plan(study.terms(question))
        ((about, text),) = kept.items()
        keep(recalled._KIND, about, json.dumps({**json.loads(text), **change}))
        return question.plan(study.terms(question))


def test_a_release_after_a_plan_compares_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, question, answer = planned_histogram(folder)
    known, beside = baseline_error(answer, False), by_user_level(answer)
    monkeypatch.setattr(planned, "simulate", None)  # whatever compares or predicts fails from here on
    monkeypatch.setattr("barrow.planning.user_level.simulate", None)
    with remembering():
        again = question.plan(study.terms(question))
    assert isinstance(again, RecalledHistogram)
    assert again.event == answer.event
    assert again.guarantee == answer.guarantee
    assert again.noise.scale == answer.noise.scale  # type: ignore[attr-defined]
    assert (again.facts(), notes_of(again)) == (answer.facts(), notes_of(answer))
    assert baseline_error(again, False) == known
    drawn = by_user_level(again)  # what the report draws beside it
    assert drawn is not None
    assert beside is not None
    assert (drawn[0].event, drawn[0].error, drawn[1]) == (beside[0].event, beside[0].error, beside[1])


def test_what_was_compared_is_compared_again_if_asked_for(folder: Path) -> None:
    study, question, answer = planned_histogram(folder)
    with remembering():
        again = question.plan(study.terms(question))
    assert isinstance(again, RecalledHistogram)
    assert str(again) == str(answer)


@pytest.mark.parametrize("name", ["cells", "edges"])
def test_a_planted_choice_has_the_noise_and_the_price_of_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    study, question, _ = planned_histogram(folder)
    again = rewritten(
        folder, study, question, monkeypatch, name=name, spacing=None, scale=1e-9, event={"alpha": 0}, alpha=1e-9
    )
    target = replace(question.target(study.terms(question)), spacing=None)
    fresh = noise_within(target, name)
    assert (again.event, again.guarantee) == (fresh.event, price(fresh.event))
    assert again.noise.scale == fresh.noise.scale  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "no such noise"}, {"name": None}, {"spacing": 1e-3, "name": "edges"},
        {"spacing": "x", "name": "edges"},
        {"errors": [-1.0, None, None, 1.0]}, {"errors": [float("nan"), None, None, 1.0]}, {"errors": []},
        {"errors": "abcd"}, {"baseline": [1.0, "2"]}, {"baseline": {"name": 1}}, {"others": 3},
        {"errors": None}, {"user_level": True, "name": "edges"},
    ],
)  # fmt: skip
def test_what_no_choice_can_be_is_planned_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object]
) -> None:
    study, question, answer = planned_histogram(folder)
    again = rewritten(folder, study, question, monkeypatch, **change)
    assert not isinstance(again, RecalledHistogram)
    assert again.event == answer.event
    assert again.error == answer.error


def test_what_a_question_says_goes_before_what_is_remembered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, question, answer = planned_histogram(folder, mechanism="cells", definition="emd")
    for change in ({"name": "tree"}, {"user_level": True}):
        again = rewritten(folder, study, question, monkeypatch, **change)
        assert again.event == answer.event
        assert again.chosen.name == "cells"
