"""Releases as frames, shapes, pictures and in notebooks."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import barrow as bw
from barrow.errors import MissingExtraError, ParameterError
from barrow.study.result import Release, features


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frames")
    rng = np.random.default_rng(5)
    people = {"uid": np.arange(300), "lat": 40 + rng.random(300), "lon": -75 + rng.random(300)}
    study = bw.Study(
        bw.Earth(box=(40, -75, 41, -74), cell=40),
        ["all, 20 km, 1"],
        users=300,
        dataset="places",
        data=bw.read(people, user="uid", item=["lat", "lon"]),
    )
    ledger = bw.Ledger.create(folder / "places.ledger", study)
    return study.release("histogram", ledger=ledger, out=folder / "map"), study, ledger


def test_frames_hold_the_rows(release):
    result = release[0]
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    shares = [row["share"] for row in result.rows()]
    assert result.to_pandas()["share"].tolist() == shares
    assert isinstance(result.to_pandas(), pandas.DataFrame)
    assert result.to_polars()["share"].to_list() == shares
    assert result.to_arrow()["share"].to_pylist() == shares
    assert polars.DataFrame(result)["share"].to_list() == shares


def test_the_arrow_stream_needs_no_pyarrow(release, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    stream = release[0].__arrow_c_stream__()
    assert "arrow_array_stream" in repr(stream)
    with pytest.raises(MissingExtraError, match="frames"):
        release[0].to_arrow()


def test_cells_are_polygons_that_geopandas_reads(release):
    result = release[0]
    shape = result.__geo_interface__
    space = result.space.records_space
    assert len(shape["features"]) == space.items
    for feature, (lat, lon) in zip(shape["features"], space.points, strict=True):
        ring = np.array(feature["geometry"]["coordinates"][0])
        assert (ring[0] == ring[-1]).all()
        assert ring[:, 0].min() < lon < ring[:, 0].max()
        assert ring[:, 1].min() < lat < ring[:, 1].max()
    json.dumps(shape)
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.GeoDataFrame.from_features(result)
    assert frame.geometry.is_valid.all()
    assert frame.geometry.area.sum() == pytest.approx(1.0, rel=1e-6)


def test_values_that_are_no_places_have_no_shapes():
    with pytest.raises(ParameterError, match="no places"):
        features([{"output": "mean", "value": 1.0}], None)


def test_plots_are_saved_and_read_folders_plot_too(release, tmp_path):
    figure = bw.plot(release[0])
    assert figure.save(tmp_path / "map.svg").read_text().startswith("<svg")
    assert "default-src 'none'" in figure.save(tmp_path / "map.html").read_text()
    pytest.importorskip("resvg_py")
    assert figure.save(tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    again = Release.read(release[0].folder)
    assert again.space == release[0].space
    assert bw.plot(again).title == figure.title


def test_regions_of_other_mechanisms_come_from_drawing_again(release, tmp_path):
    people = {"uid": list(range(400)), "kind": ["a", "b", "c", "c"] * 100}
    study = bw.Study(
        bw.Clustered({"x": ["a", "b"], "y": ["c", "d"]}, r=0.1),
        ["all, 0.1, 1"],
        users=400,
        dataset="kinds",
        data=bw.read(people, user="uid", item="kind"),
    )
    result = study.release("histogram", ledger=bw.Ledger.create(tmp_path / "k.ledger", study), out=tmp_path / "k")
    region = result.region(["a", "b"])
    assert 0.0 <= region.low <= region.estimate <= region.high <= 1.0


def test_notebooks_show_text_and_image(release):
    result, study, state = release
    ages = bw.Study(bw.Line(0, 100, step=1, unit="years"), ["all, 5 years, 0.5"], users=1000)
    shown = [result, study, study.policy, result.plan, state, ages.compare("mean"), ages.plan("mean")]
    for value in shown:
        bundle = value._repr_mimebundle_()
        assert set(bundle) == {"text/plain", "text/html"}
        assert bundle["text/plain"]
        assert 'src="data:image/svg+xml;base64,' in bundle["text/html"], type(value)
        assert "<svg" not in bundle["text/html"]


def test_ipython_takes_the_bundles(release):
    pytest.importorskip("IPython")
    from IPython.core.formatters import DisplayFormatter

    for value in (release[0], release[1], release[2], release[1].policy):
        data, _ = DisplayFormatter().format(value)
        assert "data:image/svg+xml" in data["text/html"]
        assert data["text/plain"] == value._repr_mimebundle_()["text/plain"]
