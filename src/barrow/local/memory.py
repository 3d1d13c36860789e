"""A client's memory: a small file that holds each report before it is handed out, so that none is drawn twice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from barrow.errors import LedgerError, plain_file
from barrow.ledger.store import write_durably
from barrow.local.report import Report, report_from_json

MEMORY_VERSION = 1
_KIND = "local memory"


class _MemoryFile(msgspec.Struct, forbid_unknown_fields=True):
    barrow: str
    version: int
    reports: list[dict[str, Any]]


class Memory:
    """Reports by study in one file; written to disk, whole, before a report leaves.

    The file is replaced in one step and forced to disk, so a crash leaves the old one or the new one. Two processes
    take turns by a lock beside it (on systems that have such locks).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     memory = Memory(Path(folder) / "reports.json")
    ...     report = Report("sha256:" + "0" * 64, "0" * 32, (5,))
    ...     with memory.locked():
    ...         memory.store(report)
    ...     memory.load()[report.study] == report
    True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the file's lock: what is read inside stays true until it is written."""
        try:
            import fcntl
        except ImportError:
            yield
            return
        try:
            handle = os.open(f"{self.path}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def load(self) -> dict[str, Report]:
        """The reports handed out so far, by the digest of their study; a damaged file is never taken for empty."""
        try:
            data = msgspec.json.decode(plain_file(self.path, "The memory").read_bytes(), type=_MemoryFile)
            reports = [report_from_json(x) for x in data.reports]
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):
            raise self._damaged() from None
        if (data.barrow, data.version) != (_KIND, MEMORY_VERSION):
            raise self._damaged()
        return {report.study: report for report in reports}

    def store(self, report: Report) -> None:
        """Adds a report durably."""
        reports = {**self.load(), report.study: report}
        self.write({"barrow": _KIND, "version": MEMORY_VERSION, "reports": [r.to_json() for r in reports.values()]})

    def write(self, data: Mapping[str, Any]) -> None:
        """Replaces the file in one step, forced to disk."""
        try:
            write_durably(self.path, json.dumps(data).encode(), mode=0o600)
        except OSError as error:
            raise self._unwritable(error) from None

    def _damaged(self) -> LedgerError:
        return LedgerError(
            f"The memory {str(self.path)!r} cannot be read, so earlier reports are unknown and no new one is drawn.",
            allowed="a file that this client wrote",
            fix="restore it from a copy; deleting it would allow a second report, which is a second leak",
        )

    def _unwritable(self, error: OSError) -> LedgerError:
        return LedgerError(
            f"The memory {str(self.path)!r} cannot be written ({error.strerror}), so no report is handed out.",
            allowed="a file in a folder that exists and can be written",
            fix="create the folder, or name another file",
        )
