"""Adding up reports: integers that are averaged, or integers that are counted. Neither keeps a report."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.display import Plotted
from barrow.errors import ParameterError
from barrow.numerics import float_up
from barrow.promises import Guarantee
from barrow.questions.answer import Answer, Rows
from barrow.questions.question import central_only

if TYPE_CHECKING:
    from barrow.mechanisms.edge_intervals import RegionInterval
    from barrow.mechanisms.histogram_regions import ReleasedShares
    from barrow.planning.after import OwnError
    from barrow.questions.statement import Statement

Integers = NDArray[np.int64]


class ReportSums(ABC):
    """What a server keeps of reports: how many there were, and sums of what they hold.

    Attributes:
        n: How many people's reports were added.
        length: How many integers a report holds.

    >>> Counted(2, 3).length
    2
    """

    n: int
    length: int

    @classmethod
    def of(cls, collector: ReportSums) -> Self:
        """``collector``, if it is of this kind."""
        if not isinstance(collector, cls):
            raise ParameterError(
                "These reports were added up in another way.",
                allowed="the plan's own collector",
                fix="plan.collector()",
            )
        return collector

    @abstractmethod
    def refusal(self, values: Sequence[int]) -> str | None:
        """Why an honest client cannot have sent these values; None if it can."""

    @abstractmethod
    def add(self, values: Sequence[int]) -> None:
        """Adds the values of one report, which :meth:`refusal` let through."""


class Averaged(ReportSums):
    """Sums and sums of squares of reports with additive noise, exact.

    Args:
        limits: The least and the largest integer that an honest report holds, for each output.
    """

    def __init__(self, limits: Sequence[tuple[int, int]]) -> None:
        self.n, self.length, self._limits = 0, len(limits), limits
        self._sums = [0] * self.length
        self._squares = [0] * self.length

    def refusal(self, values: Sequence[int]) -> str | None:
        """A value farther out than honest noise ever gets is refused."""
        inside = all(low <= v <= high for v, (low, high) in zip(values, self._limits, strict=True))
        return None if inside else "impossible value"

    def add(self, values: Sequence[int]) -> None:
        """Adds one report."""
        self.n += 1
        for j, value in enumerate(values):
            self._sums[j] += value
            self._squares[j] += value * value

    def means(self, grid: Fraction) -> list[float]:
        """The mean of the reports, one for each output."""
        return [float(total * grid / self.n) for total in self._sums]

    def spreads(self, grid: Fraction) -> list[float] | None:
        """About how far means are from those of the population that people are a sample of: noise and people.

        Student's 95 % width from the spread of the reports. Where a few people matter most it covers less, 72 to 80 %
        on skewed ones, so it is said with "about" and never called 95 %.
        """
        if self.n < 2:
            return None
        n, t, widths = self.n, float(heavy.special.stdtrit(self.n - 1, 0.975)), []
        for total, square in zip(self._sums, self._squares, strict=True):
            variance = Fraction(n * square - total * total, n * (n - 1)) * grid * grid
            widths.append(t * math.sqrt(float_up(variance) / n))
        return widths


class Counted(ReportSums):
    """How often each kind of report occurs.

    Args:
        length: How many reports each person makes.
        kinds: How many kinds of reports there are.
    """

    def __init__(self, length: int, kinds: int) -> None:
        self.n, self.length = 0, length
        self.counts: Integers = np.zeros(kinds, dtype=np.int64)

    def refusal(self, values: Sequence[int]) -> str | None:
        """Reports are kinds in ascending order: their order would say which item is which."""
        numbers = np.asarray(values)
        good = numbers.min() >= 0 and numbers.max() < len(self.counts) and (np.diff(numbers) >= 0).all()
        return None if good else "impossible value"

    def add(self, values: Sequence[int]) -> None:
        """Adds one report."""
        self.n += 1
        np.add.at(self.counts, np.asarray(values, dtype=np.int64), 1)

    def add_many(self, numbers: Integers, people: int) -> None:
        """Adds the values of many reports at once."""
        self.n += people
        if len(self.counts) <= 4 * len(numbers):
            self.counts += np.bincount(numbers, minlength=len(self.counts))
        else:
            np.add.at(self.counts, numbers, 1)


@dataclass(frozen=True)
class Collected(Plotted):
    """What many reports say together.

    Attributes:
        n: How many people's reports were counted.
        tables: The rows of values, as a central release has them.
        lines: The values in a few lines, with units and errors.
        details: The same as plain data, and what is this kind's own.
        guarantee: What each person was promised.
        shares: Of a histogram: its unbiased shares with their noise, for intervals of regions.
        notes: What whoever collected them must say beside the values; the last of ``lines``.
        warning: What must not be overlooked.
        own: How far off they are, worked out from the values; None where the plan's number says it all.
        plan: What was planned, for as many people as took part.
        stated: Makes the statement of these values.

    >>> from barrow.promises import Emd
    >>> Collected(2, {}, (), {}, Guarantee(Emd(1, model="local"), "pure", "def:emd-dp")).n
    2
    """

    n: int
    tables: Mapping[str, Rows]
    lines: Sequence[str]
    details: Mapping[str, object]
    guarantee: Guarantee
    refused: Mapping[str, int] = field(default_factory=dict)
    shares: ReleasedShares | None = field(default=None, repr=False)
    notes: Sequence[str] = ()
    warning: str = ""
    own: OwnError | None = None
    plan: Answer | None = field(default=None, repr=False, compare=False)
    stated: Callable[[], Statement] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def statement(self) -> Statement:
        """What a statement says about these values, as one of data that somebody holds does; it names no ledger."""
        if self.stated is None:
            raise ParameterError("Nobody said what these are.", allowed="what a server adds up", fix="server.result()")
        return self.stated()

    def region(self, inside: object, *, confidence: float = 0.95, looked: bool = False) -> RegionInterval:
        """An interval for the share of a region in what these people hold, from their reports; it costs nothing.

        Args:
            inside: One truth value for each item, or labels of items.
            confidence: How often the interval holds, 0.5 or more.
            looked: Whether the region was chosen after looking at the result; such intervals are wider.
        """
        return self.known_shares.region(inside, confidence, looked=looked)

    @property
    def known_shares(self) -> ReleasedShares:
        """``shares``, where there are some."""
        if self.shares is None:
            raise ParameterError(
                "Only histograms along edges, along a tree, on levels or of cells have regions.",
                allowed="the question histogram",
                fix="kind = 'histogram'",
            )
        return self.shares

    def to_json(self) -> dict[str, object]:
        """Plain data for ``--json``."""
        return {
            "n": self.n,
            **self.details,
            "refused": dict(self.refused),
            "guarantee": self.guarantee.to_json(),
        }

    def __str__(self) -> str:
        refused = ", ".join(f"{count:,} {reason}" for reason, count in self.refused.items())
        return "\n".join([*self.lines, *([f"Refused: {refused}."] if refused else [])])


@singledispatch
def collected(answer: Answer, collector: ReportSums) -> Collected:
    """What people's reports say together; by the type of the answer."""
    raise central_only(answer.question)


@singledispatch
def for_people(answer: Answer, users: int) -> Answer:
    """The same channel, priced and decoded for as many people as really took part; by the type of the answer."""
    result: Answer = replace(answer, terms=answer.terms.for_people(users))  # type: ignore[type-var]
    return result
