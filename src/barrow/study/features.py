"""Cells and flows as GeoJSON: the rows of a release with a polygon, a point or a line each."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

import numpy as np

from barrow.questions.answer import Rows, TableRow, number
from barrow.spaces import Space
from barrow.spaces.shapes import cell_places
from barrow.spaces.space import Floats

_DIGITS = 9
Shapes = Sequence[Floats | None] | Floats
"""Corners (latitude, longitude) of the cell of each row that has one; one array where all have equally many."""


def feature_collection(rows: Rows, shapes: Shapes, properties: Mapping[str, Sequence[object]]) -> str:
    """The rows as features: the polygon of each, or its point.

    Args:
        rows: The rows, for the places of those that are points.
        shapes: The corners (latitude, longitude) of each row, or None.
        properties: What is said of the rows, by its name: a number, a text or nothing for each of them.

    >>> feature_collection([{"lat": 1.5, "lon": 2.0}], [None], {"share": [0.5]})[42:]
    '[{"type": "Feature", "geometry": {"type": "Point", "coordinates": [2.0, 1.5]}, "properties": {"share": 0.5}}]}'
    """
    names = [json.dumps(name).replace("%", "%%") for name in properties]
    told = ", ".join(f"{name}: %s" for name in names)
    feature = f'{{"type": "Feature", "geometry": %s, "properties": {{{told}}}}}'
    columns = zip(_geometries(rows, shapes), *map(_json_texts, properties.values()), strict=True)
    return f'{{"type": "FeatureCollection", "features": [{", ".join([feature % row for row in columns])}]}}'


def _json_texts(values: Sequence[object]) -> list[str]:
    """Each number or text as JSON; within texts a new line is escaped, so that it parts them."""
    return json.dumps(values, separators=("\n", ": "))[1:-1].split("\n") if values else []


def _geometries(rows: Rows, shapes: Shapes) -> list[str]:
    """The geometries as JSON: all at once where they have equally many corners."""
    if not isinstance(shapes, np.ndarray):
        first = next(iter(shapes), None)
        if first is None or any(shape is None or shape.shape != first.shape for shape in shapes):
            return [json.dumps(shape_of(shape, row)) for shape, row in zip(shapes, rows, strict=True)]
        shapes = np.stack([shape for shape in shapes if shape is not None])
    corners = shapes[:, :, ::-1] + 0.0
    numbers, where = np.unique(corners, return_inverse=True)  # neighbours share their corners
    exact = [_rounded(number) for number in numbers.tolist()]
    rounded, where = np.array(exact)[where].reshape(corners.shape), where.reshape(corners.shape)
    later = np.roll(rounded, -1, axis=1)
    area = (rounded[:, :, 0] * later[:, :, 1] - later[:, :, 0] * rounded[:, :, 1]).sum(axis=1)
    size = np.abs(rounded).max(axis=(1, 2)) ** 2
    plain = (np.abs(area) > 1e-9 * size) & ~(rounded == later).all(axis=2).any(axis=1)
    order = np.where((area > 0)[:, None, None], where, where[:, ::-1])
    texts = np.array([repr(number) for number in exact], dtype=object)
    rings = texts[np.concatenate([order, order[:, :1]], axis=1)].reshape(len(shapes), -1).tolist()
    polygon = f'{{"type": "Polygon", "coordinates": [[{", ".join(["[%s, %s]"] * (corners.shape[1] + 1))}]]}}'
    return [
        polygon % tuple(ring) if known else json.dumps(shape_of(shape, row))
        for ring, known, shape, row in zip(rings, plain.tolist(), shapes, rows, strict=True)
    ]


def shape_of(corners: Floats | None, row: Mapping[str, object]) -> dict[str, object] | None:
    """A polygon that turns to the left, or a point; None for what is nowhere.

    >>> shape_of(None, {"lat": 1.5, "lon": 2.0})
    {'type': 'Point', 'coordinates': [2.0, 1.5]}
    """
    if corners is None:
        return None if row["lat"] is None else {"type": "Point", "coordinates": [row["lon"], row["lat"]]}
    ring = [[_rounded(lon), _rounded(lat)] for lat, lon in corners.tolist()]
    points = [point for k, point in enumerate(ring) if k == 0 or point != ring[k - 1]]
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, [*points[1:], points[0]], strict=True))
    points = points if area > 0 else points[::-1]
    return {"type": "Polygon", "coordinates": [[*points, points[0]]]}


def flow_lines(rows: Rows, space: Space) -> list[dict[str, object]] | None:
    """A line from the begin to the end of each flow that stands out; None where rows are no flows between places.

    Args:
        rows: The rows of a histogram, all pairs of one public group after those of another.
        space: The space of the records.

    >>> from barrow.spaces import Product
    >>> space = Product.trips(box=(40.7, -74.0, 40.9, -73.8), cell=20)
    >>> lines = flow_lines([{"share": 0.5, "low_95": 0.4, "high_95": 0.6}] * space.items, space)
    >>> len(lines), lines[1]["geometry"]
    (4, {'type': 'LineString', 'coordinates': [[-73.9, 40.75], [-73.9, 40.85]]})
    """
    parts = [part for part, _ in space.geometry.parts]
    if len(parts) != 2 or not rows or not space.size or len(rows) % space.size or "low_95" not in rows[0]:
        return None
    begin, end = (cell_places(part) for part in parts)
    if begin is None or end is None:
        return None
    tails, heads = (
        [[_rounded(lon), _rounded(lat)] for lat, lon in zip(at.lat.tolist(), at.lon.tolist(), strict=True)]
        for at in (begin, end)
    )
    results: list[dict[str, object]] = []
    for i, row in enumerate(rows):
        if number(row, "share") > 0.0 and number(row, "low_95") > 0.0:
            a, b = divmod(i % space.size, len(heads))
            line = {"type": "LineString", "coordinates": [tails[a], heads[b]]}
            results.append({"type": "Feature", "id": i, "properties": dict(row), "geometry": line})
    return results


def ends_of(row: Mapping[str, object]) -> TableRow:
    """The ends of the interval of a share that is told with a half width."""
    if "half_width_95" not in row:
        return {}
    value, width = number(row, "value"), number(row, "half_width_95")
    low, high = math.nextafter(value - width, -math.inf), math.nextafter(value + width, math.inf)
    return {"low_95": min(max(low, 0.0), 1.0), "high_95": max(min(high, 1.0), 0.0)}


def _rounded(degrees: float) -> float:
    """To a tenth of a millimetre, as the decimal that is nearest; 0 has no sign."""
    return round(degrees, _DIGITS) + 0.0
