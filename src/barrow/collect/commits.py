"""Group commit: whatever arrives while one commit runs goes into the next one, and is answered when it is durable."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from barrow.errors import BarrowError

Row = TypeVar("Row")
MOST_WAITING = 20_000
"""Rows that may wait for a commit; beyond it the service says that it is busy."""
MOST_TOGETHER = 5_000


class BusyError(BarrowError):
    """More waits than should; come again later."""


class GroupCommit(Generic[Row]):
    """Collects rows of many requests into few transactions.

    ``store`` stores rows in one durable step and returns one result for each.
    """

    def __init__(self, store: Callable[[list[Row]], Sequence[Any]], *, most_waiting: int = MOST_WAITING) -> None:
        self._store, self._most = store, most_waiting
        self._waiting: list[tuple[list[Row], asyncio.Future[list[Any]]]] = []
        self._rows = 0
        self._running: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self.lock = threading.Lock()

    async def add(self, rows: list[Row]) -> list[Any]:
        """Results of these rows, once they are durable."""
        if self._rows + len(rows) > self._most:
            raise BusyError("Too much waits to be stored.", allowed="a little later", fix="send again")
        done: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append((rows, done))
        self._rows += len(rows)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await done

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            some: list[tuple[list[Row], asyncio.Future[list[Any]]]] = []
            size = 0
            while self._waiting and (not some or size + len(self._waiting[0][0]) <= MOST_TOGETHER):
                some.append(self._waiting.pop(0))
                size += len(some[-1][0])
            try:
                results = await loop.run_in_executor(
                    self._thread, self._stored, [row for rows, _ in some for row in rows]
                )
            except Exception as error:
                for _, done in some:
                    if not done.done():
                        done.set_exception(error)
            else:
                start = 0
                for rows, done in some:
                    if not done.done():
                        done.set_result(list(results[start : start + len(rows)]))
                    start += len(rows)
            finally:
                self._rows -= size

    def _stored(self, rows: list[Row]) -> Sequence[Any]:
        with self.lock:
            return self._store(rows)
