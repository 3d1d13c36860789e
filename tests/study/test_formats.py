"""The formats that others read: checked by their own validators where those are installed, and by their rules here."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow
import pytest
import yaml
from pyarrow import parquet

import barrow as bw
from barrow.cli.main import main
from barrow.errors import ParameterError
from barrow.questions.statement import Claim, Publication
from barrow.spaces.shapes import cell_places
from barrow.study import verify
from barrow.study.claim import claim_of
from barrow.study.formats import format_files, missing_for_registry, registry_record
from barrow.study.geoparquet import polygons
from barrow.study.publication import publication_of
from barrow.study.statement import statement_digest, write_statement

SCHEMA = Path(__file__).parents[2].parent / "shared" / "data" / "registry" / "deployments-schema.yaml"
PUBLICATION = {
    "curator": 'City of "Example"', "purpose": "planning of buses: where, when", "region": "New York",
    "contact": "privacy@example.org", "license": "CC-BY-4.0", "url": "https://example.org/data",
}  # fmt: skip
PLACE = {"lat": [40.75, 40.71, 40.8] * 20, "lon": [-73.99, -74.0, -73.95] * 20}


def release(folder: Path, space: Any, question: str = "histogram", **options: Any) -> bw.Release:
    data = bw.read({"uid": list(range(60)), **PLACE}, user="uid", item=["lat", "lon"])
    study = bw.Study(space, ["all, 3 km, 2"], users=60, dataset="Taxi trips", data=data, **options)
    return study.release(question, ledger=bw.Ledger.create(folder / "taxi.ledger", study), out=folder / "map")


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> bw.Release:
    place = tmp_path_factory.mktemp("released")
    return release(place, "earth(box=(40.7, -74.1, 40.9, -73.9), cell=4)", publication=PUBLICATION)


def test_every_file_is_in_the_digest(released):
    names = {file.name for file in released.statement.files}
    assert {"croissant.json", "datapackage.json", "CITATION.cff", "registry.yaml", "cells.geoparquet"} <= names
    checks = verify(released.folder, ledger=released.folder.parent / "taxi.ledger")
    assert all(check.holds for check in checks)
    for name in ("croissant.json", "cells.geoparquet", "registry.yaml"):
        copy = (released.folder / name).read_bytes()
        (released.folder / name).write_bytes(copy + b" ")
        found = {check.what: check.holds for check in verify(released.folder)}
        (released.folder / name).write_bytes(copy)
        assert found[name] is False


def _polygon_moved(content: bytes) -> bytes:
    table = parquet.read_table(io.BytesIO(content))
    shapes = table["geometry"].to_pylist()
    moved = table.set_column(
        table.schema.get_field_index("geometry"), "geometry", pyarrow.array(shapes[1:] + shapes[:1])
    )
    return written(moved)


def _share_changed(content: bytes) -> bytes:
    table = parquet.read_table(io.BytesIO(content))
    shares = table["share"].to_pylist()
    return written(table.set_column(table.schema.get_field_index("share"), "share", pyarrow.array([0.9, *shares[1:]])))


def written(table: pyarrow.Table) -> bytes:
    held = io.BytesIO()
    parquet.write_table(table, held)
    return held.getvalue()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cells.geoparquet", _share_changed),
        ("cells.geoparquet", _polygon_moved),
        ("registry.yaml", lambda held: held.replace(b"epsilon: ", b"epsilon: 0.", 1)),
        ("croissant.json", lambda held: held.replace(b'"sha256": "', b'"sha256": "0', 1)),
        ("datapackage.json", lambda held: held.replace(b'"number"', b'"string"', 1)),
        ("CITATION.cff", lambda held: held.replace(b"City", b"Town")),
    ],
)
def test_a_forger_who_mends_all_digests_is_found_out(released, tmp_path, name, change):
    """Without the ledger: a file for others must say what the statement and the tables say."""
    folder = Path(shutil.copytree(released.folder, tmp_path / "forged"))
    assert not any(check.holds is False for check in verify(folder))
    content = change((folder / name).read_bytes())
    assert content != (folder / name).read_bytes()
    (folder / name).write_bytes(content)
    listed = [
        msgspec.structs.replace(file, sha256=hashlib.sha256(content).hexdigest()) if file.name == name else file
        for file in released.statement.files
    ]
    forged = msgspec.structs.replace(released.statement, files=listed)
    forged = msgspec.structs.replace(forged, digest=statement_digest(forged))
    (folder / "statement.json").write_bytes(write_statement(forged))
    wrong = [check for check in verify(folder) if check.holds is False]
    assert [check.what for check in wrong] == ["tables"]
    assert name in wrong[0].finding


def test_croissant(released):
    data = json.loads((released.folder / "croissant.json").read_text())
    assert data["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    assert data["@type"] == "sc:Dataset"
    assert data["license"] == "CC-BY-4.0"
    files = {entry["@id"]: entry for entry in data["distribution"]}
    for name, entry in files.items():
        content = (released.folder / name).read_bytes()
        assert entry["sha256"] == hashlib.sha256(content).hexdigest()
        assert entry["contentSize"] == f"{len(content)} B"
    for rows in data["recordSet"]:
        for field in rows["field"]:
            assert field["source"]["fileObject"]["@id"] in files
            assert field["dataType"] in ("sc:Float", "sc:Integer", "sc:Text")
    ids = [field["@id"] for rows in data["recordSet"] for field in rows["field"]]
    assert len(ids) == len(set(ids))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib", "ignore::DeprecationWarning:mlcroissant")
def test_croissant_by_its_own_library(released, monkeypatch):
    mlc = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed: pip install mlcroissant")
    monkeypatch.chdir(released.folder)
    dataset = mlc.Dataset(jsonld="croissant.json")
    assert not dataset.metadata.issues.errors
    assert not dataset.metadata.issues.warnings
    assert len(list(dataset.records("values-rows"))) == len(released.rows())


def test_data_package(released):
    data = json.loads((released.folder / "datapackage.json").read_text())
    assert data["name"] == "taxi-trips-histogram"
    assert {resource["path"] for resource in data["resources"]} == {path.name for path in released.folder.glob("*.csv")}
    read = {"integer": int, "number": float, "string": str}
    for resource in data["resources"]:
        content = (released.folder / resource["path"]).read_bytes()
        assert resource["hash"] == "sha256:" + hashlib.sha256(content).hexdigest()
        assert resource["bytes"] == len(content)
        head, *rows = csv.reader(content.decode().splitlines())
        fields = resource["schema"]["fields"]
        assert [field["name"] for field in fields] == head
        for row in rows:
            _ = [read[field["type"]](cell) for field, cell in zip(fields, row, strict=True) if cell]


def test_data_package_by_its_own_library(released, monkeypatch):
    frictionless = pytest.importorskip("frictionless", reason="frictionless is not installed")
    monkeypatch.chdir(released.folder)
    report = frictionless.validate("datapackage.json")
    assert report.valid, report.flatten(["type", "message"])


def test_citation(released):
    data = yaml.safe_load((released.folder / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(data)  # what version 1.2.0 asks for
    assert data["cff-version"] == "1.2.0"
    assert data["type"] == "dataset"
    assert data["authors"] == [{"name": 'City of "Example"'}]
    assert data["date-released"] == released.statement.publication.date


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({"license": "Our own", "url": "http or so"}, set()),
        ({"license": "ODbL-1.0", "url": "https://x.org"}, {"license", "url"}),
    ],
)
def test_a_citation_leaves_out_what_its_format_does_not_know(released, told, kept):
    statement = msgspec.structs.replace(released.statement, publication=Publication(curator="x", **told))
    data = yaml.safe_load(format_files(statement, released.tables, {})["CITATION.cff"])
    assert {"license", "url"} & set(data) == kept


def test_registry_record_says_what_the_registry_asks_for(released):
    data = yaml.safe_load((released.folder / "registry.yaml").read_text())
    deployment = data["deployment"]
    assert deployment["dp_variant"]["variant_name"] == "Custom"
    details = deployment["privacy_loss"]["privacy_parameters_details"]
    assert "Privacy relation" in details
    assert "earth mover's distance" in details
    worst = released.statement.worst_case
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": worst.epsilon, "delta": worst.delta}
    assert deployment["basic"]["intended_use"] == PUBLICATION["purpose"]


@pytest.mark.skipif(not SCHEMA.is_file(), reason="the registry's schema is not here")
def test_registry_record_by_its_schema(released):
    import jsonschema  # takes seconds

    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    data = yaml.safe_load((released.folder / "registry.yaml").read_text())
    jsonschema.validate(data, schema, format_checker=jsonschema.FormatChecker())
    for wrong in ({"tier": 7}, {"more": 1}, {"deployment": {}}):  # the schema is one that can fail
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**data, **wrong}, schema)


def ring_of(shape: bytes) -> list[tuple[float, float]]:
    """The points of a polygon in well-known binary, read by hand."""
    order, kind, rings, points = struct.unpack_from("<BIII", shape)
    assert (order, kind, rings) == (1, 3, 1)
    numbers = struct.unpack_from(f"<{2 * points}d", shape, 13)
    assert len(shape) == 13 + 16 * points
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def check_geoparquet(result: bw.Release) -> Any:
    file = parquet.ParquetFile(result.folder / "cells.geoparquet")
    geo = json.loads(file.schema_arrow.metadata[b"geo"])
    assert geo["version"] == "1.1.0"
    column = geo["columns"][geo["primary_column"]]
    assert (column["encoding"], column["geometry_types"]) == ("WKB", ["Polygon"])
    table = file.read().to_pydict()
    west, south, east, north = column["bbox"]
    assert len(table["geometry"]) == len(result.rows())
    for shape, row in zip(table["geometry"], result.rows(), strict=True):
        ring = ring_of(shape)
        assert ring[0] == ring[-1]
        area = sum(a[0] * b[1] - b[0] * a[1] for a, b in itertools.pairwise(ring))
        assert area > 0  # counterclockwise
        lons, lats = zip(*ring, strict=True)
        assert min(lons) <= row["lon"] <= max(lons)
        assert min(lats) <= row["lat"] <= max(lats)
        assert west <= min(lons) <= max(lons) <= east
        assert south <= min(lats) <= max(lats) <= north
    assert table["share"] == [row["share"] for row in result.rows()]
    return table


def test_geoparquet_of_cells(released):
    check_geoparquet(released)
    space = released.space.records_space
    assert len(cell_places(space)) == len(released.rows())


def test_geoparquet_of_h3(tmp_path):
    import h3

    from barrow.spaces import Hexagons

    cells = sorted(h3.grid_disk(h3.latlng_to_cell(40.75, -73.97, 5), 2))
    result = release(tmp_path, Hexagons(cells))
    table = check_geoparquet(result)
    assert table["h3"] == cells
    assert [h3.latlng_to_cell(row["lat"], row["lon"], 5) for row in result.rows()] == table["h3"]
    # Without a curator nothing can be cited, and without purpose and region no record be registered.
    assert {"CITATION.cff", "registry.yaml"}.isdisjoint(os.listdir(result.folder))


def test_geoparquet_by_geopandas(released):
    geopandas = pytest.importorskip("geopandas", reason="geopandas is not installed: pip install geopandas")
    frame = geopandas.read_parquet(released.folder / "cells.geoparquet")
    assert str(frame.crs) == "OGC:CRS84"
    assert frame.geometry.is_valid.all()


def test_rings_that_repeat_a_point():
    """Pentagons are padded to six corners; a ring that turns to the right is turned round."""
    ring = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    assert ring_of(polygons(ring[None])[0]) == [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0)]
    assert ring_of(polygons(ring[None, ::-1])[0])[0] == ring_of(polygons(ring[None, ::-1])[0])[-1]


# The claim.


def test_a_claim_says_what_nist_asks_for(released):
    claim = released.statement.claim
    assert claim == claim_of(released.statement)
    assert "one value of the column 'uid'" in claim.unit
    assert any("the curator" in actor for actor in claim.actors)
    assert len(claim.side_channels) == 3
    assert any("snapped" in text for text in claim.preprocessing)
    assert any("too large" in text for text in claim.bias)
    for name in ("Unit of privacy", "Parameters", "Trust model", "Side channels", "Preprocessing", "Known bias"):
        assert f"{name}" in released.text
    assert "Unit of privacy" not in str(released)  # a screen has the short form
    assert all(getattr(claim, name) for name in Claim.__struct_fields__)


def test_a_forged_claim_does_not_follow(released):
    forged = msgspec.structs.replace(released.statement.claim, actors=["nobody is trusted"])
    statement = msgspec.structs.replace(released.statement, claim=forged)
    assert claim_of(statement) != statement.claim


# The publication of a study.


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"curater": "x"}, "did you mean 'curator'"),
        ({"date": "18.11.2026"}, "no day such as"),
        ({"date": "2026-02-30"}, "no day such as"),
        ({"curator": "a\nb"}, "one line"),
        ({"curator": 3}, "one line"),
        ({"purpose": "x" * 1001}, "one line"),
        ("City", "is a str"),
    ],
)
def test_wrong_publications(given, words):
    with pytest.raises(ParameterError, match=words):
        publication_of(given)


def test_a_publication_stands_in_the_study(tmp_path):
    study = bw.Study("hours", alpha=1, publication={**PUBLICATION, "date": "2026-11-18"})
    study.write(tmp_path / "study.toml")
    assert bw.Study.read(tmp_path / "study.toml").publication == study.publication
    assert study.replace(users=5).publication == study.publication
    assert missing_for_registry(study.publication) == []


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    result = capsys.readouterr()
    assert ended.value.code == code, result
    return result.out if code == 0 else result.err


def test_the_registry_command(released, tmp_path, capsys):
    assert run(capsys, "registry", released.folder) == (released.folder / "registry.yaml").read_text()
    out = tmp_path / "taxi.yaml"
    told = json.loads(run(capsys, "registry", released.folder, "--region", "Queens", "--out", out, "--json"))
    assert yaml.safe_load(out.read_text())["deployment"]["basic"]["data_product_region"] == "Queens"
    assert told["record"] == out.read_text()
    assert "cannot be written" in run(capsys, "registry", released.folder, "--out", out, code=1)
    assert "There is no statement" in run(capsys, "registry", tmp_path / "nowhere", code=1)
    with pytest.raises(ParameterError, match="purpose, region") as refused:
        registry_record(released.statement, Publication(curator="x", date="2026-11-18"))
    assert "--purpose TEXT" in str(refused.value.fix)
