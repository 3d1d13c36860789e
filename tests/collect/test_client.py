"""The client of a card: proves, pays, remembers; every failure leaves what was drawn for later."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import barrow as bw
from barrow.collect import SendError, read_card
from barrow.collect.posting import post_bytes
from barrow.errors import LedgerError, ParameterError
from tests.collect.world import World, local_card, shuffle_card


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
    assert first.wallet.spent == card.epsilon == Fraction(card.local["epsilon"])
    with pytest.raises(LedgerError, match="nothing was drawn"):
        bw.Client(mixed, memory=me).sealed(["calm", "sad"])
    assert mixed.survey.digest not in bw.Client(mixed, memory=me).answered
    bw.Client(mixed, memory=me, limit=100).sealed(["calm", "sad"])
    assert bw.Client(card, memory=me).wallet.spent == card.epsilon + mixed.epsilon
    # Paid once: asking again costs nothing.
    first.report(["glad", "glad"])
    assert first.wallet.spent == card.epsilon + mixed.epsilon


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
    from barrow.collect.card import signed_bytes
    from barrow.collect.keys import b64
    from tests.collect.world import key

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
    from barrow.collect.card import signed_bytes
    from barrow.collect.keys import b64
    from tests.collect.world import key

    other = {**data, "issued": data["issued"] - 1}
    second = read_card({**other, "signature": b64(key("signer").sign(signed_bytes(other)))})
    bw.Client(mixed, memory=tmp_path / "me.json", limit=100).sealed(["calm", "sad"])
    with pytest.raises(LedgerError, match="another card"):
        bw.Client(second, memory=tmp_path / "me.json").sealed(["calm", "sad"])
