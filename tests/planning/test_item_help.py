"""Useless reports on items: the change that a plan proposes is made, and then they are of use."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from barrow.planning.item_choice import ItemHelp
from barrow.planning.terms import Terms
from barrow.promises import Model
from barrow.questions.plan_text import answer_json, plan_lines, warnings
from barrow.randomisers import randomised_response
from barrow.spaces import Clustered, Discrete, Earth
from barrow.study import Study

SPACE = Clustered.grid(5, 4, r=0.05)


def study(epsilon="0.02", **subset):
    return Study(SPACE, [f"1/10, 0.5, {epsilon}"], **{"users": 1000, "model": "local", **subset})


def helped(plan):
    """The warning, which all plans say at one place, and what is proposed in it."""
    assert len(warnings(plan)) == 1
    assert answer_json(plan)["warnings"] == warnings(plan)
    assert [line for line in plan_lines(plan) if line.startswith("Warning   The reports")] == [
        f"Warning   {warnings(plan)[0]}"
    ]
    return warnings(plan)[0].split("uniform guess by ")[1].split(". ", 1)[1]


def of_use(plan, about):
    guess = plan.itemwise.randomiser.uniform_guess
    return plan.error <= guess / 2.0 and plan.error == pytest.approx(float(about), rel=0.1) and not warnings(plan)


def test_promises_that_are_looser_by_as_much_as_was_said():
    text = helped(study().plan("items(items=30)"))
    times, about = re.fullmatch(r"Promises (\d+) times looser would make it about ([\d.]+)\.", text).groups()
    assert of_use(study(f"{0.02 * float(times) * 1.01}").plan("items(items=30)"), about)
    assert not of_use(study(f"{0.02 * float(times) / 3.0}").plan("items(items=30)"), about)


def test_fewer_items_of_each_person_where_that_is_enough():
    loose = study("4")
    text = helped(loose.plan("items(items=600)"))
    result = re.fullmatch(r"samples = (\d+) would help most: with .* drawn from each person it .* about (.*)\.", text)
    samples, about = int(result[1]), result[2]
    assert of_use(loose.plan(f"items(samples={samples})"), about)
    assert not of_use(loose.plan(f"items(samples={3 * samples})"), about)


def test_a_delta_where_reports_hide_each_other():
    pure = study("0.05", users=10**6, model="central")
    text = helped(pure.plan("items(items=30)"))
    about = re.fullmatch(r"delta = 1e-9 would help most, .*: about ([\d.]+)\.", text)[1]
    built = pure.replace(delta="1e-9").plan("items(items=30)")
    assert built.error <= float(about) * 1.1
    assert not warnings(built)


def test_finer_cells_where_the_grid_takes_most_of_the_promise():
    coarse = Study(Earth(box=(40, -75, 42, -72), cell=40), ["1/10, 1 km, 0.01"], users=100, model="local")
    assert helped(coarse.plan("items(items=5)")).startswith("Finer cells would help most: a quarter as wide")


def test_frequencies_warn_where_all_plans_do():
    plan = study("0.002").plan("frequency(items=30)")
    assert len(warnings(plan)) == 1
    assert "people would make it half" in warnings(plan)[0]
    assert [line for line in plan_lines(plan) if line.startswith("Warning")] == [f"Warning   {warnings(plan)[0]}"]


def test_item_help():
    space = Discrete(["a", "b"])
    terms = Terms(space, 100, given=Fraction(1, 10), model=Model.LOCAL)
    item_help = ItemHelp.of(terms, 10, False, None, randomised_response(space, "0.01"))
    assert item_help.sentence == "Promises 130 times looser would make it about 0.215."
