"""Approval: on SQLite and in memory what every store must refuse; files, lists of approvers, and the command line."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from barrow.cli.main import main
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.ledger.approvals import Approval, Approver, Quorum
from barrow.ledger.errors import CorruptLedgerError, ForeignLedgerError
from barrow.ledger.keys import SigningKey
from barrow.ledger.sqlite import SqliteStore
from barrow.ledger.state import LedgerState
from barrow.ledger.store import Row, link
from barrow.study import verify
from barrow.study.proposal import Proposal
from tests.ledger.approval_suite import KEYS, QUORUM, ApprovalSuite
from tests.ledger.helpers import MemoryStore, budget


class TestSqliteApproval(ApprovalSuite):
    def make(self, tmp_path: Path, rows: list[Row]) -> SqliteStore:
        self.path = tmp_path / "visits.ledger"
        return SqliteStore.create(self.path, rows)

    def again(self, store: SqliteStore) -> SqliteStore:
        return SqliteStore(self.path)


class TestMemoryApproval(ApprovalSuite):
    def make(self, tmp_path: Path, rows: list[Row]) -> MemoryStore:
        return MemoryStore(rows)

    def again(self, store: MemoryStore) -> MemoryStore:
        return store


def test_approvers_are_different_people():
    ana, bo = QUORUM.approvers[:2]
    for approvers, need in (([ana, Approver("bo", ana.public)], 2), ([ana, Approver("ana", bo.public)], 2),
                            ([ana, bo], 3), ([ana, bo], 0), ([], 1), ([ana], True)):  # fmt: skip
        with pytest.raises(ParameterError):
            Quorum(approvers, need)
    assert Quorum([bo, ana], 2) == Quorum([ana, bo], 2)


@pytest.mark.parametrize("name", ["", " ana", "a,b", "a\nb", "x" * 81])
def test_names_of_approvers(name):
    with pytest.raises(ParameterError, match="approver is"):
        Approver(name, bytes(32))


def test_a_private_key_is_no_approver(tmp_path):
    SigningKey.new(tmp_path / "ana.key")
    with pytest.raises(ParameterError, match="never the key itself"):
        Approver.read(tmp_path / "ana.key")
    with pytest.raises(ParameterError, match="cannot be read"):
        Approver.read(tmp_path / "nowhere.pub")


def test_a_ledger_without_approvers_knows_no_approval(tmp_path):
    ledger = Ledger.create(tmp_path / "visits.ledger", budget())
    with pytest.raises(ParameterError, match="has no approvers"):
        ledger.freeze("wrong", by="ana", key=KEYS["ana"])
    with pytest.raises(ParameterError, match="a ledger without any gets none"):
        ledger.check_quorum(QUORUM)
    assert not ledger.governed
    assert ledger.consent is None
    assert ledger.approvals_of(1) == ()


def test_the_first_approvers_stand_in_the_first_record(tmp_path):
    ledger = Ledger.create(tmp_path / "visits.ledger", budget(), approval=QUORUM)
    rows = SqliteStore(tmp_path / "visits.ledger").rows()
    fewer = rows[0].body.replace('"need":2', '"need":1')
    assert fewer != rows[0].body
    with pytest.raises(CorruptLedgerError):
        LedgerState.read([Row(1, fewer, rows[0].hash)])
    # Whoever writes the whole chain anew makes another ledger: a head that was kept elsewhere shows it.
    assert link("0" * 64, fewer) != ledger.head().hash
    with pytest.raises(ParameterError, match="the approvers that the ledger has"):
        ledger.check_quorum(Quorum(QUORUM.approvers, 1))


def test_version_2_knows_no_change_of_approvers(tmp_path):
    """A record of the new kind under the old version is none: whoever reads version 2 would not know it."""
    ledger = Ledger.create(tmp_path / "visits.ledger", budget(), approval=QUORUM)
    ledger.change_approvers(Quorum(QUORUM.approvers, 1), by="ana", key=KEYS["ana"])
    first, last = SqliteStore(tmp_path / "visits.ledger").rows()
    older = last.body.replace('"v":3', '"v":2')
    assert older != last.body
    with pytest.raises(ForeignLedgerError, match="version 2 and kind 'approvers'"):
        LedgerState.read([first, Row(2, older, link(first.hash, older))])


# The command line, as an officer and an analyst type it.


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def go(*arguments: object, code: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*map(str, arguments)])
        result = capsys.readouterr()
        assert ended.value.code == code, result
        return result.out if code == 0 or "--json" in arguments else result.err

    return go


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Any) -> Path:
    """A folder with two keys, a study and a ledger that needs both."""
    monkeypatch.chdir(tmp_path)
    rows = [(user, 20 + user % 60, date(2026, month, 15)) for user in range(40) for month in (9, 10)]
    columns = zip(("uid", "age", "at"), zip(*rows, strict=True), strict=True)
    parquet.write_table(pyarrow.table({name: list(values) for name, values in columns}), "ages.parquet")
    for name in ("ana", "bo"):
        run("key", "new", f"{name}.key")
        run("key", "public", f"{name}.key", "--name", name)
    run(
        "init", "ages.parquet", "--user", "uid", "--item", "age", "--users", 40, "--dataset", "ages", "--space",
        "line(low=0, high=100, step=1, unit='years')", "--promise", "all, 5 years, 1, in any month", "--time", "at",
        "--period", "month", "--zone", "UTC", "--question", "mean", "--question", "mean(name='second')", "--approvers",
        "ana.pub", "--approvers", "bo.pub", "--need", 2,
    )  # fmt: skip
    return tmp_path


def test_propose_approve_release_verify(office, run):
    assert "nobody has approved" in run("release", "mean", "--period", "2026-10", code=1)
    told = json.loads(run("propose", "mean", "--period", "2026-10", "--json"))
    assert [r["periods"] for r in told["releases"]] == [["2026-10"]]
    assert told["proposal"] in Path("proposal/proposal.html").read_text()
    read = run("approve", "proposal")
    assert told["proposal"] in read
    assert "50 % guess can become at most" in " ".join(read.split())
    assert "Nothing was signed" in read
    run("approve", "proposal", "--by", "ana", "--key", "ana.key")
    assert "approved by ana." in run("ledger", "accept", "proposal") + run(
        "release", "mean", "--period", "2026-10", code=1
    )
    run("approve", "proposal", "--by", "bo", "--key", "bo.key", "--ledger", "ages.ledger")
    # Of another period or question nothing was approved.
    assert "another plan" in run("release", "mean", "--period", "2026-09", code=1)
    assert "another plan" in run("release", "second", "--period", "2026-10", code=1)
    run("release", "mean", "--period", "2026-10")
    statement = json.loads(Path("release/2026-10/mean/statement.json").read_text())
    assert [row["by"] for row in statement["ledger"]["approved"]] == ["ana", "bo"]
    assert {row["proposal"] for row in statement["ledger"]["approved"]} == {told["proposal"]}
    assert "Approved by ana, bo" in Path("release/2026-10/mean/statement.txt").read_text()
    checks = {check.what: check for check in verify("release/2026-10/mean", ledger="ages.ledger")}
    assert checks["ledger"].holds
    assert "approved by ana, bo, whose signatures hold" in checks["ledger"].finding
    assert run("release", "mean", "--period", "2026-10")  # the same again: nothing is drawn or spent
    assert "released already" in run("release", "mean", "--period", "2026-10", "--key", "b", "--out", "b", code=1)


def test_freeze_on_the_command_line(office, run):
    run("ledger", "freeze", "--why", "wrong column", "--by", "ana", "--key", "ana.key")
    assert "FROZEN by ana" in run("ledger", "show")
    assert "frozen by ana" in run("release", "mean", "--period", "2026-10", code=1)
    assert json.loads(run("ledger", "unfreeze", "--by", "bo", "--key", "bo.key", "--json"))["frozen"] is True
    assert "no longer frozen" in run("ledger", "unfreeze", "--by", "ana", "--key", "ana.key")
    assert "cannot sign" in run("ledger", "freeze", "--why", "x", "--by", "ana", "--key", "bo.key", code=1)


def test_a_proposal_that_says_something_else_than_it_releases_is_not_signed(office, run):
    run("propose", "mean", "--period", "2026-10")
    whole = json.loads(Path("proposal/proposal.json").read_text())

    def refused(change: Any, match: str) -> None:
        copy = json.loads(json.dumps(whole))
        change(copy["releases"][0])
        with pytest.raises(ParameterError, match=match):
            Proposal.parse(json.dumps(copy).encode())

    refused(lambda one: one["statement"]["worst_case"].update(epsilon=0.01), "does not follow")
    refused(lambda one: one["statement"]["protected"][0].update(odds=0.51), "does not follow")
    refused(lambda one: one["asked"]["parameters"].update(fraction="1"), "does not follow")
    refused(lambda one: one["asked"]["event"].update(kind="pure"), "does not follow|not a proposal")
    refused(lambda one: one.pop("statement"), "not a proposal")
    for name, value in (("reads", None), ("groups", {"region": ["north"]}), ("items", 5), ("more", 1)):
        refused(lambda one, name=name, value=value: one["asked"].update({name: value}), "does not follow")
    for name, value in (("diameter", "1000"), ("digest", "sha256:0"), ("snapping", None)):
        refused(lambda one, name=name, value=value: one["asked"]["space"].update({name: value}), "does not follow")
    refused(lambda one: one["asked"].pop("charges"), "does not follow")
    for name, value in (("by", "bo\nSigned by you"), ("made", "now"), ("expires", "9"), ("dataset", "others")):
        with pytest.raises(ParameterError):
            Proposal.parse(json.dumps({**whole, name: value}).encode())
    # The same words with another space to pay in are another release: its digest is another.
    copy = json.loads(json.dumps(whole))
    copy["releases"][0]["asked"]["charges"] = ["0"]
    other = Proposal.parse(json.dumps(copy).encode())
    assert other.releases[0].digest != Proposal.read("proposal").releases[0].digest


def test_errors_of_the_commands(office, run):
    assert "exists" in (run("propose", "mean", "--period", "2026-10"), run("propose", "mean", code=1))[1]
    assert "--by NAME and --key FILE" in run("approve", "proposal", "--by", "ana", code=1)
    assert "There is no approval" in run("ledger", "accept", "proposal", code=1)
    assert "There is no proposal" in run("approve", "nowhere", code=1)
    assert "The end is" in run("propose", "mean", "--period", "2026-10", "--expires", "soon", "--out", "p", code=1)
    assert "The end is" in run(
        "approve", "proposal", "--by", "ana", "--key", "ana.key", "--expires", "2001-01-01", code=1
    )
    run("approve", "proposal", "--by", "ana", "--key", "ana.key", "--expires", "1 day")
    assert "cannot be written" in run("approve", "proposal", "--by", "ana", "--key", "ana.key", code=1)
    assert len(Approval.read("proposal/ana.approval.json").wire.releases) == 1
    again = ("ledger", "init", "ages.ledger", "--study", "study.toml", "--approvers", "ana.pub")
    assert "the approvers that the ledger has" in run(*again, code=1)
    assert "1 of 0 approvers" in run("ledger", "init", "b.ledger", "--study", "study.toml", "--need", 1, code=1)
    assert "cannot be written" in run("key", "public", "ana.key", "--name", "ana", code=1)


def test_approvers_are_changed_on_the_command_line(office, run):
    run("key", "new", "dee.key")
    run("key", "public", "dee.key", "--name", "dee")
    assert "2 of ana, bo have approved" in run("ledger", "approvers", "ages.ledger")
    assert "named in full" in run("ledger", "approvers", "--by", "ana", "--key", "ana.key", code=1)
    assert "named in full" in run("ledger", "approvers", "--approvers", "ana.pub", code=1)
    change = ("ledger", "approvers", "ages.ledger", "--approvers", "ana.pub", "--approvers", "dee.pub", "--need", 1)
    told = json.loads(run(*change, "--by", "bo", "--key", "bo.key", "--json"))
    assert [who["name"] for who in told["approvers"]] == ["ana", "bo"]
    assert told["pending"][0]["signed"] == ["bo"]
    assert "cannot sign with this key" in run(*change, "--by", "dee", "--key", "dee.key", code=1)
    run("propose", "mean", "--period", "2026-10")
    run("approve", "proposal", "--by", "bo", "--key", "bo.key", "--ledger", "ages.ledger")
    assert "1 of ana, dee have approved" in run(*change, "--by", "ana", "--key", "ana.key")
    assert "nobody has approved" in run("release", "mean", "--period", "2026-10", code=1)  # bo's counts no more
    run("approve", "proposal", "--by", "dee", "--key", "dee.key", "--ledger", "ages.ledger")
    run("release", "mean", "--period", "2026-10")
    statement = json.loads(Path("release/2026-10/mean/statement.json").read_text())
    assert [row["by"] for row in statement["ledger"]["approved"]] == ["dee"]
    back = ("ledger", "approvers", "ages.ledger", "--approvers", "ana.pub", "--approvers", "bo.pub")
    run(*back, "--by", "dee", "--key", "dee.key")  # who approved it has gone: the release verifies all the same
    checks = {check.what: check for check in verify("release/2026-10/mean", ledger="ages.ledger")}
    assert "approved by dee, whose signatures hold" in checks["ledger"].finding
