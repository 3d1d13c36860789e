"""A small world of collecting: studies, keys, cards, and services without a network."""

from __future__ import annotations

import asyncio
import json
import threading
from functools import cache
from pathlib import Path

from barrow.collect.card import Card, make_card
from barrow.collect.issuer import Invitations, Issuer, new_invitations
from barrow.collect.keys import new_key
from barrow.collect.pool import Pool
from barrow.collect.shuffler import Shuffler
from barrow.collect.web import RefusedError
from barrow.study import Study

MOODS = "discrete(labels=['calm', 'glad', 'sad', 'tense'])"


@cache
def key(kind: str, number: int = 0):
    return new_key(kind)


def local_card(**changes) -> Card:
    terms = {"alpha": 3, "users": 100, "model": "local", "questions": ["frequency(items=2)"], **changes}
    return make_card(Study(MOODS, **terms), signer=key("signer"), address="https://collect.example")


def shuffle_card(*, tokens: bool = True, study: Study | None = None, **changes) -> Card:
    terms = {
        "alpha": 8,
        "delta": "1e-6",
        "users": 5,
        "model": "shuffle",
        "dataset": "moods",
        "questions": ["frequency(items=2)"],
    }
    asked = {"questions": ["frequency(items=2)"]}
    made = study or Study(MOODS, **{**terms, **asked, **changes})
    extra = {"issuer": key("issuer")} if tokens else {}
    where = {"address": "https://collect.example", "shuffler": "https://shuffle.example"}
    return make_card(made, signer=key("signer"), analyser=key("analyser"), **where, **extra)


class World:
    """Services of one shuffle card that answer in this process."""

    def __init__(self, folder: Path, card: Card, people: int = 10) -> None:
        self.card, self.folder = card, folder
        self.pool = Pool(folder / "pool.db", card.digest)
        self.shuffler = Shuffler(card, self.pool)
        self.codes = new_invitations(people)
        self.invitations = Invitations(folder / "invitations.db", card.digest)
        self.invitations.invite(self.codes)
        self.issuer = Issuer(card, key("issuer") if card.tokens else None, self.invitations)
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
            found = asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except RefusedError as error:
            return error.status, json.dumps({"problem": error.problem}).encode()
        return 200, json.dumps({name: found}).encode()

    def take(self, body: bytes):
        return self.shuffler.take(body)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
