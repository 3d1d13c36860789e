"""Searches that return the safe end of their bracket."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from barrow.errors import ParameterError
from barrow.numerics.exact import float_down


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
