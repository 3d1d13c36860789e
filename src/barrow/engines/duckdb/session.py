# ruff: noqa: S608 - SQL is built here from public names
"""One private DuckDB connection: settings, quiet failures, progress, and a folder for what memory cannot hold."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from barrow.engines.counts import (
    PrivateTextError,
    refuse_groups,
    refuse_null_users,
    refuse_short_of_room,
    refuse_times,
    refuse_two_groups,
    refuse_weights,
)
from barrow.engines.sql.dialects import DUCKDB
from barrow.errors import ParameterError
from barrow.progress import has_listener, task

try:
    import fcntl
except ImportError:  # pragma: no cover - no such locks on this system: folders are removed, but not swept
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

_HELD = "barrow-spill-"
_UNBORN = "barrow-new-"
_LOCK = "held"
_STALE = 3600.0
"""Seconds after which a folder that never got its lock (and so holds nothing) is removed."""
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


class Session:
    """A connection in memory whose temporary files live in a folder of their own, for one reading of the records.

    Its options are those of the engine.
    """

    def __init__(
        self, *, memory: str | None, threads: int | None, folder: str | Path | None, progress: bool | None
    ) -> None:
        import duckdb

        self.progress = has_listener() and progress is not False
        self._told = ExitStack()
        self._sampled: Callable[[float], None] | None = None
        self._folder = SpillFolder(folder)
        self.connection = duckdb.connect(":memory:")
        settings: dict[str, Any] = {
            "temp_directory": self._folder.path,
            # Nothing is ever downloaded, and SQL cannot reach variables of the Python program.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            "ieee_floating_point_ops": True,
            # Whole numbers of a known range of up to 2^17 are grouped in an array in place of a hash table.
            "perfect_ht_threshold": 17,
        }
        if threads is not None:
            settings["threads"] = threads
        if memory is not None:
            settings["memory_limit"] = f"{min(_bytes(memory), self._default_memory())}B"
        for name, value in settings.items():
            self.connection.execute(f"SET {name} = {_literal(value)}")
        try:
            self.connection.execute(f"SET enable_progress_bar = {_literal(self.progress)}")
            self.connection.execute("SET enable_progress_bar_print = false")
        except duckdb.Error:  # in a notebook without ipywidgets: then DuckDB says nothing of how far it is
            self.progress = False

    def _default_memory(self) -> int:
        row = self.connection.execute("SELECT current_setting('memory_limit')").fetchone()
        return _bytes(str(row[0])) if row else 2**62

    def close(self) -> None:
        """Close the connection and remove the temporary folder."""
        self._told.close()
        self.connection.close()
        self._folder.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, sql: str, parameters: Sequence[Any] | None = None) -> None:
        """Run a statement that gives nothing back."""
        self._guarded(lambda: self.connection.execute(sql, parameters))

    def rows(self, sql: str, parameters: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        """The result of a small query."""
        return self._guarded(lambda: self.connection.execute(sql, parameters).fetchall())

    def arrays(self, sql: str) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """The columns of a result that holds no NULL."""
        return self._guarded(lambda: {k: np.asarray(v) for k, v in self.connection.execute(sql).fetchnumpy().items()})

    def pieces(self, sql: str, size: int) -> Iterator[dict[str, np.ndarray[Any, np.dtype[Any]]]]:
        """The columns of a result of whole numbers, a piece of at most ``size`` rows at a time."""
        result = self._guarded(lambda: self.connection.execute(sql))
        names = [column[0] for column in result.description or []]
        while rows := self._guarded(lambda: result.fetchmany(size)):
            yield dict(zip(names, np.array(rows, dtype=np.int64).T, strict=True))

    def table(self, name: str, columns: Mapping[str, np.ndarray[Any, np.dtype[Any]]]) -> None:
        """Make a temporary table of public columns."""

        def make() -> None:
            self.connection.register("given", dict(columns))
            self.connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM given")
            self.connection.unregister("given")

        self._guarded(make)

    def register(self, name: str, data: Any) -> None:
        """Let queries see ``data`` (an Arrow table, or arrays by name) as the view ``name``."""
        self._guarded(lambda: self.connection.register(name, data))

    def tell(self, what: str, share: float | None) -> None:
        """Tell how far a work of many short queries is; None ends it."""
        if not self.progress:
            return
        if share is None:
            self._told.close()
            self._sampled = None
            return
        if self._sampled is None:
            self._sampled = self._told.enter_context(task(what, 1.0))
        self._sampled(share)

    def _guarded(self, act: Callable[[], T]) -> T:
        """DuckDB's errors repeat private values ("could not convert 'X'"): none of them may pass, not even as cause."""
        import duckdb

        try:
            with self._watched():
                return act()
        except duckdb.OutOfMemoryException:
            failure: BaseException = refuse_short_of_room()
        except (duckdb.Error, RuntimeError, ValueError, TypeError, UnicodeError) as error:
            # What DuckDB makes of Ctrl-C says nothing about the records.
            failure = KeyboardInterrupt() if str(error) == "Query interrupted" else PrivateTextError(str(error))
        raise failure

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Tell how far the query is while it runs; short queries tell nothing."""
        if not self.progress:
            yield
            return
        done = threading.Event()
        here = copy_context()  # a listener belongs to its thread, and this one works for the same
        watcher = threading.Thread(target=here.run, args=(_watch, self.connection, done), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


def _watch(connection: duckdb.DuckDBPyConnection, done: threading.Event) -> None:
    if done.wait(0.5):
        return
    with task("reading records", 100.0) as told:
        while not done.wait(0.2):
            share = connection.query_progress()
            if 0.0 <= share <= 100.0:
                told(share)


def _bytes(text: str) -> int:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", text)
    unit = _BYTES.get(match.group(2).upper()) if match else None
    if match is None or unit is None:
        raise ParameterError(f"memory is {text!r}.", allowed="a number with a unit", fix="memory='2GB'")
    return int(float(match.group(1)) * unit)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else DUCKDB.literal(str(value))


def read_sizes(
    session: Session, users: str, by: Sequence[str] = ("u",), more: str = "", *, total: str, grouped: bool
) -> None:
    """Make the table ``sizes`` of users u and their numbers of records m in each span s, with their group g.

    ``users`` stands after FROM and has the column u, and w, s and g where ``by``, ``total`` and ``grouped`` ask for
    them; ``more`` are further columns of the result. What cannot be counted is refused.
    """
    bad = "false" if total == "COUNT(*)" else "bool_or(w IS NULL)"
    more += ", min(g) AS g, max(g) AS high, bool_or(g IS NULL) AS lone" if grouped else ""
    session.run(
        f"CREATE OR REPLACE TEMP TABLE sizes AS SELECT {', '.join(by)}, CAST({total} AS BIGINT) AS m, {bad} AS bad"
        f"{more} FROM {users} GROUP BY {', '.join(by)}"
    )
    rules = {"u IS NULL": refuse_null_users, "bad": refuse_weights}
    rules |= {"s IS NULL": refuse_times} if "s" in by else {}
    rules |= {"lone": refuse_groups} if grouped else {}
    split = "(SELECT count(*) FROM (SELECT u FROM sizes GROUP BY u HAVING min(g) < max(high)))"
    sums = ", ".join(f"count(*) FILTER (WHERE {rule})" for rule in rules)
    wrong = session.rows(f"SELECT {sums}, {split if grouped else '0'} FROM sizes")[0]
    for count, refusal in zip(wrong, [*rules.values(), refuse_two_groups], strict=True):
        if count:
            raise refusal()


class SpillFolder:
    """A fresh folder in ``place``, readable by its owner only; what killed processes of the same user left is removed.

    A folder belongs to the process that holds the lock on the file in it. Locks end with their process, however it
    ends, so a folder whose lock is free was left behind: the next start in the same place removes it.
    """

    def __init__(self, place: str | Path | None) -> None:
        where = Path(place if place is not None else tempfile.gettempdir())
        sweep(where)
        try:
            unborn = Path(tempfile.mkdtemp(prefix=_UNBORN, dir=where))
            lock = os.open(unborn / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            # Only now does it get the name that sweeping looks for: no folder is ever seen without its lock.
            self.path = unborn.rename(unborn.with_name(_HELD + unborn.name.removeprefix(_UNBORN)))
        except OSError:
            raise ParameterError(
                f"No temporary folder can be made in {str(where)!r}.",
                allowed="a folder that can be written to",
                fix="DuckDBEngine(folder='/tmp')",
            ) from None
        # Also where nobody closes it: a session that was opened to look, and never asked for records.
        self.close = weakref.finalize(self, _remove, self.path, lock)


def _remove(path: Path, lock: int) -> None:
    """Remove the folder and let the lock go."""
    shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.close(lock)


def sweep(place: Path) -> int:
    """Remove the folders that killed processes of this user left in ``place``; how many there were."""
    removed = 0
    if fcntl is None or not place.is_dir():
        return removed
    for path in place.glob("barrow-*"):
        with contextlib.suppress(OSError):
            about = path.lstat()
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
                continue
            left = path.name.startswith(_UNBORN) and about.st_mtime < time.time() - _STALE
            if left or (path.name.startswith(_HELD) and _is_free(path / _LOCK)):
                shutil.rmtree(path, ignore_errors=True)
                removed += 1
    return removed


def _is_free(lock: Path) -> bool:
    """Whether no living process holds the lock; a folder that lost its file is nobody's."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
