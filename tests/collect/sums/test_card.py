"""Aggregated cards: what they must say, who may answer them, what a person pays and remembers."""

import json
import time

import pytest

from barrow.collect import Client
from barrow.collect.aggregator import Aggregator
from barrow.collect.analyser import analyse, of_reports, of_shares
from barrow.collect.card import Card, make_card, read_card
from barrow.collect.card_form import signed_bytes
from barrow.collect.client_budget import ClientBudget
from barrow.collect.collector import Collector
from barrow.collect.keys import b64
from barrow.collect.prio3 import Edges, Prio3
from barrow.collect.share_messages import ALL, message_size, read_message, seal_report
from barrow.collect.share_store import ShareStore
from barrow.collect.sum_exchange import add_files, exchange
from barrow.collect.sum_task import LARGEST_SHARE, sum_task, verify_digest
from barrow.collect.words import card_text
from barrow.errors import LedgerError, ParameterError
from barrow.ledger import Ledger
from barrow.local.report import Report
from barrow.mechanisms import summed
from barrow.spaces import Euclidean
from barrow.study import Study
from tests.collect.sums.world import VERIFY
from tests.collect.world import key, let_in, local_card

SPACE = "clustered(shape=[2, 3], r=0.2)"
MAP = {"space": Euclidean([0, 0], [2, 3], step=1), "questions": ["histogram(mechanism='edges')"]}


def summed_card(*, tokens=False, days=90, now=None, space=SPACE, **changes) -> Card:
    terms = {"alpha": 10, "users": 4, "model": "aggregated", "dataset": "places", "questions": ["histogram"], **changes}
    study = Study(space, **terms)
    parties = [key("aggregator", i) for i in range(study.parties.aggregators)]
    admission = {"issuer": key("issuer")} if tokens else {"front": key("front")}
    keys = {"signer": key("signer"), "aggregators": parties, "verify": verify_digest(VERIFY), **admission}
    return make_card(study, address="https://leader.example", days=days, now=now, **keys)


def changed(card, **parts):
    data = {**card.data, **parts}
    data["signature"] = b64(key("signer").sign(signed_bytes(data)))
    return data


def test_a_card_names_its_aggregators_and_its_price():
    card = summed_card()
    again = read_card(card.text)
    assert again == card
    assert card.summed
    assert card.aggregators == again.aggregators
    assert len(card.aggregators) == 16
    assert (card.local, card.claimed["aggregators"], card.claimed["dishonest"]) == ({}, 2, 1)
    assert float(card.epsilon) == pytest.approx(10)
    text = " ".join(card_text(card).split())
    assert f"only if you opted in to them (as {card.aggregators})" in text
    assert "All of them together see your answer" in text
    task = sum_task(card)
    assert task.prio3.context == card.digest.encode()
    assert len(task.draw_noise()) == len(task.prio3.circuit.most) == 8
    assert task.prio3.circuit.groups


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"model": "summed"}, "model that is not known"),
        ({"sealing": None}, "sealed and mixed"),
        ({"mixing": {"key": "A" * 43}}, "sealed and mixed"),
        ({"claimed": None}, "A price"),
        ({"claimed": {"epsilon": "0"}}, "A price"),
        ({"sealing": {"suite": [32, 1, 1], "keys": [], "verify": "sha256:" + "0" * 64}}, "two or more different"),
        (
            {"sealing": {"suite": [32, 1, 1], "keys": "AB", "verify": "sha256:" + "0" * 64}},
            "for whom answers are sealed",
        ),
        (
            {"sealing": {"suite": [1], "keys": ["A", "B"], "verify": "sha256:" + "0" * 64}},
            "for whom answers are sealed",
        ),
        (
            {"sealing": {"suite": [32, 1, 1], "keys": ["A", "A"], "verify": "sha256:" + "0" * 64}},
            "different aggregators",
        ),
        ({"sealing": {"suite": [32, 1, 1], "keys": ["A", "B"], "verify": "sha256:" + "0" * 64}}, "base64"),
        ({"sealing": {"suite": [32, 1, 1], "keys": ["A", "B"], "verify": "x"}}, "different aggregators"),
    ],
)
def test_cards_that_say_otherwise_are_refused(parts, words):
    with pytest.raises(ParameterError, match=words):
        read_card(changed(summed_card(), **parts))


