"""Cells as GeoJSON, all at once, are what each of them is alone."""

import json
import math

import numpy as np
import pytest

from barrow.spaces import Earth, Elsewhere, Space
from barrow.study.features import feature_collection, shape_of
from barrow.study.outputs import as_files, ends_of, row_polygons

BOX = Earth(box=(40.0, -74.0, 41.0, -73.0), cell=20)


@pytest.mark.parametrize(
    "space",
    [BOX, Elsewhere(BOX), Earth(box=(-0.5, -0.5, 0.5, 0.5), cell=20), Earth(box=(88.0, -180.0, 90.0, 180.0), cell=100)],
)
def test_all_cells_at_once_are_each_alone(space: Space) -> None:
    rows = [
        {"item": space.label(i), "lat": None if i == space.items - 1 else 1.0, "lon": 2.0, "5 % \u00e9": i / 7, "n": i}
        for i in range(space.items)
    ]
    rows[0]["item"] = 'a "geometry": null \\ "geometry\\": null, %s\nb\u2028\u00e9'
    rows[1]["n"], rows[2]["n"], rows[3]["n"] = None, math.nan, True
    shapes = row_polygons(rows, space)
    told = [{key: value for key, value in row.items() if key not in ("lat", "lon")} for row in rows]
    alone = [
        {"type": "Feature", "geometry": shape_of(shape, row), "properties": each}
        for shape, row, each in zip(shapes, rows, told, strict=True)
    ]
    columns = {key: [row[key] for row in told] for key in told[0]}
    assert feature_collection(rows, shapes, columns) == json.dumps({"type": "FeatureCollection", "features": alone})
    known = [shape for shape in shapes if shape is not None]
    if known:  # and where corners fall together, or turn the other way
        ring = known[0]
        odd = [ring, ring[::-1], ring[[0, 0, 1, 2]], ring[[0, 1, 0, 1]], np.zeros_like(ring) - 0.0, -ring * 1e-12]
        made = [{"type": "Feature", "geometry": shape_of(each, {}), "properties": {}} for each in odd]
        many = feature_collection([{}] * len(odd), odd, {})
        assert many == json.dumps({"type": "FeatureCollection", "features": made})


def test_a_value_with_a_half_width_tells_both_ends_and_keeps_its_decoded_share() -> None:
    row = {"value": 0.25, "half_width_95": 0.5, "share": 0.2}
    assert ends_of(row) == {"low_95": 0.0, "high_95": pytest.approx(0.75)}
    assert ends_of({"share": 0.2, "low_95": 0.1, "high_95": 0.3}) == {}
    rows = [
        {"output": f"{lat},{lon}", "lat": lat, "lon": lon, **row, "unit": ""}
        for lat in (40.2, 40.4, 40.6)
        for lon in (-73.8, -73.6)
    ]
    told = json.loads(as_files({"values": rows}, mapped=True, space=BOX)["values.geojson"])["features"][0]["properties"]
    assert (told["value"], told["share"], told["low_95"]) == (0.25, 0.2, 0.0)
