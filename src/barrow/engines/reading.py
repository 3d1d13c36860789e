# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""One reading of the records in SQL: users, keys of items, and how many records each user holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from barrow.engines.base import refuse_empty, refuse_null_users
from barrow.engines.columns import Columns, flat_groups, reads_numbers
from barrow.engines.encoding import Encoding
from barrow.engines.relations import Relation, number, user
from barrow.engines.session import Session, name
from barrow.spaces import Space


@dataclass(frozen=True)
class Reading:
    """The views of one reading: values as they are, and coded by the space.

    Attributes:
        relation: Where the records are.
        user: The expression for the user.
        raw: The item columns as they are.
        values: The item columns as numbers or labels.
        encoding: The SQL of the space.

    >>> from barrow.engines.encoding import encoding_for
    >>> from barrow.spaces import Discrete
    >>> columns, space = Columns("uid", "item"), Discrete(["a", "b"])
    >>> records = Relation("t", {"uid": "INTEGER", "item": "VARCHAR"}, once=False)
    >>> reading_of(records, columns, space, encoding_for(space, columns, "error")).users()
    'SELECT "uid" AS u FROM t'
    """

    relation: Relation
    user: str
    raw: list[str]
    values: list[str]
    encoding: Encoding

    def coded(self, carried: Mapping[str, str] | None = None) -> str:
        """SELECT of u and the keys of each record; ``carried`` are further expressions by the names they get."""
        e, more = self.encoding, carried or {}
        inner = [f"{self.user} AS u", *_named("x", self.values), *(f"{sql} AS {alias}" for alias, sql in more.items())]
        middle = ["u", *_named("y", e.moves), *more]
        outer = ["u", *_named("k", e.keys), *more]
        return (
            f"SELECT {', '.join(outer)} FROM (SELECT {', '.join(middle)} FROM "
            f"(SELECT {', '.join(inner)} FROM {self.relation.sql})) {' '.join(e.joins)}"
        )

    def users(self) -> str:
        """SELECT of u alone."""
        return f"SELECT {self.user} AS u FROM {self.relation.sql}"

    @property
    def keys(self) -> str:
        """The names k0, k1, … of the keys."""
        return ", ".join(f"k{i}" for i in range(len(self.encoding.keys)))

    def prepare(self, session: Session) -> None:
        """Make the public tables that the encoding looks things up in."""
        for table, columns in self.encoding.tables.items():
            session.table(table, columns)


def _named(letter: str, expressions: Sequence[str]) -> list[str]:
    return [f"{sql} AS {letter}{i}" for i, sql in enumerate(expressions)]


def reading_of(records: Relation, columns: Columns, space: Space, encoding: Encoding) -> Reading:
    """The reading of some columns of ``records`` as items of ``space``.

    >>> from barrow.engines.encoding import encoding_for
    >>> from barrow.spaces import Line
    >>> columns, space = Columns("uid", "age"), Line(0, 9, step=1)
    >>> records = Relation("t", {"uid": "VARCHAR", "age": "INTEGER"}, once=False)
    >>> reading_of(records, columns, space, encoding_for(space, columns, "error")).values
    ['CAST("age" AS DOUBLE)']
    """
    values = []
    for part, group in flat_groups(columns, space):
        numeric = reads_numbers(part) or len(group) > 1
        values += [number(x, records.types[x]) if numeric else name(x) for x in group]
    raw = [name(x) for x in columns.items]
    return Reading(records, user(columns.user, records.types[columns.user]), raw, values, encoding)


def read_sizes(session: Session, users: str, more: str = "") -> tuple[int, int]:
    """Make the table ``sizes`` of users u and their numbers of records m; how many users and records there are.

    Args:
        session: The connection.
        users: What stands after FROM and has the column u.
        more: Further aggregates for each user, after a comma.

    >>> with Session(memory=None, threads=1, folder=None, progress=False) as session:
    ...     read_sizes(session, "(SELECT unnest([7, 7, 8]) AS u)")
    (2, 3)
    """
    session.run(f"CREATE TEMP TABLE sizes AS SELECT u, count(*) AS m{more} FROM {users} GROUP BY u")
    found, nulls, rows = session.rows(
        "SELECT count(u), coalesce(sum(m) FILTER (WHERE u IS NULL), 0), coalesce(sum(m), 0) FROM sizes"
    )[0]
    if rows == 0:
        raise refuse_empty()
    if nulls:
        raise refuse_null_users()
    return int(found), int(rows)
