"""What the shuffler keeps until it mixes: ciphertexts by their digest and spent tokens by theirs; no order, no time.

Rows have no number (WITHOUT ROWID). What is deleted is overwritten (secure_delete), and the write-ahead log is emptied
after every commit, because it lists what came after what. Within a page SQLite keeps rows in the order they came; so
the file is rebuilt in the order of digests whenever it has grown by a quarter, and before it rests.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress

from barrow.collect.stores import connect, writing
from barrow.collect.tokens import random_bytes

_PAGE = 5000
_GROWTH = 0.25
_LEAST = 2000
_CACHE_KIB = 2**15
Item = tuple[bytes, bytes | None]
"""A sealed message, and the prefix of its token."""


class Pool:
    """The messages of one card that wait to be mixed.

    Args:
        path: Its file.
        card: The card's digest.

    >>> import tempfile
    >>> pool = Pool(tempfile.mkdtemp() + "/pool.db", "sha256:0")
    >>> pool.add([(b"x", b"t"), (b"x", b"t"), (b"y", b"t"), (b"z", b"u")])
    ['accepted', 'repeated', 'used token', 'accepted']
    >>> pool.count(), sorted(pool.messages())
    (2, [b'x', b'z'])
    """

    def __init__(self, path: str | os.PathLike[str], card: str) -> None:
        tables = (
            "CREATE TABLE IF NOT EXISTS messages (digest BLOB PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID;"
            "CREATE TABLE IF NOT EXISTS tokens (digest BLOB PRIMARY KEY) WITHOUT ROWID;"
            "CREATE TABLE IF NOT EXISTS refused (reason TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;"
        )
        self._link = connect(path, tables, card)
        self._link.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")  # digests are random: every page is touched
        self._refused: dict[str, int] = {}
        self.held = self._tidied = self.count()

    def add(self, items: Sequence[Item]) -> list[str]:
        """Store items in one durable step: ``accepted``, ``repeated``, ``used token`` or ``closed`` for each.

        Items of one commit are written in the order of their digests: among them nothing tells which came first.
        """
        named = [(_digest(sealed), sealed, None if t is None else _digest(t)) for sealed, t in items]
        said = [""] * len(items)
        with writing(self._link) as link:
            closed = self.batch is not None
            for i in sorted(range(len(named)), key=lambda i: named[i][0]):
                said[i] = _put(link, *named[i], closed)
        self._empty_log()
        self.held += said.count("accepted")
        if self.held > max(_LEAST, self._tidied * (1 + _GROWTH)):
            self.tidy()
        return said

    def refuse(self, reason: str, number: int = 1) -> None:
        """Count what was refused; in memory, because when it came is nobody's business."""
        self._refused[reason] = self._refused.get(reason, 0) + number

    @property
    def refused(self) -> dict[str, int]:
        """How many were refused since the start, by reason."""
        return dict(self._refused)

    @property
    def batch(self) -> str | None:
        """The id of the batch that was mixed; None while messages are taken."""
        row = self._link.execute("SELECT value FROM about WHERE name = 'batch'").fetchone()
        return None if row is None else str(row[0])

    def count(self) -> int:
        """How many messages wait; counted anew, while ``held`` is what this process knows."""
        return int(self._link.execute("SELECT count(*) FROM messages").fetchone()[0])

    def shut(self) -> str:
        """Take no more messages; the id of the batch, drawn once."""
        with writing(self._link) as link:
            link.execute("INSERT OR IGNORE INTO about VALUES ('batch', ?)", [random_bytes(16).hex()])
        return self.batch or ""

    def messages(self) -> Iterator[bytes]:
        """All messages in the order of their digests, some at a time."""
        last = b""
        query = "SELECT digest, sealed FROM messages WHERE digest > ? ORDER BY digest LIMIT ?"
        while page := self._link.execute(query, [last, _PAGE]).fetchall():
            yield from (bytes(sealed) for _, sealed in page)
            last = page[-1][0]

    def forget(self) -> None:
        """Overwrite and remove all messages; the digests of spent tokens stay, so that none is spent again."""
        with writing(self._link) as link:
            link.execute("DELETE FROM messages")
        self.held = 0
        self.tidy()

    def tidy(self) -> None:
        """Rebuild the file in the order of digests, and empty the log."""
        with suppress(sqlite3.OperationalError):  # another process reads it now: the next commit tries again
            self._link.execute("VACUUM")
            self._tidied = self.held
        self._empty_log()

    def _empty_log(self) -> None:
        with suppress(sqlite3.OperationalError):
            self._link.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def close(self) -> None:
        """Leave nothing of the order behind."""
        self.tidy()
        self._link.close()


def _put(link: sqlite3.Connection, digest: bytes, sealed: bytes, token: bytes | None, closed: bool) -> str:
    if link.execute("SELECT 1 FROM messages WHERE digest = ?", [digest]).fetchone():
        return "repeated"
    spent = token is not None and link.execute("SELECT 1 FROM tokens WHERE digest = ?", [token]).fetchone()
    if closed:  # what was mixed is forgotten; a token that was spent says that its message was taken
        return "repeated" if spent else "closed"
    if spent:
        return "used token"
    link.execute("INSERT INTO messages VALUES (?, ?)", [digest, sealed])
    if token is not None:
        link.execute("INSERT INTO tokens VALUES (?)", [token])
    return "accepted"


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
