"""What leaves an engine where the mean over people is asked: one whole number for each item.

A person's mass is 2^120 steps. Each of their m records weighs floor(2^120/m) - (2^32 - m) steps, and what is left of
the mass lies on the public default item, where everybody is who has no records. So the sums are those of probability
measures, and what a change of one person's records costs at any promise is what it costs without rounding
(docs/proofs/sums.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.engines.breakdown import Breakdown, Cell, Layer
from barrow.engines.counts import Counts, Integers, check_users, refuse_changed, refuse_heavy, refuse_more_users
from barrow.numerics import MOST_HELD, SUM_BITS, record_mass
from barrow.numerics.limits import LIMBS, Limbs, added, carried, limbs_of, placed, sum_of, whole_numbers

_MASS = 1 << SUM_BITS
_MOST_LEFT = MOST_HELD**2 // 4 + MOST_HELD
"""What is left of a person's mass is no more: m (2^32 - m) and a remainder below m."""


@dataclass(frozen=True, eq=False, repr=False)
class ItemSums:
    """The mass of all people on each item, in steps of 2^-120 of a person (private).

    Args:
        items: Ids of the space's items, ascending.
        values: The steps on each, as whole numbers or as limbs.
        users: The number of people.

    >>> sums = ItemSums.of(Counts([0, 1], [2, 2], [1, 1], users=1))
    >>> sums, bool(sums.values[0] == 2**119 - 2**32 + 2)
    (<ItemSums: private integers>, True)
    """

    items: Integers
    steps: Limbs
    users: int

    def __init__(self, items: ArrayLike, values: Iterable[int] | Limbs, *, users: int) -> None:
        ids, steps = np.array(items, dtype=np.int64), limbs_of(values)
        for array in (ids, steps):
            array.setflags(write=False)
        vars(self).update(items=ids, steps=steps, users=int(users))
        good = ids.shape == steps.shape[1:] and self.users >= 0
        good = good and bool((ids[:1] >= 0).all() and (np.diff(ids) > 0).all() and steps.any(axis=0).all())
        if not good or not self.users * (_MASS - _MOST_LEFT) <= sum_of(steps) <= self.users * _MASS:
            raise refuse_changed()

    @cached_property
    def values(self) -> NDArray[np.object_]:
        """The steps as Python's integers, which have no limit."""
        return whole_numbers(self.steps)

    def __repr__(self) -> str:
        return "<ItemSums: private integers>"

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, ItemSums) and self.users == other.users and np.array_equal(self.items, other.items)
        return same and isinstance(other, ItemSums) and np.array_equal(self.steps, other.steps)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, counts: Counts) -> ItemSums:
        """The sums of counts by item and size: the reference for all engines."""
        if counts.sizes.size and int(counts.sizes.max()) > MOST_HELD:
            raise refuse_heavy()
        sizes, where = np.unique(counts.sizes, return_inverse=True)
        masses = limbs_of(record_mass(int(m)) for m in sizes)[:4, where]
        starts = np.flatnonzero(np.append(True, np.diff(counts.items) != 0)) if counts.items.size else counts.items
        sums = np.zeros((LIMBS, len(counts.items)), dtype=np.int64)
        # A product of two limbs is below 2^60; no more than three are added up before they are carried.
        for i, more in enumerate(placed([(0, counts.counts)], len(counts.counts))[:3]):
            sums[i : i + 4] += masses * more
        return cls(counts.items[starts], added(carried(sums), starts), users=counts.users)

    def with_users(self, users: int, default_item: int) -> ItemSums:
        """The same with the public number of people: all that is left of their mass lies on the default item.

        >>> more = ItemSums.of(Counts([1], [1], [2], users=2)).with_users(5, default_item=0)
        >>> more.items.tolist(), sum(more.values) == 5 * 2**120
        ([0, 1], True)
        """
        check_users(users)
        if users < self.users:
            raise refuse_more_users()
        left = users * _MASS - sum_of(self.steps)
        if not left:
            return ItemSums(self.items, self.steps, users=users)
        more = np.append(self.items, default_item)
        return joined(more, np.hstack([self.steps, limbs_of([left])]), users=users)


def joined(items: Integers, values: Limbs, *, users: int) -> ItemSums:
    """Sums in canonical order, those of one item added up."""
    order = np.argsort(items, kind="stable")
    items, values = items[order], values[:, order]
    starts = np.flatnonzero(np.append(True, np.diff(items) != 0)) if items.size else items
    return ItemSums(items[starts], added(values, starts), users=users)


def sums_of_cells(breakdown: Breakdown, layer: Layer, answer: Mapping[str, Any]) -> Iterator[tuple[Cell, ItemSums]]:
    """The sums of each asked cell of a layer, from columns ``item``, ``value``, ``g``, ``s`` and people by cell."""
    for cell, rows, places in breakdown.places(layer, answer):
        people = int(answer["people"][places].sum())
        yield cell, joined(answer["item"][rows], answer["value"][:, rows], users=people)
