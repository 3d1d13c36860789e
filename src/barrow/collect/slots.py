"""Records of one size on the disk, found by the digest that each begins with, and in no order.

The file is an array of buckets; a record's bucket is the first bits of its digest, and within it the record takes a
uniformly random free slot. Which records lie where has then the same distribution whatever the order in which they
came, so that the file says nothing about it. A record is written to its final place at once, inside one sector: there
is no journal that lists what came after what. Work for one record is one bucket read and one slot written, however many
there are; the file doubles when a bucket is full.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from barrow.collect.tokens import random_bytes
from barrow.errors import ParameterError
from barrow.ledger.store import fsync_folder
from barrow.noise import system_source

BUCKET = 16384
"""Bytes of a bucket: 32 of the widest records, so that a file is some 40 % full before one of its buckets is."""
DIGEST = 32
_PAGE = 4096
_CHUNK = 64
_AT_ONCE = 512
_DRAWN = 8192
_ZEROS = bytes(2**20)


Records = NDArray[np.uint8]


class Slots:
    """A file of records.

    Args:
        path: The file; made, for its owner alone, if it is not there.
        width: The bytes of a record, a power of two from 32 to 512, the first 32 of them a digest.
        fewest: How many buckets a new file has, a power of two.
    """

    def __init__(self, path: str | os.PathLike[str], width: int, *, fewest: int = 512) -> None:
        if width not in (32, 64, 128, 256, 512):
            raise ParameterError(f"width is {width}.", allowed="32, 64, 128, 256 or 512", fix="width=128")
        self.path, self.width, self._each = Path(path), width, BUCKET // width
        self._fewest = fewest
        self._random, self._next = b"", 0
        self._flags: dict[int, bytearray] = {}
        for name in (".new", ".old"):  # of a growth that was interrupted
            self._drop(self._beside(name))
        if not self.path.exists():
            os.close(_create(self._beside(".new"), self._fewest * BUCKET))
            os.replace(self._beside(".new"), self.path)
            fsync_folder(self.path.parent)
        self._open()

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(self.path.name + ending)

    def _open(self) -> None:
        self._file = os.open(self.path, os.O_RDWR)
        if hasattr(
            os, "posix_fadvise"
        ):  # read ahead, a file is held in large pieces, and a small write costs a large one
            os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_RANDOM)
        status = os.fstat(self._file)
        self._inode, self._buckets = status.st_ino, status.st_size // BUCKET
        if self._buckets * BUCKET != status.st_size or self._buckets & (self._buckets - 1) or self._buckets < 1:
            raise ParameterError(
                f"The file {str(self.path)!r} is not whole.",
                allowed="a file that this program made",
                fix="restore it from a copy",
            )
        self._shift = 64 - (self._buckets.bit_length() - 1)

    def begin(self) -> None:
        """Look at the file anew: another process may have written to it, made it grow or emptied it."""
        self._flags.clear()
        now = os.stat(self.path)
        if (now.st_ino, now.st_size) != (self._inode, self._buckets * BUCKET):
            os.close(self._file)
            self._open()

    def _number(self, digest: bytes) -> int:
        return int.from_bytes(digest[:8], "big") >> self._shift

    def has(self, digests: Sequence[bytes]) -> list[bool]:
        """Whether there are records that begin with these digests."""
        lines: list[bool] = []
        for start in range(0, len(digests), _AT_ONCE):
            lines += self._has(digests[start : start + _AT_ONCE])
        return lines

    def _has(self, digests: Sequence[bytes]) -> list[bool]:
        numbers = [self._number(digest) for digest in digests]
        images = [os.pread(self._file, BUCKET, number * BUCKET) for number in numbers]
        words = np.frombuffer(b"".join(images), dtype=np.uint64).reshape(len(images), self._each, -1)[:, :, 0]
        for number, flags in zip(numbers, words != 0, strict=True):
            self._flags[number] = bytearray(flags.tobytes())
        begins = np.frombuffer(b"".join(digest[:8] for digest in digests), dtype=np.uint64)
        lines: list[bool] = (words == begins[:, None]).any(axis=1).tolist()
        for i in [i for i, result in enumerate(lines) if result]:  # eight bytes agree: all of them?
            spots = range(0, BUCKET, self.width)
            lines[i] = any(images[i].startswith(digests[i], at) for at in spots)
        return lines

    def put(self, record: bytes) -> None:
        """Write a record whose digest is not there; it is durable after :meth:`sync`."""
        slot = self._free(self._number(record))
        while slot < 0:
            self._grow()
            slot = self._free(self._number(record))
        number = self._number(record)
        self._write(number * BUCKET + slot * self.width, record)
        self._flags[number][slot] = 1

    def replace(self, record: bytes, other: bytes) -> None:
        """Write over a record that is there."""
        at = self._number(record) * BUCKET
        self._write(at + os.pread(self._file, BUCKET, at).index(record), other)

    def _write(self, at: int, record: bytes) -> None:
        if os.pwrite(self._file, record, at) != len(record):
            raise OSError("a record was not written whole")

    def _free(self, number: int) -> int:
        """A uniformly random free slot of a bucket; -1 if there is none."""
        flags = self._flags.get(number)
        if flags is None:
            image = np.frombuffer(os.pread(self._file, BUCKET, number * BUCKET), dtype=np.uint64)
            flags = self._flags[number] = bytearray((image.reshape(self._each, -1)[:, 0] != 0).tobytes())
        return self._choose(flags) if 0 in flags else -1

    def _choose(self, flags: bytearray) -> int:
        while True:
            if self._next == len(self._random):
                self._random, self._next = random_bytes(_DRAWN), 0
            slot = int.from_bytes(self._random[self._next : self._next + 2], "big") & (self._each - 1)
            self._next += 2
            if not flags[slot]:
                return slot

    def chunks(self) -> Iterator[Records]:
        """All records, some at a time, in the order of their buckets."""
        for start in range(0, self._buckets, _CHUNK):
            yield self._rows(start)

    def _rows(self, start: int) -> Records:
        image = os.pread(self._file, _CHUNK * BUCKET, start * BUCKET)
        rows: Records = np.frombuffer(image, dtype=np.uint8).reshape(-1, self.width)
        held: Records = rows[rows.view(np.uint64)[:, 0] != 0]
        return held

    def count(self) -> int:
        """How many records there are."""
        return sum(len(rows) for rows in self.chunks())

    def sync(self) -> None:
        """Return when everything that was written is on the disk."""
        (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(self._file)

    def _grow(self) -> None:
        """Twice as many buckets; within each of them the records are placed anew."""
        new = _create(self._beside(".new"), 2 * self._buckets * BUCKET)
        try:
            for start in range(0, self._buckets, _CHUNK):
                image = self._spread(self._rows(start), 2 * start, 2 * min(_CHUNK, self._buckets - start))
                _write_all(new, image, 2 * start * BUCKET)
            os.fsync(new)
        finally:
            os.close(new)
        os.link(self.path, self._beside(".old"))
        os.replace(self._beside(".new"), self.path)
        fsync_folder(self.path.parent)
        os.close(self._file)
        self._flags.clear()
        self._open()
        self._drop(self._beside(".old"))

    def _spread(self, rows: Records, first: int, buckets: int) -> bytes:
        shift = np.uint64(self._shift - 1)
        begins = np.ascontiguousarray(rows[:, :8]).view(">u8")[:, 0].astype(np.uint64)
        number = (begins >> shift).astype(np.int64) - first
        order = np.argsort(number, kind="stable")
        number = number[order]
        rank = np.arange(len(rows)) - np.searchsorted(number, number)
        places = np.argsort(system_source().words(buckets * self._each).reshape(buckets, -1), axis=1)
        image: Records = np.zeros((buckets, self._each, self.width), dtype=np.uint8)
        image[number, places[number, rank]] = rows[order]
        return image.tobytes()

    def erase(self) -> None:
        """Overwrite all records with zeros, and leave a small empty file."""
        _wipe(self._file, self._buckets * BUCKET)
        os.ftruncate(self._file, self._fewest * BUCKET)
        os.fsync(self._file)
        os.close(self._file)
        self._flags.clear()
        self._open()

    def _drop(self, file: Path) -> None:
        """Overwrite and remove a file, unless it is another name of ours."""
        if not file.exists():
            return
        if not (self.path.exists() and file.samefile(self.path)):
            handle = os.open(file, os.O_RDWR)
            try:
                _wipe(handle, os.fstat(handle).st_size)
            finally:
                os.close(handle)
        file.unlink()

    def close(self) -> None:
        """Let go of the file."""
        with suppress(OSError):
            os.close(self._file)


def _create(path: Path, size: int) -> int:
    """A new file of zeros whose room is reserved: writing into it does not fail on a full disk."""
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, size)
        else:
            _wipe(handle, size)
        os.fsync(handle)
    except BaseException:
        os.close(handle)
        path.unlink()
        raise
    return handle


def _wipe(handle: int, size: int) -> None:
    for at in range(0, size, len(_ZEROS)):
        _write_all(handle, _ZEROS[: size - at], at)
    os.fsync(handle)


def _write_all(handle: int, data: bytes, at: int) -> None:
    """Page by page: what was written in larger pieces is held, and later dirtied, in such pieces by Linux."""
    view = memoryview(data)
    while view:
        done = os.pwrite(handle, view[:_PAGE], at)
        view, at = view[done:], at + done
