"""The analyser: opens a mixed batch once, refuses what does not belong, counts, decodes, and releases what it says."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from barrow.collect.batches import SealedBatch, read_batch
from barrow.collect.card import Card
from barrow.collect.keys import b64, public_bytes
from barrow.collect.sealing import Opener
from barrow.errors import LedgerError, ParameterError
from barrow.ledger import Ledger
from barrow.local import Server
from barrow.local.mixing import kinds_of
from barrow.local.server import Received
from barrow.study import Release
from barrow.study.release import Gathered, release_gathered

_REPORTED = 50_000
_LINES = 12


@dataclass(frozen=True, eq=False)
class Opened:
    """What a batch held: how often each kind of report occurs, of how many people, and what was not counted."""

    counts: NDArray[np.int64]
    people: int
    refused: dict[str, int]


def open_batch(card: Card, batch: SealedBatch, key: X25519PrivateKey) -> Opened:
    """Decrypt and count; messages that cannot be opened, or say something impossible, are left out.

    Of the others the last few are left out that do not make up a whole person: their places are random.
    """
    if b64(public_bytes(key)) != (card.sealing or {}).get("key"):
        raise ParameterError(
            "The key is not the one on the card.", allowed="the analyser's key of this card", fix="--keys FOLDER"
        )
    if batch.head.card != card.digest:
        raise ParameterError(
            "The batch belongs to another card.", allowed=f"a batch of {card.digest}", fix="name its card"
        )
    kinds, each = kinds_of(card.survey), int(card.messages)
    opener = Opener(card.digest, key, kinds)
    refused: Counter[str] = Counter()
    counts, tail, seen = np.zeros(kinds, dtype=np.int64), [], 0
    for sealed in batch.messages():
        found = opener.open(sealed)
        if isinstance(found, str):
            refused[found] += 1
            continue
        tail.append(found)
        seen += 1
        if len(tail) == _REPORTED + each:
            counts += np.bincount(tail[:_REPORTED], minlength=kinds)
            tail = tail[_REPORTED:]
    kept = tail[: len(tail) - seen % each]
    if seen % each:
        refused["left over"] = seen % each
    if kept:
        counts += np.bincount(kept, minlength=kinds)
    return Opened(counts, seen // each, dict(refused))


def conditions_of(card: Card, people: int) -> tuple[str, ...]:
    """What a shuffled guarantee about so many people rests on, in words that follow "if"."""
    plan = card.survey.plan
    hiding = plan.terms.hiding_among(people)
    share = "" if plan.terms.honest == 1 else f" (honest = {float(plan.terms.honest):g} of {people:,})"
    counted = (
        "each of them was given tokens once, by whoever let people in"
        if card.counted == "tokens"
        else f"there were {people:,} of them, as a front end attests; nobody counted them, so this number is assumed"
    )
    alone = float(card.epsilon)
    return (
        f"at least {hiding:,} people{share}, the person concerned among them, sent what their clients drew and told "
        "nobody which messages were theirs",
        counted,
        "whoever mixed the messages forgot whence they came, and does not work together with whoever opened them, nor "
        "with those who carried them; if they do work together, only what each client proved holds: "
        f"ε = {alone:.4g} for one person",
    )


def analyse(
    card: Card,
    batch: SealedBatch | str | os.PathLike[str],
    key: X25519PrivateKey,
    *,
    ledger: Ledger | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    accept_weaker: bool = False,
) -> Release:
    """Release what a mixed batch says, with a statement and an entry in the ledger; a batch is accepted once.

    With ``accept_weaker`` a batch of fewer people than was promised is opened, and the statement says what holds.
    """
    mixed = batch if isinstance(batch, SealedBatch) else read_batch(batch)
    plan = card.survey.plan
    if not card.shuffled:
        raise ParameterError("The card is local.", allowed="a shuffle card", fix="barrow collect analyse --store FILE")
    opened = open_batch(card, mixed, key)
    planned = plan.terms.users
    if opened.people < planned and not accept_weaker:
        raise ParameterError(
            f"The batch holds good messages of {opened.people:,} people, and the guarantee was made for {planned:,}: "
            "fewer hide each other less.",
            allowed=f"good messages of at least {planned:,} people",
            fix="--accept-weaker, and tell everybody what now holds",
        )
    if opened.people == 0:
        raise ParameterError(
            "No message of the batch can be counted.", allowed="messages of this card", fix="a new card"
        )
    named: dict[str, Any] = {
        "batch": mixed.head.id,
        "card": card.digest,
        "counted": mixed.head.counted,
        "refused": opened.refused,
    }
    gathered = Gathered(plan.for_people(opened.people), opened.counts, named, conditions_of(card, opened.people))
    return _released(card, gathered, "batch", ledger, out)


def analyse_reports(
    card: Card,
    reports: Iterable[Received],
    *,
    ledger: Ledger | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
) -> Release:
    """Release what the reports of a local card say, with a statement and an entry in the ledger; once for each card."""
    if card.shuffled:
        raise ParameterError("The card is of the shuffle model.", allowed="a local card", fix="analyse a mixed batch")
    server = Server(card.survey)
    server.add_all(reports)
    found = server.result()
    plan = card.survey.plan.for_people(found.n)
    named = {"card": card.digest, "reports": found.n, "refused": dict(found.refused)}
    conditions = (
        "each person's own client drew the report, once, and sent nothing else; nobody else has to be trusted with it",
    )
    counts = server.counts
    said = (None, None) if counts is not None else (found.tables, found.lines[:_LINES])
    gathered = Gathered(plan, counts, named, conditions, *said)
    return _released(card, gathered, "set of reports", ledger, out)


def _released(
    card: Card,
    gathered: Gathered,
    what: str,
    ledger: Ledger | str | os.PathLike[str],
    out: str | os.PathLike[str] | None,
) -> Release:
    """A release under the card's own key, of which there is one."""
    book = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    name = f"{gathered.plan.question.label}-{card.digest[7:23]}"
    try:
        return release_gathered(card.survey.study, gathered, ledger=book, out=out, key=name)
    except ParameterError as error:
        if "was paid for with other parameters" in error.problem:
            raise LedgerError(
                f"A {what} of this card was accepted before.",
                allowed=f"one {what} for each card, once",
                fix="the earlier release stands; ask anew with a new card",
            ) from None
        raise
