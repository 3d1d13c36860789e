"""The rows of a ledger: a hash chain, and a store that keeps it in order, adds under one lock, and lies about nothing.

Each row's hash covers its text and the hash before it. This shows edits, swaps and drops inside the chain. It cannot
show that rows are missing at its end, nor that somebody wrote the whole chain anew: both need a head that was kept
elsewhere (:class:`ChainHead`).

A store knows nothing of budgets. Every store passes the same suite (tests/ledger/store_suite.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, Protocol

from barrow.errors import ParameterError
from barrow.numerics import exact_text

GENESIS = "0" * 64
"""What stands for the hash before the first record."""

_DOMAIN = b"barrow ledger 1\n"
_HEAD = re.compile(r"(\d+):([0-9a-f]{64})")


class Row(NamedTuple):
    """One record as a store keeps it: number (from 1), canonical text, hash."""

    seq: int
    body: str
    hash: str


@dataclass(frozen=True)
class ChainHead:
    """Length and head hash of the chain: kept elsewhere, it shows later that nothing was cut off.

    >>> head = ChainHead(3, "ab" * 32)
    >>> ChainHead.parse(str(head)) == head
    True
    """

    length: int
    hash: str

    @classmethod
    def parse(cls, text: str) -> ChainHead:
        """The head written as ``LENGTH:HASH``.

        >>> ChainHead.parse("3")
        Traceback (most recent call last):
        ...
        barrow.errors.ParameterError: The head is '3'.
          allowed: LENGTH:HASH, as 'barrow ledger head' prints it
          fix:     --head 3:<64 hexadecimal digits>
        """
        match = _HEAD.fullmatch(text.strip())
        if match is None or int(match[1]) < 1:
            raise ParameterError(
                f"The head is {text!r}.",
                allowed="LENGTH:HASH, as 'barrow ledger head' prints it",
                fix="--head 3:<64 hexadecimal digits>",
            )
        return cls(int(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.length}:{self.hash}"


def link(previous: str, body: str) -> str:
    """SHA-256 over the hash before and the text of a record."""
    return hashlib.sha256(_DOMAIN + previous.encode() + b"\n" + body.encode()).hexdigest()


written = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
"""The canonical text of what was parsed from JSON and so is plain: 9 microseconds for a record, not 29."""


def canonical(data: object) -> str:
    r"""The one JSON text of plain data: sorted keys, no spaces, exact numbers as text."""
    return written(_plain(data))


def digest(data: object) -> str:
    """SHA-256 of :func:`canonical`."""
    return "sha256:" + hashlib.sha256(canonical(data).encode()).hexdigest()


_LEAVES = frozenset({str, int, bool, type(None)})
"""What stands in most places, and stays as it is."""


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ParameterError("A parameter has a name that is not text.", allowed="names that are text")
        return {key: item if type(item) in _LEAVES else _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [item if type(item) in _LEAVES else _plain(item) for item in value]
    if isinstance(value, Fraction):
        return exact_text(value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and value - value == 0.0:
        return value
    raise ParameterError(
        f"A parameter of the type {type(value).__name__} cannot be written down.",
        allowed="text, finite numbers, fractions, true, false, nothing, and lists and mappings of these",
        fix="give plain data, e.g. arrays as lists or as their digest",
    )


class Other(NamedTuple):
    """A ledger beside another one: what to open it by, and the text of its first record."""

    where: str
    first: str


class Transaction(Protocol):
    """Sight of all rows and the right to add some, while nobody else can.

    >>> sorted(name for name in vars(Transaction) if not name.startswith("_"))
    ['append', 'others', 'rows']
    """

    def rows(self, after: int = 0) -> list[Row]:
        """The rows whose number is above ``after``, in order."""

    def append(self, row: Row) -> None:
        """Add ``row``, whose number must be one more than the last."""

    def others(self) -> list[Other]:
        """The other ledgers in the same folder or database."""


class Store(Protocol):
    """Where the rows of a ledger live.

    The four promises:

    - inside :meth:`transaction` nobody else, in this or another process, can add rows;
    - when its block has ended without an error, the appended rows are durable: they survive a power cut;
    - when it ended with an error, none of them is there, or the error is a
      :class:`~barrow.ledger.errors.LedgerIOError`, after which nobody knows;
    - rows are never changed and never removed.

    >>> sorted(name for name in vars(Store) if not name.startswith("_"))
    ['name', 'rows', 'transaction']
    """

    @property
    def name(self) -> str:
        """What people call this store, e.g. its path."""

    def rows(self, after: int = 0) -> list[Row]:
        """The rows whose number is above ``after``, in order, of one moment."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """An exclusive, durable, all-or-nothing block."""


def lost_rows(rows: Sequence[Row], after: int) -> int | None:
    """The number of the first row that is not one more than the row before it; None if there is none."""
    for expected, row in enumerate(rows, start=after + 1):
        if row.seq != expected:
            return row.seq
    return None


def fsync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable; without it a new file can vanish in a power cut."""
    if os.name == "nt":
        return  # Windows cannot open folders; NTFS journals names.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_durably(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Put ``content`` into the file ``path``, whole and durable or not at all; never through a name that is taken."""
    draft = path.with_name(f".{path.name}.{os.getpid()}-{time.monotonic_ns()}.new")
    try:
        with open(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        fsync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
