"""Piecewise constant envelopes over all binomial and Poisson distributions of at least a given variance.

In units of the standard deviation sigma, the line is cut into blocks of 1/16 out to 12 on both sides; a last entry
stands for everything beyond. Each block has a whole number of slots, of 2^13 in all, and its envelope, slots times a
scale, is an upper bound of sqrt(2 pi) sigma P[k] for every k that rounds from the block, whatever the distribution, as
long as its variance is at least that of the class and its probability at most 1/2
(docs/proofs/exact-counts.md, Section 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SLOT_BITS = 13
PER_SIGMA = 16
"""Blocks in one standard deviation."""
REACH = 12
"""Standard deviations that blocks cover on each side; beyond them the tail takes over."""
LEAST = 17.0
"""Variances from here on are served: a little above the 16 of the first class."""
_FIRST, _CLASSES = 4, 11
"""The classes begin at the variances 2^4, 2^5, …, 2^14."""
_SIDE = REACH * PER_SIGMA
_BEGIN = np.maximum(np.arange(_FIRST + _CLASSES + 1) - (_FIRST + 1), 0) << SLOT_BITS
"""By the binary exponent of the variance, which is 5 in the first class."""


@dataclass(frozen=True, eq=False)
class Envelopes:
    """The tables of all classes, one after the other.

    Attributes:
        entry: For each class and slot, the number of the entry.
        edge: The lower edge of an entry's block, in sixteenths of sigma; 0 for the tail's.
        log: The logarithm of an entry's envelope; infinite for the tail's.
        slots: How many slots an entry has.
        scale: The envelope of one slot, for each class.
    """

    entry: NDArray[np.uint16]
    edge: Floats
    log: Floats
    slots: NDArray[np.int64]
    scale: Floats

    @property
    def entries(self) -> int:
        """How many entries one class has, the tail included, which is the last."""
        return 2 * _SIDE + 1


def slots_of(variance: Floats) -> NDArray[np.int64]:
    """Where the slots begin of the class that serves a variance of at least ``LEAST``."""
    return _BEGIN.take(np.frexp(variance)[1], mode="clip")


def bounds(variance: float) -> tuple[Floats, Floats]:
    """Upper bounds over the blocks to the right and to the left of the mean, from the middle outwards.

    >>> right, left = bounds(16.0)
    >>> bool(1.0 < right[0] < 1.1), bool(right[-1] < 1e-10), bool(left[-1] < right[-1])
    (True, True, True)
    """
    # A thousandth less than the class, and 0.51 for 1/2, make room for every rounding of the tables and of sigma.
    v = 0.999 * variance
    a, sigma = v + 0.25, np.sqrt(v)
    y = np.arange(_SIDE + 1) / PER_SIGMA
    right = np.maximum(y * sigma - 0.51, 0.0) / a
    left = np.maximum(y * sigma - 1.01, 0.0) / (2.0 * a)
    top = 1.0 / v + 2.0**-30
    return np.exp(top - a * (right - np.log1p(right))), np.exp(top - 4.0 * a * (left - np.log1p(left)))


@cache
def tables() -> Envelopes:
    """All tables: they depend on nothing, and are made once.

    >>> made = tables()
    >>> int(made.slots.sum()) == 11 * 2**13, len(made.entry) == 11 * 2**13
    (True, True)
    """
    entries, slots, logs, scales = [], [], [], []
    total = 2**SLOT_BITS - 1  # the tail has one
    for c in range(_CLASSES):
        right, left = bounds(2.0 ** (_FIRST + c))
        envelope = np.concatenate([left[:_SIDE][::-1], right[:_SIDE]])
        # The smallest scale, to three digits or so, for which the slots suffice.
        scale = float(envelope.sum()) / total
        while int(np.ceil(envelope / scale).sum()) > total:
            scale *= 1.0 + 2.0**-11
        number = np.ceil(envelope / scale).astype(np.int64)
        number[_SIDE] += total - int(number.sum())
        number = np.append(number, 1)
        entries.append(np.repeat(np.arange(len(number)) + c * len(number), number).astype(np.uint16))
        slots.append(number)
        logs.append(np.append(np.log(number[:-1] * scale), np.inf))
        scales.append(scale)
    edge = np.append(np.arange(-_SIDE, _SIDE), 0).astype(np.float64)
    return Envelopes(
        np.concatenate(entries),
        np.tile(edge, _CLASSES),
        np.concatenate(logs),
        np.concatenate(slots),
        np.array(scales),
    )
