"""The few places where SQL engines differ, for the SQL that is written here; everything else is one text.

A text is portable if it keeps to + - * / sqrt and floor on doubles, comparisons with numbers, CASE, CAST of literals,
LEAST inside a guard, COUNT, SUM, GROUP BY, joins on equality, and a name for every subquery. It must not rely on how
NaN compares: ``x >= -MAX AND x <= MAX`` is false for NaN whether NaN is the largest value (DuckDB, Postgres, Spark),
unordered (Trino, BigQuery, ClickHouse) or, with its sign set, the smallest (DataFusion). What may fail stands inside a
CASE that guards it, never behind an AND: Spark evaluates both sides where they share a part with something else.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

import numpy as np

from barrow.engines.numbers import BLANKS, INFINITE, LONG_EXPONENT, MOMENT, MOST_CHARACTERS, NUMBER, PADDING
from barrow.numerics import LIMB_BITS, MOST_RECORDS
from barrow.spaces.records import DAY, Moments

Table = dict[str, np.ndarray[Any, np.dtype[Any]]]

_WIDE = Context(prec=1200)
_OVER = format(_WIDE.subtract(Decimal(2**1024), Decimal(2**970)), "f")
"""Halfway above the largest double: from here on a decimal is infinite."""
_UNDER = format(_WIDE.divide(Decimal(1), Decimal(2**1075)), "f")
"""Half of the smallest double: up to here a decimal is zero."""


@dataclass(frozen=True)
class Syntax:
    """How an engine's SQL writes names and texts: enough for a query of the curator that passes.

    Args:
        name: The engine.
        quote: What stands around names.
        casts: What it calls the types that a query of the curator may cast to.
        backslash: Backslashes in literals are escapes.
    """

    name: str
    quote: str = '"'
    casts: dict[str, str] = field(default_factory=dict)
    backslash: bool = False

    def identifier(self, text: str) -> str:
        """A name."""
        return self.quote + text.replace(self.quote, self.quote * 2) + self.quote

    def literal(self, text: str) -> str:
        """A text."""
        return "'" + (text.replace("\\", "\\\\") if self.backslash else text).replace("'", "''") + "'"


@dataclass(frozen=True)
class Dialect(Syntax, ABC):
    """What an engine's SQL calls things, and the traps that a text must step around.

    Args:
        double: Its type of IEEE doubles.
        whole: Its type of 64-bit integers.
        text: Its type of texts.
        floor_is_whole: floor of a double is an integer (Spark).
        traps: Overflow and underflow of doubles are errors (Postgres).
        wide_sums: ItemSums of 64-bit integers do not overflow: they are of a wider type.
        decimals: Its numbers are exact decimals and no IEEE doubles, so that only whole numbers have items.
    """

    double: str = "DOUBLE"
    whole: str = "BIGINT"
    text: str = "VARCHAR"
    floor_is_whole: bool = False
    traps: bool = False
    wide_sums: bool = False
    decimals: bool = False

    def number_literal(self, x: float) -> str:
        """A double; a plain 0.1 would be a decimal."""
        if self.decimals:
            return format(Decimal(x), "f")
        return f"CAST('{float(x)!r}' AS {self.double})"

    @property
    def infinity(self) -> str:
        """The largest double of all."""
        return f"CAST('Infinity' AS {self.double})"

    def as_whole(self, sql: str) -> str:
        """An expression as a 64-bit integer."""
        return f"CAST({sql} AS {self.whole})"

    def sum_of(self, sql: str, over: str = "") -> str:
        """The sum of integers from 0; beyond 64 bits it is wider, an error, or above 2^62, which is refused later."""
        return f"SUM({sql}){over}"

    def quotient(self, number: str, by: str) -> str:
        """The quotient of integers from 0, rounded down."""
        return f"({number} / {by})"

    def remainder(self, number: str, by: str) -> str:
        """What is left of it."""
        return f"({number} % {by})"

    def product(self, weight: str, number: str) -> str:
        """The product of up to 2^32 and of a limb: up to 2^62, or 2^93 where sums are wide."""
        return f"{weight} * {number}"

    def parted(self, name: str) -> tuple[str, ...]:
        """A sum as columns of 64-bit integers; below 0 where it was too large."""
        return (f"{self.as_whole(f'coalesce({name}, -1)')} AS {name}_low",)

    def flag(self, condition: str) -> str:
        """1 where a condition is true, 0 elsewhere; not every engine casts booleans."""
        return f"CASE WHEN {condition} THEN 1 ELSE 0 END"

    def floor(self, sql: str) -> str:
        """Floor as a double; the caller sees to it that the absolute value is below 2^53."""
        whole = self.floor_is_whole and not self.decimals
        return f"CAST(floor({sql}) AS {self.double})" if whole else f"floor({sql})"

    def people(self, table: str, by: str, columns: Sequence[str]) -> str:
        """What stands after JOIN for a table with one row for each person, by the names of ``by``."""
        return table

    def same(self, one: str, other: str) -> str:
        """Whether two columns of people, of whom none is NULL, are equal."""
        return f"{one} = {other}"

    def sent(self, table: str, users: int | None) -> str:
        """A hint that a table of so many people is small, where the engine heeds one."""
        return ""

    def known(self, y: str, low: str, high: str) -> str:
        """A double that is within bounds, so that the engine knows them, too, where it can use them."""
        return y

    @property
    def no_key(self) -> str:
        """The end of a CASE whose key is none: nothing, or a number that is no key."""
        return ""

    def key_or_null(self, key: str) -> str:
        """A key, NULL where it is none."""
        return key

    def as_text(self, sql: str) -> str:
        """A label or a user as text, compared letter by letter."""
        return f"CAST({sql} AS {self.text})"

    def label(self, sql: str, kind: str) -> str:
        """A column of labels, as it is grouped by: whole numbers as such, and only distinct ones become texts."""
        return sql if kind == "integer" else self.as_text(sql)

    def number(self, sql: str, kind: str) -> str:
        """A column of a kind (integer, real, decimal, text) as doubles; NULL where a text is no number."""
        if kind == "text":
            return self.parsed(sql)
        return sql if self.decimals else f"CAST({sql} AS {self.double})"

    @abstractmethod
    def micros(self, sql: str, kind: str) -> str:
        """A moment (time, date, clock, …) as whole microseconds since 1970-01-01 UTC, or midnight; NULL if infinite."""

    def text_micros(self, text: str) -> str:
        """The same of a text (``2026-10-31 23:59:59.5``, with T and Z too); NULL where it is no moment.

        Engines differ in what their casts read and in what they do with 30 February, so the calendar is computed here,
        with whole numbers, for texts of one form only.
        """
        plain = f"replace({text}, 'Z', '')"
        padded = f"concat({plain}, substr({self.literal(PADDING)}, length({plain}) + 1))"

        def field(start: int, length: int) -> str:
            return self.as_whole(f"substr({padded}, {start}, {length})")

        def over(number: str, by: int) -> str:
            return self.as_whole(f"floor(CAST({number} AS {self.double}) / {self.number_literal(by)})")

        year, month, day = field(1, 4), field(6, 2), field(9, 2)
        hour, minute, second, micro = field(12, 2), field(15, 2), field(18, 2), field(21, 6)
        good = f"{self.in_calendar(year, month, day)} AND {hour} <= 23 AND {minute} <= 59 AND {second} <= 59"
        # Years that begin in March: the leap day is their last one.
        march = f"({year} - {self.flag(f'{month} <= 2')})"
        since = f"({month} + CASE WHEN {month} > 2 THEN -3 ELSE 9 END)"
        days = (
            f"({march} * 365 + {over(march, 4)} - {over(march, 100)} + {over(march, 400)} "
            f"+ {over(f'(153 * {since} + 2)', 5)} + {day} - 719469)"
        )
        clock = f"((({hour} * 60 + {minute}) * 60 + {second}) * 1000000 + {micro})"
        return f"CASE WHEN {self.matches(text, MOMENT)} THEN CASE WHEN {good} THEN {days} * {DAY} + {clock} END END"

    def in_calendar(self, year: str, month: str, day: str) -> str:
        """Whether there is a day of these whole numbers."""
        leap = f"(({year} % 4 = 0 AND {year} % 100 <> 0) OR {year} % 400 = 0)"
        last = f"CASE WHEN {month} = 2 THEN 28 + {self.flag(leap)} WHEN {month} IN (4, 6, 9, 11) THEN 30 ELSE 31 END"
        return f"{year} >= 1 AND {month} >= 1 AND {month} <= 12 AND {day} >= 1 AND {day} <= {last}"

    def moment(self, micros: str, use: Moments) -> str:
        """What a space reads of a moment in microseconds: a double, or the name of its day."""
        moved = f"({micros} + {use.offset})"
        if use.turn is not None:
            moved = f"(({moved} % {use.turn} + {use.turn}) % {use.turn})"
        number = f"(CAST({moved} AS {self.double}) / {self.number_literal(use.unit)})"
        if not use.names:
            return number
        days = " ".join(f"WHEN {i} THEN {self.literal(name)}" for i, name in enumerate(use.names))
        return f"CASE {self.as_whole(f'floor({number})')} {days} END"

    @abstractmethod
    def parsed(self, sql: str) -> str:
        """A text as a double, in the grammar of :mod:`barrow.engines.numbers`; NULL where it is no number."""

    def user(self, sql: str, kind: str) -> str:
        """The user of a record; NaN is none, and -0.0 is 0.0."""
        if kind == "real":
            zero = self.number_literal(0.0)
            inside = f"{sql} >= -{self.infinity} AND {sql} <= {self.infinity}"
            return f"CASE WHEN {sql} = {zero} THEN {zero} WHEN {inside} THEN {sql} END"
        return self.as_text(sql) if kind == "text" else sql

    def in_grammar(self, text: str) -> str:
        """Whether a text is a number; for engines whose own casts read other texts."""
        match = self.matches
        short = f"length({text}) <= {MOST_CHARACTERS} AND NOT {match(text, LONG_EXPONENT)}"
        return f"{short} AND ({match(text, NUMBER)} OR {match(text, INFINITE)})"

    def matches(self, text: str, pattern: str) -> str:
        """Whether a regular expression occurs in a text."""
        return f"regexp_like({text}, {self.literal(pattern)})"


_PAIR = 1 << 2 * LIMB_BITS


class _DuckDB(Dialect):
    # Keys of a range that it knows are grouped in an array, three times as quickly; NULL would hide the range.
    def known(self, y: str, low: str, high: str) -> str:
        return f"LEAST(GREATEST({y}, {low}), {high})"

    @property
    def no_key(self) -> str:
        return " ELSE -1"

    def key_or_null(self, key: str) -> str:
        return f"nullif({key}, -1)"

    def quotient(self, number: str, by: str) -> str:
        return f"({number} // {by})"

    def product(self, weight: str, number: str) -> str:
        return f"CAST({weight} AS HUGEINT) * {number}"

    def parted(self, name: str) -> tuple[str, ...]:
        low, high = f"{name} & {_PAIR - 1}", f"{name} >> {2 * LIMB_BITS}"  # much quicker than a division of HUGEINT
        return f"{self.as_whole(low)} AS {name}_low", f"{self.as_whole(high)} AS {name}_high"

    def label(self, sql: str, kind: str) -> str:
        return sql  # its texts have one collation, so enumerations too are grouped as such

    def number(self, sql: str, kind: str) -> str:
        # DuckDB's own way from exact numbers to doubles rounds twice; from their texts it rounds once.
        return f"CAST({self.as_text(sql)} AS DOUBLE)" if kind == "decimal" else super().number(sql, kind)

    def parsed(self, sql: str) -> str:
        text = self.as_text(sql)
        exponent = f"(contains({text}, 'e') OR contains({text}, 'E')) AND regexp_matches({text}, '{LONG_EXPONENT}')"
        return (
            f"CASE WHEN length({text}) > {MOST_CHARACTERS} OR {text} LIKE '%+-%' THEN NULL WHEN {exponent} THEN NULL "
            f"ELSE TRY_CAST({text} AS DOUBLE) END"
        )

    def matches(self, text: str, pattern: str) -> str:
        return f"regexp_matches({text}, {self.literal(pattern)})"

    def text_micros(self, text: str) -> str:
        # Of texts of this form its own cast reads what the calendar has, and beyond it the year 0 and the hour 24.
        moment = f"TRY_CAST(replace({text}, 'Z', '') AS TIMESTAMP)"
        good = f"{self.matches(text, MOMENT)} AND {text} NOT LIKE '0000%' AND substr({text}, 12, 2) <> '24'"
        return f"CASE WHEN {good} THEN epoch_us({moment}) END"

    def micros(self, sql: str, kind: str) -> str:
        if kind == "clock":
            return f"epoch_us({sql})"
        if kind == "zoned clock":
            ahead = f"CAST(extract('timezone' FROM {sql}) AS BIGINT) * 1000000"
            return f"((epoch_us({sql}) - {ahead} + {DAY}) % {DAY})"
        moment = f"CAST({sql} AS TIMESTAMP)" if kind == "date" else sql
        return f"CASE WHEN isfinite({moment}) THEN epoch_us({moment}) END"


class _Postgres(Dialect):
    def people(self, table: str, by: str, columns: Sequence[str]) -> str:
        # Of a part of WITH its planner does not know that persons are there once; it would then sort or hash all
        # records in place of the people.
        picks = ", ".join(f"MIN({x}) AS {x}" for x in columns)
        return f"(SELECT {by}, {picks} FROM {table} GROUP BY {by}) AS {table}"  # noqa: S608

    def product(self, weight: str, number: str) -> str:
        return f"CAST({weight} AS numeric) * {number}"

    def parted(self, name: str) -> tuple[str, ...]:
        low, high = f"mod({name}, {_PAIR})", f"div({name}, {_PAIR})"
        return f"{self.as_whole(low)} AS {name}_low", f"{self.as_whole(high)} AS {name}_high"

    def micros(self, sql: str, kind: str) -> str:
        whole = self.as_whole(f"extract(epoch FROM {sql}) * 1000000")
        if kind in ("clock", "zoned clock"):
            return f"(({whole} + {DAY}) % {DAY})"  # in UTC it may be yesterday
        return f"CASE WHEN isfinite({sql}) THEN {whole} END"

    def as_text(self, sql: str) -> str:
        # citext and nondeterministic collations would take different texts for the same one.
        return f'CAST({sql} AS TEXT) COLLATE "C"'

    def number(self, sql: str, kind: str) -> str:
        return self._ranged(sql) if kind == "decimal" else super().number(sql, kind)

    def parsed(self, sql: str) -> str:
        text = self.as_text(sql)
        exact = f"CAST(replace(btrim({text}, {self.literal(BLANKS)}), '_', '') AS numeric)"
        short = f"length({text}) <= {MOST_CHARACTERS} AND NOT {self.matches(text, LONG_EXPONENT)}"
        infinite = f"CASE WHEN {text} LIKE '%-%' THEN -{self.infinity} ELSE {self.infinity} END"
        return (
            f"CASE WHEN {short} AND {self.matches(text, NUMBER)} THEN {self._ranged(exact)} "
            f"WHEN {short} AND {self.matches(text, INFINITE)} THEN {infinite} END"
        )

    def matches(self, text: str, pattern: str) -> str:
        return f"{text} ~ {self.literal(pattern)}"

    def _ranged(self, sql: str) -> str:
        """An exact number as a double; what is beyond all doubles becomes infinite or zero where a cast would fail."""
        return (
            f"CASE WHEN {sql} = 'NaN' THEN NULL WHEN {sql} >= CAST('{_OVER}' AS numeric) THEN {self.infinity} "
            f"WHEN {sql} <= CAST('-{_OVER}' AS numeric) THEN -{self.infinity} "
            f"WHEN {sql} <= CAST('{_UNDER}' AS numeric) AND {sql} >= CAST('-{_UNDER}' AS numeric) "
            f"THEN {self.number_literal(0.0)} ELSE CAST({sql} AS {self.double}) END"
        )


_MOST_SENT = 100_000
"""People whose sizes are sent to all executors: some 10 MB, which is what Spark itself sends."""


class _Spark(Dialect):
    def literal(self, text: str) -> str:
        # What a backslash, a doubled quote or ${…} in a literal means depends on the session's settings.
        if not any(sign in text for sign in "\\'$"):
            return f"'{text}'"
        pieces = re.split(r"([\\'$])", text)
        parts = [f"char({ord(x)})" if i % 2 else f"'{x}'" for i, x in enumerate(pieces) if x]
        return f"concat({', '.join(parts)})"

    def quotient(self, number: str, by: str) -> str:
        return f"({number} div {by})"

    def same(self, one: str, other: str) -> str:
        # With = it would leave out NULL beforehand on one side only, and read and group the records once more.
        return f"{one} <=> {other}"

    def sent(self, table: str, users: int | None) -> str:
        return f"/*+ BROADCAST({table}) */ " if users is not None and users <= _MOST_SENT else ""

    def micros(self, sql: str, kind: str) -> str:
        if kind == "instant":
            return f"unix_micros({sql})"
        if kind == "clock":  # its functions of times of day are not in every version
            return f"CAST(floor(CAST({sql} AS DECIMAL(20, 9)) * 1000000) AS BIGINT)"
        days = f"CAST(unix_date(CAST({sql} AS DATE)) AS BIGINT) * {DAY}"
        if kind == "date":
            return days
        second = f"CAST(extract(SECOND FROM {sql}) * 1000000 AS BIGINT)"
        return f"{days} + CAST(hour({sql}) * 60 + minute({sql}) AS BIGINT) * 60000000 + {second}"

    def sum_of(self, sql: str, over: str = "") -> str:
        # SUM wraps round in silence, or not, by the session's settings.
        return f"coalesce(try_sum({sql}){over}, CASE WHEN COUNT({sql}){over} > 0 THEN {MOST_RECORDS + 1} END)"

    def as_text(self, sql: str) -> str:
        return f"CAST({sql} AS STRING) COLLATE UTF8_BINARY"

    def number(self, sql: str, kind: str) -> str:
        # Its own way from short exact numbers to doubles rounds twice; from their texts it rounds once.
        return f"CAST(CAST({sql} AS STRING) AS DOUBLE)" if kind == "decimal" else super().number(sql, kind)

    def parsed(self, sql: str) -> str:
        text = self.as_text(sql)
        # Java also reads 1d, 2.5F and 0x1p3, and trims control characters.
        return f"CASE WHEN {self.in_grammar(text)} THEN TRY_CAST(replace({text}, '_', '') AS DOUBLE) END"

    def matches(self, text: str, pattern: str) -> str:
        # Java's $ also matches before a last line break; after ours there is no character, whatever it is.
        whole = pattern.removesuffix("$") + "(?![^q]|q)" if pattern.endswith("$") else pattern
        return f"{text} RLIKE {self.literal(whole)}"


_TYPES = {x: x for x in ("DOUBLE", "VARCHAR", "BIGINT", "INTEGER", "DATE", "TIMESTAMP", "UUID", "BOOLEAN")}

DUCKDB: Dialect = _DuckDB("duckdb", casts=_TYPES, wide_sums=True)
POSTGRES: Dialect = _Postgres(
    "postgres",
    double="DOUBLE PRECISION",
    text="TEXT",
    casts=_TYPES | {"DOUBLE": "DOUBLE PRECISION", "VARCHAR": "TEXT"},
    traps=True,
    wide_sums=True,
)
SPARK: Dialect = _Spark(
    "spark",
    text="STRING",
    quote="`",
    casts={k: v for k, v in (_TYPES | {"VARCHAR": "STRING"}).items() if k != "UUID"},
    floor_is_whole=True,
)
