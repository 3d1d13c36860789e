"""How large the integers of a release may be: each limit stands here, once, and whoever adds up relies on it.

Tables of queries hold integers within 2^50 (:class:`barrow.queries.Quantised` refuses others). A row of a file stands
for at most 2^31 records, and there are fewer than 2^31 rows where 64-bit integers add them up; so all records are at
most 2^62, and so are all items that are drawn or reported (docs/proofs/integers.md). Sums of people's masses are beyond
64 bits: they are arrays of limbs of 30 bits, the lowest first, which numpy adds up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.numerics.exact import whole

TABLE_BITS = 50
"""The integers of a query's table are within 2^50, so that floats hold them and their differences exactly."""
MOST_PEOPLE = 2**36
"""The most people of a study; everybody who is missing counts once."""
MOST_WEIGHT = MOST_ROWS = 2**31
"""The most records that one row may stand for, and the most rows of one person, or of a table in memory."""
MOST_RECORDS = 2**62
"""The most records of all people, where everybody who is missing holds one; and the most items drawn or reported."""

SUM_BITS, LIMB_BITS = 120, 30
"""A person's whole mass is 2^120 steps of the sums inside an engine, computed 30 bits at a time."""
MOST_HELD = 2**32
"""The most records of one person in such sums."""


def record_mass(held: int) -> int:
    """The steps that each record of somebody who holds so many weighs (docs/proofs/sums.md).

    >>> record_mass(MOST_HELD) == 2**88 and 3 * record_mass(3) < 2**120
    True
    """
    return (1 << SUM_BITS) // held - (MOST_HELD - held)


def checked_people(users: Any) -> int:
    """The public number of people, a whole number from 1 to 2^36; others are refused before anything is read.

    >>> checked_people("1e5")
    100000
    >>> checked_people(2**36 + 1)
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: users is 68719476737.
      allowed: a whole number from 1 to 68,719,476,736
      fix:     users=1000
    """
    return whole(users, "users", most=MOST_PEOPLE)


def total(counts: NDArray[np.int64]) -> int:
    """The sum of fewer than 2^32 integers from 0 to 2^63 - 1, as a Python integer: no partial sum overflows.

    >>> total(np.full(4, 2**62)) == 2**64
    True
    """
    return (int((counts >> 32).sum()) << 32) + int((counts & (2**32 - 1)).sum())


Limbs = NDArray[np.int64]
"""An array (limbs x numbers); each limb is from 0 to 2^30 - 1."""
LIMBS = 7
"""210 bits: what 2^36 people weigh, 2^156 steps, and a 64-bit integer 120 bits further up."""
_LOW = (1 << LIMB_BITS) - 1


def limbs_of(numbers: Iterable[int] | Limbs) -> Limbs:
    """Whole numbers from 0 to 2^210 as limbs; limbs are given back as they are.

    >>> limbs_of([2**30 + 5, 7]).T.tolist()
    [[5, 1, 0, 0, 0, 0, 0], [7, 0, 0, 0, 0, 0, 0]]
    """
    if isinstance(numbers, np.ndarray) and numbers.ndim == 2:
        return numbers
    known = [int(x) for x in numbers]
    if any(x < 0 or x >> LIMBS * LIMB_BITS for x in known):
        raise ParameterError("A whole number is below 0 or too large.", allowed="from 0 to 2^210 - 1", fix="another")
    rows = [[(x >> LIMB_BITS * i) & _LOW for x in known] for i in range(LIMBS)]
    return np.array(rows, dtype=np.int64).reshape(LIMBS, len(known))


def whole_numbers(limbs: Limbs) -> NDArray[np.object_]:
    """The numbers as Python's integers.

    >>> whole_numbers(limbs_of([2**120 + 3])).tolist() == [2**120 + 3]
    True
    """
    result: NDArray[np.object_] = np.zeros(limbs.shape[1], dtype=object)
    for limb in limbs[::-1]:
        result = result * (1 << LIMB_BITS) + limb
    return result


def placed(columns: Iterable[tuple[int, NDArray[np.int64]]], size: int) -> Limbs:
    """The sums of 64-bit integers from 0, each times a power of 2^30: pairs (power, integers), powers up to 4.

    >>> whole_numbers(placed([(0, np.array([2**62])), (2, np.array([3]))], 1)).tolist() == [2**62 + 3 * 2**60]
    True
    """
    result = np.zeros((LIMBS, size), dtype=np.int64)
    for power, column in columns:
        for i in range(3):
            result[power + i] += (column >> LIMB_BITS * i) & _LOW
    return carried(result)


def added(limbs: Limbs, starts: NDArray[np.int64]) -> Limbs:
    """The sums of fewer than 2^33 numbers each, from each start up to the next.

    >>> whole_numbers(added(limbs_of([1, 2**30 - 1, 5]), np.array([0, 2]))).tolist() == [2**30, 5]
    True
    """
    return carried(np.add.reduceat(limbs, starts, axis=1)) if len(starts) else limbs[:, :0]


def sum_of(limbs: Limbs) -> int:
    """The sum of all, fewer than 2^33.

    >>> sum_of(limbs_of([2**100, 2**30])) == 2**100 + 2**30
    True
    """
    return sum(int(limb.sum()) << LIMB_BITS * i for i, limb in enumerate(limbs))


def recut(limbs: Limbs, width: int, count: int) -> Limbs:
    """The same numbers in ``count`` limbs of ``width`` bits, at most 60.

    >>> recut(limbs_of([2**31 + 1]), 16, 3).ravel().tolist()
    [1, 32768, 0]
    """
    result: Sequence[NDArray[np.int64]] = [_bits(limbs, i * width, width) for i in range(count)]
    return np.array(result, dtype=np.int64).reshape(count, limbs.shape[1])


def _bits(limbs: Limbs, start: int, width: int) -> NDArray[np.int64]:
    at, off = divmod(start, LIMB_BITS)
    result, filled = np.zeros(limbs.shape[1], dtype=np.int64), 0
    while filled < width and at < len(limbs):
        taken = min(LIMB_BITS - off, width - filled)
        result |= ((limbs[at] >> off) & ((1 << taken) - 1)) << filled
        at, off, filled = at + 1, 0, filled + taken
    return result


def carried(limbs: Limbs) -> Limbs:
    """The same numbers in limbs below 2^30, from limbs below 2^62; the array is changed.

    >>> carried(np.array([[2**31], [1]])).ravel().tolist()
    [0, 3]
    """
    for i in range(len(limbs) - 1):
        limbs[i + 1] += limbs[i] >> LIMB_BITS
        limbs[i] &= _LOW
    return limbs
