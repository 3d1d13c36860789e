"""Is a claim about a randomiser true? Decided on the whole numbers that the randomiser really uses.

A finite channel with rows of whole weights W[x, y] of one sum is (alpha0, 0)-d_X-DP exactly if
W[x, y] <= exp(alpha0 d(x, x')) W[x', y] for all x, x' and y. Logarithms in floats with a stated error bound go through
all triples; the triple that decides is then settled by ball arithmetic (docs/proofs/randomisers.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.errors import ParameterError
from barrow.noise.lazy_uniform import working_precision
from barrow.spaces import Space
from barrow.spaces.space import Floats, Ids, strips

Weights = NDArray[np.int64]

LOG_ERROR = 2.0**-43
"""Bound on the error of ln a - ln b in floats, for whole numbers up to 2^62 (tested against 50 digits)."""
_LOOSE = 1.0 + 2.0**-45
_MOST_BITS = 2**20
_CACHED = 2**16


def exceeds_exp(ratio: Fraction, exponent: Fraction) -> bool:
    """Whether ``ratio`` > e^exponent, decided by balls of growing precision; exact.

    A rational is never equal to e^x for a rational x other than 0 (Lindemann), so the precision suffices at last.

    >>> exceeds_exp(Fraction(2718281828459045235, 10**18), Fraction(1))
    False
    >>> exceeds_exp(Fraction(2718281828459045236, 10**18), Fraction(1))
    True
    """
    if exponent == 0 or ratio <= 0:
        return ratio > 1

    x = heavy.fmpq(exponent.numerator, exponent.denominator)
    q = heavy.fmpq(ratio.numerator, ratio.denominator)
    bits = 128
    while bits <= _MOST_BITS:
        with working_precision(bits):
            e, r = heavy.arb(x).exp(), heavy.arb(q)
            if r > e:
                return True
            if r < e:
                return False
        bits *= 2
    raise ParameterError(
        "A privacy ratio is too near its claim to be told apart.", allowed="another claim", fix="lower alpha0 a little"
    )


def log_rate_upper(ratio: Fraction, distance: Fraction) -> float:
    """ln(ratio)/distance, rounded up to a float, by balls; 0 where the ratio is at most 1."""
    if ratio <= 1:
        return 0.0

    # A ratio near 1 costs bits: ln(1 + x) is about x, and fractions of whole weights have x > 2^-200.
    with working_precision(512):
        gain = heavy.arb(heavy.fmpq(ratio.numerator, ratio.denominator)).log()
        rate = gain / heavy.arb(heavy.fmpq(distance.numerator, distance.denominator))
        upper = float(rate.upper())
        while not heavy.arb(upper) >= rate:
            upper = math.nextafter(upper, math.inf)
    return upper


def lower(distance: float, space: Space) -> Fraction:
    """A lower bound on the real distance behind a computed one."""
    return Fraction(distance) * (1 - Fraction(space.distance_error))


@dataclass(frozen=True)
class Worst:
    """The triple that decides: from ``item`` to ``other``, report ``report`` grows the most for its distance.

    Attributes:
        alpha0_upper: The least alpha0 that all triples keep, rounded up.
        item: The item whose report is likelier.
        other: The item whose report is less likely.
        report: The report.
    """

    alpha0_upper: float
    item: int
    other: int
    report: int


def neighbour_pairs(space: Space) -> tuple[Ids, Ids] | None:
    """Pairs of items, each in both orders, that decide about all pairs; None where all have to be looked at.

    Where distances are shortest paths, both ends of every edge: what holds along each edge of a path adds up along it
    (docs/proofs/randomisers.md, Section 1).
    """
    paths = space.geometry.paths
    if paths is None:
        return None
    tails, heads = (np.asarray(each, dtype=np.int64) for each in paths[:2])
    return np.concatenate([tails, heads]), np.concatenate([heads, tails])


def worst_triple(weights: Weights, space: Space) -> Worst:
    """The least alpha0 of whole row weights of one sum, over all pairs of items and all reports, rounded up.

    >>> from barrow.spaces import Discrete
    >>> result = worst_triple(np.array([[3, 1], [1, 3]]), Discrete(["a", "b"]))
    >>> result.alpha0_upper >= math.log(3), round(result.alpha0_upper, 9) == round(math.log(3), 9)
    (True, True)
    """
    table, zero = _logarithms(weights, space)
    error = 1.0 - space.distance_error
    best = Worst(0.0, 0, 0, 0)
    # A few rows at a time, so that what is compared stays in the processor's cache.
    step = max(1, _CACHED // table.shape[1])
    pairs = neighbour_pairs(space)
    if pairs is not None:
        return _worst_of_pairs(table, zero, space, *pairs, step)
    spare, gain = np.empty((min(step, len(table)), table.shape[1])), np.empty(len(table))
    for rows, block in strips(space):
        for x in range(rows.start, rows.stop):
            for start in range(0, len(table), step):
                some = slice(start, start + step)
                np.subtract(table[x], table[some], out=spare[: len(table[some])])
                spare[: len(table[some])].max(axis=1, out=gain[some])
            gain[x] = -np.inf
            rate = (gain + LOG_ERROR) / np.maximum(block[x - rows.start] * error, 1e-300)
            other = int(np.argmax(rate))
            if rate[other] > best.alpha0_upper:
                report = int(np.argmax(np.where(zero, -np.inf, table[x] - table[other])))
                best = Worst(float(rate[other]), x, other, report)
    return _stated(best)


def _stated(best: Worst) -> Worst:
    """With what the quotient's own rounding may hide."""
    return replace(best, alpha0_upper=math.nextafter(best.alpha0_upper * _LOOSE, math.inf))


