"""The numbers of a figure, converted and checked once: values, their intervals, the noise they must stand out of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from barrow.errors import ParameterError
from barrow.numerics.exact import PERCENT, at_most, between, near, rounded_to, within
from barrow.numerics.places import Numbers, finite
from barrow.render.figures.svg import Floats, isolated

if TYPE_CHECKING:
    from barrow.questions.value_tables import Regions


class Beside(TypedDict, total=False):
    """What goes with the values of a figure.

    Attributes:
        low: The lower ends of 95 % intervals.
        high: The upper ends.
        noise: What the noise alone reaches anywhere with 5 %.
        unit: "%" for shares, as by default, else the unit of the values.
    """

    low: Numbers | None
    high: Numbers | None
    noise: Numbers | None
    unit: str


@dataclass(frozen=True)
class Readings:
    """Values with 95 % intervals and the noise of all of them together.

    ``below`` is true where a value cannot be distinguished from 0: it is within the simultaneous noise, or, if that is
    not given, its interval reaches 0. Quantities such as a mean (not ``from_zero``) are where they are.
    """

    value: Floats
    low: Floats | None
    high: Floats | None
    noise: Floats | None
    unit: str
    from_zero: bool = True

    @classmethod
    def of(cls, values: Numbers, **beside: Unpack[Beside]) -> Readings:
        """Numbers checked: finite, of one length, intervals that begin before they end."""
        value = finite(values, "values").ravel()
        if not len(value):
            raise ParameterError("values is empty.", allowed="at least one value", fix="values=[0.1]")
        if (beside.get("low") is None) != (beside.get("high") is None):
            raise ParameterError("Only one of low and high is given.", allowed="both or none", fix="give both")
        given = (("low", beside.get("low")), ("high", beside.get("high")), ("noise", beside.get("noise")))
        low, high, noise = (_spread(numbers, name, len(value)) for name, numbers in given)
        if low is not None and high is not None and (low > high).any():
            raise ParameterError("An interval ends before it begins.", allowed="low <= high", fix="swap the two")
        if noise is not None and (noise < 0).any():
            raise ParameterError("noise is negative.", allowed="0 or more", fix="noise=0.01")
        return cls(value, low, high, noise, beside.get("unit", PERCENT))

    def __len__(self) -> int:
        """How many values there are."""
        return len(self.value)

    @cached_property
    def below(self) -> npt.NDArray[np.bool_]:
        """Which values cannot be distinguished from 0."""
        if not self.from_zero:
            return np.zeros(len(self), dtype=bool)
        if self.noise is not None:
            # A share below 0 is noise; what has a unit may be truly below 0.
            return (self.value if self.unit == PERCENT else np.abs(self.value)) <= self.noise
        if self.low is not None and self.high is not None:
            reaches = (self.low <= 0) & ((self.high >= 0) | (self.unit == PERCENT))
            # A share may be decoded to 0 below its own interval: it is drawn as one that may be 0, never as "0 %".
            return reaches | ((self.value <= 0) & (self.unit == PERCENT))
        return np.zeros(len(self), dtype=bool)

    @property
    def top(self) -> float:
        """Where an axis ends: the largest value, or end of an interval of what stands out; limits may go beyond it."""
        most = float(self.value.max())
        if self.high is None:
            return max(most, 0.0)
        sure = float(self.high[~self.below].max()) if (~self.below).any() else 0.0
        limit = float(self.high.max())
        return max(sure, limit if most <= 0 else min(limit, 1.5 * most), most)

    @property
    def bottom(self) -> float:
        """Where whiskers begin: a share is never below 0, so those of shares are cut there."""
        least = float(self.value.min() if self.low is None else self.low.min())
        return 0.0 if self.unit == PERCENT and float(self.value.min()) >= -_DECODED else least

    def pick(self, index: npt.NDArray[np.int64]) -> Readings:
        """Some of the readings."""
        ends = [None if x is None else x[index] for x in (self.low, self.high, self.noise)]
        return Readings(self.value[index], ends[0], ends[1], ends[2], self.unit, self.from_zero)

    @classmethod
    def together(cls, parts: Sequence[Readings]) -> Readings:
        """All readings of several pictures that share a scale."""

        def joined(ends: Sequence[Floats | None]) -> Floats | None:
            known = [end for end in ends if end is not None]
            return np.concatenate(known) if len(known) == len(parts) else None

        low, high, noise = (joined(ends) for ends in zip(*((p.low, p.high, p.noise) for p in parts), strict=True))
        value = np.concatenate([part.value for part in parts])
        return cls(value, low, high, noise, parts[0].unit, parts[0].from_zero)

    def largest(self, most: int) -> npt.NDArray[np.int64]:
        """The places of the largest values, largest first, ties in their order."""
        return np.argsort(-self.value, kind="stable")[:most]

    def ceiling(self, i: int) -> float:
        """What a value that cannot be distinguished from 0 is at most: the end of its interval, or value plus noise."""
        if self.high is not None:
            return float(max(self.high[i], 0.0))
        return float(max(self.value[i], 0.0) + (0.0 if self.noise is None else self.noise[i]))

    def describe(self, i: int, label: object) -> str:
        """One reading in words; intervals are rounded outwards."""
        name = isolated(label)
        if self.below[i]:
            return f"{name}: may be 0, at most {at_most(self.ceiling(i), self.unit, digits=2)}"
        if self.low is None or self.high is None:
            return f"{name}: {self.told(i)}"
        value, ends = self.told(i), self.span(i)
        return f"{name}: {value}, 95 % interval {ends}" if value else f"{name}: 95 % interval {ends}"

    def told(self, i: int) -> str:
        """A value in the digits that its interval justifies; nothing where it lies beside its interval.

        A histogram is decoded as a whole, and the interval is about one item alone: then the interval is what is known.
        """
        if self.low is None or self.high is None:
            return near(self.value[i], self.unit)
        if not self.low[i] <= self.value[i] <= self.high[i]:
            return ""
        return within(self.value[i], _shown(self.low[i], self.unit), self.high[i], self.unit)

    def span(self, i: int) -> str:
        """An interval, its ends rounded outwards; nothing where there is none."""
        if self.low is None or self.high is None:
            return ""
        return between(_shown(self.low[i], self.unit), self.high[i], self.unit)

    def beside(self, i: int) -> bool:
        """Whether a value lies outside its own interval."""
        if self.low is None or self.high is None:
            return False
        return not self.low[i] <= self.value[i] <= self.high[i]


_DECODED = 1e-9
"""What decoding leaves of a share that is 0."""


def _shown(low: float, unit: str) -> float:
    """A share is never below 0, whatever its interval says."""
    return max(0.0, float(low)) if unit == PERCENT else float(low)


def _spread(values: Numbers | None, name: str, count: int) -> Floats | None:
    if values is None:
        return None
    result = finite(values, name).ravel()
    if len(result) not in (1, count):
        raise ParameterError(
            f"{name} has {len(result)} numbers for {count} values.", allowed="one, or one for each", fix=f"{name}=0.01"
        )
    return np.broadcast_to(result, (count,)).astype(np.float64)


def checked_labels(labels: Sequence[object], count: int) -> list[str]:
    """Labels as texts, as many as there are values."""
    if len(labels) != count:
        raise ParameterError(
            f"There are {len(labels)} labels for {count} values.", allowed="one label a value", fix="add or drop labels"
        )
    return [str(label) for label in labels]


MOST_CLASSES = 5
_LITTLE = 1e-2
"""Classes of colour begin at 0 where a value that stands out is so much smaller than the largest."""
_FAINT = 1e-3
"""What is so much smaller than the largest is one class where single values are an estimate."""
_LADDER = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)


def class_edges(readings: Readings) -> list[float]:
    """Where the classes of colour begin: above the noise, and none narrower than a 95 % interval of its members.

    The edges are short decimals, so a legend says them exactly. What is below the first is class 0.
    """
    # Without noise that all stand out from, classes are those of what stands out by its own interval.
    edges, seen = [_first_edge(readings)], ~readings.below if readings.noise is None else slice(None)
    value, top = readings.value[seen], float(readings.value.max())
    if top <= edges[0] or not len(value):
        return edges
    wide = 0.0 * readings.value if readings.low is None or readings.high is None else readings.high - readings.low
    width = wide[seen]
    # The first class begins at the noise and has members: the ladder starts above the smallest value that stands out.
    start = max(float(value[value > edges[0]].min()), top * 1e-6)
    powers = range(int(np.floor(np.log10(start))), int(np.ceil(np.log10(top))) + 1)
    rungs = [float(f"{m}e{k}") for k in powers for m in _LADDER]
    for rung in rungs:
        if not start <= rung < top:
            continue
        members = width[(value > edges[-1]) & (value <= rung)]
        if rung >= 1.4 * edges[-1] and rung - edges[-1] >= (members.max() if len(members) else width.min()):
            edges.append(rung)
    # Some edges may go: joined classes are only wider. Those that stay are spread over the whole ladder.
    last, steps = len(edges) - 1, MOST_CLASSES - 1
    return [edges[k] for k in sorted({round(last * i / steps) for i in range(MOST_CLASSES)})]


def coarse_edges(readings: Readings) -> list[float]:
    """Classes of values that are known together and not one by one: from 0, each at least 3 times the one before.

    They are spread over most of the values that stand out, and are an estimate as these are.
    """
    seen = readings.value[~readings.below]
    if not len(seen) or float(seen.max()) <= 0.0:
        return [0.0]
    low, high = (max(float(np.quantile(seen, share)), float(seen.max()) * _FAINT) for share in (0.25, 0.995))
    step = max(3.0, (high / low) ** (1.0 / (MOST_CLASSES - 1)))
    wanted = [low * step**k for k in range(MOST_CLASSES - 1)]
    rungs = [float(f"{m}e{k}") for k in range(-12, 3) for m in (1, 2, 5)]
    results = [max((rung for rung in rungs if rung <= edge), default=rungs[0]) for edge in wanted]
    return [0.0, *sorted({edge for edge in results if edge < float(seen.max())})]


def _first_edge(readings: Readings) -> float:
    """The noise, rounded up, but past no value that stands out; without noise, what all of these are above."""
    if readings.noise is not None:
        noise = float(readings.noise.max())
        rounded = (float(rounded_to(Fraction(repr(noise)), digits, ROUND_CEILING)) for digits in range(2, 18))
        above = readings.value[readings.value > noise]
        return next(edge for edge in rounded if not (above <= edge).any()) if noise > 0 else 0.0
    seen = readings.value[~readings.below]
    least = float(seen.min()) if readings.below.any() and len(seen) else 0.0
    least = least if least > _LITTLE * float(readings.value.max()) else 0.0
    return float(rounded_to(Fraction(repr(least)) * Fraction(99, 100), 2, ROUND_FLOOR)) if least > 0 else 0.0


def classes_of(readings: Readings, edges: Sequence[float]) -> npt.NDArray[np.int64]:
    """The class of each value: 0 for what cannot be distinguished from 0, then 1 for the first class of colour."""
    result = np.searchsorted(np.asarray(edges), readings.value, side="left")
    return np.where(readings.below, 0, np.maximum(result, 1)).astype(np.int64)


def class_names(edges: Sequence[float], unit: str) -> list[str]:
    """What the legend says of each class; the edges are exact, so nothing is rounded."""
    lines = [near(edge, unit) for edge in edges]
    inner = [f"{a} to {b}" for a, b in pairwise(lines)]
    return ["cannot be distinguished from 0", *inner, f"above {lines[-1]}"]


def known_together(readings: Readings, regions: Regions) -> Readings:
    """Places of a region are as sure as the region is; those that stand out alone as sure as they are."""
    low, high = regions.ends(readings.value)
    alone = ~readings.below if readings.low is not None else np.zeros(len(readings), dtype=bool)
    if readings.low is not None and readings.high is not None:
        low, high = np.where(alone, readings.low, low), np.where(alone, readings.high, high)
    return Readings(readings.value, low, np.maximum(high, low), None, readings.unit)
