# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""How the records of one reading become rows of users, items, weights, groups and spans, as SELECTs.

One statement for the mass of all people on each item, in whole numbers (docs/proofs/sums.md).

The share of each record is divided once for each person, by long division, 30 bits at a time, in 64-bit integers. The
rows are those of items, and one more for each cell with the number of people and the mass that they should have
together; whatever cannot be counted comes as a row of its own in place of an item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from barrow.engines.base import TIMES, Columns, flat_groups
from barrow.engines.breakdown import EVERYTHING, Layer
from barrow.engines.counts import (
    NOBODY,
    OVERWEIGHT,
    PEOPLE,
    SPLIT,
    UNGROUPED,
    UNTIMED,
    UNWEIGHED,
    Integers,
    refuse_changed,
    refuse_states,
    refuse_too_many,
)
from barrow.engines.numbers import offsets
from barrow.engines.sql.dialects import DUCKDB, Dialect
from barrow.engines.sql.encoding import Encoding
from barrow.numerics import LIMB_BITS, MOST_HELD, MOST_WEIGHT
from barrow.numerics.limits import Limbs, added, carried, placed
from barrow.spaces import Space

GROUPS = "public_groups"
"""The public table of groups; GROUPS alone is a word of MySQL."""


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
        users_known: The public number of people, where there is one.
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
    users_known: int | None = None

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
        return [{"t": "s", "gn": f"{GROUPS}.id AS g"}.get(name, name) for name in more]

    def _joined(self, more: Mapping[str, str]) -> list[str]:
        return [f"LEFT JOIN {GROUPS} ON {GROUPS}.label = gn"] if "gn" in more else []

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


_LIMB = 1 << LIMB_BITS
_PAIR = 1 << 2 * LIMB_BITS


def limbs(reading: SelectPlan) -> tuple[str, ...]:
    """The columns of limbs: four of 30 bits, or two of 60 where the engine adds up beyond 64 bits."""
    return ("a", "b") if reading.dialect.wide_sums else ("a", "b", "c", "d")


def held(reading: SelectPlan, users: str) -> str:
    """SELECT of each person's records in each span: u, s, m, g, and what is wrong with them."""
    told, flag, known = reading.told, reading.dialect.flag, f"coalesce(g, {UNGROUPED})"
    by = ["u", *(x for x in told if x == "s")]
    picks = [*by, f"{reading.total()} AS m"]
    picks += [] if reading.weight is None else [f"MAX({flag('w IS NULL')}) AS bad"]
    if "g" in told:
        picks += [f"MIN({known}) AS g", f"MAX({known}) AS high"]
    return f"SELECT {', '.join(picks)} FROM {users} AS q0 GROUP BY {', '.join(by)}"


def valued(reading: SelectPlan, table: str, *, alone: bool = False) -> str:
    """SELECT of each person's state, m and the limbs of what one of their records weighs, from :func:`held`.

    That somebody is in two groups in two spans is seen here, unless spans are taken ``alone``.
    """
    d, told = reading.dialect, reading.told
    by = [x for x in ("u", "s", "g") if x == "u" or x in told]
    states = {NOBODY: "u IS NULL"}
    states |= {} if reading.weight is None else {UNWEIGHED: "bad = 1"}
    states |= {UNTIMED: "s IS NULL"} if "s" in told else {}
    ends = ""
    if "g" in told:
        states |= {UNGROUPED: "low < 0", SPLIT: "low < top"}
        over = " OVER (PARTITION BY u)" if "s" in told and not alone else ""
        ends = f", MIN(g){over} AS low, MAX(high){over} AS top" if over else ", g AS low, high AS top"
    # m (q + m), which is added up beside the sums, must fit 64 bits where they are not wider.
    most = MOST_HELD if d.wide_sums else MOST_HELD // 2
    states |= {OVERWEIGHT: f"m > {most}"}
    cases = " ".join(f"WHEN {rule} THEN {d.as_whole(str(state))}" for state, rule in states.items())
    cells = ", ".join(by)
    known = f"SELECT * FROM {table}" if not ends else f"SELECT q1.*{ends} FROM {table} AS q1"
    # What is refused is not divided by: its size may be missing or too large.
    safe = f"CASE WHEN m >= 1 AND m <= {most} THEN m ELSE 1 END"
    state = f"CASE {cases} ELSE {d.as_whole(str(PEOPLE))} END"
    step = f"SELECT {cells}, {state} AS state, {d.as_whole(safe)} AS m FROM ({known}) AS q2"
    names = ("a", "b", "c", "d")
    rest = str(_LIMB)
    for i, name in enumerate(names):
        text = ", ".join([cells, "state", "m", *names[:i]])
        whole = d.as_whole(rest)
        divided = f"{d.quotient(whole, 'm')} AS {name}, {d.remainder(whole, 'm')} AS r{i}"
        step = f"SELECT {text}, {divided} FROM ({step}) AS v{i}"
        rest = f"r{i} * {_LIMB}"
    # What M - m takes off may be more than the lower half: 2^60 is lent to it, which the upper half always has.
    pairs = f"a * {_LIMB} + b - 1 AS a, c * {_LIMB} + d + m + {_PAIR - MOST_HELD} AS b"
    result = f"SELECT {cells}, state, m, {pairs} FROM ({step}) AS v9"
    if d.wide_sums:
        return result
    halves = [f(x, str(_LIMB)) for x in ("a", "b") for f in (d.quotient, d.remainder)]
    shown = ", ".join(f"{sql} AS {name}" for name, sql in zip(names, halves, strict=True))
    return f"SELECT {cells}, state, m, {shown} FROM ({result}) AS v10"


