"""What a figure shows, as numbers: so that other programs can draw the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barrow.numerics.places import Box, Places
from barrow.render.figures.readings import Readings
from barrow.render.figures.svg import Floats

Shades = npt.NDArray[np.int64]
"""The shade of each place, from 1; 0 is hatched."""


@dataclass(frozen=True, eq=False)
class BarData:
    """A bar for each name, from 0."""

    names: Sequence[str]
    readings: Readings


@dataclass(frozen=True, eq=False)
class PointData:
    """A point with its interval for each name; on a circle of the length ``turn``, if it has one."""

    names: Sequence[str]
    readings: Readings
    turn: float | None


@dataclass(frozen=True, eq=False)
class ColumnData:
    """A histogram: columns between ``ends``, which are in the unit ``axis``."""

    ends: Floats
    readings: Readings
    axis: str


@dataclass(frozen=True, eq=False)
class MapData:
    """Places in shades, what each shade means, and what of the Earth is shown."""

    places: Places
    shades: Shades
    key: Sequence[tuple[int, str]]
    box: Box


@dataclass(frozen=True, eq=False)
class MatrixData:
    """Rows from top to bottom of cells in shades; in a plane with the ends of the cells along x and y, in ``axis``."""

    rows: Sequence[str]
    columns: Sequence[str]
    shades: Shades
    key: Sequence[tuple[int, str]]
    ends: tuple[Floats, Floats] | None = None
    axis: str = ""


FigureData = BarData | PointData | ColumnData | MapData | MatrixData


def key_of(shades: Sequence[int], names: Sequence[str], used: Shades) -> list[tuple[int, str]]:
    """What each shade means; the hatching only where it is used.

    >>> key_of([0, 3], ["cannot be distinguished from 0", "above 0 %"], np.array([3, 3]))
    [(3, 'above 0 %')]
    """
    return [(shade, name) for shade, name in zip(shades, names, strict=True) if shade or (used == 0).any()]
