"""A map of released values: classes of colour, hatched where nothing stands out from the noise, and its accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np
import numpy.typing as npt

from barrow.errors import ParameterError
from barrow.numerics.exact import PERCENT, at_most, between, near, within
from barrow.numerics.places import Places
from barrow.render.figures.cities import place_names
from barrow.render.figures.data import MapData, key_of
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.geography import PlaceNames, cell_reach, landmarks
from barrow.render.figures.layers import FIRST, FigureLayer, layer_group
from barrow.render.figures.outline import Ground, Outline, bundled_ground, own_ground, relative_path
from barrow.render.figures.places import Ids, disc_radius, shapes_of, turned
from barrow.render.figures.projection import Box, MapProjection, checked_box
from barrow.render.figures.readings import (
    MOST_CLASSES,
    Beside,
    Numbers,
    Readings,
    checked_labels,
    class_edges,
    class_names,
    classes_of,
    coarse_edges,
    finite,
    known_together,
)
from barrow.render.figures.svg import KEY, Floats, element, hatched, legend, mark, number, shades_of

if TYPE_CHECKING:
    from barrow.questions.value_tables import Regions

MOST_MARKS = 600
_MANY = 20_000
_LEAST, _MOST = 0.04, 0.75
"""A map is cropped to no less than the first of its size, and not at all where more than the second would stay."""
_SURE = (
    "cannot be distinguished from 0",
    "± 20 % of the value or more",
    "± 10 % to 20 % of the value",
    "better than ± 10 %",
)


def map_figure(
    places: Places,
    values: Numbers,
    *,
    box: Sequence[float] | None = None,
    labels: Sequence[object] | None = None,
    outline: Outline | None = None,
    layers: Sequence[FigureLayer] = (),
    regions: Regions | None = None,
    title: str = "Map",
    crop: bool = True,
    width: int = 720,
    most_height: int = 440,
    scale: Readings | None = None,
    **beside: Unpack[Beside],
) -> Figure:
    """A map in an equal-area projection.

    Args:
        places: Points, cells or polygons.
        values: One for each place.
        box: South, west, north, east; by default what holds all places.
        labels: Names of the places; the nearest large cities by default.
        outline: GeoJSON to draw instead of the bundled coasts and borders.
        layers: What else it could show: other maps that a script switches to.
        regions: Neighbouring places that stand out together: these are painted too, and everything else is hatched.
        title: What the figure is.
        crop: Show the part where values stand out, where that is a part.
        width: In pixels.
        most_height: The greatest height of the map in pixels.
        scale: The readings of all maps that share this one's classes of colour, and its part of the world.
        beside: Intervals, noise and unit, see :class:`Beside`; places not above the noise are hatched.

    >>> cells = Places.cells([40, 40], [-75, -74], [41, 41], [-74, -73])
    >>> print(map_figure(cells, [0.01, 0.4], noise=0.02, title="Visits"))
    Visits. 1 of 2 places stand out from the noise. The largest values: New York: 40 %. Hatched places cannot be
    distinguished from 0.
    """
    readings = Readings.of(values, **beside)
    _check_counts(readings, places, labels)
    shown = readings if regions is None else known_together(readings, regions)
    whole = places.bounds() if box is None else checked_box(box)
    seen = _seen(shown, scale)
    view = _view(turned(places, MapProjection(whole, 1.0, 1.0)), seen, whole) if crop else whole
    projection = MapProjection(view, float(width), float(most_height))
    places = turned(places, projection)
    ground = bundled_ground(projection) if outline is None else own_ground(outline, projection)
    common = shown if scale is None else scale
    edges = class_edges(common) if regions is None else coarse_edges(common)
    classes = classes_of(shown, edges)
    height = projection.fit[3]
    drawn = _layers(places, shown, edges, classes, projection, layers, (width, height))
    named = PlaceNames(places, labels)
    marks = _marks(places, readings, named, projection)
    if regions is not None:
        marks += _region_marks(places, readings, regions, projection, MOST_MARKS - len(marks))
    unsure = _unsure(places, projection, None if box is None else whole) if (classes == 0).any() else ""
    figure = build_figure(
        *_stacked(ground, projection, unsure, drawn, marks),
        title=title,
        description=_map_text(readings, named, len(marks), places, regions, whole != view),
        width=width,
        height=height + max(used for _, _, used in drawn) + 34,
        kind="map",
        reach=24,
        other="Nothing here stands out from the noise." if (classes == 0).any() else "",
    )
    return replace(figure, data=_map_data(places, edges, classes, readings.unit, view))


def _map_data(places: Places, edges: Sequence[float], classes: Ids, unit: str, view: Box) -> MapData:
    names = class_names(edges, unit)
    shades = shades_of(names)
    drawn = np.asarray(shades)[classes]
    return MapData(places, drawn, key_of(shades, names, drawn), view)


def _check_counts(readings: Readings, places: Places, labels: Sequence[object] | None) -> None:
    if len(readings) != len(places):
        raise ParameterError(
            f"There are {len(readings)} values for {len(places)} places.",
            allowed="one a place",
            fix="one value a place",
        )
    if labels is not None:
        checked_labels(labels, len(readings))


def _stacked(
    ground: Ground,
    projection: MapProjection,
    unsure: str,
    layers: Sequence[tuple[str, str, float]],
    marks: Sequence[str],
) -> list[str]:
    """What a map is made of, from the ground up."""
    under, over = land_and_frame(ground, projection)
    return [
        under,
        unsure,
        "".join(shapes for shapes, _, _ in layers),
        over,
        landmarks(projection),
        scale_bar(projection, projection.fit[3]),
        "".join(marks),
        "".join(key for _, key, _ in layers),
    ]


def _seen(shown: Readings, scale: Readings | None) -> npt.NDArray[np.bool_]:
    """The places that stand out, in any of the maps that share a scale; all where that is not about such places."""
    if scale is None:
        return ~shown.below
    if len(scale) % len(shown):
        return np.ones(len(shown), dtype=np.bool_)
    result: npt.NDArray[np.bool_] = np.any((~scale.below).reshape(-1, len(shown)), axis=0)
    return result


def _view(places: Places, seen: npt.NDArray[np.bool_], whole: Box) -> Box:
    """What of a map is shown: a box about the places that stand out, with room; all of it where they are everywhere."""
    if not seen.any() or seen.all():
        return whole
    corners = None if places.corners is None else places.corners[seen]
    south, west, north, east = Places(places.lat[seen], places.lon[seen], corners).bounds()
    # A map much taller than wide, or of one cell, shows nothing of where it is.
    tall = max(north - south, _LEAST * (whole[2] - whole[0]))
    wide = max(east - west, _LEAST * (whole[3] - whole[1]))
    shrink = math.cos(math.radians((south + north) / 2))
    tall, wide = max(tall, 0.5 * wide * shrink), max(wide, 1.1 * tall / max(shrink, 0.1))
    middle = (south + north) / 2, (west + east) / 2
    tall, wide = 1.15 * tall, 1.15 * wide
    if tall > _MOST * (whole[2] - whole[0]) and wide > _MOST * (whole[3] - whole[1]):
        return whole
    low, left = _within(middle[0], tall, whole[0], whole[2]), _within(middle[1], wide, whole[1], whole[3])
    return low[0], left[0], low[1], left[1]


def _within(middle: float, size: float, low: float, high: float) -> tuple[float, float]:
    """A stretch of this size about a middle, moved to lie within ends, or all between them."""
    start = max(low, min(middle - size / 2, high - size))
    return start, min(high, start + size)


def land_and_frame(ground: Ground, projection: MapProjection) -> tuple[str, str]:
    """What lies below and above what a map shows."""
    return _shapes(ground, projection) + _under(ground), _over(ground)


def _shapes(ground: Ground, projection: MapProjection) -> str:
    """Shapes that are drawn more than once: the map's edge and its land."""
    x, y = projection.pixels(*projection.frame())
    edge = relative_path(np.column_stack([x, y]), close=True)
    parts = [element("path", d=edge, id=f"{KEY}-edge"), element("clipPath", _again("edge"), id=f"{KEY}-frame")]
    if ground.land:
        parts.append(element("path", d=ground.land, id=f"{KEY}-land", fill_rule="evenodd"))
    return element("defs", *parts)


