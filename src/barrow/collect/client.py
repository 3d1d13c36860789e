"""The client of a card: proves what it can, pays from the person's own limit, remembers, and sends."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from barrow.collect.client_budget import ClientBudget
from barrow.collect.keys import b64, unb64
from barrow.errors import BarrowError, LedgerError, ParameterError
from barrow.local.client import LocalClient, Survey
from barrow.local.mixing import permuted
from barrow.numerics import Exact
from barrow.spaces.space import Unknown
from barrow.study import Study
from barrow.study.study import QuestionLike

if TYPE_CHECKING:
    from barrow.collect.card import Card
    from barrow.collect.share_messages import SealedReport
    from barrow.local.report import Report

Transport = Callable[[str, bytes, str], tuple[int, bytes]]
"""``transport(address, body, kind)`` posts and returns the status and the answer."""
DONE = ("accepted", "repeated")
_SHARED = (-1,)
"""What the memory keeps of an answer that was cut into shares; no answer has a negative number."""


class SendError(BarrowError):
    """Something was not taken; it is kept and can be sent again.

    >>> issubclass(SendError, BarrowError)
    True
    """


class Client(LocalClient):
    """One person's side of a survey, or of a card. A report is drawn once, and stored before it is handed out.

    Args:
        study: A card (or its file or JSON); or a public study, or a survey, for reports that are carried by hand.
        question: The question of a study; the only one by default.
        memory: The file that remembers reports; one for each person. What was spent on cards is in ``memory.cards``.
        limit: What all cards together may cost this person, whoever colludes; remembered once it is given.
        signer: The base64 of the public key that must have signed the card, where it is known.
        trust: The name of a card's aggregators, whom this person counts on not to work together; remembered.

    >>> import tempfile
    >>> from barrow.collect import make_card
    >>> from barrow.collect.keys import new_key
    >>> study = Study("discrete(labels=['calm', 'tense'])", alpha=3, users=100, model="local")
    >>> keys = {"signer": new_key("signer"), "front": new_key("front")}
    >>> card = make_card(study, "items(items=1)", address="https://example.org", **keys)
    >>> with tempfile.TemporaryDirectory() as home:
    ...     me = Client(card, memory=f"{home}/me.json", limit=5)
    ...     report = me.report(["calm"])
    ...     (me.report(["tense"]) == report, round(float(me.budget.spent), 6))
    (True, 3.0)
    """

    def __init__(
        self,
        study: Study | Survey | Card | str | os.PathLike[str] | Mapping[str, Any],
        question: QuestionLike = None,
        *,
        memory: str | os.PathLike[str],
        limit: Exact | None = None,
        signer: str | None = None,
        trust: str | None = None,
    ) -> None:
        self.card = None
        if not isinstance(study, Study | Survey):
            from barrow.collect.card import planned_card, read_card  # with libraries that a study does not need

            self.card = read_card(study, signer=signer)
            study = planned_card(self.card)
        super().__init__(study, question, memory=memory)
        self.budget = ClientBudget(f"{os.fspath(memory)}.cards")
        if limit is not None:
            self.budget.set_limit(limit)
        if trust is not None:
            self.budget.trust(trust)

    @property
    def _card(self) -> Card:
        if self.card is None:
            raise ParameterError(
                "The client was given a study and no card, so it does not know where to send.",
                allowed="a card",
                fix="bw.Client('card-….json', memory='me.json')",
            )
        return self.card

    def _report(self, records: Any, ids: ArrayLike | None, unknown: Unknown) -> Any:
        if self.card is not None and self.survey.digest in self.memory.load():
            self._pay(self.card)  # drawn before, for this card or for one that cannot be answered again
        return super()._report(records, ids, unknown)

    def _before_drawing(self) -> None:
        if self.card is not None:
            self.card.check_time()
            self._pay(self.card)

    def _pay(self, card: Card) -> None:
        self.budget.reserve(self.survey.digest, card.digest, card.epsilon, aggregators=card.aggregators)

    def sealed(
        self, records: Any = None, *, ids: ArrayLike | None = None, unknown: Unknown = "error"
    ) -> tuple[bytes, ...]:
        """The encrypted messages of a shuffle card, in a random order; the same ones whenever they are asked for."""
        card = self._card
        if not card.shuffled:
            raise ParameterError("The card is local.", allowed="one report a person", fix="client.report(records)")
        known = self.budget.entry(self.survey.digest).get("sealed")
        if known is not None:
            self._pay(card)
        else:
            report = self._report(records, ids, unknown)
            from barrow.collect.sealing import seal

            key = unb64(card.sealing["key"], 32)
            built = [b64(seal(card.digest, key, value)) for value in report.values]
            # The order of the values must not show in the order of the messages.
            known = [built[i] for i in permuted(np.arange(len(built))).tolist()]
            self.budget.put(self.survey.digest, sealed=known)
        return tuple(unb64(text) for text in known)

    def shares(self, records: Any = None, *, ids: ArrayLike | None = None, unknown: Unknown = "error") -> SealedReport:
        """The sealed shares of an aggregated card; the same ones whenever they are asked for.

        What was rounded and shared is stored before it is handed out: made anew it would be counted, and cost, twice.
        Then the answer itself is forgotten, and only sealed shares stay, which this client cannot open.
        """
        from barrow.collect.share_messages import SealedReport, seal_report
        from barrow.collect.sum_task import sum_task

        card, digest = self._card, self.survey.digest
        task = sum_task(card)  # refuses other cards
        known = self.budget.entry(digest).get("shared")
        if known is not None:
            self._pay(card)
        else:
            report = self._report(records, ids, unknown)
            if report.values != _SHARED:
                built = seal_report(task, report.values).to_json()
                with self.budget.changing() as data:  # of two processes at a time the first one's stays
                    data["surveys"][digest].setdefault("shared", built)
            known = self.budget.entry(digest)["shared"]
        self._forget(digest)
        return SealedReport.from_json(known)

    def _forget(self, digest: str) -> None:
        """Keep nothing of an answer whose shares are stored: it has no noise, and whoever takes the phone reads it."""
        with self.memory.locked():
            report = self.memory.load().get(digest)
            if report is not None and report.values != _SHARED:
                self.memory.store(replace(report, values=_SHARED))

    def _checked(self, report: Report) -> Report:
        if self.card is None or not self.card.summed or report.values != _SHARED:
            return super()._checked(report)
        if "shared" not in self.budget.entry(report.study):
            raise LedgerError(
                "This card was answered in shares, and they are lost; a second answer would be a second leak.",
                allowed=f"the file {str(self.budget.path)!r}, which this client wrote",
                fix="restore it from a copy; or leave this card",
            )
        return report

    def write(
        self,
        folder: str | os.PathLike[str],
        records: Any = None,
        *,
        ids: ArrayLike | None = None,
        unknown: Unknown = "error",
        invitation: str | None = None,
        transport: Transport | None = None,
    ) -> list[str]:
        """Answer an aggregated card by files, one for each aggregator; asked again, the same ones.

        Args:
            folder: Where they are written, named by the report's nonce and the aggregator.
            records: The person's items.
            ids: The same as item ids.
            unknown: What to do with records that the space does not know.
            invitation: What the issuer of tokens asks for.
            transport: How the issuer is asked.
        """
        from barrow.collect.sum_task import role_name

        card = self._card
        card.check_time()
        report = self.shares(records, ids=ids, unknown=unknown)
        admissions = self._admissions([report.signed], invitation, transport or _over_https())
        if admissions is None:
            raise ParameterError(
                "The card's front end lets people in, and signs what is posted to it.",
                allowed="files for cards that count people by tokens",
                fix="send it: client.send(records), or barrow collect answer without --out",
            )
        place, files = Path(folder), []
        try:
            place.mkdir(parents=True, exist_ok=True)
            for index in range(len(report.sealed)):
                file = place / f"{report.nonce.hex()}.{role_name(index)}"
                file.write_bytes(report.message(index, admissions[0]))
                files.append(str(file))
        except OSError as error:
            raise ParameterError(
                f"The files cannot be written to {str(place)!r}: {error.strerror}; what was drawn is kept.",
                allowed="a folder with room",
                fix="another --out",
            ) from None
        return files

    def send(
        self,
        records: Any = None,
        *,
        ids: ArrayLike | None = None,
        unknown: Unknown = "error",
        invitation: str | None = None,
        transport: Transport | None = None,
    ) -> dict[str, int]:
        """Answer the card: draw once, remember, send; after a failure send the same again.

        Args:
            records: The person's items; not needed again once a report was drawn.
            ids: The same as item ids.
            unknown: What to do with records that the space does not know.
            invitation: What the issuer of tokens asks for, where the card counts people by tokens.
            transport: How bytes are posted; by default over HTTPS, each message by a connection of its own.
        """
        from barrow.collect.admission import line_of

        card, post = self._card, transport or _over_https()
        card.check_time()
        if card.summed:
            shared = self.shares(records, ids=ids, unknown=unknown)
            signed = self._admissions([shared.signed], invitation, post)
            body = shared.body(b"" if signed is None else signed[0])
            return _taken(post, card.send["reports"], body, "application/octet-stream", 1)
        if not card.shuffled:
            report = self.report(records, ids=ids, unknown=unknown).to_text()
            admissions = self._admissions([report.encode()], invitation, post)
            line = report if admissions is None else line_of(report, admissions[0])
            return _taken(post, card.send["reports"], f"{line}\n".encode(), "application/x-ndjson", 1)
        messages = self.sealed(records, ids=ids, unknown=unknown)
        admissions = self._admissions(messages, invitation, post) or [b""] * len(messages)
        done: dict[str, int] = {}
        sent = set(self.budget.entry(self.survey.digest).get("sent", []))
        for i, (message, admission) in enumerate(zip(messages, admissions, strict=True)):
            if i in sent:
                continue
            item, kind = message + admission, "application/octet-stream"
            for name, count in _taken(post, card.send["messages"], item, kind, 1).items():
                done[name] = done.get(name, 0) + count
            sent.add(i)
            self.budget.put(self.survey.digest, sent=sorted(sent))
        return done

    def _admissions(self, parts: Sequence[bytes], invitation: str | None, post: Transport) -> list[bytes] | None:
        """A token for each part, which is good for nothing else; None where a front end lets people in."""
        card = self._card
        if card.counted != "tokens":
            return None
        from barrow.collect import tokens
        from barrow.collect.admission import signed_message

        key, lines = (
            tokens.load_issuer(unb64(card.admission["key"])),
            [signed_message(card.digest, part) for part in parts],
        )
        entry = self.budget.entry(self.survey.digest)
        if "tokens" not in entry:
            if "blinded" not in entry:
                built = [tokens.blind(key, text) for text in lines]
                secrets = [[b64(t.prefix), b64(t.request), f"{t.inverse:x}"] for t in built]
                self.budget.put(self.survey.digest, blinded=secrets)
                entry = self.budget.entry(self.survey.digest)
            waiting = [tokens.Blinded(unb64(a), unb64(b), int(c, 16)) for a, b, c in entry["blinded"]]
            request = {"invitation": invitation or "", "blinded": [b64(t.request) for t in waiting]}
            result = _answer(post, card.send["tokens"], json.dumps(request).encode(), "application/json").get(
                "signatures"
            )
            if not isinstance(result, list) or len(result) != len(waiting):
                raise SendError("The issuer gave no tokens.", allowed="as many as there are messages", fix="try again")
            pairs = zip(lines, waiting, result, strict=True)
            admissions = [b64(t.prefix + tokens.finalize(key, text, t, unb64(s))) for text, t, s in pairs]
            self.budget.put(self.survey.digest, tokens=admissions)
            entry = self.budget.entry(self.survey.digest)
        return [unb64(token, tokens.TOKEN_BYTES) for token in entry["tokens"]]


def _over_https() -> Transport:
    from barrow.collect.posting import post_bytes

    return post_bytes


def _answer(post: Transport, address: str, body: bytes, kind: str) -> dict[str, Any]:
    status, text = post(address, body, kind)
    hints = {"allowed": "an answer in JSON", "fix": "send again later: what was drawn is kept, and the same goes out"}
    try:
        result = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        page = "an HTML page" if text.lstrip()[:1] == b"<" else "something that is no JSON"
        raise SendError(f"{address} answered {page} (status {status}).", **hints) from None
    if status == 429:
        raise SendError(f"{address} is busy (status 429).", **hints)
    if status != 200 or not isinstance(result, dict):
        reason = str(result.get("problem", ""))[:200] if isinstance(result, dict) else ""
        raise SendError(f"{address} refused with status {status}. {reason}".strip(), **hints)
    return result


def _taken(post: Transport, address: str, body: bytes, kind: str, count: int) -> dict[str, int]:
    result = _answer(post, address, body, kind).get("lines")
    if not isinstance(result, list) or len(result) != count:
        raise SendError(f"{address} did not say what it took.", fix="send again later: the same goes out")
    refused = [str(line)[:100] for line in result if line not in DONE]
    if refused:
        raise LedgerError(
            f"{address} refused what was sent: {refused[0]}.",
            allowed="accepted, or repeated",
            fix="check that the card is the newest one; what was drawn is kept",
        )
    return {name: result.count(name) for name in DONE if name in result}
