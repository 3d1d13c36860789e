"""The collector: what belongs is stored before it is acknowledged, everything else is counted and refused."""

from __future__ import annotations

import asyncio
import json
import sqlite3

import pytest

from barrow.collect import make_card
from barrow.collect.admission import attest, line_of
from barrow.collect.analyser import collect_reports
from barrow.collect.collector import Collector
from barrow.collect.keys import new_key
from barrow.collect.stores import StoreError, open_store
from barrow.collect.web import GroupCommit, Rates, Service, reply, run
from barrow.errors import ParameterError
from barrow.local.client import LocalClient
from barrow.local.report import Report
from barrow.study import Study
from tests.collect.asking import ask
from tests.collect.world import admitted, key, let_in, local_card, shuffle_card
from tests.postgres_cluster import Cluster, unavailable

SECRET = "of the operator, and of nobody else"


@pytest.fixture(scope="module")
def card():
    return local_card()


@pytest.fixture
def place(tmp_path):
    return tmp_path / "reports.db"


@pytest.fixture
def collector(card, place):
    return Collector(card, open_store(place, card.survey.digest), operator=SECRET)


def bare(card, number: int, values=(0, 1)) -> str:
    return Report(card.survey.digest, f"{number:032x}", tuple(values)).to_text()


def line(card, number: int, values=(0, 1)) -> str:
    return admitted(card, bare(card, number, values))


def test_real_reports_are_counted_once_and_survive(card, collector, place, tmp_path):
    samples = [
        LocalClient(card.survey, memory=tmp_path / f"{i}.json").report(ids=[0, i % 4]).to_text() for i in range(12)
    ]
    built = [admitted(card, text) for text in samples]
    body = "\n".join([*built, built[0]]).encode()
    assert ask(collector.app(), "POST", "/reports", body) == (200, {"lines": ["accepted"] * 12 + ["repeated"]})
    assert ask(collector.app(), "POST", "/reports", body)[1]["lines"] == ["repeated"] * 13
    again = open_store(place, card.survey.digest)
    server = collect_reports(card, again.texts())
    assert (again.count(), server.n, dict(server.refused)) == (12, 12, {})


@pytest.mark.parametrize("many", [1, 20], ids=["one by one", "at once"])
def test_what_does_not_belong(card, collector, many):
    other = local_card(alpha=4)
    good = bare(card, 1)
    bad = {
        "malformed": ["", "{}", "[]", "\x00", "\ufffd", good[:-1], good.replace('"values"', '"Values"'),
                      good.replace("[0,1]", "[0.5,1]"), good.replace("[0,1]", "[true,1]"),
                      '{"barrow":"message","version":1,"study":"x","value":"0"}'],
        "another version": [good.replace('"version":1', '"version":2')],
        "another study": [bare(other, 2)],
        "wrong size": [bare(card, 3, (0,)), bare(card, 4, (0, 1, 1))],
        "impossible value": [bare(card, 5, (0, 4)), bare(card, 6, (1, 0)), bare(card, 7, (-1, 0)),
                             bare(card, 8, (0, 10**30))],
    }  # fmt: skip
    lines = [admitted(card, text) for texts in bad.values() for text in texts] * many
    wanted = [reason for reason, texts in bad.items() for _ in texts] * many
    assert ask(collector.app(), "POST", "/reports", ("\n".join(lines) + "\n").encode())[1]["lines"] == wanted
    status = ask(collector.app(), "GET", "/status", secret=SECRET)[1]
    assert status["accepted"] == 0
    assert status["refused"] == {reason: len(texts) * many for reason, texts in bad.items()}


def test_sizes(card, collector):
    app = collector.app()
    assert ask(app, "POST", "/reports", b"\n".join([b"x"] * 1001))[0] == 413
    assert ask(app, "POST", "/reports", b"")[0] == 400
    assert ask(app, "GET", "/elsewhere")[0] == 404
    assert ask(app, "PUT", "/reports")[0] == 404
    assert ask(app, "GET", "/health") == (200, {"ok": True})
    assert ask(app, "GET", "/card")[1] == json.loads(card.text)


