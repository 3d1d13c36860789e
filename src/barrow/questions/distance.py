"""How far people's items are from a public point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from barrow.numerics import Exact
from barrow.queries import Query, distance_to
from barrow.questions.linear import Linear
from barrow.spaces import Space


@dataclass(frozen=True, repr=False)
class Distance(Linear):
    """The mean distance of people's items from a public point or item.

    Args:
        to: A public record: coordinates, (lat, lon), or a label.
        step: The public grid of the distances.

    >>> from barrow.spaces import Line
    >>> Distance(3).query(Line(0, 10, unit="km", step=1)).description
    'the mean over people of the mean distance of their items from 3 (km)'
    """

    kind: ClassVar[str] = "distance"
    to: object
    step: Exact | None = None

    def query(self, space: Space) -> Query:
        """The question on ``space``."""
        return distance_to(space, self.to, step=self.step)
