"""What leaves an engine: integers by item and by user size, or a refusal in constant words that repeats no value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import BarrowError, DataError
from barrow.numerics import MOST_RECORDS, checked_people
from barrow.numerics.limits import total
from barrow.spaces.space import Unknown

T = TypeVar("T")
Integers = NDArray[np.int64]

LOST, NOBODY, UNWEIGHED, UNTIMED, UNGROUPED, SPLIT, OVERWEIGHT, FRACTION, PEOPLE = -1, -2, -3, -4, -5, -6, -7, -8, -9
"""What stands in place of an item: a lost one, a record without a user, one whose weight is no count, one without a
time, one of no group that was named, one of somebody who is in two groups, or has too many records, a number that is
not whole where only whole ones are exact; and the row that says how many people there are."""


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """C[item, size]: how often an item occurs among the users that hold exactly ``size`` items (private).

    No entries are of nobody: a period in which nothing happened. Only entries above 0 are kept, sorted by item and then
    by size, so that equal data give equal arrays on every engine. A user counts once for the mean
    over users: q_x = (1/users) * sum over sizes of C[x, size] / size.

    Args:
        items: Ids of the space's items.
        sizes: How many items (with repetition) the users of this entry hold.
        counts: How often the item occurs among them.
        users: The number of users.

    >>> Counts([0, 0, 1], [1, 2, 2], [3, 1, 1], users=4)
    <Counts: private integers>
    """

    items: Integers
    sizes: Integers
    counts: Integers
    users: int

    def __init__(self, items: ArrayLike, sizes: ArrayLike, counts: ArrayLike, *, users: int) -> None:
        for name, values in (("items", items), ("sizes", sizes), ("counts", counts)):
            array = np.array(values, dtype=np.int64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "users", int(users))
        self._check()

    def _check(self) -> None:
        """Each size m is held by a whole number of users, and these add up to all users."""
        shapes = {self.items.shape, self.sizes.shape, self.counts.shape}
        good = len(shapes) == 1 and self.items.ndim == 1 and self.users >= 0
        if good and not self.items.size and not self.users:
            return
        good = good and self.users > 0 and self.items.size > 0
        if good:
            step, ahead = np.diff(self.items), np.diff(self.sizes)
            good = bool((self.items >= 0).all() and (self.sizes > 0).all() and (self.counts > 0).all())
            good = good and bool(((step > 0) | ((step == 0) & (ahead > 0))).all())
        if good and total(self.counts) > MOST_RECORDS:
            raise refuse_too_many()
        if good:
            sizes, totals = _totals(self.sizes, self.counts)
            good = bool((totals % sizes == 0).all()) and int((totals // sizes).sum()) == self.users
        if not good:
            raise DataError(
                "The counts do not belong to a whole number of users.",
                allowed="records that do not change while they are read",
                fix="read the records again when nobody writes to them",
            )

    def __repr__(self) -> str:
        return "<Counts: private integers>"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Counts)
            and self.users == other.users
            and np.array_equal(self.items, other.items)
            and np.array_equal(self.sizes, other.sizes)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def with_users(self, users: int, default_item: int) -> Counts:
        """The same with the public number of users: those without records hold the default item once.

        Args:
            users: n, public.
            default_item: The space's public default item.

        >>> more = Counts([1], [1], [2], users=2).with_users(5, default_item=0)
        >>> more.items.tolist(), more.sizes.tolist(), more.counts.tolist(), more.users
        ([0, 1], [1, 1], [3, 2], 5)
        """
        check_users(users)
        missing, each = users - self.users, getattr(self, "samples", 1)
        if missing < 0:
            raise refuse_more_users()
        if missing == 0:
            return self
        items = np.append(self.items, default_item)
        sizes = np.append(self.sizes, each)
        counts = np.append(self.counts, missing * each)
        return merged(items, sizes, counts, users=users)


class Sampled(Counts):
    """Counts of ``samples`` items drawn from each user with replacement: every size is ``samples`` (private).

    Args:
        items: Ids of the space's items, ascending.
        counts: How often each was drawn, over all users.
        samples: s.
        users: The number of users.
        private: Whether the randomness was the system's; a release must refuse anything else.

    >>> sampled = Sampled([0, 1], [5, 1], samples=2, users=3, private=True)
    >>> sampled.sizes.tolist(), sampled.private, sampled
    ([2, 2], True, <Sampled: private integers>)
    """

    samples: int
    private: bool

    def __init__(self, items: ArrayLike, counts: ArrayLike, *, samples: int, users: int, private: bool) -> None:
        vars(self).update(samples=int(samples), private=bool(private))
        super().__init__(items, np.full(np.shape(items), samples), counts, users=users)

    def with_users(self, users: int, default_item: int) -> Sampled:
        """The same with the public number of users: from those without records the default item is drawn each time.

        >>> more = Sampled([1], [4], samples=2, users=2, private=True).with_users(5, default_item=3)
        >>> more.items.tolist(), more.counts.tolist(), more.users, more.private
        ([1, 3], [4, 6], 5, True)
        """
        more = super().with_users(users, default_item)
        if more is self:
            return self
        return Sampled(more.items, more.counts, samples=self.samples, users=users, private=self.private)

    def __repr__(self) -> str:
        return "<Sampled: private integers>"


def _totals(sizes: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """The different sizes and the sum of the counts of each."""
    if int(sizes.max()) <= 4 * len(sizes) + 2**16:  # a table by size needs no sorting
        table = np.zeros(int(sizes.max()) + 1, dtype=np.int64)
        np.add.at(table, sizes, counts)
        indices = np.flatnonzero(table)
        return indices, table[indices]
    indices, where = np.unique(sizes, return_inverse=True)
    table = np.zeros(len(indices), dtype=np.int64)
    np.add.at(table, where, counts)
    return indices, table


def user_count(sizes: Integers, counts: Integers) -> int:
    """How many users entries belong to; :class:`Counts` refuses entries of no whole number of users."""
    if not sizes.size or int(sizes.min()) < 1:
        return 0
    different, totals = _totals(sizes, counts)
    return int((totals // different).sum())


def check_users(users: int | None) -> None:
    """Refuse a public number of users that is not a whole number from 1 to 2^36."""
    if users is not None:
        checked_people(users)


def merged(items: Integers, sizes: Integers, counts: Integers, *, users: int) -> Counts:
    """Counts in canonical order, entries of one item and size added up."""
    if total(counts) > MOST_RECORDS:  # before sums of them could wrap round
        raise refuse_too_many()
    order = np.lexsort((sizes, items))
    items, sizes, counts = items[order], sizes[order], counts[order]
    first = np.append(True, (np.diff(items) != 0) | (np.diff(sizes) != 0)) if items.size else np.zeros(0, dtype=bool)
    starts = np.flatnonzero(first)
    sums = np.add.reduceat(counts, starts) if starts.size else counts
    return Counts(items[starts], sizes[starts], sums, users=users)


@dataclass(frozen=True)
class CheckReport:
    """What is wrong with the records, for the curator's eyes only.

    Args:
        rows: How many records there are.
        users: How many users hold them.
        null_users: Records without a user.
        bad_weights: Records whose weight is not a whole number from 0 to 2^31.
        lost_items: Records whose item is missing or unknown.
        smallest: The fewest records that a user holds.
        largest: The most records that a user holds.
        examples: Up to a few records whose item is lost, each with its row number and the values of the item columns.
        problem: What the engine says if the records cannot be read at all.
        declared: The public number of users, if one is declared.
        lost_is_fine: Whether the study maps lost items to the public default item.
        advice: What the lost records look like, and how to mend them.

    >>> print(CheckReport(rows=9, users=1, null_users=0, lost_items=1, smallest=9, largest=9,
    ...     examples=({"row": 2, "item": "XXX"},)))  # doctest: +ELLIPSIS
    PRIVATE: this describes the private records. Do not publish it.
    rows        9
    users       1, holding 9 to 9 records each
    no user     0 rows
    lost items  1 rows whose item is missing or not an item of the public space
      row 2: item = 'XXX'
    Not usable as it is: correct these rows, or write outside = ...
    """

    rows: int = 0
    users: int = 0
    null_users: int = 0
    lost_items: int = 0
    smallest: int = 0
    largest: int = 0
    examples: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    problem: str | None = None
    declared: int | None = None
    lost_is_fine: bool = False
    private: bool = True
    bad_weights: int = 0
    advice: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether a release could read these records.

        >>> CheckReport(rows=1, users=1).usable
        True
        """
        few = self.declared is None or self.users <= self.declared
        items = self.lost_is_fine or not self.lost_items
        good = not self.problem and not self.null_users and not self.bad_weights
        return self.rows > 0 and good and items and few

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``, with ``private`` first.

        >>> CheckReport(rows=1, users=1).to_json()["private"]
        True
        """
        names = ("rows", "users", "null_users", "lost_items", "smallest", "largest", "problem", "declared",
                 "bad_weights")  # fmt: skip
        plain = [{k: v if isinstance(v, int | float | str) else str(v) for k, v in x.items()} for x in self.examples]
        return {
            "private": True,
            "usable": self.usable,
            **{name: getattr(self, name) for name in names},
            "examples": plain,
            "advice": list(self.advice),
        }

    def __str__(self) -> str:
        lines = ["PRIVATE: this describes the private records. Do not publish it."]
        if self.problem is not None:
            return "\n".join([*lines, "The records cannot be read:", self.problem])
        lines += [
            f"rows        {self.rows}",
            f"users       {self.users}, holding {self.smallest} to {self.largest} records each",
            f"no user     {self.null_users} rows",
            f"lost items  {self.lost_items} rows whose item is missing or not an item of the public space",
        ]
        if self.bad_weights:
            lines.insert(4, f"bad weight  {self.bad_weights} rows whose weight is not a whole number from 0 to 2^31")
        for example in self.examples:
            values = ", ".join(f"{name} = {value!r}" for name, value in example.items() if name != "row")
            lines.append(f"  row {example['row']}: {values}" if "row" in example else f"  {values}")
        lines += self.advice
        lines.append(self._verdict())
        return "\n".join(lines)

    def _verdict(self) -> str:
        if self.usable:
            lost = "; lost items count as the public default item" if self.lost_items else ""
            return f"Usable{lost}."
        if self.rows == 0:
            return "Not usable: there are no records."
        if self.null_users:
            return "Not usable: every record needs a user. Correct or remove the rows without a user."
        if self.bad_weights:
            return "Not usable: every weight must be a whole number. Correct or remove the rows with another weight."
        if 2 * self.lost_items > self.rows:
            return "Not usable: most records are lost, so the columns, the units or the space are wrong."
        if self.lost_items and not self.lost_is_fine:
            return f"Not usable as it is: correct these rows, or {OUTSIDE_TEXT}."
        return f"Not usable: the public number of users is {self.declared}, the records have {self.users}."


OUTSIDE_TEXT = "write outside = 'elsewhere', 'nearest' or 'default' under [data] (Python: read(…, outside=…))"
_SHOWN = "barrow check (Python: engine.check) shows the curator which"

refuse_null_users = partial(DataError, "Some records have no user.", allowed="a user in every record", fix=_SHOWN)
refuse_lost_items = partial(
    DataError,
    "Some records are missing or are not items of the public space.",
    allowed="records that are items of the space",
    fix=f"{_SHOWN}; or {OUTSIDE_TEXT}",
)
refuse_empty = partial(DataError, "The source holds no records.", allowed="at least one record", fix="check the source")
refuse_unreadable = partial(
    DataError,
    "The records cannot be read.",
    allowed="a readable source",
    fix="barrow check (Python: engine.check) shows the curator the engine's own message",
)
refuse_changed = partial(
    DataError,
    "The records changed while they were read.",
    allowed="records that do not change while they are read",
    fix="read the records again when nobody writes to them",
)
refuse_weights = partial(
    DataError,
    "Some records have a weight that is not a whole number.",
    allowed="whole numbers from 0 to 2^31 in the weight column",
    fix=_SHOWN,
)
refuse_times = partial(
    DataError,
    "Some records have no time.",
    allowed="a date, a timestamp, or a text such as 2026-10-31 or 2026-10-31 23:59:59 in every record",
    fix="correct or remove the rows without one; texts with a zone: CAST(… AS TIMESTAMPTZ) in a query",
)
refuse_groups = partial(
    DataError,
    "Some records are of people in no group, or in one that is not declared.",
    allowed="the groups that the study declares, in every record",
    fix="correct the records, or declare the group with its public size",
)
refuse_two_groups = partial(
    DataError,
    "Some people are in two groups.",
    allowed="one group for each person, the same in all their records",
    fix="take each person's group at one public date; or hidden groups (labels and distance), which may change",
)
refuse_heavy = partial(
    DataError,
    "Some people have more records than can be counted exactly.",
    allowed="2^32 records of one person, each row standing for as many as its weight says",
    fix="divide all weights by one number",
)
refuse_fractions = partial(
    DataError,
    "Some records hold numbers that are not whole, or beyond 2^53.",
    allowed="whole numbers, where an engine's numbers are decimals and no doubles (Oracle)",
    fix="round them in a view, or count with an engine whose doubles are those of IEEE",
)
refuse_too_many = partial(
    DataError,
    "There are more records than can be added up.",
    allowed="2^62 records of all people together, each row standing for as many as its weight says",
    fix="divide all weights by one number",
)
refuse_more_users = partial(
    DataError,
    "The data hold more users than the public number of users.",
    allowed="at most as many users as the study says",
    fix="correct the records, or choose a larger public number of users",
)
refuse_short_of_room = partial(
    DataError,
    "The engine ran out of memory or of disk for temporary files.",
    allowed="more memory, or a temporary folder with more room",
    fix="DuckDBEngine(memory='8GB', folder='/large/disk')",
)
refuse_stopped = partial(
    DataError,
    "The Spark session has ended.",
    allowed="a session that runs until the records are read",
    fix="start one and make the DataFrame again; nothing was spent and nothing is left behind",
)
refuse_gone = partial(
    DataError,
    "The connection to the server was lost.",
    allowed="a server that stays until the records are read",
    fix="try again; nothing was spent and nothing is left behind",
)


class PrivateTextError(Exception):
    """A failure in an engine's own words, which may repeat private values: it never leaves the engines package."""


def redact_errors(act: Callable[[], T], refusal: Callable[[], BarrowError] = refuse_unreadable) -> T:
    """Do ``act``; where it fails in the engine's own words, fail with the constant text of ``refusal`` instead."""
    try:
        return act()
    except PrivateTextError:
        pass
    # Raised here and not above, so that the private text does not travel along as the error's context.
    raise refusal()


_STATES = {
    NOBODY: refuse_null_users,
    UNWEIGHED: refuse_weights,
    UNTIMED: refuse_times,
    UNGROUPED: refuse_groups,
    SPLIT: refuse_two_groups,
    OVERWEIGHT: refuse_heavy,
    FRACTION: refuse_fractions,
}
"""The refusals, in the order in which they are told."""


def refuse_states(items: Integers) -> None:
    """Refuse what stands in place of items."""
    if items.size and int(items.min()) < LOST:
        for state, refusal in _STATES.items():
            if (items == state).any():
                raise refusal()


def known_items(items: Integers, default_item: int, unknown: Unknown) -> Integers:
    """The items with the default one in place of those that are lost, which are refused otherwise."""
    lost = items == LOST
    if lost.any() and unknown != "default":
        raise refuse_lost_items()
    return np.where(lost, default_item, items)
