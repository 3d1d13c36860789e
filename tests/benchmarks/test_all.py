"""The page of all figures is what the runs printed, and says where an aim is missed."""

import json

import pytest

from benchmarks import all as everything


@pytest.mark.parametrize(
    ("value", "aim", "expected"),
    [(1.3, "<= 1.3", True), (1.31, "<= 1.3", False), (4, ">= 5", False), (0.95, "0.94 .. 0.96", True), (1, "", None)],
)
def test_an_aim_is_met_or_not(value, aim, expected):
    assert everything.met(value, aim) is expected


def test_a_missed_aim_is_said():
    table = {"fuzz": {"machine": "m", "day": "d", "seconds": 1, "figures": {"inputs": 5, "tracebacks": 0}}}
    page = everything.page(table)
    assert "1 aim is missed" in page
    assert "| 5 | at least 20000 **missed** |" in page


def test_the_page_is_made_of_what_is_kept():
    subset = json.loads(everything.KEPT.read_text())
    assert everything.PAGE.read_text() == everything.page(subset)


def test_parts_have_names_of_their_own_and_every_kept_part_is_known():
    names = [part["name"] for part in everything.parts()]
    assert len(set(names)) == len(names)
    assert set(json.loads(everything.KEPT.read_text())) <= set(names)


def test_a_part_that_fails_is_not_kept(monkeypatch, tmp_path):
    assert everything.measured({"name": "x", "command": ["true"]}) is None
    assert everything.measured({"name": "x", "command": ["echo", '{"a": 1}']})["figures"] == {"a": 1}
