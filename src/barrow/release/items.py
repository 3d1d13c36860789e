"""Item-wise releases of data already held: the question, its plan, and what its statement says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.engines import Counts
from barrow.errors import ParameterError
from barrow.mechanisms import pooled_items
from barrow.numerics import exact_text, float_up
from barrow.planning import ItemChoice, choose_items
from barrow.policy import odds_upper
from barrow.privacy import Event, Model
from barrow.release.plan import Plan
from barrow.release.study import Study
from barrow.spaces import Earth, Hexagons

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
      allowed: items, a public whole number
      fix:     items = 30
    """
    unknown = next((key for key in spec if key not in _KEYS), None)
    if unknown is not None:
        raise ParameterError(
            f"The query 'items' has no key {unknown!r}.", allowed=", ".join(_KEYS), fix=f"remove {unknown!r}"
        )
    items = spec.get("items")
    if items is None:
        raise ParameterError(
            "The query 'items' does not say how many items each person holds.",
            allowed="items, a public whole number",
            fix="items = 30",
        )
    if isinstance(items, bool) or not isinstance(items, int) or items < 1:
        raise ParameterError(f"items is {items!r}.", allowed="a whole number, 1 or more", fix="items = 30")
    output = spec.get("output", "histogram")
    if output not in ("histogram", "list"):
        raise ParameterError(f"output is {output!r}.", allowed="'histogram' or 'list'", fix="output = 'histogram'")
    return ItemsQuestion(items, spec.get("randomiser"), output)


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ItemsPlan(Plan):
    """What an item-wise release would give: reports, how far they are from their items, the guarantee and its price.

    It has no query and no additive noise: ``question`` and ``choice`` stand in their place.

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

    question: ItemsQuestion
    choice: ItemChoice

    def __init__(self, study: Study, question: ItemsQuestion, choice: ItemChoice) -> None:
        object.__setattr__(self, "study", study)
        object.__setattr__(self, "question", question)
        object.__setattr__(self, "choice", choice)
        object.__setattr__(self, "guarantee", choice.guarantee)
        object.__setattr__(self, "others", ())

    def __repr__(self) -> str:
        return f"ItemsPlan({self.question!r}, alpha0={float(self.choice.mechanism.event.alpha0):.6g})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ItemsPlan) and (self.study, self.question, self.event) == (
            other.study,
            other.question,
            other.event,
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return f"the {'histogram' if self.question.output == 'histogram' else 'sorted list'} of randomised items"

    @property
    def event(self) -> Event:
        """What drawing will cause."""
        return self.choice.mechanism.event

    @property
    def items(self) -> int:
        """m: the guarantee is bounded, for people who all hold exactly this many items."""
        return self.question.items

    @property
    def error(self) -> float:
        """How far a report is from its item on average, in the space's units; NaN where reports are no items."""
        moved = self.choice.displacement
        return float("nan") if moved is None else moved

    def statistics(self, counts: Counts, users: int) -> Any:
        """How often each item occurs among all people; people of other sizes are refused with a constant text."""
        return pooled_items(
            self.study.space,
            item=counts.items,
            size=counts.sizes,
            count=counts.counts,
            present=counts.users,
            items=self.items,
            users=users,
        )

    def draw(self, statistics: Any) -> tuple[Any, bool]:
        """The counts of reports, and whether the randomness was the system's."""
        drawn = self.choice.mechanism.release(statistics)
        return drawn.counts, drawn.private

    def law_parameters(self) -> dict[str, Any]:
        """The public numbers on which the reports' law depends, beside the study's."""
        made = self.choice.mechanism
        return {
            "query": self.question.to_spec(),
            "randomiser": made.randomiser.kind,
            "alpha0": exact_text(made.event.alpha0),
            "model": made.model.value,
        }

    def rows(self, values: Any) -> list[dict[str, Any]]:
        """One row for each kind of report with its count, or one for each report of the sorted list."""
        space = self.study.space
        labels = self.choice.mechanism.randomiser.report_labels
        if self.question.output == "list":
            counted = zip(labels, np.asarray(values).tolist(), strict=True)
            return [{"report": label} for label, count in counted for _ in range(count)]
        places = self._places(labels)
        rows: list[dict[str, Any]] = []
        for i, (label, value) in enumerate(zip(labels, np.asarray(values).tolist(), strict=True)):
            row: dict[str, Any] = {"report": label}
            if places is not None:
                axes = ("lat", "lon") if isinstance(space, Earth | Hexagons) else "xyzuvw"
                row |= dict(zip(axes, np.atleast_1d(places[i]).tolist(), strict=False))
            rows.append(row | {"count": int(value)})
        return rows

    def _places(self, labels: Sequence[str]) -> Any:
        points = getattr(self.study.space, "points", None)
        whole = points is not None and len(points) == len(labels) and self.study.space.kind != "embedding"
        return points if whole and list(labels) == list(self.study.space.labels) else None

    @property
    def mapped(self) -> bool:
        """Whether the rows are places on a map."""
        labels = self.choice.mechanism.randomiser.report_labels
        on_map = isinstance(self.study.space, Earth | Hexagons) and self.question.output == "histogram"
        return on_map and self._places(labels) is not None

    def statement_fields(self) -> dict[str, Any]:
        """What the statement says about the values."""
        made = self.choice.mechanism
        return {
            "outputs": made.randomiser.reports,
            "unit_of_values": "reports",
            "items_per_person": made.items,
            "displacement": self.choice.displacement,
            "blind_displacement": made.randomiser.blind_displacement,
            "warning": self.choice.warning,
            "noise": {
                "law": made.randomiser.description,
                "alpha0": float_up(made.event.alpha0),
                "method": self.guarantee.method,
            },
        }

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        study, space = self.study, self.study.space
        return {
            "alpha": float_up(study.alpha_exact),
            "delta": float(study.delta),
            "unit": space.unit,
            "diameter": space.diameter,
            "snapping": space.snapping_upper * space.diameter,
            "users": study.users,
            "model": study.model.value,
            "query": {"kind": "items", "description": self.description, "output": self.question.output},
            **self.choice.to_json(),
            "worst_case": {"epsilon": self.worst_epsilon, "odds": odds_upper(self.worst_epsilon)},
            "guarantee": self.guarantee.to_json(),
        }

    def lines(self) -> list[str]:
        """The plan in words, a line each."""
        study, space, made = self.study, self.study.space, self.choice.mechanism
        largest = f"{space.diameter:,.1f} {space.unit}" if space.unit else "largest distance"
        seen = {
            Model.LOCAL: "priced as if each person's reports were seen alone",
            Model.SHUFFLE: "priced as a mix of all people's reports",
            Model.CENTRAL: "of all people together",
        }[made.model]
        lines = [
            f"Question  {self.description}: {made.items:,} for each person, {seen}",
            f"α         {float_up(study.alpha_exact):.4g} per {largest}, δ = {float(study.delta):.3g}",
        ]
        if space.snapping_upper:
            moved = f"{space.snapping_upper * space.diameter:.3g} {space.unit}".strip()
            lines.append(f"Grid      {space.items:,} items; snapping moves a record by at most {moved} (counted in α)")
        return [
            *lines,
            *self.choice.lines(),
            f"Bounded   every person must hold exactly {made.items:,} items; how many there are is not hidden",
            f"Worst     all data of one person different: ε ≤ {self.worst_epsilon:.3g}",
            f"Price     α {float_up(study.alpha_exact):.4g}, δ {float(study.delta):.3g} of the ledger's budget",
        ]


