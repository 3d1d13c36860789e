"""The rows of a store read as a ledger: verified link by link, never changed, only extended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from barrow.errors import BarrowError
from barrow.ledger.chain import GENESIS, Row, canonical, digest, link
from barrow.ledger.errors import CorruptLedgerError, ForeignLedgerError
from barrow.ledger.model import Amount, Budget, Charge, Head, budget_from_json
from barrow.privacy import event_from_json, guarantee_from_json

RECORD_VERSION = 1
"""The format of the records that this version writes."""

_FIELDS = {
    "init": {"ledger", "budget"},
    "period": {"period"},
    "reserve": {
        "key", "what", "account", "amount", "period", "event", "guarantee", "space", "items",
        "parameters", "parameters_digest", "composer",
    },
    "commit": {"reserve", "outputs"},
}  # fmt: skip
_COMMON = {"v", "seq", "kind", "when", "who", "barrow"}


@dataclass(frozen=True)
class Record:
    """One record of the chain.

    ``kind`` is ``"init"``, ``"reserve"``, ``"commit"`` or ``"period"``; ``data`` holds what the kind adds.

    >>> stamped = {"when": "2026-10-15T19:02:00Z", "who": "ana", "barrow": "0.1.0"}
    >>> row = make_row(None, "period", {"period": "2026-10"}, **stamped)
    >>> Record.of(row).data["period"]
    '2026-10'
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
            data = json.loads(row.body)
            if canonical(data) != row.body:
                raise ValueError
            version, kind = data["v"], data["kind"]
        except (ValueError, TypeError, KeyError, BarrowError):
            raise CorruptLedgerError.at(row.seq, "it is not a record in canonical form") from None
        if version != RECORD_VERSION or kind not in _FIELDS:
            raise ForeignLedgerError(
                f"Record {row.seq} has version {version!r} and kind {kind!r}, which are not known here.",
                allowed=f"version {RECORD_VERSION} of {', '.join(_FIELDS)}",
                fix="pip install --upgrade barrow",
            )
        if set(data) != _COMMON | _FIELDS[kind] or data["seq"] != row.seq:
            raise CorruptLedgerError.at(row.seq, "its fields are not those of its kind and number")
        rest = MappingProxyType({name: data[name] for name in _FIELDS[kind]})
        return cls(row.seq, kind, data["when"], data["who"], data["barrow"], rest, row.hash)

    def to_json(self) -> dict[str, Any]:
        """Plain data: everything that was hashed, and the hash."""
        return {
            "seq": self.seq,
            "kind": self.kind,
            "when": self.when,
            "who": self.who,
            "barrow": self.barrow,
            **self.data,
            "hash": self.hash,
        }


def make_row(
    before: Row | Record | None, kind: str, data: Mapping[str, Any], *, when: str, who: str, barrow: str
) -> Row:
    """The row that continues the chain after ``before``.

    >>> stamped = {"when": "2026-10-15T19:02:00Z", "who": "ana", "barrow": "0.1.0"}
    >>> first = make_row(None, "period", {"period": "2026-10"}, **stamped)
    >>> second = make_row(first, "period", {"period": "2026-11"}, **stamped)
    >>> second.seq, second.hash == link(first.hash, second.body)
    (2, True)
    """
    seq = 1 if before is None else before.seq + 1
    body = canonical(
        {"v": RECORD_VERSION, "seq": seq, "kind": kind, "when": when, "who": who, "barrow": barrow, **data}
    )
    return Row(seq, body, link(GENESIS if before is None else before.hash, body))


@dataclass(frozen=True)
class Book:
    """Everything that a verified chain says.

    >>> from barrow.ledger.ledger import first_row
    >>> from barrow.ledger.model import SpaceRef
    >>> from barrow.privacy import Emd
    >>> Book.read([first_row(Budget("visits", 3, SpaceRef("line", "sha256:00", 10, "km"), Emd(25)))]).head.length
    1
    """

    budget: Budget
    name: str
    records: tuple[Record, ...]
    charges: Mapping[int, Charge] = field(default_factory=dict)
    keys: Mapping[str, int] = field(default_factory=dict)
    outputs: Mapping[int, str] = field(default_factory=dict)
    period: str | None = None

    @classmethod
    def read(cls, rows: Sequence[Row]) -> Book:
        """The book of all ``rows`` of a store."""
        if not rows:
            raise CorruptLedgerError("The ledger holds no record, not even its budget. Nothing was released.")
        first = rows[0]
        record = Record.of(first)
        if record.kind != "init" or first.hash != link(GENESIS, first.body):
            raise CorruptLedgerError.at(first.seq, "it is not the beginning of a chain")
        try:
            budget = budget_from_json(record.data["budget"])
        except (BarrowError, TypeError, KeyError):
            raise CorruptLedgerError.at(first.seq, "its budget cannot be read") from None
        return cls(budget, str(record.data["ledger"]), (record,)).extended(rows[1:])

    @property
    def head(self) -> Head:
        """Length and hash of the chain."""
        return Head(len(self.records), self.records[-1].hash)

    @property
    def last(self) -> Record:
        """The newest record."""
        return self.records[-1]

    def extended(self, rows: Sequence[Row]) -> Book:
        """This book with more rows, each checked against the one before it."""
        if not rows:
            return self
        records, before = list(self.records), self.records[-1]
        charges, keys, outputs, period = dict(self.charges), dict(self.keys), dict(self.outputs), self.period
        for row in rows:
            if row.seq != before.seq + 1 or row.hash != link(before.hash, row.body):
                raise CorruptLedgerError.at(row.seq, "its hash does not follow from the record before it")
            record = Record.of(row)
            if record.when < before.when:
                raise CorruptLedgerError.at(row.seq, "it is older than the record before it")
            data = record.data
            if record.kind == "reserve":
                if data["key"] in keys or data["parameters_digest"] != digest(data["parameters"]):
                    raise CorruptLedgerError.at(row.seq, "its key was used before, or its digest is wrong")
                keys[data["key"]] = row.seq
                charges[row.seq] = _charge(record)
            elif record.kind == "commit":
                if data["reserve"] not in charges or data["reserve"] in outputs:
                    raise CorruptLedgerError.at(row.seq, "it commits what was not reserved, or was committed")
                outputs[data["reserve"]] = data["outputs"]
            elif record.kind == "period":
                period = data["period"]
            else:
                raise CorruptLedgerError.at(row.seq, "a second budget begins inside the chain")
            records.append(record)
            before = record
        return replace(self, records=tuple(records), charges=charges, keys=keys, outputs=outputs, period=period)


def _charge(record: Record) -> Charge:
    data = record.data
    event, guarantee = event_from_json(data["event"]), guarantee_from_json(data["guarantee"])
    if data["account"] not in ("main", "user"):
        raise CorruptLedgerError.at(record.seq, "it names an account that does not exist")
    amount = Amount(data["amount"]["loss"], data["amount"]["delta"])
    return Charge(data["account"], amount, event, guarantee, data["period"])
