"""How frequent each item is, estimated from randomised items (FreqEstLocal)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from msgspec import structs

from barrow import mechanisms
from barrow.errors import ParameterError
from barrow.mechanisms.decoding.grid import nearest_in_simplex
from barrow.mechanisms.item_intervals import standing_out
from barrow.noise.source import SeededSource
from barrow.numerics.exact import near
from barrow.planning import after
from barrow.planning.candidates import useless
from barrow.planning.histograms import HistogramTarget, error_at
from barrow.planning.item_choice import ItemChoice
from barrow.planning.notes import Note, warnings_of
from barrow.planning.references import most_error
from barrow.planning.simulate import reference_distribution, simulate
from barrow.planning.terms import Terms
from barrow.promises import Guarantee, Model
from barrow.questions.answer import Answer, Rows, Sample, Tables, labelled, largest_shares, number
from barrow.questions.collecting import Collected, Counted, ReportSums, collected, for_people
from barrow.questions.item_words import how_many, items_counted, reports_sentence
from barrow.questions.items import (
    ItemsAnswer,
    ItemWiseQuestion,
    bounded_lines,
    counted_line,
    items_for_people,
    report_lines,
)
from barrow.questions.noise_words import about_words, off_words, people_words
from barrow.questions.plan_text import answer_lines, own_notes
from barrow.questions.question import Traits
from barrow.questions.releasing import error_after, on_map, simulated, summary
from barrow.questions.statement import AnswerFacts, FrequencyFacts, Statement, needed
from barrow.randomisers import suited
from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.spaces.space import Floats

_WORDS = {
    "tree": "the nearest histogram along the tree",
    "simplex": "the nearest histogram",
    "bayesian": "the likeliest histogram",
    "none": "no histogram: the estimate is published as it is",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Frequency(ItemWiseQuestion):
    """The mean histogram over people, estimated from reports on all their items.

    Args:
        decode: ``"tree"``, ``"simplex"``, ``"bayesian"`` or ``"none"``; the one that suits the space by default.

    >>> Frequency(items=30).to_spec()
    {'kind': 'frequency', 'items': 30}
    """

    kind: ClassVar[str] = "frequency"
    traits: ClassVar[Traits] = Traits(of_shares=True)
    decode: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.decode is not None and self.decode not in _WORDS:
            raise ParameterError(
                f"decode is {self.decode!r}.",
                allowed=", ".join(map(repr, _WORDS)) + ", or nothing",
                fix="leave it out",
            )

    @property
    def asked_words(self) -> str:
        """What is released, in plain words."""
        return "how frequent each item is, estimated from randomised items"

    def choose(self, terms: Terms) -> tuple[ItemChoice, mechanisms.ItemWise | mechanisms.Reduced, Guarantee]:
        """Noise in coordinates cannot be undone, and too many items for a matrix are randomised all alike."""
        if self.randomiser is None and suited(terms.space) == "laplace":
            return replace(self, randomiser="response").choose(terms)
        return super().choose(terms)

    def plan(self, terms: Terms) -> Answer:
        """The randomiser that keeps the terms, and the estimate made of its reports; it reads no data."""
        choice, built, guarantee = self.choose(terms)
        sampled = self.samples is not None
        estimator = mechanisms.FrequencyEstimator(choice.mechanism, terms.users, self.decode, sampled=sampled)
        return FrequencyAnswer(self, terms, choice, built, guarantee, estimator)

    @classmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and how accurate it is."""
        facts = statement.answer
        result = needed(facts.frequency)
        warning = f" {facts.warning}" if facts.warning else ""
        both = (result.predicted_error, result.error_upper)
        before, most = (f"{error:.3g} {statement.unit}".rstrip() for error in both)
        if result.decode == "none":
            off = f"On average, items appear about {before} from where they were, at most {most}."
        else:
            off = (
                f"{off_words(statement, result.emd_predicted, result.emd_most)} Before decoding the estimate is off by "
                f"about {before}, at most {most} on average for any data."
            )
        return (
            f"We released {statement.released}, of {statement.people:,} people, {how_many(facts)}. Every item was "
            f"replaced by a random report ({needed(facts.noise).distribution}). {off}{warning}"
        )

    @classmethod
    def _counted(cls, statement: Statement) -> str:
        """What was randomised."""
        return items_counted(statement)

    @classmethod
    def _noise_steps(cls, statement: Statement) -> list[str]:
        """How reports were drawn, and what was made of them."""
        decode = needed(statement.answer.frequency).decode
        return [
            reports_sentence(statement),
            f"An unbiased estimate was computed from the reports by inverting the randomiser, and from it "
            f"{_WORDS.get(decode, decode)}; both use the reports only and cost nothing more.",
        ]


