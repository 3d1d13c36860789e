"""A density map: the share of people's items near each of many centres."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from msgspec import structs

from barrow import planning
from barrow.numerics import Exact
from barrow.numerics.exact import at_most, near
from barrow.planning.candidates import Versus
from barrow.planning.terms import Terms
from barrow.queries import Query, density
from barrow.queries.holders import with_no_records
from barrow.questions.base import Question
from barrow.questions.channels import NoiseChannel
from barrow.questions.kept import kept_query
from barrow.questions.linear import Linear, LinearPlan
from barrow.questions.plan import Rows, placed
from barrow.questions.statement import AnswerFacts, DensityFacts, Statement
from barrow.spaces import Space, parse_distance

if TYPE_CHECKING:
    from barrow.planning.densities import DensityError


@dataclass(frozen=True, kw_only=True, repr=False)
class Density(Linear):
    """The share of people (their items) near each centre, with weights that fall to 0 at the bandwidth.

    Beside the unbiased values stands a map decoded from them: shares of 0 or more, with sum 1.

    Args:
        bandwidth: A distance in words, e.g. ``"5 km"``: how far apart the centres are, and how far weights reach;
            ``"auto"`` for the one whose decoded map has the least predicted error.

    >>> from barrow.spaces import Line
    >>> Density(bandwidth="10 km").query(Line(0, 100, unit="km", step=1)).dimension
    11
    """

    kind: ClassVar[str] = "density"
    of_shares: ClassVar[bool] = True
    bandwidth: Exact

    def query(self, space: Space) -> Query:
        """The question on ``space``; people without records are one more share where they have an item."""
        if space.no_records_distance is not None:
            return with_no_records(kept_query(self, space.records_space), space)
        return density(space, bandwidth=self.bandwidth)

    def fits(self, space: Space) -> None:
        """Refuse, within a second, a space on which it has no answer."""
        if self.settled:
            super().fits(space)

    @property
    def smoothed_over(self) -> Any:
        """The bandwidth."""
        return self.bandwidth if self.settled else None

    @property
    def settled(self) -> bool:
        """Not while the bandwidth is to be chosen."""
        return self.bandwidth != "auto"

    def for_grid(self) -> Question:
        """A histogram, while the bandwidth is to be chosen."""
        from barrow.questions.histogram import Histogram

        return self if self.settled else Histogram(mechanism="edges", definition="emd")

    def channel(self, terms: Terms) -> NoiseChannel:
        """As that of its query."""
        return super(Density, self._resolved(terms)).channel(terms)

    def _resolved(self, terms: Terms) -> Density:
        """With a bandwidth that can be written down."""
        if self.settled:
            return self
        return replace(self, bandwidth=_typed(planning.best_of(self.bandwidths(terms)), terms.space))

    def plan(self, terms: Terms) -> LinearPlan:
        """The most accurate noise that keeps the terms; it reads no data."""
        asked = self._resolved(terms)
        made = super(Density, asked).plan(terms)
        return DensityPlan(asked, terms, made.query, made.chosen, made.others, own=made.own, rivals=made.rivals)

    def bandwidths(self, terms: Terms) -> tuple[tuple[float, float], ...]:
        """Bandwidths in the space's unit, from wide to narrow, each with the predicted error of its map.

        >>> from fractions import Fraction
        >>> from barrow.spaces import Line
        >>> found = Density(bandwidth="auto").bandwidths(Terms(Line(0, 64, step=1), 1000, given=Fraction(9)))
        >>> found[0][0]
        16.0
        """
        inner = replace(terms, space=terms.space.records_space)
        reference = planning.reference_distribution(inner.space)
        return planning.bandwidth_errors(inner.space, reference, lambda width: self._on(inner, width))

    def _over_holders(self, terms: Terms) -> LinearPlan:
        return self._planned(terms)

    def _on(self, terms: Terms, width: float) -> planning.DensityMap:
        """The map that would be decoded with a bandwidth of ``width`` in the space's unit."""
        made = Linear.plan(replace(self, bandwidth=_typed(width, terms.space)), terms)
        return planning.DensityMap(made.query, made.noise)

    @classmethod
    def drawn(cls, statement: Statement) -> list[str]:
        """How the noise was drawn, and what was made of it."""
        return [
            *super().drawn(statement),
            "Beside each value stands the share of the nearest map without negative shares whose sum is 1, which uses "
            "nothing but the values.",
        ]


