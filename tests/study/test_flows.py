"""Flows between places as GeoJSON lines: in the folder, in its lists, made again by whoever verifies it."""

import json

import numpy as np
import pytest

import barrow as bw
from barrow.spaces import Earth, Line, Product
from barrow.study.features import flow_lines
from barrow.study.verification import verify

BOX = (40.55, -74.3, 40.95, -73.7)
TOWNS = np.array([(40.71, -74.01), (40.85, -73.85)])


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Half of all trips stay in the first town, half go from there to the second one."""
    place = tmp_path_factory.mktemp("flows")
    people = np.arange(2000)
    begin, end = TOWNS[0 * people], TOWNS[people % 2]
    records = {"uid": people, "a": begin[:, 0], "b": begin[:, 1], "c": end[:, 0], "d": end[:, 1]}
    data = bw.read(records, user="uid", item=["a", "b", "c", "d"])
    space = Product.trips(box=BOX, cell=25)
    study = bw.Study(space, ["all, 5 km and 5 km, 2"], users=2000, dataset="trips", data=data, title="Trips in town")
    return study.release("histogram", ledger=bw.Ledger.create(place / "x.ledger", study), out=place / "flows")


def test_flows_that_stand_out_are_lines_with_intervals(released):
    told = json.loads((released.folder / "flows.geojson").read_text())
    rows = released.rows()
    out = [k for k, row in enumerate(rows) if row["low_95"] > 0 and row["share"] > 0]
    assert [line["id"] for line in told["features"]] == out
    for line in told["features"]:
        row = rows[line["id"]]
        assert line["properties"] == row
        ends = [[row["lon_1"], row["lat_1"]], [row["lon_2"], row["lat_2"]]]
        assert line["geometry"]["type"] == "LineString"
        assert np.abs(np.array(line["geometry"]["coordinates"]) - ends).max() < 1e-9
    largest = sorted(told["features"], key=lambda line: -line["properties"]["share"])[:2]
    ends = sorted(line["geometry"]["coordinates"] for line in largest)
    assert ends[0][0] == ends[0][1] == ends[1][0] != ends[1][1]  # one stays, one goes
    assert all(line["properties"]["high_95"] > 0.45 for line in largest)
    assert released.__geo_interface__ == told == bw.Release.read(released.folder).__geo_interface__


def test_lines_are_listed_and_made_again_by_whoever_verifies(released):
    assert "flows.geojson" in {file.name for file in released.statement.files}
    listed = json.loads((released.folder / "croissant.json").read_text())["distribution"]
    assert {each["name"]: each["encodingFormat"] for each in listed}["flows.geojson"] == "application/geo+json"
    assert all(check.holds for check in verify(released.folder, ledger=released.folder.parent / "x.ledger"))
    assert all(check.holds is not False for check in verify(released.folder))
    file = released.folder / "flows.geojson"
    whole = file.read_text()
    told = json.loads(whole)
    told["features"][0]["geometry"]["coordinates"].reverse()
    told["features"][0]["properties"]["high_95"] = 0.9
    for forged in (json.dumps(told), json.dumps({**told, "features": []})):
        file.write_text(forged)
        found = {check.what: check.holds for check in verify(released.folder)}
        file.write_text(whole)
        assert (found["tables"], found["flows.geojson"]) == (False, False)


def test_geopandas_opens_the_lines(released):
    geopandas = pytest.importorskip("geopandas", reason="geopandas is not installed")
    pytest.importorskip("pyogrio", reason="pyogrio is not installed")
    lines = geopandas.read_file(released.folder / "flows.geojson")
    assert len(lines) == len(released.__geo_interface__["features"])
    assert set(lines.geom_type) == {"LineString"}
    assert lines.crs.to_epsg() == 4326
    assert {"share", "low_95", "high_95"} <= set(lines.columns)


def test_the_title_of_a_study_is_that_of_its_release_in_catalogues(released):
    assert json.loads((released.folder / "datapackage.json").read_text())["title"] == "Trips in town"


def test_groups_and_what_is_no_flow():
    space, places = Product([Earth(box=BOX, cell=25)] * 2), Earth(box=BOX, cell=25).labels
    rows = [{"share": 0.0, "low_95": 0.1, "high_95": 0.2} for _ in range(2 * space.items)]
    rows[space.items + 7] = {"share": 0.4, "low_95": 0.3, "high_95": 0.5}
    rows[8] = {"share": 0.1, "low_95": 0.0, "high_95": 0.2}
    (line,) = flow_lines(rows, space)
    at = [float(number) for number in places[1].split(",")][::-1]
    assert (line["id"], line["geometry"]["coordinates"]) == (space.items + 7, [at, at])
    assert flow_lines(rows[1:], space) is None
    assert flow_lines([{"share": 0.5}] * space.items, space) is None
    hours = Product([Earth(box=BOX, cell=25), Line(0, 2, step=1)])
    assert flow_lines([{"share": 0.5, "low_95": 0.4, "high_95": 0.6}] * hours.items, hours) is None
