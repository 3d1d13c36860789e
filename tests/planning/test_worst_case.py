"""EMD-DP at a worst case by a coarser grid, beside planning the space again; plans of any size say both ratios."""

from __future__ import annotations

import math

import pytest

from barrow.planning.histograms import HistogramTarget, histogram_candidates
from barrow.planning.simulate import reference_distribution
from barrow.planning.terms import Terms
from barrow.planning.worst_case import edges_by_stand_in
from barrow.promises import Promise
from barrow.questions.plan_text import answer_json, plan_lines
from barrow.spaces import Circle, Earth, Euclidean, Line, NoRecords
from barrow.study import Study

SPACES = {
    "line": Line(0, 100, step=1 / 12, cells=True),
    "circle": Circle(24, step=1 / 40),
    "square": Euclidean([0, 0], [36, 30], step=1, unit="km"),
    "earth": Earth(box=(40.0, -75.0, 41.0, -73.7), cell=3.5),
    "no records": NoRecords(Euclidean([0, 0], [36, 30], step=1, unit="km")),
}


def asked(space, epsilon, users):
    terms = Terms(space, users, (Promise("all", "anywhere", epsilon),))
    return HistogramTarget(terms, reference_distribution(space))


@pytest.mark.parametrize("name", SPACES)
def test_a_coarser_grid_says_what_planning_again_says(name):
    target = asked(SPACES[name], "4", 1000)
    quick = edges_by_stand_in(target, 250)
    whole = histogram_candidates(target, only="edges")[0][0]
    assert quick.mechanism.space.items < SPACES[name].items
    assert quick.guarantee.epsilon_at(1) <= 4.0 * (1 + 1e-9)
    near = 0.1 * whole.error + 3.0 * math.hypot(quick.standard_error, whole.standard_error)
    assert abs(quick.error - whole.error) < near
    # The test can fail: with a quarter of the people errors are no longer alike.
    assert abs(edges_by_stand_in(asked(SPACES[name], "4", 250), 250).error - whole.error) > near


def test_where_nodes_are_as_fine_as_coarser_cells_finer_ones_are_looked_at():
    line = Line(0, 100, step=1, cells=True)
    target = asked(line, "50", 10**6)
    assert edges_by_stand_in(target, 30).mechanism.space is line


@pytest.mark.parametrize("definition", ["auto", "user_level"])
def test_plans_of_large_spaces_say_both_ratios(definition):
    study = Study(Euclidean([0, 0], [60, 50], step=1, unit="km"), ["1/10, 5 km, 0.5"], users=10_000)
    plan = study.plan(f"histogram(definition='{definition}')")
    assert plan.terms.space.items > 2000
    line = next(text for text in plan_lines(plan) if text.startswith("Against"))
    assert "at the promises" in line
    assert "at the same worst case (ε = " in line
    told = answer_json(plan)["versus"]
    worst = told["at_the_same_worst_case"]
    assert worst["worst_epsilon"] <= told["released"]["worst_epsilon"] * (1 + 1e-9)
