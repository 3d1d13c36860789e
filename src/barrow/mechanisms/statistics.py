"""Exact statistics: integers from an engine become the rational vector to which noise is added.

An engine counts C[x, m], how often item x occurs among users that hold exactly m items. The mean over users is then
q_x = (1/n) sum_m C[x, m]/m, and a query's answer is F q with F = integers * step: a rational, the same on every engine
and in every order of rows. It is evaluated in floats with an error bound, and exactly where that leaves a rounding
open. Sums are of 64-bit integers, cut into limbs, so that none of them is beyond 2^62 (docs/proofs/integers.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow import heavy
from barrow.errors import DataError, ParameterError
from barrow.noise import Center
from barrow.numerics import MOST_RECORDS, SUM_BITS, TABLE_BITS, checked_people, float_up
from barrow.numerics.exact import sum_of_fractions
from barrow.numerics.limits import Limbs, limbs_of, recut, sum_of, total
from barrow.queries import Query
from barrow.queries.quantised import entrywise
from barrow.spaces import Space
from barrow.spaces.space import Ids

_LIMB = TABLE_BITS // 2
"""Bits of the lower half of a table's integers; the upper half is within 2^25, too."""
_RECORD_BITS = 62 - _LIMB
"""A sum of counts up to 2^37 times limbs is within 2^62; larger counts are cut into limbs of their own."""
_FEW_ITEMS = 2**16
_UNIT, _TINY = 2.0**-53, 2.0**-1060


@dataclass(frozen=True, eq=False, repr=False)
class UserCounts:
    """How often each item occurs among users of each size: private integers, and the public number of users.

    Users that are missing from the data hold the space's public default item, so that n stays public and fixed.

    >>> from barrow.spaces import Discrete
    >>> UserCounts.of(Discrete(["a", "b"]), item=[0, 1], size=[2, 2], count=[1, 1], users=3)
    UserCounts(users=3)
    """

    space: Space
    users: int
    _item: Ids
    _size: Ids
    _count: Ids
    _cache: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, space: Space, *, item: ArrayLike, size: ArrayLike, count: ArrayLike, users: int) -> UserCounts:
        """From an engine's triples: ``count`` occurrences of ``item`` among users that hold ``size`` items."""
        n = checked_people(users)
        columns = [_whole(x) for x in (item, size, count)]
        items, sizes, counts = columns
        if len({len(x) for x in columns}) != 1:
            raise _unusable()
        if items.size and (items.min() < 0 or items.max() >= space.items or sizes.min() < 1 or counts.min() < 1):
            raise _unusable()
        missing = n - _users_present(sizes, counts)
        if missing < 0:
            raise DataError(
                "The data hold more users than the public number of users.",
                allowed="at most the public number",
                fix="raise users to a public bound on the number of people",
            )
        if missing:
            items = np.append(items, space.default_item)
            sizes, counts = np.append(sizes, 1), np.append(counts, missing)
        return cls(space, n, items, sizes, counts)

    @classmethod
    def of_users(cls, space: Space, data_sets: Iterable[ArrayLike], *, users: int | None = None) -> UserCounts:
        """From each user's item ids; a user without items holds the default item.

        >>> from barrow.spaces import Discrete
        >>> UserCounts.of_users(Discrete(["a", "b"]), [[0, 1], [], [1]])
        UserCounts(users=3)
        """
        items, sizes, counts, present = [], [], [], 0
        for data in data_sets:
            ids = np.atleast_1d(space._ids(data))
            ids = ids if ids.size else np.array([space.default_item])
            held, often = np.unique(ids, return_counts=True)
            items.append(held)
            counts.append(often)
            sizes.append(np.full(len(held), ids.size))
            present += 1
        empty = np.zeros(0, dtype=np.int64)
        return cls.of(
            space,
            item=np.concatenate([empty, *items]),
            size=np.concatenate([empty, *sizes]),
            count=np.concatenate([empty, *counts]),
            users=present if users is None else users,
        )

    def __repr__(self) -> str:
        return f"UserCounts(users={self.users})"

    def center(self, query: Query) -> Center:
        """The exact mean over users of ``query``, as a center for noise.

        >>> from barrow.queries import histogram
        >>> from barrow.spaces import Discrete
        >>> space = Discrete(["a", "b"])
        >>> counts = UserCounts.of_users(space, [[0, 1, 1], [0]])
        >>> counts.center(histogram(space)).exact_entry(0)
        Fraction(2, 3)
        """
        _check_space(query, self.space)
        counts = self._by_size() if query.table.sparse else self._of_one_size()
        return _mean(query, *counts, self.users)

    def _of_one_size(self) -> tuple[Ids, Any]:
        """The same as an array where all users are of one size, such as one person: no library is loaded for it."""
        sizes = self._size[:1]
        if (self._size != sizes).any() or self.space.items > _FEW_ITEMS:
            return self._by_size()
        table = np.zeros((1, self.space.items), dtype=np.int64)
        np.add.at(table[0], self._item, self._count)
        return sizes, table

    def _by_size(self) -> tuple[Ids, Any]:
        """The distinct sizes, and the counts as a sparse matrix (sizes x items)."""
        if "by_size" not in self._cache:
            sizes, index = np.unique(self._size, return_inverse=True)
            table = heavy.sparse.csr_array((self._count, (index, self._item)), shape=(len(sizes), self.space.items))
            table.sum_duplicates()
            self._cache["by_size"] = sizes, table
        sizes, table = self._cache["by_size"]
        return sizes, table