def _again(name: str, **attributes: str) -> str:
    return element("use", href=f"#{KEY}-{name}", **attributes)


def _under(ground: Ground) -> str:
    """Sea and land."""
    parts = [_again("edge", class_="sea" if ground.sea else "land")]
    if ground.land:
        parts.append(element("g", _again("land", class_="land"), clip_path=f"url(#{KEY}-frame)"))
    return "".join(parts)


def _unsure(places: Places, projection: MapProjection, box: Box | None) -> str:
    """The hatching of the space itself, a box or its cells: what stands out from the noise is painted over it."""
    if box is not None:
        if box == projection.box:
            return _again("edge", fill=hatched())
        x, y = projection.pixels(*projection.frame(box))
        path = relative_path(np.column_stack([x, y]), close=True)
        return element("path", d=path, fill=hatched(), clip_path=f"url(#{KEY}-frame)")
    if places.corners is None:
        return ""
    path = shapes_of(places, np.ones(len(places), dtype=np.int64), projection, 1)[0]
    return element("path", d=path, fill=hatched(), clip_path=f"url(#{KEY}-frame)")


def _over(ground: Ground) -> str:
    lines = [_again("land", class_="coast")] if ground.land else []
    kinds = ((ground.border, "border"), (ground.state, "state"))
    lines += [element("path", d=path, class_=kind) for path, kind in kinds if path]
    return element("g", *lines, clip_path=f"url(#{KEY}-frame)") + _again("edge", class_="frame")


