"""What a person's client does to their items, from a question and its terms: nothing is predicted, nothing is planned.

A channel can also be written down as whole numbers, so that any client can do it, and prove it, by itself: stopping
weights along a tree (randomised response, GKRR, trees), or a table with the scale and grid of Laplace noise. The metric
goes with it, so that a client proves the channel's parameter from the card alone (docs/collect-format.md). Everything
else needs a client that can build the channel again, as this library can.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

from barrow.mechanisms.additive import AdditiveNoise, CalibratedNoise
from barrow.mechanisms.statistics import UserCounts
from barrow.promises import Guarantee, KNormNoise
from barrow.questions.collecting import Averaged, ReportSums

if TYPE_CHECKING:
    from barrow.planning.terms import Terms
    from barrow.queries import Quantised, Query
    from barrow.spaces import Space
    from barrow.spaces.space import Ids

Wire = tuple[dict[str, object], dict[str, object]]
"""A channel and its metric as plain data."""
MOST_ENTRIES = 2**20
"""Tables larger than this are not written down."""


class ReportNoise(CalibratedNoise, Protocol):
    """Noise on the mean over people, or on one person's own answer."""

    @property
    def p(self) -> str | None:
        """The order of its norm; None for Gaussian noise."""

    def mean_half_width(self, reports: int) -> float:
        """What the mean of so many answers is off by with probability at most 5 %."""

    def limits(self, table: Quantised) -> list[tuple[int, int]]:
        """The least and the largest integer that an honest report holds, for each output."""


@dataclass(frozen=True, eq=False)
class LocalChannel(ABC):
    """What one person reports, what it costs them, and what adds such reports up.

    Attributes:
        terms: What the study grants.
        description: What is asked, in plain words.
        guarantee: What each person is promised.
        proved: Whether that follows from the space, and rests on nobody's word.

    >>> from barrow.planning.terms import Terms
    >>> from barrow.promises import Model
    >>> from barrow.questions import Mean
    >>> from barrow.spaces import Line
    >>> terms = Terms(Line(0, 10, step=1), 100, given=Fraction(5), model=Model.LOCAL)
    >>> result = Mean().channel(terms)
    >>> len(result.report(np.array([3, 4]))), result.collector().length, round(float(result.alone_epsilon), 9)
    (1, 1, 5.0)
    """

    terms: Terms
    description: str
    guarantee: Guarantee
    proved: bool = field(default=True, kw_only=True)

    @abstractmethod
    def report(self, items: Ids) -> list[int]:
        """The numbers of one person's report on these item ids."""

    @abstractmethod
    def collector(self) -> ReportSums:
        """What adds up reports."""

    def check(self, items: Ids) -> None:  # noqa: B027 (people may hold any number of items)
        """Refuse items on which there is no report, with a constant text."""

    @property
    def alone(self) -> Guarantee:
        """What holds for one person's report even if everybody else colludes."""
        return self.guarantee

    @property
    def alone_epsilon(self) -> Fraction:
        """What one person's report may cost at most, whatever anybody knows."""
        return Fraction(self.alone.epsilon_at(1))

    @property
    def message_kinds(self) -> int | None:
        """How many kinds of messages there are; None where a report cannot be cut into messages."""
        return None

    @property
    def wire(self) -> Wire | None:
        """The channel as whole numbers, and the metric by which a client proves it; None where it has no such form."""
        return None

    @property
    def report_description(self) -> str:
        """What leaves a phone, in words."""
        return "your own answer with noise added on your phone, as whole numbers"

    @property
    def fallback_hint(self) -> str:
        """What could be asked instead, if the channel cannot be written down."""
        return "kind = 'frequency' with randomiser = 'response', or a mean or distance, with another error"


@dataclass(frozen=True, eq=False)
class NoiseChannel(LocalChannel):
    """A person's own answer to a linear query, with noise.

    Attributes:
        query: What noise is added to.
        noise: The noise on each person's own answer.
    """

    query: Query
    noise: ReportNoise

    def report(self, items: Ids) -> list[int]:
        """One person's answer with noise, in units of the noise's grid."""
        center = UserCounts.of_users(self.terms.space, [items]).center(self.query)
        numbers: list[int] = self.noise.draw(center).integers.tolist()
        return numbers

    def collector(self) -> Averaged:
        """Sums of reports."""
        return Averaged(self.noise.limits(self.query.table))

    @property
    def wire(self) -> Wire | None:
        """A table with the scale and grid of Laplace noise, where the metric is a line or a tree."""
        return laplace_wire(self.query, self.noise)


def laplace_wire(query: Query, noise: CalibratedNoise) -> Wire | None:
    """A table and Laplace noise; None for other noises, large tables, and metrics that are no line and no tree."""
    if not isinstance(noise, AdditiveNoise) or noise.name != "Laplace":
        return None
    if not isinstance(noise.event, KNormNoise) or query.space.items * noise.dimension > MOST_ENTRIES:
        return None
    metric = exact_metric(query.space)
    if metric is None:
        return None
    table = query.table
    rows = np.asarray(table.integers.toarray() if table.sparse else table.integers)
    channel = {
        "kind": "laplace",
        "messages": 1,
        "default": query.space.default_item,
        "alpha": str(Fraction(noise.event.alpha)),
        "scale": str(noise.scale),
        "grid": str(noise.grid),
        "step": str(Fraction(table.step)),
        "table": [[str(int(value)) for value in row] for row in rows],
    }
    return channel, metric


def exact_metric(space: Space) -> dict[str, object] | None:
    """The metric as exact fractions of the diameter, where the space is a line or a tree."""
    grid = space.geometry.lattice
    if space.geometry.on_line and grid is not None:
        low, width = Fraction(float(grid.low[0])), Fraction(float(grid.high[0])) - Fraction(float(grid.low[0]))
        marks = [(Fraction(x) - low) / width for x in space.geometry.points[:, 0].tolist()]  # shares of its length
        return {"kind": "line", "points": [str(mark) for mark in marks]}
    if not space.geometry.has_tree:
        return None
    from barrow.randomisers.shape import tree_shape  # what most channels do without

    shape = tree_shape(space)
    spans = zip(shape.starts.tolist(), shape.ends.tolist(), shape.parents.tolist(), strict=True)
    return {"kind": "tree", "depths": [str(d) for d in shape.depths], "nodes": [list(span) for span in spans]}
