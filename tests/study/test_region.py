"""Regions of a finished release: intervals from published values, in Python and on the command line."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

from barrow.cli.main import main
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.mechanisms import UserCounts
from barrow.mechanisms.edge_histogram import edge_histogram
from barrow.mechanisms.edge_intervals import half_width
from barrow.mechanisms.region_weights import region_interval
from barrow.noise.source import SeededSource
from barrow.spaces import Earth, Euclidean, Hexagons, Line
from barrow.study import Study, read
from barrow.study.region import polygon_inside, released_shares
from barrow.study.result import Release
from barrow.study.statement import make_statement

SPACE = Euclidean([0, 0], [8, 8], step=1)
USERS = 300
SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]


def released(folder, **changes):
    rng = np.random.default_rng(2)
    truth = np.zeros(64)
    with open(folder / "places.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["uid", "x", "y"])
        for user in range(USERS):
            x, y = rng.uniform(0, 8, 2)
            truth[int(SPACE.encode([[x, y]])[0])] += 1 / USERS
            writer.writerow([f"p{user}", x, y])
    study = Study(
        SPACE,
        alpha=40,
        users=USERS,
        dataset="places",
        questions=[{"kind": "histogram", "mechanism": "edges", "reference": "mixed"}],
        data=read(str(folder / "places.csv"), user="uid", item=["x", "y"]),
        ledger=str(folder / "places.ledger"),
        **changes,
    )
    Ledger.create(str(study.ledger), study)
    return study, study.release(out=folder / "out"), truth


def test_regions_in_python(tmp_path):
    _, result, truth = released(tmp_path)
    (tmp_path / "square.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [SQUARE]}))
    inside, cut = polygon_inside(SPACE, tmp_path / "square.geojson")
    assert inside.sum() == 16
    (tmp_path / "marked.geojson").write_text((tmp_path / "square.geojson").read_text(), encoding="utf-8-sig")
    assert (polygon_inside(SPACE, tmp_path / "marked.geojson")[0] == inside).all()
    assert not cut.any()
    outcome = result.region(inside)
    again = Release.read(tmp_path / "out").region(np.array(SPACE.labels)[inside], space=SPACE)
    assert outcome == again
    assert outcome.low <= outcome.estimate <= outcome.high
    assert abs(outcome.estimate - truth[inside].sum()) < 0.25
    assert Release.read(tmp_path / "out").region(inside) == outcome  # the statement holds the space
    with pytest.raises(ParameterError, match="differs from the space"):
        Release.read(tmp_path / "out").region(inside[:49], space=Euclidean([0, 0], [7, 7], step=1))


def test_the_command_reads_the_study_for_its_space(tmp_path, capsys):
    study, result, _ = released(tmp_path)
    study.write(tmp_path / "study.toml")
    labels = ";".join(SPACE.labels[:2])
    outcome = result.region(SPACE.labels[:2])
    with pytest.raises(SystemExit) as ended:
        main(["region", str(tmp_path / "out"), "--study", str(tmp_path / "study.toml"), "--items", labels, "--json"])
    assert ended.value.code == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["share"], data["low"], data["high"], data["items"]) == (outcome.estimate, outcome.low, outcome.high, 2)


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_cells_that_a_polygon_cuts_are_those_with_corners_on_both_sides(tmp_path, shift):
    triangle = [[0.5 + shift, 0.5], [7.2, 2.5], [3.1, 6.9 - shift], [0.5 + shift, 0.5]]
    (tmp_path / "triangle.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [triangle]}))
    inside, cut = polygon_inside(SPACE, tmp_path / "triangle.geojson")
    # Second route: a fine grid of points of each cell, by barycentric coordinates.
    a, b, c = (np.array(p) for p in triangle[:3])
    fine = (np.arange(60) + 0.5) / 60 - 0.5
    for i, point in enumerate(SPACE.points):
        x, y = np.meshgrid(point[0] + fine, point[1] + fine)
        turn = [(q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]) for p, q in ((a, b), (b, c), (c, a))]
        held = np.all(np.array(turn) > 0, axis=0)
        if held.any() and not held.all():
            assert cut[i]
        if held.all():
            assert inside[i]
            assert not cut[i]
        if not held.any() and cut[i]:  # touched by less than a point of the fine grid
            assert np.abs(np.array(turn)).min(axis=(1, 2)).min() < 0.3
        if not cut[i]:
            assert inside[i] == held.all()


def test_a_polygon_that_cuts_cells_is_held_between_those_inside_and_those_it_meets(tmp_path, capsys):
    study, result, _ = released(tmp_path)
    study.write(tmp_path / "study.toml")
    ring = [[0.5, 0.5], [6.5, 0.5], [6.5, 6.5], [0.5, 6.5], [0.5, 0.5]]
    (tmp_path / "cut.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    texts = ["--within", str(tmp_path / "cut.geojson"), "--json"]
    with pytest.raises(SystemExit):
        main(["region", str(tmp_path / "out"), "--study", str(tmp_path / "study.toml"), *texts])
    data = json.loads(capsys.readouterr().out)
    assert data["cut"] == 24
    assert data["low_of_polygon"] <= data["low"] + 1e-9 <= data["high"] <= data["high_of_polygon"] + 1e-9
    inside, cut = polygon_inside(SPACE, tmp_path / "cut.geojson")
    shares = result.shares()
    low, high = shares.region(inside & ~cut).low, shares.region(inside | cut).high
    assert data["low_of_polygon"] == pytest.approx(low, abs=1e-6)
    assert data["high_of_polygon"] == pytest.approx(high, abs=1e-6)
    with pytest.raises(ParameterError, match="does not hold the inner"):
        shares.region(inside | cut, outer=inside & ~cut)


def test_lists_hold_at_once_and_what_was_looked_for_is_wider(tmp_path, capsys):
    study, result, _ = released(tmp_path, missing="default item")  # a flat grid, whose simple regions are counted
    study.write(tmp_path / "study.toml")
    corner = SPACE.labels[:1]
    alone, looked = result.region(corner), result.region(corner, looked=True)
    listed = result.regions([corner, SPACE.labels[:3]])[0]
    assert result.region(corner, confidence=0.975) == listed
    assert looked.low <= listed.low <= alone.low
    assert alone.high <= listed.high <= looked.high
    texts = ["--items", ";".join(corner), "--items", ";".join(SPACE.labels[:3])]
    with pytest.raises(SystemExit):
        main(["region", str(tmp_path / "out"), "--study", str(tmp_path / "study.toml"), *texts])
    assert "hold all at once with probability 95 %" in capsys.readouterr().out
    pieces = result.region([SPACE.labels[0], SPACE.labels[63]], looked=True)  # by blocks alone, which any region has
    assert pieces.low <= result.region([SPACE.labels[0], SPACE.labels[63]]).low
    with pytest.raises(ParameterError, match="list of regions is empty"):
        result.regions([])
    with pytest.raises(ParameterError, match="no item 'nowhere'"):
        result.region(["nowhere"])


def test_intervals_of_random_regions_cover():
    space = Euclidean([0, 0], [1, 1], step=1 / 8)
    plan = edge_histogram(space, 25, users=500)
    rng, source = np.random.default_rng(4), SeededSource(9)
    held_items = rng.integers(0, 64, 500)
    counts, truth = UserCounts.of_users(space, [[i] for i in held_items]), np.bincount(held_items, minlength=64) / 500
    regions = [rng.random(64) < share for share in (0.1, 0.3, 0.5) for _ in range(4)]
    widths = [half_width(plan, region.astype(float)) for region in regions]
    held = []
    for _ in range(120):
        answer = plan.draw(counts.center(plan.query), source)
        held += [abs(float((answer.values - truth)[r].sum())) <= w for r, w in zip(regions, widths, strict=True)]
    result = region_interval(plan, answer.values, regions[0])
    assert result.high - result.estimate == pytest.approx(widths[0]) or result.high == 1.0
    assert 0.925 < np.mean(held) < 0.975


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "[" * 10**5,
        '{"type": "Point", "coordinates": [1, 2]}',
        '{"type": "Polygon", "coordinates": [[[0, 0]]]}',
        '{"type": "Polygon", "coordinates": [[[0], [1], [2], [0]]]}',
        '{"type": "Polygon", "coordinates": [[[0, 0], [1, NaN], [1, 1], [0, 0]]]}',
        '{"type": "Polygon", "coordinates": [[[0, 0], [1, "1"], [1, 1], [0, 0]]]}',
        '{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1]]]}',
    ],
    ids=range(9),
)
def test_files_without_polygons_are_refused(tmp_path, content):
    (tmp_path / "bad.geojson").write_text(content)
    with pytest.raises(ParameterError, match="holds no polygon"):
        polygon_inside(SPACE, tmp_path / "bad.geojson")


def test_holes_are_outside(tmp_path):
    hole = [[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]
    (tmp_path / "ring.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [SQUARE, hole]}))
    assert polygon_inside(SPACE, tmp_path / "ring.geojson")[0].sum() == 15


def test_without_a_region_the_command_lists_what_stands_out(tmp_path, capsys):
    study, result, _ = released(tmp_path)
    study.write(tmp_path / "study.toml")
    texts = ["region", str(tmp_path / "out"), "--study", str(tmp_path / "study.toml")]
    with pytest.raises(SystemExit) as ended:
        main([*texts, "--json"])
    assert ended.value.code == 0
    data = json.loads(capsys.readouterr().out)
    assert data == {"confidence": 0.95, "regions": result.tables["regions"]}
    with pytest.raises(SystemExit):
        main(texts)
    assert f"{len(data['regions'])} regions stand out from the noise" in capsys.readouterr().out


@pytest.mark.parametrize("confidence", ["0.05", "0.49", "1", "nan", "-1"])
def test_a_confidence_below_a_half_is_refused_with_the_fix(tmp_path, capsys, confidence):
    with pytest.raises(SystemExit) as ended:
        main(["region", str(tmp_path), "--items", "x", "--confidence", confidence])
    assert ended.value.code == 1
    assert ("--confidence is" if confidence == "nan" else "--confidence 0.95") in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["region", str(tmp_path), "--items", "x", "--level", "0.05"])
    assert ended.value.code != 0


def test_cells_of_the_earth_and_hexagons_are_cut_by_their_own_shapes(tmp_path):
    town = Earth(box=(40.0, -74.0, 40.2, -73.8), cell=4)
    rows = town.rows
    south, west = 40.0, -74.0
    high, wide = 1 / rows.row_scale, 1 / rows.column_scale[0]
    ring = [
        [west, south],
        [west + 2 * wide, south],
        [west + 2 * wide, south + high],
        [west, south + high],
        [west, south],
    ]
    (tmp_path / "two.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    inside, cut = polygon_inside(town, tmp_path / "two.geojson")
    assert np.flatnonzero(inside).tolist() == [0, 1]
    assert not cut.any()
    pytest.importorskip("h3")
    cells = Hexagons.around(40.1, -73.9, resolution=7, rings=3)
    around = [[-75, 39], [-73, 39], [-73, 41], [-75, 41], [-75, 39]]
    half = [[-75, 39], [-73.9, 39], [-73.9, 41], [-75, 41], [-75, 39]]
    for ring, all_inside in ((around, True), (half, False)):
        (tmp_path / "ring.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
        inside, cut = polygon_inside(cells, tmp_path / "ring.geojson")
        assert inside.all() == all_inside
        assert cut.any() != all_inside
        if not all_inside:  # a line through the middle cuts about one cell of each row
            assert 4 <= cut.sum() <= 20


def test_released_shares():
    study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    told = make_statement(study, study.plan("mean"), parameters={"space": "?", "mechanism": "multiscale"})
    with pytest.raises(
        ParameterError,
        match=re.escape(
            "The release is not a central histogram by edges, tree, levels or cells.\n"
            "  allowed: a histogram whose statement says mechanism 'edges', 'tree', 'levels' or 'cells'\n"
            "  fix:     mechanism = 'edges' in the question of another release"
        ),
    ):
        released_shares(told, {}, Line(0, 1, step=1))
