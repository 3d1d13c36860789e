"""The issuer: signs m tokens for each invitation without seeing what they are for, once; hands out the card."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from barrow.collect import tokens
from barrow.collect.card import Card
from barrow.collect.keys import b64, public_bytes, unb64
from barrow.collect.stores import connect, touch, writing
from barrow.collect.web import GroupCommit, Handler, Health, RefusedError, Reply, Service, constant, reply
from barrow.errors import ParameterError


class _TokenRequest(msgspec.Struct, forbid_unknown_fields=True):
    invitation: str
    blinded: list[str]


def new_invitations(count: int) -> list[str]:
    """Codes of 128 random bits, one for each person."""
    return [b64(tokens.random_bytes(16)) for _ in range(count)]


class Invitations:
    """Which invitations there are, and which request each was spent on; codes are kept as digests only."""

    def __init__(self, path: str | os.PathLike[str], card: str) -> None:
        table = "CREATE TABLE IF NOT EXISTS invitations (code BLOB PRIMARY KEY, request BLOB) WITHOUT ROWID;"
        self._link = connect(path, table, card)

    def invite(self, codes: Iterable[str]) -> None:
        """Let these codes in."""
        with writing(self._link) as link:
            link.executemany("INSERT OR IGNORE INTO invitations VALUES (?, NULL)", [[_digest(c)] for c in codes])

    def spend(self, requests: Iterable[tuple[str, bytes]]) -> list[str]:
        """Bind each code to its request, durably; the same request again is fine."""
        lines = []
        with writing(self._link) as link:
            for code, request in requests:
                row = link.execute("SELECT request FROM invitations WHERE code = ?", [_digest(code)]).fetchone()
                if row is None:
                    lines.append("no invitation")
                    continue
                if row[0] is None:
                    link.execute("UPDATE invitations SET request = ? WHERE code = ?", [request, _digest(code)])
                lines.append("accepted" if row[0] in (None, request) else "used invitation")
        return lines

    def counts(self) -> dict[str, int]:
        """How many invitations there are, and how many were used."""
        row = self._link.execute("SELECT count(*), count(request) FROM invitations").fetchone()
        return {"invited": int(row[0]), "used": int(row[1])}

    def check(self) -> None:
        """Write something durably, or say that it cannot be done."""
        touch(self._link)

    def close(self) -> None:
        """Let go of the file."""
        self._link.close()


class Issuer:
    """Signs tokens for a card that counts people by them, and hands out the card.

    ``key`` is None for a card whose front end attests the number of people.
    """

    def __init__(
        self, card: Card, key: RSAPrivateKey | None, invitations: Invitations | None, *, rate: int = 0,
        operator: str | None = None,
    ) -> None:  # fmt: skip
        if card.counted == "tokens" and (key is None or b64(public_bytes(key)) != card.admission["key"]):
            raise ParameterError(
                "The issuer's key is not the one on the card.", allowed="the key that was made with the card",
                fix="--keys FOLDER",
            )  # fmt: skip
        self.card, self._key, self._rate, self._operator = card, key, rate, operator
        self._invitations = invitations
        self._commits: GroupCommit[tuple[str, bytes]] | None = (
            None if invitations is None else GroupCommit(lambda rows: invitations.spend(rows))
        )

    async def sign(self, query: bytes) -> list[str]:
        """The signatures that a request asks for, once its invitation is spent on it."""
        if self._key is None or self._commits is None:
            raise RefusedError(404, "this card has no tokens")
        try:
            result = msgspec.json.decode(query, type=_TokenRequest)
            requests = [unb64(text, -(-self._key.key_size // 8)) for text in result.blinded]
        except (msgspec.DecodeError, ParameterError, RecursionError):
            raise RefusedError(400, "malformed") from None
        if len(requests) != self.card.messages or len(set(requests)) != len(requests):
            raise RefusedError(400, f"exactly {self.card.messages} different tokens")
        # What can never be signed must not use up the invitation.
        if any(int.from_bytes(request, "big") >= self._key.private_numbers().public_numbers.n for request in requests):
            raise RefusedError(400, "malformed")
        bound = hashlib.sha256(b"".join(requests)).digest()
        sentence = (await self._commits.add([(result.invitation, bound)]))[0]
        if sentence != "accepted":
            raise RefusedError(403, str(sentence))
        try:
            return [b64(await asyncio.to_thread(tokens.sign, self._key, request)) for request in requests]
        except ParameterError:
            raise RefusedError(400, "malformed") from None

    def app(self) -> Service:
        """The application: /tokens, /card, /health; for the operator /status and /metrics."""
        routes: dict[tuple[str, str], Handler] = {
            ("GET", "/card"): constant(reply(self.card.data)),
            ("GET", "/health"): Health(self.check).answer,
        }
        if self._key is not None:
            routes["POST", "/tokens"] = self.give_tokens
        return Service(routes, status=self.status, operator=self._operator, rate=self._rate)

    async def give_tokens(self, body: bytes) -> Reply:
        """The answer to a request for signatures."""
        return reply({"signatures": await self.sign(body)})

    async def status(self) -> Mapping[str, Any]:
        """How many invitations there are, and how many were used."""
        if self._invitations is None or self._commits is None:
            return {"card": self.card.digest}
        return {"card": self.card.digest, **await self._commits.alone(self._invitations.counts)}

    async def check(self) -> None:
        """An invitation can be spent durably, and the key signs what the card's key verifies."""
        if self._key is None or self._invitations is None or self._commits is None:
            return
        await self._commits.alone(self._invitations.check)
        public, text = tokens.load_issuer(unb64(self.card.admission["key"])), b"health"
        built = tokens.blind(public, text)
        try:
            signed = await asyncio.to_thread(tokens.sign, self._key, built.request)
            good = tokens.verify(public, text, built.prefix, tokens.finalize(public, text, built, signed))
        except ParameterError:
            good = False
        if not good:
            raise RefusedError(503, "the key does not sign")


def _digest(code: str) -> bytes:
    return hashlib.sha256(b"barrow invitation " + code.encode("utf-8", "replace")).digest()