def test_rates_and_pressure(card, place):
    app = Collector(card, open_store(place, card.survey.digest), rate=2).app()
    assert [ask(app, "GET", "/health")[0] for _ in range(4)] == [200, 200, 429, 429]
    slow = Collector(card, open_store(place, card.survey.digest))
    slow._commits = GroupCommit(slow._commit, most_waiting=3)
    body = "\n".join(line(card, i) for i in range(4)).encode()
    assert ask(slow.app(), "POST", "/reports", body) == (429, {"problem": "busy"})
    assert slow.store.count() == 0


def test_expired(card, place):
    old = make_card(
        card.survey.study, signer=key("signer"), front=key("front"), address="https://x.example", days=1, now=0
    )
    app = Collector(old, open_store(place, old.survey.digest)).app()
    assert ask(app, "POST", "/reports", line(card, 1).encode())[0] == 410


def test_a_full_disk_loses_nothing(place):
    card = local_card(users=10_000)
    store = open_store(place, card.survey.digest)
    pages = store._link.execute("PRAGMA page_count").fetchone()[0]
    store._link.execute(f"PRAGMA max_page_count = {pages + 2}")
    app, told = Collector(card, store).app(), []
    for i in range(100):
        lines = [line(card, 100 * i + j) for j in range(100)]
        status, text = ask(app, "POST", "/reports", "\n".join(lines).encode())
        if status == 507:
            break
        told += lines
    assert (status, text) == (507, {"problem": "it cannot be stored now"})
    store.close()
    again = open_store(place, card.survey.digest)
    assert set(again.texts()) == set(told)
    assert again.add([(bytes(16), b"{}")], {}) == [True]


def test_nothing_is_printed_or_logged(card, collector, capsys, caplog):
    ask(collector.app(), "POST", "/reports", f"{line(card, 1)}\nnonsense".encode())
    out = capsys.readouterr()
    assert (out.out, out.err, caplog.text) == ("", "", "")


def test_errors_of_the_store_say_nothing_about_reports(card, place):
    store = open_store(place, card.survey.digest)
    store._link.execute("DROP TABLE reports")
    with pytest.raises(StoreError) as caught:
        store.add([(b"secret id", b"secret body")], {})
    assert "secret" not in str(caught.value)


def test_one_store_one_card(card, place):
    open_store(place, card.survey.digest).close()
    with pytest.raises(ParameterError, match="another card"):
        open_store(place, "sha256:" + "0" * 64)


def test_the_wrong_kind_of_card(place):
    mixed = shuffle_card(tokens=False)
    with pytest.raises(ParameterError, match="shuffle"):
        Collector(mixed, open_store(place, mixed.survey.digest))


def test_rows_have_no_order(card, place):
    """Ids are random and the key of the table; there is no row number to tell what came first."""
    store = open_store(place, card.survey.digest)
    store.add([(bytes([9]), b"first"), (bytes([1]), b"second")], {})
    assert list(store.texts()) == ["second", "first"]
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        store._link.execute("SELECT rowid FROM reports")


def test_noise_on_answers_too(tmp_path):
    study = Study("line(low=0, high=100, step=1, unit='years')", alpha=5, users=50, model="local", questions=["mean"])
    card = make_card(study, signer=key("signer"), front=key("front"), address="https://x.example")
    taking = Collector(card, open_store(tmp_path / "r.db", card.survey.digest), demo=True)
    built = [LocalClient(card.survey, memory=tmp_path / f"{i}.json").report([30, 40]).to_text() for i in range(9)]
    far = Report(card.survey.digest, "f" * 32, (10**12,)).to_text()
    lines = [admitted(card, text) for text in [*built, far]]
    assert ask(taking.app(), "POST", "/reports", "\n".join(lines).encode())[1]["lines"] == [
        *["accepted"] * 9,
        "impossible value",
    ]
    assert ask(taking.app(), "GET", "/result")[1]["n"] == 9


def test_a_missing_library_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "barrow.collect.connections", raising=False)
    monkeypatch.setitem(sys.modules, "httptools", None)
    with pytest.raises(ImportError, match=r"barrow\[collect\]"):
        run(Service({}), host="127.0.0.1", port=0)


