"""People by their whole data: how often each person holds each item, without anybody's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import DataError
from barrow.spaces.space import Ids

Whole = NDArray[Any]
"""Exact integers, one for each person: int64 where nothing can overflow, Python's otherwise."""
_SAFE = 62
"""Bits that a sum of 64-bit integers may have."""


@dataclass(frozen=True, eq=False, repr=False)
class Profiles:
    """One row for each person and item, person by person; a person's place in the order says nothing (private).

    Attributes:
        starts: Where the rows of each person begin.
        items: Ids of items.
        counts: How often the person holds the item, above 0.

    >>> people = Profiles.of_users([[0, 1, 1], [2]])
    >>> people.sizes.tolist(), people.sums(np.array([5, 1, 7])).tolist(), people
    ([3, 1], [7, 7], <Profiles: private integers>)
    """

    starts: Ids
    items: Ids
    counts: Ids

    def __post_init__(self) -> None:
        rows = len(self.items)
        good = len(self.counts) == rows and (len(self.starts) > 0) == (rows > 0)
        if good and rows:
            ascending = bool((np.diff(self.starts) > 0).all()) and self.starts[0] == 0 and self.starts[-1] < rows
            good = ascending and bool((self.counts > 0).all() and (self.items >= 0).all())
        if not good:
            raise DataError(
                "The rows do not belong to whole people.",
                allowed="one row for each person and item, person by person",
                fix="read the records again when nobody writes to them",
            )

    def __repr__(self) -> str:
        return "<Profiles: private integers>"

    @classmethod
    def of_users(cls, data_sets: Sequence[ArrayLike]) -> Profiles:
        """From each person's item ids; everybody holds at least one."""
        pairs = [np.unique(np.asarray(ids, dtype=np.int64), return_counts=True) for ids in data_sets]
        lengths = [len(items) for items, _ in pairs]
        starts = np.cumsum([0, *lengths])[:-1].astype(np.int64)
        items, counts = (np.concatenate([np.zeros(0, dtype=np.int64), *column]) for column in zip(*pairs, strict=True))
        return cls(starts, items.astype(np.int64), counts.astype(np.int64))

    @classmethod
    def one_each(cls, items: int) -> Profiles:
        """As many people as items, of whom each holds one of them."""
        each = np.arange(items, dtype=np.int64)
        return cls(each, each, np.ones(items, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def sizes(self) -> Ids:
        """How many items, with repetition, each person holds."""
        return np.add.reduceat(self.counts, self.starts) if len(self) else self.counts

    @cached_property
    def whole(self) -> Whole:
        """The sizes as Python's integers."""
        return self.sizes.astype(object)

    @property
    def bits(self) -> int:
        """How many bits the largest size has."""
        return int(self.sizes.max(initial=0)).bit_length()

    def sums(self, values: Ids) -> Whole:
        """For each person the sum of a value of each item over their items; exact."""
        wide = int(np.abs(values).max(initial=0)).bit_length() + self.bits
        of_rows = values[self.items]
        if wide > _SAFE:
            return np.add.reduceat(of_rows.astype(object) * self.counts.astype(object), self.starts)
        return np.add.reduceat(of_rows * self.counts, self.starts)

    def dense(self, chunk: slice, items: int) -> Ids:
        """The counts of some people as a table, people by items."""
        starts = self.starts[chunk]
        first = int(starts[0])
        last = len(self.items) if chunk.stop >= len(self) else int(self.starts[chunk.stop])
        who = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, last)))
        table = np.zeros((len(starts), items), dtype=np.int64)
        table[who, self.items[first:last]] = self.counts[first:last]
        return table
