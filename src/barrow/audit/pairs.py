"""Small users, how far apart they are, and whether two exact distributions keep a guarantee.

That is decided in floats where it is clear, and exactly where it is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from barrow import heavy
from barrow.audit.verdict import NEAR, Tally
from barrow.noise import Center, RoundedValues
from barrow.noise.source import SeededSource
from barrow.promises import Guarantee
from barrow.randomisers import exceeds_exp
from barrow.spaces import Space
from barrow.spaces.space import Floats

Chances = dict[Any, Fraction]
"""Exact probabilities of results."""
Allowed = Callable[[float], tuple[float, float]]
"""From an earth mover's distance to the epsilon and delta that a guarantee allows there."""

_NEAR = 1e-9
"""Nearer than this to what is allowed, exact arithmetic decides."""


User = tuple[int, ...]
"""A user's items, in order."""

_ROUND_UP = 1.0 + 2.0**-40


def allowed_by(guarantee: Guarantee) -> Allowed:
    """What a guarantee allows at each distance."""
    return lambda w: (guarantee.epsilon_at(w), guarantee.definition.delta_at(w))


def small_users(items: int, sizes: Iterable[int]) -> list[User]:
    """All multisets of ``items`` items with the given sizes."""
    return [user for size in sizes for user in combinations_with_replacement(range(items), size)]


def distances_upper(space: Space, users: Sequence[User]) -> Floats:
    """The earth mover's distance of every ordered pair of users, rounded up.

    Users of sizes a and b are written with lcm(a, b) items each, and those are assigned to each other at the least
    cost: a way to move all of the earth, so that its cost is never below the distance. This is a second route beside
    ``barrow.transport``.
    """
    apart = space.block()
    result = np.zeros((len(users), len(users)))
    for i, one in enumerate(users):
        for j in range(i):
            other = users[j]
            whole = math.lcm(len(one), len(other))
            rows = np.repeat(np.array(one), whole // len(one))
            columns = np.repeat(np.array(other), whole // len(other))
            costs = apart[np.ix_(rows, columns)]
            best = heavy.optimize.linear_sum_assignment(costs)
            result[i, j] = result[j, i] = math.fsum(costs[best].tolist()) / whole * _ROUND_UP
    return np.minimum(result, 1.0)


@lru_cache(maxsize=64)
def known_distances(space: Space, users: tuple[User, ...]) -> Floats:
    """The same, remembered."""
    result = distances_upper(space, users)
    result.setflags(write=False)
    return result


def products(rows: Sequence[Chances], user: User) -> Chances:
    """The distribution of the multiset of reports on a user's items, each drawn on its own."""
    result: Chances = {(): Fraction(1)}
    for item in user:
        longer: Chances = {}
        for reports, chance in result.items():
            for report, more in rows[item].items():
                key = tuple(sorted((*reports, report)))
                longer[key] = longer.get(key, 0) + chance * more
        result = longer
    return result


def compare(
    tally: Tally,
    names: Sequence[Any],
    distributions: Sequence[Chances],
    distances: Floats,
    allowed: Allowed,
    *,
    slack: float = 0.0,
) -> None:
    """Compares all ordered pairs of distributions.

    Distances are rounded up, and negative for pairs that are not compared. Probabilities may be too small by ``slack``:
    what the enumeration left out.
    """
    results = sorted({result for each in distributions for result in each}, key=repr)
    table = np.array([[float(each.get(result, 0)) for result in results] for each in distributions])
    limits: dict[float, tuple[float, float]] = {}
    for i in range(len(distributions)):
        for j in np.flatnonzero(distances[i] >= 0.0).tolist():
            if i == j:
                continue
            w = float(distances[i, j])
            if w not in limits:
                limits[w] = allowed(w)
            epsilon, delta = limits[w]
            if delta > 0.0:
                outcome = _excess(table[i], table[j] + slack, epsilon)
                tally.compared(f"data {names[i]} and {names[j]}: delta", outcome, delta, w)
                continue
            tally.pairs += 1
            loss, where = _loss(table[i], table[j] + slack)
            tally.used = max(tally.used, loss / epsilon if epsilon > 0.0 else 0.0)
            if loss > epsilon - _NEAR and _exceeds(distributions[i], distributions[j], results, where, epsilon, slack):
                tally.violation(f"data {names[i]} and {names[j]}: epsilon", loss, epsilon, w)


def compare_losses(
    tally: Tally, users: Sequence[User], losses: Iterable[float], allowed: Callable[[float], float], distances: Floats
) -> None:
    """Compares what noise loses between every two users, the same both ways, with what is allowed at their distance."""
    for (i, j), loss in zip(combinations(range(len(users)), 2), losses, strict=True):
        w = float(distances[i, j])
        for _ in range(2):
            tally.compared(f"users {users[i]} and {users[j]}: epsilon", loss, allowed(w), w, NEAR)


def conforms(tally: Tally, draw: Callable[[Center, SeededSource], RoundedValues], center: Center) -> None:
    """What is drawn on statistics in floats is what is drawn on the exact ones, with the same words."""
    exactly = Center.from_fractions([center.exact_entry(j) for j in range(len(center))])
    for seed in range(4):
        tally.draws += 1
        sample, wanted = (list(draw(c, SeededSource(seed)).integers) for c in (center, exactly))
        if sample != wanted:
            tally.violation("a release is not what its noise draws on the exact statistics", 1, 0)
            return


def _loss(one: Floats, other: Floats) -> tuple[float, int]:
    """The largest logarithm of a ratio, and where it is."""
    seen = one > 0.0
    with np.errstate(divide="ignore"):
        ratios = np.where(seen, np.log(np.where(seen, one, 1.0)) - np.log(np.where(other > 0.0, other, 0.0)), -np.inf)
    where = int(np.argmax(ratios))
    return float(ratios[where]), where


def _excess(one: Floats, other: Floats, epsilon: float) -> float:
    """The hockey-stick divergence at e^epsilon: the delta of this pair."""
    return math.fsum(np.maximum(one - math.exp(min(epsilon, 700.0)) * other, 0.0).tolist())


def _exceeds(one: Chances, other: Chances, results: Sequence[Any], where: int, epsilon: float, slack: float) -> bool:
    """Whether the ratio at one result surely exceeds e^epsilon; exact."""
    top = one.get(results[where], Fraction(0))
    bottom = other.get(results[where], Fraction(0)) + Fraction(slack)
    if bottom == 0:
        return top > 0
    return exceeds_exp(Fraction(top) / bottom, Fraction(epsilon))
