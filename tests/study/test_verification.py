"""Forgers against ``verify``: with the ledger, with a head that its owner signed, and with the folder alone."""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import pytest

import barrow as bw
from barrow.cli.main import main
from barrow.errors import BarrowError, ParameterError
from barrow.ledger import Ledger
from barrow.ledger.errors import MissingLedgerError
from barrow.ledger.keys import SigningKey
from barrow.ledger.published import FILE as HEAD
from barrow.ledger.store import GENESIS, ChainHead, link
from barrow.questions.statement import Statement
from barrow.study import read_statement, verification, verify
from barrow.study.folders import ReleaseFolder
from barrow.study.outputs import as_files, read_tables
from barrow.study.prose import kind_of, statement_text
from barrow.study.statement import STATEMENT_VERSION, make_statement, space_of
from barrow.study.study import Study
from tests.fuzz import forgeries
from tests.fuzz.forgeries import (
    KINDS,
    Case,
    Forgery,
    forged_fields,
    forged_files,
    forged_heads,
    noticed,
    released,
    unseen,
)
from tests.study.helpers import make_ledger, make_study
from tests.thorough import often

OWNER_ONLY = {
    "conditions", "error", "error_after", "error_unit", "event", "ledger", "library", "name", "not_covered",
    "parameters", "publication", "released", "summary", "title", "description",
    *(
        f"answer.{name}"
        for name in (
            "distortion", "expected_error", "frequency", "half_width_95", "half_width_95_all", "histogram", "holders",
            "items_per_person", "noise", "outputs", "quantiles", "radius_95", "read_from", "sampled",
            "share_half_width_95", "shares", "snapping", "snapping_included", "snapping_typical", "uniform_guess",
            "unit", "warning",
        )
    ),
}  # fmt: skip
"""What only the ledger's owner can confirm, over all kinds of questions: everything else is caught without them."""


@pytest.fixture(scope="module")
def cases(tmp_path_factory) -> Callable[[str], Case]:
    """A release of each kind, made when it is asked for; whoever forges it puts it back."""
    return cache(lambda kind: released(kind, tmp_path_factory.mktemp(kind)))


@pytest.fixture(scope="module")
def case(cases) -> Case:
    return cases("mean")


OTHER_KINDS = [kind for kind in KINDS if kind != "mean"]


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_every_changed_field_of_every_kind_is_noticed(kind, cases):
    """By the ledger all of them; without it all but those that verify says it cannot judge.

    Fields that every kind has in common are changed in every sixth kind each, what a kind says of its answer in all.
    """
    case, every = cases(kind), often(6, 1)
    assert all(check.holds for check in verify(case.folder, ledger=case.ledger, signer=case.signer))
    careful = [forgery for forgery in forged_fields(case, 1) if forgery.careful]
    own = [forgery for forgery in careful if forgery.field.startswith(("answer.", "parameters", "tables"))]
    common = [forgery for forgery in careful if forgery not in own][OTHER_KINDS.index(kind) % every :: every]
    number, missed = unseen(case, own + common, heads=False)
    assert number > 90 / every
    assert missed == []
    assert set(forgeries.owner_only(case.statement)) <= OWNER_ONLY


def test_every_changed_field_is_noticed_in_every_way(case):
    number, missed = unseen(case, forged_fields(case, 1))
    assert number > 200
    assert missed == []


def test_every_changed_added_or_removed_file_is_noticed(cases):
    for one in (cases("mean"), cases("map")):
        number, missed = unseen(one, forged_files(one))
        assert number > 20
        assert missed == []


