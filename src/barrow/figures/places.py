"""Places on a map: points, cells of a grid, hexagons or any polygons; neighbours of one class become one shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barrow.errors import ParameterError
from barrow.figures.outline import relative_path
from barrow.figures.projection import Box, Projection
from barrow.figures.readings import Numbers, finite
from barrow.figures.svg import Floats

Ids = npt.NDArray[np.int64]


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
        made = cls.cells(south, west, north, east)
        return cls(y, x, made.corners)

    @classmethod
    def polygons(cls, shapes: Sequence[Sequence[Sequence[float]]]) -> Places:
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

    def turned(self, projection: Projection) -> Places:
        """The same places, moved by whole turns to where the map is."""
        middle = (projection.box[1] + projection.box[3]) / 2
        turn = 360 * np.round((self.lon - middle) / 360)
        corners = self.corners
        if corners is not None and turn.any():
            corners = corners.copy()
            corners[:, :, 1] -= turn[:, None]
        return Places(self.lat, self.lon - turn, corners)


def _degrees(lat: Numbers, lon: Numbers) -> tuple[Floats, Floats]:
    y, x = finite(lat, "latitudes").ravel(), finite(lon, "longitudes").ravel()
    if len(y) != len(x) or not len(y) or (np.abs(y) > 90).any() or (np.abs(x) > 540).any():
        raise ParameterError(
            f"There are {len(y)} latitudes and {len(x)} longitudes.",
            allowed="as many of both, latitudes from -90 to 90, longitudes in degrees",
            fix="lat=[40.7], lon=[-74.0]",
        )
    return y, x


def shapes_of(places: Places, classes: Ids, projection: Projection, count: int) -> list[str]:
    """One path for each class from 1 to ``count``: the union of its cells."""
    if places.corners is None:
        return _discs(places, classes, projection, count)
    kept = np.flatnonzero(classes > 0)
    if not len(kept):
        return [""] * count
    rings = _subdivided(places.corners[kept], projection)
    rings, cell_classes = _on_both_sides(rings, classes[kept], projection)
    x, y = (np.round(p * 20).astype(np.int64) for p in projection.pixels(rings[:, :, 0], rings[:, :, 1]))
    corners, ids = np.unique((x << 32) + y, return_inverse=True)
    ids = ids.reshape(x.shape)
    start, end = ids, np.roll(ids, -1, axis=1)
    owner = np.repeat(cell_classes[:, None], ids.shape[1], axis=1)
    used = start != end
    start, end, owner = start[used], end[used], owner[used]
    # Within a class an edge that is walked both ways lies inside the union.
    size = len(corners)
    forth, back = (owner * size + start) * size + end, (owner * size + end) * size + start
    outer = ~np.isin(forth, back)
    start, end, owner = start[outer], end[outer], owner[outer]
    high = (corners + 2**31) >> 32
    points = np.column_stack([high, corners - (high << 32)]) / 20.0
    return [_traced(start[owner == c], end[owner == c], points) for c in range(1, count + 1)]


def _on_both_sides(rings: Floats, classes: Ids, projection: Projection) -> tuple[Floats, Ids]:
    """A cell over the edge of a map of all longitudes is drawn on both sides; the frame cuts what sticks out."""
    _, west, _, east = projection.box
    if east - west < 359:
        return rings, classes
    all_rings, all_classes = [rings], [classes]
    for turn, over in ((360.0, rings[:, :, 1].min(axis=1) < west), (-360.0, rings[:, :, 1].max(axis=1) > east)):
        if over.any():
            all_rings.append(rings[over] + np.array([0.0, turn]))
            all_classes.append(classes[over])
    return np.concatenate(all_rings), np.concatenate(all_classes)


def _subdivided(corners: Floats, projection: Projection) -> Floats:
    """Long edges get points in between, so that they bend with the map; neighbours get the same ones."""
    south, west, north, east = projection.box
    length = np.abs(np.diff(corners, axis=1)).max() / max(north - south, east - west)
    parts = int(np.clip(np.ceil(length * 30), 1, 16))
    if parts == 1:
        return corners
    after = np.roll(corners, -1, axis=1)
    share = (np.arange(parts) / parts)[None, None, :, None]
    return (corners[:, :, None, :] * (1 - share) + after[:, :, None, :] * share).reshape(len(corners), -1, 2)


def _traced(start: Ids, end: Ids, points: Floats) -> str:
    """Edges chained into rings."""
    following: dict[int, list[int]] = {}
    for a, b in zip(start.tolist(), end.tolist(), strict=True):
        following.setdefault(a, []).append(b)
    paths = []
    while following:
        first, targets = next(iter(following.items()))
        chain, at = [first], targets.pop()
        if not targets:
            del following[first]
        while at != first and at in following:
            chain.append(at)
            targets = following[at]
            onward = targets.pop()
            if not targets:
                del following[at]
            at = onward
        paths.append(relative_path(_straightened(points[chain]), close=True))
    return "".join(paths)


def _straightened(ring: Floats) -> Floats:
    """The ring without corners that lie on a straight line between their neighbours, to a fraction of a pixel."""
    z = ring[:, 0] + 1j * ring[:, 1]
    for turn in range(8):
        if len(z) < 5:
            break
        before, after = np.concatenate((z[-1:], z[:-1])), np.concatenate((z[1:], z[:1]))
        side, span = after - before, z - before
        flat = np.abs(side.real * span.imag - side.imag * span.real) < 0.12 * np.abs(side)
        # Never two neighbours at once, since each is judged by the other.
        flat[turn % 2 :: 2] = False
        flat[0] = False
        z = z[~flat]
    return np.column_stack([z.real, z.imag])


def _discs(places: Places, classes: Ids, projection: Projection, count: int) -> list[str]:
    x, y = projection.pixels(places.lat, places.lon)
    r = disc_radius(x, y)
    out = [""] * count
    for c in range(1, count + 1):
        members = np.flatnonzero(classes == c)
        out[c - 1] = "".join(
            f"M{a:.1f} {b:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z"
            for a, b in zip((x[members] - r).tolist(), y[members].tolist(), strict=True)
        )
    return out


def disc_radius(x: Floats, y: Floats) -> float:
    """A radius at which most discs do not touch: half the usual distance to the nearest other, from 2.5 to 8 pixels."""
    if len(x) < 2:
        return 8.0
    some = np.linspace(0, len(x) - 1, min(len(x), 31)).astype(np.int64)
    apart = np.hypot(x[some][:, None] - x[None, :], y[some][:, None] - y[None, :])
    apart[np.arange(len(some)), some] = np.inf
    return float(np.round(np.clip(np.median(apart.min(axis=1)) / 2, 2.5, 8.0), 1))
