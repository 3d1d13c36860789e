"""One number a person: the number of their records or days, a sum, the least or largest item, the first or last time.

What a person's records are is then not asked any more: each person holds one item, the number, cut to the public space.
That cut is what bounds it. Promises are about this number (docs/how-to/visits.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from barrow.engines import Columns, Counts
from barrow.engines.counts import Integers, merged
from barrow.errors import DataError, ParameterError, nearest_name
from barrow.numerics import exact_text
from barrow.promises import Promise
from barrow.promises.records import NUMBER
from barrow.spaces import Discrete, Line, Space
from barrow.spaces.augmented import base_space
from barrow.spaces.records import Moments
from barrow.spaces.space import Floats, Unknown

if TYPE_CHECKING:
    from barrow.engines import Breakdown, Cell, Engine, Source
    from barrow.queries.profiles import Profiles

KINDS = ("count", "sum", "min", "max", "first", "last", "days")
TIMED = ("first", "last", "days")
_DAYS = (-25567, -25567 + 2**16)
"""The days from 1900 to June 2079: on these a microsecond before midnight is still another double than midnight."""
_FINER, _MOST_CELLS = 1000, 2**22
_TEXT = re.compile(r"\s*([a-z]+)\s*(?:\(\s*(.+?)\s*\))?\s*")


@dataclass(frozen=True)
class PerPerson:
    """How each person's records become one number.

    Args:
        kind: ``"count"``, ``"sum"``, ``"min"``, ``"max"``, ``"first"``, ``"last"`` or ``"days"``.
        column: Of a sum: the column that is added up.

    >>> PerPerson.parse("sum(minutes)").words, PerPerson.parse("count").text
    ('the sum of their minutes', 'count')
    """

    kind: str
    column: str | None = None

    @classmethod
    def parse(cls, text: str) -> PerPerson:
        """From the text of a study, e.g. ``"count"``, ``"sum(column)"`` or ``"first"``."""
        match = _TEXT.fullmatch(text) if isinstance(text, str) else None
        kind, column = (match[1], match[2]) if match else ("", None)
        if kind not in KINDS or (kind == "sum") != (column is not None):
            close = nearest_name(kind, KINDS)
            raise ParameterError(
                f"per_person is {text!r}." + (f" Did you mean {close!r}?" if close and close != kind else ""),
                allowed='"count" (records), "sum(column)", "min", "max" (of items), "first", "last", "days" (of time)',
                fix='per_person = "sum(minutes)"' if kind == "sum" or close == "sum" else 'per_person = "count"',
            )
        return cls(kind, column)

    @property
    def text(self) -> str:
        """As a study writes it."""
        return f"sum({self.column})" if self.kind == "sum" else self.kind

    @property
    def words(self) -> str:
        """What the number is."""
        return {
            "count": "the number of their records",
            "sum": f"the sum of their {self.column}",
            "min": "the least of their items",
            "max": "the largest of their items",
            "first": "the time from 1970-01-01 to their first record",
            "last": "the time from 1970-01-01 to their last record",
            "days": "the number of different days on which they have records",
        }[self.kind]

    def named(self, items: tuple[str, ...], time: str | None = None, zone: str | None = None) -> str:
        """What tells the number from every other one that can be made of the records."""
        if self.timed:
            return f"{NUMBER}{self.text} of {time} in {zone}"
        return f"{NUMBER}{self.text}" + (f" of {', '.join(items)}" if self.needs_items else "")

    def caveat(self, space: Space, unit: str | None = None) -> str:
        """What promises are about, for a statement; ``unit`` is the period that is read, if not all records are."""
        points = _points(space)
        between = f"{points[0]:g} and {points[-1]:g} {space.unit}".rstrip()
        each, of = ("", "") if unit is None else (f" and {unit}", f" of that {unit} alone")
        read = ""
        if self.kind == "sum":
            amounts = _points(self.reads(space)[0])
            read = (
                f" (each of them read to the nearest {amounts[1] - amounts[0]:.6g}, and as no less than "
                f"{amounts[0]:.6g} and no more than {amounts[-1]:.6g})"
            )
        return (
            f"promises are about one number for each person{each}, {self.words}{of}{read}; they "
            "hold for every change of a person's records that changes this number by at most the promised distance, "
            f"and the release cuts it to between {between}"
        )

    def check(self, space: Space, promises: Sequence[Promise]) -> None:
        """Refuse a space that is no line, and promises about a part of a number."""
        _points(space)
        if self.kind in ("first", "last") and Moments.since_1970(base_space(space).unit) is None:
            raise ParameterError(
                f"per_person is {self.text!r}, a time since 1970-01-01, and the unit of the space is {space.unit!r}.",
                allowed="a line in s, min, h, days or weeks",
                fix="line(low=20454, high=20819, step=1, unit='days'), which is the year 2026",
            )
        part = next((promise for promise in promises if promise.share != 1), None)
        if part is not None:
            where = "" if part.scope is None else f", in {part.scope.text}"
            raise ParameterError(
                f"The promise {part.text!r} is about a share of a person's records, and each person has one number "
                f"here ({self.words}): any record may change it by any amount.",
                allowed="promises about all of it",
                fix=f'"all, {part.distance}, {exact_text(part.epsilon)}{where}"',
            )

    @property
    def counts_from_zero(self) -> bool:
        """Whether people without records have the number 0."""
        return self.kind in ("count", "sum", "days")

    @property
    def needs_items(self) -> bool:
        """Whether the number is one of the items."""
        return self.kind in ("min", "max")

    @property
    def timed(self) -> bool:
        """Whether the number is made of the times of records."""
        return self.kind in TIMED

    def check_time(self, time: str | None) -> None:
        """Refuse a number of times where it is not said when records were made."""
        if self.timed and time is None:
            raise ParameterError(
                f"per_person is {self.text!r}, but no column of time is named.",
                allowed="time (a column), period and zone with it",
                fix='[data]\ntime = "at"\nperiod = "month"\nzone = "Europe/Berlin"',
            )

    def refused(self, what: str) -> ParameterError:
        """That a number is not treated like records."""
        return ParameterError(
            f"per_person is {self.text!r}, and {what}.",
            allowed="questions about one number a person: mean, total, quantile, histogram",
            fix="leave per_person out, or ask one of these",
        )

    def missing(self, missing: str | None, space: Space) -> str | None:
        """What people without records hold: a number of 0, unless the study tells them apart."""
        if missing is not None or not self.counts_from_zero:
            return missing
        default = space.records_space.default_item
        if default != int(base_space(space).encode([0.0], unknown="nearest")[0]):
            raise ParameterError(
                f"People without records have the number 0, but the default of the space is {space.label(default)}.",
                allowed="a line whose default is 0, or missing = 'no records'",
                fix="default = 0 in [space]",
            )
        return "default item"

    def columns(
        self, user: str, items: tuple[str, ...], weight: str | None, time: str | None = None, zone: str | None = None
    ) -> Columns:
        """What is read."""
        if self.timed and time is not None:
            return Columns(user, time, weight, None, time, zone)
        if self.kind == "sum" and self.column is not None:
            return Columns(user, self.column, weight)
        return Columns(user, user if self.kind == "count" else items, weight)

    def reads(self, space: Space) -> tuple[Space, Unknown | None]:
        """The space as which records are read before they become a number, and what happens to odd ones."""
        if self.kind == "count":
            return Discrete(["any"]), "default"
        if self.kind == "days":
            return Line(*_DAYS, step=1, unit="days", cells=True), "error"
        if self.kind != "sum":
            return base_space(space), "nearest" if self.timed else None
        points = _points(space)
        step = Fraction(f"{np.diff(points).min():.12g}")
        whole = base_space(space).snapping_upper == 0.0 and step == 1
        widest = Fraction(float(np.abs(points).max())) + step
        fine = step if whole else max(step / _FINER, widest * 2 / _MOST_CELLS)
        most = float(fine * math.ceil(widest / fine))
        low = -most if points[0] < 0.0 else 0.0
        if whole:
            return Line(low, most, step=1, unit=space.unit, whole=True), "nearest"
        half = float(fine) / 2.0  # amounts are read to the nearest multiple of the finer step
        return Line(low - half, most + half, step=float(fine), unit=space.unit, cells=True), "nearest"

    def count_cells(
        self, engine: Engine, source: Source, columns: Columns, space: Space, breakdown: Breakdown, unknown: Unknown
    ) -> dict[Cell, Counts]:
        """Everybody's number as the one item that they hold, made of the records of each cell (private integers)."""
        held, odd = self.reads(space)
        if self.kind == "count":
            sizes = engine.count_cells(source, columns, held, breakdown, unknown=odd or unknown)
            return {cell: self._of_sizes(counts, space) for cell, counts in sizes.items()}
        with self._read(held):
            people = engine.people_cells(source, columns, held, breakdown, unknown=odd or unknown)
        return {cell: self._of_people(counts.profiles, space) for cell, counts in people.items()}

    @contextmanager
    def _read(self, held: Space) -> Iterator[None]:
        """What an engine refuses of amounts is said in the words of amounts, not of items."""
        try:
            yield
        except DataError as error:
            if self.kind != "sum" or "public space" not in error.problem:
                raise
            whole = held.snapping_upper == 0.0
            raise DataError(
                f"Some amounts of {self.column!r} are missing, or are no {'whole ' * whole}numbers.",
                allowed=f"a {'whole ' * whole}number in every record",
                fix="whole = true left out of [space], for amounts with fractions" if whole else "correct these rows",
            ) from None

    def _of_people(self, people: Profiles, space: Space) -> Counts:
        """The number of each person, from how often they hold what is read of the records."""
        if not len(people):
            return self._of(space, np.zeros(0), np.zeros(0, dtype=np.int64))
        held, _ = self.reads(space)
        if self.kind == "days":
            values = np.diff(np.append(people.starts, len(people.items))).astype(np.float64)
            return self._of(space, values, np.ones(len(people), dtype=np.int64))
        if self.kind == "sum":
            points = _points(held)
            step = float(points[1] - points[0])
            steps = people.sums(np.arange(held.items, dtype=np.int64) + round(float(points[0]) / step))
            values = steps.astype(np.float64) * step
        else:
            reduce = np.minimum.reduceat if self.kind in ("min", "first") else np.maximum.reduceat
            values = _points(space)[reduce(people.items, people.starts)]
        return self._of(space, values, np.ones(len(people), dtype=np.int64))

    def _of_sizes(self, result: Counts, space: Space) -> Counts:
        """How many records people have as their items, from the counts of records that are all alike."""
        if not len(result.sizes):
            return result  # a period without records
        return self._of(space, result.sizes.astype(np.float64), result.counts // result.sizes)

    def _of(self, space: Space, values: ArrayLike, people: Integers) -> Counts:
        items = base_space(space).encode(values, unknown="nearest")
        return merged(items, np.ones(len(items), dtype=np.int64), people, users=int(people.sum()))


def _points(space: Space) -> Floats:
    """The numbers that are told apart, ascending."""
    line = base_space(space)
    if not line.geometry.on_line or line.size is None:
        raise ParameterError(
            f"One number a person lies on a line, but the space is {space.kind!r}.",
            allowed="a line from the least to the largest number that counts; more counts as the largest",
            fix="line(low=0, high=50, step=1, unit='visits', whole=True)",
        )
    return np.asarray(line.geometry.points[:, 0], dtype=np.float64)
