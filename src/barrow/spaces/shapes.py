"""The cells of items as shapes: for pictures, files, regions and predictions; no guarantee rests on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from barrow.numerics.places import Places
from barrow.spaces.circle import Circle
from barrow.spaces.euclidean import Euclidean
from barrow.spaces.geographic import Earth
from barrow.spaces.geometry import ByDistance
from barrow.spaces.hexagons import Hexagons
from barrow.spaces.line import Line
from barrow.spaces.space import Floats, Space

Corners = tuple[Floats, Floats]


@ByDistance
def cell_corners(space: Space) -> Corners | None:
    """The lower and the upper corner around every item's cell, in the coordinates of its places; a row each.

    None where records are not snapped to cells with corners.

    >>> [ends.ravel().tolist() for ends in cell_corners(Line(0, 4, points=[1, 2]))]
    [[0.0, 1.5], [1.5, 4.0]]
    """
    return None


@cell_corners.register
def _(space: Line) -> Corners:
    return space.corners


@cell_corners.register
def _(space: Circle) -> Corners:
    ends = space.period * np.arange(space.items + 1)[:, None] / space.items
    return ends[:-1], ends[1:]


@cell_corners.register
def _(space: Euclidean) -> Corners:
    return space.corners


@cell_corners.register
def earth_corners(space: Earth) -> Corners:
    """South-west and north-east."""
    rows, (south, west, north, east) = space.rows, space.box
    ends = np.linspace(south, north, len(rows.columns) + 1)
    row = np.repeat(np.arange(len(rows.columns)), rows.columns)
    column, wide = np.arange(space.items) - rows.first[row], (east - west) / rows.columns[row]
    lower = np.stack([ends[row], west + column * wide], axis=1)
    return lower, np.stack([ends[row + 1], west + (column + 1) * wide], axis=1)


@cell_corners.register
def _(space: Hexagons) -> Corners:
    """Of the bounding boxes of the hexagons."""
    return np.array([c.min(axis=0) for c in space.rings]), np.array([c.max(axis=0) for c in space.rings])


@ByDistance
def cell_places(space: Space) -> Places | None:
    """The cells of all items on a map of the Earth; None for spaces elsewhere.

    >>> len(cell_places(Earth(box=(0, 0, 1, 1), cell=60)))
    4
    """
    return None


@cell_places.register
def earth_places(space: Earth) -> Places:
    """The cells of a box."""
    lower, upper = earth_corners(space)
    return Places.cells(lower[:, 0], lower[:, 1], upper[:, 0], upper[:, 1])


@cell_places.register
def hexagon_places(space: Hexagons) -> Places:
    """The hexagons."""
    return Places.polygons(space.rings)


@ByDistance
def cell_names(space: Space) -> tuple[str, Sequence[str]] | None:
    """What the world calls the cells of a space: the name of the system, and one name for each item; None for most."""
    return None


@cell_names.register
def hexagon_names(space: Hexagons) -> tuple[str, Sequence[str]]:
    """Indexes of H3."""
    return "h3", space.labels
