"""Quantiles within hidden groups of records: from how far items are beyond public points, in each group.

Each group's ramps and its share are released together; whether a quantile may lie before a point is a question about
one ramp and the share, and points are asked in order from either end (docs/proofs/private-groups.md, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from msgspec import structs

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics import exact_text
from barrow.planning.candidates import Candidate, best_first
from barrow.planning.linear import errors_within
from barrow.planning.terms import Terms
from barrow.queries.private_groups import GroupMeans, group_means
from barrow.queries.ramps import MOST, line_ramps, ramp_ends
from barrow.questions.answer import Rows, Sample, Tables
from barrow.questions.distribution import check_line, quantile_names
from barrow.questions.fieller import LEVEL, Ratio
from barrow.questions.grouped import GROUP, HiddenGroupsAnswer, check_hidden_terms, within_groups
from barrow.questions.question import Question
from barrow.questions.statement import AnswerFacts
from barrow.spaces import Space
from barrow.spaces.space import Floats

_FEW = 4
"""The fewest ramps that are tried; then twice as many, and so on."""


@dataclass(frozen=True, eq=False)
class RampReader:
    """Reads quantiles off the released ramps and shares of groups; everything in it is public.

    Attributes:
        pair: The ramps.
        ratio: The noise of a ramp beside a share; its level is that of one group.
        shares: Which quantiles.
    """

    pair: GroupMeans
    ratio: Ratio
    shares: tuple[Fraction, ...]

    @cached_property
    def ends(self) -> Floats:
        """The points between which ramps rise."""
        return np.asarray(ramp_ends(self.pair.inner))

    @cached_property
    def lengths(self) -> Floats:
        """How far each ramp rises, in the query's whole steps."""
        table = self.pair.inner.table
        most = np.asarray(table.integers, dtype=np.int64).max(axis=0)
        return np.asarray(most * float(table.step), dtype=np.float64)

    def excess(self, sums: Sequence[float], share: float, q: float) -> Floats:
        """The share of the group's records up to each ramp less q times the group's share, each times its length."""
        middle = np.asarray(self.pair.middles)
        return np.asarray(share * ((1.0 - q) * self.lengths - middle) - np.asarray(sums))

    def widths(self, q: float) -> Floats:
        """What each of :meth:`excess` is off by, with probability at most the level, all quantiles at once."""
        one = replace(self.ratio, level=self.ratio.level / len(self.shares))
        leans = np.abs((1.0 - q) * self.lengths - np.asarray(self.pair.middles))
        known = {lean: one.slack(lean) for lean in dict.fromkeys(leans.tolist())}
        return np.array([known[lean] for lean in leans.tolist()])

    def interval(self, sums: Sequence[float], share: float, q: float) -> tuple[float, float]:
        """From where to where the quantile of a group lies; it lies outside with at most the level.

        From the left, every ramp is asked whether the quantile may lie at its beginning or before; the first that is
        not ruled out ends the search, and only the answer about the quantile itself can be wrong first.
        """
        values, wide = self.excess(sums, share, q), self.widths(q)
        below, above = values + wide < 0.0, values - wide >= 0.0
        first = int(np.argmin(below)) if not below.all() else len(below)
        last = len(above) - 1 - int(np.argmin(above[::-1])) if not above.all() else -1
        low = self.ends[0] if first == 0 else self.ends[first - 1]
        high = self.ends[-1] if last == len(above) - 1 else self.ends[last + 2]
        return float(min(low, high)), float(max(low, high))

    def value(self, sums: Sequence[float], share: float, q: float) -> float:
        """Where the shares up to the ramps, made to rise, reach q."""
        up_to = self.excess(sums, share, q) / self.lengths / share + q
        rising = np.asarray(heavy.optimize.isotonic_regression(up_to, weights=self.lengths).x)
        middle = (self.ends[:-1] + self.ends[1:]) / 2.0
        known = np.concatenate([[0.0], np.clip(rising, 0.0, 1.0), [1.0]])
        places = np.concatenate([self.ends[:1], middle, self.ends[-1:]])
        at = int(np.searchsorted(known, q))
        before, after = known[at - 1], known[at]
        part = 0.5 if after <= before else (q - before) / (after - before)
        return float(places[at - 1] + part * (places[at] - places[at - 1]))

    def half_width(self) -> float:
        """Half the width of the widest interval in a group with an equal share whose items are spread uniformly."""
        groups = len(self.pair.labels)
        points = self.pair.inner.table.floats() * float(self.pair.inner.step) - np.asarray(self.pair.middles)
        sums = points.mean(axis=0) / groups
        spans = [self.interval(sums.tolist(), 1.0 / groups, float(q)) for q in self.shares]
        return max(high - low for low, high in spans) / 2.0


