"""The tables of docs/accuracy.md are those of the run that is kept."""

from __future__ import annotations

import copy
import json

from benchmarks._truth_tables import ACCURACY, by_kind, overview, written
from benchmarks.all import KEPT

FIGURES = json.loads(KEPT.read_text())["truth"]["figures"]


def test_the_page_shows_the_run_that_is_kept():
    page = ACCURACY.read_text(encoding="utf-8")
    assert written(page, FIGURES) == page


def test_another_run_makes_another_page():
    other = copy.deepcopy(FIGURES)
    other["after_within"] = 0.123
    other["rows"][0]["true"] = 100 * other["rows"][0]["about"]
    assert "12.3 %" in overview(other)
    assert "to 100.00)" in by_kind(other)
    page = written(ACCURACY.read_text(encoding="utf-8"), other)
    assert page != ACCURACY.read_text(encoding="utf-8")
    assert written(page, FIGURES) == ACCURACY.read_text(encoding="utf-8")
