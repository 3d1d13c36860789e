"""Searches that return the safe end of their bracket, roots, and nodes to integrate by."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.numerics.exact import float_down

_STEPS = 400


def largest_safe(
    is_safe: Callable[[float], bool], low: float, high: float, *, relative: float = 1e-12, steps: int = 200
) -> float:
    """The largest x in ``[low, high]`` known to be safe, for a predicate that is true up to some point.

    The value returned has always been tested and found safe; ``low`` must be.

    >>> x = largest_safe(lambda x: x * x <= 2, 0.0, 2.0)
    >>> x * x <= 2 and abs(x - 2**0.5) < 1e-11
    True
    """
    if not is_safe(low):
        raise ParameterError(
            f"Nothing safe was found: the smallest value tried, {low!r}, is not safe.",
            allowed="a bracket whose lower end is safe",
            fix="relax the target",
        )
    if is_safe(high):
        return high
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low <= relative * abs(low):
            break
        if is_safe(middle):
            low = middle
        else:
            high = middle
    return low


def smallest_safe(
    is_safe: Callable[[float], bool], low: float, high: float, *, relative: float = 1e-12, steps: int = 200
) -> float:
    """The smallest x in ``[low, high]`` known to be safe, for a predicate that is true from some point on.

    >>> x = smallest_safe(lambda x: x * x >= 2, 0.0, 2.0)
    >>> x * x >= 2 and abs(x - 2**0.5) < 1e-11
    True
    """
    return -largest_safe(lambda x: is_safe(-x), -high, -low, relative=relative, steps=steps)


def root_down(square: Fraction) -> float:
    """The square root, rounded down; its own square is at most ``square``.

    >>> root_down(Fraction(1, 4)), root_down(Fraction(0))
    (0.49999999999999994, 0.0)
    """
    return max(0.0, math.nextafter(math.sqrt(float_down(square)), -math.inf))


def root(
    function: Callable[[float], float], low: float, high: float, *, xtol: float = 1e-12, rtol: float = 0.0
) -> float:
    """A point within ``xtol + rtol |x|`` of a zero of a continuous function that changes its sign between the ends.

    The bracket always holds a zero. Interpolation takes each step (Ridders), which at least halves the bracket.

    >>> round(root(lambda x: x * x - 2.0, 0.0, 2.0), 9)
    1.414213562
    """
    at_low, at_high = function(low), function(high)
    if at_low == 0.0 or at_high == 0.0:
        return low if at_low == 0.0 else high
    if (at_low < 0.0) == (at_high < 0.0):
        raise ParameterError(
            f"The function has the same sign at {low!r} and {high!r}.", allowed="ends of different signs", fix="high=…"
        )
    for _ in range(_STEPS):
        middle = low + (high - low) / 2.0
        if abs(high - low) <= 2.0 * (xtol + rtol * abs(middle)) or middle in (low, high):
            return middle
        at = function(middle)
        if at == 0.0:
            return middle
        # Of the line through the three points, bent by an exponential so that they lie on it.
        under = math.sqrt(at * at - at_low * at_high)
        turn = math.copysign(1.0, at_low - at_high) * at / under if under > 0.0 else 0.0
        guess = middle + (middle - low) * turn
        one, at_one, two, at_two = middle, at, middle, at
        if low < guess < high and guess != middle:
            there = function(guess)
            if there == 0.0:
                return guess
            if guess < middle:
                one, at_one = guess, there
            else:
                two, at_two = guess, there
        if (at_low < 0.0) != (at_one < 0.0):
            high, at_high = one, at_one
        elif (at_two < 0.0) != (at_high < 0.0):
            low, at_low = two, at_two
        else:
            low, at_low, high, at_high = one, at_one, two, at_two
    return low + (high - low) / 2.0


@cache
def gauss_legendre(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The nodes and weights of Gauss and Legendre on [-1, 1], by Newton's steps from their asymptotic places.

    >>> nodes, weights = gauss_legendre(5)
    >>> round(float(weights @ nodes**8), 12) == round(2 / 9, 12)
    True
    """
    half = np.arange(1, (count + 1) // 2 + 1)
    angles = np.pi * (4.0 * half - 1.0) / (4.0 * count + 2.0)
    x = (1.0 - (1.0 - 1.0 / count) / (8.0 * count**2)) * np.cos(angles)
    for _ in range(4):
        value, before = x, np.ones_like(x)
        for k in range(2, count + 1):
            value, before = ((2 * k - 1) * x * value - (k - 1) * before) / k, value
        slope = count * (x * value - before) / (x * x - 1.0)
        step = value / slope
        x = x - step
        if np.abs(step).max() < 2.0**-50:
            break
    weights = 2.0 / ((1.0 - x * x) * slope**2)
    if count % 2:
        x[-1] = 0.0
    mirrored = slice(None, -1) if count % 2 else slice(None)
    return np.concatenate([-x[mirrored], x[::-1]]), np.concatenate([weights[mirrored], weights[::-1]])


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The distinct numbers among ``values``, increasing; none of them may be NaN.

    ``np.unique`` of values alone loads numpy's masked arrays, which takes as long as planning a mean.

    >>> distinct(np.array([[3, 1], [1, 2]])).tolist(), distinct(np.zeros(0)).tolist()
    ([1, 2, 3], [])
    """
    ordered = np.sort(values, axis=None)
    result: NDArray[Any] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return result


def among(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.bool_]:
    """Which of ``values`` are among ``known`` numbers, as ``np.isin`` says; see above.

    >>> among(np.array([3, 4, 5]), np.array([5, 3])).tolist(), among(np.array([3]), np.zeros(0)).tolist()
    ([True, False, True], [False])
    """
    ordered = np.sort(known, axis=None)
    return np.searchsorted(ordered, values, side="right") > np.searchsorted(ordered, values)


def median(values: ArrayLike) -> float:
    """The middle of some numbers, or half-way between the two in the middle, as ``np.median`` has it; see above.

    >>> median(np.array([4.0, 1.0, 2.0])), median(np.array([4.0, 1.0]))
    (2.0, 2.5)
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=None)
    half = len(ordered) // 2
    return float(ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2.0)
