"""What the tests of the ledger share: a space, a budget, a release, a clock, a store in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from barrow.ledger import Budget, Ledger, SpaceRef
from barrow.ledger.errors import CorruptLedgerError
from barrow.ledger.keys import SigningKey
from barrow.ledger.opened import Reservation
from barrow.ledger.store import Other, Row
from barrow.promises import Emd, Guarantee, PureRelease

LINE = SpaceRef("line", "sha256:" + "1" * 64, 10, "km")
EARTH = SpaceRef("earth", "sha256:" + "2" * 64, 20015, "km")
OUTPUTS = "sha256:" + "a" * 64


def budget(alpha: Any = 10, delta: Any = "1e-6", **options: Any) -> Budget:
    model = options.pop("model", "central")
    limit = Emd(alpha, delta, model=model, bounded="items" in options)
    return Budget("visits", 1083, LINE, limit, **options)


def guarantee(alpha: Any, delta: Any = 0, model: str = "central", **options: Any) -> Guarantee:
    return Guarantee(Emd(alpha, delta, model=model, **options), "pure", "def:emd-dp")


def pay(ledger: Ledger, key: str, alpha: Any, delta: Any = 0, **options: Any) -> Reservation:
    given: dict[str, Any] = {
        "key": key,
        "what": "a map",
        "event": PureRelease(alpha, model="central"),
        "guarantee": guarantee(alpha, delta),
        "space": LINE,
        "dataset": "visits",
        "users": 1083,
    }
    return ledger.reserve(**{**given, **options})


def signing_key(number: int) -> SigningKey:
    """Always the same key for a number, so that golden files stay as they are."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return SigningKey(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32))


class Clock:
    """A clock that tests set."""

    def __init__(self, *moment: int) -> None:
        self.set(*moment)

    def set(self, *moment: int) -> None:
        self.now = datetime(*moment, tzinfo=UTC)  # type: ignore[misc, arg-type]

    def __call__(self) -> datetime:
        return self.now


class MemoryStore:
    """Rows in a list: shows that the suite asks nothing that only SQLite has. Not durable, so not in the package."""

    name = "memory"

    def __init__(self, rows: list[Row]) -> None:
        self._rows, self._lock = list(rows), threading.Lock()

    def rows(self, after: int = 0) -> list[Row]:
        return [row for row in tuple(self._rows) if row.seq > after]

    @contextmanager
    def transaction(self) -> Iterator[MemoryTransaction]:
        with self._lock:
            transaction = MemoryTransaction(list(self._rows))
            yield transaction
            self._rows = transaction.all


class MemoryTransaction:
    def __init__(self, rows: list[Row]) -> None:
        self.all = rows

    def others(self) -> list[Other]:
        return []

    def rows(self, after: int = 0) -> list[Row]:
        return [row for row in self.all if row.seq > after]

    def append(self, row: Row) -> None:
        if row.seq != len(self.all) + 1:
            raise CorruptLedgerError.at(row.seq, "it cannot follow")
        self.all.append(row)
