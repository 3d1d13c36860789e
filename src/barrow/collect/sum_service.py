"""Leader and helpers of a secure sum as services: the leader takes reports, and a worker checks them with the helpers.

Between aggregators every request and answer carries an HMAC under a key that follows from their common verify key, so
that nobody else can tell a helper anything. A block is told in two steps, asked again after any crash, and counted
once: the leader sends sealed shares and hears what the helper finds; then it sends what all found, and each decides
for itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from barrow.collect.aggregator import BLOCK, Aggregator, Closing, SumShare
from barrow.collect.client import SendError, Transport
from barrow.collect.issuer import Issuer
from barrow.collect.operating import Troubles
from barrow.collect.prio3 import VerifyState
from barrow.collect.prio3.prio3 import NONCE
from barrow.collect.share_messages import ALL, ShareMessage, message_for, message_size, read_message
from barrow.collect.share_store import ACCEPTED, RECEIVED, REFUSED, TOLD
from barrow.collect.stores import StoreError
from barrow.collect.sum_exchange import Line
from barrow.collect.sum_task import SumTask, role_name
from barrow.collect.web import (
    MOST_BYTES,
    GroupCommit,
    Handler,
    Health,
    RefusedError,
    Reply,
    Service,
    constant,
    reply,
)
from barrow.errors import BarrowError, LedgerError, ParameterError

_MAC = 32
_BINARY = ((b"content-type", b"application/octet-stream"), (b"cache-control", b"no-store"))
_WOULD = b"would you"
_PAUSE = 0.05
_PATIENCE = 5.0
_BUSY, _TRIES = 429, 20
"""What a helper's front says to a leader that asks too often, and how often it is asked again."""
HELPER_GRACE = 7 * 86400.0
"""How long after the card's end a helper still takes what the leader took in time."""


class Wire:
    """What aggregators of one card say to each other, so that nobody else can say it."""

    def __init__(self, task: SumTask, verify_key: bytes, helper: int) -> None:
        self._key = hashlib.sha256(f"barrow aggregators 1 {task.card} {helper} ".encode() + verify_key).digest()

    def wrap(self, kind: str, data: bytes) -> bytes:
        """Data with what proves who sends it."""
        return self._mac(kind, data) + data

    def unwrap(self, kind: str, body: bytes) -> bytes | None:
        """The data, if an aggregator of this card sent it, as this kind."""
        mac, data = body[:_MAC], body[_MAC:]
        return data if hmac.compare_digest(mac, self._mac(kind, data)) else None

    def _mac(self, kind: str, data: bytes) -> bytes:
        return hmac.digest(self._key, kind.encode() + b"\n" + data, "sha256")


