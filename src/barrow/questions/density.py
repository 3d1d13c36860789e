"""A density map: the share of people's items near each of many centres."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
from msgspec import structs

from barrow.mechanisms.decoding.grid import nearest_in_simplex
from barrow.numerics import Exact
from barrow.numerics.exact import at_most, near
from barrow.planning.densities import DensityError, DensityMap, bandwidth_errors, best_of, density_error
from barrow.planning.notes import Note
from barrow.planning.simulate import reference_distribution
from barrow.planning.terms import Terms
from barrow.queries import Query, density
from barrow.queries.holders import with_no_records
from barrow.questions.answer import Rows, Sample, Tables
from barrow.questions.cache import cached_query
from barrow.questions.channels import LocalChannel
from barrow.questions.estimates import ErrorEstimate, estimate
from barrow.questions.linear import (
    Linear,
    LinearAnswer,
    linear_lines,
    unproved_constant,
    useless_values,
)
from barrow.questions.plan_text import answer_lines, own_notes
from barrow.questions.question import (
    SHARES,
    Question,
    Traits,
    bandwidths_of,
    grid_question,
    is_resolved,
    resolved,
    to_question,
)
from barrow.questions.shaped import StrategyAnswer, or_shaped
from barrow.questions.statement import AnswerFacts, DensityFacts, Statement
from barrow.spaces import Space, parse_distance


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
    traits: ClassVar[Traits] = SHARES
    bandwidth: Exact

    def query(self, space: Space) -> Query:
        """The question on ``space``; people without records are one more share where they have an item."""
        if space.no_records_distance is not None:
            return with_no_records(cached_query(self, space.records_space), space)
        return density(space, bandwidth=self.bandwidth)

    def fits(self, space: Space) -> None:
        """Refuse, within a second, a space on which it has no answer."""
        if is_resolved(self):
            super().fits(space)

    def channel(self, terms: Terms) -> LocalChannel:
        """As that of its query."""
        return super(Density, self.resolved(terms)).channel(terms)

    def resolved(self, terms: Terms) -> Density:
        """With a bandwidth that can be written down."""
        if is_resolved(self):
            return self
        return replace(self, bandwidth=_typed(best_of(bandwidths_of(self, terms)), terms.space))

    def plan(self, terms: Terms) -> LinearAnswer:
        """The most accurate noise that keeps the terms; it reads no data."""
        request = self.resolved(terms)
        built = super(Density, request).plan(terms)
        best, baselines = or_shaped(built), built.baselines
        if best is not None:
            return ShapedDensityAnswer(request, terms, best, built.query, own=(best, *built.own), baselines=baselines)
        return DensityAnswer(request, terms, built.chosen, built.query, own=built.own, baselines=baselines)

    def _over_holders(self, terms: Terms) -> LinearAnswer:
        return self._planned(terms)

    def _on(self, terms: Terms, width: float) -> DensityMap:
        """The map that would be decoded with a bandwidth of ``width`` in the space's unit."""
        built = Linear.plan(replace(self, bandwidth=_typed(width, terms.space)), terms)
        return DensityMap(built.query, built.noise)

    @classmethod
    def _noise_steps(cls, statement: Statement) -> list[str]:
        """How the noise was drawn, and what was made of it."""
        return [
            *super()._noise_steps(statement),
            "Beside each value is the share of the nearest map without negative shares whose sum is 1; it is "
            "computed from the released values only.",
        ]


def _typed(width: float, space: Space) -> str:
    """A distance as a study has it: in the space's unit, or as a share of the largest one where it has none."""
    return f"{width:.6g} {space.unit}" if space.unit else f"{width / space.diameter:.6g}"


def _bandwidth(answer: LinearAnswer) -> Exact:
    """The bandwidth as it was typed."""
    return cast("Exact", answer.question.to_spec()["bandwidth"])


