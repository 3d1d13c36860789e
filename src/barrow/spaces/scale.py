"""Answers in order, such as never, sometimes, often, always: each one step from the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from barrow.errors import ParameterError
from barrow.spaces.line import Line
from barrow.spaces.records import Formula, LabelIndex, Labels, Reads


@dataclass(frozen=True, eq=False, repr=False)
class Scale(Line):
    """Answers in their order, numbered from 1 on; records are the answers, and their distance is a number of steps.

    Everything that a line can be asked can be asked of it: means and quantiles are numbers of answers.

    Args:
        answers: The public answers, at least two, in order.
        default: The answer that stands in for missing data; the first by default.

    >>> often = Scale(["never", "sometimes", "often", "always"])
    >>> often.encode(["often", "never"]).tolist(), often.distance(0, 2).item() == 2 / 3, often.label(3)
    ([2, 0], True, 'always')
    """

    kind: ClassVar[str] = "scale"
    answers: LabelIndex

    def __init__(self, answers: Sequence[str], *, default: str | None = None) -> None:
        index = LabelIndex(answers, "answers")
        if len(index) < 2:
            raise ParameterError(
                "The scale has one answer.",
                allowed="at least two, in order",
                fix='["never", "sometimes", "often"]',
            )
        vars(self).update(answers=index)
        number = None if default is None else index.known.get(default, -1) + 1
        if number == 0:
            raise ParameterError(
                f"default is {default!r}.", allowed="one of the answers", fix=f"default={index.labels[0]!r}"
            )
        super().__init__(1, len(index), unit="steps", step=1, whole=True, default=number)

    def label(self, item: int) -> str:
        """The answer with this number."""
        return self.answers.labels[item]

    @property
    def default_item(self) -> int:
        """The answer that stands in for missing data."""
        return 0 if self.default is None else int(self.default) - 1

    @property
    def reads(self) -> Reads:
        """An answer."""
        return Reads()

    @property
    def formula(self) -> Formula:
        """The table of answers."""
        return Labels(self.answers.known)

    def _metric_name(self) -> str:
        """That of this scale alone: steps of other answers are other steps."""
        return f"{self.kind} {self.digest}"

    def _spec(self) -> dict[str, Any]:
        return self._plain("answers", default=None if self.default is None else self.label(self.default_item))
