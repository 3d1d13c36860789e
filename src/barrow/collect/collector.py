"""The collector of the local model: takes reports, refuses what does not belong, stores durably, then acknowledges."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from barrow.collect.admission import Gate
from barrow.collect.analyser import collect_reports
from barrow.collect.card import Card
from barrow.collect.issuer import Issuer
from barrow.collect.stores import ReportStore
from barrow.collect.web import MOST_LINES, GroupCommit, Handler, Health, RefusedError, Reply, Service, constant, reply
from barrow.errors import ParameterError
from barrow.local.batches import BatchReader
from barrow.local.report import read_for
from barrow.questions.collecting import Counted

_KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css"}


def client_folder() -> Path:
    """The JavaScript client: in the package where it was installed, in the checkout otherwise."""
    here = Path(__file__).resolve()
    for folder in (here.parent / "js", here.parents[3] / "clients" / "js"):
        if (folder / "src" / "index.js").is_file():
            return folder
    raise ParameterError(
        "The JavaScript client is not installed beside the package.",
        allowed="a wheel of barrow, or a checkout with its folder clients/",
        fix="install barrow again",
    )


def demo_routes(card: Card) -> dict[tuple[str, str], Handler]:
    """The page, its script and style, and the client's modules; only the card's addresses may be contacted from it."""
    folder = client_folder()
    files = {"/": folder / "demo" / "index.html"}
    files |= {f"/{name}": folder / "demo" / name for name in ("demo.css", "demo.js")}
    files |= {f"/client/{path.name}": path for path in sorted((folder / "src").glob("*.js"))}
    hosts = sorted({"{0.scheme}://{0.netloc}".format(urlsplit(address)) for address in card.send.values()})
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' {' '.join(hosts)}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return {("GET", path): _serve(file, policy) for path, file in files.items()}


def _serve(file: Path, policy: str) -> Handler:
    body, kind = file.read_bytes(), _KINDS[file.suffix]
    headers = {
        "content-type": kind,
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
    }
    return constant(Reply(body, 200, tuple((name.encode(), value.encode()) for name, value in headers.items())))


_SHOWN_SECONDS = 1.0
_AT_ONCE = 8


class Collector:
    """Reports of one local card.

    Args:
        card: The card.
        store: Where they are kept.
        issuer: Who signs tokens, where the card counts people by them and they are signed at the same address.
        rate: Requests a minute from one address; 0 for no limit.
        demo: Also answer what the reports say so far (``/result``).
        operator: The secret that ``/status`` and ``/metrics`` ask for; without it nobody may see them.
    """

    def __init__(
        self, card: Card, store: ReportStore, *, issuer: Issuer | None = None, rate: int = 0, demo: bool = False,
        operator: str | None = None,
    ) -> None:  # fmt: skip
        if card.shuffled or card.summed:
            raise ParameterError(
                f"The card is of the {card.model} model, which has no collector of reports.",
                allowed="a local card",
                fix=f"barrow collect {'shuffle' if card.shuffled else 'aggregate'}",
            )
        self.card, self.store, self._issuer = card, store, issuer
        self._gate = Gate(card)
        self._digest = card.survey.digest
        self._collector = card.survey.collector()
        self._commits: GroupCommit[str] = GroupCommit(self._commit)
        self._rate, self._demo, self._operator = rate, demo, operator
        self._repeated = 0
        self._reader = BatchReader(self._digest)
        self._shown: tuple[float, Any] = (0.0, None)

    async def take(self, lines: list[str]) -> list[str]:
        """What became of each line, once everything that was accepted is durable."""
        texts: list[str] = await self._commits.add(lines)
        return texts

    def _rows(self, lines: list[str]) -> list[tuple[bytes, bytes] | str]:
        """The id and the line to keep of each; or why it is refused. Many item-wise reports are read at once."""
        reports = [self._gate.report(line) for line in lines]
        texts = [report for report in reports if report is not None]
        counted = self._collector
        if len(texts) < _AT_ONCE or not isinstance(counted, Counted):
            read = iter([self._id(text) for text in texts])
        else:
            batch = self._reader.read(texts)
            good = batch.read & (batch.sizes == counted.length) & ~batch.falling & (batch.largest < len(counted.counts))
            fast = zip(texts, batch.ids, good.tolist(), strict=True)
            read = iter([bytes.fromhex(name) if fine else self._id(text) for text, name, fine in fast])
        answers: list[tuple[bytes, bytes] | str] = []
        for line, report in zip(lines, reports, strict=True):
            result = "not let in" if report is None else next(read)
            answers.append(result if isinstance(result, str) else (result, line.encode()))
        return answers

    def _id(self, text: str) -> bytes | str:
        """The id of a report; or why it is refused."""
        report = read_for(self._digest, text)
        if isinstance(report, str):
            return report
        if len(report.values) != self._collector.length:
            return "wrong size"
        return self._collector.refusal(report.values) or bytes.fromhex(report.id)

    def _within(self, rows: list[tuple[bytes, bytes] | str]) -> list[tuple[bytes, bytes] | str]:
        """The same, but no more new ones than the card's number of people."""
        room = int(self.card.people) - self.store.count()
        ids = {row[0] for row in rows if not isinstance(row, str)}
        if len(ids) <= room:
            return rows
        known = self.store.known(sorted(ids))
        lines: list[tuple[bytes, bytes] | str] = []
        for row in rows:
            full = not isinstance(row, str) and row[0] not in known and room < 1
            if not (full or isinstance(row, str) or row[0] in known):
                known.add(row[0])
                room -= 1
            lines.append("too many" if full else row)
        return lines

    def _commit(self, lines: list[str]) -> list[str]:
        """Read and store what many requests brought, in the thread that waits for the disk."""
        rows = self._within(self._rows(lines))
        new_rows = [row for row in rows if not isinstance(row, str)]
        new = iter(self.store.add(new_rows, Counter(row for row in rows if isinstance(row, str))))
        texts = [row if isinstance(row, str) else "accepted" if next(new) else "repeated" for row in rows]
        self._repeated += texts.count("repeated")
        return texts

    def app(self) -> Service:
        """The application: /reports, /card, /health, /tokens where they are signed here; the operator's are apart."""
        routes: dict[tuple[str, str], Handler] = {
            ("POST", "/reports"): self._reports,
            ("GET", "/card"): constant(reply(self.card.data)),
            ("GET", "/health"): Health(self._check).answer,
        }
        if self._issuer is not None:
            routes["POST", "/tokens"] = self._issuer.give_tokens
        if self._demo:
            routes["GET", "/result"] = self._result
            routes |= demo_routes(self.card)
        return Service(routes, status=self._status, operator=self._operator, rate=self._rate)

    async def _reports(self, body: bytes) -> Reply:
        lines = body.decode("utf-8", "replace").split("\n")
        if lines and not lines[-1]:
            lines.pop()
        if not 0 < len(lines) <= MOST_LINES:
            raise RefusedError(413 if lines else 400, f"1 to {MOST_LINES} lines")
        if time.time() >= self.card.expires:
            raise RefusedError(410, "the card has expired")
        return reply({"lines": await self.take(lines)})

    async def _status(self) -> Mapping[str, Any]:
        accepted, refused = await self._commits.alone(lambda: (self.store.count(), self.store.refused()))
        told = {"accepted": accepted, "repeated_since_start": self._repeated, "refused": refused}
        signed = {} if self._issuer is None else await self._issuer.status()
        return {"card": self.card.digest, "survey": self._digest, **told, **signed}

    async def _check(self) -> None:
        await self._commits.alone(self.store.check)
        if self._issuer is not None:
            await self._issuer.check()

    async def _result(self, _: bytes) -> Reply:
        """What the reports say so far; computed at most once a second."""
        then, shown = self._shown
        if time.monotonic() - then > _SHOWN_SECONDS:
            shown = await self._commits.alone(self._so_far)
            self._shown = (time.monotonic(), shown)
        return reply(shown)

    def _so_far(self) -> Any:
        server = collect_reports(self.card, self.store.texts())
        return server.result().to_json() if server.n else {"n": 0}
