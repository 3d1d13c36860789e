"""The ledger: reserve before any noise is drawn, commit afterwards, never refund.

The order of a release::

    reservation = ledger.reserve(…)      # durable on disk when it returns, or an error and nothing is spent
    reservation.take()                   # once, in this process
    …draw noise, read data, release…
    ledger.commit(reservation, digest)   # a crash before this line leaves the release paid
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NoReturn

from barrow._version import __version__
from barrow.errors import ParameterError
from barrow.ledger.authority import Reservation, Verification, refuse, whoami
from barrow.ledger.book import Book, Record, make_row
from barrow.ledger.budget import Composer, charge_for, spent_by
from barrow.ledger.chain import Row, digest
from barrow.ledger.composers import composer_named
from barrow.ledger.errors import (
    AlreadyPaidError,
    CorruptLedgerError,
    LedgerIOError,
    OverBudgetError,
)
from barrow.ledger.model import Account, Amount, Budget, Charge, Head, SpaceRef
from barrow.ledger.period import next_period, period_of, stamp
from barrow.ledger.sqlite import SqliteStore
from barrow.ledger.store import Store
from barrow.ledger.table import Overview, overview
from barrow.privacy import Event, Guarantee, event_from_json
from barrow.spaces.base import Space


class Ledger:
    """A budget and what was spent of it, in a store. The object may spend only in the process that opened it.

    Args:
        store: Where the records are.
        composer: How charges add up, if not as the budget says.
        clock: The time; for tests.

    >>> import tempfile
    >>> from barrow.privacy import Emd, PureRelease
    >>> ref = SpaceRef("line", "sha256:00", 10, "km")
    >>> budget = Budget("visits", 1083, ref, Emd(250, "1e-9", model="central"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(folder + "/visits.ledger", budget)
    ...     paid = ledger.reserve(
    ...         key="map-1", what="heatmap 1 km", event=PureRelease(121, model="central"),
    ...         guarantee=Guarantee(Emd(121, model="central"), "pure", "def:emd-dp"),
    ...         space=ref, dataset="visits", users=1083, parameters={"cell": "1 km"},
    ...     )
    ...     paid.take()
    ...     _ = ledger.commit(paid, "sha256:" + "ab" * 32)
    ...     print(ledger.left().loss, ledger.head().length)
    129 3
    """

    def __init__(
        self,
        store: Store,
        *,
        composer: Composer | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._store = store
        self._clock = _utc_now if clock is None else clock
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._unusable: str | None = None
        self._book = Book.read(store.rows())
        self._composer: Composer = composer_named(self._book.budget.composition) if composer is None else composer

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        budget: Budget,
        *,
        composer: Composer | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> Ledger:
        """Make the file ``path`` with ``budget``; refused if anything is there already."""
        store = SqliteStore.create(path, [first_row(budget, clock)])
        return cls(store, composer=composer, clock=clock)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        composer: Composer | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> Ledger:
        """Open the ledger at ``path``; every link of its chain is checked."""
        return cls(SqliteStore(path), composer=composer, clock=clock)

    @property
    def budget(self) -> Budget:
        """What may be spent, and about what."""
        return self._book.budget

    @property
    def composer(self) -> Composer:
        """How charges add up."""
        return self._composer

    def reserve(
        self,
        *,
        key: str,
        what: str,
        event: Event | Mapping[str, Any],
        guarantee: Guarantee,
        space: Space | SpaceRef,
        dataset: str,
        users: int,
        items: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Reservation:
        """Pay for one release. When this returns, the payment is durable; it is never given back.

        Args:
            key: Names this release: a second payment under the same key is refused as already paid.
            what: One line for people.
            event: What the mechanism will do.
            guarantee: What an accountant says about that event.
            space: The space that the guarantee is about.
            dataset: The data set that the release is about.
            users: n, for which the guarantee was computed.
            items: m, for which a bounded guarantee was computed.
            parameters: Every other public parameter, as plain data.

        Raises:
            OverBudgetError: It does not fit.
            AlreadyPaidError: The key was used before.
            NotCoveredError: The budget is about something else.
            LedgerIOError: The disk failed; this object is unusable from then on.
        """
        key, what = _text(key, "key"), _text(what, "what")
        known = event_from_json(event.to_json() if isinstance(event, Event) else event)
        ref, public = SpaceRef.of(space), dict(parameters or {})
        public_digest = digest(public)
        with self._spending():
            with self._store.transaction() as transaction:
                book = self._caught_up(transaction.rows)
                if key in book.keys:
                    seq = book.keys[key]
                    raise AlreadyPaidError.of(
                        key, seq=seq, when=book.records[seq - 1].when, outputs=book.outputs.get(seq)
                    )
                charge = charge_for(book.budget, known, guarantee, space=ref, dataset=dataset, users=users, items=items)
                when, period = self._now(book)
                charge = Charge(charge.account, charge.amount, known, guarantee, period)
                self._check(book, charge, when)
                rows: list[Row] = []
                if period is not None and period != book.period:
                    rows.append(self._row(book.last, "period", {"period": period}, when))
                data = {
                    "key": key,
                    "what": what,
                    "account": charge.account,
                    "amount": {"loss": charge.amount.loss, "delta": charge.amount.delta},
                    "period": period,
                    "event": known.to_json(),
                    "guarantee": guarantee.to_json(),
                    "space": ref.to_json(),
                    "items": items,
                    "parameters": public,
                    "parameters_digest": public_digest,
                    "composer": self._composer.name,
                }
                rows.append(self._row(rows[-1] if rows else book.last, "reserve", data, when))
                after = book.extended(rows)  # Read back before it is written: a record must never be unreadable.
                for row in rows:
                    transaction.append(row)
            self._book = after
        return Reservation(book.name, rows[-1].seq, key, charge)

    def commit(self, reservation: Reservation, outputs: str) -> Record:
        """Write down that a paid release happened, with the digest of what was released."""
        outputs = _text(outputs, "outputs")
        with self._spending():
            with self._store.transaction() as transaction:
                book = self._caught_up(transaction.rows)
                seq = reservation.seq
                if reservation.ledger != book.name or book.keys.get(reservation.key) != seq:
                    raise ParameterError(
                        f"The reservation {reservation.key!r} was not made in this ledger.",
                        allowed="what reserve() of this ledger returned",
                        fix="commit to the ledger that was charged",
                    )
                if seq in book.outputs:
                    raise ParameterError(
                        f"The release {reservation.key!r} was committed before.",
                        allowed="one commit for each reservation",
                        fix="nothing is left to do",
                    )
                row = self._row(book.last, "commit", {"reserve": seq, "outputs": outputs}, self._now(book)[0])
                after = book.extended([row])
                transaction.append(row)
            self._book = after
        return after.last

    def left(self, account: Account = "main") -> Amount:
        """What is left of ``account``, in the current period where there are periods."""
        book = self._fresh()
        return self._left(book, account, self._now(book)[1])

    def records(self) -> tuple[Record, ...]:
        """All records, oldest first."""
        return self._fresh().records

    def events(self, account: Account = "main") -> tuple[Event, ...]:
        """The events of all paid releases of ``account``, oldest first, for an accountant to price anew."""
        return tuple(c.event for c in self._fresh().charges.values() if c.account == account)

    def head(self) -> Head:
        """Length and head hash: keep them elsewhere, and :meth:`verify` can show that nothing was cut off."""
        return self._fresh().head

    def verify(self, head: Head | str | None = None) -> Verification:
        """Read everything anew and check every link, every charge, and that ``head`` is part of the chain.

        Raises:
            CorruptLedgerError: Records were edited, swapped, dropped or cut off, or too much was spent.
        """
        anchor = Head.parse(head) if isinstance(head, str) else head
        book = Book.read(self._store.rows())
        if anchor is not None:
            if anchor.length > book.head.length:
                raise CorruptLedgerError.at(
                    book.head.length + 1, f"it is gone: the anchored head counts {anchor.length} records"
                )
            if book.records[anchor.length - 1].hash != anchor.hash:
                raise CorruptLedgerError.at(anchor.length, "it is not the record of the anchored head")
        same = all(r.data["composer"] == self._composer.name for r in book.records if r.kind == "reserve")
        if same:
            for account, period in {(c.account, c.period) for c in book.charges.values()}:
                if not self._spent(book, account, period).fits(book.budget.limit_of(account)):
                    raise CorruptLedgerError.at(book.head.length, "more was spent than the budget allows")
        return Verification(
            book.head,
            len(book.charges),
            len(book.charges) - len(book.outputs),
            anchor is not None,
            True if same else None,
        )

    def export(self) -> dict[str, Any]:
        """Everything as plain data, after :meth:`verify`; enough to check the chain without barrow."""
        self.verify()
        book = self._fresh()
        return {
            "format": "barrow ledger 1",
            "ledger": book.name,
            "head": {"length": book.head.length, "hash": book.head.hash},
            "records": [{"seq": row.seq, "body": row.body, "hash": row.hash} for row in self._store.rows()][
                : book.head.length
            ],
        }

    def overview(self) -> Overview:
        """What was spent, when, by whom, and what is left."""
        book = self._fresh()
        return overview(book, self._composer, self._now(book)[1])

    def __repr__(self) -> str:
        return f"<Ledger {self._store.name!r} of {self.budget.dataset!r}>"

    def _repr_html_(self) -> str:
        return self.overview().to_html()

    def __reduce__(self) -> NoReturn:
        refuse("A ledger cannot be copied or pickled: that would copy the right to spend.", "Ledger.open(path)")

    # The check and the chain.

    def _check(self, book: Book, charge: Charge, when: str) -> None:
        limit = book.budget.limit_of(charge.account)
        charges = spent_by([*book.charges.values(), charge], charge.account, charge.period)
        if self._composer.total(charges, limit).fits(limit):
            return
        later = None
        if book.budget.per is not None:
            later = f"a new budget begins {next_period(when, book.budget.per)} for data collected from then on"
        raise OverBudgetError.of(
            charge.amount,
            self._left(book, charge.account, charge.period),
            symbol=book.budget.symbol_of(charge.account),
            whose=repr(book.budget.dataset) + (" (user level)" if charge.account == "user" else ""),
            later=later,
        )

    def _spent(self, book: Book, account: Account, period: str | None) -> Amount:
        return self._composer.total(
            spent_by(list(book.charges.values()), account, period), book.budget.limit_of(account)
        )

    def _left(self, book: Book, account: Account, period: str | None) -> Amount:
        return book.budget.limit_of(account).less(self._spent(book, account, period))

    def _now(self, book: Book) -> tuple[str, str | None]:
        """The time, never before the newest record: a clock set back must not bring an old period back."""
        when = max(stamp(self._clock()), book.last.when)
        return when, None if book.budget.per is None else period_of(when, book.budget.per)

    def _row(self, before: Row | Record, kind: str, data: Mapping[str, Any], when: str) -> Row:
        return make_row(before, kind, data, when=when, who=whoami(), barrow=__version__)

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

    def _spending(self) -> _Spending:
        return _Spending(self)


class _Spending:
    """Holds the authority to spend during one operation, and takes it away when the disk fails."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def __enter__(self) -> None:
        ledger = self._ledger
        if os.getpid() != ledger._pid:  # Before the lock, which a fork may have copied while it was held.
            refuse("This ledger was opened in another process; a fork may not spend.", "Ledger.open(path)")
        ledger._lock.acquire()
        if ledger._unusable is not None:
            ledger._lock.release()
            refuse(
                f"This ledger saw the disk fail and is not used again: {ledger._unusable}",
                "mend the disk, then Ledger.open(path)",
            )

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, LedgerIOError):
            self._ledger._unusable = error.problem
        self._ledger._lock.release()


def first_row(budget: Budget, clock: Callable[[], datetime] | None = None) -> Row:
    """The record that begins the chain of ``budget``.

    >>> from barrow.privacy import Emd
    >>> first_row(Budget("visits", 3, SpaceRef("line", "sha256:00", 10, "km"), Emd(1))).seq
    1
    """
    when = stamp((clock or _utc_now)())
    # A name, not noise: it tells two ledgers with the same budget apart.
    data = {"ledger": str(uuid.uuid4()), "budget": budget.to_json()}
    return make_row(None, "init", data, when=when, who=whoami(), barrow=__version__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _text(value: str, name: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > 500:
        raise ParameterError(f"{name} is {value!r}.", allowed="a text of 1 to 500 characters", fix=f"{name}='map-1'")
    return value
