"""Any public function of the items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from numpy.typing import ArrayLike

from barrow.numerics import Exact
from barrow.queries import Query, function
from barrow.questions.shaped_holders import SeveralValues
from barrow.spaces import Space


@dataclass(frozen=True, repr=False)
class Function(SeveralValues):
    """The mean over people of the mean of a public function of their items.

    Args:
        values: One value, or one row of values, for each item.
        names: What the outputs are called.
        unit: Their unit.
        description: What they are, in plain words; statements and the report say it.
        lipschitz: A Lipschitz constant, or one for each norm; it is checked, and where it cannot be, believed: plans
            and statements say so, and people who randomise their own data refuse it.
        step: The public grid of the values.

    >>> from barrow.spaces import Discrete
    >>> Function([0, 1]).query(Discrete(["no", "yes"])).dimension
    1
    """

    kind: ClassVar[str] = "function"
    values: ArrayLike
    names: Sequence[str] | None = None
    unit: str = ""
    description: str = field(default="", kw_only=True)
    lipschitz: Exact | Mapping[object, Exact] | None = None
    step: Exact | None = None

    def query(self, space: Space) -> Query:
        """The question on ``space``."""
        return function(
            space,
            self.values,
            names=self.names,
            unit=self.unit,
            description=self.description or None,
            lipschitz=self.lipschitz,
            step=self.step,
        )
