"""People (or other nodes of a private graph) with public covariates: a user's items are the neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from barrow.spaces.embedding import Embedding, Metric


class Covariates(Embedding):
    """Nodes with public vectors (interests, ages, places); the edges are what is private.

    A user is a node and holds its neighbours as items, so one row of records says (user, neighbour). EMD-DP then
    hides small changes of a person's circle: few neighbours replaced, or replaced by similar ones.

    Args:
        nodes: The public names of the nodes.
        covariates: One public vector for each node.
        metric: As for :class:`Embedding`.
        diameter: As for :class:`Embedding`.
        unit: As for :class:`Embedding`.
        default: The node that stands in for missing data; the first by default.

    >>> people = Covariates(["ann", "bob", "cem"], [[0.0], [1.0], [4.0]])
    >>> people.encode(["bob", "cem"]).tolist()
    [1, 2]
    """

    kind: ClassVar[str] = "covariates"

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
        super().__init__(
            labels if nodes is None else nodes,  # type: ignore[arg-type]
            vectors if covariates is None else covariates,  # type: ignore[arg-type]
            metric=metric,
            diameter=diameter,
            unit=unit,
            default=default,
        )

    def to_spec(self) -> dict[str, Any]:
        """Plain data, under the name by which ledgers and studies have known it from the first: ``graph``."""
        return super().to_spec() | {"kind": "graph"}
