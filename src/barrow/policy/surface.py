"""The general form: the largest alpha for any acceptable loss E(q, tau), given as a function."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

from barrow.errors import ParameterError

Loss = Callable[[float, float], float]


@dataclass(frozen=True)
class AlphaBracket:
    """inf E(q, tau)/(q tau) lies between ``lower``, which is safe to use, and ``upper``, attained at ``at``.

    >>> alpha_from_function(lambda q, tau: 1.0).at
    (1.0, 1.0)
    """

    lower: float
    upper: float
    at: tuple[float, float]


def alpha_from_function(
    loss: Loss, *, least_distance: float = 1e-3, least_share: float = 1e-3, relative: float = 0.01
) -> AlphaBracket:
    """Inf of E(q, tau)/(q tau) over q in [least_distance, 1] and tau in [least_share, 1], bracketed.

    E must be non-decreasing in both arguments (a larger change may cost more), so on a box it is at least its value
    at the lower corner and q tau at most its value at the upper one; boxes are split until the bracket is narrow.
    Changes smaller than the least ones are protected at least as well as those are.

    Args:
        loss: E(q, tau), the largest acceptable epsilon if a share tau moves by an average distance q.
        least_distance: The smallest distance, as a share of the diameter, about which E says something.
        least_share: The smallest share about which E says something.
        relative: How narrow the bracket should be; after 200,000 boxes it is returned as it is.

    >>> bracket = alpha_from_function(lambda q, tau: 0.2 + q)
    >>> round(bracket.upper, 3), bracket.lower <= 1.2
    (1.2, True)
    """
    for name, value in (("least_distance", least_distance), ("least_share", least_share), ("relative", relative)):
        if not 0.0 < value < 1.0:
            raise ParameterError(
                f"{name} is {value!r}.", allowed="a number strictly between 0 and 1", fix=f"{name}=0.01"
            )
    best, where = math.inf, (1.0, 1.0)
    order = itertools.count()
    heap: list[tuple[float, int, tuple[float, float, float, float]]] = []

    def push(box: tuple[float, float, float, float]) -> None:
        nonlocal best, where
        q0, q1, t0, t1 = box
        low, high = _value(loss, q0, t0), _value(loss, q1, t1)
        if high < low:
            raise ParameterError(
                f"E({q1:.4g}, {t1:.4g}) = {high:.4g} is below E({q0:.4g}, {t0:.4g}) = {low:.4g}.",
                allowed="a loss that does not decrease when a change grows",
                fix="use the running maximum of E",
            )
        for q, t, value in ((q0, t0, low), (q1, t1, high)):
            if value / (q * t) < best:
                best, where = value / (q * t), (q, t)
        heapq.heappush(heap, (low / (q1 * t1), next(order), box))

    push((least_distance, 1.0, least_share, 1.0))
    for _ in range(200_000):
        lower, _, (q0, q1, t0, t1) = heap[0]
        if lower >= (1.0 - relative) * best:
            break
        heapq.heappop(heap)
        if q1 / q0 >= t1 / t0:
            middle = math.sqrt(q0 * q1)
            push((q0, middle, t0, t1))
            push((middle, q1, t0, t1))
        else:
            middle = math.sqrt(t0 * t1)
            push((q0, q1, t0, middle))
            push((q0, q1, middle, t1))
    return AlphaBracket(heap[0][0] * (1.0 - 2.0**-50), best, where)


def _value(loss: Loss, q: float, tau: float) -> float:
    value = float(loss(q, tau))
    if not (value > 0.0 and math.isfinite(value)):
        raise ParameterError(
            f"E({q:.4g}, {tau:.4g}) = {value!r}.", allowed="finite numbers above 0", fix="bound E away from 0"
        )
    return value
