"""A ledger in one SQLite file.

Why these settings (measured by ``scripts/faults ledger``, which shows that weaker ones lose paid records):

- ``BEGIN IMMEDIATE``: the lock is taken before the budget is read, so two processes cannot see the same rest.
- ``journal_mode=DELETE``: at rest the ledger is one file, so a copy or a backup of it is whole. (With a
  write-ahead log, the newest payments would sit in a second file that is easily left behind.)
- ``synchronous=EXTRA``: the commit point of that mode is the deletion of the journal. FULL does not fsync the
  folder after it, so a power cut could bring the journal back, and its rollback would undo a payment.
- Before COMMIT the folder is fsynced here as well: SQLite does so for a new journal, but ignores an error of it.
- A connection lives for one operation only. Nothing is open between operations, and a lock is held across
  ``fork``, so a child process can never inherit an open transaction.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from barrow.ledger.errors import (
    CorruptLedgerError,
    ForeignLedgerError,
    LedgerBusyError,
    LedgerIOError,
    MissingLedgerError,
)
from barrow.ledger.store import Other, Row, fsync_folder, lost_rows

APPLICATION_ID = 0x42415257
"""``BARW``: how a ledger is told from any other SQLite file."""

SCHEMA_VERSION = 1
"""The schema that this version writes."""

BUSY_SECONDS = 30.0

_DRAFT = re.compile(r"\..*\.\d+-\d+\.new")
"""What a ledger is called while it is made."""

_SCHEMA = (
    "CREATE TABLE records (seq INTEGER PRIMARY KEY CHECK (seq >= 1), body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TRIGGER records_are_not_changed BEFORE UPDATE ON records "
    "BEGIN SELECT RAISE(ABORT, 'records are never changed'); END",
    "CREATE TRIGGER records_are_not_removed BEFORE DELETE ON records "
    "BEGIN SELECT RAISE(ABORT, 'records are never removed'); END",
)

_operation = threading.RLock()
# Fork waits until no operation runs, so that no child inherits an open SQLite transaction or its locks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_operation.acquire, after_in_parent=_operation.release, after_in_child=_operation.release
    )


def one_operation() -> AbstractContextManager[object]:
    """Held during each operation of a store, so that a fork waits for its end."""
    return _operation


class SqliteStore:
    """Rows in one SQLite file; opening it checks that it is a ledger, of a schema that is known.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = SqliteStore.create(Path(folder) / "a.ledger", [Row(1, "{}", "00")])
    ...     with store.transaction() as transaction:
    ...         transaction.append(Row(2, "{}", "01"))
    ...     [row.seq for row in store.rows()]
    [1, 2]
    """

    _synchronous = "EXTRA"
    _journal = "DELETE"

    def __init__(self, path: str | os.PathLike[str], *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = Path(path)
        self._busy_seconds = busy_seconds
        if not self.path.is_file():
            raise MissingLedgerError(
                f"There is no ledger at {str(self.path)!r}.",
                allowed="a file made by barrow ledger init",
                fix=f"barrow ledger init {self.path} --study study.toml",
            )
        with self._connection():
            pass

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], rows: list[Row], unless: Callable[[list[Other]], None] = lambda others: None
    ) -> SqliteStore:
        """Make a new file that holds ``rows``: it appears whole and durable under its name, or not at all.

        ``unless`` refuses it, given the ledgers that are in the folder; nobody else makes one there meanwhile.
        """
        target = Path(path)
        _refuse_existing(target)
        draft = target.with_name(f".{target.name}.{os.getpid()}-{time.monotonic_ns()}.new")
        with _operation, _alone_in(target.absolute().parent):
            unless(ledgers_in(target.absolute().parent))
            try:
                os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                draft.chmod(0o600)  # whatever the umask; SQLite gives its journal the same rights
                cls._fill(draft, rows)
                _put_in_place(draft, target)
            except OSError as error:
                if error.errno == errno.EEXIST:
                    _refuse_existing(target)
                raise MissingLedgerError(
                    f"No ledger can be made at {str(target)!r}: {error.strerror or error}.",
                    allowed="a folder that exists and that you may write to",
                    fix="choose another path",
                ) from error
            finally:
                for left_over in (draft, Path(f"{draft}-journal")):
                    with suppress(OSError):
                        os.unlink(left_over)
        return cls(target)

    @classmethod
    def _fill(cls, draft: Path, rows: list[Row]) -> None:
        try:
            connection = sqlite3.connect(draft, isolation_level=None)
            try:
                connection.execute(f"PRAGMA synchronous={cls._synchronous}")
                connection.execute("BEGIN IMMEDIATE")
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
                connection.executemany("INSERT INTO records VALUES (?, ?, ?)", rows)
                connection.execute("COMMIT")
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise_translated(error, str(draft))

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    def rows(self, after: int = 0) -> list[Row]:
        """The rows whose number is above ``after``; one statement, so of one moment."""
        with self._connection() as connection:
            return _rows(connection, after)

    @contextmanager
    def transaction(self) -> Iterator[_SqliteTransaction]:
        """BEGIN IMMEDIATE … COMMIT; any error rolls back."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                transaction = _SqliteTransaction(connection, self.path)
                yield transaction
                if transaction.written:
                    sync_folder(self.path.parent)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with _operation:
            try:
                connection = sqlite3.connect(
                    f"{self.path.absolute().as_uri()}?mode=rw",
                    uri=True,
                    isolation_level=None,
                    timeout=self._busy_seconds,
                )
                try:
                    self._check_kind(connection)
                    self._set(connection)
                    yield connection
                finally:
                    connection.close()
            except sqlite3.Error as error:
                raise_translated(error, self.name)

    def _set(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA fullfsync=ON")  # macOS: reach the platter; elsewhere it does nothing.
        mode = connection.execute(f"PRAGMA journal_mode={self._journal}").fetchone()[0]
        connection.execute(f"PRAGMA synchronous={self._synchronous}")
        level = connection.execute("PRAGMA synchronous").fetchone()[0]
        wanted = {"OFF": 0, "NORMAL": 1, "FULL": 2, "EXTRA": 3}[self._synchronous]
        if (mode, level) != (self._journal.lower(), wanted):
            raise LedgerIOError(
                f"SQLite refuses the settings that make payments durable (it has {mode}, {level}).",
                allowed=f"journal_mode={self._journal} and synchronous={self._synchronous}",
                fix="close other programs that hold the file open",
            )

    def _check_kind(self, connection: sqlite3.Connection) -> None:
        result = connection.execute("PRAGMA application_id").fetchone()[0]
        if result != APPLICATION_ID:
            raise ForeignLedgerError(
                f"The file {self.name!r} is not a ledger of barrow. It was not touched.",
                allowed="a file made by barrow ledger init",
                fix="check the path",
            )
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise ForeignLedgerError(
                f"The ledger {self.name!r} has schema {version}; this barrow knows up to {SCHEMA_VERSION}.",
                allowed=f"schema {SCHEMA_VERSION} or older",
                fix="pip install --upgrade barrow",
            )
        if version < SCHEMA_VERSION:
            raise ForeignLedgerError(
                f"The ledger {self.name!r} has schema {version}, which cannot be upgraded.",
                allowed=f"schema {SCHEMA_VERSION}",
                fix="install the version of barrow that wrote it",
            )


class _SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        self.written = False

    def rows(self, after: int = 0) -> list[Row]:
        return _rows(self._connection, after)

    def append(self, row: Row) -> None:
        last = self._connection.execute("SELECT coalesce(max(seq), 0) FROM records").fetchone()[0]
        if row.seq != last + 1:
            raise CorruptLedgerError.at(row.seq, f"it cannot follow record {last}")
        self._connection.execute("INSERT INTO records VALUES (?, ?, ?)", row)
        self.written = True

    def others(self) -> list[Other]:
        return ledgers_in(self._path.absolute().parent, but=self._path)


def ledgers_in(folder: Path, but: Path | None = None) -> list[Other]:
    """The ledgers in ``folder`` and their first records, but for those that are the file ``but`` by another name.

    The file ``but`` is never opened here: to close it would end the locks that SQLite holds on it in this process.
    """
    results = []
    try:
        files = [file for file in folder.iterdir() if file.is_file() and not _DRAFT.fullmatch(file.name)]
        files = files if but is None else [file for file in files if not os.path.samefile(file, but)]
    except OSError:
        return []
    for file in sorted(filter(is_ledger_file, files)):
        with suppress(sqlite3.Error):  # Damaged: whose it is cannot be told.
            connection = sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)
            try:
                (first,) = connection.execute("SELECT body FROM records WHERE seq = 1").fetchone() or ("",)
            finally:
                connection.close()
            results.append(Other(str(file), str(first)))
    return results


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """While this lasts, nobody else makes a ledger in ``folder``; the lock ends with the process, however it ends."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # No such locks, or no such folder, which is refused where it is written to.
        yield
        return
    try:
        limit = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > limit:
                    raise LedgerBusyError(
                        f"Another process makes a ledger in {str(folder)!r}. Nothing was written.",
                        allowed="one at a time",
                        fix="try again; if it lasts, find the process",
                    ) from None
                time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def _rows(connection: sqlite3.Connection, after: int) -> list[Row]:
    sql = "SELECT seq, body, hash FROM records WHERE seq > ? ORDER BY seq"
    rows = []
    for seq, *cells in connection.execute(sql, (after,)):
        if not all(isinstance(cell, str) for cell in cells):
            raise CorruptLedgerError.at(seq, "it is not text")
        rows.append(Row(seq, *cells))
    if (lost := lost_rows(rows, after)) is not None:
        raise CorruptLedgerError.at(lost, "the record before it is missing")
    return rows


def is_ledger_file(path: Path) -> bool:
    """Whether the file's header is that of a ledger; only the first 72 bytes are read."""
    try:
        with _operation, path.open("rb") as file:  # closing it would end the locks of another thread's transaction
            header = file.read(72)
    except OSError:
        return False
    return header.startswith(b"SQLite format 3\0") and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def _refuse_existing(target: Path) -> None:
    if os.path.lexists(target):
        raise MissingLedgerError(
            f"There is already a file at {str(target)!r}. It was not touched.",
            allowed="a path where nothing is yet: a budget is never made anew over an old one",
            fix=f"barrow ledger show {target}, or choose another path",
        )


