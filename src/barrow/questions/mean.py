"""The mean of people's items: of a line, a plane, or of vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from barrow.numerics import Exact
from barrow.queries import Query, mean
from barrow.questions.linear import Linear
from barrow.questions.question import VALUES, Traits
from barrow.spaces import Space


@dataclass(frozen=True, kw_only=True, repr=False)
class Mean(Linear):
    """The mean over people of the mean of their items.

    Args:
        step: The public grid of the coordinates; 50 bits of the largest by default.

    >>> from barrow.spaces import Line
    >>> Mean().query(Line(0, 100, unit="years", step=1)).unit
    'years'
    """

    kind: ClassVar[str] = "mean"
    traits: ClassVar[Traits] = replace(VALUES, within_groups=True)
    step: Exact | None = None

    def query(self, space: Space) -> Query:
        """The question on ``space``."""
        return mean(space, step=self.step)
