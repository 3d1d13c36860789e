"""Released places as GeoParquet 1.1: one polygon for each cell, for tools that read maps from tables."""

from __future__ import annotations

import json
import struct
import tempfile
from pathlib import Path

import numpy as np

from barrow.numerics.places import Floats
from barrow.questions.answer import Rows
from barrow.spaces import Space
from barrow.spaces.shapes import cell_names
from barrow.study.outputs import columns_of, parquet_of, row_polygons

FILE = "cells.geoparquet"
_VERSION = "1.1.0"


def cells_file(rows: Rows, space: Space, folder: Path | None = None) -> dict[str, bytes]:
    """The rows with a polygon each (WKB, longitude and latitude), by the name of their file; nothing for points."""
    corners = row_polygons(rows, space)
    known = [k for k, ring in enumerate(corners) if ring is not None]
    if not known:
        return {}
    some = corners if isinstance(corners, np.ndarray) else [ring for ring in corners if ring is not None]
    rings = np.asarray(some)
    shapes = np.full(len(rows), None, dtype=object)  # what is outside the space is nowhere
    shapes[known] = polygons(rings)
    columns = columns_of(rows)
    names = cell_names(space.records_space)
    if names is not None and len(rows) % len(names[1]) == 0:
        columns[names[0]] = np.array(list(names[1]) * (len(rows) // len(names[1])), dtype=object)
    columns["geometry"] = shapes
    lat, lon = rings[..., 0], rings[..., 1]
    column = {
        "encoding": "WKB", "geometry_types": ["Polygon"], "orientation": "counterclockwise",
        "bbox": [float(lon.min()), float(lat.min()), float(lon.max()), float(lat.max())],
    }  # fmt: skip
    metadata = json.dumps({"version": _VERSION, "primary_column": "geometry", "columns": {"geometry": column}})
    quoted = metadata.replace("'", "''")
    return {FILE: parquet_of(columns, folder, f", COMPRESSION zstd, KV_METADATA {{geo: '{quoted}'}}")}


def cells_content(content: bytes) -> tuple[Rows, str]:
    """The rows of such a file, polygons as they are written, and what it says about itself as GeoParquet."""
    import duckdb

    try:
        with tempfile.TemporaryDirectory() as held, duckdb.cursor() as connection:
            file = Path(held) / "cells.parquet"
            file.write_bytes(content)
            told = connection.execute(
                "SELECT decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = 'geo'", [str(file)]
            ).fetchall()
            columns = connection.execute("SELECT * FROM read_parquet(?)", [str(file)])
            names = [column[0] for column in columns.description or ()]
            rows = [dict(zip(names, row, strict=True)) for row in columns.fetchall()]
    except duckdb.Error as error:
        raise ValueError("no GeoParquet") from error
    return rows, str(told)


def polygons(corners: Floats) -> list[bytes]:
    """Rings of (latitude, longitude) as polygons in well-known binary, closed and turning to the left.

    >>> len(polygons(np.array([[[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]))[0])  # four points of 16 bytes, and 13 before
    77
    """
    rings = corners[..., ::-1]
    later = np.roll(rings, -1, axis=1)
    area = (rings[..., 0] * later[..., 1] - later[..., 0] * rings[..., 1]).sum(axis=1)
    rings = np.where(area[:, None, None] < 0, rings[:, ::-1], rings)
    repeated = (rings == np.roll(rings, 1, axis=1)).all(axis=2)
    repeated[:, 0] &= False
    closed = np.concatenate([rings, rings[:, :1]], axis=1).astype("<f8")
    if not repeated.any():
        head, size = struct.pack("<BIII", 1, 3, 1, closed.shape[1]), closed.shape[1] * 16
        content = closed.tobytes()
        return [head + content[start : start + size] for start in range(0, len(content), size)]
    result = []
    for ring, double in zip(closed, repeated, strict=True):
        kept = ring[np.append(~double, True)]
        result.append(struct.pack("<BIII", 1, 3, 1, len(kept)) + kept.tobytes())
    return result
