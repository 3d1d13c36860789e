"""One private DuckDB connection: settings, quiet failures, progress, and a folder that is removed afterwards."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from barrow.engines.base import PrivateTextError, refuse_short_of_room
from barrow.engines.duckdb.spill import SpillFolder
from barrow.errors import ParameterError
from barrow.progress import listening, task

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


class Session:
    """A connection in memory whose temporary files live in a folder of their own, for one reading of the records.

    Args:
        memory: The most memory that DuckDB may hold, e.g. ``"2GB"``; what does not fit goes to the folder.
        threads: How many threads; all cores by default.
        folder: Where the folder for temporary files is made; the system's place by default.
        progress: Whether to tell how far the reading is; by default where somebody listens (:mod:`barrow.progress`).

    >>> with Session(memory="1GB", threads=1, folder=None, progress=False) as session:
    ...     session.rows("SELECT 1 + 1")
    [(2,)]
    """

    def __init__(
        self, *, memory: str | None, threads: int | None, folder: str | Path | None, progress: bool | None
    ) -> None:
        import duckdb

        self.progress = listening() and progress is not False
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
            self.connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM given")  # noqa: S608
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
            failure: Exception = refuse_short_of_room()
        except (duckdb.Error, RuntimeError, ValueError, TypeError, UnicodeError) as error:
            failure = PrivateTextError(str(error))
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
    return str(value) if isinstance(value, int) else quoted(str(value))


def quoted(text: str) -> str:
    """A text in SQL.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def name(text: str) -> str:
    """A name in SQL.

    >>> print(name('a "b" c'))
    "a ""b"" c"
    """
    return '"' + text.replace('"', '""') + '"'
