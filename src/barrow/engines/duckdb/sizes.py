# ruff: noqa: S608 - SQL is built here from public names
"""How many records each user holds, as a temporary table."""

from __future__ import annotations

from barrow.engines.base import refuse_empty, refuse_null_users, refuse_weights
from barrow.engines.duckdb.session import Session


def read_sizes(session: Session, users: str, more: str = "", *, total: str = "COUNT(*)") -> tuple[int, int]:
    """Make the table ``sizes`` of users u and their numbers of records m; how many users and records there are.

    Args:
        session: The connection.
        users: What stands after FROM and has the column u, and w where records have weights.
        more: Further aggregates for each user, after a comma.
        total: The aggregate that counts records.

    >>> with Session(memory=None, threads=1, folder=None, progress=False) as session:
    ...     read_sizes(session, "(SELECT unnest([7, 7, 8]) AS u)")
    (2, 3)
    """
    bad = "false" if total == "COUNT(*)" else "bool_or(w IS NULL)"
    session.run(
        f"CREATE TEMP TABLE sizes AS SELECT u, CAST({total} AS BIGINT) AS m, {bad} AS bad{more} FROM {users} GROUP BY u"
    )
    found, nulls, rows, wrong = session.rows(
        "SELECT count(u), count(*) FILTER (WHERE u IS NULL), count(*), count(*) FILTER (WHERE bad) FROM sizes"
    )[0]
    if rows == 0:
        raise refuse_empty()
    if nulls:
        raise refuse_null_users()
    if wrong:
        raise refuse_weights()
    return int(found), int(session.rows("SELECT sum(m) FROM sizes")[0][0])
