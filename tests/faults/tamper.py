"""Somebody changes the file behind the ledger's back."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from barrow.errors import LedgerError
from barrow.ledger import Ledger
from barrow.ledger.store import canonical, link
from tests.faults.scenario import make, pay

RELEASES = 6


def edit(connection: sqlite3.Connection, seq: int) -> None:
    """Make a payment cheaper."""
    body = connection.execute("SELECT body FROM records WHERE seq = ?", (seq,)).fetchone()[0]
    connection.execute("UPDATE records SET body = ? WHERE seq = ?", (body.replace('"1/3"', '"1/9"'), seq))


def edit_and_hash(connection: sqlite3.Connection, seq: int) -> None:
    """Make a payment cheaper and give that record a hash that fits it."""
    edit(connection, seq)
    before = connection.execute("SELECT hash FROM records WHERE seq = ?", (seq - 1,)).fetchone()[0]
    body = connection.execute("SELECT body FROM records WHERE seq = ?", (seq,)).fetchone()[0]
    connection.execute("UPDATE records SET hash = ? WHERE seq = ?", (link(before, body), seq))


def swap(connection: sqlite3.Connection, seq: int) -> None:
    """Exchange two records, hashes and all."""
    first, second = seq - 1, seq
    for old, new in ((first, 10**6), (second, first), (10**6, second)):
        connection.execute("UPDATE records SET seq = ? WHERE seq = ?", (new, old))


def drop(connection: sqlite3.Connection, seq: int) -> None:
    """Remove a record and close the gap."""
    connection.execute("DELETE FROM records WHERE seq = ?", (seq,))
    for (later,) in connection.execute("SELECT seq FROM records WHERE seq > ? ORDER BY seq", (seq,)).fetchall():
        connection.execute("UPDATE records SET seq = ? WHERE seq = ?", (later - 1, later))


def remove(connection: sqlite3.Connection, seq: int) -> None:
    """Remove a record and leave the gap."""
    connection.execute("DELETE FROM records WHERE seq = ?", (seq,))


def repeat(connection: sqlite3.Connection, seq: int) -> None:
    """Append a copy of a record."""
    last = connection.execute("SELECT max(seq) FROM records").fetchone()[0]
    connection.execute("INSERT INTO records SELECT ?, body, hash FROM records WHERE seq = ?", (last + 1, seq))


def cut(connection: sqlite3.Connection, seq: int) -> None:
    """Remove a record and everything after it."""
    connection.execute("DELETE FROM records WHERE seq >= ?", (seq,))


def forge(connection: sqlite3.Connection, seq: int) -> None:
    """Make a payment cheaper and write the rest of the chain anew."""
    edit(connection, seq)
    rows = connection.execute("SELECT seq, body FROM records ORDER BY seq").fetchall()
    previous = "0" * 64
    for number, body in rows:
        previous = link(previous, canonical(json.loads(body)))
        connection.execute("UPDATE records SET hash = ? WHERE seq = ?", (previous, number))


INSIDE = (edit, edit_and_hash, swap, drop, remove)
"""What the chain alone shows (unless it hits only the last record)."""
ANCHORED = (*INSIDE, repeat, cut, forge)
"""What a head that was kept elsewhere shows."""


def detected(change: Callable[[sqlite3.Connection, int], None], seq: int, *, anchored: bool) -> bool:
    """Whether ``change`` at record ``seq`` is seen."""
    with tempfile.TemporaryDirectory(prefix="barrow-tamper-") as name:
        path = Path(name) / "a.ledger"
        ledger = make(path, 100)
        for number in range(RELEASES):
            pay(ledger, f"k{number}", Fraction(1, 3))
        head = ledger.head() if anchored else None
        connection = sqlite3.connect(path)
        connection.execute("DROP TRIGGER records_are_not_changed")
        connection.execute("DROP TRIGGER records_are_not_removed")
        change(connection, seq)
        connection.commit()
        connection.close()
        try:
            Ledger.open(path).verify(head)
        except LedgerError:
            return True
        return False


def run() -> Counter[str]:
    """Every change at every record after the first; the last counts only with an anchor."""
    counts = Counter[str]()
    for change in ANCHORED:
        for seq in range(3, RELEASES + 2):
            counts["tampered"] += 1
            counts["undetected"] += not detected(change, seq, anchored=True)
    for change in INSIDE:
        for seq in range(3, RELEASES + 1):
            counts["tampered"] += 1
            counts["undetected"] += not detected(change, seq, anchored=False)
    # The control: without an anchor a cut at the end cannot be seen, by construction.
    counts["control_cut_unseen_without_head"] += not detected(cut, RELEASES, anchored=False)
    return counts
