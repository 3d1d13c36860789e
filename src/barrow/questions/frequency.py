"""How frequent each item is, estimated from randomised items (FreqEstLocal)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from msgspec import structs

from barrow import mechanisms
from barrow.errors import ParameterError
from barrow.numerics.exact import near
from barrow.planning.candidates import useless
from barrow.planning.histograms import HistogramTarget, error_at
from barrow.planning.items import ItemChoice
from barrow.planning.references import most_error
from barrow.planning.simulate import reference_distribution, simulate
from barrow.planning.terms import Terms
from barrow.privacy import Guarantee, Model
from barrow.questions.collecting import Collected, Collector, counted_of
from barrow.questions.items import (
    ItemsPlan,
    ItemWiseQuestion,
    how_many,
    items_counted,
    reports_sentence,
)
from barrow.questions.noise_words import off_words, people_words
from barrow.questions.plan import Plan, Rows, labelled
from barrow.questions.statement import AnswerFacts, FrequencyFacts, Statement, needed
from barrow.randomisers import suited
from barrow.spaces.base import Floats

if TYPE_CHECKING:
    from barrow.planning.after import OwnError

_WORDS = {
    "tree": "the nearest histogram along the tree",
    "simplex": "the nearest histogram",
    "bayesian": "the likeliest histogram",
    "none": "no histogram: the estimate is left as it is",
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
    of_shares: ClassVar[bool] = True
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
    def description(self) -> str:
        """What is released, in plain words."""
        return "how frequent each item is, estimated from randomised items"

    def choose(self, terms: Terms) -> tuple[ItemChoice, mechanisms.ItemWise | mechanisms.Reduced, Guarantee]:
        """Noise in coordinates cannot be undone, and too many items for a matrix are randomised all alike."""
        if self.randomiser is None and suited(terms.space) == "laplace":
            return replace(self, randomiser="response").choose(terms)
        return super().choose(terms)

    def plan(self, terms: Terms) -> Plan:
        """The randomiser that keeps the terms, and the estimate made of its reports; it reads no data."""
        choice, made, guarantee = self.choose(terms)
        sampled = self.samples is not None
        estimator = mechanisms.FrequencyEstimator(choice.mechanism, terms.users, self.decode, sampled=sampled)
        return FrequencyPlan(self, terms, choice, made, guarantee, estimator)

    @classmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and how accurate it is."""
        facts = statement.answer
        found = needed(facts.frequency)
        warning = f" {facts.warning}" if facts.warning else ""
        both = (found.predicted_error, found.error_upper)
        before, most = (f"{error:.3g} {statement.unit}".rstrip() for error in both)
        if found.decode == "none":
            off = f"The estimate is off by an earth mover's distance of about {before}, at most {most} on average."
        else:
            off = (
                f"{off_words(statement, found.emd_predicted, found.emd_most)} Before decoding the estimate is off by "
                f"about {before}, at most {most} on average for any data."
            )
        return (
            f"We released {statement.released}, of {statement.people:,} people, {how_many(facts)}. Every item was "
            f"replaced by a random report ({needed(facts.noise).distribution}). {off}{warning}"
        )

    @classmethod
    def counted(cls, statement: Statement) -> str:
        """What was randomised."""
        return items_counted(statement)

    @classmethod
    def drawn(cls, statement: Statement) -> list[str]:
        """How reports were drawn, and what was made of them."""
        decode = needed(statement.answer.frequency).decode
        return [
            reports_sentence(statement),
            f"From the reports an unbiased estimate was made by undoing the randomiser, and from it "
            f"{_WORDS.get(decode, decode)}; both use the reports alone and cost nothing more.",
        ]


