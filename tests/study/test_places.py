"""Where released values are: cells as polygons, coordinates of everything, a column for each part of a product."""

from __future__ import annotations

import json

import pytest

import barrow as bw
from barrow.errors import ParameterError

BOX = "earth(box=(48.7, 2.05, 49.0, 2.65), cell=12)"


def released(folder, space, records, item, question="histogram(mechanism='cells')", **how):
    data = bw.read({"uid": list(range(len(records[0]))), **dict(zip(item, records, strict=True))}, user="uid",
                   item=item if len(item) > 1 else item[0], **how)  # fmt: skip
    study = bw.Study(space, ["all, anywhere, 4"], users=len(records[0]), dataset="d", data=data)
    ledger = bw.Ledger.create(str(folder / "d.ledger"), study)
    return study.release(question, ledger=ledger, out=folder / "out"), ledger


def test_places_with_an_outside_keep_maps_files_and_regions(tmp_path):
    people = 600
    lat = [48.86 if k % 3 else 45.0 for k in range(people)]
    made, ledger = released(tmp_path, BOX, [lat, [2.35] * people], ["lat", "lon"], outside="elsewhere")
    rows = made.rows()
    assert {"lat", "lon", "low_95", "high_95"} <= set(rows[0])
    assert (rows[-1]["item"], rows[-1]["lat"], rows[-1]["lon"]) == ("elsewhere", None, None)
    told = json.loads((made.folder / "values.geojson").read_text())["features"]
    assert [one["geometry"] and one["geometry"]["type"] for one in told] == ["Polygon"] * (len(rows) - 1) + [None]
    assert {"low_95", "high_95"} <= set(told[0]["properties"])
    assert [one["geometry"] for one in made.__geo_interface__["features"]] == [one["geometry"] for one in told]
    assert {"lat", "lon"} <= set(made.tables["unbiased"][0])
    assert made.tables["unbiased"][0]["lat"] == pytest.approx(rows[0]["lat"])
    assert all(check.holds for check in bw.verify(made.folder, ledger=ledger))
    assert 'class="bw map"' in made.plot().svg
    assert "Beside what is drawn, elsewhere: 3" in made.plot().description
    assert "elsewhere: 3" in made.report.read_text()
    share = made.region(["elsewhere"])
    assert share.low <= 1 / 3 <= share.high
    again = bw.Release.read(made.folder)
    assert again.rows()[-1]["lat"] is None
    assert again.to_pandas()["lat"].isna().sum() == 1
    study = bw.Study(
        BOX, ["all, anywhere, 4"], users=9, data=bw.read("x.csv", user="u", item=["a", "b"], outside="elsewhere")
    )
    for question in ("density(bandwidth='20 km')", "region(center=[48.8, 2.3], radius='5 km', ramp='5 km')"):
        with pytest.raises(ParameterError, match="histogram"):
            study.plan(question)


def test_a_polygon_moved_by_a_forger_is_seen(tmp_path):
    made, ledger = released(tmp_path, BOX, [[48.86] * 300, [2.35] * 300], ["lat", "lon"])
    file = made.folder / "values.geojson"
    text = file.read_text()
    assert "Polygon" in text
    file.write_text(text.replace("2.05", "2.06", 1))
    assert not all(check.holds for check in bw.verify(made.folder, ledger=ledger))


def test_products_have_a_column_for_each_part(tmp_path):
    space = "line(low=0, high=60, step=30, unit='min', cells=True) x discrete(labels=['a', 'b'])"
    made, _ = released(tmp_path, space, [[10.0] * 300, ["b"] * 300], ["m", "d"])
    places = [(row["item"], row["x_1"], row["item_2"]) for row in made.rows()]
    assert places == [("15 | a", 15.0, "a"), ("15 | b", 15.0, "b"), ("45 | a", 45.0, "a"), ("45 | b", 45.0, "b")]
    assert list(made.to_pandas().columns[:3]) == ["item", "x_1", "item_2"]
