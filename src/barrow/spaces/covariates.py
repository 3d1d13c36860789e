"""People (or other nodes of a private graph) with public covariates: a user's items are the neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.spaces.augmented import base_space
from barrow.spaces.checks import finite_array
from barrow.spaces.embedding import Embedding, Metric
from barrow.spaces.records import LabelIndex
from barrow.spaces.space import Floats, Space


class Covariates(Embedding):
    """Nodes with public vectors (interests, ages, places); the edges are what is private.

    A user is a node and holds its neighbours as items, so one row of records says (user, neighbour). EMD-DP then
    hides small changes of a person's circle: few neighbours replaced, or replaced by similar ones. Nodes with the same
    covariates are one item, because nothing public tells them apart: it is called after the first of them, and records
    may name any.

    An undirected edge stands in the data of both its ends. Who replaces one neighbour by another then changes three
    people's data: their own, and those of the neighbour that is lost and of the one that is won; see ``edge_change``.

    Args:
        nodes: The public names of the nodes.
        covariates: One public vector for each node.
        metric: As for :class:`Embedding`.
        diameter: As for :class:`Embedding`.
        unit: As for :class:`Embedding`.
        default: The node that stands in for missing data; the first by default.

    >>> people = Covariates(["ann", "bob", "cem", "dan"], [[0.0], [1.0], [4.0], [1.0]])
    >>> people.encode(["bob", "cem", "dan"]).tolist(), people.labels
    ([1, 2, 1], ('ann', 'bob (+1)', 'cem'))
    """

    kind: ClassVar[str] = "covariates"
    nodes: tuple[str, ...]

    def __init__(
        self,
        nodes: Sequence[str] | None = None,
        covariates: ArrayLike | None = None,
        *,
        labels: Sequence[str] | None = None,
        vectors: ArrayLike | None = None,
        metric: Metric = "euclidean",
        diameter: float | None = None,
        unit: str = "",
        default: str | None = None,
    ) -> None:
        # Plain data call them labels and vectors, as for every embedding.
        names = tuple(LabelIndex((labels if nodes is None else nodes) or (), "nodes").labels)
        given = vectors if covariates is None else covariates
        rows = finite_array([] if given is None else given, "covariates", ndim=2)
        if len(rows) != len(names):
            raise ParameterError(
                f"There are {len(rows)} covariates for {len(names)} nodes.",
                allowed="as many",
                fix="one row for each node",
            )
        first, item, count = _tied(_directions(rows) if metric == "angular" else rows)
        called = [names[x] + (f" (+{n - 1})" if n > 1 else "") for x, n in zip(first, count, strict=True)]
        super().__init__(
            called,
            rows[first],
            metric=metric,
            diameter=diameter,
            unit=unit,
            default=None if default is None or default not in names else called[item[names.index(default)]],
        )
        also = dict(zip(names, item, strict=True))
        vars(self).update(nodes=names, vectors=rows)
        self._take_labels(LabelIndex(called, "nodes", also), default)

    @staticmethod
    def edge_change(distance: float, *, degree: int, least_degree: int = 1) -> float:
        """How much people's data move in all, in EMD, if somebody replaces one neighbour, the edge being undirected.

        Their own data move by distance/degree; the neighbour that is lost and the one that is won have one item less
        and one more, each a move of at most the diameter for one part in their numbers of neighbours.

        Args:
            distance: Between the old and the new neighbour, as a share of the diameter.
            degree: How many neighbours the person has.
            least_degree: The least number of neighbours that anybody has; public.

        >>> people = Covariates(["ann", "bob", "cem"], [[0.0], [1.0], [4.0]])
        >>> round(people.edge_change(0.1, degree=20, least_degree=20), 6)
        0.105
        """
        for name, value in (("degree", degree), ("least_degree", least_degree)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ParameterError(f"{name} is {value!r}.", allowed="a whole number, 1 or more", fix=f"{name}=20")
        if not 0.0 <= distance <= 1.0:
            raise ParameterError(f"distance is {distance!r}.", allowed="a share of the diameter, 0 to 1", fix="0.1")
        return distance / degree + 2.0 / least_degree

    def _spec(self) -> dict[str, Any]:
        """Plain data, under the name by which ledgers and studies have known it from the first: ``graph``."""
        return super()._spec() | {"kind": "graph", "labels": list(self.nodes)}


def caveat(space: Space) -> str:
    """What promises about one person's data do not say in a space, for plans and statements: whose data an edge is in.

    >>> caveat(Covariates(["ann", "bob"], [[0.0], [1.0]]))[:38]
    'a row is in the data of one person; an'
    """
    if not isinstance(base_space(space), Covariates):
        return ""
    return (
        "a row is in the data of one person; an undirected edge is in those of both its ends, and replacing one "
        "neighbour then changes three people's data: α (d/degree + 2/least degree) instead of α d/degree"
    )


def _directions(rows: Floats) -> Floats:
    norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(norms > 0.0, norms, 1.0))


def _tied(rows: Floats) -> tuple[list[int], list[int], list[int]]:
    """The first row of each different one, in order; which of these each row is; and how many there are of it."""
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    item = place[inverse.ravel()]
    return first[order].tolist(), item.tolist(), np.bincount(item, minlength=len(order)).tolist()
