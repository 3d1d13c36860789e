"""What a store must do: keep rows in order, add some under one exclusive lock, and lie about nothing.

A store knows nothing of budgets. Every store passes the same suite (tests/ledger/store_suite.py).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from barrow.ledger.chain import Row


class Transaction(Protocol):
    """Sight of all rows and the right to add some, while nobody else can.

    >>> sorted(name for name in vars(Transaction) if not name.startswith("_"))
    ['append', 'rows']
    """

    def rows(self, after: int = 0) -> list[Row]:
        """The rows whose number is above ``after``, in order."""

    def append(self, row: Row) -> None:
        """Add ``row``, whose number must be one more than the last."""


class Store(Protocol):
    """Where the rows of a ledger live.

    The four promises:

    - inside :meth:`transaction` nobody else, in this or another process, can add rows;
    - when its block has ended without an error, the appended rows are durable: they survive a power cut;
    - when it ended with an error, none of them is there, or the error is a
      :class:`~barrow.ledger.errors.LedgerIOError`, after which nobody knows;
    - rows are never changed and never removed.

    >>> sorted(name for name in vars(Store) if not name.startswith("_"))
    ['name', 'rows', 'transaction']
    """

    @property
    def name(self) -> str:
        """What people call this store, e.g. its path."""

    def rows(self, after: int = 0) -> list[Row]:
        """The rows whose number is above ``after``, in order, of one moment."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """An exclusive, durable, all-or-nothing block."""


def lost_rows(rows: Sequence[Row], after: int) -> int | None:
    """The number of the first row that is not one more than the row before it; None if there is none."""
    for expected, row in enumerate(rows, start=after + 1):
        if row.seq != expected:
            return row.seq
    return None


def fsync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable; without it a new file can vanish in a power cut."""
    if os.name == "nt":
        return  # Windows cannot open folders; NTFS journals names.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