def test_what_verify_leaves_to_the_owner_is_what_a_forger_can_change(cases):
    """The list is no excuse: of every name on it some field can really be changed unnoticed."""
    own, possible = set(), set()
    for kind in (
        "mean",
        "histogram",
        "frequency",
        "samples",
        "quantile",
        "circular_mean",
        "density",
        "share_of_people",
    ):
        case = cases(kind)
        own |= set(forgeries.owner_only(case.statement))
        for forgery in forged_fields(case, 1):
            if forgery.careful and forgery.field in own - possible and not noticed(case, forgery):
                possible.add(forgery.field)
    assert own == OWNER_ONLY
    # The claim, or a file for catalogues, says them too: both must be changed at once.
    repeated = {"answer.items_per_person", "answer.sampled", "released", "name", "publication"}
    assert own - possible - repeated == {"conditions", "not_covered", "title", "description"}


def test_a_planted_verifier_that_believes_the_statement_is_caught(case):
    careful = [forgery for forgery in forged_fields(case, 1) if forgery.careful]
    _, missed = unseen(case, careful[:40], forgeries.weak)
    assert len(missed) > 40


@pytest.mark.parametrize("field", ["question", "reads", "groups", "items", "space"])
def test_a_payment_for_something_else_is_no_payment_for_this_statement(case, field):
    """A ledger's own writer may have paid for a month, a group or a space, and recorded this statement for it."""
    records = list(case.ledger.records())
    (commit,) = (record for record in records if record.kind == "commit")
    paid = records[commit.data["reserve"] - 1]
    others = {
        "question": "another", "reads": {"periods": ["2026-01"], "pool": "records", "weights": None},
        "groups": {"region": ["north"]}, "items": 7, "space": {**paid.data["space"], "digest": "sha256:" + "0" * 64},
    }  # fmt: skip
    told = ReleaseFolder(case.folder, case.statement), case.statement, case.ledger
    assert verification._recorded(*told, records, commit)[0]
    records[paid.seq - 1] = replace(paid, data={**paid.data, field: others[field]})
    assert verification._recorded(*told, records, commit) == (
        False, "was charged for another release than the statement describes",
    )  # fmt: skip


@pytest.mark.parametrize("version", [*range(-1, STATEMENT_VERSION), STATEMENT_VERSION + 1, 10**9])
def test_a_statement_that_calls_itself_another_version_is_not_believed(case, version):
    """Forged people, epsilon and text passed as version 1."""
    statement = {**case.data, "statement": version, "people": 10**6}
    statement["worst_case"] = {**statement["worst_case"], "epsilon": 0.01}
    words = statement_text(msgspec.convert(statement, Statement)) + "\n"
    files = {"statement.json": json.dumps(statement).encode(), "statement.txt": words.encode()}
    forged = Forgery("version", "statement", True, files)
    for typed in ({"ledger": case.ledger}, {"signer": case.signer}, {}):
        assert noticed(case, forged, **typed)
    if 2 <= version < STATEMENT_VERSION:  # of the same fields: it is read, and only a ledger confirms its words
        return
    (case.folder / "statement.json").write_bytes(json.dumps(statement).encode())
    try:
        with pytest.raises(
            ParameterError, match=f"statement of version {version}. It was not checked|not those of version {version}"
        ):
            read_statement(case.folder)
    finally:
        (case.folder / "statement.json").write_bytes(case.files["statement.json"])


def test_a_space_that_was_read_from_files_is_left_to_the_owner_and_its_files_are_not_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("name,age\n" + "".join(f"p{i},{20 + i}\n" for i in range(20)))
    space = {"kind": "covariates", "nodes": "people.csv", "unit": "years"}
    records = bw.read({"uid": [1, 2, 3], "who": ["p1", "p2", "p3"]}, user="uid", item="who")
    study = bw.Study(space, ["all, 5 years, 1"], users=3, dataset="people", data=records, questions=["histogram"])
    ledger = Ledger.create("people.ledger", study)
    folder = study.release(ledger=ledger, out="o").folder
    (tmp_path / "people.csv").unlink()
    assert all(check.holds for check in verify(folder, ledger=ledger))
    result = {check.what: check for check in verify(folder)}
    assert {what for what, check in result.items() if not check.holds} == {"ledger"}
    for name in ("protected", "price", "space"):
        assert re.search(rf" {name}[,.]", result["ledger"].finding)


