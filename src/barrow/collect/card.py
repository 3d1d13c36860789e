"""The card: everything a person's client needs to know about a survey, public, signed, and named by its digest."""

from __future__ import annotations

import hashlib
import json
import os
import time
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from barrow.collect.card_form import AGAIN, CARD_VERSION, CardWire, checked, no_card, priced_by, signed_bytes, url_of
from barrow.collect.keys import b64, price_of, public_bytes
from barrow.collect.patience import patiently
from barrow.collect.sealing import PLAIN_BYTES, SEALED_BYTES, SUITE
from barrow.collect.tokens import VARIANT
from barrow.engines import table_names
from barrow.errors import ParameterError, plain_file
from barrow.local.client import Survey
from barrow.promises import Model
from barrow.study import Data, Study
from barrow.study.file import study_from_text, study_text
from barrow.study.study import QuestionLike

LARGEST = 2**24
"""Cards are at most this many bytes."""
SLACK_SECONDS = 300
"""How far a clock may be behind the card's."""
_READER = msgspec.json.Decoder(dict[str, Any], float_hook=int)  # int() refuses a point and an exponent


class Card:
    """A card that was read and is whole: its signature is right, and the study in it says what the card says.

    Args:
        data: What the JSON holds.

    >>> from barrow.collect.keys import new_key
    >>> study = Study("discrete(labels=['calm', 'tense'])", alpha=3, users=100, model="local")
    >>> keys = {"signer": new_key("signer"), "front": new_key("front")}
    >>> card = make_card(study, "items(items=1)", address="https://example.org", days=30, **keys)
    >>> card.name == f"card-{card.digest[7:23]}.json", read_card(card.text) == card, card.survey.shuffled
    (True, True, False)
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = dict(data)
        self._wire = checked(self._data)

    def __getattr__(self, name: str) -> Any:
        if name in CardWire.__struct_fields__:
            return getattr(self._wire, name)
        raise AttributeError(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Card) and self._data == other._data

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Card({self.name!r})"

    @cached_property
    def digest(self) -> str:
        """``sha256:`` and the digest of what is signed."""
        return "sha256:" + hashlib.sha256(signed_bytes(self._data)).hexdigest()

    @property
    def name(self) -> str:
        """The name of its file, with the digest in it."""
        return f"card-{self.digest[7:23]}.json"

    @property
    def data(self) -> Mapping[str, Any]:
        """What the JSON holds."""
        return self._data

    @property
    def text(self) -> str:
        """The card as JSON."""
        return json.dumps(self._data, indent=1, ensure_ascii=False) + "\n"

    @property
    def shuffled(self) -> bool:
        """Whether messages are mixed before anybody opens them."""
        return bool(self._wire.model == "shuffle")

    @property
    def summed(self) -> bool:
        """Whether answers are added up in shares by several aggregators, none of whom sees them."""
        return bool(self._wire.model == "aggregated")

    @property
    def aggregators(self) -> str | None:
        """The name of the card's aggregators, by their keys, to which a person opts in; None if it has none."""
        if not self.summed or self._wire.sealing is None:
            return None
        return hashlib.sha256(" ".join(self._wire.sealing["keys"]).encode("ascii")).hexdigest()[:16]

    @property
    def counted(self) -> str:
        """How people are counted: by ``"tokens"`` of an issuer, or ``"attested"`` by a front end."""
        return str(self._wire.admission["kind"])

    @property
    def everywhere(self) -> bool:
        """Whether any client can prove and answer it; if not, only one that can plan the study again, as this one."""
        return bool(self._wire.channel.get("kind") != "survey")

    @property
    def epsilon(self) -> Fraction:
        """What answering costs the person at most, whoever colludes; of a sum in shares, if it is kept to the rules."""
        return price_of(priced_by(self._wire).get("epsilon"))

    @cached_property
    def survey(self) -> Survey:
        """The survey, built here from the study in the card; a card that says anything else is refused."""
        study = study_from_text(self._wire.study)
        survey = Survey(study, study.question(self._wire.question or None))
        data = {key: self._data[key] for key in _facts(survey)}
        if data != _facts(survey):
            wrong = next(key for key, value in _facts(survey).items() if data[key] != value)
            raise ParameterError(
                f"The card's {wrong!r} is not what follows from its study: its constants cannot be proved here.",
                allowed="a card that barrow collect init wrote, of the same version of barrow",
                fix="do not report to it; ask whoever published it",
            )
        return survey

    def check_time(self, now: float | None = None) -> None:
        """Refuse a card that has expired, or that is not valid yet by this machine's clock."""
        here = time.time() if now is None else now
        if here < self._wire.issued - SLACK_SECONDS:
            raise ParameterError(
                f"The card is from {_day(self._wire.issued)}, and this machine's clock says {_day(here)}.",
                allowed="a clock that is right",
                fix="set the clock; nothing was sent, and what was drawn before is kept",
            )
        if here >= self._wire.expires:
            raise ParameterError(
                f"The card and its key expired on {_day(self._wire.expires)}; this machine's clock says {_day(here)}.",
                allowed="a card that is still valid",
                fix=f"{AGAIN}, or set the clock; nothing was sent, and what was drawn before is kept",
            )


