"""Items that are known by name: the public table of labels, and looking up many records at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from barrow.errors import ParameterError
from barrow.spaces.records import Ids, Labels


class LabelIndex:
    """A public list of different labels and the way back from label to number.

    Whole numbers in records match labels that are written like them, so ``7`` finds ``"7"``. ``also`` are further names
    in records, with the label that each stands for.
    """

    def __init__(self, labels: Iterable[str], name: str = "labels", also: Mapping[str, int] | None = None) -> None:
        self.labels: Sequence[str] = tuple(labels)
        if not self.labels:
            raise ParameterError(f"{name} is empty.", allowed="at least one label", fix=f"{name}=['a', 'b']")
        wrong = next((x for x in self.labels if not isinstance(x, str) or not x), None)
        if wrong is not None:
            raise ParameterError(
                f"{name} holds {wrong!r}.", allowed="texts that are not empty", fix="write labels as text"
            )
        self._ids = {label: i for i, label in enumerate(self.labels)}
        if len(self._ids) != len(self.labels):
            seen: set[str] = set()
            twice = next(x for x in self.labels if x in seen or seen.add(x))  # type: ignore[func-returns-value]
            raise ParameterError(
                f"{name} holds {twice!r} twice.",
                allowed="different labels",
                fix="remove or rename one of them",
            )
        self._ids |= also or {}

    @property
    def known(self) -> Mapping[str, int]:
        """Every name that a record may hold, with the number of its label."""
        return self._ids

    def __len__(self) -> int:
        return len(self.labels)

    def find(self, records: Any) -> Ids:
        """Ids of ``records`` (a sequence or an array), -1 where a record is missing or unknown."""
        return Labels(self._ids).find(records)
