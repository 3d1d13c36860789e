"""The client: turns one person's items into a report, once."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import LedgerError, ParameterError
from barrow.local.memory import Memory
from barrow.local.report import Report
from barrow.local.study import LocalStudy
from barrow.mechanisms import UserCounts
from barrow.noise import system_source
from barrow.spaces import Space
from barrow.spaces.base import Ids, Unknown


class RememberingClient(ABC):
    """What every client obeys: a report is drawn once, and stored before it is handed out.

    Asking again gives the same report, even for other items: a second draw would be a second leak. There is no seed.

    >>> issubclass(LocalClient, RememberingClient)
    True
    """

    def __init__(self, digest: str, space: Space, length: int, memory: str | os.PathLike[str]) -> None:
        self.memory = Memory(memory)
        self._digest, self._space, self._length = digest, space, length

    @property
    def answered(self) -> tuple[str, ...]:
        """The digests of all studies that this memory holds reports for; their guarantees add up."""
        return tuple(self.memory.load())

    @abstractmethod
    def _draw(self, items: Ids) -> list[int]:
        """The numbers of a new report on these item ids."""

    def report(self, records: Any = None, *, ids: ArrayLike | None = None, unknown: Unknown = "error") -> Report:
        """The person's report: the remembered one, or a new one from their items.

        Args:
            records: The person's items as records of the space.
            ids: The same as item ids, instead of ``records``.
            unknown: What to do with records that the space does not know, as in ``space.encode``.
        """
        if (records is None) == (ids is None):
            raise ParameterError(
                "It is not clear which items the report is about.",
                allowed="records, or ids",
                fix="client.report([...])",
            )
        with self.memory.locked():
            known = self.memory.load().get(self._digest)
            if known is not None:
                return self._checked(known)
            items = self._space.encode(records, unknown=unknown) if ids is None else np.asarray(ids)
            values = tuple(int(v) for v in self._draw(items))
            name = "".join(f"{int(word):016x}" for word in system_source().words(2))
            report = Report(self._digest, name, values)
            self.memory.store(report)
            return report

    def _checked(self, report: Report) -> Report:
        if len(report.values) != self._length:
            raise LedgerError(
                "The remembered report does not fit the study.",
                allowed="a memory that this client wrote",
                fix="restore it from a copy",
            )
        return report


class LocalClient(RememberingClient):
    """One person's side of a local study. Their items never leave it; their report does.

    An empty list of items stands for the public default item.

    Args:
        study: The public study.
        memory: The file that remembers reports; one for each person.

    >>> import tempfile
    >>> from barrow.queries import distance_to
    >>> from barrow.spaces import Line
    >>> study = LocalStudy(distance_to(Line(0, 10, unit="km", step=1), 3), alpha=25)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     client = LocalClient(study, f"{folder}/reports.json")
    ...     first = client.report([2.5, 7.1])
    ...     first == client.report([9.0]), first.study == study.digest
    (True, True)
    """

    def __init__(self, study: LocalStudy, memory: str | os.PathLike[str]) -> None:
        self.study = study
        super().__init__(study.digest, study.query.space, study.query.dimension, memory)

    def _draw(self, items: Ids) -> list[int]:
        center = UserCounts.of_users(self._space, [items]).center(self.study.query)
        numbers: list[int] = self.study.noise.draw(center).integers.tolist()
        return numbers
