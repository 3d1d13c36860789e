"""Many reports of one user: the exact composition of equal randomisers (benchmarks/baselines/PROOFS.md).

A report tells two items apart with a likelihood ratio of e^epsilon0 one way or the other, or not at all. Let ``active``
be the probability that it does. The losses of m reports add up to epsilon0 (2X - N) with N ~ Bin(m, active) and
X ~ Bin(N, e^epsilon0/(1+e^epsilon0)), so the delta of all of them is the mean over N of two binomial tails. With
``active`` = 1 this is the optimal composition of Kairouz, Oh and Viswanath, which no (epsilon0, 0)-private mechanism
exceeds; a smaller ``active`` is for mechanisms whose law is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, float_down, float_up, largest_safe, whole
from barrow.numerics.binomial import binomial_cdf, binomial_log_pmf, tail_error
from barrow.promises.definitions import positive, probability

Floats = NDArray[np.float64]

_BUCKETS = 192
"""Numbers of active reports are rounded up to this many at most: the pair only becomes easier to tell apart."""
_STRONGEST = 30.0
"""From here on e^-epsilon0 drowns in floats; plain composition is then as good as exact to 1e-9 of epsilon0."""
_TINY = 1e-300
_UNIT = 2.0**-53


def homogeneous_delta_upper(epsilon0: Exact, uses: int, epsilon: Exact, *, active: Exact = 1) -> float:
    """The delta at ``epsilon`` of ``uses`` independent reports, rounded up.

    Args:
        epsilon0: The privacy parameter of one report.
        uses: m, how many reports one user makes.
        epsilon: The privacy parameter of all of them together, 0 or more.
        active: An upper bound on the probability that a report tells two given items apart; 1 holds for everything.

    >>> homogeneous_delta_upper("0.1", 10, 1)
    0.0
    >>> round(homogeneous_delta_upper(1, 2, 1), 9)  # (1 - e^-1) P[both reports point the same way]
    0.337834712
    >>> homogeneous_delta_upper(1, 100, 5, active="0.01") < homogeneous_delta_upper(1, 100, 5)
    True
    """
    step, m = positive(epsilon0, "epsilon0"), whole(uses, "uses")
    target, share = _at_least_zero(epsilon), _active(active)
    if step * m <= target:
        return 0.0
    return _delta(float_up(step), m, float_down(target), share)


def homogeneous_epsilon0_lower(
    epsilon: Exact, delta: Exact, uses: int, *, active: Exact | Callable[[float], float] = 1
) -> float:
    """The largest epsilon0, rounded down, for which ``uses`` reports are (epsilon, delta)-private together.

    Args:
        epsilon: The privacy parameter of all reports together.
        delta: The probability with which it may fail; 0 gives epsilon/m.
        uses: m, how many reports one user makes.
        active: As in :func:`homogeneous_delta_upper`; or a function of epsilon0 that bounds it from above, for a family
            of randomisers of which weaker ones are post-processings of stronger ones.

    >>> homogeneous_epsilon0_lower(1, 0, 4)
    0.25
    >>> round(homogeneous_epsilon0_lower(1, "1e-6", 1000), 6)
    0.007495
    >>> round(homogeneous_epsilon0_lower(1, "1e-6", 1000, active="0.5"), 6)
    0.010586
    """
    total, slack, m = positive(epsilon, "epsilon"), probability(delta), whole(uses, "uses")
    pure = float_down(total / m)
    if slack == 0:
        return pure
    top, most = float_down(total), float_down(slack)
    share = active if callable(active) else _constant(_active(active))

    def safe(step: float) -> bool:
        return Fraction(step) * m <= total or _delta(step, m, top, min(1.0, share(step)), most) <= most

    low = high = pure
    while high < _STRONGEST and safe(high):
        low, high = high, min(2.0 * high, _STRONGEST)
    return largest_safe(safe, low, high, relative=1e-10) if high > low else low


def _constant(value: float) -> Callable[[float], float]:
    return lambda _: value


def _delta(step: float, m: int, epsilon: float, active: float, enough: float = _TINY) -> float:
    """Delta, rounded up; below ``enough`` it need not be tight."""
    if m == 1:
        # P[loss = step] (1 - e^(epsilon - step)), rounded up.
        return min(1.0, active / (1.0 + math.exp(-step)) * -math.expm1(epsilon - step) * (1.0 + 16.0 * _UNIT) + _TINY)
    if step >= _STRONGEST:
        return 1.0
    # A larger p dominates; 1 - p is exact for p from 1/2 to 1.
    p = min(1.0 / (1.0 + math.exp(-step)) * (1.0 + 4.0 * _UNIT) + _UNIT, 1.0 - 2.0**-52)
    if active > 1.0 - 2.0**-40:
        return min(1.0, float(_tails(np.array([float(m)]), p, epsilon)[0]))
    spread = 8.0
    while True:
        numbers, masses, beyond = _numbers(m, active, spread)
        inside = float((masses * _tails(numbers, p, epsilon)).sum()) * (1.0 + 1e-12)
        if beyond <= 1e-6 * max(inside, enough) or numbers[-1] >= m:
            return min(1.0, inside + beyond + _TINY)
        spread *= 1.25


def _numbers(m: int, active: float, spread: float) -> tuple[Floats, Floats, float]:
    """How many reports are active: values rounded up to a few, their masses, and the mass beyond the largest."""
    mean, width, rest = m * active, math.sqrt(m * active * (1.0 - active)), 1.0 - active
    low = max(0, int(mean - spread * width - spread))
    high = min(m, int(mean + spread * width + spread * spread))
    error = float(tail_error(m))

    def up_to(x: Any) -> Floats:
        return binomial_cdf(x, m, active, rest)

    def above(x: Any) -> Floats:
        return binomial_cdf(m - x - 1.0, m, rest, active)

    beyond = 0.0 if high == m else float(above(float(high))) * (1.0 + error) + _TINY
    size = -(-(high - low) // _BUCKETS)
    if size <= 1:
        every = np.arange(low, high + 1, dtype=np.float64)
        masses = np.exp(binomial_log_pmf(every, m, active)) * (1.0 + error)
        masses[0] = float(up_to(float(low))) * (1.0 + error)
        return every, masses, beyond
    ends = np.minimum(low + size * np.arange(0.0, -(-(high - low) // size) + 1.0), high)
    # Differences of tails, each on the side of the mean where the tail is small, with what rounding may have taken.
    lower, upper = up_to(ends), above(ends)
    left = np.diff(lower, prepend=0.0) + 2.0 * error * lower
    right = np.append(0.0, upper[:-1] - upper[1:] + 2.0 * error * upper[:-1])
    return ends, np.where(ends <= mean, left, right), beyond


def _tails(numbers: Floats, p: float, epsilon: float) -> Floats:
    """P[X >= x] - e^epsilon P[N - X >= x] at the best x, rounded up, for each N; X ~ Bin(N, p), p > 1/2."""
    q = 1.0 - p
    loss = math.log1p((p - q) / q)
    first = np.floor((numbers + epsilon / loss) / 2.0) + 1.0
    # The best x is the first with (2x - N) loss > epsilon; its neighbours cover a rounding of that quotient.
    x = first[:, None] + np.array([-1.0, 0.0, 1.0])
    n: Any = np.broadcast_to(numbers[:, None], x.shape)
    above, below = binomial_cdf(n - x, n, q, p), binomial_cdf(n - x, n, p, q)
    if epsilon > 700.0:
        below = np.zeros_like(below)
    with np.errstate(over="ignore"):
        weighed = np.minimum(below * math.exp(min(epsilon, 700.0)), 1e300)
    error = tail_error(n) + 8.0 * (1.0 + epsilon) * _UNIT
    result = above - weighed + error * (above + weighed) + _TINY
    # Nothing is lost where even all signs together stay within epsilon.
    return np.where(numbers * loss * (1.0 + 1e-12) <= epsilon, _TINY, result.max(axis=1))


def _at_least_zero(value: Exact) -> Fraction:
    result = exact(value, "epsilon")
    if result < 0:
        raise ParameterError(f"epsilon is {value}.", allowed="0 or more", fix="epsilon=1")
    return result


def _active(value: Exact) -> float:
    result = exact(value, "active")
    if not 0 < result <= 1:
        raise ParameterError(
            f"active is {value}.",
            allowed="a probability above 0, at most 1",
            fix="active=1, which holds for everything",
        )
    return float_up(result)
