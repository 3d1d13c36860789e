"""Points on a circle: hours of the day, days of the week, directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from barrow.errors import ParameterError
from barrow.spaces.checks import checked_unit, positive_number
from barrow.spaces.geometry import BoxCells, Geometry
from barrow.spaces.lattices import bits_for, checked_spacing, circle_axis, grid_graph
from barrow.spaces.neighbours import NeighbourGraph
from barrow.spaces.records import Formula, LabelIndex, Labels, Moments, Reads, Turn
from barrow.spaces.space import DISTANCE_ERROR, Floats, Ids, Space

MOST_TURNS = 2.0**62
"""With ``unknown="nearest"`` a record may be this many turns away; farther off its place on the circle is not known."""


@dataclass(frozen=True, eq=False, repr=False)
class Circle(Space):
    """A circle of circumference ``period``; distance is the shorter way round, and half the period counts as 1.

    Args:
        period: The public length of one turn.
        unit: What distances are measured in.
        step: The width of the cells of a public grid on [0, period); records are numbers, and ``period`` is 0 again.
        names: Instead of ``step``: names of equally spaced items; records are these names.
        default: The record that stands in for missing data; the first item by default.
        whole: Of weekdays: records are their names alone and moments are unknown, so that nothing is snapped.

    >>> hours = Circle(24, unit="h", step=1)
    >>> hours.encode([23.5, 0.25, 24.0]).tolist(), round(hours.distance(23, 0).item() * 12, 9)
    ([23, 0, 0], 1.0)
    >>> Circle.weekdays().distance(0, 6).item() == Circle.weekdays().distance(0, 1).item()
    True
    """

    kind: ClassVar[str] = "circle"
    period: float
    step: float | None
    names: LabelIndex | None
    default: float | str | None
    whole: bool
    _unit: str

    def __init__(
        self,
        period: float,
        *,
        unit: str = "",
        step: float | None = None,
        names: Sequence[str] | None = None,
        default: float | str | None = None,
        whole: bool = False,
    ) -> None:
        if step is not None and names is not None:
            raise ParameterError("Both step and names are given.", allowed="one of them", fix="drop names")
        vars(self).update(
            period=positive_number(period, "period", fix="period=24"),
            step=None if step is None else positive_number(step, "step"),
            names=None if names is None else LabelIndex(names, "names"),
        )
        vars(self).update(default=default, _unit=checked_unit(unit), whole=False)
        if whole is not False and (whole is not True or self.names is None or self.reads.moments is None):
            raise ParameterError(
                f"whole is {whole!r}.",
                allowed="True where names are those of the weekdays, Monday first; else nothing",
                fix="leave whole out",
            )
        vars(self).update(whole=whole)
        if default is not None and self._encode([default], "error")[0] < 0:
            raise ParameterError(f"default is {default!r}.", allowed="a record of the circle", fix="choose one on it")

    @classmethod
    def hours(cls, step: float = 1.0) -> Circle:
        """The hours of the day, in cells of ``step`` hours; records are numbers in [0, 24].

        >>> Circle.hours().size
        24
        """
        return cls(24.0, unit="h", step=step)

    @classmethod
    def weekdays(cls, *, whole: bool = False) -> Circle:
        """The days of the week by their English names' first three letters; one week is seven days around.

        >>> Circle.weekdays().encode(["Mon", "Sun"]).tolist()
        [0, 6]
        """
        return cls(7.0, unit="days", names=["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], whole=whole)

    @classmethod
    def months(cls) -> Circle:
        """The months of the year by their English names' first three letters; one year is twelve months around.

        >>> Circle.months().encode(["Jan", "Dec"]).tolist(), round(Circle.months().distance(0, 11).item() * 6, 9)
        ([0, 11], 1.0)
        """
        names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        return cls(12.0, unit="months", names=names)

    @property
    def diameter(self) -> float:
        """Half a turn."""
        return self.period / 2.0

    @property
    def size(self) -> int | None:
        """The number of items; None without a grid."""
        if self.names is not None:
            return len(self.names)
        if self.step is None:
            return None
        return max(1, int(np.ceil(self.period / self.step - 1e-9)))

    def _grid_fix(self) -> str:
        return f"Circle({self.period:g}, step={self.period / 24:g})"

    @cached_property
    def points(self) -> Floats:
        """The position of each item on [0, period): cell centres, or equally spaced names from 0 on.

        >>> Circle(24, step=12).points.tolist()
        [6.0, 18.0]
        """
        shift = 0.0 if self.names is not None else 0.5
        values: Floats = self.period * ((np.arange(self.items) + shift) / self.items)
        values.setflags(write=False)
        return values

    def _geometry(self) -> Geometry:
        """Equal steps round the circle, of circumference 2: the turn from 0 to the period."""
        if self.size is None:
            return Geometry(periodic=True, located=lambda: self.points)
        turn = BoxCells(np.array([0.0]), np.array([self.period]), (self.size,), full=self.names is None)
        gaps = np.full(self.size, 2.0 / self.size)
        return Geometry(gaps=gaps, periodic=True, lattice=turn, located=lambda: self.points)

    def label(self, item: int) -> str:
        """The name or the position of item number ``item``."""
        return self.names.labels[item] if self.names is not None else f"{self.points[item]:.12g}"

    def _distance(self, a: Ids, b: Ids) -> Floats:
        steps = np.abs(a - b)
        return np.asarray(np.minimum(steps, self.items - steps) / (self.items / 2.0))

    @property
    def reads(self) -> Reads:
        """A number or a name; of circles of 24 hours or 7 days also a moment."""
        if self.names is not None:
            return Reads(moments=None if self.whole else Moments.weekday(tuple(self.names.labels)))
        return Reads(numbers=True, words="a number", moments=Moments.round(self.period, self.unit))

    @property
    def formula(self) -> Formula:
        """Cells round the circle, or the table of names."""
        if self.names is not None:
            return Labels(self.names.known)
        count = self.size or 1
        return Turn(self.period, count / self.period, count, MOST_TURNS * self.period)

    def _metric_name(self) -> str:
        """The way around a circle of this length, in the unit; of names it is this circle's alone."""
        named = self.names is not None or not self.unit
        return super()._metric_name() if named else f"circle {self.period!r} {self.unit}"

    @cached_property
    def snapping_upper(self) -> float:
        """Half a cell, plus what rounding can add, as a share of the diameter; 0 for names that only names stand for.

        A weekday is read from a moment, too, unless ``whole`` is said: the moment goes to the middle of its day.

        >>> round(Circle.weekdays().snapping_upper * 3.5, 9), Circle.weekdays(whole=True).snapping_upper
        (0.5, 0.0)
        """
        if self.size is None or not self.snaps:
            return 0.0
        return (self.period / self.size / 2.0 + 8.0 * self.period * 2.0**-52) / self.diameter * (1.0 + 2.0**-40)

    @property
    def snaps(self) -> bool:
        """Whether records are numbers or moments, and not names alone."""
        return self.names is None or self.reads.moments is not None

    @property
    def least_distance_lower(self) -> float:
        """One step round the circle, rounded down."""
        return min(1.0, 2.0 / self.items) * (1.0 - DISTANCE_ERROR)

    def _graph(self, spacing: Any) -> NeighbourGraph:
        """The cycle of the items, or of nodes at equal gaps; its distances are the circle's."""
        width = checked_spacing(spacing, self.unit)
        gaps = self.items if width is None else int(np.ceil(self.period / width - 1e-9))
        return grid_graph([circle_axis(self.items, gaps, bits_for(1))], [1.0], [np.arange(self.items)])

    def _spec(self) -> dict[str, Any]:
        return self._plain("period", "unit", "step", "names", "default", whole=self.whole or None)
