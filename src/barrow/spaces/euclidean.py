"""A box or a ball in Euclidean space, with a public grid to snap to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.spaces.checks import checked_unit, finite_array, positive_number
from barrow.spaces.geometry import BoxCells, Geometry
from barrow.spaces.lattices import (
    bits_for,
    checked_spacing,
    grid_graph,
    lattice,
    line_axis,
    rounded_points,
)
from barrow.spaces.neighbours import NeighbourGraph
from barrow.spaces.records import AxisCells, Ball, CellAxis, Formula, Reads, into_ball
from barrow.spaces.space import DISTANCE_ERROR, Floats, Ids, Space
from barrow.spaces.spanners import MOST_CERTIFIED, certified_graph

_MOST_CELLS = 10**8

FARTHEST = 1e100
"""With ``unknown="nearest"`` a record of a ball is lost if a coordinate is farther off: its square might overflow."""


@dataclass(frozen=True, eq=False, repr=False)
class Euclidean(Space):
    """The box between two corners, or a ball, with the Euclidean distance.

    Args:
        low: The lower corner of the box (with ``high``).
        high: The upper corner.
        center: The centre of the ball (with ``radius``).
        radius: The radius of the ball.
        unit: What distances are measured in.
        step: The width of the cells of a public grid; a record is snapped to the middle of its cell (in a ball: to
            the point of the ball nearest to that middle).
        default: The point that stands in for missing data; the first item by default.

    >>> square = Euclidean([0, 0], [3, 4], unit="m", step=1)
    >>> square.diameter, square.size, square.encode([[0.5, 0.5], [3, 4]]).tolist()
    (5.0, 12, [0, 11])
    >>> disc = Euclidean(center=[0, 0], radius=1, step=0.5)
    >>> disc.diameter, bool(disc.block().max() <= 1.0)
    (2.0, True)
    """

    kind: ClassVar[str] = "euclidean"
    low: Floats
    high: Floats
    center: Floats | None
    radius: float | None
    step: float | None
    default: tuple[float, ...] | None
    _unit: str
    _diameter: float

    def __init__(
        self,
        low: Sequence[float] | None = None,
        high: Sequence[float] | None = None,
        *,
        center: Sequence[float] | None = None,
        radius: float | None = None,
        unit: str = "",
        step: float | None = None,
        default: Sequence[float] | None = None,
    ) -> None:
        box, ball = low is not None and high is not None, center is not None and radius is not None
        if box == ball or (low is None) != (high is None) or (center is None) != (radius is None):
            raise ParameterError(
                "The shape is not given, or given twice.",
                allowed="low and high (a box), or center and radius (a ball)",
                fix="Euclidean([0, 0], [1, 1])",
            )
        if ball:
            middle = finite_array(center, "center", ndim=1)  # type: ignore[arg-type]
            length = positive_number(radius, "radius")
            corners = middle - length, middle + length
            span = 2.0 * length
        else:
            middle, length = None, None
            corners = finite_array(low, "low", ndim=1), finite_array(high, "high", ndim=1)  # type: ignore[arg-type]
            _check_corners(*corners)
            root = float(np.sqrt(np.sum((corners[1] - corners[0]) ** 2)))
            exact = root * root == float(np.sum((corners[1] - corners[0]) ** 2))
            span = root if exact else root * (1.0 + 2.0**-50)
        vars(self).update(low=corners[0], high=corners[1], center=middle, radius=length, _diameter=span)
        vars(self).update(
            step=None if step is None else positive_number(step, "step"),
            default=None if default is None else tuple(float(x) for x in default),
            _unit=checked_unit(unit),
        )
        if self.step is not None and float(np.prod(self.shape, dtype=np.float64)) > _MOST_CELLS:
            raise ParameterError(
                f"step is {step}, which makes more than {_MOST_CELLS:,} cells.",
                allowed="fewer cells",
                fix="step larger",
            )
        if self.default is not None and not self._holds(np.array(self.default)):
            raise ParameterError(f"default is {default}.", allowed="a point of the space", fix="choose one inside")

    @property
    def dimension(self) -> int:
        """The number of coordinates.

        >>> Euclidean([0, 0], [1, 1]).dimension
        2
        """
        return len(self.low)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Cells of the grid along each axis (of the box around a ball).

        >>> Euclidean([0, 0], [1, 2], step=0.5).shape
        (2, 4)
        """
        if self.step is None:
            _ = self.items
        counts = np.ceil((self.high - self.low) / float(self.step or 1.0) - 1e-9)
        return tuple(max(1, int(c)) for c in counts)

    @cached_property
    def _cell_ids(self) -> Ids | None:
        """In a ball: the id of each cell of the surrounding box, -1 for cells that do not meet the ball."""
        if self.center is None or self.radius is None:
            return None
        nearest = np.clip(self.center, *self._cell_corners)
        meets = np.sqrt(((nearest - self.center) ** 2).sum(axis=1)) <= self.radius * (1.0 + 2.0**-40)
        return np.where(meets, np.cumsum(meets) - 1, -1)

    @property
    def _cell_corners(self) -> tuple[Floats, Floats]:
        index = np.stack(np.unravel_index(np.arange(int(np.prod(self.shape))), self.shape), axis=1)
        width = (self.high - self.low) / np.array(self.shape)
        return self.low + index * width, self.low + (index + 1) * width

    @cached_property
    def points(self) -> Floats:
        """The coordinates of each item, one row each.

        >>> Euclidean([0, 0], [1, 1], step=1).points.tolist()
        [[0.5, 0.5]]
        """
        _ = self.items
        lower, upper = self._cell_corners
        middles = (lower + upper) / 2.0
        if self.center is None or self.radius is None or self._cell_ids is None:
            return middles
        inside = into_ball(middles[self._cell_ids >= 0], self.center, self.radius)
        if len(np.unique(inside, axis=0)) < len(inside):
            # From five dimensions on, two cells at the rim may share their nearest point of the ball.
            raise ParameterError(
                f"With step {self.step}, two cells of the ball have the same middle.",
                allowed="a grid whose cells have different middles",
                fix=f"step={float(self.step or 1.0) * 0.97:.6g}, or a box",
            )
        return inside

    @cached_property
    def size(self) -> int | None:
        """The number of items; None without a grid."""
        if self.step is None:
            return None
        cells = self._cell_ids
        return int(np.prod(self.shape)) if cells is None else int(cells.max()) + 1

    def _grid_fix(self) -> str:
        return f"add step={self.diameter / 100:.3g}"

    def _geometry(self) -> Geometry:
        """The cells; in a ball those of the box around it."""
        suited = ("planar_laplace", "laplace", "exponential")
        if self.step is None:
            return Geometry(located=lambda: self.points, flat=True, randomisers=suited)
        cells = BoxCells(self.low, self.high, self.shape, full=self.center is None)
        return Geometry(lattice=cells, located=lambda: self.points, flat=True, randomisers=suited)

    def label(self, item: int) -> str:
        """The coordinates of item number ``item``."""
        return ",".join(f"{x:.12g}" for x in self.points[item])

    def _distance(self, a: Ids, b: Ids) -> Floats:
        total = np.zeros(np.broadcast_shapes(a.shape, b.shape))
        for axis in range(self.dimension):
            x = self.points[:, axis]
            total += (x[a] - x[b]) ** 2
        return np.minimum(np.sqrt(total) / self._diameter, 1.0)

    def _holds(self, point: Floats) -> bool:
        """Whether a public point is inside."""
        if point.shape != self.low.shape:
            return False
        if self.center is not None and self.radius is not None:
            return bool(np.sqrt(((point - self.center) ** 2).sum()) <= self.radius)
        return bool(((point >= self.low) & (point <= self.high)).all())

    @property
    def reads(self) -> Reads:
        """The coordinates."""
        return Reads(self.dimension, numbers=True, words=f"{self.dimension} coordinates")

    @cached_property
    def formula(self) -> Formula:
        """Cells along each axis, of the box around a ball."""
        scale = np.array(self.shape) / (self.high - self.low)
        sides = zip(self.low.tolist(), self.high.tolist(), scale.tolist(), self.shape, strict=True)
        ball = None
        if self.center is not None and self.radius is not None and self._cell_ids is not None:
            ball = Ball(self.center, self.radius, FARTHEST, self._cell_ids)
        return AxisCells(tuple(CellAxis(low, high, low, scale, count) for low, high, scale, count in sides), ball=ball)

    def _metric_name(self) -> str:
        """The straight distance in so many dimensions, in the unit; without one distances are shares of this space."""
        return f"euclidean {self.dimension} {self.unit}" if self.unit else super()._metric_name()

    @cached_property
    def snapping_upper(self) -> float:
        """Half a cell's diagonal, plus what rounding can add, as a share of the diameter."""
        if self.step is None:
            return 0.0
        half = (self.high - self.low) / np.array(self.shape) / 2.0
        magnitude = float(np.abs([self.low, self.high]).max())
        slack = 16.0 * magnitude * 2.0**-52 * self.dimension
        return (float(np.sqrt((half**2).sum())) + slack) / self._diameter * (1.0 + 2.0**-40)

    @property
    def corners(self) -> tuple[Floats, Floats]:
        """Of the cells, which reach beyond a ball at its rim."""
        lower, upper = self._cell_corners
        inside = slice(None) if self._cell_ids is None else self._cell_ids >= 0
        return lower[inside], upper[inside]

    @cached_property
    def least_distance_lower(self) -> float:
        """The narrowest cell, rounded down; in a ball, where items at the rim are moved, all pairs are looked at."""
        if self.items == 1:
            return 1.0
        if self.center is not None:
            near = np.asarray(heavy.cKDTree(self.points).query(self.points, k=2)[0])
            return float(near[:, 1].min() / self._diameter) * (1.0 - 2.0**-40)
        widths = ((self.high - self.low) / np.array(self.shape))[np.array(self.shape) > 1]
        return float(widths.min() / self._diameter) * (1.0 - 2.0**-30) * (1.0 - DISTANCE_ERROR)

    def _graph(self, spacing: Any) -> NeighbourGraph:
        """The grid of the cells, or of nodes at equal gaps; along each of k axes gaps count 1/sqrt(k) of their width.

        In a ball, whose cells at the rim are moved, the cells' own graph is certified pair by pair where that is
        feasible, and elsewhere items are carried by a grid around the ball.
        """
        width = checked_spacing(spacing, self.unit)
        many = sum(count > 1 for count in self.shape)
        factor = 1.0 / (np.sqrt(many) * self._diameter)
        if self.center is not None:
            return self._ball_graph(width, factor)
        index = np.unravel_index(np.arange(self.items), self.shape)
        bits, axes = bits_for(many) if width is not None else 0, []
        cell = (self.high - self.low) / np.array(self.shape)
        for axis, count in enumerate(self.shape):
            each = np.arange(count)
            middles = ((self.low[axis] + each * cell[axis]) + (self.low[axis] + (each + 1) * cell[axis])) / 2.0
            axes.append(line_axis(middles, width, bits if count > 1 else 0))
        return grid_graph(axes, [factor] * len(axes), index)

    def _ball_graph(self, width: float | None, factor: float) -> NeighbourGraph:
        ids = self._cell_ids
        if width is None and ids is not None and self.items <= MOST_CERTIFIED:
            net, _ = lattice(self.shape, [False] * self.dimension)
            tails, heads = ids[net.tails], ids[net.heads]
            inside = (tails >= 0) & (heads >= 0)
            return certified_graph(self, tails[inside], heads[inside])
        least = self.least_distance_lower * self._diameter
        axes, index, longer = rounded_points(
            self.points, width or float(self.step or 1.0), least, bits_for(self.dimension)
        )
        return grid_graph(axes, [factor / longer] * len(axes), index)

    def _spec(self) -> dict[str, Any]:
        shape = ("low", "high") if self.center is None else ("center", "radius")
        return self._plain("unit", *shape, "step", "default")


def _check_corners(low: Floats, high: Floats) -> None:
    if low.shape != high.shape or not (low < high).all():
        raise ParameterError(
            f"low is {low.tolist()} and high is {high.tolist()}.",
            allowed="two corners of the same dimension, low below high in each coordinate",
            fix="Euclidean([0, 0], [1, 1])",
        )
