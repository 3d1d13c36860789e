"""Exactly uniform whole numbers below a bound, and the check of counts that all samplers share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.noise.source import RandomSource, checked_source

Integers = NDArray[np.int64]

MOST = 2**62
"""Counts stay below this, so that their sums fit 64 bits."""
_NARROW = 2**10
"""Up to this width a product with 22 bits fits 32."""


def uniform_below(bounds: ArrayLike, *, source: RandomSource | None = None) -> Integers:
    """Exactly uniform whole numbers, one in 0 .. bound-1 for each bound, by rejection.

    >>> uniform_below([1, 1, 1]).tolist()
    [0, 0, 0]
    >>> bool(uniform_below([10]) < 10)
    True
    """
    limits = np.atleast_1d(checked_counts(bounds))
    if limits.size and int(limits.min()) < 1:
        raise ParameterError("A bound is 0.", allowed="whole numbers from 1 to 2^62", fix="bounds=[10]")
    origin = checked_source(source)
    result = np.zeros(len(limits), dtype=np.int64)
    left = np.flatnonzero(limits > 1)
    # The bits that limit - 1 needs; numbers below 2^53 convert exactly, larger ones may count one bit more.
    bits = np.frexp((limits - 1).astype(np.float64))[1]
    while left.size:
        sample = (origin.words(left.size) >> (64 - bits[left]).astype(np.uint64)).astype(np.int64)
        good = sample < limits[left]
        result[left[good]] = sample[good]
        left = left[~good]
    return result


def uniform_in_spans(
    starts: Integers, widths: Integers, numbers: Integers, source: RandomSource
) -> tuple[Integers, Integers | None]:
    """For each span of ``width`` from ``start`` on, so many independent uniform draws from it, span after span.

    Returns them, and which of them are refused and have to be drawn again: seldom one in 2^12.
    """
    total, widest = int(numbers.sum()), int(widths.max(initial=1))
    words = source.words((total + 1) >> 1)
    halves = words.astype("<u8", copy=False).view("<u4")[:total]
    if widest <= _NARROW:
        # A product with 22 bits fits 32, and short numbers are quick.
        return scaled_to_spans(halves >> np.uint32(10), starts, widths.astype(np.uint32), numbers, 22)
    return scaled_to_spans(halves.astype(np.uint64), starts, widths.astype(np.uint64), numbers, 32)


def scaled_to_spans(
    values: NDArray[Any], starts: Integers, widths: NDArray[Any], numbers: Integers, bits: int
) -> tuple[Integers, Integers | None]:
    """From ``bits`` random bits each, start + a uniform number below width; and which of them are refused.

    Of the 2^bits numbers all but 2^bits mod width serve, the same number for each result. The products must fit the
    type of the arrays.
    """
    kind = values.dtype.type
    product = np.repeat(widths, numbers)
    product *= values
    low = product & kind(2**bits - 1)
    product >>= kind(bits)
    result = np.repeat(starts, numbers)
    result += product.view(f"i{product.itemsize}")
    refused = (low < np.repeat((2**bits % widths.astype(np.int64)).astype(kind), numbers)).nonzero()[0]
    return result, refused if refused.size else None


_WIDE = 2**32
_AT_ONCE = 2**20
"""Places drawn at once: what is held beside the answer stays below a few tens of mebibytes."""


def uniform_places(bounds: NDArray[Any], *, source: RandomSource | None = None) -> Integers:
    """Exactly uniform whole numbers, one in 0 .. bound-1 for each bound; ``uniform_below`` for very many bounds.

    Two come from each random word. A 32-bit number x, multiplied by the bound b, falls into one of b intervals of
    length 2^32; the place is the interval. The first 2^32 mod b numbers of each interval are refused, so that every
    place keeps the same number of x: exactly uniform (docs/proofs/projection.md, Section 6).

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
    result = np.empty(len(limits), dtype=np.int64)
    for start in range(0, len(limits), _AT_ONCE):
        result[start : start + _AT_ONCE] = _draw(limits[start : start + _AT_ONCE].astype(np.uint32), origin)
    return result


def _draw(limits: NDArray[np.uint32], source: RandomSource) -> NDArray[np.uint32]:
    result, good = placed(_halves_of_words(len(limits), source), limits)
    left = np.flatnonzero(~good)
    while left.size:
        again, good = placed(_halves_of_words(left.size, source), limits[left])
        result[left[good]] = again[good]
        left = left[~good]
    return result


def _halves_of_words(count: int, source: RandomSource) -> NDArray[np.uint32]:
    return source.words((count + 1) // 2).view(np.uint32)[:count]


def placed(
    numbers: NDArray[np.uint32], limits: NDArray[np.uint32], *, bits: int = 32
) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """The interval in which x b lies, and whether x is kept: x b mod 2^bits is at least 2^bits mod b.

    Args:
        numbers: x, each below 2^bits.
        limits: b, each from 1 to 2^bits - 1.
        bits: 32; fewer only where every x is to be tried.
    """
    product = np.multiply(numbers, limits, dtype=np.uint64)
    rest = product & np.uint64(2**bits - 1)
    good = np.ones(len(product), dtype=bool)
    # 2^bits mod b is below b, so only the few with a rest below b need the division.
    near = np.flatnonzero(rest < limits)
    if near.size:
        good[near] = rest[near] >= np.uint64(2**bits) % limits[near].astype(np.uint64)
    return (product >> np.uint64(bits)).astype(np.uint32), good


def checked_counts(counts: ArrayLike) -> Integers:
    """Whole numbers from 0 to 2^62, as 64-bit integers."""
    array = np.asarray(counts)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu" or int(array.min()) < 0 or int(array.max()) > MOST:
        raise ParameterError(
            "Some counts are not whole numbers from 0 to 2^62.",
            allowed="an array of whole numbers",
            fix="counts=[100, 0, 7]",
        )
    return array.astype(np.int64)