def test_a_card_whose_numbers_do_not_follow_is_refused_before_anything_is_drawn(tmp_path):
    card = summed_card()
    for parts in (
        {"claimed": {**card.claimed, "epsilon": "1/10"}},
        {"claimed": {**card.claimed, "dishonest": 0}},
        {"channel": {**card.channel, "rate": "1/2"}},
        {"channel": {**card.channel, "most": [10**9] * 8}},
    ):
        with pytest.raises(ParameterError, match="not what follows from its study"):
            Client(changed(card, **parts), memory=tmp_path / "me.json", limit=50)
    with pytest.raises(ParameterError, match="2 aggregators, and 0 public keys"):
        make_card(
            Study(SPACE, alpha=10, users=4, model="aggregated"), "histogram", signer=key("signer"), front=key("front"),
            address="https://a.example",
        )  # fmt: skip


def test_a_person_opts_in_and_sends_the_same_bytes_ever_after(tmp_path):
    card, memory = summed_card(), tmp_path / "me.json"
    with pytest.raises(ParameterError, match="has not opted in to these"):
        Client(card, memory=memory, limit=50).shares(["0/1"])
    me = Client(card, memory=memory, trust=card.aggregators)
    with pytest.raises(ParameterError, match="must leave in shares"):
        me.report(["0/1"])
    first = me.shares(["0/1"])
    again = Client(card, memory=memory)
    assert again.shares(["1/2"]) == first  # not rounded, shared or paid for again
    assert (float(again.budget.spent), again.budget.shared) == (pytest.approx(10), 1)
    assert again.budget.spent_whoever == float("inf")
    posted = []

    def post(address, body, kind):
        posted.append((address, body, kind))
        return 200, b'{"lines": ["accepted"]}'

    assert again.send(["0/0"], transport=post) == {"accepted": 1}
    assert again.send(transport=post) == {"accepted": 1}
    assert posted[0] == posted[1]
    address, body, kind = posted[0]
    assert (address, kind) == ("https://leader.example/reports", "application/octet-stream")
    assert body == first.body(b"")  # the front end puts its signature in
    whole = first.body(let_in(card, first.signed))
    assert read_message(sum_task(card), ALL, whole).nonce == first.nonce
    assert len(whole) == message_size(sum_task(card), ALL)
    with pytest.raises(ParameterError, match="front end lets people in"):
        again.write(tmp_path / "files")


def test_an_answer_is_forgotten_once_its_shares_are_stored(tmp_path, monkeypatch):
    card, memory = summed_card(), tmp_path / "me.json"
    me, drawn = Client(card, memory=memory, limit=50, trust=card.aggregators), []

    def kept(task, values):
        drawn.append(values)
        return seal_report(task, values)

    monkeypatch.setattr("barrow.collect.share_messages.seal_report", kept)
    first = me.shares(["0/1"])
    assert len(drawn[0]) > 1
    assert json.loads(memory.read_text())["reports"][0]["values"] == [-1]
    for path in tmp_path.iterdir():
        assert str(list(drawn[0])) not in path.read_text()
    assert Client(card, memory=memory).shares(["0/0"]) == first
    # After a crash between both files it is forgotten the next time.
    me.memory.store(Report(me.survey.digest, "0" * 32, drawn[0]))
    assert me.shares() == first
    assert me.memory.load()[me.survey.digest].values == (-1,)
    # Without the shares nothing is made anew, whatever else is there.
    (tmp_path / "me.json.cards").unlink()
    with pytest.raises(LedgerError, match="they are lost"):
        Client(card, memory=memory, limit=50, trust=card.aggregators).shares(["0/1"])
    assert len(drawn) == 1


def test_of_two_processes_at_a_time_the_first_ones_shares_stay(tmp_path, monkeypatch):
    card = summed_card()
    me, twin = (Client(card, memory=tmp_path / "me.json", limit=50, trust=card.aggregators) for _ in range(2))
    stored = []

    def slowly(task, values):
        if not stored:  # while this one seals, the other one has stored what it sealed
            stored.append(None)
            stored[0] = twin.shares(["0/1"])
        return seal_report(task, values)

    monkeypatch.setattr("barrow.collect.share_messages.seal_report", slowly)
    assert me.shares(["0/1"]) == stored[0] == twin.shares()


