"""Approximate item randomisers: reports that are (alpha0, delta0)-metric-DP, composed or shuffled.

m reports cost (alpha0 m, m delta0) by composition, and no smaller delta is true. Shuffled, the chain of the flow
accountant holds for channels that are pure but for tau = delta0 (1 + 4 (N-1) e^-alpha0) in total variation, and what m
steps add to the power of a test of level Phi(-L) or more is at most 2 m tau/Phi(-L) (docs/proofs/approximate.md).
"""

from __future__ import annotations

import math
from fractions import Fraction

from barrow import heavy
from barrow.accounting.flow import FlowProfile, flow_profile
from barrow.accounting.inputs import LARGEST_ALPHA0, SMALLEST_DELTA, alpha0_up, open_delta, reports_and_items
from barrow.accounting.pricing import gaussian_alpha_upper
from barrow.errors import ParameterError
from barrow.numerics import Exact, float_up
from barrow.promises.definitions import positive, probability

_ROOM = 1e-2
"""The share of delta that is left for what the randomiser's own delta adds."""
_TRIES = 40
_UP = 1.0 + 1e-12


def added_delta_upper(delta0: Exact, alpha0: Exact, *, reports: int, items: int, level: float) -> float:
    """What an item randomiser's own delta0 adds to delta along a chain whose least level is Phi(-level), rounded up.

    >>> 5e-34 < added_delta_upper("1e-45", 1, reports=10**6, items=10, level=5.0) / 1e-1 < 6e-30
    True
    """
    n, m = reports_and_items(reports, items)
    return float_up(probability(delta0)) * _factor(alpha0_up(alpha0), n, m, level) * _UP


def _factor(alpha0: float, n: int, m: int, level: float) -> float:
    """2 m (1 + 4 (N-1) e^-alpha0)/Phi(-level), rounded up."""
    slip = 1.0 + 4.0 * float_up(Fraction(n - 1)) * math.exp(-alpha0) * _UP
    floor = float(heavy.special.ndtr(-level)) * (1.0 - 1e-12)
    return math.inf if floor <= 0.0 else 2.0 * float_up(Fraction(m)) * slip / floor * _UP


def approximate_alpha_upper(
    alpha0: Exact, delta0: Exact, *, reports: int, items: int, delta: Exact, least_distance: Exact | None = None
) -> float:
    """The alpha, rounded up, that shuffled reports of any (alpha0, delta0)-metric-DP randomiser cost at ``delta``.

    Args:
        alpha0: The randomiser's rate.
        delta0: Its delta; 0 for a pure one.
        reports: N, all reports that are mixed.
        items: m, those of one user.
        delta: The delta of the release.
        least_distance: The least distance of two items, where it is known.

    >>> 8 < approximate_alpha_upper(3, "1e-45", reports=10**8, items=1000, delta="1e-12") < 8.5
    True
    >>> approximate_alpha_upper("0.01", "1e-14", reports=1000, items=10, delta="1e-12")  # by composition
    0.1
    """
    n, m = reports_and_items(reports, items)
    small, own = open_delta(delta, "an approximate randomiser"), probability(delta0)
    best = math.inf
    if own * m <= probability(delta):
        best = float_up(positive(alpha0, "alpha0") * m)
    profile = _chained(alpha0, own, n, m, small, least_distance)
    if profile is not None:
        best = min(best, profile.alpha_upper(small * (1.0 - _ROOM)))
    if math.isinf(best):
        raise ParameterError(
            f"The randomiser's own delta is {float_up(own):.3g}, too large for {m:,} items at delta {small:.3g}.",
            allowed=f"at most delta/m = {small / m:.3g}, where composition holds; far less where shuffling is to help",
            fix=f"delta0={0.9 * small / m:.1g}",
        )
    return best


def _chained(alpha0: Exact, own: Fraction, n: int, m: int, small: float, least: Exact | None) -> FlowProfile | None:
    """The profile of the pure chain at what delta0 leaves of delta; None where it leaves too little."""
    profile = flow_profile(alpha0, reports=n, items=m, delta=Fraction(small * (1.0 - _ROOM)), least_distance=least)
    if profile is None:
        return None
    added = added_delta_upper(own, alpha0, reports=n, items=m, level=profile.level)
    return profile if added <= small * _ROOM * (1.0 - 1e-9) else None


def gaussian_items_alpha_upper(mu: Exact, *, reports: int, items: int, delta: Exact) -> float:
    """The alpha of shuffled items with Gaussian noise in any space, each mu-GDP at the largest distance.

    Args:
        mu: The largest distance over the standard deviation of the noise of an item.
        reports: N, all reports that are mixed.
        items: m, those of one user.
        delta: The delta of the release.

    The noise is (alpha0, delta0)-metric-DP for every delta0, with the alpha0 of :func:`gaussian_alpha_upper`; the
    largest delta0 that leaves enough of delta is looked for.

    >>> shuffled = gaussian_items_alpha_upper("0.25", reports=10**7, items=100, delta="1e-9")
    >>> shuffled < gaussian_alpha_upper(2.5, "1e-9")  # 100 reports that are not mixed with others'
    True
    """
    n, m = reports_and_items(reports, items)
    small, rate = open_delta(delta, "Gaussian noise"), positive(mu, "mu")
    best = math.inf
    own = small * _ROOM / (10.0 * m)
    for _ in range(_TRIES):
        if own < SMALLEST_DELTA:
            break
        alpha0 = gaussian_alpha_upper(rate, Fraction(own))
        best = min(best, _priced(alpha0, own, n, m, small))
        profile = None
        if alpha0 < LARGEST_ALPHA0:
            profile = flow_profile(Fraction(alpha0), reports=n, items=m, delta=Fraction(small * (1.0 - _ROOM)))
        if profile is None:
            own *= 1e-3
            continue
        largest = small * _ROOM * (1.0 - 1e-6) / _factor(alpha0, n, m, profile.level)
        if own <= largest:
            break
        own = min(own * 1e-2, largest * 0.5)
    return best


def _priced(alpha0: float, own: float, n: int, m: int, small: float) -> float:
    if alpha0 >= LARGEST_ALPHA0:
        return math.inf
    try:
        return approximate_alpha_upper(Fraction(alpha0), Fraction(own), reports=n, items=m, delta=Fraction(small))
    except ParameterError:
        return math.inf
