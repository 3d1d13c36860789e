"""Cells of products that are chosen: in one part or several, against all grids and against sizes typed by hand."""

from __future__ import annotations

import itertools
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.cli.main import main
from barrow.errors import ParameterError
from barrow.questions import Histogram
from barrow.spaces import Circle, Earth, Product
from barrow.study import Study
from barrow.study.file import auto_spec
from barrow.study.grids import _MOST_ITEMS, _sizes, searched

PROMISES = ["1 of 10, 5 km and 2 hours, 0.5", "all, 1 km and 0.5 hours, 1"]
LINE = "line(low=0, high=40, unit='km', step={})"


def study_on(space, users=100, **options):
    return Study(space, PROMISES, users=users, questions="histogram", **options)


def edges(study):
    """The error of the family that grids are compared with."""
    return study.plan(Histogram(mechanism="edges", definition="emd")).error


def test_one_part_is_chosen_and_plans_like_a_size_typed_by_hand():
    study = study_on(LINE.format("'auto'") + " x hours(step=4)")
    grids = study.grids
    assert grids is not None
    chosen = next(grid for grid in grids.grids if grid.cell == grids.chosen)
    assert isinstance(grids.chosen, float)
    assert chosen.total <= 1.05 * min(grid.total for grid in grids.grids)
    assert study.space.records_space.parts[0].step == grids.chosen
    by_hand = study_on(LINE.format(grids.chosen) + " x hours(step=4)")
    assert by_hand.grids is None
    assert by_hand.space == study.space
    assert by_hand.plan().error == study.plan().error
    assert edges(by_hand) == chosen.total
    assert chosen.items == study.plan().terms.space.items
    # Each promise is charged with twice what snapping may move, in each part's unit.
    moved = [2.0 * part.snapping_upper * part.diameter for part in study.space.records_space.parts]
    assert list(chosen.snapped) == moved
    assert f"charged with {moved[0]:.3g} km and {moved[1]:.3g} h more" in "\n".join(grids.lines())
    assert chosen.charged[1] == pytest.approx(0.5 * (1.0 + moved[0]) / 40.0 + 0.5 * (0.5 + moved[1]) / 12.0)


@pytest.mark.thorough
def test_two_parts_are_as_good_as_the_best_of_all_grids():
    weighted = "3/4 line(low=0, high=40, unit='km', step={}) x 1/4 hours(step={})"
    study = study_on(weighted.format("'auto'", "'auto'"), users=200)
    grids = study.grids
    assert grids is not None
    assert [part.step for part in study.space.records_space.parts] == list(grids.chosen)
    assert [str(weight) for weight in study.space.records_space.weights] == ["3/4", "1/4"]
    result = {grid.cell: grid.total for grid in grids.grids}
    assert result[grids.chosen] <= 1.05 * min(result.values())
    fewest = min(grid.items for grid in grids.grids if grid.total <= 1.05 * min(result.values()))
    assert next(grid.items for grid in grids.grids if grid.cell == grids.chosen) == fewest
    # Around the least no grid is much better, whether it was looked at or not.
    sizes = zip([_sizes(part, False) for part in study.space.records_space.parts], grids.chosen, strict=True)
    near = [[size for size in ladder if cell / 2.6 <= size <= 2.6 * cell] for ladder, cell in sizes]
    others = [cells for cells in itertools.product(*near) if cells not in result]
    totals = [edges(study_on(weighted.format(*cells), users=200)) for cells in others]
    assert result[grids.chosen] <= 1.1 * min([*result.values(), *totals])
    assert len(grids.lines()) < 18
    assert "cell km  cell h" in grids.lines()[0]


def test_tables_of_parts_choose_the_same_as_texts_and_write_what_was_chosen(tmp_path):
    parts = [
        {"kind": "line", "low": 0, "high": 40, "unit": "km", "step": "auto"},
        {"kind": "hours", "step": 4},
    ]
    by_table = study_on({"kind": "product", "parts": parts})
    by_text = study_on(LINE.format("'auto'") + " x hours(step=4)")
    assert by_table.space == by_text.space
    assert by_table.replace(users=100).grids == by_table.grids
    file = tmp_path / "study.toml"
    file.write_text(
        'users = 100\n[space]\nkind = "product"\n[[space.parts]]\nkind = "line"\nlow = 0\nhigh = 40\nunit = "km"\n'
        'step = "auto"\n[[space.parts]]\nkind = "hours"\nstep = 4\n'
        + "".join('[[promise]]\nshare = "{}"\ndistance = "{}"\nepsilon = {}\n'.format(*p.split(", ")) for p in PROMISES)
        + '[[question]]\nkind = "histogram"\n'
    )
    read = Study.read(file)
    assert read.space == by_text.space
    read.write(tmp_path / "chosen.toml")
    assert "auto" not in (tmp_path / "chosen.toml").read_text()
    assert Study.read(tmp_path / "chosen.toml").space == by_text.space


