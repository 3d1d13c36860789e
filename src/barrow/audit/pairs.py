"""Do two exact distributions keep a guarantee? Decided in floats where that is clear, and exactly where it is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.audit.users import User
from barrow.audit.verdict import Tally
from barrow.randomisers import exceeds_exp
from barrow.spaces.base import Floats

Chances = dict[Any, Fraction]
"""Exact probabilities of results."""
Allowed = Callable[[float], tuple[float, float]]
"""From an earth mover's distance to the epsilon and delta that a guarantee allows there."""

_NEAR = 1e-9
"""Nearer than this to what is allowed, exact arithmetic decides."""


def products(rows: Sequence[Chances], user: User) -> Chances:
    """The distribution of the multiset of reports on a user's items, each drawn on its own.

    >>> half = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    >>> {k: str(v) for k, v in products([half], (0, 0)).items()}
    {(0, 0): '1/4', (0, 1): '1/2', (1, 1): '1/4'}
    """
    found: Chances = {(): Fraction(1)}
    for item in user:
        longer: Chances = {}
        for reports, chance in found.items():
            for report, more in rows[item].items():
                key = tuple(sorted((*reports, report)))
                longer[key] = longer.get(key, 0) + chance * more
        found = longer
    return found


def compare(
    tally: Tally,
    names: Sequence[Any],
    laws: Sequence[Chances],
    distances: Floats,
    allowed: Allowed,
    *,
    slack: float = 0.0,
) -> None:
    """Compares all ordered pairs of distributions.

    Args:
        tally: Where pairs and violations are counted.
        names: What the data sets are called.
        laws: Their exact distributions.
        distances: The earth mover's distance of each pair, rounded up; negative for pairs that are not compared.
        allowed: What the guarantee allows at a distance.
        slack: By how much probabilities may be too small: what the enumeration left out.
    """
    results = sorted({result for law in laws for result in law}, key=repr)
    table = np.array([[float(law.get(result, 0)) for result in results] for law in laws])
    limits: dict[float, tuple[float, float]] = {}
    for i in range(len(laws)):
        for j in np.flatnonzero(distances[i] >= 0.0).tolist():
            if i == j:
                continue
            w = float(distances[i, j])
            if w not in limits:
                limits[w] = allowed(w)
            epsilon, delta = limits[w]
            tally.pairs += 1
            if delta > 0.0:
                found = _excess(table[i], table[j] + slack, epsilon)
                tally.used = max(tally.used, found / delta)
                if found > delta * (1.0 + _NEAR):
                    tally.violation(f"data {names[i]} and {names[j]}: delta", found, delta, w)
                continue
            loss, where = _loss(table[i], table[j] + slack)
            tally.used = max(tally.used, loss / epsilon if epsilon > 0.0 else 0.0)
            if loss > epsilon - _NEAR and _exceeds(laws[i], laws[j], results, where, epsilon, slack):
                tally.violation(f"data {names[i]} and {names[j]}: epsilon", loss, epsilon, w)


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
