"""Hostile parties of a survey, one function each: it returns whether the party got what it wanted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import barrow as bw
from barrow.collect import tokens
from barrow.collect.admission import line_of
from barrow.collect.analyser import analyse, collect_reports, of_batch
from barrow.collect.batches import SIGNATURE, SealedBatch, read_batch
from barrow.collect.card import Card, read_card
from barrow.collect.card_form import signed_bytes
from barrow.collect.client import SendError
from barrow.collect.client_budget import ClientBudget
from barrow.collect.collector import Collector
from barrow.collect.issuer import Invitations, Issuer, new_invitations
from barrow.collect.keys import b64
from barrow.collect.shuffler import Shuffler, open_pool
from barrow.collect.stores import open_store
from barrow.collect.web import RefusedError
from barrow.errors import BarrowError
from barrow.local.report import Report
from tests.collect.world import admitted, batch_of, item, key, let_in, local_card, sealed, shuffle_card

PEOPLE, EACH = 4, 2
COUNT = PEOPLE * EACH


class Scene:
    """A shuffle card with tokens, what its honest people sent, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.card = shuffle_card(users=PEOPLE)
        self.other = shuffle_card(users=PEOPLE, alpha=9)
        self.loose = shuffle_card(users=PEOPLE, tokens=False)
        self.honest = [item(self.card, i % 4) for i in range(COUNT)]
        self._places = 0

    def place(self) -> Path:
        self._places += 1
        return self.folder / f"file{self._places}"

    def ledger(self, card: Card | None = None) -> bw.Ledger:
        """A new ledger in a folder of its own: two of one data set in one folder are refused, whoever asks."""
        folder = self.place()
        folder.mkdir()
        return bw.Ledger.create(folder / "visits.db", (card or self.card).survey.study)

    def batch(self, items: list[bytes], of: Card | None = None, **changes) -> SealedBatch:
        return batch_of(of or self.card, self.place(), items, **changes)

    def released(self, batch: SealedBatch, card: Card | None = None, ledger=None) -> bool:
        """Whether the analyser releases what a batch says, as about so many people."""
        used = card or self.card
        release = analyse(
            used, of_batch(used, batch, key("analyser")), ledger=ledger or self.ledger(used), out=self.place()
        )
        return bool(release.statement.people >= PEOPLE)


def _rewritten(batch: SealedBatch, change: Callable[[dict, bytes], tuple[dict, bytes]]) -> SealedBatch:
    """Somebody between shuffler and analyser changes the file and keeps the signature."""
    head, _, rest = batch.path.read_bytes().partition(b"\n")
    told, body = change(json.loads(head), rest[:-SIGNATURE])
    batch.path.write_bytes(json.dumps(told, separators=(",", ":")).encode() + b"\n" + body + rest[-SIGNATURE:])
    return read_batch(batch.path)


# The shuffler, or whoever has a batch before the analyser.


def copies_of_one_message(at: Scene) -> bool:
    """Everything in the batch is one person's message."""
    return at.released(at.batch([at.honest[0]] * COUNT))


def copies_with_tokens_of_their_own(at: Scene) -> bool:
    """The same, each copy let in by an invitation that the shuffler got hold of."""
    one = at.honest[0][:64]
    return at.released(at.batch([one + let_in(at.card, one) for _ in range(COUNT)]))


def a_copy_spelt_otherwise(at: Scene) -> bool:
    """A copy that is no copy byte for byte: the bit of the key that its curve ignores is flipped."""
    one = bytearray(at.honest[0][:64])
    one[31] ^= 0x80
    other = bytes(one) + let_in(at.card, bytes(one))
    return at.released(at.batch([*at.honest[:-1], other]))


def one_real_and_the_rest_invented(at: Scene) -> bool:
    """One person among messages that the shuffler made, with tokens that nobody signed."""
    return at.released(at.batch([at.honest[0], *(sealed(at.card) + bytes(288) for _ in range(COUNT - 1))]))


def tokens_of_an_own_issuer(at: Scene) -> bool:
    """The same, with tokens that the shuffler signed itself."""
    own = [sealed(at.card) for _ in range(COUNT - 1)]
    return at.released(at.batch([at.honest[0], *(one + let_in(at.card, one, by=key("issuer", 2)) for one in own)]))


def tokens_of_another_card(at: Scene) -> bool:
    """Tokens that the same issuer signed for another survey."""
    own = [sealed(at.card) for _ in range(COUNT)]
    return at.released(at.batch([one + let_in(at.other, one) for one in own]))


def tokens_moved_to_other_messages(at: Scene) -> bool:
    """Real tokens, invented messages."""
    return at.released(at.batch([sealed(at.card) + honest[64:] for honest in at.honest]))


def one_token_for_all(at: Scene) -> bool:
    """One real token behind every invented message."""
    return at.released(at.batch([at.honest[0], *(sealed(at.card) + at.honest[0][64:] for _ in range(COUNT - 1))]))


