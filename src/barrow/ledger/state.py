"""The rows of a store read as a ledger: verified link by link, never changed, only extended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from barrow.errors import BarrowError
from barrow.ledger.approvals import Quorum, release_digest
from barrow.ledger.budget import Amount, Budget, budget_from_json
from barrow.ledger.charges import PROMISES, Charge, groups_of
from barrow.ledger.consent import KINDS, Consent
from barrow.ledger.errors import CorruptLedgerError, ForeignLedgerError
from barrow.ledger.store import GENESIS, ChainHead, Row, canonical, digest, link, written
from barrow.numerics import exact
from barrow.promises import event_from_json, guarantee_from_json
from barrow.promises.periods import Period, Window

RECORD_VERSION = 3
"""The format of the records that are written; every format that was ever released stays readable.

Version 1 had no windows and groups: what was paid then was about all records and everybody. It had no approval.
In version 2 approvers could not change.
"""
ASKED = ("question", "parameters", "event", "guarantee", "space", "items", "reads", "groups", "charges")
"""The fields of a payment by whose digest approvals name it."""

_COMMON = {"v": int, "seq": int, "kind": str, "when": str, "who": str, "barrow": str}
_AMOUNT = msgspec.defstruct("amount", [("loss", str), ("delta", str)], forbid_unknown_fields=True)
_RESERVE = {
    "key": str, "what": str, "account": str, "amount": _AMOUNT, "event": dict[str, Any],
    "guarantee": dict[str, Any], "space": dict[str, Any], "items": Any, "parameters": dict[str, Any],
    "parameters_digest": str, "composer": str, "charges": list[str] | None, "question": str | None,
    "folder": str | None, "resumable": bool,
}  # fmt: skip
_READS = msgspec.defstruct(
    "reads", [("periods", list[str]), ("pool", str), ("weights", list[str] | None)], forbid_unknown_fields=True
)
_APPROVAL: dict[str, Any] = {"approval": dict[str, Any] | None}
_PAID: dict[str, Any] = {
    "reads": _READS | None, "groups": dict[str, list[str]] | None, "squares": list[str] | None, "approved": str | None,
}  # fmt: skip
_MORE: dict[tuple[int, str], dict[str, Any]] = {
    (1, "reserve"): {"period": str | None},  # of the clock, by which budgets were renewed
    (2, "init"): _APPROVAL, (2, "reserve"): _PAID, (3, "init"): _APPROVAL, (3, "reserve"): _PAID,
}  # fmt: skip
"""What records of one version hold beside those of all."""
_OPEN, _DONE = {"reserve": int}, {"reserve": int, "outputs": str, "statement": str | None}
_FIELDS: dict[str, dict[str, Any]] = {
    "init": {"ledger": str, "budget": dict[str, Any], "anchor": str | None},
    "budget": {"budget": dict[str, Any], "carried": list[tuple[int, list[str], str]]},
    "period": {"period": str},
    "reserve": _RESERVE,
    "resumed": _OPEN | {"folder": str | None},
    "abandoned": _OPEN,
    "staged": _DONE,
    "commit": _DONE,
    **KINDS,
}
_VERSIONS = {"period": (1,), "approvers": (3,)}
_KINDS = {
    (version, kind): msgspec.defstruct(kind, [*(_COMMON | fields | more).items()], forbid_unknown_fields=True)
    for kind, fields in _FIELDS.items()
    for version in _VERSIONS.get(kind, (2, 3) if kind in KINDS else (1, 2, 3))
    for more in (_MORE.get((version, kind), {}),)
}


@dataclass(frozen=True)
class Record:
    """One record of the chain.

    ``kind`` is ``"init"``, ``"budget"``, ``"reserve"``, ``"resumed"``, ``"abandoned"``, ``"staged"`` or ``"commit"``,
    with approvers also ``"approved"``, ``"frozen"``, ``"unfrozen"`` or ``"approvers"``, in ledgers of version 1 also
    ``"period"``; ``data`` holds what the kind adds.

    >>> stamped = {"when": "2026-10-15T19:02:00Z", "who": "ana", "barrow": "0.1.0"}
    >>> row = make_row(None, "abandoned", {"reserve": 2}, **stamped)
    >>> Record.of(row).data["reserve"]
    2
    """

    seq: int
    kind: str
    when: str
    who: str
    barrow: str
    data: Mapping[str, Any]
    hash: str

    @classmethod
    def of(cls, row: Row) -> Record:
        """The record that ``row`` holds; its form is checked, its link to the record before is not."""
        try:
            data = json.loads(row.body)  # not by msgspec, which refuses lone surrogates: a folder's name may hold one
            if written(data) != row.body:
                raise ValueError
            version, kind = data["v"], data["kind"]
        except (ValueError, TypeError, KeyError, RecursionError, BarrowError):
            raise CorruptLedgerError.at(row.seq, "it is not a record in canonical form") from None
        known = _KINDS.get((version, kind)) if isinstance(kind, str) and type(version) is int else None
        if known is None:
            raise ForeignLedgerError(
                f"Record {row.seq} has version {version!r} and kind {kind!r}, which are not known here.",
                allowed=f"versions 1 to {RECORD_VERSION} of {', '.join(_FIELDS)}",
                fix="pip install --upgrade barrow",
            )
        try:
            msgspec.convert(data, known)
            if data["seq"] != row.seq:
                raise ValueError
        except ValueError:
            raise CorruptLedgerError.at(row.seq, "its fields are not those of its kind and number") from None
        rest = MappingProxyType({name: value for name, value in data.items() if name not in _COMMON})
        return cls(row.seq, kind, data["when"], data["who"], data["barrow"], rest, row.hash)

    def to_json(self) -> dict[str, Any]:
        """Plain data: everything that was hashed, and the hash."""
        data = {"seq": self.seq, "kind": self.kind, "when": self.when, "who": self.who, "barrow": self.barrow}
        return {**data, **self.data, "hash": self.hash}


def make_row(
    before: Row | Record | None, kind: str, data: Mapping[str, Any], *, when: str, who: str, barrow: str
) -> Row:
    """The row that continues the chain after ``before``."""
    seq = 1 if before is None else before.seq + 1
    body = canonical(
        {"v": RECORD_VERSION, "seq": seq, "kind": kind, "when": when, "who": who, "barrow": barrow, **data}
    )
    return Row(seq, body, link(GENESIS if before is None else before.hash, body))


@dataclass
class LedgerState:
    """Everything that a verified chain says. It changes only while :meth:`extended` makes it, before anybody has it.

    ``charges``, ``staged``, ``outputs`` and ``leases`` are by the number of the record that reserved; a lease is the
    number of the record that last gave the right to draw.
    """

    budget: Budget
    name: str
    records: list[Record]
    charges: dict[int, Charge] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    leases: dict[int, int] = field(default_factory=dict)
    abandoned: set[int] = field(default_factory=set)
    staged: dict[int, Digests] = field(default_factory=dict)
    committed: dict[int, Digests] = field(default_factory=dict)
    consent: Consent | None = None

    @classmethod
    def read(cls, rows: Sequence[Row]) -> LedgerState:
        """The book of all ``rows`` of a store."""
        if not rows:
            raise CorruptLedgerError("The ledger holds no record, not even its budget. Nothing was released.")
        first = rows[0]
        record = Record.of(first)
        if record.kind != "init" or first.hash != link(GENESIS, first.body):
            raise CorruptLedgerError.at(first.seq, "it is not the beginning of a chain")
        name = str(record.data["ledger"])
        return cls(_budget(record), name, [record], consent=_consent(record, name)).extended(rows[1:])

    @property
    def head(self) -> ChainHead:
        """Length and hash of the chain."""
        return ChainHead(len(self.records), self.records[-1].hash)

    @property
    def last(self) -> Record:
        """The newest record."""
        return self.records[-1]

    @property
    def outputs(self) -> Mapping[int, str]:
        """The digests of what was released, by the record that paid."""
        return {seq: digests.outputs for seq, digests in self.committed.items()}

    def folders(self, seq: int) -> tuple[str, ...]:
        """Where the release of record ``seq`` was to be published, by whoever paid for it or resumed it."""
        tries = (r for r in self.records if r.seq == seq or (r.kind == "resumed" and r.data["reserve"] == seq))
        return tuple(dict.fromkeys(r.data["folder"] for r in tries if r.data["folder"] is not None))

    def extended(self, rows: Sequence[Row]) -> LedgerState:
        """This book with more rows, each checked against the one before it."""
        if not rows:
            return self
        built = copy(self)
        for name in ("records", "charges", "keys", "leases", "abandoned", "staged", "committed"):
            setattr(built, name, copy(getattr(self, name)))
        for row in rows:
            before = built.last
            if row.seq != before.seq + 1 or row.hash != link(before.hash, row.body):
                raise CorruptLedgerError.at(row.seq, "its hash does not follow from the record before it")
            record = Record.of(row)
            if record.when < before.when:
                raise CorruptLedgerError.at(row.seq, "it is older than the record before it")
            built._add(record)
        return built

    def _add(self, record: Record) -> None:
        read = {
            "reserve": self._reserve,
            "resumed": self._resumed,
            "abandoned": self._abandon,
            "staged": self._stage,
            "commit": self._commit,
            "budget": self._new_budget,
            "period": self._new_period,
            **dict.fromkeys(KINDS, self._signed),
        }.get(record.kind)
        if read is None:
            raise CorruptLedgerError.at(record.seq, "a second ledger begins inside the chain")
        read(record.seq, record.data, record)
        self.records.append(record)

    def _reserve(self, seq: int, data: Mapping[str, Any], record: Record) -> None:
        if data["key"] in self.keys or data["parameters_digest"] != digest(data["parameters"]):
            raise CorruptLedgerError.at(seq, "its key was used before, or its digest is wrong")
        self.keys[data["key"]] = self.leases[seq] = seq
        self.charges[seq] = _charge(record, self.budget)
        if self.consent is not None:
            self.consent = self.consent.spent(record, release_digest({name: data.get(name) for name in ASKED}))
        elif data.get("approved") is not None:
            raise CorruptLedgerError.at(seq, "it names an approval, and nobody approves here")

    def _signed(self, seq: int, data: Mapping[str, Any], record: Record) -> None:
        if self.consent is None:
            raise CorruptLedgerError.at(seq, "nobody approves here")
        self.consent = self.consent.after(record, self.records[-1].hash)

    def _not_frozen(self, seq: int) -> None:
        if self.consent is not None and self.consent.freeze is not None:
            raise CorruptLedgerError.at(seq, "the ledger was frozen")

    def _resumed(self, seq: int, data: Mapping[str, Any], record: Record) -> None:
        self._not_frozen(seq)
        paid = self._open(seq, data)
        if paid in self.staged or not self.records[paid - 1].data["resumable"]:
            raise CorruptLedgerError.at(seq, "it resumes what was staged, or may not be resumed")
        self.leases[paid] = seq

    def _abandon(self, seq: int, data: Mapping[str, Any], record: Record) -> None:
        paid = self._open(seq, data)
        if paid in self.staged:
            raise CorruptLedgerError.at(seq, "it gives up what was staged")
        self.abandoned.add(paid)

    def _stage(self, seq: int, data: Mapping[str, Any], record: Record) -> None:
        paid = self._open(seq, data)
        if paid in self.staged:
            raise CorruptLedgerError.at(seq, "it stages a second time")
        self.staged[paid] = Digests(data["outputs"], data["statement"])

    def _commit(self, seq: int, data: Mapping[str, Any], record: Record) -> None:
        self._not_frozen(seq)
        paid, digests = self._open(seq, data), Digests(data["outputs"], data["statement"])
        if self.staged.get(paid, digests) != digests:
            raise CorruptLedgerError.at(seq, "it commits other values than were staged")
        self.committed[paid] = digests

    def _open(self, seq: int, data: Mapping[str, Any]) -> int:
        paid: int = data["reserve"]
        if paid not in self.charges or paid in {*self.committed, *self.abandoned}:
            raise CorruptLedgerError.at(seq, "it is about what was not reserved, was given up, or was committed")
        return paid

    def _new_budget(self, seq: int, data: Mapping[str, Any], record: Record) -> None:
        """What was spent is carried into the promises of the new budget, each release by itself."""
        self.budget = _budget(record)
        try:
            carried = {number: (tuple(map(Fraction, eps)), Fraction(delta)) for number, eps, delta in data["carried"]}
        except (ValueError, ZeroDivisionError):
            raise CorruptLedgerError.at(seq, "what it carries over cannot be read") from None
        if set(carried) != set(self.charges):
            raise CorruptLedgerError.at(seq, "it does not carry over everything that was spent")
        for number, (epsilons, delta) in carried.items():
            if len(epsilons) != len(self.budget.promises) or min((*epsilons, delta)) < 0:
                raise CorruptLedgerError.at(seq, "what it carries over does not fit its promises")
            amount = Amount(max(epsilons), delta)
            self.charges[number] = replace(self.charges[number], account=PROMISES, amount=amount, epsilons=epsilons)

    def _new_period(self, seq: int, data: Mapping[str, Any], record: Record) -> None:
        """Of the clock, in ledgers of version 1: it said when a budget was renewed, and changes nothing now."""


class Digests(NamedTuple):
    """SHA-256 of the values of a release and, where it is known, of its whole statement."""

    outputs: str
    statement: str | None


def _budget(record: Record) -> Budget:
    try:
        return budget_from_json(record.data["budget"])
    except (BarrowError, TypeError, KeyError):
        raise CorruptLedgerError.at(record.seq, "its budget cannot be read") from None


def _consent(record: Record, name: str) -> Consent | None:
    given = record.data.get("approval")
    try:
        return None if given is None else Consent(name, Quorum.from_json(given), record.hash)
    except (BarrowError, ValueError):
        raise CorruptLedgerError.at(record.seq, "its approvers cannot be read") from None


def _charge(record: Record, budget: Budget) -> Charge:
    data = record.data
    event, guarantee = event_from_json(data["event"]), guarantee_from_json(data["guarantee"])
    epsilons: tuple[Fraction, ...] = ()
    if budget.promises:
        epsilons = tuple(exact(charge, "a charge") for charge in data["charges"] or ())
        if data["account"] != PROMISES or len(epsilons) != len(budget.promises) or min(epsilons) < 0:
            raise CorruptLedgerError.at(record.seq, "its charges are not those of the budget's promises")
    elif data["account"] not in ("main", "user"):
        raise CorruptLedgerError.at(record.seq, "it names an account that does not exist")
    amount = Amount(data["amount"]["loss"], data["amount"]["delta"])
    try:
        reads, groups = reads_from_json(data.get("reads")), groups_of(budget, data.get("groups"))
    except (BarrowError, ValueError, ZeroDivisionError):
        raise CorruptLedgerError.at(record.seq, "what it reads, or whom it is about, cannot be read") from None
    return Charge(data["account"], amount, event, guarantee, epsilons, reads, groups, _squares(record, budget))


def _squares(record: Record, budget: Budget) -> tuple[Fraction, ...]:
    """What it paid in quadrature."""
    given = record.data.get("squares")
    squares = () if given is None else tuple(exact(square, "a square") for square in given)
    fits = given is None or (len(squares) == len(budget.promises) and min(squares) >= 0)
    if not fits or (given is not None and (budget.promised is None or budget.promised.quadrature is None)):
        raise CorruptLedgerError.at(record.seq, "its squares are not those of the budget's promises")
    return squares


def reads_from_json(data: Mapping[str, Any] | None) -> Window | None:
    """The window that a record names; None for everything.

    >>> reads_from_json({"periods": ["2026-10"], "pool": "records", "weights": None}).text
    '2026-10'
    """
    if data is None:
        return None
    weights = data["weights"]
    periods = tuple(map(Period.parse, data["periods"]))
    return Window(periods, data["pool"], None if weights is None else tuple(map(Fraction, weights)))


def reads_to_json(reads: Window | None) -> dict[str, Any] | None:
    """The window as a record names it."""
    if reads is None:
        return None
    return {
        "periods": list(reads.labels),
        "pool": reads.pool,
        "weights": None if reads.weights is None else list(reads.weights),
    }
