"""``barrow collect`` for sums in shares from the outside: from keys to a release that verifies, and what is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import barrow.collect.web as web
from barrow.collect import posting
from barrow.collect.card import read_card
from barrow.collect.issuer import Invitations, Issuer
from barrow.collect.keys import key_file, read_key, unb64
from barrow.collect.web import HttpRequest
from tests.collect.asking import ask

STUDY = """
dataset = "lunch"
users = 3
model = "aggregated"
alpha = 1000

[space]
kind = "euclidean"
low = [0, 0]
high = [2, 2]
step = 1

[[question]]
kind = "histogram"
mechanism = "edges"
"""


@pytest.fixture
def card(tmp_path, monkeypatch, barrow):
    """A card in an empty folder, with both parties' keys."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    for name in ("leader", "helper"):
        assert barrow("collect", "keys", "--role", "aggregator", "--keys", name)[0] == 0
    publics = [next(Path(name).glob("*.public")) for name in ("leader", "helper")]
    named = [x for path in publics for x in ("--aggregator", path)]
    command = ("collect", "init", "study.toml", "--address", "http://127.0.0.1:1", "--keys", "author", *named)
    code, out, err = barrow(*command)
    assert (code, err) == (0, "")
    assert "Give every aggregator the card and a copy of" in out
    file = next(Path().glob("card-*.json"))
    for name in ("leader", "helper"):
        for common in Path("author").glob("verify-*.key"):
            (Path(name) / common.name).write_bytes(common.read_bytes())
            (Path(name) / common.name).chmod(0o600)
    return file


@pytest.fixture
def tokens(card, monkeypatch):
    """The issuer answers without a network; the invitations."""
    known = read_card(card)
    private = read_key(key_file("author", "issuer", unb64(known.admission["key"])), "issuer")
    place = next(Path("author").glob("invitations-*.db"))
    app = Issuer(known, private, Invitations(place, known.digest)).app()

    def post(address, body, kind):
        status, data = ask(app, "POST", "/tokens", body)
        return status, json.dumps(data).encode()

    monkeypatch.setattr("barrow.collect.posting.post_bytes", post)
    return next(Path("author").glob("invitations-*.txt")).read_text().split()


def run(barrow, card, role, *more):
    return barrow("collect", "aggregate", card, "--role", role, "--keys", role, *more)


