"""Keys: Ed25519 signs cards and batches, X25519 opens, RSA signs tokens unseen. Files are the owner's alone."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from barrow.errors import ParameterError
from barrow.ledger import keys as stored

KINDS: dict[str, Any] = {
    "signer": Ed25519PrivateKey,
    "shuffler": Ed25519PrivateKey,
    "front": Ed25519PrivateKey,
    "analyser": X25519PrivateKey,
    "aggregator": X25519PrivateKey,
    "issuer": RSAPrivateKey,
}
"""What each key file holds, by its name."""
RSA_BITS = 2048
ANOTHER = "--keys with another folder"
ELSEWHERE = "run this where the key is, or name its folder: --keys FOLDER"
_PRICE = re.compile(r"[0-9]{1,400}(/[1-9][0-9]{0,400})?")


def b64(data: bytes) -> str:
    """Base64 as cards and messages write it: the URL alphabet without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def unb64(text: str, size: int | None = None) -> bytes:
    """The bytes of such a text; any other spelling is refused."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError, TypeError):
        data = b""
    # One spelling each: two texts of the same bytes could mark whoever sent them.
    if (size is not None and len(data) != size) or not data or b64(data) != text:
        raise ParameterError(
            "A text in base64 does not have the expected length.",
            allowed="A-Z a-z 0-9 - _ without padding",
            fix="read it again where it came from",
        )
    return data


def price_of(text: Any) -> Fraction:
    """A price or limit in cards and client budgets: ``"3"`` or ``"7/2"``, above 0 and at most 10^9; nothing else."""
    value = Fraction(text) if isinstance(text, str) and _PRICE.fullmatch(text) else None
    if value is None or not 0 < value <= 10**9:
        raise ParameterError(
            "A price is not a number above 0 and up to 10^9.",
            allowed="texts such as 3 or 7/2",
            fix="a card with another price is not answered; a client budget with one is restored from a copy",
        )
    return value


def new_key(kind: str) -> Any:
    """A new private key from the system's entropy."""
    if kind == "issuer":
        return generate_private_key(public_exponent=65537, key_size=RSA_BITS)
    return KINDS[kind].generate()


def public_bytes(key: Any) -> bytes:
    """The public half: 32 bytes for Ed25519 and X25519, DER for RSA; bytes are one already."""
    if isinstance(key, bytes):
        return key
    public = key.public_key() if hasattr(key, "public_key") else key
    if isinstance(key, RSAPrivateKey) or hasattr(public, "key_size"):
        der: bytes = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return der
    raw: bytes = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return raw


def write_key(key: Any, path: str | os.PathLike[str]) -> None:
    """Write a private key to a new file that only its owner can read."""
    stored.write_key(key, path, fix=ANOTHER)


def read_key(path: str | os.PathLike[str], kind: str) -> Any:
    """The private key of one kind in a file that nobody else can read."""
    whose = f"the {kind}'s private key, as barrow collect keys wrote it"
    key = stored.read_key(path, allowed=whose, fix=ELSEWHERE)
    if not isinstance(key, KINDS[kind]):
        raise ParameterError(f"The key {str(path)!r} is another one.", allowed=whose, fix=f"name the {kind}'s key")
    return key


def key_file(folder: str | os.PathLike[str], kind: str, public: bytes) -> Path:
    """Where the private half of a public key is kept: the name says which it is, so that a card finds its keys."""
    return Path(folder) / f"{kind}-{hashlib.sha256(public).hexdigest()[:16]}.key"


def make_keys(folder: str | os.PathLike[str], kind: str) -> tuple[Path, Path]:
    """A new key of one party in a folder: the private file, and the public one that is handed to whoever makes cards.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     private, public = make_keys(folder, "analyser")
    ...     known = read_public(public, "analyser")
    ...     key_file(folder, "analyser", known) == private, public_bytes(read_key(private, "analyser")) == known
    (True, True)
    """
    key = new_key(kind)
    public = public_bytes(key)
    place = key_file(folder, kind, public)
    write_key(key, place)
    shown = place.with_suffix(".public")
    shown.write_text(f"barrow-{kind} {b64(public)}\n", encoding="ascii")
    return place, shown


def read_public(path: str | os.PathLike[str], kind: str) -> bytes:
    """The public key of one kind in a file of :func:`make_keys`."""
    try:
        words = Path(path).read_bytes()[:4096].decode("ascii", "replace").split()
    except OSError:
        words = []
    if len(words) != 2 or words[0] != f"barrow-{kind}":
        raise ParameterError(
            f"The file {str(path)!r} holds no public key of the {kind}'s.",
            allowed=f"one line: barrow-{kind} and the key",
            fix=f"barrow collect keys --role {kind}, on the {kind}'s machine, writes it",
        )
    return unb64(words[1], None if kind == "issuer" else 32)


def public_of(files: Iterable[str | os.PathLike[str]], roles: Sequence[str]) -> dict[str, bytes]:
    """The public keys in some files, by role; each role that is asked for at most once, and no other."""
    result: dict[str, bytes] = {}
    for file in files:
        try:
            role = Path(file).read_bytes()[:64].decode("ascii", "replace").partition(" ")[0].removeprefix("barrow-")
        except OSError:
            role = ""
        if role not in roles or role in result:
            raise ParameterError(
                f"The file {str(file)!r} is no public key that this card needs, or the second one of its party.",
                allowed=f"one file each of: {', '.join(roles)}",
                fix="barrow collect keys --role ROLE, on that party's machine, writes it",
            )
        result[role] = read_public(file, role)
    return result