@pytest.mark.thorough
def test_init_chooses_for_every_part_without_a_size(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def called(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        assert not stop.value.code
        return capsys.readouterr().out

    flags = ["--users", "100", "--dataset", "days", "--promise", PROMISES[0], "--question", "histogram"]
    shown = called("init", "--space", "line(low=0, high=40, unit='km') x circle(period=24, unit='h')", *flags)
    assert "cell km  cell h" in shown
    assert "Chosen →" in shown
    parts = Study.read("study.toml").space.records_space.parts
    assert all(part.step is not None for part in parts)
    again = json.loads(
        called("plan", "--space", f"line(low=0, high=40, unit='km', step='auto') x hours(step={parts[1].step})",
               *flags, "--json")
    )  # fmt: skip
    assert isinstance(again["grids"]["chosen"], float)
    assert again["grids"]["unit"] == "km"
    assert called(
        "init", "--study", "other.toml", "--space", "line(low=0, high=40, unit='km', step=10) x hours", *flags
    )
    assert Study.read("other.toml").space.records_space.items == 5 * 24


def test_what_cannot_be_chosen_is_refused_in_words():
    with pytest.raises(ParameterError, match="no question"):
        Study(LINE.format("'auto'") + " x hours", PROMISES, users=1000)
    large = "line(low=0, high=40, unit='km', step='auto') x line(low=0, high=10, unit='h', step=0.0005)"
    with pytest.raises(ParameterError, match="together with the other parts") as refused:
        study_on(large)
    assert f"{_MOST_ITEMS:,}" in str(refused.value)
    with pytest.raises(ParameterError, match="space of its own") as refused:
        Product([Earth(box=(40, -75, 41, -73), cell="auto"), Circle.hours()])
    assert "Study(" in str(refused.value)
    with pytest.raises(ParameterError, match="weight"):
        auto_spec("1/2 line(low=0, high=1, step='auto') x hours")
    assert auto_spec("line(low=0, high=40, step=1) x hours") is None
    assert auto_spec({"kind": "product", "parts": "auto"}) is None


def test_steps_of_hours_go_into_the_day():
    assert _sizes(Circle.hours(), False)[:6] == [6.0, 4.0, 3.0, 2.0, 1.0, 0.5]
    assert _sizes(Circle(7, unit="days"), False)[:2] == [1.0, 0.5]
    assert study_on(LINE.format(50) + " x hours(step='auto')").grids is not None


@settings(max_examples=60, deadline=None)
@given(st.tuples(st.integers(0, 7), st.integers(0, 7)), st.floats(0.2, 5.0), st.floats(-0.4, 0.4))
def test_the_search_finds_the_least_of_bowls_with_few_looks(least, steep, slant):
    def error(at):
        x, y = at[0] - least[0], at[1] - least[1]
        return 1.0 + steep * (x * x + y * y + 2.0 * slant * x * y)

    result = searched([8, 8], error)
    assert min(result, key=result.get) == least
    assert len(result) <= 40


def test_the_search_goes_round_what_is_too_large_and_skips_what_is_too_coarse():
    def error(at):
        if at[0] + 2 * at[1] > 9:
            return math.inf
        return None if at == (0, 0) else 2.0 ** -at[0] + 2.0 ** -at[1]

    result = searched([10, 10], error)
    every = {(i, j): error((i, j)) for i in range(10) for j in range(10) if (i, j) != (0, 0)}
    assert min(result.values()) == min(every.values())
    assert (0, 0) not in result
    assert all(math.isfinite(value) for value in result.values())
    assert searched([5], lambda at: None) == {}
    assert searched([5, 5], lambda at: math.inf) == {}
