"""The flow accountant: shuffled reports are Gaussian-DP, almost without loss, at every distance at once.

A user who moves m reports by d_1 .. d_m raises the power of a test along a chain of midpoint steps. In the coordinate
Phi^-1 step i is at most kappa (1 + eta) psi(d_i), psi concave, so the worst profile of mean w is m psi(w) (on a space
with least distance d_min, linear below it), and the release is mu(w)-GDP with mu(w) = kappa (1 + eta) m psi(w), up to
tests of level below Phi(-L). psi(d) is nu = tanh(alpha0 d/2) for standard clones and nu/sqrt(1 + nu) for stronger
ones. Every w in (0, 1] is covered: cell by cell above the first grid point, by B1 below it. The release is also pure
alpha0 m w-DP, so flow never says less than composition. Proofs: docs/proofs/shuffle-flow.md and stronger-clones.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.accounting.inputs import (
    LARGEST_ALPHA0,
    alpha0_up,
    alpha_down,
    least_down,
    open_delta,
    reports_and_items,
)
from barrow.accounting.profile import LARGEST_LEVEL, inflation_upper, rate_upper
from barrow.errors import ParameterError
from barrow.numerics import Exact, float_down, float_up, largest_safe
from barrow.numerics.gdp import gdp_delta_upper_array, gdp_epsilon_upper

Floats = NDArray[np.float64]
Clones = Literal["standard", "strong"]

_CELLS = 20_000
_SLACK = 1.0 + 1e-12
_FLOOR_SHARE = 1e-3
"""The share of delta that tests of extreme level may take."""


def _clones(clones: str) -> Clones:
    if clones == "standard":
        return "standard"
    if clones == "strong":
        return "strong"
    raise ParameterError(f"clones is {clones!r}.", allowed="'standard' or 'strong'", fix="clones='strong'")


@dataclass(frozen=True)
class FlowProfile:
    """mu(w) of a shuffled release, valid for tests of level Phi(-level) to 1 - Phi(-level).

    Args:
        alpha0: Parameter of the randomiser of one item.
        items: m, the reports of one user.
        clones: Which clones the rate rests on.
        least_distance: d_min, 0 where unknown.
        level: L.
        rate: kappa (1 + eta), rounded up.
        knots: For a known randomiser, the points of a concave piecewise linear psi instead (docs/proofs/blanket.md).

    >>> profile = flow_profile(4.4, reports=10**8, items=1000, delta=1e-12)
    >>> 1.2 < profile.mu_upper(1.0) < 1.3
    True
    """

    alpha0: float
    items: int
    clones: Clones
    least_distance: float
    level: float
    rate: float
    knots: tuple[tuple[float, float], ...] = ()

    def _psi(self, d: Floats) -> Floats:
        if self.knots:
            return np.interp(d, [x for x, _ in self.knots], [y for _, y in self.knots])
        nu = np.tanh(self.alpha0 * d / 2.0)
        return np.asarray(nu / np.sqrt(1.0 + nu)) if self.clones == "strong" else np.asarray(nu)

    def mu_upper_array(self, w: Floats) -> Floats:
        """Mu at many distances, rounded up."""
        if self.least_distance <= 0.0:
            return self.items * self.rate * self._psi(w) * _SLACK
        inside = np.maximum(w, self.least_distance)
        ratio = np.minimum(w / self.least_distance, 1.0)
        return self.items * self.rate * ratio * self._psi(inside) * _SLACK

    def mu_upper(self, w: float) -> float:
        """Mu at distance ``w``, rounded up."""
        return float(self.mu_upper_array(np.array([w]))[0])

    @property
    def slope_upper(self) -> float:
        """The limit of mu(w)/w as w goes to 0, rounded up: mu(w) is at most this times w."""
        d = self.least_distance
        steepest = self.alpha0 / 2.0 if d <= 0.0 else float(self._psi(np.array([d]))[0]) / d
        return self.items * self.rate * steepest * _SLACK * _SLACK

    @property
    def floor_upper(self) -> float:
        """Phi(-L), rounded up: what tests of level above 1 - Phi(-L) add to delta."""
        return float(heavy.special.ndtr(-self.level)) * _SLACK + 5e-324

    @property
    def head_upper(self) -> float:
        """Phi(-L + mu(1)), rounded up: the power of any test of level below Phi(-L), at any distance."""
        return float(heavy.special.ndtr(self.mu_upper(1.0) * _SLACK - self.level)) * (1.0 + 1e-9) + 5e-324

    @cached_property
    def _grid(self) -> tuple[Floats, Floats]:
        first = self.least_distance if self.least_distance > 0.0 else 1e-5 / (1.0 + self.alpha0)
        w = np.exp(np.linspace(math.log(first), 0.0, _CELLS + 1)) if first < 1.0 else np.ones(2)
        w[0], w[-1] = first, 1.0
        mu = self.mu_upper_array(w)
        # Below the first point mu is at most its slope times w, for which the first point is the worst (B1); on a
        # space with d_min that is exact.
        start = self.slope_upper * first
        return np.concatenate([w[:1], w[:-1]]), np.concatenate([[start], mu[1:]])

    def holds(self, alpha: float, delta: float) -> bool:
        """Whether (alpha, delta)-EMD-DP is certified, at every w in (0, 1].

        >>> flow_profile(4.3, reports=10**8, items=1000, delta=1e-12).holds(25.0, 1e-12)
        True
        """
        room = delta - self.floor_upper
        if room <= 0.0 or self.head_upper > room:
            return False
        w, mu = self._grid
        return bool(np.all(gdp_delta_upper_array(mu, alpha * w * (1.0 - 1e-15)) <= room))

    def alpha_upper(self, delta: float) -> float:
        """The smallest alpha, rounded up, that is certified at ``delta`` (never more than alpha0 m).

        >>> 24.9 < flow_profile(4.4, reports=10**8, items=1000, delta=1e-12).alpha_upper(1e-12) < 25
        True
        """
        pure = self.alpha0 * self.items * _SLACK
        room = delta - self.floor_upper
        if room <= 0.0 or self.head_upper > room:
            return pure
        w, mu = self._grid
        alpha = 0.0
        while alpha < pure:
            # The cell that is violated most sets a new alpha; a handful of rounds reaches the largest.
            result = gdp_delta_upper_array(mu, alpha * w * (1.0 - 1e-15))
            worst = int(np.argmax(result))
            if result[worst] <= room:
                return alpha
            needed = gdp_epsilon_upper(float(mu[worst]), room) / float(w[worst]) * (1.0 + 1e-12)
            alpha = max(needed, alpha * (1.0 + 1e-12) + 1e-300)
        return pure


def _profile(
    alpha0: float, reports: float, items: int, head: float, floor: float, clones: Clones, least: float
) -> FlowProfile | None:
    """The profile whose tests below Phi(-L) have power at most ``head``, with Phi(-L) <= ``floor``."""
    nu = math.tanh(alpha0 / 2.0)
    omega = 1.0 + nu if clones == "strong" else 1.0
    largest = nu / math.sqrt(omega) if clones == "strong" else nu
    log_clones = math.log(max(reports - 1.0, 1e-300)) - alpha0
    guess = items * largest * 2.0 * math.exp(-log_clones / 2.0) * 1.001
    below, deepest = -float(heavy.special.ndtri_exp(math.log(head))), -float(heavy.special.ndtri_exp(math.log(floor)))
    for _ in range(12):
        level = max(below + guess, deepest)
        if not level <= LARGEST_LEVEL:
            return None
        kappa = rate_upper(alpha0, reports, level, omega)
        rate = kappa * inflation_upper(kappa * largest, level) if kappa < math.inf else math.inf
        if not rate < math.inf:
            return None
        # One step may not lead from below all levels to above them all (docs/proofs/shuffle-flow.md, section 5).
        if rate * largest >= 2.0 * level:
            return None
        profile = FlowProfile(alpha0, items, clones, least, level, rate)
        reached = profile.mu_upper(1.0)
        if reached <= guess:
            return profile
        guess = reached * 1.001
    return None


def flow_profile(
    alpha0: Exact,
    *,
    reports: int,
    items: int,
    delta: Exact,
    clones: str = "strong",
    least_distance: Exact | None = None,
) -> FlowProfile | None:
    """The GDP profile of a shuffled release for use at ``delta``; None where nothing beyond composition can be said.

    >>> flow_profile(1, reports=2, items=1, delta="1e-6") is None
    True
    """
    n, m = reports_and_items(reports, items)
    small, least = open_delta(delta, "flow"), least_down(least_distance)
    head, floor = small * (1.0 - 2.0 * _FLOOR_SHARE), small * _FLOOR_SHARE
    return _profile(alpha0_up(alpha0), float_down(Fraction(n)), m, head, floor, _clones(clones), least)


def tail_profile(
    alpha0: Exact, *, reports: int, items: int, tail: float, clones: str, least_distance: Exact | None
) -> FlowProfile | None:
    """The profile whose ``head_upper`` is at most ``tail``: for composition, where heads add up."""
    n, m = reports_and_items(reports, items)
    end, least = tail * (1.0 - 1e-6), least_down(least_distance)
    return _profile(alpha0_up(alpha0), float_down(Fraction(n)), m, end, end, _clones(clones), least)


def flow_alpha_upper(
    alpha0: Exact,
    *,
    reports: int,
    items: int,
    delta: Exact,
    clones: str = "strong",
    least_distance: Exact | None = None,
) -> float:
    """The alpha, rounded up, that ``reports`` shuffled reports cost at ``delta``; never more than alpha0 m.

    >>> round(flow_alpha_upper(3, reports=10**8, items=1000, delta="1e-12"), 1)
    8.3
    """
    n, m = reports_and_items(reports, items)
    a0 = alpha0_up(alpha0)
    profile = flow_profile(Fraction(a0), reports=n, items=m, delta=delta, clones=clones, least_distance=least_distance)
    pure = float_up(Fraction(a0) * m)
    return pure if profile is None else min(pure, profile.alpha_upper(open_delta(delta, "flow")))


def flow_alpha0_lower(
    alpha: Exact,
    *,
    reports: int,
    items: int,
    delta: Exact,
    clones: str = "strong",
    least_distance: Exact | None = None,
) -> float:
    """The largest alpha0, rounded down, certified for (alpha, delta)-EMD-DP; never less than alpha/m.

    >>> 4.395 < flow_alpha0_lower(25, reports=10**8, items=1000, delta="1e-12") < 4.41
    True
    """
    n, m = reports_and_items(reports, items)
    kind, least, small = _clones(clones), least_down(least_distance), open_delta(delta, "flow")
    target, n_float = alpha_down(alpha), float_down(Fraction(n))
    pure = float_down(Fraction(target) / m)

    def is_safe(alpha0: float) -> bool:
        if alpha0 <= pure:
            return True
        if alpha0 > LARGEST_ALPHA0 or alpha0 < 1e-290:
            return False
        profile = _profile(alpha0, n_float, m, small * (1.0 - 2.0 * _FLOOR_SHARE), small * _FLOOR_SHARE, kind, least)
        return profile is not None and profile.holds(target, small)

    low = high = pure
    while high <= LARGEST_ALPHA0 and is_safe(high):
        low, high = high, 2.0 * high
    return low if high <= low else largest_safe(is_safe, low, high, relative=1e-10)
