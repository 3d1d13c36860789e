"""Whole people: how often each person holds each item. Of who they are, only where the next begins leaves an engine.

A function of a person's whole data cannot be computed from how often items occur among people of one size. It needs one
row for each person and item, which every engine gives user by user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

import numpy as np

from barrow.engines.counts import (
    Counts,
    Integers,
    known_items,
    merged,
    refuse_states,
    refuse_too_many,
)
from barrow.numerics import MOST_RECORDS
from barrow.numerics.limits import total
from barrow.queries.profiles import Profiles
from barrow.spaces.space import Unknown


class PeopleCounts(Counts):
    """The counts of an engine, and the people behind them one by one (private).

    Args:
        profiles: One row for each person and item, person by person.
        users: The number of users, or a larger public one.

    >>> people = PeopleCounts(Profiles.of_users([[0, 0, 1], [1]]))
    >>> people.counts.tolist(), people.users, len(people.profiles), people
    ([2, 1, 1], 2, 2, <PeopleCounts: private integers>)
    """

    profiles: Profiles

    def __init__(self, profiles: Profiles) -> None:
        vars(self).update(profiles=profiles)
        rows = np.diff(np.append(profiles.starts, len(profiles.items)))
        held = merged(profiles.items, np.repeat(profiles.sizes, rows), profiles.counts, users=len(profiles))
        super().__init__(held.items, held.sizes, held.counts, users=held.users)

    def with_users(self, users: int, default_item: int) -> PeopleCounts:
        """The same with the public number of users: those without records hold the default item once.

        >>> PeopleCounts(Profiles.of_users([[1]])).with_users(3, default_item=0).counts.tolist()
        [2, 1]
        """
        result = copy(self)
        vars(result).update(vars(super().with_users(users, default_item)))
        return result

    def __repr__(self) -> str:
        return "<PeopleCounts: private integers>"


def people_of(who: Integers, items: Integers, counts: Integers) -> PeopleCounts:
    """From the number of each row's person, its item and how often it occurs; an item may come in several rows."""
    if total(counts) > MOST_RECORDS:
        raise refuse_too_many()
    order = np.lexsort((items, who))
    who, items, counts = who[order], items[order], counts[order]
    first = np.append(True, (np.diff(who) != 0) | (np.diff(items) != 0))[: len(who)]
    begins = np.flatnonzero(first)
    often = np.add.reduceat(counts, begins) if len(begins) else counts
    who, items = who[begins], items[begins]
    starts = np.flatnonzero(np.append(True, np.diff(who) != 0)[: len(who)]).astype(np.int64)
    return PeopleCounts(Profiles(starts, items.astype(np.int64), often.astype(np.int64)))


def known_people(answer: Mapping[str, Integers], default_item: int, unknown: Unknown) -> dict[str, Integers]:
    """Rows with items, or the refusal of what stands in place of one."""
    refuse_states(answer["item"])
    return {**answer, "item": known_items(answer["item"], default_item, unknown)}


def rows_of_pieces(pieces: Iterable[Mapping[str, np.ndarray[Any, np.dtype[Any]]]]) -> dict[str, Integers]:
    """The columns of rows (fresh, item, c, g, s) that come user by user; ``who`` counts where ``fresh`` is 1.

    A person's rows of another cell count as another person's.
    """
    columns: dict[str, list[Integers]] = {name: [np.zeros(0, dtype=np.int64)] for name in ("fresh", "item", "c")}
    for piece in pieces:
        for name, column in piece.items():
            columns.setdefault(name, []).append(column.astype(np.int64))
    rows = {name: np.concatenate(parts) for name, parts in columns.items()}
    nowhere = np.zeros(len(rows["item"]), dtype=np.int64)
    return {"g": nowhere, "s": nowhere, **rows, "who": np.cumsum(rows["fresh"] == 1).astype(np.int64)}
