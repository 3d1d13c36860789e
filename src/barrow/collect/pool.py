"""What the shuffler keeps until it mixes: ciphertexts by their digest and spent tokens by theirs; no order, no time.

Both are files of slots (:mod:`barrow.collect.slots`). A message's record holds the digest of its token too, so that one
write stores both; the file of tokens, which stays when messages are forgotten, follows behind, and is completed from
the messages if the service was killed in between. A small database beside them says which card it is, and locks.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from barrow.collect.sealing import SEALED_BYTES
from barrow.collect.slots import DIGEST, Slots
from barrow.collect.stores import StoreError, connect, writing
from barrow.collect.tokens import random_bytes
from barrow.errors import ParameterError

Item = tuple[bytes, bytes | None]
"""A sealed message, and the prefix of its token."""
_WIDTH = 2 * DIGEST + SEALED_BYTES
_NO_TOKEN = bytes(DIGEST)


class Pool:
    """The messages of one card that wait to be mixed.

    Beside its file are ``.messages`` and ``.tokens``.
    """

    def __init__(self, path: str | os.PathLike[str], card: str) -> None:
        self._link = connect(path, "", card)
        self._refused: dict[str, int] = {}
        self._broken = False
        try:
            with writing(self._link):
                self._tell("key", random_bytes(32).hex())
                self._key = bytes.fromhex(self._told("key") or "")
                self._messages = Slots(f"{os.fspath(path)}.messages", _WIDTH)
                self._tokens = Slots(f"{os.fspath(path)}.tokens", DIGEST, fewest=256)
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

    def _digest(self, data: bytes) -> bytes:
        """Keyed, so that nobody can send what fills one bucket and makes the file double again and again."""
        return hashlib.blake2b(data, digest_size=DIGEST, key=self._key).digest()

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
        """After a kill: remove what was not written whole, and spend the tokens of all messages."""
        for rows in self._messages.chunks():
            self._tokens.begin()
            spent = []
            for record in (row.tobytes() for row in rows):
                if self._digest(record[2 * DIGEST :]) != record[:DIGEST]:
                    self._messages.replace(record, bytes(_WIDTH))
                elif (token := record[DIGEST : 2 * DIGEST]) != _NO_TOKEN:
                    spent.append(token)
            for token in set(spent) - _those(self._tokens, spent):
                self._tokens.put(token)
        self._messages.sync()
        self._tokens.sync()

    def add(self, items: Sequence[Item]) -> list[str]:
        """Store items in one durable step: ``accepted``, ``repeated``, ``used token`` or ``closed`` for each."""
        named = [(self._digest(x), _NO_TOKEN if token is None else self._digest(token)) for x, token in items]
        with self._storing():
            closed = self.batch is not None
            self._link.execute("DELETE FROM about WHERE name = 'clean'")
            self._messages.begin()
            self._tokens.begin()
            known = _those(self._messages, [digest for digest, _ in named])
            used = _those(self._tokens, [token for _, token in named if token != _NO_TOKEN])
            said, spent = [], []
            for (digest, token), (sealed, _) in zip(named, items, strict=True):
                if digest in known:
                    said.append("repeated")
                elif closed:  # what was mixed is forgotten; a token that was spent says that its message was taken
                    said.append("repeated" if token in used else "closed")
                elif token in used:
                    said.append("used token")
                else:
                    self._messages.put(digest + token + sealed)
                    known.add(digest)
                    if token != _NO_TOKEN:
                        used.add(token)
                        spent.append(token)
                    said.append("accepted")
            if "accepted" in said or "repeated" in said:
                self._sync(self._messages)
            for token in spent:
                self._tokens.put(token)
        self.held += said.count("accepted")
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

    def messages(self) -> Iterator[bytes]:
        """All messages, some at a time, in the order of the first bits of their digests."""
        self._messages.begin()
        for rows in self._messages.chunks():
            yield from (row.tobytes() for row in rows[:, 2 * DIGEST :])

    def forget(self) -> None:
        """Overwrite and remove all messages; the digests of spent tokens stay, so that none is spent again."""
        with self._storing():
            self._tokens.begin()
            self._sync(self._tokens)
            self._tell("mixed", "yes")
        with self._storing():  # if this is interrupted, whoever opens the pool next goes on
            self._messages.begin()
            self._messages.erase()
        self.held = 0

    def close(self) -> None:
        """Let go of the files; the next start need not look for what a kill left behind."""
        with self._storing():
            self._tokens.begin()
            self._sync(self._tokens)
            self._tell("clean", "yes")
        self._messages.close()
        self._tokens.close()
        self._link.close()


def _those(slots: Slots, digests: list[bytes]) -> set[bytes]:
    """Those that are there."""
    return {digest for digest, found in zip(digests, slots.has(digests), strict=True) if found}
