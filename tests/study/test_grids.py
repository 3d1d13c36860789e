"""Cells and bandwidths that are chosen: the least predicted error, the same for everybody, written out."""

from __future__ import annotations

import json
import re
from datetime import date

import numpy as np
import pytest

from barrow.cli.main import main
from barrow.errors import ParameterError
from barrow.planning.histograms import check_size
from barrow.planning.terms import Terms
from barrow.promises import Promise
from barrow.promises.periods import Calendar, Window
from barrow.questions.plan_text import warnings
from barrow.questions.prices import charges, finer_gain, grid_costs
from barrow.questions.statement import LedgerEntry
from barrow.spaces import Earth, Euclidean, Line, parse_space
from barrow.study import Study, statement_text
from barrow.study.file import auto_spec
from barrow.study.grid_table import Grid, GridChoice
from barrow.study.grids import searched
from barrow.study.statement import make_statement

PROMISES = ["1 of 30, 10 years, 0.5", "all, 5 years, 0.5"]
AUTO = "line(low=0, high=100, step='auto', unit='years')"


def test_the_chosen_step_has_the_least_error_and_plans_to_the_same():
    study = Study(AUTO, PROMISES, users=2000, questions="mean")
    grids = study.grids
    assert grids is not None
    least = min(grid.total for grid in grids.grids)
    chosen = next(grid for grid in grids.grids if grid.cell == grids.chosen)
    assert chosen.total <= 1.05 * least
    assert study.space.step == grids.chosen
    again = Study(study.space, PROMISES, users=2000, questions="mean")
    assert again.grids is None
    assert again.plan().error == study.plan().error == pytest.approx(chosen.total)
    assert Study(AUTO, PROMISES, users=2000, questions="mean").space == study.space
    assert study.replace(users=2000).grids == grids


def test_coarse_cells_are_charged_loudly():
    study = Study("earth(box=(40.5, -74.3, 41.0, -73.6), cell=10)", ["all, 300 m, 0.5"], users=1083)
    plan = study.plan("histogram")
    assert "charged as" in grid_costs(plan.terms)[0]
    assert "times its distance" in str(plan)
    assert finer_gain(plan.terms) > 3.0
    fine = Study("earth(box=(40.5, -74.3, 41.0, -73.6), cell=0.1)", ["all, 3 km, 0.5"], users=1083)
    assert grid_costs(fine.plan("density(bandwidth='5 km')").terms) == []


@pytest.mark.parametrize(
    ("scope", "unit", "said"),
    [
        (None, "month", ["all data of a person", '"1 of 50, 30 min, 0.5, in any month" costs less']),
        ("any month", "month", []),
        ("any month", "day", ["whole months", "a release about a whole month costs less"]),
    ],
)
def test_what_a_window_makes_dear_is_not_said_of_the_cells(scope, unit, said):
    promise = Promise("1 of 50", "30 min", "0.5", scope=scope)
    window = Window((Calendar(unit, "UTC").period_of(date(2026, 10, 1)),))
    words = grid_costs(Terms(Line(0, 120, step=1, unit="min"), 4043, (promise,), reads=window))
    assert len(words) == (1 if said else 0)
    assert all(text in words[0] and "cells" not in words[0] for text in said)


def test_auto_needs_a_question_and_other_spaces_are_left_alone():
    with pytest.raises(ParameterError, match="no question"):
        Study(AUTO, PROMISES, users=1000)
    assert auto_spec(Line(0, 1, step=1)) is None
    assert auto_spec({"kind": "tree", "step": "auto"}) is None
    assert auto_spec("line(low=0, high=1") is None


