"""One payment, one draw: what other attempts drew is gone, and what cannot be written is not paid for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.study import LostReleaseError, Study, verify
from barrow.study.outputs import Stage
from tests.study.helpers import make_ledger, make_study

KILLED = """
import os, sys
from barrow.ledger import Ledger
from barrow.study import Study

Ledger.stage = lambda *arguments: os._exit(9)
Study.read("study.toml").release(out=sys.argv[1])
"""
"""A release that dies between writing its files and telling the ledger."""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    built = make_study(tmp_path)
    make_ledger(built)
    built.write(tmp_path / "study.toml")
    return Study.read(tmp_path / "study.toml")  # as those who are killed read it


def killed(folder: Path, out: str) -> None:
    """As by kill -9: no handler runs."""
    assert subprocess.run([sys.executable, "-c", KILLED, out], cwd=folder, check=False).returncode == 9


def draws(folder: Path) -> list[Path]:
    """Every place under ``folder`` that holds drawn values."""
    return sorted(file.parent for file in folder.rglob("values.csv"))


def test_a_killed_draw_is_destroyed_before_the_next_one_elsewhere(tmp_path, study, monkeypatch):
    killed(tmp_path, "a/first")
    assert len(draws(tmp_path)) == 1  # hidden, and nobody was told
    killed(tmp_path, "b/second")
    (left,) = draws(tmp_path)
    assert left.parent.name == "b"
    seen = []
    take = Stage.open
    monkeypatch.setattr(Stage, "open", lambda self, room: (seen.append(draws(tmp_path)), take(self, room))[1])
    result = study.release(out=tmp_path / "c" / "third")
    assert seen == [[]]  # they were gone before anything was drawn
    assert draws(tmp_path) == [tmp_path / "c" / "third"] == [result.folder]
    assert [record.kind for record in Ledger.open(study.ledger).records()] == [
        "init", "reserve", "resumed", "resumed", "staged", "commit",
    ]  # fmt: skip
    assert all(check.holds for check in verify(result.folder, ledger=study.ledger))


def test_what_was_staged_elsewhere_is_found_and_published_there(tmp_path, study, monkeypatch):
    killed(tmp_path, "a/first")
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "commit", _fail)
        with pytest.raises(OSError, match="full"):
            study.release(out=tmp_path / "b" / "second")
    # Staged at b, reserved at a, asked for at c: the values that the ledger knows are those at b.
    result = study.release(out=tmp_path / "c" / "third")
    assert draws(tmp_path) == [tmp_path / "b" / "second"] == [result.folder]


def _fail(*_args, **_kwargs):
    raise OSError(28, "The disk is full")


def test_who_loses_the_race_destroys_its_own(tmp_path, study, monkeypatch):
    """Both draw for one payment; the second takes the right to stage while the first is about to."""
    killed(tmp_path, "a/first")
    stage, other = Ledger.stage, []

    def overtaken(self, *arguments):
        if not other:
            other.append(None)  # the other one stages as usual
            other[0] = study.release(out=tmp_path / "c" / "third")
        return stage(self, *arguments)

    monkeypatch.setattr(Ledger, "stage", overtaken)
    with pytest.raises(LostReleaseError, match="interrupted"):
        study.release(out=tmp_path / "b" / "second")
    assert draws(tmp_path) == [tmp_path / "c" / "third"] == [other[0].folder]
    again = study.release(out=tmp_path / "b" / "second")
    assert again.values.tolist() == other[0].values.tolist()
    assert draws(tmp_path) == [other[0].folder]


def test_who_fails_to_destroy_a_draw_has_taken_the_right_to_stage_it(tmp_path, study, monkeypatch):
    """Else what is half removed would be staged, and the release be paid for and lost."""
    killed(tmp_path, "a/first")
    write, other = Stage.write, []

    def overtaken(self, files):
        write(self, files)
        if not other:
            other.append(None)
            with monkeypatch.context() as patch:
                patch.setattr("barrow.study.outputs.shutil.rmtree", half_removed)
                with pytest.raises(ParameterError, match="cannot be removed"):
                    study.release(out=tmp_path / "c" / "third")

    def half_removed(folder, **_options):
        for file in Path(folder).glob("*.csv"):
            file.unlink()

    monkeypatch.setattr(Stage, "write", overtaken)
    with pytest.raises(LostReleaseError, match="interrupted"):
        study.release(out=tmp_path / "b" / "second")
    result = study.release(out=tmp_path / "d" / "fourth")
    assert draws(tmp_path) == [result.folder]
    assert all(check.holds for check in verify(result.folder, ledger=study.ledger))


def test_resumed_by_many_at_once_one_draw_is_left(tmp_path, study):
    killed(tmp_path, "a/first")
    code = "import sys; from barrow.study import Study; Study.read('study.toml').release(out=sys.argv[1])"
    running = [
        subprocess.Popen([sys.executable, "-c", code, f"{name}/out"], cwd=tmp_path, stderr=subprocess.DEVNULL)
        for name in "bcd"
    ]
    codes = [process.wait() for process in running]
    assert 0 in codes
    result = study.release(out=tmp_path / "e" / "out")
    assert draws(tmp_path) == [result.folder]
    kinds = [record.kind for record in Ledger.open(study.ledger).records()]
    assert (kinds.count("reserve"), kinds.count("staged"), kinds.count("commit")) == (1, 1, 1)


def test_a_draw_that_cannot_be_removed_stops_the_next_one(tmp_path, study, monkeypatch):
    killed(tmp_path, "a/first")
    monkeypatch.setattr("barrow.study.outputs.shutil.rmtree", lambda *_args, **_kwargs: None)
    with pytest.raises(ParameterError, match="cannot be removed"):
        study.release(out=tmp_path / "b" / "second")
    assert len(draws(tmp_path)) == 1
    assert [record.kind for record in Ledger.open(study.ledger).records()] == ["init", "reserve", "resumed"]


# Paid and lost.

WRITERS = {
    "csv": "barrow.study.outputs.csv_text",
    "parquet": "barrow.study.outputs.parquet_of",
    "geojson": "barrow.study.outputs._geojson",
    "report": "barrow.render.release_files",
    "statement": "barrow.study.rehearsal.statement_text",
}


def broken(*_args, **_kwargs):
    raise ValueError("this writer is broken")


@pytest.mark.parametrize("writer", WRITERS)
def test_a_writer_that_fails_is_found_before_anything_is_paid(tmp_path, study, monkeypatch, writer):
    with monkeypatch.context() as patch:
        patch.setattr(WRITERS[writer], broken)
        with pytest.raises(ParameterError, match=r"cannot be written here: ValueError: this writer is broken.*spent"):
            study.release(out=tmp_path / "out")
    assert len(Ledger.open(study.ledger).records()) == 1
    assert sorted(os.listdir(tmp_path)) == ["ages.csv", "ages.ledger", "study.toml"]
    study.release(out=tmp_path / "out")


def test_without_duckdb_nothing_is_paid_for_records_in_memory(tmp_path, study, monkeypatch):
    memory = study.replace(data={"source": {"uid": [1, 2], "age": [20, 30]}, "user": "uid", "items": ["age"]})
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ParameterError, match="cannot be written here: ModuleNotFoundError"):
        memory.release(out=tmp_path / "out")
    assert len(Ledger.open(study.ledger).records()) == 1


@pytest.mark.parametrize("everything", [True, False])
def test_what_a_dummy_meets_too_is_resumed_and_what_values_may_cause_is_given_up(
    tmp_path, study, monkeypatch, everything
):
    """The writer breaks after the payment: for every table, or (perhaps) because of what was drawn."""
    from barrow.study import outputs

    write, paid = outputs.parquet_of, threading.Event()
    reserve = Ledger.reserve
    monkeypatch.setattr(Ledger, "reserve", lambda self, **request: (reserve(self, **request), paid.set())[0])

    def later(columns, *rest):
        dummy = columns["output"][0] == "dummy"
        return broken() if paid.is_set() and (everything or not dummy) else write(columns, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(outputs, "parquet_of", later)
        with pytest.raises(LostReleaseError) as error:
            study.release(out=tmp_path / "out")
    assert ("costs nothing more" in str(error.value)) is everything
    kinds = [record.kind for record in Ledger.open(study.ledger).records()]
    assert kinds == ["init", "reserve", *([] if everything else ["abandoned"])]
    assert draws(tmp_path) == []
    if everything:
        study.release(out=tmp_path / "out")
        assert [r.kind for r in Ledger.open(study.ledger).records()].count("reserve") == 1


def test_a_report_that_cannot_be_drawn_of_the_values_does_not_lose_them(study, tmp_path):
    def fails(statement, tables, plan):
        if statement.dataset == "ages":  # the dummy that is tried before can be drawn
            raise ZeroDivisionError
        return {}

    result = study.release(out=tmp_path / "alone", renderers=[fails])
    assert sorted(path.name for path in result.folder.glob("*.html")) == []
    assert [record.kind for record in Ledger.open(study.ledger).records()][-1] == "commit"
    assert all(check.holds for check in verify(result.folder, ledger=study.ledger))