def test_from_keys_to_a_release_of_a_map_that_verifies(barrow, card, tokens):
    data = json.loads(card.read_text())
    code, out, _ = barrow("collect", "card", card, "--explain")
    trust = " ".join(out.split()).partition("(as ")[2].partition(")")[0]
    Path("meet").mkdir()
    for number, item in enumerate(["[0.5, 0.5]", "[0.5, 0.5]", "[1.5, 1.5]"]):
        Path("items.jsonl").write_text(f"{item}\n")
        person = ("--memory", f"{number}.json", "--invitation", tokens[number], "--out", "shares")
        command = ("collect", "answer", card, "items.jsonl", *person)
        assert "has not opted in to these" in barrow(*command, "--limit", "5000")[2]
        code, out, err = barrow(*command, "--trust", trust, "--json")
        assert (code, err) == (0, "")
        told = json.loads(out)
        assert (len(told["files"]), told["in_shares"]) == (2, 1)
        assert json.loads(barrow(*command, "--json")[1]) == told
    assert len(list(Path("shares").iterdir())) == 6
    files = {role: sorted(Path("shares").glob(f"*.{role}")) for role in ("leader", "helper")}
    assert "0 reports counted, 3 wait" in run(barrow, card, "leader", *files["leader"], "--exchange", "meet")[1]
    assert "3 reports counted, 0 wait" in run(barrow, card, "helper", *files["helper"], "--exchange", "meet")[1]
    assert "Files: 3 repeated." in run(barrow, card, "leader", *files["leader"], "--exchange", "meet")[1]
    told = json.loads(run(barrow, card, "leader", "--exchange", "meet", "--close", "--json")[1])
    assert (told["counted"], told["closed"], told["refused"]) == (3, True, {"repeated": 3})
    assert "The helper must close too" in told["state"]
    assert "Done: meet/helper-sum.json" in run(barrow, card, "helper", "--exchange", "meet", "--close")[1]
    analyse = ("collect", "analyse", card, "--ledger", "lunch.ledger", "--out", "march")
    shares = ("--shares", "meet/leader-sum.json", "--shares", "meet/helper-sum.json")
    code, _, err = barrow(*analyse, *shares)
    assert (code, "cannot be read" in err, Path("lunch.ledger").exists()) == (1, True, False)
    assert "Done" in run(barrow, card, "leader", "--exchange", "meet")[1]
    code, _, err = barrow(*analyse, *shares[:2])
    assert (code, "helper's share of the sum is missing" in err, Path("lunch.ledger").exists()) == (1, True, False)
    code, out, err = barrow(*analyse, *shares, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["people"] == 3
    assert barrow("verify", "march", "--ledger", "lunch.ledger")[0] == 0
    assert data["claimed"]["aggregators"] == 2


def test_what_is_refused_in_words(barrow, card, monkeypatch):
    Path("meet").mkdir()
    for arguments, words in [
        (("--exchange", "nowhere"), "no folder 'nowhere'"),
        ((), "No folder is named in which aggregators leave files"),
        (("nothing.leader", "--exchange", "meet"), "cannot be read"),
        (("study.toml", "--exchange", "meet"), "does not hold complete shares"),
        (("--exchange", "meet", "--close"), "0 reports were counted, but at least 3 are needed"),
        (("--exchange", "meet", "--helper", "http://127.0.0.1:1"), "--helper is given without --serve or --close"),
        (("--serve", "--close"), "takes no files and closes by another command"),
        (("--serve", "--port", "0"), "0 helpers are named, and the card has 1"),
    ]:
        code, _, err = run(barrow, card, "leader", *arguments)
        assert code == 1
        assert words in " ".join(err.split()), err
    assert "no aggregator 'third'" in run(barrow, card, "third", "--exchange", "meet")[2]
    wrong = barrow("collect", "aggregate", card, "--role", "helper", "--keys", "leader", "--exchange", "meet")
    assert "There is no key" in wrong[2]
    next(Path("helper").glob("verify-*.key")).unlink()
    assert "There is no key 'helper/verify-" in run(barrow, card, "helper", "--exchange", "meet")[2]
    large = ("collect", "init", "study.toml", "--address", "http://127.0.0.1:1", "--keys", "other")
    publics = [x for name in ("leader", "helper") for x in ("--aggregator", next(Path(name).glob("*.public")))]
    monkeypatch.setattr("barrow.collect.sum_task.LARGEST_SHARE", 1000)
    assert "One person's report would have" in barrow(*large, *publics)[2]
    monkeypatch.setattr("barrow.collect.sum_task.LARGEST_SHARE", 10**6)
    monkeypatch.setattr("barrow.collect.sum_task.MOST_SUM", 3000)
    assert "The sum of everybody's answers could be too large" in barrow(*large, *publics)[2]
    monkeypatch.setattr("barrow.collect.sum_task.MOST_SUM", 2**62)
    assert not Path("other").exists()
    few = ("collect", "init", "study.toml", "--address", "http://127.0.0.1:1", "--keys", "other")
    assert "2 aggregators, and 0 public keys" in barrow(*few)[2]
    assert not Path("other").exists()
    code, _, err = barrow("collect", "analyse", card, "--store", "x.db", "--ledger", "l")
    assert "shares of the sum for an aggregated one" in " ".join(err.split())


def test_services_begin_with_the_words_that_the_docs_give(barrow, card, monkeypatch):
    apps = []
    monkeypatch.setattr(web, "run", lambda app, **options: apps.append((app, options["port"])))
    assert run(barrow, card, "helper", "--serve")[0] == 0
    assert run(barrow, card, "leader", "--serve", "--helper", "http://127.0.0.1:8703")[0] == 0
    (helper, there), (leader, here) = apps
    assert (here, there) == (8702, 8703)
    assert ask(leader, "GET", "/card")[1]["model"] == "aggregated"
    assert ask(leader, "POST", "/reports", b"x")[0] == 400
    assert ask(helper, "POST", "/closing", b"x")[0] == 401
    assert ask(helper, "GET", "/health")[0] == ask(leader, "GET", "/health")[0] == 200


def test_services_take_a_map_from_answers_to_a_release(barrow, card, tokens, monkeypatch):
    apps = []
    monkeypatch.setattr(web, "run", lambda app, **options: apps.append(app))
    assert run(barrow, card, "helper", "--serve", "--fewest", "2")[0] == 0
    assert run(barrow, card, "leader", "--serve", "--helper", "http://127.0.0.1:8703")[0] == 0
    helper, leader = apps
    sign = posting.post_bytes

    def post(address, body, kind):
        async def answered():
            app = helper if ":8703" in address else leader
            return await app.answer(app.find(HttpRequest("POST", "/" + address.rpartition("/")[2])), body)

        if address.endswith("/tokens"):
            return sign(address, body, kind)
        answer = asyncio.run(answered())
        return answer.status, answer.body

    monkeypatch.setattr("barrow.collect.posting.post_bytes", post)
    monkeypatch.setattr("barrow.cli.collect_sums.post_bytes", post)
    trust = read_card(card).aggregators
    for number, item in enumerate(["[0.5, 0.5]", "[1.5, 1.5]"]):
        Path("items.jsonl").write_text(f"{item}\n")
        person = ("--memory", f"{number}.json", "--invitation", tokens[number], "--limit", "5000", "--trust", trust)
        code, out, err = barrow("collect", "answer", card, "items.jsonl", *person)
        assert (code, err, "Sent." in out) == (0, "", True)
        if number == 0:
            closing = ("--exchange", ".", "--close", "--fewest", "1", "--helper", "http://127.0.0.1:8703")
            code, _, err = run(barrow, card, "leader", *closing)
            assert (code, "at least 2 are needed to close; nothing was closed" in " ".join(err.split())) == (1, True)
    assert "shares of the sum of 2 reports" in " ".join(run(barrow, card, "leader", *closing)[1].split())
    shares = ("--shares", "leader-sum.json", "--shares", "helper-sum.json")
    assert barrow("collect", "analyse", card, *shares, "--ledger", "lunch.ledger", "--out", "march")[0] == 0
    assert barrow("verify", "march", "--ledger", "lunch.ledger")[0] == 0
