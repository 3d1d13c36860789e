"""Maps: areas kept, cells merged without loss, outlines as they were published, bad outlines refused."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.numerics.places import Places
from barrow.render import figures as fig
from barrow.render.figures.cities import place_name, place_names
from barrow.render.figures.outline import bundled_ground, own_ground, relative_path
from barrow.render.figures.places import disc_radius, shapes_of
from barrow.render.figures.projection import MapProjection
from barrow.render.figures.readings import Readings
from tests.render.figures.gallery import pictures
from tests.render.figures.test_figures import checked


def rings(path: str) -> list[np.ndarray]:
    """The rings of a path made of relative steps."""
    out = []
    for part in path.split("M")[1:]:
        numbers = [float(n) for n in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", part)]
        out.append(np.cumsum(np.array(numbers).reshape(-1, 2), axis=0))
    return out


def area(path: str) -> float:
    """The signed area of a path by the shoelace formula: holes count against."""
    return abs(sum(0.5 * np.sum(r[:, 0] * np.roll(r[:, 1], -1) - r[:, 1] * np.roll(r[:, 0], -1)) for r in rings(path)))


BOXES = [
    (35.0, -11.0, 60.0, 30.0),
    (-60.0, -180.0, 80.0, 180.0),
    (40.5, -74.3, 41.0, -73.6),
    (-10.0, 170.0, 30.0, 200.0),
]


@pytest.mark.parametrize("box", BOXES)
def test_areas_are_kept_in_proportion(box):
    """The Jacobian of the projection, by differences, against the sphere's cos(latitude)."""
    projection = MapProjection(box, 700.0, 500.0)

    @settings(max_examples=60, deadline=None)
    @given(st.floats(0.02, 0.98), st.floats(0.02, 0.98))
    def check(up, across):
        lat = box[0] + up * (box[2] - box[0])
        lon = box[1] + across * (box[3] - box[1])
        h = 1e-4
        lats, lons = np.array([lat - h, lat + h, lat, lat]), np.array([lon, lon, lon - h, lon + h])
        x, y = projection.plane(lats, lons)
        jacobian = abs((x[1] - x[0]) * (y[3] - y[2]) - (x[3] - x[2]) * (y[1] - y[0])) / (2 * math.radians(h)) ** 2
        assert jacobian == pytest.approx(math.cos(math.radians(lat)), rel=2e-4)

    check()


@pytest.mark.parametrize("box", BOXES)
def test_the_box_fits_the_picture(box):
    projection = MapProjection(box, 700.0, 500.0)
    x, y = projection.pixels(*projection.frame())
    assert x.min() >= 0
    assert y.min() >= 0
    assert x.max() <= 700
    assert y.max() <= projection.fit[3] <= 500.0 + 1e-9


def test_a_third_of_the_earth_is_land():
    """Decoding, unwrapping, clipping and the projection together, against a number of geography: 29.2 %."""
    projection = MapProjection((-90.0, -180.0, 90.0, 180.0), 1400.0, 900.0)
    lat, lon = projection.frame()
    x, y = projection.pixels(lat, lon)
    whole = 0.5 * abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))
    assert area(bundled_ground(projection).land) / whole == pytest.approx(0.292, abs=0.01)


@settings(max_examples=6, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=120, max_size=120))
def test_merged_cells_cover_what_single_cells_cover(classes):
    places, *_ = pictures.grid((35.0, -11.0, 60.0, 30.0), 10, 12)
    projection = MapProjection((35.0, -11.0, 60.0, 30.0), 720.0, 520.0)
    result = np.array(classes)
    merged = shapes_of(places, result, projection, 3)
    for c in range(1, 4):
        single = sum(
            area(
                shapes_of(Places(places.lat[[i]], places.lon[[i]], places.corners[[i]]), np.array([1]), projection, 1)[
                    0
                ]
            )
            for i in np.flatnonzero(result == c)
        )
        assert area(merged[c - 1]) == pytest.approx(single, rel=0.02, abs=10)


