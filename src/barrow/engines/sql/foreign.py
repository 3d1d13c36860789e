"""One SELECT for a warehouse that barrow does not connect to: it returns the sums of :mod:`barrow.engines.sums`.

The text is written once, in what all engines share, and sqlglot (extra ``sql``) writes it in the words of each. What
sqlglot would guess is said here: integer division (it divides doubles in Trino, Redshift and SQL Server), LEAST (which
ignores NULL in some engines), collations that take ``a`` for ``A``, and doubles that are no IEEE doubles (Oracle).
Whatever cannot be said for certain is refused.
"""

from __future__ import annotations

import datetime
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from barrow.engines.base import Columns, flat_groups
from barrow.engines.breakdown import WHOLE, Breakdown, Layer, periods_of
from barrow.engines.counts import LOST, PEOPLE
from barrow.engines.sql.dialects import Dialect, Table
from barrow.engines.sql.encoding import encoding_for
from barrow.engines.sql.public_tables import LARGEST, JoinedTable, Writer
from barrow.engines.sql.select_plan import GROUPS, reading_of, summing
from barrow.errors import ParameterError, nearest_name, optional_library
from barrow.numerics import LIMB_BITS, MOST_HELD, SUM_BITS
from barrow.spaces import Discrete, Line, Space
from barrow.spaces.space import Unknown

_sqlglot = partial(optional_library, "sqlglot", extra="sql", purpose="SQL for other engines")
NUMBERS, MARK = ("item", "n", "a_low", "b_low", "c_low", "d_low"), "barrow"
"""The columns of numbers in the result of every SELECT, and the one that says which SELECT it was."""
RECORDS = "records"
"""What stands for the table of records in the text whose digest is taken."""


@dataclass(frozen=True)
class Foreign:
    """What sqlglot does not know for certain of a dialect.

    Attributes:
        name: What it is called on the command line.
        words: Its name in sqlglot.
        divide: How whole numbers are divided: ``"plain"``, ``"function"`` (a function's name follows), ``"own"`` by
            sqlglot, or ``"exact"``, where a quotient of multiples is exact.
        function: The function that divides.
        text: The type of texts, where sqlglot's is not the right one.
        collation: What makes texts differ by every letter: ``COLLATE name`` or, with a bracket, a function.
        infinity: How an infinite double is written; None where there is none.
        doubles: Whether its doubles are IEEE doubles.
        wraps: Whether sums of 64-bit integers may wrap round in silence, so that they are of decimals.
        tail: What stands after the SELECT, so that joins and names mean what they mean elsewhere.
        clocks: Whether a moment with a time zone shows the zone when it becomes a text, so that it is never taken for a
            local time; elsewhere only dates are times of records.
        made: What stands after the columns of a table that is made.
        tried: Whether the text is run for real in the tests.
    """

    name: str
    words: str
    divide: str = "plain"
    function: str = ""
    text: str = "TEXT"
    collation: str = ""
    infinity: str | None = None
    doubles: bool = True
    wraps: bool = False
    tail: str = ""
    clocks: bool = False
    made: str = ""
    tried: bool = False


