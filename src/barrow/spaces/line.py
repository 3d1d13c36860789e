"""Points on an interval: ages, prices, times of a day that does not wrap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.spaces.base import (
    DISTANCE_ERROR,
    Floats,
    Ids,
    Space,
    Unknown,
    finite_array,
    positive_number,
    private_numbers,
)
from barrow.spaces.lattices import bits_for, checked_spacing, grid_graph, line_axis
from barrow.spaces.neighbours import NeighbourGraph


@dataclass(frozen=True, eq=False)
class Line(Space):
    """The interval from ``low`` to ``high`` with the usual distance.

    Args:
        low: The public lower end.
        high: The public upper end.
        unit: What distances are measured in.
        step: The width of the cells of a public grid; records are snapped to the middle of their cell.
        points: Instead of ``step``: public points; records are snapped to the nearest one.
        default: The value that stands in for missing data; the first item by default.

    >>> space = Line(0, 100, unit="years", step=1)
    >>> space.size, space.encode([0, 17.9, 100]).tolist(), space.snapping_upper < 0.00501
    (100, [0, 17, 99], True)
    """

    kind: ClassVar[str] = "line"
    has_tree: ClassVar[bool] = True
    low: float
    high: float
    step: float | None
    points: Floats = field(repr=False)
    exact_points: bool = field(repr=False)
    default: float | None
    _unit: str

    def __init__(
        self,
        low: float,
        high: float,
        *,
        unit: str = "",
        step: float | None = None,
        points: ArrayLike | None = None,
        default: float | None = None,
    ) -> None:
        ends = finite_array([low, high], "low and high", ndim=1)
        if not ends[0] < ends[1]:
            raise ParameterError(
                f"low is {low} and high is {high}.", allowed="low below high", fix=f"low={high}, high={low}"
            )
        if step is not None and points is not None:
            raise ParameterError("Both step and points are given.", allowed="one of them", fix="drop points")
        object.__setattr__(self, "low", float(ends[0]))
        object.__setattr__(self, "high", float(ends[1]))
        object.__setattr__(self, "step", None if step is None else positive_number(step, "step"))
        object.__setattr__(self, "exact_points", points is not None)
        object.__setattr__(self, "_unit", unit)
        object.__setattr__(self, "default", default)
        object.__setattr__(self, "points", self._make_points(points))
        if default is not None and not (self.low <= default <= self.high):
            raise ParameterError(
                f"default is {default}.",
                allowed=f"a number from {self.low} to {self.high}",
                fix="choose one inside",
            )

    def _make_points(self, points: ArrayLike | None) -> Floats:
        if points is None and self.step is None:
            return np.zeros(0)
        if points is None:
            cells = self._cells
            array = self.low + (self.high - self.low) * (np.arange(cells) + 0.5) / cells
        else:
            array = finite_array(points, "points", ndim=1)
            if (np.diff(array) <= 0).any():
                raise ParameterError("points are not strictly increasing.", allowed="sorted points", fix="sort them")
            if array[0] < self.low or array[-1] > self.high:
                raise ParameterError(
                    f"points go from {array[0]} to {array[-1]}.",
                    allowed=f"points from {self.low} to {self.high}",
                    fix="widen low and high",
                )
        array.setflags(write=False)
        return array

    @property
    def _cells(self) -> int:
        cells = max(1, int(np.ceil((self.high - self.low) / float(self.step or 1.0) - 1e-9)))
        if cells > 10**8:
            raise ParameterError(
                f"step is {self.step}, which makes {cells} cells.",
                allowed="at most 100,000,000 cells",
                fix="step larger",
            )
        return cells

    @property
    def unit(self) -> str:
        """The unit of distance."""
        return self._unit

    @property
    def diameter(self) -> float:
        """The length of the interval, rounded up."""
        return float(np.nextafter(self.high - self.low, np.inf)) if self._inexact_length else self.high - self.low

    @property
    def _inexact_length(self) -> bool:
        length = self.high - self.low
        return self.low + length != self.high or self.high - length != self.low

    @property
    def size(self) -> int | None:
        """The number of points; None without a grid."""
        return len(self.points) or None

    def _grid_fix(self) -> str:
        return f"Line({self.low:g}, {self.high:g}, step={(self.high - self.low) / 100:g})"

    def label(self, item: int) -> str:
        """The coordinate of item number ``item``."""
        return f"{self.points[item]:.12g}"

    @property
    def default_item(self) -> int:
        """The item of the default value."""
        return 0 if self.default is None else int(self._encode([self.default], "error")[0])

    def _distance(self, a: Ids, b: Ids) -> Floats:
        return np.minimum(np.abs(self.points[a] - self.points[b]) / self.diameter, 1.0)

    def distances_from(self, record: float) -> Floats:
        """Normalised distances of all items from the public point ``record``.

        >>> Line(0, 10, step=5).distances_from(0).tolist()
        [0.25, 0.75]
        """
        if not self.low <= float(record) <= self.high:
            raise ParameterError(
                f"The point {record} is outside the line.",
                allowed=f"a number from {self.low} to {self.high}",
                fix="choose one inside",
            )
        _ = self.items
        return np.minimum(np.abs(self.points - float(record)) / self.diameter, 1.0)

    def _encode(self, records: Any, unknown: Unknown) -> Ids:
        x = private_numbers(records)
        if unknown == "nearest":
            x = np.clip(x, self.low, self.high)  # NaN stays NaN and is refused
        inside = (x >= self.low) & (x <= self.high)
        safe = np.where(inside, x, self.low)
        if self.exact_points:
            ids = np.searchsorted(self.thresholds, safe, side="right")
        else:
            ids = np.floor((safe - self.low) * self.scale).astype(np.int64)
            ids = np.minimum(ids, self.items - 1)
        return np.where(inside, ids, -1).astype(np.int64)

    @cached_property
    def thresholds(self) -> Floats:
        """Public table: midpoints between neighbouring points; a record's item is how many of them it reaches.

        >>> Line(0, 4, points=[0, 1, 4]).thresholds.tolist()
        [0.5, 2.5]
        """
        return (self.points[1:] + self.points[:-1]) / 2.0

    @cached_property
    def gaps(self) -> Floats:
        """The normalised gaps between neighbouring points.

        >>> Line(0, 4, points=[0, 1, 4]).gaps.tolist()
        [0.25, 0.75]
        """
        return np.diff(self.points) / self.diameter

    @property
    def scale(self) -> float:
        """Public factor: a record's cell is floor((x - low) * scale).

        >>> Line(0, 10, step=2.5).scale
        0.4
        """
        return self.items / (self.high - self.low)

    @property
    def metric_name(self) -> str:
        """The difference of numbers, in the unit; without one distances are shares of this line."""
        return f"line {self.unit}" if self.unit else super().metric_name

    @cached_property
    def snapping_upper(self) -> float:
        """Half the widest gap, plus what rounding can add, as a share of the diameter."""
        if self.size is None:
            return 0.0
        if self.exact_points:
            ends = max(self.points[0] - self.low, self.high - self.points[-1])
            widest = max(float(ends), float(np.diff(self.points).max(initial=0.0)) / 2.0)
        else:
            widest = (self.high - self.low) / self.items / 2.0
        magnitude = max(abs(self.low), abs(self.high))
        return float((widest + 8.0 * magnitude * 2.0**-52) / self.diameter * (1.0 + 2.0**-40))

    @cached_property
    def least_distance_lower(self) -> float:
        """The narrowest gap, rounded down."""
        if self.items == 1:
            return 1.0
        return float(np.diff(self.points).min() / self.diameter) * (1.0 - DISTANCE_ERROR)

    def _graph(self, spacing: Any) -> NeighbourGraph:
        """The path of the points, or of nodes at equal gaps; its distances are the line's."""
        axis = line_axis(self.points, checked_spacing(spacing, self.unit), bits_for(1))
        return grid_graph([axis], [1.0 / self.diameter], [np.arange(self.items)])

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        spec: dict[str, Any] = {"kind": self.kind, "low": self.low, "high": self.high, "unit": self._unit}
        if self.step is not None:
            spec["step"] = self.step
        if self.exact_points:
            spec["points"] = self.points.tolist()
        if self.default is not None:
            spec["default"] = float(self.default)
        return spec

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Line:
        """The space that ``spec`` describes."""
        return cls(**spec)
