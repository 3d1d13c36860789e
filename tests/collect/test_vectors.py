"""What clients in every language share: the same words give the same report; cards are read, proved and refused."""

from __future__ import annotations

import json

import pytest

from barrow.collect import read_card
from barrow.collect.card import Card
from barrow.collect.keys import b64, public_bytes
from barrow.collect.sealing import Opener
from barrow.errors import ParameterError
from tests.collect.vectors import ANALYSER, FOLDER, SIGNER, SURVEYS, Listed, drawn

REPORTS = json.loads((FOLDER / "reports.json").read_text())["reports"]


@pytest.fixture(scope="module")
def cards() -> dict[str, Card]:
    return {f"{name}.json": read_card(FOLDER / "cards" / f"{name}.json") for name in SURVEYS}


@pytest.mark.parametrize("name", SURVEYS)
def test_words_give_the_report(cards, name):
    survey = cards[f"{name}.json"].survey
    mine = [entry for entry in REPORTS if entry["card"] == f"{name}.json"]
    assert len(mine) >= (2 if "samples-" in name else 9)  # a thousand words each
    for entry in mine:
        words = [int(word) for word in entry["words"]]
        assert drawn(survey, entry["items"], Listed(words)) == [int(v) for v in entry["values"]]
    # A vector that every client would pass says nothing: some values differ from the items that were given.
    assert len({tuple(entry["values"]) for entry in mine}) > 1


def test_names_and_signatures(cards):
    for card in cards.values():
        assert card.signer == b64(public_bytes(SIGNER))
        assert card.name == f"card-{card.digest.removeprefix('sha256:')[:16]}.json"
        card.check_time()


def test_sealed_messages_open():
    known = json.loads((FOLDER / "sealing.json").read_text())
    opener = Opener(known["card"], ANALYSER, 6)
    assert [opener.open(bytes.fromhex(m["sealed"])) for m in known["messages"]] == [
        m["value"] for m in known["messages"]
    ]


@pytest.mark.parametrize("entry", json.loads((FOLDER / "refused.json").read_text()), ids=lambda entry: entry["why"])
def test_bad_cards_are_refused(entry):
    def accepted() -> None:
        card = read_card(entry["card"])
        card.check_time()
        _ = card.survey

    with pytest.raises(ParameterError):
        accepted()