def test_a_person_who_never_opted_in_to_these_aggregators_is_asked_again(tmp_path):
    first = summed_card()
    Client(first, memory=tmp_path / "me.json", limit=50, trust=first.aggregators).shares(["0/1"])
    other = summed_card(aggregators=3, users=5)
    with pytest.raises(ParameterError, match="has not opted in"):
        Client(other, memory=tmp_path / "me.json").shares(["0/1"])
    poor = summed_card(users=6)
    with pytest.raises(LedgerError, match="of the person's limit"):
        Client(poor, memory=tmp_path / "you.json", limit=5, trust=poor.aggregators).shares(["0/1"])


def test_budgets_of_the_earlier_version_are_read(tmp_path):
    entry = {"card": "sha256:" + "0" * 64, "epsilon": "3"}
    old = {"barrow": "card wallet", "version": 2, "limit": "10", "surveys": {"sha256:" + "1" * 64: entry}}
    (tmp_path / "me.cards").write_text(json.dumps(old))
    budget = ClientBudget(tmp_path / "me.cards")
    assert (budget.spent, budget.shared, budget.spent_whoever) == (3, 0, 3.0)
    budget.trust("0123456789abcdef")
    assert json.loads((tmp_path / "me.cards").read_text())["version"] == 3
    assert budget.spent == 3
    for wrong in ({"trusted": "x"}, {"trusted": [1]}, {"version": 4}):
        (tmp_path / "bad.cards").write_text(json.dumps({**old, "version": 3, "trusted": [], **wrong}))
        with pytest.raises(LedgerError, match="cannot be read"):
            _ = ClientBudget(tmp_path / "bad.cards").spent


def test_other_cards_have_no_aggregators_and_other_commands_refuse_these(tmp_path):
    with pytest.raises(ParameterError, match="of the local model"):
        sum_task(local_card())
    assert local_card().aggregators is None
    card = summed_card()
    with pytest.raises(ParameterError, match="aggregated model, which has no collector"):
        Collector(card, None)
    with pytest.raises(ParameterError, match="of the aggregated model"):
        analyse(card, of_reports(card, []), ledger=tmp_path / "x")
    old = summed_card(days=1, now=time.time() - 10**6)
    with pytest.raises(ParameterError, match="expired"):
        Client(old, memory=tmp_path / "me.json", limit=50, trust=old.aggregators).send(["0/1"])


@pytest.mark.parametrize(
    ("asked", "places"),
    [({}, ["0/0", "0/1", "1/2"]), (MAP, [(0.5, 0.5), (0.5, 1.5), (1.5, 2.5)])],
    ids=["tree", "map"],
)
def test_from_people_to_a_release(tmp_path, asked, places):
    card = summed_card(alpha=4000, **asked)
    task = sum_task(card)
    assert card.everywhere
    parties = [
        Aggregator(task, i, ShareStore(tmp_path / f"{i}.db", card.digest, i), key("aggregator", i), VERIFY)
        for i in range(2)
    ]
    (tmp_path / "meet").mkdir()
    for number, place in enumerate([places[0], *places]):
        me = Client(card, memory=tmp_path / f"{number}.json", limit=10**5, trust=card.aggregators)
        sealed = me.shares([place])
        for i in range(2):
            (tmp_path / f"{number}.{i}").write_bytes(sealed.message(i, let_in(card, sealed.signed)))
    for i, party in enumerate(parties):
        assert add_files(party, sorted(tmp_path.glob(f"*.{i}"))) == {"accepted": 4}
    for close in (False, False, True, True):
        for party in parties:
            exchange(party, tmp_path / "meet", close=close)
    sums = sorted((tmp_path / "meet").glob("*-sum.json"))
    ledger = Ledger.create(tmp_path / "places.ledger", card.survey.study)
    release = analyse(card, of_shares(card, sums), ledger=ledger, out=tmp_path / "out")
    assert release.statement.people == 4
    shares = release.values[card.survey.study.space.encode(places)]
    assert shares.tolist() == pytest.approx([0.5, 0.25, 0.25], abs=0.1)
    assert any("kept to the rules" in text for text in release.statement.conditions)
    again = analyse(card, of_shares(card, sums), ledger=ledger, out=tmp_path / "out")
    assert again.values.tolist() == release.values.tolist()


def test_grids_are_made_finer_only_as_long_as_a_report_fits():
    assert Prio3(Edges((1,) * summed._MOST_BITS)).leader_size <= LARGEST_SHARE - 2**14
