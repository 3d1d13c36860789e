"""Linear questions where some people hold no records: the mean over those who do, as a ratio with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from msgspec import structs

from barrow.errors import ParameterError
from barrow.mechanisms import AdditiveNoise, NoiseDistribution
from barrow.numerics import float_up
from barrow.numerics.exact import at_most, near
from barrow.planning.candidates import Candidate, best_first, kept_user_level, preferred
from barrow.planning.linear import kept_errors
from barrow.planning.terms import Terms
from barrow.privacy import Model
from barrow.queries.holders import Holders, holders
from barrow.questions.kept import kept_query
from barrow.questions.linear import Linear, LinearPlan, user_level_of
from barrow.questions.plan import Rows, placed
from barrow.questions.statement import AnswerFacts

_TURNS = 60


def plan_holders(question: Linear, terms: Terms) -> HoldersPlan:
    """The plan of a mean over people with records; it reads no data."""
    if terms.model is not Model.CENTRAL:
        raise ParameterError(
            "People without records have an item of their own where a curator holds the data.",
            allowed="model 'central', or missing = 'default item'",
            fix="missing = 'default item'",
        )
    pair = holders(kept_query(question, terms.space.records_space), terms.space)
    found = _of_means(pair, kept_errors(pair.query, terms, question.noise))
    rivals: list[Candidate] = []
    if question.noise == "auto" or question.definition == "user_level":
        rivals = _of_means(pair, kept_user_level(terms, user_level_of(pair.query, terms), question.definition))
    moved = pair.inner.snapping_upper if pair.inner.snapping_counted else 0.0
    best = preferred(found, rivals, question.definition, moved)
    others = [candidate for candidate in found if candidate is not best]
    return HoldersPlan(question, terms, pair.query, best, tuple(others), pair, own=tuple(found), rivals=tuple(rivals))


def _of_means(pair: Holders, found: Iterable[Candidate]) -> list[Candidate]:
    """The candidates by the half width of a mean at the end of the range if everybody holds records."""
    return best_first([replace(one, error=slack_at(pair, one.mechanism, max(pair.reaches))) for one in found])


@lru_cache(maxsize=256)
def _one(distribution: NoiseDistribution) -> float:
    """What one output at scale 1 exceeds with probability 5 %."""
    return float(distribution.quantile(0.05))


def slack_at(pair: Holders, noise: Any, ratio: float) -> float:
    """What |sum - t share| exceeds with probability at most 5 % at the true t, |t| = ``ratio``; grows with it."""
    lean = ratio / pair.weight
    rounding = (float_up(noise.grid) / 2.0 + pair.query.rounding_upper) * (1.0 + lean)
    if isinstance(noise, AdditiveNoise) and (noise.p is None or noise.p == "2"):
        reach = _one(noise.distribution) * math.hypot(1.0, lean)
    elif isinstance(noise, AdditiveNoise) and noise.p == "1":
        reach = laplace_pair_quantile(lean)
    else:
        return float(noise.simultaneous_half_width) * (1.0 + lean)
    return float(reach * float_up(noise.scale) * (1.0 + 1e-9) + rounding)


@dataclass(frozen=True, eq=False)
class HoldersPlan(LinearPlan):
    """What a mean over people with records would be like.

    Args:
        pair: The sums over them, their share, and what was subtracted.
    """

    pair: Holders

    def by_emd(self, terms: Terms) -> Sequence[Candidate]:
        """The candidates of EMD-DP that keep other terms."""
        return _of_means(self.pair, super().by_emd(terms))

    def by_user_level(self, epsilon: Fraction) -> Sequence[Candidate]:
        """Those of user-level DP at an epsilon."""
        return _of_means(self.pair, super().by_user_level(epsilon))

    @property
    def snapping(self) -> float:
        """How far snapping records to the grid may move a value: as far as one of theirs."""
        return self.pair.inner.snapping_upper

    @property
    def snapping_included(self) -> bool:
        """As of the query about records."""
        return self.pair.inner.snapping_counted

    @property
    def half_width_all(self) -> float:
        """The same for all values at once: intervals from half widths that hold together."""
        ratio = 1.0 + max(self.pair.reaches) / self.pair.weight
        return float(self.noise.simultaneous_half_width) * ratio + self._moved

    @cached_property
    def share_half_width(self) -> float:
        """The released share of people with records is off by more with probability at most 5 %."""
        return float(self.noise.half_width) / self.pair.weight

    def interval(self, total: float, share: float, reach: float) -> tuple[float, float] | None:
        """Fieller's interval of t = sum/share within [-reach, reach]; None where the share may be 0.

        Whatever t is true, |total - t share| <= slack(|t|) with probability 95 %. The slack grows with |t|, so with
        |t| <= reach the true one is between (total -+ slack(reach))/share; and so on with what is known by then.
        """
        if share <= self.share_half_width:
            return None
        low, high = -reach, reach
        for _ in range(_TURNS):
            slack = slack_at(self.pair, self.noise, max(abs(low), abs(high)))
            found = max(low, (total - slack) / share), min(high, (total + slack) / share)
            if found[0] > found[1]:  # all of the range is ruled out, which happens in less than 5 % of cases
                edge = min(max(total / share, -reach), reach)
                return edge, edge
            if found == (low, high):
                break
            low, high = found
        return low, high

    def tables(self, drawn: Any) -> dict[str, Rows]:
        """A row for each value with its interval, and the share of people with records with its own."""
        values = np.asarray(drawn, dtype=np.float64)
        share, width = float(values[-1]) / self.pair.weight, self.share_half_width
        rows = []
        columns = zip(self.pair.inner.outputs, self.pair.middles, self.pair.reaches, strict=True)
        # The mean over snapped records lies within the items' range; over records as they are it may lie beyond.
        least, most = (np.broadcast_to(end, (self.pair.inner.dimension,)) for end in self.pair.inner.between)
        for i, (name, middle, reach) in enumerate(columns):
            reach += self.query.rounding_upper
            found = self.interval(float(values[i]), share, reach)
            low, high = (-reach, reach) if found is None else found
            at = None if found is None else middle + min(max(float(values[i]) / share, low), high)
            rows.append(
                {
                    "output": name,
                    **placed(self.space.records_space, self.pair.inner.places, i),
                    "value": at,
                    "low_95": max(middle + low - self._moved, float(least[i])),
                    "high_95": min(middle + high + self._moved, float(most[i])),
                    "unit": self.query.unit,
                    "determined": found is not None,
                }
            )
        theirs = {
            "output": "share of people with records",
            "value": min(max(share, 0.0), 1.0),
            "low_95": min(max(share - width, 0.0), 1.0),
            "high_95": min(max(share + width, 0.0), 1.0),
        }
        return {"values": rows, "people": [theirs]}

    def summary(self, drawn: Any) -> list[str]:
        """The values with their intervals."""
        unit, tables = f" {self.query.unit}".rstrip(), self.tables(drawn)
        lines = []
        for row in tables["values"][:12]:
            span = f"from {row['low_95']:.6g} to {row['high_95']:.6g} (95 %)"
            value = "not determined" if row["value"] is None else f"{row['value']:.6g}{unit}"
            lines.append(f"{row['output']}: {value}, {span}")
        (share,) = tables["people"]
        lines.append(
            f"people with records: {100 * share['value']:.3g} %, from {100 * share['low_95']:.3g} % to "
            f"{100 * share['high_95']:.3g} % (95 %)"
        )
        return lines

    def fields(self) -> AnswerFacts:
        """What the statement says about the values."""
        return structs.replace(super().fields(), share_half_width_95=self.share_half_width)

    def answer_lines(self) -> list[str]:
        """The noise, and how wide intervals would be."""
        unit = f" {self.query.unit}".rstrip()
        return [
            f"Noise     {self.noise.name}, scale {near(float_up(self.noise.scale))}{unit} on the sum over people with "
            "records and on their share",
            f"Error     each value ± {at_most(self.half_width)}{unit} (95 %) if everybody holds records, twice that if "
            "half of them do",
            f"          the share of people with records ± {at_most(self.share_half_width)} (95 %); not determined "
            "where that reaches 0",
        ]

    @property
    def warnings(self) -> list[str]:
        """A warning where the half width is not below half of what a guess in the middle errs by at most."""
        whole = 2.0 * max(self.pair.reaches)
        if self.half_width < whole / 4.0:
            return []
        unit = f" {self.query.unit}".rstrip()
        return [
            f"The answer will be nearly useless: ± {self.half_width:.3g}{unit} is to be expected, and all possible "
            f"answers lie within {whole:.3g}{unit} of each other. {self._help(whole)}"
        ]


def laplace_pair_quantile(lean: float) -> float:
    """What |L1 + lean L2| exceeds with probability 5 %, for independent standard Laplace variables.

    P(|L1 + s L2| > t) = (e^(-t) - s^2 e^(-t/s))/(1 - s^2), and (1 + t/2) e^(-t) at s = 1.
    """
    from scipy.optimize import brentq

    s = abs(lean)
    if s > 1.0:
        return s * laplace_pair_quantile(1.0 / s)

    def excess(t: float) -> float:
        if s < 1e-9:
            return math.exp(-t) - 0.05
        if s > 1.0 - 1e-6:  # from above: the tail grows with s
            return (1.0 + t / 2.0) * math.exp(-t) - 0.05
        return (math.exp(-t) - s * s * math.exp(-t / s)) / (1.0 - s * s) - 0.05

    return float(brentq(excess, 0.0, 60.0, xtol=1e-12)) * (1.0 + 1e-9)
