"""What would make useless reports on items useful: the one change that helps most, priced by the accountant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms import item_wise, reduced
from barrow.numerics.exact import near
from barrow.planning.terms import Terms
from barrow.privacy import Model
from barrow.randomisers import Randomiser, randomiser_from_spec

_STEPS, _DELTA = 40, Fraction(1, 10**9)
_PEOPLE = tuple(10**k for k in range(1, 7))


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
    spec: Mapping[str, Any] | str | None
    wanted: Randomiser

    @classmethod
    def of(
        cls, terms: Terms, items: int, samples: bool, spec: Mapping[str, Any] | str | None, made: Randomiser
    ) -> ItemHelp | None:
        """From the randomiser that was found to be useless; None where no alpha0 is known that would do."""
        guess, alpha0 = made.uniform_guess, Fraction(made.alpha0_upper)
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
        if terms.delta == 0 and terms.model is not Model.LOCAL and self._kept(delta=_DELTA):
            return f"delta = 1e-9 would help most, since reports then hide each other: about {about}."
        fewer = self._most(range(1, self.items), lambda count: self._kept(items=count, samples=True))
        if fewer is not None:
            drawn = f"{fewer:,} item{'s' if fewer > 1 else ''} drawn from each person"
            return f"samples = {fewer} would help most: with {drawn} it would be about {about}."
        times = float(self._alpha() / terms.alpha)
        looser = f"romises {near(times, digits=2)} times looser"
        people = next((many for many in _PEOPLE if self._kept(users=many * terms.users)), None) if terms.delta else None
        if terms.model is Model.LOCAL or people is None:
            return f"P{looser} would make it about {about}."
        return f"{people:,} times as many people, or p{looser}, would make it about {about}."

    @staticmethod
    def _most(counts: range, kept: Callable[[int], bool]) -> int | None:
        """The largest count that is kept, by halving; None where not even the first is."""
        if not counts or not kept(counts[0]):
            return None
        low, high = 0, len(counts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if kept(counts[middle]) else (low, middle)
        return counts[low]

    def _kept(self, **change: Any) -> bool:
        return self._alpha(**change) <= self.terms.alpha

    def _alpha(self, **change: Any) -> Fraction:
        """The alpha that the wanted reports have, with something else than what is granted."""
        terms, had = self.terms, {"items": self.items, "users": self.terms.users, "delta": self.terms.delta, **change}
        sampled = had.pop("samples", self.samples)
        people = had.pop("users")
        hiding = {Model.LOCAL: None, Model.SHUFFLE: terms.hiding_among(people)}.get(terms.model, people)
        made = item_wise(self.wanted, users=hiding, model=terms.model.value, **had)
        found: Fraction = price(reduced(made).event if sampled else made.event).definition.parameters["alpha"]
        return found
