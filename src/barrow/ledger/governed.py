"""A ledger with approvers: they let releases be paid for, and any of them can stop all releases."""

from __future__ import annotations

import os
from typing import NoReturn

import msgspec

from barrow.errors import ParameterError
from barrow.ledger.approvals import Approval, Quorum
from barrow.ledger.consent import Consent, approvers_message, freeze_message, signed_fields, unfreeze_message
from barrow.ledger.errors import NotApprovedError
from barrow.ledger.keys import SigningKey
from barrow.ledger.spending import Spender, text_of
from barrow.ledger.state import LedgerState, Record


class GovernedLedger(Spender):
    """An open ledger that may have approvers.

    >>> GovernedLedger.__mro__[1].__name__
    'Spender'
    """

    @property
    def name(self) -> str:
        """What tells this ledger from every other one; approvals are signed for it alone."""
        return self._state.name

    @property
    def consent(self) -> Consent | None:
        """Who approves and what was approved so far; None in a ledger without approvers."""
        return self._fresh().consent

    def check_quorum(self, quorum: Quorum | None) -> None:
        """Refuse other approvers than the ledger has; None agrees with all."""
        consent = self._state.consent
        if quorum is not None and (consent is None or consent.quorum != quorum):
            raise ParameterError(
                f"This ledger exists, and pays for {'everything' if consent is None else consent.quorum.words}.",
                allowed="the approvers that the ledger has; a ledger without any gets none",
                fix="leave --approvers and --need out; enough approvers change the list: barrow ledger approvers",
            )

    def accept(self, approval: Approval) -> Record | None:
        """Write an approval into the chain; None if it is there already.

        Raises:
            NotApprovedError: It was signed by nobody who approves here, for another ledger, or is over.
        """
        with self._appending() as work:
            consent, wire = _needed(work.state), approval.wire
            if approval.ledger != work.state.name:
                _refuse("is of another ledger", "approve a proposal that was made with this ledger: barrow propose")
            if not approval.genuine:
                _refuse("has a signature that does not fit", "barrow approve PROPOSAL --by NAME --key FILE")
            if not consent.quorum.holds(wire.by, approval.public):
                _refuse(
                    f"by {wire.by!r} was signed by a key that belongs to no approver of this ledger",
                    f"one of {consent.quorum.words} signs with their own key",
                )
            if work.when > wire.expires:
                _refuse(f"by {wire.by!r} expired on {wire.expires[:10]}", "barrow propose, and approve that")
            returned = consent.came_back_after(approval)
            if returned is not None:
                _refuse(
                    f"by {wire.by!r} was signed on {wire.signed[:10]}, before {wire.by!r} left the approvers and came "
                    f"back on {returned[:10]}",
                    "sign it again: barrow approve PROPOSAL --by NAME --key FILE",
                )
            known = consent.given.get((wire.proposal, wire.by))
            if known is not None:
                if known == approval:
                    return None
                _refuse(f"by {wire.by!r} of this proposal was recorded before", "one signature of each approver counts")
            return work.add("approved", msgspec.to_builtins(wire))

    def freeze(self, why: str, *, by: str, key: SigningKey | str | os.PathLike[str]) -> Record:
        """Stop all releases, for a reason, as one of the approvers; what is paid for and not shown stays hidden."""
        why, signing = text_of(why, "why").strip(), _signing(key)
        with self._appending() as work:
            approver = _needed(work.state).quorum.check(by, signing)
            message = freeze_message(work.state.name, work.state.last.hash, why)
            return work.add("frozen", {"why": why, **signed_fields(approver, signing, message)})

    def unfreeze(self, *, by: str, key: SigningKey | str | os.PathLike[str]) -> Record | None:
        """Sign that releases may go on; they do when enough approvers have. None if this approver has signed before."""
        signing = _signing(key)
        with self._appending() as work:
            consent = _needed(work.state)
            approver = consent.quorum.check(by, signing)
            if consent.freeze is None:
                raise ParameterError(
                    "The ledger is not frozen.", allowed="a frozen ledger", fix="nothing is to be done"
                )
            if by in consent.lifting:
                return None
            signed = signed_fields(approver, signing, unfreeze_message(work.state.name, consent.freeze))
            return work.add("unfrozen", {"freeze": consent.freeze.seq, **signed})

    def change_approvers(self, quorum: Quorum, *, by: str, key: SigningKey | str | os.PathLike[str]) -> Record | None:
        """Sign that others approve from now on; they do when as many have signed that very list as a release needs.

        None if this approver has signed it before. Approvals of those who go count no more, even if they come back,
        and a freeze stays.
        """
        signing = _signing(key)
        with self._appending() as work:
            consent = _needed(work.state)
            approver = consent.quorum.check(by, signing)
            if quorum == consent.quorum:
                raise ParameterError(
                    f"{quorum.words} approve already.",
                    allowed="another list, or another number",
                    fix="nothing is to be done",
                )
            if by in consent.changing.get(quorum, ()):
                return None
            message = approvers_message(work.state.name, consent.since, quorum)
            return work.add("approvers", {"approval": quorum.to_json(), **signed_fields(approver, signing, message)})

    def approvals_of(self, seq: int) -> tuple[Approval, ...]:
        """The approvals that let record ``seq`` pay; none in a ledger without approvers."""
        consent = self._fresh().consent
        return () if consent is None else consent.paid.get(seq, ())


def _needed(state: LedgerState) -> Consent:
    if state.consent is None:
        raise ParameterError(
            f"The ledger of {state.budget.dataset!r} has no approvers.",
            allowed="a ledger that was made with --approvers",
            fix="barrow ledger init … --approvers ana.pub --approvers bo.pub --need 2, for a data set without a ledger",
        )
    return state.consent


def _signing(key: SigningKey | str | os.PathLike[str]) -> SigningKey:
    return key if isinstance(key, SigningKey) else SigningKey.read(key)


def _refuse(problem: str, fix: str) -> NoReturn:
    raise NotApprovedError(
        f"The approval {problem}. It was not recorded.",
        allowed="an approval by an approver of this ledger, for this ledger, that is not over",
        fix=fix,
    )
