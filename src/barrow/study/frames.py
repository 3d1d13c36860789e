"""Released values as frames and shapes: Arrow without pyarrow (through DuckDB), pandas, Polars, GeoJSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from barrow.errors import MissingExtraError, ParameterError
from barrow.questions.pictures import places_of
from barrow.questions.plan import Rows
from barrow.spaces import Space


def columns_of(rows: Rows) -> dict[str, Any]:
    """Whole columns as arrays: numbers as numbers, everything else as text."""
    kinds: dict[type, Any] = {float: np.float64, int: np.int64}
    return {
        name: np.array([row[name] for row in rows], dtype=kinds.get(type(value), object))
        for name, value in rows[0].items()
    }


class ArrowRows:
    """Rows that speak the Arrow C stream: a fresh stream each time it is asked."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The stream, by DuckDB, which needs no pyarrow for it."""
        import duckdb

        connection = duckdb.connect(":memory:")
        connection.register("released", columns_of(self._rows))
        # What is registered is read when the stream is: the relation keeps it and its connection.
        return connection.sql("SELECT * FROM released").__arrow_c_stream__(requested_schema)


def to_pandas(rows: Rows) -> Any:
    """A pandas frame."""
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError.for_extra("pandas", extra="frames", purpose="pandas frames") from None
    return pandas.DataFrame(columns_of(rows))


def to_polars(rows: Rows) -> Any:
    """A Polars frame."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError.for_extra("polars", extra="frames", purpose="Polars frames") from None
    return polars.DataFrame(rows)


def to_arrow(rows: Rows) -> Any:
    """A pyarrow table."""
    try:
        import pyarrow  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError.for_extra("pyarrow", extra="frames", purpose="Arrow tables") from None
    return pyarrow.table(ArrowRows(rows))


def features(rows: Rows, space: Space | None) -> dict[str, Any]:
    """GeoJSON of rows that are places: a polygon for each cell, or a point where cells are not known."""
    if not rows or "lat" not in rows[0] or "lon" not in rows[0]:
        raise ParameterError(
            "The released values are no places on the Earth.",
            allowed="a release on cells or hexagons of the Earth",
            fix="to_pandas() for the values as a frame",
        )
    where = None if space is None else space.held
    shapes = None if where is None else where.shapes
    if shapes is None or len(shapes) != len(rows):
        shapes = places_of(rows, None if where is None else getattr(where, "box", None))
    return {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "id": i, "properties": dict(row), "geometry": _geometry(shapes.corners, row, i)}
            for i, row in enumerate(rows)
        ],
    }


def _geometry(corners: Any, row: Mapping[str, Any], i: int) -> dict[str, Any]:
    if corners is None:
        return {"type": "Point", "coordinates": [row["lon"], row["lat"]]}
    ring = [[lon, lat] for lat, lon in corners[i].tolist()]
    kept = [p for k, p in enumerate(ring) if k == 0 or p != ring[k - 1]]
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(kept, [*kept[1:], kept[0]], strict=True))
    kept = kept if area > 0 else kept[::-1]  # outer rings turn to the left
    return {"type": "Polygon", "coordinates": [[*kept, kept[0]]]}