@dataclass(frozen=True, eq=False)
class FrequencyAnswer(ItemsAnswer):
    """What frequencies would be like: reports on all items, the estimate made of them, its error, the guarantee.

    Args:
        estimator: From counts of reports to estimates.
    """

    estimator: mechanisms.FrequencyEstimator

    @cached_property
    def target(self) -> HistogramTarget:
        """At which public reference its error is predicted: as that of any histogram."""
        return HistogramTarget(self.terms, reference_distribution(self.terms.space), self.question.items)

    @cached_property
    def error(self) -> float:
        """The predicted EMD after decoding, in the space's units; of the estimate where nothing is decoded."""
        if self.estimator.how == "none":
            return self.estimator.predicted_error(self.target.reference)
        return simulate(self.estimator, self.target.reference).mean

    @cached_property
    def error_most(self) -> float:
        """The largest predicted error over several public references, "at most about"."""
        if self.estimator.how == "none":
            return self.estimator.error_upper
        return most_error(
            "frequency",
            self.terms.space,
            self.error,
            lambda at, draws: error_at(self.target, self.estimator, at, draws),
        )

    def tables(self, sample: Sample) -> Tables:
        """The decoded and the unbiased shares, and the reports, whose variances are no smaller than the estimate's."""
        of, shares = self.estimator, self.estimator.decode(sample.values)
        rows = estimated_rows(self.terms.space, shares, of.estimate(sample.values), of.deviations(sample.values))
        return {"values": rows, "reports": super().tables(sample)["values"]}

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        result = self.estimator
        return structs.replace(
            super().facts(),
            unit="",
            warning=result.warning,
            frequency=FrequencyFacts(
                decode=str(result.how),
                condition=result.channel.condition,
                uniform_guess=result.uniform_guess,
                emd_predicted=self.error,
                emd_most=self.error_most,
                predicted_error=result.predicted_error(),
                error_upper=result.error_upper,
                users=self.terms.users,
            ),
        )


def estimated_rows(space: Space, shares: Floats, unbiased: Floats, deviations: Floats) -> Rows:
    """A row for each item: its decoded share, the unbiased one, which may be negative, and the ends of it.

    Args:
        space: The space of the items.
        shares: Decoded.
        unbiased: As they were estimated.
        deviations: Of the estimates, at most; their laws are normal.
    """
    normal = mechanisms.NoiseDistribution(None, 1)
    ends = standing_out(unbiased, lambda miss: normal.quantile(miss) * deviations, 0.05)
    columns = {"share": shares, "unbiased": unbiased, "low_95": ends.low, "high_95": ends.high}
    return labelled(space, {name: column.tolist() for name, column in columns.items()})


def hardly_better(answer: Answer, guess: float, most: float) -> list[Note]:
    """A warning where a histogram would be hardly better than a guess, and how many people would make it better."""
    result = useless(answer.error, guess, answer.error_unit, most)
    return warnings_of(f"{text} {people_words(answer, most, guess)}" for text in result)


def decoded_line(answer: Answer, most: float) -> str:
    """The line of a plan about the error of a decoded histogram."""
    off = about_words(answer.error, most, answer.error_unit)
    return f"Error     the histogram is off by {off} (EMD after decoding, predicted)"


@error_after.register(FrequencyAnswer)
def _(answer: FrequencyAnswer, drawn: Sample) -> after.OwnError | None:
    """How far off these frequencies are, by drawing reports again around them."""
    if answer.estimator.how == "none":
        return None
    return after.own_error(answer.target, answer.estimator, answer.estimator.decode(drawn.values), answer.error)


@simulated.register(FrequencyAnswer)
def _(answer: FrequencyAnswer, people: Floats, seed: int) -> Floats:
    """A histogram decoded from reports."""
    return np.asarray(answer.estimator.simulated(people, SeededSource(seed)))


