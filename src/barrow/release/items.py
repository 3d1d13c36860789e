"""Item-wise releases of data already held: the question, its plan, and what its statement says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from barrow.engines import Counts
from barrow.errors import ParameterError
from barrow.mechanisms import ItemWise, pooled_items
from barrow.numerics import exact_text, float_up
from barrow.planning import (
    ItemChoice,
    ReductionChoice,
    SamplesTable,
    choose_items,
    choose_reduction,
    compare_samples,
    goals_for,
    sampling_of,
)
from barrow.planning.frequency import held_items
from barrow.planning.goals import MOST_SAMPLES
from barrow.privacy import DiscreteEmd, Event, Guarantee, Model
from barrow.release.plan import Plan
from barrow.release.study import Study

_KEYS = ("kind", "items", "randomiser", "output")
_MOST_LISTED = 10**7


@dataclass(frozen=True)
class ItemsQuestion:
    """The item-wise question: reports on all items of all people.

    Args:
        items: m, how many items each person holds; public.
        randomiser: A kind or plain data; the one that suits the space by default.
        output: ``"histogram"`` (how often each report occurs) or ``"list"`` (all reports, sorted).

    >>> items_question({"kind": "items", "items": 30}).items
    30
    """

    items: int
    randomiser: Mapping[str, Any] | str | None = None
    output: str = "histogram"

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        named = {} if self.randomiser is None else {"randomiser": self.randomiser}
        return {"kind": "items", "items": self.items, "output": self.output, **named}


def items_question(spec: Mapping[str, Any]) -> ItemsQuestion:
    """The question that a study's ``[query]`` table asks; unknown keys are refused.

    >>> items_question({"kind": "items"})
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The query 'items' does not say how many items each person holds.
      allowed: items, a public whole number; or samples, where people hold any number
      fix:     items = 30
    """
    items = held_items(spec, _KEYS)
    output = spec.get("output", "histogram")
    if output not in ("histogram", "list"):
        raise ParameterError(f"output is {output!r}.", allowed="'histogram' or 'list'", fix="output = 'histogram'")
    return ItemsQuestion(items, spec.get("randomiser"), output)


@dataclass(frozen=True, eq=False)
class ItemsPlan(Plan):
    """What an item-wise release would give: reports, how far they are from their items, the guarantee and its price.

    Args:
        study: The study.
        question: What is asked.
        choice: The randomiser that keeps the promises, and how it was found; behind samples where people may hold any
            number of items.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Clustered
    >>> study = Study(
    ...     Clustered.grid(5, 4, r=0.05), alpha=Fraction(25), delta=Fraction("1e-9"),
    ...     query={"kind": "items", "items": 100}, users=1000,
    ... )
    >>> plan = study.plan()
    >>> plan.description, plan.items
    ('the histogram of randomised items', 100)
    """

    kind: ClassVar[str] = "items"
    study: Study
    question: ItemsQuestion
    choice: ItemChoice | ReductionChoice

    @property
    def itemwise(self) -> ItemWise:
        """The bounded release: of the items, or of those that were drawn from each person."""
        return self.choice.inner if isinstance(self.choice, ReductionChoice) else self.choice.mechanism

    @property
    def samples(self) -> int | None:
        """s, where items are drawn from each person first."""
        return self.choice.mechanism.samples if isinstance(self.choice, ReductionChoice) else None

    @property
    def price(self) -> str:
        """What the ledger is charged with, in words."""
        stated = self.guarantee.definition
        return f"{stated}" if isinstance(stated, DiscreteEmd) else super().price

    def _rate(self) -> str:
        return super()._rate() if self.samples is None else f"δ         {float(self.study.delta):.3g}"

    def promised(self, index: int, emd: float) -> float:
        """The epsilon that a promise gets: of samples, the release priced at the promise's own radius."""
        if isinstance(self.choice, ReductionChoice) and self.study.promises:
            return float_up(self.choice.guarantees[index].definition.parameters["epsilon"])
        return super().promised(index, emd)

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What it promises, by the best certified method."""
        return self.choice.guarantee

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return f"the {'histogram' if self.question.output == 'histogram' else 'sorted list'} of randomised items"

    @property
    def event(self) -> Event:
        """What drawing will cause."""
        return self.choice.mechanism.event

    @property
    def items(self) -> int | None:
        """m, for people who all hold exactly this many items; None where samples hide how many they hold."""
        return None if self.samples is not None else self.question.items

    @property
    def error(self) -> float:
        """How far a report is from its item on average, in the space's units; NaN where reports are no items."""
        moved = self.choice.displacement
        return float("nan") if moved is None else moved

    def statistics(self, counts: Counts, users: int) -> Any:
        """How often each item occurs among all people, and whether samples were drawn with the system's randomness.

        People of other sizes are refused with a constant text.
        """
        return pooled_items(
            self.study.space,
            item=counts.items,
            size=counts.sizes,
            count=counts.counts,
            present=counts.users,
            items=self.question.items,
            users=users,
        ), getattr(counts, "private", True)

    def draw(self, statistics: Any) -> tuple[Any, bool]:
        """The counts of reports, and whether the randomness, that of the samples too, was the system's."""
        held, sampled_privately = statistics
        drawn = self.itemwise.release(held)
        return drawn.counts, drawn.private and sampled_privately

    def law_parameters(self) -> dict[str, Any]:
        """The public numbers on which the reports' law depends, beside the study's."""
        made = self.itemwise
        return {
            "query": self.question.to_spec(),
            "randomiser": made.randomiser.kind,
            "alpha0": exact_text(made.event.alpha0),
            "model": made.model.value,
            **({} if self.samples is None else {"samples": self.samples, "goals": self.choice.to_json()["goals"]}),
        }

    def rows(self, drawn: Any) -> list[dict[str, Any]]:
        """One row for each kind of report with its count, or one for each report of the sorted list."""
        labels = self.itemwise.randomiser.report_labels
        if self.question.output == "list":
            counted = zip(labels, np.asarray(drawn).tolist(), strict=True)
            return [{"report": label} for label, count in counted for _ in range(count)]
        points = self._points(labels)
        counted = zip(labels, np.asarray(drawn).tolist(), strict=True)
        return [{"report": label, **self._place(points, i), "count": int(c)} for i, (label, c) in enumerate(counted)]

    def summary(self, drawn: Any) -> list[str]:
        """How many reports there are."""
        return [f"{int(drawn.sum()):,} reports of {len(drawn):,} kinds."]

    def _points(self, labels: Sequence[str]) -> Any:
        points = getattr(self.study.space, "points", None)
        whole = points is not None and len(points) == len(labels) and self.study.space.kind != "embedding"
        return points if whole and list(labels) == list(self.study.space.labels) else None

    @property
    def mapped(self) -> bool:
        """Whether the rows are places on a map."""
        labels = self.itemwise.randomiser.report_labels
        return self._on_earth and self.question.output == "histogram" and self._points(labels) is not None

    def statement_fields(self) -> dict[str, Any]:
        """What the statement says about the values."""
        made = self.itemwise
        return {
            "outputs": made.randomiser.reports,
            "unit_of_values": "reports",
            "items_per_person": made.items,
            "sampled": self.samples is not None,
            "displacement": self.choice.displacement,
            "blind_displacement": made.randomiser.blind_displacement,
            "warning": self.choice.warning,
            "noise": {
                "law": made.randomiser.description,
                "alpha0": float_up(made.event.alpha0),
                "method": self.guarantee.method,
            },
        }

    def _details(self) -> dict[str, Any]:
        table = self.samples_table
        return {
            "query": {"kind": "items", "description": self.description, "output": self.question.output},
            **self.choice.to_json(),
            **({} if table is None else {"samples_table": table.to_json()}),
        }

    def _question(self) -> list[str]:
        made = self.itemwise
        seen = {
            Model.LOCAL: "priced as if each person's reports were seen alone",
            Model.SHUFFLE: "priced as a mix of all people's reports",
            Model.CENTRAL: "of all people together",
        }[made.model]
        return [f"Question  {self.description}: {made.items:,} for each person, {seen}"]

    def _answer(self) -> list[str]:
        return [*self.choice.lines(), *self._bounded()]

    def _bounded(self) -> list[str]:
        if self.samples is not None:
            return []
        items = self.itemwise.items
        return [f"Bounded   every person must hold exactly {items:,} items; how many there are is not hidden"]

    def _others(self) -> list[str]:
        table = self.samples_table
        return [] if table is None else ["", *table.lines()[:-1]]

    @cached_property
    def samples_table(self) -> SamplesTable | None:
        """What other numbers of samples would cost and gain; None where nothing is sampled."""
        if not isinstance(self.choice, ReductionChoice):
            return None
        made = self.itemwise
        counts = {max(1, made.items // 5), made.items, min(5 * made.items, MOST_SAMPLES)}
        return compare_samples(
            self.study.space,
            self.choice.goals,
            self.study.delta,
            samples=sorted(counts),
            users=made.users,
            model=made.model.value,
            randomiser=self.question.randomiser,
            error="frequency" if self.kind == "frequency" else "reports",
        )


def make_items_plan(study: Study, users: int | None) -> ItemsPlan:
    """The plan of an item-wise study; it reads no data.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Discrete
    >>> study = Study(Discrete(["a", "b"]), alpha=Fraction(2), query={"kind": "items", "items": 2}, users=9)
    >>> make_items_plan(study, 9).choice.mechanism.reports
    18
    """
    spec, _ = sampling_of(study.query or {})
    question = items_question(spec)
    if question.output == "list" and (users or 1) * question.items > _MOST_LISTED:
        raise ParameterError(
            f"The sorted list would hold {(users or 1) * question.items:,} reports.",
            allowed=f"at most {_MOST_LISTED:,}; the histogram says the same",
            fix="output = 'histogram'",
        )
    choice = chosen_items(study, users, question.items, question.randomiser)
    plan = ItemsPlan(study, question, choice)
    most, reports = plan.itemwise.randomiser.most_items, (users or 1) * question.items
    if most is not None and reports > most:
        raise ParameterError(
            f"{plan.itemwise.randomiser.description} is drawn one by one, and there are {reports:,} items.",
            allowed=f"at most {most:,} items with this randomiser",
            fix='randomiser = "exponential", which is drawn from counts',
        )
    return plan


def chosen_items(
    study: Study, users: int | None, items: int, randomiser: Mapping[str, Any] | str | None
) -> ItemChoice | ReductionChoice:
    """The item-wise release that keeps the study's promises, behind samples where the study asks for them.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Discrete
    >>> query = {"kind": "items", "samples": 50, "radius": "0.1"}
    >>> study = Study(Discrete(["a", "b"]), alpha=Fraction(20), delta=Fraction("1e-6"), query=query)
    >>> chosen_items(study, 100, 50, None).mechanism.samples
    50
    """
    _, sampling = sampling_of(study.query or {})
    if sampling is None:
        return choose_items(
            study.space,
            study.alpha_exact,
            study.delta,
            items=items,
            users=users,
            model=study.model.value,
            randomiser=randomiser,
        )
    goals = goals_for(
        study.policy if study.promises else None, alpha=study.alpha, radius=sampling.radius, part=study.part
    )
    return choose_reduction(
        study.space,
        goals,
        study.delta,
        samples=sampling.samples,
        users=users,
        model=study.model.value,
        radius=sampling.radius,
        randomiser=randomiser,
    )