def test_csv_is_compared_with_parquet(case):
    """Somebody changes what people open, and repairs its digest."""
    forged = [f for f in forged_files(case) if f.field == "values.csv" and f.careful and f.files["values.csv"]]
    (one,) = forged
    assert noticed(case, one)
    for name, content in one.files.items():
        (case.folder / name).write_bytes(content)
    try:
        result = {check.what: check for check in verify(case.folder)}
    finally:
        for name in one.files:
            (case.folder / name).write_bytes(case.files[name])
    assert result["tables"].finding == "values.csv: not what the Parquet tables hold"


def test_extra_files_are_named_and_links_are_not_opened(tmp_path):
    case = released("mean", tmp_path)
    (tmp_path / "secret.txt").write_bytes(case.files["values.csv"])
    (case.folder / "values.csv").unlink()
    (case.folder / "values.csv").symlink_to(tmp_path / "secret.txt")  # the very same bytes
    (case.folder / "erratum.txt").write_text("The true value is 7.")
    (case.folder / "more").mkdir()
    os.mkfifo(case.folder / "pipe")
    result = {check.what: check for check in verify(case.folder, ledger=case.ledger)}
    assert result["values.csv"].finding == "is a link or no file, and was not opened"
    for name in ("erratum.txt", "more", "pipe"):
        assert (result[name].holds, "not part of the release" in result[name].finding) == (False, True)
    (case.folder / "statement.json").unlink()
    os.mkfifo(case.folder / "statement.json")  # nobody waits for what it will say
    with pytest.raises(ParameterError, match="no statement"):
        verify(case.folder)


# A ledger that was written anew


def rewritten(ledger: Path, change) -> None:
    """The whole chain made again after a change of its records, as whoever may write the file can."""
    with sqlite3.connect(ledger) as database:
        rows = database.execute("SELECT seq, body FROM records ORDER BY seq").fetchall()
        database.execute("DROP TRIGGER IF EXISTS never_changed")
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {name}")
        before = GENESIS
        for seq, body in rows:
            sentence = json.loads(body)
            change(sentence)
            text = json.dumps(sentence, sort_keys=True, separators=(",", ":"))
            before = link(before, text)
            database.execute("UPDATE records SET body = ?, hash = ? WHERE seq = ?", (text, before, seq))
    database.close()


def test_a_rewritten_ledger_is_noticed_by_a_head_and_by_an_anchor(tmp_path):
    case = released("mean", tmp_path)
    anchor = tmp_path / "people.anchor"
    head = case.ledger.anchor(anchor)
    assert all(c.holds for c in verify(case.folder, ledger=case.ledger, head=head, anchor=anchor, signer=case.signer))
    rewritten(tmp_path / "people.ledger", lambda text: text.update(who="nobody"))
    ledger = Ledger.open(tmp_path / "people.ledger")  # in itself it is whole
    (case.folder / HEAD).unlink()
    assert all(check.holds for check in verify(case.folder, ledger=ledger))
    for typed in ({"head": str(head)}, {"anchor": anchor}):
        failed = [check for check in verify(case.folder, ledger=ledger, **typed) if check.holds is False]
        assert [check.what for check in failed] == ["ledger"]
        assert "anchored head" in failed[0].finding
    (case.folder / HEAD).write_bytes(case.files[HEAD])
    failed = [check.finding for check in verify(case.folder, ledger=ledger) if check.holds is False]
    assert failed == ["is not a head of this ledger, or claims releases that it does not hold"]


def test_a_head_needs_a_ledger(case):
    for typed in ({"head": "1:" + "0" * 64}, {"anchor": "x.anchor"}):
        with pytest.raises(ParameterError, match="no ledger to compare it with"):
            verify(case.folder, **typed)


# A head that the owner signed


