"""What lets a message in: an issuer's blind signature or a front end's signature, either of them over this message.

Whoever carries messages can therefore not make one, nor put another one in its place: what is signed names the card and
the sealed parts, one for each recipient.
"""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from barrow.collect import tokens
from barrow.collect.card import Card
from barrow.collect.keys import b64, unb64
from barrow.errors import ParameterError
from barrow.ledger.keys import signed_by

ATTESTED_BYTES = 64


def signed_message(card: str, *parts: bytes) -> bytes:
    """What is signed: the card's digest, and the hash of the list of hashes of each recipient's sealed part."""
    listed = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts))
    return f"barrow admission 2 {card} {listed.hexdigest()}".encode("ascii")


def attest(key: Ed25519PrivateKey, card: str, *parts: bytes) -> bytes:
    """A front end's signature: that it let in whoever sends these parts.

    >>> from barrow.collect.keys import new_key
    >>> len(attest(new_key("front"), "sha256:" + "0" * 64, b"a sealed message"))
    64
    """
    return key.sign(signed_message(card, *parts))


class Gate:
    """Checks what lets messages, or reports, of one card in.

    Attributes:
        size: How many bytes lets one in.
    """

    def __init__(self, card: Card) -> None:
        key = unb64(card.admission["key"])
        self._card = card.digest
        self._issuer = tokens.load_issuer(key) if card.counted == "tokens" else None
        self._front = None if card.counted == "tokens" else key
        self.size = tokens.TOKEN_BYTES if self._front is None else ATTESTED_BYTES

    def lets_in(self, admission: bytes, *parts: bytes) -> bool:
        """Whether this was signed for exactly these parts, by the key on the card."""
        text = signed_message(self._card, *parts)
        if len(admission) != self.size:
            return False
        if self._issuer is not None:
            prefix, signature = admission[: tokens.PREFIX_BYTES], admission[tokens.PREFIX_BYTES :]
            return tokens.verify(self._issuer, text, prefix, signature)
        return self._front is not None and signed_by(self._front, admission, text)

    def report(self, line: str) -> str | None:
        """The report of a line, if it was let in; a line is a report, a tab, and what lets it in in base64."""
        text, _, admission = line.rstrip("\n").partition("\t")
        try:
            result = unb64(admission, self.size)
        except ParameterError:
            return None
        return text if self.lets_in(result, text.encode("utf-8", "surrogatepass")) else None


def line_of(report: str, admission: bytes) -> str:
    r"""A report with what lets it in, as a collector takes it.

    >>> line_of("{}", bytes(3))
    '{}\tAAAA'
    """
    return f"{report}\t{b64(admission)}"
