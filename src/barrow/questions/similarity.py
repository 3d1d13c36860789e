"""How similar people's items are to public vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from barrow.numerics import Exact
from barrow.queries import Query, linear_embedding, similarity
from barrow.questions.shaped_holders import SeveralValues
from barrow.spaces import Space


@dataclass(frozen=True, repr=False)
class Similarity(SeveralValues):
    """The mean inner product of people's items with public vectors (the cosine, where distances are angles).

    Args:
        to: One vector a row.
        names: What the vectors are called.
        step: The public grid of the products.

    >>> from barrow.spaces import Embedding
    >>> Similarity([[1, 0]]).query(Embedding(["a", "b"], [[1, 0], [0, 1]])).dimension
    1
    """

    kind: ClassVar[str] = "similarity"
    to: ArrayLike
    names: Sequence[str] | None = None
    step: Exact | None = None

    def query(self, space: Space) -> Query:
        """The question on ``space``."""
        return similarity(space, self.to, names=self.names, step=self.step)


@dataclass(frozen=True, repr=False)
class Projection(SeveralValues):
    """The mean of people's items under a public linear map.

    Args:
        matrix: One output a row.
        names: What the outputs are called.
        unit: Their unit.
        step: Their public grid.

    >>> from barrow.spaces import Euclidean
    >>> Projection([[1, 1]]).query(Euclidean([0, 0], [1, 1], step=0.5)).dimension
    1
    """

    kind: ClassVar[str] = "projection"
    matrix: ArrayLike
    names: Sequence[str] | None = None
    unit: str = ""
    step: Exact | None = None

    def query(self, space: Space) -> Query:
        """The question on ``space``."""
        return linear_embedding(space, self.matrix, names=self.names, unit=self.unit, step=self.step)
