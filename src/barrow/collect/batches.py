"""Sealed batches: a head, messages with what lets them in, in a uniformly random order, and a signature."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from barrow.errors import ParameterError, plain_file
from barrow.ledger.keys import signed_by
from barrow.ledger.store import fsync_folder
from barrow.local.mixing import permuted
from barrow.noise import uniform_below

_KIND, _VERSION = "sealed batch", 2
IN_MEMORY = 2**16
"""Messages that are permuted at once; more are first scattered over files."""
SIGNATURE = 64
_READ = 4096


class BatchHead(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The first line of a batch; ``bytes`` is how many a message has, with what lets it in."""

    barrow: str
    version: int
    card: str
    id: str
    messages: int
    left_out: int
    bytes: int


@dataclass(frozen=True)
class SealedBatch:
    """A batch that was read: what its first line says, and the file."""

    head: BatchHead
    path: Path

    def items(self) -> Iterator[bytes]:
        """The messages, each with what lets it in, in their order."""
        size = self.head.bytes
        for some in self._pieces(_READ * size):
            for start in range(0, len(some), size):
                yield some[start : start + size]

    def _pieces(self, size: int) -> Iterator[bytes]:
        with open(self.path, "rb") as file:
            file.readline()
            left = self.head.messages * self.head.bytes
            while left and (some := file.read(min(size, left))):
                left -= len(some)
                yield some

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 of the head and all messages: what is signed."""
        with open(self.path, "rb") as file:
            seen = hashlib.sha256(file.readline())
        for some in self._pieces(_READ * self.head.bytes):
            seen.update(some)
        return seen.digest()

    def signed_by(self, key: bytes) -> bool:
        """Whether this public key signed the head and all messages."""
        with open(self.path, "rb") as file:
            file.seek(-SIGNATURE, os.SEEK_END)
            signature = file.read()
        return signed_by(key, signature, _signed_text(self.digest))


def _signed_text(digest: bytes) -> bytes:
    return b"barrow batch 2 " + digest


class _Hashed:
    """Writes to a file, and hashes what it writes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._seen = file, hashlib.sha256()

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._seen.update(data)

    def sign(self, key: Ed25519PrivateKey) -> None:
        self._file.write(key.sign(_signed_text(self._seen.digest())))


def write_batch(
    path: str | os.PathLike[str], items: Iterable[bytes], key: Ed25519PrivateKey, *, card: str, name: str, count: int,
    people_of: int, size: int, in_memory: int = IN_MEMORY,
) -> BatchHead:  # fmt: skip
    """Write ``count`` items of ``size`` bytes in a uniformly random order to a new file, signed, whole or not at all.

    As many are left out, at random, as do not make up a whole person.

    ``people_of`` is m, how many messages each person sends; ``in_memory`` are permuted at once.
    """
    file = Path(path)
    head = BatchHead(_KIND, _VERSION, card, name, count - count % people_of, count % people_of, size)
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        with open(os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as target:
            hashed = _Hashed(target)
            hashed.write(json.dumps(msgspec.to_builtins(head), separators=(",", ":")).encode() + b"\n")
            written = _scattered(items, head, hashed, file.parent, in_memory)
            hashed.sign(key)
            target.flush()
            os.fsync(target.fileno())
        if written != head.messages:
            raise ParameterError("The messages changed while they were mixed.", fix="mix them again")
        os.link(partial, file)  # an existing batch is never overwritten
        fsync_folder(file.parent)
    except FileExistsError:
        raise ParameterError(f"The file {str(path)!r} exists.", allowed="a new file", fix="--out other.batch") from None
    except OSError as error:
        raise ParameterError(
            f"The batch {str(path)!r} cannot be written: {error.strerror}; the messages are kept.", fix="make room"
        ) from None
    finally:
        partial.unlink(missing_ok=True)
    return head


def _scattered(items: Iterable[bytes], head: BatchHead, target: _Hashed, folder: Path, in_memory: int) -> int:
    """Rao and Sandelius: each item goes to a random file, and each file is permuted: exactly uniform together."""
    count = head.messages + head.left_out
    files = -(-count // max(1, in_memory // 2)) if count > in_memory else 1
    if files == 1:
        return _flush(b"".join(items), head.bytes, head.messages, target)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".mixing-") as place:
        handles = [open(Path(place) / str(i), "w+b") for i in range(files)]  # noqa: SIM115
        try:
            for some in _chunks(items, in_memory // 4 or 1):
                where = uniform_below(np.full(len(some), files, dtype=np.int64)).tolist()
                for item, i in zip(some, where, strict=True):
                    handles[i].write(item)
            written = 0
            for handle in handles:
                handle.seek(0)
                written += _flush(handle.read(), head.bytes, head.messages - written, target)
            return written
        finally:
            for handle in handles:
                handle.close()


def _flush(held: bytes, size: int, most: int, target: _Hashed) -> int:
    rows: NDArray[np.uint8] = np.frombuffer(held, dtype=np.uint8).reshape(-1, size)
    order = permuted(np.arange(len(rows), dtype=np.int64))[: max(0, most)]
    target.write(rows[order].tobytes())
    return len(order)


def _chunks(items: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    for item in items:
        some.append(item)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some


def read_batch(path: str | os.PathLike[str]) -> SealedBatch:
    """The batch in a file, if it is whole."""
    whole = {"allowed": "a file that barrow collect shuffle wrote", "fix": "check the path"}
    try:
        size = os.path.getsize(plain_file(path, "The batch"))
        with open(path, "rb") as file:
            first = file.readline(4096)
    except OSError:
        raise ParameterError(f"There is no batch {str(path)!r}.", **whole) from None
    try:
        head = msgspec.json.decode(first, type=BatchHead)
    except (ValueError, RecursionError):  # msgspec's errors among them
        head = None
    if head is None or (head.barrow, head.version) != (_KIND, _VERSION):
        raise ParameterError("This is no sealed batch.", **whole)
    whole_size = len(first) + head.messages * head.bytes + SIGNATURE
    if min(head.messages, head.left_out) < 0 or head.bytes < 1 or size != whole_size or not first.endswith(b"\n"):
        raise ParameterError("The batch is not whole: parts are damaged or missing.", **whole)
    return SealedBatch(head, Path(path))
