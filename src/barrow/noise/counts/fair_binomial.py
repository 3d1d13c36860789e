"""Exact Bin(n, 1/2) for large n in a bounded number of random words, by rejection with certified comparisons.

Counting ones needs n bits. Here a proposal with dyadic probabilities is accepted with probability a, a ratio of
binomial coefficients; U < a is decided in floats with an error bound, and where that leaves it open in balls of growing
precision on the same U, extended. So the distribution is exact (docs/proofs/exact-counts.md, Section 5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.noise.lazy_uniform import LazyUniform, decided
from barrow.noise.source import Source

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

SMALLEST = 2048
"""Below this many items, counting ones is used instead."""
ERROR = 2.0**-42
"""Bound on the error of the acceptance probability in floats, if exp, log1p and log are within 16 units of the last
place; tested."""
_TRIES = 4
_AT_ONCE = 256
_TOP = np.uint64(11)
_LN2 = 0.6931471805599453
_SERIES = tuple(1.0 / (k * (2 * k - 1)) for k in range(1, 11))


def large_halves(counts: Integers, source: Source) -> Integers:
    """Independent Bin(c, 1/2), one for each c of at least 2048.

    >>> from barrow.noise.simulation import SeededSource
    >>> abs(int(large_halves(np.array([10**12]), SeededSource(1))[0]) - 5 * 10**11) < 5 * 10**6
    True
    """
    half = counts >> 1
    found = np.zeros(len(counts), dtype=np.int64)
    width = block_bits(half)
    left = np.arange(len(counts))
    while left.size:
        # Several independent proposals at once, of which the first that is accepted counts.
        tries = max(_TRIES, _AT_ONCE // left.size)
        m, bits = np.tile(half[left], tries), np.tile(width[left], tries)
        block = _geometric(len(m), source)
        words = source.words(len(m))
        inside = ((words << np.uint64(1)) >> (64 - bits).astype(np.uint64)).astype(np.int64)
        # The blocks from 2^31 on lie beyond m <= 2^61 and are refused with certainty, whichever of them it is.
        away = (np.minimum(block, 2**31) << bits) + inside
        shift = np.where(words >> np.uint64(63) == 1, -away - 1, away)
        good = _accepted(m, shift, block, source).reshape(tries, -1)
        first, some = good.argmax(axis=0), good.any(axis=0)
        value = (m + shift).reshape(tries, -1)[first, np.arange(left.size)]
        found[left[some]] = value[some]
        left = left[~some]
    odd = np.flatnonzero(counts & 1)
    if odd.size:
        found[odd] += (source.words(odd.size) >> np.uint64(63)).astype(np.int64)
    return found


def block_bits(half: Integers) -> Integers:
    """The least j with 10 s^2 >= 7 (m + s), s = 2^j: then 2^b R(i) <= 1 from the b-th block on.

    >>> block_bits(np.array([1024, 10**12])).tolist()
    [5, 20]
    """
    # s^2 < 0.7 m for this start, so that the search goes upwards, by a step or two.
    bits: Integers = np.maximum(0, (np.frexp(half.astype(np.float64))[1].astype(np.int64) - 3) >> 1)
    while True:
        size = np.int64(1) << bits
        # In floats the two sides are exact to 2^-52, and 0.7 exceeds ln 2 by one percent.
        short = 10.0 * size.astype(np.float64) ** 2 < 7.0 * (half + size).astype(np.float64)
        if not short.any():
            return bits
        bits[short] += 1


def _geometric(count: int, source: Source) -> Integers:
    """The number of zeros before the first one in a stream of fair bits."""
    found = np.zeros(count, dtype=np.int64)
    left = np.arange(count)
    while left.size:
        top = (source.words(left.size) >> _TOP).astype(np.float64)  # 53 bits, exact
        zeros = 53 - np.frexp(top)[1]
        found[left] += np.where(top == 0.0, 53, zeros)
        left = left[top == 0.0]
    return found


def acceptance(half: Integers, shift: Integers, block: Integers) -> Floats:
    """2^b C(2m, m+i)/C(2m, m) in floats, within ``ERROR``; 0 for |i| > m/2, where it is less than the error.

    >>> acceptance(np.array([2000]), np.array([0]), np.array([0])).tolist()
    [1.0]
    """
    m, i = half.astype(np.float64), np.abs(shift).astype(np.float64)
    far = 2.0 * i > m
    i = np.where(far, 0.0, i)
    x = i / m
    square = x * x
    series = np.zeros_like(x)
    for coefficient in reversed(_SERIES):
        series = series * square + coefficient
    # m ((1+x) ln(1+x) + (1-x) ln(1-x)), by its series where the two terms cancel.
    near = (i * i / m) * series
    wide = np.where(x > 0.125, x, 0.25)
    distant = m * ((1.0 + wide) * np.log1p(wide) + (1.0 - wide) * np.log1p(-wide))
    exponent = np.where(x > 0.125, distant, near)
    stirling = -square / (6.0 * m * (1.0 - square))
    cubes = ((m + i) ** -3.0 + (m - i) ** -3.0 - 2.0 * m**-3.0) / 360.0
    log = block * _LN2 - exponent - 0.5 * np.log1p(-square) + stirling + cubes
    return np.where(far, 0.0, np.exp(np.minimum(log, 0.0)))


def _accepted(half: Integers, shift: Integers, block: Integers, source: Source) -> NDArray[np.bool_]:
    words = source.words(len(half))
    chance = acceptance(half, shift, block)
    low = words.astype(np.float64) * 2.0**-64  # off by at most 2^-53
    gap = chance - low
    good = gap > 0.0
    # The known bits leave U an interval of 2^-64; all roundings together are far below the error bound.
    for k in np.flatnonzero(np.abs(gap) <= 2.0 * ERROR).tolist():
        good[k] = _settle(int(half[k]), int(shift[k]), int(block[k]), LazyUniform(int(words[k]), 64, source))
    return good


def _settle(m: int, i: int, block: int, u: LazyUniform) -> bool:
    """U < 2^b C(2m, m+i)/C(2m, m), decided by balls of growing precision."""
    if abs(i) > m:
        return False
    from flint import arb

    def below(precision: int) -> bool | None:
        log = 2 * arb(m + 1).lgamma() - arb(m + i + 1).lgamma() - arb(m - i + 1).lgamma()
        chance: Any = (log + block * arb(2).log()).exp()
        known = u.ball(precision)
        if known < chance:
            return True
        return False if known > chance else None

    return bool(decided(below))
