"""barrow local randomise and aggregate with the query 'frequency'."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from barrow.cli.main import main
from barrow.release import Study, write_study
from barrow.spaces import Clustered

SPACE = Clustered.grid(2, 3, r=0.1)
QUERY = {"kind": "frequency", "items": 3}


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_study(Study(SPACE, alpha=Fraction(40), delta=Fraction(1, 10**6), query=QUERY), tmp_path / "study.toml")
    (tmp_path / "mine.jsonl").write_text('"0/0"\n"0/1"\n"1/2"\n')

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    return run


@pytest.fixture
def collected(call, tmp_path):
    (tmp_path / "reports").mkdir()
    for i in range(4):
        code, out, _ = call("local", "randomise", "mine.jsonl", "--study", "study.toml", "--memory", f"{i}.json")
        assert code == 0
        (tmp_path / "reports" / f"{i}.json").write_text(out)
    return tmp_path / "reports"


def test_people_report_and_the_server_estimates(call, collected):
    code, out, _ = call("local", "aggregate", "reports", "--study", "study.toml", "--json")
    assert code == 0
    said = json.loads(out)
    assert said["n"] == 4
    assert sum(said["reports"].values()) == 12
    assert sum(said["estimate"].values()) == pytest.approx(1.0)
    assert sum(said["decoded"].values()) == pytest.approx(1.0)
    assert min(said["decoded"].values()) >= 0
    assert said["decode"] == "tree"
    assert 0 < said["predicted_error"] <= said["error_upper"]
    assert said["guarantee"]
    code, out, _ = call("local", "aggregate", "reports", "--study", "study.toml")
    assert code == 0
    assert "(unbiased" in out
    assert "off by EMD" in out
    assert "12 reports on items, from 4 people" in out
    assert "Each person was promised" in out
    code, out, _ = call("local", "aggregate", "reports", "--study", "study.toml", "--quiet")
    assert len(out.splitlines()) == 6


def test_reports_on_items_serve_for_frequencies_too(call, collected):
    query = "items(items=3)"
    code, out, _ = call("local", "aggregate", "reports", "--study", "study.toml", "--query", query, "--json")
    assert code == 0
    assert json.loads(out)["n"] == 4
    for decode in ("none", "simplex", "bayesian"):
        query = f"frequency(items=3, decode='{decode}')"
        code, out, _ = call("local", "aggregate", "reports", "--study", "study.toml", "--query", query, "--json")
        assert code == 0
        assert json.loads(out)["decode"] == decode
        assert (json.loads(out)["decoded"] is None) == (decode == "none")


def test_reports_of_other_sizes_and_studies_are_refused(call, collected):
    report = json.loads((collected / "0.json").read_text())
    bad = [{**report, "values": [0, 1]}, {**report, "study": "sha256:" + "0" * 64}, report, {**report, "version": 2}]
    (collected / "bad.json").write_text("\n".join(json.dumps(b) for b in bad) + "\nhello\n")
    code, out, _ = call("local", "aggregate", "reports", "--study", "study.toml")
    assert code == 0
    assert "Refused: 1 wrong size, 1 another study, 1 repeated, 1 another version, 1 malformed" in out
    code, _, err = call("local", "aggregate", "reports", "--study", "study.toml", "--query", "frequency(items=4)")
    assert code == 1
    assert "No report has been counted" in err


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("frequency", "does not say how many items"),
        ("frequency(items=0)", "items is 0"),
        ("frequency(items=3, decode='median')", "decode is 'median'"),
        ("frequency(items=3, output='list')", "no key 'output'"),
        ("frequency(items=3, randomiser={'kind': 'mapped', 'answers': ['a'] * 6})", "cannot be read"),
        ("frequency(items=3, randomiser={'kind': 'mapped', 'answers': ['a', 'a', 'a', 'b', 'b', 'b']})", "be undone"),
    ],
)
def test_wrong_questions(call, query, said):
    code, _, err = call(
        "local", "randomise", "mine.jsonl", "--study", "study.toml", "--query", query, "--memory", "x.json"
    )
    assert code != 0
    assert said in err


def test_people_without_items_are_refused(call, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    code, _, err = call("local", "randomise", "empty.jsonl", "--study", "study.toml", "--memory", "x.json")
    assert code == 1
    assert "exactly the public number of items" in err
    assert not (tmp_path / "x.json").exists()