@dataclass(frozen=True, eq=False)
class GroupedQuantilesAnswer(HiddenGroupsAnswer):
    """What quantiles within hidden groups would be like; errors are half widths of intervals.

    Args:
        quantiles: The shares whose quantiles are asked for.
    """

    quantiles: tuple[Fraction, ...] = field(default=(), kw_only=True)
    what: ClassVar[str] = "each quantile"
    smaller: ClassVar[str] = "more in smaller ones, if items are spread uniformly; less where many are alike"

    @property
    def _asked(self) -> str:
        return f"{quantile_names(self.quantiles)} of records of people"

    @property
    def whole_range(self) -> float:
        """The length of the line."""
        return float(self.reader.ends[-1] - self.reader.ends[0])

    @property
    def moved(self) -> float:
        """What snapping adds to a half width."""
        within = within_groups(self.terms.space)
        return within.snapping_upper * within.diameter

    @cached_property
    def reader(self) -> RampReader:
        """What reads them off."""
        return RampReader(self.pair, self.ratio, self.quantiles)

    def ranked(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """By the width of the widest interval, with the same ramps."""
        return _by_width(self.pair, candidates, self.quantiles)

    def tables(self, sample: Sample) -> Tables:
        """A row for each quantile in each group with its interval, and the shares of the groups."""
        rows: Rows = []
        ends, moved = self.reader.ends, self.moved
        line = within_groups(self.terms.space)
        least, most = (float(getattr(line, name, far)) for name, far in (("low", -math.inf), ("high", math.inf)))
        for label, sums, share in self.blocks(sample):
            determined = share > self.share_half_width
            for quantile in self.quantiles:
                q = float(quantile)
                low, high = self.reader.interval(sums, share, q) if determined else (float(ends[0]), float(ends[-1]))
                at = min(max(self.reader.value(sums, share, q), low), high) if determined else None
                rows.append(
                    {
                        GROUP: label,
                        "quantile": exact_text(quantile),
                        "value": at,
                        "low_95": max(low - moved, least),
                        "high_95": min(high + moved, most),
                        "unit": self.query.unit,
                        "determined": determined,
                    }
                )
        return {"values": rows, "groups": self.group_rows(sample)}

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        return structs.replace(super().facts(), quantiles=[exact_text(q) for q in self.quantiles])


def plan_group_quantiles(
    question: Question, terms: Terms, shares: tuple[Fraction, ...], noise: str
) -> GroupedQuantilesAnswer:
    """The plan of quantiles within each hidden group, with as many ramps as give the narrowest intervals."""
    check_hidden_terms(question, terms)
    line = within_groups(terms.space)
    check_line(line)
    tried = [
        (pair, one)
        for ramps in _numbers(line)
        for pair in [_ramps(terms.space, line, ramps)]
        for one in _by_width(pair, errors_within(pair.query, terms, noise), shares)
    ]
    if not tried:
        raise ParameterError(
            "No noise can answer this question here.", allowed="Laplace or Gaussian noise", fix="noise = 'auto'"
        )
    best = best_first([one for _, one in tried])[0]
    pair = next(pair for pair, one in tried if one is best)
    own = tuple(best_first([one for other, one in tried if other is pair]))
    return GroupedQuantilesAnswer(question, terms, best, pair.query, pair, own=own, quantiles=shares)


def _numbers(line: Space) -> list[int]:
    """How many ramps are tried: from few to one for each gap between points."""
    most = min(line.items - 1, MOST)
    results = [most]
    count = _FEW
    while count < most:
        results.append(count)
        count *= 2
    return sorted(set(results))


def _ramps(space: Space, line: Space, ramps: int) -> GroupMeans:
    inner = line_ramps(line, ramps)
    return group_means(space, inner, weight=2.0 * float(inner.table.integers.max()) * float(inner.step))


def _by_width(pair: GroupMeans, candidates: Sequence[Candidate], shares: tuple[Fraction, ...]) -> list[Candidate]:
    """The candidates by half the width of the widest interval at equal shares of items that are spread uniformly."""
    level = LEVEL / len(pair.labels)

    def error(one: Candidate) -> float:
        ratio = Ratio(one.mechanism, pair.weight, pair.query.rounding_upper, level)
        return RampReader(pair, ratio, shares).half_width()

    return best_first([replace(one, error=error(one)) for one in candidates])
