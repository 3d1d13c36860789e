"""Reserve before any noise is drawn, stage what was drawn, commit; never refund, never draw twice what was shown.

The order of a release::

    reservation = ledger.reserve(…, resumable=True)  # durable on disk when it returns, or an error and nothing is spent
    reservation.take()                               # once, in this process
    …draw, write the files where nobody reads them, fsync them…
    staged = ledger.stage(reservation, outputs, statement)   # from here on these values and no others
    ledger.commit(staged)
    …publish by one rename…

A crash leaves the release paid. ``ledger.resume(key, parameters)`` says where it stopped (docs/ledger.md).

Which columns the releases of a ledger are about: the same in all of them, or their sum says nothing of one person.

A promise is about the records of a person. Who a person is, how often a record counts, in which period it lies and in
which group a person is are read from columns. Were one release to read them elsewhere, a change that is charged to one
period, group or person by the first would be a change in others for the second (docs/proofs/scopes.md). A cast of the
time may move records to another day, and a promise "(share, another group)" is about the columns of hidden groups: what
one study calls hidden another may read at no price (docs/proofs/private-groups.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Unpack

import msgspec

from barrow.errors import ParameterError
from barrow.ledger.approvals import release_digest
from barrow.ledger.budget import Account, Amount, SpaceRef
from barrow.ledger.charges import (
    AdditiveComposer,
    Charge,
    ReleaseFacts,
    account_total,
    charge_for,
    keeps_promises,
    limits_at,
    totals_at,
    ways_to_pay,
)
from barrow.ledger.errors import AlreadyPaidError, NotCoveredError, OverBudgetError
from barrow.ledger.opened import Committed, OpenLedger, Reservation, Staged, refuse
from barrow.ledger.state import ASKED, Digests, LedgerState, Record, reads_to_json
from barrow.ledger.store import canonical, digest


class Spender(OpenLedger):
    """An open ledger from which releases are paid."""

    def check(self, *, parameters: Mapping[str, object] | None = None, **release: Unpack[ReleaseFacts]) -> Charge:
        """What a release would cost, or the error that :meth:`reserve` would raise now; spends and writes nothing."""
        state = self._fresh()
        check_columns(state, parameters or {})
        return self._fitting(state, charge_for(state.budget, **release), SpaceRef.of(release["space"]))

    def proposed(
        self,
        *,
        parameters: Mapping[str, object] | None = None,
        question: str | None = None,
        **release: Unpack[ReleaseFacts],
    ) -> dict[str, object]:
        """Everything about a release by whose digest approvals name it, with what :meth:`check` says it costs."""
        asked = _asked(self.check(parameters=parameters, **release), dict(parameters or {}), question, release)
        return msgspec.json.decode(canonical(asked), type=dict[str, object])

    def check_approved(self, asked: Mapping[str, object]) -> None:
        """Refuse a release, as :meth:`proposed` says it, that too few have approved; and all while it is frozen."""
        state = self._fresh()
        if state.consent is not None:
            state.consent.require(release_digest(asked), self._now(state))

    def reserve(
        self,
        *,
        key: str,
        what: str,
        parameters: Mapping[str, object] | None = None,
        question: str | None = None,
        folder: str | None = None,
        resumable: bool = False,
        earlier: Callable[[Sequence[Record]], Record | None] | None = None,
        **release: Unpack[ReleaseFacts],
    ) -> Reservation:
        """Pay for one release. When this returns, the payment is durable; it is never given back.

        Args:
            key: Names this release: a second payment under the same key is refused as already paid.
            what: One line for people.
            parameters: Every other public parameter, as plain data.
            question: The name of the question in the study.
            folder: Where the release will be published.
            resumable: The caller's word that nothing leaves the process before :meth:`stage`.
            earlier: Finds a payment among the records that was for the same: it is refused as already paid.
            **release: What it does and whom it is about: :class:`barrow.ledger.charges.ReleaseFacts`.

        Raises:
            OverBudgetError: It does not fit.
            AlreadyPaidError: The key was used before.
            NotCoveredError: The budget is about something else.
            LedgerIOError: The disk failed; this object is unusable from then on.
        """
        key, what = text_of(key, "key"), text_of(what, "what")
        public = dict(parameters or {})
        public_digest = digest(public)
        with self._appending() as work:
            if key in work.state.keys:
                raise already_paid(work.state, key)
            if earlier is not None and (paid := earlier(work.state.records)) is not None:
                raise already_paid(work.state, str(paid.data["key"]))
            check_columns(work.state, public)
            charge = charge_for(work.state.budget, **release)
            charge = self._fitting(work.state, charge, SpaceRef.of(release["space"]))
            promised = "quadrature" if charge.squares else AdditiveComposer.name
            data = {
                **_asked(charge, public, question, release),
                "key": key,
                "what": what,
                "account": charge.account,
                "amount": {"loss": charge.amount.loss, "delta": charge.amount.delta},
                "squares": list(charge.squares) or None,
                "parameters_digest": public_digest,
                "composer": promised if charge.epsilons else self.composer.name,
                "folder": None if folder is None else text_of(folder, "folder"),
                "resumable": bool(resumable),
                "approved": None,
            }
            if work.state.consent is not None:
                asked = release_digest({name: data[name] for name in ASKED})
                data["approved"] = work.state.consent.require(asked, work.when)
            record = work.add("reserve", data)
        return Reservation(work.state.name, record.seq, key, charge)

    def resume(
        self,
        key: str,
        parameters: Mapping[str, object] | None = None,
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
            state = work.state
            seq = state.keys.get(text_of(key, "key"))
            if seq is None:
                return None
            data, charge = state.records[seq - 1].data, state.charges[seq]
            if data["parameters_digest"] != public_digest:
                raise ParameterError(
                    f"The release {key!r} was paid for with other parameters (record {seq}).",
                    allowed="the same parameters under the same key",
                    fix="another key, which pays again",
                )
            if seq in state.committed:
                return Committed(state.name, seq, key, charge, *state.committed[seq])
            if seq in state.staged:
                return Staged(state.name, seq, key, charge, *state.staged[seq])
            if not data["resumable"] or seq in state.abandoned:
                raise already_paid(state, key)
            if state.consent is not None:
                state.consent.not_frozen()
            where = None if folder is None else text_of(folder, "folder")
            earlier = state.folders(seq)
            lease = work.add("resumed", {"reserve": seq, "folder": where}).seq
        reservation = Reservation(state.name, seq, key, charge, lease=lease)
        if forget is not None:  # after that record is durable: whoever still writes can no longer stage what goes here
            with self._appending() as work:
                self._mine(work.state, reservation)
                forget(earlier)
        return reservation

    def abandon(self, reservation: Reservation) -> Record:
        """Give up a release that was drawn and failed in a way that may depend on its values: never draw it again.

        Drawing until nothing fails would select values, which was not paid for (docs/proofs/budget.md, section 5).
        """
        with self._appending() as work:
            self._mine(work.state, reservation)
            if reservation.seq in work.state.staged:
                refuse(f"The release {reservation.key!r} was staged before.", "ledger.resume(key, parameters)")
            return work.add("abandoned", {"reserve": reservation.seq})

    def stage(self, reservation: Reservation, outputs: str, statement: str | None = None) -> Staged:
        """Write down what was drawn, when it is durable and before anybody sees it: from now on these values only."""
        digests = Digests(text_of(outputs, "outputs"), None if statement is None else text_of(statement, "statement"))
        with self._appending() as work:
            self._mine(work.state, reservation)
            if reservation.seq in work.state.staged:
                refuse(f"The release {reservation.key!r} was staged before.", "ledger.resume(key, parameters)")
            work.add("staged", {"reserve": reservation.seq, **digests._asdict()})
        return Staged(work.state.name, reservation.seq, reservation.key, reservation.charge, *digests)

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
            state = work.state
            if isinstance(paid, Staged) and paid.ledger == state.name and state.committed.get(paid.seq) == digests:
                return next(r for r in state.records if r.kind == "commit" and r.data["reserve"] == paid.seq)
            self._mine(state, paid)
            if state.consent is not None:
                state.consent.not_frozen()  # what was staged stays hidden until it is lifted
            if paid.seq not in state.staged and state.records[paid.seq - 1].data["resumable"]:
                refuse(f"The release {paid.key!r} was not staged.", "ledger.stage(reservation, outputs, statement)")
            if state.staged.get(paid.seq, digests) != digests:
                refuse(f"The release {paid.key!r} was staged with other values.", "publish what was staged")
            return work.add("commit", {"reserve": paid.seq, **digests._asdict()})

    # The check.

    def _mine(self, state: LedgerState, paid: Reservation | Staged) -> None:
        if paid.ledger != state.name or state.keys.get(paid.key) != paid.seq:
            raise ParameterError(
                f"The reservation {paid.key!r} was not made in this ledger.",
                allowed="what reserve() of this ledger returned",
                fix="commit to the ledger that was charged",
            )
        if isinstance(paid, Reservation) and paid.lease != state.leases[paid.seq]:
            refuse(
                f"The release {paid.key!r} was resumed by another process; only that process may draw its noise.",
                "throw away what was drawn here",
            )
        if paid.seq in state.abandoned:
            refuse(f"The release {paid.key!r} was given up.", "release under a new key, which pays again")
        if paid.seq in state.committed:
            raise ParameterError(
                f"The release {paid.key!r} was committed before.",
                allowed="one commit for each reservation",
                fix="nothing is left to do",
            )

    def _fitting(self, state: LedgerState, charge: Charge, space: SpaceRef) -> Charge:
        """The charge in an account that holds it; refused where none does."""
        if state.budget.per is not None:
            raise NotCoveredError(
                f"The ledger of {state.budget.dataset!r} was renewed every {state.budget.per} by the clock, that is "
                f"by the date of releases and not by the period of the data. Nothing was spent.",
                allowed="a ledger whose promises are about periods of the data",
                fix=f'promises "…, in any {state.budget.per}" in a study with [data] time and period, and a ledger of '
                "its own; then barrow release --period",
            )
        if state.budget.promises:
            return self._fitting_promises(state, charge, space)
        limit = state.budget.limit_of(charge.account)
        charges = [*state.charges.values(), charge]
        if account_total(state.budget, charges, charge.account, self.composer).fits(limit):
            return charge
        raise OverBudgetError.of(
            charge.amount,
            self._left(state, charge.account),
            symbol=state.budget.symbol_of(charge.account),
            whose=repr(state.budget.dataset) + (" (user level)" if charge.account == "user" else ""),
        )

    def _fitting_promises(self, state: LedgerState, charge: Charge, space: SpaceRef) -> Charge:
        budget, before = state.budget, list(state.charges.values())
        ways = ways_to_pay(budget, charge, space)
        for way in ways:
            if keeps_promises(budget, [*before, way]):
                return way
        first, rows = ways[0], []
        for i, (promise, epsilon) in enumerate(zip(budget.promises, charge.epsilons, strict=True)):
            limit, used = limits_at(budget, i), totals_at(budget, before, i, first)
            if first.squares:
                needed = Amount(first.squares[i], 0)
                rows.append((promise.text, Amount(used.square, 0), Amount(limit.square, 0), needed))
            else:
                rows.append((promise.text, used.adding, limit.adding, Amount(epsilon, charge.amount.delta)))
        raise OverBudgetError.of_promises(
            rows,
            whose=repr(budget.dataset),
            later=space.records.advice or None,
            symbol="μ² in quadrature" if first.squares else "ε",
        )

    def _spent(self, state: LedgerState, account: Account) -> Amount:
        return account_total(state.budget, list(state.charges.values()), account, self.composer)

    def _left(self, state: LedgerState, account: Account) -> Amount:
        return state.budget.limit_of(account).less(self._spent(state, account))


def _asked(
    charge: Charge, parameters: dict[str, object], question: str | None, release: ReleaseFacts
) -> dict[str, object]:
    """The fields of a payment by whose digest approvals name it."""
    return {
        "charges": list(charge.epsilons) or None,
        "reads": reads_to_json(charge.reads),
        "groups": {name: list(held) for name, held in charge.groups.items()} or None,
        "event": charge.event.to_json(),
        "guarantee": charge.guarantee.to_json(),
        "space": SpaceRef.of(release["space"]).to_json(),
        "items": release.get("items"),
        "parameters": parameters,
        "question": None if question is None else text_of(question, "question"),
    }


def already_paid(state: LedgerState, key: str) -> AlreadyPaidError:
    """The error for a key that was paid for before."""
    seq = state.keys[key]
    record, done = state.records[seq - 1], state.committed.get(seq)
    resumable = record.data["resumable"] and seq not in state.abandoned
    return AlreadyPaidError.of(key, seq=seq, when=record.when, outputs=done and done.outputs, resumable=resumable)


def text_of(value: str, name: str) -> str:
    """``value``, if it is a text of 1 to 500 characters."""
    if not isinstance(value, str) or not value.strip() or len(value) > 500:
        raise ParameterError(f"{name} is {value!r}.", allowed="a text of 1 to 500 characters", fix=f"{name}='map-1'")
    return value


_CAST = "the kind of the time"
_HIDDEN = "hidden groups"


def check_columns(state: LedgerState, parameters: Mapping[str, object]) -> None:
    """Refuse a release that reads people, weights, times or groups from other columns than one that was paid.

    Args:
        state: The ledger.
        parameters: The public parameters of the release; what they do not say is not compared.
    """
    wanted = columns_of(parameters)
    if not wanted:
        return
    for seq in state.charges:
        earlier = columns_of(state.records[seq - 1].data["parameters"])
        for role, column in wanted.items():
            if (known := earlier.get(role, column)) != column:
                raise NotCoveredError(
                    f"The release {_takes(role, column)}; release {seq} of the ledger of {state.budget.dataset!r} "
                    f"{_takes(role, known, past=True)}. Nothing was spent.",
                    allowed="the same column in all releases about a data set, or what they cost one person together "
                    "is not their sum",
                    fix=_fix(role, column, known),
                )


def columns_of(parameters: Mapping[str, object]) -> dict[str, str | None]:
    """The columns that a release reads, by what they say; empty where the parameters name no table.

    >>> data = {"user": "uid", "items": ["age"], "weight": None, "time": "at"}
    >>> list(columns_of({"data": data, "reads": "2026-10", "group": {"name": "region"}}).values())
    ['uid', None, 'at', None, 'region']
    """
    data, group, hidden = parameters.get("data"), parameters.get("group"), parameters.get("hidden")
    result: dict[str, str | None] = {}
    if isinstance(data, Mapping) and data.get("user") is not None:
        result["who a person is"] = data["user"]
        result["how often a record counts"] = data.get("weight")
        if parameters.get("reads") is not None:
            result["the time of a record"] = data.get("time")
            result[_CAST] = data.get("time_cast")
    if isinstance(hidden, Sequence) and not isinstance(hidden, str):
        result[_HIDDEN] = ", ".join(hidden)
    if isinstance(group, Mapping):
        result[f"the {group['name']} of a person"] = group.get("column", group["name"])
    return result


def _takes(role: str, column: str | None, *, past: bool = False) -> str:
    if role == _HIDDEN:
        return f"{'had' if past else 'has'} hidden groups in {_named(column)}"
    if role == _CAST:
        took = "took" if past else "takes"
        return f"{took} the time as it is" if column is None else f"{took} the time from a cast to {column}"
    return f"takes {role} from {_named(column)}" if not past else f"took it from {_named(column)}"


def _named(column: str | None) -> str:
    return "no column" if column is None else f"the column {column!r}"


def _fix(role: str, column: str | None, known: str | None) -> str:
    if role == _HIDDEN:
        return "one [[group]] with labels and distance for each of these columns, in all studies of the data set"
    if role == _CAST:
        return "the query's cast of the time that the earlier release had" if known else "the time without a cast"
    if column is None or known is None:
        return "the weights of the earlier release, or another data set with a ledger of its own"
    return f"{known!r}; if it is the same under another name, a query that renames it: {column} AS {known}"
