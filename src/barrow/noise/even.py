"""Exactly even whole numbers below a bound, and the check of counts that all samplers share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.noise.source import Source, checked_source

Integers = NDArray[np.int64]

_MOST = 2**62
"""Counts stay below this, so that their sums fit 64 bits."""
_NARROW = 2**10
"""Up to this width a product with 22 bits fits 32."""


def uniform_below(bounds: ArrayLike, *, source: Source | None = None) -> Integers:
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
    found = np.zeros(len(limits), dtype=np.int64)
    left = np.flatnonzero(limits > 1)
    # The bits that limit - 1 needs; numbers below 2^53 convert exactly, larger ones may count one bit more.
    bits = np.frexp((limits - 1).astype(np.float64))[1]
    while left.size:
        drawn = (origin.words(left.size) >> (64 - bits[left]).astype(np.uint64)).astype(np.int64)
        good = drawn < limits[left]
        found[left[good]] = drawn[good]
        left = left[~good]
    return found


def even(starts: Integers, widths: Integers, source: Source) -> tuple[Integers, Integers | None]:
    """One of the ``width`` numbers from ``start`` on, for each pair, all equally likely; and which of them are refused.

    A refusal has a chance below width/2^22 (narrow) or width/2^32, with widths below 2^32.

    >>> even(np.array([5, 7]), np.array([1, 1]), checked_source(None))
    (array([5, 7]), None)
    """
    narrow = int(widths.max(initial=1)) <= _NARROW
    words = source.words((len(widths) + 1) >> 1)
    halves = words.astype("<u8", copy=False).view("<u4")[: len(widths)]
    if narrow:
        return scaled(halves >> np.uint32(10), starts, widths.astype(np.uint32), 22)
    return scaled(halves.astype(np.uint64), starts, widths.astype(np.uint64), 32)


def scaled(drawn: NDArray[Any], starts: Integers, widths: NDArray[Any], bits: int) -> tuple[Integers, Integers | None]:
    """From ``bits`` random bits each, start + an even number below width; and which of them are refused.

    Of the 2^bits numbers all but 2^bits mod width serve, the same number for each result. The products must fit the
    type of the arrays.

    >>> scaled(np.arange(4, dtype=np.uint64), np.zeros(4, dtype=np.int64), np.full(4, 3, dtype=np.uint64), 2)
    (array([0, 0, 1, 2]), array([0]))
    """
    kind = drawn.dtype.type
    product = drawn * widths
    low = product & kind(2**bits - 1)
    product >>= kind(bits)
    found = product + starts
    # 2^bits mod width is below width: mostly this is enough to see that nothing is refused.
    if int(low.min(initial=2**bits - 1)) >= int(widths.max(initial=1)):
        return found.astype(np.int64, copy=False), None
    refused = np.flatnonzero(low < 2**bits % widths.astype(np.int64))
    return found.astype(np.int64, copy=False), refused if refused.size else None


def checked_counts(counts: ArrayLike) -> Integers:
    """Whole numbers from 0 to 2^62, as 64-bit integers.

    >>> checked_counts([1, 2]).tolist()
    [1, 2]
    """
    array = np.asarray(counts)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu" or int(array.min()) < 0 or int(array.max()) > _MOST:
        raise ParameterError(
            "Some counts are not whole numbers from 0 to 2^62.",
            allowed="an array of whole numbers",
            fix="counts=[100, 0, 7]",
        )
    return array.astype(np.int64)
