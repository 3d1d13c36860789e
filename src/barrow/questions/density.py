"""A density map: the share of people's items near each of many centres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from barrow.numerics import Exact
from barrow.queries import Query, density
from barrow.questions.linear import Linear
from barrow.spaces import Space


@dataclass(frozen=True, kw_only=True, repr=False)
class Density(Linear):
    """The share of people (their items) near each centre, with weights that fall to 0 at the bandwidth.

    Args:
        bandwidth: A distance in words, e.g. ``"5 km"``: how far apart the centres are, and how far weights reach.

    >>> from barrow.spaces import Line
    >>> Density(bandwidth="10 km").query(Line(0, 100, unit="km", step=1)).dimension
    11
    """

    kind: ClassVar[str] = "density"
    bandwidth: Exact

    def query(self, space: Space) -> Query:
        """The question on ``space``."""
        return density(space, bandwidth=self.bandwidth)
