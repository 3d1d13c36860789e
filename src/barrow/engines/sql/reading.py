# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""One reading of the records in SQL: what is asked (users, keys of items, weights), and what the answer means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from barrow.engines.columns import TIMES, Columns, flat_groups
from barrow.engines.counts import MOST_WEIGHT, Counts, Integers, found_users, merged
from barrow.engines.refusals import refuse_empty, refuse_lost_items, refuse_null_users, refuse_weights
from barrow.engines.sql.dialects import DUCKDB, Dialect
from barrow.engines.sql.encoding import Encoding
from barrow.spaces import Space
from barrow.spaces.base import Unknown

LOST, NOBODY, UNWEIGHED = -1, -2, -3
"""What stands in place of an item: a lost one, a record without a user, a record whose weight is no count."""


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
    """

    table: str
    user: str
    raw: list[str]
    values: list[str]
    encoding: Encoding
    weight: str | None = None

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

    @property
    def total(self) -> str:
        """The aggregate that counts records."""
        return "COUNT(*)" if self.weight is None else "SUM(w)"

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
    return Reading(table, user, [name(x) for x in columns.items], values, encoding, weight)


def _whole(dialect: Dialect, x: str) -> str:
    inside = f"{x} >= {dialect.number_literal(0.0)} AND {x} <= {dialect.number_literal(MOST_WEIGHT)}"
    whole = f"CASE WHEN {dialect.floor(x)} = {x} THEN {dialect.as_whole(x)} END"
    return f"CASE WHEN {inside} THEN {whole} END"


class Pool:
    """Draws by item, added up over pieces."""

    def __init__(self) -> None:
        self._items = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, items: Integers, drawn: Integers) -> None:
        """Add the draws of one piece; items that are there but were not drawn stay, with 0."""
        keys, where = np.unique(np.concatenate([self._items, items]), return_inverse=True)
        sums = np.zeros(len(keys), dtype=np.int64)
        np.add.at(sums, where, np.concatenate([self._counts, drawn]))
        self._items, self._counts = keys, sums

    @property
    def all(self) -> tuple[Integers, ...]:
        """Items that are there and how often each was drawn, 0 included."""
        return self._items, self._counts

    def check(self) -> None:
        """Refuse records without a user or with a weight that is no count."""
        refuse_states(self._items)

    def drawn(self, unknown: Unknown, default: int) -> tuple[Integers, ...]:
        """Items that were drawn and how often; lost ones are refused whether they were drawn or not."""
        lost = self._items == LOST
        if lost.any() and unknown != "default":
            raise refuse_lost_items()
        some = self._counts > 0
        return np.where(lost, default, self._items)[some], self._counts[some]


def refuse_states(items: Integers) -> None:
    """Refuse what stands in place of items."""
    if (items == NOBODY).any():
        raise refuse_null_users()
    if (items == UNWEIGHED).any():
        raise refuse_weights()


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
    lost = item == LOST
    if lost.any() and unknown != "default":
        raise refuse_lost_items()
    found = found_users(size, count) if users is None else users
    return merged(np.where(lost, space.default_item, item), size, count, users=found)
