"""Bars on terminals and in notebooks: what a study is doing, once it has taken two seconds; none in pipes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from barrow.errors import clean
from barrow.progress import Listener, has_listener, progress_to

SECONDS = 2.0
"""What is over sooner shows nothing."""


@contextmanager
def bars(wanted: bool | None = None) -> Iterator[None]:
    """Within, long works show what they do; what encloses this decides already where somebody listens.

    Args:
        wanted: Whether to show them; by default where a person looks: on a terminal or in a notebook.
    """
    if wanted is None and has_listener():
        yield
        return
    if not (looked_at() if wanted is None else wanted):
        with progress_to(_Nobody()):
            yield
        return
    shown = Bars()
    try:
        with progress_to(shown):
            yield
    finally:
        shown.close()


def looked_at() -> bool:
    """Whether what is written to standard error reaches a person as it is written."""
    return sys.stderr is not None and (sys.stderr.isatty() or _in_notebook())


def _in_notebook() -> bool:
    """In a notebook that can draw bars: without ipywidgets rich would print a warning into each cell."""
    shell = sys.modules.get("IPython")
    result = None if shell is None else shell.get_ipython()
    return type(result).__name__ == "ZMQInteractiveShell" and find_spec("ipywidgets") is not None


class _Nobody(Listener):
    """Nobody looks, and nothing within looks for somebody again."""

    def began(self, text: str, total: float | None) -> int:
        return 0

    def moved(self, work: int, done: float) -> None:
        pass

    def ended(self, work: int) -> None:
        pass


class Bars(Listener):
    """One line for each work; a clock, not the work, makes them appear, so that a long step is seen too."""

    def __init__(self, seconds: float | None = None) -> None:
        self._lock = threading.Lock()
        self._works: dict[int, list[Any]] = {}
        self._next = 0
        self._progress: Any = None
        self._closed = False
        self._timer = threading.Timer(SECONDS if seconds is None else seconds, self._appear)
        self._timer.daemon = True
        self._timer.start()

    def began(self, text: str, total: float | None) -> int:
        """A line for it, now or when the clock has run."""
        with self._lock:
            self._next += 1
            self._works[self._next] = [text, total, 0.0, None]
            if self._progress is not None:
                self._add(self._next)
            return self._next

    def moved(self, work: int, done: float) -> None:
        """Its bar grows."""
        with self._lock:
            result = self._works.get(work)
            if result is not None:
                result[2] = done
                if self._progress is not None:
                    self._progress.update(result[3], completed=done)

    def ended(self, work: int) -> None:
        """Its line goes."""
        with self._lock:
            result = self._works.pop(work, None)
            if result is not None and self._progress is not None:
                self._progress.remove_task(result[3])

    def close(self) -> None:
        """No line stays."""
        self._timer.cancel()
        with self._lock:
            self._closed = True
            shown, self._progress = self._progress, None
        if shown is not None:
            shown.stop()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._closed:
                return
            columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), TimeElapsedColumn())
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5)
            for work in self._works:
                self._add(work)
            self._progress.start()

    def _add(self, work: int) -> None:
        text, total, done, _ = self._works[work]
        self._works[work][3] = self._progress.add_task(clean(text), total=total, completed=done)
