"""Labels with public vectors: words, topics, products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from barrow import heavy
from barrow.errors import ParameterError, one_of
from barrow.spaces.checks import checked_unit, finite_array, positive_number
from barrow.spaces.finite import LabelledSpace
from barrow.spaces.geometry import Geometry
from barrow.spaces.lattices import bits_for, checked_spacing, grid_graph, rounded_points
from barrow.spaces.neighbours import NeighbourGraph
from barrow.spaces.records import LabelIndex
from barrow.spaces.space import DISTANCE_ERROR, Floats, Ids, strips
from barrow.spaces.spanners import MOST_CERTIFIED, spanner_graph, star_graph

Metric = Literal["euclidean", "angular"]

_ROWS, _MANY = 512, 5000
_COSTLY = 1.25
"""Points so close together that rounding them to a grid would cost this factor are joined by a star instead."""


@dataclass(frozen=True, eq=False, repr=False)
class Embedding(LabelledSpace):
    """Labels whose public vectors say how far apart they are.

    Args:
        labels: The public labels, e.g. a vocabulary.
        vectors: One public vector for each label, as rows; all different (for angles: in direction).
        metric: ``"euclidean"``, or ``"angular"`` (the angle between vectors; opposite directions count as 1).
        diameter: How many units count as 1. Euclidean: twice the largest distance from the mean by default, which
            is never too small. Angular: 180 degrees.
        unit: What distances are measured in; degrees for angles.
        default: The label that stands in for missing data; the first by default.

    ``points`` are the vectors, for angles scaled to length 1.

    >>> words = Embedding(["cat", "dog", "car"], [[1, 0], [0.8, 0.6], [-1, 0]], metric="angular")
    >>> words.distance(0, 2).item(), words.unit
    (1.0, 'degrees')
    """

    kind: ClassVar[str] = "embedding"
    vectors: Floats
    points: Floats
    metric: Metric
    _unit: str
    _diameter: float

    def __init__(
        self,
        labels: Sequence[str],
        vectors: ArrayLike,
        *,
        metric: Metric = "euclidean",
        diameter: float | None = None,
        unit: str = "",
        default: str | None = None,
    ) -> None:
        self._take_labels(LabelIndex(labels), default)
        rows = finite_array(vectors, "vectors", ndim=2)
        if len(rows) != self.size:
            raise ParameterError(
                f"There are {len(rows)} vectors for {self.size} labels.",
                allowed="as many",
                fix="one row for each label",
            )
        one_of(metric, "metric", ("euclidean", "angular"))
        vars(self).update(metric=metric)
        if metric == "angular":
            points = self._directions(rows)
            unit = "degrees"
            chosen = 180.0 if diameter is None else positive_number(diameter, "diameter")
            least = 180.0
        else:
            points = rows
            away = np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum(axis=1)).max()
            least = 2.0 * float(away) * (1.0 + 2.0**-40)
            chosen = (least or 1.0) if diameter is None else positive_number(diameter, "diameter")
        rows.setflags(write=False)
        points.setflags(write=False)
        vars(self).update(vectors=rows, points=points, _unit=checked_unit(unit), _diameter=chosen)
        self._check_different(points)
        if chosen < least:
            self._check_diameter()

    def _directions(self, rows: Floats) -> Floats:
        norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        zero = np.flatnonzero(norms[:, 0] == 0.0)
        if zero.size:
            raise ParameterError(
                f"The vector of {self.labels[zero[0]]!r} is zero and has no direction.",
                allowed="vectors that are not zero",
                fix="drop the label, or use metric='euclidean'",
            )
        return np.asarray(rows / norms)

    def _check_different(self, rows: Floats) -> None:
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        if len(distinct) < len(rows):
            order = np.argsort(inverse.ravel(), kind="stable")
            same = np.flatnonzero(np.diff(inverse.ravel()[order]) == 0)[0]
            a, b = sorted((int(order[same]), int(order[same + 1])))
            raise ParameterError(
                f"{self.labels[a]!r} and {self.labels[b]!r} have the same vector, so their distance would be 0.",
                allowed="different vectors for different labels",
                fix="merge the two labels into one",
            )

    def _check_diameter(self) -> None:
        """A smaller diameter than the safe default is allowed only if no pair exceeds it."""
        largest = max(float(block.max()) for _, block in strips(self)) * self._diameter
        if largest > self._diameter:
            raise ParameterError(
                f"diameter is {self._diameter}, but two vectors are {largest:.12g} apart.",
                allowed=f"at least {math.nextafter(largest * (1 + 2**-40), math.inf):.15g}",
                fix="leave diameter out",
            )

    def _geometry(self) -> Geometry:
        """Vectors, which are no places that people know."""
        return Geometry(
            located=lambda: self.points,
            known_places=False,
            flat=True,
            angular=self.metric == "angular",
            randomisers=("exponential", "laplace"),
        )

    def _distance(self, a: Ids, b: Ids) -> Floats:
        shape = np.broadcast_shapes(a.shape, b.shape)
        apart, along = np.zeros(shape), np.zeros(shape) if self.metric == "angular" else None
        for axis in range(self.points.shape[1]):
            x = self.points[:, axis]
            apart += (x[a] - x[b]) ** 2
            if along is not None:
                along += (x[a] + x[b]) ** 2
        return self._normalised(np.sqrt(apart), None if along is None else np.sqrt(along))

    def block(self, rows: ArrayLike | None = None, columns: ArrayLike | None = None) -> Floats:
        """The matrix of distances between ``rows`` and ``columns``, by differences and not by inner products."""
        x = self.points if rows is None else self.points[self._ids(rows)]
        y = self.points if columns is None else self.points[self._ids(columns)]
        return self._normalised(
            heavy.spatial.distance.cdist(x, y),
            heavy.spatial.distance.cdist(x, -y) if self.metric == "angular" else None,
        )

    def _normalised(self, apart: Floats, along: Floats | None) -> Floats:
        if along is not None:
            # The angle of unit vectors is 2 atan2(|u-v|, |u+v|): accurate for near and for opposite directions.
            apart = 2.0 * np.arctan2(apart, along) * (180.0 / math.pi)
            return np.minimum(apart / self._diameter, 1.0)
        return np.asarray(apart / self._diameter)

    @cached_property
    def least_distance_lower(self) -> float:
        """The least distance over all pairs (by nearest neighbours in few dimensions), rounded down."""
        return 1.0 if self.size == 1 else float(self._near.min())

    def _graph(self, spacing: Any) -> NeighbourGraph:
        """A spanner or a star; nodes on a grid around few-dimensional points if asked for, or if they are too many."""
        width = checked_spacing(spacing, self.unit)
        if self.metric == "angular":
            self._no_spacing(spacing)
        elif width is None and self.size > MOST_CERTIFIED and self.points.shape[1] <= 3:
            # As many nodes as items, if these filled the box.
            sides = np.ptp(self.points, axis=0)
            sides = sides[sides > 0.0]
            width = float(np.exp(np.log(sides).mean()) * self.size ** (-1.0 / len(sides)))
        if width is not None:
            least = self.least_distance_lower * self._diameter
            axes, index, longer = rounded_points(self.points, width, least, bits_for(self.points.shape[1]))
            if spacing is not None or longer < _COSTLY:
                factor = 1.0 / (math.sqrt(sum(axis.nodes > 1 for axis in axes)) * self._diameter * longer)
                return grid_graph(axes, [factor] * len(axes), index)
        return spanner_graph(self) if self.size <= MOST_CERTIFIED else star_graph(self, self._near)

    @cached_property
    def _near(self) -> Floats:
        """At most the distance of each item to its nearest neighbour: by a search tree, or by products of vectors."""
        everyone, width = np.arange(self.size), self.points.shape[1]
        if width <= 8:
            nearest = np.asarray(heavy.cKDTree(self.points).query(self.points, k=2)[1])[:, 1]
            return self.distance(everyone, nearest) * (1.0 - 2.0 * DISTANCE_ERROR)
        around = self.points - self.points.mean(axis=0)
        around /= float(np.abs(around).max())
        near = np.zeros(self.size)
        doubtful: Ids = everyone
        passes: list[tuple[Any, float]] = [(np.float32, 2.0**-10), (np.float64, 2.0**-20)]
        for precision, most in passes if self.size > _MANY else passes[1:]:  # floats of half the size are quicker
            if doubtful.size == 0:
                break
            nearest, off = _nearest(around, doubtful, precision)
            result = ((around[doubtful] - around[nearest]) ** 2).sum(axis=1)
            # Squares are off by less than ``off``: another item may be nearer by twice that, in the square.
            loss = 2.0 * off / np.maximum(result, 1e-300)
            apart = np.asarray(self.distance(doubtful, nearest), dtype=np.float64)
            near[doubtful] = apart * np.sqrt(np.maximum(0.0, 1.0 - loss))
            doubtful = doubtful[loss > most]
        for item in doubtful.tolist():  # so close that products of vectors cannot tell
            near[item] = float(np.delete(self.block([item])[0], item).min())
        return near * (1.0 - 4.0 * DISTANCE_ERROR)

    def _spec(self) -> dict[str, Any]:
        return self._plain("labels", "vectors", "metric", "diameter", "unit", "default")


def _nearest(points: Floats, rows: Ids, precision: Any) -> tuple[Ids, float]:
    """The nearest other point of each of ``rows``, by products of vectors, and how far squared distances may be off."""
    squares = (points**2).sum(axis=1)
    # (-2 x, 1) times (y, |y|^2) is the squared distance less |x|^2, which all of a row share.
    left = np.column_stack([-2.0 * points[rows], np.ones(len(rows))]).astype(precision)
    right = np.column_stack([points, squares]).astype(precision).T.copy()
    nearest = np.zeros(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _ROWS):
        apart = left[start : start + _ROWS] @ right
        apart[np.arange(len(apart)), rows[start : start + _ROWS]] = np.inf
        nearest[start : start + _ROWS] = apart.argmin(axis=1)
    return nearest, 8.0 * (points.shape[1] + 8) * float(np.finfo(precision).eps / 2.0) * float(squares.max())
