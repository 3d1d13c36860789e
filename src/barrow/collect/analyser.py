"""The analyser: checks a mixed batch, opens it once, counts, decodes, and releases what it says.

It believes nobody who had the batch before: the shuffler must have signed it, every message must have been let in by
the key on the card, and none may be there twice.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from barrow.collect.admission import Gate
from barrow.collect.batches import SealedBatch, read_batch
from barrow.collect.card import Card
from barrow.collect.keys import b64, public_bytes, unb64
from barrow.collect.sealing import SEALED_BYTES, Opener
from barrow.collect.sum_exchange import read_sums
from barrow.collect.sum_task import sum_task
from barrow.collect.tokens import random_bytes
from barrow.errors import LedgerError, ParameterError
from barrow.ledger import Ledger
from barrow.ledger.errors import NotApprovedError
from barrow.local.mixing import kinds_of
from barrow.local.server import Server
from barrow.questions.answer import Sample
from barrow.questions.collecting import for_people
from barrow.questions.summed import summed_answer
from barrow.study import Release
from barrow.study.release import CollectedReports, release_collected

_REPORTED = 50_000
_LINES = 12


@dataclass(frozen=True, eq=False)
class Opened:
    """What a batch held: how often each kind of report occurs, of how many people, and what was not counted."""

    counts: NDArray[np.int64]
    people: int
    refused: dict[str, int]


def _of_this_card(card: Card, batch: SealedBatch) -> str | None:
    if batch.head.card != card.digest:
        return "belongs to another card"
    return None if batch.head.bytes == SEALED_BYTES + Gate(card).size else "has messages of another size"


def _of_whole_people(card: Card, batch: SealedBatch) -> str | None:
    return "does not hold all messages of each person" if batch.head.messages % int(card.messages) else None


def _signed(card: Card, batch: SealedBatch) -> str | None:
    return None if batch.signed_by(unb64(card.mixing["key"], 32)) else "is not signed by the shuffler on the card"


def _let_in(card: Card, batch: SealedBatch) -> str | None:
    gate = Gate(card)
    good = all(gate.lets_in(item[SEALED_BYTES:], item[:SEALED_BYTES]) for item in batch.items())
    return None if good else "holds messages without a valid admission"


def _distinct(card: Card, batch: SealedBatch) -> str | None:
    """Digests under a key that is drawn now: who made the batch cannot look for two messages with one digest."""
    key = random_bytes(32)
    digests = bytearray()
    for item in batch.items():
        digests += hashlib.blake2b(item[:SEALED_BYTES], digest_size=16, key=key).digest()
    rows = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    twice = bool((rows[1:] == rows[:-1]).all(axis=1).any())
    return "holds a message twice" if twice else None


Check = Callable[[Card, SealedBatch], str | None]
CHECKS: dict[str, Check] = {
    "card": _of_this_card,
    "number": _of_whole_people,
    "signature": _signed,
    "admission": _let_in,
    "distinctness": _distinct,
}
"""What is checked before a batch is opened, in this order; each says what is wrong, or None."""


def open_batch(card: Card, batch: SealedBatch, key: X25519PrivateKey) -> Opened:
    """Check, decrypt and count; messages that cannot be opened, or say something impossible, are left out.

    Of the others the last few are left out that do not make up a whole person: their places are random.
    """
    if b64(public_bytes(key)) != (card.sealing or {}).get("key"):
        raise ParameterError(
            "The key is not the one on the card.", allowed="the analyser's key of this card", fix="--keys FOLDER"
        )
    for check in CHECKS.values():
        problem = check(card, batch)
        if problem is not None:
            raise ParameterError(
                f"The batch {problem}; nothing was opened.",
                allowed=f"the batch of {card.name}, as its shuffler wrote it",
                fix="ask the shuffler for it again; if it stays so, do not trust whoever sent it",
            )
    kinds, each = kinds_of(card.survey), int(card.messages)
    opener = Opener(card.digest, key, kinds)
    refused: Counter[str] = Counter()
    counts, tail, seen = np.zeros(kinds, dtype=np.int64), [], 0
    for item in batch.items():
        result = opener.open(item[:SEALED_BYTES])
        if isinstance(result, str):
            refused[result] += 1
            continue
        tail.append(result)
        seen += 1
        if len(tail) == _REPORTED + each:
            counts += np.bincount(tail[:_REPORTED], minlength=kinds)
            tail = tail[_REPORTED:]
    whole = tail[: len(tail) - seen % each]
    if seen % each:
        refused["left over"] = seen % each
    if whole:
        counts += np.bincount(whole, minlength=kinds)
    return Opened(counts, seen // each, dict(refused))


def conditions_of(card: Card, people: int) -> tuple[str, ...]:
    """What a shuffled guarantee about so many people rests on, in words that follow "if"."""
    terms = card.survey.plan.terms
    anonymity_set = min(terms.anonymity_set_among(people), terms.anonymity_set)
    share = (
        ""
        if terms.honest_fraction == 1
        else f" (honest = {float(terms.honest_fraction):g} of {min(people, terms.users):,})"
    )
    alone = float(card.epsilon)
    return (
        f"at least {anonymity_set:,} people{share}, the person concerned among them, sent what their clients drew "
        f"and revealed to nobody which messages were theirs",
        _counted(card),
        "the mixer, who signed the batch, kept no record of who sent what, and does not work together with the "
        "analyser or the network operators; if they do, only the guarantee of each client holds: "
        f"ε = {alone:.4g} for one person",
    )


def _counted(card: Card) -> str:
    """Who is trusted with the number of people, in words that follow "if"."""
    what = "message" if card.shuffled else "report"
    if card.counted == "tokens":
        return (
            f"whoever gave out the invitations gave one to each person and signed once for each: every {what} that "
            "was counted carries such a signature, which was made without seeing it and is valid for it alone"
        )
    return (
        f"the front end let in each person once: it signed every {what} that was counted, and nobody else checked "
        "that these are different people"
    )


def of_batch(
    card: Card, batch: SealedBatch | str | os.PathLike[str], key: X25519PrivateKey, *, accept_weaker: bool = False
) -> CollectedReports:
    """What a mixed batch says, before it is released.

    With ``accept_weaker`` a batch of fewer people than was promised is opened, and the statement says what holds.
    """
    mixed = batch if isinstance(batch, SealedBatch) else read_batch(batch)
    plan = card.survey.plan
    if not card.shuffled:
        fix = f"barrow collect analyse {'--shares FILE --shares FILE' if card.summed else '--store FILE'}"
        raise ParameterError(f"The card is {card.model}.", allowed="a shuffle card", fix=fix)
    opened = open_batch(card, mixed, key)
    planned = plan.terms.users
    if opened.people < planned and not accept_weaker:
        raise ParameterError(
            f"The batch holds good messages of {opened.people:,} people, but the guarantee needs {planned:,}: with "
            f"fewer people each is hidden less.",
            allowed=f"good messages of at least {planned:,} people",
            fix="--accept-weaker, and publish the weaker guarantee",
        )
    if opened.people == 0:
        raise ParameterError(
            "No message of the batch can be counted.", allowed="messages of this card", fix="a new card"
        )
    named: dict[str, Any] = {
        "batch": mixed.head.id,
        "digest": f"sha256:{mixed.digest.hex()}",
        "card": card.digest,
        "counted": card.counted,
        "refused": opened.refused,
    }
    return CollectedReports(
        for_people(plan, opened.people), Sample(opened.counts), named, conditions_of(card, opened.people)
    )


def collect_reports(card: Card, lines: Iterable[str]) -> Server:
    """The reports among some lines that were let in, added up; no more than the card's number of people."""
    gate = Gate(card)
    server = Server(card.survey, counted=f"Each report is one person's if {_counted(card)}.")

    def let_in() -> Iterator[str]:
        for line in lines:
            report = gate.report(line)
            if report is None:
                server.refused["not let in"] += 1
            else:
                yield report

    server.add_all(let_in())
    return server


