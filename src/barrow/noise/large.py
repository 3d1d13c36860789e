"""Exact binomial and Poisson counts of large variance, many at once, about one proposal each.

A proposal falls evenly into a block of a hat that is the same for all laws of a class (:mod:`barrow.noise.hats`) and is
accepted with probability a = sqrt(2 pi) sigma P[k] / hat. Both the whole number k and the comparison U < a are decided
in floats with an error bound; what that leaves open is settled in rationals and in balls of growing precision on the
same bits, extended. So the law is exact (docs/proofs/exact-counts.md, Section 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.noise.chances import Chances
from barrow.noise.hats import PER_SIGMA, REACH, SLOT_BITS, class_of, tables
from barrow.noise.source import Source
from barrow.noise.uniform import LazyUniform, decided

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ERROR = 2.0**-20
"""Bound on the error of a in floats for moderate counts; what ``sigma`` adds is in :func:`error_bound`."""
EDGE = 4.0
"""The floats serve k >= 4 and n - k >= 4; nearer to the ends the balls decide."""
_TRIES = 3
_AT_ONCE = 96
_PLACE_BITS = 64 - SLOT_BITS
_PLACE = np.uint64(2**_PLACE_BITS - 1)
_SHIFT = np.uint64(_PLACE_BITS)


@dataclass(frozen=True, eq=False)
class Laws:
    """Binomial laws, then Poisson laws, as they are drawn together.

    Attributes:
        counts: n of each binomial.
        chances: p of each binomial, at most 1/2.
        rows: Floats of each law: the whole number nearest to the mean, what the mean has beyond it, sigma/16 and
            1/mean; and of the binomials n, -1/(nq) and Stirling's correction of n.
        offsets: Where the slots of its class begin.
        reach: The largest sigma/16.
    """

    counts: Integers
    chances: Chances
    rows: Floats
    offsets: Integers
    reach: float

    @classmethod
    def of(cls, counts: Integers, chances: Chances, means: Integers) -> Laws:
        """From n and p of the binomials, and the whole means of the Poisson laws; every variance ``LEAST`` or more.

        >>> Laws.of(np.array([100]), Chances.of(np.array([1]), np.array([3])), np.array([50])).rows.shape
        (7, 2)
        """
        k = len(counts)
        rows = np.empty((7, k + len(means)))
        mean, variance = np.empty(rows.shape[1]), np.empty(rows.shape[1])
        mean[k:] = variance[k:] = means
        if k:
            rows[4, :k] = n = counts.astype(np.float64)
            np.multiply(n, chances.p, out=mean[:k])
            other = n * chances.q
            np.multiply(mean[:k], chances.q, out=variance[:k])
            rows[5, :k] = -1.0 / other
            rows[6, :k] = stirling(n)
        np.rint(mean, out=rows[0])
        np.subtract(mean, rows[0], out=rows[1])
        np.multiply(np.sqrt(variance), 1.0 / PER_SIGMA, out=rows[2])
        np.divide(1.0, mean, out=rows[3])
        return cls(counts, chances, rows, class_of(variance) << SLOT_BITS, float(rows[2].max(initial=0.0)))


def draw(counts: Integers, chances: Chances, means: Integers, source: Source) -> Integers:
    """Independent Bin(n, p), p <= 1/2, and then Poisson counts with whole means; every variance ``LEAST`` or more.

    >>> from barrow.noise.simulation import SeededSource
    >>> quarter = Chances.of(np.array([1]), np.array([4]))
    >>> found = draw(np.array([10**6]), quarter, np.array([10**6]), SeededSource(1))
    >>> abs(int(found[0]) - 250_000) < 4000, abs(int(found[1]) - 10**6) < 9000
    (True, True)
    """
    laws = Laws.of(counts, chances, means)
    size = laws.rows.shape[1]
    found: Integers = laws.rows[0].astype(np.int64)
    left, tries = np.arange(size), max(1, _AT_ONCE // max(size, 1))
    while left.size:
        if tries == 1:
            shift, good = attempt(laws, left, source)
        else:
            # Several independent proposals at once, of which the first that is accepted counts.
            shift, good = attempt(laws, np.repeat(left, tries), source)
            good = good.reshape(-1, tries)
            shift = shift.reshape(-1, tries)[np.arange(left.size), good.argmax(axis=1)]
            good = np.logical_or.reduce(good, axis=1)
        done = np.flatnonzero(good)
        found[left[done]] += shift[done].astype(np.int64)
        left = np.flatnonzero(~good) if tries == 1 and left.size == size else left[~good]
        tries = max(_TRIES, _AT_ONCE // max(left.size, 1))
    return found


def attempt(laws: Laws, who: Integers, source: Source) -> tuple[Floats, Flags]:
    """One proposal for each law in ``who``, in order: k minus the whole number nearest to the mean, and if it is taken.

    >>> from barrow.noise.simulation import SeededSource
    >>> none = np.array([], dtype=np.int64)
    >>> laws = Laws.of(none, Chances.of(none, none), np.full(100, 400))
    >>> shift, good = attempt(laws, np.arange(100), SeededSource(1))
    >>> bool(good.sum() > 70), bool(np.abs(shift).max() <= 240)
    (True, True)
    """
    size, hats = len(who), tables()
    if size == laws.rows.shape[1]:
        rows, offsets = laws.rows, laws.offsets
    else:
        rows, offsets = laws.rows.take(who, axis=1), laws.offsets.take(who)
    binomials = int(np.searchsorted(who, len(laws.counts)))
    words = source.words(2 * size)
    place, words = words[:size], words[size:]
    entry = hats.entry.take((place >> _SHIFT).view(np.int64) + offsets)
    inside = (place & _PLACE).view(np.int64) * 2.0**-_PLACE_BITS
    at = (hats.edge.take(entry) + inside) * rows[2] + (rows[1] + 0.5)
    shift = np.floor(at)
    # Floats decide the whole number unless it is this near to the next.
    odd = np.abs(at - shift - 0.5) > 0.5 - laws.reach * 2.0**-41
    chance, ends = acceptance(rows, binomials, shift, hats.log.take(entry))
    gap = chance - words.view(np.int64) * 2.0**-64 - (words >> np.uint64(63))
    good = gap > 0.0
    odd |= np.abs(gap) <= 2.0 * error_bound(laws.reach)
    if ends is not None:
        odd |= ends
    for j in np.flatnonzero(odd).tolist():
        shift[j], good[j] = _settled(laws, int(who[j]), int(entry[j]), int(place[j]), int(words[j]), source)
    return shift, good


def stirling(x: Floats) -> Floats:
    """What ln x! has beyond (x + 1/2) ln x - x + ln(2 pi)/2, within 1/(1260 x^5).

    >>> round(float(stirling(np.array([10.0]))[0]), 7)
    0.0083306
    """
    r = 1.0 / x
    found: Floats = r * (1.0 / 12.0 - (r * r) * (1.0 / 360.0))
    return found


def error_bound(reach: float) -> float:
    """How far a in floats may be off: docs/proofs/exact-counts.md, Section 6.

    >>> error_bound(1.0) < 2.0**-19
    True
    """
    return ERROR + reach * 2.0**-41


def acceptance(rows: Floats, binomials: int, shift: Floats, log_hat: Floats) -> tuple[Floats, Flags | None]:
    """The chance of acceptance in floats, within the error bound; and where, if anywhere, k is too near to an end."""
    k = rows[0] + shift
    n = rows[4, :binomials]
    ends = None
    nearest = min(float(k.min(initial=EDGE)), float((n - k[:binomials]).min(initial=EDGE)))
    if nearest < EDGE:
        outside, ends = k < 0.0, k < EDGE
        outside[:binomials] |= k[:binomials] > n
        ends[:binomials] |= n - k[:binomials] < EDGE
        shift = np.where(ends, 0.0, shift)
        k = rows[0] + shift
    x = shift - rows[1]
    log = np.log1p(x * rows[3]) * (k + 0.5) + stirling(k) + log_hat
    log[binomials:] -= x[binomials:]
    if binomials:
        rest = n - k[:binomials]
        log[:binomials] += np.log1p(x[:binomials] * rows[5, :binomials]) * (rest + 0.5)
        log[:binomials] += stirling(rest) - rows[6, :binomials]
    if ends is not None:
        log[ends] = np.inf
        ends &= ~outside  # outside the law the floats are right: a = 0
    return np.exp(-log), ends


def _settled(laws: Laws, law: int, entry: int, place: int, word: int, source: Source) -> tuple[float, bool]:
    """The same proposal, decided without floats; k minus the nearest whole number to the mean, and if it is taken."""
    hats = tables()
    classes, block = divmod(entry, hats.entries)
    hat = Fraction(float(hats.scale[classes])) * int(hats.slots[entry])
    edge, width = Fraction(float(hats.edge[entry])), 1
    if block == hats.entries - 1:
        # The tail: a fair sign, and a block of one sigma, each half as likely as the one before.
        beyond, negative = _zeros(source), int(source.words(1)[0]) >> 63
        width = PER_SIGMA
        edge = Fraction((REACH + beyond) * width)
        if negative:
            edge = -edge - width
        hat /= 2 ** (beyond + 2) * width
    sixteenth, start = Fraction(float(laws.rows[2, law])), Fraction(float(laws.rows[1, law] + 0.5))
    where = LazyUniform(place & int(_PLACE), _PLACE_BITS, source)
    while True:
        low = start + sixteenth * (edge + width * Fraction(where.bits, 2**where.length))
        high = low + sixteenth * width / 2**where.length
        shift = low.numerator // low.denominator
        if high <= shift + 1:
            break
        where.reach(where.length + 64)
    k = int(laws.rows[0, law]) + shift
    if law < len(laws.counts):
        log = _log_binomial(int(laws.counts[law]), int(laws.chances.above[law]), int(laws.chances.below[law]), k)
    else:
        log = _log_poisson(int(laws.rows[0, law]), k)
    return float(shift), log is not None and _below(log, hat, LazyUniform(word, 64, source))


def _zeros(source: Source) -> int:
    """The number of zeros before the first one in a stream of fair bits."""
    found = 0
    while True:
        word = int(source.words(1)[0])
        if word:
            return found + 64 - word.bit_length()
        found += 64


def _log_binomial(n: int, above: int, below: int, k: int) -> Any:
    """ln(sqrt(2 pi n p q) P[k]) as a function of nothing, evaluated at the working precision; None if P[k] = 0."""
    if not 0 <= k <= n:
        return None
    from flint import arb, fmpq

    def log() -> Any:
        p, q = arb(fmpq(above, below)), arb(fmpq(below - above, below))
        ways = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
        return ways + k * p.log() + (n - k) * q.log() + (2 * arb.pi() * n * p * q).log() / 2

    return log


def _log_poisson(mean: int, k: int) -> Any:
    if k < 0:
        return None
    from flint import arb

    def log() -> Any:
        m = arb(mean)
        return k * m.log() - m - arb(k + 1).lgamma() + (2 * arb.pi() * m).log() / 2

    return log


def _below(log: Any, hat: Fraction, u: LazyUniform) -> bool:
    """U hat < exp(log), decided by balls of growing precision."""
    from flint import arb, fmpq

    def question(precision: int) -> bool | None:
        chance = log().exp() / arb(fmpq(hat.numerator, hat.denominator))
        known = u.ball(precision)
        if known < chance:
            return True
        return False if known > chance else None

    return bool(decided(question))
