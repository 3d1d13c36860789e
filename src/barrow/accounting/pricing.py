"""What an event costs: the one map from events to guarantees. An event that is not known is refused.

Gaussian noise is mu w-GDP at EMD w, and w = 1 is the worst case for (alpha w, delta) (theory B1), so one equation
prices it. K-norm (Laplace) noise is (alpha w, 0). Both change by at most B/ell of their Lipschitz constant, whatever
the data, which is the worst case in user-level terms (D1). Proofs: docs/proofs/gaussian.md, docs/proofs/worst-case.md.
"""

from __future__ import annotations

from fractions import Fraction

from barrow.accounting.blanket import blanket_profile, parse_randomiser
from barrow.accounting.calibrate import THEOREMS, price_shuffle
from barrow.accounting.flow import FlowProfile, flow_profile
from barrow.accounting.inputs import SMALLEST_DELTA, alpha0_up, alpha_down, open_delta
from barrow.accounting.matrix_blanket import channel_within
from barrow.accounting.sampling import best_projection, sampled_alpha_upper, sampled_epsilon_upper
from barrow.accounting.theorem import theorem_alpha_upper
from barrow.errors import ParameterError
from barrow.numerics import Exact, float_down, float_up, gdp_mu_lower
from barrow.numerics.gdp import gdp_epsilon_upper
from barrow.privacy import (
    DiscreteEmd,
    Emd,
    Event,
    GaussianNoise,
    Guarantee,
    KNormNoise,
    Model,
    PureRelease,
    SampledItems,
    ShuffledReports,
    UserLevel,
    UserLevelRelease,
)
from barrow.privacy.definitions import positive

_SHARES = (1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.99, 0.999)
"""Shares of delta tried for the projection when the inner release needs some delta as well."""
_LEAST = Fraction(1, 10**12)
"""An epsilon of 0 is not a definition; a release that costs less than this is charged this much."""


def refuse(event: object) -> ParameterError:
    """The error for an event that no accountant knows."""
    return ParameterError(
        f"An event of kind {type(event).__name__} has no price.",
        allowed="KNormNoise, GaussianNoise, PureRelease, ShuffledReports, SampledItems or UserLevelRelease",
        fix="install the version of barrow that knows it",
    )


def model_of(event: Event) -> Model:
    """Where the noise of an event was added."""
    if isinstance(event, SampledItems):
        return model_of(event.inner)
    if isinstance(event, KNormNoise | GaussianNoise | PureRelease | ShuffledReports | UserLevelRelease):
        return event.model
    raise refuse(event)


def at_delta(event: Event, delta: Fraction) -> Event:
    """The same event with its guarantee stated at another delta."""
    if isinstance(event, SampledItems):
        inner = at_delta(event.inner, delta)
        return SampledItems(samples=event.samples, radius=event.radius, delta=delta, inner=inner)
    return event.at_delta(delta) if isinstance(event, GaussianNoise | ShuffledReports) else event


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
    return max(float(_LEAST), gdp_epsilon_upper(number, open_delta(delta, "Gaussian noise")))


def price_gaussian(event: GaussianNoise) -> Guarantee:
    """The guarantee of Gaussian noise at its delta, unbounded, with its worst case.

    >>> guarantee = price_gaussian(GaussianNoise(mu=3, delta="1e-12", model="central", range_ratio="0.1"))
    >>> print(guarantee.definition, "|", guarantee.worst_case)
    (α=25.0896, δ=1e-12)-unbounded EMD-DP (central) | (ε=2.01836, δ=1e-12)-unbounded user-level DP (central)
    """
    alpha = gaussian_alpha_upper(event.mu, event.delta)
    worst = None
    if event.range_ratio is not None:
        epsilon = gaussian_alpha_upper(event.mu * event.range_ratio, event.delta)
        worst = UserLevel(Fraction(epsilon), event.delta, model=event.model)
    return Guarantee(Emd(Fraction(alpha), event.delta, model=event.model), "gaussian", "docs/proofs/gaussian.md", worst)


def price_knorm(event: KNormNoise) -> Guarantee:
    """The guarantee of K-norm or Laplace noise: (alpha, 0), unbounded, with worst case alpha B/ell."""
    worst = None
    if event.range_ratio is not None:
        worst = UserLevel(event.alpha * event.range_ratio, 0, model=event.model)
    return Guarantee(Emd(event.alpha, 0, model=event.model), "knorm", "lemma:lin", worst)


