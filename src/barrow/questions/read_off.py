"""Questions whose answer is read off noisy linear values: circular means and spreads; among holders too."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from barrow.errors import ParameterError
from barrow.planning.candidates import (
    ALIKE,
    BaselineComparison,
    Candidate,
    checked_definition,
    user_level_within,
)
from barrow.planning.linear import errors_within
from barrow.planning.terms import Terms
from barrow.promises import Promise
from barrow.queries.holders import Holders, holders
from barrow.questions.comparing import against, compare_definitions
from barrow.questions.estimates import ErrorEstimate, estimate
from barrow.questions.linear import Linear, LinearAnswer, user_level_of
from barrow.questions.noise_words import noise_sentence
from barrow.questions.plan_text import other_lines
from barrow.questions.question import VALUES, Traits
from barrow.questions.statement import Statement


@dataclass(frozen=True, kw_only=True, repr=False)
class ReadOff(Linear):
    """A linear question for a curator, whose values are turned into something else with intervals of its own."""

    traits: ClassVar[Traits] = replace(VALUES, alike=False)
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
    def _noise_steps(cls, statement: Statement) -> list[str]:
        """How the noise was drawn, and what was made of it."""
        return [noise_sentence(statement.answer), cls.decoding]

    @abstractmethod
    def _read_off(self, built: LinearAnswer, pair: Holders | None) -> ReadOffAnswer:
        """The plan of the answer from that of the values; over holders of records where there is a pair."""

    def plan(self, terms: Terms) -> ReadOffAnswer:
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
            baseline = replace(self, definition="user_level")._alone(terms)
        except ParameterError:
            if definition == "user_level":
                raise
            return own
        if definition == "user_level" or baseline.error * ALIKE < own.error:
            own, baseline = baseline, own
        return replace(own, question=replace(own.question, definition=definition), beside=baseline)

    def _alone(self, terms: Terms) -> ReadOffAnswer:
        """The plan by the definition that is asked for."""
        self._check(terms)
        return self._over_holders(terms) if terms.space.no_records_distance is not None else self._planned(terms)

    def _planned(self, terms: Terms) -> ReadOffAnswer:
        built = super()._planned(terms)
        return self._best(built, built.baselines if built.chosen.user_level else built.own, None)

    def _over_holders(self, terms: Terms) -> ReadOffAnswer:
        """Sums over people with records, and their share, with one constant (docs/proofs/no-records.md)."""
        inner, ranged = self.query(terms.space.records_space), self.definition == "user_level"
        built = []
        for p in (1.0, 2.0, math.inf):  # the share costs nothing in one norm
            pair = holders(inner, terms.space, p=p, ranged=ranged)
            if ranged:
                result = user_level_within(terms, user_level_of(pair.query, terms), self.definition)
            else:
                result = errors_within(pair.query, terms, self.noise)
            built.append(self._best(LinearAnswer(self, terms, result[0], pair.query), result, pair))
        return min(built, key=lambda each: float(each.error))

    def _best(self, built: LinearAnswer, results: Sequence[Candidate], pair: Holders | None) -> ReadOffAnswer:
        """The noise by which what is read off has the least error, which need not be that of the values."""
        plan = self._read_off(built, pair)
        tried = [replace(plan, chosen=one, tried=tuple(results)) for one in results]
        return min(tried, key=lambda each: float(each.error))


@dataclass(frozen=True, eq=False)
class ReadOffAnswer(LinearAnswer):
    """What an answer that is read off would be like.

    Args:
        pair: Where some people hold no records: the sums over those who do, and their share.
        tried: The noises among which it was chosen.
        beside: The plan by the other definition, EMD-DP or user-level DP.
    """

    question: ReadOff
    pair: Holders | None = None
    tried: tuple[Candidate, ...] = field(default=(), kw_only=True)
    beside: ReadOffAnswer | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def what(self) -> str:
        """What is read off, e.g. ``the median``."""

    @property
    def others(self) -> tuple[Candidate, ...]:
        """The other noises, of the same definition."""
        return tuple(one for one in self.tried if one is not self.chosen)

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        whose, unit = "people's items" if self.pair is None else "the items of people with records", self.error_unit
        return f"{self.what} of {whose}" + (f" ({unit})" if unit else "")

    @property
    def error_unit(self) -> str:
        """That of the space."""
        return self.terms.space.unit

    @property
    def share_width(self) -> float:
        """How far the share of people with records may be off, at once with all others (95 %); 0 if all count."""
        return 0.0 if self.pair is None else float(self.noise.simultaneous_half_width) / self.pair.weight

    @property
    def read(self) -> Candidate:
        """The choice with the error of what is read off."""
        return replace(self.chosen, error=self.error)

    @cached_property
    def comparison(self) -> BaselineComparison | None:
        """What is released beside the best of the other definition, by what is read off."""
        if self.beside is None:
            return None
        own, baseline = (self.beside, self) if self.read.user_level else (self, self.beside)
        return compare_definitions(replace(self, chosen=self.read, own=(own.read,), baselines=(baseline.read,)))

    def by_emd(self, terms: Terms) -> list[Candidate]:
        """The best of EMD-DP, by what is read off."""
        return [replace(self.question, definition="emd")._alone(terms).read]

    def by_user_level(self, epsilon: Fraction) -> list[Candidate]:
        """The best of user-level DP at an epsilon, by what is read off."""
        terms = self.terms
        if not terms.promises or epsilon != min(terms.epsilons):
            terms = replace(terms, promises=(Promise("all", "anywhere", epsilon),), fraction=Fraction(1))
        return [replace(self.question, definition="user_level")._alone(terms).read]


@estimate.register(ReadOffAnswer)
def _(answer: ReadOffAnswer) -> ErrorEstimate:
    """What is read off errs in its own way."""
    return ErrorEstimate(answer.error)


@other_lines.register(ReadOffAnswer)
def _(answer: ReadOffAnswer) -> list[str]:
    """The other definition; errors of other noises are not about what is read off."""
    return against(answer)
