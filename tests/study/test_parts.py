"""What internal names do, each by one known answer."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from barrow.errors import ParameterError
from barrow.questions.statement import Statement
from barrow.spaces import Line
from barrow.study.bars import Bars, bars, looked_at
from barrow.study.file import (
    DataTable,
    PrivacyTable,
    PromiseTable,
    StudyFile,
    auto_spec,
    read_table,
    spec_of,
    study_from_text,
    study_text,
)
from barrow.study.grid_table import Grid, GridChoice
from barrow.study.grids import searched
from barrow.study.outputs import Stage, columns_of, csv_text, digest_of, read_tables, value_files
from barrow.study.prose import kind_of
from barrow.study.region import released_shares
from barrow.study.release import plain_deep
from barrow.study.result import features
from barrow.study.schemas import event_schema, statement_schema
from barrow.study.statement import make_statement, protected, space_of
from barrow.study.study import Study


def test_bars_are_not_shown_in_a_pipe(capsys):
    with bars():
        print("planning")
    assert capsys.readouterr() == ("planning\n", "")


def test_looked_at():
    assert not looked_at()


def test_quick_work_shows_no_bar(capsys):
    quick = Bars()
    quick.ended(quick.began("planning", 3))
    quick.close()
    assert capsys.readouterr() == ("", "")


def test_compare():
    study = Study("line(low=0, high=100, step=1, unit='years')", ["1/50, 5 years, 0.1"], users=1000)
    assert study.compare("mean").choice.name == "laplace"


def test_data_table():
    assert DataTable(user="uid").items == []


def test_promise_table():
    assert PromiseTable("all", "5 km", "0.5").distance == "5 km"


def test_privacy_table():
    assert PrivacyTable(user_epsilon="1").user_delta == 0


def test_study_file():
    assert StudyFile(space={"kind": "earth"}).users is None


def test_read_table(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text("users = 3")
    assert read_table(file) == {"users": 3}


def test_spec_of():
    assert spec_of(Study("earth", alpha="1/3"))["alpha"] == "1/3"


def test_study_text():
    assert study_from_text(study_text(Study("earth", alpha="1/3"))).alpha == Fraction(1, 3)


def test_study_from_text():
    assert study_from_text("alpha = 0.1\n[space]\nkind = 'earth'").alpha == Fraction(1, 10)


def test_columns_of():
    assert columns_of([{"item": "a", "share": 0.5}])["share"].tolist() == [0.5]


def test_features():
    shape = features([{"lat": 0.0, "lon": 0.0, "value": 1.0}, {"lat": 0.0, "lon": 2.0, "value": 3.0}], None)
    assert [f["geometry"]["type"] for f in shape["features"]] == ["Polygon", "Polygon"]
    assert shape["features"][1]["properties"] == {"lat": 0.0, "lon": 2.0, "value": 3.0}


def test_searched():
    found = searched([9, 9], lambda at: 1.0 + (at[0] - 5) ** 2 + (at[1] - 2) ** 2)
    assert min(found, key=found.get) == (5, 2)
    assert len(found) == 18


def test_grid_choice_lines():
    row = Grid(10.0, 100, 5.0, 1.0, 3.8, 3.93, 0.1, (14.4,), (14.1,))
    assert [*GridChoice((row,), 10.0, "km", "km", (("all by 300 m", 0.3),)).lines()] == [
        "Cells     cell km    items  alpha    noise  snapping    total  seconds",
        "               10      100      5        1       3.8     3.93      0.1  <- chosen",
        "Promise   all by 300 m: charged as 14.4 km on these cells, 48 times its distance",
    ]
    row = Grid((10.0, 4.0), 216, 2.0, 0.05, 0.06, 0.08, 0.2, (0.4,), (14.1, 4.0))
    assert [*GridChoice((row,), row.cell, ("km", "h"), "", (("all, 5 km, 1", 0.03),), ("km", "h")).lines()] == [
        "Cells     cell km  cell h    items  alpha    noise  snapping    total  seconds",
        "               10       4      216      2     0.05      0.06     0.08      0.2  <- chosen",
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


def test_stage(tmp_path):
    place = tmp_path / "results"
    stage = Stage(place, "map-1")
    stage.open(1000)
    stage.write({"a.txt": b"x"})
    assert not place.exists()
    assert [files for _, files in stage.found()] == [{"a.txt": b"x"}]
    assert stage.publish(stage.folder) == place
    assert (place / "a.txt").read_text() == "x"


def test_value_files():
    assert sorted(value_files({"values": [{"output": "mean", "value": 0.5}]}, mapped=False)) == [
        "values.csv",
        "values.parquet",
    ]


def test_read_tables():
    assert read_tables(value_files({"values": [{"output": "mean", "value": 0.5}]}, mapped=False)) == {
        "values": [{"output": "mean", "value": 0.5}]
    }


def test_csv_text():
    assert csv_text([{"output": "mean", "value": 0.5}]).splitlines() == ["output,value", "mean,0.5"]


def test_digest_of():
    assert digest_of({"a": b"1"}) == digest_of({"a": b"1"}) != digest_of({"a": b"2"})


def test_released_shares():
    study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    told = make_statement(study, study.plan("mean"), parameters={"space": "?", "mechanism": "multiscale"})
    with pytest.raises(
        ParameterError,
        match=re.escape(
            "The release is no central histogram along edges, along a tree, on levels or of cells.\n"
            "  allowed: a histogram whose statement says mechanism 'edges', 'tree', 'levels' or 'cells'\n"
            "  fix:     mechanism = 'edges' in the question of another release"
        ),
    ):
        released_shares(told, {}, Line(0, 1, step=1))


def test_plain_deep():
    assert plain_deep({"a": (1, 2)}) == {"a": [1, 2]}


def test_statement():
    assert sorted(set(Statement.__struct_fields__) & {"people", "protected", "worst_case"}) == [
        "people",
        "protected",
        "worst_case",
    ]


def test_event_schema():
    assert event_schema()["$defs"]["KNormNoise"]["required"] == ["event", "version", "alpha", "model", "range_ratio"]


def test_statement_schema():
    assert statement_schema()["$defs"]["Statement"]["properties"]["event"] == {
        "description": "What the mechanism did.",
        "$ref": "#/$defs/Event",
    }


def test_space_of():
    study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    found = space_of(make_statement(study, study.plan("mean")))
    assert found.items == 11
    assert found.labels[-1] == "no records"


def test_protected():
    study = Study("line(low=0, high=1, step=0.1)", ["all, 0.5, 1"], users=10)
    assert [row.epsilon_promised for row in protected(study.plan("mean"))] == [1.0]


def test_kind_of():
    study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    assert kind_of(make_statement(study, study.plan("histogram"))).__name__ == "Histogram"
