"""From (alpha, delta) to an item-wise release: the largest certified alpha0, and a randomiser that keeps it.

And what would make useless reports on items useful: the one change that helps most, priced by the accountant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict, Unpack

from numpy.typing import ArrayLike

from barrow.accounting import calibrate_shuffle, price
from barrow.accounting.blanket import parse_randomiser
from barrow.accounting.calibrate import METHODS, Calibration, reports_of, shuffle_alpha0_guess
from barrow.accounting.matrix_blanket import MatrixFamily, channel_arrays
from barrow.errors import ParameterError
from barrow.mechanisms import ItemWise, item_wise, reduced
from barrow.mechanisms.itemwise import least_distance
from barrow.numerics import Exact, exact_text
from barrow.numerics.exact import near
from barrow.planning.terms import Terms
from barrow.promises import Guarantee, Model
from barrow.promises.channels import MOST_ITEMS
from barrow.promises.definitions import positive, probability
from barrow.randomisers import Randomiser, family_of_spec, randomiser_from_spec
from barrow.spaces import Space

_LESS = (0, 1e-6, 1e-5, 1e-4, 1e-3)
"""By how much alpha0 is lowered, relatively, where what was calibrated costs a hair too much once it is made."""
_SMALLEST = Fraction(1, 10**9)
_STEPS, _DELTA, _TOO_LOOSE = 40, Fraction(1, 10**9), 1000.0
_PEOPLE = tuple(10**k for k in range(1, 7))


@dataclass(frozen=True)
class ItemChoice:
    """An item-wise release that keeps (alpha, delta), and how it was found.

    Attributes:
        mechanism: What will be drawn.
        guarantee: What it promises, by the best certified method, which it names.
        calibration: The largest alpha0 by each method.

    >>> from barrow.spaces import Clustered
    >>> result = choose_items(Clustered.grid(5, 4, r=0.05), 25, "1e-9", items=100, users=1000)
    >>> result.mechanism.randomiser.kind, result.guarantee.method, result.mechanism.event.alpha0 > 3.5
    ('gkrr', 'blanket', True)
    """

    mechanism: ItemWise
    guarantee: Guarantee
    calibration: Calibration

    @property
    def distortion(self) -> float | None:
        """The expected distance between an item and its report, for the worst item, in the space's units."""
        return self.mechanism.randomiser.distortion

    @property
    def warning(self) -> str | None:
        """A sentence if the reports will be nearly useless, else None."""
        return self.mechanism.randomiser.warning


def choose_items(
    space: Space,
    alpha: Exact,
    delta: Exact = 0,
    *,
    items: int,
    users: int | None = None,
    model: str = Model.CENTRAL,
    randomiser: Mapping[str, object] | str | None = None,
) -> ItemChoice:
    """The item-wise release with the largest alpha0 that is certified for (alpha, delta)-bounded EMD-DP.

    Args:
        space: The public space.
        alpha: Privacy loss per unit of EMD, for all reports of a user together.
        delta: By how much more often a guess may be right; 0 leaves plain composition, alpha/m for each item.
        items: m, how many items each user holds; public.
        users: n; not needed in the local model.
        model: ``"local"``, ``"shuffle"`` or ``"central"``.
        randomiser: A kind, or plain data; the one that suits the space by default.

    >>> from barrow.spaces import Discrete
    >>> choose_items(Discrete(["a", "b"]), 3, items=3, model="local").mechanism.event.alpha0 <= 1
    True
    """
    target, slack = positive(alpha, "alpha"), probability(delta)
    reports = reports_of(model, items=items, users=users)
    near, family = least_distance(space), family_of_spec(space, randomiser)
    result = calibrate_shuffle(
        target,
        slack,
        reports=reports,
        items=items,
        least_distance=near,
        randomiser=_family(space, randomiser) if family is None else parse_randomiser(family),
        limit=False,
    )
    for name, alpha0 in _candidates(result):
        if alpha0 < _SMALLEST:
            break
        for less in _LESS:
            built = item_wise(
                randomiser_from_spec(space, alpha0 * (1 - Fraction(less)), randomiser),
                items=items,
                users=users,
                model=model,
                delta=slack,
            )
            if name == "blanket" and built.event.randomiser is None and built.event.channel is None:
                break  # whole weights do not keep the name here: what holds for every randomiser is next
            guarantee = price(built.event)
            if guarantee.definition.parameters["alpha"] <= target:
                return ItemChoice(built, guarantee, result)
    if alpha0 < _SMALLEST:
        raise ParameterError(
            f"Each report would get alpha0 = {float(alpha0):.3g}: the reports would be pure noise.",
            allowed=f"an alpha0 of at least {float(_SMALLEST):g} for each report",
            fix="delta=1e-9 (reports hide each other), fewer items for each user, or a query such as 'histogram'",
        )
    raise ParameterError(
        f"No randomiser keeps alpha = {exact_text(target)}: {built.randomiser.description} needs "
        f"{float(guarantee.definition.parameters['alpha']):.6g}.",
        allowed="a larger alpha, or a randomiser with a smaller alpha0",
        fix="leave the randomiser out",
    )