def planned_card(card: Card) -> Survey:
    """The survey of a stranger's card; planning it is given up after :data:`~barrow.collect.patience.SECONDS`."""
    return patiently(lambda: card.survey, "Planning the card's study")


def _facts(survey: Survey) -> dict[str, Any]:
    """What a card says that follows from its study."""
    built, terms = survey.channel, survey.terms
    # What cannot be written down is drawn by clients that plan the study again.
    alike = {"kind": "survey", "messages": survey.collector().length}, {"kind": "survey"}
    channel, metric = built.wire or alike
    space = survey.study.space
    return {
        "survey": survey.digest,
        "model": survey.study.model.value,
        "description": built.description,
        "promises": [promise.text for promise in terms.promises],
        "people": terms.users,
        "honest": str(terms.honest_fraction),
        "messages": survey.collector().length if survey.shuffled else 1,
        "labels": [] if channel["kind"] == "survey" else [str(label) for label in space.labels],
        "metric": metric,
        "channel": channel,
        **_prices(survey),
    }


def _prices(survey: Survey) -> dict[str, Any]:
    """What a client can prove whoever colludes, and what holds only if some keep to the rules."""
    built, terms = survey.channel, survey.terms
    if survey.study.model is Model.AGGREGATED and terms.parties is not None:
        claimed = {
            "definition": str(built.guarantee.definition),
            "epsilon": str(Fraction(built.guarantee.epsilon_at(1))),
            "aggregators": terms.parties.aggregators,
            "dishonest": terms.parties.dishonest,
        }
        return {"local": {}, "claimed": claimed}
    local = {"definition": str(built.alone.definition), "epsilon": str(built.alone_epsilon)}
    if not survey.shuffled:
        return {"local": local, "claimed": None}
    return {"local": local, "claimed": {"definition": str(built.guarantee.definition), "hiding": terms.anonymity_set}}


def _public_data(study: Study) -> Data | None:
    """What a card tells of a study's records: what is done with those outside, which promises are priced by."""
    outside = "error" if study.data is None else study.data.outside
    return Data(outside=outside) if outside in ("default", "nearest") else None


def _refuse_uncounted(study: Study) -> None:
    if study.users is None:
        raise ParameterError(
            "The study does not say how many people it is about.", allowed="users, a public whole number",
            fix="users = 1000 in the study: no more reports than this are counted",
        )  # fmt: skip


def _refuse_files(study: Study) -> None:
    if named := table_names(study.space.to_spec()):
        raise ParameterError(
            f"The study's space is in files ({', '.join(named)}), but a card must contain everything.",
            allowed="a space whose labels, distances and edges stand in the study",
            fix="write them into the study file",
        )


def make_card(
    study: Study,
    request: QuestionLike = None,
    *,
    signer: Ed25519PrivateKey,
    address: str,
    shuffler: str | None = None,
    analyser: Any = None,
    mixer: Any = None,
    issuer: Any = None,
    front: Any = None,
    aggregators: Sequence[Any] = (),
    verify: str | None = None,
    days: int = 90,
    now: float | None = None,
) -> Card:
    """The signed card of one question of a study. All keys but the signer's may be public ones.

    Args:
        study: A local, shuffle or aggregated study.
        request: The question.
        signer: The Ed25519 key of whoever publishes it.
        address: Where the collector or the leader is (local, aggregated), or who serves the card and signs tokens.
        shuffler: Where messages go (shuffle): to the shuffler, or to the front end that attests them.
        analyser: The X25519 key of whoever opens messages (shuffle).
        mixer: The Ed25519 key of the shuffler, which signs the batch (shuffle).
        issuer: The RSA key that signs tokens: each person has an invitation, and nobody can link what they send.
        front: Instead of it the Ed25519 key of a front end that attests each message: it lets in whom it knows.
        aggregators: The X25519 keys of those who add up shares, the leader's first (aggregated).
        verify: The digest of the key that they share (aggregated).
        days: How long it is valid.
        now: The time of issue; now by default.

    >>> from barrow.collect.keys import new_key
    >>> study = Study("discrete(labels=['a', 'b'])", alpha=6, users=100, delta="1e-6", model="shuffle")
    >>> keys = {"signer": new_key("signer"), "analyser": new_key("analyser"), "mixer": new_key("shuffler")}
    >>> keys |= {"address": "https://a.example", "shuffler": "https://s.example", "front": new_key("front")}
    >>> card = make_card(study, "items(items=2)", **keys)
    >>> card.counted, card.messages, card.sealing["bytes"], sorted(card.send)
    ('attested', 2, 64, ['card', 'messages'])
    """
    _refuse_uncounted(study)
    public = study.replace(data=_public_data(study), ledger=None)
    survey = Survey(public, request)
    question = survey.question  # with what was chosen for it, so that no client has to
    asked = public.questions if survey.request in public.questions else [question]
    public = public.replace(questions=[question if each == survey.request else each for each in asked])
    survey = Survey(public, question)
    _refuse_files(public)
    if not survey.channel.proved:
        raise ParameterError(
            "The question has a declared constant, which no client can prove.",
            allowed="questions whose constants follow from the space",
            fix="choose another question",
        )
    admission = _admission(issuer, front)
    send = {"card": f"{url_of(address)}/card"} | ({} if issuer is None else {"tokens": f"{url_of(address)}/tokens"})
    sealing = mixing = None
    if survey.shuffled:
        sealing, mixing, send["messages"] = _shuffled(shuffler, analyser, mixer)
    else:
        send["reports"] = f"{url_of(address)}/reports"
        sealing = _aggregated(survey, aggregators, verify) if public.model is Model.AGGREGATED else None
    issued = int(time.time() if now is None else now)
    data: dict[str, Any] = {
        "barrow": "card",
        "version": CARD_VERSION,
        "study": study_text(public),
        "question": question.label,
        **_facts(survey),
        "sealing": sealing,
        "mixing": mixing,
        "admission": admission,
        "send": send,
        "issued": issued,
        "expires": issued + 86400 * days,
        "signer": b64(public_bytes(signer)),
    }
    data["signature"] = b64(signer.sign(signed_bytes(data)))
    return Card(data)


