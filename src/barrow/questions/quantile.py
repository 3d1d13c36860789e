"""Quantiles on a line, with intervals: read off the shares up to each point of the best histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from msgspec import structs

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms import EdgeNoise, HistogramNoise
from barrow.mechanisms.edge_histogram import spacings
from barrow.numerics import Exact, exact
from barrow.numerics.exact import near
from barrow.planning import Comparison
from barrow.planning.after import OwnError
from barrow.planning.candidates import Candidate, best_first, checked_definition, preferred
from barrow.planning.histograms import kept_noise
from barrow.planning.terms import Terms
from barrow.privacy import Model
from barrow.questions.base import Question
from barrow.questions.distribution import Reading, check_line, quantile_words, reading_of, shares_asked, uniform
from barrow.questions.histogram import Histogram, HistogramDraw, HistogramPlan, shares_counted
from barrow.questions.linear import LinearPlan
from barrow.questions.noise_words import noise_sentence
from barrow.questions.plan import Rows
from barrow.questions.statement import AnswerFacts, Statement, needed
from barrow.spaces import Space

_STRETCH = 1.0 / 32.0
"""Nodes suit people who are spread over the line, and people who are all in so much of it."""
_STEP = 1e-3
"""Widths that differ by less of the line are alike."""
_SUMMED = ("auto", "cells", "edges", "levels", "tree")
"""Mechanisms off which quantiles can be read."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Quantile(Question):
    """The values below which given shares of people's items lie; the median by default.

    They are read off a histogram of the line, and asked together with one they cost nothing more.

    Args:
        of: One share in (0, 1), or several.
        noise: ``"auto"``, ``"laplace"`` or ``"gaussian"``.
        definition: ``"auto"``: what keeps the promises with the narrowest intervals; ``"emd"`` or ``"user_level"`` for
            EMD-DP or user-level DP.

    >>> Quantile(of=["0.25", "0.5"]).shares
    (Fraction(1, 4), Fraction(1, 2))
    """

    kind: ClassVar[str] = "quantile"
    alike: ClassVar[bool] = False
    error_words: ClassVar[str] = "half the width of the widest 95 % interval"
    of: Exact | Sequence[Exact] = "0.5"
    noise: str = "auto"
    definition: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_definition(self.definition)
        shares_asked(self.of)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The shares, exact."""
        return shares_asked(self.of)

    @property
    def missing(self) -> tuple[str, ...]:
        """An item of their own."""
        return ("no records", "default item")

    def fits(self, space: Space) -> None:
        """Refuse, within a second, a space on which it has no answer."""
        check_line(space)

    @property
    def histogram(self) -> Histogram:
        """The histogram that they are read off."""
        return Histogram(name=self.name, fraction=self.fraction, noise=self.noise, definition=self.definition)

    def plan(self, terms: Terms) -> QuantilePlan:
        """The histogram with the narrowest intervals of these quantiles; it reads no data."""
        check_line(terms.space)
        if terms.model is not Model.CENTRAL:
            raise self.central_only()
        plan = self.histogram.plan(terms)
        if not isinstance(plan, HistogramPlan):
            raise ParameterError("No histogram with additive noise answers here.", allowed="2 points or more", fix="")
        return QuantilePlan.of(self, plan)

    def central_only(self) -> ParameterError:
        """That they are read off what people report."""
        return ParameterError(
            "Quantiles are planned for data already held.",
            allowed="model 'central'",
            fix="histogram, which people can report themselves, and from which they can be read off",
        )

    def compared(self, terms: Terms, promises: Any, epsilons: Any, **given: Any) -> Comparison:
        """By what the plan itself is chosen by, so that both say the same numbers."""
        from barrow.questions.comparing import compared_plan

        return compared_plan(self.plan(terms), promises, epsilons)

    @classmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and that it comes with intervals."""
        once = "with records counting once" if statement.answer.holders else "counting once"
        return (
            f"We released {statement.released}, computed from {statement.people:,} people, each person {once}. Each "
            "comes with an interval that holds the true one with probability 95 %, all of them at once, snapping "
            "included."
        )

    @classmethod
    def counted(cls, statement: Statement) -> str:
        """What the noise was added to."""
        return shares_counted(statement, needed(statement.answer.read_from))

    @classmethod
    def drawn(cls, statement: Statement) -> list[str]:
        """How the noise was drawn, and what was made of it."""
        found = needed(statement.answer.read_from)
        return [
            noise_sentence(statement.answer),
            f"The noisy values ({found.words}) were decoded to one histogram, from which the quantiles "
            "were read off; their intervals come from the noisy values, which say at which points the share asked for "
            "may be reached.",
        ]


