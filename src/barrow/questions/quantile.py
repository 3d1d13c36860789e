"""Quantiles on a line, with intervals: from the noisy share of people's items below each point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, exact_text, whole
from barrow.numerics.exact import near
from barrow.planning.terms import Terms
from barrow.queries import Query, tree_edges
from barrow.queries.edges import run_starts
from barrow.queries.holders import Holders
from barrow.questions.linear import LinearPlan
from barrow.questions.plan import Rows
from barrow.questions.read_off import ReadOff, ReadOffPlan, share_row
from barrow.spaces import Line, Space, edge_tree
from barrow.spaces.base import Floats, Ids

AUTO = "auto"
_EVERY = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096)


@dataclass(frozen=True, kw_only=True, repr=False)
class Quantile(ReadOff):
    """The values below which given shares of people's items lie; the median by default.

    Args:
        of: One share in (0, 1), or several.
        every: How many neighbouring points share one noisy value: more of them mean less noise and wider steps.
            ``"auto"``: what gives the narrowest intervals if people's items were spread uniformly.

    >>> Quantile(of=["0.25", "0.5"]).shares
    (Fraction(1, 4), Fraction(1, 2))
    """

    kind: ClassVar[str] = "quantile"
    plural: ClassVar[str] = "Quantiles"
    intervals: ClassVar[str] = (
        "Each comes with an interval that holds the true one with probability 95 %, all of them at once, snapping "
        "included."
    )
    decoding: ClassVar[str] = (
        "The noisy shares below each point were decoded to one histogram, from which the quantiles were read off; "
        "the intervals hold every point whose share may be the one asked for."
    )
    formerly: ClassVar[Mapping[str, Any]] = {"median": lambda old: {"name": "median", **old, "of": "1/2"}}
    of: Exact | Sequence[Exact] = "0.5"
    every: int | str = AUTO

    def __post_init__(self) -> None:
        super().__post_init__()
        wrong = next((share for share in self.shares if not 0 < share < 1), None)
        if wrong is not None or not self.shares:
            raise ParameterError(
                f"of is {self.of!r}.", allowed="shares strictly between 0 and 1", fix='of = "0.5", the median'
            )
        if self.every != AUTO:
            object.__setattr__(self, "every", whole(self.every, "every", fix="every='auto'"))

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The shares, exact."""
        several: Any = self.of if isinstance(self.of, list | tuple) else [self.of]
        return tuple(exact(share, "of") for share in several)

    def query(self, space: Space) -> Query:
        """The share below each point, times the way to the next one."""
        if not space.on_line:
            raise ParameterError(
                f"Quantiles are asked of a line, and the space is a {space.kind}.",
                allowed="a line with a grid",
                fix="a histogram, or a line for this column",
            )
        return tree_edges(space, every=1 if self.every == AUTO else int(self.every))

    def _alone(self, terms: Terms) -> ReadOffPlan:
        """With as many values as give the narrowest intervals."""
        line = terms.space.held
        if self.every != AUTO or not line.on_line:
            return super()._alone(terms)
        ranged = self.definition == "user_level"
        made = [replace(self, every=every)._alone(terms) for every in _worth_trying(line, terms, ranged=ranged)]
        return min(made, key=lambda plan: float(plan.error))

    def freed(self) -> ReadOff:
        """With as many values as are best."""
        return replace(self, every=AUTO)

    def _read_off(self, made: LinearPlan, pair: Holders | None) -> ReadOffPlan:
        return QuantilePlan(self, made.terms, made.query, made.chosen, made.others, pair)