FOREIGN: Mapping[str, Foreign] = {
    x.name: x
    for x in (
        Foreign("snowflake", "snowflake", "exact", text="VARCHAR", collation="COLLATE('utf8')", infinity="inf"),
        Foreign("bigquery", "bigquery", "own", text="STRING", collation="COLLATE('')", infinity="inf", clocks=True),
        Foreign("databricks", "databricks", "own", text="STRING", infinity="Infinity", wraps=True),
        Foreign("trino", "trino", text="VARCHAR", infinity="Infinity", clocks=True),
        Foreign("redshift", "redshift", text="VARCHAR(4096)", infinity="Infinity", clocks=True),
        Foreign(
            "clickhouse",
            "clickhouse",
            "function",
            "intDiv",
            text="Nullable(String)",
            infinity="inf",
            wraps=True,
            # What no row is joined to is NULL and not 0, and a column is meant before another column's new name.
            tail="SETTINGS join_use_nulls = 1, prefer_column_name_to_alias = 1",
            made=" ENGINE = MergeTree ORDER BY id",
            tried=True,
        ),
        Foreign("sqlserver", "tsql", text="NVARCHAR(4000)", collation="Latin1_General_BIN2", clocks=True),
        Foreign("oracle", "oracle", "exact", text="VARCHAR2(4000)", doubles=False),
        Foreign("mysql", "mysql", "own", text="CHAR", collation="utf8mb4_0900_bin"),
        Foreign("sqlite", "sqlite", clocks=True, tried=True),
        Foreign("duckdb", "duckdb", "own", infinity="Infinity", clocks=True, tried=True),
        Foreign(
            "postgres", "postgres", "function", "div", collation='"C"', infinity="Infinity", clocks=True, tried=True
        ),
        Foreign("spark", "spark", "own", text="STRING", infinity="Infinity", wraps=True, tried=True),
        Foreign("datafusion", "duckdb", infinity="Infinity", wraps=True, clocks=True, tried=True),
    )
}


class _Portable(Dialect):
    """The text that sqlglot reads, as DuckDB's; ``barrow_text`` stands for a text compared letter by letter."""

    def quotient(self, number: str, by: str) -> str:
        return f"({number} // {by})"

    def as_text(self, sql: str) -> str:
        return f"barrow_text({sql})"

    def user(self, sql: str, kind: str) -> str:
        return self.as_text(sql)

    def sum_of(self, sql: str, over: str = "") -> str:
        return f"barrow_sum({sql})"

    def parted(self, name: str) -> tuple[str, ...]:
        fits = f"CASE WHEN {name} <= {2**63 - 1} THEN {self.as_whole(name)} ELSE {self.as_whole('-1')} END"
        return (f"{fits} AS {name}_low",)

    def micros(self, sql: str, kind: str) -> str:
        raise _refused("moments as items")

    def parsed(self, sql: str) -> str:
        raise _refused("numbers as texts")


