"""barrow local randomise and aggregate, item by item."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from barrow.cli.main import main
from barrow.release import Study, write_study
from barrow.spaces import Clustered

SPACE = Clustered.grid(2, 3, r=0.1)


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    study = Study(SPACE, alpha=Fraction(20), delta=Fraction(1, 10**6), query={"kind": "items", "items": 3})
    write_study(study, tmp_path / "study.toml")
    (tmp_path / "mine.jsonl").write_text('"0/0"\n"0/1"\n"1/2"\n')

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    return run


def test_one_person_reports_once_and_a_server_counts(call, tmp_path):
    code, first, _ = call("local", "randomise", "mine.jsonl", "--study", "study.toml", "--memory", "m.json")
    assert code == 0
    assert call("local", "randomise", "mine.jsonl", "--study", "study.toml", "--memory", "m.json")[1] == first
    assert len(json.loads(first)["values"]) == 3
    (tmp_path / "reports").mkdir()
    for i in range(3):
        _, out, _ = call("local", "randomise", "mine.jsonl", "--study", "study.toml", "--memory", f"{i}.json")
        (tmp_path / "reports" / f"{i}.json").write_text(out)
    (tmp_path / "reports" / "bad.json").write_text("{}\n" + json.dumps({**json.loads(first), "version": 9}) + "\n")
    code, out, _ = call("local", "aggregate", "reports", "--study", "study.toml", "--json")
    assert code == 0
    said = json.loads(out)
    assert said["n"] == 3
    assert sum(said["histogram"].values()) == 9
    assert said["refused"] == {"malformed": 1, "another version": 1}
    code, out, _ = call("local", "aggregate", "reports", "--study", "study.toml")
    assert code == 0
    assert "9 reports on items, from 3 people" in out
    assert "Refused: 1 malformed, 1 another version" in out


def test_the_query_may_be_named_and_other_sizes_are_refused(call, tmp_path):
    query = "items(items=3, randomiser='exponential')"
    code, _, _ = call("local", "randomise", "mine.jsonl", "--study", "study.toml", "--query", query, "--memory", "a")
    assert code == 0
    code, _, err = call(
        "local", "randomise", "mine.jsonl", "--study", "study.toml", "--query", "items(items=4)", "--memory", "b"
    )
    assert code == 1
    assert "exactly the public number of items" in err
    code, _, err = call("local", "aggregate", "mine.jsonl", "--study", "study.toml")
    assert code == 1


def test_people_who_hold_any_number_of_items(call, tmp_path):
    query = "items(samples=40, radius='0.1', randomiser='exponential')"
    options = ("--study", "study.toml", "--query", query)
    (tmp_path / "one.jsonl").write_text('"0/0"\n')
    (tmp_path / "reports").mkdir()
    for name in ("mine", "one"):
        code, out, _ = call("local", "randomise", f"{name}.jsonl", *options, "--memory", f"{name}.json")
        assert code == 0
        assert len(json.loads(out)["values"]) == 40
        (tmp_path / "reports" / f"{name}.json").write_text(out)
    code, out, _ = call("local", "aggregate", "reports", *options, "--json")
    assert code == 0
    said = json.loads(out)
    assert sum(said["histogram"].values()) == 80
    assert said["guarantee"]["definition"] | {"epsilon": ""} == {
        "definition": "DiscreteEmd", "epsilon": "", "delta": "0.000001", "radius": "0.1", "model": "local",
    }  # fmt: skip
    code, _, err = call("local", "randomise", "one.jsonl", "--study", "study.toml", "--memory", "x",
                        "--query", "items(samples=40)")  # fmt: skip
    assert code != 0
    assert "radius" in err
    code, _, err = call("local", "randomise", "one.jsonl", "--study", "study.toml", "--memory", "x",
                        "--query", "items(samples=0, radius='0.1')")  # fmt: skip
    assert code != 0
    assert "samples is 0" in err
