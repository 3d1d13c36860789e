# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""The embedded default engine: everything is pushed down into DuckDB, which spills to disk what memory cannot hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from barrow.engines.base import Columns, CountRequest, check_columns
from barrow.engines.breakdown import EVERYTHING
from barrow.engines.counts import (
    CheckReport,
    Integers,
    PrivateTextError,
    Sampled,
    refuse_changed,
    refuse_two_groups,
)
from barrow.engines.duckdb import sqlite
from barrow.engines.duckdb.pieces import sample_records
from barrow.engines.duckdb.relations import Relation, reading_call, relation
from barrow.engines.duckdb.session import Session, read_sizes
from barrow.engines.frames import arrow_table, frame_kinds
from barrow.engines.source import Source
from barrow.engines.sql.dialects import DUCKDB, Dialect, Table
from barrow.engines.sql.pushdown import SqlEngine, known_entries
from barrow.engines.sql.select_plan import SelectPlan, summing
from barrow.errors import ParameterError
from barrow.noise import RandomSource as Randomness

_RUN, _MOST_RUNS = 2**20, 32
"""Records of periods that are added up together, and the most runs: each looks at the period of every record."""


@dataclass
class DuckReader:
    """An open source of the DuckDB engine; frames and SQLite tables are loaded once the space is known."""

    session: Session
    source: Source
    columns: Columns | None
    source_relation: Relation
    stamps: list[tuple[str, int, int, int]]
    header_is_sure: bool = True

    @property
    def changed(self) -> bool:
        """Whether files are no longer what they were when they were opened."""
        return _stamps(self.source_relation.files) != self.stamps

    @property
    def relation(self) -> str:
        """What stands after FROM."""
        return self.source_relation.sql

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of the columns' values."""
        if self.source.kind == "sqlite":
            return dict.fromkeys(self.source_relation.types, "any")
        return frame_kinds(self.source.data) if self.source.kind == "frame" else self.source_relation.kinds

    @property
    def forms(self) -> dict[str, str]:
        """How columns become numbers."""
        return self.source_relation.forms

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
    ...     sample = DuckDBEngine().sample(path, Columns("uid", "item"), Discrete(["a", "b"]), samples=10)
    >>> counts.items.tolist(), counts.sizes.tolist(), counts.counts.tolist(), counts.users
    ([0, 0, 1], [1, 2, 2], [1, 1, 1], 2)
    >>> sample.counts.sum().item(), sample.users
    (20, 2)
    """

    name: ClassVar[str] = "duckdb"
    dialect: ClassVar[Dialect] = DUCKDB
    memory: str = "2GB"
    threads: int | None = None
    folder: str | Path | None = None
    progress: bool | None = None
    _idle: list[DuckReader] = field(default_factory=list, init=False, repr=False, compare=False)

    @contextmanager
    def _looking(self, source: Source, columns: Columns) -> Iterator[DuckReader]:
        """What is opened to look is kept for the reading."""
        with ExitStack() as closing:
            reader = self._opened(source, columns)
            closing.enter_context(reader.session)
            yield reader
            closing.pop_all()
            self._idle[:] = [reader]

    def _session(self) -> Session:
        return Session(memory=self.memory, threads=self.threads, folder=self.folder, progress=self.progress)

    def _opened(self, source: Source, columns: Columns | None) -> DuckReader:
        with ExitStack() as closing:
            session = closing.enter_context(self._session())
            if source.kind == "sqlite":
                result = Relation("", dict.fromkeys(sqlite.kinds(source, columns), "VARCHAR"), once=True)
            elif source.kind == "frame":
                result = Relation("", {}, once=False)
            else:
                result = relation(session, source, columns)
            closing.pop_all()
            return DuckReader(session, source, columns, result, _stamps(result.files), source.kind != "csv")

    @contextmanager
    def _open(self, source: Source, columns: Columns | None) -> Iterator[DuckReader]:
        # Opening takes 20 ms: a reading goes on with what was opened to validate it, unless files changed meanwhile.
        reader = None
        with suppress(IndexError):  # one pop, so that no two threads go on with the same
            reader = self._idle.pop()
        if reader is None or reader.source is not source or reader.columns != columns or reader.changed:
            reader = self._opened(source, columns)
        with reader.session:
            yield reader
        if reader.changed:
            raise refuse_changed()

    def _reading(self, reader: DuckReader, request: CountRequest) -> SelectPlan:
        check_columns(request.columns, request.space, reader.kinds, header_is_sure=reader.header_is_sure)
        if reader.source.kind == "sqlite":
            reader.source_relation, named = sqlite.load(reader.session, reader.source, request.columns, request.space)
            request = replace(request, columns=named)
        if reader.source.kind == "frame":
            frame = Source("frame", data=arrow_table(reader.source.data, request.columns.all))
            reader.source_relation = relation(reader.session, frame)
        return super()._reading(reader, request)

    def summing(self, reader: DuckReader, reading: SelectPlan) -> str:
        """The statement of the sums; what may be read only once goes through a temporary table."""
        if not reader.source_relation.once:
            return super().summing(reader, reading)
        reader.session.run(f"CREATE OR REPLACE TEMP TABLE coded AS {reading.coded()}")
        return summing(reading, "coded", "coded", self._item(reading))

    def _masses(self, reader: DuckReader, reading: SelectPlan, request: CountRequest) -> dict[str, Any]:
        """Where periods are told apart, the records are read once and added up some periods at a time.

        The people of one month fit into a processor's cache where all people in all months do not.
        """
        if "s" not in reading.told:
            return super()._masses(reader, reading, request)
        session, item, parts = reader.session, self._item(reading), []
        small = ", ".join(f"CAST({name} AS INTEGER) AS {name}" for name in reading.told)
        session.run(f"CREATE OR REPLACE TEMP TABLE coded AS SELECT * REPLACE ({small}) FROM ({reading.coded()})")
        sizes = session.rows("SELECT coalesce(s, -1), count(*) FROM coded GROUP BY s ORDER BY 1")
        for start, end in _runs(sizes or [(0, 0)]):
            # In one period nobody needs to be told apart by periods; those without a time are in the first run.
            one = replace(reading, layer=EVERYTHING) if start == end >= 0 else reading
            part = f"(SELECT * FROM coded WHERE s BETWEEN {start} AND {end}{' OR s IS NULL' if start < 0 else ''})"
            answer = session.arrays(summing(one, part, part, item, alone=True))
            answer |= {} if one is reading else {"s": np.full(len(answer["item"]), start)}
            parts.append(self._known(answer, reading, request))
        # Whether somebody is in two groups in two periods is not seen in one of them.
        if "g" in reading.told and session.rows("SELECT u FROM coded GROUP BY u HAVING min(g) < max(g) LIMIT 1"):
            raise refuse_two_groups()
        return {
            **{name: np.concatenate([part[name] for part in parts], axis=-1) for name in ("item", "value", "g", "s")},
            "people": sum(part["people"] for part in parts),
        }

    def _entries(self, reader: DuckReader, reading: SelectPlan, request: CountRequest) -> dict[str, Integers]:
        session, told = reader.session, reading.told
        coded, users = f"({reading.coded(grouped=False)})", f"({reading.users()})"
        if reader.source_relation.once:
            session.run(f"CREATE OR REPLACE TEMP TABLE coded AS {reading.coded()}")
            coded = users = "coded"
        by = ["u"] + (["s"] if "s" in told else [])
        read_sizes(session, users, by, total=reading.total(), grouped="g" in told)
        cell = ["sizes.g" if name == "g" else name for name in told]
        grouped = ", ".join([reading.keys, *cell, "m"])
        # Distinct keys are distinct items, or lost: so the groups need not be grouped again by item.
        answer = session.arrays(
            f"WITH grouped AS (SELECT {grouped}, CAST({reading.total()} AS BIGINT) AS c "
            f"FROM {coded} AS coded JOIN sizes USING ({', '.join(by)}) GROUP BY {grouped}) "
            f"SELECT {self._item(reading)} AS item, {', '.join(['m', 'c', *told])} "
            f"FROM grouped {' '.join(reading.encoding.late_joins)}"
        )
        return known_entries({name: column.astype(np.int64) for name, column in answer.items()}, request)

    def _samples(
        self,
        reader: DuckReader,
        reading: SelectPlan,
        request: CountRequest,
        samples: int,
        randomness: Randomness | None,
    ) -> Sampled:
        if reading.weight is not None:
            return super()._samples(reader, reading, request, samples, randomness)
        return sample_records(reader.session, reading, reader.source_relation.numbered, request, samples, randomness)

    def _check(self, request: CountRequest, examples: int) -> CheckReport:
        try:
            report = super()._check(request, examples)
            result = _encoded(request.source) if report.problem is not None else None
            return report if result is None else replace(report, problem=result)
        except ParameterError as error:
            with self._session() as session:
                problem = _own_words(session, request.source)
            if problem is None:
                raise
            return CheckReport(
                problem=f"{error.problem}\n{_encoded(request.source) or problem}", declared=request.users
            )

    def _report(self, reader: DuckReader, reading: SelectPlan, request: CountRequest, examples: int) -> CheckReport:
        # A table of its own: rows get numbers, and a query is asked once.
        raw = {f"raw{i}": sql for i, sql in enumerate(reading.raw)}
        read = reader.source_relation.types if reader.source.kind == "sqlite" else dict.fromkeys(request.columns.all)
        picks = ", ".join(DUCKDB.identifier(name) for name in read)
        reader.session.run(
            f'CREATE TEMP TABLE given AS SELECT {picks}, row_number() OVER () AS "barrow row" FROM {reading.table}'
        )
        placed = replace(reading, table="given")
        report = super()._report(reader, placed, request, examples)
        coded = placed.coded({"place": DUCKDB.identifier("barrow row"), **raw})
        shown = reader.rows(
            f"SELECT place, {', '.join(raw)} FROM ({coded}) AS q4 "
            f"{' '.join(reading.encoding.late_joins)} WHERE {reading.encoding.item} IS NULL "
            f"ORDER BY place LIMIT {int(examples)}"
        )
        rows = tuple(dict(zip(("row", *request.columns.items), row, strict=True)) for row in shown)
        return replace(report, examples=rows)


def _runs(sizes: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The first and last spans of runs that hold some million records, from the spans in order and their records."""
    most = max(_RUN, sum(records for _, records in sizes) // _MOST_RUNS)
    start, held = None, 0
    for i, (span, records) in enumerate(sizes):
        start = span if start is None else start
        held += records
        if i + 1 == len(sizes) or held + sizes[i + 1][1] > most:
            yield start, span
            start, held = None, 0


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
