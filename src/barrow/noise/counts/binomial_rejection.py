"""Exact binomial and Poisson counts of large variance, many at once, about one proposal each.

A proposal falls uniformly into a block of an envelope that is the same for all distributions of a class, and is
accepted with probability a = sqrt(2 pi) sigma P[k] / envelope. Both the whole number k and the comparison U < a are
decided in floats with an error bound; what that leaves open is settled in rationals and in balls of growing precision
on the same bits, extended. So the distribution is exact (docs/proofs/exact-counts.md, Section 5).

Envelopes are piecewise constant over all distributions of at least a given variance. In units of the standard deviation
sigma, the line is cut into blocks of 1/16 out to 12 on both sides; a last entry stands for everything beyond. Each
block has a whole number of slots, of 2^13 in all, and its envelope, slots times a scale, is an upper bound of
sqrt(2 pi) sigma P[k] for every k that rounds from the block, whatever the distribution, as long as its variance is at
least that of the class and its probability at most 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.noise.counts.chances import Chances
from barrow.noise.lazy_uniform import LazyUniform, decided
from barrow.noise.source import RandomSource

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
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
ERROR = 2.0**-20
"""Bound on the error of a in floats for moderate counts; what ``sigma`` adds is in :func:`error_bound`."""
EDGE = 4.0
"""The floats serve k >= 4 and n - k >= 4; nearer to the ends the balls decide."""
_TRIES = 4
_AT_ONCE = 96
_PLACE_BITS = 64 - SLOT_BITS
_PLACE = np.uint64(2**_PLACE_BITS - 1)
_SHIFT = np.uint64(_PLACE_BITS)
_LAST = np.uint64(11)


@dataclass(frozen=True, eq=False)
class Distributions:
    """Binomial distributions, then Poisson distributions, as they are drawn together.

    Attributes:
        counts: n of each binomial.
        chances: p of each binomial, at most 1/2.
        rows: Floats of each distribution: the whole number nearest to the mean, what the mean has beyond it, that plus
            1/2, sigma/16, 1/mean, and 4 minus the nearest whole number; of the binomials n, -1/(nq), Stirling's
            correction of n, and n - 4 minus the nearest whole number.
        offsets: Where the slots of its class begin.
        reach: The largest sigma/16.
    """

    counts: Integers
    chances: Chances
    rows: Floats
    offsets: Integers
    reach: float

    @classmethod
    def of(cls, counts: Integers, chances: Chances, means: Integers) -> Distributions:
        """From n and p of the binomials, and the whole means of the Poissons; every variance ``LEAST`` or more.

        Means have to be floats exactly, as all below 2^53 are.
        """
        k = len(counts)
        rows = np.empty((10, k + len(means)))
        nearest, beyond, half, step, inverse, low, n, other, correction, high = rows
        inverse[k:] = step[k:] = means  # for now the mean and the variance
        if k:
            n[:k] = counts
            np.multiply(n[:k], chances.p, out=inverse[:k])
            np.multiply(inverse[:k], chances.q, out=step[:k])
            np.divide(-1.0, n[:k] * chances.q, out=other[:k])
            correction[:k] = stirling(n[:k])
        offsets = slots_of(step)
        np.rint(inverse, out=nearest)
        np.subtract(inverse, nearest, out=beyond)
        np.add(beyond, 0.5, out=half)
        np.sqrt(step, out=step)
        step *= 1.0 / PER_SIGMA
        np.divide(1.0, inverse, out=inverse)
        np.subtract(EDGE, nearest, out=low)
        np.subtract(n[:k] - EDGE, nearest[:k], out=high[:k])
        return cls(counts, chances, rows, offsets, float(step.max()) if rows.size else 0.0)


def draw(counts: Integers, chances: Chances, means: Integers, source: RandomSource) -> Integers:
    """Independent Bin(n, p), p <= 1/2, and then Poisson counts with whole means; every variance ``LEAST`` or more.

    >>> from barrow.noise.source import SeededSource
    >>> quarter = Chances.of(np.array([1]), np.array([4]))
    >>> result = draw(np.array([10**6]), quarter, np.array([10**6]), SeededSource(1))
    >>> abs(int(result[0]) - 250_000) < 4000, abs(int(result[1]) - 10**6) < 9000
    (True, True)
    """
    distributions = Distributions.of(counts, chances, means)
    size = distributions.rows.shape[1]
    numbers: Integers = distributions.rows[0].astype(np.int64)
    if size <= _AT_ONCE:
        left = np.arange(size)
    else:
        shift, good = attempt(distributions, None, source)
        left = (~good).nonzero()[0]
        shift[left] = 0.0
        numbers += shift.astype(np.int64)
    while left.size:
        # Several independent proposals at once, of which the first that is accepted counts.
        tries = max(_TRIES, _AT_ONCE // left.size)
        shift, good = attempt(distributions, left.repeat(tries), source)
        good = good.reshape(-1, tries)
        first = good.argmax(axis=1)
        first += np.arange(0, good.size, tries)
        good, shift = good.ravel().take(first), shift.take(first)
        numbers[left[good]] += shift[good].astype(np.int64)
        left = left[~good]
    return numbers


def attempt(distributions: Distributions, who: Integers | None, source: RandomSource) -> tuple[Floats, Flags]:
    """One proposal for each distribution in ``who``, in order (None: all): k minus the nearest whole; if it is kept."""
    rows, offsets, binomials, envelopes = distributions.rows, distributions.offsets, len(distributions.counts), tables()
    if who is not None:
        rows, offsets, binomials = rows.take(who, axis=1), offsets.take(who), int(who.searchsorted(binomials))
    size = len(offsets)
    words = source.words(2 * size)
    place, words = words[:size], words[size:]
    entry = envelopes.entry.take((place >> _SHIFT).view(np.int64) + offsets)
    at = (place & _PLACE).view(np.int64) * 2.0**-_PLACE_BITS
    at += envelopes.edge.take(entry)
    at *= rows[3]
    at += rows[2]
    shift = np.floor(at)
    # Floats decide the whole number unless it is this near to the next.
    at -= shift
    at -= 0.5
    odd = np.abs(at, out=at) > 0.5 - distributions.reach * 2.0**-41
    bound, ends = acceptance(rows, binomials, shift, envelopes.log.take(entry))
    bound -= (words >> _LAST).view(np.int64) * 2.0**-53
    good = bound > 0.0
    error = 2.0 * error_bound(distributions.reach)
    odd |= np.abs(bound) <= error
    odd |= ends & (bound > -error)
    for j in odd.nonzero()[0].tolist():
        distribution = j if who is None else int(who[j])
        shift[j], good[j] = _settled(distributions, distribution, int(entry[j]), int(place[j]), int(words[j]), source)
    return shift, good


def stirling(x: Floats) -> Floats:
    """What ln x! has beyond (x + 1/2) ln x - x + ln(2 pi)/2, within 1/(1260 x^5)."""
    r = 1.0 / x
    values: Floats = r * r
    values *= -1.0 / 360.0
    values += 1.0 / 12.0
    values *= r
    return values


def error_bound(reach: float) -> float:
    """How far a in floats may be off: docs/proofs/exact-counts.md, Section 5."""
    return ERROR + reach * 2.0**-38


def acceptance(rows: Floats, binomials: int, shift: Floats, log_envelope: Floats) -> tuple[Floats, Flags]:
    """The chance of acceptance in floats, within the error bound.

    Where k is too near to an end, which the second array says, it is an upper bound: the chance at the nearest k that
    is not.
    """
    inner = np.maximum(shift, rows[5])
    b = slice(binomials)
    if binomials:
        np.minimum(inner[b], rows[9, b], out=inner[b])
    k = rows[0] + inner
    x = inner - rows[1]
    log = np.log1p(x * rows[4])
    log *= k + 0.5
    log += stirling(k)
    log += log_envelope
    log[binomials:] -= x[binomials:]
    if binomials:
        rest = rows[6, b] - k[b]
        term = np.log1p(x[b] * rows[7, b])
        term *= rest + 0.5
        term += stirling(rest)
        term -= rows[8, b]
        log[b] += term
    np.negative(log, out=log)
    return np.exp(log, out=log), inner != shift


def _settled(
    distributions: Distributions, distribution: int, entry: int, place: int, word: int, source: RandomSource
) -> tuple[float, bool]:
    """The same proposal, decided without floats; k minus the nearest whole number to the mean, and if it is taken."""
    envelopes = tables()
    classes, block = divmod(entry, envelopes.entries)
    envelope = Fraction(float(envelopes.scale[classes])) * int(envelopes.slots[entry])
    edge, width = Fraction(float(envelopes.edge[entry])), 1
    if block == envelopes.entries - 1:
        # The tail: a fair sign, and a block of one sigma, each half as likely as the one before.
        beyond, negative = _zeros(source), int(source.words(1)[0]) >> 63
        width = PER_SIGMA
        edge = Fraction((REACH + beyond) * width)
        if negative:
            edge = -edge - width
        envelope /= 2 ** (beyond + 2) * width
    sixteenth, start = (
        Fraction(float(distributions.rows[3, distribution])),
        Fraction(float(distributions.rows[2, distribution])),
    )
    where = LazyUniform(place & int(_PLACE), _PLACE_BITS, source)
    while True:
        low = start + sixteenth * (edge + width * Fraction(where.bits, 2**where.length))
        high = low + sixteenth * width / 2**where.length
        shift = low.numerator // low.denominator
        if high <= shift + 1:
            break
        where.reach(where.length + 64)
    k = int(distributions.rows[0, distribution]) + shift
    if distribution < len(distributions.counts):
        log = _log_binomial(int(distributions.counts[distribution]), *distributions.chances.fraction(distribution), k)
    else:
        log = _log_poisson(int(distributions.rows[0, distribution]), k)
    return float(shift), log is not None and _below(log, envelope, LazyUniform(word, 64, source))


def _zeros(source: RandomSource) -> int:
    """The number of zeros before the first one in a stream of fair bits."""
    result = 0
    while True:
        word = int(source.words(1)[0])
        if word:
            return result + 64 - word.bit_length()
        result += 64


def _log_binomial(n: int, above: int, below: int, k: int) -> Any:
    """ln(sqrt(2 pi n p q) P[k]) as a function of nothing, evaluated at the working precision; None if P[k] = 0."""
    if not 0 <= k <= n:
        return None

    def log() -> Any:
        p, q = heavy.arb(heavy.fmpq(above, below)), heavy.arb(heavy.fmpq(below - above, below))
        ways = heavy.arb(n + 1).lgamma() - heavy.arb(k + 1).lgamma() - heavy.arb(n - k + 1).lgamma()
        return ways + k * p.log() + (n - k) * q.log() + (2 * heavy.arb.pi() * n * p * q).log() / 2

    return log


def _log_poisson(mean: int, k: int) -> Any:
    if k < 0:
        return None

    def log() -> Any:
        m = heavy.arb(mean)
        return k * m.log() - m - heavy.arb(k + 1).lgamma() + (2 * heavy.arb.pi() * m).log() / 2

    return log


def _below(log: Any, envelope: Fraction, u: LazyUniform) -> bool:
    """U envelope < exp(log), decided by balls of growing precision."""

    def question(precision: int) -> bool | None:
        chance = log().exp() / heavy.arb(heavy.fmpq(envelope.numerator, envelope.denominator))
        known = u.ball(precision)
        if known < chance:
            return True
        return False if known > chance else None

    return bool(decided(question))


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

    >>> built = tables()
    >>> int(built.slots.sum()) == 11 * 2**13, len(built.entry) == 11 * 2**13
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
