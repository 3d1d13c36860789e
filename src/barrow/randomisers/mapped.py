"""Any function of the randomised item: a classifier, a coarser category, a topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.noise import RandomSource
from barrow.randomisers.randomiser import Integers, Randomiser
from barrow.spaces.space import Floats, Ids


class MappedRandomiser(Randomiser):
    """A randomiser followed by a public function of its report: post-processing, so alpha0 is that of the inner one.

    Args:
        inner: The randomiser of the item.
        answers: The answer for each report of ``inner``, in order.

    >>> from barrow.randomisers import randomised_response
    >>> from barrow.spaces import Discrete
    >>> fruit = mapped(randomised_response(Discrete(["fig", "saw", "pear"]), 2), lambda x: "tool" if x == "saw" else "food")
    >>> fruit.report_labels, fruit.from_counts([9, 0, 1]).sum().item()
    (('food', 'tool'), 10)
    """  # noqa: E501

    kind = "mapped"

    def __init__(self, inner: Randomiser, answers: Sequence[str]) -> None:
        if len(answers) != inner.reports:
            raise ParameterError(
                f"There are {len(answers)} answers for {inner.reports} reports.",
                allowed="one answer for each report, in order",
                fix="[classify(label) for label in randomiser.report_labels]",
            )
        self.inner, self.space, self.alpha0_upper = inner, inner.space, inner.alpha0_upper
        self._labels = tuple(dict.fromkeys(str(a) for a in answers))
        number = {label: i for i, label in enumerate(self._labels)}
        self._answer = np.array([number[str(a)] for a in answers], dtype=np.int64)

    @property
    def family(self) -> str | None:
        """That of the inner randomiser: a function of the multiset of its reports costs no more than they do."""
        return self.inner.family

    @property
    def description(self) -> str:
        """In plain words."""
        return f"{self.inner.description}, then a function of the report"

    @property
    def reports(self) -> int:
        """How many different answers there are."""
        return len(self._labels)

    @property
    def report_labels(self) -> Sequence[str]:
        """The answers, in the order of their first report."""
        return self._labels

    def from_items(self, ids: ArrayLike, *, source: RandomSource | None = None) -> Ids:
        """One answer for each item."""
        return np.asarray(self._answer[self.inner.from_items(ids, source=source)])

    def from_counts(self, counts: ArrayLike, *, source: RandomSource | None = None) -> Integers:
        """The histogram of answers."""
        result = np.zeros(self.reports, dtype=np.int64)
        np.add.at(result, self._answer, self.inner.from_counts(counts, source=source))
        return result

    def weight_rows(self) -> list[list[int]] | None:
        """Those of the inner randomiser, added up over the reports of each answer."""
        rows = self.inner.weight_rows()
        if rows is None:
            return None
        results = [[0] * self.reports for _ in rows]
        for row, sums in zip(rows, results, strict=True):
            for answer, weight in zip(self._answer.tolist(), row, strict=True):
                sums[answer] += weight
        return results

    def distortions(self) -> Floats | None:
        """That of the randomised item before the function."""
        return self.inner.distortions()

    def to_spec(self) -> dict[str, Any]:
        """Plain data: the inner randomiser and the answer for each of its reports."""
        return {"kind": self.kind, "inner": self.inner.to_spec(), "answers": [self._labels[i] for i in self._answer]}


def mapped(inner: Randomiser, function: Callable[[str], object]) -> MappedRandomiser:
    """``inner``, then ``function`` of the label of its report, e.g. a classifier; the function must be public.

    >>> from barrow.randomisers import randomised_response
    >>> from barrow.spaces import Discrete
    >>> mapped(randomised_response(Discrete(["a", "b"]), 1), str.upper).report_labels
    ('A', 'B')
    """
    return MappedRandomiser(inner, [str(function(label)) for label in inner.report_labels])
