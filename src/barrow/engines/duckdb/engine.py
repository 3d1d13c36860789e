# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""The embedded default engine: everything is pushed down into DuckDB, which spills to disk what memory cannot hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from barrow.engines.base import Asked, Columns, check_columns
from barrow.engines.counts import CheckReport, Counts, PrivateTextError, Sampled, refuse_changed
from barrow.engines.duckdb import sqlite
from barrow.engines.duckdb.pieces import sample_records
from barrow.engines.duckdb.relations import Relation, reading_call, relation
from barrow.engines.duckdb.session import Session, read_sizes
from barrow.engines.frames import arrow_table, frame_kinds
from barrow.engines.source import Source
from barrow.engines.sql.dialects import DUCKDB, Dialect, Table
from barrow.engines.sql.pushdown import Reading, SqlEngine, counts_of
from barrow.errors import ParameterError
from barrow.noise import Source as Randomness


@dataclass
class DuckReader:
    """An open source of the DuckDB engine; frames and SQLite tables are loaded once the space is known."""

    session: Session
    source: Source
    columns: Columns | None
    found: Relation
    stamps: list[tuple[str, int, int, int]]
    header_is_sure: bool = True

    @property
    def changed(self) -> bool:
        """Whether files are no longer what they were when they were opened."""
        return _stamps(self.found.files) != self.stamps

    @property
    def relation(self) -> str:
        """What stands after FROM."""
        return self.found.sql

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of the columns' values."""
        if self.source.kind == "sqlite":
            return dict.fromkeys(self.found.types, "any")
        return frame_kinds(self.source.data) if self.source.kind == "frame" else self.found.kinds

    @property
    def forms(self) -> dict[str, str]:
        """How columns become numbers."""
        return self.found.forms

    def table(self, name: str, columns: Table) -> None:
        """Make a temporary table of public columns."""
        self.session.table(name, columns)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The result of a small query."""
        return self.session.rows(sql)

    def arrays(self, sql: str) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """The columns of a result that holds no NULL."""
        return self.session.arrays(sql)

    def pieces(self, sql: str, size: int) -> Iterator[Mapping[str, np.ndarray[Any, np.dtype[Any]]]]:
        """The same, a piece at a time."""
        return self.session.pieces(sql, size)


@dataclass(frozen=True)
class DuckDBEngine(SqlEngine[DuckReader]):
    """Reads CSV, Parquet, DuckDB and SQLite tables, SQL queries and frames.

    One pass over the users gives each user's number of records; a second one groups by item and by that number. Users
    are never grouped together with items, and their ids never leave DuckDB.

    Args:
        memory: The most memory that DuckDB may hold; the rest goes to a temporary folder that is removed afterwards.
        threads: How many threads; all cores by default.
        folder: Where that folder is made, readable by its owner only; ``TMPDIR`` by default. What a killed process left
            there is removed at the next start.
        progress: Whether to tell how far the reading is; by default where somebody listens.

    >>> import tempfile
    >>> from barrow.spaces import Discrete
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "visits.csv"
    ...     _ = path.write_text("uid,item" + chr(10) + chr(10).join(["ann,a", "ann,b", "bob,a"]))
    ...     counts = DuckDBEngine().count(path, Columns("uid", "item"), Discrete(["a", "b"]))
    ...     drawn = DuckDBEngine().sample(path, Columns("uid", "item"), Discrete(["a", "b"]), samples=10)
    >>> counts.items.tolist(), counts.sizes.tolist(), counts.counts.tolist(), counts.users
    ([0, 0, 1], [1, 2, 2], [1, 1, 1], 2)
    >>> drawn.counts.sum().item(), drawn.users
    (20, 2)
    """

    name: ClassVar[str] = "duckdb"
    dialect: ClassVar[Dialect] = DUCKDB
    memory: str = "2GB"
    threads: int | None = None
    folder: str | Path | None = None
    progress: bool | None = None
    _kept: list[DuckReader] = field(default_factory=list, init=False, repr=False, compare=False)

    @contextmanager
    def _looking(self, source: Source, columns: Columns) -> Iterator[DuckReader]:
        """What is opened to look is kept for the reading."""
        with ExitStack() as closing:
            reader = self._opened(source, columns)
            closing.enter_context(reader.session)
            yield reader
            closing.pop_all()
            self._kept[:] = [reader]

    def _session(self) -> Session:
        return Session(memory=self.memory, threads=self.threads, folder=self.folder, progress=self.progress)

    def _opened(self, source: Source, columns: Columns | None) -> DuckReader:
        with ExitStack() as closing:
            session = closing.enter_context(self._session())
            if source.kind == "sqlite":
                found = Relation("", dict.fromkeys(sqlite.kinds(source, columns), "VARCHAR"), once=True)
            elif source.kind == "frame":
                found = Relation("", {}, once=False)
            else:
                found = relation(session, source, columns)
            if "real" in found.kinds.values() and source.sql is None:
                # Parquet's statistics leave out NaN; DuckDB would fold comparisons with NaN by them.
                session.run("SET disabled_optimizers = 'statistics_propagation'")
            closing.pop_all()
            return DuckReader(session, source, columns, found, _stamps(found.files), source.kind != "csv")

    @contextmanager
    def _open(self, source: Source, columns: Columns | None) -> Iterator[DuckReader]:
        # Opening takes 20 ms: a reading goes on with what was opened to validate it, unless files changed meanwhile.
        reader = None
        with suppress(IndexError):  # one pop, so that no two threads go on with the same
            reader = self._kept.pop()
        if reader is None or reader.source is not source or reader.columns != columns or reader.changed:
            reader = self._opened(source, columns)
        with reader.session:
            yield reader
        if reader.changed:
            raise refuse_changed()

    def _reading(self, reader: DuckReader, asked: Asked) -> Reading:
        check_columns(asked.columns, asked.space, reader.kinds, header_is_sure=reader.header_is_sure)
        if reader.source.kind == "sqlite":
            reader.found, named = sqlite.load(reader.session, reader.source, asked.columns, asked.space)
            asked = replace(asked, columns=named)
        if reader.source.kind == "frame":
            frame = Source("frame", data=arrow_table(reader.source.data, asked.columns.all))
            reader.found = relation(reader.session, frame)
        return super()._reading(reader, asked)

    def _counts(self, reader: DuckReader, reading: Reading, asked: Asked) -> Counts:
        session = reader.session
        coded, users = f"({reading.coded()})", f"({reading.users()})"
        if reader.found.once:
            session.run(f"CREATE TEMP TABLE coded AS {reading.coded()}")
            coded = users = "coded"
        found, _ = read_sizes(session, users, total=reading.total())
        keys = reading.keys
        # Distinct keys are distinct items, or lost: so the groups need not be grouped again by item.
        entries = session.arrays(
            f"WITH grouped AS (SELECT {keys}, m, CAST({reading.total()} AS BIGINT) AS c FROM {coded} "
            f"JOIN sizes USING (u) GROUP BY {keys}, m) SELECT {self._item(reading)} AS item, m, c "
            f"FROM grouped {' '.join(reading.encoding.late_joins)} ORDER BY 1, 2"
        )
        return counts_of(entries["item"], entries["m"], entries["c"], asked.space, asked.unknown, users=found)

    def _samples(
        self, reader: DuckReader, reading: Reading, asked: Asked, samples: int, randomness: Randomness | None
    ) -> Sampled:
        if reading.weight is not None:
            return super()._samples(reader, reading, asked, samples, randomness)
        return sample_records(reader.session, reading, reader.found.numbered, asked, samples, randomness)

    def _check(self, asked: Asked, examples: int) -> CheckReport:
        try:
            report = super()._check(asked, examples)
            found = _encoded(asked.source) if report.problem is not None else None
            return report if found is None else replace(report, problem=found)
        except ParameterError as error:
            with self._session() as session:
                problem = _own_words(session, asked.source)
            if problem is None:
                raise
            return CheckReport(problem=f"{error.problem}\n{_encoded(asked.source) or problem}", declared=asked.users)

    def _report(self, reader: DuckReader, reading: Reading, asked: Asked, examples: int) -> CheckReport:
        # A table of its own: rows get numbers, and a query is asked once.
        raw = {f"raw{i}": sql for i, sql in enumerate(reading.raw)}
        read = reader.found.types if reader.source.kind == "sqlite" else dict.fromkeys(asked.columns.all)
        picks = ", ".join(DUCKDB.identifier(name) for name in read)
        reader.session.run(
            f'CREATE TEMP TABLE given AS SELECT {picks}, row_number() OVER () AS "barrow row" FROM {reading.table}'
        )
        placed = replace(reading, table="given")
        report = super()._report(reader, placed, asked, examples)
        coded = placed.coded({"place": DUCKDB.identifier("barrow row"), **raw})
        shown = reader.rows(
            f"SELECT place, {', '.join(raw)} FROM ({coded}) AS q4 "
            f"{' '.join(reading.encoding.late_joins)} WHERE {reading.encoding.item} IS NULL "
            f"ORDER BY place LIMIT {int(examples)}"
        )
        rows = tuple(dict(zip(("row", *asked.columns.items), row, strict=True)) for row in shown)
        return replace(report, examples=rows)


def _stamps(files: Iterable[str]) -> list[tuple[str, int, int, int]]:
    """What tells a state of the files from another: records that change while they are read are refused."""
    stamps = []
    for name in files:
        try:
            about = Path(name).stat()
        except OSError:
            about = None
        stamps.append((name, about.st_ino, about.st_size, about.st_mtime_ns) if about else (name, -1, -1, -1))
    return stamps


def _encoded(source: Source) -> str | None:
    """What to say about text files that are not in UTF-8; None about others."""
    if source.kind != "csv" or source.encoding != "utf-8":
        return None
    for file in source.files():
        if not file.endswith((".gz", ".zst")):
            try:
                with open(file, encoding="utf-8") as lines:
                    for _ in lines:
                        pass
            except UnicodeDecodeError:
                return "It is not in UTF-8. If it is in Latin-1: --encoding latin-1 (in a study encoding = 'latin-1')."
    return None


def _own_words(session: Session, source: Source) -> str | None:
    """DuckDB's own message about a source that cannot be opened, for the curator; None if there is none."""
    if source.kind not in ("csv", "parquet", "sql", "duckdb") or (source.sql is None and source.kind == "duckdb"):
        return None
    if source.sql is not None and not source.acknowledged:
        return None  # what was refused is the query as barrow reads it
    try:
        if source.kind in ("csv", "parquet"):
            session.run(f"CREATE TEMP VIEW records AS SELECT * FROM {reading_call(source, source.files())}")
            session.rows("SELECT * FROM records LIMIT 0")
        if source.sql is not None:
            session.rows(f"DESCRIBE {source.sql}")
    except PrivateTextError as trouble:
        return str(trouble)
    return None