@dataclass(frozen=True, eq=False)
class QuantilePlan(HistogramPlan):
    """What quantiles would be like; errors of candidates are half widths of intervals."""

    question: Quantile

    @classmethod
    def of(cls, question: Quantile, plan: HistogramPlan) -> QuantilePlan:
        """By the mechanism of the narrowest intervals."""
        own = _by_width([_respaced(one, plan, question.shares) for one in plan.own], plan.space, question.shares)
        rivals = _by_width(plan.rivals, plan.space, question.shares)
        if not own:
            raise ParameterError(
                "No mechanism whose shares can be added up answers here.",
                allowed="a line of 2 points or more, and Laplace or Gaussian noise",
                fix="noise = 'auto'",
            )
        best = preferred(own, rivals, question.definition)
        made: HistogramNoise = best.mechanism
        return cls(
            question, plan.terms, made.query, best, (), plan.target, tuple(own), plan.cannot,
            own=tuple(own), rivals=tuple(rivals),
        )  # fmt: skip

    def by_emd(self, terms: Terms) -> Sequence[Candidate]:
        """The candidates of EMD-DP that keep other terms."""
        return self._measured(super().by_emd(terms))

    def by_user_level(self, epsilon: Fraction) -> Sequence[Candidate]:
        """Those of user-level DP at an epsilon."""
        return self._measured(super().by_user_level(epsilon))

    def _measured(self, found: Sequence[Candidate]) -> list[Candidate]:
        measured = _by_width(found, self.space, self.question.shares)
        if not measured:
            raise ParameterError("No mechanism can answer here.", allowed="Laplace or Gaussian noise", fix="")
        return measured

    @cached_property
    def reading(self) -> Reading:
        """What reads them off."""
        found = reading_of(self.space, self.made, self.question.shares)
        if found is None:
            raise ParameterError("Nothing is known about sums of these values.", allowed="another mechanism", fix="")
        return found

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        whose = "people's items" if self.space.no_records_distance is None else "the items of people with records"
        return f"{self.reading.what} of {whose}" + (f" ({self.space.unit})" if self.space.unit else "")

    @property
    def error_parts(self) -> tuple[float, float]:
        """All of it is the interval's."""
        return self.error, 0.0

    def own_error(self, drawn: HistogramDraw) -> OwnError:
        """Half the width of the widest interval."""
        rows = self.reading.quantiles(drawn.raw, drawn.shares)
        return OwnError(max((row["high_95"] - row["low_95"]) / 2.0 for row in rows))

    def tables(self, drawn: HistogramDraw) -> dict[str, Rows]:
        """The quantiles, and the distribution function in its band."""
        found = {"values": self.reading.quantiles(drawn.raw, drawn.shares), "below": self.reading.below(drawn.raw)}
        return found if self.space.no_records_distance is None else {**found, "people": self.reading.people(drawn.raw)}

    def summary(self, drawn: HistogramDraw) -> list[str]:
        """The quantiles with their intervals."""
        return quantile_words(self.reading.quantiles(drawn.raw, drawn.shares))

    def fields(self) -> AnswerFacts:
        """What the statement says about the values."""
        return structs.replace(
            LinearPlan.fields(self),
            quantiles=self.reading.names,
            read_from=self.read_from,
            holders=self.space.no_records_distance is not None,
        )

    def details(self) -> dict[str, Any]:
        """What is this kind's own in plain data."""
        return {
            **LinearPlan.details(self),
            "mechanism": self.chosen.name,
            "candidates": [candidate.to_json() for candidate in self.candidates],
            "why_others_lose": self._reasons,
            "cannot_answer": dict(self.cannot),
        }

    @property
    def rows(self) -> int:
        """Quantiles, and the distribution function at each point."""
        return len(self.question.shares) + self.space.items

    @property
    def uniform_guess(self) -> float:
        """Half the line."""
        return self.space.records_space.diameter / 2.0

    @property
    def share_half_width(self) -> float:
        """The widest 95 % half width of a share up to a point where a quantile lies if items are spread uniformly."""
        wide = []
        for share, (first, last) in zip(self.question.shares, self._spans, strict=True):
            here = (self.reading.cumulative.last >= first) & (self.reading.cumulative.first <= last)
            widths = self.reading.cumulative.half_widths(float(share))
            wide.append(float(widths[here].max() if here.any() else widths.max()))
        return max(wide)

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        return self.reading.spans(np.asarray(self.made.matrix @ uniform(self.space)))

    def answer_lines(self) -> list[str]:
        """The mechanism, and how wide intervals would be."""
        return [
            f"Chosen    {self.chosen.name}: {self.chosen.words}",
            f"Noise     each share of people below a point ± {near(100 * self.share_half_width)} % (95 %)",
            f"Error     ± {self.sized(self.error)} (95 %, all at once) if people's items were spread uniformly"
            + ("; less where many are alike" if self.error else ""),
        ]

    @property
    def warnings(self) -> list[str]:
        """A warning where an interval would cover most of the line."""
        whole = self.space.records_space.diameter
        if self.error < whole / 4.0:
            return []
        times = 8.0 * self.share_half_width
        return [
            f"The answer will be nearly useless: ± {self.sized(self.error)} on a line of {self.sized(whole)}. About "
            f"{math.ceil(self.terms.users * max(times, 2.0)):,} people, or promises {near(max(times, 2.0), digits=2)} "
            "times looser, would help."
        ]