def most_accurate_items(
    space: Space, alpha: Exact, delta: Exact, *, items: int, users: int, model: str = Model.CENTRAL
) -> ItemWise | None:
    """A release about as accurate as :func:`choose_items` could find, with no guarantee: to see if it is worth it.

    None where that takes a calibration to know.
    """
    name = family_of_spec(space, None)
    family = _family(space, None) if name is None else parse_randomiser(name)
    if probability(delta) == 0 or family is None:
        return None
    reports = reports_of(model, items=items, users=users)
    guess = shuffle_alpha0_guess(alpha, delta, reports=reports, items=items, randomiser=family)
    built = randomiser_from_spec(space, Fraction(guess), None)
    return item_wise(built, items=items, users=users, model=model, delta=delta)


def _family(space: Space, randomiser: Mapping[str, object] | str | None) -> MatrixFamily | None:
    """The randomisers of all alpha0 as matrices, where their channels are finite and small."""
    if space.items > MOST_ITEMS:  # no event holds such a channel, and a matrix takes long to build
        return None
    first = randomiser_from_spec(space, 1, randomiser).channel
    if first is None:
        return None

    def matrix(alpha0: float) -> ArrayLike:
        result = randomiser_from_spec(space, Fraction(alpha0), randomiser).channel
        return channel_arrays(first if result is None else result)[0]

    return MatrixFamily(matrix, channel_arrays(first)[1], fast=True)


def _candidates(calibration: Calibration) -> list[tuple[str, Fraction]]:
    """The method with the largest alpha0 and that alpha0; after a blanket, also the best that needs no name."""
    best = [name for name in (calibration.method,) if name == "blanket"]
    others = [name for name in METHODS if name != "blanket" and calibration.methods.get(name) is not None]
    best.append(max(others, key=lambda name: calibration.methods[name] or 0.0))
    return [
        (
            name,
            calibration.composition if name == "per_report_composition" else Fraction(calibration.methods[name] or 0.0),
        )
        for name in best
    ]


class _Change(TypedDict, total=False):
    """What might be other than what is granted."""

    items: int
    users: int
    delta: Fraction
    samples: bool


@dataclass(frozen=True)
class ItemHelp:
    """Reports that would be half as far from their items as a uniform guess, and what they would cost.

    Attributes:
        terms: What is granted.
        items: How many items of each person are reported.
        samples: Whether these are drawn from what each person holds.
        spec: The randomiser that is asked for.
        wanted: The randomiser that would do.
    """

    terms: Terms
    items: int
    samples: bool
    spec: Mapping[str, object] | str | None
    wanted: Randomiser

    @classmethod
    def of(
        cls, terms: Terms, items: int, samples: bool, spec: Mapping[str, object] | str | None, built: Randomiser
    ) -> ItemHelp | None:
        """From the randomiser that was found to be useless; None where no alpha0 is known that would do."""
        guess, alpha0 = built.uniform_guess, Fraction(built.alpha0_upper)
        for _ in range(_STEPS):
            alpha0 = Fraction(float(alpha0 * Fraction(3, 2)))
            try:
                wanted = randomiser_from_spec(terms.space, alpha0, spec)
            except ParameterError:
                return None
            if guess is not None and wanted.distortion is not None and wanted.distortion < guess / 2.0:
                return cls(terms, items, samples, spec, wanted)
        return None

    @property
    def sentence(self) -> str:
        """The change that helps most: a delta, fewer items of each person, then people or looser promises."""
        terms, about = self.terms, near(self.wanted.distortion or 0.0, self.terms.space.unit)
        if terms.delta == 0 and terms.model is not Model.LOCAL and self._satisfies(delta=_DELTA):
            return f"delta = 1e-9 would help most, since reports then hide each other: about {about}."
        fewer = self._most(range(1, self.items), lambda count: self._satisfies(items=count, samples=True))
        if fewer is not None:
            text = f"{fewer:,} item{'s' if fewer > 1 else ''} drawn from each person"
            return f"samples = {fewer} would help most: with {text} it would be about {about}."
        times = float(self._alpha() / terms.alpha)
        looser = f"romises {near(times, digits=2)} times looser"
        people = (
            next((many for many in _PEOPLE if self._satisfies(users=many * terms.users)), None) if terms.delta else None
        )
        if people is None and times > _TOO_LOOSE:
            return "No promise that still hides people would make them useful; a histogram of the same people may be."
        if terms.model is Model.LOCAL or people is None:
            return f"P{looser} would make it about {about}."
        return f"{people:,} times as many people, or p{looser}, would make it about {about}."

    @staticmethod
    def _most(counts: range, holds: Callable[[int], bool]) -> int | None:
        """The largest count that is kept, by halving; None where not even the first is."""
        if not counts or not holds(counts[0]):
            return None
        low, high = 0, len(counts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(counts[middle]) else (low, middle)
        return counts[low]

    def _satisfies(self, **change: Unpack[_Change]) -> bool:
        return self._alpha(**change) <= self.terms.alpha

    def _alpha(self, **change: Unpack[_Change]) -> Fraction:
        """The alpha that the wanted reports have, with something else than what is granted."""
        terms, sampled, people = self.terms, change.get("samples", self.samples), change.get("users", self.terms.users)
        items, delta = change.get("items", self.items), change.get("delta", self.terms.delta)
        anonymity_set = {Model.LOCAL: None, Model.SHUFFLE: terms.anonymity_set_among(people)}.get(terms.model, people)
        built = item_wise(self.wanted, users=anonymity_set, model=terms.model, items=items, delta=delta)
        value: Fraction = price(reduced(built).event if sampled else built.event).definition.parameters["alpha"]
        return value
