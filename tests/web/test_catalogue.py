"""What the designer's page offers."""

from __future__ import annotations

from barrow.questions import question_kinds
from barrow.spaces import Line
from barrow.web.catalogue import catalogue, distances, entry_of, grids, steps

KILOMETRES = Line(0, 100, unit="km", step=1)


def test_the_catalogue():
    assert entry_of({"kind": "circle", "period": 24.0, "unit": "h", "step": 2}) == "hours"
    assert entry_of({"kind": "graph"}) == ""
    assert steps(3, 60) == [5.0, 10.0, 20.0, 50.0]
    assert distances(KILOMETRES) == ["2 km", "5 km", "10 km", "20 km"]
    assert grids(KILOMETRES)[:3] == [0.01, 0.02, 0.05]
    assert {row["kind"] for row in catalogue()["questions"]} == set(question_kinds())
