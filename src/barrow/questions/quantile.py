"""Quantiles on a line, with intervals: read off the shares up to each point of the best histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from msgspec import structs

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms import EdgeNoise
from barrow.mechanisms.edge_histogram import spacings
from barrow.numerics import Exact, exact, exact_text
from barrow.numerics.exact import near
from barrow.planning.after import OwnError
from barrow.planning.candidates import Candidate, best_first, checked_definition, preferred
from barrow.planning.histograms import noise_within
from barrow.planning.notes import Note
from barrow.planning.terms import Terms
from barrow.promises import Model
from barrow.questions.answer import Sample, Tables, number
from barrow.questions.distribution import (
    QuantileReader,
    check_line,
    quantile_reader,
    quantile_shares,
    uniform,
)
from barrow.questions.estimates import ErrorEstimate, estimate
from barrow.questions.grouped_quantiles import GroupedQuantilesAnswer, plan_group_quantiles
from barrow.questions.histogram import Histogram
from barrow.questions.histogram_answer import DecodedAnswer, HistogramAnswer, value_facts
from barrow.questions.noise_words import nearly_useless, noise_sentence, shares_counted
from barrow.questions.plan_text import answer_lines, details, own_notes
from barrow.questions.question import READ_FROM_HISTOGRAM, Question, Traits, host_of, needs_curator
from barrow.questions.releasing import error_after, summary
from barrow.questions.statement import AnswerFacts, Statement, needed
from barrow.questions.value_tables import quantile_words
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
    traits: ClassVar[Traits] = Traits("half the width of the widest 95 % interval", alike=False, within_groups=True)
    missing: ClassVar[tuple[str, ...]] = ("no records", "default item")
    of: Exact | Sequence[Exact] = "0.5"
    noise: str = "auto"
    definition: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_definition(self.definition)
        quantile_shares(self.of)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The shares, exact."""
        return quantile_shares(self.of)

    def fits(self, space: Space) -> None:
        """Refuse, within a second, a space on which it has no answer."""
        check_line(space)

    @property
    def histogram(self) -> Histogram:
        """The histogram that they are read off."""
        return Histogram(name=self.name, fraction=self.fraction, noise=self.noise, definition=self.definition)

    def plan(self, terms: Terms) -> QuantileAnswer | GroupedQuantilesAnswer:
        """The histogram with the narrowest intervals of these quantiles; within hidden groups ramps; reads no data."""
        if terms.space.geometry.within is not None:
            return plan_group_quantiles(self, terms, self.shares, self.noise)
        check_line(terms.space)
        if terms.model is not Model.CENTRAL:
            raise needs_curator("Quantiles", READ_FROM_HISTOGRAM)
        plan = self.histogram.plan(terms)
        if not isinstance(plan, HistogramAnswer):
            raise ParameterError(
                "No histogram with additive noise can answer here.", allowed="2 points or more", fix=""
            )
        return QuantileAnswer.of(self, plan)

    @classmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and that it comes with intervals."""
        once = "with records counting once" if statement.answer.holders else "counting once"
        return (
            f"We released {statement.released}, computed from {statement.people:,} people, each person {once}. Each "
            f"comes with an interval that contains the true value with probability 95 %, all intervals "
            f"simultaneously, snapping included."
        )

    @classmethod
    def _counted(cls, statement: Statement) -> str:
        """What the noise was added to."""
        return shares_counted(statement, needed(statement.answer.read_from))

    @classmethod
    def _noise_steps(cls, statement: Statement) -> list[str]:
        """How the noise was drawn, and what was made of it."""
        result = needed(statement.answer.read_from)
        return [
            noise_sentence(statement.answer),
            f"The noisy values ({result.words}) were decoded to one histogram, from which the quantiles "
            "were read off; their intervals follow from the noisy values, which limit the points at which the share "
            "may be reached.",
        ]


@dataclass(frozen=True, eq=False)
class QuantileAnswer(HistogramAnswer):
    """What quantiles would be like; errors of candidates are half widths of intervals."""

    question: Quantile

    @classmethod
    def of(cls, question: Quantile, plan: HistogramAnswer) -> QuantileAnswer:
        """By the mechanism of the narrowest intervals."""
        own = _by_width([_respaced(one, plan, question.shares) for one in plan.own], plan.terms.space, question.shares)
        baselines = _by_width(plan.baselines, plan.terms.space, question.shares)
        if not own:
            raise ParameterError(
                "No mechanism with additive shares can answer here.",
                allowed="a line of 2 points or more, and Laplace or Gaussian noise",
                fix="noise = 'auto'",
            )
        best = preferred(own, baselines, question.definition)
        result = cls(question, plan.terms, best, plan.target, tuple(own), plan.cannot, quantiles=question.shares)
        return replace(result, own=tuple(own), baselines=tuple(baselines))

    def ranked(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """By the width of the widest interval."""
        measured = _by_width(candidates, self.terms.space, self.question.shares)
        if not measured:
            raise ParameterError("No mechanism can answer here.", allowed="Laplace or Gaussian noise", fix="")
        return measured

    @cached_property
    def reading(self) -> QuantileReader:
        """What reads them off."""
        result = quantile_reader(self.terms.space, self.mechanism, self.question.shares)
        if result is None:
            raise ParameterError("Nothing is known about sums of these values.", allowed="another mechanism", fix="")
        return result

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        whose = "people's items" if self.terms.space.no_records_distance is None else "the items of people with records"
        return f"{self.reading.what} of {whose}" + (f" ({self.terms.space.unit})" if self.terms.space.unit else "")

    def tables(self, sample: Sample) -> Tables:
        """The quantiles, and the distribution function in its band."""
        values = np.asarray(sample.values, dtype=np.float64)
        result = {"values": self.reading.quantiles(values, self.shares(sample)), "below": self.reading.below(values)}
        if self.terms.space.no_records_distance is None:
            return result
        return {**result, "people": self.reading.people(values)}

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        return structs.replace(
            value_facts(self),
            quantiles=self.reading.names,
            read_from=self.read_from,
            holders=self.terms.space.no_records_distance is not None,
        )

    @property
    def uniform_guess(self) -> float:
        """Half the line."""
        return self.terms.space.records_space.diameter / 2.0

    @property
    def share_half_width(self) -> float:
        """The widest 95 % half width of a share up to a point where a quantile lies if items are spread uniformly."""
        wide = []
        spans = self.reading.spans(np.asarray(self.mechanism.matrix @ uniform(self.terms.space)))
        for share, (first, last) in zip(self.question.shares, spans, strict=True):
            here = (self.reading.cumulative.last >= first) & (self.reading.cumulative.first <= last)
            widths = self.reading.cumulative.half_widths(float(share))
            wide.append(float(widths[here].max() if here.any() else widths.max()))
        return max(wide)


@host_of.register(Quantile)
def _(question: Quantile, others: Sequence[Question]) -> Question:
    """A histogram that has these quantiles."""
    wanted = {exact_text(share) for share in question.shares}
    hosts = (one for one in others if isinstance(one, Histogram) and wanted <= set(one.quantiles))
    return next(hosts, question)


@estimate.register(QuantileAnswer)
def _(answer: QuantileAnswer) -> ErrorEstimate:
    """All of it is the interval's."""
    return ErrorEstimate(answer.error, guess=answer.uniform_guess)