def _put_in_place(draft: Path, target: Path) -> None:
    """Give the finished draft its name without ever replacing a file, and make the name durable."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # A file system without hard links: claim the name first.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.replace(draft, target)
    with suppress(FileNotFoundError):
        os.unlink(draft)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable, or fail as a ledger must."""
    try:
        fsync_folder(folder)
    except OSError as error:
        raise_io(f"fsync of the folder failed ({error.strerror})", str(folder))


def raise_io(what: str, name: str) -> NoReturn:
    """Raise the fatal error for ``what`` at ``name``."""
    raise LedgerIOError(
        f"Writing the ledger {name!r} failed: {what}. Nothing was released; this is fatal and is not tried "
        "again, because after such an error the state of the disk is unknown.",
        allowed="a disk that works",
        fix="free or repair the disk, then open the ledger again and check it: barrow ledger verify",
    )


def raise_translated(error: sqlite3.Error, name: str) -> NoReturn:
    """Raise the error of barrow that ``error`` means; anything unexpected counts as a failed disk."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        raise LedgerBusyError(
            f"Another process holds the ledger {name!r}. Nothing was written.",
            allowed="one spender at a time",
            fix="try again; if it lasts, find the process that holds the file",
        ) from error
    if code == sqlite3.SQLITE_NOTADB:
        raise ForeignLedgerError(
            f"The file {name!r} is not a ledger of barrow. It was not touched.",
            allowed="a file made by barrow ledger init",
            fix="check the path",
        ) from error
    if code == sqlite3.SQLITE_CORRUPT or "decode" in str(error):  # Text that is not UTF-8 has no code.
        raise CorruptLedgerError(
            f"The file {name!r} is damaged: {error}. Nothing was released.",
            fix="stop spending and compare it with a copy and an anchored head",
        ) from error
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        raise LedgerIOError(
            f"The ledger {name!r} cannot be written here ({error}). Nothing was released.",
            allowed="a file and a folder that you may write to",
            fix="give yourself the right to write to the file and to its folder",
        ) from error
    raise_io(str(error), name)
