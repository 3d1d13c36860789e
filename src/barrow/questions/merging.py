"""Tables of a histogram: items with intervals, and regions that stand out from the noise, with outlines on maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from barrow.numerics.union import Ring, outline
from barrow.questions.answer import Rows, TableRow, labelled, placed
from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.spaces.shapes import cell_corners, cell_places
from barrow.spaces.space import Floats, Ids

if TYPE_CHECKING:
    from barrow.mechanisms.blocks import Merged
    from barrow.mechanisms.item_intervals import ItemIntervals

REGIONS, NUMBER, POLYGON = "regions", "region", "polygon"
"""The table, and its columns that number regions, as ``values`` does, and that hold their outlines."""


def shown_tables(space: Space, shares: Floats, ends: ItemIntervals, merged: Merged | None) -> dict[str, Rows]:
    """The histogram with the interval and the region of every item, regions that stand out, people without records.

    Args:
        space: The space that the question was answered on.
        shares: The decoded histogram.
        ends: The interval of each item.
        merged: Regions that stand out; None where nothing is known about sums of items.
    """
    records_space, k = space.records_space, space.records_space.items
    columns: dict[str, Floats | Ids] = {"share": shares[:k], "low_95": ends.low[:k], "high_95": ends.high[:k]}
    regions: Rows = []
    if merged is not None:
        regions, numbers = region_rows(records_space, merged)
        columns[NUMBER] = numbers
    tables = {"values": labelled(records_space, {name: column.tolist() for name, column in columns.items()})}
    tables |= {REGIONS: regions} if regions else {}
    if space.no_records_distance is not None:
        missing = space.default_item
        row = {"share": shares[missing], "low_95": ends.low[missing], "high_95": ends.high[missing]}
        tables["no_records"] = [{"item": space.label(missing), **{name: float(value) for name, value in row.items()}}]
    return tables


def region_rows(space: Space, merged: Merged) -> tuple[Rows, Ids]:
    """A row for each region, the largest share first, and the number of each item's region; 0 where there is none.

    Args:
        space: The space of the items that are shown.
        merged: The regions; items after the last of the space are people without records.
    """
    of = merged.of_unit[: space.items]
    here = np.bincount(of[of >= 0], minlength=len(merged.share))
    order = np.argsort(-merged.share, kind="stable")
    order = order[here[order] > 0]
    number = np.zeros(len(merged.share) + 1, dtype=np.int64)
    number[order] = np.arange(1, len(order) + 1)
    members = np.split(np.argsort(of, kind="stable"), np.cumsum(np.append((of < 0).sum(), here)))[1:-1]
    shapes = _corners(space)
    rows: Rows = []
    for region in order.tolist():
        inside = members[region]
        ends = {"low_95": float(merged.low[region]), "high_95": float(merged.high[region])}
        row: TableRow = {NUMBER: int(number[region]), "name": _name(space, inside), "items": len(inside)}
        row |= _middle(space, inside) | {"share": float(min(max(merged.share[region], 0.0), 1.0))} | ends
        if shapes is not None:
            drawn = inside[inside < len(shapes)]
            row[POLYGON] = as_text(outline(shapes[drawn])) if len(drawn) else ""
        rows.append(row)
    return rows, number[of]


def _name(space: Space, inside: Ids) -> str:
    """One item's label, or the first and the last one."""
    first, last = (space.label(int(inside[k])) for k in (0, -1))
    return first if len(inside) == 1 else f"{first} to {last}"


def _middle(space: Space, inside: Ids) -> TableRow:
    base = base_space(space)
    points, here = base.geometry.places, inside[inside < base.items]
    if points is None or not len(here):
        return {} if points is None else dict.fromkeys(placed(base, points, 0))
    return dict(placed(base, np.asarray(points)[here].mean(axis=0, keepdims=True), 0))


def _corners(space: Space) -> Floats | None:
    """The corners of every cell, across before up; None where cells are no shapes of a plane."""
    shapes = cell_places(base_space(space))
    if shapes is not None and shapes.corners is not None:
        return np.asarray(shapes.corners)[:, :, ::-1]
    inner = base_space(space)
    boxes = cell_corners(inner) if inner is space and not inner.geometry.periodic else None
    if boxes is None or boxes[0].shape[1:] != (2,):
        return None
    (a, b), (c, d) = boxes[0].T, boxes[1].T
    return np.stack([np.stack([a, c, c, a], axis=1), np.stack([b, b, d, d], axis=1)], axis=2)


def as_text(rings: list[Ring]) -> str:
    """Rings as well-known text, which tables hold and most programs with maps read.

    >>> as_text([[(0.0, 0.0), (2.0, 0.0), (2.0, 1.5), (0.0, 0.0)]])
    'POLYGON ((0 0, 2 0, 2 1.5, 0 0))'
    """
    parts = [f"({', '.join(f'{x:.9g} {y:.9g}' for x, y in ring)})" for ring in rings]
    return f"POLYGON {'(' + parts[0] + ')'}" if len(parts) == 1 else f"MULTIPOLYGON (({'), ('.join(parts)}))"


def as_geometry(text: str) -> dict[str, object] | None:
    """The same as GeoJSON; None for what is nowhere.

    >>> as_geometry("POLYGON ((0 0, 2 0, 2 1.5, 0 0))")
    {'type': 'Polygon', 'coordinates': [[[0.0, 0.0], [2.0, 0.0], [2.0, 1.5], [0.0, 0.0]]]}
    """
    if not text:
        return None
    kind, _, rest = text.partition(" ")
    rings = [
        [[float(number) for number in point.split()] for point in ring.strip("() ").split(",")]
        for ring in rest.split("), (")
    ]
    if kind == "POLYGON":
        return {"type": "Polygon", "coordinates": rings}
    return {"type": "MultiPolygon", "coordinates": [[ring] for ring in rings]}
