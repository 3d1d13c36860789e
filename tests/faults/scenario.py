"""One spender and its releases, run as a process of its own so that it can be killed, traced and starved.

``python -m tests.faults.scenario FOLDER [--store NAME] [--releases N]`` makes FOLDER/a.ledger, whose promises are about
months, and pays for N releases that read some of them. A release is a line in FOLDER/released, written when the payment
is durable, never before.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from barrow.errors import LedgerError
from barrow.ledger import Budget, Ledger, PromiseLimit, Promises, SpaceRef
from barrow.ledger.errors import NoAuthorityError
from barrow.ledger.ledger import first_row
from barrow.ledger.opened import Reservation
from barrow.ledger.postgres import PostgresStore
from barrow.ledger.sqlite import SqliteStore
from barrow.ledger.store import Row, canonical, link
from barrow.promises import Emd, Guarantee, PureRelease
from barrow.promises.periods import Calendar, Window

SPACE = SpaceRef("line", "sha256:" + "0" * 64, 10, "km")
USERS = 100
MONTHS = [Window.parse(text) for text in ("2026-01", "2026-02", "2026-01..2026-02", "2026-03")]


class NoSync(SqliteStore):
    """A control: nothing is ever fsynced."""

    _synchronous = "OFF"


class NoFolderSync(SqliteStore):
    """A control: everything is fsynced except the folder after the journal's deletion."""

    _synchronous = "FULL"


class NoLock(SqliteStore):
    """A control: the budget is read before the lock is taken, so two spenders can both see the same rest."""

    @contextmanager
    def transaction(self) -> Iterator[object]:  # type: ignore[override]
        added: list[Row] = []

        class Snapshot:
            rows = staticmethod(self.rows)
            append = staticmethod(added.append)
            others = staticmethod(list)

        yield Snapshot
        time.sleep(0.01)  # Widens the window that is there anyway.
        with super().transaction() as real:
            last = real.rows()[-1]
            for row in added:
                data, before = json.loads(row.body), json.loads(last.body)
                body = canonical({**data, "seq": last.seq + 1, "when": max(data["when"], before["when"])})
                last = Row(last.seq + 1, body, link(last.hash, body))
                real.append(last)


class SynchronousOff(PostgresStore):
    """A control: the server says "committed" before anything is on its disk."""

    _synchronous = "off"


class NoQuestions(PostgresStore):
    """A control for servers with fsync off: nobody asks whether the server keeps what it says."""

    _asks = False


STORES: dict[str, Any] = {
    "real": SqliteStore, "no-sync": NoSync, "no-folder-sync": NoFolderSync, "no-lock": NoLock,
    "postgres": PostgresStore, "synchronous-off": SynchronousOff, "no-questions": NoQuestions,
}  # fmt: skip


def make(path: Path | str, limit: object, store: str = "real", *, monthly: bool = False) -> Ledger:
    """A new ledger whose budget is ``limit``: an alpha, or with months a promise about any of them."""
    name = f"people of {path.partition('ledger=')[2]}" if isinstance(path, str) else "people"  # one in each database
    budget = Budget(name, USERS, SPACE, Emd(str(limit), "1/1000", model="central"))
    if monthly:
        any_month = PromiseLimit(1, None, str(limit), scope="any month")
        every_month = PromiseLimit(1, None, str(Fraction(str(limit)) * 5 / 2), scope="every month")
        budget = Budget(name, USERS, "line km", Promises([any_month, every_month]), calendar=Calendar("month", "UTC"))
    return Ledger(STORES[store].create(path, [first_row(budget)]))


def pay(ledger: Ledger, key: str, alpha: Fraction | int, **options: Any) -> Reservation:
    """Reserve ``alpha`` under ``key``."""
    options.setdefault("parameters", {"filler": "x" * (zlib.crc32(key.encode()) % 7) * 300})
    return ledger.reserve(
        key=key,
        what="test",
        event=PureRelease(alpha, model="central"),
        guarantee=Guarantee(Emd(alpha, model="central"), "pure", "def:emd-dp"),
        space=SPACE,
        dataset=ledger.budget.dataset,
        users=USERS,
        **options,
    )


class Released:
    """The outside world: what is in this file was released."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)

    def add(self, key: str) -> None:
        os.write(self._handle, key.encode() + b"\n")
        os.fsync(self._handle)


def released_in(path: Path) -> set[str]:
    """The keys of all whole lines."""
    if not path.exists():
        return set()
    return {line.strip() for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")}


def run(folder: Path, store: str, releases: int, resume: bool) -> None:
    world = Released(folder / "released")
    if resume:
        ledger = Ledger(STORES[store](folder / "a.ledger"))
    else:
        ledger = make(folder / "a.ledger", 1000, store, monthly=True)
        world.add("init")
    for number in range(releases):
        key = f"{'resumed' if resume else 'k'}{number}"
        try:
            reservation = pay(ledger, key, Fraction(1, 3), reads=MONTHS[number % len(MONTHS)])
        except LedgerError as error:
            again = None
            try:
                pay(ledger, key + "-again", 1, reads=MONTHS[0])
            except LedgerError as second:
                again = type(second).__name__
            print(json.dumps({"error": type(error).__name__, "again": again}))
            sys.exit(3 if again == NoAuthorityError.__name__ else 5)
        world.add(key)
        try:
            ledger.commit(reservation, "sha256:" + "0" * 64)
        except LedgerError as error:
            print(json.dumps({"error": type(error).__name__, "again": None}))
            sys.exit(3)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--store", choices=STORES, default="real")
    parser.add_argument("--releases", type=int, default=3)
    parser.add_argument("--resume", action="store_true", help="open the ledger that is there")
    options = parser.parse_args()
    try:
        run(options.folder, options.store, options.releases, options.resume)
    except LedgerError as error:
        print(json.dumps({"error": type(error).__name__, "again": None}))
        sys.exit(3)
    except OSError as error:  # The world's own file failed: nothing was released by this line.
        print(json.dumps({"error": "world", "again": str(error)}))
        sys.exit(4)


if __name__ == "__main__":
    main()
