"""What every operation on a ledger stands on: the store, the book read from it, the clock, the right to spend."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from barrow._version import __version__
from barrow.ledger.anchors import VARIABLE, check_anchor, move_anchor
from barrow.ledger.authority import refuse, whoami
from barrow.ledger.book import Book, Record, make_row
from barrow.ledger.budget import Composer
from barrow.ledger.chain import Row
from barrow.ledger.composers import composer_named
from barrow.ledger.errors import CorruptLedgerError, LedgerIOError
from barrow.ledger.model import Budget
from barrow.ledger.period import period_of, stamp
from barrow.ledger.store import Store

Clock = Callable[[], datetime]


class OpenLedger:
    """A store that was read and checked; may spend in the process that opened it, and nowhere else."""

    def __init__(
        self, store: Store, *, composer: Composer | None, clock: Clock | None, anchor: str | os.PathLike[str] | None
    ) -> None:
        self._store = store
        self._clock = utc_now if clock is None else clock
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._unusable: str | None = None
        self._book = Book.read(store.rows())
        self._given = composer
        place = anchor or os.environ.get(VARIABLE) or self._book.records[0].data["anchor"]
        self._anchor = None if place is None else Path(place)

    @property
    def budget(self) -> Budget:
        """What may be spent, and about what."""
        return self._book.budget

    @property
    def composer(self) -> Composer:
        """How charges add up; at promises always as sums."""
        budget = self._book.budget
        return composer_named(budget.composition) if self._given is None or budget.promises else self._given

    def __repr__(self) -> str:
        return f"<Ledger {self._store.name!r} of {self.budget.dataset!r}>"

    def __reduce__(self) -> NoReturn:
        refuse("A ledger cannot be copied or pickled: that would copy the right to spend.", "Ledger.open(path)")

    # The chain, as subclasses use it.

    @contextmanager
    def _appending(self) -> Iterator[_Appending]:
        """One transaction under the right to spend: see everything, add records, all or nothing."""
        with self._spending():
            with self._store.transaction() as transaction:
                work = _Appending(self, self._caught_up(transaction.rows))
                if self._anchor is not None:
                    check_anchor(work.book, self._anchor)
                yield work
                for row in work.rows:
                    transaction.append(row)
            self._book = work.book
            if self._anchor is not None and work.rows:
                move_anchor(work.book, self._anchor)

    @contextmanager
    def _spending(self) -> Iterator[None]:
        """Holds the authority to spend during one operation, and takes it away when the disk fails."""
        if os.getpid() != self._pid:  # Before the lock, which a fork may have copied while it was held.
            refuse("This ledger was opened in another process; a fork may not spend.", "Ledger.open(path)")
        with self._lock:
            if self._unusable is not None:
                refuse(
                    f"This ledger saw the disk fail and is not used again: {self._unusable}",
                    "mend the disk, then Ledger.open(path)",
                )
            try:
                yield
            except LedgerIOError as error:
                self._unusable = error.problem
                raise

    def _now(self, book: Book) -> tuple[str, str | None]:
        """The time, never before the newest record: a clock set back must not bring an old period back."""
        when = max(stamp(self._clock()), book.last.when)
        return when, None if book.budget.per is None else period_of(when, book.budget.per)

    def _fresh(self) -> Book:
        if os.getpid() != self._pid:  # A fork may read, but not wait for a lock that was copied while it was held.
            return self._caught_up(self._store.rows)
        with self._lock:
            self._book = self._caught_up(self._store.rows)
            return self._book

    def _caught_up(self, rows: Callable[[int], list[Row]]) -> Book:
        """The book with what others added; the newest record known before must still be there."""
        known = self._book.head
        newer = rows(known.length - 1)
        if not newer or newer[0].hash != known.hash:
            raise CorruptLedgerError.at(known.length, "it was replaced or cut off since this process read it")
        return self._book.extended(newer[1:])


class _Appending:
    """The book inside a transaction; records that are added are read back before they are written."""

    def __init__(self, ledger: OpenLedger, book: Book) -> None:
        self.book, self.rows = book, list[Row]()
        self.when, self.period = ledger._now(book)

    def add(self, kind: str, data: Mapping[str, Any]) -> Record:
        row = make_row(self.book.last, kind, data, when=self.when, who=whoami(), barrow=__version__)
        self.book = self.book.extended([row])  # Read back before it is written: a record must never be unreadable.
        self.rows.append(row)
        return self.book.last


def utc_now() -> datetime:
    """The time."""
    return datetime.now(UTC)
