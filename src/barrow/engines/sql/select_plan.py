# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""How the records of one reading become rows of users, items, weights, groups and spans, as SELECTs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from barrow.engines.base import TIMES, Columns, flat_groups
from barrow.engines.breakdown import EVERYTHING, Layer
from barrow.engines.sql.dialects import DUCKDB, Dialect
from barrow.engines.sql.encoding import Encoding
from barrow.engines.zones import offsets
from barrow.numerics import MOST_WEIGHT
from barrow.spaces import Space


@dataclass(frozen=True)
class SelectPlan:
    """The views of one reading: values as they are, and coded by the space.

    Attributes:
        table: What stands after FROM and holds the records.
        user: The expression for the user.
        raw: The item columns as they are.
        values: The item columns as numbers or labels.
        encoding: The SQL of the space.
        weight: The expression for how many records a row stands for, NULL if that is no whole number; None for one.
        dialect: The SQL that is spoken.
        group: The expression for the name of a person's group; None if groups are not told apart.
        moment: The expression for a record's time in microseconds; None if periods are not told apart.
        zoned: Whether these microseconds are in UTC and not local.
        layer: The periods that are told apart.
    """

    table: str
    user: str
    raw: list[str]
    values: list[str]
    encoding: Encoding
    weight: str | None
    dialect: Dialect
    group: str | None = None
    moment: str | None = None
    zoned: bool = False
    layer: Layer = EVERYTHING

    def coded(self, carried: Mapping[str, str] | None = None, *, grouped: bool = True) -> str:
        """SELECT of u, the keys and the weight of each record; ``carried`` are further expressions by their names.

        Where cells are told apart, of g and s as well; with ``grouped`` false not of g.
        """
        e, more = self.encoding, {**(carried or {}), **self._told(grouped)}
        inner = [f"{self.user} AS u", *_named("x", self.values), *(f"{sql} AS {alias}" for alias, sql in more.items())]
        middle = ["u", *_named("y", e.moves), *self._placed(more)]
        outer = ["u", *_named("k", e.keys), *self._shown(more)]
        return (
            f"SELECT {', '.join(outer)} FROM (SELECT {', '.join(middle)} FROM "
            f"(SELECT {', '.join(inner)} FROM {self.table}) AS q0) AS q1 "
            f"{' '.join([*e.joins, *self._joined(more)])}{self._some}"
        )

    def users(self) -> str:
        """SELECT of u, of w where records have weights, and of g and s where cells are told apart."""
        more = self._told(True)
        if not more:
            return f"SELECT {self.user} AS u FROM {self.table}"
        inner = [f"{self.user} AS u", *(f"{sql} AS {alias}" for alias, sql in more.items())]
        return (
            f"SELECT {', '.join(['u', *self._shown(more)])} FROM (SELECT {', '.join(['u', *self._placed(more)])} FROM "
            f"(SELECT {', '.join(inner)} FROM {self.table}) AS q0) AS q1 {' '.join(self._joined(more))}{self._some}"
        )

    @property
    def _by_time(self) -> bool:
        return not self.layer.everything

    @property
    def told(self) -> list[str]:
        """The names of the columns by which cells are told apart."""
        return [name for name, there in (("g", self.group is not None), ("s", self._by_time)) if there]

    def _told(self, grouped: bool) -> dict[str, str]:
        """The expressions for the weight, the time and the name of the group."""
        named = {"w": self.weight, "t": self.moment if self._by_time else None, "gn": self.group if grouped else None}
        return {name: sql for name, sql in named.items() if sql is not None}

    def _placed(self, more: Mapping[str, str]) -> list[str]:
        return [f"{self._slot()} AS s" if name == "t" else name for name in more]

    def _shown(self, more: Mapping[str, str]) -> list[str]:
        return [{"t": "s", "gn": "groups.id AS g"}.get(name, name) for name in more]

    def _joined(self, more: Mapping[str, str]) -> list[str]:
        return ["LEFT JOIN groups ON groups.label = gn"] if "gn" in more else []

    @property
    def _some(self) -> str:
        """Rows that stand for no record are none, and what is outside all spans is not read."""
        rules = [] if self.weight is None else ["(w IS NULL OR w > 0)"]
        rules += ["(s IS NULL OR s >= 0)"] if self._by_time else []
        return f" WHERE {' AND '.join(rules)}" if rules else ""

    def _slot(self) -> str:
        """Which span a moment t is in, by nested halving; -1 for none, NULL where there is no moment."""
        return f"CASE WHEN t IS NULL THEN NULL ELSE {_halved('t', *self.layer.cuts(zoned=self.zoned))} END"

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
) -> SelectPlan:
    """The reading of some columns of ``table``, of these ``kinds``, as items of ``space``."""
    name = dialect.identifier
    values = []
    for _, group, reads in flat_groups(columns, space):
        numeric, use = reads.numbers, reads.moments
        for x in group:
            plain = dialect.number(name(x), kinds[x]) if numeric else dialect.label(name(x), kinds[x])
            if use is not None and kinds[x] in TIMES:
                plain = dialect.moment(_micros(dialect, name(x), kinds[x], columns.zone), use)
            elif use is not None and kinds[x] == "text":
                local = columns.zone is not None
                text = _local_moment(dialect, name(x)) if local else dialect.text_micros(dialect.as_text(name(x)))
                moment = dialect.moment(text, use)
                plain = f"coalesce({plain}, {moment})" if numeric else f"coalesce({moment}, {plain})"
            values.append(plain)
    weight = None
    if columns.weight is not None:
        weight = _whole(dialect, dialect.number(name(columns.weight), kinds[columns.weight]))
    user = dialect.user(name(columns.user), kinds[columns.user])
    reading = SelectPlan(table, user, [name(x) for x in columns.items], values, encoding, weight, dialect)
    if columns.group is not None:
        reading = replace(reading, group=dialect.as_text(name(columns.group)))
    if columns.time is not None:
        kind, column = kinds[columns.time], name(columns.time)
        moment = _local_moment(dialect, column) if kind == "text" else dialect.micros(column, kind)
        reading = replace(reading, moment=moment, zoned=kind == "instant")
    return reading


def _halved(moment: str, bounds: Sequence[int], values: Sequence[int]) -> str:
    """The value before, between or after ascending bounds, by nested halving."""

    def search(start: int, end: int) -> str:
        if start == end:
            return str(values[start])
        middle = (start + end) // 2
        return f"CASE WHEN {moment} < {bounds[middle]} THEN {search(start, middle)} ELSE {search(middle + 1, end)} END"

    return search(0, len(bounds))


def _micros(dialect: Dialect, column: str, kind: str, zone: str | None) -> str:
    """A moment in microseconds; an instant as clocks in ``zone`` show it, where one is named."""
    micros = dialect.micros(column, kind)
    return micros if kind != "instant" or zone is None else f"({micros} + {_halved(micros, *offsets(zone))})"


def _local_moment(dialect: Dialect, column: str) -> str:
    """A text as local time; NULL where it is none, or says that it is another zone's."""
    text = dialect.as_text(column)
    return f"CASE WHEN {text} NOT LIKE '%Z' THEN {dialect.text_micros(text)} END"


def _whole(dialect: Dialect, x: str) -> str:
    inside = f"{x} >= {dialect.number_literal(0.0)} AND {x} <= {dialect.number_literal(MOST_WEIGHT)}"
    whole = f"CASE WHEN {dialect.floor(x)} = {x} THEN {dialect.as_whole(x)} END"
    return f"CASE WHEN {inside} THEN {whole} END"
