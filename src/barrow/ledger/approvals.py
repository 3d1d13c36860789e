"""Approval: who must agree before a ledger pays for a release, what they sign, and what a ledger makes of it.

A ledger that is made with approvers pays only for releases that enough of them have signed. What is signed names the
ledger, the proposal, every release in it by its digest, and an end. One signature counts once: for one approver, one
proposal and one payment of each of its releases. The formats stand in docs/ledger.md, "Approval".
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from barrow.errors import ParameterError, path_text, plain_file
from barrow.ledger.keys import SigningKey, fingerprint_of, from_base64, signed_by, to_base64
from barrow.ledger.store import canonical, digest

APPROVAL_VERSION = 1
_SIGNED = b"barrow approval 1\n"
_LARGEST = 2**22
_MOST = 50
_NAME = re.compile(r"[^\s,;][^\x00-\x1f,;]{0,79}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
"""A moment as approvals and proposals write it."""


class _ApproverWire(msgspec.Struct, forbid_unknown_fields=True):
    barrow: Literal["approver"]
    version: Literal[1]
    name: str
    public: str


@dataclass(frozen=True)
class Approver:
    """Somebody whose signature counts: a name, and the public half of a key of ``barrow key new``.

    >>> ana = Approver("ana", bytes(32))
    >>> Approver.parse(ana.content) == ana, ana.fingerprint[:14]
    (True, 'sha256:66687aa')
    """

    name: str
    public: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or _NAME.fullmatch(self.name) is None or len(self.public) != 32:
            raise ParameterError(
                f"The approver is {self.name!r}.",
                allowed="a name of at most 80 characters without commas, and a public key of 32 bytes",
                fix="barrow key public ana.key --name ana",
            )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Approver:
        """The approver in a file of ``barrow key public``."""
        return cls.parse(_read(path, "The approver"))

    @classmethod
    def parse(cls, content: bytes) -> Approver:
        """The approver that a file holds; a private key, or anything else, is refused."""
        try:
            wire = msgspec.json.decode(content, type=_ApproverWire)
            return cls(wire.name, from_base64(wire.public))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise ParameterError(
                "The file holds no approver.",
                allowed="what barrow key public wrote: a name and a public key, never the key itself",
                fix="barrow key public ana.key --name ana --out ana.pub",
            ) from None

    @property
    def fingerprint(self) -> str:
        """By what others know the key."""
        return fingerprint_of(self.public)

    @property
    def content(self) -> bytes:
        """The file."""
        wire = {"barrow": "approver", "version": 1, "name": self.name, "public": to_base64(self.public)}
        return msgspec.json.format(msgspec.json.encode(wire)) + b"\n"

    def to_json(self) -> dict[str, str]:
        """As the first record of a ledger names them."""
        return {"name": self.name, "public": to_base64(self.public)}


@dataclass(frozen=True)
class Quorum:
    """The approvers of a ledger, and how many of them must agree.

    >>> Quorum([Approver("ana", bytes(32)), Approver("bo", bytes(31) + b"1")], 2).words
    '2 of ana, bo'
    >>> Quorum([Approver("ana", bytes(32)), Approver("bo", bytes(32))], 2)
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: Two approvers have the same name or the same key.
      allowed: different people, each with a key of their own
      fix:     barrow key new for each of them
    """

    approvers: tuple[Approver, ...]
    need: int

    def __init__(self, approvers: Iterable[Approver], need: int) -> None:
        listed = tuple(sorted(approvers, key=lambda approver: approver.name))
        if type(need) is not int or not 1 <= need <= len(listed) <= _MOST:
            raise ParameterError(
                f"{need!r} of {len(listed)} approvers are needed.",
                allowed=f"1 to {_MOST} approvers, and at least 1 and at most all of them",
                fix="--approvers ana.pub --approvers bo.pub --need 2",
            )
        if min(len({a.name for a in listed}), len({a.public for a in listed})) < len(listed):
            raise ParameterError(
                "Two approvers have the same name or the same key.",
                allowed="different people, each with a key of their own",
                fix="barrow key new for each of them",
            )
        vars(self).update(approvers=listed, need=need)

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Quorum:
        """As the first record of a ledger names it."""
        wire = msgspec.convert(dict(data), _QuorumWire)
        return cls([Approver(one.name, from_base64(one.public)) for one in wire.approvers], wire.need)

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {"approvers": [approver.to_json() for approver in self.approvers], "need": self.need}

    @property
    def words(self) -> str:
        """Who they are."""
        return f"{self.need} of {', '.join(approver.name for approver in self.approvers)}"

    def holds(self, name: str, public: bytes) -> bool:
        """Whether somebody of that name, with that very key, is an approver."""
        return Approver(name, public) in self.approvers

    def check(self, name: str, key: SigningKey) -> Approver:
        """The approver called ``name``, if the key is theirs."""
        known = {approver.name: approver for approver in self.approvers}
        owner = next((a.name for a in self.approvers if a.public == key.public), None)
        if name not in known or owner != name:
            held = "of nobody who approves here" if owner is None else f"{owner}'s"
            raise ParameterError(
                f"{name!r} cannot sign with this key: it is {held}.",
                allowed=f"an approver of this ledger with their own key: {', '.join(known)}",
                fix=f"--by {owner or next(iter(known))} --key {owner or next(iter(known))}.key",
            )
        return known[name]


class _NamedKey(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    public: str


class _QuorumWire(msgspec.Struct, forbid_unknown_fields=True):
    approvers: list[_NamedKey]
    need: int


class ProposedRelease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One release of a proposal: the question and the periods for people, and the digest of everything about it.

    >>> ProposedRelease("mean", ["2026-10"], "sha256:" + "ab" * 32).periods
    ['2026-10']
    """

    question: str
    periods: list[str]
    digest: str


