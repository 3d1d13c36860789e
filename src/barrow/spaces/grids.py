"""Grids of spaces: how coarse they may be, and how far snapping to them moves a record on average.

For predictions, previews and advice only: no guarantee rests on it.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from barrow.spaces.augmented import AugmentedSpace, NoRecords
from barrow.spaces.circle import Circle
from barrow.spaces.euclidean import Euclidean
from barrow.spaces.geographic import Earth
from barrow.spaces.geometry import ByDistance, cell_width
from barrow.spaces.hexagons import Hexagons
from barrow.spaces.lattices import mean_to_middle
from barrow.spaces.line import Line
from barrow.spaces.product import Product
from barrow.spaces.space import Floats, Ids, Space
from barrow.spaces.sphere import EARTH_RADIUS_KM

_FEWER = 0.7
"""Cells of a product's part become so many times fewer at a time."""


@ByDistance
def coarser(space: Space, most: int) -> tuple[Space, Ids] | None:
    """A space with the same distances and about ``most`` items at most, and to which of them each item belongs.

    None where items do not lie on a grid.

    >>> coarser(Circle.hours(), 6)[0].items
    6
    """
    return None


@coarser.register
def _(space: Line, most: int) -> tuple[Space, Ids]:
    wide = Line(space.low, space.high, unit=space._unit, step=(space.high - space.low) / max(1, most), cells=True)
    return wide, wide.encode(space.points)


@coarser.register
def _(space: Circle, most: int) -> tuple[Space, Ids]:
    wide = Circle(space.period, unit=space._unit, step=space.period / max(1, most))
    return wide, wide.encode(space.points)


@coarser.register
def _(space: Euclidean, most: int) -> tuple[Space, Ids] | None:
    if space.center is not None:
        return None
    factor = float(np.ceil((space.items / most) ** (1.0 / space.dimension)))
    large = Euclidean(space.low.tolist(), space.high.tolist(), unit=space._unit, step=float(space.step or 1.0) * factor)
    return large, large.encode(space.points)


@coarser.register
def _(space: Earth, most: int) -> tuple[Space, Ids]:
    factor = math.ceil(math.sqrt(space.items / most))
    large = Earth(box=space.box, cell=float(space.cell or 1.0) * factor, diameter=space._diameter)
    return large, large.encode(space.points)


@coarser.register
def _(space: Product, most: int) -> tuple[Space, Ids] | None:
    """Wide cells in those parts where cells are narrowest, by how much they count, until there are few enough."""
    parts, homes = list(space.parts), [np.arange(part.items) for part in space.parts]
    able = {i for i, part in enumerate(space.parts) if coarser(part, part.items) is not None}
    while able and math.prod(part.items for part in parts) > most:
        here = min(able, key=lambda i: float(space.weights[i]) * cell_width(parts[i]) / parts[i].diameter)
        result = coarser(space.parts[here], max(1, int(_FEWER * parts[here].items)))
        if result is None or result[0].items >= parts[here].items:
            able.discard(here)
            continue
        parts[here], homes[here] = result
    if all(part is own for part, own in zip(parts, space.parts, strict=True)):
        return None
    large = Product(parts, weights=space.weights)
    split = [home[ids] for home, ids in zip(homes, space._split(np.arange(space.items)), strict=True)]
    return large, np.asarray(np.ravel_multi_index(tuple(split), large._shape))


@coarser.register
def _(space: NoRecords, most: int) -> tuple[Space, Ids] | None:
    result = coarser(space.inner, most)
    if result is None:
        return None
    return NoRecords(result[0], distance=space.no_records_distance), np.append(result[1], result[0].items)


@ByDistance
def snapping_means(space: Space) -> Floats:
    """For each item, the mean normalised distance by which snapping moves a record that is anywhere in its cell.

    >>> snapping_means(Line(0, 4, step=2, cells=True)).tolist()
    [0.125, 0.125]
    """
    return np.full(space.items, 0.5 * space.snapping_upper)


@snapping_means.register
def _(space: Line) -> Floats:
    """Of a record anywhere between the middles of the gaps around its point; 0 for whole numbers."""
    if space.whole:
        return np.zeros(space.items)
    lower, upper = space.corners
    below, above = space.points - lower[:, 0], upper[:, 0] - space.points
    return np.asarray((below**2 + above**2) / (2.0 * np.maximum(below + above, 1e-300)) / space.diameter)


@snapping_means.register
def _(space: Circle) -> Floats:
    """A quarter of a cell; 0 for names that only names stand for."""
    return np.full(space.items, 0.5 / space.items if space.snaps else 0.0)


