"""What a person sends for a secure sum: a nonce, the public share, what lets it in, and a sealed share each.

A message to one aggregator, all of one size for each card::

    "BSS" 1 | its index, 1 byte | nonce, 16 | public share, 32 each | what lets it in | sealed share

What is posted to the leader has the index 255 and all sealed shares, in the order of aggregators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from barrow.collect.keys import b64, unb64
from barrow.collect.prio3.prio3 import NONCE
from barrow.collect.sealing import SEALING_BYTES, open_bytes, seal_bytes
from barrow.collect.sum_task import SumTask
from barrow.collect.tokens import random_bytes

MARK = b"BSS\x01"
"""How every message begins; the last byte is the version."""
ALL = 255
"""The index of what holds everybody's shares."""


class ShareMessage(NamedTuple):
    """One aggregator's message, read.

    Attributes:
        nonce: The report's random name.
        public: The public share.
        admission: What lets it in.
        sealed: The sealed share; of what is posted to the leader all of them, one after the other.
    """

    nonce: bytes
    public: bytes
    admission: bytes
    sealed: bytes


class SealedReport(NamedTuple):
    """One person's report, shared and sealed. It is stored before anything is sent, and never made anew.

    Attributes:
        nonce: Its random name.
        public: The public share.
        sealed: One sealed share for each aggregator.
    """

    nonce: bytes
    public: bytes
    sealed: tuple[bytes, ...]

    @property
    def signed(self) -> bytes:
        """What a token or a front end signs: the nonce, and the public share, which binds all others."""
        return self.nonce + self.public

    def message(self, index: int, admission: bytes) -> bytes:
        """What one aggregator gets."""
        return MARK + bytes([index]) + self.signed + admission + self.sealed[index]

    def body(self, admission: bytes) -> bytes:
        """What is posted to the leader, for all."""
        return MARK + bytes([ALL]) + self.signed + admission + b"".join(self.sealed)

    def to_json(self) -> list[str]:
        """Plain data, for the person's own memory."""
        return [b64(part) for part in (self.nonce, self.public, *self.sealed)]

    @classmethod
    def from_json(cls, data: Sequence[str]) -> SealedReport:
        """What :meth:`to_json` wrote."""
        nonce, public, *sealed = (unb64(text) for text in data)
        return cls(nonce, public, tuple(sealed))


def seal_report(task: SumTask, values: Sequence[int]) -> SealedReport:
    """Share, prove and seal what a person reports, with fresh randomness."""
    nonce = random_bytes(NONCE)
    public, shares = task.prio3.shard(values, nonce, random_bytes(task.prio3.random_size))
    sealed = (
        seal_bytes(_info(task, i, nonce, public), key, share)
        for i, (key, share) in enumerate(zip(task.keys, shares, strict=True))
    )
    return SealedReport(nonce, public, tuple(sealed))


def open_share(task: SumTask, index: int, key: X25519PrivateKey, message: ShareMessage) -> bytes | None:
    """The share in a message; None if it was sealed for another aggregator, card or report, or damaged."""
    return open_bytes(_info(task, index, message.nonce, message.public), key, message.sealed)


def sealed_size(task: SumTask, index: int) -> int:
    """Bytes of one aggregator's sealed share."""
    return SEALING_BYTES + (task.prio3.helper_size if index else task.prio3.leader_size)


def message_size(task: SumTask, index: int) -> int:
    """Bytes of a message to one aggregator, or to all."""
    each = range(task.prio3.aggregators) if index == ALL else [index]
    head = len(MARK) + 1 + NONCE + task.prio3.public_size + task.gate.size
    return head + sum(sealed_size(task, i) for i in each)


def read_message(task: SumTask, index: int, data: bytes) -> ShareMessage | str:
    """A message to this aggregator; or why it is none, in words of a counter."""
    if data[:3] != MARK[:3]:
        return "malformed"
    if data[:4] != MARK:
        return "other version"
    if data[4:5] != bytes([index]):
        return "other aggregator"
    if len(data) != message_size(task, index):
        return "wrong size"
    public = len(MARK) + 1 + NONCE
    admission = public + task.prio3.public_size
    sealed = admission + task.gate.size
    return ShareMessage(data[public - NONCE : public], data[public:admission], data[admission:sealed], data[sealed:])


def message_for(task: SumTask, index: int, body: ShareMessage) -> bytes:
    """One aggregator's message out of what was posted to the leader."""
    start = sum(sealed_size(task, i) for i in range(index))
    sealed = body.sealed[start : start + sealed_size(task, index)]
    return MARK + bytes([index]) + body.nonce + body.public + body.admission + sealed


def _info(task: SumTask, index: int, nonce: bytes, public: bytes) -> bytes:
    """What binds a sealed share to its card, aggregator and report."""
    return f"barrow share 1 {task.card} {index} ".encode("ascii") + nonce + public
