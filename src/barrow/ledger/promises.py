"""A budget of promises: changes of one person's data, each with the epsilon that it may cost; and what a release costs.

A promise does not know any grid: its distance is in the unit of the metric. So every grid, box, bandwidth and mechanism
of that metric draws on it, each at its own price: from its event and its own grid, never too little.

What a promised change does to the items of the release depends on how records become items, which the space's reference
says (:class:`barrow.promises.RecordMap`); what that costs is :func:`barrow.accounting.epsilon_at`, as in every plan and
statement. A caller who knows more about the mechanism gives smaller epsilons to ``Ledger.reserve(charges=…)``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from barrow import accounting
from barrow.errors import ParameterError, plain_table, reading
from barrow.ledger.digits import show
from barrow.ledger.quadrature import Quadrature, quadrature_from_json
from barrow.numerics import Exact, exact, exact_text
from barrow.promises import (
    Event,
    Exposure,
    Model,
    Promise,
    RecordMap,
    Scope,
    describe_move,
    exposure,
    parse_epsilon,
    parse_share,
)
from barrow.promises.definitions import take
from barrow.promises.periods import Window
from barrow.promises.records import NUMBER
from barrow.promises.scopes import scope_of
from barrow.spaces import parse_distance
from barrow.spaces.space import Space
from barrow.spaces.spec import ANOTHER_GROUP, ANYWHERE, PRESENCE

if TYPE_CHECKING:
    from barrow.ledger.budget import SpaceRef

_GRID = 10**36


@dataclass(frozen=True)
class PromiseLimit:
    """The most epsilon that all releases together may cost, if ``share`` of a person's data had been elsewhere.

    Args:
        share: tau, the share of the data that changes.
        distance: q, how far it moves on average, in the metric's unit: a number, one number for each part of a
            product of metrics, or None for any distance.
        epsilon: The limit.
        text: The change in words; made from the numbers if left out.
        scope: In which periods the change happens; None for a share of all records.
        presence: Whether it is about having records at all in these periods.
        group: Whether records are in another hidden group, and nothing else changes.

    >>> PromiseLimit(1, "0.3", 1, text="all data by 300 m")
    PromiseLimit('1', '0.3', '1', text='all data by 300 m')
    >>> print(PromiseLimit("1/30", 10, "0.5"))
    a share of 1/30 of the data by 10: ε ≤ 0.5
    >>> print(PromiseLimit("1/30", 10, "0.5", scope="any month"))
    a share of 1/30 of the data by 10, in any month: ε ≤ 0.5
    """

    share: Fraction
    distances: tuple[Fraction, ...]
    epsilon: Fraction
    text: str
    scope: Scope | None
    presence: bool
    group: bool

    def __init__(
        self,
        share: Exact,
        distance: Exact | Sequence[Exact] | None,
        epsilon: Exact,
        *,
        text: str | None = None,
        scope: Scope | str | None = None,
        presence: bool = False,
        group: bool = False,
    ) -> None:
        vars(self).update(share=parse_share(share), distances=_distances(distance), epsilon=parse_epsilon(epsilon))
        vars(self).update(scope=scope_of(scope), presence=bool(presence), group=bool(group))
        vars(self).update(text=" ".join(text.split()) if text else self._words())
        if len(self.text) > 200:
            raise ParameterError(
                f"A promise has a text of {len(self.text)} characters.", allowed="at most 200", fix="leave it out"
            )

    @classmethod
    def of(cls, promise: Promise, space: Space) -> PromiseLimit:
        """``promise`` without its grid: the distance in the unit of ``space``.

        >>> from barrow.spaces import Earth
        >>> limit = PromiseLimit.of(Promise("all", "300 m", 1), Earth(cell=50))
        >>> limit.distances, limit.text
        ((Fraction(3, 10),), 'all data by 300 m')
        """
        words, scope = describe_move(promise, space), promise.scope
        far = str(promise.distance).lower()
        if far in ANYWHERE + PRESENCE + ANOTHER_GROUP:
            presence = far in PRESENCE and scope is not None
            group = far in ANOTHER_GROUP
            return cls(promise.share, None, promise.epsilon, text=words, scope=scope, presence=presence, group=group)
        distance = parse_distance(promise.distance, space) * Fraction(space.diameter)
        return cls(promise.share, distance, promise.epsilon, text=words, scope=scope)

    @property
    def change(self) -> tuple[Fraction, tuple[Fraction, ...], Scope | None, bool, bool]:
        """Share, distances, scope: two promises are about the same change if and only if these are equal."""
        return *self.move, self.scope, self.presence, self.group

    @property
    def move(self) -> tuple[Fraction, tuple[Fraction, ...]]:
        """Share and distances: what changes in each period of the scope."""
        return self.share, self.distances

    def to_json(self) -> dict[str, object]:
        """Plain data with exact numbers."""
        return {
            "share": exact_text(self.share),
            "distance": [exact_text(q) for q in self.distances] or None,
            "epsilon": exact_text(self.epsilon),
            "text": self.text,
            **({} if self.scope is None else {"scope": self.scope.text}),
            **({"presence": True} if self.presence else {}),
            **({"group": True} if self.group else {}),
        }

    def _words(self) -> str:
        share = "all data" if self.share == 1 else f"a share of {exact_text(self.share)} of the data"
        where = "" if self.scope is None else f", in {self.scope.text}"
        if self.presence or self.group:
            return f"{share} {'or no records' if self.presence else 'in another group'}{where}"
        far = f"by {' and '.join(map(show, self.distances))}" if self.distances else "anywhere"
        return f"{share} {far}{where}"

    def __str__(self) -> str:
        return f"{self.text}: ε ≤ {show(self.epsilon)}"

    def __repr__(self) -> str:
        far = [exact_text(q) for q in self.distances]
        distance = far if len(far) > 1 else far[0] if far else None
        numbers = exact_text(self.share), distance, exact_text(self.epsilon)
        scope = "" if self.scope is None else f", scope={self.scope.text!r}" + ", presence=True" * self.presence
        scope += ", group=True" * self.group
        return f"PromiseLimit({', '.join(map(repr, numbers))}, text={self.text!r}{scope})"


@dataclass(frozen=True)
class Promises:
    """What a budget of promises keeps: each promise's epsilon, and delta in total.

    Args:
        promises: :class:`PromiseLimit`, or tuples (share, distance, epsilon) of numbers in the metric's unit.
        delta: By how much more often a guess may be right than all promises together say, in [0, 1).
        model: ``"local"``, ``"shuffle"`` or ``"central"``.
        bounded: Whether all users hold the same public number of items.
        quadrature: How much of every promise is kept for releases that add up in quadrature: a share, or the account.

    >>> subset = Promises([(1, "0.3", 1), ("1/30", 10, "0.5")], delta="1e-9")
    >>> [str(p) for p in subset.promises]
    ['all data by 0.3: ε ≤ 1', 'a share of 1/30 of the data by 10: ε ≤ 0.5']
    """

    symbol: ClassVar[str] = "epsilon"
    radius: ClassVar[None] = None
    promises: tuple[PromiseLimit, ...]
    delta: Fraction
    model: Model
    bounded: bool
    quadrature: Quadrature | None

    def __init__(
        self,
        promises: Sequence[PromiseLimit | tuple[Exact, Exact | None, Exact]],
        delta: Exact = 0,
        *,
        model: str = Model.CENTRAL,
        bounded: bool = False,
        quadrature: Quadrature | Exact | None = None,
    ) -> None:
        built = tuple(p if isinstance(p, PromiseLimit) else PromiseLimit(*p) for p in promises)
        if not built or len(built) > 100:
            raise ParameterError(
                f"There are {len(built)} promises.", allowed="1 to 100", fix='PromiseLimit("1/30", 10, "0.5")'
            )
        changes = [p.change for p in built]
        twice = next((p for i, p in enumerate(built) if p.change in changes[:i]), None)
        if twice is not None:
            raise ParameterError(
                f"There are two promises about {twice.text}.", allowed="one epsilon for each change", fix="drop one"
            )
        vars(self).update(promises=built)
        take(self, delta=delta, model=model, bounded=bounded)
        if quadrature is not None and not isinstance(quadrature, Quadrature):
            quadrature = Quadrature.of([p.epsilon for p in built], self.delta, quadrature)
        vars(self).update(quadrature=quadrature)
        if quadrature is not None and not quadrature.follows_from([p.epsilon for p in built], self.delta):
            raise ParameterError(
                "The account for releases in quadrature is not that of these promises.",
                allowed="the mus that follow from its share, the epsilons and delta",
                fix="quadrature=1, or another share",
            )

    @property
    def adding(self) -> Fraction:
        """The part of every epsilon, and of delta, in which releases add.

        >>> Promises([(1, 1, 1)], "1e-9", quadrature="9/10").adding, Promises([(1, 1, 1)]).adding
        (Fraction(1, 10), Fraction(1, 1))
        """
        return Fraction(1) if self.quadrature is None else 1 - self.quadrature.share

    def to_json(self) -> dict[str, object]:
        """Plain data that :func:`promises_from_json` reads back."""
        return {
            "definition": "Promises",
            "promises": [p.to_json() for p in self.promises],
            "delta": exact_text(self.delta),
            "model": self.model.value,
            "bounded": self.bounded,
            **({} if self.quadrature is None else {"quadrature": self.quadrature.to_json()}),
        }

    def __repr__(self) -> str:
        bounded = ", bounded=True" * self.bounded
        if self.quadrature is not None:
            bounded += f", quadrature={exact_text(self.quadrature.share)!r}"
        return f"Promises({list(self.promises)!r}, {exact_text(self.delta)!r}, model={self.model.value!r}{bounded})"

    def __str__(self) -> str:
        many = len(self.promises)
        return f"{many} promise{'s' * (many != 1)}, δ {show(self.delta)} ({self.model.value})"


def promises_from_json(data: Mapping[str, object]) -> Promises:
    """The promises that :meth:`Promises.to_json` wrote."""
    rest = plain_table(data, "The limit")
    with reading(
        "The list of promises",
        allowed="the fields that Promises.to_json() writes",
        fix="install the version of barrow that wrote it",
    ):
        del rest["definition"]
        limits = [PromiseLimit(**promise) for promise in rest.pop("promises")]
        return Promises(limits, quadrature=quadrature_from_json(rest.pop("quadrature", None)), **rest)


def _distances(given: Exact | Sequence[Exact] | None) -> tuple[Fraction, ...]:
    if given is None or (isinstance(given, str) and given.strip().lower() in ANYWHERE):
        return ()
    parts: list[Exact] = list(given) if isinstance(given, list | tuple) else [given]  # type: ignore[list-item]
    results = tuple(exact(part, "the distance") for part in parts)
    if not results or any(q < 0 for q in results) or not any(results):
        raise ParameterError(
            f"The distance is {given!r}.",
            allowed="a number above 0 in the metric's unit, one for each part of a product, or None for any distance",
            fix="distance='0.3'",
        )
    return results


@dataclass(frozen=True)
class Price:
    """The epsilon of a release at each promise, and its delta, which is the same for all.

    Epsilons with long denominators are rounded up in their 36th decimal, so that sums over many releases stay short.

    >>> Price((Fraction(1, 3), Fraction(1, 3**99)), Fraction(0)).epsilons == (Fraction(1, 3), Fraction(1, 10**36))
    True
    """

    epsilons: tuple[Fraction, ...]
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilons", tuple(map(_short, self.epsilons)))


def exposure_at(promise: PromiseLimit, space: SpaceRef, metric: str, reads: Window | None = None) -> Exposure:
    """What a release about ``space`` that reads a window can see of a promised change, at most.

    Under another metric nobody knows what the change does to the release: everything that it sees may move.

    >>> from barrow.ledger import SpaceRef
    >>> grid = SpaceRef("earth", "sha256:00", 30, "km", "earth km", "1/100")
    >>> seen = exposure_at(PromiseLimit("1/10", "0.3", 1), grid, "earth km")
    >>> seen.share, seen.reach
    (Fraction(1, 10), Fraction(3, 100))
    """
    if promise.group and space.group == 0 and not space.filtered:
        return exposure(promise.scope, promise.share, Fraction(0), reads=reads)  # it reads nothing of the group
    known = space.metric == metric
    far = promise.distances[0] / space.diameter if known and len(promise.distances) == 1 else None
    far = space.group if known and promise.group else far  # None where no release says how far groups are: anywhere
    return exposure(
        promise.scope,
        promise.share,
        far,
        reads=reads,
        records=space.records if known else RecordMap.FILTER,
        snapping=space.snapping or Fraction(0),
        presence=space.no_records if promise.presence else None,
        number=space.metric is not None and NUMBER in space.metric,
    )


def cost_of(
    event: Event,
    delta: Fraction,
    space: SpaceRef,
    promises: Sequence[PromiseLimit],
    metric: str,
    reads: Window | None = None,
) -> Price:
    """What a release about ``space`` costs at each promise; a release of another metric costs its worst case at all.

    Args:
        event: What was drawn: it alone says the epsilon (:func:`barrow.accounting.epsilon_at`).
        delta: Of the release; it is charged at every promise.
        space: What it is about.
        promises: What is kept.
        metric: The metric that the promises are about.
        reads: The window of periods that it reads; None for all records.

    >>> from barrow.ledger import SpaceRef
    >>> from barrow.promises import KNormNoise
    >>> grid = SpaceRef("earth", "sha256:00", 30, "km", "earth km", 0)
    >>> requests = [PromiseLimit(1, 3, 1), PromiseLimit("1/30", 30, 1)]
    >>> noise = KNormNoise(6, model="central", range_ratio="1/2")
    >>> cost_of(noise, Fraction(0), grid, requests, "earth km").epsilons
    (Fraction(3, 5), Fraction(1, 10))
    """
    seen = [exposure_at(one, space, metric, reads) for one in promises]
    return Price(tuple(accounting.epsilon_at(event, one.share, one.reach, delta) for one in seen), delta)


def _short(epsilon: Fraction) -> Fraction:
    if epsilon.denominator.bit_length() <= 40:
        return epsilon
    return Fraction(math.ceil(epsilon * _GRID), _GRID)
