"""Queries that were made before: their constants take seconds, and a plan, a comparison and a page ask again."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from barrow.queries import Query
from barrow.questions.question import asked_of
from barrow.spaces import Space

if TYPE_CHECKING:
    from barrow.planning.terms import Terms
    from barrow.questions.linear import Linear
    from barrow.questions.question import Question

Value = TypeVar("Value")


class _Entry(Generic[Value]):
    """What is kept, or will be: waiting for it loads no library, as a future would."""

    def __init__(self) -> None:
        self.done, self.made = threading.Event(), list[Value]()
        self.error: BaseException | None = None


class Cache(Generic[Value]):
    """A cache in which each thing is made once, however many ask at a time; what was not asked for longest goes first.

    Args:
        most: How many things are kept.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._entries: OrderedDict[str, _Entry[Value]] = OrderedDict()

    def get(self, key: str, make: Callable[[], Value]) -> Value:
        """What is kept under ``key``; made now if nothing is, waited for if somebody is making it."""
        with self._lock:
            entry = self._entries.get(key)
            mine = entry is None
            if entry is None:
                entry = self._entries[key] = _Entry()
                while len(self._entries) > self._most:
                    self._entries.popitem(last=False)
            self._entries.move_to_end(key)
        if mine:
            try:
                entry.made.append(make())
            except BaseException as error:
                with self._lock:
                    if self._entries.get(key) is entry:
                        del self._entries[key]
                entry.error = error
                raise
            finally:
                entry.done.set()
        entry.done.wait()
        if entry.error is not None:
            raise entry.error
        return entry.made[0]

    def ready(self, key: str) -> bool:
        """Whether it is there at once."""
        entry = self._entries.get(key)
        return entry is not None and entry.done.is_set()


_QUERIES: Cache[Query] = Cache(6)


def query_key(question: Linear, space: Space) -> str | None:
    """What a query depends on: the space, and all that is asked of it; None where that cannot be written down."""
    return _key(question, space.digest, {name: value for name, value in asked_of(question).items() if name != "noise"})


def choice_key(question: Question, terms: Terms) -> str | None:
    """What the choice of a mechanism depends on: the terms, and all that is asked; None as above."""
    return _key(question, terms.to_spec(), asked_of(question))


def _key(question: Question, *parts: object) -> str | None:
    try:
        written = json.dumps(parts, sort_keys=True, default=_written)
    except (TypeError, ValueError):
        return None
    return f"{type(question).__module__}.{type(question).__qualname__} {written}"


def _written(value: object) -> object:
    """Arrays by all of their bytes, exact numbers as they are; anything else is nothing that may be compared."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return ["array", value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, Fraction | Decimal):
        return [type(value).__name__, str(value)]
    raise TypeError(type(value).__name__)


def cached_query(question: Linear, space: Space) -> Query:
    """The question on ``space``; the last few are kept with their constants."""
    key = query_key(question, space)
    return question.query(space) if key is None else _QUERIES.get(key, lambda: question.query(space))


def query_ready(question: Linear, space: Space) -> bool:
    """Whether :func:`cached_query` answers at once."""
    key = query_key(question, space)
    return key is not None and _QUERIES.ready(key)
