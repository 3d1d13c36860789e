"""What every operation on a ledger stands on: the store, the book read from it, the clock, the right to spend.

The right to draw what was paid for is a :class:`Reservation`: good for one draw, in one process.

One budget for each data set: two ledgers of one data set are refused.

A second ledger is a second budget, whether it was made beside the first or is a copy of it. What can be seen is what
lies in the same folder or database.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import msgspec

from barrow._version import __version__
from barrow.ledger.anchors import VARIABLE, check_anchor, move_anchor
from barrow.ledger.budget import Budget
from barrow.ledger.charges import Charge, Composer, composer_named
from barrow.ledger.errors import (
    CorruptLedgerError,
    LedgerIOError,
    MissingLedgerError,
    NoAuthorityError,
    TwinLedgerError,
)
from barrow.ledger.names import same_name
from barrow.ledger.state import LedgerState, Record, make_row
from barrow.ledger.store import ChainHead, Other, Row, Store

Clock = Callable[[], datetime]
_STAMP = "%Y-%m-%dT%H:%M:%SZ"


class Reservation:
    """The right to draw the noise of one paid release, once, in the process that paid.

    It cannot be copied or pickled, and a forked child cannot use it. ``lease`` is the record that gave the right.

    >>> from barrow.ledger.budget import Amount
    >>> from barrow.promises import Emd, Guarantee, PureRelease
    >>> charge = Charge("main", Amount(5, 0), PureRelease(5, model="central"), Guarantee(Emd(5), "pure", "def:emd-dp"))
    >>> reservation = Reservation("ledger-1", 2, "map-1", charge)
    >>> reservation.take()
    >>> reservation.take()
    Traceback (most recent call last):
    ...
    barrow.ledger.errors.NoAuthorityError: The noise of 'map-1' was already drawn once. Nothing was spent or released.
      fix:     pay again, under a new key
    """

    __slots__ = ("_lock", "_pid", "_taken", "charge", "key", "lease", "ledger", "seq")

    def __init__(self, ledger: str, seq: int, key: str, charge: Charge, *, lease: int | None = None) -> None:
        self.ledger, self.seq, self.key, self.charge = ledger, seq, key, charge
        self.lease = seq if lease is None else lease
        self._pid, self._taken, self._lock = os.getpid(), False, threading.Lock()

    @property
    def taken(self) -> bool:
        """Whether the noise was drawn, or is being drawn, in this process."""
        return self._taken

    def take(self) -> None:
        """Use the right: call it right before the noise is drawn. A second call is refused."""
        if os.getpid() != self._pid:
            refuse("This reservation was made in another process.", "reserve in the process that draws the noise")
        with self._lock:
            if self._taken:
                refuse(f"The noise of {self.key!r} was already drawn once.", "pay again, under a new key")
            self._taken = True

    def __reduce__(self) -> NoReturn:
        refuse("A reservation cannot be copied or pickled.", "reserve where the noise is drawn")


@dataclass(frozen=True)
class _AfterDraw:
    """A paid release that was drawn, with the digests of its values and of its whole statement."""

    ledger: str
    seq: int
    key: str
    charge: Charge
    outputs: str
    statement: str | None


class Staged(_AfterDraw):
    """A release that was drawn and written down, and not yet committed: these values may be shown, and no others.

    >>> Staged.__dataclass_fields__["outputs"].type
    'str'
    """


class Committed(_AfterDraw):
    """A release that is done.

    >>> Committed.__dataclass_fields__["statement"].type
    'str | None'
    """


@dataclass(frozen=True)
class Verification:
    """What :meth:`Ledger.verify` found to hold.

    ``anchored`` says whether a head that was kept elsewhere was compared, and ``within_limits`` whether what
    was spent was checked against the budget (None where another composer let it through).

    >>> Verification(ChainHead(3, "ab" * 32), 1, 0, True, True).to_json()["anchored"]
    True
    """

    head: ChainHead
    releases: int
    uncommitted: int
    anchored: bool
    within_limits: bool | None

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        rest = {name: value for name, value in vars(self).items() if name != "head"}
        return {"valid": True, "length": self.head.length, "hash": self.head.hash, **rest}


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
        self._state = LedgerState.read(store.rows())
        self._given = composer
        place = anchor or os.environ.get(VARIABLE) or self._state.records[0].data["anchor"]
        self._anchor = None if place is None else Path(place)

    @property
    def budget(self) -> Budget:
        """What may be spent, and about what."""
        return self._state.budget

    @property
    def governed(self) -> bool:
        """Whether it has approvers, as its first record says; the first ones are in it, others come by signatures."""
        return self._state.consent is not None

    @property
    def composer(self) -> Composer:
        """How charges add up; at promises always as sums."""
        budget = self._state.budget
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
                refuse_twins(work.state.budget.dataset, self._store.name, transaction.others())
                if self._anchor is not None:
                    check_anchor(work.state, self._anchor)
                yield work
                for row in work.rows:
                    transaction.append(row)
            self._state = work.state
            if self._anchor is not None and work.rows:
                move_anchor(work.state, self._anchor)

    @contextmanager
    def _spending(self) -> Iterator[None]:
        """Holds the authority to spend during one operation, and takes it away when the disk fails."""
        if os.getpid() != self._pid:  # Before the lock, which a fork may have copied while it was held.
            refuse("This ledger was opened in another process; a fork may not spend.", "Ledger.open(path)")
        with self._lock:
            if self._unusable is not None:
                refuse(
                    f"This ledger saw the disk fail and is not used again: {self._unusable}",
                    "repair the disk, then Ledger.open(path)",
                )
            try:
                yield
            except LedgerIOError as error:
                self._unusable = error.problem
                raise

    def _now(self, state: LedgerState) -> str:
        """The time, never before the newest record."""
        return max(stamp(self._clock()), state.last.when)

    def _fresh(self) -> LedgerState:
        if os.getpid() != self._pid:  # A fork may read, but not wait for a lock that was copied while it was held.
            return self._caught_up(self._store.rows)
        with self._lock:
            self._state = self._caught_up(self._store.rows)
            return self._state

    def _caught_up(self, rows: Callable[[int], list[Row]]) -> LedgerState:
        """The book with what others added; the newest record known before must still be there."""
        known = self._state.head
        newer = rows(known.length - 1)
        if not newer or newer[0].hash != known.hash:
            raise CorruptLedgerError.at(known.length, "it was replaced or cut off since this process read it")
        return self._state.extended(newer[1:])


class _Appending:
    """The book inside a transaction; records that are added are read back before they are written."""

    def __init__(self, ledger: OpenLedger, state: LedgerState) -> None:
        self.state, self.rows = state, list[Row]()
        self.when = ledger._now(state)

    def add(self, kind: str, data: Mapping[str, object]) -> Record:
        row = make_row(self.state.last, kind, data, when=self.when, who=whoami(), barrow=__version__)
        self.state = self.state.extended([row])  # Read back before it is written: a record must never be unreadable.
        self.rows.append(row)
        return self.state.last


def whoami() -> str:
    """The user of the operating system, for the record."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return os.environ.get("USERNAME") or os.environ.get("USER") or "unknown"


