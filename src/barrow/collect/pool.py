"""What the shuffler keeps until it mixes: messages with what lets them in, by their digest; no order, no time.

They are a file of slots (:mod:`barrow.collect.slots`). When they are forgotten, their digests stay in another one, so
that whoever sends again what was mixed is told so. A small database beside them says which card it is, and locks.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from barrow.collect.sealing import SEALED_BYTES
from barrow.collect.slots import DIGEST, Slots
from barrow.collect.stores import StoreError, connect, touch, writing
from barrow.collect.tokens import random_bytes
from barrow.errors import ParameterError

try:
    import fcntl
except ImportError:  # Windows: whoever mixes twice at a time there is stopped by the batch's file alone
    fcntl = None  # type: ignore[assignment]

_CHECK = 16


class MessagePool:
    """The messages of one card that wait to be mixed.

    Beside its file are ``.messages`` and ``.taken``, and, once it was mixed, the empty ``.mixing`` that locks.

    Args:
        path: Its file.
        card: The card's digest.
        size: The bytes of an item: a message of 64 bytes, and what lets it in.
    """

    def __init__(self, path: str | os.PathLike[str], card: str, size: int) -> None:
        self._path = os.fspath(path)
        self._link = connect(path, "", card)
        self._size = size
        self._refused: dict[str, int] = {}
        self._broken = False
        try:
            with writing(self._link):
                self._tell("key", random_bytes(32).hex())
                self._key = bytes.fromhex(self._told("key") or "")
                width = 1 << (DIGEST + size + _CHECK - 1).bit_length()
                self._messages = Slots(f"{os.fspath(path)}.messages", width)
                self._taken = Slots(f"{os.fspath(path)}.taken", DIGEST, fewest=128)
                if self._told("mixed") is not None:
                    self._messages.erase()
                elif self._told("clean") is None:
                    self._recover()
        except (OSError, StoreError) as error:
            raise ParameterError(
                f"The pool {str(path)!r} cannot be opened: {error}.", allowed="a disk with room", fix="make room"
            ) from None
        self.held = self.count()

    def _told(self, name: str) -> str | None:
        row = self._link.execute("SELECT value FROM about WHERE name = ?", [name]).fetchone()
        return None if row is None else str(row[0])

    def _digest(self, item: bytes) -> bytes:
        """Of the message alone, whatever lets it in.

        Keyed, so that nobody can send what fills one bucket and makes the file double again and again.
        """
        return hashlib.blake2b(item[:SEALED_BYTES], digest_size=DIGEST, key=self._key).digest()

    def _record(self, digest: bytes, item: bytes) -> bytes:
        """What is written: the digest, the item, and a check that both were written whole."""
        check = hashlib.blake2b(digest + item, digest_size=_CHECK, key=self._key).digest()
        return (digest + item + check).ljust(self._messages.width, b"\0")

    def _item(self, record: bytes) -> bytes:
        return record[DIGEST : DIGEST + self._size]

    def _tell(self, name: str, value: str) -> None:
        self._link.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", [name, value])

    @contextmanager
    def _storing(self) -> Iterator[None]:
        """Alone among processes; what cannot be written is a StoreError."""
        if self._broken:
            raise StoreError("It cannot be stored now.", allowed="a disk that works", fix="start the service again")
        try:
            with writing(self._link):
                yield
        except OSError as error:
            raise StoreError("It cannot be stored now.", allowed="a disk with room", fix="make room") from error

    def _sync(self, slots: Slots) -> None:
        try:
            slots.sync()
        except OSError:
            self._broken = True  # nobody knows what is on the disk now: a copy that is found must not be acknowledged
            raise

    def _recover(self) -> None:
        """After a kill: remove what was not written whole."""
        for rows in self._messages.chunks():
            for record in (row.tobytes() for row in rows):
                if self._record(record[:DIGEST], self._item(record)) != record:
                    self._messages.replace(record, bytes(len(record)))
        self._messages.sync()

    def add(self, items: Sequence[bytes]) -> list[str]:
        """Store items in one durable step: ``accepted``, ``repeated`` or ``closed`` for each."""
        named = [self._digest(item) for item in items]
        with self._storing():
            closed = self.batch is not None
            self._link.execute("DELETE FROM about WHERE name = 'clean'")
            self._messages.begin()
            self._taken.begin()
            known = _those(self._messages, named) | (_those(self._taken, named) if closed else set())
            lines = []
            for digest, item in zip(named, items, strict=True):
                if digest in known:
                    lines.append("repeated")
                elif closed:
                    lines.append("closed")
                else:
                    self._messages.put(self._record(digest, item))
                    known.add(digest)
                    lines.append("accepted")
            if "accepted" in lines or "repeated" in lines:
                self._sync(self._messages)
        self.held += lines.count("accepted")
        return lines

    @property
    def waiting(self) -> int:
        """How many messages wait, as far as this process knows; none once they were mixed."""
        return self.held if self._told("mixed") is None else 0

    def check(self) -> None:
        """Write something durably, or say that it cannot be done."""
        if self._broken:
            raise StoreError("It cannot be stored now.", allowed="a disk that works", fix="start the service again")
        touch(self._link)
        with self._storing():
            self._messages.begin()
            self._sync(self._messages)

    @contextmanager
    def mixing(self) -> Iterator[None]:
        """Alone among those who mix; messages may still be taken meanwhile."""
        handle = os.open(f"{self._path}.mixing", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

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
        return self._told("batch")

    def count(self) -> int:
        """How many messages wait; counted anew, while ``held`` is what this process knows."""
        self._messages.begin()
        return self._messages.count()

    def shut(self) -> str:
        """Take no more messages; the id of the batch, drawn once."""
        with self._storing():
            self._tell("batch", random_bytes(16).hex())
        return self.batch or ""

    def items(self) -> Iterator[bytes]:
        """All messages with what lets them in, some at a time, in the order of the first bits of their digests."""
        self._messages.begin()
        for rows in self._messages.chunks():
            yield from (self._item(row.tobytes()) for row in rows)

    def forget(self) -> None:
        """Overwrite and remove all messages; their digests stay, so that none is taken again."""
        with self._storing():
            self._messages.begin()
            self._taken.begin()
            for rows in self._messages.chunks():
                digests = [row[:DIGEST].tobytes() for row in rows]
                for digest in sorted(set(digests) - _those(self._taken, digests)):
                    self._taken.put(digest)
            self._sync(self._taken)
            self._tell("mixed", "yes")
        with self._storing():  # if this is interrupted, whoever opens the pool next goes on
            self._messages.begin()
            self._messages.erase()
        self.held = 0

    def close(self) -> None:
        """Let go of the files; the next start need not look for what a kill left behind."""
        with self._storing():
            self._tell("clean", "yes")
        self._messages.close()
        self._taken.close()
        self._link.close()


def _those(slots: Slots, digests: list[bytes]) -> set[bytes]:
    """Those that are there."""
    return {digest for digest, result in zip(digests, slots.has(digests), strict=True) if result}
