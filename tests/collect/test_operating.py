"""What an operator may know, and nobody else; a log without people; a health that was tried."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections import namedtuple

import pytest
from click.testing import CliRunner

from barrow.cli.main import cli
from barrow.collect.collector import Collector
from barrow.collect.issuer import Issuer
from barrow.collect.keys import make_keys, public_of, read_public
from barrow.collect.operating import Troubles, metrics_text, operator_secret
from barrow.collect.shuffler import Shuffler, open_pool
from barrow.collect.slots import Slots
from barrow.collect.stores import StoreError, open_store
from barrow.collect.web import Health, HttpRequest, Reply
from barrow.errors import ParameterError
from barrow.local.report import Report
from tests.collect.asking import ask
from tests.collect.world import World, admitted, key, local_card, shuffle_card

SECRET = "of-the-operator-and-of-nobody-else"
PERSON = "a person's own words"


@pytest.fixture(scope="module")
def card():
    return local_card()


@pytest.fixture
def services(card, tmp_path):
    mixed = shuffle_card()
    world = World(tmp_path, mixed)
    store = open_store(tmp_path / "reports.db", card.survey.digest)
    yield {
        "collector": Collector(card, store, operator=SECRET).app(),
        "shuffler": Shuffler(mixed, world.pool, operator=SECRET).app(),
        "issuer": Issuer(mixed, key("issuer"), world.invitations, operator=SECRET).app(),
    }
    world.stop()


@pytest.mark.parametrize("name", ["collector", "shuffler", "issuer"])
@pytest.mark.parametrize("path", ["/status", "/metrics"])
def test_only_the_operator_may_ask(services, card, tmp_path, name, path):
    app = services[name]
    for secret in ("", "another", SECRET + "x"):
        assert ask(app, "GET", path, secret=secret) == (401, {"problem": "for the operator only"})
    handler = app.find(HttpRequest("GET", path, "", f"Bearer {SECRET}".encode()))
    assert asyncio.run(app.answer(handler, b"")).status == 200
    nobodys = Collector(card, open_store(tmp_path / "other.db", card.survey.digest)).app()
    assert ask(nobodys, "GET", path, secret="None")[0] == 404


def test_metrics_are_in_hundreds(card, tmp_path):
    """One person more changes no metric until a hundred have come; the exact number is in the status."""
    study = local_card(users=1000)
    store = open_store(tmp_path / "reports.db", study.survey.digest)
    app = Collector(study, store, operator=SECRET).app()

    def metrics() -> str:
        handler = app.find(HttpRequest("GET", "/metrics", "", f"Bearer {SECRET}".encode()))
        answer = asyncio.run(app.answer(handler, b""))
        assert dict(answer.headers)[b"content-type"] == b"text/plain; version=0.0.4"
        return answer.body.decode()

    seen = set()
    for i in range(101):
        lines = [admitted(study, Report(study.survey.digest, f"{i:032x}", (0, 1)).to_text()), "nonsense"]
        assert ask(app, "POST", "/reports", "\n".join(lines).encode())[1]["lines"] == ["accepted", "not let in"]
        if i in (0, 50, 98, 99, 100):
            seen.add(metrics())
    assert len(seen) == 2
    assert "barrow_accepted 100\n" in metrics()
    assert 'barrow_refused{reason="not let in"} 100' in metrics()
    assert ask(app, "GET", "/status", secret=SECRET)[1]["accepted"] == 101
    assert metrics_text({"wanted": 1234, "closed": False}).count(" 1234\n") == 1  # public, and so exact


def test_the_log_of_errors_says_nothing_about_anybody(card, tmp_path, capsys, monkeypatch):
    """What an error says may repeat what was sent; its kind and the line of the program cannot."""
    store = open_store(tmp_path / "reports.db", card.survey.digest)
    app = Collector(card, store, operator=SECRET).app()

    def broken(*_):
        try:
            raise sqlite3.OperationalError(PERSON)
        except sqlite3.Error as error:
            raise StoreError(f"It cannot be stored: {PERSON}.") from error

    def wrong(*_):
        raise ValueError(PERSON)

    monkeypatch.setattr(store, "add", broken)
    assert ask(app, "POST", "/reports", PERSON.encode()) == (507, {"problem": "it cannot be stored now"})
    monkeypatch.setattr(store, "add", wrong)
    for _ in range(12):
        assert ask(app, "POST", "/reports", PERSON.encode()) == (500, {"problem": "something went wrong"})
    text = capsys.readouterr()
    assert text.out == ""
    lines = text.err.splitlines()
    assert len(lines) == 3  # the first of each kind, and the tenth
    assert lines[0].startswith("error: StoreError after OperationalError at collector.py:")
    assert lines[2].startswith("error: ValueError at collector.py:")
    assert lines[2].endswith("(10 so far)")
    assert not any(word in text.err for word in (PERSON, "person", "203.0.113.7", "nonsense"))
    assert ask(app, "GET", "/status", secret=SECRET)[1]["errors"] == 13


def test_errors_of_the_system_are_named():
    log = Troubles()
    error = OSError(28, PERSON)
    log.note(error)
    assert list(log._seen) == ["OSError ENOSPC"]


@pytest.mark.parametrize("name", ["collector", "shuffler", "issuer"])
def test_health_is_what_was_tried(services, name, monkeypatch):
    assert ask(services[name], "GET", "/health") == (200, {"ok": True})


def _full(*_):
    raise OSError(28, "No space left on device")


def test_a_collector_that_cannot_write_is_not_well(card, tmp_path):
    store = open_store(tmp_path / "reports.db", card.survey.digest)
    store._link.execute("PRAGMA query_only = ON")
    assert ask(Collector(card, store).app(), "GET", "/health") == (507, {"problem": "it cannot be stored now"})


def test_a_full_disk_is_not_well(card, tmp_path, monkeypatch):
    store = open_store(tmp_path / "reports.db", card.survey.digest)
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage(2**20))
    assert ask(Collector(card, store).app(), "GET", "/health")[0] == 507
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage(2**30))
    assert ask(Collector(card, store).app(), "GET", "/health")[0] == 200


def test_a_shuffler_that_cannot_write_is_not_well(tmp_path, monkeypatch):
    mixed = shuffle_card()
    pool = open_pool(tmp_path / "pool.db", mixed)
    with monkeypatch.context() as patch:
        patch.setattr(Slots, "sync", _full)
        assert ask(Shuffler(mixed, pool).app(), "GET", "/health")[0] == 507
    assert ask(Shuffler(mixed, pool).app(), "GET", "/health")[0] == 507  # nobody knows what is on the disk now


def test_an_issuer_whose_key_does_not_sign_is_not_well(tmp_path):
    mixed = shuffle_card()
    world = World(tmp_path, mixed)
    issuer = Issuer(mixed, key("issuer"), world.invitations)
    issuer._key = key("issuer", 2)
    assert ask(issuer.app(), "GET", "/health") == (503, {"problem": "the key does not sign"})
    issuer._key = key("issuer")
    world.invitations._link.execute("PRAGMA query_only = ON")
    assert ask(issuer.app(), "GET", "/health")[0] == 507
    world.stop()


def test_a_crowd_that_asks_for_health_makes_one_check():
    built = []

    async def check() -> None:
        built.append(1)
        await asyncio.sleep(0)

    async def crowd() -> list[Reply]:
        health = Health(check)
        return await asyncio.gather(*(health.answer(b"") for _ in range(500)))

    assert {answer.status for answer in asyncio.run(crowd())} == {200}
    assert built == [1]


def test_the_secret_of_the_operator(tmp_path):
    place = tmp_path / "operator.secret"
    built = operator_secret(place)
    assert operator_secret(place) == built
    assert (len(built), place.stat().st_mode & 0o777) == (43, 0o600)
    place.chmod(0o644)
    with pytest.raises(ParameterError, match="read by others"):
        operator_secret(place)
    for text in ("", "short", "two words that are long enough in all", "\xff" * 40):
        (tmp_path / "bad").write_text(text, encoding="latin-1")
        (tmp_path / "bad").chmod(0o600)
        with pytest.raises(ParameterError, match="too short"):
            operator_secret(tmp_path / "bad")
    with pytest.raises(ParameterError, match="cannot be written"):
        operator_secret(tmp_path / "nowhere" / "secret")


def test_parties_make_their_keys_apart(tmp_path, monkeypatch):
    """Whoever makes the card never has a private key of anybody else; each party finds its own by the card."""
    (tmp_path / "study.toml").write_text(
        'dataset = "moods"\nusers = 3\nmodel = "shuffle"\nalpha = 8\ndelta = 1e-6\n[space]\nkind = "discrete"\n'
        'labels = ["calm", "glad"]\n[[question]]\nname = "mood"\nkind = "frequency"\nitems = 2\n'
    )

    def run(place, *words, fails=False):
        (tmp_path / place).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / place)
        result = CliRunner().invoke(cli, ["collect", *words])
        assert bool(result.exit_code) == fails, result.output
        return str(result.exception) if fails else result.output

    public = []
    for role in ("analyser", "shuffler", "issuer"):
        shown = run(role, "keys", "--role", role, "--quiet").strip()
        public += ["--public", str(tmp_path / role / shown)]
    where = ["../study.toml", "--address", "https://c.example", "--shuffler", "https://s.example"]
    card_file = run("publisher", "init", *where, *public, "--quiet").strip()
    assert [file.name for file in (tmp_path / "publisher" / "keys").iterdir()] == ["signer.key"]
    card_file = str(tmp_path / "publisher" / card_file)
    assert "3 invitations" in run("issuer", "invite", card_file)
    assert len(next((tmp_path / "issuer" / "keys").glob("invitations-*.txt")).read_text().split()) == 3
    assert "exists" in run("issuer", "invite", card_file, fails=True)

    served = []
    fake = lambda app, **named: served.append((app, ask(app, "GET", "/health")[0]))  # noqa: E731
    monkeypatch.setattr("barrow.collect.web.run", fake)
    run("issuer", "serve", card_file, "--operator", "operator.secret")
    run("shuffler", "shuffle", card_file)
    assert [health for _, health in served] == [200, 200]
    secret = operator_secret(tmp_path / "issuer" / "operator.secret")
    assert ask(served[0][0], "GET", "/status", secret=secret)[1]["invited"] == 3
    # Each is refused what another party's key is for.
    assert "There is no key" in run("shuffler", "serve", card_file, fails=True)
    (tmp_path / "b.batch").write_bytes(b"")
    refused = run("publisher", "analyse", card_file, "../b.batch", "--ledger", "m.ledger", fails=True)
    assert "There is no key" in refused
    for wrong in ([*public, *public[:2]], ["--public", card_file], ["--public", "nowhere"]):
        assert "no public key that this card needs" in run("publisher", "init", *where, *wrong, fails=True)
    attested = run("publisher", "init", *where, "--attested", "--quiet").strip()
    assert "front end lets people in" in run("publisher", "invite", attested, fails=True)


def test_public_files(tmp_path):
    private, public = make_keys(tmp_path, "issuer")
    assert private.stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE" not in public.read_bytes()
    assert public_of([public], ["issuer"]) == {"issuer": read_public(public, "issuer")}
    with pytest.raises(ParameterError, match="no public key of the analyser"):
        read_public(public, "analyser")
