"""The shuffler: takes ciphertexts of one size, opens nothing, keeps no address, time or order, mixes once, forgets."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from barrow.collect.admission import Gate
from barrow.collect.batches import BatchHead, read_batch, write_batch
from barrow.collect.card import Card
from barrow.collect.keys import b64, public_bytes
from barrow.collect.pool import MessagePool
from barrow.collect.sealing import SEALED_BYTES
from barrow.collect.web import MOST_LINES, GroupCommit, Handler, Health, RefusedError, Reply, Service, reply
from barrow.errors import ParameterError


def open_pool(path: str | os.PathLike[str], card: Card) -> MessagePool:
    """The pool of a card's messages, made if it is not there."""
    return MessagePool(path, card.digest, SEALED_BYTES + Gate(card).size)


class Shuffler:
    """The messages of one shuffle card, until they are mixed."""

    def __init__(self, card: Card, pool: MessagePool, *, rate: int = 0, operator: str | None = None) -> None:
        if not card.shuffled:
            raise ParameterError(
                "The card is local: its reports are not mixed.", allowed="a shuffle card", fix="barrow collect serve"
            )
        self.card, self.pool, self._rate, self._operator = card, pool, rate, operator
        self._gate = Gate(card)
        self._commits: GroupCommit[bytes] = GroupCommit(pool.add)

    @property
    def wanted(self) -> int:
        """How many messages a batch must hold: those of the card's number of people."""
        return int(self.card.people) * int(self.card.messages)

    async def take(self, body: bytes) -> list[str]:
        """What became of each item, once everything that was accepted is durable."""
        size = SEALED_BYTES + self._gate.size
        if not body or len(body) % size:
            self.pool.refuse("wrong size")
            raise RefusedError(400, f"items of exactly {size} bytes")
        if len(body) // size > MOST_LINES:
            raise RefusedError(413, f"at most {MOST_LINES} items")
        items: list[bytes] = []
        lines: list[str] = []
        for start in range(0, len(body), size):
            item = body[start : start + size]
            let_in = self._gate.lets_in(item[SEALED_BYTES:], item[:SEALED_BYTES])
            lines.append("" if let_in else "not let in")
            items += [item] if let_in else []
        stored = iter(await self._commits.add(items))
        lines = [name or next(stored) for name in lines]
        for name in lines:
            if name != "accepted":
                self.pool.refuse(name)
        return lines

    def app(self) -> Service:
        """The application: /messages, /health; for the operator /status and /metrics."""
        routes: dict[tuple[str, str], Handler] = {
            ("POST", "/messages"): self._messages,
            ("GET", "/health"): Health(self._check).answer,
        }
        return Service(routes, status=self._status, operator=self._operator, rate=self._rate)

    async def _messages(self, body: bytes) -> Reply:
        if time.time() >= self.card.expires:
            raise RefusedError(410, "the card has expired")
        lines = await self.take(body)
        if set(lines) == {"closed"}:
            raise RefusedError(410, "closed: the messages of this card were mixed")
        return reply({"lines": lines})

    async def _status(self) -> Mapping[str, Any]:
        waiting, batch = await self._commits.alone(lambda: (self.pool.waiting, self.pool.batch))
        told = {"waiting": waiting, "wanted": self.wanted, "closed": batch is not None, "refused": self.pool.refused}
        return {"card": self.card.digest, **told}

    async def _check(self) -> None:
        await self._commits.alone(self.pool.check)


def mix_and_forget(card: Card, pool: MessagePool, out: str | os.PathLike[str], key: Ed25519PrivateKey) -> BatchHead:
    """Mix what waits into one signed batch, once, and forget it; refused while fewer than n people's messages wait.

    The pool takes nothing more from then on. If it is interrupted, the same call goes on, with the same id. Of two
    calls at a time one waits for the other.
    """
    if b64(public_bytes(key)) != (card.mixing or {}).get("key"):
        raise ParameterError(
            "The shuffler's key is not the one on the card.", allowed="the shuffler's key of this card",
            fix="--keys FOLDER",
        )  # fmt: skip
    with pool.mixing():
        return _mixed(card, pool, out, key)


def _mixed(card: Card, pool: MessagePool, out: str | os.PathLike[str], key: Ed25519PrivateKey) -> BatchHead:
    people, each = int(card.people), int(card.messages)
    batch, waiting = pool.batch, pool.count()
    if batch is not None and waiting == 0:
        if Path(out).exists() and read_batch(out).head.id == batch:
            return read_batch(out).head
        raise ParameterError(
            "These messages were mixed before and deleted.", allowed="one batch for each card", fix="a new card"
        )
    if waiting < people * each:
        raise ParameterError(
            f"{waiting:,} messages wait, but the guarantee needs those of {people:,} people.",
            allowed=f"at least {people * each:,} messages: with fewer, each person is hidden less",
            fix="wait for more messages",
        )
    name = pool.shut()
    waiting = pool.count()
    if Path(out).exists() and read_batch(out).head.id == name:
        head = read_batch(out).head
    else:
        head = write_batch(
            out, pool.items(), key, card=card.digest, name=name, count=waiting, people_of=each,
            size=SEALED_BYTES + Gate(card).size,
        )  # fmt: skip
    pool.forget()
    return head
