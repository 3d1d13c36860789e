"""What a card says to people, and what of it is signed."""

from __future__ import annotations

from barrow.collect import make_card
from barrow.collect.card_form import signed_bytes
from barrow.collect.collector import client_folder, demo_routes
from barrow.collect.keys import new_key
from barrow.collect.words import answered_by, card_text
from barrow.study import Study

MOODS = "discrete(labels=['calm', 'tense'])"


def made_card(space: str, question: str, alpha: int):
    study = Study(space, alpha=alpha, users=100, model="local")
    return make_card(study, question, signer=new_key("signer"), front=new_key("front"), address="https://example.org")


def test_what_a_card_says():
    text = card_text(made_card(MOODS, "items(items=1)", 1)).replace("\n", " ")
    assert "a 50 % guess about everything you hold can become at most 73.2 %" in text
    line = made_card("line(low=0, high=10, step=1)", "frequency(items=1)", 3)
    assert answered_by(line).partition(":")[0] == "Python only"
    routes = demo_routes(made_card(MOODS, "items(items=1)", 3))
    assert [path for _, path in routes][:3] == [
        "/",
        "/demo.css",
        "/demo.js",
    ]
    assert (client_folder() / "src" / "index.js").is_file()


def test_signed_bytes():
    assert signed_bytes({"b": 1, "a": "é", "signature": "x"}).decode() == '{"a":"é","b":1}'
