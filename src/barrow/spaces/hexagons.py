"""H3 hexagons as items (extra ``geo``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from barrow.errors import ParameterError, optional_library
from barrow.spaces.finite import LabelledSpace
from barrow.spaces.geometry import Geometry
from barrow.spaces.latitudes import scattered_graph
from barrow.spaces.lattices import checked_spacing
from barrow.spaces.neighbours import NeighbourGraph
from barrow.spaces.records import LabelIndex, Reads, private_numbers
from barrow.spaces.space import DISTANCE_ERROR, Floats, Ids, Unknown
from barrow.spaces.spanners import MOST_CERTIFIED, nearest_distances, spanner_graph
from barrow.spaces.sphere import EARTH_RADIUS_KM, HALF_CIRCUMFERENCE_KM, great_circle

_h3 = partial(optional_library, "h3", extra="geo", purpose="H3 cells")


@dataclass(frozen=True, eq=False, repr=False)
class Hexagons(LabelledSpace):
    """A public list of H3 cells of one resolution, with the great-circle distance of their centres.

    Args:
        cells: The H3 indexes (texts) of the cells.
        default: The cell that stands in for missing data; the first by default.

    Records are H3 indexes, or pairs (lat, lon) in degrees.

    >>> cells = Hexagons.around(40.75, -73.98, resolution=7, rings=2)
    >>> cells.size, cells.encode([(40.75, -73.98)]).tolist() == cells.encode([cells.label(0)]).tolist()
    (19, True)
    """

    kind: ClassVar[str] = "hexagons"
    reads: ClassVar[Reads] = Reads(also=Reads(2, numbers=True, words="latitude and longitude"))
    resolution: int
    points: Floats

    def __init__(self, cells: Sequence[str], *, default: str | None = None) -> None:
        h3 = _h3()
        self._take_labels(LabelIndex(cells, "cells"), default)
        wrong = next((c for c in self.labels if not h3.is_valid_cell(c)), None)
        if wrong is not None:
            raise ParameterError(f"{wrong!r} is not an H3 cell.", allowed="H3 indexes", fix="h3.latlng_to_cell(…)")
        resolutions = {h3.get_resolution(c) for c in self.labels}
        if len(resolutions) > 1:
            raise ParameterError(
                f"The cells have the resolutions {sorted(resolutions)}.",
                allowed="one resolution",
                fix="choose one",
            )
        points = np.array([h3.cell_to_latlng(c) for c in self.labels])
        vars(self).update(resolution=resolutions.pop(), points=points)

    @classmethod
    def around(cls, lat: float, lon: float, *, resolution: int, rings: int) -> Hexagons:
        """The cells within ``rings`` steps of the one that holds a public place, that one first."""
        h3 = _h3()
        middle = h3.latlng_to_cell(lat, lon, resolution)
        others = sorted(set(h3.grid_disk(middle, rings)) - {middle})
        return cls([middle, *others])

    @property
    def unit(self) -> str:
        """Kilometres."""
        return "km"

    @cached_property
    def diameter(self) -> float:
        """Twice the largest distance from the first cell plus a cell, at most half the circumference."""
        reach = float(great_circle(self.points[:, 0], self.points[:, 1], *self.points[0]).max())
        return min(HALF_CIRCUMFERENCE_KM, max(2.0 * reach * EARTH_RADIUS_KM * (1.0 + 2.0**-40), 2.0 * self._reach_km))

    def _geometry(self) -> Geometry:
        """Places by latitude and longitude."""
        suited = ("planar_laplace", "exponential")
        where = ("lat", "lon")
        return Geometry(periodic=True, located=lambda: self.points, axes=where, on_earth=True, randomisers=suited)

    @cached_property
    def rings(self) -> list[Floats]:
        """The corners of each hexagon, latitude before longitude."""
        return [np.array(_h3().cell_to_boundary(cell)) for cell in self.labels]

    @cached_property
    def _reach_km(self) -> float:
        """The largest distance from a cell's centre to its corners, plus 1 % for edges that are not geodesics."""
        far = 0.0
        for (lat, lon), corners in zip(self.points, self.rings, strict=True):
            far = max(far, float(great_circle(corners[:, 0], corners[:, 1], np.array(lat), np.array(lon)).max()))
        return far * EARTH_RADIUS_KM * 1.01

    def _metric_name(self) -> str:
        """Great circles in kilometres, as on any grid of the Earth."""
        return "earth km"

    @property
    def snapping_upper(self) -> float:
        """The radius of the largest cell, as a share of the diameter."""
        return self._reach_km / self.diameter

    def _distance(self, a: Ids, b: Ids) -> Floats:
        lat, lon = self.points[:, 0], self.points[:, 1]
        angle = great_circle(lat[a], lon[a], lat[b], lon[b])
        return np.minimum(angle * (EARTH_RADIUS_KM / self.diameter), 1.0)

    @cached_property
    def least_distance_lower(self) -> float:
        """The least distance of two centres, over all pairs."""
        return min(1.0, float(nearest_distances(self).min())) * (1.0 - DISTANCE_ERROR)

    def _encode(self, records: Any, unknown: Unknown) -> Ids:
        first = next(iter(records), None)
        if not isinstance(first, tuple | list | np.ndarray) and np.shape(records) != (0, 2):
            return super()._encode(records, unknown)
        h3 = _h3()
        x = private_numbers(records, columns=2)
        ok = (np.abs(x[:, 0]) <= 90.0) & (np.abs(x[:, 1]) <= 180.0)
        cells = [
            h3.latlng_to_cell(lat, lon, self.resolution) if good else None
            for (lat, lon), good in zip(x, ok, strict=True)
        ]
        ids = self.index.find(cells)
        if unknown == "nearest":
            for i in np.flatnonzero((ids < 0) & ok):
                ids[i] = int(great_circle(self.points[:, 0], self.points[:, 1], *x[i]).argmin())
        return ids

    def _graph(self, spacing: Any) -> NeighbourGraph:
        """A spanner of the centres; a grid of latitudes and longitudes around them if asked for, or if too many."""
        width = checked_spacing(spacing, "km")
        if width is None and self.size <= MOST_CERTIFIED:
            return spanner_graph(self)
        least = self.least_distance_lower * self.diameter
        return scattered_graph(self.points, self.diameter, width or least, least)

    def _spec(self) -> dict[str, Any]:
        return self._plain(cells=self.labels, default=self.default)