class ApprovalWire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a record holds of an approval; the ledger is the record's own."""

    proposal: str
    releases: list[ProposedRelease]
    expires: str
    signed: str
    by: str
    signer: str
    signature: str


class _ApprovalFile(msgspec.Struct, forbid_unknown_fields=True):
    barrow: Literal["approval"]
    version: Literal[1]
    ledger: str
    approval: ApprovalWire


@dataclass(frozen=True)
class Approval:
    """One approver's signature under a proposal.

    >>> import tempfile
    >>> key = SigningKey.new(tempfile.mkdtemp() + "/ana.key")
    >>> asked = ProposedRelease("mean", ["2026-10"], "sha256:" + "ab" * 32)
    >>> times = {"expires": "2026-12-31T23:59:59Z", "signed": "2026-11-01T09:00:00Z"}
    >>> approval = Approval.sign("0f", "sha256:" + "cd" * 32, [asked], by="ana", key=key, **times)
    >>> approval.genuine, Approval.parse(approval.content) == approval
    (True, True)
    """

    ledger: str
    wire: ApprovalWire

    @classmethod
    def sign(
        cls,
        ledger: str,
        proposal: str,
        releases: Sequence[ProposedRelease],
        *,
        by: str,
        key: SigningKey,
        expires: str,
        signed: str,
    ) -> Approval:
        """Sign that these releases of a proposal may be made from a ledger until ``expires``."""
        unsigned = ApprovalWire(
            proposal, list(releases), expires, signed, Approver(by, key.public).name, to_base64(key.public), ""
        )
        message = cls(ledger, unsigned).message
        return cls(ledger, msgspec.structs.replace(unsigned, signature=to_base64(key.sign(message))))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Approval:
        """The approval in a file of ``barrow approve``."""
        return cls.parse(_read(path, "The approval"))

    @classmethod
    def parse(cls, content: bytes) -> Approval:
        """The approval that a file holds, if its signature fits; anything else is refused."""
        try:
            file = msgspec.json.decode(content, type=_ApprovalFile)
            approval = cls(file.ledger, file.approval)
            good = approval.genuine
        except (msgspec.MsgspecError, ValueError, RecursionError):
            good = False
        if not good:
            raise ParameterError(
                "The signature does not fit what it should sign: the approval was changed, or cut off.",
                allowed=f"a file made by barrow approve, version {APPROVAL_VERSION}",
                fix="ask the approver to sign the proposal again: barrow approve",
            )
        return approval

    @property
    def message(self) -> bytes:
        """What is signed: a line that says what it is, and everything but the signature in canonical JSON."""
        signed = {"ledger": self.ledger, **msgspec.to_builtins(self.wire)}
        del signed["signature"]
        return _SIGNED + canonical(signed).encode()

    @property
    def content(self) -> bytes:
        """The file."""
        whole = _ApprovalFile("approval", 1, self.ledger, self.wire)
        return msgspec.json.format(msgspec.json.encode(whole)) + b"\n"

    @property
    def public(self) -> bytes:
        """The public half of the key that signed."""
        return from_base64(self.wire.signer)

    @property
    def genuine(self) -> bool:
        """Whether it is in good form and its key signed all of it; whose key it is, a ledger knows."""
        wire = self.wire
        named = [release.digest for release in wire.releases]
        return (
            all(map(_DIGEST.fullmatch, (wire.proposal, *named)))
            and 0 < len(named) == len(set(named))
            and all(map(STAMP.fullmatch, (wire.expires, wire.signed)))
            and signed_by(self.public, from_base64(wire.signature), self.message)
        )

    def covers(self, digest: str, when: str) -> bool:
        """Whether it approves a release at a moment."""
        return when <= self.wire.expires and any(release.digest == digest for release in self.wire.releases)


def release_digest(asked: Mapping[str, object]) -> str:
    """The digest of everything public about a release, by which approvals name it.

    >>> release_digest({"question": "mean", "users": 3}) == release_digest({"users": 3, "question": "mean"})
    True
    """
    return digest({"barrow": "release to approve", **asked})


def end_of(text: str, now: datetime) -> str:
    """The end of an approval: a date (until it is over, UTC) or a number of days from now.

    >>> end_of("2026-12-31", datetime(2026, 11, 1, tzinfo=UTC)), end_of("30 days", datetime(2026, 11, 1, tzinfo=UTC))
    ('2026-12-31T23:59:59Z', '2026-12-01T23:59:59Z')
    """
    match = re.fullmatch(r"\s*(?:(\d{4}-\d\d-\d\d)|(\d{1,4}) days?)\s*", text)
    try:
        if match is None:
            raise ValueError
        if match[1] is not None:
            last = datetime.strptime(match[1], "%Y-%m-%d").replace(tzinfo=UTC)
        else:
            last = datetime.fromtimestamp(now.timestamp() + 86_400 * int(match[2]), UTC)
        if last.date() < now.astimezone(UTC).date():
            raise ValueError
    except (ValueError, OverflowError):
        raise ParameterError(
            f"The end is {text!r}.", allowed="a day that is not over, or a number of days", fix="--expires '30 days'"
        ) from None
    return last.strftime("%Y-%m-%dT23:59:59Z")


def _read(path: str | os.PathLike[str], what: str) -> bytes:
    place = path_text(path, what)
    try:
        plain_file(place, what)
        with Path(place).open("rb") as file:
            return file.read(_LARGEST)
    except OSError as error:
        raise ParameterError(
            f"{what} cannot be read from {place!r}: {error.strerror}.", allowed="a file that exists", fix="name it"
        ) from None
