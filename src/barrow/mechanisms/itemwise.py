"""PrivEMDItemWise: every item is randomised on its own, and what is released is the multiset of reports (Algorithm 2).

A histogram, or a sorted list, is a function of the multiset, so no shuffle is drawn. The numbers of items are not
hidden: the guarantee is bounded, for users who all hold exactly m items (``thm:eps-amp``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import DataError, ParameterError
from barrow.noise import RandomSource
from barrow.noise.source import checked_source
from barrow.numerics import MOST_RECORDS, Exact, checked_people, whole
from barrow.promises import Event, Model, ShuffledReports
from barrow.promises.definitions import probability, to_model
from barrow.randomisers import Randomiser
from barrow.spaces import Space

Integers = NDArray[np.int64]


def refuse_sizes() -> DataError:
    """The constant refusal of users who do not hold exactly m items; it states no size."""
    return DataError(
        "Some users do not hold exactly the public number of items.",
        allowed="exactly that many items for every user: an item-wise release does not hide how many there are",
        fix="draw that many items from each user beforehand, with replacement (the reduction to bounded data), or ask "
        "for the mean over users (query 'histogram' or 'density'), which takes users of all sizes",
    )


@dataclass(frozen=True)
class ItemWise:
    """An item-wise release, ready to draw; everything in it is public.

    Attributes:
        randomiser: The randomiser of one item.
        items: m, how many items each user holds; public.
        users: n; None in the local model, where each user releases alone.
        model: ``local`` (each user's reports are seen), ``shuffle`` or ``central`` (those of all users together).
        delta: The delta at which the guarantee is stated; 0 for a pure one.

    >>> from barrow.randomisers import gkrr
    >>> from barrow.spaces import Clustered
    >>> plan = item_wise(gkrr(Clustered.grid(2, 2, r=0.25), 2), items=3, users=10, delta="1e-9")
    >>> plan.event.reports, plan.event.items, plan.reports
    (30, 3, 30)
    """

    randomiser: Randomiser
    items: int
    users: int | None
    model: Model
    delta: Fraction

    @property
    def reports(self) -> int:
        """N: how many reports are in the multiset that is seen."""
        return self.items if self.model is Model.LOCAL else self.items * (self.users or 1)

    @property
    def event(self) -> ShuffledReports:
        """What drawing it causes: the fewest public numbers that price it."""
        return ShuffledReports(
            self.randomiser.alpha0_upper,
            reports=self.reports,
            items=self.items,
            delta=self.delta,
            model=self.model,
            least_distance=least_distance(self.randomiser.space),
            randomiser=self.randomiser.family,
            channel=self.randomiser.channel,
        )

    def randomise(self, ids: ArrayLike, *, source: RandomSource | None = None) -> ItemReports:
        """One user's items as a multiset of reports (the local model's client)."""
        items = self.randomiser.space._ids(np.asarray(ids).ravel())
        if len(items) != self.items:
            raise refuse_sizes()
        origin = checked_source(source)
        sample = self.randomiser.from_items(items, source=origin)
        counts = np.bincount(sample, minlength=self.randomiser.reports).astype(np.int64)
        return ItemReports(tuple(self.randomiser.report_labels), counts, self.event, origin.private)

    def release(self, held: ArrayLike, *, source: RandomSource | None = None) -> ItemReports:
        """The reports on the items of all users: ``held[x]`` items of each kind x, m times n in all."""
        totals = np.asarray(held)
        wanted = self.items * (self.users or 1)
        if totals.dtype.kind not in "iu" or int(totals.sum()) != wanted:
            raise refuse_sizes()
        origin = checked_source(source)
        counts = self.randomiser.from_counts(totals, source=origin)
        return ItemReports(tuple(self.randomiser.report_labels), counts, self.event, origin.private)


@dataclass(frozen=True, eq=False)
class ItemReports:
    """The multiset of reports: what may be published.

    Attributes:
        labels: What the reports are called.
        counts: How often each occurs.
        event: What was done.
        private: Whether the randomness was the system's.

    >>> from barrow.promises import ShuffledReports
    >>> event = ShuffledReports(1, reports=3, items=3, delta=0, model="local")
    >>> ItemReports(("a", "b"), np.array([2, 1]), event, True).sorted_list()
    ['a', 'a', 'b']
    """

    labels: tuple[str, ...]
    counts: Integers
    event: Event
    private: bool

    def sorted_list(self) -> list[str]:
        """All reports, in the order of their labels in the space: a function of the multiset."""
        return [label for label, count in zip(self.labels, self.counts.tolist(), strict=True) for _ in range(count)]


def item_wise(
    randomiser: Randomiser,
    *,
    items: int,
    users: int | None = None,
    model: str = Model.CENTRAL,
    delta: Exact = 0,
) -> ItemWise:
    """PrivEMDItemWise with ``randomiser`` on each of the ``items`` items of each user.

    All numbers are public; ``users`` are needed but in the local model. The guarantee is stated at ``delta``.

    >>> from barrow.randomisers import randomised_response
    >>> from barrow.spaces import Discrete
    >>> mine = item_wise(randomised_response(Discrete(["a", "b"]), 1), items=4, model="local")
    >>> len(mine.randomise([0, 0, 1, 0]).sorted_list())
    4
    """
    where = to_model(model)
    for name, value in (("items", items), ("users", users)):
        if value is None and (name == "items" or where is not Model.LOCAL):
            raise ParameterError(
                f"{name} is not given.",
                allowed="a public whole number, 1 or more",
                fix=f"{name}=1000" + (", or model='local'" if name == "users" else ""),
            )
    n, m = None if users is None else checked_people(users), whole(items, "items")
    if where is not Model.LOCAL and (n or 1) * m > MOST_RECORDS:
        raise ParameterError(
            f"There are {m:,} items of each of {n or 1:,} users.",
            allowed="at most 2^62 items in all",
            fix=f"items={MOST_RECORDS // (n or 1)}",
        )
    return ItemWise(randomiser, m, n, where, probability(delta))


def pooled_items(
    space: Space, *, item: ArrayLike, size: ArrayLike, count: ArrayLike, present: int, items: int, users: int
) -> Integers:
    """How often each item occurs among all users, if every one of them holds exactly ``items`` items.

    ``item``, ``size`` and ``count`` come from an engine: how often an item occurs among users that hold so many, of
    which ``present`` are in the data. Those that are missing hold the public default item, m times.

    >>> from barrow.spaces import Discrete
    >>> pooled_items(Discrete(["a", "b"]), item=[0, 1], size=[2, 2], count=[3, 1], present=2, items=2, users=3).tolist()
    [5, 1]
    """
    ids, sizes, counts = (np.asarray(x) for x in (item, size, count))
    if (sizes != items).any() or int(counts.sum()) != present * items:
        raise refuse_sizes()
    if present > users:
        raise DataError(
            "The data hold more users than the public number of users.",
            allowed="at most as many users as the study says",
            fix="correct the records, or choose a larger public number of users",
        )
    held = np.zeros(space.items, dtype=np.int64)
    np.add.at(held, ids, counts)
    held[space.default_item] += (users - present) * items
    return held


def least_distance(space: Space) -> Fraction | None:
    """d_min for the accountant, rounded down; None where it is not positive."""
    result = space.least_distance_lower
    return Fraction(min(1.0, result)) if result > 0.0 else None
