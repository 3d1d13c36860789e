"""The flow accountant for a known randomiser: the same chain with the profile of its own blanket.

With g(y) = min_x A[x, y] every report is, with probability g(y), the output y whatever its item. One change from x to
x' is then governed by V(s) = min_c [c s + e(c)] with e(c) = (1/N) E(xi_1 + ... + xi_N)_+, where xi is, with
probability g(y), and else 0,

    xi = ((A[x,y] - A[x',y]) - c (A[x,y] + A[x',y]))/(2 g(y)),

a sum of independent few-valued variables. e(c) is a contour integral of its moment generating function; the sum that
approximates it is computed, and its truncation and discretisation errors are bounded and added. kappa of each class of
changes follows as for clones. The result may exceed the black-box limit, which is about unknown randomisers.
Proofs: docs/proofs/blanket.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.accounting.excess import log_excess_upper, rate_of_excess
from barrow.accounting.flow import _FLOOR_SHARE, FlowProfile
from barrow.accounting.inputs import alpha_down, open_delta, reports_and_items
from barrow.accounting.profile import LARGEST_LEVEL, inflation_upper
from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, float_down, largest_safe, short_down, whole
from barrow.numerics.gdp import gdp_epsilon_upper
from barrow.promises.channels import EvenClusters
from barrow.promises.definitions import share

Floats = NDArray[np.float64]

_LINES = 140
_FEW = 20
"""Lines of a first, coarse look at the rates, from which the level is chosen."""
_LARGEST = 150.0
"""Beyond this alpha0 a blanket of e^-alpha0 hides nothing, and squares of e^alpha0 would leave the doubles."""
_STEPS = 7
_STEEP = 1.5
"""Steps of the search for alpha0, and how steeply alpha is taken to grow with alpha0 before that is known."""
_BITS = 16
"""Binary digits of every alpha0 that is tried: a client must find the same one as whoever published its card."""

ENTRY = 4e-12
"""What a rate allows for: probabilities, twice rounded and matched with others, that are off by a relative ENTRY."""


def with_entries(rate: float) -> float:
    """A rate that still holds where each probability is off by a relative ``ENTRY``."""
    return rate * (1.0 + 2.0 * ENTRY) + 6.0 * ENTRY


@dataclass(frozen=True)
class ResponseRandomiser(EvenClusters):
    """GKRR on ``clusters`` x ``members`` items: weights e^alpha0 itself, e^((1-r) alpha0) its cluster, 1 elsewhere.

    Items of a cluster are ``radius`` apart, items of different clusters 1. ``members=1`` is k-ary randomised response.

    >>> ResponseRandomiser(10, 10, "0.05").name
    'gkrr:10x10:0.05'
    """

    def __init__(self, clusters: int, members: int = 1, radius: Exact = 1) -> None:
        sizes = whole(clusters, "clusters"), whole(members, "members")
        vars(self).update(clusters=sizes[0], members=sizes[1], radius=share(radius, "radius"))
        if self.clusters < 2:
            raise ParameterError(
                "A response randomiser of one cluster has no items at distance 1.",
                allowed="two clusters or more",
                fix="clusters=2",
            )

    @property
    def least_distance(self) -> Fraction:
        """The least distance of two items of its space.

        >>> ResponseRandomiser(10, 10, "0.05").least_distance
        Fraction(1, 20)
        """
        return self.radius if self.members > 1 else Fraction(1)

    def changes(self, alpha0: float) -> list[tuple[float, Floats]]:
        """The classes of changes: distance, and rows (how many outputs, A[x,y]/g, A[x',y]/g, g)."""
        s, t, r = self.clusters, self.members, float(self.radius)
        own, near = math.exp(alpha0), math.exp((1.0 - r) * alpha0)
        least = 1.0 / (own + (t - 1) * near + (s - 1) * t)
        across = [
            (1, own, 1.0),
            (1, 1.0, own),
            (t - 1, near, 1.0),
            (t - 1, 1.0, near),
            ((s - 2) * t, 1.0, 1.0),
        ]
        results = [(1.0, across)]
        if t > 1:
            results.append((r, [(1, own, near), (1, near, own), (t - 2, near, near), ((s - 1) * t, 1.0, 1.0)]))
        return [
            (d, np.array([(count, a, b, least) for count, a, b in rows if count > 0], dtype=np.float64))
            for d, rows in results
        ]


def parse_randomiser(text: str) -> ResponseRandomiser:
    """The randomiser called ``krr:K`` or ``gkrr:SxT:R``.

    >>> parse_randomiser("gkrr:10x10:0.05") == ResponseRandomiser(10, 10, "0.05")
    True
    """
    kind, _, rest = text.partition(":")
    try:
        if kind == "krr":
            return ResponseRandomiser(int(rest))
        if kind == "gkrr":
            sizes, _, radius = rest.partition(":")
            clusters, _, members = sizes.partition("x")
            return ResponseRandomiser(int(clusters), int(members), exact(radius, "radius"))
    except ParameterError:
        raise
    except ValueError:
        pass
    raise ParameterError(
        f"The randomiser {text!r} is not known.",
        allowed="krr:K (K-ary randomised response) or gkrr:SxT:R (S clusters of T items, R apart)",
        fix="--randomiser gkrr:10x10:0.05",
    )


@dataclass(frozen=True)
class _Excess:
    """e(c) of one class of changes among N reports."""

    rows: Floats
    reports: float

    def _values(self, c: float) -> tuple[Floats, Floats]:
        count, a, b, least = self.rows.T
        return count * least, ((a - b) - c * (a + b)) / 2.0

    def deviation(self, c: float) -> float:
        """The standard deviation of the sum."""
        mass, xi = self._values(c)
        return math.sqrt(self.reports * (float(np.dot(mass, xi * xi)) - c * c))

    def log_upper(self, c: float) -> float:
        """The logarithm of e(c), rounded up (docs/proofs/blanket.md)."""
        mass, xi = self._values(c)
        return log_excess_upper(mass, xi, c, self.reports)


def class_rate_upper(rows: Floats, reports: float, level: float, *, lines: int = _LINES) -> float:
    """The kappa of one class of changes, rounded up; infinite where nothing can be said.

    More ``lines`` are tighter; any number is valid.
    """
    excess = _Excess(rows, reports)

    def log_upper(c: float) -> float:
        # Only |c| <= 1 matters, and near 1 the sum has almost no positive part left to integrate.
        return excess.log_upper(c) if c < 0.9 else math.inf

    return rate_of_excess(log_upper, level * excess.deviation(0.0) / reports, level, lines=lines)


def blanket_profile(
    randomiser: ResponseRandomiser, alpha0: float, *, reports: int, items: int, delta: Exact
) -> FlowProfile | None:
    """The GDP profile of a shuffled release of this randomiser; None where nothing can be said.

    >>> profile = blanket_profile(ResponseRandomiser(10), 1.0, reports=10**6, items=100, delta="1e-9")
    >>> profile.holds(25.0, 1e-9)
    True
    """
    n, m = reports_and_items(reports, items)
    small = open_delta(delta, "blanket")
    return _profile(randomiser, alpha0, n, m, small * (1.0 - 2.0 * _FLOOR_SHARE), small * _FLOOR_SHARE)


def blanket_tail_profile(
    randomiser: ResponseRandomiser, alpha0: float, *, reports: int, items: int, tail: float
) -> FlowProfile | None:
    """The profile whose ``head_upper`` is at most ``tail``: for composition, where heads add up."""
    n, m = reports_and_items(reports, items)
    return _profile(randomiser, alpha0, n, m, tail * (1.0 - 1e-6), tail * (1.0 - 1e-6))


@lru_cache(maxsize=64)
def _profile(
    randomiser: ResponseRandomiser, alpha0: float, n: int, m: int, head: float, floor: float
) -> FlowProfile | None:
    """The profile whose tests below Phi(-L) have power at most ``head``, with Phi(-L) <= ``floor``."""
    if alpha0 > _LARGEST:
        return None
    n_float = float_down(Fraction(n))
    # A blanket a little smaller than it is allows for probabilities that are good to a relative ENTRY/4.
    less = np.array([1.0, 1.0 / (1.0 - ENTRY), 1.0 / (1.0 - ENTRY), 1.0 - ENTRY])
    changes = [(d, rows * less) for d, rows in randomiser.changes(alpha0)]
    below, deepest = -float(heavy.special.ndtri_exp(math.log(head))), -float(heavy.special.ndtri_exp(math.log(floor)))
    first_order = max(_Excess(rows, n_float).deviation(0.0) for _, rows in changes) * 2.0 / n_float
    guess = m * first_order * 1.001
    # Few lines tell roughly how deep the level has to be; then all of them, once if the look was right.
    for lines in (_FEW, _LINES, _LINES, _LINES):
        level = max(below + guess, deepest)
        if not level <= min(LARGEST_LEVEL, 38.0):
            return None
        rates = {d: with_entries(class_rate_upper(rows, n_float, level, lines=lines)) for d, rows in changes}
        largest = max(rates.values())
        if not largest < math.inf:
            return None
        inflation = inflation_upper(largest, level)
        if not inflation < math.inf or inflation * largest >= 2.0 * level:
            return None
        profile = FlowProfile(alpha0, m, "standard", *_knots(rates, level, inflation))
        reached = profile.mu_upper(1.0)
        if lines == _LINES and reached <= guess:
            return profile
        guess = max(guess, reached * 1.001) if lines == _LINES else max(guess, reached)
    return None


def _knots(
    rates: dict[float, float], level: float, rate: float
) -> tuple[float, float, float, tuple[tuple[float, float], ...]]:
    """Least distance, level, rate and the concave majorant of the classes' rates over {0} and their distances."""
    far = max(rates.values())
    near = min(rates)
    if near < 1.0 and rates[near] > near * far:
        return near, level, rate, ((near, rates[near]), (1.0, far))
    return 1.0, level, rate, ((0.0, 0.0), (1.0, far))


def blanket_alpha_upper(
    randomiser: ResponseRandomiser, alpha0: float, *, reports: int, items: int, delta: Exact
) -> float:
    """The alpha, rounded up, that shuffled reports of this randomiser cost; never more than alpha0 m.

    >>> 0 < blanket_alpha_upper(ResponseRandomiser(10), 1.0, reports=10**6, items=100, delta="1e-9") < 25
    True
    """
    profile = blanket_profile(randomiser, alpha0, reports=reports, items=items, delta=delta)
    pure = alpha0 * items * (1.0 + 1e-12)
    return pure if profile is None else min(pure, profile.alpha_upper(open_delta(delta, "blanket")))


def blanket_alpha0_lower(
    alpha: Exact, randomiser: ResponseRandomiser, *, reports: int, items: int, delta: Exact, above: float = 0.0
) -> float:
    """The largest alpha0, rounded down, certified for this randomiser; never less than alpha/m.

    ``above`` is where to look, e.g. what another method allows; it is not taken for granted.

    >>> result = blanket_alpha0_lower(25, ResponseRandomiser(10), reports=10**6, items=1000, delta="1e-9")
    >>> result > 0.025
    True
    """
    n, m = reports_and_items(reports, items)
    target, small = alpha_down(alpha), open_delta(delta, "blanket")
    pure = float_down(Fraction(target) / m)

    def cost(alpha0: float) -> float:
        profile = blanket_profile(randomiser, alpha0, reports=n, items=m, delta=Fraction(small))
        return math.inf if profile is None else profile.alpha_upper(small)

    return search_alpha0(cost, first_order(target, randomiser, n, m, small), pure, target, above=above)


def first_order(target: float, randomiser: ResponseRandomiser, n: int, m: int, small: float) -> Callable[[float], bool]:
    """Whether an alpha0 fits by its first-order rates, which certified ones exceed: quick, and no certificate."""

    def fits(alpha0: float) -> bool:
        if alpha0 > _LARGEST:
            return False
        # The rates at w = 1 and at the least distance.
        rates = {d: 2.0 * _Excess(rows, float(n)).deviation(0.0) / n for d, rows in randomiser.changes(alpha0)}
        return all(gdp_epsilon_upper(min(m * k, 1e6), small) <= target * d for d, k in rates.items())

    return fits


def largest_fit(fits: Callable[[float], bool], least: float, relative: float) -> float:
    """About the largest alpha0 that fits, from ``least`` on."""
    low, high = least, max(2.0 * least, 1e-6)
    while high < 100.0 and fits(high):
        low, high = high, 2.0 * high
    return largest_safe(fits, low, high, relative=relative) if fits(low) else least


def search_alpha0(
    alpha_of: Callable[[float], float],
    fits: Callable[[float], bool],
    pure: float,
    target: float,
    *,
    above: float = 0.0,
    within: float = 1e-3,
    steep: float = _STEEP,
) -> float:
    """The largest alpha0 that was found to cost at most ``target``; ``pure`` where nothing better was found.

    Args:
        alpha_of: alpha0 to a certified alpha; only what it says decides.
        fits: A quick guess at whether an alpha0 fits, to know where to look.
        pure: An alpha0 that is safe in any case.
        target: The alpha to stay within.
        above: An alpha0 that may be safe: where nothing can be said, the search goes back towards it.
        within: How near to the target, relatively, a price ends the search.
        steep: How steeply alpha is taken to grow with alpha0 before that is known.
    """
    guess, best = largest_fit(fits, pure, 0.1 * within), pure
    # A few secant steps, in logarithms, towards the target; only an alpha0 that was priced within it is returned.
    power, last = 1.0 / steep, (0.0, 0.0)
    for _ in range(_STEPS):
        guess = short_down(guess, _BITS)
        if guess <= best:
            break
        cost = alpha_of(guess)
        if cost <= target:
            best = guess
            if cost > target * (1.0 - within):
                break
        if math.isinf(cost):
            floor = max(best, min(above, guess * 0.99))
            guess = max(guess * 0.8, math.sqrt(guess * floor) if floor > 0.1 * guess else 0.0)
            continue
        here = (math.log(guess), math.log(cost))
        run, rise = here[0] - last[0], here[1] - last[1]
        if last[0] and run * rise > 0.0:
            power = min(max(run / rise, 0.05), 3.0)
        last = here
        guess *= min(max((target * (1.0 - 0.3 * within) / cost) ** power, 0.6), 1.5)
    return best
