"""Files of a release: columns, shapes, stages and back."""

from __future__ import annotations

from barrow.study.outputs import Stage, columns_of, csv_text, read_tables, value_files
from barrow.study.result import features


def test_columns_of():
    assert columns_of([{"item": "a", "share": 0.5}])["share"].tolist() == [0.5]


def test_features():
    shape = features([{"lat": 0.0, "lon": 0.0, "value": 1.0}, {"lat": 0.0, "lon": 2.0, "value": 3.0}], None)
    assert [f["geometry"]["type"] for f in shape["features"]] == ["Polygon", "Polygon"]
    assert shape["features"][1]["properties"] == {"lat": 0.0, "lon": 2.0, "value": 3.0}


def test_stage(tmp_path):
    place = tmp_path / "results"
    stage = Stage(place, "map-1")
    stage.open(1000)
    stage.write({"a.txt": b"x"})
    assert not place.exists()
    assert [files for _, files in stage.folders()] == [{"a.txt": b"x"}]
    assert stage.publish(stage.folder) == place
    assert (place / "a.txt").read_text() == "x"


def test_read_tables():
    assert read_tables(value_files({"values": [{"output": "mean", "value": 0.5}]}, mapped=False)) == {
        "values": [{"output": "mean", "value": 0.5}]
    }


def test_csv_text():
    assert csv_text([{"output": "mean", "value": 0.5}]).splitlines() == ["output,value", "mean,0.5"]
