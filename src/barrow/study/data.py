"""The records of a study: where they are, which columns say who and what, and what happens to odd ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from barrow import engines
from barrow.engines import Columns, ItemSums, Source
from barrow.engines.breakdown import WHOLE
from barrow.errors import ParameterError, one_of
from barrow.promises import RecordMap
from barrow.promises.periods import Calendar, check_unit
from barrow.promises.records import OUTSIDE
from barrow.spaces import Space
from barrow.spaces.augmented import base_space, has_outside
from barrow.spaces.groups import in_groups
from barrow.spaces.nearness import keeps_near
from barrow.spaces.space import Unknown
from barrow.study.per_person import PerPerson

if TYPE_CHECKING:
    from barrow.engines import Breakdown, Cell, Counts, Engine, PeopleCounts
    from barrow.study.about import About


@dataclass(frozen=True)
class Data:
    """Records, not read yet.

    Args:
        source: A path, a pattern, the address of a database, a frame, or a mapping from names to columns.
        user: The column that identifies the person.
        items: The column or columns that say what the item is.
        sql: A query over the source (its records are the table ``records``).
        weight: A column of whole numbers: how often each record counts.
        outside: What to do with missing records and those outside the space: ``"error"``, ``"default"`` (the space's
            public default item), ``"nearest"``, or ``"elsewhere"`` (one more public item, so that promises cover
            records that cross the edge; missing records are errors).
        version: A public name of this state of the records, e.g. ``"2026-10"``: another version is another release.
        acknowledge_sql: Accept a query whose effect on one person's records barrow cannot check.
        encoding: How text files are encoded, ``"utf-8"`` or ``"latin-1"``.
        timeout: How long a statement of a database server may take, e.g. ``"4h"``; one hour by default.
        per_person: Makes one number of each person's records, which is then their only item: ``"count"``,
            ``"sum(column)"``, ``"min"``, ``"max"``; with ``time`` ``"first"``, ``"last"`` or ``"days"``.
        time: The column that says when a record was made: dates, timestamps (local ones in ``zone``).
        period: How time is divided: ``"day"``, ``"week"``, ``"month"``, ``"quarter"`` or ``"year"``.
        zone: The public time zone in which days begin, an IANA name such as ``"Europe/Berlin"``.

    >>> Data({"uid": [1, 2], "age": [20, 30]}, user="uid", items="age").columns
    Columns(user='uid', items=('age',))
    """

    source: Any = None
    user: str | None = None
    items: Any = ()
    sql: str | None = None
    weight: str | None = None
    outside: str = "error"
    version: str | None = None
    acknowledge_sql: bool = False
    encoding: str = "utf-8"
    timeout: str | None = None
    per_person: str | None = None
    time: str | None = None
    period: str | None = None
    zone: str | None = None

    def __post_init__(self) -> None:
        one = isinstance(self.items, str) or not isinstance(self.items, Iterable)
        items = (self.items,) if one and self.items is not None else tuple(self.items or ())
        object.__setattr__(self, "items", items)
        given = (("user", self.user), ("sql", self.sql), *(("items", item) for item in items))
        wrong = next((name for name, value in given if not isinstance(value, str) and (value or name == "items")), None)
        if wrong is not None:
            raise ParameterError(
                f"{wrong} is not a text.",
                allowed="names of columns, and a query, as texts",
                fix="user='uid', item='age'",
            )
        version = None if self.version is None else str(self.version)
        object.__setattr__(self, "version", version)
        if self.source is None or isinstance(self.source, str | Path):
            if self.source is not None or self.sql is not None:
                options: dict[str, Any] = {"sql": self.sql, "acknowledge_sql": self.acknowledge_sql, "version": version}
                object.__setattr__(self, "source", Source.parse(self.source, encoding=self.encoding, **options))
        else:
            if self.sql is not None and not isinstance(self.source, Source):
                raise ParameterError(
                    "A query is given, and the records are in memory, where no query is run.",
                    allowed="sql over a file or a database; columns and frames in memory are taken as they are",
                    fix="write them to a file: frame.to_parquet('records.parquet')",
                )
            source = Source.of(self.source)
            object.__setattr__(self, "source", source if version is None else replace(source, version=version))
        if self.per_person is not None:
            number = PerPerson.parse(self.per_person)
            number.check_time(self.time)
            object.__setattr__(self, "per_person", number.text)
        one_of(self.outside, "outside", OUTSIDE)
        _ = self.calendar

    @property
    def calendar(self) -> Calendar | None:
        """How the time of the records is divided; None where they are one pile.

        >>> Data(time="at", period="month", zone="Europe/Berlin").calendar
        Calendar(unit='month', zone='Europe/Berlin')
        """
        given = {"time": self.time, "period": self.period, "zone": self.zone}
        lacking = [name for name, value in given.items() if not value]
        if len(lacking) == len(given):
            return None
        if self.time is None or self.period is None or self.zone is None or lacking:
            raise ParameterError(
                f"The records have periods, but {' and '.join(lacking)} is missing.",
                allowed="time (a column), period (day, week, month, quarter or year) and zone together",
                fix='[data]\ntime = "at"\nperiod = "month"\nzone = "Europe/Berlin"',
            )
        return Calendar(check_unit(self.period), self.zone)

    @property
    def columns(self) -> Columns:
        """The user and item columns."""
        number = self.number
        if number is not None and self.user is not None and (self.items or not number.needs_items):
            return number.columns(self.user, self.items, self.weight, self.time, self.zone)
        if self.user is None or not self.items:
            raise ParameterError(
                "The columns of the user and the item are not named.",
                allowed="user and items; barrow never guesses who is one person",
                fix='[data]\nuser = "uid"\nitems = ["lat", "lon"]',
            )
        return Columns(self.user, self.items, self.weight)

    def counted(self, path: str | Path) -> Data:
        """The same columns, counted elsewhere by the SELECT of ``barrow sql``, whose rows are in a file."""
        from barrow.engines.counted import counted_source

        if self.per_person is not None:
            raise ParameterError(
                "Each person's records become one number, which barrow sql cannot write.",
                allowed="items as they are in the table",
                fix="an engine that barrow reads itself (Postgres, Spark, DuckDB)",
            )
        return replace(self, source=counted_source(path), sql=None)

    @property
    def number(self) -> PerPerson | None:
        """How each person's records become one number; None where they stay records."""
        return None if self.per_person is None else PerPerson.parse(self.per_person)

    def columns_about(self, abouts: Iterable[About]) -> Columns:
        """The columns with those that say when, and in which group, where releases are about that."""
        listed = list(abouts)
        grouping = next((about.people_of for about in listed if about.people_of is not None), None)
        timed = any(about.window is not None for about in listed)
        own, group = self.columns, None if grouping is None else grouping.column
        return Columns(own.user, own.items, own.weight, group, self.time if timed else own.time, own.zone)

    def engine(self) -> Engine:
        """The engine that reads them."""
        return engines.engine_for(self._source, **({} if self.timeout is None else {"timeout": self.timeout}))

    @property
    def _source(self) -> Source:
        if not isinstance(self.source, Source):
            raise ParameterError(
                "No source of records is named.", allowed="a file, a table or a frame", fix="source = 'x.parquet'"
            )
        return self.source

    def record_map(self, space: Space) -> RecordMap:
        """How these records become items of ``space``, as far as promises care; nothing is opened.

        >>> from barrow.spaces import Line
        >>> Data("ages.csv", user="uid", items="age", outside="default").record_map(Line(0, 100, step=1)).value
        'jumps'
        """
        from barrow.engines.queries import record_map  # few studies have a query of their own

        named = self.source is not None and self.user is not None and (self.items or self.number is not None)
        result = record_map(self.source, self.columns) if named else RecordMap.CONTRACTION
        if self.number is not None and not self.number.needs_items:
            return result  # what is cut to the space moves no farther than it did
        near = result is not RecordMap.CONTRACTION or keeps_near(base_space(space), self.unknown)
        return result if near else RecordMap.JUMPS

    def validate(self, space: Space, about: About | None = None) -> Engine:
        """The engine, after everything was refused that public facts rule out; no record is read."""
        engine = self.engine()
        if self.outside == "elsewhere" and not has_outside(space):
            raise ParameterError(
                "outside is 'elsewhere', but the space has no item for what is outside.",
                allowed="the space of a study with these records",
                fix="Study(space, ..., data=data).space, or Elsewhere(space)",
            )
        columns = self.columns if about is None else self.columns_about([about])
        if self.number is not None:
            held, odd = self.number.reads(space)
            engine.validate(self._source, columns, held, unknown=odd or self.unknown)
            return engine
        engine.validate(self._source, columns, space.records_space, unknown=self.unknown)
        return engine

    def count(self, engine: Engine, space: Space, users: int) -> Counts:
        """C[item, size] of all people (private integers)."""
        (counts,) = self.count_cells(engine, space, self.columns, WHOLE).values()
        return counts.with_users(users, space.default_item)

    def count_cells(self, engine: Engine, space: Space, columns: Columns, breakdown: Breakdown) -> dict[Cell, Counts]:
        """C[item, size] of each cell, of the people who have records there, in one pass (private integers).

        ``columns`` name group and time.
        """
        if self.number is not None:
            return self.number.count_cells(engine, self._source, columns, space, breakdown, self.unknown)
        with in_groups(space) if space.geometry.within is not None else nullcontext():
            return engine.count_cells(self._source, columns, space.records_space, breakdown, unknown=self.unknown)

    def sum_cells(self, engine: Engine, space: Space, columns: Columns, breakdown: Breakdown) -> dict[Cell, ItemSums]:
        """The mass of these people on each item, of each cell, in one pass (private integers)."""
        if self.number is not None:
            counts = self.count_cells(engine, space, columns, breakdown)
            return {cell: ItemSums.of(each) for cell, each in counts.items()}
        with in_groups(space) if space.geometry.within is not None else nullcontext():
            return engine.sum_cells(self._source, columns, space.records_space, breakdown, unknown=self.unknown)

    def people_cells(
        self, engine: Engine, space: Space, columns: Columns, breakdown: Breakdown
    ) -> dict[Cell, PeopleCounts]:
        """How often each of these people holds each item, of each cell, in one pass (private integers)."""
        if self.number is not None:
            raise self.number.refused("one number has no share, radius or spread")
        return engine.people_cells(self._source, columns, space.records_space, breakdown, unknown=self.unknown)

    def sample(self, engine: Engine, space: Space, users: int, samples: int) -> Any:
        """Counts of items drawn from each user (private integers)."""
        if self.number is not None:
            raise self.number.refused("nothing is drawn from one number")
        result = engine.sample(self._source, self.columns, space.records_space, samples=samples, unknown=self.unknown)
        return result.with_users(users, space.default_item)

    @property
    def unknown(self) -> Unknown:
        """The engines' word for ``outside``."""
        return "error" if self.outside == "elsewhere" else cast("Unknown", self.outside)

    def to_spec(self) -> dict[str, Any]:
        """Plain data; frames in memory are left out."""
        source = self.source
        where = None if source is None or source.path is None else source.text if source.table else source.path
        own = {each.name: value for each in fields(self) if (value := getattr(self, each.name)) != each.default}
        found = {"source": where, "sql": None if source is None else source.sql, "items": list(self.items) or None}
        return {key: value for key, value in {**own, **found}.items() if value is not None}

    def named(self) -> dict[str, Any]:
        """What names these records in a ledger and in a key: where they are, their query and their version."""
        named = {} if self.source is None else dict(self.source.parameters)
        read = {"user": self.user, "items": list(self.items), "weight": self.weight, "outside": self.outside}
        more = {**self._times, "time_cast": self._time_cast, "per_person": self.per_person}
        return {**named, **read, **{name: value for name, value in more.items() if value is not None}}

    @property
    def _time_cast(self) -> str | None:
        """What a query turns the time into, which may move records to another day; None where it leaves it."""
        if self.time is None or self.source is None or self.source.sql is None or self.source.acknowledged:
            return None
        from barrow.engines.queries import time_cast  # few studies have a query of their own

        return time_cast(self.source, self.time)

    @property
    def _times(self) -> dict[str, str | None]:
        return {"time": self.time, "period": self.period, "zone": self.zone}