def a_batch_from_the_public_card(at: Scene) -> bool:
    """Whoever has the card can seal messages; nothing else is theirs."""
    return at.released(at.batch([sealed(at.card) + bytes(288) for _ in range(COUNT)], by=key("shuffler", 2)))


def another_shuffler(at: Scene) -> bool:
    """Messages that were let in, mixed by somebody who is not on the card."""
    return at.released(at.batch(at.honest, by=key("shuffler", 2)))


def the_signer_of_the_card_as_shuffler(at: Scene) -> bool:
    return at.released(at.batch(at.honest, by=key("signer")))


def cut_off(at: Scene) -> bool:
    """The end of the file is missing."""
    batch = at.batch([*at.honest, *(item(at.card) for _ in range(EACH))])
    batch.path.write_bytes(batch.path.read_bytes()[: -64 - 352])
    return at.released(read_batch(batch.path))


def cut_off_and_said_so(at: Scene) -> bool:
    """Messages are taken out on the way, and the head says that they never were there."""
    batch = at.batch([*at.honest, *(item(at.card) for _ in range(EACH))])
    return at.released(_rewritten(batch, lambda head, body: ({**head, "messages": COUNT}, body[: COUNT * 352])))


def put_in_on_the_way(at: Scene) -> bool:
    """Two messages of an own invitation are added on the way."""
    more = item(at.card) + item(at.card)
    batch = at.batch(at.honest)
    return at.released(_rewritten(batch, lambda head, body: ({**head, "messages": COUNT + EACH}, body + more)))


def put_in_order_on_the_way(at: Scene) -> bool:
    """The same messages in an order that says something."""
    batch = at.batch(at.honest)
    return at.released(_rewritten(batch, lambda head, body: (head, b"".join(at.honest))))


def a_batch_of_another_card(at: Scene) -> bool:
    return at.released(at.batch([item(at.other) for _ in range(COUNT)], at.other))


def a_batch_of_another_card_renamed(at: Scene) -> bool:
    """Its head names this card; the same shuffler signed it."""
    return at.released(at.batch([item(at.other) for _ in range(COUNT)]))


def too_few_people(at: Scene) -> bool:
    """The shuffler leaves out all but some."""
    return at.released(at.batch(at.honest[:EACH]))


def half_a_person_more(at: Scene) -> bool:
    """A batch that does not hold all messages of each person."""
    return at.released(at.batch([*at.honest, item(at.card)], people_of=1))


def a_second_batch(at: Scene) -> bool:
    """The same people again but one: what one person sent is the difference."""
    state = at.ledger()
    if not at.released(at.batch(at.honest), ledger=state):
        raise AssertionError("an honest batch was not released")
    return at.released(at.batch([*at.honest[EACH:], item(at.card), item(at.card)]), ledger=state)


def a_batch_of_the_first_version(at: Scene) -> bool:
    """Without tokens and without a signature, as it was once written."""
    place = at.place()
    head = {"barrow": "sealed batch", "version": 1, "card": at.card.digest, "id": "0" * 32, "messages": COUNT}
    told = json.dumps({**head, "left_out": 0, "counted": "tokens"}).encode()
    place.write_bytes(told + b"\n" + b"".join(one[:64] for one in at.honest))
    return at.released(read_batch(place))


def nobody_attested(at: Scene) -> bool:
    """A card without tokens: messages that the front end did not sign."""
    own = [sealed(at.loose) for _ in range(COUNT)]
    return at.released(at.batch([one + let_in(at.loose, one, by=key("front", 2)) for one in own], at.loose), at.loose)


def attested_for_others(at: Scene) -> bool:
    """The front end's signatures, behind other messages."""
    signed = [let_in(at.loose, sealed(at.loose)) for _ in range(COUNT)]
    return at.released(at.batch([sealed(at.loose) + one for one in signed], at.loose), at.loose)


# Whoever is between a person and the shuffler, the issuer or the collector.


def _taken(at: Scene, *items: bytes) -> list[str]:
    return asyncio.run(Shuffler(at.card, open_pool(at.place(), at.card)).take(b"".join(items)))


def another_message_under_a_token(at: Scene) -> bool:
    """Whoever ends the encrypted connection swaps the message."""
    return "accepted" in _taken(at, sealed(at.card) + at.honest[0][64:])


def a_message_sent_twice(at: Scene) -> bool:
    return _taken(at, at.honest[0], at.honest[0]).count("accepted") == 2


def a_message_without_a_token(at: Scene) -> bool:
    return "accepted" in _taken(at, sealed(at.card) + bytes(288))


def _issuer(at: Scene) -> tuple[Issuer, list[str]]:
    invitations, codes = Invitations(at.place(), at.card.digest), new_invitations(1)
    invitations.invite(codes)
    return Issuer(at.card, key("issuer"), invitations), codes


def one_invitation_twice(at: Scene) -> bool:
    """A person asks for more tokens than their messages."""
    issuer, codes = _issuer(at)
    public = key("issuer").public_key()

    def ask() -> bytes:
        blinded = [b64(tokens.blind(public, b"x").request) for _ in range(EACH)]
        return json.dumps({"invitation": codes[0], "blinded": blinded}).encode()

    async def twice() -> int:
        return len(await issuer.sign(ask())) + len(await issuer.sign(ask()))

    return asyncio.run(twice()) > EACH


