"""Exactly uniform places, very many at once: two from each random word.

A 32-bit number x, multiplied by the bound b, falls into one of b intervals of length 2^32; the place is the interval.
The first 2^32 mod b numbers of each interval are refused, so that every place keeps the same number of x: exactly
uniform (docs/proofs/projection.md, Section 6).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.noise.counts.uniform_int import uniform_below
from barrow.noise.source import Source, checked_source

Integers = NDArray[np.int64]

_WIDE = 2**32
_AT_ONCE = 2**20
"""Places drawn at once: what is held beside the answer stays below a few tens of mebibytes."""


def uniform_places(bounds: NDArray[Any], *, source: Source | None = None) -> Integers:
    """Exactly uniform whole numbers, one in 0 .. bound-1 for each bound; ``uniform_below`` for very many bounds.

    >>> uniform_places(np.array([1, 1, 1])).tolist()
    [0, 0, 0]
    >>> places = uniform_places(np.full(1000, 6))
    >>> int(places.min()) >= 0 and int(places.max()) < 6
    True
    """
    limits = np.asarray(bounds)
    if limits.ndim != 1 or limits.dtype.kind not in "iu" or (limits.size and int(limits.min()) < 1):
        raise ParameterError(
            "Some bounds are not whole numbers of 1 or more.", allowed="a list of whole numbers", fix="bounds=[10]"
        )
    origin = checked_source(source)
    if limits.size and int(limits.max()) >= _WIDE:
        return uniform_below(limits, source=origin)
    found = np.empty(len(limits), dtype=np.int64)
    for start in range(0, len(limits), _AT_ONCE):
        found[start : start + _AT_ONCE] = _drawn(limits[start : start + _AT_ONCE].astype(np.uint32), origin)
    return found


def _drawn(limits: NDArray[np.uint32], source: Source) -> NDArray[np.uint32]:
    found, good = placed(_halves_of_words(len(limits), source), limits)
    left = np.flatnonzero(~good)
    while left.size:
        again, good = placed(_halves_of_words(left.size, source), limits[left])
        found[left[good]] = again[good]
        left = left[~good]
    return found


def _halves_of_words(count: int, source: Source) -> NDArray[np.uint32]:
    return source.words((count + 1) // 2).view(np.uint32)[:count]


def placed(
    numbers: NDArray[np.uint32], limits: NDArray[np.uint32], *, bits: int = 32
) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """The interval in which x b lies, and whether x is kept: x b mod 2^bits is at least 2^bits mod b.

    Args:
        numbers: x, each below 2^bits.
        limits: b, each from 1 to 2^bits - 1.
        bits: 32; fewer only where every x is to be tried.

    >>> place, kept = placed(np.arange(8, dtype=np.uint32), np.full(8, 3, dtype=np.uint32), bits=3)
    >>> np.bincount(place[kept]).tolist()
    [2, 2, 2]
    """
    product = np.multiply(numbers, limits, dtype=np.uint64)
    rest = product & np.uint64(2**bits - 1)
    good = np.ones(len(product), dtype=bool)
    # 2^bits mod b is below b, so only the few with a rest below b need the division.
    near = np.flatnonzero(rest < limits)
    if near.size:
        good[near] = rest[near] >= np.uint64(2**bits) % limits[near].astype(np.uint64)
    return (product >> np.uint64(bits)).astype(np.uint32), good
