"""Frequencies from randomised items of data already held (FreqEstLocal): the question, its plan, its statement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from barrow.mechanisms import FrequencyEstimator
from barrow.planning import ReductionChoice, frequency_question, sampling_of
from barrow.planning.frequency import FrequencyQuestion
from barrow.release.items import ItemsPlan, ItemsQuestion, chosen_items
from barrow.release.study import Study
from barrow.spaces.base import Floats


@dataclass(frozen=True, eq=False)
class FrequencyPlan(ItemsPlan):
    """What frequencies would be like: reports on all items, the estimate made of them, its error, the guarantee.

    Args:
        asked: What is asked.
        estimator: From counts of reports to estimates.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Clustered
    >>> study = Study(
    ...     Clustered.grid(5, 4, r=0.05), alpha=Fraction(25), delta=Fraction("1e-9"),
    ...     query={"kind": "frequency", "items": 100}, users=1000,
    ... )
    >>> plan = study.plan()
    >>> plan.kind, plan.items, plan.error < 0.05
    ('frequency', 100, True)
    """

    kind: ClassVar[str] = "frequency"
    asked: FrequencyQuestion
    estimator: FrequencyEstimator

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return "how frequent each item is, estimated from randomised items"

    @cached_property
    def decoded_error(self) -> float:
        """The mean EMD after decoding at the even histogram, simulated."""
        return self.estimator.decoded_error()

    @property
    def error(self) -> float:
        """The expected EMD before decoding if all items are as frequent, in the space's units; with samples a bound."""
        return self.estimator.predicted_error()

    def values(self, drawn: Any) -> Floats:
        """The decoded histogram."""
        return self.estimator.decode(drawn)

    def law_parameters(self) -> dict[str, Any]:
        """The public numbers on which the reports' law depends, beside the study's."""
        return {**super().law_parameters(), "query": self.asked.to_spec()}

    def rows(self, drawn: Any) -> list[dict[str, Any]]:
        """One row for each item: the decoded share, and the unbiased estimate, which may be negative."""
        space = self.study.space
        points = getattr(space, "points", None) if space.kind != "embedding" else None
        both = zip(self.estimator.decode(drawn).tolist(), self.estimator.estimate(drawn).tolist(), strict=True)
        return [
            {"item": label, **self._place(points, i), "share": share, "unbiased": unbiased}
            for i, (label, (share, unbiased)) in enumerate(zip(space.labels, both, strict=True))
        ]

    def tables(self, drawn: Any) -> dict[str, list[dict[str, Any]]]:
        """The estimates, and the reports from which they were made."""
        return {"values": self.rows(drawn), "reports": super().rows(drawn)}

    def summary(self, drawn: Any) -> list[str]:
        """The largest shares, and the error to expect."""
        rows = sorted(self.rows(drawn), key=lambda row: -row["share"])[:8]
        unit = f" {self.study.space.unit}" if self.study.space.unit else ""
        return [
            *(f"{row['item']}: {100 * row['share']:.3g} % (unbiased {100 * row['unbiased']:.3g} %)" for row in rows),
            f"From {int(drawn.sum()):,} reports; EMD about {self.error:.3g}{unit} before decoding (predicted).",
        ]

    @property
    def mapped(self) -> bool:
        """Whether the rows are places on a map."""
        return self._on_earth

    def statement_fields(self) -> dict[str, Any]:
        """What the statement says about the values."""
        return {
            **super().statement_fields(),
            "unit_of_values": "",
            "warning": self.estimator.warning,
            "frequency": self.estimator.to_json(),
        }

    def _details(self) -> dict[str, Any]:
        return {
            **super()._details(),
            "query": {"kind": "frequency", "description": self.description},
            "decoded_error": self.decoded_error,
            **self.estimator.to_json(),
        }

    def _answer(self) -> list[str]:
        reports = [
            line for line in self.choice.lines() if line.startswith(("Sampling", "Reports", "Promise", "Instead"))
        ]
        unit = f" {self.study.space.unit}" if self.study.space.unit else ""
        estimate, *rest = self.estimator.lines()
        simulated = f"          EMD {self.decoded_error:.3g}{unit} after decoding there (simulated)"
        return [*reports, estimate, *rest[:1], simulated, *rest[1:], *self._bounded()]


def make_frequency_plan(study: Study, users: int) -> FrequencyPlan:
    """The plan of a frequency study; it reads no data.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Discrete
    >>> study = Study(Discrete(["a", "b"]), alpha=Fraction(2), query={"kind": "frequency", "items": 2}, users=9)
    >>> make_frequency_plan(study, 9).estimator.reports
    18
    """
    spec, _ = sampling_of(study.query or {})
    asked = frequency_question(spec)
    choice = chosen_items(study, users, asked.items, asked.randomiser)
    made = choice.inner if isinstance(choice, ReductionChoice) else choice.mechanism
    estimator = FrequencyEstimator(made, users, asked.decode, sampled=isinstance(choice, ReductionChoice))
    return FrequencyPlan(study, ItemsQuestion(asked.items, asked.randomiser), choice, asked, estimator)