def _worst_of_pairs(table: Floats, zero: Any, space: Space, items: Ids, others: Ids, step: int) -> Worst:
    """The same over given pairs."""
    gain = np.empty(len(items))
    for start in range(0, len(items), step):
        some = slice(start, start + step)
        gain[some] = (table[items[some]] - table[others[some]]).max(axis=1)
    distances = np.asarray(space.distance(items, others))
    rate = (gain + LOG_ERROR) / np.maximum(distances * (1.0 - space.distance_error), 1e-300)
    at = int(np.argmax(rate))
    x, other = int(items[at]), int(others[at])
    if rate[at] <= 0.0:
        return _stated(Worst(0.0, 0, 0, 0))
    return _stated(Worst(float(rate[at]), x, other, int(np.argmax(np.where(zero, -np.inf, table[x] - table[other])))))


def _logarithms(weights: Weights, space: Space) -> tuple[Floats, Any]:
    """Ln of the weights; a report that some items never give and others do is refused by name."""
    zero = (weights == 0).all(axis=0)
    lost = np.argwhere((weights == 0) & ~zero)
    if lost.size:
        x, y = (int(v) for v in lost[0])
        other = int(np.argmax(weights[:, y] > 0))
        raise ParameterError(
            f"The item {space.label(other)!r} may give report number {y}, and {space.label(x)!r} never does: that "
            "report tells them apart for sure.",
            allowed="a report is possible for all items or for none",
            fix="give every entry of the matrix a positive probability",
        )
    return np.log(np.maximum(weights, 1).astype(np.float64)), zero


def check_claim(weights: Weights, space: Space, alpha0: Fraction) -> Worst:
    """Refuse a claim that the weights break, naming the pair and the report; exact.

    >>> from barrow.spaces import Discrete
    >>> check_claim(np.array([[3, 1], [1, 3]]), Discrete(["a", "b"]), Fraction(1))
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: alpha0 is claimed to be 1, but 'a' gives report number 0 e^1.09861 times as often as
    'b', which is 1 away; the claim allows e^1.
      allowed: alpha0 of at least 1.098612288668
      fix:     alpha0=1.0986123, or a matrix with less difference between these two rows
    """
    worst = worst_triple(weights, space)
    x, other, y = worst.item, worst.other, worst.report
    if x == other or Fraction(worst.alpha0_upper) <= alpha0:
        return worst
    ratio = Fraction(int(weights[x, y]), int(weights[other, y]))
    distance = float(space.distance(x, other))
    if not exceeds_exp(ratio, alpha0 * lower(distance, space)) and worst.alpha0_upper <= float(alpha0) * (1 + 2**-30):
        # The float bound is above the claim by less than its own error; the exact comparison says that it holds here,
        # but other triples may be as near, so the stated parameter is the bound, a hair above the claim.
        return worst
    raise ParameterError(
        f"alpha0 is claimed to be {float(alpha0):.6g}, but {space.label(x)!r} gives report number {y} "
        f"e^{math.log(ratio):.6g} times as often as {space.label(other)!r}, which is {distance:.6g} away; the claim "
        f"allows e^{float(alpha0) * distance:.6g}.",
        allowed=f"alpha0 of at least {worst.alpha0_upper:.13g}",
        fix=f"alpha0={math.ceil(worst.alpha0_upper * 1e7) / 1e7:.8g}, or a matrix with less difference between these "
        "two rows",
    )
