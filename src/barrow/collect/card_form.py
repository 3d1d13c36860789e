"""The form of a card: which keys it has, what is signed, and which names, prices, keys and addresses it may hold."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from barrow.collect.keys import price_of, unb64
from barrow.collect.sealing import PLAIN_BYTES, SEALED_BYTES, SUITE
from barrow.collect.tokens import VARIANT, load_issuer
from barrow.errors import ParameterError

CARD_VERSION = 2
_NAME = re.compile(r"sha256:[0-9a-f]{64}")
AGAIN = "take the card again from where it was published"


class CardWire(msgspec.Struct, forbid_unknown_fields=True):
    """A card as JSON: exactly these keys; numbers are integers or texts of exact fractions."""

    barrow: str
    version: int
    study: str
    question: str
    survey: str
    model: str
    description: str
    promises: list[str]
    people: int
    honest: str
    messages: int
    labels: list[str]
    metric: dict[str, Any]
    channel: dict[str, Any]
    local: dict[str, str]
    claimed: dict[str, Any] | None
    sealing: dict[str, Any] | None
    mixing: dict[str, str] | None
    admission: dict[str, str]
    send: dict[str, str]
    issued: int
    expires: int
    signer: str
    signature: str


def signed_bytes(data: Mapping[str, Any]) -> bytes:
    """What is signed: the JSON without ``signature``, keys sorted, no spaces, UTF-8."""
    rest = {key: value for key, value in data.items() if key != "signature"}
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def checked(data: Mapping[str, Any]) -> CardWire:
    """What a card holds, if it is one, is signed by whom it says, and everything in it has its form."""
    if data.get("barrow") != "card":
        raise no_card("This is no card.")
    if data.get("version") != CARD_VERSION:
        raise ParameterError(
            f"The card is of version {data.get('version')!r}.",
            allowed=f"version {CARD_VERSION}",
            fix="install the newest barrow, or ask for a card of this version",
        )
    try:
        wire = msgspec.convert(data, CardWire)
        Ed25519PublicKey.from_public_bytes(unb64(wire.signer, 32)).verify(unb64(wire.signature, 64), signed_bytes(data))
    except (msgspec.ValidationError, RecursionError, UnicodeEncodeError, TypeError) as error:  # TypeError: bytes, dates
        raise no_card(f"The card is not whole: {str(error)[:100]}.") from None
    except InvalidSignature:
        raise ParameterError(
            "The card was changed after it was signed.",
            allowed="a card as it was published",
            fix=f"{AGAIN}; do not report to this one",
        ) from None
    _check_parts(wire)
    return wire


def _check_parts(wire: CardWire) -> None:
    """Whether everything in a signed card has its form; what follows from its study is looked at later."""
    local, summed = wire.model == "local", wire.model == "aggregated"
    if wire.model not in ("local", "shuffle", "aggregated"):
        raise no_card("The card is of a model that is not known here.")
    if _NAME.fullmatch(wire.survey) is None:
        raise no_card("The card's survey is not named by a digest.")
    price_of(priced_by(wire).get("epsilon"))
    if wire.people < 1 or wire.messages < 1:
        raise no_card("The card is about no people, or no messages.")
    tokens = wire.admission.get("kind") == "tokens"
    form = {"kind": "tokens", "variant": VARIANT} if tokens else {"kind": "attested"}
    if {**wire.admission, "key": ""} != {**form, "key": ""}:
        raise no_card("The card does not say who lets people in, in a way that is known here.")
    if tokens:
        load_issuer(unb64(wire.admission["key"]))
    else:
        unb64(wire.admission["key"], 32)
    if set(wire.send) != {"card", "reports" if local or summed else "messages", *(["tokens"] if tokens else [])}:
        raise no_card("The card does not say where to send.")
    for address in wire.send.values():
        url_of(address)
    if (wire.sealing is None, wire.mixing is None) != (local, local or summed):
        raise no_card("The card does not say how messages are sealed and mixed.")
    if summed:
        _check_aggregators(wire)
    if wire.sealing is not None and wire.mixing is not None:
        sizes = {"suite": list(SUITE), "plain": PLAIN_BYTES, "bytes": SEALED_BYTES, "key": ""}
        if {**wire.sealing, "key": ""} != sizes or set(wire.mixing) != {"key"}:
            raise no_card("The card asks for another encryption or mixing.")
        unb64(wire.sealing["key"], 32)
        unb64(wire.mixing["key"], 32)


def priced_by(wire: CardWire) -> Mapping[str, Any]:
    """Where a card says what it costs: whoever colludes; of a sum in shares, if enough keep to the rules."""
    return (wire.claimed or {}) if wire.model == "aggregated" else wire.local


def _check_aggregators(wire: CardWire) -> None:
    """Whether a card names its aggregators: a key each, all different, and the digest of their common one."""
    sealing = wire.sealing or {}
    keys = sealing.get("keys")
    form = {"suite": list(SUITE), "keys": keys, "verify": sealing.get("verify")}
    if sealing != form or not isinstance(keys, list) or not isinstance(form["verify"], str):
        raise no_card("The card does not say for whom answers are sealed.")
    if not 2 <= len(keys) <= 255 or len(set(map(str, keys))) < len(keys) or _NAME.fullmatch(form["verify"]) is None:
        raise no_card("The card does not name two or more different aggregators and their common key.")
    for key in keys:
        unb64(str(key), 32)


def no_card(problem: str) -> ParameterError:
    """The refusal of something that is no card."""
    return ParameterError(problem, allowed="the JSON of a card", fix=AGAIN)


def url_of(address: str) -> str:
    """An address without its last slash, if clients may send to it."""
    plain = str(address).rstrip("/")
    try:
        parts = urlsplit(plain)
        known = {"https": bool(parts.hostname), "http": parts.hostname in ("127.0.0.1", "localhost", "::1")}
        good = known.get(parts.scheme, False) and parts.username is None and not (parts.query or parts.fragment)
    except ValueError:
        good = False
    if not good:
        raise ParameterError(
            f"The address is {address!r}.",
            allowed="an https:// address; http:// only on this machine",
            fix="https://reports.example.org",
        )
    return plain
