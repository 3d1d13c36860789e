"""A published head: what a ledger's owner signs, so that a stranger can check a release without the ledger.

It holds the head of the chain and, for each release that was committed up to there, one mark: a hash of the digests in
its commit record. Whoever holds the folder of a release can compute its mark; whoever does not learns nothing from it.
The format stands in docs/ledger.md, "A published head".
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from barrow.errors import ParameterError
from barrow.ledger.keys import SigningKey, fingerprint_of, from_base64, signed_by, to_base64
from barrow.ledger.state import Digests, LedgerState
from barrow.ledger.store import ChainHead, write_durably, written

FILE = "head.json"
"""What it is called in the folder of a release."""
VERSION = 1
LARGEST = 2**24
"""Bytes: room for a quarter of a million releases."""

_SIGNED = b"barrow ledger head 1\n"
_MARK = b"barrow release 1\n"
_HEX = re.compile(r"[0-9a-f]{64}")


class _HeadWire(msgspec.Struct, forbid_unknown_fields=True):
    barrow: Literal["ledger head"]
    version: Literal[1]
    ledger: str
    head: str
    when: str
    releases: list[str]
    signer: str
    signature: str


@dataclass(frozen=True)
class PublishedHead:
    """The head of a ledger and the marks of its releases, signed.

    >>> import tempfile
    >>> key = SigningKey.new(tempfile.mkdtemp() + "/owner.key")
    >>> done = Digests("sha256:" + "ab" * 32, "sha256:" + "cd" * 32)
    >>> head = PublishedHead.signed("0f", ChainHead(4, "ab" * 32), [done], "2026-10-15T19:02:00Z", key)
    >>> PublishedHead.parse(head.content) == head, head.holds(done), head.signer == key.fingerprint
    (True, True, True)
    """

    ledger: str
    head: ChainHead
    when: str
    releases: tuple[str, ...]
    public: bytes
    signature: bytes

    @classmethod
    def of(cls, state: LedgerState, when: str, key: SigningKey) -> PublishedHead:
        """The head of ``state``, signed."""
        return cls.signed(state.name, state.head, state.committed.values(), when, key)

    @classmethod
    def signed(cls, ledger: str, head: ChainHead, done: Iterable[Digests], when: str, key: SigningKey) -> PublishedHead:
        """A head over the releases ``done``."""
        marks = marks_of(done)
        unsigned = cls(ledger, head, when, marks, key.public, b"")
        return cls(ledger, head, when, marks, key.public, key.sign(unsigned.message))

    @classmethod
    def parse(cls, content: bytes) -> PublishedHead:
        """The head that a file holds, if its signature fits; anything else is refused."""
        try:
            wire = msgspec.json.decode(content, type=_HeadWire)
            built = cls(
                wire.ledger, ChainHead.parse(wire.head), wire.when, tuple(wire.releases), from_base64(wire.signer),
                from_base64(wire.signature),
            )  # fmt: skip
            good = (
                len(content) <= LARGEST
                and str(built.head) == wire.head
                and all(map(_HEX.fullmatch, built.releases))
                and list(built.releases) == sorted(set(built.releases))
                and signed_by(built.public, built.signature, built.message)
            )
        except (msgspec.MsgspecError, ValueError, RecursionError, ParameterError):
            good = False
        if not good:
            raise ParameterError(
                "The signature does not fit what it should sign: the head was changed, or cut off.",
                allowed=f"a file made by barrow ledger head --publish, version {VERSION}",
                fix="ask the ledger's owner for a new one",
            )
        return built

    @property
    def signer(self) -> str:
        """The fingerprint of the key that signed."""
        return fingerprint_of(self.public)

    @property
    def message(self) -> bytes:
        """What is signed: a line that says what it is, and everything but the signature in canonical JSON."""
        return _SIGNED + written(self._signed_part).encode()

    @property
    def content(self) -> bytes:
        """The file."""
        return (
            msgspec.json.format(msgspec.json.encode({**self._signed_part, "signature": to_base64(self.signature)}))
            + b"\n"
        )

    @property
    def _signed_part(self) -> dict[str, object]:
        return {
            "barrow": "ledger head",
            "version": VERSION,
            "ledger": self.ledger,
            "head": str(self.head),
            "when": self.when,
            "releases": list(self.releases),
            "signer": to_base64(self.public),
        }

    def holds(self, digests: Digests) -> bool:
        """Whether the release with these digests had been committed when the head was signed."""
        return mark(digests) in self.releases

    def write(self, path: Path) -> None:
        """Put it into the file ``path``, whole; nothing but an earlier head of the same ledger is ever replaced."""
        if os.path.lexists(path) and not self._continues(path):
            raise ParameterError(
                f"The file {str(path)!r} is something else, or a later head. It was not touched.",
                allowed="a new file, or an earlier head of the same ledger",
                fix=f"--out another/{FILE}",
            )
        try:
            write_durably(path, self.content)
        except OSError as error:
            raise ParameterError(
                f"The head cannot be written to {str(path)!r}: {error.strerror}.",
                allowed="a folder that you may write to",
                fix=f"--out another/{FILE}",
            ) from None

    def _continues(self, path: Path) -> bool:
        if path.is_symlink() or not path.is_file():
            return False
        try:
            earlier = PublishedHead.parse(path.read_bytes())
        except (OSError, ParameterError):
            return False
        return earlier.ledger == self.ledger and earlier.head.length <= self.head.length


def mark(digests: Digests) -> str:
    """One hash for a release: of its values and of its whole statement."""
    return hashlib.sha256(_MARK + f"{digests.outputs}\n{digests.statement}".encode()).hexdigest()


def marks_of(done: Iterable[Digests]) -> tuple[str, ...]:
    """The marks of releases, in an order that says nothing; without a digest of its statement none can be checked."""
    return tuple(sorted({mark(digests) for digests in done if digests.statement is not None}))