def _blanket_within(event: ShuffledReports, delta: Fraction) -> FlowProfile | None:
    """The blanket's profile for use at ``delta``, if the randomiser is named, or its channel known at that delta.

    It is made for the event's own delta or for a power of 1/4 below ``delta``, for which it holds as well: many deltas
    then share few profiles, each of which takes a moment.
    """
    if event.channel is not None and delta == event.delta:
        return channel_within(event.channel, reports=event.reports, items=event.items, delta=delta)
    if event.randomiser is None:
        return None
    made_for = delta
    if delta != event.delta:
        made_for = Fraction(1)
        while made_for > delta:
            made_for /= 4
        if made_for < SMALLEST_DELTA:
            return None
    known = parse_randomiser(event.randomiser)
    return blanket_profile(known, alpha0_up(event.alpha0), reports=event.reports, items=event.items, delta=made_for)


def _shuffle_within(event: ShuffledReports, w: Fraction, delta: Fraction) -> tuple[Fraction, str]:
    """The smallest certified epsilon of shuffled reports at every distance up to ``w``, and its method."""
    best, method = event.alpha0 * event.items * w, "per_report_composition"
    if delta == 0:
        return best, method
    n, m = event.reports, event.items
    alpha = theorem_alpha_upper(event.alpha0, reports=n, items=m, delta=delta)
    if alpha is not None and Fraction(alpha) * w < best:
        best, method = Fraction(alpha) * w, "theorem"
    profiles: dict[str, FlowProfile | None] = {
        f"flow_{clones}": flow_profile(
            event.alpha0, reports=n, items=m, delta=delta, clones=clones, least_distance=event.least_distance
        )
        for clones in ("standard", "strong")
    }
    profiles["blanket"] = _blanket_within(event, delta)
    for name, profile in profiles.items():
        if profile is None:
            continue
        room = float_down(delta) - profile.floor_upper
        if room <= 0.0 or profile.head_upper > room:
            continue
        found = Fraction(gdp_epsilon_upper(profile.mu_upper(float_up(w)), room))
        if found < best:
            best, method = found, name
    return best, method


def epsilon_within_upper(event: Event, w: Fraction, delta: Fraction) -> tuple[Fraction, str]:
    """The smallest certified epsilon, rounded up, at every EMD up to ``w``, and the method.

    >>> epsilon_within_upper(KNormNoise(10, model="local", range_ratio="0.2"), Fraction(1, 2), Fraction(0))
    (Fraction(2, 1), 'knorm')
    """
    if isinstance(event, KNormNoise):
        return event.alpha * (w if event.range_ratio is None else min(w, event.range_ratio)), "knorm"
    if isinstance(event, PureRelease):
        return event.alpha * w, "pure"
    if isinstance(event, GaussianNoise):
        reach = w if event.range_ratio is None else min(w, event.range_ratio)
        return Fraction(gaussian_alpha_upper(event.mu * reach, delta)), "gaussian"
    if isinstance(event, ShuffledReports):
        return _shuffle_within(event, w, delta)
    if isinstance(event, UserLevelRelease):
        if event.delta > delta:
            raise ParameterError(
                f"The inner release has delta {float(event.delta):g}, more than the {float(delta):g} left for it.",
                allowed="an inner delta below the total",
                fix="raise the total delta",
            )
        return event.epsilon, "user_level"
    raise refuse(event)


def _needs_delta(event: Event) -> bool:
    return not isinstance(event, KNormNoise | PureRelease)


def _inner_alpha(event: SampledItems) -> tuple[Fraction, Fraction, str] | None:
    """Alpha and delta of the inner release on the samples, and the method; None where it has no alpha."""
    inner = event.inner
    if isinstance(inner, UserLevelRelease):
        return None
    guarantee = price(at_delta(inner, event.delta))
    named = guarantee.definition.parameters
    return named["alpha"], named["delta"], guarantee.method


