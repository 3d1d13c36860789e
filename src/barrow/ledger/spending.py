"""Reserve before any noise is drawn, stage what was drawn, commit; never refund, never draw twice what was shown.

The order of a release::

    reservation = ledger.reserve(…, resumable=True)  # durable on disk when it returns, or an error and nothing is spent
    reservation.take()                               # once, in this process
    …draw, write the files where nobody reads them, fsync them…
    staged = ledger.stage(reservation, outputs, statement)   # from here on these values and no others
    ledger.commit(staged)
    …publish by one rename…

A crash leaves the release paid. ``ledger.resume(key, parameters)`` says where it stopped (docs/ledger.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from barrow.errors import ParameterError
from barrow.ledger.book import Book, Digests, Record
from barrow.ledger.budget import Account, Amount, SpaceRef
from barrow.ledger.charges import AdditiveComposer, Charge, charge_for, spent_by
from barrow.ledger.errors import AlreadyPaidError, OverBudgetError
from barrow.ledger.opened import Committed, OpenLedger, Reservation, Staged, next_period, refuse
from barrow.ledger.promises import Price
from barrow.ledger.store import digest
from barrow.numerics import Exact
from barrow.privacy import Event, Guarantee, event_from_json
from barrow.spaces.base import Space


class Spender(OpenLedger):
    """An open ledger from which releases are paid."""

    def check(
        self,
        *,
        event: Event | Mapping[str, Any],
        guarantee: Guarantee,
        space: Space | SpaceRef,
        dataset: str,
        users: int,
        items: int | None = None,
        charges: Sequence[Exact] | Price | None = None,
    ) -> Charge:
        """What a release would cost, or the error that :meth:`reserve` would raise now; spends and writes nothing."""
        book = self._fresh()
        return self._charge(book, event, guarantee, space, dataset=dataset, users=users, items=items, charges=charges)

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
        charges: Sequence[Exact] | Price | None = None,
        question: str | None = None,
        folder: str | None = None,
        resumable: bool = False,
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
            charges: The epsilon of this release at each promise of the budget, rounded up; by default what the
                guarantee and the space's own snapping give.
            question: The name of the question in the study.
            folder: Where the release will be published.
            resumable: The caller's word that nothing leaves the process before :meth:`stage`.

        Raises:
            OverBudgetError: It does not fit.
            AlreadyPaidError: The key was used before.
            NotCoveredError: The budget is about something else.
            LedgerIOError: The disk failed; this object is unusable from then on.
        """
        key, what = text_of(key, "key"), text_of(what, "what")
        ref, public = SpaceRef.of(space), dict(parameters or {})
        public_digest = digest(public)
        with self._appending() as work:
            if key in work.book.keys:
                raise already_paid(work.book, key)
            charge = self._charge(
                work.book, event, guarantee, ref, dataset=dataset, users=users, items=items, charges=charges
            )
            if work.period is not None and work.period != work.book.period:
                work.add("period", {"period": work.period})
            data = {
                "key": key,
                "what": what,
                "account": charge.account,
                "amount": {"loss": charge.amount.loss, "delta": charge.amount.delta},
                "charges": list(charge.epsilons) or None,
                "period": work.period,
                "event": charge.event.to_json(),
                "guarantee": guarantee.to_json(),
                "space": ref.to_json(),
                "items": items,
                "parameters": public,
                "parameters_digest": public_digest,
                "composer": AdditiveComposer.name if charge.epsilons else self.composer.name,
                "question": None if question is None else text_of(question, "question"),
                "folder": None if folder is None else text_of(folder, "folder"),
                "resumable": bool(resumable),
            }
            record = work.add("reserve", data)
        return Reservation(work.book.name, record.seq, key, charge)

    def resume(
        self,
        key: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        folder: str | None = None,
        forget: Callable[[Sequence[str]], None] | None = None,
    ) -> Reservation | Staged | Committed | None:
        """Where the release ``key`` stopped; None if it was never paid for.

        - A :class:`Reservation`: it was paid, and nothing had been staged: draw now, without a second charge. Whoever
          held the right before has lost it.
        - A :class:`Staged`: publish what was staged, if its digests are these; never draw again.
        - A :class:`Committed`: it is done.

        Args:
            key: Names the release.
            parameters: What it was paid for.
            folder: Where it will be published now.
            forget: Destroys what earlier attempts drew, given the folders that they named. It is called only where
                nothing was staged, and while nobody else can resume or stage.

        Raises:
            ParameterError: The key was paid for other parameters.
            AlreadyPaidError: The release was reserved without ``resumable``, so it may have been shown; or given up.
        """
        public_digest = digest(dict(parameters or {}))
        with self._appending() as work:
            book = work.book
            seq = book.keys.get(text_of(key, "key"))
            if seq is None:
                return None
            data, charge = book.records[seq - 1].data, book.charges[seq]
            if data["parameters_digest"] != public_digest:
                raise ParameterError(
                    f"The release {key!r} was paid for with other parameters (record {seq}).",
                    allowed="the same parameters under the same key",
                    fix="another key, which pays again",
                )
            if seq in book.committed:
                return Committed(book.name, seq, key, charge, *book.committed[seq])
            if seq in book.staged:
                return Staged(book.name, seq, key, charge, *book.staged[seq])
            if not data["resumable"] or seq in book.abandoned:
                raise already_paid(book, key)
            where = None if folder is None else text_of(folder, "folder")
            earlier = book.folders(seq)
            lease = work.add("resumed", {"reserve": seq, "folder": where}).seq
        reservation = Reservation(book.name, seq, key, charge, lease=lease)
        if forget is not None:  # after that record is durable: whoever still writes can no longer stage what goes here
            with self._appending() as work:
                self._mine(work.book, reservation)
                forget(earlier)
        return reservation

    def abandon(self, reservation: Reservation) -> Record:
        """Give up a release that was drawn and failed in a way that may depend on its values: never draw it again.

        Drawing until nothing fails would select values, which was not paid for (docs/proofs/budget.md, section 5).
        """
        with self._appending() as work:
            self._mine(work.book, reservation)
            if reservation.seq in work.book.staged:
                refuse(f"The release {reservation.key!r} was staged before.", "ledger.resume(key, parameters)")
            return work.add("abandoned", {"reserve": reservation.seq})

    def stage(self, reservation: Reservation, outputs: str, statement: str | None = None) -> Staged:
        """Write down what was drawn, when it is durable and before anybody sees it: from now on these values only."""
        digests = Digests(text_of(outputs, "outputs"), None if statement is None else text_of(statement, "statement"))
        with self._appending() as work:
            self._mine(work.book, reservation)
            if reservation.seq in work.book.staged:
                refuse(f"The release {reservation.key!r} was staged before.", "ledger.resume(key, parameters)")
            work.add("staged", {"reserve": reservation.seq, **digests._asdict()})
        return Staged(work.book.name, reservation.seq, reservation.key, reservation.charge, *digests)

    def commit(self, paid: Reservation | Staged, outputs: str | None = None, statement: str | None = None) -> Record:
        """Write down that a paid release happened, with the digests of what was released.

        A :class:`Staged` carries its digests; a :class:`Reservation` that is not resumable is committed with them. Of
        two processes that publish what was staged, the second gets the record of the first.
        """
        if outputs is None and isinstance(paid, Staged):
            outputs, statement = paid.outputs, paid.statement
        digests = Digests(
            text_of(outputs or "", "outputs"), None if statement is None else text_of(statement, "statement")
        )
        with self._appending() as work:
            book = work.book
            if isinstance(paid, Staged) and paid.ledger == book.name and book.committed.get(paid.seq) == digests:
                return next(r for r in book.records if r.kind == "commit" and r.data["reserve"] == paid.seq)
            self._mine(book, paid)
            if paid.seq not in book.staged and book.records[paid.seq - 1].data["resumable"]:
                refuse(f"The release {paid.key!r} was not staged.", "ledger.stage(reservation, outputs, statement)")
            if book.staged.get(paid.seq, digests) != digests:
                refuse(f"The release {paid.key!r} was staged with other values.", "publish what was staged")
            return work.add("commit", {"reserve": paid.seq, **digests._asdict()})

    # The check.

    def _mine(self, book: Book, paid: Reservation | Staged) -> None:
        if paid.ledger != book.name or book.keys.get(paid.key) != paid.seq:
            raise ParameterError(
                f"The reservation {paid.key!r} was not made in this ledger.",
                allowed="what reserve() of this ledger returned",
                fix="commit to the ledger that was charged",
            )
        if isinstance(paid, Reservation) and paid.lease != book.leases[paid.seq]:
            refuse(
                f"The release {paid.key!r} was resumed by another process, which alone may draw it.",
                "throw away what was drawn here",
            )
        if paid.seq in book.abandoned:
            refuse(f"The release {paid.key!r} was given up.", "release under a new key, which pays again")
        if paid.seq in book.committed:
            raise ParameterError(
                f"The release {paid.key!r} was committed before.",
                allowed="one commit for each reservation",
                fix="nothing is left to do",
            )

    def _charge(
        self,
        book: Book,
        event: Event | Mapping[str, Any],
        guarantee: Guarantee,
        space: Space | SpaceRef,
        *,
        dataset: str,
        users: int,
        items: int | None,
        charges: Sequence[Exact] | Price | None,
    ) -> Charge:
        """The charge of a release, which fits, or an error."""
        known = event_from_json(event.to_json() if isinstance(event, Event) else event)
        ref = SpaceRef.of(space)
        charge = charge_for(
            book.budget, known, guarantee, space=ref, dataset=dataset, users=users, items=items, charges=charges
        )
        when, period = self._now(book)
        charge = Charge(charge.account, charge.amount, known, guarantee, period, charge.epsilons)
        later = None
        if book.budget.per is not None:
            later = f"a new budget begins {next_period(when, book.budget.per)} for data collected from then on"
        if book.budget.promises:
            self._check_promises(book, charge, later or ref.records.advice or None)
        else:
            self._check_account(book, charge, later)
        return charge

    def _check_account(self, book: Book, charge: Charge, later: str | None) -> None:
        limit = book.budget.limit_of(charge.account)
        charges = spent_by([*book.charges.values(), charge], charge.account, charge.period)
        if self.composer.total(charges, limit).fits(limit):
            return
        raise OverBudgetError.of(
            charge.amount,
            self._left(book, charge.account, charge.period),
            symbol=book.budget.symbol_of(charge.account),
            whose=repr(book.budget.dataset) + (" (user level)" if charge.account == "user" else ""),
            later=later,
        )

    def _check_promises(self, book: Book, charge: Charge, later: str | None) -> None:
        budget, before = book.budget, list(book.charges.values())
        rows = []
        for account, promise, epsilon in zip(budget.accounts, budget.promises, charge.epsilons, strict=True):
            used = AdditiveComposer().total(spent_by(before, account, charge.period), budget.limit_of(account))
            rows.append((promise.text, used, budget.limit_of(account), Amount(epsilon, charge.amount.delta)))
        if not all((used + needed).fits(limit) for _, used, limit, needed in rows):
            raise OverBudgetError.of_promises(rows, whose=repr(budget.dataset), later=later)

    def _spent(self, book: Book, account: Account, period: str | None) -> Amount:
        return self.composer.total(
            spent_by(list(book.charges.values()), account, period), book.budget.limit_of(account)
        )

    def _left(self, book: Book, account: Account, period: str | None) -> Amount:
        return book.budget.limit_of(account).less(self._spent(book, account, period))


def already_paid(book: Book, key: str) -> AlreadyPaidError:
    """The error for a key that was paid for before."""
    seq = book.keys[key]
    record, done = book.records[seq - 1], book.committed.get(seq)
    resumable = record.data["resumable"] and seq not in book.abandoned
    return AlreadyPaidError.of(key, seq=seq, when=record.when, outputs=done and done.outputs, resumable=resumable)


def text_of(value: str, name: str) -> str:
    """``value``, if it is a text of 1 to 500 characters."""
    if not isinstance(value, str) or not value.strip() or len(value) > 500:
        raise ParameterError(f"{name} is {value!r}.", allowed="a text of 1 to 500 characters", fix=f"{name}='map-1'")
    return value
