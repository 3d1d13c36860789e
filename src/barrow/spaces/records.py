"""How a record becomes an item: a space says it once, as a description of public numbers, for every engine.

A *formula* finds items with numpy, and SQL is written from the same numbers, operation by operation: only +, -, *,
floor, square roots, comparisons and public tables are used, so that ids are equal bit for bit. Items that are known by
name have a public table of labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from barrow.errors import DataError, ParameterError, reading
from barrow.spaces.geometry import Box, Floats, Ids

if TYPE_CHECKING:
    from barrow.spaces.geographic import CellRows

DAY = 86_400_000_000
MISSING = int(np.iinfo(np.int64).min)
"""What stands in place of a moment where there is none."""
_MONDAY = 3 * DAY
"""1970-01-01 was a Thursday."""
_HOUR, _MINUTE, _SECOND = 3600 * 10**6, 60 * 10**6, 10**6
_UNITS = {
    "s": _SECOND, "second": _SECOND, "seconds": _SECOND, "min": _MINUTE, "minute": _MINUTE, "minutes": _MINUTE,
    "h": _HOUR, "hour": _HOUR, "hours": _HOUR, "d": DAY, "day": DAY, "days": DAY, "week": 7 * DAY, "weeks": 7 * DAY,
}  # fmt: skip


@dataclass(frozen=True)
class Moments:
    """How a moment becomes what a space reads: ((moment + offset) modulo turn) / unit, and then perhaps a name.

    A moment is its whole number of microseconds since 1970-01-01 00:00 UTC (a clock time, those since midnight), exact
    on every engine; the integer remainder and the division of doubles are the same ones everywhere.
    """

    turn: int | None
    offset: int
    unit: int
    names: tuple[str, ...] = ()

    @classmethod
    def since_1970(cls, unit: str) -> Moments | None:
        """The time since 1970-01-01 in a unit of time; None in any other unit."""
        return cls(None, 0, _UNITS[unit]) if unit in _UNITS else None

    @classmethod
    def round(cls, period: float, unit: str) -> Moments | None:
        """The time of day where a turn is 24 hours, that of the week from Monday on where it is 7 days; else None."""
        micros = _UNITS.get(unit)
        for turn, offset in ((DAY, 0), (7 * DAY, _MONDAY)):
            if micros is not None and period == turn / micros:
                return cls(turn, offset, micros)
        return None

    @classmethod
    def weekday(cls, names: tuple[str, ...]) -> Moments | None:
        """The name of the day where the names are those of the weekdays, Monday first; else None."""
        is_week = len(names) == 7 and names[0].casefold().startswith("mo") and names[6].casefold().startswith("su")
        return cls(7 * DAY, _MONDAY, DAY, names) if is_week else None

    def numbers(self, micros: Ids) -> Floats:
        """What the space reads, NaN where there is no moment."""
        missing = micros == MISSING
        moved = np.where(missing, 0, micros) + self.offset
        turned = moved if self.turn is None else np.mod(moved, self.turn)
        return np.where(missing, np.nan, turned.astype(np.float64) / float(self.unit))

    def labels(self, micros: Ids) -> NDArray[Any]:
        """The name of each moment's day, None where there is no moment."""
        result = np.empty(len(micros), dtype=object)
        result[:] = [None if x != x else self.names[int(x)] for x in self.numbers(micros).tolist()]
        return result


@dataclass(frozen=True)
class Reads:
    """What the columns of a record hold.

    Attributes:
        columns: How many columns there are.
        numbers: Whether they hold numbers and not labels; not asked where parts of a product differ.
        words: What they hold, in words.
        moments: How a column of time is read in place of the one column; None if it is not.
        also: Another form, which is read in Python alone.
    """

    columns: int = 1
    numbers: bool = False
    words: str = "a label"
    moments: Moments | None = None
    also: Reads | None = None

    def form(self, columns: int) -> Reads:
        """The form that has so many columns, if one has."""
        return self.also if self.also is not None and self.also.columns == columns else self


@dataclass(frozen=True)
class Labels:
    """One column of labels, each with its item."""

    known: Mapping[str, int]

    def find(self, records: Any, nearest: bool = False) -> Ids:
        """Ids of records, -1 where one is missing or unknown; whole numbers match labels that are written like them."""
        array = records if isinstance(records, np.ndarray) else _as_array(records)
        if array.dtype.kind in "iu":
            distinct, inverse = np.unique(array, return_inverse=True)
            table = np.array([self.known.get(str(int(x)), -1) for x in distinct], dtype=np.int64)
            return table[inverse.reshape(array.shape)] if array.size else np.zeros(0, dtype=np.int64)
        get = self.known.get
        return np.fromiter((get(_name(x), -1) for x in array.tolist()), dtype=np.int64, count=len(array))

    @property
    def boundaries(self) -> list[Floats]:
        """Of every formula: the values where the item changes, for each column of numbers."""
        return []


class CellAxis(NamedTuple):
    """Cells of one width: number floor((x - start) * scale), at most the last one, for x from low to high."""

    low: float
    high: float
    start: float
    scale: float
    cells: int


