"""A budget of promises: changes of one person's data, each with the epsilon that it may cost; and what a release costs.

A promise does not know any grid: its distance is in the unit of the metric. So every grid, box, bandwidth and mechanism
of that metric draws on it, each at its own price: from its event and its own grid, never too little.

What a promised change does to the items of the release depends on how records become items, which the space's reference
says (:class:`barrow.policy.RecordMap`); what that costs is :func:`barrow.accounting.epsilon_at`, as in every plan and
statement. A caller who knows more about the mechanism gives smaller epsilons to ``Ledger.reserve(charges=…)``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from barrow.errors import ParameterError
from barrow.ledger.digits import show
from barrow.numerics import Exact, exact, exact_text
from barrow.policy import Promise, describe_move, parse_epsilon, parse_share
from barrow.privacy import Event, Model
from barrow.privacy.definitions import probability, to_model
from barrow.spaces import parse_distance
from barrow.spaces.base import Space
from barrow.spaces.spec import ANYWHERE, PRESENCE

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

    >>> PromiseLimit(1, "0.3", 1, text="all data by 300 m")
    PromiseLimit('1', '0.3', '1', text='all data by 300 m')
    >>> print(PromiseLimit("1/30", 10, "0.5"))
    a share of 1/30 of the data by 10: ε ≤ 0.5
    """

    share: Fraction
    distances: tuple[Fraction, ...]
    epsilon: Fraction
    text: str

    def __init__(
        self, share: Exact, distance: Exact | Sequence[Exact] | None, epsilon: Exact, *, text: str | None = None
    ) -> None:
        object.__setattr__(self, "share", parse_share(share))
        object.__setattr__(self, "distances", _distances(distance))
        object.__setattr__(self, "epsilon", parse_epsilon(epsilon))
        object.__setattr__(self, "text", " ".join(text.split()) if text else self._words())
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
        words = describe_move(promise, space)
        if str(promise.distance).lower() in ANYWHERE + PRESENCE:
            return cls(promise.share, None, promise.epsilon, text=words)
        distance = parse_distance(promise.distance, space) * Fraction(space.diameter)
        return cls(promise.share, distance, promise.epsilon, text=words)

    @property
    def change(self) -> tuple[Fraction, tuple[Fraction, ...]]:
        """Share and distances: two promises are about the same change if and only if these are equal."""
        return self.share, self.distances

    def to_json(self) -> dict[str, Any]:
        """Plain data with exact numbers."""
        return {
            "share": exact_text(self.share),
            "distance": [exact_text(q) for q in self.distances] or None,
            "epsilon": exact_text(self.epsilon),
            "text": self.text,
        }

    def _words(self) -> str:
        share = "all data" if self.share == 1 else f"a share of {exact_text(self.share)} of the data"
        return f"{share} by {' and '.join(map(show, self.distances))}" if self.distances else f"{share} anywhere"

    def __str__(self) -> str:
        return f"{self.text}: ε ≤ {show(self.epsilon)}"

    def __repr__(self) -> str:
        far = [exact_text(q) for q in self.distances]
        distance = far if len(far) > 1 else far[0] if far else None
        numbers = exact_text(self.share), distance, exact_text(self.epsilon)
        return f"PromiseLimit({', '.join(map(repr, numbers))}, text={self.text!r})"


@dataclass(frozen=True)
class Promises:
    """What a budget of promises keeps: each promise's epsilon, and delta in total.

    Args:
        promises: :class:`PromiseLimit`, or tuples (share, distance, epsilon) of numbers in the metric's unit.
        delta: By how much more often a guess may be right than all promises together say, in [0, 1).
        model: ``"local"``, ``"shuffle"`` or ``"central"``.
        bounded: Whether all users hold the same public number of items.

    >>> kept = Promises([(1, "0.3", 1), ("1/30", 10, "0.5")], delta="1e-9")
    >>> [str(p) for p in kept.promises]
    ['all data by 0.3: ε ≤ 1', 'a share of 1/30 of the data by 10: ε ≤ 0.5']
    """

    symbol: ClassVar[str] = "epsilon"
    radius: ClassVar[None] = None
    promises: tuple[PromiseLimit, ...]
    delta: Fraction
    model: Model
    bounded: bool

    def __init__(
        self,
        promises: Sequence[PromiseLimit | tuple[Exact, Exact | None, Exact]],
        delta: Exact = 0,
        *,
        model: str = Model.CENTRAL,
        bounded: bool = False,
    ) -> None:
        made = tuple(p if isinstance(p, PromiseLimit) else PromiseLimit(*p) for p in promises)
        if not made or len(made) > 100:
            raise ParameterError(
                f"There are {len(made)} promises.", allowed="1 to 100", fix='PromiseLimit("1/30", 10, "0.5")'
            )
        changes = [p.change for p in made]
        twice = next((p for i, p in enumerate(made) if p.change in changes[:i]), None)
        if twice is not None:
            raise ParameterError(
                f"There are two promises about {twice.text}.", allowed="one epsilon for each change", fix="drop one"
            )
        object.__setattr__(self, "promises", made)
        object.__setattr__(self, "delta", probability(delta))
        object.__setattr__(self, "model", to_model(model))
        object.__setattr__(self, "bounded", bool(bounded))

    def to_json(self) -> dict[str, Any]:
        """Plain data that :func:`promises_from_json` reads back."""
        return {
            "definition": "Promises",
            "promises": [p.to_json() for p in self.promises],
            "delta": exact_text(self.delta),
            "model": self.model.value,
            "bounded": self.bounded,
        }

    def __repr__(self) -> str:
        bounded = ", bounded=True" * self.bounded
        return f"Promises({list(self.promises)!r}, {exact_text(self.delta)!r}, model={self.model.value!r}{bounded})"

    def __str__(self) -> str:
        many = len(self.promises)
        return f"{many} promise{'s' * (many != 1)}, δ {show(self.delta)} ({self.model.value})"