def _layers(
    places: Places,
    readings: Readings,
    edges: Sequence[float],
    classes: Ids,
    projection: MapProjection,
    more: Sequence[FigureLayer],
    size: tuple[float, float],
) -> list[tuple[str, str, float]]:
    """For each layer its shapes, its key, and how high that is. The first is shown, a script lets the others appear."""
    width, height = size
    names = class_names(edges, readings.unit)
    shades = shades_of(names)
    first = FIRST if more else FigureLayer("Values", "", [()])
    shown = [(first, [np.asarray(shades)[classes]], names, shades)]
    seen = bool((classes > 0).any())
    if seen and readings.low is not None and readings.high is not None and len(readings) <= _MANY:
        half = np.maximum(readings.high - readings.value, readings.value - readings.low)
        relative = half / np.maximum(readings.value, 1e-300)
        sure = np.select([classes == 0, relative < 0.1, relative < 0.2], [0, 5, 3], 1)
        layer = FigureLayer("How sure", "How wide each interval is, relative to its value.", [sure])
        shown.append((layer, [sure], list(_SURE), [0, 1, 3, 5]))
    for layer in more:
        frames = [finite(frame, "layers").ravel() for frame in layer.frames]
        if any(len(frame) != len(readings) for frame in frames):
            raise ParameterError("A layer has another length.", allowed="one value a place", fix="one value a place")
        other = [np.asarray(shades)[_classes_again(frame, readings, edges, classes)] for frame in frames]
        shown.append((layer, other, names, shades))
    out = []
    for layer, frames, words, used in shown:
        groups = []
        for k, frame in enumerate(frames):
            paths = shapes_of(places, frame.astype(np.int64), projection, MOST_CLASSES)
            cells = [element("path", d=d, class_=f"cell q{c}") for c, d in enumerate(paths, 1) if d]
            groups.append(
                layer_group(*cells, layer=layer, shown=layer is first, frame=k, clip_path=f"url(#{KEY}-frame)")
            )
        below = any(bool((frame == 0).any()) for frame in frames)
        words = words if any((frame > 0).any() for frame in frames) else words[:1]
        key, tall = legend(words, x=6, y=height + 32, width=width - 6, below=below, classes=used)
        out.append(("".join(groups), layer_group(key, layer=layer, shown=layer is first), tall))
    return out


def _classes_again(frame: Floats, readings: Readings, edges: Sequence[float], classes: Ids) -> Ids:
    """The classes of other values; what was hatched stays so while it is below the limit of its place."""
    limit = readings.high if readings.noise is None else readings.noise
    hidden = classes == 0
    if limit is not None:
        hidden &= frame <= limit
    return np.where(hidden, 0, np.searchsorted(np.asarray(edges), frame, side="left"))


def _marks(places: Places, readings: Readings, named: PlaceNames, projection: MapProjection) -> list[str]:
    """What can be read out: the places that stand out, at most so many of them."""
    order = readings.largest(MOST_MARKS)
    order = order[~readings.below[order]]
    x, y = projection.pixels(places.lat, places.lon)
    r = disc_radius(x, y)
    results = []
    for i, name in zip(order.tolist(), named.of(order), strict=True):
        spot = element("circle", cx=float(x[i]), cy=float(y[i]), r=r, class_="spot")
        results.append(mark(spot, at=(float(x[i]), float(y[i])), label=readings.describe(i, name)))
    return results


def _region_marks(
    places: Places, readings: Readings, regions: Regions, projection: MapProjection, most: int
) -> list[str]:
    """Regions of several places, the largest first, each read out at the place in it that is nearest to its middle."""
    x, y = projection.pixels(places.lat, places.lon)
    r = disc_radius(x, y)
    # Those of one place that stands out alone are marked already.
    several = [(k, own) for k, own in _members(regions) if len(own) > 1 or readings.below[own[0]]][: max(most, 0)]
    texts: list[str] = []
    for i, text in _regions_told(several, regions, places, readings.unit):
        spot = element("circle", cx=float(x[i]), cy=float(y[i]), r=r, class_="spot")
        texts.append(mark(spot, at=(float(x[i]), float(y[i])), label=text))
    return texts