def of_reports(card: Card, reports: Iterable[str]) -> CollectedReports:
    """What the reports of a local card say, before it is released.

    Each is a line as the collector takes it: a report, a tab, and what lets it in.
    """
    if card.shuffled or card.summed:
        fix = "analyse a mixed batch" if card.shuffled else "barrow collect analyse --shares FILE --shares FILE"
        raise ParameterError(f"The card is of the {card.model} model.", allowed="a local card", fix=fix)
    server = collect_reports(card, reports)
    result = server.result()
    plan = for_people(card.survey.plan, result.n)
    named = {"card": card.digest, "counted": card.counted, "reports": result.n, "refused": dict(result.refused)}
    conditions = (
        "each person's own client drew the report, once, and sent nothing else; nobody else needs to be trusted",
        f"{_counted(card)} (the number of people rests on this, and not what anyone can learn about one of them)",
    )
    counts = server.counts
    text = () if counts is not None else (result.tables, result.lines[:_LINES], result.own)
    return CollectedReports(plan, Sample(np.zeros(0) if counts is None else counts), named, conditions, *text)


def of_shares(card: Card, shares: Sequence[str | os.PathLike[str]]) -> CollectedReports:
    """What the aggregators' shares of a sum say together, before it is released."""
    task = sum_task(card)
    summed = read_sums(task, shares)
    plan, sample = summed_answer(card.survey.plan, card.survey.channel, summed.values, summed.reports)
    named = {
        "card": card.digest, "counted": card.counted, "reports": summed.reports, "nonces": summed.nonces,
        "commitments": summed.commitments,
    }  # fmt: skip
    parties = card.claimed
    kept = int(parties["aggregators"]) - int(parties["dishonest"])
    conditions = (
        f"at least {kept} of the {parties['aggregators']} aggregators kept to the rules: counted each report once, "
        "added noise of their own, and showed nobody their shares; all of them together could see every answer",
        f"{_counted(card)} (the number of people rests on this, and not what anyone can learn about one of them)",
        "no aggregator falsified its share of the sum, which nobody would notice (the values rest on this alone)",
    )
    return CollectedReports(plan, sample, named, conditions)


def analyse(
    card: Card,
    reports: CollectedReports,
    *,
    ledger: Ledger | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
) -> Release:
    """Release what was collected, with a statement and an entry in the ledger, under the card's own key: once."""
    state = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    name = f"{reports.plan.question.label}-{card.digest[7:23]}"
    try:
        return release_collected(card.survey.study, reports, ledger=state, out=out, key=name)
    except NotApprovedError as error:
        raise NotApprovedError(
            error.problem,
            allowed="exactly the reports of a proposal that enough approvers have signed",
            fix="the same command with --propose proposal; barrow approve proposal --by NAME --key FILE; barrow ledger "
            "accept proposal; then this command again",
        ) from None
    except ParameterError as error:
        if "was paid for with other parameters" in error.problem:
            what = "batch" if card.shuffled else "sum" if card.summed else "set of reports"
            raise LedgerError(
                f"A {what} of this card was accepted before.",
                allowed=f"one {what} for each card, once",
                fix="use the earlier release, or start a new survey with a new card",
            ) from None
        raise