@dataclass(frozen=True, eq=False, repr=False)
class UserSums:
    """The mass of all people on each item, in steps of 2^-120 of a person: private, with the public number of people.

    What is left of their mass lies on the space's public default item (docs/proofs/sums.md).

    >>> from barrow.spaces import Discrete
    >>> UserSums.of(Discrete(["a", "b"]), items=[1], values=[2**119], users=3)
    UserSums(users=3)
    """

    space: Space
    users: int
    _limbs: NDArray[np.int64]

    @classmethod
    def of(cls, space: Space, *, items: ArrayLike, values: Iterable[int] | Limbs, users: int) -> UserSums:
        """From an engine's sums: how many steps of mass lie on each item, as whole numbers or as limbs."""
        n, ids, steps = checked_people(users), _whole(items), limbs_of(values)
        if len(ids) != steps.shape[1] or (ids.size and (ids.min() < 0 or ids.max() >= space.items)):
            raise _unusable()
        mass = n << SUM_BITS
        left = mass - sum_of(steps)
        if (np.diff(np.sort(ids)) == 0).any() or left < 0:
            raise _unusable()
        # As many bits in a limb as leave room for a sum over all items times half an integer of a table.
        width = _RECORD_BITS - space.items.bit_length()
        table = np.zeros((-(-mass.bit_length() // width), space.items), dtype=np.int64)
        table[:, ids] = recut(steps, width, len(table))
        table[:, space.default_item] += recut(limbs_of([left]), width, len(table))[:, 0]
        return cls(space, n, table)

    def __repr__(self) -> str:
        return f"UserSums(users={self.users})"

    def center(self, query: Query) -> Center:
        """The mean over people of ``query``, as a center for noise.

        >>> from barrow.queries import histogram
        >>> from barrow.spaces import Discrete
        >>> space = Discrete(["a", "b"])
        >>> UserSums.of(space, items=[0, 1], values=[2**119, 2**120], users=2).center(histogram(space)).exact_entry(1)
        Fraction(1, 2)
        """
        _check_space(query, self.space)
        width = _RECORD_BITS - self.space.items.bit_length()
        parts: list[tuple[int, NDArray[np.int64]]] = []
        for up, limb in enumerate(self._limbs):
            for more, half in _halves(query.table.integers):
                parts.append((up * width + more, np.asarray(limb @ half).ravel()))
        values, weights = np.zeros(query.dimension), np.zeros(query.dimension)
        for shift, part in sorted(parts, key=lambda part: part[0]):
            values += part * 2.0 ** (shift - SUM_BITS)
            weights += np.abs(part) * 2.0 ** (shift - SUM_BITS)
        # Each part is rounded to a float and added once; then the step and the number of people, and products.
        error = (4.0 * len(parts) + 16.0) * _UNIT * weights * float_up(query.step) / self.users + _TINY

        def entry(j: int) -> Fraction:
            total = sum(int(part[j]) << shift for shift, part in parts)
            return Fraction(total, self.users << SUM_BITS) * query.step

        return Center.approximated(values * (float(query.step) / self.users), np.asarray(error), entry)


def _check_space(query: Query, space: Space) -> None:
    if query.space != space:
        raise ParameterError(
            "The query is about another space than the data.",
            allowed="one space for both",
            fix="make the query on the space with which records were encoded",
        )


def _limbs(table: Any) -> list[tuple[int, Any]]:
    """The counts as sums of limbs times powers of two, such that no limb of a row adds up to more than 2^37."""
    if total(table.ravel() if isinstance(table, np.ndarray) else table.data) <= 2**_RECORD_BITS:
        return [(0, table)]
    longest = table.shape[1] if isinstance(table, np.ndarray) else int(np.diff(table.indptr).max())
    width = _RECORD_BITS - longest.bit_length()

    def limb(shift: int, data: Ids) -> Ids:
        return np.asarray((data >> shift) & (2**width - 1))

    return [(shift, entrywise(table, partial(limb, shift))) for shift in range(0, 63, width)]


def _halves(integers: Any) -> list[tuple[int, Any]]:
    """The integers of a query's table, dense or sparse, as an upper and a lower half times powers of two."""
    upper = entrywise(integers, lambda data: data >> _LIMB)
    return [(_LIMB, upper), (0, entrywise(integers, lambda data: data & (2**_LIMB - 1)))]


def _sums(table: Any, integers: Any) -> list[tuple[int, Any]]:
    """The sums of a query's integers over the records of each size, as parts times powers of two; none is rounded."""
    return [(up + more, counts @ half) for up, counts in _limbs(table) for more, half in _halves(integers)]


def _mean(query: Query, sizes: Ids, table: Any, users: int) -> Center:
    """The mean over people of the mean of their records, whose counts are given for each size."""
    sparse = query.table.sparse
    parts = [(shift, part.tocsc() if sparse else part) for shift, part in _sums(table, query.table.integers)]
    per_size = 1.0 / sizes
    values, weights = np.zeros(query.dimension), np.zeros(query.dimension)
    for shift, part in parts:
        values += per_size @ (part.astype(np.float64) * 2.0**shift)
        weights += per_size @ (abs(part).astype(np.float64) * 2.0**shift)
    # Each part sums as many terms as there are sizes, in any order. The bound is taken twice as large.
    rounded = (4.0 * len(sizes) + 16.0 * len(parts)) * _UNIT
    error = rounded * weights * float_up(query.step) / users + _TINY

    def entry(j: int) -> Fraction:
        columns = [(shift, part[:, [j]].toarray().ravel() if sparse else part[:, j]) for shift, part in parts]
        sums = [sum(int(column[i]) << shift for shift, column in columns) for i in range(len(sizes))]
        return sum_of_fractions(zip(sums, sizes.tolist(), strict=True)) * query.step / users

    return Center.approximated(values * (float(query.step) / users), np.asarray(error), entry)


def _whole(values: ArrayLike) -> Ids:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise _unusable()
    return array.astype(np.int64)


def _users_present(sizes: Ids, counts: Ids) -> int:
    """How many users the triples hold; the records of users of size m come in multiples of m."""
    if not sizes.size:
        return 0
    if total(counts) > MOST_RECORDS:
        raise _unusable()
    known, index = np.unique(sizes, return_inverse=True)
    totals = np.zeros(len(known), dtype=np.int64)
    np.add.at(totals, index, counts)
    if (totals % known).any():
        raise _unusable()
    return int((totals // known).sum())


def _unusable() -> DataError:
    return DataError(
        "The counts are not those of users with whole data sets.",
        allowed="whole numbers: items of the space, sizes and counts of 1 or more (2^62 in all), where the counts of "
        "size m add up to a multiple of m",
        fix="count with GROUP BY item, size",
    )
