"""Records that items stand for: the columns that a space reads, from items; the way back from ``encode``."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.noise import RandomSource
from barrow.spaces.augmented import base_space
from barrow.spaces.circle import Circle
from barrow.spaces.euclidean import Euclidean
from barrow.spaces.geographic import Earth
from barrow.spaces.line import Line
from barrow.spaces.product import Product
from barrow.spaces.shapes import cell_corners
from barrow.spaces.space import Floats, Ids, Space

Column = NDArray[Any]
"""Floats, or labels as objects."""
_RADIANS = np.pi / 180.0


def records_of(space: Space, items: Ids, source: RandomSource | None = None) -> list[Column]:
    """One record for each item, as the columns that ``space`` reads.

    Args:
        space: The space.
        items: Ids of items.
        source: Where a place inside each cell is drawn from, uniformly (on the Earth by area); without one the
            record is the middle of its cell. Items that are known by name stand for themselves.

    >>> columns = records_of(Line(0, 10, step=5, cells=True), np.array([1, 0]))
    >>> [column.tolist() for column in columns]
    [[7.5, 2.5]]
    """
    inner = base_space(space)
    if inner is space:
        return _checked(space, items, source)
    outside = items >= inner.items  # the item "elsewhere" has no record of its own
    columns = _checked(inner, np.where(outside, 0, items), source)
    for column in columns:
        column[outside] = np.nan if column.dtype.kind == "f" else None
    return columns


def _checked(space: Space, items: Ids, source: RandomSource | None) -> list[Column]:
    """Records that are encoded as their items again; a draw that is not, on a border, becomes the middle."""
    middles = _columns(space, items, None)
    if source is None or isinstance(space, Product):
        return middles if source is None else _columns(space, items, source)
    columns = _columns(space, items, source)
    if columns[0].dtype.kind != "f":
        return columns
    records = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
    same = space._encode(records, "error") == items
    return [np.where(same, column, middle) for column, middle in zip(columns, middles, strict=True)]


@singledispatch
def _columns(space: Space, items: Ids, source: RandomSource | None) -> list[Column]:
    """Labels, each made once."""
    distinct, where = np.unique(items, return_inverse=True)
    return [np.array([space.label(int(i)) for i in distinct], dtype=object)[where]]


@_columns.register
def _(space: Line, items: Ids, source: RandomSource | None) -> list[Column]:
    return _between(space, items, None if space.whole else source)


@_columns.register
def _(space: Circle, items: Ids, source: RandomSource | None) -> list[Column]:
    if space.names is not None:
        return [np.array(space.labels, dtype=object)[items]]
    return _between(space, items, source)


@_columns.register
def _(space: Euclidean, items: Ids, source: RandomSource | None) -> list[Column]:
    return _between(space, items, source)


@_columns.register
def _(space: Earth, items: Ids, source: RandomSource | None) -> list[Column]:
    if source is None:
        return _between(space, items, None)
    (south, west), (north, east) = ([ends[:, 0][items], ends[:, 1][items]] for ends in cell_corners(space) or ())
    low, high = np.sin(south * _RADIANS), np.sin(north * _RADIANS)
    latitudes = np.arcsin(low + (high - low) * _uniforms(source, len(items))) / _RADIANS
    return [latitudes, west + (east - west) * _uniforms(source, len(items))]


@_columns.register
def _(space: Product, items: Ids, source: RandomSource | None) -> list[Column]:
    parts = zip(space.parts, space._split(items), strict=True)
    return [column for part, ids in parts for column in _checked(part, ids, source)]


def _between(space: Space, items: Ids, source: RandomSource | None) -> list[Column]:
    """The place of each item, or one anywhere between the ends of its cell along each axis."""
    if source is None:
        return list(space.geometry.points[items].T)
    low, high = (ends.reshape(len(ends), -1)[items] for ends in cell_corners(space) or ())
    return list((low + (high - low) * _uniforms(source, low.size).reshape(low.shape)).T)


def _uniforms(source: RandomSource, count: int) -> Floats:
    """Numbers in [0, 1) of 53 bits."""
    return np.asarray((source.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53)