def test_a_stranger_checks_a_release_by_the_owners_signature(case):
    result = {check.what: check for check in verify(case.folder, signer=case.signer)}
    assert all(check.holds for check in result.values())
    assert case.signer in result["head"].finding
    unknown = {check.what: check for check in verify(case.folder)}
    assert (unknown["head"].holds, unknown["ledger"].holds) == (None, None)
    assert unknown["head"].finding == f"holds this release, signed by an unknown key: {case.signer}"
    assert len(case.files[HEAD]) < 1000
    public = json.loads(case.files[HEAD])
    assert set(public) == {"barrow", "version", "ledger", "head", "when", "releases", "signer", "signature"}


def test_every_changed_field_of_a_head_and_every_cut_is_noticed(case):
    number, missed = unseen(case, forged_heads(case))
    assert number > 40
    assert missed == []


def _judged(case: Case, content: bytes | None, **typed) -> bool | None:
    (case.folder / HEAD).unlink()
    if content is not None:
        (case.folder / HEAD).write_bytes(content)
    try:
        return {check.what: check.holds for check in verify(case.folder, **typed)}.get("head")
    finally:
        (case.folder / HEAD).write_bytes(case.files[HEAD])


def test_heads_of_others_older_ones_and_swapped_keys(tmp_path):
    """The same owner signs another ledger, signed before this release, or for another folder; a forger signs at all."""
    for name in ("one", "other", "twice"):
        (tmp_path / name).mkdir()
    case, other = released("mean", tmp_path / "one"), released("mean", tmp_path / "other")
    key = SigningKey.read(tmp_path / "one" / "owner.key")
    assert _judged(case, case.files[HEAD], signer=case.signer) is True
    assert _judged(case, other.ledger.publish(key).content, signer=case.signer) is False  # another ledger
    study = make_study(tmp_path / "twice", questions=["mean(fraction='1/2')"])
    state = make_ledger(study)
    before = state.publish(key).content
    first = study.release(out=tmp_path / "twice" / "first").folder
    between = state.publish(key).content
    second = study.release(out=tmp_path / "twice" / "second", key="second").folder
    after = state.publish(key).content
    for folder, head, holds in (
        (first, before, False), (first, between, True), (first, after, True), (second, between, False),
        (second, after, True),
    ):  # fmt: skip
        (folder / HEAD).write_bytes(head)
        result = {check.what: check.holds for check in verify(folder, signer=key.fingerprint)}
        assert result["head"] is holds
    forger = SigningKey.new(tmp_path / "forger.key")
    swapped = case.ledger.publish(forger).content  # a good signature by a key that nobody knows
    assert _judged(case, swapped) is None
    assert _judged(case, swapped, signer=case.signer) is False
    data = json.loads(case.files[HEAD])
    data["signer"] = json.loads(swapped)["signer"]
    assert _judged(case, json.dumps(data).encode(), signer=case.signer) is False
    assert _judged(case, None, signer=case.signer) is False
    assert _judged(case, None) is None


def test_a_fingerprint_is_typed_whole(case):
    for wrong in ("", case.signer[:-1], case.signer[7:20], "sha256:" + "g" * 64):
        with pytest.raises(ParameterError, match="fingerprint"):
            verify(case.folder, signer=wrong)
    assert all(check.holds for check in verify(case.folder, signer=case.signer[7:].upper()))


# Nothing is opened or asked that was not typed