class HelperService:
    """A helper: checks what the leader passes on, each person's token included, and closes when the leader does.

    Args:
        aggregator: The helper.
        wire: Its wire to the leader.
        fewest: How few reports it closes with; the card's by default.
        rate: Requests a minute from one address; 0 for no limit.
        operator: The secret that ``/status`` and ``/metrics`` ask for.
    """

    def __init__(
        self, aggregator: Aggregator, wire: Wire, *, fewest: int | None = None, rate: int = 0,
        operator: str | None = None,
    ) -> None:  # fmt: skip
        self.aggregator, self._wire, self._fewest = aggregator, wire, fewest
        self._rate, self._operator = rate, operator
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="helper")  # the store has one writer

    def app(self) -> Service:
        """The application: /shares, /verifiers, /closing, /sum for the leader; /health; the operator's are apart."""
        work = {"shares": self.shares, "verifiers": self.verifiers, "closing": self.closing, "sum": self.sum}
        routes: dict[tuple[str, str], Handler] = {
            ("POST", f"/{kind}"): self._answering(kind, handle) for kind, handle in work.items()
        }
        routes["GET", "/health"] = Health(self._check).answer
        return Service(routes, status=self._status, operator=self._operator, rate=self._rate)

    def _answering(self, kind: str, handle: Callable[[bytes], bytes]) -> Handler:
        async def answer(body: bytes) -> Reply:
            data = self._wire.unwrap(kind, body)
            if data is None:
                raise RefusedError(401, "for the leader of this card only")
            try:
                result = await asyncio.get_running_loop().run_in_executor(self._thread, handle, data)
            except (ParameterError, LedgerError) as error:  # texts name counts, which the leader knows, and no person
                raise RefusedError(409, error.problem) from None
            return Reply(self._wire.wrap(f"{kind} answer", result), 200, _BINARY)

        return answer

    def shares(self, data: bytes) -> bytes:
        """Store and check sealed shares: for each a 1 and what this helper found, or a 0 where it leaves it out."""
        aggregator, size = self.aggregator, message_size(self.aggregator.task, self.aggregator.index)
        messages = _rows(data, size)
        aggregator.add(messages)
        aggregator.look()
        empty = bytes(1 + aggregator.task.prio3.verifier_size)
        answers = []
        for message in messages:
            read = read_message(aggregator.task, aggregator.index, message)
            share = None if isinstance(read, str) else aggregator.store.told(read.nonce)
            answers.append(empty if share is None else b"\x01" + share)
        return b"".join(answers)

    def verifiers(self, data: bytes) -> bytes:
        """Count or leave out: of each report its nonce and what all others found; a 1 for each that is counted."""
        aggregator, each = self.aggregator, self.aggregator.task.prio3.verifier_size
        rows = _rows(data, NONCE + (aggregator.task.prio3.aggregators - 1) * each)
        states = aggregator.store.states([row[:NONCE] for row in rows])
        told: dict[bytes, tuple[bytes, Sequence[bytes]]] = {}
        for row in rows:
            state = states.get(row[:NONCE], (REFUSED, None, None))[1]
            if state is not None:
                heard = [row[start : start + each] for start in range(NONCE, len(row), each)]
                told[row[:NONCE]] = (state.share, heard)
        aggregator.store.decide(aggregator.task.prio3, aggregator.messages(told))
        after = aggregator.store.states([row[:NONCE] for row in rows])
        return bytes(int(row[:NONCE] in after and after[row[:NONCE]][0] == ACCEPTED) for row in rows)

    def closing(self, data: bytes) -> bytes:
        """Close; what the leader did not get decided is left out. Its share of the sum stays here.

        Asked whether it would, it closes nothing: no aggregator closes while another one waits for more reports.
        """
        if data == _WOULD:
            self.aggregator.check_close(fewest=self._fewest, leave_out=True)
            return _WOULD
        return msgspec.json.encode(self.aggregator.close(fewest=self._fewest, leave_out=True))

    def sum(self, data: bytes) -> bytes:
        """This helper's share, once it knows what all others are fixed to."""
        try:
            closings = msgspec.json.decode(data, type=list[Closing])
        except (ValueError, RecursionError):
            raise ParameterError("The closings cannot be read; no share is written.") from None
        if not self.aggregator.store.closed:
            raise ParameterError("This helper has not closed yet, so no share is written.")
        return msgspec.json.encode(self.aggregator.share(closings))

    async def _status(self) -> Mapping[str, Any]:
        work = asyncio.get_running_loop().run_in_executor(self._thread, status_of, self.aggregator)
        return await work

    async def _check(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self.aggregator.store.check)


