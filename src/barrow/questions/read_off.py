"""Questions whose answer is read off noisy linear values: quantiles, circular means; among holders of records too."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from barrow.errors import ParameterError
from barrow.planning.linear import kept_errors
from barrow.planning.terms import Terms
from barrow.privacy import Model
from barrow.queries.holders import Holders, holders
from barrow.questions.linear import Linear, LinearPlan
from barrow.questions.plan import Plan
from barrow.spaces import held


@dataclass(frozen=True, kw_only=True, repr=False)
class ReadOff(Linear):
    """A linear question for a curator, whose values are turned into something else with intervals of its own.

    >>> from barrow.questions import CircularMean, Quantile
    >>> issubclass(Quantile, ReadOff), issubclass(CircularMean, ReadOff)
    (True, True)
    """

    plural: ClassVar[str] = ""
    """What it asks for, in the plural, as refusals name it."""

    @abstractmethod
    def _read_off(self, made: LinearPlan, pair: Holders | None) -> Plan:
        """The plan of the answer from that of the values; over holders of records where there is a pair."""

    def plan(self, terms: Terms) -> Plan:
        """The noise that keeps the terms, and the intervals to expect; it reads no data."""
        if terms.model is not Model.CENTRAL:
            raise ParameterError(
                f"{self.plural} are planned for data already held.",
                allowed="model 'central'",
                fix="histogram, which people can report themselves, and from which they can be read off",
            )
        return super().plan(terms)

    def _planned(self, terms: Terms) -> Plan:
        made = super()._planned(terms)
        if not isinstance(made, LinearPlan):
            raise ParameterError(f"{self.plural} need additive noise.", allowed="noise='auto'", fix="noise='auto'")
        return self._read_off(made, None)

    def _over_holders(self, terms: Terms) -> Plan:
        """Sums over people with records, and their share, with one constant (docs/proofs/no-records.md)."""
        pair = holders(self.query(held(terms.space)), terms.space)
        found = kept_errors(pair.query, terms, self.noise)
        made = LinearPlan(self, terms, pair.query, found[0], tuple(found[1:]), own=tuple(found))
        return self._read_off(made, pair)


def share_row(share: float, width: float) -> dict[str, object]:
    """The released share of people with records and its interval, cut to [0, 1].

    >>> share_row(0.9, 0.2)["high_95"]
    1.0
    """
    return {
        "output": "share of people with records",
        "value": min(max(share, 0.0), 1.0),
        "low_95": min(max(share - width, 0.0), 1.0),
        "high_95": min(max(share + width, 0.0), 1.0),
    }
