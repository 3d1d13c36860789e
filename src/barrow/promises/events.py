"""Events: the fewest public numbers that price what a mechanism did.

Mechanisms cause events, accountants price them, the ledger stores them. Neither side imports the other, and an
accountant refuses an event that it does not know. Events are frozen, versioned and serialise to JSON with exact
numbers, so an old ledger can be priced again by a better accountant.

What a release costs at a promise is said by its event alone: :meth:`Event.epsilon_at`. Shuffled reports and samples
have no closed form: :func:`barrow.accounting.pricing.accountant` answers in their place, with the same methods. All
that differs by kind of event is a method or an attribute of the event, so that a new kind is a class and a row of
:data:`EVENTS`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar

from barrow.errors import ParameterError, plain_table, reading
from barrow.numerics import Exact, exact_text, float_down, float_up
from barrow.numerics.gdp import gdp_epsilon_upper
from barrow.promises.aggregation import Aggregation
from barrow.promises.channels import ItemChannel, to_channel
from barrow.promises.definitions import Emd, Model, UserLevel, probability, share, take
from barrow.promises.guarantees import Guarantee
from barrow.promises.pairs import Pair, linear_pair

EVENT_VERSION = 1
LEAST_EPSILON = Fraction(1, 10**12)
"""An epsilon of 0 is not a definition; a release that costs less than this is charged this much."""

Change = Callable[[Fraction, Fraction, Fraction | None], Fraction]
"""From the share of the items that moves, how far, and B/ell, to how far the answer moves in units of its constant."""
_ONE = Fraction(1)


class Event:
    """Root of all events; every kind is a frozen dataclass, whose fields are what is stored.

    Attributes:
        model: Where the noise was added.
        delta: At which the guarantee is stated; 0 where it is pure.
        radius: Up to which distance changes are protected at one epsilon; None for every distance.
        bounded: Whether it holds for data of one public size.
        method: What its price is called.
        pure: Whether it has a guarantee at delta = 0, and no other.
        needs_delta: Whether it has none at delta = 0.
        whole_user: Whether its epsilon is the same at every distance.
        has_tail: Whether a little delta buys it a better pair for composition.
        shrinks: Whether a part of a change costs at most that part of its price (docs/proofs/scopes.md).
    """

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    method: ClassVar[str]
    pure: ClassVar[bool] = False
    needs_delta: ClassVar[bool] = False
    whole_user: ClassVar[bool] = False
    has_tail: ClassVar[bool] = False
    shrinks: ClassVar[bool] = False
    model: Model
    delta: Fraction = Fraction(0)
    radius: Fraction | None = None
    bounded: bool = False

    def epsilon_at(self, share: Fraction, reach: Fraction, delta: Fraction) -> Fraction:
        """The smallest certified epsilon at ``delta``, exact or above, where a part of one person's items moves.

        Args:
            share: tau, the share of the items that move, in (0, 1].
            reach: How far they move on average, as a share of the diameter, in [0, 1]. The EMD is share times reach,
                and a share of 1 stands for every change of this EMD.
            delta: At which it is stated.
        """
        raise self._unpriced()

    def within(self, w: Fraction, delta: Fraction) -> tuple[Fraction, str]:
        """The smallest certified epsilon at every EMD up to ``w``, and the method."""
        return self.epsilon_at(_ONE, w, delta), self.method

    def guarantee(self) -> Guarantee:
        """The best certified guarantee, at its own delta."""
        raise self._unpriced()

    def pair(self, tail: Fraction, projection: Fraction) -> Pair:
        """A pair that dominates it; ``tail`` and ``projection`` are what it may add to delta for a better one."""
        raise self._unpriced()

    @property
    def base_event(self) -> Event:
        """The release itself: of samples, what was released about them."""
        return self

    def check_sampled(self, samples: int) -> None:
        """Refuses a release that cannot be one about so many samples of each user."""

    def at(self, radius: Exact | None) -> Event:
        """The same release, its guarantee stated at another radius, where it has one."""
        return self

    def at_delta(self, delta: Exact) -> Event:
        """The same release, its guarantee stated at another delta; a pure one is as it was."""
        return self

    def to_json(self) -> dict[str, object]:
        """Plain data, exact, with a version.

        >>> KNormNoise(alpha="1/3", model="central").to_json()
        {'event': 'KNormNoise', 'version': 1, 'alpha': '1/3', 'model': 'central', 'range_ratio': None}
        """
        data: dict[str, object] = {"event": type(self).__name__, "version": EVENT_VERSION}
        for field in fields(self):
            data[field.name] = _plain(getattr(self, field.name))
        return data

    def _unpriced(self) -> ParameterError:
        return ParameterError(
            f"An event of kind {type(self).__name__} has no price.",
            allowed=", ".join(EVENTS),
            fix="install the version of barrow that knows it",
        )


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return exact_text(value)
    if isinstance(value, Model):
        return value.value
    return value.to_json() if isinstance(value, Event | ItemChannel) else value


@dataclass(frozen=True, init=False)
class KNormNoise(Event):
    """Additive noise with density proportional to exp(-alpha ||x|| / ell): Laplace (1-norm) and its relatives.

    Args:
        alpha: Privacy loss per unit of EMD.
        model: Local (one user's answer) or central (the mean over users); both are unbounded.
        range_ratio: B/ell, the largest change of the query over the space in units of its Lipschitz constant
            (at most 1); alpha * B/ell is the worst case. None where it is not known.

    >>> noise = KNormNoise(alpha=6, model="central", range_ratio="1/2")
    >>> noise.epsilon_at(Fraction(1, 30), Fraction(1), Fraction(0))  # half of the way is all that can be seen
    Fraction(1, 10)
    """

    method: ClassVar[str] = "knorm"
    shrinks: ClassVar[bool] = True
    page: ClassVar[str] = "lemma:lin"
    pure: ClassVar[bool] = True
    alpha: Fraction
    model: Model
    range_ratio: Fraction | None

    def __init__(self, alpha: Exact, *, model: str, range_ratio: Exact | None = None) -> None:
        take(self, alpha=alpha, model=model, range_ratio=range_ratio)

    def epsilon_at(self, share: Fraction, reach: Fraction, delta: Fraction) -> Fraction:
        """Alpha times :meth:`change` (docs/proofs/promises.md)."""
        return self.alpha * self.change(share, reach, self.range_ratio)

    @staticmethod
    def change(share: Fraction, reach: Fraction, ratio: Fraction | None) -> Fraction:
        """How far the answer can move, in units of its constant: tau min(reach, B/ell), as it is linear."""
        return linear_change(share, reach, ratio)

    def guarantee(self) -> Guarantee:
        """(alpha, 0), unbounded, with worst case alpha B/ell."""
        return Guarantee(Emd(self.alpha, 0, model=self.model), self.method, self.page, _worst(self, self.range_ratio))

    def pair(self, tail: Fraction, projection: Fraction) -> Pair:
        """Two Laplace distributions."""
        return linear_pair("laplace", self.alpha, self.range_ratio)


@dataclass(frozen=True, init=False)
class GaussianNoise(Event):
    """Gaussian noise: mu-GDP per unit of EMD, mu = ell/(n sigma) (docs/proofs/gaussian.md).

    Args:
        mu: GDP parameter at EMD 1.
        delta: The delta at which the release was calibrated; the guarantee is stated at this delta.
        model: Local or central; both are unbounded.
        range_ratio: B/ell as in :class:`KNormNoise`, in the 2-norm.

    >>> noise = GaussianNoise(mu=3, delta="1e-9", model="local", range_ratio="1/2")
    >>> noise.mu_at(Fraction(1, 30), Fraction(1))
    Fraction(1, 20)
    >>> round(float(noise.epsilon_at(Fraction(1, 30), Fraction(1), noise.delta)), 4)
    0.2602
    """

    method: ClassVar[str] = "gaussian"
    shrinks: ClassVar[bool] = True
    page: ClassVar[str] = "docs/proofs/gaussian.md"
    needs_delta: ClassVar[bool] = True
    mu: Fraction
    delta: Fraction
    model: Model
    range_ratio: Fraction | None

    def __init__(self, mu: Exact, *, delta: Exact, model: str, range_ratio: Exact | None = None) -> None:
        take(self, mu=mu, delta=_open_probability(delta), model=model, range_ratio=range_ratio)

    def mu_at(self, share: Fraction, reach: Fraction) -> Fraction:
        """Mu times :meth:`change`: what was drawn is dominated by two normal distributions so far apart."""
        return self.mu * self.change(share, reach, self.range_ratio)

    @staticmethod
    def change(share: Fraction, reach: Fraction, ratio: Fraction | None) -> Fraction:
        """How far the answer can move, in units of its constant: tau min(reach, B/ell), as it is linear."""
        return linear_change(share, reach, ratio)

    def epsilon_at(self, share: Fraction, reach: Fraction, delta: Fraction) -> Fraction:
        """The epsilon of :meth:`mu_at` in Gaussian differential privacy at ``delta`` (docs/proofs/gaussian.md)."""
        result = gdp_epsilon_upper(float_up(self.mu_at(share, reach)), float_down(_open_probability(delta)))
        return max(LEAST_EPSILON, Fraction(result))

    def guarantee(self) -> Guarantee:
        """At its delta, unbounded: w = 1 is the worst distance for (alpha w, delta). The worst case is that at B/ell.

        >>> guarantee = GaussianNoise(mu=3, delta="1e-12", model="central", range_ratio="0.1").guarantee()
        >>> print(guarantee.definition, "|", guarantee.worst_case)
        (α=25.0896, δ=1e-12)-unbounded EMD-DP (central) | (ε=2.01836, δ=1e-12)-unbounded user-level DP (central)
        """
        alpha = replace(self, range_ratio=None).epsilon_at(_ONE, _ONE, self.delta)
        definition = Emd(alpha, self.delta, model=self.model)
        return Guarantee(definition, self.method, self.page, _worst(self, self.range_ratio))

    def pair(self, tail: Fraction, projection: Fraction) -> Pair:
        """Two normal distributions."""
        return linear_pair("gaussian", self.mu, self.range_ratio)

    def at_delta(self, delta: Exact) -> GaussianNoise:
        """The same noise, its guarantee stated at another delta."""
        return replace(self, delta=delta)  # type: ignore[arg-type]


class _OfPeople:
    """What noise on the mean over people of any function of their whole data has in common (docs/proofs/people.md)."""

    shrinks: ClassVar[bool] = False
    page: ClassVar[str] = "docs/proofs/people.md"

    @staticmethod
    def change(share: Fraction, reach: Fraction, ratio: Fraction | None) -> Fraction:
        """How far the answer can move, in units of its constant: min(tau reach, B/L)."""
        return person_change(share, reach, ratio)


@dataclass(frozen=True, init=False)
class PersonKNormNoise(_OfPeople, KNormNoise):
    """K-norm noise on the mean over people of a function of each person's whole data (docs/proofs/people.md).

    The function need not be linear: a small share of a person's items may move it by all of its range, so that B/L
    bounds the change and not the reach of the items that move.

    >>> noise = PersonKNormNoise(alpha=6, model="central", range_ratio="1/10")
    >>> noise.epsilon_at(Fraction(1, 30), Fraction(1), Fraction(0))  # a linear answer would cost 1/50
    Fraction(1, 5)
    """

    method: ClassVar[str] = "person knorm"


@dataclass(frozen=True, init=False)
class PersonGaussianNoise(_OfPeople, GaussianNoise):
    """Gaussian noise on the mean over people of a function of each person's whole data (docs/proofs/people.md).

    >>> noise = PersonGaussianNoise(mu=3, delta="1e-9", model="central", range_ratio="1/10")
    >>> noise.mu_at(Fraction(1, 30), Fraction(1))
    Fraction(1, 10)
    """

    method: ClassVar[str] = "person gaussian"


@dataclass(frozen=True, init=False)
class SecureSum(KNormNoise):
    """The sum of answers rounded at random, with discrete Laplace noise of the aggregators (docs/proofs/summed.md).

    What it promises holds against ``dishonest`` of the ``aggregators``, together with everybody else.

    >>> SecureSum(alpha=6, range_ratio="1/2").epsilon_at(Fraction(1, 30), Fraction(1), Fraction(0))
    Fraction(1, 10)
    """

    method: ClassVar[str] = "secure sum"
    page: ClassVar[str] = "docs/proofs/summed.md"
    aggregators: int
    dishonest: int

    def __init__(
        self, alpha: Exact, *, range_ratio: Exact | None = None, aggregators: int = 2, dishonest: int = 1,
        model: str = "aggregated",
    ) -> None:  # fmt: skip
        super().__init__(alpha, model=model, range_ratio=range_ratio)
        parties = Aggregation(aggregators, dishonest)
        if self.model is not Model.AGGREGATED:
            raise ParameterError(f"model is {self.model.value!r}.", allowed="'aggregated'", fix="leave it out")
        vars(self).update(aggregators=parties.aggregators, dishonest=parties.dishonest)

    def pair(self, tail: Fraction, projection: Fraction) -> Pair:
        """Randomised response: discrete noise is not dominated by the Laplace pair of the same parameter."""
        return linear_pair("pure", self.alpha, self.range_ratio)


@dataclass(frozen=True, init=False)
class PureRelease(Event):
    """Any release known only to be (alpha, 0)-EMD-DP.

    >>> PureRelease(alpha=5, model="central").bounded
    False
    """

    method: ClassVar[str] = "pure"
    shrinks: ClassVar[bool] = True
    pure: ClassVar[bool] = True
    alpha: Fraction
    model: Model
    bounded: bool

    def __init__(self, alpha: Exact, *, model: str, bounded: bool = False) -> None:
        take(self, alpha=alpha, model=model, bounded=bounded)

    def epsilon_at(self, share: Fraction, reach: Fraction, delta: Fraction) -> Fraction:
        """Alpha times the EMD."""
        return self.alpha * share * reach

    def guarantee(self) -> Guarantee:
        """(alpha, 0), bounded or not."""
        return Guarantee(Emd(self.alpha, 0, model=self.model, bounded=self.bounded), self.method, "def:emd-dp")

    def pair(self, tail: Fraction, projection: Fraction) -> Pair:
        """Randomised response."""
        return linear_pair("pure", self.alpha)


@dataclass(frozen=True, init=False)
class ShuffledReports(Event):
    """The multiset of ``reports`` outputs of an (alpha0, 0)-d_X-DP randomiser, ``items`` of them from each user.

    Args:
        alpha0: Parameter of the randomiser of one item.
        reports: N, how many reports are in the multiset (= items in the local model).
        items: m, how many of them come from one user; public.
        delta: The delta at which the guarantee is stated (0 asks for a pure guarantee).
        model: Local, shuffle or central.
        least_distance: d_min of the space where it is finite and known, else None.
        randomiser: The name of the randomiser where it is a known family, ``krr:K`` or ``gkrr:SxT:R`` at alpha0, else
            None. It is a promise: the probabilities that were used agree with it to a relative 1e-12, on a space with
            the family's distances. Outputs that are a function of such reports may carry it, too.
        channel: The exact channel of one item where it is finite and small and has no such name, else None.

    >>> ShuffledReports(alpha0="4.3", reports=10**8, items=1000, delta="1e-12", model="central").reports
    100000000
    """

    has_tail: ClassVar[bool] = True
    bounded = True
    alpha0: Fraction
    reports: int
    items: int
    delta: Fraction
    model: Model
    least_distance: Fraction | None
    randomiser: str | None
    channel: ItemChannel | None

    def __init__(
        self,
        alpha0: Exact,
        *,
        reports: int,
        items: int,
        delta: Exact,
        model: str,
        least_distance: Exact | None = None,
        randomiser: str | None = None,
        channel: ItemChannel | Mapping[str, Any] | None = None,
    ) -> None:
        take(self, alpha0=alpha0, reports=reports, items=items, delta=delta, model=model, least_distance=least_distance)
        vars(self).update(randomiser=_family(randomiser), channel=to_channel(channel))
        if self.items > self.reports:
            raise ParameterError(
                f"items is {items} but reports is only {reports}.",
                allowed="items (m, of one user) at most reports (N, of all users)",
                fix=f"reports={items} in the local model, or items times users in the central model",
            )

    def check_sampled(self, samples: int) -> None:
        """As many reports of a user as samples."""
        if self.items != samples:
            raise ParameterError(
                f"The inner release shuffles {self.items} reports of a user, but {samples} items were sampled.",
                allowed="as many reports of a user as samples",
                fix=f"items={samples}",
            )

    def at_delta(self, delta: Exact) -> ShuffledReports:
        """The same reports, their guarantee stated at another delta."""
        return replace(self, delta=delta)  # type: ignore[arg-type]


@dataclass(frozen=True, init=False)
class SampledItems(Event):
    """``samples`` items drawn with replacement from each user, then a bounded release (docs/proofs/sampling.md).

    Args:
        samples: s, items drawn from each user.
        radius: r, the EMD up to which changes are protected at one epsilon; None (the default) states the guarantee
            in alpha, at every distance.
        delta: The total delta at which the guarantee is stated.
        inner: The event of the bounded release on the samples.

    >>> inner = PureRelease(alpha=20, model="central", bounded=True)
    >>> SampledItems(samples=1000, radius="0.008", delta="1e-12", inner=inner).samples
    1000
    """

    samples: int
    radius: Fraction | None
    delta: Fraction
    inner: Event

    def __init__(self, *, samples: int, radius: Exact | None = None, delta: Exact, inner: Event) -> None:
        vars(self).update(radius=None if radius is None else share(radius, "radius"), inner=inner, model=inner.model)
        take(self, samples=samples, delta=delta)

    @property
    def base_event(self) -> Event:
        """What was released about the samples."""
        return self.inner.base_event

    def check_sampled(self, samples: int) -> None:
        """Samples of samples have no price."""
        raise ParameterError("The inner release samples again.", allowed="one projection", fix="sample once")

    def at(self, radius: Exact | None) -> SampledItems:
        """The same release, its guarantee stated at another radius, or in alpha (None).

        >>> inner = PureRelease(alpha=20, model="central", bounded=True)
        >>> SampledItems(samples=1000, delta=0, inner=inner).at("0.01").radius
        Fraction(1, 100)
        """
        return SampledItems(samples=self.samples, radius=radius, delta=self.delta, inner=self.inner)

    def at_delta(self, delta: Exact) -> SampledItems:
        """The same release, its guarantee and that of its inner release stated at another delta."""
        return SampledItems(samples=self.samples, radius=self.radius, delta=delta, inner=self.inner.at_delta(delta))


@dataclass(frozen=True, init=False)
class UserLevelRelease(Event):
    """A release of ordinary (epsilon, delta)-user-level DP, e.g. a baseline.

    >>> UserLevelRelease(epsilon=1, model="central").delta
    Fraction(0, 1)
    """

    method: ClassVar[str] = "user_level"
    whole_user: ClassVar[bool] = True
    epsilon: Fraction
    delta: Fraction
    model: Model

    def __init__(self, epsilon: Exact, *, delta: Exact = 0, model: str) -> None:
        take(self, epsilon=epsilon, delta=delta, model=model)

    def epsilon_at(self, share: Fraction, reach: Fraction, delta: Fraction) -> Fraction:
        """Its epsilon, whatever the change, at its own delta and every larger one."""
        if self.delta > delta:
            raise ParameterError(
                f"The release has delta {float(self.delta):g}, more than the {float(delta):g} that is left for it.",
                allowed="a delta of the release below the total",
                fix="raise the total delta",
            )
        return self.epsilon

    def guarantee(self) -> Guarantee:
        """What it says."""
        definition = UserLevel(self.epsilon, self.delta, model=self.model)
        return Guarantee(definition, self.method, "def:user-level-central-dp", definition)

    def pair(self, tail: Fraction, projection: Fraction) -> Pair:
        """Randomised response of one parameter at every distance."""
        epsilon = float_up(self.epsilon)
        return Pair("pure", lambda w: epsilon, self.delta, math.inf)


EVENTS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (
        KNormNoise,
        GaussianNoise,
        PersonKNormNoise,
        PersonGaussianNoise,
        PureRelease,
        SecureSum,
        ShuffledReports,
        SampledItems,
        UserLevelRelease,
    )
}
"""Every kind of event by its name in JSON."""


def event_from_json(data: Mapping[str, Any]) -> Event:
    """The event that ``data`` describes; unknown kinds, versions and fields are refused.

    >>> event = KNormNoise(alpha="24.87", model="local")
    >>> event_from_json(event.to_json()) == event
    True
    """
    data = plain_table(data, "The event")
    kind = EVENTS.get(str(data.get("event")))
    if kind is None or data.get("version") != EVENT_VERSION:
        raise ParameterError(
            f"The event {data.get('event')!r}, version {data.get('version')!r}, is not known to this version.",
            allowed=f"version {EVENT_VERSION} of {', '.join(EVENTS)}",
            fix="install the version of barrow that wrote it",
        )
    rest = {k: v for k, v in data.items() if k not in ("event", "version")}
    names = {field.name for field in fields(kind)}
    if set(rest) != names:
        raise ParameterError(
            f"A {kind.__name__} event has the fields {sorted(rest)}.",
            allowed=f"exactly {sorted(names)}",
            fix="install the version of barrow that wrote it",
        )
    if isinstance(rest.get("inner"), Mapping):
        rest["inner"] = event_from_json(rest["inner"])
    with reading(f"The {kind.__name__} event"):
        return kind(**rest)


def linear_change(share: Fraction, reach: Fraction, ratio: Fraction | None) -> Fraction:
    """How far a linear answer moves, in units of its Lipschitz constant, if a share of the items moves by ``reach``."""
    return share * (reach if ratio is None else min(reach, ratio))


def person_change(share: Fraction, reach: Fraction, ratio: Fraction | None) -> Fraction:
    """The same for a function of a whole person: no more than the EMD, and no more than its range."""
    return share * reach if ratio is None else min(share * reach, ratio)


def _worst(event: KNormNoise | GaussianNoise, ratio: Fraction | None) -> UserLevel | None:
    """The user-level DP of noise whose query changes by at most B/ell of its constant (docs/proofs/worst-case.md)."""
    if ratio is None:
        return None
    return UserLevel(event.epsilon_at(_ONE, _ONE, event.delta), event.delta, model=event.model)


def _family(name: str | None) -> str | None:
    if name is None or (isinstance(name, str) and re.fullmatch(r"krr:\d+|gkrr:\d+x\d+:[\d.e/-]+", name)):
        return name
    raise ParameterError(
        f"The randomiser {name!r} is not the name of a known family.",
        allowed="krr:K, gkrr:SxT:R or None",
        fix="randomiser='gkrr:10x10:0.05', or leave it out",
    )


def _open_probability(value: Exact) -> Fraction:
    delta = probability(value)
    if delta == 0:
        raise ParameterError(
            "delta is 0, but Gaussian noise has no pure guarantee.",
            allowed="a number strictly between 0 and 1",
            fix="delta=1e-9, or Laplace noise",
        )
    return delta
