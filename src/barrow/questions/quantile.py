"""Quantiles on a line, with intervals: from the noisy share of people's items below each point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.decoding import decode
from barrow.numerics import Exact, exact, exact_text
from barrow.planning.terms import Terms
from barrow.privacy import Model
from barrow.queries import Query, tree_edges
from barrow.questions.base import Said
from barrow.questions.linear import Linear, LinearPlan, noise_sentence
from barrow.questions.plan import Plan, Rows
from barrow.spaces import Line, Space, edge_tree
from barrow.spaces.base import Floats


@dataclass(frozen=True, kw_only=True, repr=False)
class Quantile(Linear):
    """The values below which given shares of people's items lie; the median by default.

    Args:
        of: One share in (0, 1), or several.

    >>> Quantile(of=["0.25", "0.5"]).shares
    (Fraction(1, 4), Fraction(1, 2))
    """

    kind: ClassVar[str] = "quantile"
    knows_missing: ClassVar[bool] = False
    of: Exact | Sequence[Exact] = "0.5"

    def __post_init__(self) -> None:
        super().__post_init__()
        wrong = next((share for share in self.shares if not 0 < share < 1), None)
        if wrong is not None or not self.shares:
            raise ParameterError(
                f"of is {self.of!r}.", allowed="shares strictly between 0 and 1", fix='of = "0.5", the median'
            )

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The shares, exact."""
        several: Any = self.of if isinstance(self.of, list | tuple) else [self.of]
        return tuple(exact(share, "of") for share in several)

    def query(self, space: Space) -> Query:
        """The share below each point, times the way to the next one."""
        if not isinstance(space, Line):
            raise ParameterError(
                f"Quantiles are asked of a line, and the space is a {space.kind}.",
                allowed="a line with a grid",
                fix="a histogram, or a line for this column",
            )
        return tree_edges(space)

    def plan(self, terms: Terms) -> Plan:
        """The noise that keeps the terms, and the interval to expect; it reads no data."""
        if terms.model is not Model.CENTRAL:
            raise ParameterError(
                "Quantiles are planned for data already held.",
                allowed="model 'central'",
                fix="histogram, then read it off",
            )
        made = super().plan(terms)
        if not isinstance(made, LinearPlan):
            raise ParameterError("Quantiles need additive noise.", allowed="noise='auto'", fix="noise='auto'")
        return QuantilePlan(self, terms, made.query, made.chosen, made.others)

    def _over_holders(self, terms: Terms) -> Plan:
        raise ParameterError(
            f"The question {self.kind!r} does not tell people without records apart.",
            allowed="missing = 'default item'; a histogram or a mean where missing = 'no records'",
            fix="missing = 'default item'",
        )

    @classmethod
    def released(cls, said: Said) -> str:
        """What was released, and that it comes with intervals."""
        return (
            f"We released {said['released']}, computed from {said['people']:,} people, each person counting once. Each "
            "comes with an interval that holds the true one with probability 95 %, all of them at once, snapping "
            "included."
        )

    @classmethod
    def drawn(cls, said: Said) -> list[str]:
        """How the noise was drawn, and what was made of it."""
        return [
            noise_sentence(said),
            "The noisy shares below each point were decoded to one histogram, from which the quantiles were read off; "
            "the intervals hold every point whose share may be the one asked for.",
        ]


