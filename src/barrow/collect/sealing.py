"""Messages that only the analyser can open: HPKE (RFC 9180), one value in each, all of one size.

Suite: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode, one context a message, no associated data. The
card's digest is in ``info``, so that a message of another study does not open.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from barrow.errors import ParameterError

SUITE = (0x0020, 0x0001, 0x0001)
"""The ids of KEM, KDF and AEAD in the registry of RFC 9180."""
PLAIN_BYTES, SEALED_BYTES = 16, 64
SEALING_BYTES = 48
"""How many bytes more a sealed message has than what is in it."""
_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
_FIRST = bytes([1]) + bytes(11)


def info_of(card: str) -> bytes:
    """What binds a message to its card, given the card's digest."""
    return f"barrow message 2 {card}".encode("ascii")


def plain_of(value: int) -> bytes:
    """16 bytes: the version 1, eleven zeros, the value in four bytes, the highest first."""
    if not 0 <= value < 2**32:
        raise ParameterError(f"The value is {value}.", allowed="0 to 2^32 - 1", fix="fewer kinds of reports")
    return _FIRST + value.to_bytes(4, "big")


def seal_bytes(info: bytes, key: bytes, plain: bytes) -> bytes:
    """Bytes, encrypted for the owner of a key: 48 more than they are."""
    return _SUITE.encrypt(plain, X25519PublicKey.from_public_bytes(key), info=info)


def open_bytes(info: bytes, key: X25519PrivateKey, sealed: bytes) -> bytes | None:
    """What was encrypted; None where the key or ``info`` is another one, or it was damaged."""
    try:
        return bytes(_SUITE.decrypt(sealed, key, info=info))
    except (InvalidTag, ValueError):  # another key, another card, or damage: nobody can say which
        return None


def seal(card: str, key: bytes, value: int) -> bytes:
    """One value, encrypted for the analyser: 64 bytes."""
    return seal_bytes(info_of(card), key, plain_of(value))


class Opener:
    """Opens messages of one card, by its digest, that say one of so many kinds of values."""

    def __init__(self, card: str, key: X25519PrivateKey, kinds: int) -> None:
        self._info, self._key, self._kinds = info_of(card), key, kinds

    def open(self, sealed: bytes) -> int | str:
        """The value; or why there is none: ``"wrong size"``, ``"cannot be opened"``, ``"malformed"``."""
        if len(sealed) != SEALED_BYTES:
            return "wrong size"
        plain = open_bytes(self._info, self._key, sealed)
        if plain is None:
            return "cannot be opened"
        value = int.from_bytes(plain[12:], "big")
        return value if plain == plain_of(value) and value < self._kinds else "malformed"