class FakePostgres:
    """Takes connections, and remembers that it was asked."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port, self.asked = self._socket.getsockname()[1], 0
        self.data = b""
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                link, _ = self._socket.accept()
            except OSError:
                return
            self.asked += 1
            self._answer(link)

    def _answer(self, link: socket.socket) -> None:
        """Refuse encryption, then ask for the password in the clear."""
        with link:
            link.settimeout(20)
            try:
                for _ in range(3):
                    text = link.recv(4096)
                    self.data += text
                    wants_tls = text[4:8] in (b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30")
                    link.sendall(b"N" if wants_tls else b"R\x00\x00\x00\x08\x00\x00\x00\x03")
            except OSError:
                pass

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def fake():
    server = FakePostgres()
    yield server
    server.close()


def named(case: Case, ledger: str) -> Forgery:
    """A whole and careful statement that names another ledger."""
    data = json.loads(json.dumps(case.data))
    data["ledger"]["ledger"] = ledger
    return Forgery("ledger", "ledger", True, forgeries.statement_files(data, True))


def test_the_server_that_a_statement_names_is_not_asked(case, fake, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    address = f"postgresql://ana@127.0.0.1:{fake.port}/stats?ledger=visits&sslmode=disable"
    forged = named(case, address)
    assert not noticed(case, forged)
    assert noticed(case, forged, ledger=case.ledger)
    assert fake.asked == 0
    with pytest.raises(BarrowError, match="cannot be reached"):
        verify(case.folder, ledger=address)  # typed: it is asked, and would be heard
    assert fake.asked > 0
    assert b"hunter2" not in fake.data


def test_the_file_that_a_statement_names_is_not_opened(case, tmp_path, monkeypatch):
    """Not even the release's own ledger; and nobody is told to make one."""
    opened = []
    monkeypatch.setattr("barrow.ledger.ledger.open_store", opened.append)
    result = {check.what: check for check in verify(case.folder)}
    assert opened == []
    assert (result["ledger"].holds, "which was not opened" in result["ledger"].finding) == (None, True)
    assert "init" not in result["ledger"].finding
    monkeypatch.undo()
    with pytest.raises(MissingLedgerError) as error:
        verify(case.folder, ledger=tmp_path / "none.ledger")
    assert "init" not in str(error.value)