@dataclass(frozen=True, eq=False)
class DensityAnswer(LinearAnswer):
    """What a density would be like; its rows hold the unbiased value and the decoded share."""

    @cached_property
    def expected(self) -> DensityError:
        """What to expect at the public reference, from the records as they are."""
        bandwidth, space = _bandwidth(self), self.terms.space
        return density_error(
            self.query,
            self.noise,
            reference_distribution(space),
            lambda grid: density(grid, bandwidth=bandwidth),
            users=self.terms.users,
            model=self.terms.model,
        )

    @property
    def error(self) -> float:
        """The predicted 95 % half width from the records as they are; the noise alone has the half width."""
        return math.hypot(self.chosen.error, self.expected.added)

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        result = self.expected
        expected = DensityFacts(values=result.values, decoded=result.decoded, snapping=result.snapping)
        return structs.replace(super().facts(), snapping_typical=result.snapping, expected_error=expected)

    def rows_of(self, values: Iterable[float], widths: Iterable[float]) -> Rows:
        """A row for each centre with the decoded share."""
        noisy = np.asarray(values, dtype=np.float64)
        # Weights of all centres sum to 1 at every item, so that the true values are a histogram of the centres.
        shares = nearest_in_simplex(noisy).tolist()
        rows = super().rows_of(noisy, widths)
        return [{**row, "share": round(share, 12)} for row, share in zip(rows, shares, strict=True)]

    def tables(self, sample: Sample) -> Tables:
        """A row for each centre; the share of people without records in a table of its own."""
        return self.apart(super().tables(sample)["values"])

    def apart(self, rows: Rows) -> Tables:
        """The share of people without records, which is the last row where they have an item, apart from the others."""
        if self.terms.space.no_records_distance is None:
            return {"values": rows}
        return {"values": rows[:-1], "no_records": rows[-1:]}


@dataclass(frozen=True, eq=False)
class ShapedDensityAnswer(StrategyAnswer, DensityAnswer):
    """A density whose values follow from other combinations with noise."""

    def tables(self, sample: Sample) -> Tables:
        """As of other noise, each row with its own half width."""
        return self.apart(StrategyAnswer.tables(self, sample)["values"])


@grid_question.register(Density)
def _(question: Density) -> Question:
    """A histogram, while the bandwidth is to be chosen."""
    return question if is_resolved(question) else to_question("histogram(mechanism='edges', definition='emd')")


@resolved.register(Density)
def _(question: Density, terms: Terms) -> Question:
    return question.resolved(terms)


@is_resolved.register(Density)
def _(question: Density) -> bool:
    """Whether the bandwidth is known, and not to be chosen."""
    return question.bandwidth != "auto"


@bandwidths_of.register(Density)
def _(question: Density, terms: Terms) -> tuple[tuple[float, float], ...]:
    inner = replace(terms, space=terms.space.records_space)
    reference = reference_distribution(inner.space)
    return bandwidth_errors(inner.space, reference, lambda width: question._on(inner, width))


@estimate.register(DensityAnswer)
def _(answer: DensityAnswer) -> ErrorEstimate:
    """Snapping and noise are independent, and all values at once have a threshold."""
    threshold = answer.half_width_all if answer.query.dimension > 1 else None
    return ErrorEstimate(
        answer.chosen.error,
        answer.expected.added,
        independent=True,
        scales=answer.alpha is not None,
        threshold=threshold,
    )


@answer_lines.register(DensityAnswer)
def _(answer: DensityAnswer) -> list[str]:
    """The noise, the error, and from which size on a share stands out."""
    result, (noise, error, *rest) = answer.expected, linear_lines(answer)
    return [
        noise,
        f"Error     each value ± {near(answer.error)} (95 %) from the records as they are, predicted: noise ± "
        f"{at_most(answer.half_width)}, snapping {near(result.added)}",
        f"          values are off by about {near(result.values)}, shares of the map by {near(result.decoded)}",
        f"          the noise alone: {error[10:]}",
        *rest,
        f"          a share certainly stands out from the noise if it is above {at_most(answer.half_width_all)}",
    ]


@own_notes.register(DensityAnswer)
def _(answer: DensityAnswer) -> list[Note]:
    """Noise falls as the bandwidth grows."""
    whole, space = answer.query.table.range_upper(math.inf), answer.terms.space
    times = 4.0 * answer.half_width / whole
    width = float(parse_distance(_bandwidth(answer), space)) * times
    typed = near(width * space.diameter, space.unit)
    wider = f"A bandwidth of {typed} would help most: it would make it ± 0.25." if width <= 0.5 else ""
    return [*unproved_constant(answer), *useless_values(answer, whole, wider)]
