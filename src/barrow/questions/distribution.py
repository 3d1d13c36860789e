"""Quantiles and the distribution function of a line, read off the noisy values of a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms import HistogramNoise
from barrow.mechanisms.cumulative import Cumulative, cumulative_of
from barrow.numerics import Exact, exact, exact_text
from barrow.questions.answer import Rows, TableRow, share_row
from barrow.spaces import Space
from barrow.spaces.space import Floats

_LEVEL = 0.05


def quantile_shares(of: Exact | Sequence[Exact], name: str = "of") -> tuple[Fraction, ...]:
    """Shares strictly between 0 and 1, exact, from one or several.

    >>> quantile_shares(["0.25", "1/2"])
    (Fraction(1, 4), Fraction(1, 2))
    """
    several: Sequence[Exact] = of if isinstance(of, list | tuple) else [cast("Exact", of)]
    results = tuple(exact(share, name) for share in several)
    if not results or not all(0 < share < 1 for share in results):
        raise ParameterError(
            f"{name} is {of!r}.", allowed="shares strictly between 0 and 1", fix=f'{name} = "0.5", the median'
        )
    return results


def quantile_names(shares: tuple[Fraction, ...]) -> str:
    """Which quantiles, in words.

    >>> quantile_names((Fraction(1, 2),)), quantile_names((Fraction(1, 4), Fraction(3, 4)))
    ('the median', 'the quantiles 0.25, 0.75')
    """
    return "the median" if shares == (Fraction(1, 2),) else f"the quantiles {', '.join(map(exact_text, shares))}"


def check_line(space: Space) -> None:
    """Refuse a space whose items have no order."""
    if not space.records_space.geometry.on_line:
        raise ParameterError(
            f"Quantiles need a line, but the space is a {space.records_space.kind}.",
            allowed="a line with a grid",
            fix="a histogram, or a line for this column",
        )


def uniform(space: Space, part: float = 1.0) -> Floats:
    """Everybody's items spread uniformly over the line, or over a part of it from a third on."""
    items = space.records_space.items
    count = max(1, round(part * items))
    start = min(items // 3, items - count)
    result = np.zeros(space.items)
    result[start : start + count] = 1.0 / count
    return result


@dataclass(frozen=True, eq=False)
class QuantileReader:
    """Quantiles and the distribution function of released values.

    Attributes:
        cumulative: The shares up to each point, and their noise.
        shares: Which quantiles.
    """

    cumulative: Cumulative
    shares: tuple[Fraction, ...]

    @property
    def _space(self) -> Space:
        return self.cumulative.space

    @property
    def names(self) -> list[str]:
        """The shares, as statements write them."""
        return [exact_text(share) for share in self.shares]

    def tables(self, raw: Floats, shares: Floats) -> dict[str, Rows]:
        """The quantiles, and the distribution function in its band."""
        return {"quantiles": self.quantiles(raw, shares), "below": self.below(raw)}

    @property
    def what(self) -> str:
        """What is read off, in words."""
        return quantile_names(self.shares)

    def half_width(self, built: HistogramNoise, part: float = 1.0) -> float:
        """Half the width of the widest interval if everybody's items were spread uniformly over a part of the line."""
        spans = self.spans(np.asarray(built.matrix @ uniform(self._space, part)))
        wide = max(float(self._points[last] - self._points[first]) for first, last in spans)
        return wide / 2.0 + self._space.snapping_upper * self._space.diameter

    @cached_property
    def _points(self) -> Floats:
        return np.asarray(self._space.records_space.geometry.places, dtype=np.float64).ravel()

    def spans(self, raw: Floats) -> list[tuple[int, int]]:
        """The first and the last point that each quantile may be, all at once with 95 %."""
        level = _LEVEL / len(self.shares)
        return [self.cumulative.interval(raw, float(share), level) for share in self.shares]

    def quantiles(self, raw: Floats, shares: Floats) -> Rows:
        """A row for each quantile, with its interval on the line; not determined where nobody may hold records.

        Args:
            raw: The noisy values.
            shares: The histogram decoded from them.
        """
        people, off = self.cumulative.holders(raw, _LEVEL)
        determined, points = people > off, self._points
        moved = self._space.snapping_upper * self._space.diameter
        line = self._space.records_space.geometry.lattice
        low, high = (-np.inf, np.inf) if line is None else (float(line.low[0]), float(line.high[0]))
        below = np.cumsum(shares[: len(points)])
        rows: Rows = []
        for share, (first, last) in zip(self.shares, self.spans(raw), strict=True):
            at = int(np.searchsorted(below, float(share) * below[-1] * (1.0 - 1e-12)))
            row: TableRow = {
                "quantile": exact_text(share),
                "value": float(points[min(max(at, first), last)]) if determined else None,
                "low_95": max(float(points[first if determined else 0]) - moved, low),
                "high_95": min(float(points[last if determined else -1]) + moved, high),
                "unit": self._space.unit,
            }
            rows.append({**row, "determined": determined} if self.cumulative.apart else row)
        return rows

    def below(self, raw: Floats) -> Rows:
        """The share of items up to each point among people with records, in a band that holds all at once."""
        values, low, high = self.cumulative.band(raw)
        columns = (self._points[self.cumulative.first], self._points[self.cumulative.last], values, low, high)
        names = ("from", "up_to", "share", "low_95", "high_95")
        return [dict(zip(names, row, strict=True)) for row in zip(*(each.tolist() for each in columns), strict=True)]

    def people(self, raw: Floats) -> Rows:
        """The share of people with records, where the others have an item of their own."""
        return [share_row(*self.cumulative.holders(raw, _LEVEL))]


def quantile_reader(space: Space, built: object, shares: tuple[Fraction, ...]) -> QuantileReader | None:
    """What reads quantiles off a mechanism's values; None where nothing is known about sums of them."""
    result = cumulative_of(space, built) if isinstance(built, HistogramNoise) else None
    return None if result is None else QuantileReader(result, shares)