def _worth_trying(line: Space, terms: Terms, *, ranged: bool = False) -> list[int]:
    """A few numbers of points around the best by a formula: noise of the share below, and the width of a step.

    User-level DP pays by the range, which is as large as the constant, with its epsilon; other norms than the first
    are often its best, with more values than the formula says.
    """
    gaps = line.items - 1
    if gaps < 2:
        return [1]
    tried = [every for every in _EVERY if every <= max(1, gaps // 3)]
    rate = min(terms.epsilons) if ranged and terms.promises else terms.alpha
    scale = gaps / float(rate * terms.users)
    wide = [scale * math.log(gaps / every / 0.05) / every + every / gaps for every in tried]
    best = int(np.argmin(wide))
    return tried[max(0, best - (4 if ranged else 1)) : best + 2]


@dataclass(frozen=True, eq=False)
class QuantilePlan(ReadOffPlan):
    """What quantiles would be like.

    Args:
        pair: Where some people hold no records: the sums over those who do, and their share s. A point is at least the
            q-quantile of their items if the share of all people below it is at least q s, which is linear in both.
    """

    question: Quantile

    @property
    def what(self) -> str:
        """What is read off."""
        shares = self.question.shares
        return "the median" if shares == (Fraction(1, 2),) else f"the quantiles {', '.join(map(exact_text, shares))}"

    @property
    def _line(self) -> Space:
        """The line itself."""
        return self.space.held

    @property
    def error(self) -> float:
        """Half the width of the widest interval if people's items were spread uniformly."""
        k = self._line.items
        rows = self._rows_of(self._averaged((np.arange(k - 1) + 1.0) / k))
        return float(max((row["high_95"] - row["low_95"]) / 2.0 for row in rows))

    def tables(self, drawn: Any) -> dict[str, Rows]:
        """One row for each quantile with its interval, and the noisy shares below each point."""
        below, share = self._below(drawn)
        width = self.noise.simultaneous_half_width / self._lengths + 0.5 * self._share_half_width
        points = np.asarray(self._line.places)
        firsts, lasts = points[self._starts].tolist(), points[self._ends - 1].tolist()
        rows = [
            {"from": a, "up_to": b, "share": s, "low_95": max(s - w, 0.0), "high_95": min(s + w, 1.0)}
            for a, b, s, w in zip(firsts, lasts, below.tolist(), width.tolist(), strict=True)
        ]
        tables = {"values": self._rows_of(self._decoded(below, share), below, share), "below": rows}
        return tables if self.pair is None else {**tables, "people": [share_row(share, self._share_half_width)]}

    @cached_property
    def _starts(self) -> Ids:
        """The first point of each run whose shares below are one value."""
        return run_starts(self._line.items - 1, int(self.question.every))

    @property
    def _ends(self) -> Ids:
        """One more than the last point of each run."""
        return np.append(self._starts[1:], self._line.items - 1)

    @cached_property
    def _lengths(self) -> Floats:
        return np.add.reduceat(edge_tree(self._line).lengths, self._starts)

    def _averaged(self, below: Floats) -> Floats:
        """The mean over each run of the shares below its points, by the ways between them."""
        return np.add.reduceat(below * edge_tree(self._line).lengths, self._starts) / self._lengths

    def _below(self, drawn: Floats) -> tuple[Floats, float]:
        """The unbiased share of all people below each edge, and the share of those with records."""
        values = np.asarray(drawn, dtype=np.float64)
        if self.pair is None:
            return values / self._lengths, 1.0
        share = float(values[-1]) / self.pair.weight
        return (values[:-1] + np.asarray(self.pair.middles) * share) / self._lengths, share

    def _decoded(self, below: Floats, share: float) -> Floats:
        """A cumulative histogram of people with records, for the values between the ends of intervals."""
        from barrow.mechanisms.decoding import decode

        people = max(share, self._share_half_width, 1e-9)
        variance = (self.noise.deviation / people) ** 2
        line, points = self._line, np.asarray(self._line.places)
        runs = Line(line.low, line.high, points=[points[0], *points[self._ends]])  # type: ignore[attr-defined]
        return np.cumsum(decode(edge_tree(runs), below * self._lengths / people, variances=variance))[:-1]

    def _nearest(self, decoded: Floats, q: float) -> int:
        """The point where the decoded share reaches q: between the middles of runs, along a straight line."""
        points = np.asarray(self._line.places, dtype=np.float64)
        if self.question.every == 1:
            return int(np.searchsorted(decoded, q, side="left"))
        middles = (points[self._starts] + points[self._ends - 1]) / 2.0
        known = np.concatenate([[0.0], np.clip(decoded, 0.0, 1.0), [1.0]])
        at = np.interp(q, known, np.concatenate([points[:1], middles, points[-1:]]))
        return int(np.abs(points - at).argmin())

    def _rows_of(self, decoded: Floats, unbiased: Floats | None = None, people: float = 1.0) -> Rows:
        points = np.asarray(self._line.places, dtype=np.float64)
        centre = decoded if unbiased is None else unbiased
        moved = self.space.snapping_upper * self.space.diameter
        determined = people > self._share_half_width
        rows = []
        for asked in self.question.shares:
            q = float(asked)
            at = self._nearest(decoded, q)
            # The quantile is x_i if F(x_(i-1)) < q <= F(x_i), and the mean over a run is between F of its first and of
            # its last point: points that the band rules out are left out (docs/proofs/quantiles.md). What is subtracted
            # of a sum is half the length, so that below - q s holds the noise of s (1/2 - q) times.
            width = self.noise.simultaneous_half_width / self._lengths + abs(0.5 - q) * self._share_half_width
            surely_below = np.flatnonzero(centre + width < q * people)
            surely_reached = np.flatnonzero(centre - width >= q * people)
            low = int(self._starts[surely_below.max()]) + 1 if surely_below.size else 0
            high = int(self._ends[surely_reached.min()]) - 1 if surely_reached.size else len(points) - 1
            first, last = min(low, high), max(low, high)
            row = {
                "quantile": exact_text(asked),
                "value": float(points[min(max(at, first), last)]) if determined else None,
                "low_95": float(points[first if determined else 0]) - moved,
                "high_95": float(points[last if determined else -1]) + moved,
                "unit": self.space.unit,
            }
            rows.append(row if self.pair is None else {**row, "determined": determined})
        return rows

    def summary(self, drawn: Any) -> list[str]:
        """The quantiles with their intervals."""
        unit = f" {self.space.unit}".rstrip()
        lines = []
        for row in self.tables(drawn)["values"]:
            value = "not determined" if row["value"] is None else f"{row['value']:.6g}{unit}"
            lines.append(f"{row['quantile']}: {value}, from {row['low_95']:.6g} to {row['high_95']:.6g} (95 %)")
        return lines

    def fields(self) -> dict[str, Any]:
        """What the statement says about the values."""
        more: dict[str, Any] = {} if self.pair is None else {"holders": True}
        more |= {} if self.question.every == 1 else {"every": self.question.every}
        return {**super().fields(), "quantiles": [exact_text(share) for share in self.question.shares], **more}

    def answer_lines(self) -> list[str]:
        """The noise, and how wide intervals would be."""
        return [
            f"Noise     {self.noise.name}, standard deviation {self._deviation:.2g} on the share below each of "
            f"{len(self._starts):,} points",
            f"Error     ± {self.sized(self.error)} (95 %, all at once) if people's items were spread uniformly"
            + ("; less where many are alike" if self.error else ""),
        ]

    @property
    def _deviation(self) -> float:
        """The largest standard deviation of a share below."""
        return float(self.noise.deviation / self._lengths.min())

    @property
    def warnings(self) -> list[str]:
        """A warning where an interval would cover most of the line."""
        if self.error < self.space.diameter / 4.0:
            return []
        # The band of shares must be an eighth wide on either side.
        times = 8.0 * float(np.max(self.noise.simultaneous_half_width / self._lengths))
        return [
            f"The answer will be nearly useless: ± {self.sized(self.error)} on a line of "
            f"{self.sized(self.space.diameter)}. About {math.ceil(self.terms.users * times):,} people, or promises "
            f"{near(times, digits=2)} times looser, would make it ± {self.sized(self.space.diameter / 8.0)}."
        ]
