"""A map of released values: classes of colour, hatched where nothing stands out of the noise, and how sure each is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics.exact import PERCENT, at_most, between, near
from barrow.numerics.places import Places
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.outline import Ground, Outline, bundled_ground, own_ground, relative_path
from barrow.render.figures.places import Ids, disc_radius, shapes_of, turned
from barrow.render.figures.projection import MapProjection, checked_box
from barrow.render.figures.readings import (
    MOST_CLASSES,
    Numbers,
    Readings,
    checked_labels,
    class_edges,
    class_names,
    classes_of,
    coarse_edges,
    finite,
)
from barrow.render.figures.svg import KEY, element, hatched, legend, mark, number, shades_of

if TYPE_CHECKING:
    from barrow.questions.value_tables import Regions

MOST_MARKS = 600
_MANY = 20_000
_SURE = ("cannot be told from 0", "± 20 % of the value or more", "± 10 % to 20 % of the value", "better than ± 10 %")


def map_figure(
    places: Places,
    values: Numbers,
    *,
    low: Numbers | None = None,
    high: Numbers | None = None,
    noise: Numbers | None = None,
    unit: str = PERCENT,
    box: Sequence[float] | None = None,
    labels: Sequence[object] | None = None,
    outline: Outline | None = None,
    redraws: Sequence[Numbers] = (),
    regions: Regions | None = None,
    title: str = "Map",
    width: int = 720,
    most_height: int = 520,
) -> Figure:
    """A map in an equal-area projection.

    Args:
        places: Points, cells or polygons.
        values: One for each place.
        low: The lower ends of 95 % intervals.
        high: The upper ends.
        noise: What the noise alone reaches anywhere with 5 %: places not above it are hatched.
        unit: "%" for shares, else the unit of the values.
        box: South, west, north, east; by default what holds all places.
        labels: Names of the places; their coordinates by default.
        outline: GeoJSON to draw instead of the bundled coasts and borders.
        redraws: Values of other maps that fit what was released as well: more layers.
        regions: Neighbouring places that stand out together: these are painted too, and everything else is hatched.
        title: What the figure is.
        width: In pixels.
        most_height: The greatest height of the map in pixels.

    >>> cells = Places.cells([40, 40], [-75, -74], [41, 41], [-74, -73])
    >>> print(map_figure(cells, [0.01, 0.4], noise=0.02, title="Visits"))
    Visits. 1 of 2 places stand out of the noise. The largest values: 40.5°N 73.5°W: 40 %. Hatched places cannot be told
    from 0.
    """
    readings = Readings.of(values, low=low, high=high, noise=noise, unit=unit)
    if len(readings) != len(places):
        raise ParameterError(
            f"There are {len(readings)} values for {len(places)} places.",
            allowed="one a place",
            fix="one value a place",
        )
    shown = readings if regions is None else _together(readings, regions)
    view = places.bounds() if box is None else checked_box(box)
    names = _names(places, view) if labels is None else checked_labels(labels, len(readings))
    projection = MapProjection(view, float(width), float(most_height))
    places = turned(places, projection)
    ground = bundled_ground(projection) if outline is None else own_ground(outline, projection)
    edges = class_edges(shown) if regions is None else coarse_edges(shown)
    classes = classes_of(shown, edges)
    height = projection.fit[3]
    layers = _layers(places, shown, edges, classes, projection, redraws, (width, height))
    marks = _marks(places, readings, names, projection)
    if regions is not None:
        marks += _region_marks(places, readings, regions, projection, MOST_MARKS - len(marks))
    body = [
        _shapes(ground, projection),
        _under(ground, bool((classes == 0).any())),
        "".join(shapes for shapes, _, _ in layers),
        _over(ground),
        _scale_bar(projection, height),
        "".join(marks),
        "".join(key for _, key, _ in layers),
    ]
    return build_figure(
        *body,
        title=title,
        description=_map_text(readings, names, len(marks), places, regions),
        width=width,
        height=height + max(used for _, _, used in layers) + 34,
        kind="map",
        reach=24,
        other="Nothing here stands out of the noise." if (classes == 0).any() else "",
    )


def place_name(lat: float, lon: float, digits: int = 1) -> str:
    """A place by its coordinates, with so many decimals."""

    def written(degrees: float) -> str:
        return f"{abs(round(degrees, digits)):.{digits}f}".rstrip("0").rstrip(".")

    east = (lon + 180) % 360 - 180
    return f"{written(lat)}°{'S' if lat < 0 else 'N'} {written(east)}°{'W' if east < 0 else 'E'}"


def _names(places: Places, view: Sequence[float]) -> list[str]:
    """Names that tell places of one map apart: the smaller the map, the more decimals."""
    size = max(view[2] - view[0], view[3] - view[1])
    digits = 1 if size >= 4 else 2 if size >= 0.4 else 3
    return [place_name(a, b, digits) for a, b in zip(places.lat.tolist(), places.lon.tolist(), strict=True)]


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


def _under(ground: Ground, below: bool) -> str:
    """Sea, land, and the hatching of what is below the noise: what stands out is painted over it."""
    parts = [_again("edge", class_="sea" if ground.sea else "land")]
    if ground.land:
        parts.append(element("g", _again("land", class_="land"), clip_path=f"url(#{KEY}-frame)"))
    if below:
        parts.append(_again("edge", fill=hatched()))
    return "".join(parts)


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
    redraws: Sequence[Numbers],
    size: tuple[float, float],
) -> list[tuple[str, str, float]]:
    """For each layer its shapes, its key, and how high that is. The first is shown, a script lets the others appear."""
    width, height = size
    shown: list[tuple[str, str, Ids, Sequence[str], Sequence[int]]] = []
    names = class_names(edges, readings.unit)
    shades = shades_of(names)
    shown.append(("Values", "", np.asarray(shades)[classes], names, shades))
    if readings.low is not None and readings.high is not None and len(readings) <= _MANY:
        half = np.maximum(readings.high - readings.value, readings.value - readings.low)
        relative = half / np.maximum(readings.value, 1e-300)
        sure = np.select([classes == 0, relative < 0.1, relative < 0.2], [0, 5, 3], 1)
        shown.append(("How sure", "How wide each interval is, relative to its value.", sure, _SURE, (0, 1, 3, 5)))
    for k, other in enumerate(redraws):
        again = finite(other, "redraws").ravel()
        if len(again) != len(readings):
            raise ParameterError("A redraw has another length.", allowed="one value a place", fix="one value a place")
        result = np.searchsorted(np.asarray(edges), again, side="left")
        name = "Another map that fits" + (f" ({k + 1})" if len(redraws) > 1 else "")
        about = "One of many maps that the released numbers allow: what changes between them is noise."
        shown.append((name, about, np.asarray(shades)[result], names, shades))
    out = []
    for k, (name, about, result, words, used) in enumerate(shown):
        paths = shapes_of(places, result.astype(np.int64), projection, MOST_CLASSES)
        cells = [element("path", d=d, class_=f"cell q{c}") for c, d in enumerate(paths, 1) if d]
        hidden = {"class_": "off"} if k else {}
        shapes = element("g", *cells, data_layer=name, data_about=about, clip_path=f"url(#{KEY}-frame)", **hidden)
        key, tall = legend(words, x=6, y=height + 32, width=width - 6, below=bool((result == 0).any()), classes=used)
        out.append((shapes, element("g", key, data_layer=name, **hidden), tall))
    return out


def _marks(places: Places, readings: Readings, names: Sequence[str], projection: MapProjection) -> list[str]:
    """What can be read out: the places that stand out, at most so many of them."""
    order = readings.largest(MOST_MARKS)
    order = order[~readings.below[order]]
    x, y = projection.pixels(places.lat, places.lon)
    r = disc_radius(x, y)
    results = []
    for i in order.tolist():
        spot = element("circle", cx=float(x[i]), cy=float(y[i]), r=r, class_="spot")
        results.append(mark(spot, at=(float(x[i]), float(y[i])), label=readings.describe(i, names[i])))
    return results


def _together(readings: Readings, regions: Regions) -> Readings:
    """Places of a region are as sure as the region is; those that stand out alone as sure as they are."""
    low, high = regions.ends(readings.value)
    alone = ~readings.below if readings.low is not None else np.zeros(len(readings), dtype=bool)
    if readings.low is not None and readings.high is not None:
        low, high = np.where(alone, readings.low, low), np.where(alone, readings.high, high)
    return Readings(readings.value, low, np.maximum(high, low), None, readings.unit)


def _region_marks(
    places: Places, readings: Readings, regions: Regions, projection: MapProjection, most: int
) -> list[str]:
    """Regions of several places, the largest first, each read out at the place in it that is nearest to its middle."""
    x, y = projection.pixels(places.lat, places.lon)
    r = disc_radius(x, y)
    texts: list[str] = []
    for region, inside in _members(regions):
        if len(texts) >= most:
            break
        if len(inside) == 1 and not readings.below[inside[0]]:
            continue  # it stands out alone
        middle = np.hypot(x[inside] - x[inside].mean(), y[inside] - y[inside].mean())
        i = int(inside[int(np.argmin(middle))])
        spot = element("circle", cx=float(x[i]), cy=float(y[i]), r=r, class_="spot")
        text = _region_words(regions, region, len(inside), places, i, readings.unit)
        texts.append(mark(spot, at=(float(x[i]), float(y[i])), label=text))
    return texts


def _members(regions: Regions) -> list[tuple[int, Ids]]:
    """The number of each region, the largest share first, and its places."""
    order = np.argsort(regions.of, kind="stable")
    ends = np.searchsorted(regions.of[order], np.arange(1, len(regions.share) + 2))
    by_share = np.argsort(-regions.share, kind="stable") + 1
    return [(number, order[ends[number - 1] : ends[number]]) for number in by_share.tolist()]


def _region_words(regions: Regions, number: int, count: int, places: Places, i: int, unit: str) -> str:
    where = place_name(float(places.lat[i]), float(places.lon[i]), 2)
    many = f"{count:,} places round {where}" if count > 1 else where
    low, high = float(regions.low[number - 1]), float(regions.high[number - 1])
    return f"{many}: {near(float(regions.share[number - 1]), unit)}, with 95 % certainty {between(low, high, unit)}"


def _regions_text(readings: Readings, regions: Regions, places: Places, marked: int) -> str:
    """What stands out, alone and together; all regions hold at once."""
    seen, result = int((regions.of > 0).sum()), _members(regions)
    held = float(readings.value[regions.of > 0].sum())
    many = f"{len(result):,} region{'s' * (len(result) != 1)}"
    share = near(held, PERCENT, digits=2)
    lines = [f"{many}, of {seen:,} of {len(readings):,} places, stand out of the noise; they hold about {share}."]
    words = []
    for region, inside in result[:3]:
        middle = int(inside[len(inside) // 2])
        words.append(_region_words(regions, region, len(inside), places, middle, readings.unit))
    lines.append(f"The largest: {'; '.join(words)}.")
    lines.append("All intervals of regions hold at once with 95 %; within a region the colours are an estimate.")
    if marked < len(result):
        lines.append(f"The {marked:,} largest can be read out.")
    if (regions.of == 0).any():
        lines.append("Hatched: nothing stands out there.")
    return " ".join(lines)


def _scale_bar(projection: MapProjection, height: float) -> str:
    per_pixel = projection.kilometres()
    wanted = per_pixel * projection.width * 0.12
    lengths = [m * 10.0**k for k in range(-3, 5) for m in (1, 2, 5)]
    length = max((k for k in lengths if k <= wanted), default=lengths[0])
    bar, right = length / per_pixel, projection.width - 8
    text = (near(length, "km") if length >= 1 else near(length * 1000, "m")) + (" mid-map" if projection.wide else "")
    return element(
        "path", d=f"M{number(right - bar)},{number(height + 12)}v5h{number(bar)}v-5", class_="axis"
    ) + element("text", text=text, x=right - bar - 8, y=height + 18, class_="tick end")


def _map_text(readings: Readings, names: Sequence[str], marked: int, places: Places, regions: Regions | None) -> str:
    if regions is not None:
        return _regions_text(readings, regions, places, marked)
    below = int(readings.below.sum())
    seen = len(readings) - below
    best = [i for i in readings.largest(3).tolist() if not readings.below[i]]
    lines = [f"{seen:,} of {len(readings):,} places stand out of the noise."]
    if best:
        words = [readings.describe(i, names[i]) for i in best]
        lines.append(f"The largest values: {'; '.join(words)}.")
    if marked < seen:
        lines.append(f"The {marked:,} largest can be read out.")
    if below:
        bound = ""
        if readings.high is not None:
            most = max(float(readings.high[readings.below].max()), 0.0)
            bound = f": each is at most {at_most(most, readings.unit, digits=2)}"
        lines.append(f"Hatched places cannot be told from 0{bound}.")
    return " ".join(lines)
