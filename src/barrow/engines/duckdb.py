# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""The embedded default engine: everything is pushed down into DuckDB, which spills to disk what memory cannot hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from barrow.engines import sqlite
from barrow.engines.base import refuse_lost_items
from barrow.engines.columns import Columns, check_columns
from barrow.engines.counts import CheckReport, Counts, Sampled, check_users, merged
from barrow.engines.encoding import Encoding, encoding_for
from barrow.engines.frames import arrow_table, frame_kinds
from barrow.engines.pieces import sample_records
from barrow.engines.reading import Reading, read_sizes, reading_of
from barrow.engines.relations import Relation, csv_options, relation
from barrow.engines.sampling import check_samples
from barrow.engines.session import PrivateTextError, Session, quietly
from barrow.engines.source import Source
from barrow.errors import ParameterError
from barrow.noise import Source as Randomness
from barrow.spaces import Space
from barrow.spaces.base import Unknown


@dataclass(frozen=True)
class DuckDBEngine:
    """Reads CSV, Parquet, DuckDB and SQLite tables, SQL queries and frames.

    One pass over the users gives each user's number of records; a second one groups by item and by that number. Users
    are never grouped together with items, and their ids never leave DuckDB.

    Args:
        memory: The most memory that DuckDB may hold; the rest goes to a temporary folder that is removed afterwards.
        threads: How many threads; all cores by default.
        folder: Where that folder is made; the system's place for temporary files by default.
        progress: Whether to show progress on standard error; by default only on a terminal.

    >>> import tempfile
    >>> from barrow.spaces import Discrete
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "visits.csv"
    ...     _ = path.write_text("uid,item" + chr(10) + chr(10).join(["ann,a", "ann,b", "bob,a"]))
    ...     counts = DuckDBEngine().count(path, Columns("uid", "item"), Discrete(["a", "b"]))
    >>> counts.items.tolist(), counts.sizes.tolist(), counts.counts.tolist(), counts.users
    ([0, 0, 1], [1, 2, 2], [1, 1, 1], 2)
    """

    name: ClassVar[str] = "duckdb"
    memory: str = "2GB"
    threads: int | None = None
    folder: str | Path | None = None
    progress: bool | None = None

    def _session(self) -> Session:
        return Session(memory=self.memory, threads=self.threads, folder=self.folder, progress=self.progress)

    def columns(self, source: Any) -> dict[str, str]:
        """Names of the columns and the kinds of their values; no record is read.

        (Of a text file the first lines are read, to find the names and the separator.)
        """
        where = Source.of(source)
        if where.kind == "sqlite":
            return sqlite.kinds(where)
        if where.kind == "frame":
            return frame_kinds(where.data)

        def look() -> dict[str, str]:
            with self._session() as session:
                return relation(session, where).kinds

        return quietly(look)

    def validate(self, source: Any, columns: Columns, space: Space, *, unknown: Unknown = "error") -> None:
        """Refuse missing columns, wrong types and spaces that cannot be pushed down, from public facts only."""
        where = Source.of(source)
        encoding_for(space, columns, unknown)
        check_columns(columns, space, self.columns(where), header_is_sure=where.kind != "csv")

    def count(
        self,
        source: Any,
        columns: Columns,
        space: Space,
        *,
        unknown: Unknown = "error",
        users: int | None = None,
    ) -> Counts:
        """C[item, size] and the number of users (private integers).

        Args:
            source: Where the records are.
            columns: Which columns say who and what.
            space: The public space of items.
            unknown: What happens to missing or unknown items, as in ``space.encode``.
            users: n, if it is public beforehand: users without records count as holding the default item.
        """
        check_users(users)
        where = Source.of(source)

        def read() -> Counts:
            with self._session() as session:
                encoding = encoding_for(space, columns, unknown)
                records, named = self._open(session, where, columns, space)
                return _count(session, reading_of(records, named, space, encoding), encoding, space, unknown)

        counts = quietly(read)
        return counts if users is None else counts.with_users(users, space.default_item)

    def sample(
        self,
        source: Any,
        columns: Columns,
        space: Space,
        *,
        samples: int,
        unknown: Unknown = "error",
        users: int | None = None,
        randomness: Randomness | None = None,
    ) -> Sampled:
        """Counts of ``samples`` items drawn from each user with replacement, exactly uniformly (private integers).

        Args:
            source: Where the records are.
            columns: Which columns say who and what.
            space: The public space of items.
            samples: s, how many items are drawn from each user; those without records hold the default item.
            unknown: What happens to missing or unknown items, as in ``space.encode``; drawn or not, they are refused.
            users: n, if it is public beforehand: users without records count as holding the default item.
            randomness: The system's by default, never the engine's own.

        >>> import tempfile
        >>> from barrow.spaces import Discrete
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "visits.csv"
        ...     _ = path.write_text("uid,item" + chr(10) + chr(10).join(["ann,a", "ann,b", "bob,a"]))
        ...     drawn = DuckDBEngine().sample(path, Columns("uid", "item"), Discrete(["a", "b"]), samples=10)
        >>> drawn.counts.sum().item(), drawn.users
        (20, 2)
        """
        check_users(users)
        check_samples(samples)
        where = Source.of(source)

        def read() -> Sampled:
            with self._session() as session:
                encoding = encoding_for(space, columns, unknown)
                records, named = self._open(session, where, columns, space)
                return sample_records(
                    session,
                    reading_of(records, named, space, encoding),
                    space,
                    samples=samples,
                    unknown=unknown,
                    users=users,
                    randomness=randomness,
                )

        return quietly(read)

    def check(
        self,
        source: Any,
        columns: Columns,
        space: Space,
        *,
        unknown: Unknown = "error",
        users: int | None = None,
        examples: int = 5,
    ) -> CheckReport:
        """What is wrong with the records, for the curator's eyes only: it holds private counts and values."""
        check_users(users)
        where = Source.of(source)
        try:
            with self._session() as session:
                encoding = encoding_for(space, columns, unknown)
                try:
                    records, named = self._open(session, where, columns, space)
                except ParameterError as error:
                    problem = _own_words(session, where)
                    if problem is None:
                        raise
                    return CheckReport(problem=f"{error.problem}\n{problem}", declared=users)
                return _check(session, reading_of(records, named, space, encoding), columns, unknown, users, examples)
        except PrivateTextError as trouble:
            return CheckReport(problem=str(trouble), declared=users)

    def _open(self, session: Session, source: Source, columns: Columns, space: Space) -> tuple[Relation, Columns]:
        if source.kind == "sqlite":
            check_columns(columns, space, sqlite.kinds(source))
            return sqlite.load(session, source, columns, space)
        if source.kind == "frame":
            check_columns(columns, space, frame_kinds(source.data))
            source = Source("frame", data=arrow_table(source.data, (columns.user, *columns.items)))
        records = relation(session, source)
        check_columns(columns, space, records.kinds, header_is_sure=source.kind != "csv")
        return records, columns