def refuse(problem: str, fix: str) -> NoReturn:
    """Raise the error of an object that may not spend."""
    raise NoAuthorityError(f"{problem} Nothing was spent or released.", fix=fix)


def utc_now() -> datetime:
    """The time."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """``moment`` in UTC to the second; later moments are larger texts."""
    return moment.astimezone(UTC).strftime(_STAMP)


def twins_of(dataset: str, others: Iterable[Other]) -> list[str]:
    """Those of ``others`` that are about ``dataset``; one that cannot be read is nobody's, as far as anybody can tell.

    >>> twins_of("visits", [Other("a", '{"budget": {"dataset": "Visits"}}'), Other("b", "{}")])
    ['a']
    """
    return sorted(other.where for other in others if _dataset(other.first) == same_name(dataset))


def refuse_second(dataset: str, others: Iterable[Other]) -> None:
    """Refuse to make a ledger of ``dataset`` beside an old one, whatever it is called."""
    result = twins_of(dataset, others)
    if result:
        raise MissingLedgerError(
            f"The data set {dataset!r} has a ledger already: {result[0]!r}. It was not touched.",
            allowed="one budget for each data set: its promises are kept by all releases together",
            fix=f"join it: ledger = {result[0]!r}, or name another data set if it is one",
        )


def refuse_twins(dataset: str, own: str, others: Iterable[Other]) -> None:
    """Refuse to spend from either of two ledgers of ``dataset``."""
    result = twins_of(dataset, others)
    if result:
        raise TwinLedgerError(
            f"There are two ledgers of the data set {dataset!r}: {', '.join(map(repr, [own, *result]))}. "
            "Nothing was spent.",
            allowed="one ledger: a copy beside it is a second budget",
            fix="find the one with the last release (barrow ledger show), and move the others away",
        )


def _dataset(first: str) -> str | None:
    try:
        return same_name(str(msgspec.json.decode(first)["budget"]["dataset"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
