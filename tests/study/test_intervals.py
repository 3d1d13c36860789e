"""Intervals of a finished release: no cell has two ends on coarse nodes, and regions stand out, in every file."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from barrow.ledger import Ledger
from barrow.render import plot
from barrow.spaces import Earth, Line
from barrow.spaces.shapes import cell_places
from barrow.study import Study, read
from barrow.study.result import Release

TOWN = Earth(box=(40.0, -74.0, 40.5, -73.3), cell=2)


def release(folder, space, columns, rows, alpha, **question):
    with open(folder / "data.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["uid", *columns])
        writer.writerows((f"p{k}", *row) for k, row in enumerate(rows))
    study = Study(
        space,
        alpha=alpha,
        users=len(rows),
        dataset="data",
        questions=[{"kind": "histogram", **question}],
        data=read(str(folder / "data.csv"), user="uid", item=columns if len(columns) > 1 else columns[0]),
        ledger=str(folder / "data.ledger"),
    )
    Ledger.create(str(study.ledger), study)
    return study.release(out=folder / "out")


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """Three tight places and a few people anywhere: as far from smooth as real maps are."""
    rng = np.random.default_rng(4)
    middles = np.array([[40.11, -73.85], [40.31, -73.55], [40.41, -73.95]])
    near = middles[rng.integers(0, 3, 1400)] + rng.normal(0, 0.002, (1400, 2))
    rows = np.vstack([near, rng.uniform([40.0, -74.0], [40.5, -73.3], (200, 2))])
    folder = tmp_path_factory.mktemp("town")
    truth = np.bincount(TOWN.encode(rows), minlength=TOWN.items) / len(rows)
    return release(folder, TOWN, ["lat", "lon"], rows.tolist(), 10, mechanism="edges"), truth, folder / "out"


def test_no_cell_has_two_ends_where_nodes_share_cells(town):
    result, truth, _ = town
    assert result.statement.answer.histogram.determined is False
    assert result.statement.answer.histogram.gap > 2.0
    outcome = result.intervals()
    assert (outcome.low == 0.0).all()
    assert (truth <= outcome.high).mean() > 0.97
    assert "single places are not determined" in result.report.read_text()


def test_regions_stand_out_and_hold_what_is_there(town):
    result, truth, folder = town
    rows = result.tables["regions"]
    numbers = np.array([row["region"] for row in result.rows()])
    assert 2 <= len(rows) <= 60
    assert [row["region"] for row in rows] == list(range(1, len(rows) + 1))
    assert all(row["items"] == (numbers == row["region"]).sum() for row in rows)
    assert all(0 < row["low_95"] <= row["share"] <= row["high_95"] <= 1 for row in rows)
    assert truth[numbers > 0].sum() > 0.6
    shapes = json.loads((folder / "regions.geojson").read_text())["features"]
    assert [shape["properties"]["region"] for shape in shapes] == list(range(1, len(rows) + 1))
    for shape, row in zip(shapes, rows, strict=True):
        ring = np.array(shape["geometry"]["coordinates"][0])
        area = (ring[:-1, 0] * ring[1:, 1] - ring[1:, 0] * ring[:-1, 1]).sum() / 2
        cells = np.asarray(cell_places(TOWN).corners)[numbers == row["region"]]
        sides = np.ptp(cells, axis=1)
        assert area == pytest.approx((sides[:, 0] * sides[:, 1]).sum(), rel=1e-4)  # in square degrees, of 9 digits
    again = Release.read(folder)
    assert again.tables["regions"] == rows
    assert again.intervals().regions.low.tolist() == [row["low_95"] for row in rows]


def test_the_map_is_hatched_by_region_and_says_so(town):
    result, _, _ = town
    text = plot(result).description
    assert text.split(",")[0] == f"{len(result.tables['regions'])} regions"
    assert "hold at once with 95 %" in text
    assert "Regions that stand out from the noise" in result.report.read_text()


def test_a_line_has_both_and_people_without_records_too(tmp_path):
    rng = np.random.default_rng(5)
    values = np.clip(rng.lognormal(3, 0.5, 2000), 0, 99)
    line = Line(0, 100, step=1)
    result = release(tmp_path, line, ["x"], values[:, None].tolist(), 40)
    truth = np.bincount(line.encode(values), minlength=line.items) / len(values)
    outcome = result.intervals()
    out = outcome.low > 0
    assert out.any()
    assert ((outcome.low <= truth + 1e-12) & (truth <= outcome.high + 1e-12)).mean() > 0.8
    (missing,) = result.tables["no_records"]
    assert missing["low_95"] <= 0.0 <= missing["high_95"]
    numbers = np.array([row["region"] for row in result.rows()])
    assert truth[numbers > 0].sum() > 0.5
    merged = [row["name"] for row in result.tables["regions"] if row["items"] > 1]
    assert merged  # the tail is known together
    assert all(" to " in name for name in merged)
