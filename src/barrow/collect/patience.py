"""A limit on the time that a stranger's card may make somebody's processor work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from barrow.errors import ParameterError

T = TypeVar("T")

SECONDS = 10.0
"""Of processor time for planning a card."""


class _SpentError(BaseException):
    """Not an Exception: planning tries several mechanisms, and takes an Exception for one that does not fit."""


def patiently(work: Callable[[], T], what: str, seconds: float | None = None) -> T:
    """What ``work`` gives, if this thread's processor needs no longer than ``seconds`` for it.

    The time is looked at whenever a function is called or returns, in any thread and without signals.

    >>> patiently(lambda: sorted([2, 1]), "Sorting", 10.0)
    [1, 2]
    >>> patiently(lambda: sorted([2, 1]), "Sorting", 0.0)
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: Sorting was given up after 0 s of processor time.
      allowed: what an ordinary machine computes in that time
      fix:     ask whoever published it for a smaller one: fewer items, or a simpler question
    """
    seconds = SECONDS if seconds is None else seconds
    end, before, over = time.thread_time() + seconds, sys.getprofile(), False

    def look(*_: Any) -> None:
        if not over and time.thread_time() >= end:
            raise _SpentError

    try:
        sys.setprofile(look)
        return work()
    except _SpentError:
        raise ParameterError(
            f"{what} was given up after {seconds:g} s of processor time.",
            allowed="what an ordinary machine computes in that time",
            fix="ask whoever published it for a smaller one: fewer items, or a simpler question",
        ) from None
    finally:
        over = True
        sys.setprofile(before)