def _price_sampled(event: SampledItems) -> Guarantee:
    inner, delta = event.inner, event.delta
    if isinstance(inner, SampledItems):
        raise ParameterError("The inner release samples again.", allowed="one projection", fix="sample once")
    if isinstance(inner, ShuffledReports) and inner.items != event.samples:
        raise ParameterError(
            f"The inner release shuffles {inner.items} reports of a user, but {event.samples} items were sampled.",
            allowed="as many reports of a user as samples",
            fix=f"items={event.samples}",
        )
    model = model_of(inner)
    farthest, far_method = epsilon_within_upper(inner, Fraction(1), delta)
    worst = UserLevel(_stated(farthest), delta, model=model)
    known = _inner_alpha(event)
    if event.radius is None:
        if known is None:
            return Guarantee(worst, f"all_distances/{far_method}", "docs/proofs/projection.md", worst)
        alpha = Fraction(sampled_alpha_upper(known[0], event.samples))
        definition = Emd(_stated(alpha), known[1], model=model)
        return Guarantee(definition, f"sampling/{known[2]}", "docs/proofs/sampling.md", worst)
    # Three proofs about one release: the smallest holds. Without sampling's help the inner epsilon at EMD 1 does.
    best, method, page = farthest, f"all_distances/{far_method}", "docs/proofs/projection.md"
    if known is not None:
        found = Fraction(sampled_epsilon_upper(known[0], event.samples, event.radius))
        if found < best:
            best, method, page = found, f"sampling/{known[2]}", "docs/proofs/sampling.md"
        found, name = _by_projection(event, event.radius, best)
        if found < best:
            best, method, page = found, name, "docs/proofs/projection.md"
    return Guarantee(DiscreteEmd(_stated(best), delta, radius=event.radius, model=model), method, page, worst)


def _by_projection(event: SampledItems, radius: Fraction, best: Fraction) -> tuple[Fraction, str]:
    """The smallest epsilon through the distance of the samples; ``best`` where it is not smaller."""
    inner, delta, method = event.inner, event.delta, ""
    for part in _SHARES if _needs_delta(inner) else (1.0,):
        delta_p = delta if part == 1.0 else delta * Fraction(part)
        left = delta - delta_p
        if delta_p < SMALLEST_DELTA or (_needs_delta(inner) and left < SMALLEST_DELTA):
            continue
        c, projection = best_projection(radius, event.samples, delta_p)
        found, name = epsilon_within_upper(inner, Fraction(c), left)
        if found < best:
            best, method = found, f"{projection}/{name}"
    return best, method


def _stated(value: Fraction) -> Fraction:
    """A certified 0 (all of the loss fits into delta) is stated as a number just above it, as definitions demand."""
    return value if value > 0 else _LEAST


def _price_shuffled(event: ShuffledReports) -> Guarantee:
    known = None if event.randomiser is None else parse_randomiser(event.randomiser)
    alpha, method = price_shuffle(
        event.alpha0,
        event.delta,
        reports=event.reports,
        items=event.items,
        least_distance=event.least_distance,
        randomiser=known,
        channel=event.channel,
    )
    farthest, _ = _shuffle_within(event, Fraction(1), event.delta)
    worst = UserLevel(farthest, event.delta, model=event.model, bounded=True) if 0 < farthest < alpha else None
    definition = Emd(_stated(alpha), event.delta, model=event.model, bounded=True)
    return Guarantee(definition, method, THEOREMS[method], worst)


def price(event: Event) -> Guarantee:
    """The best certified guarantee of one release.

    >>> print(price(PureRelease(5, model="central")))
    (α=5, δ=0)-unbounded EMD-DP (central) by pure [def:emd-dp]
    >>> reports = ShuffledReports("4.4", reports=10**8, items=1000, delta="1e-12", model="central")
    >>> price(reports).method
    'flow_strong'
    """
    if isinstance(event, KNormNoise):
        return price_knorm(event)
    if isinstance(event, GaussianNoise):
        return price_gaussian(event)
    if isinstance(event, PureRelease):
        return Guarantee(Emd(event.alpha, 0, model=event.model, bounded=event.bounded), "pure", "def:emd-dp")
    if isinstance(event, ShuffledReports):
        return _price_shuffled(event)
    if isinstance(event, SampledItems):
        return _price_sampled(event)
    if isinstance(event, UserLevelRelease):
        definition = UserLevel(event.epsilon, event.delta, model=event.model)
        return Guarantee(definition, "user_level", "def:user-level-central-dp", definition)
    raise refuse(event)
