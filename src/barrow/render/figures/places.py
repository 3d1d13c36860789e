"""Places drawn on a map: neighbours of one class become one shape."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.numerics.places import Places
from barrow.numerics.search import among, median
from barrow.render.figures.outline import relative_path
from barrow.render.figures.projection import MapProjection
from barrow.render.figures.svg import Floats

Ids = npt.NDArray[np.int64]


def turned(places: Places, projection: MapProjection) -> Places:
    """The same places, moved by whole turns to where the map is."""
    middle = (projection.box[1] + projection.box[3]) / 2
    turn = 360 * np.round((places.lon - middle) / 360)
    corners = places.corners
    if corners is not None and turn.any():
        corners = corners.copy()
        corners[:, :, 1] -= turn[:, None]
    return Places(places.lat, places.lon - turn, corners)


def shapes_of(places: Places, classes: Ids, projection: MapProjection, count: int) -> list[str]:
    """One path for each class from 1 to ``count``: the union of its cells."""
    if places.corners is None:
        return _discs(places, classes, projection, count)
    indices = np.flatnonzero(classes > 0)
    if not len(indices):
        return [""] * count
    rings = _subdivided(places.corners[indices], projection)
    rings, cell_classes = _on_both_sides(rings, classes[indices], projection)
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
    outer = ~among(forth, back)
    start, end, owner = start[outer], end[outer], owner[outer]
    high = (corners + 2**31) >> 32
    points = np.column_stack([high, corners - (high << 32)]) / 20.0
    return [_traced(start[owner == c], end[owner == c], points) for c in range(1, count + 1)]


def _on_both_sides(rings: Floats, classes: Ids, projection: MapProjection) -> tuple[Floats, Ids]:
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


def _subdivided(corners: Floats, projection: MapProjection) -> Floats:
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


def _discs(places: Places, classes: Ids, projection: MapProjection, count: int) -> list[str]:
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
    squares = (x[some][:, None] - x[None, :]) ** 2 + (y[some][:, None] - y[None, :]) ** 2
    squares[np.arange(len(some)), some] = np.inf
    return float(np.round(np.clip(median(np.sqrt(squares.min(axis=1))) / 2, 2.5, 8.0), 1))
