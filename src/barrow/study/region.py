"""Regions of a finished release: the shares that give them intervals, free of charge, and the cells in a polygon."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from barrow.errors import ParameterError, plain_file
from barrow.mechanisms.edge_histogram import edge_histogram
from barrow.mechanisms.edge_intervals import Mask
from barrow.mechanisms.histogram_regions import ReleasedShares
from barrow.mechanisms.tree_shares import TreeShares
from barrow.numerics import exact, exact_text, float_up
from barrow.questions.answer import Rows
from barrow.questions.statement import Statement, not_whole
from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.spaces.shapes import cell_corners
from barrow.spaces.space import Floats
from barrow.study.statement import another_space, space_released

_LARGEST = 2**26
_Place = Annotated[list[float], msgspec.Meta(min_length=2)]
_Ring = Annotated[list[_Place], msgspec.Meta(min_length=4)]


class _HistogramParameters(msgspec.Struct):
    """What the parameters of a histogram with additive noise say."""

    space: str
    mechanism: str = ""
    noise: str = ""
    model: str = "central"
    scale: str = "0"
    grid: str = "0"
    query: dict[str, Any] = {}


def _told(statement: Statement) -> _HistogramParameters:
    try:
        return msgspec.convert(statement.parameters, _HistogramParameters)
    except msgspec.ValidationError:
        raise not_whole() from None


def refuse_groups(statement: Statement) -> None:
    """Refuse a release by groups, where one histogram is asked for."""
    about = statement.answer.about
    if about is not None and about.groups:
        raise ParameterError(
            f"The release is by {about.grouping}: it holds a histogram for each of {len(about.groups)} groups.",
            allowed="a histogram of all people; the tables of this one have items and regions of each group",
            fix="release the histogram without by, or ask the region itself by groups: a question region with by",
        )


def released_shares(statement: Statement, tables: Mapping[str, Rows], space: Space) -> ReleasedShares:
    """What a central histogram published beside its decoded values, with the noise that its statement names.

    Args:
        statement: The release's statement.
        tables: Its tables.
        space: The study's space.
    """
    refuse_groups(statement)
    told = _told(statement)
    kind, noise = told.mechanism, told.noise
    known = kind == "edges" or (kind in ("tree", "levels", "cells") and noise in ("Laplace", "Gaussian"))
    if not known or told.model != "central":
        raise ParameterError(
            "The release is not a central histogram by edges, tree, levels or cells.",
            allowed="a histogram whose statement says mechanism 'edges', 'tree', 'levels' or 'cells'",
            fix="mechanism = 'edges' in the question of another release",
        )
    space = space_released(space, told.space)
    shares = np.array([row["share"] for row in tables.get("unbiased", [])], dtype=np.float64)
    rows = [*tables["values"], *tables.get("no_records", [])]
    decoded = np.array([row["share"] for row in rows], dtype=np.float64)
    result = _released(statement, told, space, kind, noise == "Gaussian", shares)
    if len(decoded) != space.items or len(shares) != result.outputs:
        raise another_space()
    return replace(result, decoded=decoded)


def _released(
    statement: Statement, told: _HistogramParameters, space: Space, kind: str, gaussian: bool, shares: Floats
) -> ReleasedShares:
    """The shares with the law of their noise, from the statement's public numbers."""
    scale, grid, query = exact(told.scale, "scale"), exact(told.grid, "grid"), told.query
    noisy = (float_up(scale), float_up(grid), gaussian)
    if kind == "edges":
        alpha = exact(str(statement.event.get("alpha")), "alpha")
        plan = edge_histogram(space, alpha, users=statement.people, spacing=query.get("spacing"), grid=grid)
        if exact_text(plan.scale) != told.scale or plan.query.to_spec() != query:
            raise another_space()
        return ReleasedShares(space, kind, shares, *noisy, plan=plan)
    along = None if kind == "cells" else TreeShares.from_query(space, query)
    return ReleasedShares(space, kind, shares, *noisy, along=along)


def polygon_inside(space: Space, path: str | os.PathLike[str]) -> tuple[Mask, Mask]:
    """Two truth values for each item: whether its middle lies in the polygons of a file, and whether they cut its cell.

    On the Earth coordinates are longitude and latitude, as GeoJSON has them, and sides are straight in these.
    Hexagons count as cut where their bounding box is.
    """
    inner = base_space(space)
    places, corners = inner.geometry.places, cell_corners(inner)
    if places is None or corners is None or places.shape[1:] != (2,):
        raise ParameterError(
            f"The {inner.kind} space is not in the plane.",
            allowed="a polygon on the Earth, on hexagons or in a plane",
            fix="--items with labels",
        )
    across = slice(None, None, -1 if inner.geometry.on_earth else 1)
    (x, y), boxes = places[:, across].T, [corner[:, across] for corner in corners]
    inside, cut = np.zeros((2, space.items), dtype=bool)  # items that were added lie nowhere
    for polygon in _polygons(Path(path)):
        here = np.zeros(inner.items, dtype=bool)
        for ring in polygon:  # holes are rings that are crossed once more
            ends = np.array([point[:2] for point in ring], dtype=np.float64)
            here ^= _crossed(ends, x, y)
            cut[: inner.items] |= _cut(ends, *boxes)
        inside[: inner.items] |= here
    return inside, cut


def _cut(ring: Floats, low: Floats, high: Floats) -> Mask:
    """Whether a side of the ring passes through the inside of each box: no axis or normal separates them."""
    middle, half = (low + high) / 2.0, (high - low) / 2.0 * (1.0 - 1e-9)
    met = np.zeros(len(low), dtype=bool)
    for start, end in pairwise(ring):
        near = np.abs(middle - (start + end) / 2.0) < half + np.abs(end - start) / 2.0
        way, off = end - start, middle - start
        across = np.abs(way[0] * off[:, 1] - way[1] * off[:, 0])
        met |= near.all(axis=1) & (across < np.abs(way[0]) * half[:, 1] + np.abs(way[1]) * half[:, 0])
    return met


def _crossed(ring: Floats, x: Floats, y: Floats) -> Mask:
    """Whether a ray to the right crosses the ring an odd number of times."""
    odd = np.zeros(len(x), dtype=bool)
    for (x0, y0), (x1, y1) in pairwise(ring):
        spans = (y0 > y) != (y1 > y)
        if spans.any():
            odd[spans] ^= x[spans] < x0 + (y[spans] - y0) * (x1 - x0) / (y1 - y0)
    return odd


def _polygons(path: Path) -> list[list[_Ring]]:
    """The polygons of a GeoJSON file: each a list of closed rings."""
    plain_file(path, "The region")
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError
        content = msgspec.json.decode(path.read_bytes().removeprefix(BOM_UTF8))
        results = msgspec.convert(_geometry(content), list[list[_Ring]])
        good = all(ring[0] == ring[-1] for polygon in results for ring in polygon)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        results, good = [], False
    if not results or not good:
        raise ParameterError(
            f"The file {str(path)!r} holds no polygon.",
            allowed="GeoJSON with a Polygon or a MultiPolygon, whose rings are closed",
            fix="--within region.geojson",
        )
    return results


def _geometry(shape: Any) -> list[Any]:
    kind = shape["type"]
    if kind == "FeatureCollection":
        return [polygon for feature in shape["features"] for polygon in _geometry(feature)]
    if kind == "Feature":
        return _geometry(shape["geometry"])
    if kind == "Polygon":
        return [shape["coordinates"]]
    if kind == "MultiPolygon":
        return list(shape["coordinates"])
    raise ValueError
