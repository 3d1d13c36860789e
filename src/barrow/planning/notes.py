"""What is said beside a number: how much a reader should mind, and the sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """How much a note matters: from what is only worth knowing to what every promise rests on."""

    REMARK = 1
    """About mechanisms that were not chosen."""
    WARNING = 2
    """The answer may be of little use."""
    LIMIT = 3
    """Promises do not say what one may think they say."""
    UNPROVED = 4
    """The guarantee rests on somebody's word."""


@dataclass(frozen=True)
class Note:
    """A sentence about an answer or a comparison.

    >>> texts([Note(Severity.REMARK, "One."), Note(Severity.WARNING, "Two.")], Severity.WARNING)
    ['Two.']
    """

    severity: Severity
    text: str


def texts(notes: Iterable[Note], *wanted: Severity) -> list[str]:
    """The sentences of some severities, in the order of the notes."""
    return [note.text for note in notes if note.severity in wanted]


def warnings_of(sentences: Iterable[str]) -> list[Note]:
    """Sentences as warnings."""
    return [Note(Severity.WARNING, text) for text in sentences]
