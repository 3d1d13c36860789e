"""Points on an interval: ages, prices, times of a day that does not wrap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.numerics import digest_of
from barrow.spaces.checks import checked_unit, finite_array, positive_number
from barrow.spaces.geometry import BoxCells, Geometry
from barrow.spaces.lattices import bits_for, checked_spacing, grid_graph, line_axis
from barrow.spaces.records import AxisCells, CellAxis, Formula, Moments, Reached, Reads
from barrow.spaces.space import DISTANCE_ERROR, Floats, Ids, Space

if TYPE_CHECKING:
    from barrow.spaces.neighbours import NeighbourGraph


@dataclass(frozen=True, eq=False, repr=False)
class Line(Space):
    """The interval from ``low`` to ``high`` with the usual distance.

    Args:
        low: The public lower end.
        high: The public upper end.
        unit: What distances are measured in.
        step: How far apart the items of a public grid are. Where low, high and step are whole numbers and steps lead
            from low to high, the items are the points low, low + step, …, high, and records go to the nearest one;
            elsewhere the items are cells of about this width, and records go to the middle of theirs.
        points: Instead of ``step``: public points; records are snapped to the nearest one.
        default: The value that stands in for missing data; the first item by default.
        cells: True for cells where the items would be points; None decides as said under ``step``.
        whole: Records are whole numbers and others are unknown, so that nothing is snapped; for steps of 1.

    >>> space = Line(0, 100, unit="years", step=1)
    >>> space.size, space.encode([0, 17.9, 100]).tolist(), space.snapping_upper < 0.00501
    (101, [0, 18, 100], True)
    >>> Line(0, 100, unit="years", step=1, whole=True).snapping_upper
    0.0
    >>> Line(0, 100, unit="years", step=1, cells=True).label(30)
    '30.5'
    """

    kind: ClassVar[str] = "line"
    low: float
    high: float
    step: float | None
    points: Floats
    exact_points: bool
    default: float | None
    cells: bool
    whole: bool
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
        cells: bool | None = None,
        whole: bool = False,
    ) -> None:
        ends = finite_array([low, high], "low and high", ndim=1)
        if not ends[0] < ends[1]:
            raise ParameterError(
                f"low is {low} and high is {high}.", allowed="low below high", fix=f"low={high}, high={low}"
            )
        if step is not None and points is not None:
            raise ParameterError("Both step and points are given.", allowed="one of them", fix="drop points")
        vars(self).update(low=float(ends[0]), high=float(ends[1]), exact_points=points is not None)
        vars(self).update(step=None if step is None else positive_number(step, "step"), _unit=checked_unit(unit))
        self._choose_items(cells, whole)
        vars(self).update(points=self._make_points(points))
        if default is not None and not (isinstance(default, int | float) and self.low <= default <= self.high):
            raise ParameterError(
                f"default is {default!r}.",
                allowed=f"a number from {self.low} to {self.high}",
                fix="choose one inside",
            )
        vars(self).update(default=None if default is None else float(default))

    def _choose_items(self, cells: bool | None, whole: bool) -> None:
        """Points or cells, as asked or as the numbers say."""
        for name, value in (("cells", cells), ("whole", whole)):
            if value is not None and not isinstance(value, bool):
                raise ParameterError(f"{name} is {value!r}.", allowed="True or False", fix=f"leave {name} out")
        by_itself = self.step is not None and not self._evenly_whole
        vars(self).update(cells=by_itself if cells is None else cells, whole=bool(whole))
        if (self.step is None and cells) or (by_itself and cells is False):
            raise ParameterError(
                f"cells is {cells}, which does not go with the step {self.step}.",
                allowed="True with a step; False where steps lead through whole numbers from low to high",
                fix="leave cells out, or name points=[...]",
            )
        if self.whole and (self.cells or self.step != 1.0):
            raise ParameterError(
                "whole is True, but the items are not all whole numbers from low to high.",
                allowed="whole numbers low and high, and step=1",
                fix="step=1, whole=True",
            )

    @property
    def _evenly_whole(self) -> bool:
        """Whether steps lead through whole numbers, exact as floats, from low to high."""
        step = self.step
        return (
            step is not None
            and max(abs(self.low), abs(self.high), step) <= 2.0**50
            and self.low % 1.0 == self.high % 1.0 == step % 1.0 == 0.0
            and (self.high - self.low) % step == 0.0
        )

    def _make_points(self, points: ArrayLike | None) -> Floats:
        if points is None and self.step is None:
            return np.zeros(0)
        if points is None and not self.cells:
            array = self.low + float(self.step or 1.0) * np.arange(self._cells + 1, dtype=np.float64)
        elif points is None:
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

    def _distance(self, a: Ids, b: Ids) -> Floats:
        return np.minimum(np.abs(self.points[a] - self.points[b]) / self.diameter, 1.0)

    @property
    def reads(self) -> Reads:
        """A number, or a moment where the unit is one of time."""
        return Reads(numbers=True, words="a number", moments=Moments.since_1970(self.unit))

    @cached_property
    def formula(self) -> Formula:
        """Half-way between points the next one begins; cells, and points at equal steps, have one width."""
        if self.exact_points:
            return Reached(self.low, self.high, (self.points[1:] + self.points[:-1]) / 2.0)
        start = self.low if self.cells else self.low - float(self.step or 0.0) / 2.0
        scale = self.items / (self.high - self.low) if self.cells else 1.0 / float(self.step or 1.0)
        return AxisCells((CellAxis(self.low, self.high, start, scale, self.items),), whole=self.whole)

    def _geometry(self) -> Geometry:
        """A path from point to point, and one axis from low to high."""
        axis = BoxCells(np.array([self.low]), np.array([self.high]), (len(self.points),), full=self.cells)
        gaps = np.diff(self.points) / self.diameter
        return Geometry(gaps=gaps, lattice=axis if self.size else None, located=self._located, flat=True)

    def _located(self) -> Floats:
        _ = self.items  # without a grid there are no points, and the refusal says how to name one
        return self.points

    def _metric_name(self) -> str:
        """The difference of numbers, in the unit; without one distances are shares of this line."""
        return f"line {self.unit}" if self.unit else super()._metric_name()

    @cached_property
    def snapping_upper(self) -> float:
        """Half the widest gap, plus what rounding can add, as a share of the diameter."""
        if self.size is None or self.whole:
            return 0.0
        if self.exact_points:
            ends = max(self.points[0] - self.low, self.high - self.points[-1])
            widest = max(float(ends), float(np.diff(self.points).max(initial=0.0)) / 2.0)
        else:
            widest = (self.high - self.low) / (self.items if self.cells else self.items - 1) / 2.0
        magnitude = max(abs(self.low), abs(self.high))
        return float((widest + 8.0 * magnitude * 2.0**-52) / self.diameter * (1.0 + 2.0**-40))

    @property
    def corners(self) -> tuple[Floats, Floats]:
        """The middles of the gaps around every point."""
        ends = np.concatenate([[self.low], (self.points[1:] + self.points[:-1]) / 2.0, [self.high]])[:, None]
        return ends[:-1], ends[1:]

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

    def _spec(self) -> dict[str, Any]:
        said = {"cells": self._evenly_whole, "whole": self.whole, "points": self.exact_points}
        return self._plain("low", "high", "unit", "step", *(name for name in said if said[name]), "default")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plain data; cells have the digest that they had before whole numbers were points.

        >>> Line(0, 10, step=1).digest == Line(0, 10, step=1, cells=True).digest
        False
        """
        return digest_of({key: value for key, value in self.to_spec().items() if (key, value) != ("cells", True)})

    def _arguments(self) -> dict[str, Any]:
        return {name: value for name, value in super()._arguments().items() if (name, value) != ("cells", False)}