@on_map.register(FrequencyAnswer)
def _(answer: FrequencyAnswer) -> bool:
    return base_space(answer.terms.space).geometry.on_earth


@for_people.register(FrequencyAnswer)
def _(answer: FrequencyAnswer, users: int) -> FrequencyAnswer:
    """Estimated for as many people as really took part, too."""
    return replace(items_for_people(answer, users), estimator=answer.estimator.for_users(users))


@summary.register(FrequencyAnswer)
def _(answer: FrequencyAnswer, drawn: Sample) -> list[str]:
    """The largest shares."""
    rows = sorted(answer.tables(drawn)["values"], key=lambda row: -number(row, "share"))[:8]
    return [
        *(
            f"{row['item']}: {100 * number(row, 'share'):.3g} % (unbiased {100 * number(row, 'unbiased'):.3g} %)"
            for row in rows
        ),
        f"From {int(drawn.values.sum()):,} reports.",
    ]


@collected.register(FrequencyAnswer)
def _(answer: FrequencyAnswer, collector: ReportSums) -> Collected:
    """The estimate that many people's reports give."""
    counts, space = Counted.of(collector), answer.terms.space
    built = answer.estimator.for_users(counts.n)
    estimate, decoded = built.estimate(counts.counts), built.decode(counts.counts)
    # Which error to expect depends on the items; what has been decoded is the best public guess of them.
    reference = nearest_in_simplex(estimate) if built.how == "none" else decoded
    expected = built.predicted_error(reference / reference.sum())
    labels, whole = space.labels, built.how != "none"
    own = after.own_error(answer.target, built, decoded, answer.error) if whole else None
    told = {
        "reports": dict(zip(answer.itemwise.randomiser.report_labels, counts.counts.tolist(), strict=True)),
        "estimate": dict(zip(labels, estimate.tolist(), strict=True)),
        "decoded": dict(zip(labels, decoded.tolist(), strict=True)) if whole else None,
        "decode": built.how,
        "unit": space.unit,
        "predicted_error": expected,
        "error_upper": built.error_upper,
        "decoded_error_upper": built.decoded_upper,
        "warning": built.warning,
        "error_after": None if own is None else own.to_json(),
    }
    tables = for_people(answer, counts.n).tables(Sample(counts.counts))
    lines = largest_shares(tables["values"])
    if own is not None:
        about = near(own.about, space.unit, digits=1)
        lines.append(f"On average, items appear about {about} from where they were.")
    lines.append(
        f"The unbiased estimate is off by EMD {near(expected, space.unit)} on average; by at most "
        f"{near(built.error_upper, space.unit)} on average, whatever the items."
    )
    lines += [f"Warning: {built.warning}"] if built.warning else []
    lines.append(counted_line(counts))
    return Collected(counts.n, tables, lines, told, answer.guarantee_for(counts.n), own=own)


@own_notes.register(FrequencyAnswer)
def _(answer: FrequencyAnswer) -> list[Note]:
    """A warning where the estimate is worse than a guess, and how many people would make it better."""
    if answer.estimator.warning is not None:
        return warnings_of([answer.estimator.warning])
    return hardly_better(answer, answer.target.uniform_guess, answer.error_most)


@answer_lines.register(FrequencyAnswer)
def _(answer: FrequencyAnswer) -> list[str]:
    """The randomiser, the estimate, and its error before and after decoding."""
    of, unit = answer.estimator, answer.terms.space.unit
    decoded = "not decoded" if of.how == "none" else f"decoded to {_WORDS[str(of.how)]}"
    before, most = (f"{error:.3g} {unit}".rstrip() for error in (of.predicted_error(), of.error_upper))
    lines = [
        *report_lines(answer),
        f"Estimate  unbiased, from {answer.itemwise.randomiser.description}; {decoded}",
        decoded_line(answer, answer.error_most),
        f"          EMD {before} expected before decoding if all items are equally frequent; at most {most} for any "
        "data",
        *bounded_lines(answer),
    ]
    if answer.terms.model is Model.SHUFFLE:
        lines.append(
            "Mixed     the reports of all people must be mixed, each report separately, before anybody sees them"
        )
    return lines
