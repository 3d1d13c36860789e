"""Composition over releases (theory B8): what a list of stored events costs together.

Additively, alphas and deltas add. Tighter, at each distance w: K-norm releases are Laplace pairs with parameter
alpha_i w, other pure releases randomised-response pairs, Gaussian and shuffled ones mu_i(w)-GDP; the pairs are composed
numerically, rounding up, and the largest eps(w)/w over all w is reported, bounded cell by cell. The answer is never
more than the additive one and never less than what is proved. Proofs: docs/proofs/composition.md.

Privacy losses on a grid: Laplace and randomised-response pairs, composed by convolution, rounded up.

A pair is described by the distribution, under the first of it, of its loss ln(P/Q). Mass between two grid points is
moved to them so that both its P-mass and its Q-mass are kept: the divergence, a convex function of e^eps, is replaced
by its chords, so the new pair dominates the old one (docs/proofs/composition.md), and domination survives products.
All masses are positive, and convolution adds products of them, so nothing cancels.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from barrow.accounting.inputs import SMALLEST_DELTA
from barrow.accounting.pricing import accountant, epsilon_at, price
from barrow.errors import ParameterError
from barrow.numerics import Exact, float_down, float_up, gdp_delta_upper
from barrow.numerics.gdp import gdp_delta_upper_array, gdp_epsilon_upper
from barrow.promises import Definition, DiscreteEmd, Emd, Event, Guarantee, Model, UserLevel
from barrow.promises.definitions import probability
from barrow.promises.events import LEAST_EPSILON
from barrow.promises.pairs import UP, Pair

_PAGE = "docs/proofs/composition.md"
_TAIL_SHARE = Fraction(1, 1000)
_PROJECTION_SHARE = Fraction(1, 2)
_TOLERANCE = 4e-3
"""How far above the largest rate seen a cell may be bounded; it is the looseness of the numeric composition."""


def _epsilon_at(parts: Sequence[Pair], w: float, delta: float) -> float:
    """The smallest certified epsilon of all parts together at every distance up to ``w``; delta > 0."""
    mu = math.sqrt(math.fsum(p.times * p.at(w) ** 2 for p in parts if p.kind == "gaussian")) * UP
    laplace = [e for p in parts if p.kind == "laplace" for e in [p.at(w)] * p.times]
    pure = [e for p in parts if p.kind == "pure" for e in [p.at(w)] * p.times]
    total = (math.fsum(laplace) + math.fsum(pure)) * UP
    if total == 0.0:
        return gdp_epsilon_upper(mu, delta) if mu > 0.0 else 0.0
    ceiling = total + (gdp_epsilon_upper(mu, delta) if mu > 0.0 else 0.0)
    return composed_epsilon_upper(compose_losses(laplace, pure), mu, delta, ceiling * UP)


def largest_rate(parts: Sequence[Pair], delta: float, enough: float) -> float:
    """The largest eps(w)/w over w in (0, 1], rounded up; infinite once it is known to reach ``enough``.

    Cells are laid from w = 1 down: [low, high] is safe at rate eps(high)/low, so low is chosen to keep that just above
    the largest eps(high)/high seen so far. Where epsilon is 0 it is 0 at every smaller distance.
    """
    gaussian_only = all(p.kind == "gaussian" for p in parts)
    steep = math.sqrt(math.fsum(p.times * p.slope**2 for p in parts)) * UP
    if gaussian_only and all(p.at(1.0) >= p.slope for p in parts):
        # mu(w) is linear, so w = 1 is the worst distance (B1).
        return gdp_epsilon_upper(steep, delta) * UP
    # A coarse look first: with the largest rate known, cells away from it may be wide.
    best = max(_epsilon_at(parts, 2.0**-j, delta) * 2.0**j for j in range(0, 21, 2))
    best = max(best, max(_epsilon_at(parts, cap, delta) / cap for cap in {p.cap for p in parts}))
    high, rate = 1.0, 0.0
    while True:
        epsilon = _epsilon_at(parts, high, delta)
        best = max(best, epsilon / high)
        if best >= enough:
            return math.inf
        if epsilon == 0.0:
            return rate * UP
        if gaussian_only and gdp_delta_upper(steep * high, best * high) <= delta:
            # Below here mu is at most its slope at 0 times w, for which this w is the worst (B1).
            return max(rate, best * (1.0 + _TOLERANCE)) * UP
        low = min(epsilon / (best * (1.0 + _TOLERANCE)), high * (1.0 - 1e-9))
        rate = max(rate, epsilon / low)
        high = low


def _distances(events: Sequence[Event]) -> tuple[str, Fraction]:
    """Which definition the composition can have, and the distance at which it is taken."""
    if any(e.base_event.whole_user for e in events if e.radius is None):
        return "user", Fraction(1)
    radii = [e.radius for e in events if e.radius is not None]
    return ("discrete", min(radii)) if radii else ("emd", Fraction(1))


def _additive(events: Sequence[Event], delta: Fraction, kind: str, w: Fraction) -> Fraction:
    """The sum of the prices, each at its share of delta, as alpha (kind emd) or as epsilon within ``w``."""
    stored = [e.delta for e in events]
    asking = sum(not e.pure for e in events)
    keep = sum(stored, Fraction(0)) <= delta
    known: dict[tuple[Event, Fraction], Fraction] = {}
    total = Fraction(0)
    for event, own in zip(events, stored, strict=True):
        share = own if keep or event.pure else delta / asking
        if (event, share) not in known:
            known[event, share] = _single(event, share, kind, w)
        total += known[event, share]
    return total


def _single(event: Event, delta: Fraction, kind: str, w: Fraction) -> Fraction:
    if kind == "emd":
        return price(event.at_delta(delta)).definition.loss
    if event.base_event is event:
        return epsilon_at(event, Fraction(1), w, delta)
    guarantee = price((event.at(w) if event.radius is None else event).at_delta(delta))
    return (guarantee.worst_case if kind == "user" and guarantee.worst_case else guarantee.definition).loss


def _check(events: Sequence[Event], delta: Fraction) -> None:
    if not events:
        raise ParameterError("There are no events to compose.", allowed="one event or more", fix="price(event)")
    fixed = sum((e.delta for e in events if e.whole_user), Fraction(0))
    approximate = any(e.base_event.needs_delta for e in events)
    if (approximate and delta < SMALLEST_DELTA) or fixed > delta:
        raise ParameterError(
            f"delta is {float(delta):g}, but the releases need more.",
            allowed=f"more than {float(fixed):g}" if fixed > delta else "a number above 0 (Gaussian noise is not pure)",
            fix="delta=1e-9",
        )


def _numeric(events: Sequence[Event], delta: Fraction, kind: str, w: Fraction, enough: Fraction) -> Fraction | None:
    """The numerically composed alpha or epsilon; None where delta leaves no room for it.

    Samples with a radius have two pairs that dominate them, one through the distance of the samples and one through
    the alpha of their inner release: both are tried.
    """
    ways = [list(events)]
    if kind == "discrete":
        ways.append([e if e.base_event.whole_user else e.at(None) for e in events])
    results = [x for way in ways if (x := _composed(way, delta, kind, w, enough)) is not None]
    return min(results, default=None)


def _composed(events: Sequence[Event], delta: Fraction, kind: str, w: Fraction, enough: Fraction) -> Fraction | None:
    tails, sampled = sum(e.base_event.has_tail for e in events), sum(e.base_event is not e for e in events)
    tail = delta * _TAIL_SHARE / max(tails, 1)
    projection = delta * _PROJECTION_SHARE / max(sampled, 1) if kind != "user" else Fraction(0)
    parts = [replace(accountant(e).pair(tail, projection), times=count) for e, count in Counter(events).items()]
    room = delta - sum((p.delta * p.times for p in parts), Fraction(0))
    if room < SMALLEST_DELTA:
        return None
    if kind == "emd":
        rate = largest_rate(parts, float_down(room), float_up(enough))
        return None if math.isinf(rate) else Fraction(rate)
    return Fraction(_epsilon_at(parts, float_down(w), float_down(room)))


def compose(events: Sequence[Event], delta: Exact) -> Guarantee:
    """The guarantee of all releases together at a total ``delta``: the better of the additive and the numeric one.

    A list with user-level releases has a user-level guarantee; else a list with sampled items of a radius has a
    discrete one of the smallest radius; else it is EMD-DP, bounded if one of the releases is.

    >>> from barrow.promises import KNormNoise
    >>> laplace = [KNormNoise("0.2", model="central")] * 20
    >>> guarantee = compose(laplace, "1e-6")
    >>> guarantee.method, 3.6 < guarantee.definition.alpha < 3.7
    ('composition_numeric', True)
    >>> print(compose(laplace, 0).definition)
    (α=4, δ=0)-unbounded EMD-DP (central)
    """
    listed, total = list(events), probability(delta)
    _check(listed, total)
    kind, w = _distances(listed)
    best, method = _additive(listed, total, kind, w), "composition_additive"
    if total > 0 and len(listed) > 1:
        result = _numeric(listed, total, kind, w, best)
        if result is not None and 0 < result < best:
            best, method = result, "composition_numeric"
    order = list(Model)
    model = max((e.model for e in listed), key=order.index)
    bounded = any(e.bounded for e in listed)
    best = max(best, LEAST_EPSILON)
    definition: Definition
    if kind == "user":
        definition = UserLevel(best, total, model=model, bounded=bounded)
    elif kind == "discrete":
        definition = DiscreteEmd(best, total, radius=w, model=model)
    else:
        definition = Emd(best, total, model=model, bounded=bounded)
    if len(listed) == 1 and method == "composition_additive":
        return price(listed[0].at_delta(total))
    return Guarantee(definition, method, _PAGE, _worst_case(listed, total, kind, definition, model, bounded))


def _worst_case(
    events: Sequence[Event], delta: Fraction, kind: str, definition: Definition, model: Model, bounded: bool
) -> UserLevel | None:
    """The epsilon at w = 1, where it is below alpha times the diameter."""
    if kind == "user":
        return UserLevel(definition.loss, delta, model=model, bounded=bounded)
    best = _additive(events, delta, "user", Fraction(1))
    if delta > 0:
        result = _numeric(events, delta, "user", Fraction(1), best)
        best = best if result is None else min(best, max(result, LEAST_EPSILON))
    if kind == "emd" and best >= definition.loss:
        return None
    return UserLevel(best, delta, model=model, bounded=bounded)


Floats = NDArray[np.float64]

_GRID = 1000
"""Grid points for up to 50 releases; the number grows with that of releases, up to three times as many."""
_ROUNDING = 1.0 + 1e-10
"""Bounds the relative rounding of masses, products and sums; it multiplies every delta."""


@dataclass(frozen=True)
class LossGrid:
    """Masses under P of losses (first + i) * step."""

    first: int
    step: float
    masses: Floats

    @property
    def losses(self) -> Floats:
        """The losses, one for each mass."""
        return self.step * (self.first + np.arange(self.masses.size, dtype=np.float64))


def _add_point(masses: Floats, first: int, step: float, loss: float, mass: float) -> None:
    """Split a point between its two neighbours on the grid, keeping its P-mass and its Q-mass."""
    index = math.floor(loss / step)
    into = min(max(loss - index * step, 0.0), step)
    upper = -math.expm1(-into) / -math.expm1(-step)
    lower = math.expm1(step - into) / math.expm1(step)
    masses[index - first] += mass * lower
    masses[index - first + 1] += mass * upper


def response_losses(epsilon: float, step: float) -> LossGrid:
    """The randomised-response pair: losses +epsilon and -epsilon."""
    first = -math.ceil(epsilon / step) - 1
    masses = np.zeros(-2 * first + 2)
    _add_point(masses, first, step, epsilon, 1.0 / (1.0 + math.exp(-epsilon)))
    _add_point(masses, first, step, -epsilon, 1.0 / (1.0 + math.exp(epsilon)))
    return LossGrid(first, step, masses)


def laplace_losses(epsilon: float, step: float) -> LossGrid:
    """The Laplace pair of sensitivity ``epsilon``: atoms at both ends, density e^((l - epsilon)/2)/4 between."""
    first = -math.ceil(epsilon / step) - 1
    masses = np.zeros(-2 * first + 2)
    _add_point(masses, first, step, epsilon, 0.5)
    _add_point(masses, first, step, -epsilon, 0.5 * math.exp(-epsilon))
    low, high = math.ceil(-epsilon / step), math.floor(epsilon / step)
    if low >= high:
        # The whole density lies within two cells: all of it at the largest loss is a safe place.
        _add_point(masses, first, step, epsilon, -0.5 * math.expm1(-epsilon))
        return LossGrid(first, step, masses)
    cells = np.arange(low, high, dtype=np.float64)
    bend = 2.0 * math.sinh(step / 4.0) ** 2
    masses[low - first : high - first] += np.exp(((cells + 1.0) * step - epsilon) / 2.0) * bend / math.expm1(step)
    masses[low - first + 1 : high - first + 1] += np.exp((cells * step - epsilon) / 2.0) * bend / -math.expm1(-step)
    # The two ends that do not fill a cell: their mass goes to their upper end.
    for a, b in ((-epsilon, low * step), (high * step, epsilon)):
        if b > a:
            mass = 0.5 * math.exp((a - epsilon) / 2.0) * math.expm1((b - a) / 2.0)
            _add_point(masses, first, step, min(b, epsilon), mass)
    return LossGrid(first, step, masses)


def _product(a: LossGrid, b: LossGrid) -> LossGrid:
    return LossGrid(a.first + b.first, a.step, np.convolve(a.masses, b.masses))


def _power(grid: LossGrid, times: int) -> LossGrid:
    result: LossGrid | None = None
    square = grid
    while times:
        if times & 1:
            result = square if result is None else _product(result, square)
        times >>= 1
        if times:
            square = _product(square, square)
    return grid if result is None else result


def compose_losses(laplace: list[float], response: list[float]) -> LossGrid:
    """The distribution of the sum of all losses, on a grid of a few thousand points."""
    total = math.fsum(laplace) + math.fsum(response)
    if total <= 0.0:
        return LossGrid(0, 1.0, np.ones(1))
    releases = len(laplace) + len(response)
    step = 2.0 * total / (_GRID * min(3.0, max(1.0, releases / 50.0)))
    whole: LossGrid | None = None
    for kind, epsilons in ((laplace_losses, laplace), (response_losses, response)):
        for epsilon, times in sorted(Counter(e for e in epsilons if e > 0.0).items()):
            part = _power(kind(epsilon, step), times)
            whole = part if whole is None else _product(whole, part)
    return LossGrid(0, 1.0, np.ones(1)) if whole is None else whole


def composed_delta_upper(grid: LossGrid, mu: float, epsilon: float) -> float:
    """Delta at ``epsilon`` of the discrete part composed with a mu-GDP part, rounded up.

    delta(eps) is the mean of delta_mu(eps - loss) over the losses of the discrete part.
    """
    if mu == 0.0:
        parts = -np.expm1(np.minimum(epsilon - grid.losses, 0.0))
    else:
        parts = gdp_delta_upper_array(mu, epsilon - grid.losses)
    return min(1.0, float(np.dot(grid.masses, parts)) * _ROUNDING)


def composed_epsilon_upper(grid: LossGrid, mu: float, delta: float, ceiling: float) -> float:
    """The smallest epsilon, rounded up, at which it has at most ``delta``; ``ceiling`` if none is below."""
    if composed_delta_upper(grid, mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, ceiling
    if composed_delta_upper(grid, mu, high) > delta:
        return ceiling
    while high - low > 1e-4 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if composed_delta_upper(grid, mu, middle) <= delta else (middle, high)
    return high
