"""The answer that a question would give, from public numbers: what is drawn, what it promises, how far off it is."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from barrow.display import Displayed
from barrow.engines import Counts, ItemSums
from barrow.errors import ParameterError
from barrow.noise import Center
from barrow.numerics.exact import near, with_interval
from barrow.planning.terms import Terms
from barrow.promises import Event, Guarantee
from barrow.questions.question import Question
from barrow.questions.statement import AnswerFacts
from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.spaces.product import marginals
from barrow.spaces.space import Floats

Values = Floats | NDArray[np.int64]
TableRow = dict[str, str | float | bool | None]
"""Texts, numbers, truth values and None by the names of columns."""
Rows = list[TableRow]
"""One table."""
Tables = dict[str, Rows]
"""The rows of every file of values, by the file's name without its ending; ``values`` is the first."""


class Mechanism(Protocol):
    """What is drawn, of which every kind says at least what drawing it causes."""

    @property
    def event(self) -> Event:
        """What drawing causes."""


class Statistics(Protocol):
    """What noise is added to: exact, and private until it is drawn."""

    @property
    def approximation(self) -> Floats:
        """The same as floats (private)."""


@dataclass(frozen=True, eq=False)
class Sample:
    """What was drawn, before tables are made of it.

    Attributes:
        values: The values with noise, or the counts of random reports.
        shares: The histogram decoded from them, where there is one: a share for each item, with sum 1.
        private: Whether the randomness was the operating system's.

    >>> Sample(np.zeros(2)).private
    True
    """

    values: Values
    shares: Floats | None = None
    private: bool = True


class Answer(Displayed, ABC):
    """What a question would be answered with: the mechanism, its error, its guarantee, and how values are drawn.

    Everything else about an answer is a function of it: what it costs at promises (``questions/prices.py``), how it
    is said (``questions/plan_text.py``), what a release writes (``questions/releasing.py``).

    Attributes:
        question: What is asked.
        terms: What the study grants.
        guarantee: What it promises, with the worst case.

    >>> from barrow.questions import Mean
    >>> from barrow.spaces import Line
    >>> plan = Mean().plan(Terms(Line(0, 100, unit="years", step=1), 1000, given=Fraction(25)))
    >>> plan.question.kind, plan.alpha, plan.worst_epsilon <= 25
    ('mean', Fraction(25, 1), True)
    """

    question: Question
    terms: Terms
    guarantee: Guarantee

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """What will be drawn."""

    @property
    def event(self) -> Event:
        """What drawing will cause."""
        return self.mechanism.event

    @property
    @abstractmethod
    def description(self) -> str:
        """What is released, in plain words."""

    @property
    @abstractmethod
    def error(self) -> float:
        """The one number that says how accurate the release will be."""

    @property
    def error_unit(self) -> str:
        """The unit of :attr:`error`."""
        return self.terms.space.unit

    @property
    def alpha(self) -> Fraction | None:
        """The alpha that the release has; None where it is user-level DP, the same for every change."""
        return self.guarantee.alpha

    @property
    def worst_epsilon(self) -> float:
        """The epsilon, rounded up, if all data of one person were different."""
        return self.guarantee.epsilon_at(1)

    @abstractmethod
    def statistics(self, counts: Counts | ItemSums) -> Statistics:
        """What noise will be added to, from an engine's integers (private)."""

    @abstractmethod
    def draw(self, statistics: Statistics) -> Sample:
        """What is released: the statistics with noise."""

    @abstractmethod
    def tables(self, sample: Sample) -> Tables:
        """The rows of every file of values."""

    @abstractmethod
    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""

    def __str__(self) -> str:
        from barrow.questions.plan_text import plan_lines

        return "\n".join(plan_lines(self))


def center_of(statistics: Statistics) -> Center:
    """``statistics``, if additive noise can be added to them."""
    if not isinstance(statistics, Center):
        raise not_its_own()
    return statistics


def not_its_own() -> ParameterError:
    """That an answer was given the statistics of another one."""
    return ParameterError(
        "These statistics belong to another answer.",
        allowed="what plan.statistics(counts) gave",
        fix="plan.statistics(…)",
    )


def number(row: Mapping[str, object], column: str) -> float:
    """What a row holds in a column of numbers.

    >>> number({"item": "a", "share": 0.25}, "share")
    0.25
    """
    value = row[column]
    if not isinstance(value, int | float):
        raise ParameterError(f"{column} is no number.", allowed="a column of numbers", fix="another column")
    return value


