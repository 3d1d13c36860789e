"""Any finite channel as a matrix of whole weights, checked against its claim."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.noise import RandomSource, exact_multinomials
from barrow.noise.source import checked_source
from barrow.numerics import Exact
from barrow.randomisers.claim import Weights, check_claim, exceeds_exp, lower, worst_triple
from barrow.randomisers.randomiser import TOTAL, Integers, Randomiser, item_counts, wanted_alpha0
from barrow.spaces import Space
from barrow.spaces.space import Floats, Ids, strips

MOST_ENTRIES = 2**22
"""The largest matrix: its tight alpha0 looks at all pairs of rows."""
_BLOCK_ENTRIES = 2**20


class MatrixRandomiser(Randomiser):
    """A channel given by its matrix: row x holds the whole weights of the reports on item x, which sum to 2^62.

    Args:
        space: The public space.
        weights: One row of whole numbers for each item, each row with the sum 2^62.
        alpha0: The claim; broken claims are refused. None states the tight one.
        labels: What the reports are called; the space's labels by default, where there are as many.
        kind: The name of the kind.

    >>> from barrow.spaces import Discrete
    >>> flip = matrix_randomiser(Discrete(["a", "b"]), [[0.75, 0.25], [0.25, 0.75]], alpha0="1.0987")
    >>> round(float(flip.alpha0_upper), 6), flip.from_counts([10, 0]).sum().item()
    (1.098612, 10)
    """

    kind = "matrix"

    def __init__(
        self, space: Space, weights: Weights, *, alpha0: Exact | None = None, labels: Sequence[str] | None = None
    ) -> None:
        self.space = space
        self.weights = np.array(weights, dtype=np.int64)
        self._check_rows()
        worst = (
            worst_triple(self.weights, space)
            if alpha0 is None
            else check_claim(self.weights, space, wanted_alpha0(alpha0))
        )
        self.alpha0_upper = Fraction(worst.alpha0_upper)
        if worst.item != worst.other:
            self._settle(worst.item, worst.other, worst.report)
        self.weights.setflags(write=False)
        self._cumulative = np.cumsum(self.weights, axis=1)
        self._square = labels is None and self.weights.shape[1] == space.items
        self._labels = self._named(labels)

    def _check_rows(self) -> None:
        k = self.space.items
        if self.weights.ndim != 2 or self.weights.shape[0] != k:
            raise ParameterError(
                f"The matrix has the shape {self.weights.shape}.",
                allowed=f"one row for each of the {k} items",
                fix="rows in the order of space.labels",
            )
        if self.weights.size > MOST_ENTRIES:
            raise too_many(self.space)
        negative = np.argwhere(self.weights < 0)
        if negative.size:
            x, y = (int(v) for v in negative[0])
            raise ParameterError(
                f"The row of {self.space.label(x)!r} holds a negative weight at report number {y}.",
                allowed="weights of 0 or more",
                fix="correct that row",
            )
        # 2^62 sums of at most 2^22 entries, each below 2^62: the wrapped sum is right only together with the float sum.
        sums, floats = self.weights.sum(axis=1), self.weights.astype(np.float64).sum(axis=1)
        wrong = np.flatnonzero((sums != TOTAL) | (np.abs(floats / TOTAL - 1.0) > 1e-6))
        if wrong.size:
            x = int(wrong[0])
            raise ParameterError(
                f"The row of {self.space.label(x)!r} sums to {floats[x] / TOTAL:.9g} instead of 1.",
                allowed="rows of whole weights that sum to 2^62",
                fix="matrix_randomiser(space, probabilities) rounds rows of probabilities",
            )

    def _settle(self, x: int, other: int, report: int) -> None:
        """The triple that decides, once more, by ball arithmetic."""
        ratio = Fraction(int(self.weights[x, report]), int(self.weights[other, report]))
        distance = lower(float(self.space.distance(x, other)), self.space)
        if exceeds_exp(ratio, self.alpha0_upper * distance):
            raise ParameterError(
                "The logarithms of this machine are less accurate than the claim's proof assumes.",
                allowed="logarithms within 4 units in the last place",
                fix="use another build of numpy",
            )

    def _named(self, labels: Sequence[str] | None) -> Sequence[str]:
        if self._square:
            return self.space.labels
        names = tuple(str(x) for x in labels) if labels is not None else ()
        if len(names) != self.weights.shape[1] or len(set(names)) != len(names):
            raise ParameterError(
                f"There are {len(names)} labels for {self.weights.shape[1]} reports.",
                allowed="one different label for each column of the matrix",
                fix="labels=[...]",
            )
        return names

    @property
    def reports(self) -> int:
        """The number of columns."""
        return int(self.weights.shape[1])

    @property
    def report_labels(self) -> Sequence[str]:
        """The labels of the columns."""
        return self._labels

    def from_items(self, ids: ArrayLike, *, source: RandomSource | None = None) -> Ids:
        """One report for each item: 62 random bits against the cumulative weights of its row."""
        items = self.space._ids(ids).ravel()
        sample = (checked_source(source).words(len(items)) >> np.uint64(2)).astype(np.int64)
        result = np.zeros(len(items), dtype=np.int64)
        for x in np.unique(items):
            here = items == x
            result[here] = np.searchsorted(self._cumulative[x], sample[here], side="right")
        return result

    def from_counts(self, counts: ArrayLike, *, source: RandomSource | None = None) -> Integers:
        """A tree of exact binomials for each item that occurs, a block of rows at a time."""
        held = item_counts(counts, self.space.items)
        rows = np.flatnonzero(held)
        result = np.zeros(self.reports, dtype=np.int64)
        step = max(1, _BLOCK_ENTRIES // self.reports)
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            result += exact_multinomials(held[some], self.weights[some], source=source).sum(axis=0)
        return result

    def weight_rows(self) -> list[list[int]] | None:
        """The rows of the matrix."""
        return [[int(w) for w in row] for row in self.weights.tolist()]

    def distortions(self) -> Floats | None:
        """The expected distance from each item to its report; None where reports are no items."""
        if not self._square:
            return None
        result = np.zeros(self.space.items)
        for rows, block in strips(self.space):
            result[rows] = (self.weights[rows].astype(np.float64) / TOTAL * block).sum(axis=1)
        return result

    def to_spec(self) -> dict[str, Any]:
        """Plain data, with the whole weights."""
        return {"kind": self.kind, "weights": self.weights.tolist(), "labels": list(self.report_labels)}


def whole_rows(probabilities: Floats) -> Weights:
    """Rows of probabilities as whole weights that sum to 2^62; the largest entry of a row takes up the difference."""
    weights = np.floor(probabilities * float(TOTAL)).astype(np.int64)
    weights[(weights == 0) & (probabilities > 0)] = 1
    rows = np.arange(len(weights))
    weights[rows, weights.argmax(axis=1)] += TOTAL - weights.sum(axis=1)
    return weights


def matrix_randomiser(
    space: Space, matrix: ArrayLike, *, alpha0: Exact | None = None, labels: Sequence[str] | None = None
) -> MatrixRandomiser:
    """A user's own channel: a matrix of probabilities, rounded to whole weights and checked against its claim.

    Args:
        space: The public space.
        matrix: One row of probabilities for each item; each row sums to 1 (up to 1e-9).
        alpha0: The claim; None states the tight one.
        labels: What the reports are called; needed where they are not the items.

    >>> from barrow.spaces import Discrete
    >>> matrix_randomiser(Discrete(["a", "b"]), [[0.9, 0.2], [0.5, 0.5]])
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The row of 'a' sums to 1.1 instead of 1.
      allowed: rows of probabilities that sum to 1
      fix:     divide the row by its sum
    """
    try:
        table = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.full((1, 1), np.nan)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all() or table.shape[0] != space.items:
        raise ParameterError(
            "The matrix is not a table of numbers with one row for each item.",
            allowed=f"{space.items} rows of probabilities, in the order of space.labels",
            fix="matrix=[[0.75, 0.25], [0.25, 0.75]] for two items",
        )
    for x, row in enumerate(table):
        if (row < 0).any():
            y = int(np.argmax(row < 0))
            raise ParameterError(
                f"The row of {space.label(x)!r} holds the probability {row[y]:.6g} at report number {y}.",
                allowed="probabilities of 0 or more",
                fix="correct that row",
            )
        if abs(float(row.sum()) - 1.0) > 1e-9:
            raise ParameterError(
                f"The row of {space.label(x)!r} sums to {row.sum():.9g} instead of 1.",
                allowed="rows of probabilities that sum to 1",
                fix="divide the row by its sum",
            )
    return MatrixRandomiser(space, whole_rows(table), alpha0=alpha0, labels=labels)


def too_many(space: Space) -> ParameterError:
    """The refusal of a space that is too large for a matrix."""
    most = int(MOST_ENTRIES**0.5)
    return ParameterError(
        f"The {space.kind} space has {space.items:,} items, too many for a matrix of all pairs.",
        allowed=f"at most {most:,} items; or a clustered or tree space, or noise in coordinates, which need no matrix",
        fix="a coarser grid, or randomiser 'laplace' on a Euclidean or embedding space",
    )
