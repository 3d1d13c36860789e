"""The records of a study: where they are, which columns say who and what, and what happens to odd ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barrow.engines import Columns, Source
from barrow.errors import ParameterError
from barrow.policy import RecordMap
from barrow.spaces import Space
from barrow.spaces.nearness import keeps_near
from barrow.spaces.one_more import base_space, has_outside

if TYPE_CHECKING:
    from barrow.engines import Counts, Engine

OUTSIDE = ("error", "default", "nearest", "elsewhere")


@dataclass(frozen=True)
class Data:
    """Records, not read yet.

    Args:
        source: A path, a pattern, the address of a database, a frame, or a mapping from names to columns.
        user: The column that says whose record it is.
        items: The column or columns that say what the item is.
        sql: A query over the source (its records are the table ``records``).
        weight: A column of whole numbers: how often each record counts.
        outside: What to do with missing records and those outside the space: ``"error"``, ``"default"`` (the space's
            public default item), ``"nearest"``, or ``"elsewhere"`` (one more public item, so that promises cover
            records that cross the edge; missing records are errors).
        version: A public name of this state of the records, e.g. ``"2026-10"``: another version is another release.
        acknowledge_sql: Let a query through whose effect on one person's records nobody has checked.
        encoding: How text files are encoded, ``"utf-8"`` or ``"latin-1"``.
        timeout: How long a statement of a database server may take, e.g. ``"4h"``; one hour by default.

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
            source = Source.of(self.source)
            object.__setattr__(self, "source", source if version is None else replace(source, version=version))
        if self.outside not in OUTSIDE:
            raise ParameterError(
                f"outside is {self.outside!r}.", allowed=", ".join(map(repr, OUTSIDE)), fix="outside = 'error'"
            )

    @property
    def columns(self) -> Columns:
        """The user and item columns."""
        if self.user is None or not self.items:
            raise ParameterError(
                "It is not said which columns hold the user and the item.",
                allowed="user and items; barrow never guesses who is one person",
                fix='[data]\nuser = "uid"\nitems = ["lat", "lon"]',
            )
        return Columns(self.user, self.items, self.weight)

    def engine(self) -> Engine:
        """The engine that reads them."""
        from barrow.engines import engine_for

        return engine_for(self._source, **({} if self.timeout is None else {"timeout": self.timeout}))

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
        from barrow.engines.queries import record_map

        named = self.source is not None and self.user is not None and self.items
        found = record_map(self.source, self.columns) if named else RecordMap.CONTRACTION
        near = found is not RecordMap.CONTRACTION or keeps_near(base_space(space), self.unknown)
        return found if near else RecordMap.JUMPS

    def validate(self, space: Space) -> Engine:
        """The engine, after everything was refused that public facts rule out; no record is read."""
        engine = self.engine()
        if self.outside == "elsewhere" and not has_outside(space):
            raise ParameterError(
                "outside is 'elsewhere', but the space has no item for what is outside.",
                allowed="the space of a study with these records",
                fix="Study(space, ..., data=data).space, or Elsewhere(space)",
            )
        engine.validate(self._source, self.columns, space.records_space, **self._odd)
        return engine

    def count(self, engine: Engine, space: Space, users: int | None) -> Counts:
        """C[item, size] (private integers)."""
        if space.no_records_distance is None:
            return engine.count(self._source, self.columns, space, users=users, **self._odd)
        found = engine.count(self._source, self.columns, space.records_space, **self._odd)
        return found if users is None else found.with_users(users, space.default_item)

    def sample(self, engine: Engine, space: Space, users: int, samples: int) -> Any:
        """Counts of items drawn from each user (private integers)."""
        if space.no_records_distance is not None:
            found = engine.sample(self._source, self.columns, space.records_space, samples=samples, **self._odd)
            return found.with_users(users, space.default_item)
        return engine.sample(self._source, self.columns, space, samples=samples, users=users, **self._odd)

    @property
    def unknown(self) -> Any:
        """The engines' word for ``outside``."""
        return "error" if self.outside == "elsewhere" else self.outside

    @property
    def _odd(self) -> dict[str, Any]:
        return {"unknown": self.unknown}

    def to_spec(self) -> dict[str, Any]:
        """Plain data; frames in memory are left out."""
        source = self.source
        where = None if source is None or source.path is None else source.text if source.table else source.path
        table = {
            "source": where,
            "sql": None if source is None else source.sql,
            "user": self.user,
            "items": list(self.items) or None,
            "weight": self.weight,
            "outside": None if self.outside == "error" else self.outside,
            "version": self.version,
            "acknowledge_sql": self.acknowledge_sql or None,
            "encoding": None if self.encoding == "utf-8" else self.encoding,
            "timeout": self.timeout,
        }
        return {key: value for key, value in table.items() if value is not None}

    def named(self) -> dict[str, Any]:
        """What names these records in a ledger and in a key: where they are, their query and their version."""
        named = {} if self.source is None else dict(self.source.parameters)
        return {**named, "user": self.user, "items": list(self.items), "weight": self.weight, "outside": self.outside}


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
) -> Data:
    """Records by their source and columns; nothing is read yet.

    Args:
        source: A path, a pattern, the address of a database, a frame, or a mapping from names to columns.
        user: The column that says whose record it is.
        item: The column or columns that say what the item is; ``items`` is the same.
        items: See ``item``.
        sql: A query over the source.
        weight: A column of whole numbers: how often each record counts.
        outside: What to do with missing records and those outside the space.
        version: A public name of this state of the records; without one, columns in memory that have changed are taken
            for the same, and their earlier answer is shown again.
        acknowledge_sql: Let a query through whose effect on one person's records nobody has checked.
        encoding: How text files are encoded, ``"utf-8"`` or ``"latin-1"``.
        timeout: How long a statement of a database server may take, e.g. ``"4h"``.

    >>> read("visits.parquet", user="uid", item=["lat", "lon"]).to_spec()
    {'source': 'visits.parquet', 'user': 'uid', 'items': ['lat', 'lon']}
    """
    data = Data(
        source, user=user, items=item or items, sql=sql, weight=weight, outside=outside, version=version,
        acknowledge_sql=acknowledge_sql, encoding=encoding, timeout=timeout,
    )  # fmt: skip
    _ = data.columns  # refused at once where a column is not named
    return data