def _respaced(one: Candidate, plan: HistogramPlan, shares: tuple[Fraction, ...]) -> Candidate:
    """Noise along edges with the nodes that suit quantiles, whether people are spread out or all in one stretch.

    Nodes that are best for a histogram may be farther apart than most people are, and say nothing of what is between.
    """
    if not isinstance(getattr(one.mechanism, "noise", None), EdgeNoise):
        return one
    tried = []
    for spacing in spacings(plan.space):
        made = kept_noise(replace(plan.target, spacing=spacing), "edges")
        reading = reading_of(plan.space, made, shares)
        if reading is not None:
            wide = [reading.half_width(made, part) + _STEP * plan.space.diameter for part in (1.0, _STRETCH)]
            tried.append((wide[0] * wide[1], made))
    if not tried:
        return one
    best = min(tried, key=lambda pair: pair[0])[1]
    return replace(one, mechanism=best, guarantee=price(best.event))


def _by_width(found: Sequence[Candidate], space: Space, shares: tuple[Fraction, ...]) -> list[Candidate]:
    """The candidates that can be read, by half the width of the widest interval if items are spread uniformly."""
    measured = []
    for one in found:
        reading = reading_of(space, one.mechanism, shares)
        if reading is not None:
            wide = reading.half_width(one.mechanism)
            measured.append(replace(one, error=wide, decoded=None, undecoded=None, upper=None, standard_error=None))
    return best_first(measured)


def read_together(questions: Sequence[Question]) -> tuple[Question, ...]:
    """The questions with quantiles read off a histogram that is asked beside them, by the same noise: one release.

    >>> read_together([Histogram(), Quantile(of=["0.5", "0.9"])])
    (Histogram(quantiles=['0.5', '0.9']),)
    """
    hosts = [one for one in questions if isinstance(one, Histogram) and one.mechanism in _SUMMED and one.items is None]
    if not hosts:
        return tuple(questions)
    host = hosts[0]
    guests = [
        one for one in questions
        if isinstance(one, Quantile) and (one.noise, one.definition) == (host.noise, host.definition)
    ]  # fmt: skip
    if not guests:
        return tuple(questions)
    shares = {exact(share) for share in host.quantiles}.union(*(one.shares for one in guests))
    given = [one.fraction for one in guests if one.fraction is not None]
    fraction = None if host.fraction is None else host.fraction + sum(given, Fraction(0))
    joined = replace(host, quantiles=sorted(shares), fraction=fraction)
    return tuple(joined if one is host else one for one in questions if one not in guests)
