"""The total over people of one number each: how many visits, how much in all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from msgspec import structs

from barrow.errors import ParameterError
from barrow.numerics.exact import at_most, near
from barrow.planning.terms import Terms
from barrow.queries import Query, mean
from barrow.questions.answer import Sample, Tables, number
from barrow.questions.cache import cached_query
from barrow.questions.estimates import widest
from barrow.questions.linear import Linear, LinearAnswer, linear_lines
from barrow.questions.plan_text import answer_lines
from barrow.questions.question import VALUES, Traits
from barrow.questions.releasing import summary
from barrow.questions.statement import AnswerFacts
from barrow.spaces import Space


@dataclass(frozen=True, kw_only=True, repr=False)
class Total(Linear):
    """The total over people of one number each, and its mean: the public number of people times the mean.

    It needs one number a person (``[data] per_person``), cut to a public line: without a bound one person could move a
    total by any amount.

    >>> from barrow.spaces import Line
    >>> Total().query(Line(0, 50, unit="visits", step=1, whole=True)).unit
    'visits'
    """

    kind: ClassVar[str] = "total"
    traits: ClassVar[Traits] = replace(VALUES, first_drawn=True)
    missing: ClassVar[tuple[str, ...]] = ("default item",)
    curated: ClassVar[tuple[str, str] | None] = ("Totals", "model = 'central', or the question mean for reports")

    def query(self, space: Space) -> Query:
        """The mean of the numbers."""
        return mean(space)

    def plan(self, terms: Terms) -> TotalAnswer:
        """The most accurate noise that keeps the terms; it reads no data."""
        self._check(terms)
        query = cached_query(self, terms.space)
        best, own, baselines = self._ranked(query, terms)
        return TotalAnswer(self, terms, best, query, own=own, baselines=baselines)

    def _check(self, terms: Terms) -> None:
        super()._check(terms)
        if terms.number is None:
            raise ParameterError(
                "A total of records counts a person as often as they have records, so one person could change it by "
                "any amount.",
                allowed="one number a person, cut to a public line",
                fix='[data] per_person = "count", or "sum(column)", with a line such as 0 to 50 visits as the space',
            )


@dataclass(frozen=True, eq=False)
class TotalAnswer(LinearAnswer):
    """What a release of a total would give: noise on the mean, and n times it."""

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        which = str(self.terms.number).rpartition(": ")[2]
        unit = f", in {self.query.unit}" if self.query.unit else ""
        return f"the total over {self.terms.users:,} people of one number each ({which}{unit}), and its mean"

    @property
    def total_width(self) -> float:
        """The half width of the total."""
        return self.terms.users * self.half_width * (1.0 + 1e-12)

    def tables(self, sample: Sample) -> Tables:
        """The total, and the mean."""
        people, value, unit = self.terms.users, float(sample.values[0]), self.query.unit
        rows = (
            (f"total over {people:,} people", people * value, self.total_width),
            ("mean over people", value, self.half_width),
        )
        return {
            "values": [
                {"output": name, "value": number, "half_width_95": width, "unit": unit} for name, number, width in rows
            ]
        }

    def facts(self) -> AnswerFacts:
        """What the statement says about the total."""
        result = super().facts()
        return structs.replace(
            result,
            half_width_95=self.total_width,
            half_width_95_all=self.total_width,
            snapping=self.terms.users * result.snapping,
        )


@summary.register(TotalAnswer)
def _(answer: TotalAnswer, sample: Sample) -> list[str]:
    """Both with their errors."""
    unit = answer.query.unit
    return [
        f"{row['output']}: {near(number(row, 'value'), unit, digits=6)} "
        f"± {at_most(number(row, 'half_width_95'), unit)} (95 %)"
        for row in answer.tables(sample)["values"]
    ]


@widest.register(TotalAnswer)
def _(answer: TotalAnswer) -> float:
    """That of the total."""
    return answer.total_width


@answer_lines.register(TotalAnswer)
def _(answer: TotalAnswer) -> list[str]:
    """The noise, and the error of both."""
    whole, each = (at_most(width, answer.query.unit) for width in (answer.total_width, answer.half_width))
    return [*linear_lines(answer)[:1], f"Error     the total ± {whole}, the mean ± {each} (95 %)"]
