"""Mixing: the messages of many people, permuted by the system's entropy, so that nobody can say whose one is.

What a batch holds is a multiset of values: sizes are equal, and no id, order or time comes with a message.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.local.client import Survey
from barrow.local.report import message_of, value_of
from barrow.noise import system_source, uniform_below

_KIND, _VERSION = "batch", 1
Integers = NDArray[np.int64]
_ID = re.compile(r"[0-9a-f]{32}")


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    """The first line of a batch."""

    barrow: str
    version: int
    study: str
    id: str
    people: int


@dataclass(frozen=True, eq=False)
class MixedBatch:
    """The mixed messages of many people.

    Attributes:
        study: The digest of the survey.
        id: 128 random bits in hexadecimal: a batch is opened once.
        people: Whose messages are in it, in number.
        values: The values, in a random order.
        refused: How many messages were left out, by reason.

    >>> MixedBatch("sha256:" + "0" * 64, "0" * 32, 1, np.array([3]), {}).people
    1
    """

    study: str
    id: str
    people: int
    values: Integers
    refused: Mapping[str, int]

    def lines(self, kinds: int) -> Iterable[str]:
        """The batch as lines of a file: a head, then one message a line."""
        head = {"barrow": _KIND, "version": _VERSION, "study": self.study, "id": self.id, "people": self.people}
        yield json.dumps(head, separators=(",", ":"))
        for value in self.values.tolist():
            yield message_of(self.study, value, kinds)


def permuted(values: Integers) -> Integers:
    """A uniformly random order, exactly, from the system's entropy (Fisher and Yates)."""
    mixed = np.array(values, dtype=np.int64)
    places = uniform_below(np.arange(1, len(mixed) + 1)).tolist()
    held = mixed.tolist()
    for i in range(len(held) - 1, 0, -1):
        j = places[i]
        held[i], held[j] = held[j], held[i]
    return np.array(held, dtype=np.int64)


def mix(survey: Survey, messages: Iterable[str | bytes]) -> MixedBatch:
    """The messages of many people in a random order, as one batch.

    Args:
        survey: The survey, of a shuffle study.
        messages: Lines as clients write them, of any number of people.

    >>> from barrow.study import Study
    >>> study = Study("discrete(labels=['a', 'b'])", alpha=6, users=2, delta="1e-6", model="shuffle")
    >>> survey = Survey(study, "items(items=2)")
    >>> batch = mix(survey, [message_of(survey.digest, value, 2) for value in (0, 1, 1, 1)])
    >>> batch.people, sorted(batch.values.tolist())
    (2, [0, 1, 1, 1])
    """
    kinds, length = kinds_of(survey), survey.collector().length
    refused: Counter[str] = Counter()
    values = []
    for line in messages:
        result = value_of(survey.digest, line, kinds)
        if isinstance(result, str):
            refused[result] += 1
        else:
            values.append(result)
    if not values or len(values) % length:
        raise ParameterError(
            "The messages are not those of a whole number of people.",
            allowed=f"exactly {length:,} messages of each person",
            fix="collect all messages of each person, each once",
        )
    name = "".join(f"{int(word):016x}" for word in system_source().words(2))
    return MixedBatch(survey.digest, name, len(values) // length, permuted(np.array(values)), dict(refused))


def read_batch(survey: Survey, lines: Iterable[str]) -> MixedBatch:
    """The batch that a file holds; anything else is refused, linked reports with a reason of their own.

    >>> from barrow.study import Study
    >>> study = Study("discrete(labels=['a', 'b'])", alpha=6, users=1, delta="1e-6", model="shuffle")
    >>> survey = Survey(study, "items(items=2)")
    >>> lines = mix(survey, [message_of(survey.digest, value, 2) for value in (0, 1)]).lines(2)
    >>> read_batch(survey, lines).people
    1
    """
    kinds, length = kinds_of(survey), survey.collector().length
    rows = iter(lines)
    first = next(rows, "")
    try:
        head = msgspec.json.decode(first, type=_Head)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        head = None
    if head is None or (head.barrow, head.version) != (_KIND, _VERSION) or _ID.fullmatch(head.id) is None:
        linked = '"local report"' in first[:200]
        raise ParameterError(
            "These are reports that link the values of one person." if linked else "This is not a mixed batch.",
            allowed="a file that barrow local mix wrote",
            fix="barrow local mix MESSAGES… --study study.toml --out batch.jsonl",
        )
    values = [value_of(survey.digest, line, kinds) for line in rows if line.strip()]
    whole = [value for value in values if isinstance(value, int)]
    if len(whole) != len(values) or len(whole) != length * head.people or head.study != survey.digest:
        raise ParameterError(
            "The batch is incomplete, or belongs to another study.",
            allowed="a file that barrow local mix wrote for this study",
            fix="mix the messages again",
        )
    return MixedBatch(head.study, head.id, head.people, np.array(whole, dtype=np.int64), {})


def kinds_of(survey: Survey) -> int:
    """How many kinds of messages a survey has."""
    kinds = survey.channel.message_kinds
    if not survey.shuffled or kinds is None:
        raise ParameterError(
            "The study does not use mixed messages.",
            allowed="model = 'shuffle' and a question about items or frequencies",
            fix="barrow local aggregate, for reports",
        )
    return kinds
