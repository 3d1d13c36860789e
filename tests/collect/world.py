"""A small world of collecting: studies, keys, cards, and services without a network."""

from __future__ import annotations

import asyncio
import json
import threading
from functools import cache
from pathlib import Path

from barrow.collect import tokens
from barrow.collect.admission import attest, line_of, signed_message
from barrow.collect.batches import read_batch, write_batch
from barrow.collect.card import Card, make_card
from barrow.collect.issuer import Invitations, Issuer, new_invitations
from barrow.collect.keys import new_key, unb64
from barrow.collect.sealing import seal
from barrow.collect.shuffler import Shuffler, open_pool
from barrow.collect.web import RefusedError
from barrow.study import Study

MOODS = "discrete(labels=['calm', 'glad', 'sad', 'tense'])"


@cache
def key(kind: str, number: int = 0):
    return new_key(kind)


def admitted_by(tokens: bool) -> dict:
    return {"issuer": key("issuer")} if tokens else {"front": key("front")}


def local_card(*, tokens: bool = False, **changes) -> Card:
    terms = {"alpha": 3, "users": 100, "model": "local", "questions": ["frequency(items=2)"], **changes}
    keys = {"signer": key("signer"), **admitted_by(tokens)}
    return make_card(Study(MOODS, **terms), address="https://collect.example", **keys)


def shuffle_card(*, tokens: bool = True, study: Study | None = None, **changes) -> Card:
    terms = {
        "alpha": 8,
        "delta": "1e-6",
        "users": 5,
        "model": "shuffle",
        "dataset": "moods",
        "questions": ["frequency(items=2)"],
    }
    request = {"questions": ["frequency(items=2)"]}
    built = study or Study(MOODS, **{**terms, **request, **changes})
    where = {"address": "https://collect.example", "shuffler": "https://shuffle.example"}
    keys = {"signer": key("signer"), "analyser": key("analyser"), "mixer": key("shuffler"), **admitted_by(tokens)}
    return make_card(built, **where, **keys)


def let_in(card: Card, *parts: bytes, by=None) -> bytes:
    """What lets these parts in, as the issuer or the front end of the card would sign it; or somebody else."""
    if card.counted == "attested":
        return attest(by or key("front"), card.digest, *parts)
    mine, text = by or key("issuer"), signed_message(card.digest, *parts)
    built = tokens.blind(mine.public_key(), text)
    return built.prefix + tokens.finalize(mine.public_key(), text, built, tokens.sign(mine, built.request))


def sealed(card: Card, value: int = 0) -> bytes:
    return seal(card.digest, unb64(card.sealing["key"]), value)


def item(card: Card, value: int = 0) -> bytes:
    """A message with what lets it in, as the shuffler takes it."""
    built = sealed(card, value)
    return built + let_in(card, built)


def admitted(card: Card, report: str) -> str:
    """A report with what lets it in, as the collector takes it."""
    return line_of(report, let_in(card, report.encode()))


def batch_of(card: Card, place: Path, items, *, by=None, name: str = "1" * 32, **changes):
    """A batch of these items, signed by the shuffler; or somebody else."""
    size, each = len(items[0]), int(card.messages)
    about = {"card": card.digest, "name": name, "count": len(items), "people_of": each, "size": size, **changes}
    write_batch(place, items, by or key("shuffler"), **about)
    return read_batch(place)


class World:
    """Services of one shuffle card that answer in this process."""

    def __init__(self, folder: Path, card: Card, people: int = 10) -> None:
        self.card, self.folder = card, folder
        self.pool = open_pool(folder / "pool.db", card)
        self.shuffler = Shuffler(card, self.pool)
        self.codes = new_invitations(people)
        self.invitations = Invitations(folder / "invitations.db", card.digest)
        self.invitations.invite(self.codes)
        self.issuer = Issuer(card, key("issuer") if card.counted == "tokens" else None, self.invitations)
        self.contacted: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def transport(self, address: str, body: bytes, kind: str) -> tuple[int, bytes]:
        self.contacted.append(address)
        name, work = (
            ("signatures", self.issuer.sign(body)) if address.endswith("/tokens") else ("lines", self.take(body))
        )
        try:
            result = asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except RefusedError as error:
            return error.status, json.dumps({"problem": error.problem}).encode()
        return 200, json.dumps({name: result}).encode()

    def take(self, body: bytes):
        return self.shuffler.take(body)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