def promises_from_json(data: Mapping[str, Any]) -> Promises:
    """The promises that :meth:`Promises.to_json` wrote."""
    try:
        limits = [PromiseLimit(p["share"], p["distance"], p["epsilon"], text=p["text"]) for p in data["promises"]]
        return Promises(limits, data["delta"], model=data["model"], bounded=data["bounded"])
    except (KeyError, TypeError):
        raise ParameterError(
            "The promises of the budget cannot be read.",
            allowed="the fields that Promises.to_json() writes",
            fix="install the version of barrow that wrote it",
        ) from None


def _distances(given: Exact | Sequence[Exact] | None) -> tuple[Fraction, ...]:
    if given is None or (isinstance(given, str) and given.strip().lower() in ANYWHERE):
        return ()
    parts: list[Exact] = list(given) if isinstance(given, list | tuple) else [given]  # type: ignore[list-item]
    found = tuple(exact(part, "the distance") for part in parts)
    if not found or any(q < 0 for q in found) or not any(found):
        raise ParameterError(
            f"The distance is {given!r}.",
            allowed="a number above 0 in the metric's unit, one for each part of a product, or None for any distance",
            fix="distance='0.3'",
        )
    return found


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


def reach_upper(promise: PromiseLimit, space: SpaceRef, metric: str) -> tuple[Fraction, Fraction]:
    """What share of a person's items a promised change moves, and how far on the grid of ``space``, at most.

    Under another metric nobody knows what the change does to the release: 1 and 1.

    >>> from barrow.ledger import SpaceRef
    >>> grid = SpaceRef("earth", "sha256:00", 30, "km", "earth km", "1/100")
    >>> reach_upper(PromiseLimit("1/10", "0.3", 1), grid, "earth km")
    (Fraction(1, 10), Fraction(3, 100))
    """
    if space.metric != metric:
        return Fraction(1), Fraction(1)
    far = promise.distances[0] / space.diameter if len(promise.distances) == 1 else None
    return space.records.reach_upper(promise.share, far, space.snapping or Fraction(0))


def cost_of(event: Event, delta: Fraction, space: SpaceRef, promises: Sequence[PromiseLimit], metric: str) -> Price:
    """What a release about ``space`` costs at each promise; a release of another metric costs its worst case at all.

    Args:
        event: What was drawn: it alone says the epsilon (:func:`barrow.accounting.epsilon_at`).
        delta: Of the release; it is charged at every promise.
        space: What it is about.
        promises: What is kept.
        metric: The metric that the promises are about.

    >>> from barrow.ledger import SpaceRef
    >>> from barrow.privacy import KNormNoise
    >>> grid = SpaceRef("earth", "sha256:00", 30, "km", "earth km", 0)
    >>> asked = [PromiseLimit(1, 3, 1), PromiseLimit("1/30", 30, 1)]
    >>> noise = KNormNoise(6, model="central", range_ratio="1/2")
    >>> cost_of(noise, Fraction(0), grid, asked, "earth km").epsilons
    (Fraction(3, 5), Fraction(1, 10))
    """
    from barrow.accounting import epsilon_at  # opening a ledger needs no accountant

    return Price(tuple(epsilon_at(event, *reach_upper(one, space, metric), delta) for one in promises), delta)


def _short(epsilon: Fraction) -> Fraction:
    if epsilon.denominator.bit_length() <= 40:
        return epsilon
    return Fraction(math.ceil(epsilon * _GRID), _GRID)
