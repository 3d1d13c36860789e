"""Places on the Earth as plain geometry: points, cells of a grid, hexagons or any polygons, in degrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barrow.errors import ParameterError

Floats = npt.NDArray[np.float64]
Numbers = Sequence[float] | npt.NDArray[np.floating] | float
"""One number for each item, or one for all."""
Box = tuple[float, float, float, float]
"""South, west, north and east, in degrees."""


def finite(values: Numbers, name: str) -> Floats:
    """Numbers as an array of floats; NaN and infinity are refused."""
    try:
        result = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} is not made of numbers.", allowed="numbers", fix=f"{name}=[0.1, 0.2]") from None
    if not np.isfinite(result).all():
        raise ParameterError(
            f"{name} has a number that is not finite.",
            allowed="finite numbers",
            fix="leave out what has no value before drawing",
        )
    return result


@dataclass(frozen=True, eq=False)
class Places:
    """Where values belong: made by :meth:`points`, :meth:`cells`, :meth:`around` or :meth:`polygons`.

    ``lat`` and ``lon`` are the middles; ``corners`` are rows of (latitude, longitude), None for points.

    >>> len(Places.cells([40, 40], [0, 1], [41, 41], [1, 2]))
    2
    """

    lat: Floats
    lon: Floats
    corners: Floats | None

    def __len__(self) -> int:
        """How many places there are."""
        return len(self.lat)

    @classmethod
    def points(cls, lat: Numbers, lon: Numbers) -> Places:
        """Points, drawn as discs.

        >>> Places.points([40.7], [-74.0]).corners is None
        True
        """
        return cls(*_degrees(lat, lon), None)

    @classmethod
    def cells(cls, south: Numbers, west: Numbers, north: Numbers, east: Numbers) -> Places:
        """Cells between two latitudes and two longitudes.

        >>> Places.cells([40], [0], [41], [1]).lat.tolist()
        [40.5]
        """
        s, w = _degrees(south, west)
        n, e = _degrees(north, east)
        if len(s) != len(n) or (n <= s).any() or (e <= w).any():
            raise ParameterError(
                "A cell has no area.", allowed="south below north, west below east", fix="cells([40], [0], [41], [1])"
            )
        corners = np.stack([np.stack([s, s, n, n], axis=1), np.stack([w, e, e, w], axis=1)], axis=2)
        return cls((s + n) / 2, (w + e) / 2, corners)

    @classmethod
    def around(cls, lat: Numbers, lon: Numbers, *, box: Box | None = None) -> Places:
        """Cells about the points of a grid: rows of latitude, each row with its own spacing; cut at the box.

        >>> Places.around([0, 0, 2, 2], [0, 2, 0, 2]).corners[0].tolist()
        [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]
        """
        y, x = _degrees(lat, lon)
        # Latitudes that differ by rounding are one row: else cells would have no height.
        rows, row = np.unique(np.round(y, 9), return_inverse=True)
        order = np.lexsort((x, row))
        same = np.diff(row[order]) == 0
        gap = np.full(len(rows), np.inf)
        np.minimum.at(gap, row[order][1:][same], np.diff(x[order])[same])
        if (gap <= 1e-9).any():
            raise ParameterError("Two points are the same.", allowed="each point once", fix="drop the second")
        tall = float(np.diff(rows).min()) if len(rows) > 1 else float("inf")
        known = gap[np.isfinite(gap)]
        tall = tall if np.isfinite(tall) else (float(known.min()) if len(known) else 1.0)
        wide = np.where(np.isfinite(gap), gap, known.max() if len(known) else tall)[row]
        south, north, west, east = y - tall / 2, y + tall / 2, x - wide / 2, x + wide / 2
        limits = (-90.0, -np.inf, 90.0, np.inf) if box is None else box
        south, north = np.maximum(south, limits[0]), np.minimum(north, limits[2])
        west, east = np.maximum(west, limits[1]), np.minimum(east, limits[3])
        if (north <= south).any() or (east <= west).any():
            raise ParameterError("A point is outside the box.", allowed="points within the box", fix="a larger box")
        built = cls.cells(south, west, north, east)
        return cls(y, x, built.corners)

    @classmethod
    def polygons(cls, shapes: Sequence[npt.ArrayLike]) -> Places:
        """Any polygons, each a ring of (latitude, longitude) pairs, e.g. hexagons.

        >>> Places.polygons([[(0, 0), (0, 1), (1, 0)]]).lat.round(2).tolist()
        [0.33]
        """
        rings = [finite(np.asarray(shape, dtype=np.float64), "polygons").reshape(-1, 2) for shape in shapes]
        rings = [ring[:-1] if len(ring) > 1 and (ring[0] == ring[-1]).all() else ring for ring in rings]
        if not rings or min(len(ring) for ring in rings) < 3:
            raise ParameterError(
                "A polygon has fewer than three corners.", allowed="three or more", fix="[(0, 0), (0, 1), (1, 0)]"
            )
        most = max(len(ring) for ring in rings)
        # Shorter rings repeat their last corner; edges without length are dropped when shapes are merged.
        corners = np.stack([np.vstack([ring, np.repeat(ring[-1:], most - len(ring), axis=0)]) for ring in rings])
        turn = corners[:, :, 1] - corners[:, :1, 1]
        corners[:, :, 1] -= 360 * np.round(turn / 360)
        middle = np.array([ring.mean(axis=0) for ring in (c[: len(r)] for c, r in zip(corners, rings, strict=True))])
        return cls(*_degrees(middle[:, 0], middle[:, 1]), corners)

    def bounds(self) -> Box:
        """A box about all places, with a margin."""
        lat = self.lat if self.corners is None else self.corners[:, :, 0]
        lon = self.lon if self.corners is None else self.corners[:, :, 1]
        south, north, west, east = (float(v) for v in (lat.min(), lat.max(), lon.min(), lon.max()))
        size = max(north - south, east - west)
        spare = max(0.03 * size, 0.01) if size > 0 else 2.0
        if east - west + 2 * spare > 360:
            west, east = (west + east) / 2 - 180 + spare, (west + east) / 2 + 180 - spare
        return max(-90.0, south - spare), west - spare, min(90.0, north + spare), east + spare


def _degrees(lat: Numbers, lon: Numbers) -> tuple[Floats, Floats]:
    y, x = finite(lat, "latitudes").ravel(), finite(lon, "longitudes").ravel()
    if len(y) != len(x) or not len(y) or (np.abs(y) > 90).any() or (np.abs(x) > 540).any():
        raise ParameterError(
            f"There are {len(y)} latitudes and {len(x)} longitudes.",
            allowed="as many of both, latitudes from -90 to 90, longitudes in degrees",
            fix="lat=[40.7], lon=[-74.0]",
        )
    return y, x
