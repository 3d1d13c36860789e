"""Exact statistics: integers from an engine become the rational vector to which noise is added.

An engine counts C[x, m], how often item x occurs among users that hold exactly m items. The mean over users is then
q_x = (1/n) sum_m C[x, m]/m, and a query's answer is F q with F = integers * step: a rational, the same on every engine
and in every order of rows. It is evaluated in floats with an error bound, and exactly where that leaves a rounding
open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import DataError, ParameterError
from barrow.noise import Center
from barrow.numerics import float_up, whole
from barrow.queries import Query
from barrow.spaces import Space
from barrow.spaces.base import Ids

_LIMB = 25
"""Bits of the lower half of a table's integers, whose upper half has as many: with up to 2^36 records and 2^36 users
that are missing, sums stay within 2^62."""
_MOST = 2**36
_UNIT = 2.0**-53


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
        n = _public_users(users)
        columns = [_whole(x) for x in (item, size, count)]
        items, sizes, counts = columns
        if len({len(x) for x in columns}) != 1:
            raise _unusable()
        if items.size and (
            items.min() < 0 or items.max() >= space.items or sizes.min() < 1 or counts.min() < 1 or counts.max() > _MOST
        ):
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
            distinct, often = np.unique(ids, return_counts=True)
            items.append(distinct)
            counts.append(often)
            sizes.append(np.full(len(distinct), ids.size))
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
        if query.space != self.space:
            raise ParameterError(
                "The query is about another space than the data.",
                allowed="one space for both",
                fix="make the query on the space with which records were encoded",
            )
        sizes, table = self._by_size()
        if query.table.sparse:
            return _sparse_center(query, sizes, table, self.users)
        return _dense_center(query, sizes, table, self.users)

    def _by_size(self) -> tuple[Ids, Any]:
        """The distinct sizes, and the counts as a sparse matrix (sizes x items)."""
        if "by_size" not in self._cache:
            from scipy.sparse import csr_array

            sizes, index = np.unique(self._size, return_inverse=True)
            table = csr_array((self._count, (index, self._item)), shape=(len(sizes), self.space.items))
            table.sum_duplicates()
            self._cache["by_size"] = sizes, table
        sizes, table = self._cache["by_size"]
        return sizes, table


def _dense_center(query: Query, sizes: Ids, table: Any, users: int) -> Center:
    integers = query.table.integers
    high = table @ (integers >> _LIMB)
    low = table @ (integers & (2**_LIMB - 1))
    per_size = 1.0 / sizes[:, None]
    terms = (high * 2.0**_LIMB + low) * per_size
    weights = (np.abs(high) * 2.0**_LIMB + low) * per_size
    unit = float(query.step) / users
    values = np.array([math.fsum(column) for column in terms.T]) * unit
    # Five roundings in a term, none in fsum but the last, two in the unit; the bound is taken twice as large.
    error = 20.0 * _UNIT * weights.sum(axis=0) * float_up(query.step) / users * (1.0 + len(sizes) * _UNIT)

    def entry(j: int) -> Fraction:
        return _exactly(high[:, j].tolist(), low[:, j].tolist(), sizes.tolist()) * query.step / users

    return Center.approximated(values, np.asarray(error), entry)


def _sparse_center(query: Query, sizes: Ids, table: Any, users: int) -> Center:
    from scipy.sparse import csr_array

    integers = query.table.integers
    parts = [
        (table @ csr_array((data, integers.indices, integers.indptr), shape=integers.shape)).tocsc()
        for data in (integers.data >> _LIMB, integers.data & (2**_LIMB - 1))
    ]
    high, low = parts
    per_size = 1.0 / sizes
    unit = float(query.step) / users
    values = (per_size @ (high.astype(np.float64) * 2.0**_LIMB) + per_size @ low.astype(np.float64)) * unit
    weights = per_size @ (abs(high).astype(np.float64) * 2.0**_LIMB) + per_size @ low.astype(np.float64)
    # An output sums at most twice as many terms as there are sizes, one after the other.
    error = (4.0 * len(sizes) + 32.0) * _UNIT * weights * float_up(query.step) / users

    def entry(j: int) -> Fraction:
        columns = [np.asarray(part[:, [j]].toarray()).ravel().tolist() for part in parts]
        return _exactly(columns[0], columns[1], sizes.tolist()) * query.step / users

    return Center.approximated(np.asarray(values), np.asarray(error), entry)


def _exactly(high: Sequence[int], low: Sequence[int], sizes: Sequence[int]) -> Fraction:
    """The sum of (high 2^25 + low)/size, by halves, so that denominators grow slowly."""
    parts = [(int(h) * 2**_LIMB + int(b), int(m)) for h, b, m in zip(high, low, sizes, strict=True)]
    while len(parts) > 1:
        joined = []
        for (a, m), (b, k) in zip(parts[::2], parts[1::2], strict=False):
            below = math.lcm(m, k)
            joined.append((a * (below // m) + b * (below // k), below))
        parts = joined + ([parts[-1]] if len(parts) % 2 else [])
    return Fraction(*parts[0])


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
    distinct, index = np.unique(sizes, return_inverse=True)
    totals = np.zeros(len(distinct), dtype=object)
    np.add.at(totals, index, counts.astype(object))
    if any(int(total) % int(m) for total, m in zip(totals, distinct, strict=True)) or int(totals.sum()) > _MOST:
        raise _unusable()
    return sum(int(total) // int(m) for total, m in zip(totals, distinct, strict=True))


def _public_users(users: int) -> int:
    return whole(users, "users", most=_MOST)


def _unusable() -> DataError:
    return DataError(
        "The counts are not those of users with whole data sets.",
        allowed="whole numbers: items of the space, sizes and counts of 1 or more (2^36 in all), where the counts of "
        "size m add up to a multiple of m",
        fix="count with GROUP BY item, size",
    )
