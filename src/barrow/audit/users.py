"""Small users, and how far apart they are: every pair that an exact audit compares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from barrow.spaces import Space
from barrow.spaces.base import Floats

User = tuple[int, ...]
"""A user's items, in order."""

_ROUND_UP = 1.0 + 2.0**-40


def small_users(items: int, sizes: Iterable[int]) -> list[User]:
    """All multisets of ``items`` items with the given sizes.

    >>> small_users(2, [1, 2])
    [(0,), (1,), (0, 0), (0, 1), (1, 1)]
    """
    return [user for size in sizes for user in combinations_with_replacement(range(items), size)]


def distances_upper(space: Space, users: Sequence[User]) -> Floats:
    """The earth mover's distance of every ordered pair of users, rounded up.

    Users of sizes a and b are written with lcm(a, b) items each, and those are assigned to each other at the least
    cost: a way to move all of the earth, so that its cost is never below the distance. This is a second route beside
    ``barrow.transport``.

    >>> from barrow.spaces import Line
    >>> distances_upper(Line(0, 4, step=1), [(0,), (3,), (0, 3)]).round(6).tolist()
    [[0.0, 0.75, 0.375], [0.75, 0.0, 0.375], [0.375, 0.375, 0.0]]
    """
    from scipy.optimize import linear_sum_assignment

    apart = space.block()
    found = np.zeros((len(users), len(users)))
    for i, one in enumerate(users):
        for j in range(i):
            other = users[j]
            whole = math.lcm(len(one), len(other))
            rows = np.repeat(np.array(one), whole // len(one))
            columns = np.repeat(np.array(other), whole // len(other))
            costs = apart[np.ix_(rows, columns)]
            best = linear_sum_assignment(costs)
            found[i, j] = found[j, i] = math.fsum(costs[best].tolist()) / whole * _ROUND_UP
    return np.minimum(found, 1.0)


@lru_cache(maxsize=64)
def known_distances(space: Space, users: tuple[User, ...]) -> Floats:
    """The same, remembered.

    >>> from barrow.spaces import Discrete
    >>> known_distances(Discrete(["a", "b"]), ((0,), (1,))).tolist()[0][0]
    0.0
    """
    found = distances_upper(space, users)
    found.setflags(write=False)
    return found
