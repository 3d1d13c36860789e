"""Where among sizes of cells the error is least, found with few plans."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

At = tuple[int, ...]
"""A size of each part's cells, by its place in the part's list from coarse to fine."""
ALIKE = 1.05
"""Of sizes whose errors differ by at most so much the coarsest is taken."""
_WORSE = 1.1
"""A way ends where the error is so much above the least on it."""
_MOST_TRIES = 60


def searched(lengths: Sequence[int], error: Callable[[At], float | None]) -> dict[At, float]:
    """Every place that was looked at and its error.

    The way leads from the coarsest sizes to finer ones, in all parts together, while that gains. From the best place of
    it, and from the coarsest that is as good, one part after the other is made finer or coarser, all of them, or one
    finer and another coarser, until none of that gains. Which places are looked at depends on errors alone, not on how
    long they take.

    Args:
        lengths: How many sizes each part has.
        error: The error at a place; None where the cells are too coarse for an answer, infinite where there are too
            many of them.
    """
    seen: dict[At, float | None] = {}

    def look(at: At) -> float | None:
        if at not in seen:
            seen[at] = error(at) if len(seen) < _MOST_TRIES else math.inf
        return seen[at]

    def walk(places: Iterable[At]) -> None:
        here: list[float] = []
        for at in places:
            value = look(at)
            if value is None:
                continue
            if math.isinf(value):
                return
            here.append(value)
            if value > _WORSE * min(here) or (len(here) > 2 and here[-3] < ALIKE * value):
                return  # finer cells gain nothing any more

    def known() -> dict[At, float]:
        return {at: value for at, value in seen.items() if value is not None and math.isfinite(value)}

    walk(tuple(min(i, length - 1) for length in lengths) for i in range(max(lengths)))
    before = None
    while len(lengths) > 1 and known() and before != (before := _best(known())):
        for centre in (0, 1):
            for way in _ways(len(lengths)):
                walk(_along(_best(known())[centre], way, lengths))
    return known()


def _best(found: dict[At, float]) -> tuple[At, At]:
    """The place of the least error, and the coarsest of those as good."""
    least = min(found.values())
    alike = [at for at, value in found.items() if value <= ALIKE * least]
    return min(found, key=lambda at: found[at]), min(alike, key=lambda at: (sum(at), found[at]))


def _ways(parts: int) -> list[At]:
    """One part finer or coarser, all of them, and one finer for another coarser, as far as that keeps items few."""
    unit = [tuple(int(i == part) for i in range(parts)) for part in range(parts)]
    pairs = [(a, b) for a in unit for b in unit if a != b]
    trades = [
        tuple(m * x - n * y for x, y in zip(a, b, strict=True)) for m, n in ((1, 1), (2, 1), (1, 2)) for a, b in pairs
    ]
    return [way for one in [*unit, (1,) * parts] for way in (one, tuple(-x for x in one))] + trades


def _along(start: At, way: At, lengths: Sequence[int]) -> Iterable[At]:
    """The places from ``start`` on, as far as there are sizes."""
    at = start
    while all(0 <= x < length for x, length in zip(at, lengths, strict=True)):
        yield at
        at = tuple(x + step for x, step in zip(at, way, strict=True))
