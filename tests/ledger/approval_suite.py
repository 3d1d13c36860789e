"""What every store's ledger with approvers must refuse: forged, replayed, doubled, expired and raced approvals."""

from __future__ import annotations

import json
import threading
from typing import Any

import msgspec
import pytest

from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.ledger.approvals import Approval, Approver, ProposedRelease, Quorum, release_digest
from barrow.ledger.consent import approvers_message, signed_fields
from barrow.ledger.errors import CorruptLedgerError, FrozenLedgerError, NotApprovedError
from barrow.ledger.keys import SigningKey
from barrow.ledger.ledger import first_row
from barrow.ledger.state import LedgerState, make_row
from barrow.ledger.store import Row
from barrow.promises import PureRelease
from tests.ledger.helpers import LINE, OUTPUTS, Clock, MemoryStore, budget, guarantee, pay, signing_key

NAMES = ("ana", "bo", "cy")
KEYS = {name: signing_key(number) for number, name in enumerate(NAMES, 1)}
STRANGER, DEE = signing_key(9), signing_key(4)
QUORUM = Quorum([Approver(name, key.public) for name, key in KEYS.items()], 2)
OTHERS = Quorum([*QUORUM.approvers[1:], Approver("dee", DEE.public)], 1)
PLAN = "sha256:" + "5" * 64
TIMES = {"expires": "2026-11-30T23:59:59Z", "signed": "2026-11-01T00:00:00Z"}


def asked(ledger: Ledger, alpha: int = 1, **options: Any) -> ProposedRelease:
    """The release of ``pay(ledger, …, alpha)`` as approvals name it."""
    paid: dict[str, Any] = {
        "event": PureRelease(alpha, model="central"), "guarantee": guarantee(alpha), "space": LINE,
        "dataset": "visits", "users": 1083,
    }  # fmt: skip
    return ProposedRelease("a map", [], release_digest(ledger.proposed(**{**paid, **options})))


def signed(ledger: Ledger, by: str, *releases: ProposedRelease, key: SigningKey | None = None, **more: Any) -> Approval:
    given = {**TIMES, **more}
    name, plan = given.pop("whose", ledger.name), given.pop("plan", PLAN)
    return Approval.sign(name, plan, releases or [asked(ledger)], by=by, key=key or KEYS[by], **given)


def forged_row(ledger: Ledger, kind: str, data: dict[str, Any], when: str = "2026-11-02T00:00:00Z") -> Row:
    """A row that somebody with the file, and without a key, adds by hand: its hash is right."""
    return make_row(ledger.records()[-1], kind, data, when=when, who="mallory", barrow="0")


