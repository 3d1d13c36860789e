"""Intervals for regions from a finished release along edges: post-processing of published values, free of charge."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.edge_histogram import EdgeAnswer, edge_histogram
from barrow.mechanisms.edge_intervals import RegionInterval, region_interval
from barrow.numerics import exact, exact_text
from barrow.questions.plan import Rows
from barrow.spaces import Earth, Euclidean, Hexagons, Space

_LARGEST = 2**26


def region_of(
    statement: Mapping[str, Any], tables: Mapping[str, Rows], space: Space, inside: Any, level: float = 0.05
) -> RegionInterval:
    """An interval for the share of people's items in a region, from what was published and the public space alone.

    Args:
        statement: The release's statement.
        tables: Its tables.
        space: The study's space.
        inside: One truth value for each item.
        level: How often the interval may miss; the region must be chosen without looking at the release.

    >>> from barrow.spaces import Line
    >>> region_of({"parameters": {"mechanism": "cells"}}, {}, Line(0, 1, step=1), [True, False])
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The release is no central histogram along edges.
      allowed: a histogram whose statement says mechanism 'edges'
      fix:     mechanism = 'edges' in the question of another release
    """
    said = statement.get("parameters", {})
    if said.get("mechanism") != "edges" or statement.get("event", {}).get("model", "central") != "central":
        raise ParameterError(
            "The release is no central histogram along edges.",
            allowed="a histogram whose statement says mechanism 'edges'",
            fix="mechanism = 'edges' in the question of another release",
        )
    query = said["query"]
    spacing = query.get("spacing") if isinstance(query, Mapping) else None
    alpha = exact(statement["event"]["alpha"])
    plan = edge_histogram(space, alpha, users=int(statement["people"]), spacing=spacing, grid=said["grid"])
    values = np.array([row["share"] for row in tables.get("unbiased", [])], dtype=np.float64)
    if exact_text(plan.scale) != said["scale"] or plan.query.to_spec() != query or len(values) != plan.graph.nodes:
        raise ParameterError(
            "The space is not the one that the values were released on.",
            allowed="the study of the release, unchanged",
            fix="--study with the study file that the release was made from",
        )
    return region_interval(EdgeAnswer(plan, values, True), np.asarray(inside, dtype=bool), level)


def items_inside(space: Space, items: Sequence[str]) -> Any:
    """One truth value for each item, from labels.

    >>> from barrow.spaces import Discrete
    >>> items_inside(Discrete(["a", "b", "c"]), ["c"]).tolist()
    [False, False, True]
    """
    index = {label: i for i, label in enumerate(space.labels)}
    unknown = [item for item in items if item not in index]
    if unknown or not items:
        raise ParameterError(
            f"The space has no item {unknown[0]!r}." if unknown else "The region has no items.",
            allowed=f"labels of the space, such as {', '.join(space.labels[:3])}",
            fix=f"--items {','.join(space.labels[:2])}",
        )
    inside = np.zeros(space.items, dtype=bool)
    inside[[index[item] for item in items]] = True
    return inside


def polygon_inside(space: Space, path: str | os.PathLike[str]) -> Any:
    """One truth value for each item: whether its middle lies in the polygons of a GeoJSON file.

    On the Earth coordinates are longitude and latitude, as GeoJSON has them, and sides are straight in these.
    """
    if not (isinstance(space, Earth | Hexagons) or (isinstance(space, Euclidean) and space.dimension == 2)):
        raise ParameterError(
            f"The {space.kind} space is not in the plane.",
            allowed="a polygon on the Earth, on hexagons or in a plane",
            fix="--items with labels",
        )
    at = np.asarray(space.points, dtype=np.float64)
    x, y = (at[:, 0], at[:, 1]) if isinstance(space, Euclidean) else (at[:, 1], at[:, 0])
    inside = np.zeros(space.items, dtype=bool)
    for polygon in _polygons(Path(path)):
        here = np.zeros(space.items, dtype=bool)
        for ring in polygon:  # holes are rings that are crossed once more
            here ^= _crossed(np.array(ring, dtype=np.float64), x, y)
        inside |= here
    return inside


def _crossed(ring: Any, x: Any, y: Any) -> Any:
    """Whether a ray to the right crosses the ring an odd number of times."""
    odd = np.zeros(len(x), dtype=bool)
    for (x0, y0), (x1, y1) in zip(ring[:-1, :2], ring[1:, :2], strict=True):
        spans = (y0 > y) != (y1 > y)
        if spans.any():
            odd[spans] ^= x[spans] < x0 + (y[spans] - y0) * (x1 - x0) / (y1 - y0)
    return odd


def _polygons(path: Path) -> list[Any]:
    """The polygons of a GeoJSON file: each a list of closed rings."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError
        found = _geometry(json.loads(path.read_bytes()))
        good = all(
            len(ring) >= 4 and ring[0] == ring[-1] and all(math.isfinite(c) for p in ring for c in p[:2] if len(p) > 1)
            for polygon in found for ring in polygon
        )  # fmt: skip
    except (OSError, ValueError, TypeError, KeyError, IndexError, RecursionError):
        found, good = [], False
    if not found or not good:
        raise ParameterError(
            f"The file {str(path)!r} holds no polygon.",
            allowed="GeoJSON with a Polygon or a MultiPolygon, whose rings are closed",
            fix="--within region.geojson",
        )
    return found


def _geometry(said: Any) -> list[Any]:
    kind = said["type"]
    if kind == "FeatureCollection":
        return [polygon for feature in said["features"] for polygon in _geometry(feature)]
    if kind == "Feature":
        return _geometry(said["geometry"])
    if kind == "Polygon":
        return [said["coordinates"]]
    if kind == "MultiPolygon":
        return list(said["coordinates"])
    raise ValueError
