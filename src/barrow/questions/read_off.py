"""Questions whose answer is read off noisy linear values: circular means and spreads; among holders too."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from barrow import planning
from barrow.errors import ParameterError
from barrow.planning.candidates import ALIKE, Candidate, Versus, best_first, checked_definition, kept_user_level
from barrow.planning.terms import Terms
from barrow.policy import Promise
from barrow.privacy import Model
from barrow.queries.holders import Holders, holders
from barrow.questions.linear import Linear, LinearPlan, user_level_of
from barrow.questions.noise_words import noise_sentence
from barrow.questions.statement import Statement


@dataclass(frozen=True, kw_only=True, repr=False)
class ReadOff(Linear):
    """A linear question for a curator, whose values are turned into something else with intervals of its own."""

    alike: ClassVar[bool] = False
    plural: ClassVar[str] = ""
    """What it asks for, in the plural, as refusals name it."""
    intervals: ClassVar[str] = ""
    """What the intervals hold, as a sentence."""
    decoding: ClassVar[str] = ""
    """What is made of the noisy values, as a sentence."""

    @classmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and that it comes with intervals."""
        more = "with records counting once, and the share of people with records"
        once = more if statement.answer.holders else "counting once"
        people = f"computed from {statement.people:,} people, each person {once}"
        return f"We released {statement.released}, {people}. {cls.intervals}"

    @classmethod
    def drawn(cls, statement: Statement) -> list[str]:
        """How the noise was drawn, and what was made of it."""
        return [noise_sentence(statement.answer), cls.decoding]

    @abstractmethod
    def _read_off(self, made: LinearPlan, pair: Holders | None) -> ReadOffPlan:
        """The plan of the answer from that of the values; over holders of records where there is a pair."""

    def plan(self, terms: Terms) -> ReadOffPlan:
        """The noise that keeps the terms, and the intervals to expect; it reads no data.

        EMD-DP and user-level DP are compared by what is read off: that is what people get.
        """
        self._check(terms)
        definition = checked_definition(self.definition)
        if not terms.promises or (self.noise != "auto" and definition == "auto"):
            return self._alone(terms)
        own = replace(self, definition="emd")._alone(terms)
        if definition == "emd":
            return own
        try:
            rival = replace(self, definition="user_level")._alone(terms)
        except ParameterError:
            if definition == "user_level":
                raise
            return own
        if definition == "user_level" or rival.error * ALIKE < own.error:
            own, rival = rival, own
        return replace(own, question=replace(own.question, definition=definition), beside=rival)

    def _check(self, terms: Terms) -> None:
        if terms.model is not Model.CENTRAL:
            raise ParameterError(
                f"{self.plural} are planned for data already held.",
                allowed="model 'central'",
                fix="histogram, which people can report themselves, and from which they can be read off",
            )
        super()._check(terms)

    def _alone(self, terms: Terms) -> ReadOffPlan:
        """The plan by the definition that is asked for."""
        self._check(terms)
        return self._over_holders(terms) if terms.space.no_records_distance is not None else self._planned(terms)

    def _planned(self, terms: Terms) -> ReadOffPlan:
        made = super()._planned(terms)
        return self._best(made, made.rivals if made.chosen.user_level else made.own, None)

    def _over_holders(self, terms: Terms) -> ReadOffPlan:
        """Sums over people with records, and their share, with one constant (docs/proofs/no-records.md)."""
        inner, ranged = self.query(terms.space.records_space), self.definition == "user_level"
        made = []
        for p in (1.0, 2.0, math.inf):  # the share costs nothing in one norm
            pair = holders(inner, terms.space, p=p, ranged=ranged)
            if ranged:
                found = kept_user_level(terms, user_level_of(pair.query, terms), self.definition)
            else:
                found = planning.kept_errors(pair.query, terms, self.noise)
            made.append(self._best(LinearPlan(self, terms, pair.query, found[0], ()), found, pair))
        return min(made, key=lambda each: float(each.error))

    def _best(self, made: LinearPlan, found: Sequence[Candidate], pair: Holders | None) -> ReadOffPlan:
        """The noise by which what is read off has the least error, which need not be that of the values."""
        plan = self._read_off(made, pair)
        tried = [replace(plan, chosen=one, others=tuple(c for c in found if c is not one)) for one in found]
        return min(tried, key=lambda each: float(each.error))


@dataclass(frozen=True, eq=False)
class ReadOffPlan(LinearPlan):
    """What an answer that is read off would be like.

    Args:
        pair: Where some people hold no records: the sums over those who do, and their share.
        beside: The plan by the other definition, EMD-DP or user-level DP.
    """

    question: ReadOff
    pair: Holders | None = None
    beside: ReadOffPlan | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def what(self) -> str:
        """What is read off, e.g. ``the median``."""

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        whose = "people's items" if self.pair is None else "the items of people with records"
        return f"{self.what} of {whose}" + (f" ({self.space.unit})" if self.space.unit else "")

    @property
    def error_unit(self) -> str:
        """That of the space."""
        return self.space.unit

    @property
    def _share_half_width(self) -> float:
        """How far the share of people with records may be off, at once with all others (95 %); 0 if all count."""
        return 0.0 if self.pair is None else float(self.noise.simultaneous_half_width) / self.pair.weight

    @property
    def scales(self) -> bool:
        """What is read off errs in its own way."""
        return False

    @cached_property
    def versus(self) -> Versus | None:
        """What is released beside the best of the other definition, by what is read off."""
        if self.beside is None:
            return None
        chosen = self._read
        found = Versus(chosen, self.beside._read, None)
        worst = Fraction(chosen.guarantee.epsilon_at(1))
        try:
            if chosen.user_level:
                return replace(found, at_worst=self._by("emd", self._anywhere(worst)))
            # Whatever has this worst case is user-level DP itself: EMD-DP that was chosen is among the others.
            return replace(found, at_worst=best_first([*self.compared_by_user_level(worst), chosen])[0])
        except ParameterError:
            return found

    def _by(self, definition: str, terms: Terms) -> Candidate:
        """The best by a definition that keeps ``terms``."""
        return replace(self.question, definition=definition)._alone(terms)._read

    def _anywhere(self, epsilon: Fraction) -> Terms:
        return replace(self.terms, promises=(Promise("all", "anywhere", epsilon),), fraction=Fraction(1))

    def combined(self, noise: float) -> float:
        """As it is: what is read off has all of it."""
        return noise

    def compared_by_emd(self) -> list[Candidate]:
        """The best of EMD-DP."""
        return [self._by("emd", self.terms)]

    def compared_by_user_level(self, epsilon: Fraction) -> list[Candidate]:
        """The best of user-level DP at an epsilon."""
        at_promises = bool(self.terms.promises) and epsilon == min(self.terms.epsilons)
        return [self._by("user_level", self.terms if at_promises else self._anywhere(epsilon))]

    @property
    def _read(self) -> Candidate:
        """The choice with the error of what is read off."""
        return replace(self.chosen, error=self.error)

    def other_lines(self) -> list[str]:
        """The other definition; errors of other noises are not about what is read off."""
        return [] if self.versus is None else [f"Against   {self.versus.line}"]


def share_row(share: float, width: float) -> dict[str, object]:
    """The released share of people with records and its interval, cut to [0, 1]."""
    return {
        "output": "share of people with records",
        "value": min(max(share, 0.0), 1.0),
        "low_95": min(max(share - width, 0.0), 1.0),
        "high_95": min(max(share + width, 0.0), 1.0),
    }