class LeaderService:
    """The leader's front: takes what people post, stores it durably, then acknowledges.

    Args:
        aggregator: The leader.
        card: The card's JSON, handed out.
        issuer: Who signs tokens, where that happens at the same address.
        rate: Requests a minute from one address; 0 for no limit.
        operator: The secret that ``/status`` and ``/metrics`` ask for.
    """

    def __init__(
        self, aggregator: Aggregator, card: Mapping[str, Any], *, issuer: Issuer | None = None, rate: int = 0,
        operator: str | None = None,
    ) -> None:  # fmt: skip
        self.aggregator, self._card, self._issuer = aggregator, card, issuer
        self._rate, self._operator = rate, operator
        self._size = message_size(aggregator.task, ALL)
        self._commits: GroupCommit[bytes] = GroupCommit(self._commit, most_waiting=2**26 // self._size)

    def _commit(self, bodies: list[bytes]) -> list[str]:
        return self.aggregator.add_read([read_message(self.aggregator.task, ALL, body) for body in bodies], bodies)

    def app(self) -> Service:
        """The application: /reports, /card, /health, /tokens where they are signed here; the operator's are apart."""
        routes: dict[tuple[str, str], Handler] = {
            ("POST", "/reports"): self._reports,
            ("GET", "/card"): constant(reply(self._card)),
            ("GET", "/health"): Health(self._check).answer,
        }
        if self._issuer is not None:
            routes["POST", "/tokens"] = self._issuer.give_tokens
        return Service(routes, status=self._status, operator=self._operator, rate=self._rate)

    async def _reports(self, body: bytes) -> Reply:
        if not body or len(body) % self._size:
            raise RefusedError(400, f"reports of exactly {self._size} bytes")
        if time.time() >= self.aggregator.task.expires:
            raise RefusedError(410, "the card has expired")
        lines = await self._commits.add(_rows(body, self._size))
        if set(lines) == {"closed"}:
            raise RefusedError(410, "closed: the reports of this card were added up")
        return reply({"lines": lines})

    async def _status(self) -> Mapping[str, Any]:
        signed = {} if self._issuer is None else await self._issuer.status()
        return {**await self._commits.alone(lambda: status_of(self.aggregator)), **signed}

    async def _check(self) -> None:
        await self._commits.alone(self.aggregator.store.check)
        if self._issuer is not None:
            await self._issuer.check()


class Worker:
    """The leader's other half: checks what was stored with the helpers, block by block, and closes with them.

    Args:
        aggregator: The leader, with a connection to its store of its own.
        helpers: Where each helper is, in their order.
        verify_key: The key that all aggregators share.
        post: How bytes are posted.
    """

    def __init__(self, aggregator: Aggregator, helpers: Sequence[str], verify_key: bytes, post: Transport) -> None:
        wanted = aggregator.task.prio3.aggregators - 1
        if len(helpers) != wanted:
            raise ParameterError(
                f"{len(helpers)} helpers are named, and the card has {wanted}.",
                allowed="the address of every helper, in the order of the card",
                fix="--helper https://helper.example.org",
            )
        self.aggregator, self._helpers, self._post = aggregator, [url.rstrip("/") for url in helpers], post
        row = NONCE + wanted * aggregator.task.prio3.verifier_size + message_size(aggregator.task, 1)
        self._block = max(1, min(BLOCK, MOST_BYTES // row))  # what is asked and answered fits into one body
        self._wires = [Wire(aggregator.task, verify_key, i + 1) for i in range(wanted)]
        self._troubles = Troubles()

    def run(self, stop: threading.Event) -> None:
        """Work until it is stopped; where a helper does not answer, try again a little later."""
        pause = _PAUSE
        while not stop.is_set():
            try:
                pause = 0 if self.turn() else _PAUSE
            except (SendError, StoreError, RefusedError) as error:
                self._troubles.note(error)
                pause = min(max(2 * pause, _PAUSE), _PATIENCE)
            stop.wait(pause)

    def turn(self) -> int:
        """One block: check what arrived, and decide what waits, with the helpers; how many reports were decided."""
        store, task = self.aggregator.store, self.aggregator.task
        if received := store.received(self._block):
            store.look(self._own({nonce: read_message(task, ALL, body) for nonce, body in received}), keep=True)
        rows = store.undecided(self._block)
        if not rows or store.closed:
            return 0
        own = dict(rows)
        bodies = {nonce: read_message(task, ALL, store.kept(nonce) or b"") for nonce in own}
        whole = {nonce: body for nonce, body in bodies.items() if isinstance(body, ShareMessage)}
        heard = [self._shares(i, whole) for i in range(len(self._helpers))]
        told = {nonce: [each[nonce] for each in heard] for nonce in whole if all(each[nonce] for each in heard)}
        messages = self.aggregator.messages({nonce: (own[nonce], shares) for nonce, shares in told.items()})
        for i in range(len(self._helpers)):
            counted = self._verifiers(i, own, told)
            messages = {nonce: message if nonce in counted else None for nonce, message in messages.items()}
        store.decide(task.prio3, {**dict.fromkeys(own), **messages})
        return len(own)

    def _own(self, read: Mapping[bytes, ShareMessage | str]) -> dict[bytes, VerifyState | str]:
        """What the leader itself finds of some reports."""
        task = self.aggregator.task
        messages = {}
        for nonce, body in read.items():
            if isinstance(body, ShareMessage):
                message = read_message(task, 0, message_for(task, 0, body))
                if isinstance(message, ShareMessage):
                    messages[nonce] = message
        return {nonce: "malformed" for nonce in read if nonce not in messages} | self.aggregator.check(messages)

    def _shares(self, helper: int, bodies: Mapping[bytes, ShareMessage]) -> dict[bytes, bytes]:
        """What a helper finds; empty where it leaves a report out."""
        task, size = self.aggregator.task, 1 + self.aggregator.task.prio3.verifier_size
        data = b"".join(message_for(task, helper + 1, body) for body in bodies.values())
        answer = self._ask(helper, "shares", data, len(bodies) * size)
        rows = (answer[start : start + size] for start in range(0, len(answer), size))
        return {nonce: row[1:] if row[0] else b"" for nonce, row in zip(bodies, rows, strict=True)}

    def _verifiers(self, helper: int, own: Mapping[bytes, bytes], told: Mapping[bytes, list[bytes]]) -> set[bytes]:
        """Which reports a helper counts."""
        parts = []
        for nonce, shares in told.items():
            others = [own[nonce], *(share for i, share in enumerate(shares) if i != helper)]
            parts.append(nonce + b"".join(others))
        answer = self._ask(helper, "verifiers", b"".join(parts), len(told)) if parts else b""
        return {nonce for nonce, counted in zip(told, answer, strict=True) if counted}

    def _ask(self, helper: int, kind: str, data: bytes, size: int | None = None) -> bytes:
        """A helper's answer, of so many bytes."""
        address, wire = f"{self._helpers[helper]}/{kind}", self._wires[helper]
        for _ in range(_TRIES):
            status, body = self._post(address, wire.wrap(kind, data), "application/octet-stream")
            if status != _BUSY:
                break
            time.sleep(_PAUSE)
        if status != 200:
            raise SendError(
                f"The {role_name(helper + 1)} refused with status {status}. {_problem(body)}".strip(),
                allowed="a helper of this card that runs",
                fix="ask whoever runs it; nothing is lost, and this goes on where it stopped",
            )
        answer = wire.unwrap(f"{kind} answer", body)
        if answer is None or (size is not None and len(answer) != size):
            raise SendError(
                f"What answers at the {role_name(helper + 1)}'s address is not this card's helper.",
                allowed="a helper with the aggregators' common key",
                fix="check the address with --helper",
            )
        return answer

    def close(self, *, fewest: int | None = None) -> list[SumShare]:
        """Decide what waits, close everywhere, compare, and collect every aggregator's share; asked again the same."""
        store = self.aggregator.store
        if not store.closed:
            store.pause(True)
            try:
                while store.count(RECEIVED) + store.count(TOLD):
                    self.turn()
                self.aggregator.check_close(fewest=fewest)
                for i in range(len(self._helpers)):
                    self._ask(i, "closing", _WOULD)
            except BarrowError:
                store.pause(False)  # nothing was closed: more reports may come
                raise
        closings = [self.aggregator.close(fewest=fewest)]
        closings += [self._line(i, "closing", b"", Closing) for i in range(len(self._helpers))]
        share = self.aggregator.share(closings[1:])  # compares before anything is asked for
        shares = []
        for i in range(len(self._helpers)):
            others = [closing for closing in closings if closing.aggregator != i + 1]
            shares.append(self._line(i, "sum", msgspec.json.encode(others), SumShare))
        return [share, *shares]

    def _line(self, helper: int, kind: str, data: bytes, form: type[Line]) -> Line:
        """A helper's closing or share, in its own name."""
        try:
            result = msgspec.json.decode(self._ask(helper, kind, data), type=form)
        except (ValueError, RecursionError):
            result = None
        if result is None or (result.card, result.aggregator) != (self.aggregator.task.card, helper + 1):
            raise SendError(
                f"What the {role_name(helper + 1)} sent is no {kind} of its own; nothing was written.",
                allowed="what barrow collect aggregate --serve sends",
                fix="ask whoever runs it; do not release without its share",
            )
        return result


def status_of(aggregator: Aggregator) -> dict[str, Any]:
    """Numbers of reports, by what became of them, and nothing else."""
    store = aggregator.store
    return {
        "card": aggregator.task.card,
        "counted": store.count(ACCEPTED),
        "waiting": store.count(RECEIVED) + store.count(TOLD),
        "refused": store.refused(),
        "closed": store.closed,
    }


def _rows(data: bytes, size: int) -> list[bytes]:
    """Data in rows of one size."""
    if len(data) % size or len(data) > MOST_BYTES:
        raise RefusedError(400, f"rows of exactly {size} bytes")
    return [data[start : start + size] for start in range(0, len(data), size)]


def _problem(body: bytes) -> str:
    try:
        result = msgspec.json.decode(body)
        return str(result.get("problem", ""))[:200] if isinstance(result, dict) else ""
    except (ValueError, RecursionError, BarrowError):
        return ""