def read(
    source: Any = None,
    *,
    user: str,
    item: str | Sequence[str] = (),
    items: str | Sequence[str] = (),
    sql: str | None = None,
    weight: str | None = None,
    outside: str = "error",
    version: str | None = None,
    acknowledge_sql: bool = False,
    encoding: str = "utf-8",
    timeout: str | None = None,
    per_person: str | None = None,
    time: str | None = None,
    period: str | None = None,
    zone: str | None = None,
) -> Data:
    """Records by their source and columns; nothing is read yet.

    Args:
        source: A path, a pattern, the address of a database, a frame, or a mapping from names to columns.
        user: The column that identifies the person.
        item: The column or columns that say what the item is; ``items`` is the same.
        items: See ``item``.
        sql: A query over the source.
        weight: A column of whole numbers: how often each record counts.
        outside: What to do with missing records and those outside the space.
        version: A public name of this state of the records; without one, columns in memory that have changed are taken
            for the same, and their earlier answer is shown again.
        acknowledge_sql: Accept a query whose effect on one person's records barrow cannot check.
        encoding: How text files are encoded, ``"utf-8"`` or ``"latin-1"``.
        timeout: How long a statement of a database server may take, e.g. ``"4h"``.
        per_person: One number of each person's records in their place: ``"count"``, ``"sum(column)"``, ``"min"``,
            ``"max"``; with ``time`` ``"first"``, ``"last"`` or ``"days"``.
        time: The column that says when a record was made; with ``period`` and ``zone``.
        period: How time is divided, e.g. ``"month"``.
        zone: The public time zone in which days begin, e.g. ``"Europe/Berlin"``.

    >>> read("visits.parquet", user="uid", item=["lat", "lon"]).to_spec()
    {'source': 'visits.parquet', 'user': 'uid', 'items': ['lat', 'lon']}
    """
    data = Data(
        source, user=user, items=item or items, sql=sql, weight=weight, outside=outside, version=version,
        acknowledge_sql=acknowledge_sql, encoding=encoding, timeout=timeout, per_person=per_person, time=time,
        period=period, zone=zone,
    )  # fmt: skip
    _ = data.columns  # refused at once where a column is not named
    return data
