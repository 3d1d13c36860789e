"""The client: turns one person's items into a report, once."""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import ArrayLike

from barrow.errors import LedgerError, ParameterError
from barrow.local.memory import Memory
from barrow.local.report import Report
from barrow.local.study import LocalStudy
from barrow.mechanisms import UserCounts
from barrow.noise import system_source
from barrow.spaces.base import Unknown


class LocalClient:
    """One person's side of a local study. Their items never leave it; their report does.

    A report is written to the memory before it is handed out, and asking again gives the same report, even for other
    items: a second draw would be a second leak. There is no seed.

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
        self.memory = Memory(memory)

    @property
    def answered(self) -> tuple[str, ...]:
        """The digests of all studies that this memory holds reports for; their guarantees add up."""
        return tuple(self.memory.load())

    def report(self, records: Any = None, *, ids: ArrayLike | None = None, unknown: Unknown = "error") -> Report:
        """The person's report: the remembered one, or a new one from their items.

        Args:
            records: The person's items as records of the space; an empty list stands for the public default item.
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
            known = self.memory.load().get(self.study.digest)
            if known is not None:
                return self._checked(known)
            space = self.study.query.space
            items = space.encode(records, unknown=unknown) if ids is None else ids
            center = UserCounts.of_users(space, [items]).center(self.study.query)
            values = self.study.noise.draw(center)
            name = "".join(f"{int(word):016x}" for word in system_source().words(2))
            report = Report(self.study.digest, name, tuple(int(v) for v in values.integers.tolist()))
            self.memory.store(report)
            return report

    def _checked(self, report: Report) -> Report:
        if len(report.values) != self.study.query.dimension:
            raise LedgerError(
                "The remembered report does not fit the study.",
                allowed="a memory that this client wrote",
                fix="restore it from a copy",
            )
        return report
