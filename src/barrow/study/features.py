"""Cells as GeoJSON: the rows of a release with a polygon or a point each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from barrow.questions.answer import Rows
from barrow.spaces.space import Floats

_DIGITS = 9


def feature_collection(rows: Rows, shapes: Sequence[Floats | None], properties: Mapping[str, Sequence[object]]) -> str:
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


def _geometries(rows: Rows, shapes: Sequence[Floats | None]) -> list[str]:
    """The geometries as JSON: all at once where they have equally many corners."""
    if not shapes or any(shape is None or shape.shape != shapes[0].shape for shape in shapes):  # type: ignore[union-attr]
        return [json.dumps(shape_of(shape, row)) for shape, row in zip(shapes, rows, strict=True)]
    corners = np.stack([shape for shape in shapes if shape is not None])[:, :, ::-1] + 0.0
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


def _rounded(degrees: float) -> float:
    """To a tenth of a millimetre, as the decimal that is nearest; 0 has no sign."""
    return round(degrees, _DIGITS) + 0.0
