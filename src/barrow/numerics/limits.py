"""How large the integers of a release may be: each limit stands here, once, and whoever adds up relies on it.

Tables of queries hold integers within 2^50 (:class:`barrow.queries.Quantised` refuses others). A row of a file stands
for at most 2^31 records, and there are fewer than 2^31 rows where 64-bit integers add them up; so all records are at
most 2^62, and so are all items that are drawn or reported (docs/proofs/integers.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
