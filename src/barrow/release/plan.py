"""The plan: what a release would give and cost, from public numbers only."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.accounting import price
from barrow.engines import Counts
from barrow.errors import ParameterError
from barrow.mechanisms import AdditiveNoise, UserCounts, linear_candidates
from barrow.numerics import exact_text, float_up
from barrow.policy import odds_upper
from barrow.privacy import Event, Guarantee, Model
from barrow.queries import Query
from barrow.release.study import Study
from barrow.spaces import Earth, Hexagons


@dataclass(frozen=True)
class Plan:
    """What a release would give: the mechanism, its error in the question's unit, its guarantee and its price.

    Args:
        study: The study.
        query: The question.
        noise: The most accurate noise that keeps the promises.
        guarantee: What it promises, with the worst case.
        others: The other noises that would keep the promises, and lose.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Line
    >>> study = Study(Line(0, 100, unit="years", step=1), alpha=Fraction(25), query={"kind": "mean"}, users=1000)
    >>> plan = study.plan()
    >>> plan.noise.name, round(plan.half_width, 3), plan.query.unit
    ('Laplace', 0.012, 'years')
    """

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
        """The one number that says how accurate the release will be; here the half width."""
        return self.half_width

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return self.query.description

    @property
    def event(self) -> Event:
        """What drawing will cause."""
        return self.noise.event

    @property
    def items(self) -> int | None:
        """m, where the guarantee is bounded; None where people may hold any number of items."""
        return None

    def statistics(self, counts: Counts, users: int) -> Any:
        """What noise will be added to, from an engine's integers (private)."""
        held = UserCounts.of(self.study.space, item=counts.items, size=counts.sizes, count=counts.counts, users=users)
        return held.center(self.query)

    def draw(self, statistics: Any) -> tuple[Any, bool]:
        """The released values, the statistics with noise, and whether the noise was the system's."""
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

    def rows(self, values: Any) -> list[dict[str, Any]]:
        """One row for each output: its name, its place if it has one, the value, its error and unit."""
        places, width, unit = self.query.places, self.half_width, self.query.unit
        rows: list[dict[str, Any]] = []
        for i, (name, value) in enumerate(zip(self.query.outputs, values, strict=True)):
            row: dict[str, Any] = {"output": name}
            if places is not None:
                axes = ("lat", "lon") if isinstance(self.study.space, Earth | Hexagons) else "xyzuvw"
                row |= dict(zip(axes, np.atleast_1d(places[i]).tolist(), strict=False))
            rows.append(row | {"value": float(value), "half_width_95": width, "unit": unit})
        return rows

    @property
    def mapped(self) -> bool:
        """Whether the rows are places on a map."""
        return self.query.places is not None and isinstance(self.study.space, Earth | Hexagons)

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

    @property
    def worst_epsilon(self) -> float:
        """The epsilon, rounded up, if all data of one person were different."""
        return self.guarantee.epsilon_at(1)

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
            "worst_case": {"epsilon": self.worst_epsilon, "odds": odds_upper(self.worst_epsilon)},
            "guarantee": self.guarantee.to_json(),
            "others": [{"noise": other.name, "half_width_95": other.half_width} for other in self.others],
        }

    def lines(self) -> list[str]:
        """The plan in words, a line each.

        >>> from fractions import Fraction
        >>> from barrow.spaces import Line
        >>> study = Study(Line(0, 100, unit="years", step=1), alpha=Fraction(25), query={"kind": "mean"}, users=1000)
        >>> study.plan().lines()[0]
        'Question  the mean over people of the mean of their items (years)'
        """
        study, space = self.study, self.study.space
        unit = f" {self.query.unit}" if self.query.unit else ""
        largest = f"{space.diameter:,.1f} {space.unit}" if space.unit else "largest distance"
        outputs = f" ({self.query.dimension:,} numbers)" if self.query.dimension > 1 else ""
        lines = [
            f"Question  {self.query.description}{outputs}",
            f"α         {float_up(study.alpha_exact):.4g} per {largest}, δ = {float(study.delta):.3g}",
        ]
        if space.snapping_upper:
            moved = f"{space.snapping_upper * space.diameter:.3g} {space.unit}".strip()
            lines.append(f"Grid      {space.items:,} items; snapping moves a record by at most {moved} (counted in α)")
        lines += [
            f"Noise     {self.noise.name}, scale {float_up(self.noise.scale):.3g}{unit}",
            f"Error     each value ± {self.half_width:.3g}{unit} (95 %)"
            + (f"; all at once ± {self.noise.simultaneous_half_width:.3g}{unit}" if self.query.dimension > 1 else ""),
        ]
        if self.query.kind in ("density", "histogram"):
            least = self.noise.simultaneous_half_width
            lines.append(f"          a share surely stands out of the noise if it is above {least:.2g}")
        lines += [
            f"Worst     all data of one person different: ε ≤ {self.worst_epsilon:.3g}",
            f"Price     α {float_up(study.alpha_exact):.4g}, δ {float(study.delta):.3g} of the ledger's budget",
        ]
        lost = ", ".join(f"{other.name} ± {other.half_width:.3g}" for other in self.others)
        if lost:
            lines.append(f"Others    {lost}")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        rows = (line.split(None, 1) for line in self.lines())
        cells = "".join(f"<tr><th align=left>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in rows)
        return f"<table>{cells}</table>"


def make_plan(study: Study, *, users: int | None = None) -> Plan:
    """The plan of ``study``; it reads no data. ``users`` stands in for a study that does not say n.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Line
    >>> make_plan(Study(Line(0, 1, step=0.1), alpha=Fraction(1), query={"kind": "mean"}), users=10).noise.name
    'Laplace'
    """
    n = study.users if study.users is not None else users
    if n is None:
        raise ParameterError(
            "The study does not say how many people the data are about.",
            allowed="users, a public whole number: a plan reads no data",
            fix="--users 100000, or users = 100000 in the study",
        )
    if study.asks_items:
        from barrow.release.items import make_items_plan

        return make_items_plan(study, n)
    if study.model is not Model.CENTRAL:
        raise ParameterError(
            f"model is {study.model.value!r}, but a release from data already held adds noise centrally.",
            allowed="'central'",
            fix="model='central', or barrow local for reports that people randomise themselves",
        )
    if n == 1:
        raise ParameterError(
            "users is 1, so the mean over users is one person's answer.",
            allowed="2 or more people",
            fix="barrow local, where each person adds noise",
        )
    query = study.question
    first, *others = linear_candidates(
        query, study.alpha_exact, study.delta, noise=study.noise, model="central", users=n
    )
    return Plan(study, query, first, price(first.event), tuple(others))