@error_after.register(QuantileAnswer)
def _(answer: QuantileAnswer, drawn: Sample) -> OwnError | None:
    """Half the width of the widest interval."""
    rows = answer.tables(drawn)["values"]
    return OwnError(max((number(row, "high_95") - number(row, "low_95")) / 2.0 for row in rows))


@summary.register(QuantileAnswer)
def _(answer: QuantileAnswer, drawn: Sample) -> list[str]:
    """The quantiles with their intervals."""
    return quantile_words(answer.tables(drawn)["values"])


details.register(QuantileAnswer)(details.dispatch(DecodedAnswer))  # the least that is known is of histograms


@answer_lines.register(QuantileAnswer)
def _(answer: QuantileAnswer) -> list[str]:
    """The mechanism, and how wide intervals would be."""
    return [
        f"Chosen    {answer.chosen.name}: {answer.chosen.words}",
        f"Noise     each share of people below a point ± {near(100 * answer.share_half_width)} % (95 %)",
        f"Error     ± {near(answer.error, answer.error_unit)} (95 %, all at once) if people's items were spread "
        "uniformly" + ("; less where many are alike" if answer.error else ""),
    ]


@own_notes.register(QuantileAnswer)
def _(answer: QuantileAnswer) -> list[Note]:
    """A warning where an interval would cover most of the line."""
    whole, unit = answer.terms.space.records_space.diameter, answer.error_unit
    if answer.error < whole / 4.0:
        return []
    times = max(8.0 * answer.share_half_width, 2.0)
    what = f"± {near(answer.error, unit)} on a line of {near(whole, unit)}"
    return nearly_useless(what, answer.terms.users, times, "help")


def _respaced(one: Candidate, plan: HistogramAnswer, shares: tuple[Fraction, ...]) -> Candidate:
    """Noise along edges with the nodes that suit quantiles, whether people are spread out or all in one stretch.

    Nodes that are best for a histogram may be farther apart than most people are, and say nothing of what is between.
    """
    if not isinstance(getattr(one.mechanism, "noise", None), EdgeNoise):
        return one
    tried = []
    for spacing in spacings(plan.terms.space):
        built = noise_within(replace(plan.target, spacing=spacing), "edges")
        reading = quantile_reader(plan.terms.space, built, shares)
        if reading is not None:
            wide = [reading.half_width(built, part) + _STEP * plan.terms.space.diameter for part in (1.0, _STRETCH)]
            tried.append((wide[0] * wide[1], built))
    if not tried:
        return one
    best = min(tried, key=lambda pair: pair[0])[1]
    return replace(one, mechanism=best, guarantee=price(best.event))


def _by_width(candidates: Sequence[Candidate], space: Space, shares: tuple[Fraction, ...]) -> list[Candidate]:
    """The candidates that can be read, by half the width of the widest interval if items are spread uniformly."""
    measured = []
    for one in candidates:
        reading = quantile_reader(space, one.mechanism, shares)
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
        if isinstance(one, Quantile) and (one.noise, one.definition, one.by) == (host.noise, host.definition, host.by)
    ]  # fmt: skip
    if not guests:
        return tuple(questions)
    shares = {exact(share) for share in host.quantiles}.union(*(one.shares for one in guests))
    given = [one.fraction for one in guests if one.fraction is not None]
    fraction = None if host.fraction is None else host.fraction + sum(given, Fraction(0))
    joined = replace(host, quantiles=sorted(shares), fraction=fraction)
    return tuple(joined if one is host else one for one in questions if one not in guests)