def value_words(row: TableRow, unit: str, column: str = "value", period: float = 0.0) -> str:
    """A value of a table with its interval, in words.

    >>> value_words({"value": 3.0, "low_95": 2.0, "high_95": 4.0}, "km")
    '3 km, from 2 to 4 (95 %)'
    >>> value_words({"value": 1.0891, "low_95": 22.36, "high_95": 3.81}, "h", period=24.0)
    '1.1 h, from 22.3 to 3.9 (95 %)'
    """
    value, high = (None if row[name] is None else number(row, name) for name in (column, "high_95"))
    return with_interval(value, number(row, "low_95"), high, unit, period)


def largest_shares(rows: Rows, most: int = 8) -> list[str]:
    """The largest shares of a table with their intervals, in words.

    >>> largest_shares([{"item": "a", "share": 0.25, "low_95": 0.2, "high_95": 0.3}])
    ['a: 25 %, from 20 % to 30 % (95 %)']
    """
    ordered = sorted(rows, key=lambda row: -number(row, "share"))
    told = [value_words(row, "%", "share") if "low_95" in row else near(number(row, "share"), "%") for row in ordered]
    lines = [f"{row['item']}: {words}" for row, words in zip(ordered[:most], told, strict=False)]
    return lines if len(rows) <= most else [*lines, f"These are the {most} largest of {len(rows):,} shares."]


def share_row(share: float, width: float) -> TableRow:
    """The released share of people with records and its interval, cut to [0, 1].

    >>> share_row(0.9, 0.25)
    {'output': 'share of people with records', 'value': 0.9, 'low_95': 0.65, 'high_95': 1.0}
    """
    low, value, high = (min(max(at, 0.0), 1.0) for at in (share - width, share, share + width))
    return {"output": "share of people with records", "value": value, "low_95": low, "high_95": high}


def placed(space: Space, points: Floats | None, i: int) -> dict[str, float]:
    """The coordinates of the i-th of some points, by the names of the space's axes; nothing for what is no place."""
    if points is None or i >= len(points):
        return {}
    return dict(zip(space.geometry.axes, np.atleast_1d(points[i]).tolist(), strict=False))


def marginal_tables(space: Space, shares: Floats) -> dict[str, Rows]:
    """The histogram of each part of a product, from the one that was drawn: nothing more is paid for them."""
    return {
        f"marginal_{i}_{part.kind}": labelled(part, {"share": own.tolist()})
        for i, (part, own) in enumerate(marginals(space, shares), start=1)
    }


def labelled(space: Space, columns: Mapping[str, Sequence[object]]) -> Rows:
    """One row for each item of ``space``: its label, its place if it has one, and the given columns."""
    places = item_places(space)
    names = ["item", *places[0], *columns]  # all places have the same columns
    rows = zip(*columns.values(), strict=True)
    return [
        dict(zip(names, (label, *place.values(), *row), strict=True))
        for label, place, row in zip(space.labels, places, rows, strict=True)
    ]


def item_places(space: Space) -> list[TableRow]:
    """Where each item is, by column: its coordinates; of a product those of each part, or its label there.

    Items that were added to a space, such as everything outside it, have the same columns and are nowhere.

    >>> from barrow.spaces import Elsewhere, Line, Product, Discrete
    >>> item_places(Elsewhere(Line(0, 10, step=5, cells=True)))
    [{'x': 2.5}, {'x': 7.5}, {'x': None}]
    >>> item_places(Product([Line(0, 10, step=5, cells=True), Discrete("ab")]))[1]
    {'x_1': 2.5, 'item_2': 'b'}
    """
    base = base_space(space)
    if base.geometry.parts:
        parts = [_numbered(part, k) for k, (part, _) in enumerate(base.geometry.parts, start=1)]
        result = [{key: value for one in each for key, value in one.items()} for each in itertools.product(*parts)]
    else:
        points = base.geometry.places
        every = [] if points is None else np.asarray(points, dtype=np.float64).reshape(base.items, -1).tolist()
        result = [dict(zip(base.geometry.axes, at, strict=False)) for at in every] or [{}] * base.items
    return [*result, *[dict.fromkeys(result[0])] * (space.items - len(result))]


def _numbered(part: Space, k: int) -> list[TableRow]:
    """The columns of one part of a product, told apart from those of the others."""
    places = item_places(part)
    if not places[0]:
        return [{f"item_{k}": label} for label in part.labels]
    return [{f"{axis}_{k}": value for axis, value in place.items()} for place in places]
