# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""What engines that push SQL down share: one text, one order of checks, constant refusals.

An engine says how a source is opened (:class:`Reader`) and which shape of the count it likes; ids of users never leave
it. The statements create nothing, so that a read-only replica will do: public tables travel with them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

import numpy as np

from barrow.engines.advice import advise
from barrow.engines.base import TIMES, Asked, Columns, Engine, check_columns, flat_groups
from barrow.engines.counts import (
    LOST,
    NOBODY,
    UNWEIGHED,
    CheckReport,
    Counts,
    Integers,
    PrivateTextError,
    Sampled,
    found_users,
    known_items,
    merged,
    quietly,
    refuse_empty,
    refuse_states,
)
from barrow.engines.sampling import Pool, RunSampler
from barrow.engines.source import Source
from barrow.engines.sql.dialects import DUCKDB, Dialect, Table
from barrow.engines.sql.encoding import Encoding, encoding_for
from barrow.noise import Source as Randomness
from barrow.numerics import MOST_WEIGHT
from barrow.spaces import Space
from barrow.spaces.base import Unknown

PIECE = 2**17
Shape = Literal["window", "join", "broadcast"]
R = TypeVar("R", bound="Reader")


class Reader(Protocol):
    """An open source: what stands after FROM, its columns, and how statements are run.

    Attributes:
        relation: What stands after FROM.
        kinds: The kinds of the columns' values.
        forms: How columns become numbers, where that is not by their kind.
        header_is_sure: False if the first record may have been taken for the names of the columns.
    """

    @property
    def relation(self) -> str: ...  # noqa: D102 - described above

    @property
    def kinds(self) -> dict[str, str]: ...  # noqa: D102 - described above

    @property
    def forms(self) -> dict[str, str]: ...  # noqa: D102 - described above

    @property
    def header_is_sure(self) -> bool: ...  # noqa: D102 - described above

    def table(self, name: str, columns: Table) -> None:
        """Let statements see public columns as a table; the statements join it as ``JOIN name ON``."""
        ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The result of a small query."""
        ...

    def arrays(self, sql: str) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """The columns of a result of whole numbers."""
        ...

    def pieces(self, sql: str, size: int) -> Iterator[Mapping[str, np.ndarray[Any, np.dtype[Any]]]]:
        """The same, a piece of at most ``size`` rows at a time."""
        ...


@dataclass(frozen=True)
class Reading:
    """The views of one reading: values as they are, and coded by the space.

    Attributes:
        table: What stands after FROM and holds the records.
        user: The expression for the user.
        raw: The item columns as they are.
        values: The item columns as numbers or labels.
        encoding: The SQL of the space.
        weight: The expression for how many records a row stands for, NULL if that is no whole number; None for one.
        dialect: The SQL that is spoken.
    """

    table: str
    user: str
    raw: list[str]
    values: list[str]
    encoding: Encoding
    weight: str | None
    dialect: Dialect

    def coded(self, carried: Mapping[str, str] | None = None) -> str:
        """SELECT of u, the keys and the weight of each record; ``carried`` are further expressions by their names."""
        e, more = self.encoding, dict(carried or {})
        if self.weight is not None:
            more["w"] = self.weight
        inner = [f"{self.user} AS u", *_named("x", self.values), *(f"{sql} AS {alias}" for alias, sql in more.items())]
        middle = ["u", *_named("y", e.moves), *more]
        outer = ["u", *_named("k", e.keys), *more]
        some = "" if self.weight is None else " WHERE w IS NULL OR w > 0"
        return (
            f"SELECT {', '.join(outer)} FROM (SELECT {', '.join(middle)} FROM "
            f"(SELECT {', '.join(inner)} FROM {self.table}) AS q0) AS q1 {' '.join(e.joins)}{some}"
        )

    def users(self) -> str:
        """SELECT of u, and of w where records have weights."""
        plain = f"SELECT {self.user} AS u FROM {self.table}"
        if self.weight is None:
            return plain
        return (
            f"SELECT u, w FROM (SELECT {self.user} AS u, {self.weight} AS w FROM {self.table}) AS q0 "
            "WHERE w IS NULL OR w > 0"
        )

    def total(self, over: str = "") -> str:
        """The aggregate that counts records; ``over`` makes it one of a window."""
        return f"COUNT(*){over}" if self.weight is None else self.dialect.sum_of("w", over)

    @property
    def keys(self) -> str:
        """The names k0, k1, … of the keys."""
        return ", ".join(f"k{i}" for i in range(len(self.encoding.keys)))


def _named(letter: str, expressions: Sequence[str]) -> list[str]:
    return [f"{sql} AS {letter}{i}" for i, sql in enumerate(expressions)]


def reading_of(
    table: str,
    kinds: Mapping[str, str],
    columns: Columns,
    space: Space,
    encoding: Encoding,
    dialect: Dialect = DUCKDB,
) -> Reading:
    """The reading of some columns of ``table``, of these ``kinds``, as items of ``space``."""
    name = dialect.identifier
    values = []
    for _, group, reads in flat_groups(columns, space):
        numeric, use = reads.numbers, reads.moments
        for x in group:
            plain = dialect.number(name(x), kinds[x]) if numeric else dialect.label(name(x), kinds[x])
            if use is not None and kinds[x] in TIMES:
                plain = dialect.moment(dialect.micros(name(x), kinds[x]), use)
            elif use is not None and kinds[x] == "text":
                moment = dialect.moment(dialect.text_micros(dialect.as_text(name(x))), use)
                plain = f"coalesce({plain}, {moment})" if numeric else f"coalesce({moment}, {plain})"
            values.append(plain)
    weight = None
    if columns.weight is not None:
        weight = _whole(dialect, dialect.number(name(columns.weight), kinds[columns.weight]))
    user = dialect.user(name(columns.user), kinds[columns.user])
    return Reading(table, user, [name(x) for x in columns.items], values, encoding, weight, dialect)


def _whole(dialect: Dialect, x: str) -> str:
    inside = f"{x} >= {dialect.number_literal(0.0)} AND {x} <= {dialect.number_literal(MOST_WEIGHT)}"
    whole = f"CASE WHEN {dialect.floor(x)} = {x} THEN {dialect.as_whole(x)} END"
    return f"CASE WHEN {inside} THEN {whole} END"


class SqlEngine(Engine, Generic[R]):
    """Counts, samples and checks by statements in the dialect of an engine.

    A subclass names its ``dialect`` and opens sources; ``shape`` is how users' sizes meet the records: by a window over
    the records (read once), by a join with the sizes (read twice), or by sending the sizes to all (Spark).
    """

    dialect: ClassVar[Dialect]
    shape: Shape = "window"
    together: ClassVar[str] = ""
    """A hint that brings the records of each user together before they are grouped."""

    @abstractmethod
    def _open(self, source: Source, columns: Columns | None) -> AbstractContextManager[R]:
        """Open the source for one consistent reading; the query of the source is judged here."""

    def _looking(self, source: Source, columns: Columns) -> AbstractContextManager[R]:
        """Open the source to look at its columns alone."""
        return self._open(source, columns)

    def columns(self, source: Any) -> dict[str, str]:
        """Names of the columns and the kinds of their values; no record is read."""

        def look() -> dict[str, str]:
            with self._open(Source.of(source), None) as reader:
                return reader.kinds

        return quietly(look)

    def validate(self, source: Any, columns: Columns, space: Space, *, unknown: Unknown = "error") -> None:
        """Refuse missing columns, wrong types and spaces that cannot be pushed down, from public facts only."""
        encoding_for(space, columns, unknown, self.dialect)

        def look() -> None:
            with self._looking(Source.of(source), columns) as reader:
                check_columns(columns, space, reader.kinds, header_is_sure=reader.header_is_sure)

        quietly(look)

    @contextmanager
    def _read(self, asked: Asked) -> Iterator[tuple[R, Reading]]:
        with self._open(asked.source, asked.columns) as reader:
            yield reader, self._reading(reader, asked)

    def _count(self, asked: Asked) -> Counts:
        def read() -> Counts:
            with self._read(asked) as (reader, reading):
                return self._counts(reader, reading, asked)

        return quietly(read)

    def _sample(self, asked: Asked, samples: int, randomness: Randomness | None) -> Sampled:
        def read() -> Sampled:
            with self._read(asked) as (reader, reading):
                return self._samples(reader, reading, asked, samples, randomness)

        return quietly(read)

    def _check(self, asked: Asked, examples: int) -> CheckReport:
        try:
            with self._read(asked) as (reader, reading):
                return self._report(reader, reading, asked, examples)
        except PrivateTextError as trouble:
            return CheckReport(problem=str(trouble), declared=asked.users)

    def _reading(self, reader: R, asked: Asked) -> Reading:
        columns, space = asked.columns, asked.space
        encoding = encoding_for(space, columns, asked.unknown, self.dialect)
        check_columns(columns, space, reader.kinds, header_is_sure=reader.header_is_sure)
        for name, table in encoding.tables.items():
            reader.table(name, table)
        return reading_of(reader.relation, reader.forms, columns, space, encoding, self.dialect)

    def _item(self, reading: Reading) -> str:
        return self.dialect.as_whole(f"coalesce({reading.encoding.item}, {LOST})")

    def _state(self, reading: Reading, otherwise: str, of: str = "") -> str:
        """What stands in place of what cannot be counted, below 0; and ``otherwise`` for everything else."""
        nobody, unweighed, other = (self.dialect.as_whole(str(x)) for x in (NOBODY, UNWEIGHED, otherwise))
        weights = "" if reading.weight is None else f" WHEN {of}w IS NULL THEN {unweighed}"
        return f"CASE WHEN {of}u IS NULL THEN {nobody}{weights} ELSE {other} END"

    def counting(self, reading: Reading) -> str:
        """One statement, entries (item, m, c); what cannot be counted comes in place of an item.

        Until the items are looked up it stands in place of m, so that nothing more is grouped by.
        """
        d, keys, late = self.dialect, reading.keys, " ".join(reading.encoding.late_joins)
        weight = "" if reading.weight is None else ", w"
        steps = [f"coded AS ({reading.coded()})"]
        if self.shape == "window":
            size = self._state(reading, reading.total(" OVER (PARTITION BY u)"))
            sized = f"SELECT {keys}{weight}, {size} AS m FROM coded"
        else:
            hint = "/*+ BROADCAST(sizes) */ " if self.shape == "broadcast" else ""
            steps.append(f"sizes AS (SELECT u, {reading.total()} AS m FROM ({reading.users()}) AS q3 GROUP BY u)")
            size = self._state(reading, "sizes.m", "coded.")
            held = "" if reading.weight is None else ", coded.w AS w"
            sized = f"SELECT {hint}{keys}{held}, {size} AS m FROM coded LEFT JOIN sizes ON coded.u = sizes.u"
        steps.append(f"sized AS ({sized})")
        steps.append(f"counted AS (SELECT {keys}, m, {reading.total()} AS c FROM sized GROUP BY {keys}, m)")
        item = f"CASE WHEN m < 0 THEN {d.as_whole('m')} ELSE {self._item(reading)} END AS item"
        numbers = f"{d.as_whole('m')} AS m, {d.as_whole('coalesce(c, 0)')} AS c"
        return f"WITH {', '.join(steps)} SELECT {item}, {numbers} FROM counted {late}"

    def _counts(self, reader: R, reading: Reading, asked: Asked) -> Counts:
        entries = reader.arrays(self.counting(reading))
        item, size, count = (entries[x].astype(np.int64) for x in ("item", "m", "c"))
        return counts_of(item, size, count, asked.space, asked.unknown)

    def _samples(
        self, reader: R, reading: Reading, asked: Asked, samples: int, randomness: Randomness | None
    ) -> Sampled:
        sampler, pooled = RunSampler(samples, randomness), Pool()
        for piece in reader.pieces(self.user_by_user(reading), PIECE):
            pooled.check()
            item, new = piece["item"].astype(np.int64), piece["fresh"] == 1
            drawn = sampler.draw(new, piece["m"].astype(np.int64), piece["c"].astype(np.int64))
            pooled.add(item, drawn)
        pooled.check()
        if not sampler.users:
            raise refuse_empty()
        asked.check_found(sampler.users)
        sampler.finish()
        items, counts = pooled.drawn(asked.unknown, asked.space.default_item)
        return asked.sampled(items, counts, samples=samples, found=sampler.users, private=sampler.private)

    def user_by_user(self, reading: Reading, *, ordered: bool = True) -> str:
        """Rows (fresh, item, c, m), user by user; of a user only "is this the first row" comes out.

        Without ``ordered`` they come user by user within each partition only.
        """
        d, late, total = self.dialect, " ".join(reading.encoding.late_joins), reading.total()
        weight = "" if reading.weight is None else ", w"
        item = f"CASE WHEN state < 0 THEN {d.as_whole('state')} ELSE {self._item(reading)} END"
        state = f"SELECT u, {reading.keys}{weight}, {self._state(reading, '0')} AS state FROM ({reading.coded()}) AS q2"
        named = f"SELECT {self.together}u, {item} AS item{weight} FROM ({state}) AS q3 {late}"
        grouped = f"SELECT u, item, {d.as_whole(f'coalesce({total}, 1)')} AS c FROM ({named}) AS q4 GROUP BY u, item"
        return (
            f"SELECT {d.flag('ROW_NUMBER() OVER (PARTITION BY u ORDER BY item) = 1')} AS fresh, item, c, "
            f"{d.as_whole(d.sum_of('c', ' OVER (PARTITION BY u)'))} AS m FROM ({grouped}) AS q5"
            + (" ORDER BY u, item" if ordered else "")
        )

    def _report(self, reader: R, reading: Reading, asked: Asked, examples: int) -> CheckReport:
        columns = asked.columns
        d, raw = self.dialect, [f"raw{i}" for i in range(len(reading.raw))]
        # Moments as texts: Python knows none before the year 1 or after 9999.
        kinds = [reader.kinds.get(name) in TIMES for name in columns.items]
        shown = [d.as_text(x) if is_time else x for x, is_time in zip(reading.raw, kinds, strict=True)]
        judged = (
            f"SELECT u, {', '.join(raw)}, {d.flag(f'{reading.encoding.item} IS NULL')} AS lost, "
            f"{d.flag('w IS NULL') if reading.weight is not None else '0'} AS bad "
            f"FROM ({reading.coded(dict(zip(raw, shown, strict=True)))}) AS q4 "
            f"{' '.join(reading.encoding.late_joins)}"
        )
        rows, nulls, lost, bad = reader.rows(
            f"SELECT COUNT(*), coalesce(SUM({d.flag('u IS NULL')}), 0), coalesce(SUM(lost), 0), coalesce(SUM(bad), 0) "
            f"FROM ({judged}) AS q5"
        )[0]
        found, smallest, largest = reader.rows(
            "SELECT COUNT(*), coalesce(MIN(m), 0), coalesce(MAX(m), 0) FROM "
            f"(SELECT {reading.total()} AS m FROM ({reading.users()}) AS q6 WHERE u IS NOT NULL GROUP BY u) AS q7"
        )[0]
        lost_rows = reader.rows(
            f"SELECT {', '.join(raw)} FROM ({judged}) AS q8 WHERE lost = 1 LIMIT {max(int(examples), 40)}"
        )
        return CheckReport(
            rows=int(rows),
            users=int(found),
            null_users=int(nulls),
            lost_items=int(lost),
            smallest=int(smallest),
            largest=int(largest),
            examples=tuple(dict(zip(columns.items, row, strict=True)) for row in lost_rows[:examples]),
            declared=asked.users,
            lost_is_fine=asked.unknown == "default",
            bad_weights=int(bad),
            advice=advise([tuple(row) for row in lost_rows], columns, asked.space),
        )


def counts_of(
    item: Integers,
    size: Integers,
    count: Integers,
    space: Space,
    unknown: Unknown,
    users: int | None = None,
) -> Counts:
    """Counts of what an engine answered, or the refusal of what cannot be counted; ``users`` if counted apart."""
    if not len(item):
        raise refuse_empty()
    refuse_states(item)
    found = found_users(size, count) if users is None else users
    return merged(known_items(item, space.default_item, unknown), size, count, users=found)