@pytest.mark.skipif(unavailable() is not None, reason=unavailable() or "")
def test_reports_in_postgres(card):
    cluster = Cluster()
    cluster.start()
    try:
        url = cluster.url().replace("&ledger=visits", "")
        collector = Collector(card, open_store(url, card.survey.digest))
        body = "\n".join([line(card, 1), line(card, 2), line(card, 1), "nonsense"]).encode()
        assert ask(collector.app(), "POST", "/reports", body)[1]["lines"] == [
            "accepted",
            "accepted",
            "repeated",
            "not let in",
        ]
        assert ask(collector.app(), "POST", "/reports", body)[1]["lines"][0] == "repeated"
        again = open_store(url, card.survey.digest)
        assert (again.count(), again.refused(), len(list(again.texts()))) == (2, {"not let in": 2}, 2)
        other = open_store(url, "sha256:" + "0" * 64)
        assert other.count() == 0
        again.close()
        other.close()
        cluster.stop()
        status, text = ask(collector.app(), "POST", "/reports", line(card, 9).encode())
        assert (status, text) == (507, {"problem": "it cannot be stored now"})
        collector.store.close()
    finally:
        cluster.stop()


@pytest.mark.parametrize("many", [1, 40], ids=["one by one", "at once"])
def test_nobody_becomes_more_people_than_the_study_is_about(place, many):
    """One sender whom the front end let in again and again: n reports are counted, and copies are known as such."""
    card = local_card(users=30)
    app = Collector(card, open_store(place, card.survey.digest)).app()
    lines = [line(card, i, (i % 4, 3)) for i in range(100)]
    texts = []
    for start in range(0, 100, many):
        texts += ask(app, "POST", "/reports", "\n".join(lines[start : start + many]).encode())[1]["lines"]
    assert texts == ["accepted"] * 30 + ["too many"] * 70
    again = ask(app, "POST", "/reports", "\n".join([lines[99], lines[0], lines[0], lines[98]]).encode())[1]["lines"]
    assert again == ["too many", "repeated", "repeated", "too many"]
    result = open_store(place, card.survey.digest)
    assert (result.count(), collect_reports(card, result.texts()).n) == (30, 30)


def test_anybody_is_not_let_in(card, collector, place):
    """Reports without a signature, with that of somebody else, or with one that is for another report."""
    good, other = bare(card, 1), bare(card, 2)
    strangers = [
        good, f"{good}\t", f"{good}\t!", f"{good}\t{'A' * 86}", admitted(card, good) + "A", admitted(card, good) + "\t",
        line_of(good, let_in(card, other.encode())),
        line_of(good, let_in(card, good.encode(), by=key("front", 2))),
        line_of(good, let_in(local_card(alpha=4), good.encode())),
    ]  # fmt: skip
    body = "\n".join(strangers).encode()
    assert set(ask(collector.app(), "POST", "/reports", body)[1]["lines"]) == {"not let in"}
    assert collector.store.count() == 0
    # Nor if the store is filled by another way.
    collector.store.add([(bytes([i]) * 16, text.encode()) for i, text in enumerate(strangers)], {})
    looked = collect_reports(card, collector.store.texts())
    assert (looked.n, dict(looked.refused)) == (0, {"not let in": len(strangers)})


MOODS = "discrete(labels=['calm', 'tense'])"


def test_rates_and_replies():
    rates = Rates(2)
    assert [rates.allow("10.0.0.1") for _ in range(3)] == [True, True, False]
    assert rates.allow("10.0.0.2")
    assert reply({"a": 1}, retry_after="60").body == b'{"a":1}'


def test_collector(tmp_path):
    front = new_key("front")
    study = Study(MOODS, alpha=3, users=100, model="local")
    card = make_card(study, "items(items=1)", signer=new_key("signer"), front=front, address="https://example.org")
    taking = Collector(card, open_store(str(tmp_path / "reports.db"), card.survey.digest))
    report = Report(card.survey.digest, "0" * 32, (1,)).to_text()
    line = line_of(report, attest(front, card.digest, report.encode()))
    assert asyncio.run(taking.take([line, line, report, "hello"])) == ["accepted", "repeated", *["not let in"] * 2]