@dataclass(frozen=True)
class Ball:
    """What of a box is inside a ball, and the item of each cell of the box, -1 for cells outside.

    Records outside move to its nearest point, unless a coordinate is farther than ``farthest`` from its center.
    """

    center: Floats
    radius: float
    farthest: float
    items: Ids

    def holds(self, x: Floats) -> Any:
        """Whether points are inside."""
        return np.sqrt(((x - self.center) ** 2).sum(axis=1)) <= self.radius

    def nearest(self, x: Floats) -> Floats:
        """The points of the ball nearest to ``x``, NaN where those are too far off."""
        near = (np.abs(x - self.center) <= self.farthest).all(axis=1, keepdims=True)
        return np.where(near, into_ball(x, self.center, self.radius), np.nan)


@dataclass(frozen=True)
class AxisCells:
    """Cells along each axis, numbered row by row; perhaps only whole numbers, or only what is inside a ball."""

    axes: tuple[CellAxis, ...]
    whole: bool = False
    ball: Ball | None = None

    def find(self, records: Any, nearest: bool = False) -> Ids:
        """Ids of records, -1 for those outside; the nearest point of the space is taken for them if asked."""
        x = private_numbers(records, columns=len(self.axes))
        if self.ball is not None:
            x = self.ball.nearest(x) if nearest else x
            inside, columns = self.ball.holds(x), list(x.T)
        else:
            sides = list(zip(x.T, self.axes, strict=True))
            columns = [np.clip(at, a.low, a.high) if nearest else at for at, a in sides]  # NaN stays NaN and is outside
            tests = [(at >= a.low) & (at <= a.high) for at, a in zip(columns, self.axes, strict=True)]
            inside = np.all(tests, axis=0) if len(tests) > 1 else tests[0]
        ids: Any = None
        for at, axis in zip(columns, self.axes, strict=True):
            safe = np.where(inside, at, axis.low)
            if self.whole:
                inside &= np.floor(safe) == safe
            cell = np.floor((safe - axis.start) * axis.scale).astype(np.int64)
            np.minimum(cell, axis.cells - 1, out=cell)
            ids = cell if ids is None else ids * axis.cells + cell
        return np.where(inside, ids if self.ball is None else self.ball.items[ids], -1).astype(np.int64, copy=False)

    @property
    def boundaries(self) -> list[Floats]:
        """The ends and the edges of the cells."""
        return [np.array([a.low, a.high, *(a.start + np.arange(a.cells + 1) / a.scale)]) for a in self.axes]


@dataclass(frozen=True)
class Reached:
    """How many of the thresholds a number from low to high reaches."""

    low: float
    high: float
    thresholds: Floats

    def find(self, records: Any, nearest: bool = False) -> Ids:
        """Ids of records, -1 for those outside; the nearest end is taken for them if asked."""
        x = private_numbers(records)
        x = np.clip(x, self.low, self.high) if nearest else x
        inside = (x >= self.low) & (x <= self.high)
        ids = np.searchsorted(self.thresholds, np.where(inside, x, self.low), side="right")
        return np.where(inside, ids, -1).astype(np.int64)

    @property
    def boundaries(self) -> list[Floats]:
        """The ends and the thresholds."""
        return [np.array([self.low, self.high, *self.thresholds])]


@dataclass(frozen=True)
class Turn:
    """Cells of one width round a circle: number floor(x * scale) for x from 0 on; ``period`` is 0 again."""

    period: float
    scale: float
    count: int
    farthest: float

    def find(self, records: Any, nearest: bool = False) -> Ids:
        """Ids of records, -1 for those outside; if asked, other turns are this one, up to ``farthest`` away."""
        x = private_numbers(records)
        if nearest:
            x = np.where(np.abs(x) <= self.farthest, x, np.nan)
            x = x - self.period * np.floor(x * (1.0 / self.period))
            x = np.where((x < 0.0) | (x >= self.period), 0.0, x)
        x = np.where(x == self.period, 0.0, x)  # 24:00 is 0:00
        inside = (x >= 0.0) & (x < self.period)
        ids = np.floor(np.where(inside, x, 0.0) * self.scale).astype(np.int64)
        return np.where(inside, np.minimum(ids, self.count - 1), -1).astype(np.int64)

    @property
    def boundaries(self) -> list[Floats]:
        """The ends and the edges of the cells."""
        return [np.array([0.0, self.period, *(np.arange(self.count + 1) / self.scale)])]


