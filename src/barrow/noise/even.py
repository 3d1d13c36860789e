"""Exactly even whole numbers below a bound, and the check of counts that all samplers share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.noise.source import Source, Words, checked_source

Integers = NDArray[np.int64]

_MOST = 2**62
"""Counts stay below this, so that their sums fit 64 bits."""


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


def scaled(drawn: Words, starts: Integers, widths: Integers, bits: int) -> tuple[Integers, Integers | None]:
    """From ``bits`` random bits each, start + an even number below width; and which of them are refused.

    Of the 2^bits numbers all but 2^bits mod width serve, the same number for each result.

    >>> scaled(np.arange(4, dtype=np.uint64), np.zeros(4, dtype=np.int64), np.full(4, 3), 2)
    (array([0, 0, 1, 2]), array([0]))
    """
    # At most (2^32 - 1) 2^32 for widths below 2^32: no overflow.
    product = drawn * widths.view(np.uint64)
    low = product & np.uint64(2**bits - 1)
    found = (product >> np.uint64(bits)).view(np.int64) + starts
    if int(low.min(initial=2**bits)) >= int(widths.max(initial=1)):
        return found, None
    refused = np.flatnonzero(low < 2**bits % widths.view(np.uint64))
    return found, refused if refused.size else None


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
