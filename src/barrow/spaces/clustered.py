"""The paper's clustered space: items in clusters, r apart within one and 1 apart across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics import whole
from barrow.spaces.checks import build, positive_number
from barrow.spaces.finite import LabelledSpace
from barrow.spaces.geometry import Geometry, TreeEdges, ones
from barrow.spaces.records import LabelIndex
from barrow.spaces.space import DISTANCE_ERROR, Floats, Ids


@dataclass(frozen=True, eq=False, repr=False)
class Clustered(LabelledSpace):
    """Clusters of items: distance ``r`` inside a cluster, 1 across (B x C of Section 6.2, 0 < r < 1/2).

    Args:
        clusters: The labels of each cluster, by the cluster's name.
        r: The distance inside a cluster.
        default: The label that stands in for missing data; the first by default.

    >>> space = Clustered({"fruit": ["apple", "pear"], "tool": ["saw"]}, r=0.1)
    >>> space.distance(0, [0, 1, 2]).tolist()
    [0.0, 0.1, 1.0]
    >>> Clustered.grid(10, 10, r=0.05).size
    100
    """

    kind: ClassVar[str] = "clustered"
    _unit, _diameter = "", 1.0
    clusters: tuple[tuple[str, tuple[str, ...]], ...]
    r: float
    cluster_of: Ids

    def __init__(self, clusters: Mapping[str, Sequence[str]], *, r: float, default: str | None = None) -> None:
        r = positive_number(r, "r", fix="r=0.05")
        if not r < 0.5:
            raise ParameterError(f"r is {r!r}.", allowed="a number strictly between 0 and 1/2", fix="r=0.05")
        groups = tuple((str(name), tuple(labels)) for name, labels in clusters.items())
        empty = next((name for name, labels in groups if not labels), None)
        if empty is not None:
            raise ParameterError(
                f"The cluster {empty!r} is empty.",
                allowed="at least one label each",
                fix="remove the cluster",
            )
        cluster_of = np.repeat(np.arange(len(groups)), [len(labels) for _, labels in groups])
        vars(self).update(clusters=groups, r=float(r), cluster_of=cluster_of)
        self._take_labels(LabelIndex(x for _, labels in groups for x in labels), default)

    @classmethod
    def grid(cls, clusters: int, items: int, *, r: float) -> Clustered:
        """``clusters`` clusters of ``items`` items each, labelled ``"0/0"``, ``"0/1"``, … as in the paper.

        >>> Clustered.grid(2, 2, r=0.1).labels
        ('0/0', '0/1', '1/0', '1/1')
        """
        clusters, items = whole(clusters, "clusters", fix="clusters=10"), whole(items, "items", fix="items=10")
        return cls({str(b): [f"{b}/{c}" for c in range(items)] for b in range(clusters)}, r=r)

    @cached_property
    def equal_shape(self) -> tuple[int, int] | None:
        """(number of clusters, items in each) where all clusters are of one size, else None.

        >>> Clustered.grid(2, 3, r=0.1).equal_shape
        (2, 3)
        """
        sizes = {len(labels) for _, labels in self.clusters}
        return (len(self.clusters), sizes.pop()) if len(sizes) == 1 else None

    @cached_property
    def starts(self) -> Ids:
        """The id of the first item of each cluster; clusters are contiguous.

        >>> Clustered.grid(2, 3, r=0.1).starts.tolist()
        [0, 3]
        """
        return np.flatnonzero(np.diff(self.cluster_of, prepend=-1))

    @property
    def _ends(self) -> Ids:
        return np.append(self.starts[1:], self.size)

    def _geometry(self) -> Geometry:
        """Two levels: (1 - r)/2 above clusters, then r/2 above items."""
        each, r, clusters = np.arange(self.size), Fraction(self.r), len(self.starts)
        tree = TreeEdges(
            np.concatenate([self.starts, each]),
            np.concatenate([self._ends, each + 1]),
            np.repeat([(1.0 - self.r) / 2.0, self.r / 2.0], [clusters, self.size]),
            lambda: [(1 - r) / 2] * clusters + [r / 2] * self.size,
            self._names,
        )
        count, members = self.equal_shape or (0, 0)
        even = (count, members, r if members > 1 else Fraction(1)) if count > 1 else None
        return Geometry(tree=tree, clusters=even, exact=True, randomisers=("gkrr", "exponential"), flow=self._flow)

    def _names(self) -> dict[tuple[int, int], str]:
        spans = zip(self.starts.tolist(), self._ends.tolist(), strict=True)
        return {span: name for span, (name, _) in zip(spans, self.clusters, strict=True)}

    def _flow(self, difference: Floats) -> Floats:
        """r/2 sum_x |d_x| + (1-r)/2 sum_clusters |D_c|: the clustered space is a two-level tree."""
        if self.equal_shape is None:
            sums = np.add.reduceat(difference, self.starts, axis=-1)
        else:
            sums = difference.reshape(*difference.shape[:-1], *self.equal_shape).dot(ones(self.equal_shape[1]))
        leaves = np.abs(difference).dot(ones(difference.shape[-1]))
        return np.asarray((self.r / 2.0) * leaves + ((1.0 - self.r) / 2.0) * np.abs(sums).dot(ones(sums.shape[-1])))

    def _distance(self, a: Ids, b: Ids) -> Floats:
        across = self.cluster_of[a] != self.cluster_of[b]
        return np.where(across, 1.0, np.where(a != b, self.r, 0.0))

    @property
    def least_distance_lower(self) -> float:
        """r, unless every cluster is a single item."""
        return self.r * (1.0 - DISTANCE_ERROR) if len(self.clusters) < self.size else 1.0

    def _spec(self) -> dict[str, Any]:
        clusters = [{"name": name, "labels": list(labels)} for name, labels in self.clusters]
        return {**self._plain("r"), "clusters": clusters, **self._plain("default")}

    def _arguments(self) -> dict[str, Any]:
        clusters = {name: list(labels) for name, labels in self.clusters}
        return {"clusters": clusters, "r": self.r} | ({} if self.default is None else {"default": self.default})

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Clustered:
        """The space that ``spec`` describes; ``shape = [s, t]`` may stand for unnamed clusters."""
        rest = dict(spec)
        if "shape" in rest:
            shape = rest.pop("shape")
            return cls.grid(int(shape[0]), int(shape[1]), **rest)
        clusters = {c["name"]: c["labels"] for c in rest.pop("clusters")}
        return build(cls, clusters, **rest)