@dataclass(frozen=True)
class LatitudeRows:
    """Rows of latitude in a box on Earth, each cut into columns of its own number."""

    box: Box
    rows: CellRows

    def find(self, records: Any, nearest: bool = False) -> Ids:
        """Ids of records, -1 for those outside; if asked, these move to the box in latitude and in longitude."""
        x, rows, (south, west, north, east) = private_numbers(records, columns=2), self.rows, self.box
        lat, lon = x[:, 0], x[:, 1]
        inside = (lat >= -90.0) & (lat <= 90.0) & (lon >= -180.0) & (lon <= 180.0)
        if nearest:
            # To the nearer of the two sides, the short way round the Earth.
            side = np.where(np.mod(west - lon, 360.0) < np.mod(lon - east, 360.0), west, east)
            lat, lon = np.clip(lat, south, north), np.where((lon >= west) & (lon <= east), lon, side)
        inside &= (lat >= south) & (lat <= north) & (lon >= west) & (lon <= east)
        row = np.floor((np.where(inside, lat, south) - south) * rows.row_scale).astype(np.int64)
        row = np.minimum(row, len(rows.columns) - 1)
        column = np.floor((np.where(inside, lon, west) - west) * rows.column_scale[row]).astype(np.int64)
        column = np.minimum(column, rows.columns[row] - 1)
        return np.where(inside, rows.first[row] + column, -1).astype(np.int64)

    @property
    def boundaries(self) -> list[Floats]:
        """The ends, the edges of all rows and those of some columns."""
        rows, (south, west, north, east) = self.rows, self.box
        columns = [west + i / s for s in rows.column_scale[:3] for i in range(9)]
        lines = [south, north, *(south + np.arange(len(rows.first) + 1) / rows.row_scale)]
        return [np.array(lines), np.array([west, east, *columns])]


Inside = Labels | AxisCells | Reached | Turn | LatitudeRows


@dataclass(frozen=True)
class Outside:
    """The item inside, and one more for records that are not there but are points: numbers up to ``most`` each."""

    inside: Formula
    item: int
    most: tuple[float, ...]
    whole: bool

    def find(self, records: Any, nearest: bool = False) -> Ids:
        """Ids of records, -1 for those that are no points."""
        x = private_numbers(records, columns=len(self.most))
        placed = (np.abs(x) <= self.most).all(axis=1)
        if self.whole:
            placed &= (np.floor(x) == x).all(axis=1)
        ids = self.inside.find(records, nearest)
        return np.where((ids < 0) & placed, self.item, ids)

    @property
    def boundaries(self) -> list[Floats]:
        """Those inside."""
        return self.inside.boundaries


Formula = Inside | Outside


def into_ball(x: Floats, center: Floats, radius: float) -> Floats:
    """The points of a ball nearest to ``x``."""
    away = np.sqrt(((x - center) ** 2).sum(axis=-1, keepdims=True))
    shrink = np.where(away > radius, radius * (1.0 - 2.0**-50) / np.maximum(away, 1e-300), 1.0)
    return center + (x - center) * shrink


def _as_array(records: Any) -> NDArray[Any]:
    items = list(records)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _name(record: object) -> str:
    if isinstance(record, str):
        return record
    if isinstance(record, int | np.integer) and not isinstance(record, bool):
        return str(int(record))
    return ""  # never a label: missing values, NaN and other types are unknown


class LabelIndex:
    """A public list of different labels and the way back from label to number.

    Whole numbers in records match labels that are written like them, so ``7`` finds ``"7"``. ``also`` are further names
    in records, with the label that each stands for.
    """

    def __init__(self, labels: Iterable[str], name: str = "labels", also: Mapping[str, int] | None = None) -> None:
        with reading(name, allowed="a list of texts", fix=f"{name}=['a', 'b']"):
            self.labels: Sequence[str] = tuple(labels)
        if not self.labels:
            raise ParameterError(f"{name} is empty.", allowed="at least one label", fix=f"{name}=['a', 'b']")
        wrong = next((x for x in self.labels if not isinstance(x, str) or not x), None)
        if wrong is not None:
            raise ParameterError(
                f"{name} holds {wrong!r}.", allowed="texts that are not empty", fix="write labels as text"
            )
        self._ids = {label: i for i, label in enumerate(self.labels)}
        if len(self._ids) != len(self.labels):
            seen: set[str] = set()
            twice = next(x for x in self.labels if x in seen or seen.add(x))  # type: ignore[func-returns-value]
            raise ParameterError(
                f"{name} holds {twice!r} twice.",
                allowed="different labels",
                fix="remove or rename one of them",
            )
        self._ids |= also or {}

    @property
    def known(self) -> Mapping[str, int]:
        """Every name that a record may hold, with the number of its label."""
        return self._ids

    def __len__(self) -> int:
        return len(self.labels)

    def find(self, records: Any) -> Ids:
        """Ids of ``records`` (a sequence or an array), -1 where a record is missing or unknown."""
        return Labels(self._ids).find(records)


def private_numbers(records: Any, columns: int | None = None) -> Floats:
    """Private records as floats, missing ones as NaN; with ``columns``, as an array of that many columns.

    What cannot be read raises a constant text: the usual conversion error would repeat the private value.
    """
    try:
        array = np.asarray(records, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is not None and columns == 1 and array.ndim == 1:
        array = array[:, None]
    shape_ok = array is not None and (array.ndim == 1 if columns is None else array.shape[1:] == (columns,))
    if array is None or not shape_ok:
        want = "one number" if columns is None else f"{columns} numbers"
        raise DataError(
            "The records are not of the form that the space reads.",
            allowed=f"{want} for each record",
            fix="check the types and the number of the item columns",
        ) from None
    return array