def _typed(width: float, space: Space) -> str:
    """A distance as a study has it: in the space's unit, or as a share of the largest one where it has none."""
    return f"{width:.6g} {space.unit}" if space.unit else f"{width / space.diameter:.6g}"


@dataclass(frozen=True, eq=False)
class DensityPlan(LinearPlan):
    """What a density would be like; its rows hold the unbiased value and the decoded share."""

    @cached_property
    def expected(self) -> DensityError:
        """What to expect at the public reference, from the records as they are."""
        from barrow.planning.densities import density_error

        asked, space = self.question.to_spec()["bandwidth"], self.space
        reference = planning.reference_distribution(space)
        return density_error(
            self.query,
            self.noise,
            reference,
            lambda grid: density(grid, bandwidth=asked),
            users=self.terms.users,
            model=self.terms.model,
        )

    @property
    def error_parts(self) -> tuple[float, float]:
        """The half width of the noise, and what snapping adds to it at the reference."""
        return self.chosen.error, self.expected.added

    @property
    def error(self) -> float:
        """The predicted 95 % half width from the records as they are; the noise alone has the half width."""
        return self.combined(self.chosen.error)

    def combined(self, noise: float) -> float:
        """Snapping and noise are independent."""
        return math.hypot(noise, self.expected.added)

    def _versus(self) -> Versus | None:
        """With what snapping adds to both."""
        found = super()._versus()
        if found is None:
            return None
        here, other, worst = (
            one and replace(one, error=self.combined(one.error))
            for one in (found.chosen, found.at_promises, found.at_worst)
        )
        return Versus(here or found.chosen, other or found.at_promises, worst)

    @property
    def threshold(self) -> float | None:
        """All values at once."""
        return self.half_width_all if self.query.dimension > 1 else None

    def answer_lines(self) -> list[str]:
        """The noise, the error, and from which size on a share stands out."""
        found, (noise, error, *rest) = self.expected, super().answer_lines()
        return [
            noise,
            f"Error     each value ± {near(self.error)} (95 %) from the records as they are, predicted: noise ± "
            f"{at_most(self.half_width)}, snapping {near(found.added)}",
            f"          values are off by about {near(found.values)}, shares of the map by {near(found.decoded)}",
            f"          the noise alone: {error[10:]}",
            *rest,
            f"          a share surely stands out of the noise if it is above {at_most(self.half_width_all)}",
        ]

    def fields(self) -> AnswerFacts:
        """What the statement says about the values."""
        found = self.expected
        expected = DensityFacts(values=found.values, decoded=found.decoded, snapping=found.snapping)
        return structs.replace(super().fields(), snapping_typical=found.snapping, expected_error=expected)

    def details(self) -> dict[str, Any]:
        """What is this kind's own in plain data."""
        found = self.expected
        expected = {"values": found.values, "decoded": found.decoded, "snapping": found.snapping}
        return {**super().details(), "snapping_typical": found.snapping, "expected_error": expected}

    def _wider(self, times: float) -> str:
        """Noise falls as the bandwidth grows."""
        width = float(parse_distance(self.question.to_spec()["bandwidth"], self.space)) * times
        if width > 0.5:
            return ""
        return f"A bandwidth of {self.sized(width * self.space.diameter)} would help most: it would make it ± 0.25."

    def _rows(self, values: Any, widths: Any) -> Rows:
        from barrow.mechanisms.decoding import nearest_in_simplex

        # Weights of all centres sum to 1 at every item, so that the true values are a histogram of the centres.
        shares = nearest_in_simplex(np.asarray(values, dtype=np.float64))
        outputs = zip(self.query.outputs, values, widths, shares.tolist(), strict=True)
        places, space = self.query.places, self.space.records_space
        return [
            {
                "output": name,
                **({} if places is None or i >= len(places) else placed(space, places, i)),
                "value": float(value),
                "half_width_95": float(width),
                "unit": self.query.unit,
                "share": round(float(share), 12),
            }
            for i, (name, value, width, share) in enumerate(outputs)
        ]

    def tables(self, drawn: Any) -> dict[str, Rows]:
        """A row for each centre; the share of people without records in a table of its own."""
        rows = self._rows(drawn, [self.half_width] * len(drawn))
        if self.space.no_records_distance is None:
            return {"values": rows}
        return {"values": rows[:-1], "no_records": rows[-1:]}
