"""Where the collector keeps reports: durable before it acknowledges, keyed by random ids, and so without order."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from barrow.errors import BarrowError, ParameterError, optional_library
from barrow.passwords import by_scram

_BUSY_MS = 10_000
_PAGE = 2000
_ROWS = 250
_ROOM = 2**24
"""Bytes that must be free for a store to be called healthy."""
_LOG_PAGES = 4000
"""Ids are random, so each report is on a page of its own: rarer checkpoints write each page less often."""


class StoreError(BarrowError):
    """What was received cannot be stored now; nothing of it was acknowledged."""


class ReportStore(ABC):
    """Reports of one survey."""

    _number = 0

    def add(self, rows: Sequence[tuple[bytes, bytes]], refused: Mapping[str, int]) -> list[bool]:
        """Store rows (id, text) and counts of refusals in one durable step; which rows were new."""
        left, lines = self._insert(rows, refused), []
        self._number += len(left)
        for name, _ in rows:  # of copies in one step only the first is new
            lines.append(name in left)
            left.discard(name)
        return lines

    def count(self) -> int:
        """How many reports are stored."""
        return self._number

    def texts(self) -> Iterator[str]:
        """All reports, in the order of their random ids, some at a time."""
        last = b""
        while page := self._page(last):
            yield from (bytes(body).decode() for _, body in page)
            last = page[-1][0]

    @abstractmethod
    def _insert(self, rows: Sequence[tuple[bytes, bytes]], refused: Mapping[str, int]) -> set[bytes]:
        """Store them; the ids that were new."""

    @abstractmethod
    def _page(self, last: bytes) -> list[tuple[bytes, bytes]]:
        """The next reports after an id."""

    @abstractmethod
    def known(self, ids: Sequence[bytes]) -> set[bytes]:
        """Those of some ids that are stored."""

    @abstractmethod
    def refused(self) -> dict[str, int]:
        """How many were refused, by reason."""

    @abstractmethod
    def check(self) -> None:
        """Write something durably, or say that it cannot be done."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""


def open_store(place: str | os.PathLike[str], survey: str) -> ReportStore:
    """The store in a file, or in the database at ``postgresql://…``; made if it is not there."""
    if str(place).startswith(("postgresql://", "postgres://")):
        return PostgresReports(str(place), survey)
    return SqliteReports(place, survey)


class _Closing(sqlite3.Connection):
    """Closes itself when nobody holds it any more."""

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self.close()


def connect(path: str | os.PathLike[str], tables: str, survey: str) -> sqlite3.Connection:
    """A connection that syncs every commit (``synchronous=FULL``) to a file of one survey that only its owner reads."""
    try:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        link = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=_BUSY_MS / 1000, factory=_Closing
        )
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "trusted_schema=OFF"):
            link.execute(f"PRAGMA {pragma}")
        link.executescript(
            "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;" + tables
        )
        link.execute("INSERT OR IGNORE INTO about VALUES ('survey', ?)", [survey])
        known = link.execute("SELECT value FROM about WHERE name = 'survey'").fetchone()[0]
    except (sqlite3.Error, OSError) as error:
        raise ParameterError(
            f"The store {str(path)!r} cannot be opened: {error}.",
            allowed="a file that can be written",
            fix="--store FILE",
        ) from None
    if known != survey:
        raise ParameterError(
            f"The store {str(path)!r} belongs to another card.",
            allowed="one store for each card",
            fix="--store other.db",
        )
    return link


