"""Anchors: the head of a ledger kept in another place, so that an older copy that was put back is not spent from again.

An anchor is a file of one line. Spending is refused when the ledger is not a continuation of its anchor, and each
payment moves the anchor on. A process that dies in between leaves an anchor that is older than the ledger: harmless.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from barrow.errors import plain_file
from barrow.ledger.errors import CorruptLedgerError, LedgerIOError, MissingLedgerError
from barrow.ledger.state import LedgerState
from barrow.ledger.store import ChainHead, write_durably

VARIABLE = "BARROW_LEDGER_ANCHOR"
"""The environment variable that names the anchor where nothing else does."""

_LINE = re.compile(r"barrow anchor 1 ([0-9a-f-]{1,80}) (\d{1,18}:[0-9a-f]{64})\n?")


@dataclass(frozen=True)
class Anchor:
    """Which ledger, and how far it had come.

    >>> print(Anchor("0f", ChainHead(3, "ab" * 32)).line[:29])
    barrow anchor 1 0f 3:abababab
    """

    ledger: str
    head: ChainHead

    @property
    def line(self) -> str:
        """The file's content."""
        return f"barrow anchor 1 {self.ledger} {self.head}\n"

    @classmethod
    def read(cls, path: Path) -> Anchor:
        """The anchor in the file ``path``."""
        try:
            with plain_file(path, "The anchor").open(encoding="utf-8") as file:
                text = file.read(1000)
        except (OSError, UnicodeDecodeError):
            text = ""
        match = _LINE.fullmatch(text)
        if match is None:
            raise MissingLedgerError(
                f"There is no anchor in the file {str(path)!r}. Nothing was spent.",
                allowed="a file made by barrow ledger anchor",
                fix=f"find out why it is gone; if the ledger is the newest: barrow ledger anchor LEDGER {path}",
            )
        return cls(match[1], ChainHead.parse(match[2]))

    def write(self, path: Path) -> None:
        """Put this anchor into the file ``path``, whole and durable, in place of an older one of the same ledger."""
        try:
            write_durably(path, self.line.encode())
        except OSError as error:
            raise LedgerIOError(
                f"The anchor {str(path)!r} could not be written ({error.strerror}). What was paid stays paid.",
                allowed="a folder that you may write to, on another disk than the ledger",
                fix="correct it, then open the ledger anew",
            ) from error


def check_anchor(state: LedgerState, path: Path) -> None:
    """Refuse a ledger that is not a continuation of the anchor in ``path``."""
    anchor = Anchor.read(path)
    if anchor.ledger != state.name:
        raise CorruptLedgerError(
            f"The anchor {str(path)!r} is of another ledger. Nothing was spent.",
            allowed="the anchor of this ledger",
            fix="check both paths",
        )
    check_head(state, anchor.head)


def check_head(state: LedgerState, head: ChainHead) -> None:
    """Refuse a book that ``head`` is not part of."""
    if head.length > state.head.length:
        raise CorruptLedgerError.at(
            state.head.length + 1,
            f"it is gone: the anchored head counts {head.length} records, so this is an older copy",
        )
    if state.records[head.length - 1].hash != head.hash:
        raise CorruptLedgerError.at(head.length, "it is not the record of the anchored head")


def move_anchor(state: LedgerState, path: Path) -> None:
    """Write the head of ``state`` into ``path``, unless somebody who saw more has moved it further already."""
    with suppress(MissingLedgerError):
        anchor = Anchor.read(path)
        if anchor.ledger == state.name and anchor.head.length > state.head.length:
            return
        check_anchor(state, path)
    Anchor(state.name, state.head).write(path)
