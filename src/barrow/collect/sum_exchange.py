"""Aggregators who meet by files: a folder that all of them read, in which each writes its own.

A file of verifier shares is one line of JSON, then nonce and verifier share of each report, then the SHA-256 of all
before. Closings and sums are one line of JSON each. None tells anything about a person; all are written whole or not at
all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from barrow.collect.aggregator import VERSION, Aggregator, Closing, SummedReports, SumShare, add_shares
from barrow.collect.prio3.prio3 import NONCE
from barrow.collect.share_messages import message_size
from barrow.collect.share_store import ACCEPTED, TOLD
from barrow.collect.sum_task import SumTask, role_name
from barrow.errors import ParameterError, plain_file
from barrow.ledger.store import write_durably

_DIGEST = 32
_LARGEST = 2**24
_READ = 256
Line = TypeVar("Line", Closing, SumShare)


class VerifierHead(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The first line of a file of verifier shares.

    Attributes:
        barrow: ``"verifiers"``.
        version: 1.
        card: The card's digest.
        aggregator: Whose they are.
        reports: How many.
    """

    barrow: str
    version: int
    card: str
    aggregator: int
    reports: int


def add_files(aggregator: Aggregator, paths: Sequence[str | os.PathLike[str]]) -> dict[str, int]:
    """Take the messages in some files, each of one person or of several; how many, by what became of them.

    Raises:
        ParameterError: If a file cannot be read, or is not of whole messages of this card; files before it are taken.
    """
    told: dict[str, int] = {}
    size = message_size(aggregator.task, aggregator.index)
    for path in paths:
        for some in _pieces(Path(path), size):
            for line in aggregator.add(some):
                told[line] = told.get(line, 0) + 1
    return told


def _pieces(path: Path, size: int) -> Iterator[list[bytes]]:
    try:
        whole = os.path.getsize(plain_file(path, "The file of shares"))
        if not whole or whole % size:
            raise ParameterError(
                f"The file {str(path)!r} does not hold complete shares for this aggregator of this card.",
                allowed=f"messages of {size:,} bytes each, as barrow collect answer wrote them",
                fix="take it again from whoever wrote it; it may be cut off, of another card or for another aggregator",
            )
        with open(path, "rb") as file:
            while some := file.read(_READ * size):
                yield [some[start : start + size] for start in range(0, len(some), size)]
    except OSError as error:
        raise _unread(path, error) from None


class Told:
    """What another aggregator told about reports: files of verifier shares, whole and of this card."""

    def __init__(self, task: SumTask, index: int, folder: Path) -> None:
        self._size = task.prio3.verifier_size
        self._places: dict[bytes, tuple[Path, int]] = {}
        for path in sorted(folder.glob(f"{role_name(index)}-verifiers-*.bin")):
            self._read(task, index, path)

    def _read(self, task: SumTask, index: int, path: Path) -> None:
        with open(path, "rb") as file:
            first = file.readline(4096)
            head = _decoded(first, VerifierHead)
            expected = ("verifiers", VERSION, task.card, index)
            if head is None or (head.barrow, head.version, head.card, head.aggregator) != expected:
                raise _no_file(path, "is of another card, version or aggregator")
            each = NONCE + self._size
            if head.reports < 0 or os.path.getsize(path) != len(first) + head.reports * each + _DIGEST:
                raise _no_file(path, "is not whole")
            seen = hashlib.sha256(first)
            for number in range(head.reports):
                row = file.read(each)
                seen.update(row)
                if row[:NONCE] in self._places:
                    raise _no_file(path, "names a report twice")
                self._places[row[:NONCE]] = (path, len(first) + number * each + NONCE)
            if file.read() != seen.digest():
                raise _no_file(path, "was damaged")

    def __call__(self, nonce: bytes) -> bytes | None:
        """The verifier share of one report."""
        if nonce not in self._places:
            return None
        path, place = self._places[nonce]
        with open(path, "rb") as file:
            file.seek(place)
            return file.read(self._size)


