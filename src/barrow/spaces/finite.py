"""Spaces given by their labels: any finite metric, and the discrete one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.spaces.axioms import check_metric
from barrow.spaces.checks import checked_unit, chosen_diameter, finite_array
from barrow.spaces.geometry import Geometry, TreeEdges, ones
from barrow.spaces.records import Formula, LabelIndex, Labels
from barrow.spaces.space import DISTANCE_ERROR, Floats, Ids, Space


@dataclass(frozen=True, eq=False, repr=False)
class LabelledSpace(Space):
    """What spaces of named items share: records are labels, and nothing is snapped."""

    index: LabelIndex
    default: str | None

    def _take_labels(self, index: LabelIndex, default: str | None) -> None:
        vars(self).update(index=index, default=default)
        if default is not None and index.find([default])[0] < 0:
            raise ParameterError(
                f"default is {default!r}, which is not a label.",
                allowed="one of the labels",
                fix=f"default={index.labels[0]!r}",
            )

    @property
    def size(self) -> int:
        """The number of labels."""
        return len(self.index)

    @property
    def labels(self) -> Sequence[str]:
        """The labels, in the order of the ids."""
        return self.index.labels

    def label(self, item: int) -> str:
        """The label of item number ``item``."""
        return self.index.labels[item]

    @property
    def formula(self) -> Formula:
        """The table of labels, and of what else stands for them."""
        return Labels(self.index.known)


@dataclass(frozen=True, eq=False, repr=False)
class Finite(LabelledSpace):
    """A finite metric space given by its matrix of distances.

    Args:
        labels: The public names of the items.
        distances: A symmetric matrix that obeys the axioms of a metric, in units.
        unit: What distances are measured in.
        diameter: How many units count as 1; the largest distance by default.
        default: The label that stands in for missing data; the first by default.

    >>> space = Finite(["home", "work", "gym"], [[0, 5, 2], [5, 0, 4], [2, 4, 0]], unit="km")
    >>> space.diameter, space.distance(0, 2).item()
    (5.0, 0.4)
    """

    kind: ClassVar[str] = "finite"
    matrix: Floats
    _unit: str
    _diameter: float

    def __init__(
        self,
        labels: Sequence[str],
        distances: ArrayLike,
        *,
        unit: str = "",
        diameter: float | None = None,
        default: str | None = None,
    ) -> None:
        self._take_labels(LabelIndex(labels), default)
        matrix = finite_array(distances, "distances", ndim=2)
        check_metric(matrix, self.index.labels)
        largest = float(matrix.max()) or 1.0
        but = f", but the largest distance is {largest}."
        chosen = chosen_diameter(diameter, largest, but, f"a number of at least {largest}", f"diameter={largest}")
        matrix.setflags(write=False)
        vars(self).update(matrix=matrix, _unit=checked_unit(unit), _diameter=chosen)

    def _distance(self, a: Ids, b: Ids) -> Floats:
        return np.asarray(self.matrix[a, b] / self._diameter)

    @cached_property
    def least_distance_lower(self) -> float:
        """The least entry off the diagonal, rounded down."""
        off = self.matrix[~np.eye(self.size, dtype=bool)]
        return float(off.min() / self._diameter) * (1.0 - DISTANCE_ERROR) if off.size else 1.0

    def _spec(self) -> dict[str, Any]:
        return self._plain(
            "labels", distances=self.matrix, unit=self._unit, diameter=self._diameter, default=self.default
        )


@dataclass(frozen=True, eq=False, repr=False)
class Discrete(LabelledSpace):
    """Items that are all equally far apart: distance 0 or 1. EMD is then the total variation distance.

    >>> Discrete(["red", "green", "blue"]).distance(0, [0, 1, 2]).tolist()
    [0.0, 1.0, 1.0]
    """

    kind: ClassVar[str] = "discrete"
    _unit, _diameter = "", 1.0

    def __init__(self, labels: Sequence[str], *, default: str | None = None) -> None:
        self._take_labels(LabelIndex(labels), default)

    def _geometry(self) -> Geometry:
        """A star with edges of 1/2, and clusters of one item each; EMD is half the sum of |d_x|."""
        each = np.arange(self.size)
        return Geometry(
            tree=TreeEdges(each, each + 1, np.full(self.size, 0.5)),
            clusters=(self.size, 1, Fraction(1)) if self.size > 1 else None,
            equidistant=True,
            exact=True,
            randomisers=("response", "exponential"),
            flow=lambda difference: np.asarray(np.abs(difference).dot(ones(difference.shape[-1])) * 0.5),
        )

    def _distance(self, a: Ids, b: Ids) -> Floats:
        return np.asarray(a != b, dtype=np.float64)

    @property
    def least_distance_lower(self) -> float:
        """1."""
        return 1.0

    def _spec(self) -> dict[str, Any]:
        return self._plain("labels", "default")
