"""What the tables of a release hold: values, what each is called, where it is, and how sure it is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from barrow.numerics.places import Places
from barrow.numerics.search import distinct
from barrow.questions.answer import Rows, value_words
from barrow.questions.merging import NUMBER, REGIONS
from barrow.questions.statement import AnswerFacts
from barrow.spaces.space import Floats, Ids

_SHARE, _VALUE = "%", ("value", "share", "count")
_NAME = ("output", "item", "report", "quantile")


@dataclass(frozen=True, eq=False)
class Regions:
    """Neighbouring values that stand out from the noise together; their intervals hold all at once.

    Attributes:
        of: For each value the number of its region, from 1; 0 for none.
        share: What each region holds in all.
        low: The lower end of each region's interval.
        high: The upper end.

    >>> regions = Regions(np.array([0, 1, 1]), np.array([0.5]), np.array([0.25]), np.array([0.75]))
    >>> [ends.tolist() for ends in regions.ends(np.array([0.1, 0.2, 0.4]))]
    [[0.0, 0.1, 0.2], [0.1, 0.30000000000000004, 0.6000000000000001]]
    """

    of: Ids
    share: Floats
    low: Floats
    high: Floats

    def ends(self, values: Floats) -> tuple[Floats, Floats]:
        """Each value times the ends of its region, as shares of the region: how sure its surroundings are."""
        most = np.maximum(self.share, 1e-300)
        low, high = (np.append(np.nan, end / most)[self.of] for end in (self.low, self.high))
        return np.where(self.of > 0, values * low, 0.0), np.where(self.of > 0, values * high, values)

    def first(self, count: int) -> Regions:
        """The same about the first values alone."""
        return replace(self, of=self.of[:count])


@dataclass(frozen=True, eq=False)
class Bounds:
    """What goes with values beside themselves.

    Attributes:
        low: The lower ends of 95 % intervals, one for each value.
        high: The upper ends.
        noise: What the noise alone reaches anywhere with 5 %: a value not above it cannot be distinguished from 0.
        regions: Neighbouring values that stand out from the noise together.
    """

    low: Floats | None = None
    high: Floats | None = None
    noise: Floats | float | None = None
    regions: Regions | None = None

    @property
    def style(self) -> dict[str, object]:
        """As figures take them."""
        return {"low": self.low, "high": self.high, "noise": self.noise}


def counted_rows(rows: Rows) -> Rows:
    """The rows; a list of reports becomes one row for each kind with its count."""
    if rows and set(rows[0]) == {"report"}:
        counted = Counter(row["report"] for row in rows)
        return [{"report": label, "count": count} for label, count in sorted(counted.items())]
    return rows


def values_of(rows: Rows) -> Floats:
    """The column that was released."""
    column = next(name for name in _VALUE if name in rows[0])
    return np.array([math.nan if row[column] is None else row[column] for row in rows], dtype=np.float64)


def names_of(rows: Rows) -> list[str]:
    """What each value is; of several questions and of several groups also of which.

    >>> names_of([{"group": "north", "output": "mean"}, {"group": "south", "output": "mean"}])
    ['north', 'south']
    """
    column = next(name for name in _NAME if name in rows[0])
    names = [str(row[column]) for row in rows]
    if column == "quantile":
        names = ["median" if float(name) == 0.5 else f"quantile {name}" for name in names]
    if "question" in rows[0]:
        asked, several = [str(row["question"]) for row in rows], Counter(str(row["question"]) for row in rows)
        names = [one if several[one] == 1 else f"{one}, {name}" for one, name in zip(asked, names, strict=True)]
    if "group" not in rows[0] or column == "group":
        return names
    alone = len(set(names)) == 1
    return [str(row["group"]) if alone else f"{row['group']}, {name}" for row, name in zip(rows, names, strict=True)]


def bounds_of(facts: AnswerFacts, tables: Mapping[str, Rows]) -> Bounds:
    """The intervals that rows hold themselves, and the regions that stand out."""
    rows = counted_rows(tables["values"])
    if "low_95" in rows[0]:
        low, high = (np.array([row[name] for row in rows], dtype=np.float64) for name in ("low_95", "high_95"))
        return Bounds(low, high, regions=_regions(rows, tables.get(REGIONS, [])))
    if "half_width_95" not in rows[0]:
        return Bounds()
    values, width = values_of(rows), np.array([row["half_width_95"] for row in rows], dtype=np.float64)
    many = facts.half_width_95_all if len(rows) > 1 else None
    return Bounds(values - width, values + width, many)


def _regions(rows: Rows, result: Rows) -> Regions | None:
    if not result or NUMBER not in rows[0]:
        return None
    of = np.array([row[NUMBER] for row in rows], dtype=np.int64)
    columns = [np.array([row[name] for row in result], dtype=np.float64) for name in ("share", "low_95", "high_95")]
    return Regions(of, *columns)


def unit_of(facts: AnswerFacts, rows: Rows, shares: bool) -> str:
    """The unit of the values; shares are said in per cent."""
    if shares or facts.shares or "share" in rows[0]:
        return _SHARE
    return str(rows[0].get("unit") or facts.unit)


def places_of(rows: Rows, box: tuple[float, float, float, float] | None = None) -> Places:
    """Where rows with coordinates are: cells about the points of a grid, or points."""
    lat, lon = (np.array([row[name] for row in rows], dtype=np.float64) for name in ("lat", "lon"))
    lines = len(distinct(np.round(lat, 9)))
    if len(lat) > 1 and lines > 0.5 * len(lat):  # no grid: each has a latitude of its own
        return Places.points(lat, lon)
    return Places.around(lat, lon, box=box)


def quantile_words(rows: Rows) -> list[str]:
    """Quantiles with their intervals, a line each.

    >>> quantile_words([{"quantile": "0.5", "value": 3.0, "low_95": 2.0, "high_95": 4.0, "unit": "km"}])
    ['quantile 0.5: 3 km, from 2 to 4 (95 %)']
    """
    return [f"quantile {row['quantile']}: {value_words(row, str(row['unit']))}" for row in rows]
