"""What an event costs: the one map from events to guarantees. An event that is not known is refused.

An event with a closed form prices itself (:mod:`barrow.promises.events`); an accountant with the same methods answers
in place of shuffled reports and of samples. Proofs: docs/proofs/gaussian.md, docs/proofs/worst-case.md,
docs/proofs/sampling.md, docs/proofs/projection.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from barrow import accounting
from barrow.accounting.inputs import SMALLEST_DELTA, alpha_down, open_delta
from barrow.errors import ParameterError
from barrow.numerics import Exact, float_down, float_up, gdp_mu_lower
from barrow.promises import (
    DiscreteEmd,
    Emd,
    Event,
    GaussianNoise,
    Guarantee,
    Model,
    SampledItems,
    ShuffledReports,
    UserLevel,
)
from barrow.promises.definitions import positive
from barrow.promises.events import LEAST_EPSILON
from barrow.promises.pairs import UP, Pair

_SHARES = (1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.99, 0.999)
"""Shares of delta tried for the projection when the inner release needs some delta as well."""
_ONE = Fraction(1)


class Accountant(Protocol):
    """What is asked of an event with a closed form, or of who answers in its place."""

    def epsilon_at(self, share: Fraction, reach: Fraction, delta: Fraction) -> Fraction:
        """What it costs at a promise."""

    def within(self, w: Fraction, delta: Fraction) -> tuple[Fraction, str]:
        """The smallest certified epsilon at every EMD up to ``w``, and the method."""

    def guarantee(self) -> Guarantee:
        """The best certified guarantee."""

    def pair(self, tail: Fraction, projection: Fraction) -> Pair:
        """A pair that dominates it."""


def accountant(event: Event) -> Accountant:
    """Who says what an event costs: an accountant where there is no closed form, else the event itself.

    >>> from barrow.promises import PureRelease
    >>> accountant(PureRelease(5, model="central")).within(Fraction(1, 5), Fraction(0))
    (Fraction(1, 1), 'pure')
    """
    if isinstance(event, ShuffledReports):
        return accounting.ShuffledAccountant(event)
    return SampledAccountant(event) if isinstance(event, SampledItems) else event


def epsilon_at(event: Event, share: Fraction, reach: Fraction, delta: Fraction) -> Fraction:
    """What a release costs at a promise: the one formula of plans, candidates, statements and the ledger.

    Args:
        event: What the mechanism does.
        share: What share of a person's items moves, in (0, 1].
        reach: How far on average, as a share of the diameter (:meth:`barrow.promises.RecordMap.reach_upper`).
        delta: At which it is stated.

    >>> noise = GaussianNoise(mu=3, delta="1e-9", model="central")
    >>> round(float(epsilon_at(noise, Fraction(1, 30), Fraction(1), noise.delta)), 4)
    0.5351
    >>> reports = ShuffledReports("4.4", reports=10**6, items=100, delta="1e-9", model="central")
    >>> round(float(epsilon_at(reports, Fraction(1, 30), Fraction(1), reports.delta)), 4)
    0.6905
    """
    if reach == 0:  # nothing that it reads has changed: both versions have one law
        return LEAST_EPSILON
    return accountant(event).epsilon_at(share, reach, delta)


def price(event: Event) -> Guarantee:
    """The best certified guarantee of one release.

    >>> from barrow.promises import PureRelease
    >>> print(price(PureRelease(5, model="central")))
    (α=5, δ=0)-unbounded EMD-DP (central) by pure [def:emd-dp]
    >>> reports = ShuffledReports("4.4", reports=10**8, items=1000, delta="1e-12", model="central")
    >>> price(reports).method
    'flow_strong'
    """
    if not isinstance(event, Event):
        raise ParameterError(f"The event is {event!r}.", allowed="an event of barrow.promises", fix="plan.event")
    return accountant(event).guarantee()


def gaussian_mu_lower(alpha: Exact, delta: Exact) -> float:
    """The largest mu, rounded down, for which noise sigma = ell/(n mu) is (alpha, delta)-EMD-DP.

    >>> round(gaussian_mu_lower(25, "1e-12"), 9)
    2.990999468
    """
    return gdp_mu_lower(alpha_down(alpha), open_delta(delta, "Gaussian noise"))


def gaussian_alpha_upper(mu: Exact, delta: Exact) -> float:
    """The smallest alpha, rounded up, at which Gaussian noise of this mu is (alpha, delta)-EMD-DP.

    >>> round(gaussian_alpha_upper(3, "1e-12"), 4)
    25.0896
    """
    number = float_up(positive(mu, "mu"))
    if not number < 1e150:
        raise ParameterError(f"mu is {number:g}.", allowed="a number below 1e150", fix="mu=3")
    slack = Fraction(open_delta(delta, "Gaussian noise"))
    return float(GaussianNoise(Fraction(number), delta=slack, model=Model.CENTRAL).epsilon_at(_ONE, _ONE, slack))


@lru_cache(maxsize=64)
def _inner_costs(inner: Event, delta: Fraction) -> tuple[Fraction | None, Fraction]:
    """Alpha of a release on samples, None where it has none, and its epsilon at EMD 1, both at ``delta``."""
    alpha = None if inner.whole_user else price(inner.at_delta(delta)).definition.loss
    return alpha, accountant(inner).within(_ONE, delta)[0]


@dataclass(frozen=True)
class SampledAccountant:
    """Says of samples what an event with a closed form says of itself, by the price of what was released about them."""

    event: SampledItems

    def epsilon_at(self, share: Fraction, reach: Fraction, delta: Fraction) -> Fraction:
        """By the alpha of the inner release, or by its epsilon at EMD 1 where that is less.

        Where the event has a radius, its guarantee goes by the distance of the samples as well, and so does its cost.
        """
        event, w = self.event, share * reach
        if w == 0:
            return Fraction(0)
        if event.radius is not None:
            return price(event.at(w).at_delta(delta)).definition.loss
        alpha, farthest = _inner_costs(event.inner, delta)
        return (
            farthest
            if alpha is None
            else min(farthest, Fraction(accounting.sampled_epsilon_upper(alpha, event.samples, w)))
        )

    def within(self, w: Fraction, delta: Fraction) -> tuple[Fraction, str]:
        """Samples of samples have no price."""
        return self.epsilon_at(_ONE, w, delta), "sampling"

    def guarantee(self) -> Guarantee:
        """In alpha, or at the event's radius by the best of three proofs."""
        event = self.event
        inner, delta, model, s = event.inner, event.delta, event.model, event.samples
        inner.check_sampled(s)
        farthest, far_method = accountant(inner).within(_ONE, delta)
        worst = UserLevel(max(farthest, LEAST_EPSILON), delta, model=model)
        known = None if inner.whole_user else price(inner.at_delta(delta))
        if event.radius is None:
            if known is None:
                return Guarantee(worst, f"all_distances/{far_method}", "docs/proofs/projection.md", worst)
            alpha = Fraction(accounting.sampled_alpha_upper(known.definition.loss, s))
            definition = Emd(max(alpha, LEAST_EPSILON), known.definition.delta, model=model)
            return Guarantee(definition, f"sampling/{known.method}", "docs/proofs/sampling.md", worst)
        # Three proofs about one release: the smallest holds. Without sampling's help the inner epsilon at EMD 1 does.
        best, method, page = farthest, f"all_distances/{far_method}", "docs/proofs/projection.md"
        if known is not None:
            value = Fraction(accounting.sampled_epsilon_upper(known.definition.loss, s, event.radius))
            if value < best:
                best, method, page = value, f"sampling/{known.method}", "docs/proofs/sampling.md"
            value, name = self._by_projection(event.radius, best)
            if value < best:
                best, method, page = value, name, "docs/proofs/projection.md"
        definition_at = DiscreteEmd(max(best, LEAST_EPSILON), delta, radius=event.radius, model=model)
        return Guarantee(definition_at, method, page, worst)

    def _by_projection(self, radius: Fraction, best: Fraction) -> tuple[Fraction, str]:
        """The smallest epsilon through the distance of the samples; ``best`` where it is not smaller."""
        inner, delta, method = self.event.inner, self.event.delta, ""
        for part in (1.0,) if inner.pure else _SHARES:
            delta_p = delta if part == 1.0 else delta * Fraction(part)
            left = delta - delta_p
            if delta_p < SMALLEST_DELTA or (not inner.pure and left < SMALLEST_DELTA):
                continue
            c, projection = accounting.best_projection(radius, self.event.samples, delta_p)
            result, name = accountant(inner).within(Fraction(c), left)
            if result < best:
                best, method = result, f"{projection}/{name}"
        return best, method

    def pair(self, tail: Fraction, projection: Fraction) -> Pair:
        """That of the inner release, at the distance of the samples; or a pure one at every distance."""
        event = self.event
        if event.radius is None and projection > 0:
            return self._pure_pair(projection)
        inner = accountant(event.inner).pair(tail, Fraction(0))
        if projection == 0 or event.radius is None or event.inner.whole_user:
            return Pair(inner.kind, lambda w: inner.at(1.0), inner.delta, math.inf)
        c, _ = accounting.best_projection(event.radius, event.samples, projection)
        # At EMD up to the radius the samples are within c; farther away within 1.
        near = float_down(event.radius)
        return Pair(inner.kind, lambda w: inner.at(c if w <= near else 1.0), inner.delta + projection, math.inf)

    def _pure_pair(self, delta: Fraction) -> Pair:
        """Samples as a pure pair at every distance, beside the delta at which their inner release is priced."""
        rate, s = price(self.event.inner.at_delta(delta)).definition, self.event.samples
        alpha = rate.loss

        def at(w: float) -> float:
            return accounting.sampled_epsilon_upper(alpha, s, Fraction(min(w, 1.0))) * UP

        return Pair("pure", at, rate.delta, accounting.sampled_alpha_upper(alpha, s) * UP)