@dataclass(frozen=True)
class SqlStatement:
    """One SELECT, with the digest by which its counts are known again.

    Attributes:
        dialect: In whose words it is.
        text: The SELECT.
        digest: SHA-256 of the text with a fixed name for the table.
        groups: The groups that the places 0, 1, … in the column ``g`` stand for.
        periods: The spans of time that the places 0, 1, … in the column ``s`` stand for.
        public: The public tables that it joins.
    """

    dialect: str
    text: str
    digest: str
    groups: tuple[str, ...] = ()
    periods: tuple[str, ...] = ()
    public: tuple[JoinedTable, ...] = field(default=(), compare=False, repr=False)

    @property
    def tables(self) -> tuple[str, ...]:
        """The public tables that :meth:`script` makes.

        >>> SqlStatement("trino", "SELECT 1", "0" * 64).tables
        ()
        """
        return tuple(one.made for one in self.public if one.made)

    def script(self) -> Iterator[str]:
        """The statements that make the public tables which are too large to travel inside the SELECT.

        >>> list(SqlStatement("trino", "SELECT 1", "0" * 64).script())
        []
        """
        for table in self.public:
            yield from table.script()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its result.

        >>> SqlStatement("trino", "SELECT 1", "0" * 64, groups=("north", "south")).columns[:3]
        ('item', 'g', 'n')
        """
        told = [name for name, there in (("g", self.groups), ("s", self.periods)) if there]
        return ("item", *told, *NUMBERS[1:], MARK)

    @property
    def mark(self) -> str:
        """What stands in each row of the result.

        >>> SqlStatement("trino", "SELECT 1", "0" * 64).mark
        'trino 00000000000000000000000000000000'
        """
        return f"{self.dialect} {self.digest[:32]}"


def dialect_named(name: str) -> Foreign:
    """The dialect of this name; others are refused with the nearest.

    >>> dialect_named("trino").tried
    False
    """
    if name not in FOREIGN:
        close = nearest_name(name, FOREIGN)
        raise ParameterError(
            f"The dialect is {name!r}.", allowed=", ".join(FOREIGN), fix=f"--dialect {close or 'snowflake'}"
        )
    return FOREIGN[name]


def written(
    space: Space,
    columns: Columns,
    *,
    dialect: str,
    table: str = RECORDS,
    unknown: Unknown = "error",
    breakdown: Breakdown = WHOLE,
    public: str | None = None,
) -> SqlStatement:
    """The SELECT that returns the sums of ``table`` (``schema.table`` is two names) in a dialect.

    Public tables of more than 5,000 rows are made by a script of their own, in the schema ``public``, or in that of
    the table. Where cells are told apart, its rows say of which group (``g``, its place among the labels) and of which
    span of time (``s``, its place among the spans) they are.

    >>> from barrow.spaces import Discrete
    >>> one = written(Discrete(["a", "b"]), Columns("uid", "item"), dialect="trino", table="shop.visits")
    >>> "shop" in one.text, one.mark.split()[0], "JOIN" in one.text
    (True, 'trino', True)
    """
    foreign = dialect_named(dialect)
    asked = _CellsAsked(space, columns.asked(breakdown), unknown, breakdown)
    known, _ = _text(asked, foreign, RECORDS, "")
    digest = hashlib.sha256(known.encode()).hexdigest()
    mark = SqlStatement(dialect, "", digest).mark
    periods = tuple("+".join(one.label for one in periods_of(span)) for span in breakdown.spans if breakdown.timed)
    place = table.rpartition(".")[0] if public is None else public
    text, tables = _text(asked, foreign, table, mark, place=place)
    return SqlStatement(dialect, text, digest, breakdown.labels, periods, tables)


def self_test(dialect: str) -> tuple[SqlStatement, list[tuple[int, ...]]]:
    """A SELECT over made-up rows that travel inside it, and the rows that it must give: item, n and the limbs.

    >>> statement, rows = self_test("trino")
    >>> rows[-1][:2], len(rows)
    ((-9, 6), 30)
    """
    foreign, columns = dialect_named(dialect), Columns("uid", "x")
    labels = Discrete([str(i) for i in range(31)])
    space: Space = Line(0, 3, step=0.1) if foreign.doubles else labels
    held = [(k, i) for k in range(len(_USERS)) for i in range(1, 31) if i % (k + 1) == 0]
    numbers = [i for _, i in held]
    values: Any = 0.1 * np.array(numbers) if foreign.doubles else np.array([str(i) for i in numbers], dtype=object)
    data: Table = {"uid": np.array([_USERS[k] for k, _ in held], dtype=object), "x": values}
    text, _ = _text(_CellsAsked(space, columns), foreign, "made_up", "", {"made_up": data})
    sizes = Counter(k for k, _ in held)
    result: dict[int, list[int]] = {}
    for (k, _), item in zip(held, space.encode(values).tolist(), strict=True):
        row = result.setdefault(item, [0] * 4)
        result[item] = [a + b for a, b in zip(row, _digits(sizes[k]), strict=True)]
    everybody = [len(sizes), *(sum(m * _digits(m)[j] for m in sizes.values()) for j in range(4))]
    rows = [(item, 0, *result[item]) for item in sorted(result)] + [(PEOPLE, *everybody)]
    return SqlStatement(dialect, text, hashlib.sha256(text.encode()).hexdigest()), rows


_USERS = ("a", "A", "a ", "é", "7", "O'Neil")
"""Who must stay six people in every collation."""


def _digits(held: int) -> list[int]:
    """The limbs of what a record weighs, as the statement has them: 2^60 is lent to the lower half."""
    upper, lower = divmod((1 << SUM_BITS) // held, 1 << 2 * LIMB_BITS)
    lent = lower + (1 << 2 * LIMB_BITS) - (MOST_HELD - held)
    return [*divmod(upper - 1, 1 << LIMB_BITS), *divmod(lent, 1 << LIMB_BITS)]


@dataclass(frozen=True)
class _CellsAsked:
    """What a statement is about: the space, the columns, the rule for lost records and the cells."""

    space: Space
    columns: Columns
    unknown: Unknown = "error"
    breakdown: Breakdown = WHOLE


class _Days(Layer):
    """Spans of whole days, which are compared as numbers such as 20261031."""

    def cuts(self, *, zoned: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        bounds, slots = super().cuts(zoned=False)
        days = (_EPOCH + datetime.timedelta(microseconds=bound) for bound in bounds)
        return tuple(day.year * 10_000 + day.month * 100 + day.day for day in days), slots


_EPOCH = datetime.datetime(1970, 1, 1)
_DATE = "0000-00-00"
_TAILS = ("", ":00", *(":00." + "0" * places for places in range(1, 10)))
_TIMES = tuple(f"{_DATE}{sign}00:00{tail}" for sign in " T" for tail in _TAILS)
"""What dates and local times look like where each digit is a 0; a text with a zone is none of them."""


def _day(dialect: Dialect, column: str, *, clocks: bool) -> str:
    """The day of a date, a local time or a text of one of their forms, as 20261031; NULL where it is something else.

    It is read from the text, because engines differ in what they cast to a moment, and in whose zone.
    """
    text = shape = dialect.as_text(dialect.identifier(column))
    for digit in "123456789":
        shape = f"replace({shape}, '{digit}', '0')"

    def field(start: int, length: int) -> str:
        return dialect.as_whole(f"substr({text}, {start}, {length})")

    year, month, day = field(1, 4), field(6, 2), field(9, 2)
    shapes = ", ".join(map(dialect.literal, (_DATE, *(_TIMES if clocks else ()))))
    late = " OR ".join(f"substr({text}, {start}, 2) > '{most}'" for start, most in ((12, 23), (15, 59), (18, 59)))
    rules = [f"WHEN {late} THEN NULL"] if clocks else []  # of a date these are empty or NULL, and it is not late
    rules.append(f"WHEN {dialect.in_calendar(year, month, day)} THEN {year} * 10000 + {month} * 100 + {day}")
    return f"CASE WHEN {shape} IN ({shapes}) THEN CASE {' '.join(rules)} END END"


def _text(
    asked: _CellsAsked,
    foreign: Foreign,
    table: str,
    mark: str,
    more: Mapping[str, Table] | None = None,
    place: str = "",
) -> tuple[str, tuple[JoinedTable, ...]]:
    """The SELECT, and the public tables which it joins."""
    space, columns, breakdown = asked.space, asked.columns, asked.breakdown
    if len(breakdown.layers) > 1:
        raise ParameterError(
            "The periods have days in common, which one SELECT cannot tell apart.",
            allowed="periods without common days",
            fix="--period 2026-01..2026-03, and another SELECT for the others",
        )
    infinity = repr(LARGEST) if foreign.infinity is None else foreign.infinity
    decimals = not foreign.doubles
    dialect = _Infinite("portable", floor_is_whole=True, traps=True, decimals=decimals, infinite=infinity)
    kinds = {name: "real" for _, group, reads in flat_groups(columns, space) for name in group if reads.numbers}
    kinds = {name: kinds.get(name, "text") for name in columns.all} | (
        {} if columns.weight is None else {columns.weight: "real"}
    )
    encoding = encoding_for(space, columns, asked.unknown, dialect)
    relation = ".".join(dialect.identifier(part) for part in table.split("."))
    plain_columns = Columns(columns.user, columns.items, columns.weight, columns.group)
    reading = reading_of(relation, kinds, plain_columns, space, encoding, dialect)
    tables = {**(more or {}), **encoding.tables}
    if columns.time is not None:
        days = _Days(breakdown.layers[0].spans, breakdown.zone)
        reading = replace(reading, moment=_day(dialect, columns.time, clocks=foreign.clocks), layer=days)
    if columns.group is not None:
        labels = np.array(breakdown.labels, dtype=object)
        tables[GROUPS] = {"label": labels, "id": np.arange(len(labels), dtype=np.int64)}
    item = dialect.as_whole(f"coalesce({encoding.item}, {LOST})")
    plain = summing(reading, f"({reading.coded(grouped=False)})", f"({reading.users()})", item)
    return _said(plain, tables, foreign, mark, place)


@dataclass(frozen=True)
class _Infinite(_Portable):
    infinite: str = "Infinity"

    @property
    def infinity(self) -> str:
        return f"CAST('{self.infinite}' AS {self.double})"


def _said(
    plain: str, tables: Mapping[str, Table], foreign: Foreign, mark: str, place: str
) -> tuple[str, tuple[JoinedTable, ...]]:
    """The text in the words of a dialect, with the public tables that it joins."""
    glot = _sqlglot()
    errors = glot.errors
    try:
        tree = glot.parse_one(plain, read="duckdb").transform(partial(_node, glot.exp, foreign))
        writer = Writer(glot, foreign.words, foreign.text, foreign.infinity, foreign.made)
        public = [writer.public(name, table, place) for name, table in tables.items()]
        complete = " AND ".join(one.complete for one in public if one.complete)
        shown = writer.marked(mark, complete)
        for select in (tree.left, tree.right):
            select.select(glot.exp.alias_(shown, MARK), copy=False)
        text: str = tree.sql(pretty=True, **writer.say)
        text = text.replace("WITH ", f"WITH {', '.join(one.part for one in public)}, ", 1) if public else text
        text = f"{text}\n{foreign.tail}" if foreign.tail else text
        glot.parse_one(text, read=foreign.words)  # it reads back what it wrote
    except (errors.UnsupportedError, errors.ParseError, errors.TokenError) as trouble:
        raise _refused("the space", foreign.name) from trouble
    return text + "\n", tuple(public)


def _node(exp: Any, foreign: Foreign, node: Any) -> Any:
    """A node of the tree, with what sqlglot would guess replaced by what is certain."""
    if isinstance(node, exp.IntDiv):
        return _divided(exp, foreign, node)
    if isinstance(node, exp.Least):
        first, second = node.this, node.expressions[0]
        return exp.Case(
            ifs=[exp.If(this=exp.LT(this=first.copy(), expression=second.copy()), true=first)], default=second
        )
    if isinstance(node, exp.Anonymous) and node.name.lower() == "barrow_text":
        return _as_text(exp, foreign, node.expressions[0])
    if isinstance(node, exp.Anonymous) and node.name.lower() == "barrow_sum":
        inner = node.expressions[0]
        if not foreign.wraps:
            return exp.Sum(this=inner)
        return exp.Sum(this=exp.cast(inner, "DECIMAL(38, 0)"))
    return node


def _divided(exp: Any, foreign: Foreign, node: Any) -> Any:
    number, by = node.this, node.expression
    if foreign.divide == "own":
        return node
    if foreign.divide == "function":
        return exp.Anonymous(this=foreign.function, expressions=[number, by])
    if foreign.divide == "exact":
        rest = exp.Paren(
            this=exp.Sub(this=number, expression=exp.Mod(this=exp.Paren(this=number.copy()), expression=by.copy()))
        )
        return exp.Div(this=rest, expression=by, typed=False, safe=False)
    return exp.Div(this=number, expression=by, typed=True, safe=False)


def _as_text(exp: Any, foreign: Foreign, inner: Any) -> Any:
    kind = exp.DataType.build(foreign.text, dialect=foreign.words)
    plain = exp.Cast(this=inner, to=kind)
    if not foreign.collation:
        return plain
    if foreign.collation.startswith("COLLATE("):
        return exp.Anonymous(this="COLLATE", expressions=[plain, exp.Literal.string(foreign.collation[9:-2])])
    name = foreign.collation
    quoted = name.startswith('"')
    return exp.Collate(
        this=plain, expression=exp.to_identifier(name.strip('"'), quoted=quoted) if quoted else exp.var(name)
    )


def _refused(what: str, dialect: str | None = None) -> ParameterError:
    where = "for another engine" if dialect is None else f"for {dialect}"
    return ParameterError(
        f"{what[0].upper()}{what[1:]} cannot be written {where} so that it certainly means the same.",
        allowed="labels as texts or whole numbers, and numbers as numbers; no moments as items",
        fix="a table with such columns; or an engine that barrow reads itself (Postgres, Spark, DuckDB)",
    )
