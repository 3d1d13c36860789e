"""What a report says about single items of a histogram, and about regions that stand out of the noise together."""

from __future__ import annotations

from collections.abc import Mapping

from barrow.questions.answer import number
from barrow.questions.merging import REGIONS
from barrow.questions.statement import HistogramFacts
from barrow.questions.value_tables import Bounds, Rows
from barrow.render.figures import between, near
from barrow.render.figures.map import place_name
from barrow.render.report.page import MOST_ROWS, ReportTable
from barrow.study.outputs import csv_text

STANDS = (
    "An item that stands out of the noise has an interval with two ends, and of all these intervals at most 5 % miss "
    "on average; each of the others has an upper limit that holds with 95 %."
)
_NOT_DETERMINED = (
    "The noise was added to fewer numbers than there are places, so that nothing determines a single place: the "
    "colours within a region are an estimate, and each place has an upper limit only (95 %)."
)
_SOFT = (
    " A region's border is as soft as the noisy numbers are apart, {}: the lower end counts what lies up to so far "
    "outside, the upper end leaves out what lies so near inside."
)


def sure_items(facts: HistogramFacts, unit: str, bounds: Bounds) -> list[str]:
    """What is said about single items, and about regions."""
    if bounds.low is None:
        return []
    own = f"{STANDS} This is worked out from the noisy values themselves, and costs no privacy."
    texts = [own if facts.determined else _NOT_DETERMINED]
    if bounds.regions is not None:
        soft = "" if facts.gap is None else _SOFT.format(near(facts.gap, unit))
        texts.append(f"All intervals of regions hold at once with probability 95 %, whichever are looked at.{soft}")
    return texts


def region_table(tables: Mapping[str, Rows]) -> ReportTable | None:
    """The regions that stand out, where any is more than one item."""
    rows, values = tables.get(REGIONS, []), tables["values"]
    if not any(number(row, "items") > 1 for row in rows):
        return None
    placed = "lat" in rows[0] and "lon" in rows[0]
    digits = place_digits(values) if placed else 1
    shown = []
    for row in rows[:MOST_ROWS]:
        name = f"round {place_name(number(row, 'lat'), number(row, 'lon'), digits)}" if placed else str(row["name"])
        ends = between(number(row, "low_95"), number(row, "high_95"), "%", zeros=True)
        shown.append([name, f"{row['items']:,}", near(number(row, "share"), "%", digits=3, zeros=True), ends])
    return ReportTable(
        ["region", "places" if placed else "items", "share", "95 %, all at once"],
        shown,
        numeric=(1, 2, 3),
        caption="Regions that stand out of the noise",
        total=len(rows),
        csv=csv_text(rows) if len(rows) <= MOST_ROWS * 8 else None,
        name="regions.csv",
    )


def place_digits(rows: Rows) -> int:
    """Decimals that tell places of one map apart."""
    size = max(abs(number(rows[0], name) - number(rows[-1], name)) for name in ("lat", "lon"))
    return 1 if size >= 40 else 2 if size >= 4 else 3