@pytest.mark.parametrize("typed", ["verify", "verify release/mean"])
def test_the_command_asks_no_server_either(typed, fake, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    study = make_study(tmp_path, ledger="ages.ledger")
    make_ledger(study)
    study.release(out="release/mean")
    address = f"postgresql://ana@127.0.0.1:{fake.port}/stats?ledger=visits"
    for ledger in (address, str(tmp_path.parent / "outside.ledger")):
        study.replace(ledger=ledger).write(tmp_path / "study.toml")
        with pytest.raises(SystemExit) as stop:
            main([*typed.split(), "--json"])
        told = json.loads(capsys.readouterr().out)
        assert (stop.value.code or 0, told["holds"], told["confirmed"]) == (0, True, False)
        (tmp_path / "study.toml").unlink()
    assert fake.asked == 0


def test_the_command_and_its_words(tmp_path, monkeypatch, capsys):
    def run(*words, code=0):
        with pytest.raises(SystemExit) as stop:
            main(list(words))
        out, err = capsys.readouterr()
        assert (stop.value.code or 0) == code, (out, err)
        return out + err

    monkeypatch.chdir(tmp_path)
    study = make_study(tmp_path, ledger="ages.ledger")
    make_ledger(study)
    study.write(tmp_path / "study.toml")
    study.release(out="release/mean")
    told = json.loads(run("verify", "--json"))  # the study of this folder, with its ledger in it
    assert (told["holds"], told["confirmed"]) == (True, True)
    built = json.loads(run("key", "new", "owner.key", "--json"))
    assert set(built) == {"key", "fingerprint", "public"}
    assert (tmp_path / "owner.key").stat().st_mode & 0o777 == 0o600
    assert built["fingerprint"] in run("key", "show", "owner.key")
    assert run("key", "show", "owner.key", "--quiet").strip() == built["fingerprint"]
    assert "never overwritten" in run("key", "new", "owner.key", code=1)
    assert "no key" in run("key", "show", "none.key", code=1)
    for wrong in (["--publish"], ["--key", "owner.key"], ["--out", "x"]):
        assert "--publish with --key" in run("ledger", "head", *wrong, code=1)
    told = json.loads(run("ledger", "head", "--publish", "--key", "owner.key", "--out", "release/mean", "--json"))
    assert (told["signer"], told["releases"], told["out"]) == (built["fingerprint"], 1, ["release/mean/head.json"])
    assert "tell others this fingerprint" in run("ledger", "head", "--publish", "--key", "owner.key")
    assert (tmp_path / "head.json").is_file()
    (tmp_path / "head.json").write_text("mine")
    assert "not touched" in run("ledger", "head", "--publish", "--key", "owner.key", code=1)
    assert "✓ head: holds this release" in run("verify", "release/mean", "--signer", built["fingerprint"])
    assert run("verify", "release/mean", "--quiet").strip() == "holds as far as it can be checked here"
    assert "signed by an unknown key" in run("verify", "release/mean")
    assert "another key" in run("verify", "release/mean", "--signer", "0" * 64, code=1)
    newest = run("ledger", "head").strip()
    run("ledger", "anchor", "ages.ledger", "ages.anchor")
    typed = ["--ledger", "ages.ledger", "--head", newest, "--anchor", "ages.anchor"]
    assert run("verify", "release/mean", *typed, "--signer", built["fingerprint"], "--quiet").strip() == "holds"
    wrong = str(ChainHead(ChainHead.parse(newest).length, "0" * 64))
    assert "✗ ledger" in run("verify", "release/mean", "--ledger", "ages.ledger", "--head", wrong, code=1)
    assert re.search("fingerprint is 'x'", run("verify", "release/mean", "--signer", "x", code=1))
    (tmp_path / "owner.key").chmod(0o644)
    assert "chmod 600" in run("key", "show", "owner.key", code=1)
    (tmp_path / "owner.key").chmod(0o600)
    (tmp_path / "owner.key").write_text("no key")
    assert "holds no key" in run("key", "show", "owner.key", code=1)


def test_records_are_read_and_reports_kept_without_telling_a_false_server_the_password(fake, monkeypatch):
    from barrow.collect.stores import PostgresReports
    from barrow.engines import Columns, engine_for

    monkeypatch.setenv("PGPASSWORD", "hunter2")
    place = f"postgresql://ana@127.0.0.1:{fake.port}/stats?sslmode=disable"
    for auth in ("", "&require_auth=password"):
        address = f"{place}&table=visits{auth}"
        with pytest.raises(ParameterError, match="cannot be reached"):
            engine_for(address).count(address, Columns("uid", "x"), bw.Line(0, 9, step=1))
    with pytest.raises(ParameterError, match="cannot be used"):
        PostgresReports(place, "survey")
    assert fake.asked >= 3
    assert b"hunter2" not in fake.data


def test_space_of():
    study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    result = space_of(make_statement(study, study.plan("mean")))
    assert result.items == 11
    assert result.labels[-1] == "no records"


def test_kind_of():
    study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    assert kind_of(make_statement(study, study.plan("histogram"))).__name__ == "Histogram"


def test_geojson_of_densities_as_it_was_first_written_holds(tmp_path):
    """Shares and half widths alone, as in folders that were released before both ends were told."""
    case = released("map", tmp_path)
    tables = read_tables(case.files)
    first = as_files(tables, mapped=True, space=space_of(read_statement(case.folder)), ends=False)["values.geojson"]
    told = json.loads(first)["features"][0]["properties"]
    assert {"share", "half_width_95"} <= set(told)
    assert not {"value", "low_95"} & set(told)
    (case.folder / "values.geojson").write_bytes(first)
    assert ReleaseFolder(case.folder, read_statement(case.folder)).disagreeing() == []
    (case.folder / "values.geojson").write_bytes(first.replace(b'"share": 0.', b'"share": 0.9', 1))
    assert ReleaseFolder(case.folder, read_statement(case.folder)).disagreeing() == ["values.geojson"]
