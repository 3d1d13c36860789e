"""Blind signatures against the vector of the standard, and what must not pass."""

from __future__ import annotations

import hashlib
import json

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from barrow.collect import tokens
from barrow.collect.admission import signed_message
from barrow.collect.keys import new_key
from barrow.collect.tokens import blind, emsa_pss_encode, finalize, load_issuer, random_bytes, sign, verify
from barrow.errors import ParameterError
from tests.collect.vectors import FOLDER
from tests.collect.world import key

VECTOR = json.loads((FOLDER / "tokens.json").read_text())


def number(name: str) -> int:
    return int(VECTOR[name], 16)


@pytest.fixture(scope="module")
def issuer():
    p, q, d, n, e = (number(name) for name in "pqdne")
    public = rsa.RSAPublicNumbers(e, n)
    parts = rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q)
    return rsa.RSAPrivateNumbers(p, q, d, *parts, public).private_key()


def test_the_vector(issuer):
    message, prefix, salt = (bytes.fromhex(VECTOR[name]) for name in ("msg", "prefix", "salt"))
    inverse = number("inv")
    factor = pow(inverse, -1, number("n"))
    built = tokens.blind(issuer.public_key(), message, prefix=prefix, salt=salt, factor=factor)
    assert built.request.hex() == VECTOR["blinded_msg"]
    assert built.inverse == inverse
    answer = tokens.sign(issuer, built.request)
    assert answer.hex() == VECTOR["blind_sig"]
    signature = tokens.finalize(issuer.public_key(), message, built, answer)
    assert signature.hex() == VECTOR["sig"]
    assert tokens.verify(issuer.public_key(), message, prefix, signature)


def test_tokens_are_good_for_one_message_one_card_and_one_key():
    mine, check = key("issuer"), tokens.verify
    text = signed_message("sha256:a", b"message")
    built = tokens.blind(mine.public_key(), text)
    signature = tokens.finalize(mine.public_key(), text, built, tokens.sign(mine, built.request))
    assert check(mine.public_key(), text, built.prefix, signature)
    others = [
        signed_message("sha256:b", b"message"), signed_message("sha256:a", b"another"),
        signed_message("sha256:a", b"message", b"more"),
        signed_message("sha256:a", b"mes", b"sage"), signed_message("sha256:a"),
    ]  # fmt: skip
    assert not any(check(mine.public_key(), other, built.prefix, signature) for other in others)
    assert not check(key("issuer", 2).public_key(), text, built.prefix, signature)
    assert not check(mine.public_key(), text, bytes(32), signature)
    assert not check(mine.public_key(), text, built.prefix, signature[:-1])


def test_what_a_token_says():
    """By hand: the card's digest, and the hash of the list of hashes of each recipient's part."""
    parts = [b"one", b"two"]
    listed = b"".join(hashlib.sha256(part).digest() for part in parts)
    assert (
        signed_message("sha256:a", *parts).decode()
        == f"barrow admission 2 sha256:a {hashlib.sha256(listed).hexdigest()}"
    )
    known = json.loads((FOLDER / "admission.json").read_text())
    assert known["cases"]
    for case in known["cases"]:
        assert signed_message(case["card"], *(bytes.fromhex(part) for part in case["parts"])).decode() == case["said"]


def test_a_wrong_answer_of_the_issuer_is_seen():
    mine = key("issuer")
    built = tokens.blind(mine.public_key(), b"x")
    wrong = tokens.sign(key("issuer", 2), built.request) if built.request < b"\x80" else bytes(256)
    with pytest.raises(ParameterError):
        tokens.finalize(mine.public_key(), b"x", built, wrong)


def test_what_the_issuer_sees_says_nothing():
    """The same token blinded twice gives requests that share nothing: each is uniform, whatever the token is."""
    public = key("issuer").public_key()
    requests = [tokens.blind(public, b"x", prefix=bytes(32), salt=bytes(48)).request for _ in range(40)]
    assert len(set(requests)) == 40
    tops = sorted(request[0] for request in requests)
    assert tops[0] < 90
    assert tops[-1] > 100


def test_keys_of_another_size_are_refused():
    from barrow.collect.keys import public_bytes

    for size in (1024, 3072):
        other = rsa.generate_private_key(public_exponent=65537, key_size=size)
        with pytest.raises(ParameterError, match="2048"):
            tokens.load_issuer(public_bytes(other))


def test_tokens_that_are_refused():
    issuer = new_key("issuer")
    public = issuer.public_key()
    with pytest.raises(ParameterError, match="no RSA key of 2048 bits"):
        load_issuer(b"nothing")
    with pytest.raises(ParameterError, match="of another size, or too large"):
        sign(issuer, b"short")
    built = blind(public, b"one")
    with pytest.raises(ParameterError, match="no signature of this token"):
        finalize(public, b"one", built, bytes(256))
    assert verify(public, b"one", built.prefix, finalize(public, b"one", built, sign(issuer, built.request)))
    assert (len(random_bytes(33)), len(emsa_pss_encode(b"x", 2047, bytes(48)))) == (33, 256)


def test_blind():
    from barrow.collect.keys import new_key

    issuer = new_key("issuer")
    built = blind(issuer.public_key(), b"one")
    signature = finalize(issuer.public_key(), b"one", built, sign(issuer, built.request))
    assert verify(issuer.public_key(), b"one", built.prefix, signature)
    assert not verify(issuer.public_key(), b"two", built.prefix, signature)