def exchange(
    aggregator: Aggregator, folder: str | os.PathLike[str], *, close: bool = False, fewest: int | None = None,
    leave_out: bool = False,
) -> str:  # fmt: skip
    """One turn of an aggregator: write what it can tell, read what the others told, go on; how far it is, in words.

    Asked again it goes on where it stopped, and writes the same files again where they are gone.
    """
    place, task, index = _folder(folder), aggregator.task, aggregator.index
    others = [i for i in range(task.prio3.aggregators) if i != index]
    aggregator.look()
    if not aggregator.store.closed:
        _tell(aggregator, place)
        told = [Told(task, i, place) for i in others]

        def heard(nonce: bytes) -> list[bytes] | None:
            shares = [each(nonce) for each in told]
            return None if None in shares else [share for share in shares if share is not None]

        aggregator.decide(heard)
        if not close:
            counted, waiting = aggregator.store.count(ACCEPTED), aggregator.store.count(TOLD)
            return f"{counted:,} reports counted, {waiting:,} wait for the others."
    name = role_name(index)
    closing = aggregator.close(fewest=fewest, leave_out=leave_out)
    _write(place / f"{name}-closing.json", _line(closing))
    files = {i: place / f"{role_name(i)}-closing.json" for i in others}
    late = [role_name(i) for i, path in files.items() if not path.exists()]
    if late:
        return f"Closed with {closing.reports:,} reports. The {' and the '.join(late)} must close too."
    share = aggregator.share([_read_line(path, Closing) for path in files.values()])
    _write(place / f"{name}-sum.json", _line(share))
    return f"Done: {place / f'{name}-sum.json'} holds this aggregator's share of the sum of {share.reports:,} reports."


def write_sums(folder: str | os.PathLike[str], shares: Sequence[SumShare]) -> str:
    """Write every aggregator's share to a folder; what was written, in words."""
    place = _folder(folder)
    files = [place / f"{role_name(share.aggregator)}-sum.json" for share in shares]
    for file, share in zip(files, shares, strict=True):
        _write(file, _line(share))
    return f"Done: {', '.join(map(str, files))} hold the shares of the sum of {shares[0].reports:,} reports."


def read_sums(task: SumTask, paths: Sequence[str | os.PathLike[str]]) -> SummedReports:
    """The sum, of every aggregator's file."""
    return add_shares(task, [_read_line(Path(path), SumShare) for path in paths])


def _tell(aggregator: Aggregator, folder: Path) -> None:
    store, task = aggregator.store, aggregator.task
    store.number_batch()
    for number in store.batches():
        path = folder / f"{role_name(aggregator.index)}-verifiers-{number}.bin"
        if path.exists():
            continue
        rows = list(store.batch(number))
        head = VerifierHead("verifiers", VERSION, task.card, aggregator.index, len(rows))
        data = _line(head) + b"".join(nonce + share for nonce, share in rows)
        _write(path, data + hashlib.sha256(data).digest())


def _line(data: msgspec.Struct) -> bytes:
    return json.dumps(msgspec.to_builtins(data), separators=(",", ":")).encode() + b"\n"


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, durably."""
    try:
        write_durably(path, data)
    except OSError as error:
        raise ParameterError(
            f"The file {str(path)!r} cannot be written: {error.strerror}; what was counted is kept.",
            allowed="a folder with room",
            fix="make room, and run this again",
        ) from None


def _folder(folder: str | os.PathLike[str]) -> Path:
    place = Path(folder)
    if not place.is_dir():
        raise ParameterError(f"There is no folder {str(place)!r}.", allowed="a folder", fix=f"mkdir {place}")
    return place


def _unread(path: Path, error: OSError) -> ParameterError:
    return ParameterError(f"The file {str(path)!r} cannot be read: {error.strerror}.", fix="check the path")


def _read_line(path: Path, kind: type[Line]) -> Line:
    try:
        text = b"" if os.path.getsize(plain_file(path, "The file")) > _LARGEST else path.read_bytes()
    except OSError as error:
        raise _unread(path, error) from None
    result = _decoded(text, kind)
    if result is None:
        raise _no_file(path, "is no closing" if kind is Closing else "is no share of a sum")
    return result


Read = TypeVar("Read", bound=msgspec.Struct)


def _decoded(text: bytes, kind: type[Read]) -> Read | None:
    try:
        return msgspec.json.decode(text, type=kind)
    except (ValueError, RecursionError):  # msgspec's errors among them
        return None


def _no_file(path: Path, what: str) -> ParameterError:
    return ParameterError(
        f"The file {str(path)!r} {what}; nothing was counted or told.",
        allowed="files of this card, as the other aggregators wrote them",
        fix="take it again from whoever wrote it",
    )
