"""Who adds up people's answers when nobody may see them: several aggregators, of whom some may break the rules."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from barrow.errors import ParameterError
from barrow.numerics import whole

MOST_AGGREGATORS = 16


@dataclass(frozen=True)
class Aggregation:
    """Aggregators of whom all but ``dishonest`` keep to the rules: what is promised holds against those few together.

    Attributes:
        aggregators: How many there are; each gets one share of every answer and adds its own noise to its sum.
        dishonest: How many of them may work together, with whomever else.
        planned: For how many people the grid of the answers was chosen, where another number took part.

    >>> Aggregation(), Aggregation(3).noise_factor, Aggregation(5, 1).honest
    (Aggregation(aggregators=2, dishonest=1, planned=None), Fraction(3, 2), 4)
    """

    aggregators: int = 2
    dishonest: int = 1
    planned: int | None = None

    def __post_init__(self) -> None:
        count = whole(self.aggregators, "aggregators", least=2, most=MOST_AGGREGATORS, fix="aggregators = 2")
        few = whole(self.dishonest, "dishonest", least=1, fix="dishonest = 1")
        if few >= count:
            raise ParameterError(
                f"dishonest is {few} and aggregators is {count}: all of them together see everybody's answer.",
                allowed=f"dishonest from 1 to {count - 1}",
                fix=f"dishonest = 1, or aggregators = {few + 1}",
            )

    @property
    def honest(self) -> int:
        """How many keep to the rules at least: their noise alone must protect."""
        return self.aggregators - self.dishonest

    @property
    def noise_factor(self) -> Fraction:
        """The variance of the noise of all of them over that of the honest ones (docs/proofs/summed.md, Section 3)."""
        return Fraction(self.aggregators, self.honest)

    @property
    def trusted(self) -> str:
        """Who must be trusted, in words."""
        others = {1: "one of them keeps"}.get(self.honest, f"{self.honest} of them keep")
        return f"{self.aggregators} aggregators: no privacy unless at least {others} to the rules"

    @property
    def condition(self) -> str:
        """What the guarantee rests on beside mathematics, in words that follow "if"."""
        return (
            f"at least {self.honest} of the {self.aggregators} aggregators kept to the rules: counted each answer "
            "once, drew noise once, after the last answer, and showed nobody their shares; all of them together "
            "could have seen everybody's answer, and there is no guarantee against that"
        )

    def to_spec(self) -> dict[str, int]:
        """Plain data, as a study file holds them."""
        planned = {} if self.planned is None else {"planned": self.planned}
        return {"aggregators": self.aggregators, "dishonest": self.dishonest, **planned}
