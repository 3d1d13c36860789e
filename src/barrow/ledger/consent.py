"""What the records of a ledger say about approval: who signed what, what was used up, and whether it is frozen.

Every signature is checked again whenever the chain is read, so that a record that nobody signed makes the ledger
corrupt, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import msgspec

from barrow.errors import ParameterError
from barrow.ledger.approvals import Approval, ApprovalWire, Approver, Quorum
from barrow.ledger.errors import CorruptLedgerError, FrozenLedgerError, NotApprovedError
from barrow.ledger.keys import SigningKey, from_base64, signed_by, to_base64
from barrow.ledger.store import canonical

KINDS: dict[str, dict[str, object]] = {
    "approved": {
        "proposal": str, "releases": list[dict[str, object]], "expires": str, "signed": str, "by": str, "signer": str,
        "signature": str,
    },
    "frozen": {"why": str, "by": str, "signer": str, "signature": str},
    "unfrozen": {"freeze": int, "by": str, "signer": str, "signature": str},
    "approvers": {"approval": dict[str, object], "by": str, "signer": str, "signature": str},
}  # fmt: skip
"""The fields of the records about approval, beside those of all."""


class _Told(Protocol):
    """A record, as far as it is read here."""

    @property
    def seq(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def when(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def data(self) -> Mapping[str, object]: ...


class Freeze(NamedTuple):
    """The record that stopped all releases."""

    seq: int
    hash: str
    by: str
    when: str
    why: str


@dataclass(frozen=True)
class Consent:
    """Approval in a ledger up to some record.

    Attributes:
        ledger: The ledger's name, which every signature names.
        quorum: Who approves, and how many must.
        since: The hash of the record that made them the approvers.
        given: The approvals of the present approvers, by proposal and approver.
        used: Releases that were paid for, by proposal and digest: an approval pays for each of its releases once.
        paid: The approvals that let a record pay, by its number.
        freeze: What stopped all releases, if they are stopped.
        lifting: Who has signed that they may go on.
        changing: Who has signed which other list of approvers.
        left: Everybody who was an approver once and is none now.
        back: When those came back who had left: what they signed until then counts no more.
    """

    ledger: str
    quorum: Quorum
    since: str
    given: Mapping[tuple[str, str], Approval] = field(default_factory=dict)
    used: frozenset[tuple[str, str]] = frozenset()
    paid: Mapping[int, tuple[Approval, ...]] = field(default_factory=dict)
    freeze: Freeze | None = None
    lifting: frozenset[str] = frozenset()
    changing: Mapping[Quorum, frozenset[str]] = field(default_factory=dict)
    left: frozenset[Approver] = frozenset()
    back: Mapping[Approver, str] = field(default_factory=dict)

    def after(self, record: _Told, before: str) -> Consent:
        """With one more record about approval; ``before`` is the hash before it."""
        kinds = {"approved": self._approved, "frozen": self._frozen, "unfrozen": self._unfrozen}
        return {**kinds, "approvers": self._changed}[record.kind](record, before)

    def _approved(self, record: _Told, before: str) -> Consent:
        try:
            approval = Approval(self.ledger, msgspec.convert(dict(record.data), ApprovalWire))
            good = approval.genuine and self.quorum.holds(approval.wire.by, approval.public)
        except (msgspec.ValidationError, ValueError, ParameterError):
            good = False
        if not good or (approval.wire.proposal, approval.wire.by) in self.given:
            raise CorruptLedgerError.at(record.seq, "no approver of this ledger signed it, or it counts twice")
        if self.came_back_after(approval):
            raise CorruptLedgerError.at(record.seq, "it was signed before its approver left and came back")
        return replace(self, given={**self.given, (approval.wire.proposal, approval.wire.by): approval})

    def _frozen(self, record: _Told, before: str) -> Consent:
        why = str(record.data["why"])
        self._check(record, freeze_message(self.ledger, before, why))
        return replace(
            self,
            freeze=Freeze(record.seq, record.hash, str(record.data["by"]), record.when, why),
            lifting=frozenset(),
        )

    def _unfrozen(self, record: _Told, before: str) -> Consent:
        freeze, by = self.freeze, str(record.data["by"])
        if freeze is None or record.data["freeze"] != freeze.seq or by in self.lifting:
            raise CorruptLedgerError.at(record.seq, "it lifts no freeze, or counts twice")
        self._check(record, unfreeze_message(self.ledger, freeze))
        lifting = self.lifting | {by}
        return replace(self, freeze=None if len(lifting) >= self.quorum.need else freeze, lifting=lifting)

    def _changed(self, record: _Told, before: str) -> Consent:
        """One more signature under another list of approvers, who approve once as many have signed as a release needs.

        Approvals of those who go, and what was signed to lift a freeze, count no more.
        """
        by = str(record.data["by"])
        try:
            new = Quorum.from_json(msgspec.convert(record.data["approval"], dict[str, object]))
        except (msgspec.ValidationError, ValueError, ParameterError):
            raise CorruptLedgerError.at(record.seq, "its approvers cannot be read") from None
        signed = self.changing.get(new, frozenset())
        if new == self.quorum or by in signed:
            raise CorruptLedgerError.at(record.seq, "it changes no approvers, or counts twice")
        self._check(record, approvers_message(self.ledger, self.since, new))
        if len(signed) + 1 < self.quorum.need:
            return replace(self, changing={**self.changing, new: signed | {by}})
        stay = {key: one for key, one in self.given.items() if new.holds(one.wire.by, one.public)}
        now, before_now = frozenset(new.approvers), frozenset(self.quorum.approvers)
        kept = {approver: when for approver, when in self.back.items() if approver in now}
        back = kept | dict.fromkeys(now & self.left, record.when)
        left = (self.left | before_now) - now
        return replace(
            self, quorum=new, since=record.hash, given=stay, changing={}, lifting=frozenset(), left=left, back=back
        )

    def _check(self, record: _Told, message: bytes) -> None:
        try:
            by, public = str(record.data["by"]), from_base64(str(record.data["signer"]))
            good = self.quorum.holds(by, public) and signed_by(
                public, from_base64(str(record.data["signature"])), message
            )
        except (ValueError, ParameterError):
            good = False
        if not good:
            raise CorruptLedgerError.at(record.seq, "no approver of this ledger signed it")

    def came_back_after(self, approval: Approval) -> str | None:
        """When its approver came back, if they had left since they signed it."""
        returned = self.back.get(Approver(approval.wire.by, approval.public))
        return returned if returned is not None and approval.wire.signed <= returned else None

    # What may be paid.

    def approvers_of(self, proposal: str, digest: str, when: str) -> tuple[Approval, ...]:
        """The approvals of a release in a proposal that count at a moment, one for each approver."""
        ordered = sorted(self.given.items())
        return tuple(a for (named, _), a in ordered if named == proposal and a.covers(digest, when))

    def proposal_for(self, digest: str, when: str) -> str | None:
        """The proposal that lets a release be paid for now; None if there is none."""
        for proposal in dict.fromkeys(named for named, _ in self.given):
            enough = len(self.approvers_of(proposal, digest, when)) >= self.quorum.need
            if enough and (proposal, digest) not in self.used:
                return proposal
        return None

    def require(self, digest: str, when: str) -> str:
        """The proposal that lets a release be paid for now; refused in words where there is none."""
        self.not_frozen()
        proposal = self.proposal_for(digest, when)
        if proposal is None:
            raise self._refusal(digest, when)
        return proposal

    def not_frozen(self) -> None:
        """Refuse where an approver has stopped all releases."""
        if self.freeze is not None:
            need = self.quorum.need
            raise FrozenLedgerError(
                f"The ledger was frozen by {self.freeze.by} on {self.freeze.when[:10]}: “{self.freeze.why}” "
                "Nothing was released.",
                allowed=f"nothing until {self.quorum.words} have lifted it ({len(self.lifting)} of {need} so far)",
                fix=f"barrow ledger unfreeze --by {self.quorum.approvers[0].name} --key FILE; then the same command "
                f"again, which spends nothing twice",
            )

    def spent(self, record: _Told, digest: str) -> Consent:
        """After a payment that names its proposal; corrupt where that did not allow it."""
        proposal = str(record.data.get("approved"))
        approvals = self.approvers_of(proposal, digest, record.when)
        if self.freeze is not None or (proposal, digest) in self.used or len(approvals) < self.quorum.need:
            raise CorruptLedgerError.at(record.seq, "it was paid without the approval that this ledger asks for")
        return replace(self, used=self.used | {(proposal, digest)}, paid={**self.paid, record.seq: approvals})

    def _refusal(self, digest: str, when: str) -> NotApprovedError:
        named = [(key, a) for key, a in sorted(self.given.items()) if any(r.digest == digest for r in a.wire.releases)]
        over = sorted({a.wire.by for _, a in named if when > a.wire.expires})
        good = sorted({a.wire.by for key, a in named if when <= a.wire.expires and (key[0], digest) not in self.used})
        if any((proposal, digest) in self.used for (proposal, _), _ in named) and not good:
            state = "what was approved has been released already, once as approved"
        elif good or over:
            parts = ([f"approved by {', '.join(good)}"] if good else []) + (
                [f"the approval of {', '.join(over)} has expired"] if over else []
            )
            state = "; ".join(parts)
        else:
            state = "nobody has approved this release; an approval of another plan, question or period does not count"
        return NotApprovedError(
            f"This ledger accepts only releases that {self.quorum.words} have approved: {state}. Nothing was spent.",
            allowed="exactly the releases of a proposal that enough approvers have signed",
            fix="barrow propose, then barrow approve proposal --by NAME --key FILE, then barrow ledger accept",
        )

    def sentences(self) -> list[str]:
        """Approval in words."""
        many = f"{len(self.given)} approval{'' if len(self.given) == 1 else 's'} so far"
        texts = [f"Accepts only releases that {self.quorum.words} have approved; {many}."]
        if self.freeze is not None:
            texts.append(
                f"FROZEN by {self.freeze.by} on {self.freeze.when[:10]}: “{self.freeze.why}” "
                f"({len(self.lifting)} of {self.quorum.need} have lifted it)"
            )
        for new, signed in self.changing.items():
            texts.append(f"{', '.join(sorted(signed))} would have {new.words} approve ({self.quorum.need} must sign).")
        return texts


def freeze_message(ledger: str, before: str, why: str) -> bytes:
    """What an approver signs to stop all releases: right after one record, so that it cannot be played back."""
    return b"barrow freeze 1\n" + canonical({"ledger": ledger, "after": before, "why": why}).encode()


def unfreeze_message(ledger: str, freeze: Freeze) -> bytes:
    """What an approver signs to let releases go on after one freeze, and no other."""
    return b"barrow unfreeze 1\n" + canonical({"ledger": ledger, "freeze": freeze.hash}).encode()


def approvers_message(ledger: str, since: str, new: Quorum) -> bytes:
    """What an approver signs to have others approve: while the present ones do, and never again."""
    return b"barrow approvers 1\n" + canonical({"ledger": ledger, "since": since, "approval": new.to_json()}).encode()


def signed_fields(approver: Approver, key: SigningKey, message: bytes) -> dict[str, object]:
    """The fields of a record that somebody signed."""
    return {"by": approver.name, "signer": to_base64(key.public), "signature": to_base64(key.sign(message))}