class ApprovalSuite:
    def make(self, tmp_path: Any, rows: list[Row]) -> Any:
        """A new store that holds ``rows``."""
        raise NotImplementedError

    def again(self, store: Any) -> Any:
        """A second object for the same rows, as another process would have."""
        raise NotImplementedError

    @pytest.fixture
    def ledger(self, tmp_path: Any) -> Ledger:
        clock = Clock(2026, 11, 2)
        self.store = self.make(tmp_path, [first_row(budget(alpha=10), clock, approval=QUORUM)])
        self.clock = clock
        return Ledger(self.store, clock=clock)

    def test_pays_for_what_enough_have_approved_and_for_nothing_else(self, ledger: Ledger) -> None:
        with pytest.raises(NotApprovedError, match="nobody has approved"):
            pay(ledger, "map", 1)
        ledger.accept(signed(ledger, "ana"))
        with pytest.raises(NotApprovedError, match=r"2 of ana, bo, cy have approved: approved by ana\."):
            pay(ledger, "map", 1)
        ledger.accept(signed(ledger, "cy"))
        with pytest.raises(NotApprovedError, match="another plan"):
            pay(ledger, "dearer", 2)
        with pytest.raises(NotApprovedError, match="another plan"):
            pay(ledger, "other", 1, parameters={"period": "2026-12"})
        paid = pay(ledger, "map", 1)
        ledger.commit(paid, OUTPUTS)
        assert [approval.wire.by for approval in ledger.approvals_of(paid.seq)] == ["ana", "cy"]
        assert ledger.verify().releases == 1
        assert "2 approvals so far" in ledger.overview().sentences()[-1]
        assert Ledger(self.again(self.store), clock=self.clock).consent == ledger.consent

    def test_an_approval_pays_once(self, ledger: Ledger) -> None:
        for name in ("ana", "bo"):
            ledger.accept(signed(ledger, name))
        pay(ledger, "map", 1)
        with pytest.raises(NotApprovedError, match="released already"):
            pay(ledger, "the same under another key", 1)
        for name in ("ana", "bo"):  # a second proposal of the same release is a second release
            ledger.accept(signed(ledger, name, plan="sha256:" + "6" * 64))
        pay(ledger, "the same under another key", 1)
        assert len(ledger.events()) == 2

    def test_the_same_approver_twice_is_one(self, ledger: Ledger) -> None:
        first = signed(ledger, "ana")
        assert ledger.accept(first) is not None
        assert ledger.accept(first) is None
        with pytest.raises(NotApprovedError, match="recorded before"):
            ledger.accept(signed(ledger, "ana", expires="2026-12-31T23:59:59Z"))
        with pytest.raises(NotApprovedError, match="approved by ana"):
            pay(ledger, "map", 1)
        # Nor do two signatures of one approver under two proposals add up to two approvers.
        ledger.accept(signed(ledger, "ana", plan="sha256:" + "6" * 64))
        with pytest.raises(NotApprovedError, match="approved by ana"):
            pay(ledger, "map", 1)

    def test_two_approvers_of_two_proposals_are_not_two_of_one(self, ledger: Ledger) -> None:
        ledger.accept(signed(ledger, "ana"))
        ledger.accept(signed(ledger, "bo", plan="sha256:" + "6" * 64))
        with pytest.raises(NotApprovedError):
            pay(ledger, "map", 1)

    @pytest.mark.parametrize(("by", "key"), [("ana", STRANGER), ("ana", KEYS["bo"]), ("mallory", STRANGER)])
    def test_a_forged_approver_is_refused(self, ledger: Ledger, by: str, key: SigningKey) -> None:
        forged = signed(ledger, by, key=key)
        assert forged.genuine  # the signature is that of the key, and the key is nobody's
        with pytest.raises(NotApprovedError, match="belongs to no approver"):
            ledger.accept(forged)
        rows = [*self.store.rows(), forged_row(ledger, "approved", msgspec.to_builtins(forged.wire))]
        with pytest.raises(CorruptLedgerError, match="no approver of this ledger signed it"):
            LedgerState.read(rows)

    def test_an_approval_for_another_ledger_is_refused(self, ledger: Ledger) -> None:
        other = signed(ledger, "ana", whose="another ledger")
        with pytest.raises(NotApprovedError, match="of another ledger"):
            ledger.accept(other)
        with pytest.raises(NotApprovedError, match="signature that does not fit"):
            ledger.accept(Approval(ledger.name, other.wire))  # its name exchanged
        rows = [*self.store.rows(), forged_row(ledger, "approved", msgspec.to_builtins(other.wire))]
        with pytest.raises(CorruptLedgerError, match="no approver"):
            LedgerState.read(rows)

    def test_every_field_is_signed(self, ledger: Ledger) -> None:
        whole = json.loads(signed(ledger, "ana").content)
        forged: dict[str, Any] = {
            "proposal": "sha256:" + "6" * 64, "expires": "2036-11-30T23:59:59Z", "by": "bo",
            "signed": "2026-11-02T00:00:00Z",
            "releases": [{"question": "a map", "periods": ["2026-12"], "digest": PLAN}],
        }  # fmt: skip
        for name, value in forged.items():
            changed = {**whole, "approval": {**whole["approval"], name: value}}
            with pytest.raises(ParameterError, match="does not fit"):
                Approval.parse(json.dumps(changed).encode())
        turned = {name: whole[name] for name in reversed(whole)}  # the order of keys is nothing
        turned["approval"] = dict(reversed(whole["approval"].items()))
        assert Approval.parse(json.dumps(turned).encode()) == signed(ledger, "ana")

    def test_expired_approvals_are_refused(self, ledger: Ledger) -> None:
        for name in ("ana", "bo"):
            ledger.accept(signed(ledger, name))
        self.clock.set(2026, 11, 30, 23, 59, 59)
        ledger.check_approved(ledger.proposed(event=PureRelease(1, model="central"), guarantee=guarantee(1), space=LINE,
                                              dataset="visits", users=1083))  # fmt: skip
        self.clock.set(2026, 12, 1)
        with pytest.raises(NotApprovedError, match="the approval of ana, bo has expired"):
            pay(ledger, "map", 1)
        with pytest.raises(NotApprovedError, match="expired on 2026-11-30"):
            ledger.accept(signed(ledger, "cy"))
        ledger.freeze("to move the chain's time on", by="ana", key=KEYS["ana"])
        for name in ("ana", "bo"):
            ledger.unfreeze(by=name, key=KEYS[name])
        self.clock.set(2026, 11, 2)  # a clock that is put back: the chain's time never goes back
        with pytest.raises(NotApprovedError, match="expired"):
            pay(ledger, "map", 1)

    def test_one_freezes_and_enough_lift_it(self, ledger: Ledger) -> None:
        for name in ("ana", "bo"):
            ledger.accept(signed(ledger, name))
        ledger.freeze("wrong column", by="cy", key=KEYS["cy"])
        with pytest.raises(FrozenLedgerError, match="frozen by cy on 2026-11-02: “wrong column” Nothing was released"):
            pay(ledger, "map", 1)
        assert ledger.unfreeze(by="cy", key=KEYS["cy"]) is not None
        assert ledger.unfreeze(by="cy", key=KEYS["cy"]) is None  # twice is once
        with pytest.raises(FrozenLedgerError, match="1 of 2 so far"):
            pay(ledger, "map", 1)
        ledger.freeze("again", by="bo", key=KEYS["bo"])  # a new freeze: what was lifted before counts no more
        ledger.unfreeze(by="ana", key=KEYS["ana"])
        assert ledger.consent is not None
        assert ledger.consent.lifting == {"ana"}
        ledger.unfreeze(by="bo", key=KEYS["bo"])
        pay(ledger, "map", 1)
        with pytest.raises(ParameterError, match="not frozen"):
            ledger.unfreeze(by="bo", key=KEYS["bo"])

    @pytest.mark.parametrize(("by", "key"), [("ana", STRANGER), ("ana", KEYS["bo"]), ("mallory", STRANGER)])
    def test_nobody_else_freezes_or_lifts(self, ledger: Ledger, by: str, key: SigningKey) -> None:
        with pytest.raises(ParameterError, match="cannot sign with this key"):
            ledger.freeze("mischief", by=by, key=key)
        ledger.freeze("wrong", by="ana", key=KEYS["ana"])
        with pytest.raises(ParameterError, match="cannot sign with this key"):
            ledger.unfreeze(by=by, key=key)

    def test_what_was_signed_to_lift_one_freeze_lifts_no_other(self, ledger: Ledger) -> None:
        ledger.freeze("one", by="cy", key=KEYS["cy"])
        for name in ("ana", "bo"):
            ledger.unfreeze(by=name, key=KEYS[name])
        lifted = [record for record in ledger.records() if record.kind == "unfrozen"]
        frozen = next(record for record in ledger.records() if record.kind == "frozen")
        again = forged_row(ledger, "frozen", dict(frozen.data))
        with pytest.raises(CorruptLedgerError, match="no approver of this ledger signed it"):
            LedgerState.read([*self.store.rows(), again])  # an old freeze cannot be played back either
        second = ledger.freeze("two", by="cy", key=KEYS["cy"])
        replayed = forged_row(ledger, "unfrozen", {**lifted[0].data, "freeze": second.seq})
        with pytest.raises(CorruptLedgerError, match="no approver of this ledger signed it"):
            LedgerState.read([*self.store.rows(), replayed])

    def test_a_freeze_stops_what_was_paid_and_not_shown(self, ledger: Ledger) -> None:
        for name in ("ana", "bo"):
            ledger.accept(signed(ledger, name))
        paid = pay(ledger, "map", 1, resumable=True)
        ledger.freeze("wait", by="bo", key=KEYS["bo"])
        with pytest.raises(FrozenLedgerError):  # the right to draw is not given again
            ledger.resume("map", {})
        paid.take()
        staged = ledger.stage(paid, OUTPUTS)  # what was drawn is kept where nobody sees it
        with pytest.raises(FrozenLedgerError):
            ledger.commit(staged)
        for name in ("ana", "cy"):
            ledger.unfreeze(by=name, key=KEYS[name])
        assert ledger.commit(staged).data["outputs"] == OUTPUTS

    def test_a_freeze_that_races_with_releases_comes_before_or_after(self, ledger: Ledger) -> None:
        wanted = [asked(ledger, parameters={"number": k}) for k in range(8)]
        for name in ("ana", "bo"):
            ledger.accept(signed(ledger, name, *wanted))
        paid: list[int] = []

        def spend() -> None:
            own = Ledger(self.again(self.store), clock=self.clock)
            for k in range(8):
                try:
                    paid.append(pay(own, f"map-{k}", 1, parameters={"number": k}).seq)
                except FrozenLedgerError:
                    return

        thread = threading.Thread(target=spend)
        thread.start()
        frozen = Ledger(self.again(self.store), clock=self.clock).freeze("stop", by="cy", key=KEYS["cy"])
        thread.join(60)
        assert all(seq < frozen.seq for seq in paid)
        LedgerState.read(self.store.rows())
        with pytest.raises(FrozenLedgerError):
            pay(ledger, "late", 1, parameters={"number": 7})

    def test_a_payment_that_nobody_approved_makes_the_chain_corrupt(self, ledger: Ledger) -> None:
        for name in ("ana", "bo"):
            ledger.accept(signed(ledger, name))
        record = next(r for r in [*ledger.records()] if r.kind == "approved")
        seq = pay(ledger, "map", 1).seq
        paid = dict(ledger.records()[seq - 1].data)
        for change in ({"key": "b"}, {"key": "b", "approved": None}, {"key": "b", "approved": "sha256:" + "6" * 64}):
            with pytest.raises(CorruptLedgerError, match="without the approval"):
                LedgerState.read([*self.store.rows(), forged_row(ledger, "reserve", {**paid, **change})])
        edited = [row for row in self.store.rows() if row.seq != record.seq]
        with pytest.raises(CorruptLedgerError, match="hash does not follow"):
            LedgerState.read(edited)

    def test_a_frozen_chain_holds_no_later_payment(self, ledger: Ledger) -> None:
        for name in ("ana", "bo"):
            ledger.accept(signed(ledger, name))
        before = len(self.store.rows())
        seq = pay(ledger, "map", 1).seq
        paid = dict(ledger.records()[seq - 1].data)
        other = Ledger(MemoryStore(self.store.rows()[:before]), clock=self.clock)
        other.freeze("stop", by="ana", key=KEYS["ana"])
        rows = [*other._store.rows(), forged_row(other, "reserve", paid)]
        with pytest.raises(CorruptLedgerError, match="without the approval"):
            LedgerState.read(rows)

    # Other approvers.

    def test_enough_approvers_change_who_approves(self, ledger: Ledger) -> None:
        for name in ("ana", "bo"):
            ledger.accept(signed(ledger, name))
        paid = pay(ledger, "map", 1)
        for name in ("ana", "cy"):
            ledger.accept(signed(ledger, name, asked(ledger, 2), plan="sha256:" + "8" * 64))
        before = ledger.consent
        assert ledger.change_approvers(OTHERS, by="bo", key=KEYS["bo"]) is not None
        assert ledger.change_approvers(OTHERS, by="bo", key=KEYS["bo"]) is None  # twice is once
        assert before is not None
        assert ledger.consent is not None
        assert ledger.consent.quorum == QUORUM
        assert "bo would have 1 of bo, cy, dee approve (2 must sign)." in ledger.consent.sentences()
        ledger.change_approvers(OTHERS, by="ana", key=KEYS["ana"])
        assert ledger.consent.quorum == OTHERS
        assert ledger.consent.changing == {}
        with pytest.raises(NotApprovedError, match="belongs to no approver"):
            ledger.accept(signed(ledger, "ana", plan="sha256:" + "6" * 64))
        with pytest.raises(ParameterError, match="cannot sign with this key"):
            ledger.freeze("too late", by="ana", key=KEYS["ana"])
        pay(ledger, "cy's approval is enough now", 2)
        ledger.accept(signed(ledger, "dee", asked(ledger, 3), key=DEE, plan="sha256:" + "7" * 64))
        last = pay(ledger, "dee's", 3)
        assert [a.wire.by for a in ledger.approvals_of(last.seq)] == ["dee"]
        assert [a.wire.by for a in ledger.approvals_of(paid.seq)] == ["ana", "bo"]  # as it was when it was paid
        assert Ledger(self.again(self.store), clock=self.clock).consent == ledger.consent
        assert ledger.verify().releases == 3
        with pytest.raises(ParameterError, match="approve already"):
            ledger.change_approvers(OTHERS, by="dee", key=DEE)
        ledger.check_quorum(OTHERS)
        with pytest.raises(ParameterError, match="approvers that the ledger has"):
            ledger.check_quorum(QUORUM)

    def test_approvals_of_those_who_go_count_no_more(self, ledger: Ledger) -> None:
        for name in ("ana", "bo"):
            ledger.accept(signed(ledger, name))
        enough = len(self.store.rows())
        seq = pay(ledger, "map", 1).seq
        paid = dict(ledger.records()[seq - 1].data)
        other = Ledger(MemoryStore(self.store.rows()[:enough]), clock=self.clock)
        two = Quorum([*QUORUM.approvers[1:], Approver("ana", DEE.public)], 2)  # ana has a new key
        for name in ("bo", "cy"):
            other.change_approvers(two, by=name, key=KEYS[name])
        with pytest.raises(NotApprovedError, match=r"approved by bo\."):
            pay(other, "map", 1)
        with pytest.raises(CorruptLedgerError, match="without the approval"):
            LedgerState.read([*other._store.rows(), forged_row(other, "reserve", paid)])
        other.accept(signed(other, "ana", key=DEE))  # the same proposal, signed with the new key
        pay(other, "map", 1)

    def test_who_leaves_and_comes_back_signs_again(self, ledger: Ledger) -> None:
        recorded = {name: signed(ledger, name) for name in ("ana", "bo")}
        kept = signed(ledger, "ana", plan="sha256:" + "6" * 64)  # signed before, and nowhere recorded
        for approval in recorded.values():
            ledger.accept(approval)
        for name in ("ana", "bo"):
            ledger.change_approvers(OTHERS, by=name, key=KEYS[name])
        self.clock.set(2026, 11, 3)
        ledger.change_approvers(QUORUM, by="dee", key=DEE)
        for old in (recorded["ana"], kept, signed(ledger, "ana", signed="2026-11-03T00:00:00Z")):
            with pytest.raises(NotApprovedError, match="'ana' left the approvers and came back on 2026-11-03"):
                ledger.accept(old)
            rows = [*self.store.rows(), forged_row(ledger, "approved", msgspec.to_builtins(old.wire), old.wire.expires)]
            with pytest.raises(CorruptLedgerError, match="before its approver left and came back"):
                LedgerState.read(rows)
        assert ledger.accept(recorded["bo"]) is None  # who stayed need not sign again
        with pytest.raises(NotApprovedError, match=r"approved by bo\."):
            pay(ledger, "map", 1)
        ledger.change_approvers(Quorum(QUORUM.approvers, 3), by="ana", key=KEYS["ana"])
        ledger.change_approvers(Quorum(QUORUM.approvers, 3), by="bo", key=KEYS["bo"])
        with pytest.raises(NotApprovedError, match="came back"):  # a later change forgets nothing
            ledger.accept(recorded["ana"])
        for name in ("ana", "cy"):
            ledger.accept(signed(ledger, name, signed="2026-11-03T00:00:01Z"))
        pay(ledger, "map", 1)
        assert Ledger(self.again(self.store), clock=self.clock).consent == ledger.consent

    @pytest.mark.parametrize(("by", "key"), [("ana", STRANGER), ("ana", KEYS["bo"]), ("dee", DEE)])
    def test_nobody_else_changes_who_approves(self, ledger: Ledger, by: str, key: SigningKey) -> None:
        with pytest.raises(ParameterError, match="cannot sign with this key"):
            ledger.change_approvers(OTHERS, by=by, key=key)
        message = approvers_message(ledger.name, ledger.records()[0].hash, OTHERS)
        data = {"approval": OTHERS.to_json(), **signed_fields(Approver(by, key.public), key, message)}
        with pytest.raises(CorruptLedgerError, match="no approver of this ledger signed it"):
            LedgerState.read([*self.store.rows(), forged_row(ledger, "approvers", data)])

    def test_signatures_under_two_lists_are_not_two_under_one(self, ledger: Ledger) -> None:
        ledger.change_approvers(OTHERS, by="ana", key=KEYS["ana"])
        ledger.change_approvers(Quorum(OTHERS.approvers, 2), by="bo", key=KEYS["bo"])
        assert ledger.consent is not None
        assert ledger.consent.quorum == QUORUM
        record = ledger.records()[-1]
        for change in ({"approval": OTHERS.to_json()}, {"by": "cy"}, {"approval": QUORUM.to_json()},
                       {"approval": {**OTHERS.to_json(), "need": 9}}, {"approval": {}}):  # fmt: skip
            forged = forged_row(ledger, "approvers", {**record.data, **change})
            with pytest.raises(CorruptLedgerError):
                LedgerState.read([*self.store.rows(), forged])
        with pytest.raises(CorruptLedgerError, match="counts twice"):
            LedgerState.read([*self.store.rows(), forged_row(ledger, "approvers", dict(record.data))])

    def test_a_change_that_was_undone_cannot_be_played_back(self, ledger: Ledger) -> None:
        for name in ("ana", "bo"):
            ledger.change_approvers(OTHERS, by=name, key=KEYS[name])
        changes = [record for record in ledger.records() if record.kind == "approvers"]
        ledger.change_approvers(QUORUM, by="dee", key=DEE)
        assert ledger.consent is not None
        assert ledger.consent.quorum == QUORUM
        replayed = forged_row(ledger, "approvers", dict(changes[0].data))
        with pytest.raises(CorruptLedgerError, match="no approver of this ledger signed it"):
            LedgerState.read([*self.store.rows(), replayed])

    def test_a_change_lifts_no_freeze(self, ledger: Ledger) -> None:
        for name in ("ana", "bo"):
            ledger.accept(signed(ledger, name))
        ledger.freeze("wrong", by="cy", key=KEYS["cy"])
        ledger.unfreeze(by="ana", key=KEYS["ana"])
        fewer = Quorum(QUORUM.approvers[:2], 1)
        for name in ("ana", "bo"):
            ledger.change_approvers(fewer, by=name, key=KEYS[name])
        with pytest.raises(FrozenLedgerError, match="0 of 1 so far"):
            pay(ledger, "map", 1)
        with pytest.raises(ParameterError, match="cannot sign with this key"):
            ledger.unfreeze(by="cy", key=KEYS["cy"])
        ledger.unfreeze(by="ana", key=KEYS["ana"])
        pay(ledger, "map", 1)