def called(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert not stop.value.code
    return capsys.readouterr().out


def test_init_chooses_writes_and_shows_the_cells(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    flags = ["--users", "800", "--dataset", "ages", "--promise", "all, 5 years, 0.5", "--question", "mean"]
    assert "Chosen →" in called(capsys, "init", "--space", "line(low=0, high=100, unit='years')", *flags)
    written = Study.read("study.toml")
    assert written.space.records_space.step is not None
    assert "auto" not in (tmp_path / "study.toml").read_text()
    assert json.loads(called(capsys, "plan", "--json"))["error"] == pytest.approx(written.plan().error)


def test_a_bandwidth_is_chosen_and_more_people_want_a_narrower_one():
    line = Line(0, 64, step=1, cells=True, unit="km")
    widths = []
    for users in (30, 20_000):
        plan = Study(line, ["all, 4 km, 0.5"], users=users).plan("density(bandwidth='auto')")
        widths.append(float(str(plan.question.bandwidth).split()[0]))
    assert widths[0] > widths[1]


def test_what_would_take_minutes_is_refused_with_a_grid_that_does_not():
    with pytest.raises(ParameterError, match="min to plan") as refused:
        Study(Earth(box=(24.5, -125.0, 49.5, -66.5), cell=1), alpha=25, users=1000).plan("histogram")
    assert "cell =" in str(refused.value)
    with pytest.raises(ParameterError, match="min to plan") as apart:
        Study("earth(box=(24.5, -125.0, 49.5, -66.5), cell=1)", alpha=25, users=9, missing="no records").plan(
            "histogram"
        )
    assert apart.value.fix == refused.value.fix
    with pytest.raises(ParameterError, match="min to plan"):
        check_size(Euclidean([0, 0], [3000, 3000], step=1))
    check_size(Earth(box=(24.5, -125.0, 49.5, -66.5), cell=20))
    with pytest.raises(ParameterError, match="13,765,560 items") as refused:
        check_size(parse_space("earth(box=(24.5, -125, 49.5, -66.5), cell=5) x hours"))
    size = re.search(r"cell = ([\d.]+)", str(refused.value))[1]
    check_size(parse_space(f"earth(box=(24.5, -125, 49.5, -66.5), cell={size}) x hours"))
    with pytest.raises(ParameterError, match="which makes") as refused:
        Earth(cell=0.1)
    assert Earth(cell=float(re.search(r"cell = ([\d.]+)", str(refused.value))[1])).items < 100_000_000


def test_epsilons_and_snapping_in_statements_are_rounded_up():
    study = Study("line(low=0, high=7, step=1)", ["1 of 3, anywhere, 1", "all, anywhere, 2"], users=10, dataset="d")
    plan = study.plan("mean")
    text = statement_text(make_statement(study, plan, entry=LedgerEntry(entry=1, key="k")))
    for epsilon in [*map(float, charges(plan)), plan.worst_epsilon]:
        shown = [float(x) for x in re.findall(r"ε = ([\d.]+)", text)]
        assert min(abs(x - epsilon) for x in shown) < 0.01 * epsilon
        assert all(x >= epsilon for x in shown if abs(x - epsilon) < 0.01 * epsilon)


@pytest.mark.parametrize("model", ["central", "local"])
@pytest.mark.parametrize("space", ["discrete(labels=['a', 'b', 'c'])", "line(low=0, high=64, step=1, whole=True)"])
def test_what_is_said_to_help_does(space, model):
    study = Study(space, ["all, anywhere, 0.05"], users=20, model=model)
    plan = study.plan("histogram")
    assert plan.error >= plan.uniform_guess / 2
    text = re.search(r"([\d,]+) times as many people", warnings(plan)[0])
    if "Even" in warnings(plan)[0]:  # more people than there are would not do
        assert model == "local"
        return
    times = int(text[1].replace(",", ""))
    helped = study.replace(users=20 * times).plan("histogram")
    assert warnings(helped) == [] or helped.error < 0.6 * helped.uniform_guess
    assert helped.error < plan.error


def test_useless_answers_say_what_would_help_most():
    study = Study("line(low=0, high=64, step=1, cells=True, unit='km')", ["all, 4 km, 0.01"], users=5)
    histogram, density = study.plan("histogram"), study.plan("density(bandwidth='2 km')")
    assert " times as many people" in warnings(histogram)[0]
    assert "people" in warnings(density)[0] or "bandwidth" in warnings(density)[0]
    quantile = study.plan("quantile")
    assert "people" in warnings(quantile)[0]
    good = Study("line(low=0, high=64, step=1, cells=True, unit='km')", ["all, 4 km, 1"], users=20_000)
    assert warnings(good.plan("histogram")) == []
    assert np.isfinite(good.plan("histogram").error)


def test_searched():
    result = searched([9, 9], lambda at: 1.0 + (at[0] - 5) ** 2 + (at[1] - 2) ** 2)
    assert min(result, key=result.get) == (5, 2)
    assert len(result) == 18


def test_grid_choice_lines():
    row = Grid(10.0, 100, 5.0, 1.0, 3.8, 3.93, 0.1, (14.4,), (14.1,))
    assert [*GridChoice((row,), 10.0, "km", "km", (("all by 300 m", 0.3),)).lines()] == [
        "Cells     cell km    items  alpha    noise  snapping    total  seconds",
        "Chosen →       10      100      5        1       3.8     3.93      0.1",
        "Promise   all by 300 m: charged as 14.4 km on these cells, 48 times its distance",
    ]
    row = Grid((10.0, 4.0), 216, 2.0, 0.05, 0.06, 0.08, 0.2, (0.4,), (14.1, 4.0))
    assert [*GridChoice((row,), row.cell, ("km", "h"), "", (("all, 5 km, 1", 0.03),), ("km", "h")).lines()] == [
        "Cells     cell km  cell h    items  alpha    noise  snapping    total  seconds",
        "Chosen →       10       4      216      2     0.05      0.06     0.08      0.2",
        "Promise   all, 5 km, 1: charged with 14.1 km and 4 h more on these cells, 13.3 times its distance",
    ]


def test_auto_spec():
    assert auto_spec("earth(box=(40, -75, 41, -73), cell='auto')")["cell"] == "auto"
    assert auto_spec("earth(cell=5)") is None
    assert auto_spec("earth(box=(40, -75, 41, -73), cell='auto') x hours")["parts"][1] == {"kind": "hours"}


def test_choose_grid():
    study = Study(
        "line(low=0, high=100, step='auto', unit='years')", ["all, 5 years, 0.5"], users=1000, questions="mean"
    )
    assert study.space.step == 0.005
    assert study.grids.chosen == study.space.step
    assert study.grids.grids[0].cell == 10.0