def _regions_told(
    several: Sequence[tuple[int, Ids]], regions: Regions, places: Places, unit: str
) -> list[tuple[int, str]]:
    """Some regions in words, each called after where its middle is, as in tables, with the place that is nearest."""
    if not several:
        return []
    lat, lon = (np.array([side[own].mean() for _, own in several]) for side in (places.lat, places.lon))
    names = place_names(lat, lon, cell_reach(places))
    results = []
    for (region, own), up, east, name in zip(several, lat.tolist(), lon.tolist(), names, strict=True):
        across = (places.lon[own] - east) * math.cos(math.radians(up))
        nearest = int(own[np.argmin(np.hypot(places.lat[own] - up, across))])
        results.append((nearest, _region_words(regions, region, len(own), name, unit)))
    return results


def _members(regions: Regions) -> list[tuple[int, Ids]]:
    """The number of each region, the largest share first, and its places."""
    order = np.argsort(regions.of, kind="stable")
    ends = np.searchsorted(regions.of[order], np.arange(1, len(regions.share) + 2))
    by_share = np.argsort(-regions.share, kind="stable") + 1
    return [(number, order[ends[number - 1] : ends[number]]) for number in by_share.tolist()]


def _region_words(regions: Regions, number: int, count: int, where: str, unit: str) -> str:
    many = f"{count:,} cells {where if where.startswith('near ') else f'around {where}'}" if count > 1 else where
    low, high = float(regions.low[number - 1]), float(regions.high[number - 1])
    share = within(float(regions.share[number - 1]), low, high, unit)
    return f"{many}: {share}, with 95 % certainty {between(low, high, unit)}"


def _regions_text(readings: Readings, regions: Regions, places: Places, marked: int) -> str:
    """What stands out, alone and together; all regions hold at once."""
    seen, result = int((regions.of > 0).sum()), _members(regions)
    held = float(readings.value[regions.of > 0].sum())
    many = f"{len(result):,} region{'s' * (len(result) != 1)}"
    share = near(held, PERCENT, digits=2)
    lines = [f"{many}, of {seen:,} of {len(readings):,} places, stand out from the noise; they hold about {share}."]
    words = [text for _, text in _regions_told(result[:3], regions, places, readings.unit)]
    lines.append(f"The largest: {'; '.join(words)}.")
    lines.append("All intervals of regions hold at once with 95 %; within a region the colours are an estimate.")
    if marked < len(result):
        lines.append(f"The {marked:,} largest can be read out.")
    if (regions.of == 0).any():
        lines.append("Hatched: nothing stands out there.")
    return " ".join(lines)


def scale_bar(projection: MapProjection, height: float) -> str:
    """How long a round number of kilometres is."""
    per_pixel = projection.kilometres()
    wanted = per_pixel * projection.width * 0.12
    lengths = [m * 10.0**k for k in range(-3, 5) for m in (1, 2, 5)]
    length = max((k for k in lengths if k <= wanted), default=lengths[0])
    bar, right = length / per_pixel, projection.width - 8
    text = (near(length, "km") if length >= 1 else near(length * 1000, "m")) + (" mid-map" if projection.wide else "")
    return element(
        "path", d=f"M{number(right - bar)},{number(height + 12)}v5h{number(bar)}v-5", class_="axis"
    ) + element("text", text=text, x=right - bar - 8, y=height + 18, class_="tick end")


def _map_text(
    readings: Readings, named: PlaceNames, marked: int, places: Places, regions: Regions | None, cropped: bool
) -> str:
    rest = " Outside this part of the map nothing stands out." if cropped else ""
    if regions is not None:
        return _regions_text(readings, regions, places, marked) + rest
    below = int(readings.below.sum())
    seen = len(readings) - below
    best = [i for i in readings.largest(3).tolist() if not readings.below[i]]
    known = readings.noise is not None or readings.low is not None
    lines = [f"{seen:,} of {len(readings):,} places stand out from the noise." if known else f"{seen:,} places."]
    if best:
        words = [readings.describe(i, name) for i, name in zip(best, named.of(np.array(best)), strict=True)]
        lines.append(f"The largest values: {'; '.join(words)}.")
    if marked < seen:
        lines.append(f"The {marked:,} largest can be read out.")
    if below:
        bound = ""
        if readings.high is not None:
            most = max(float(readings.high[readings.below].max()), 0.0)
            bound = f": each is at most {at_most(most, readings.unit, digits=2)}"
        lines.append(f"Hatched places cannot be distinguished from 0{bound}.")
    return " ".join(lines) + rest
