"""Sealed batches: a head and messages in a uniformly random order; nothing else of them is left."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from barrow.collect.sealing import SEALED_BYTES
from barrow.errors import ParameterError, plain_file
from barrow.ledger.store import fsync_folder
from barrow.local.mixing import permuted
from barrow.noise import uniform_below

_KIND, _VERSION = "sealed batch", 1
IN_MEMORY = 2**18
"""Messages that are permuted at once; more are first scattered over files."""
_READ = 4096


class Head(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The first line of a batch."""

    barrow: str
    version: int
    card: str
    id: str
    messages: int
    left_out: int
    counted: str


@dataclass(frozen=True)
class SealedBatch:
    """A batch that was read: what its first line says, and the file."""

    head: Head
    path: Path

    def messages(self) -> Iterator[bytes]:
        """The messages, in their order."""
        with open(self.path, "rb") as file:
            file.readline()
            while some := file.read(_READ * SEALED_BYTES):
                for start in range(0, len(some), SEALED_BYTES):
                    yield some[start : start + SEALED_BYTES]


def write_batch(
    path: str | os.PathLike[str], messages: Iterable[bytes], *, card: str, name: str, count: int, people_of: int,
    counted: str, in_memory: int = IN_MEMORY,
) -> Head:  # fmt: skip
    """Write ``count`` messages in a uniformly random order to a new file, whole or not at all.

    As many are left out, at random, as do not make up a whole person.

    ``people_of`` is m, how many messages each person sends; ``in_memory`` are permuted at once.
    """
    file = Path(path)
    head = Head(_KIND, _VERSION, card, name, count - count % people_of, count % people_of, counted)
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        with open(os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as target:
            target.write(json.dumps(msgspec.to_builtins(head), separators=(",", ":")).encode() + b"\n")
            written = _scattered(messages, count, head.messages, target, file.parent, in_memory)
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


def _scattered(
    messages: Iterable[bytes], count: int, wanted: int, target: BinaryIO, folder: Path, in_memory: int
) -> int:
    """Rao and Sandelius: each message goes to a random file, and each file is permuted: exactly uniform together."""
    files = -(-count // max(1, in_memory // 2)) if count > in_memory else 1
    if files == 1:
        return _flush(b"".join(messages), wanted, target)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".mixing-") as place:
        handles = [open(Path(place) / str(i), "w+b") for i in range(files)]  # noqa: SIM115
        try:
            for some in _chunks(messages, in_memory // 4 or 1):
                where = uniform_below(np.full(len(some), files, dtype=np.int64)).tolist()
                for message, i in zip(some, where, strict=True):
                    handles[i].write(message)
            written = 0
            for handle in handles:
                handle.seek(0)
                written += _flush(handle.read(), wanted - written, target)
            return written
        finally:
            for handle in handles:
                handle.close()


def _flush(held: bytes, most: int, target: BinaryIO) -> int:
    rows: NDArray[np.uint8] = np.frombuffer(held, dtype=np.uint8).reshape(-1, SEALED_BYTES)
    order = permuted(np.arange(len(rows), dtype=np.int64))[: max(0, most)]
    target.write(rows[order].tobytes())
    return len(order)


def _chunks(messages: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    for message in messages:
        some.append(message)
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
        head = msgspec.json.decode(first, type=Head)
    except (ValueError, RecursionError):  # msgspec's errors among them
        head = None
    if head is None or (head.barrow, head.version) != (_KIND, _VERSION):
        raise ParameterError("This is no sealed batch.", **whole)
    if size != len(first) + head.messages * SEALED_BYTES or not first.endswith(b"\n"):
        raise ParameterError("The batch is not whole.", **whole)
    return SealedBatch(head, Path(path))