def _count(session: Session, reading: Reading, encoding: Encoding, space: Space, unknown: Unknown) -> Counts:
    coded, users = f"({reading.coded()})", f"({reading.users()})"
    reading.prepare(session)
    if reading.relation.once:
        session.run(f"CREATE TEMP TABLE coded AS {reading.coded()}")
        coded = users = "coded"
    found, _ = read_sizes(session, users)
    keys = reading.keys
    # Distinct keys are distinct items, or lost: so the groups need not be grouped again by item.
    entries = session.arrays(
        f"WITH grouped AS (SELECT {keys}, m, count(*) AS c FROM {coded} JOIN sizes USING (u) GROUP BY {keys}, m) "
        f"SELECT coalesce({encoding.item}, -1)::BIGINT AS item, m::BIGINT AS m, c::BIGINT AS c "
        f"FROM grouped {' '.join(encoding.late_joins)} ORDER BY 1, 2"
    )
    item, size, count = entries["item"], entries["m"], entries["c"]
    lost = item < 0
    if not lost.any():
        return Counts(item, size, count, users=found)
    if unknown != "default":
        raise refuse_lost_items()
    return merged(np.where(lost, space.default_item, item), size, count, users=found)


def _check(
    session: Session, reading: Reading, columns: Columns, unknown: Unknown, users: int | None, examples: int
) -> CheckReport:
    encoding = reading.encoding
    reading.prepare(session)
    raw = {f"raw{i}": sql for i, sql in enumerate(reading.raw)}
    carried = {"place": "row_number() OVER ()", **raw}
    session.run(
        f"CREATE TEMP TABLE judged AS SELECT u, {', '.join(carried)}, {encoding.item} IS NULL AS lost "
        f"FROM ({reading.coded(carried)}) {' '.join(encoding.late_joins)}"
    )
    rows, nulls, lost = session.rows(
        "SELECT count(*), count(*) FILTER (WHERE u IS NULL), count(*) FILTER (WHERE lost) FROM judged"
    )[0]
    found, smallest, largest = session.rows(
        "SELECT count(*), coalesce(min(m), 0), coalesce(max(m), 0) "
        "FROM (SELECT count(*) AS m FROM judged WHERE u IS NOT NULL GROUP BY u)"
    )[0]
    shown = session.rows(
        f"SELECT {', '.join(carried)} FROM judged WHERE lost ORDER BY place LIMIT ?",
        [examples],
    )
    return CheckReport(
        rows=rows,
        users=found,
        null_users=nulls,
        lost_items=lost,
        smallest=smallest,
        largest=largest,
        examples=tuple(dict(zip(("row", *columns.items), row, strict=True)) for row in shown),
        declared=users,
        lost_is_fine=unknown == "default",
    )


def _own_words(session: Session, source: Source) -> str | None:
    """DuckDB's own message about a source that cannot be opened, for the curator; None if there is none."""
    if source.kind not in ("csv", "parquet", "sql", "duckdb") or (source.sql is None and source.kind == "duckdb"):
        return None
    try:
        if source.sql is not None:
            session.rows(f"DESCRIBE {source.sql}")
        else:
            options = csv_options(source.files()[0]) if source.kind == "csv" else ""
            session.rows(f"SELECT * FROM read_{source.kind}(?{options}) LIMIT 0", [source.path])
    except PrivateTextError as trouble:
        return str(trouble)
    return None