def make_items_plan(study: Study, users: int | None) -> ItemsPlan:
    """The plan of an item-wise study; it reads no data.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Discrete
    >>> study = Study(Discrete(["a", "b"]), alpha=Fraction(2), query={"kind": "items", "items": 2}, users=9)
    >>> make_items_plan(study, 9).choice.mechanism.reports
    18
    """
    question = items_question(study.query or {})
    if question.output == "list" and (users or 1) * question.items > _MOST_LISTED:
        raise ParameterError(
            f"The sorted list would hold {(users or 1) * question.items:,} reports.",
            allowed=f"at most {_MOST_LISTED:,}; the histogram says the same",
            fix="output = 'histogram'",
        )
    choice = choose_items(
        study.space,
        study.alpha_exact,
        study.delta,
        items=question.items,
        users=users,
        model=study.model.value,
        randomiser=question.randomiser,
    )
    most, reports = choice.mechanism.randomiser.most_items, (users or 1) * question.items
    if most is not None and reports > most:
        raise ParameterError(
            f"{choice.mechanism.randomiser.description} is drawn one by one, and there are {reports:,} items.",
            allowed=f"at most {most:,} items with this randomiser",
            fix='randomiser = "exponential", which is drawn from counts',
        )
    return ItemsPlan(study, question, choice)
