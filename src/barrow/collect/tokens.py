"""Single-use tokens that nobody can link to whom they were given: RSA blind signatures, RFC 9474.

The variant is RSABSSA-SHA384-PSS-Randomized with a key of 2048 bits. What is signed is a random prefix of 32 bytes and
what :mod:`barrow.collect.admission` says about one message: a token is good for that message and no other.
Padding and hashing are in this file because no library offers them apart from the key operation; verification is
``cryptography``'s own, and the whole is held against the test vectors of the RFC.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

from barrow import heavy
from barrow.collect.keys import RSA_BITS
from barrow.errors import ParameterError
from barrow.noise import system_source

VARIANT = "RSABSSA-SHA384-PSS-Randomized"
PREFIX_BYTES, SALT_BYTES, HASH_BYTES = 32, 48, 48
TOKEN_BYTES = PREFIX_BYTES + RSA_BITS // 8
"""A prefix and its signature."""
_PSS = padding.PSS(mgf=padding.MGF1(hashes.SHA384()), salt_length=SALT_BYTES)


def random_bytes(size: int) -> bytes:
    """Fresh bytes through the one door to randomness."""
    return system_source().words(-(-size // 8)).astype("<u8").tobytes()[:size]


def load_issuer(der: bytes) -> RSAPublicKey:
    """The issuer's public key; all are of 2048 bits, so that all tokens are of one size."""
    try:
        key = serialization.load_der_public_key(der)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, RSAPublicKey) or key.key_size != RSA_BITS or key.public_numbers().e != 65537:
        raise ParameterError(
            "The issuer's key is no RSA key of 2048 bits.",
            allowed="the DER of an RSA public key of 2048 bits, exponent 65537",
            fix="take the card from where it was published",
        )
    return key


def emsa_pss_encode(message: bytes, bits: int, salt: bytes) -> bytes:
    """EMSA-PSS (RFC 8017, 9.1.1) with SHA-384, MGF1-SHA-384 and this salt."""
    size = -(-bits // 8)
    hashed = hashlib.sha384(bytes(8) + hashlib.sha384(message).digest() + salt).digest()
    block = bytes(size - len(salt) - HASH_BYTES - 2) + b"\x01" + salt
    masked = bytearray(a ^ b for a, b in zip(block, _mgf1(hashed, len(block)), strict=True))
    masked[0] &= 0xFF >> (8 * size - bits)
    return bytes(masked) + hashed + b"\xbc"


def _mgf1(seed: bytes, size: int) -> bytes:
    rounds = -(-size // HASH_BYTES)
    return b"".join(hashlib.sha384(seed + i.to_bytes(4, "big")).digest() for i in range(rounds))[:size]


@dataclass(frozen=True)
class Blinded:
    """A token that waits for its signature.

    Attributes:
        prefix: Its random name.
        request: What the issuer sees and signs.
        inverse: What takes the blinding off again; the client's secret.
    """

    prefix: bytes
    request: bytes
    inverse: int


def blind(key: RSAPublicKey, message: bytes, *, prefix: bytes | None = None, salt: bytes | None = None,
          factor: int | None = None) -> Blinded:  # fmt: skip
    """Blind ``prefix || message`` (RFC 9474, 4.2). Prefix, salt and factor are given by test vectors only."""
    numbers, size = key.public_numbers(), _size(key)
    name = random_bytes(PREFIX_BYTES) if prefix is None else prefix
    encoded = emsa_pss_encode(name + message, key.key_size - 1, random_bytes(SALT_BYTES) if salt is None else salt)
    m = int.from_bytes(encoded, "big")
    if math.gcd(m, numbers.n) != 1:
        raise ParameterError("The issuer's modulus shares a factor with a token.", fix="do not use this card")
    r = _below(numbers.n) if factor is None else factor
    while math.gcd(r, numbers.n) != 1:
        r = _below(numbers.n)
    inverse = pow(r, -1, numbers.n)
    return Blinded(name, (m * pow(r, numbers.e, numbers.n) % numbers.n).to_bytes(size, "big"), inverse)


def sign(key: RSAPrivateKey, request: bytes) -> bytes:
    """Sign what cannot be seen (RFC 9474, 4.3): the raw RSA operation, itself blinded, and checked before it leaves."""
    numbers = key.private_numbers()
    n, e = numbers.public_numbers.n, numbers.public_numbers.e
    m = int.from_bytes(request, "big")
    if len(request) != _size(key) or m >= n:
        raise ParameterError(
            "A blinded token is of another size, or too large.",
            allowed="as many bytes as the issuer's key has",
            fix="blind it with the key on the card",
        )
    # Powers are not constant in time here, so the base is multiplied by a fresh random power first.
    r = _below(n)
    while math.gcd(r, n) != 1:
        r = _below(n)
    masked = m * pow(r, e, n) % n
    low, high = _power(masked, numbers.dmp1, numbers.p), _power(masked, numbers.dmq1, numbers.q)
    root = high + numbers.q * ((low - high) * numbers.iqmp % numbers.p)
    s = root * pow(r, -1, n) % n
    if pow(s, e, n) != m:
        raise ParameterError("A signature was computed wrongly and was not sent.", fix="try again")
    return s.to_bytes(len(request), "big")


def finalize(key: RSAPublicKey, message: bytes, blinded: Blinded, answer: bytes) -> bytes:
    """The signature without its blinding (RFC 9474, 4.4); a wrong one is refused."""
    size, n = _size(key), key.public_numbers().n
    result = (int.from_bytes(answer, "big") * blinded.inverse % n).to_bytes(size, "big")
    if len(answer) != size or not verify(key, message, blinded.prefix, result):
        raise ParameterError(
            "The issuer's answer is no signature of this token.",
            allowed="a blind signature by the key on the card",
            fix="ask again; if it stays, do not trust this card",
        )
    return result


def verify(key: RSAPublicKey, message: bytes, prefix: bytes, signature: bytes) -> bool:
    """Whether a token is the issuer's."""
    try:
        key.verify(signature, prefix + message, _PSS, hashes.SHA384())
    except (InvalidSignature, ValueError):
        return False
    return True


def _power(base: int, exponent: int, modulus: int) -> int:
    """A power by GMP, six times as fast as Python's own."""
    return int(pow(heavy.fmpz(base), heavy.fmpz(exponent), heavy.fmpz(modulus)))


def _size(key: RSAPublicKey | RSAPrivateKey) -> int:
    return -(-key.key_size // 8)


def _below(n: int) -> int:
    """Uniform in 1 .. n - 1, by rejection."""
    size = -(-n.bit_length() // 8)
    while True:
        result = int.from_bytes(random_bytes(size), "big") >> (8 * size - n.bit_length())
        if 0 < result < n:
            return result
