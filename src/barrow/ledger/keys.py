"""The one kind of key that signs here, Ed25519, known by a fingerprint; and files that their owner alone can read."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import stat
from typing import TYPE_CHECKING, NoReturn

from barrow import heavy
from barrow.errors import ParameterError, path_text, plain_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

_FINGERPRINT = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_LARGEST = 2**14


class SigningKey:
    """A private key that signs.

    >>> import tempfile
    >>> built = SigningKey.new(tempfile.mkdtemp() + "/owner.key")
    >>> signature = built.sign(b"what was said")
    >>> signed_by(built.public, signature, b"what was said"), signed_by(built.public, signature, b"something else")
    (True, False)
    """

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def new(cls, path: str | os.PathLike[str]) -> SigningKey:
        """Make a key from the system's entropy and write it to a new file of mode 0600."""
        key = heavy.Ed25519PrivateKey.generate()
        write_key(key, path, fix="barrow key new another.key")
        return cls(key)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SigningKey:
        """The key in a file that nobody else can read."""
        allowed = "a file made by barrow key new"
        key = read_key(path, allowed=allowed, fix=f"barrow key new {os.fspath(path)}")
        if not isinstance(key, heavy.Ed25519PrivateKey):
            raise ParameterError(
                f"The key {os.fspath(path)!r} is not one that signs.", allowed=allowed, fix="barrow key new owner.key"
            )
        return cls(key)

    @property
    def public(self) -> bytes:
        """The public half: 32 bytes that anybody may know."""
        return self._key.public_key().public_bytes(heavy.Encoding.Raw, heavy.PublicFormat.Raw)

    @property
    def fingerprint(self) -> str:
        """By what others know the key."""
        return fingerprint_of(self.public)

    def sign(self, message: bytes) -> bytes:
        """The signature of ``message``: 64 bytes."""
        return self._key.sign(message)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private key is not copied")


def write_key(key: PrivateKeyTypes, path: str | os.PathLike[str], *, fix: str) -> None:
    """Write a private key of any kind to a new file: PKCS #8 in PEM, and the owner's alone."""
    text = key.private_bytes(heavy.Encoding.PEM, heavy.PrivateFormat.PKCS8, heavy.NoEncryption())
    write_private(path, text, fix=fix)


def read_key(path: str | os.PathLike[str], *, allowed: str, fix: str) -> PrivateKeyTypes:
    """The private key, of whatever kind, in a file of :func:`write_key`; ``fix`` is for a file that is not there."""
    text = private_text(path, allowed=allowed, fix=fix)
    try:
        return heavy.load_pem_private_key(text, password=None)
    except (ValueError, TypeError, heavy.UnsupportedAlgorithm):
        raise ParameterError(
            f"The file {os.fspath(path)!r} holds no key.", allowed=allowed, fix="restore it from a copy"
        ) from None


def write_private(path: str | os.PathLike[str], text: bytes, *, fix: str) -> None:
    """Write a new file that only its owner can read, whatever the umask, durably."""
    place = path_text(path, "The key")
    try:
        handle = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            os.chmod(place, 0o600)  # the umask may have left even less
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        there = isinstance(error, FileExistsError)
        raise ParameterError(
            f"The key {place!r} exists." if there else f"The key {place!r} cannot be written: {error.strerror}.",
            allowed="a new file: a key is never overwritten",
            fix=fix,
        ) from None


def private_text(path: str | os.PathLike[str], *, allowed: str, fix: str) -> bytes:
    """What is in a small file that nobody else can read; ``fix`` is for one that is not there."""
    place = path_text(path, "The key")
    try:
        plain_file(place, "The key")
        handle = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe must not make us wait
        with os.fdopen(handle, "rb") as file:
            mode = os.fstat(handle).st_mode
            text = file.read(_LARGEST) if stat.S_ISREG(mode) else b""
    except FileNotFoundError:
        raise ParameterError(f"There is no key {place!r}.", allowed=allowed, fix=fix) from None
    except OSError as error:
        raise ParameterError(
            f"The key {place!r} cannot be read: {error.strerror}.", allowed=allowed, fix="run this as its owner"
        ) from None
    if os.name == "posix" and mode & 0o077:
        raise ParameterError(f"The key {place!r} can be read by others.", allowed="mode 0600", fix=f"chmod 600 {place}")
    return text


def signed_by(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the owner of the public key signed ``message``.

    >>> signed_by(bytes(32), bytes(64), b"anything")
    False
    """
    try:
        heavy.Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (heavy.InvalidSignature, ValueError):
        return False
    return True


def fingerprint_of(public: bytes) -> str:
    """SHA-256 of the 32 bytes of a public key.

    >>> fingerprint_of(bytes(32))[:20]
    'sha256:66687aadf862b'
    """
    return "sha256:" + hashlib.sha256(public).hexdigest()


def read_fingerprint(text: str) -> str:
    """A fingerprint as somebody typed it: all 64 digits, because a shorter one can be forged.

    >>> read_fingerprint("66687AADF862B")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The fingerprint is '66687AADF862B'.
      allowed: sha256: and 64 hexadecimal digits; fewer could be forged
      fix:     copy it from where the owner publishes it; theirs is printed by: barrow key show owner.key
    """
    result = _FINGERPRINT.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    if result is None:
        raise ParameterError(
            f"The fingerprint is {text!r}.",
            allowed="sha256: and 64 hexadecimal digits; fewer could be forged",
            fix="copy it from where the owner publishes it; theirs is printed by: barrow key show owner.key",
        )
    return f"sha256:{result[1]}"


def to_base64(data: bytes) -> str:
    """Bytes as text for web addresses and JSON, without padding.

    >>> to_base64(b"abc")
    'YWJj'
    """
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def from_base64(text: str) -> bytes:
    """The bytes of :func:`to_base64`; ValueError for anything that it would not have written."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError(text) from None
    if to_base64(data) != text:
        raise ValueError(text)
    return data