def test_rows_with_their_own_spacing_and_hexagons_are_merged():
    row = Places.cells([40] * 3 + [41] * 2, [0, 2, 4, 0, 3], [41] * 3 + [42] * 2, [2, 4, 6, 3, 6])
    projection = MapProjection((39.0, -1.0, 43.0, 7.0), 400.0, 400.0)
    assert shapes_of(row, np.ones(5, dtype=np.int64), projection, 1)[0].count("M") <= 2
    figure = pictures.hexagons()
    assert max(d.count("M") for d in re.findall(r'd="([^"]*)" class="cell', figure.svg)) < 12


def test_every_kind_of_place_is_coloured():
    for name in ("map", "map-world", "map-hexagons"):
        first = pictures.PICTURES[name]().svg.split("data-layer")[1]
        assert sum(area(d) for d in re.findall(r'd="([^"]*)" class="cell', first)) > 1000
    assert len(re.findall(r"a([\d.]+) \1 0 1 0 ", pictures.points().svg)) >= 40


@pytest.mark.parametrize("box", [(10, 20, 30, 40), (10.0, 20.0, 30.0, 40.0)])
def test_boxes_of_whole_numbers_make_cells_with_an_area(box):
    places = Places.around([15, 15, 25, 25], [25, 35, 25, 35], box=box)
    figure = fig.map_figure(places, [1, 1, 1, 1], box=box)
    assert sum(area(d) for d in re.findall(r'd="([^"]*)" class="cell', figure.svg)) > 10_000


def test_rows_that_differ_by_rounding_are_one_row():
    lat = np.array([15.0, 15.0 + 1e-13, 25.0, 25.0 - 1e-13])
    corners = Places.around(lat, [25, 35, 25, 35]).corners
    assert np.ptp(corners[:, :, 0], axis=1).min() > 9.9


def test_cells_beyond_the_date_line_are_drawn_where_the_map_is():
    box = (-10.0, 170.0, 10.0, 200.0)
    places = Places.cells([0], [-175], [5], [-170])
    figure = fig.map_figure(places, [0.5], box=box)
    path = re.findall(r'd="([^"]*)" class="cell', figure.svg)[0]
    assert area(path) > 500
    assert 300 < rings(path)[0][:, 0].mean() < 720
    world = fig.map_figure(Places.cells([0], [175], [10], [185]), [0.5], box=(-80, -180, 80, 180))
    ends = [ring[:, 0].mean() for ring in rings(re.findall(r'd="([^"]*)" class="cell', world.svg)[0])]
    assert min(ends) < 20
    assert max(ends) > 700


def test_ninety_thousand_cells_stay_small_and_quick():
    box = (25.0, -125.0, 50.0, -66.0)
    places, lat, lon = pictures.grid(box, 250, 360)
    hills = ((40.7, -74.0, 1.5, 1.0), (34.0, -118.0, 1.5, 0.8), (41.9, -87.6, 1.2, 0.6), (29.7, -95.4, 1.2, 0.5))
    values = pictures.hills(lat, lon, hills) + pictures.pattern(90_000, 1e-6)
    began = time.process_time()
    figure = fig.map_figure(places, values, low=values - 3e-6, high=values + 3e-6, noise=1e-5, box=box)
    assert time.process_time() - began < 4  # 0.6 s on a quiet machine
    assert len(figure.svg) < 300_000
    assert "The 600 largest can be read out." in figure.description


def test_what_is_below_the_noise_is_hatched_and_not_read_out():
    places = Places.cells([40, 40], [0, 1], [41, 41], [1, 2])
    figure = fig.map_figure(places, [0.01, 0.02], low=[0, 0.01], high=[0.05, 0.06], noise=0.05)
    assert 'class="cell' not in figure.svg
    assert "data-at" not in figure.svg
    assert figure.description == (
        "0 of 2 places stand out from the noise. Hatched places cannot be distinguished from 0: each is at most 6 %."
    )
    checked(figure)


