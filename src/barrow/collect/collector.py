"""The collector of the local model: takes reports, refuses what does not belong, stores durably, then acknowledges."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from barrow.collect.card import Card
from barrow.collect.page import demo_routes
from barrow.collect.stores import ReportStore
from barrow.collect.web import MOST_LINES, Answer, GroupCommit, Handler, RefusedError, Service, reply
from barrow.errors import ParameterError
from barrow.local import Server
from barrow.local.batches import BatchReader
from barrow.local.report import read_for
from barrow.questions.collecting import Counted

_SHOWN_SECONDS = 1.0
_AT_ONCE = 8


class Collector:
    """Reports of one local card.

    Args:
        card: The card.
        store: Where they are kept.
        rate: Requests a minute from one address; 0 for no limit.
        demo: Also answer what the reports say so far (``/result``).
    """

    def __init__(self, card: Card, store: ReportStore, *, rate: int = 0, demo: bool = False) -> None:
        if card.shuffled:
            raise ParameterError(
                "The card is of the shuffle model, where nobody collects reports.",
                allowed="a local card",
                fix="barrow collect shuffle",
            )
        self.card, self.store = card, store
        self._survey = card.survey
        self._digest = self._survey.digest
        self._collector = self._survey.collector()
        self._commits: GroupCommit[str] = GroupCommit(self._commit)
        self._rate, self._demo = rate, demo
        self._repeated = 0
        self._reader = BatchReader(self._digest)
        self._shown: tuple[float, Any] = (0.0, None)

    async def take(self, lines: list[str]) -> list[str]:
        """What became of each line, once everything that was accepted is durable."""
        said: list[str] = await self._commits.add(lines)
        return said

    def _rows(self, lines: list[str]) -> list[tuple[bytes, bytes] | str]:
        """The same as :meth:`_row` for each line; many item-wise ones are read at once."""
        counted = self._collector
        if len(lines) < _AT_ONCE or not isinstance(counted, Counted):
            return [self._row(line) for line in lines]
        batch = self._reader.read(lines)
        good = batch.read & (batch.sizes == counted.length) & ~batch.falling & (batch.largest < len(counted.counts))
        return [
            (bytes.fromhex(name), line.encode()) if fine else self._row(line)
            for line, name, fine in zip(lines, batch.ids, good.tolist(), strict=True)
        ]

    def _row(self, line: str) -> tuple[bytes, bytes] | str:
        """The id and the text to keep, written as the client writes it; or why it is refused."""
        report = read_for(self._digest, line)
        if isinstance(report, str):
            return report
        if len(report.values) != self._collector.length:
            return "wrong size"
        reason = self._collector.refusal(report.values)
        return reason or (bytes.fromhex(report.id), report.to_text().encode())

    def _commit(self, lines: list[str]) -> list[str]:
        """Read and store what many requests brought, in the thread that waits for the disk."""
        rows = self._rows(lines)
        kept = [row for row in rows if not isinstance(row, str)]
        new = iter(self.store.add(kept, Counter(row for row in rows if isinstance(row, str))))
        said = [row if isinstance(row, str) else "accepted" if next(new) else "repeated" for row in rows]
        self._repeated += said.count("repeated")
        return said

    def app(self) -> Any:
        """The application: /reports, /card, /status, /health."""
        routes: dict[tuple[str, str], Handler] = {
            ("POST", "/reports"): self._reports,
            ("GET", "/card"): self._give_card,
            ("GET", "/status"): self._status,
            ("GET", "/health"): self._health,
        }
        if self._demo:
            routes["GET", "/result"] = self._result
            routes |= demo_routes(self.card)
        return Service(routes, rate=self._rate)

    async def _reports(self, body: bytes) -> Answer:
        lines = body.decode("utf-8", "replace").split("\n")
        if lines and not lines[-1]:
            lines.pop()
        if not 0 < len(lines) <= MOST_LINES:
            raise RefusedError(413 if lines else 400, f"1 to {MOST_LINES} lines")
        if time.time() >= self.card.expires:
            raise RefusedError(410, "the card has expired")
        return reply({"lines": await self.take(lines)})

    async def _give_card(self, _: bytes) -> Answer:
        return reply(self.card.data)

    async def _status(self, _: bytes) -> Answer:
        with self._commits.lock:
            accepted, refused = self.store.count(), self.store.refused()
        told = {"accepted": accepted, "repeated_since_start": self._repeated, "refused": refused}
        return reply({"card": self.card.digest, "survey": self._digest, **told})

    async def _health(self, _: bytes) -> Answer:
        await self._commits.add([])
        return reply({"ok": True})

    async def _result(self, _: bytes) -> Answer:
        """What the reports say so far; computed at most once a second."""
        then, shown = self._shown
        if time.monotonic() - then > _SHOWN_SECONDS:
            with self._commits.lock:
                texts = list(self.store.texts())
            server = Server(self._survey)
            server.add_all(texts)
            shown = server.result().to_json() if server.n else {"n": 0}
            self._shown = (time.monotonic(), shown)
        return reply(shown)
