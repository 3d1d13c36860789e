"""The paper's amplification bound (Theorems 4.3 and 4.4), with its side condition, and safely inverted.

With N reports, m of them from one user, L = ln(4m/delta0) and

    c = 8 sqrt(e^alpha0 L/N) + 8 e^alpha0/N,      h(w) = m ln(1 + tanh(alpha0 w/2) c),

the release is (h(w), delta0 e^h(w))-indistinguishable at EMD w if alpha0 < ln(N/(16 L)). h is concave with h(0) = 0,
so the largest h(w)/w is the slope at 0, alpha = (m alpha0/2) c. See docs/proofs/paper-theorem.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from barrow.accounting.inputs import LARGEST_ALPHA0, alpha0_up, alpha_down, open_delta, reports_and_items
from barrow.errors import ParameterError
from barrow.numerics import Exact, float_up, largest_safe, whole
from barrow.promises.definitions import positive

_SLACK = 1.0 + 1e-13
"""Bounds the rounding of the few operations in each formula; it is applied to the side of less privacy."""


@dataclass(frozen=True)
class TheoremBound:
    """What Theorem 4.4 says of an alpha0.

    Args:
        alpha: The EMD-DP parameter, rounded up.
        log_inverse_delta0: ln(1/delta0) for the delta0 of the theorem with delta0 e^h(1) = delta, rounded up.
        applies: Whether alpha0 < ln(N/(16 ln(4m/delta0))); where it fails the theorem says nothing.

    >>> theorem_bound(3, reports=10**8, items=1000, delta="1e-12").applies
    True
    """

    alpha: float
    log_inverse_delta0: float
    applies: bool


def _factor(alpha0: float, reports: float, log_term: float) -> float:
    return 8.0 * math.sqrt(math.exp(alpha0) * log_term / reports) + 8.0 * math.exp(alpha0) / reports


def _bound(alpha0: float, reports: int, items: int, delta: float) -> TheoremBound:
    n, m = float(reports), float(items)
    target, log_items = math.log(1.0 / delta), math.log(4.0 * m)

    def excess(ell: float) -> float:
        # ell - h(1) - ln(1/delta): convex in ell and negative at 0, so it has one root, and is safe above it.
        h = m * math.log1p(math.tanh(alpha0 / 2.0) * _factor(alpha0, n, log_items + ell)) * _SLACK
        return ell - h - target * _SLACK

    high = target + 1.0
    while excess(high) < 0.0 and high < 1e280:
        high *= 2.0
    low = 0.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low <= 1e-14 * high:
            break
        if excess(middle) >= 0.0:
            high = middle
        else:
            low = middle
    ell = high
    log_term = (log_items + ell) * _SLACK
    alpha = m * (alpha0 / 2.0) * _factor(alpha0, n, log_term) * _SLACK
    applies = ell < 1e280 and math.exp(alpha0) * 16.0 * log_term * _SLACK < n
    return TheoremBound(alpha, ell, applies)


def theorem_bound(alpha0: Exact, *, reports: int, items: int, delta: Exact) -> TheoremBound:
    """Theorem 4.4 exactly as it stands, with its side condition evaluated (``thm:eps-amp``).

    >>> round(theorem_bound(3, reports=10**8, items=1000, delta="1e-12").alpha, 6)
    41.987571
    """
    n, m = reports_and_items(reports, items)
    return _bound(alpha0_up(alpha0), n, m, open_delta(delta, "Theorem 4.4"))


def theorem_alpha_upper(alpha0: Exact, *, reports: int, items: int, delta: Exact) -> float | None:
    """The alpha that Theorem 4.4 certifies, rounded up; None where its side condition fails.

    >>> theorem_alpha_upper(9, reports=1000, items=10, delta="1e-6") is None
    True
    """
    bound = theorem_bound(alpha0, reports=reports, items=items, delta=delta)
    return bound.alpha if bound.applies else None


def theorem_alpha0_lower(alpha: Exact, *, reports: int, items: int, delta: Exact) -> float | None:
    """The largest alpha0, rounded down, for which Theorem 4.4 certifies (alpha, delta); None where there is none.

    >>> round(theorem_alpha0_lower(25, reports=10**8, items=1000, delta="1e-12"), 9)
    2.483869721
    """
    n, m = reports_and_items(reports, items)
    target, small = alpha_down(alpha), open_delta(delta, "Theorem 4.4")

    def is_safe(alpha0: float) -> bool:
        bound = _bound(alpha0, n, m, small)
        return bound.applies and bound.alpha <= target

    return _largest(is_safe, target / m, relative=1e-15)


def _largest(is_safe: Callable[[float], bool], near: float, relative: float = 1e-12) -> float | None:
    """The largest alpha0 that is safe, looked for from ``near`` on; None where none is."""
    low = min(1.0, near)
    while low > 1e-290 and not is_safe(low):
        low *= 0.5
    if not is_safe(low):
        return None
    high = low
    while high < LARGEST_ALPHA0 and is_safe(high):
        low, high = high, 2.0 * high
    return largest_safe(is_safe, low, min(high, LARGEST_ALPHA0), relative=relative)


@dataclass(frozen=True)
class GroupShuffleBound:
    """What Theorem 4.3 says of a vector of changes: (epsilon, delta)-indistinguishability, both rounded up.

    >>> theorem_group_bound(1, reports=10**6, changed=10, moved=5, delta0="1e-12").delta < 1e-11
    True
    """

    epsilon: float
    delta: float


def theorem_group_bound(
    alpha0: Exact, *, reports: int, changed: int, moved: Exact, delta0: Exact
) -> GroupShuffleBound | None:
    """Theorem 4.3 as it stands: ``changed`` reports move by ``moved`` in total (``thm:shuffle-metric-full``).

    None where alpha0 < ln(N/(16 ln(4N/delta0))) fails, or where the resulting delta is 1 or more.

    >>> bound = theorem_group_bound(1, reports=10**6, changed=10, moved=5, delta0="1e-12")
    >>> round(bound.epsilon, 6)
    0.179225
    """
    n, k = reports_and_items(reports, changed)
    a0, small = alpha0_up(alpha0), open_delta(delta0, "Theorem 4.3")
    total = float_up(positive(moved, "moved"))
    if total > k:
        raise ParameterError(
            f"moved is {total:g} but only {k} reports change, each by at most 1.",
            allowed="a total distance of at most the number of changed reports",
            fix=f"moved={k}",
        )
    if math.exp(a0) * 16.0 * (math.log(4.0 * n) + math.log(1.0 / small)) * _SLACK >= n:
        return None
    log_term = (math.log(4.0 * k) + math.log(1.0 / small)) * _SLACK
    epsilon = k * math.log1p(math.tanh(a0 * total / (2.0 * k)) * _factor(a0, float(n), log_term)) * _SLACK
    delta = small * math.exp(min(epsilon, 700.0)) * _SLACK
    return GroupShuffleBound(epsilon, delta) if delta < 1.0 else None


def paper_alpha0_at_w_one(alpha: Exact, *, reports: int, items: int, delta: Exact) -> float | None:
    """UNSAFE as a setting: Theorem 4.4 read at w = 1 only, as the paper's concrete example does.

    The same alpha0 costs more than alpha at smaller w. None where the side condition fails everywhere.

    >>> round(paper_alpha0_at_w_one(25, reports=10**8, items=1000, delta="1e-12"), 3)
    2.999
    """
    n, m = reports_and_items(reports, items)
    target, small = alpha_down(alpha), open_delta(delta, "Theorem 4.4")

    def satisfies(alpha0: float) -> bool:
        bound = _bound(alpha0, n, m, small)
        factor = _factor(alpha0, float(n), math.log(4.0 * m) + bound.log_inverse_delta0)
        return bound.applies and m * math.log1p(math.tanh(alpha0 / 2.0) * factor) <= target

    return _largest(satisfies, target / m)


def paper_asymptotic_alpha0(alpha: Exact, *, users: int, items: int, delta: Exact) -> float:
    """UNSAFE as a setting: the closed form of the paper's equations eps-amp (users = 1) and eps-amp-central.

    Kept for the reproduction only. From alpha0 of about 4 up it can exceed what Theorem 4.4 certifies, and below it
    is very loose (docs/why-not-the-papers-formula.md).

    >>> round(paper_asymptotic_alpha0(25, users=10**7, items=1000, delta="1e-12"), 3)
    5.993
    """
    n, m = whole(users, "users"), whole(items, "items")
    a, small = alpha_down(alpha), open_delta(delta, "the paper's formula")
    root = math.sqrt(m * (math.log(4.0 * m) + a + math.log(1.0 / small)))
    scaled = a * math.sqrt(n)
    return scaled / (32.0 * root) if scaled <= 32.0 * root else 2.0 * math.log(scaled / (16.0 * root))
