"""``barrow local`` for items, frequencies and mixed messages, from the outside."""

from __future__ import annotations

import json

import pytest

STUDY = """
users = {users}
model = "{model}"
alpha = 2
delta = 1e-6
[space]
kind = "discrete"
labels = ["a", "b", "c"]
[[question]]
kind = "{kind}"
items = 2
"""


def make(folder, model, kind="items", users=6):
    (folder / "study.toml").write_text(STUDY.format(model=model, kind=kind, users=users))
    (folder / "inbox").mkdir()
    return folder / "study.toml"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(barrow, place, people):
    for person in range(people):
        (place / "items.jsonl").write_text('"a"\n"b"\n')
        code, out, err = barrow("local", "randomise", "items.jsonl", "--memory", f"m{person}.json")
        assert (code, err) == (0, "")
        (place / "inbox" / f"{person}.jsonl").write_text(out)


@pytest.mark.parametrize("kind", ["items", "frequency"])
def test_reports_are_counted(barrow, place, kind):
    make(place, "local", kind)
    report(barrow, place, 6)
    code, out, _ = barrow("local", "aggregate", "inbox", "--json")
    told = json.loads(out)
    assert (code, told["n"]) == (0, 6)
    assert sum(told["histogram" if kind == "items" else "reports"].values()) == 12
    assert "12 reports on items, from 6 people" in barrow("local", "aggregate", "inbox")[1]
    assert len(barrow("local", "aggregate", "inbox", "--quiet")[1].splitlines()) == 3


def test_messages_are_mixed_before_anybody_counts(barrow, place):
    make(place, "shuffle")
    report(barrow, place, 6)
    lines = [line for file in sorted((place / "inbox").iterdir()) for line in file.read_text().splitlines()]
    assert len(lines) == 12
    assert len({len(line) for line in lines}) == 1
    assert not any("id" in json.loads(line) for line in lines)
    code, _, err = barrow("local", "aggregate", "inbox")
    assert code == 1
    assert "barrow local mix" in err
    code, out, _ = barrow("local", "mix", "inbox", "--out", "batch.jsonl")
    assert code == 0
    assert "12 messages of 6 people" in out
    code, out, _ = barrow("local", "aggregate", "batch.jsonl", "--json")
    told = json.loads(out)
    assert (code, told["n"], told["weaker"]) == (0, 6, False)
    assert sum(told["histogram"].values()) == 12
    code, _, err = barrow("local", "mix", "inbox", "--out", "batch.jsonl")
    assert code == 1
    assert "exists" in err
    told = json.loads(barrow("local", "mix", "inbox", "--out", "b2.jsonl", "--json")[1])
    assert told == {"batch": "b2.jsonl", "people": 6, "messages": 12, "refused": {}}


def test_fewer_people_are_refused_or_said_to_be_weaker(barrow, place):
    make(place, "shuffle", users=1000)
    report(barrow, place, 2)
    assert barrow("local", "mix", "inbox", "--out", "batch.jsonl", "--quiet")[1] == "batch.jsonl\n"
    code, out, err = barrow("local", "aggregate", "batch.jsonl")
    assert (code, out) == (1, "")
    assert "2 people, but the guarantee needs 1,000" in err
    assert "--accept-weaker" in err
    code, out, _ = barrow("local", "aggregate", "batch.jsonl", "--accept-weaker")
    assert code == 0
    assert "What now holds is weaker" in out
    assert json.loads(barrow("local", "aggregate", "batch.jsonl", "--accept-weaker", "--json")[1])["weaker"] is True


def test_a_local_study_is_planned_too(barrow, place):
    make(place, "shuffle")
    code, out, _ = barrow("plan", "--verbose")
    assert code == 0
    assert "α₀" in out
    assert json.loads(barrow("plan", "--model", "local", "--json")[1])["model"] == "local"
    assert "Example" in barrow("local", "mix", "--help")[1]