@dataclass(frozen=True, eq=False)
class QuantilePlan(LinearPlan):
    """What quantiles would be like.

    >>> from barrow.spaces import Line
    >>> plan = Quantile().plan(Terms(Line(0, 100, unit="years", step=1), 10_000, given=Fraction(25)))
    >>> plan.description, plan.error < 2
    ("the median of people's items (years)", True)
    """

    question: Quantile

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        shares = self.question.shares
        unit = f" ({self.space.unit})" if self.space.unit else ""
        if shares == (Fraction(1, 2),):
            return f"the median of people's items{unit}"
        return f"the quantiles {', '.join(map(exact_text, shares))} of people's items{unit}"

    @property
    def error_unit(self) -> str:
        """The unit of the line."""
        return self.space.unit

    @property
    def error(self) -> float:
        """Half the width of the widest interval if people's items were spread uniformly."""
        below = (np.arange(self.query.dimension) + 1.0) / self.space.items
        rows = self._rows_of(below)
        return float(max((row["high_95"] - row["low_95"]) / 2.0 for row in rows))

    def tables(self, drawn: Any) -> dict[str, Rows]:
        """One row for each quantile with its interval, and the noisy shares below each point."""
        shares, width = self._below(drawn)
        points = np.asarray(self.space.places)[: len(shares)].tolist()
        half = width.tolist()
        below = [
            {"up_to": x, "share": s, "low_95": max(s - w, 0.0), "high_95": min(s + w, 1.0)}
            for x, s, w in zip(points, shares.tolist(), half, strict=True)
        ]
        return {"values": self._rows_of(self._decoded(drawn), shares), "below": below}

    def _below(self, drawn: Floats) -> tuple[Floats, Floats]:
        """The unbiased share below each edge, and half widths that hold for all of them at once."""
        lengths = edge_tree(self.space).lengths
        return np.asarray(drawn) / lengths, self.noise.simultaneous_half_width / lengths

    def _decoded(self, drawn: Floats) -> Floats:
        shares = decode(edge_tree(self.space), np.asarray(drawn), variances=self.noise.deviation**2)
        return np.cumsum(shares)[:-1]

    def _rows_of(self, decoded: Floats, unbiased: Floats | None = None) -> Rows:
        points = np.asarray(self.space.places, dtype=np.float64)
        centre = decoded if unbiased is None else unbiased
        width = self.noise.simultaneous_half_width / edge_tree(self.space).lengths
        moved = self.space.snapping_upper * self.space.diameter
        rows = []
        for share in self.question.shares:
            q = float(share)
            at = int(np.searchsorted(decoded, q, side="left"))
            # The quantile is x_i if F(x_(i-1)) < q <= F(x_i): points that the band rules out are left out.
            surely_below = np.flatnonzero(centre + width < q)
            surely_reached = np.flatnonzero(centre - width >= q)
            low = int(surely_below.max()) + 1 if surely_below.size else 0
            high = int(surely_reached.min()) if surely_reached.size else len(points) - 1
            first, last = min(low, high), max(low, high)
            rows.append(
                {
                    "quantile": exact_text(share),
                    "value": float(points[min(max(at, first), last)]),
                    "low_95": float(points[first]) - moved,
                    "high_95": float(points[last]) + moved,
                    "unit": self.space.unit,
                }
            )
        return rows

    def summary(self, drawn: Any) -> list[str]:
        """The quantiles with their intervals."""
        unit = f" {self.space.unit}".rstrip()
        return [
            f"{row['quantile']}: {row['value']:.6g}{unit}, from {row['low_95']:.6g} to {row['high_95']:.6g} (95 %)"
            for row in self.tables(drawn)["values"]
        ]

    def fields(self) -> dict[str, Any]:
        """What the statement says about the values."""
        return {**super().fields(), "quantiles": [exact_text(share) for share in self.question.shares]}

    def answer_lines(self) -> list[str]:
        """The noise, and how wide intervals would be."""
        return [
            f"Noise     {self.noise.name}, scale {float(self.noise.scale):.3g} on the share below each point",
            f"Error     ± {self.sized(self.error)} (95 %, all at once) if people's items were spread uniformly; less "
            "where many are alike",
        ]

    @property
    def warnings(self) -> list[str]:
        """A warning where an interval would cover most of the line."""
        if self.error < self.space.diameter / 4.0:
            return []
        # The band of shares must be an eighth wide on either side.
        times = 8.0 * float(np.max(self.noise.simultaneous_half_width / edge_tree(self.space).lengths))
        return [
            f"The answer will be nearly useless: ± {self.sized(self.error)} on a line of "
            f"{self.sized(self.space.diameter)}. About {math.ceil(self.terms.users * times):,} people, or promises "
            f"{times:.2g} times looser, would make it an eighth of the line."
        ]