def an_issuer_with_another_key(at: Scene) -> bool:
    """It would know its own signatures again in the batch: one key for each person."""
    client = bw.Client(at.card, memory=at.place(), limit=100)

    def transport(address: str, body: bytes, kind: str) -> tuple[int, bytes]:
        request = json.loads(body)["blinded"]
        other = [b64(b"\0" + one[1:]) for one in (tokens.random_bytes(256) for _ in request)]
        return 200, json.dumps({"signatures": other}).encode()

    return bool(client.send(ids=[0, 1], invitation="x", transport=transport))


def one_sender_as_many_people(at: Scene) -> bool:
    """The local model: reports without end from somebody whom nobody let in."""
    card = local_card(users=10)
    taking = Collector(card, open_store(at.place(), card.survey.digest))
    lines = [Report(card.survey.digest, f"{i:032x}", (0, 1)).to_text() for i in range(50)]
    strange = [line_of(line, let_in(card, line.encode(), by=key("front", 2))) for line in lines[25:]]
    return "accepted" in asyncio.run(taking.take(lines[:25] + strange))


def more_reports_than_people(at: Scene) -> bool:
    """A front end that lets in more reports than the study is about people."""
    card = local_card(users=10)
    lines = [admitted(card, Report(card.survey.digest, f"{i:032x}", (0, 1)).to_text()) for i in range(50)]
    taking = Collector(card, open_store(at.place(), card.survey.digest))
    return asyncio.run(taking.take(lines)).count("accepted") > 10 or collect_reports(card, lines).n > 10


# Whoever writes a card: the person's limit is 1, and the card costs 40.


def _answered(at: Scene, memory: Path | None = None, **changes: object) -> bool:
    data = {**json.loads(local_card(alpha=40).text), **changes}
    signed = {**data, "signature": b64(key("signer").sign(signed_bytes(data)))}
    return bool(bw.Client(signed, memory=memory or at.place(), limit=1).report(ids=[0, 1]).values)


def a_dear_card(at: Scene) -> bool:
    return _answered(at)


def a_card_named_to_string(at: Scene) -> bool:
    return _answered(at, survey="toString")


def a_card_named_proto(at: Scene) -> bool:
    return _answered(at, survey="__proto__")


def a_negative_price(at: Scene) -> bool:
    return _answered(at, local={"definition": "x", "epsilon": "-1000"})


def a_price_of_nothing(at: Scene) -> bool:
    return _answered(at, local={"definition": "x", "epsilon": "0"})


def a_price_that_does_not_follow(at: Scene) -> bool:
    return _answered(at, local={"definition": "x", "epsilon": "1/2"})


def a_cheap_card_first(at: Scene) -> bool:
    """Something is paid for a cheap card of this name, and a dear one asks for what was paid."""
    memory, card = at.place(), local_card(alpha=40)
    budget = ClientBudget(f"{memory}.cards")
    budget.set_limit(1)
    cheap = local_card(alpha="1/2")
    budget.reserve(card.survey.digest, cheap.digest, cheap.epsilon)
    return _answered(at, memory)


def a_card_that_lets_in_anybody(at: Scene) -> bool:
    return _answered(at, admission={"kind": "anybody", "key": "A" * 43}, local=json.loads(local_card().text)["local"])


def a_changed_card(at: Scene) -> bool:
    data = {**json.loads(local_card().text), "people": 10**6}
    return bool(read_card(data).people)


PARTIES: tuple[Callable[[Scene], bool], ...] = (
    copies_of_one_message, copies_with_tokens_of_their_own, a_copy_spelt_otherwise, one_real_and_the_rest_invented,
    tokens_of_an_own_issuer, tokens_of_another_card, tokens_moved_to_other_messages, one_token_for_all,
    a_batch_from_the_public_card, another_shuffler, the_signer_of_the_card_as_shuffler, cut_off, cut_off_and_said_so,
    put_in_on_the_way, put_in_order_on_the_way, a_batch_of_another_card, a_batch_of_another_card_renamed,
    too_few_people, half_a_person_more, a_second_batch, a_batch_of_the_first_version, nobody_attested,
    attested_for_others, another_message_under_a_token, a_message_sent_twice, a_message_without_a_token,
    one_invitation_twice, an_issuer_with_another_key, one_sender_as_many_people, more_reports_than_people,
    a_dear_card, a_card_named_to_string, a_card_named_proto, a_negative_price, a_price_of_nothing,
    a_price_that_does_not_follow, a_cheap_card_first, a_card_that_lets_in_anybody, a_changed_card,
)  # fmt: skip
"""Each returns whether it got what it wanted, or ends in an error that says why not."""


def refused(party: Callable[[Scene], bool], at: Scene) -> str | None:
    """Why a party did not get what it wanted; None if it did."""
    try:
        return None if party(at) else "not accepted"
    except (BarrowError, RefusedError, SendError) as error:
        return str(error).splitlines()[0]