def summing(reading: SelectPlan, coded: str, users: str, item: str, *, alone: bool = False) -> str:
    """One statement: rows (item, g, s, n, limbs); n are the people of a state, and 0 beside an item.

    Args:
        reading: How records are read.
        coded: What stands after FROM and has u, the keys, w and s.
        users: What stands after FROM and has u, w, s and g.
        item: The expression for the item over the keys.
        alone: Whether somebody else has seen to it that nobody is in two groups in two spans.
    """
    d, told, names = reading.dialect, reading.told, limbs(reading)
    who = [x for x in ("u", "s") if x == "u" or x in told]
    same = " AND ".join(d.same(f"coded.{x}", f"valued.{x}") for x in who)
    sent = d.sent("valued", reading.users_known if len(who) == 1 else None)
    people = d.people("valued", ", ".join(who), [*(x for x in told if x == "g"), *names])
    cell = [f"{'valued' if name == 'g' else 'coded'}.{name}" for name in told]
    by = ", ".join([reading.keys, *cell])
    weighed = {x: f"valued.{x}" if reading.weight is None else d.product("coded.w", f"valued.{x}") for x in names}
    sums = [f"{d.sum_of(sql)} AS {x}" for x, sql in weighed.items()]
    summed = f"SELECT {sent}{by}, {', '.join(sums)} FROM {coded} AS coded JOIN {people} ON {same} GROUP BY {by}"
    masses = [f"{d.sum_of(d.product('m', x))} AS {x}" for x in names]
    checked = f"SELECT {', '.join(['state', *told])}, COUNT(*) AS n, {', '.join(masses)} FROM valued GROUP BY "
    checked += ", ".join(["state", *told])
    cells = [f"{d.as_whole(f'coalesce({name}, 0)')} AS {name}" for name in told]
    parts = [x for name in names for x in d.parted(name)]
    items, people = (", ".join([*cells, f"{d.as_whole(n)} AS n", *parts]) for n in ("0", "n"))
    late = " ".join(reading.encoding.late_joins)
    steps = [
        f"held AS ({held(reading, users)})",
        f"valued AS ({valued(reading, 'held', alone=alone)})",
        f"summed AS ({summed})",
        f"checked AS ({checked})",
    ]
    return (
        f"WITH {', '.join(steps)} SELECT {item} AS item, {items} FROM summed {late} "
        f"UNION ALL SELECT {d.as_whole('state')} AS item, {people} FROM checked"
    )


def masses_of(answer: Mapping[str, Integers], groups: int, spans: int) -> dict[str, Any]:
    """Columns item, value (limbs), g and s of the items, and people of each cell; what cannot be counted is refused.

    What the items weigh together must be what the people should weigh: the two passes saw the same records.
    """
    item = answer.get("item", np.zeros(0, dtype=np.int64))
    refuse_states(item)
    nowhere = np.zeros(len(item), dtype=np.int64)
    g, s, n = (answer.get(name, nowhere) for name in ("g", "s", "n"))
    masses, summary = _masses(answer, len(item)), item == PEOPLE
    if n[~summary].any() or (n < 0).any():  # no statement of ours counts people beside an item
        raise refuse_changed()
    place = s * groups + g
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(place[order]) != 0)) if place.size else place
    of_all, of_people = (added(masses[:, order] * chosen, starts) for chosen in (1, summary[order]))
    if not np.array_equal(carried(2 * of_people), of_all):
        raise refuse_changed()
    people = np.zeros(groups * spans, dtype=np.int64)
    np.add.at(people, place[summary], n[summary])
    return {"item": item[~summary], "value": masses[:, ~summary], "g": g[~summary], "s": s[~summary], "people": people}


def _masses(answer: Mapping[str, Integers], size: int) -> Limbs:
    """Whole numbers from their columns."""
    names = [name for name in ("a", "b", "c", "d") if f"{name}_low" in answer]
    step = 2 if len(names) == 2 else 1
    columns: list[tuple[int, Integers]] = []
    for i, name in enumerate(reversed(names)):
        columns += [
            (i * step + up, answer[key]) for up, key in ((0, f"{name}_low"), (2, f"{name}_high")) if key in answer
        ]
    if any((column < 0).any() for _, column in columns):
        raise refuse_too_many()
    return placed(columns, size)