@dataclass(frozen=True, eq=False)
class FrequencyPlan(ItemsPlan):
    """What frequencies would be like: reports on all items, the estimate made of them, its error, the guarantee.

    Args:
        estimator: From counts of reports to estimates.
    """

    estimator: mechanisms.FrequencyEstimator

    @cached_property
    def target(self) -> HistogramTarget:
        """At which public reference its error is predicted: as that of any histogram."""
        return HistogramTarget(self.terms, reference_distribution(self.space), self.items)

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
            "frequency", self.space, self.error, lambda at, draws: error_at(self.target, self.estimator, at, draws)
        )

    def own_error(self, drawn: Any) -> OwnError | None:
        """How far off these frequencies are, by drawing reports again around them."""
        from barrow.planning.after import own_error

        if self.estimator.how == "none":
            return None
        return own_error(self.target, self.estimator, self.estimator.decode(drawn), self.error)

    @property
    def mapped(self) -> bool:
        """Whether the rows are places on a map."""
        return self.space.geometry.on_earth

    def for_people(self, users: int) -> Self:
        """The same channel, priced and estimated for as many people as really took part."""
        return replace(super().for_people(users), estimator=self.estimator.for_users(users))

    def simulated(self, people: Floats, seed: int) -> Floats:
        """A histogram decoded from simulated reports."""
        from barrow.noise.source import SeededSource

        return np.asarray(self.estimator.simulated(people, SeededSource(seed)))

    def tables(self, drawn: Any) -> dict[str, Rows]:
        """One row for each item: the decoded share, the unbiased one, which may be negative, its ends; and the reports.

        Variances are those of the reports themselves, which are no smaller than the estimate's, and laws are normal.
        """
        from barrow.mechanisms.item_intervals import standing_out

        unbiased, spread = self.estimator.estimate(drawn), self.estimator.deviations(drawn)
        normal = mechanisms.NoiseDistribution(None, 1)
        ends = standing_out(unbiased, lambda miss: normal.quantile(miss) * spread, 0.05)
        columns = {
            "share": self.estimator.decode(drawn),
            "unbiased": unbiased,
            "low_95": ends.low,
            "high_95": ends.high,
        }
        return {
            "values": labelled(self.space, {name: column.tolist() for name, column in columns.items()}),
            "reports": super().tables(drawn)["values"],
        }

    def summary(self, drawn: Any) -> list[str]:
        """The largest shares, and the error to expect."""
        rows = sorted(self.tables(drawn)["values"], key=lambda row: -row["share"])[:8]
        return [
            *(f"{row['item']}: {100 * row['share']:.3g} % (unbiased {100 * row['unbiased']:.3g} %)" for row in rows),
            f"From {int(drawn.sum()):,} reports.",
        ]

    def collected(self, collector: Collector) -> Collected:
        """The estimate that many people's reports give."""
        from barrow.mechanisms.decoding import nearest_in_simplex

        counts = counted_of(collector)
        made = self.estimator.for_users(counts.n)
        estimate, decoded = made.estimate(counts.counts), made.decode(counts.counts)
        # Which error to expect depends on the items; what has been decoded is the best public guess of them.
        reference = nearest_in_simplex(estimate) if made.how == "none" else decoded
        expected = made.predicted_error(reference / reference.sum())
        labels = self.space.labels
        details = {
            "reports": dict(zip(self.itemwise.randomiser.report_labels, counts.counts.tolist(), strict=True)),
            "estimate": dict(zip(labels, estimate.tolist(), strict=True)),
            "decoded": None if made.how == "none" else dict(zip(labels, decoded.tolist(), strict=True)),
            "decode": made.how,
            "unit": self.space.unit,
            "predicted_error": expected,
            "error_upper": made.error_upper,
            "decoded_error_upper": made.decoded_upper,
            "warning": made.warning,
        }
        lines = [
            f"{label}: {share:.6g}" + ("" if made.how == "none" else f" (unbiased {raw:.6g})")
            for label, share, raw in zip(labels, decoded.tolist(), estimate.tolist(), strict=True)
        ]
        details["error_after"] = None if made.how == "none" else self._after(made, decoded, lines)
        lines.append(
            f"The unbiased estimate is off by EMD {self.sized(expected)} on average; by at most "
            f"{self.sized(made.error_upper)} on average, whatever the items."
        )
        lines += [f"Warning: {made.warning}"] if made.warning else []
        lines.append(self.counted_line(counts))
        tables = {"values": labelled(self.space, {"share": decoded.tolist(), "unbiased": estimate.tolist()})}
        return Collected(counts.n, tables, lines, details, self.guarantee_for(counts.n))

    def _after(self, made: mechanisms.FrequencyEstimator, decoded: Floats, lines: list[str]) -> dict[str, Any]:
        """How far off the decoded histogram of many reports is, said too."""
        from barrow.planning.after import own_error

        own = own_error(self.target, made, decoded, self.error)
        about = near(own.about, self.space.unit, digits=1)
        lines.append(f"The decoded shares are off by an earth mover's distance of about {about}.")
        return own.to_json()

    def fields(self) -> AnswerFacts:
        """What the statement says about the values."""
        found = self.estimator
        return structs.replace(
            super().fields(),
            unit="",
            warning=found.warning,
            frequency=FrequencyFacts(
                decode=str(found.how),
                condition=found.channel.condition,
                uniform_guess=found.uniform_guess,
                emd_predicted=self.error,
                emd_most=self.error_most,
                predicted_error=found.predicted_error(),
                error_upper=found.error_upper,
                users=self.terms.users,
            ),
        )

    def details(self) -> dict[str, Any]:
        """What is this kind's own in plain data."""
        return {
            **super().details(),
            "emd_predicted": self.error,
            "emd_most": self.error_most,
            **self.estimator.to_json(),
        }

    @property
    def warnings(self) -> list[str]:
        """A warning where the estimate is worse than a guess, and how many people would make it better."""
        if self.estimator.warning is not None:
            return [self.estimator.warning]
        guess = self.target.uniform_guess
        found = useless(self.error, guess, self.space.unit, self.error_most)
        return [f"{text} {people_words(self, self.error_most, guess)}" for text in found]

    def answer_lines(self) -> list[str]:
        """The randomiser, the estimate, and its error before and after decoding."""
        reports = [line for line in self.choice.lines() if line.startswith("Reports")]
        estimate, *rest = (line for line in self.estimator.lines() if not line.startswith("Warning"))
        off = (
            f"Error     the histogram is off by about {self.sized(self.error)}, at most about "
            f"{self.sized(self.error_most)} (EMD after decoding, predicted)"
        )
        before = [line.replace("Error ", "      ", 1) for line in rest]
        lines = [*self._sampling_lines(), *reports, estimate, off, *before, *self._bounded_lines()]
        if self.terms.model is Model.SHUFFLE:
            lines.append("Mixed     the reports of all people must be mixed one by one before anybody sees them")
        return lines