@snapping_means.register
def _(space: Euclidean) -> Floats:
    """Of a record anywhere in its cell: exact in one and two dimensions, nearly so in more."""
    widths = (space.high - space.low) / np.array(space.shape) / space._diameter
    if space.dimension == 1:
        mean = float(widths[0]) / 4.0
    elif space.dimension == 2:
        mean = float(mean_to_middle(widths[0], widths[1]))
    else:  # the mean of the square is known, and the spread is small
        mean = 0.97 * float(np.sqrt((widths**2).sum() / 12.0))
    return np.full(space.items, mean)


@snapping_means.register
def _(space: Earth) -> Floats:
    """Of a record anywhere in its cell, taken for a rectangle."""
    south, west, north, east = space.box
    height = (north - south) / len(space.rows.columns)
    wide = (east - west) / space.rows.columns[np.searchsorted(space.rows.first, np.arange(space.items), "right") - 1]
    degree = math.pi / 180.0 * EARTH_RADIUS_KM / space._diameter
    return mean_to_middle(height * degree, wide * degree * np.cos(np.radians(space.points[:, 0])))


@snapping_means.register
def _(space: Hexagons) -> Floats:
    """Of a record anywhere in a regular hexagon: (1/3 + ln(3)/4) times its radius."""
    return np.full(space.items, 0.608 * space.snapping_upper)


@snapping_means.register
def _(space: Product) -> Floats:
    """The parts' own, weighted like distances."""
    total = np.zeros(space.items)
    for part, weight, ids in zip(space.parts, space.weights, space._split(np.arange(space.items)), strict=True):
        total += float(weight) * snapping_means(part)[ids]
    return total


@snapping_means.register
def _(space: AugmentedSpace) -> Floats:
    """As inside, and nothing for the one more."""
    return np.append(snapping_means(space.inner), 0.0)


@singledispatch
def cell_range(space: Space) -> tuple[float, float] | None:
    """The narrowest and the widest cells worth trying, in units; None where there is no grid to change.

    >>> cell_range(Line(0, 100, step=1))
    (0.01, 20.0)
    """
    return None


@cell_range.register
def _(space: Line) -> tuple[float, float] | None:
    """From five cells to ten thousand."""
    length = space.high - space.low
    return (length / 10_000, length / 5) if (space.size or 0) > 1 else None


@cell_range.register
def _(space: Circle) -> tuple[float, float] | None:
    """From quarters to the minutes of a day."""
    return None if space.step is None else (space.period / 1440, space.period / 4)


@cell_range.register
def _(space: Earth) -> tuple[float, float] | None:
    """From some dozens of cells to some hundred thousand."""
    if space.cell is None:
        return None
    area = space.items * space.cell**2
    return math.sqrt(area / 200_000), math.sqrt(area / 40)


def takes_cells(space: Space, width: float) -> bool:
    """Whether cells can be so wide: those of a circle must come round.

    >>> takes_cells(Circle.hours(), 3.0), takes_cells(Circle.hours(), 5.0)
    (True, False)
    """
    return not isinstance(space, Circle) or (space.period / width) % 1 == 0


def fitting_cells(space: Space) -> list[float]:
    """Sizes of cells that fit into the space a few times, the first to be tried for a part of a product.

    Of a circle a quarter, a sixth and an eighth where these are round.

    >>> fitting_cells(Circle.hours())
    [6.0, 4.0, 3.0]
    """
    if not isinstance(space, Circle):
        return []
    return [cell for k in (4, 6, 8) if (cell := float(f"{space.period / k:.2g}")) * k == space.period]


def may_be_whole(space: Space) -> str:
    """What items are, where ``whole=True`` would say that records are so, too; empty elsewhere.

    >>> may_be_whole(Line(0, 9, step=1)), may_be_whole(Circle.weekdays())
    ('whole numbers', 'names of days')
    """
    records_space = space.records_space
    if isinstance(records_space, Line):
        return (
            "whole numbers" if records_space.step == 1.0 and not records_space.cells and not records_space.whole else ""
        )
    return (
        "names of days"
        if isinstance(records_space, Circle) and records_space.names is not None and records_space.snaps
        else ""
    )


def numbered(space: Space) -> str:
    """How the space is typed with numbers for its names, where these have an order that people know.

    >>> numbered(Circle.months())
    "circle(period=12, unit='months', names=['1', '2', …])"
    """
    if not isinstance(space, Circle) or space.names is None:
        return ""
    return f"circle(period={space.period:g}, unit='{space.unit}', names=['1', '2', …])"
