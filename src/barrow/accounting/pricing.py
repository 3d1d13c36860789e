"""What an event costs: the one map from events to guarantees. An event that is not known is refused.

Gaussian noise is mu w-GDP at EMD w, and w = 1 is the worst case for (alpha w, delta) (theory B1), so one equation
prices it. K-norm (Laplace) noise is (alpha w, 0). Both change by at most B/ell of their Lipschitz constant, whatever
the data, which is the worst case in user-level terms (D1). Proofs: docs/proofs/gaussian.md, docs/proofs/worst-case.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

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
from barrow.privacy.events import LEAST_EPSILON, unpriced

_SHARES = (1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.99, 0.999)
"""Shares of delta tried for the projection when the inner release needs some delta as well."""
_ONE = Fraction(1)
_METHODS: dict[type[Event], str] = {
    KNormNoise: "knorm",
    GaussianNoise: "gaussian",
    PureRelease: "pure",
    UserLevelRelease: "user_level",
}
"""What the price of an event in closed form is called."""


def model_of(event: Event) -> Model:
    """Where the noise of an event was added."""
    if isinstance(event, SampledItems):
        return model_of(event.inner)
    if isinstance(event, KNormNoise | GaussianNoise | PureRelease | ShuffledReports | UserLevelRelease):
        return event.model
    raise unpriced(event)


def epsilon_at(event: Event, share: Fraction, reach: Fraction, delta: Fraction) -> Fraction:
    """What a release costs at a promise: the one formula of plans, candidates, statements and the ledger.

    An event with a closed form says it itself (:meth:`barrow.privacy.Event.epsilon_at`). Shuffled reports have a
    profile at every distance, samples a price at every radius, and both take an accountant.

    Args:
        event: What the mechanism does.
        share: What share of a person's items moves, in (0, 1].
        reach: How far on average, as a share of the diameter (:meth:`barrow.policy.RecordMap.reach_upper`).
        delta: At which it is stated.

    >>> noise = GaussianNoise(mu=3, delta="1e-9", model="central")
    >>> round(float(epsilon_at(noise, Fraction(1, 30), Fraction(1), noise.delta)), 4)
    0.5351
    >>> reports = ShuffledReports("4.4", reports=10**6, items=100, delta="1e-9", model="central")
    >>> round(float(epsilon_at(reports, Fraction(1, 30), Fraction(1), reports.delta)), 4)
    0.6905
    """
    if isinstance(event, ShuffledReports):
        return _shuffle_within(event, share * reach, delta)[0]
    if isinstance(event, SampledItems):
        return _sampled_within(event, share * reach, delta)
    return event.epsilon_at(share, reach, delta)


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
    return float(GaussianNoise(Fraction(number), delta=slack, model="central").epsilon_at(_ONE, _ONE, slack))


def price_gaussian(event: GaussianNoise) -> Guarantee:
    """The guarantee of Gaussian noise at its delta, unbounded, with its worst case.

    >>> guarantee = price_gaussian(GaussianNoise(mu=3, delta="1e-12", model="central", range_ratio="0.1"))
    >>> print(guarantee.definition, "|", guarantee.worst_case)
    (α=25.0896, δ=1e-12)-unbounded EMD-DP (central) | (ε=2.01836, δ=1e-12)-unbounded user-level DP (central)
    """
    alpha = gaussian_alpha_upper(event.mu, event.delta)
    worst = None
    if event.range_ratio is not None:
        worst = UserLevel(event.epsilon_at(_ONE, _ONE, event.delta), event.delta, model=event.model)
    return Guarantee(Emd(Fraction(alpha), event.delta, model=event.model), "gaussian", "docs/proofs/gaussian.md", worst)


def price_knorm(event: KNormNoise) -> Guarantee:
    """The guarantee of K-norm or Laplace noise: (alpha, 0), unbounded, with worst case alpha B/ell."""
    worst = None
    if event.range_ratio is not None:
        worst = UserLevel(event.epsilon_at(_ONE, _ONE, Fraction(0)), 0, model=event.model)
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


def _sampled_within(event: SampledItems, w: Fraction, delta: Fraction) -> Fraction:
    """The same of samples: by the alpha of their inner release, or by its epsilon at EMD 1 where that is less.

    Where the event has a radius, its guarantee goes by the distance of the samples as well, and so does its cost.
    """
    if w == 0:
        return Fraction(0)
    if event.radius is not None:
        found: Fraction = price(event.at(w).at_delta(delta)).definition.parameters["epsilon"]
        return found
    alpha, farthest = _inner_costs(event.inner, delta)
    return farthest if alpha is None else min(farthest, Fraction(sampled_epsilon_upper(alpha, event.samples, w)))


@lru_cache(maxsize=64)
def _inner_costs(inner: Event, delta: Fraction) -> tuple[Fraction | None, Fraction]:
    """Alpha of a release on samples, None where it has none, and its epsilon at EMD 1, both at ``delta``."""
    parameters = price(inner.at_delta(delta)).definition.parameters
    return parameters.get("alpha"), _within(inner, _ONE, delta)[0]


def _within(event: Event, w: Fraction, delta: Fraction) -> tuple[Fraction, str]:
    """The smallest certified epsilon at every EMD up to ``w``, and the method."""
    if isinstance(event, ShuffledReports):
        return _shuffle_within(event, w, delta)
    return epsilon_at(event, _ONE, w, delta), _METHODS[type(event)]


def _inner_alpha(event: SampledItems) -> tuple[Fraction, Fraction, str] | None:
    """Alpha and delta of the inner release on the samples, and the method; None where it has no alpha."""
    inner = event.inner
    if isinstance(inner, UserLevelRelease):
        return None
    guarantee = price(inner.at_delta(event.delta))
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
    farthest, far_method = _within(inner, _ONE, delta)
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
    for part in (1.0,) if inner.pure else _SHARES:
        delta_p = delta if part == 1.0 else delta * Fraction(part)
        left = delta - delta_p
        if delta_p < SMALLEST_DELTA or (not inner.pure and left < SMALLEST_DELTA):
            continue
        c, projection = best_projection(radius, event.samples, delta_p)
        found, name = _within(inner, Fraction(c), left)
        if found < best:
            best, method = found, f"{projection}/{name}"
    return best, method


def _stated(value: Fraction) -> Fraction:
    """A certified 0 (all of the loss fits into delta) is stated as a number just above it, as definitions demand."""
    return value if value > 0 else LEAST_EPSILON


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
    farthest, _ = _shuffle_within(event, _ONE, event.delta)
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
    raise unpriced(event)
