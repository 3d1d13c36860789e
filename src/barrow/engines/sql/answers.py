"""What comes back from an engine: counts, pooled draws, or the refusal of what cannot be counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from barrow.engines.base import refuse_empty, refuse_lost_items, refuse_null_users, refuse_weights
from barrow.engines.counts import Counts, found_users, merged
from barrow.spaces import Space
from barrow.spaces.base import Unknown

LOST, NOBODY, UNWEIGHED = -1, -2, -3
"""What stands in place of an item: a lost one, a record without a user, a record whose weight is no count."""


class Pool:
    """Draws by item, added up over pieces.

    >>> pool = Pool()
    >>> pool.add(np.array([4, 4, -1]), np.array([2, 1, 0]))
    >>> [x.tolist() for x in pool.drawn("default", 0)]
    [[4], [3]]
    """

    def __init__(self) -> None:
        self._items = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, items: np.ndarray[Any, np.dtype[np.int64]], drawn: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Add the draws of one piece; items that are there but were not drawn stay, with 0."""
        keys, where = np.unique(np.concatenate([self._items, items]), return_inverse=True)
        sums = np.zeros(len(keys), dtype=np.int64)
        np.add.at(sums, where, np.concatenate([self._counts, drawn]))
        self._items, self._counts = keys, sums

    @property
    def all(self) -> tuple[np.ndarray[Any, np.dtype[np.int64]], ...]:
        """Items that are there and how often each was drawn, 0 included."""
        return self._items, self._counts

    def check(self) -> None:
        """Refuse records without a user or with a weight that is no count."""
        refuse_states(self._items)

    def drawn(self, unknown: Unknown, default: int) -> tuple[np.ndarray[Any, np.dtype[np.int64]], ...]:
        """Items that were drawn and how often; lost ones are refused whether they were drawn or not."""
        lost = self._items == LOST
        if lost.any() and unknown != "default":
            raise refuse_lost_items()
        some = self._counts > 0
        return np.where(lost, default, self._items)[some], self._counts[some]


def refuse_states(items: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    """Refuse what stands in place of items.

    >>> refuse_states(np.array([0, LOST]))
    """
    if (items == NOBODY).any():
        raise refuse_null_users()
    if (items == UNWEIGHED).any():
        raise refuse_weights()


def counts_of(
    item: np.ndarray[Any, np.dtype[np.int64]],
    size: np.ndarray[Any, np.dtype[np.int64]],
    count: np.ndarray[Any, np.dtype[np.int64]],
    space: Space,
    unknown: Unknown,
    users: int | None = None,
) -> Counts:
    """Counts of what an engine answered, or the refusal of what cannot be counted; ``users`` as it was counted apart.

    >>> from barrow.spaces import Discrete
    >>> one = np.array([1])
    >>> counts_of(np.array([0]), one, one, Discrete(["a", "b"]), "error").users
    1
    """
    if not len(item):
        raise refuse_empty()
    refuse_states(item)
    lost = item == LOST
    if lost.any() and unknown != "default":
        raise refuse_lost_items()
    found = found_users(size, count) if users is None else users
    return merged(np.where(lost, space.default_item, item), size, count, users=found)