def test_outlines_are_those_that_were_published():
    folder = files("barrow.render.figures").joinpath("outlines")
    listed = dict(line.split()[::-1] for line in folder.joinpath("SHA256SUMS").read_text().splitlines())
    result = {f.name: f.read_bytes() for f in folder.iterdir() if f.name.endswith(".json")}
    assert {name: hashlib.sha256(data).hexdigest() for name, data in result.items()} == listed
    assert sum(map(len, result.values())) <= 1_000_000
    assert "Permission to use, copy, modify" in folder.joinpath("LICENSE").read_text()


PROJECTION = MapProjection((35.0, -11.0, 60.0, 30.0), 720.0, 520.0)
SQUARE = [[0, 40], [10, 40], [10, 50], [0, 50], [0, 40]]


def test_outlines_of_ones_own(tmp_path):
    polygon = {"type": "Polygon", "coordinates": [SQUARE]}
    whole = {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "properties": {"name": "</script>"}, "geometry": polygon},
            {"type": "Feature", "properties": None, "geometry": None},
            {"type": "Feature", "geometry": {"type": "MultiLineString", "coordinates": [[[0, 40], [20, 55]]]}},
            {"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}},
        ],
    }
    path = tmp_path / "outline.geojson"
    path.write_text(json.dumps(whole))
    ground = own_ground(path, PROJECTION)
    assert area(ground.land) > 1000
    assert ground.border.startswith("M")
    figure = fig.map_figure(Places.points([45], [5]), [0.5], outline=path)
    checked(figure)
    assert "script" not in figure.svg


@pytest.mark.parametrize(
    "empty",
    [
        {"type": "FeatureCollection", "features": []},
        {"type": "Polygon", "coordinates": []},
        {"type": "MultiPolygon", "coordinates": [[[]]]},
        {"type": "LineString", "coordinates": [[0, 0]]},
        {"type": "Polygon", "coordinates": [[[100, 0], [101, 0], [101, 1]]]},
    ],
)
def test_an_empty_outline_draws_no_line(empty):
    figure = fig.map_figure(Places.points([45], [5]), [0.5], outline=empty, box=(40, 0, 50, 10))
    checked(figure)
    assert 'class="coast"' not in figure.svg


@pytest.mark.parametrize(
    "bad",
    [
        {}, {"type": "Topology"}, {"type": "Polygon", "coordinates": [[["a", 1]]]}, {"type": "Feature", "geometry": 3},
        {"type": "LineString", "coordinates": [[0, 1e9], [0, 2]]}, {"type": "LineString", "coordinates": [5]},
        {"type": "Polygon", "coordinates": [[[0, 10**400]]]},
        {"type": "Polygon", "coordinates": [[[0, float("nan")]]]}, {"type": "MultiPolygon", "coordinates": [[5]]},
    ],
)  # fmt: skip
def test_bad_outlines_are_refused(bad):
    with pytest.raises(ParameterError, match="outline"):
        own_ground(bad, PROJECTION)


def test_bad_files_are_refused(tmp_path):
    for name, text in (("a", "not json"), ("b", "[1]"), ("c", "[" * 100_000)):
        (tmp_path / name).write_text(text)
        with pytest.raises(ParameterError, match="outline"):
            own_ground(tmp_path / name, PROJECTION)
    with pytest.raises(ParameterError, match="cannot be read"):
        own_ground(tmp_path / "none", PROJECTION)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Places.cells([41], [0], [40], [1]),
        lambda: Places.cells([40], [0], [41], [0]),
        lambda: Places.points([91], [0]),
        lambda: Places.points([], []),
        lambda: Places.points([1, 2], [1]),
        lambda: Places.around([1, 1], [1, 1]),
        lambda: Places.around([1], [1], box=(2, 2, 3, 3)),
        lambda: Places.polygons([[(0, 0), (1, 1)]]),
        lambda: Places.polygons([]),
        lambda: fig.map_figure(Places.points([1], [1]), [1, 2]),
        lambda: fig.map_figure(Places.points([1], [1]), [1], labels=["a", "b"]),
        lambda: fig.map_figure(Places.points([1], [1]), [1], box=(1, 2, 3)),
        lambda: fig.map_figure(Places.points([1], [1]), [1], box=(5, 2, 3, 4)),
        lambda: fig.map_figure(Places.points([1], [1]), [1], layers=[fig.FigureLayer("a", "b", [[1, 2]])]),
    ],
)
def test_bad_places_are_refused(call):
    with pytest.raises(ParameterError):
        call()


