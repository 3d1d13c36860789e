"""Where an aggregator keeps shares, verdicts and its sum: each step one transaction, each report counted once."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from barrow.collect.prio3 import Prio3, VerifyState
from barrow.collect.stores import connect, touch, writing
from barrow.errors import LedgerError

RECEIVED, TOLD, ACCEPTED, REFUSED = range(4)
"""States of a report: stored; checked by this aggregator alone; counted; left out."""
_TABLES = """
CREATE TABLE IF NOT EXISTS reports (nonce BLOB PRIMARY KEY, state INTEGER NOT NULL, body BLOB, output BLOB, seed BLOB,
    share BLOB, message BLOB, batch INTEGER) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_state ON reports (state);
CREATE TABLE IF NOT EXISTS refused (reason TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS held (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
"""
_COUNT = "INSERT INTO refused VALUES (?, ?) ON CONFLICT (reason) DO UPDATE SET number = number + excluded.number"
_HOLD = "INSERT INTO held VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class ShareStore:
    """The shares of one card that one aggregator holds.

    A report's nonce stays for ever: what was counted or refused once is neither again.
    """

    def __init__(self, path: str | os.PathLike[str], card: str, index: int) -> None:
        self._link = connect(path, _TABLES, f"{card} aggregator {index}")

    def add(self, rows: Sequence[tuple[bytes, bytes]], refused: Mapping[str, int], most: int) -> list[str]:
        """Store (nonce, message) of new reports, at most so many in all; what became of each."""
        lines: list[str] = []
        with writing(self._link) as link:
            closed = _held(link, "closed") is not None or _held(link, "paused") is not None
            number = int(link.execute("SELECT count(*) FROM reports").fetchone()[0])
            for nonce, body in rows:
                known = link.execute("SELECT 1 FROM reports WHERE nonce = ?", [nonce]).fetchone()
                line = "repeated" if known else "closed" if closed else "too many" if number >= most else "accepted"
                if line == "accepted":
                    link.execute("INSERT INTO reports (nonce, state, body) VALUES (?, ?, ?)", [nonce, RECEIVED, body])
                    number += 1
                lines.append(line)
            link.executemany(_COUNT, (Counter(line for line in lines if line != "accepted") + Counter(refused)).items())
        return lines

    def received(self, most: int) -> list[tuple[bytes, bytes]]:
        """Some reports (nonce, message) that were not looked at yet."""
        query = "SELECT nonce, body FROM reports WHERE state = ? LIMIT ?"
        return self._link.execute(query, [RECEIVED, most]).fetchall()

    def look(self, results: Mapping[bytes, VerifyState | str], *, keep: bool = False) -> None:
        """Note what this aggregator found: what it will tell the others; or why a report is left out.

        With ``keep`` the message stays until the verdict, for a leader who passes parts of it on.
        """
        with writing(self._link) as link:
            for nonce, result in results.items():
                if isinstance(result, str):
                    changed = _leave_out(link, nonce, RECEIVED)
                    link.execute(_COUNT, [result, changed])
                    continue
                link.execute(
                    f"UPDATE reports SET state = ?, {'' if keep else 'body = NULL, '}output = ?, seed = ?, share = ? "  # noqa: S608
                    "WHERE nonce = ? AND state = ?",
                    [TOLD, result.output, result.seed, result.share, nonce, RECEIVED],
                )

    def states(self, nonces: Sequence[bytes]) -> dict[bytes, tuple[int, VerifyState | None, bytes | None]]:
        """Of some reports: the state, what is held of them, and the message of those that were counted."""
        query = "SELECT state, output, seed, share, message FROM reports WHERE nonce = ?"
        result = {}
        for nonce in nonces:
            row = self._link.execute(query, [nonce]).fetchone()
            if row is not None:
                result[nonce] = (int(row[0]), VerifyState(*row[1:4]) if row[0] == TOLD else None, row[4])
        return result

    def decide(self, prio3: Prio3, messages: Mapping[bytes, bytes | None]) -> None:
        """Verdict, sum and count of some reports in one step: a message counts a report, None leaves it out.

        What was decided before stays as it is, and after closing nothing is decided.
        """
        with writing(self._link) as link:
            if _held(link, "closed") is not None:
                return
            outputs: list[bytes] = []
            for nonce, message in messages.items():
                query = "SELECT output, seed FROM reports WHERE nonce = ? AND state = ?"
                row = link.execute(query, [nonce, TOLD]).fetchone()
                if row is None:
                    continue
                if message is None or message != row[1]:
                    _leave_out(link, nonce, TOLD)
                    link.execute(_COUNT, ["not valid", 1])
                    continue
                outputs.append(row[0])
                link.execute(
                    "UPDATE reports SET state = ?, body = NULL, output = NULL, seed = NULL, message = ? "
                    "WHERE nonce = ?",
                    [ACCEPTED, message, nonce],
                )
            if outputs:
                link.execute(_HOLD, ["sum", prio3.add(outputs, to=_held(link, "sum"))])

    def number_batch(self) -> None:
        """Give what waits to be told, and has no number yet, the next number of a file."""
        with writing(self._link) as link:
            link.execute(
                "UPDATE reports SET batch = (SELECT coalesce(max(batch), 0) + 1 FROM reports) "
                "WHERE state = ? AND batch IS NULL",
                [TOLD],
            )

    def batches(self) -> list[int]:
        """The numbers of files that were told."""
        query = "SELECT DISTINCT batch FROM reports WHERE batch IS NOT NULL AND share IS NOT NULL ORDER BY batch"
        return [int(row[0]) for row in self._link.execute(query)]

    def batch(self, number: int) -> Iterator[tuple[bytes, bytes]]:
        """What one file tells: (nonce, verifier share)."""
        query = "SELECT nonce, share FROM reports WHERE batch = ? AND share IS NOT NULL ORDER BY nonce"
        yield from self._link.execute(query, [number])

    def undecided(self, most: int, after: bytes = b"") -> list[tuple[bytes, bytes]]:
        """Some reports (nonce, verifier share) that wait for the others, in the order of their nonces."""
        query = "SELECT nonce, share FROM reports WHERE state = ? AND nonce > ? ORDER BY nonce LIMIT ?"
        return self._link.execute(query, [TOLD, after, most]).fetchall()

    def told(self, nonce: bytes) -> bytes | None:
        """What this aggregator tells about a report, also after it was decided; None where it was left out before."""
        row = self._link.execute("SELECT share FROM reports WHERE nonce = ?", [nonce]).fetchone()
        return None if row is None else row[0]

    def kept(self, nonce: bytes) -> bytes | None:
        """The message of a report that waits for its verdict."""
        row = self._link.execute("SELECT body FROM reports WHERE nonce = ?", [nonce]).fetchone()
        return None if row is None else row[0]

    def count(self, state: int) -> int:
        """How many reports are in a state."""
        return int(self._link.execute("SELECT count(*) FROM reports WHERE state = ?", [state]).fetchone()[0])

    def refused(self) -> dict[str, int]:
        """How many were refused, by reason."""
        return dict(self._link.execute("SELECT reason, number FROM refused WHERE number > 0").fetchall())

    @property
    def closed(self) -> bool:
        """Whether no more reports are counted."""
        return _held(self._link, "closed") is not None

    def pause(self, paused: bool) -> None:
        """Take no new reports, so that what waits can be decided; or take them again."""
        with writing(self._link) as link:
            link.execute("DELETE FROM held WHERE name = 'paused'")
            if paused:
                link.execute(_HOLD, ["paused", b"1"])

    def close(self, prio3: Prio3, draw: Callable[[], Sequence[int]]) -> tuple[int, str, bytes]:
        """Close and add this aggregator's noise, once: the number of reports, the digest of their nonces, the share.

        Three durable steps, and asked again the same: no more reports; then the noise, drawn once and stored with the
        sum, which is forgotten; only then is anything handed out.
        """
        with writing(self._link) as link:
            if _held(link, "closed") is None:
                nonces = hashlib.sha256()
                rows = link.execute("SELECT nonce FROM reports WHERE state = ? ORDER BY nonce", [ACCEPTED]).fetchall()
                for (nonce,) in rows:
                    nonces.update(nonce)
                left = link.execute(
                    "UPDATE reports SET state = ?, body = NULL, output = NULL, seed = NULL WHERE state IN (?, ?)",
                    [REFUSED, RECEIVED, TOLD],
                ).rowcount
                link.execute(_COUNT, ["not decided before closing", left])
                link.execute(_HOLD, ["closed", f"{len(rows)} sha256:{nonces.hexdigest()}".encode()])
        with writing(self._link) as link:
            share = _held(link, "noised")
            if share is None:
                noise = prio3.write(draw())
                share = prio3.add([noise], to=_held(link, "sum") or bytes(prio3.output_size))
                link.execute(_HOLD, ["noised", share])
                link.execute("DELETE FROM held WHERE name = 'sum'")
                link.execute("UPDATE reports SET share = NULL")
        number, digest = (_held(self._link, "closed") or b"").decode().split()
        return int(number), digest, share

    def remember(self, name: str, value: bytes) -> bytes:
        """What was noted first under a name, durably; a second note of something else is refused."""
        with writing(self._link) as link:
            known = _held(link, name)
            if known is None:
                link.execute(_HOLD, [name, value])
        if known is not None and known != value:
            raise LedgerError(
                "Another aggregator sent two different closings; no share is written.",
                allowed="one closing of each aggregator",
                fix="do not release; ask its operator what happened",
            )
        return value

    def check(self) -> None:
        """Write something durably, or say that it cannot be done."""
        touch(self._link)

    def let_go(self) -> None:
        """Let go of the file."""
        self._link.close()


def _held(link: sqlite3.Connection, name: str) -> bytes | None:
    row = link.execute("SELECT value FROM held WHERE name = ?", [name]).fetchone()
    return None if row is None else bytes(row[0])


def _leave_out(link: sqlite3.Connection, nonce: bytes, state: int) -> int:
    """Leave a report out for ever, if it is still in this state; how many that were."""
    query = "UPDATE reports SET state = ?, body = NULL, output = NULL, seed = NULL WHERE nonce = ? AND state = ?"
    return link.execute(query, [REFUSED, nonce, state]).rowcount
