"""Pictures of one value for each item of a space, by the kind of the space; bars where none is known."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.numerics.exact import near
from barrow.numerics.places import Places
from barrow.render import figures
from barrow.render.figures import Figure, bars, histogram, icicle, matrix, network, ring
from barrow.render.figures.data import ColumnData, MatrixData
from barrow.render.figures.network import MOST_NODES
from barrow.render.figures.readings import Readings
from barrow.render.figures.svg import AxisScale, escape
from barrow.spaces import Circle, Clustered, Earth, Euclidean, Graph, Hexagons, Line, Product, Scale, Space, Tree
from barrow.spaces.augmented import AugmentedSpace
from barrow.spaces.finite import LabelledSpace
from barrow.spaces.shapes import cell_places, earth_places, hexagon_places
from barrow.spaces.space import Floats

_FEW = 12
"""Parts of a circle with names of their own that are drawn as bars."""
_ROWS = 24
"""Places that are rows of a matrix: the largest."""


@singledispatch
def captions(space: Space) -> Sequence[str]:
    """What items are called in pictures: cells by their ends, everything else by its label.

    >>> list(captions(Circle.hours(8)))
    ['0 to 8', '8 to 16', '16 to 24']
    """
    return space.labels


@captions.register
def _(space: Line) -> Sequence[str]:
    return _spans(_columns(space)) if space.cells else space.labels


@captions.register
def _(space: Circle) -> Sequence[str]:
    return _spans(np.linspace(0.0, space.period, space.items + 1)) if space.names is None else space.labels


@captions.register
def _(space: Product) -> Sequence[str]:
    return [", ".join(names) for names in itertools.product(*(captions(part) for part in space.parts))]


@captions.register
def _(space: AugmentedSpace) -> Sequence[str]:
    return [*captions(space.inner), space.last_label]


@singledispatch
def table_names(space: Space) -> Sequence[str]:
    """What items are called in tables: as in pictures, and numbers with their unit.

    >>> table_names(Line(0, 20, unit="km", points=[5, 15]))
    ['5 km', '15 km']
    """
    return [f"{name} {space.unit}".rstrip() if name[-1:].isdigit() else name for name in captions(space)]


@singledispatch
def item_names(space: Space, items: Sequence[int]) -> list[str]:
    """What some items are called in tables: of a product with places these by the nearest city.

    >>> item_names(Line(0, 20, unit="km", points=[5, 15]), [1])
    ['15 km']
    """
    every = table_names(space)
    return [every[i] for i in items]


@item_names.register
def _(space: AugmentedSpace, items: Sequence[int]) -> list[str]:
    inside = item_names(space.inner, [i for i in items if i < space.inner.items])[::-1]
    return [inside.pop() if i < space.inner.items else space.last_label for i in items]


@item_names.register
def _(space: Product, items: Sequence[int]) -> list[str]:
    numbers = np.unravel_index(np.asarray(items, dtype=np.int64), [part.items for part in space.parts])
    parts = []
    for part, own in zip(space.parts, numbers, strict=True):
        places, (known, back) = cell_places(part), np.unique(own, return_inverse=True)
        names = item_names(part, known.tolist()) if places is None else _named(places, known)
        parts.append([names[k] for k in back.tolist()])
    return [", ".join(names) for names in zip(*parts, strict=True)]


@table_names.register
def _(space: LabelledSpace) -> Sequence[str]:
    return space.labels


def _spans(ends: Floats) -> list[str]:
    return [f"{near(a, digits=6)} to {near(b, digits=6)}" for a, b in pairwise(ends.tolist())]


def _columns(space: Line) -> Floats:
    """Where columns of a picture begin and end: cells, or half-way between points."""
    points = np.asarray(space.points)
    if space.cells:
        return np.linspace(space.low, space.high, len(points) + 1)
    middle = (points[1:] + points[:-1]) / 2.0
    half = float(np.diff(points).min()) / 2.0 if len(points) > 1 else 0.5 * (space.high - space.low)
    return np.concatenate([[points[0] - half], middle, [points[-1] + half]])


@singledispatch
def item_figure(space: Space, values: Any, *, outline: Any = None, **style: Any) -> Figure:
    """A picture of one value for each item.

    Args:
        space: Where the items are.
        values: The values, in the order of items.
        outline: GeoJSON to draw on a map instead of the bundled coasts and borders.
        style: ``low``, ``high``, ``noise``, ``unit``, ``title`` and ``width`` of :mod:`barrow.render.figures`; of a map
            also ``layers``.

    >>> from barrow.spaces import Discrete
    >>> print(item_figure(Discrete(["tea", "coffee"]), [0.25, 0.75], title="Drinks"))
    Drinks. The largest value is coffee: 75 %.
    """
    return bars(space.labels, values, **style)


@item_figure.register
def _(space: Line, values: Any, *, outline: Any = None, **style: Any) -> Figure:
    return histogram(_columns(space), values, axis=space.unit, labels=captions(space), **style)


@item_figure.register
def _(space: Scale, values: Any, *, outline: Any = None, **style: Any) -> Figure:
    return bars(space.labels, values, **style)


@item_figure.register
def _(space: Circle, values: Any, *, outline: Any = None, **style: Any) -> Figure:
    names = captions(space)
    if space.names is not None and len(names) <= _FEW:
        return bars(names, values, **style)  # weekdays are read one by one
    style["width"] = min(style.get("width", 480), 480)
    if space.names is not None:
        return ring(names, values, **style)
    around = AxisScale(0.0, space.period, 0.0, 1.0, space.unit).ticks(8)
    ticks = [(at / space.period, f"{at:.6g} {space.unit}".strip()) for at in around if at < space.period]
    figure = ring([f"{name.replace(' to ', '–')} {space.unit}".strip() for name in names], values, ticks=ticks, **style)
    known = {key: style.get(key) for key in ("low", "high", "noise")}
    readings = Readings.of(values, unit=style.get("unit", "%"), **known)
    return replace(figure, data=ColumnData(np.linspace(0.0, space.period, space.items + 1), readings, space.unit))


@item_figure.register
def _(space: Euclidean, values: Any, *, outline: Any = None, **style: Any) -> Figure:
    """A histogram of one coordinate, a matrix of two with the second upwards; else bars."""
    if space.dimension > 2 or space.center is not None:
        return bars(space.labels, values, **style)
    ends = [np.linspace(a, b, n + 1) for a, b, n in zip(space.low, space.high, space.shape, strict=True)]
    if space.dimension == 1:
        return histogram(ends[0], values, axis=space.unit, **style)

    def upright(numbers: Any) -> Any:
        result = np.asarray(numbers, dtype=np.float64)
        return result if result.size != space.items else result.reshape(space.shape).T[::-1].ravel()

    names = [[f"{a:.4g} to {b:.4g}" for a, b in pairwise(end.tolist())] for end in ends]
    turned = {key: upright(style.pop(key)) for key in ("low", "high", "noise") if style.get(key) is not None}
    axes: Any = {"ends": (ends[0], ends[1]), "unit_of_ends": space.unit}
    figure = matrix(names[1][::-1], names[0], upright(values), across_first=True, **axes, **turned, **style)
    if not isinstance(figure.data, MatrixData):
        return figure  # the largest as bars
    return replace(figure, data=replace(figure.data, ends=(ends[0], ends[1]), axis=space.unit))


@item_figure.register
def _(space: Earth, values: Any, *, outline: Any = None, **style: Any) -> Figure:
    return figures.map_figure(earth_places(space), values, box=space.box, outline=outline, **style)


@item_figure.register
def _(space: Hexagons, values: Any, *, outline: Any = None, **style: Any) -> Figure:
    return figures.map_figure(hexagon_places(space), values, outline=outline, **style)


@item_figure.register
def _(space: Graph, values: Any, *, outline: Any = None, **style: Any) -> Figure:
    """The graph itself; bars of the largest where it has too many nodes to be told apart."""
    if space.items > MOST_NODES:
        return bars(space.labels, values, **style)
    return network(space.labels, (space.tails, space.heads), space.block(), values, **style)


@item_figure.register
def _(space: Clustered, values: Any, *, outline: Any = None, **style: Any) -> Figure:
    return icicle([(name, label) for name, labels in space.clusters for label in labels], values, **style)


@item_figure.register
def _(space: Tree, values: Any, *, outline: Any = None, **style: Any) -> Figure:
    """The tree from its root, each leaf as wide as its value."""
    above = {child: parent for child, parent, _ in space.edges}
    return icicle([_way(leaf, above) for leaf in space.labels], values, **style)


def _way(leaf: str, above: Mapping[str, str]) -> list[str]:
    """The nodes from the root to a leaf, each by what it adds to the name of the one above."""
    names = [leaf]
    while names[-1] in above:
        names.append(above[names[-1]])
    return [name.removeprefix(f"{parent}/") or name for name, parent in pairwise(names)][::-1] or [leaf]


@item_figure.register
def _(space: Product, values: Any, *, outline: Any = None, **style: Any) -> Figure:
    """Arrows between places, or a matrix of two parts; else bars."""
    if len(space.parts) != 2:
        return bars(space.labels, values, **style)
    begin, end = (cell_places(part) for part in space.parts)
    if begin is not None and end is not None and space.items > _FEW**2:
        return figures.flows_figure(begin, end, values, outline=outline, **style)
    if (begin is None) != (end is None):
        return _by_place(space, 0 if end is None else 1, values, **style)
    return matrix(_brief(space.parts[0]), _brief(space.parts[1]), values, **style)


def _by_place(space: Product, which: int, values: Any, **style: Any) -> Figure:
    """A row for each of the places with the largest values, by their names, and what they are multiplied by across.

    Pictures that share a scale have the same rows.
    """
    shape = tuple(part.items for part in space.parts)

    def turned(numbers: Any) -> Any:
        table = np.asarray(numbers, dtype=np.float64).reshape(shape)
        return table if which == 0 else table.T

    scale = style.get("scale")
    known = values if scale is None or len(scale) % space.items else scale.value.reshape(-1, space.items).sum(axis=0)
    order = np.argsort(-turned(known).sum(axis=1), kind="stable")[:_ROWS]
    ends = {
        key: turned(style.pop(key))[order].ravel() if np.size(style[key]) == space.items else style.pop(key)
        for key in ("low", "high", "noise")
        if style.get(key) is not None
    }
    if scale is not None and len(scale) % space.items == 0:
        kept = np.arange(space.items).reshape(shape)
        kept = (kept if which == 0 else kept.T)[order].ravel()
        style["scale"] = scale.pick((np.arange(len(scale) // space.items)[:, None] * space.items + kept).ravel())
    places = cell_places(space.parts[which])
    names = [] if places is None else _named(places, order)
    note = (
        f"The {len(order)} places with the largest values are drawn, of {shape[which]:,}."
        if shape[which] > _ROWS
        else ""
    )
    return matrix(names, _brief(space.parts[1 - which]), turned(values)[order].ravel(), note=note, **ends, **style)


def _named(places: Places, index: npt.NDArray[np.int64]) -> list[str]:
    """Some places by the cities in or near them."""
    return figures.place_names(places.lat[index], places.lon[index], reach=figures.cell_reach(places))


@singledispatch
def _brief(space: Space) -> Sequence[str]:
    """Captions for the sides of a matrix: places are called by the nearest city.

    >>> _brief(Earth(box=(40.5, -74.3, 40.9, -73.7), cell=35))
    ['Staten Island', 'Brooklyn', 'Newark', 'Queens']
    """
    return captions(space)


@_brief.register
def _(space: Earth) -> Sequence[str]:
    return _named(earth_places(space), np.arange(space.items)) if space.items <= _FEW**2 else captions(space)


@item_figure.register
def _(space: AugmentedSpace, values: Any, *, outline: Any = None, **style: Any) -> Figure:
    """The picture of what is inside; its description says the value of the one more."""

    def inside(numbers: Any) -> Any:
        result = np.asarray(numbers, dtype=np.float64)
        return result[:-1] if result.size == space.items else result

    whole = Readings.of(
        values, low=style.get("low"), high=style.get("high"), noise=style.get("noise"), unit=style.get("unit", "%")
    )
    for key in ("low", "high", "noise", "truth"):
        if style.get(key) is not None:
            style[key] = inside(style[key])
    if (scale := style.get("scale")) is not None and len(scale) % space.items == 0:
        style["scale"] = scale.pick(np.flatnonzero(np.arange(len(scale)) % space.items < space.inner.items))
    if style.get("regions") is not None:
        style["regions"] = style["regions"].first(space.inner.items)
    if style.get("layers"):
        style["layers"] = [replace(each, frames=[inside(one) for one in each.frames]) for each in style["layers"]]
    figure = item_figure(space.inner, inside(values), outline=outline, **style)
    told = f" Beside what is drawn, {whole.describe(len(whole) - 1, space.last_label)}."
    svg = figure.svg.replace("</desc>", f"{escape(told)}</desc>", 1)
    return replace(figure, svg=svg, description=figure.description + told)
