"""What a report says about single items of a histogram, and about regions that stand out from the noise together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from barrow.numerics.exact import between, near, within
from barrow.questions.answer import number
from barrow.questions.merging import REGIONS
from barrow.questions.statement import HistogramFacts
from barrow.questions.value_tables import Bounds, Rows
from barrow.render import figures
from barrow.render.report.page import MOST_ROWS, ReportTable
from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.spaces.shapes import cell_places
from barrow.study.outputs import csv_text

STANDS = (
    "An item that stands out from the noise has an interval with two ends, and of all these intervals at most 5 % miss "
    "on average; each of the others has an upper limit that holds with 95 %."
)
_NOT_DETERMINED = (
    "The noise was added to fewer numbers than there are places, so single places are not determined: the "
    "colours within a region are an estimate, and each place has an upper limit only (95 %)."
)
_SOFT = (
    " Regions have soft borders, {} wide: the lower end may count records that far outside, the upper end may leave "
    "out records that near inside."
)


def sure_items(facts: HistogramFacts, unit: str, bounds: Bounds) -> list[str]:
    """What is said about single items, and about regions."""
    if bounds.low is None:
        return []
    own = f"{STANDS} This follows from the released values and costs no privacy."
    texts = [own if facts.determined else _NOT_DETERMINED]
    if bounds.regions is not None:
        soft = "" if facts.gap is None else _SOFT.format(near(facts.gap, unit))
        texts.append(f"All intervals of regions hold at once with probability 95 %, whichever are looked at.{soft}")
    return texts


def region_table(tables: Mapping[str, Rows], space: Space | None = None) -> ReportTable | None:
    """The regions that stand out, where any is more than one item."""
    rows = tables.get(REGIONS, [])
    if not any(number(row, "items") > 1 for row in rows):
        return None
    placed, shown = _placed(rows), []
    for row, name in zip(rows[:MOST_ROWS], region_names(rows[:MOST_ROWS], space), strict=True):
        ends = number(row, "low_95"), number(row, "high_95")
        share = within(number(row, "share"), *ends, "%", zeros=True)
        shown.append([name, f"{row['items']:,}", share, between(*ends, "%", zeros=True)])
    return ReportTable(
        ["region", "cells" if placed else "items", "share", "95 %, all at once"],
        shown,
        numeric=(1, 2, 3),
        caption="Regions that stand out from the noise",
        total=len(rows),
        csv=csv_text(rows) if len(rows) <= MOST_ROWS * 8 else None,
        name="regions.csv",
    )


def region_names(rows: Rows, space: Space | None, unit: str = "") -> list[str]:
    """What regions are called: after the nearest city on Earth, else after their first and last items and ``unit``."""
    if not _placed(rows):
        return [f"{row['name']}{unit}" for row in rows]
    names = placed_names(rows, space)
    return [
        f"around {name}" if row["items"] != 1 and not name.startswith("near ") else name
        for row, name in zip(rows, names, strict=True)
    ]


def _placed(rows: Rows) -> bool:
    return bool(rows) and "lat" in rows[0] and "lon" in rows[0]


def placed_names(rows: Rows, space: Space | None) -> list[str]:
    """What rows with coordinates are called; rows of what is outside keep their own names."""
    inside = [k for k, row in enumerate(rows) if row.get("lat") is not None]
    lat, lon = (np.array([number(rows[k], name) for k in inside]) for name in ("lat", "lon"))
    where = None if space is None else cell_places(base_space(space))
    reach = 10.0 if where is None else figures.cell_reach(where)
    names = [str(row.get("item", row.get("output", row.get("name", "")))) for row in rows]
    for k, name in zip(inside, figures.place_names(lat, lon, reach) if inside else [], strict=True):
        names[k] = name
    return names
