"""Linear releases: the mean over people of a public function of their items, with additive noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from barrow.accounting import price
from barrow.engines import Counts
from barrow.errors import ParameterError
from barrow.mechanisms import AdditiveNoise, UserCounts, linear_candidates
from barrow.numerics import exact_text, float_up
from barrow.privacy import Event, Guarantee
from barrow.queries import Query
from barrow.release.plan import Plan
from barrow.release.study import Study


@dataclass(frozen=True)
class LinearPlan(Plan):
    """What a linear release would give: the noise, the error in the question's unit, the guarantee and its price.

    Args:
        study: The study.
        query: The question.
        noise: The most accurate noise that keeps the promises.
        guarantee: What it promises, with the worst case.
        others: The other noises that would keep the promises, and lose.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Line
    >>> study = Study(Line(0, 100, unit="years", step=1), alpha=Fraction(25), query={"kind": "mean"}, users=1000)
    >>> plan = make_linear_plan(study, 1000)
    >>> plan.noise.name, round(plan.half_width, 3), plan.query.unit
    ('Laplace', 0.012, 'years')
    """

    kind: ClassVar[str] = "linear"
    study: Study
    query: Query
    noise: AdditiveNoise
    guarantee: Guarantee
    others: tuple[AdditiveNoise, ...]

    @property
    def half_width(self) -> float:
        """Each value will be within this of the true one with probability at least 95 %, in the query's unit."""
        return self.noise.half_width

    @property
    def error(self) -> float:
        """The half width of each value."""
        return self.half_width

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return self.query.description

    @property
    def event(self) -> Event:
        """What drawing will cause."""
        return self.noise.event

    def statistics(self, counts: Counts, users: int) -> Any:
        """The exact mean over people, from an engine's integers (private)."""
        held = UserCounts.of(self.study.space, item=counts.items, size=counts.sizes, count=counts.counts, users=users)
        return held.center(self.query)

    def draw(self, statistics: Any) -> tuple[Any, bool]:
        """The released values, and whether the noise was the system's."""
        drawn = self.noise.draw(statistics)
        return drawn.values, drawn.private

    def law_parameters(self) -> dict[str, Any]:
        """The public numbers on which the values' law depends, beside the study's."""
        return {
            "query": self.query.to_spec(),
            "noise": self.noise.name,
            "scale": exact_text(self.noise.scale),
            "grid": exact_text(self.noise.grid),
        }

    def rows(self, drawn: Any) -> list[dict[str, Any]]:
        """One row for each output: its name, its place if it has one, the value, its error and unit."""
        error = {"half_width_95": self.half_width, "unit": self.query.unit}
        return [
            {"output": name, **self._place(self.query.places, i), "value": float(value), **error}
            for i, (name, value) in enumerate(zip(self.query.outputs, drawn, strict=True))
        ]

    def summary(self, drawn: Any) -> list[str]:
        """The values with their errors, or how many of them stand out of the noise."""
        unit, width = self.query.unit, self.half_width
        if len(drawn) <= 12:
            named = zip(self.query.outputs, drawn, strict=True)
            return [f"{name}: {float(value):.6g} ± {width:.3g} {unit} (95 %)".rstrip() for name, value in named]
        width = self.noise.simultaneous_half_width  # of thousands of values some pass a threshold for one value
        above = int((drawn > width).sum())
        return [f"{above:,} of {len(drawn):,} values stand out of the noise (all at once ± {width:.3g}, 95 %)."]

    @property
    def mapped(self) -> bool:
        """Whether the rows are places on a map."""
        return self.query.places is not None and self._on_earth

    def statement_fields(self) -> dict[str, Any]:
        """What the statement says about the values."""
        noise = self.noise
        return {
            "outputs": self.query.dimension,
            "unit_of_values": self.query.unit,
            "half_width_95": self.half_width,
            "half_width_95_all": noise.simultaneous_half_width,
            "noise": {"law": noise.name, "scale": float_up(noise.scale), "grid": str(noise.grid)},
        }

    def _details(self) -> dict[str, Any]:
        return {
            "query": {
                "kind": self.query.kind,
                "description": self.query.description,
                "outputs": self.query.dimension,
                "unit": self.query.unit,
            },
            "noise": self.noise.name,
            "scale": float_up(self.noise.scale),
            "half_width_95": self.half_width,
            "half_width_95_all": self.noise.simultaneous_half_width,
            "others": [{"noise": other.name, "half_width_95": other.half_width} for other in self.others],
        }

    def _question(self) -> list[str]:
        outputs = f" ({self.query.dimension:,} numbers)" if self.query.dimension > 1 else ""
        return [f"Question  {self.query.description}{outputs}"]

    def _answer(self) -> list[str]:
        unit = f" {self.query.unit}" if self.query.unit else ""
        lines = [
            f"Noise     {self.noise.name}, scale {float_up(self.noise.scale):.3g}{unit}",
            f"Error     each value ± {self.half_width:.3g}{unit} (95 %)"
            + (f"; all at once ± {self.noise.simultaneous_half_width:.3g}{unit}" if self.query.dimension > 1 else ""),
        ]
        if self.query.kind in ("density", "histogram"):
            least = self.noise.simultaneous_half_width
            lines.append(f"          a share surely stands out of the noise if it is above {least:.2g}")
        return lines

    def _others(self) -> list[str]:
        lost = ", ".join(f"{other.name} ± {other.half_width:.3g}" for other in self.others)
        return [f"Others    {lost}"] if lost else []


def make_linear_plan(study: Study, users: int) -> LinearPlan:
    """The plan of a linear question; it reads no data.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Line
    >>> make_linear_plan(Study(Line(0, 1, step=0.1), alpha=Fraction(1), query={"kind": "mean"}), 10).noise.name
    'Laplace'
    """
    query = study.question
    first, *others = linear_candidates(
        query, study.alpha_exact, study.delta, noise=study.noise, model="central", users=users
    )
    return LinearPlan(study, query, first, price(first.event), tuple(others))


def as_linear(plan: Plan) -> LinearPlan:
    """``plan`` if it is linear; other kinds have no query and no additive noise.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Line
    >>> study = Study(Line(0, 1, step=0.1), alpha=Fraction(1), query={"kind": "mean"}, users=9)
    >>> as_linear(study.plan()).query.kind
    'mean'
    """
    if not isinstance(plan, LinearPlan):
        raise ParameterError(
            f"The release is of another kind: {plan.description}.", allowed="a linear query", fix="query = density"
        )
    return plan
