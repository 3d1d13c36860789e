"""The share of people's items in a region with a soft edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from barrow.numerics import Exact
from barrow.queries import Query, region_share
from barrow.questions.linear import Linear
from barrow.questions.question import SHARES, Traits
from barrow.spaces import Space


@dataclass(frozen=True, kw_only=True, repr=False)
class Region(Linear):
    """The share of people's items in a region: 1 inside, falling to 0 at the distance ``ramp`` outside.

    Args:
        ramp: A distance in words, e.g. ``"5 km"``, over which the share falls from 1 to 0.
        center: A public point or label, with
        radius: a distance in words; or
        members: public records that make up the region.
        step: The public grid of the shares.

    >>> from barrow.spaces import Line
    >>> Region(center=50, radius="10 km", ramp="20 km").query(Line(0, 100, unit="km", step=1)).outputs
    ('share within 10 km of 50',)
    """

    kind: ClassVar[str] = "region"
    traits: ClassVar[Traits] = SHARES
    ramp: Exact
    center: object = None
    radius: Exact | None = None
    members: Sequence[object] | None = None
    step: Exact | None = None

    def query(self, space: Space) -> Query:
        """The question on ``space``."""
        return region_share(
            space, ramp=self.ramp, center=self.center, radius=self.radius, members=self.members, step=self.step
        )
