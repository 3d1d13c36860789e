"""The client of a card: proves, pays, remembers; every failure leaves what was drawn for later."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import barrow as bw
from barrow.collect import ClientBudget, SendError, read_card
from barrow.collect.card_form import signed_bytes
from barrow.collect.collector import Collector
from barrow.collect.issuer import Invitations, Issuer, new_invitations
from barrow.collect.keys import b64
from barrow.collect.posting import post_bytes
from barrow.collect.stores import open_store
from barrow.errors import DataError, LedgerError, ParameterError
from barrow.local.client import Survey
from barrow.questions.collecting import for_people
from barrow.study import Study
from tests.collect.asking import ask
from tests.collect.world import World, key, local_card, shuffle_card


@pytest.fixture(scope="module")
def card():
    return local_card()


@pytest.fixture(scope="module")
def mixed():
    return shuffle_card()


def taking(status=200, body=b'{"lines":["accepted"]}'):
    sent = []

    def transport(address, data, kind):
        sent.append((address, data))
        return status, body

    return transport, sent


def test_the_same_report_goes_out_again_after_every_failure(card, tmp_path):
    client = bw.Client(card, memory=tmp_path / "me.json", limit=10)
    bodies = []
    for status, answer, words in [
        (200, b"<html>Sign in</html>", "an HTML page"),
        (429, b'{"problem":"busy"}', "busy"),
        (507, b'{"problem":"it cannot be stored now"}', "507"),
        (200, b"[]", "refused with status 200"),
        (200, b"{}", "did not say"),
        (200, b"\xff\x00", "no JSON"),
    ]:
        transport, sent = taking(status, answer)
        with pytest.raises(SendError, match=words) as caught:
            client.send(["calm", "sad"], transport=transport)
        assert "same" in str(caught.value)
        bodies.append(sent[0][1])
    transport, sent = taking()
    # Another process of the same person, with other items, sends the same again.
    assert bw.Client(card, memory=tmp_path / "me.json").send(["glad", "glad"], transport=transport) == {"accepted": 1}
    assert {*bodies, sent[0][1]} == {bodies[0]}
    assert sent[0][0] == "https://collect.example/reports"


def test_a_refusal_is_told(card, tmp_path):
    client = bw.Client(card, memory=tmp_path / "me.json", limit=10)
    with pytest.raises(LedgerError, match="another study"):
        client.send(["calm", "sad"], transport=taking(body=b'{"lines":["another study"]}')[0])


def test_a_server_that_is_not_there(card, tmp_path):
    here = bw.Client(card, memory=tmp_path / "me.json", limit=10)
    with pytest.raises(SendError, match="kept"):
        here.send(["calm", "sad"], transport=lambda a, b, k: post_bytes("http://127.0.0.1:9/reports", b, k))


def test_the_persons_limit_holds_over_all_cards(card, mixed, tmp_path):
    me = tmp_path / "me.json"
    with pytest.raises(ParameterError, match="set no limit"):
        bw.Client(card, memory=me).report(["calm", "sad"])
    first = bw.Client(card, memory=me, limit="3.5")
    first.report(["calm", "sad"])
    assert first.budget.spent == card.epsilon == Fraction(card.local["epsilon"])
    with pytest.raises(LedgerError, match="nothing was drawn"):
        bw.Client(mixed, memory=me).sealed(["calm", "sad"])
    assert mixed.survey.digest not in bw.Client(mixed, memory=me).answered
    bw.Client(mixed, memory=me, limit=100).sealed(["calm", "sad"])
    assert bw.Client(card, memory=me).budget.spent == card.epsilon + mixed.epsilon
    # Paid once: asking again costs nothing.
    first.report(["glad", "glad"])
    assert first.budget.spent == card.epsilon + mixed.epsilon


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "[" * 10**5,
        '{"barrow": "card wallet", "version": 2, "limit": 5, "surveys": {}}',
        '{"barrow": "card wallet", "version": 2, "limit": "5", "surveys": {"a": {"card": "b"}}}',
        '{"barrow": "card wallet", "version": 2, "limit": "5", "surveys": {"a": "1"}}',
    ],
    ids=range(6),
)
def test_a_damaged_wallet_is_not_an_empty_one(card, tmp_path, text):
    (tmp_path / "me.json.cards").write_text(text)
    with pytest.raises(LedgerError, match="cannot be read"):
        bw.Client(card, memory=tmp_path / "me.json").report(["calm", "sad"])


def test_clocks_and_expiry(card, tmp_path):
    card.check_time(card.issued)
    with pytest.raises(ParameterError, match="clock"):
        card.check_time(card.issued - 3600)
    with pytest.raises(ParameterError, match="expired"):
        card.check_time(card.expires)
    data = json.loads(card.text)
    other = {**data, "expires": data["issued"] + 1, "issued": data["issued"] - 86400}
    old = read_card({**other, "signature": b64(key("signer").sign(signed_bytes(other)))})
    client = bw.Client(old, memory=tmp_path / "me.json", limit=10)
    import time

    while time.time() < old.expires:
        time.sleep(0.05)
    with pytest.raises(ParameterError, match="kept"):
        client.send(["calm", "sad"], transport=taking()[0])


def test_whose_card_it_is(card):
    assert read_card(card.text, signer=card.signer) == card
    with pytest.raises(ParameterError, match="somebody else"):
        read_card(card.text, signer="A" * 43)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<!doctype html>", "HTML"),
        ("{", "no JSON"),
        ("[]", "no JSON"),
        ('{"a": NaN}', "no JSON"),
        ('{"a": 1} {}', "no JSON"),
        ('{"a": {"b": [1e3]}}', "no JSON"),
        ('{"a": ' + "[" * 10**5, "no JSON"),
        ('{"a": 1}', "no card"),
        ("nowhere.json", "no card"),
    ],
)
def test_what_is_no_card(text, words):
    with pytest.raises(ParameterError, match=words):
        read_card(text)


def test_floats_in_cards_are_refused(card):
    with pytest.raises(ParameterError, match="no JSON"):
        read_card(card.text.replace(f'"people": {card.people}', f'"people": {card.people}.0'))


def test_a_card_that_an_editor_marked_as_utf_8_is_read(card):
    assert read_card(card.text.encode("utf-8-sig")) == card


def test_messages_with_tokens_one_by_one(mixed, tmp_path):
    world = World(tmp_path, mixed)
    client = bw.Client(mixed, memory=tmp_path / "me.json", limit=100)
    lost = []

    def flaky(address, body, kind):
        if address.endswith("/messages") and not lost:
            lost.append(body)
            world.transport(address, body, kind)  # it arrives, and the answer is lost
            raise SendError("The answer was lost.")
        return world.transport(address, body, kind)

    with pytest.raises(SendError):
        client.send(["calm", "sad"], invitation=world.codes[0], transport=flaky)
    again = bw.Client(mixed, memory=tmp_path / "me.json")
    assert again.send(transport=flaky, invitation=world.codes[0], ids=[0, 0]) == {"repeated": 1, "accepted": 1}
    assert world.pool.count() == 2
    # A request for each message, the tokens once, and nobody else.
    assert world.contacted.count("https://collect.example/tokens") == 1
    assert set(world.contacted) == {mixed.send["tokens"], mixed.send["messages"]}
    assert all(len(m) == 352 for m in world.pool.items())
    with pytest.raises(SendError, match="used invitation"):
        bw.Client(mixed, memory=tmp_path / "you.json", limit=100).send(
            ["calm", "sad"], invitation=world.codes[0], transport=world.transport
        )
    world.stop()


def test_one_survey_one_card(mixed, tmp_path):
    data = json.loads(mixed.text)
    other = {**data, "issued": data["issued"] - 1}
    second = read_card({**other, "signature": b64(key("signer").sign(signed_bytes(other)))})
    bw.Client(mixed, memory=tmp_path / "me.json", limit=100).sealed(["calm", "sad"])
    with pytest.raises(LedgerError, match="another card"):
        bw.Client(second, memory=tmp_path / "me.json").sealed(["calm", "sad"])


def resigned(data):
    return {**data, "signature": b64(key("signer").sign(signed_bytes(data)))}


@pytest.mark.parametrize("name", ["toString", "__proto__", "constructor", "", "mood", "sha256:" + "A" * 64])
def test_a_survey_is_named_by_a_digest(tmp_path, name):
    dear = json.loads(local_card(alpha=40).text)
    with pytest.raises(ParameterError, match="not named by a digest"):
        bw.Client(resigned({**dear, "survey": name}), memory=tmp_path / "me.json", limit=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("price", ["-1000", "0", "NaN", "Infinity", "1/0", "1e3", "9" * 12, "5\n", "٥", 5, None, [1]])
def test_a_price_is_above_zero(tmp_path, price):
    dear = json.loads(local_card(alpha=40).text)
    hostile = {**dear, "local": {**dear["local"], "epsilon": price}}
    with pytest.raises(ParameterError, match=r"price is not a number|not whole"):
        bw.Client(resigned(hostile), memory=tmp_path / "me.json", limit=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("price", [-1000, 0, 10**12])
def test_a_wallet_takes_no_other_price_either(tmp_path, price):
    budget = ClientBudget(tmp_path / "me.json.cards")
    budget.set_limit(10**9)
    with pytest.raises(ParameterError, match="price is not a number"):
        budget.reserve("sha256:" + "0" * 64, "sha256:" + "1" * 64, Fraction(price))
    assert budget.spent == 0


def test_a_price_that_does_not_follow_is_refused(tmp_path):
    dear = json.loads(local_card(alpha=40).text)
    hostile = {**dear, "local": {**dear["local"], "epsilon": "1/2"}}
    with pytest.raises(ParameterError, match="not what follows from its study"):
        bw.Client(resigned(hostile), memory=tmp_path / "me.json", limit=1)


def test_what_is_wrong_with_the_items_is_seen_before_anything_is_paid(card, mixed, tmp_path):
    for one in (card, mixed):
        client = bw.Client(one, memory=tmp_path / "me.json", limit=100)
        draw = client.sealed if one.shuffled else client.report
        for wrong in (["calm"], ["calm", "nobody"], [], ["calm"] * 3):
            with pytest.raises((ParameterError, DataError)):
                draw(wrong)
        for ids in ([0, 4], [0, -1], [0], [0.5, 1]):
            with pytest.raises((ParameterError, DataError)):
                draw(ids=ids)
        assert client.budget.spent == 0
    assert bw.Client(card, memory=tmp_path / "me.json").answered == ()


def test_what_was_paid_is_good_for_that_card_and_price_alone(card, tmp_path, monkeypatch):
    data = json.loads(card.text)
    other = read_card(resigned({**data, "issued": data["issued"] - 1}))
    client = bw.Client(card, memory=tmp_path / "me.json", limit=10)
    channel = type(client.survey.channel)
    with monkeypatch.context() as patch:
        patch.setattr(channel, "report", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            client.report(["calm", "sad"])
    assert client.budget.spent == card.epsilon
    with pytest.raises(LedgerError, match="another card"):
        bw.Client(other, memory=tmp_path / "me.json").report(["calm", "sad"])
    with pytest.raises(LedgerError, match="another price"):
        client.budget.reserve(card.survey.digest, card.digest, card.epsilon * 40)
    # The card that was paid for is answered for nothing more, and no other one after it.
    client.report(["calm", "sad"])
    assert client.budget.spent == card.epsilon
    with pytest.raises(LedgerError, match="another card"):
        bw.Client(other, memory=tmp_path / "me.json").report(["calm", "sad"])


def test_a_local_report_goes_out_with_a_token_for_it_alone(tmp_path):
    counted = local_card(tokens=True)
    store = open_store(tmp_path / "reports.db", counted.survey.digest)
    codes, invitations = new_invitations(1), Invitations(tmp_path / "invitations.db", counted.digest)
    invitations.invite(codes)
    app = Collector(counted, store, issuer=Issuer(counted, key("issuer"), invitations)).app()
    sent = []

    def transport(address, body, kind):
        sent.append((address, body))
        status, result = ask(app, "POST", "/" + address.rpartition("/")[2], body)
        return status, json.dumps(result).encode()

    me = bw.Client(counted, memory=tmp_path / "me.json", limit=10)
    assert me.send(["calm", "sad"], invitation=codes[0], transport=transport) == {"accepted": 1}
    assert me.send(["glad", "glad"], invitation=codes[0], transport=transport) == {"repeated": 1}
    assert [address.rpartition("/")[2] for address, _ in sent] == ["tokens", "reports", "reports"]
    line = sent[-1][1].decode().rstrip("\n")
    report, _, token = line.partition("\t")
    moved = report.replace("[", "[0,").replace(",1]", "]") + "\t" + token
    assert ask(app, "POST", "/reports", f"{report}\n{moved}\n{line}".encode())[1]["lines"] == [
        "not let in", "not let in", "repeated",
    ]  # fmt: skip
    you = bw.Client(counted, memory=tmp_path / "you.json", limit=10)
    with pytest.raises(SendError, match="used invitation"):
        you.send(["calm", "sad"], invitation=codes[0], transport=transport)
    assert list(store.texts()) == [line]


def test_fewer_people_than_planned_cost_more():
    study = Study(
        "discrete(labels=['a', 'b'])", alpha=1, users=1000, delta="1e-6", model="shuffle", honest_fraction="0.9"
    )
    plan = Survey(study, "frequency(items=2)").plan
    fewer = for_people(plan, 50)
    assert (fewer.terms.users, fewer.event.reports) == (50, 90)
    assert fewer.guarantee.epsilon_at(1) > plan.guarantee.epsilon_at(1)
