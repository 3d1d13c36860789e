"""Places on Earth: great-circle distance, and a public grid of cells by size in kilometres."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from barrow.errors import ParameterError, reading
from barrow.spaces.checks import chosen_diameter, positive_number
from barrow.spaces.geometry import Box, Geometry
from barrow.spaces.latitudes import latitude_graph
from barrow.spaces.lattices import checked_spacing
from barrow.spaces.neighbours import NeighbourGraph
from barrow.spaces.records import Formula, LatitudeRows, Reads
from barrow.spaces.space import DISTANCE_ERROR, Floats, Ids, Space
from barrow.spaces.sphere import EARTH_RADIUS_KM, HALF_CIRCUMFERENCE_KM, box_diameter_upper, great_circle

_MOST_CELLS = 10**8


@dataclass(frozen=True)
class CellRows:
    """The public tables of a grid: rows of latitude, each cut into its own number of columns.

    A record's row is floor((lat - south) * row_scale), its column floor((lon - west) * column_scale[row]), its item
    first[row] + column. Only +, -, * and floor are used, so every engine finds the same item.

    >>> Earth(box=(0, 0, 1, 1), cell=60).rows.first.tolist()
    [0, 2]
    """

    south: float
    west: float
    row_scale: float
    columns: Ids
    column_scale: Floats
    first: Ids


@dataclass(frozen=True, eq=False, repr=False)
class Earth(Space):
    """The surface of the Earth, or a box of it, with the great-circle distance.

    With ``unknown="nearest"`` a place outside the box moves to the box in latitude and in longitude.

    Args:
        box: South, west, north, east in degrees; the whole Earth by default. Public.
        cell: The size of the cells of a public grid in kilometres: no cell is higher or wider. Records are snapped to
            the middle of their cell.
        diameter: How many kilometres count as 1; by default the largest distance in the box. Public.
        default: The (lat, lon) that stands in for missing data; the first cell by default.

    Records are pairs (lat, lon) in degrees.

    >>> earth = Earth()
    >>> round(earth.diameter, 1), earth.unit
    (20015.1, 'km')
    >>> nyc = Earth(box=(40.5, -74.3, 41.0, -73.6), cell=1)
    >>> nyc.size, round(nyc.diameter, 1), nyc.snapping_upper * nyc.diameter < 0.7072
    (3328, 81.0, True)
    """

    kind: ClassVar[str] = "earth"
    reads: ClassVar[Reads] = Reads(2, numbers=True, words="latitude and longitude")
    box: Box
    cell: float | None
    default: tuple[float, float] | None
    _diameter: float
    _chosen: float | None

    def __init__(
        self,
        *,
        box: Sequence[float] | None = None,
        cell: float | None = None,
        diameter: float | None = None,
        default: Sequence[float] | None = None,
    ) -> None:
        vars(self).update(
            box=(-90.0, -180.0, 90.0, 180.0) if box is None else _check_box(box),
            cell=None if cell is None else positive_number(cell, "cell", fix="cell=10"),
        )
        widest = box_diameter_upper(*self.box)
        least = HALF_CIRCUMFERENCE_KM if widest >= math.pi else widest * EARTH_RADIUS_KM * (1.0 + 2.0**-50)
        but = f" km, but two points of the box may be {least:.1f} km apart."
        fix = "leave diameter out, or give a smaller box"
        chosen = chosen_diameter(diameter, least, but, f"at least {least:.6g} km", fix)
        vars(self).update(_diameter=chosen, _chosen=None if diameter is None else chosen)
        vars(self).update(default=None if default is None else (float(default[0]), float(default[1])))
        if self.cell is not None:
            _ = self.rows
        south, west, north, east = self.box
        if self.default is not None and not (south <= self.default[0] <= north and west <= self.default[1] <= east):
            raise ParameterError(f"default is {default}.", allowed="a (lat, lon) in the box", fix="choose one inside")

    @property
    def unit(self) -> str:
        """Kilometres; promises may speak of miles, metres or nautical miles as well."""
        return "km"

    @cached_property
    def rows(self) -> CellRows:
        """The public tables that say which cell a place belongs to.

        >>> Earth(box=(0, 0, 1, 1), cell=60).rows.columns.tolist()
        [2, 2]
        """
        if self.cell is None:
            _ = self.items
        south, west, north, east = self.box
        cell = float(self.cell or 1.0)
        per_degree = EARTH_RADIUS_KM * math.pi / 180.0
        count = max(1, math.ceil((north - south) * per_degree / cell - 1e-9))
        if count > _MOST_CELLS:
            raise ParameterError(f"cell is {cell} km.", allowed="at most 100,000,000 cells", fix="a larger cell")
        # Rows are as wide as where they are widest, so that cells are no fewer than what the area holds.
        ends = math.sin(math.radians(north)) - math.sin(math.radians(south))
        held = (east - west) * per_degree / cell * count * ends / math.radians(north - south)
        if held > 1.01 * _MOST_CELLS:  # before arrays of all rows are made
            raise self._too_many(cell, int(held))
        edges = np.linspace(south, north, count + 1)
        # A row is widest where it is nearest to the equator.
        widest = np.where((edges[:-1] <= 0) & (edges[1:] >= 0), 0.0, np.minimum(np.abs(edges[:-1]), np.abs(edges[1:])))
        widths = (east - west) * per_degree * np.cos(np.radians(widest))
        columns = np.maximum(1, np.ceil(widths / cell - 1e-9)).astype(np.int64)
        if int(columns.sum()) > _MOST_CELLS:
            raise self._too_many(cell, int(columns.sum()))
        first = np.concatenate(([0], np.cumsum(columns)[:-1])).astype(np.int64)
        return CellRows(south, west, count / (north - south), columns, columns / (east - west), first)

    @staticmethod
    def _too_many(cell: float, count: int) -> ParameterError:
        return ParameterError(
            f"cell is {cell} km, which makes {count:,} cells.",
            allowed="at most 100,000,000 cells",
            fix=f"cell = {cell * math.sqrt(count / _MOST_CELLS) * 1.05:.2g}, or a smaller box",
        )

    @cached_property
    def points(self) -> Floats:
        """Latitude and longitude of the middle of each cell, one row each.

        >>> Earth(box=(0, 0, 2, 2), cell=300).points.tolist()
        [[1.0, 1.0]]
        """
        _ = self.items
        south, west, north, east = self.box
        rows = self.rows
        row = np.repeat(np.arange(len(rows.columns)), rows.columns)
        column = np.arange(len(row)) - rows.first[row]
        lat = south + (north - south) * (row + 0.5) / len(rows.columns)
        lon = west + (east - west) * (column + 0.5) / rows.columns[row]
        return np.stack([lat, lon], axis=1)

    @cached_property
    def size(self) -> int | None:
        """The number of cells; None without a grid."""
        return None if self.cell is None else int(self.rows.columns.sum())

    def _grid_fix(self) -> str:
        return f"Earth(…, cell={self.diameter / 100:.2g}) or cell = {self.diameter / 100:.2g} in the study"

    def _geometry(self) -> Geometry:
        """Places by latitude and longitude."""
        return Geometry(
            periodic=True,
            located=lambda: self.points,
            axes=("lat", "lon"),
            on_earth=True,
            box=self.box,
            cell=float(self.cell or 0.0),
            randomisers=("planar_laplace", "exponential"),
        )

    def label(self, item: int) -> str:
        """Latitude and longitude of the middle of cell number ``item``."""
        lat, lon = self.points[item]
        return f"{lat:.6f},{lon:.6f}"

    @property
    def labels(self) -> Sequence[str]:
        """Those of all items at once."""
        return [f"{lat:.6f},{lon:.6f}" for lat, lon in self.points.tolist()]

    def _distance(self, a: Ids, b: Ids) -> Floats:
        lat, lon = self.points[:, 0], self.points[:, 1]
        return self._normalised(great_circle(lat[a], lon[a], lat[b], lon[b]))

    def _normalised(self, radians: Floats) -> Floats:
        return np.minimum(radians * (EARTH_RADIUS_KM / self._diameter), 1.0)

    @property
    def formula(self) -> Formula:
        """Rows of latitude and their columns."""
        return LatitudeRows(self.box, self.rows)

    def _metric_name(self) -> str:
        """Great circles in kilometres, whatever box and cells."""
        return "earth km"

    @cached_property
    def snapping_upper(self) -> float:
        """The largest distance from the middle of a cell to its corners, which are its farthest points."""
        if self.cell is None:
            return 0.0
        south, west, north, east = self.box
        rows = self.rows
        half_height = (north - south) / len(rows.columns) / 2.0
        lat = south + (north - south) * (np.arange(len(rows.columns)) + 0.5) / len(rows.columns)
        half_width = np.minimum((east - west) / rows.columns / 2.0, 180.0)
        zero = np.zeros(len(lat))
        far = max(
            float(great_circle(lat, zero, np.clip(lat + sign * half_height, -90.0, 90.0), half_width).max())
            for sign in (-1.0, 1.0)
        )
        if ((half_width > 90.0) & (np.abs(lat) < half_height)).any():
            far = math.pi  # a cell that reaches half round the equator may hold the antipode of its middle
        # Degrees of 360 are rounded to 2^-44 or better; a cell's edge moves by no more.
        return (far + 2.0**-40) * EARTH_RADIUS_KM / self._diameter * (1.0 + 2.0**-40)

    @cached_property
    def least_distance_lower(self) -> float:
        """The least of the row height and the distance of neighbours in a row, rounded down."""
        if self.items == 1:
            return 1.0
        south, west, north, east = self.box
        rows = self.rows
        gaps = []
        if len(rows.columns) > 1:
            gaps.append(math.radians((north - south) / len(rows.columns)))
        many = rows.columns > 1
        if many.any():
            lat = (south + (north - south) * (np.arange(len(many)) + 0.5) / len(many))[many]
            spacing = ((east - west) / rows.columns)[many]
            # On the whole circle the last column is a neighbour of the first.
            gaps.append(float(great_circle(lat, np.zeros(len(lat)), lat, spacing).min()))
            wrap = 360.0 - (east - west) + spacing
            gaps.append(float(great_circle(lat, np.zeros(len(lat)), lat, wrap).min()))
        return min(1.0, min(gaps) * EARTH_RADIUS_KM / self._diameter) * (1.0 - 2.0**-30) * (1.0 - DISTANCE_ERROR)

    def _graph(self, spacing: Any) -> NeighbourGraph:
        """A grid of latitudes and longitudes; wide boxes are closed round the Earth, with a node at each pole."""
        return latitude_graph(self.points, self._diameter, checked_spacing(spacing, "km"))

    def _spec(self) -> dict[str, Any]:
        return self._plain("box", "cell", diameter=self._chosen, default=self.default)


def _check_box(box: Sequence[float]) -> Box:
    with reading("box", allowed="four numbers: south, west, north, east", fix="box=(40.5, -74.3, 40.9, -73.7)"):
        box = list(box)
        numbers = [float(x) for x in box] if len(box) == 4 else []
    if not numbers or not all(math.isfinite(x) for x in numbers):
        raise ParameterError(
            f"box is {list(box)}.",
            allowed="four numbers: south, west, north, east",
            fix="box=(40.5, -74.3, 41.0, -73.6)",
        )
    south, west, north, east = numbers
    if not (-90.0 <= south < north <= 90.0 and -180.0 <= west < east <= 180.0):
        raise ParameterError(
            f"box is south {south}, west {west}, north {north}, east {east}.",
            allowed="-90 <= south < north <= 90 and -180 <= west < east <= 180, in degrees",
            fix="write latitudes first and third; a box may not cross the 180th meridian",
        )
    return south, west, north, east