def _admission(issuer: Any, front: Any) -> dict[str, Any]:
    """Who lets people in, and by which key."""
    if (issuer is None) == (front is None):
        raise ParameterError(
            "The way people are admitted is not clear.",
            allowed="the issuer of tokens, or a front end that attests what each person sends",
            fix="issuer=new_key('issuer')",
        )
    kind = {"kind": "attested"} if issuer is None else {"kind": "tokens", "variant": VARIANT}
    return {**kind, "key": b64(public_bytes(front if issuer is None else issuer))}


def _aggregated(survey: Survey, aggregators: Sequence[Any], verify: str | None) -> dict[str, Any]:
    """For whom answers are sealed."""
    wanted = 2 if survey.terms.parties is None else survey.terms.parties.aggregators
    if len(aggregators) != wanted or verify is None:
        raise ParameterError(
            f"The study has {wanted} aggregators, and {len(aggregators)} public keys of them are given.",
            allowed="one key of each aggregator, the leader's first, and the digest of their common key",
            fix="--aggregator leader.public --aggregator helper.public",
        )
    return {"suite": list(SUITE), "keys": [b64(public_bytes(key)) for key in aggregators], "verify": verify}


def _shuffled(shuffler: str | None, analyser: Any, mixer: Any) -> tuple[dict[str, Any], dict[str, Any], str]:
    """How messages are sealed, who signs batches, and where messages go."""
    if analyser is None or mixer is None or shuffler is None:
        raise ParameterError(
            "A shuffle card needs the analyser's key, the shuffler's key and its address.",
            allowed="all three", fix="--shuffler https://shuffle.example.org",
        )  # fmt: skip
    key = b64(public_bytes(analyser))
    sealing = {"suite": list(SUITE), "key": key, "plain": PLAIN_BYTES, "bytes": SEALED_BYTES}
    return sealing, {"key": b64(public_bytes(mixer))}, f"{url_of(shuffler)}/messages"


def read_card(source: str | os.PathLike[str] | bytes | Mapping[str, Any] | Card, *, signer: str | None = None) -> Card:
    """A card from its JSON, or from a file of it.

    Args:
        source: The JSON text or its data, or a path.
        signer: The base64 of the public key that must have signed it, where the reader knows who publishes cards.

    >>> read_card("<html>")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: This is an HTML page, not a card.
      allowed: the JSON of a card
      fix:     take the card again from where it was published
    """
    card = source if isinstance(source, Card) else Card(_parsed(source))
    if signer is not None and card.signer != signer:
        raise ParameterError(
            "The card is signed by somebody else.",
            allowed=f"a card signed by {signer}",
            fix="do not report to it; ask whoever should have published it",
        )
    return card


def _parsed(source: Any) -> Mapping[str, Any]:
    if isinstance(source, Mapping):
        return source
    if isinstance(source, os.PathLike) or (isinstance(source, str) and source.lstrip()[:1] not in ("{", "<", "[")):
        try:
            if plain_file(source, "The card").stat().st_size > LARGEST:
                raise no_card("This file is too large for a card.")
            source = Path(source).read_bytes()
        except (OSError, ValueError) as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError(
                f"There is no card {str(source)!r}.",
                allowed="the JSON of a card, or a file of it",
                fix="check the path",
            ) from None
    text = source if isinstance(source, bytes) else str(source).encode("utf-8", "replace")
    if text.lstrip()[:1] == b"<":
        raise no_card("This is an HTML page, not a card.")
    if len(text) > LARGEST:
        raise no_card("This is too large for a card.")
    try:
        return _READER.decode(text.removeprefix(BOM_UTF8))
    except (ValueError, RecursionError):
        raise no_card("This is no JSON of a card.") from None


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
