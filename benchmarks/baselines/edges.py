"""Edges of the tree behind a space: runs of consecutive items, each with a length, whose masses give the EMD.

EMD(a, b) = sum over edges of length times |mass of a - b in the run| on discrete, clustered, tree and line spaces
(docs/proofs/closed-forms.md), so an estimate's expected EMD error is the sum of its expected absolute errors on runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.spaces import Space, edge_tree

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MEAN_ABSOLUTE = math.sqrt(2.0 / math.pi)
"""E|Z| of a standard normal variable."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Runs of items start .. end-1 and their lengths, in units of the diameter.

    >>> from barrow.spaces import Clustered
    >>> edges = Edges.of(Clustered.grid(2, 2, r=0.25))
    >>> edges.widths.tolist(), edges.lengths.tolist()
    ([2, 2, 1, 1, 1, 1], [0.375, 0.375, 0.125, 0.125, 0.125, 0.125])
    """

    starts: Integers
    ends: Integers
    lengths: Floats

    @classmethod
    def of(cls, space: Space) -> Edges:
        """The edges of a discrete, clustered, tree or line space, in the order of ``edge_tree(space)``."""
        tree = edge_tree(space)
        return cls(tree.starts, tree.ends, tree.lengths)

    @classmethod
    def of_items(cls, items: int) -> Edges:
        """One run for each item.

        >>> Edges.of_items(3).ends.tolist()
        [1, 2, 3]
        """
        each = np.arange(items)
        return cls(each, each + 1, np.ones(items))

    @property
    def widths(self) -> Integers:
        """How many items are in each run."""
        return self.ends - self.starts

    def masses(self, table: ArrayLike) -> Floats:
        """The sum over each run, along the last axis.

        >>> Edges.of_items(2).masses([[1.0, 2.0]]).tolist()
        [[1.0, 2.0]]
        """
        values = np.asarray(table, dtype=np.float64)
        running = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
        np.cumsum(values, axis=-1, out=running[..., 1:])
        return np.asarray(running[..., self.ends] - running[..., self.starts])


def sum_to_one(values: Floats) -> Floats:
    """The nearest vectors of sum 1, along the last axis: still unbiased, and never farther from a histogram.

    >>> sum_to_one(np.array([0.5, 0.7])).tolist()
    [0.4, 0.6]
    """
    excess = values.sum(axis=-1, keepdims=True) - 1.0
    return np.asarray(values - excess / values.shape[-1])


def checked_reference(reference: ArrayLike | None, items: int) -> Floats:
    """A histogram to predict the error at; the even one by default.

    >>> checked_reference(None, 2).tolist()
    [0.5, 0.5]
    """
    if reference is None:
        return np.full(items, 1.0 / items)
    result = np.asarray(reference, dtype=np.float64)
    if result.shape != (items,) or not (result >= 0.0).all() or abs(float(result.sum()) - 1.0) > 1e-6:
        raise ParameterError(
            "The reference is no histogram of the space.",
            allowed=f"{items} numbers of 0 or more that sum to 1; a public guess, e.g. the even histogram",
            fix="reference=None",
        )
    return result
