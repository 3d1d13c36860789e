"""Limited-memory quasi-Newton descent for smooth convex functions without constraints.

scipy's L-BFGS-B solves tiny linear systems in every step, and threaded linear algebra can make that ten times slower
where other work runs; without constraints the two-loop recursion needs inner products only, and these are not threaded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from barrow.spaces.base import Floats

_HALVINGS = 40


def inner(a: Floats, b: Floats) -> float:
    """The inner product in one thread: on cores that are shared, waiting for others costs more than it saves."""
    return float(np.einsum("i,i", a, b))


def descend(
    objective: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    enough: Callable[[], bool],
    most: int,
    memory: int = 20,
) -> int:
    """Goes down from ``start`` until ``enough()``; the objective remembers what it saw. Returns the steps taken."""
    x = start
    value, gradient = objective(x)
    past: deque[tuple[Floats, Floats, float]] = deque(maxlen=memory)
    for step in range(1, most + 1):
        direction = -_newton(gradient, past)
        slope = inner(direction, gradient)
        if not slope < 0.0:
            past.clear()
            direction = -gradient
            slope = inner(direction, gradient)
            if not slope < 0.0:
                return step
        length = 1.0 if past else min(1.0, 1.0 / float(np.sqrt(-slope)))
        for _ in range(_HALVINGS):
            ahead = x + length * direction
            found, turned = objective(ahead)
            if found <= value + 1e-4 * length * slope:
                break
            length /= 2.0
        else:
            return step  # rounding hides any further descent
        moved, change = ahead - x, turned - gradient
        curved = inner(moved, change)
        if curved > 1e-12 * inner(change, change):
            past.append((moved, change, 1.0 / curved))
        x, value, gradient = ahead, found, turned
        if enough():
            return step
    return most


def _newton(gradient: Floats, past: deque[tuple[Floats, Floats, float]]) -> Floats:
    """The inverse Hessian that the past steps speak for, times the gradient."""
    q = gradient.copy()
    used = []
    for moved, change, inverse in reversed(past):
        a = inverse * inner(moved, q)
        q -= a * change
        used.append(a)
    if past:
        moved, change, inverse = past[-1]
        q *= 1.0 / (inverse * inner(change, change))
    for (moved, change, inverse), a in zip(past, reversed(used), strict=True):
        q += (a - inverse * inner(change, q)) * moved
    return q
