"""Files that a study names are named as seen from the folder of its file."""

from __future__ import annotations

import json

import pytest

from barrow.study import Study
from barrow.study.arguments import from_here, from_study
from tests.study.helpers import make_study, write_ages

NAMES = ["visits.csv", "../visits.csv", "data/*.parquet", "sqlite:///visits.db?table=visits", "/data/visits.csv",
         "postgresql://reader@host/db?table=visits", "local[2]?path=visits"]  # fmt: skip


@pytest.mark.parametrize("folder", [".", "", "demo", "my demo/2026", "../other"])
@pytest.mark.parametrize("name", NAMES)
def test_there_and_back_again(name, folder):
    assert from_study(from_here(name, folder), folder) == name


def test_an_absolute_path_into_the_studys_folder_is_written_short(tmp_path):
    assert from_study(str(tmp_path / "visits.csv"), tmp_path) == "visits.csv"


def test_a_study_may_be_moved_and_used_from_anywhere(tmp_path, monkeypatch, barrow):
    first = tmp_path / "first"
    first.mkdir()
    write_ages(first / "ages.csv")
    monkeypatch.chdir(tmp_path)
    assert barrow("init", "first/ages.csv", "--study", "first/study.toml", "--user", "uid", "--item", "age", "--users",
        40, "--dataset", "ages", "--space", "line(low=0, high=100, step=1, unit='years')", "--promise",
        "all, 5 years, 0.5", "--question", "mean")[0] == 0  # fmt: skip
    text = (first / "study.toml").read_text()
    assert 'ledger = "ages.ledger"' in text
    assert 'source = "ages.csv"' in text
    code, out, _ = barrow("release", "first/study.toml", "--json")
    assert code == 0
    statement = json.loads(out)
    assert statement["ledger"]["ledger"] == "ages.ledger"
    assert statement["parameters"]["data"]["source"] == "ages.csv"
    assert (first / "release/mean/values.csv").is_file()
    monkeypatch.chdir(first)
    code, out, _ = barrow("release", "--json")
    assert code == 0
    assert json.loads(out)["ledger"] == statement["ledger"]
    assert "This release was made before" in barrow("release")[1]
    assert barrow("verify", "release/mean", "--ledger", "ages.ledger")[0] == 0
    monkeypatch.chdir("release/mean")
    page = (first / "release/mean/report.html").read_text()
    assert "barrow verify .\n" in page
    assert barrow("verify", ".")[0] == 0


def test_flags_are_seen_from_here(tmp_path, monkeypatch, barrow):
    there = tmp_path / "there"
    there.mkdir()
    make_study(tmp_path).write(there / "study.toml")
    text = (there / "study.toml").read_text().replace(str(tmp_path), "..")
    (there / "study.toml").write_text(text)
    assert 'source = "../ages.csv"' in text
    assert Study.read(there / "study.toml").data.source.files()
    (tmp_path / "ages.csv").rename(tmp_path / "moved.csv")
    monkeypatch.chdir(tmp_path)
    code, _, err = barrow("plan", "there/study.toml")
    assert code == 1
    assert "There is no file" in err
    assert barrow("plan", "there/study.toml", "--source", "moved.csv")[0] == 0


def test_a_query_over_the_records_keeps_the_source_of_the_study(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("uid,age,more\na,20,1\nb,30,2\n")
    code, _, err = barrow(
        "init", "rows.csv", "--user", "uid", "--item", "age", "--users", "20", "--dataset", "rows", "--space",
        "line(low=0, high=100, step=1, unit='years')", "--promise", "all, anywhere, 1", "--question", "mean",
    )  # fmt: skip
    assert code == 0, err
    assert barrow("plan", "--sql", "SELECT uid, age FROM records")[0] == 0
    code, _, err = barrow("plan", "--sql", "SELECT uid, age FROM elsewhere")
    assert code == 1
    assert "elsewhere" in err


def test_the_designer_takes_no_records_for_a_study(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("uid,age\na,1\n", encoding="utf-8")
    code, _, err = barrow("design", "visits.csv", "--no-browser")
    assert code != 0
    assert "holds records" in err
    assert 'type visits.csv there, under "Your file"' in " ".join(err.split())


def test_what_is_suggested_stays_in_its_folder(barrow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x.html").write_text("", encoding="utf-8")
    code, _, err = barrow("explain", "--idea", "--html", "out/x.html")
    assert (code != 0, "out/x-2.html" in err) == (True, True)
    code, _, err = barrow("explain", "--idea", "--html", "none/x.html")
    assert (code != 0, "mkdir -p none" in err) == (True, True)