def test_place_name():
    assert place_name(40.71, -74.0) == "40.7°N 74°W"
    assert place_name(-33.9, 151.2) == "33.9°S 151.2°E"
    assert place_name(40.7128, -74.006, 3) == "40.713°N 74.006°W"


def test_relative_path():
    assert relative_path(np.array([[0.0, 0.0], [1.25, 0.0], [1.25, 2.0]]), close=True) == "M0 0l1.2 0 0 2z"


def test_disc_radius():
    assert disc_radius(np.array([0.0, 10.0, 20.0]), np.zeros(3)) == 5.0


def test_projection():
    assert not MapProjection((35, -10, 60, 30), 700, 500).wide
    assert MapProjection((-60, -180, 80, 180), 700, 500).wide


def test_places_are_called_by_the_nearest_city():
    names = place_names(np.array([48.85, 48.86, 40.7, -60.0]), np.array([2.36, 2.8, -72.4, -150.0]), reach=6)
    assert names[0] == "Paris"
    assert names[1] == "12 km E of Marne La Vallée"
    assert names[2].endswith("E of New York")
    assert names[3] == "60°S 150°W"
    twice = place_names(np.array([48.861, 48.862]), np.array([2.8, 2.8]), reach=6)
    assert len(set(twice)) == 2


def test_a_map_is_cropped_to_what_stands_out_and_only_the_space_is_hatched():
    box = (40.0, -80.0, 50.0, -60.0)
    south, west = (ends.ravel() for ends in np.meshgrid(np.arange(40.0, 50), np.arange(-80.0, -60), indexing="ij"))
    cells = Places.cells(south, west, south + 1, west + 1)
    values = np.where((south == 43) & (west == -73), 0.9, 0.0005)
    whole, part = (fig.map_figure(cells, values, noise=0.01, box=box, crop=crop) for crop in (False, True))
    assert "Outside this part" in part.description
    assert "Outside this part" not in whole.description
    assert coloured(part) > 5 * coloured(whole)
    flat = fig.map_figure(cells, np.full(200, 0.005), noise=0.01, box=box)
    assert "Outside" not in flat.description
    hexagon = [(0, 1), (1, 0.5), (1, -0.5), (0, -1), (-1, -0.5), (-1, 0.5)]
    svg = fig.map_figure(Places.polygons([hexagon, np.add(hexagon, (0, 2))]), [0.5, 0.001], noise=0.01).svg
    hatched = re.search(r'<path d="([^"]*)" fill="url\(#[^)]*hatch\)"', svg)
    assert hatched is not None  # the two hexagons, and not the frame
    assert 'fill="url(' not in re.search(r'<use [^>]*edge"[^>]*>', svg)[0]


def coloured(figure):
    """The pixels of what stands out."""
    return area(re.search(r'<path d="([^"]*)" class="cell q', figure.svg)[1])


def test_maps_that_share_a_scale_show_one_part_of_the_world():
    """Here one cell stands out, there another far away: both maps show both."""
    lat, lon = np.repeat(np.arange(10.0), 10), np.tile(np.arange(10.0), 10)
    cells = Places.cells(lat, lon, lat + 1, lon + 1)
    first, second = np.zeros(100), np.zeros(100)
    first[44], second[55] = 0.9, 0.9
    both = Readings.together([Readings.of(values, noise=0.1) for values in (first, second)])
    alone = [fig.map_figure(cells, values, noise=0.1).data.box for values in (first, second)]
    shared = [fig.map_figure(cells, values, noise=0.1, scale=both).data.box for values in (first, second)]
    assert alone[0] != alone[1]
    assert shared[0] == shared[1]


def test_values_without_any_noise_are_not_said_to_stand_out_of_it():
    cells = Places.cells([40, 40], [-75, -74], [41, 41], [-74, -73])
    assert fig.map_figure(cells, [3.0, 4.0], unit="reports").description.startswith("2 places. The largest values: ")
