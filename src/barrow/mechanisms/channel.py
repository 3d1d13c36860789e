"""A randomiser as a linear map: from the distribution of items to the distribution of reports, and back.

Along a tree (GKRR, any tree, randomised response) the map multiplies each contrast between the branches of a node by
one number, the chance of going on below it; so it is undone node by node, in time linear in the tree. Other channels
are undone by their matrix (docs/proofs/frequency.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.mechanisms.spans import DenseMoments, FlatMoments, SpanMoments, Spans, TreeMoments
from barrow.randomisers import MappedRandomiser, MatrixRandomiser, MixtureRandomiser, Randomiser
from barrow.randomisers.randomiser import TOTAL
from barrow.spaces.space import Floats

Integers = NDArray[np.int64]

MOST_CONDITION = 1e12
"""Matrices that magnify errors more than this are refused: a third of all digits would be left, or fewer."""
DOUBTFUL_CONDITION = 1e6
"""From here on the estimate is usable only with very many reports."""
_DENSE = 2048


class Channel(ABC):
    """The linear map of a randomiser: a distribution h of items becomes the distribution h A of reports.

    >>> issubclass(TreeChannel, Channel), issubclass(MatrixChannel, Channel)
    (True, True)
    """

    items: int
    reports: int

    @abstractmethod
    def forward(self, distribution: Floats) -> Floats:
        """The distribution h A of reports when items follow the distribution h."""

    @abstractmethod
    def backward(self, values: Floats) -> Floats:
        """A g: for each item, the expected value of g at its report."""

    @abstractmethod
    def inverse(self, reports: Floats) -> Floats:
        """The estimate v B, with A B = I: what the items must have been, on average."""

    @property
    @abstractmethod
    def condition(self) -> float:
        """By how much the inverse magnifies errors: the condition number of A."""

    @abstractmethod
    def moments(self, spans: Spans) -> SpanMoments:
        """The second moments of the estimated masses of ``spans``."""

    @abstractmethod
    def matrix(self) -> Floats:
        """A, one row for each item; for small spaces."""

    @abstractmethod
    def right_inverse(self) -> Floats:
        """B, one row for each report; for small spaces."""


class TreeChannel(Channel):
    """The channel "stop on the way down, then anywhere below" (docs/proofs/randomisers.md).

    Args:
        starts: The first item below each node; node 0 is the root, and parents come before their children.
        ends: The item after the last one below it.
        parents: The node above; -1 for the root.
        stops: The whole weight of stopping at each node; 2^62 in all on every way from the root to an item.

    >>> channel = TreeChannel([0, 0, 1], [2, 1, 2], [-1, 0, 0], [TOTAL // 2, TOTAL // 2, TOTAL // 2])
    >>> channel.forward(np.array([1.0, 0.0])).tolist(), channel.inverse(np.array([0.75, 0.25])).tolist()
    ([0.75, 0.25], [1.0, 0.0])
    """

    def __init__(self, starts: object, ends: object, parents: object, stops: object) -> None:
        self.starts, self.ends, self.parents, weights = (
            np.asarray(x, dtype=np.int64) for x in (starts, ends, parents, stops)
        )
        self.widths = self.ends - self.starts
        self.items = self.reports = int(self.ends[0])
        self._levels = _levels(self.parents)
        leaf = np.flatnonzero(self.widths == 1)
        self.leaves = np.zeros(self.items, dtype=np.int64)
        self.leaves[self.starts[leaf]] = leaf
        through = weights.copy()
        for level in self._levels[1:]:
            through[level] += through[self.parents[level]]
        # Below the root: the nodes of a level, the node above each, and where those of another node begin.
        pairs = [(level, self.parents[level]) for level in self._levels[1:]]
        self._steps = [(_run(level), above, np.flatnonzero(np.diff(above, prepend=-1))) for level, above in pairs]
        self._places = _run(self.leaves)
        self.stop = weights / float(TOTAL)
        # The chance of going on below a node, the factor on contrasts between its branches: rounded once.
        self.onward = (TOTAL - through) / float(TOTAL)
        self._inner = self.widths > 1
        least = float(self.onward[self._inner].min(initial=1.0))
        if least <= 0.0:
            raise _singular("the reports of some items have the same distribution")
        self._condition = 1.0 / least

    @classmethod
    def of(cls, randomiser: MixtureRandomiser) -> TreeChannel:
        """The map of a mixture randomiser.

        >>> from barrow.randomisers import gkrr
        >>> from barrow.spaces import Clustered
        >>> channel = TreeChannel.of(gkrr(Clustered.grid(2, 3, r=0.1), 2))
        >>> np.allclose(channel.inverse(channel.forward(np.arange(6) / 15)), np.arange(6) / 15)
        True
        """
        shape = randomiser.shape
        return cls(shape.starts, shape.ends, shape.parents, randomiser.stops)

    def masses(self, values: Floats) -> Floats:
        """The sum of ``values`` below each node, added up from below: what is positive loses no digits."""
        mass = np.zeros(len(self.parents))
        mass[self._places] = values
        for level, above, heads in reversed(self._steps):
            mass[above[heads]] = np.add.reduceat(mass[level], heads)
        return mass

    def forward(self, distribution: Floats) -> Floats:
        """Each node spreads what stops there evenly below it: a sum of positive numbers."""
        share = self.stop / self.widths * self.masses(np.asarray(distribution, dtype=np.float64))
        for level, above, _ in self._steps:
            share[level] += share[above]
        return np.asarray(share[self._places])

    def backward(self, values: Floats) -> Floats:
        """The same, since A[x, y] depends on where x and y part alone."""
        return self.forward(values)

    def inverse(self, reports: Floats) -> Floats:
        """Node by node from the root: each contrast between branches, divided by the chance of going on."""
        mean = self.masses(np.asarray(reports, dtype=np.float64)) / self.widths
        result = mean.copy()
        for level, above, _ in self._steps:
            result[level] = result[above] + (mean[level] - mean[above]) / self.onward[above]
        return np.asarray(result[self._places])

    @property
    def condition(self) -> float:
        """1 over the least chance of going on; A is symmetric with eigenvalues 1 and those chances."""
        return self._condition

    @cached_property
    def flat(self) -> bool:
        """Whether all items are right below the root."""
        return len(self._levels) <= 2

    def moments(self, spans: Spans) -> SpanMoments:
        """In closed form where the spans are nodes of the tree, or all items are right below the root."""
        if self.flat:
            return FlatMoments(spans, float(self.onward[0]), self.items)
        nodes = self._nodes(spans)
        if nodes is not None:
            return TreeMoments(self, nodes)
        if self.items > _DENSE:
            raise ParameterError(
                f"The randomiser's tree is not the tree of the space, and there are {self.items:,} items.",
                allowed=f"at most {_DENSE:,} items where the trees differ",
                fix="tree_response(space, alpha0) follows the space's own tree",
            )
        return DenseMoments(spans, self.right_inverse())

    def _nodes(self, spans: Spans) -> Integers | None:
        """The node of each span; None where some span is none."""
        if not np.array_equal(spans.order, np.arange(self.items)):
            return None
        known = {(int(a), int(b)): v for v, (a, b) in enumerate(zip(self.starts, self.ends, strict=True))}
        results = [known.get((a, b), -1) for a, b in zip(spans.starts.tolist(), spans.ends.tolist(), strict=True)]
        return None if -1 in results else np.array(results, dtype=np.int64)

    @property
    def levels(self) -> list[Integers]:
        """The nodes of each depth, from the root down."""
        return self._levels

    def matrix(self) -> Floats:
        """A; row by row it is the distribution of the reports on one item."""
        return np.array([self.forward(row) for row in np.eye(self.items)])

    def right_inverse(self) -> Floats:
        """The inverse of A, which is symmetric."""
        return np.array([self.inverse(row) for row in np.eye(self.items)])


class MatrixChannel(Channel):
    """A channel given by its matrix; of all right inverses the one with the least variance at even items is taken.

    >>> MatrixChannel(np.array([[0.75, 0.25], [0.25, 0.75]])).inverse(np.array([0.5, 0.5])).tolist()
    [0.5, 0.5]
    >>> MatrixChannel(np.array([[0.5, 0.5], [0.5, 0.5]]))
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The randomiser cannot be undone: its matrix is singular (its condition number is
    infinite).
      allowed: reports whose laws differ for every mixture of items
      fix:     a larger alpha (or alpha0), a coarser space, or randomiser 'response', which can always be undone
    """

    def __init__(self, matrix: Floats) -> None:
        self._matrix = np.asarray(matrix, dtype=np.float64)
        self.items, self.reports = self._matrix.shape
        if self.reports < self.items:
            raise _singular(f"there are {self.reports:,} different reports for {self.items:,} items")
        self._inverse, self._condition = _right_inverse(self._matrix)

    def forward(self, distribution: Floats) -> Floats:
        """The product h A."""
        return np.asarray(distribution @ self._matrix)

    def backward(self, values: Floats) -> Floats:
        """The product A g."""
        return np.asarray(self._matrix @ values)

    def inverse(self, reports: Floats) -> Floats:
        """The product v B."""
        return np.asarray(reports @ self._inverse)

    @property
    def condition(self) -> float:
        """The norm of A times the norm of B, for sums of absolute values."""
        return self._condition

    def moments(self, spans: Spans) -> SpanMoments:
        """By the columns of B, added up over each span."""
        return DenseMoments(spans, self._inverse)

    def matrix(self) -> Floats:
        """A."""
        return self._matrix

    def right_inverse(self) -> Floats:
        """B."""
        return self._inverse


def channel_of(randomiser: Randomiser) -> Channel:
    """The linear map of a randomiser; refused where it has none that can be undone.

    >>> from barrow.randomisers import randomised_response
    >>> from barrow.spaces import Discrete
    >>> round(channel_of(randomised_response(Discrete(["a", "b"]), 1)).condition, 3)
    2.164
    """
    if isinstance(randomiser, MixtureRandomiser):
        return TreeChannel.of(randomiser)
    return MatrixChannel(_probabilities(randomiser))


def _probabilities(randomiser: Randomiser) -> Floats:
    if isinstance(randomiser, MixtureRandomiser):
        if randomiser.space.items > _DENSE:
            raise _singular(f"it is a function of reports on {randomiser.space.items:,} items, too many for a matrix")
        return TreeChannel.of(randomiser).matrix()
    if isinstance(randomiser, MatrixRandomiser):
        return randomiser.weights.astype(np.float64) / TOTAL
    if isinstance(randomiser, MappedRandomiser):
        inner = _probabilities(randomiser.inner)
        table = np.zeros((len(inner), randomiser.reports))
        np.add.at(table.T, randomiser._answer, inner.T)
        return table
    raise ParameterError(
        f"The distribution of the reports is not known as a matrix ({randomiser.description}), so it cannot be undone.",
        allowed="gkrr, tree, response, exponential, planar_laplace, matrix, or mapped of these",
        fix='randomiser = "response"; or the question "histogram", which needs no randomiser',
    )


def _right_inverse(matrix: Floats) -> tuple[Floats, float]:
    """B = W A^T (A W A^T)^-1 with W = 1/(the mean distribution of reports), which is the inverse where A is square."""
    distribution = matrix.mean(axis=0)
    seen = np.flatnonzero(distribution > 0.0)
    table = matrix[:, seen]
    inverse = np.zeros((matrix.shape[1], len(matrix)))
    if len(seen) < len(matrix):
        raise _singular(f"there are {len(seen):,} different reports for {len(matrix):,} items")
    try:
        if len(seen) == len(matrix):
            inverse[seen] = np.linalg.inv(table)
        else:
            weighted = table / distribution[seen]
            inverse[seen] = np.linalg.solve(weighted @ table.T, weighted).T
    except np.linalg.LinAlgError:
        raise _singular("its matrix is singular (its condition number is infinite)") from None
    condition = float(np.abs(matrix).sum(axis=1).max() * np.abs(inverse).sum(axis=1).max())
    residue = float(np.abs(matrix @ inverse - np.eye(len(matrix))).max())
    if not condition <= MOST_CONDITION or not residue <= 1e-3:
        raise _singular(f"the condition number of its matrix is {condition:.3g}, and at most {MOST_CONDITION:g} can do")
    return inverse, condition


def _singular(why: str) -> ParameterError:
    return ParameterError(
        f"The randomiser cannot be undone: {why}.",
        allowed="reports whose laws differ for every mixture of items",
        fix="a larger alpha (or alpha0), a coarser space, or randomiser 'response', which can always be undone",
    )


def _run(ids: Integers) -> Integers | slice[int, int, None]:
    """The ids, as a slice where they follow each other: then nothing is copied to look at them."""
    follow = len(ids) > 0 and bool((np.diff(ids) == 1).all())
    return slice(int(ids[0]), int(ids[-1]) + 1) if follow else ids


def _levels(parents: Integers) -> list[Integers]:
    """The nodes of each depth; nodes of one depth with the same parent stand together."""
    reached = np.zeros(1, dtype=np.int64)
    levels = [reached]
    order = np.argsort(parents, kind="stable")
    firsts = np.searchsorted(parents[order], np.arange(len(parents)))
    counts = np.bincount(parents[1:], minlength=len(parents)) if len(parents) > 1 else np.zeros(1, dtype=np.int64)
    while True:
        some = reached[counts[reached] > 0]
        if len(some) == 0:
            return levels
        number = counts[some]
        ends = np.cumsum(number)
        offsets = np.arange(int(ends[-1])) - np.repeat(ends - number, number)
        reached = order[np.repeat(firsts[some], number) + offsets]
        levels.append(reached)