@contextlib.contextmanager
def writing(link: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One durable transaction; what fails is rolled back and says so."""
    try:
        link.execute("BEGIN IMMEDIATE")
        yield link
        link.execute("COMMIT")
    except sqlite3.Error as error:
        with contextlib.suppress(sqlite3.Error):
            link.execute("ROLLBACK")
        raise StoreError("It cannot be stored now.", allowed="a disk with room", fix="make room") from error
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            link.execute("ROLLBACK")
        raise


def touch(link: sqlite3.Connection) -> None:
    """Write something durably, where there is room for more; it counts nothing."""
    file = link.execute("PRAGMA database_list").fetchone()[2]
    try:
        room = shutil.disk_usage(os.path.dirname(file)).free
    except OSError as error:
        raise StoreError("It cannot be stored now.", allowed="a disk that works", fix="look at the disk") from error
    if room < _ROOM:
        raise StoreError("It cannot be stored now.", allowed="a disk with room", fix="make room")
    with writing(link):
        link.execute(
            "INSERT INTO about VALUES ('checked', '0') ON CONFLICT (name) DO UPDATE SET value = 1 - CAST(value AS int)"
        )


_COUNT = "INSERT INTO refused VALUES (?, ?) ON CONFLICT (reason) DO UPDATE SET number = number + excluded.number"


class SqliteReports(ReportStore):
    """Reports in one file."""

    def __init__(self, path: str | os.PathLike[str], survey: str) -> None:
        tables = (
            "CREATE TABLE IF NOT EXISTS reports (id BLOB PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;"
            "CREATE TABLE IF NOT EXISTS refused (reason TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;"
        )
        self._link = connect(path, tables, survey)
        self._link.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        self._number = int(self._link.execute("SELECT count(*) FROM reports").fetchone()[0])

    def _insert(self, rows: Sequence[tuple[bytes, bytes]], refused: Mapping[str, int]) -> set[bytes]:
        results: set[bytes] = set()
        with writing(self._link) as link:
            for start in range(0, len(rows), _ROWS):
                some = rows[start : start + _ROWS]
                insert = f"INSERT OR IGNORE INTO reports VALUES {','.join(['(?, ?)'] * len(some))} RETURNING id"  # noqa: S608
                results.update(row[0] for row in link.execute(insert, [x for row in some for x in row]).fetchall())
            link.executemany(_COUNT, refused.items())
        return results

    def known(self, ids: Sequence[bytes]) -> set[bytes]:
        """Those of some ids that are stored."""
        results: set[bytes] = set()
        for start in range(0, len(ids), _ROWS):
            some = ids[start : start + _ROWS]
            query = f"SELECT id FROM reports WHERE id IN ({','.join('?' * len(some))})"  # noqa: S608
            results.update(row[0] for row in self._link.execute(query, some))
        return results

    def refused(self) -> dict[str, int]:
        """How many were refused, by reason."""
        return dict(self._link.execute("SELECT reason, number FROM refused").fetchall())

    def _page(self, last: bytes) -> list[tuple[bytes, bytes]]:
        query = "SELECT id, body FROM reports WHERE id > ? ORDER BY id LIMIT ?"
        return self._link.execute(query, [last, _PAGE]).fetchall()

    def check(self) -> None:
        """Write something durably, or say that it cannot be done."""
        touch(self._link)

    def close(self) -> None:
        """Let go of the file."""
        self._link.close()


class PostgresReports(ReportStore):
    """Reports in a Postgres database, every commit synchronous.

    The password belongs into ``~/.pgpass`` or ``PGPASSWORD``.
    """

    def __init__(self, url: str, survey: str) -> None:
        psycopg = optional_library("psycopg", extra="postgres", purpose="Reports in Postgres")
        self._errors: Any = psycopg.Error
        self._survey = survey
        try:
            self._link: Any = psycopg.connect(url, autocommit=True, require_auth=by_scram(url))
            self._link.execute("SET synchronous_commit = on")
            self._link.execute(
                "CREATE TABLE IF NOT EXISTS barrow_reports (survey text, id bytea, body bytea NOT NULL, "
                "PRIMARY KEY (survey, id))"
            )
            self._link.execute(
                "CREATE TABLE IF NOT EXISTS barrow_refused (survey text, reason text, number bigint NOT NULL, "
                "PRIMARY KEY (survey, reason))"
            )
            result: Any = self._link.execute(
                "SELECT count(*) FROM barrow_reports WHERE survey = %s", [survey]
            ).fetchone()
        except psycopg.Error as error:
            raise ParameterError(
                f"The database cannot be used: {type(error).__name__}.",
                allowed="postgresql://user@host/database of a server that runs",
                fix="check the address and the password file",
            ) from None
        self._number = int(result[0])

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise StoreError("It cannot be stored now.", allowed="a database that answers", fix="start it") from error

    def _insert(self, rows: Sequence[tuple[bytes, bytes]], refused: Mapping[str, int]) -> set[bytes]:
        with self._answering(), self._link.transaction(), self._link.cursor() as cursor:
            ids, bodies = [row[0] for row in rows], [row[1] for row in rows]
            # Sorted, so that two collectors that store the same rows do not wait for each other in a circle.
            cursor.execute(
                "INSERT INTO barrow_reports SELECT %s, * FROM (SELECT DISTINCT ON (i) i, b FROM "
                "unnest(%s::bytea[], %s::bytea[]) AS t (i, b) ORDER BY i) AS u ON CONFLICT DO NOTHING RETURNING id",
                [self._survey, ids, bodies],
            )
            new = {bytes(row[0]) for row in cursor.fetchall()}
            for reason, number in refused.items():
                cursor.execute(
                    "INSERT INTO barrow_refused VALUES (%s, %s, %s) ON CONFLICT (survey, reason) DO UPDATE SET "
                    "number = barrow_refused.number + excluded.number",
                    [self._survey, reason, number],
                )
        return new

    def known(self, ids: Sequence[bytes]) -> set[bytes]:
        """Those of some ids that are stored."""
        query = "SELECT id FROM barrow_reports WHERE survey = %s AND id = ANY(%s)"
        with self._answering():
            return {bytes(row[0]) for row in self._link.execute(query, [self._survey, list(ids)]).fetchall()}

    def refused(self) -> dict[str, int]:
        """How many were refused, by reason."""
        rows = self._link.execute(
            "SELECT reason, number FROM barrow_refused WHERE survey = %s AND number > 0", [self._survey]
        )
        return {str(reason): int(number) for reason, number in rows.fetchall()}

    def _page(self, last: bytes) -> list[tuple[bytes, bytes]]:
        query = "SELECT id, body FROM barrow_reports WHERE survey = %s AND id > %s ORDER BY id LIMIT %s"
        return list(self._link.execute(query, [self._survey, last, _PAGE]).fetchall())

    def check(self) -> None:
        """Write something durably, or say that it cannot be done."""
        self.add([], {"checked": 0})

    def close(self) -> None:
        """Let go of the connection."""
        self._link.close()
