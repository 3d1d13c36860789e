"""What a long work is doing, told to whoever listens; without a listener nothing happens and nothing is shown.

Texts are constants and counts public: what is told may be shown to anybody. Those who work write
``with_progress`` or ``task``;
those who show are listeners, such as the bars of :mod:`barrow.study.bars`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Listener(Protocol):
    """What is told about works; each has a number of its own."""

    def began(self, text: str, total: float | None) -> int:
        """A work begins that has ``total`` steps, or nobody knows how many; the answer names it."""

    def moved(self, work: int, done: float) -> None:
        """So many steps are done."""

    def ended(self, work: int) -> None:
        """It is over, done or not."""


_LISTENER: ContextVar[Listener | None] = ContextVar("barrow_progress", default=None)


def has_listener() -> bool:
    """Whether somebody listens here.

    >>> has_listener()
    False
    """
    return _LISTENER.get() is not None


@contextmanager
def progress_to(listener: Listener | None) -> Iterator[None]:
    """Within, ``listener`` is told; None for nobody. A listener belongs to its thread: others do not see it.

    >>> class Words:
    ...     def began(self, text, total):
    ...         print(text, total)
    ...         return 0
    ...     def moved(self, work, done):
    ...         print(done)
    ...     def ended(self, work):
    ...         print("over")
    >>> with progress_to(Words()):
    ...     results = [2 * x for x in with_progress([1, 2], "doubling")]
    doubling 2
    1
    2
    over
    """
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


@contextmanager
def task(text: str, total: float | None = None) -> Iterator[Callable[[float], None]]:
    """A work with a name; call what it gives with how many steps are done.

    >>> with task("choosing a spacing", total=3) as done:
    ...     done(1)
    """
    listener = _LISTENER.get()
    if listener is None:
        yield _nothing
        return
    work, told = listener.began(text, total), listener
    try:
        yield lambda done: told.moved(work, done)
    finally:
        listener.ended(work)


def with_progress(items: Iterable[Item], text: str, total: float | None = None) -> Iterator[Item]:
    """The items, one by one; each counts as a step when it has been worked on.

    >>> list(with_progress(range(3), "simulating releases"))
    [0, 1, 2]
    """
    if _LISTENER.get() is None:
        yield from items
        return
    with task(text, len(items) if total is None and isinstance(items, Sequence) else total) as done:
        for count, item in enumerate(items, 1):
            yield item
            done(count)


def _nothing(done: float) -> None:
    pass
