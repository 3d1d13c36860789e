"""What a person hands over: a report of their own (local model), or messages that nobody can link (shuffle model)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from barrow.errors import ParameterError

REPORT_VERSION = 1
_KIND = "local report"
_MOST = 2**256
_MOST_TEXT = 2**26
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_ID = re.compile(r"[0-9a-f]{32}")
_DIGITS = re.compile(r"[0-9]+")


class _ReportWire(msgspec.Struct, forbid_unknown_fields=True):
    """A report as JSON: exactly these keys."""

    barrow: str
    version: int
    study: str
    id: str
    values: list[Any]


class _Message(msgspec.Struct, forbid_unknown_fields=True):
    """A message as JSON: exactly these keys; nothing that two of them could share but the study."""

    barrow: str
    version: int
    study: str
    value: str


@dataclass(frozen=True)
class Report:
    """What a person hands over in the local model.

    Attributes:
        study: The digest of the study and question that it answers.
        id: 128 random bits in hexadecimal, so that a report sent twice is counted once.
        values: Integers, as the question has them.

    >>> report = Report("sha256:" + "0" * 64, "0" * 32, (5, -3))
    >>> report_from_json(report.to_text()) == report
    True
    """

    study: str
    id: str
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        problem = _problem(self.study, self.id, self.values)
        if problem:
            raise ParameterError(f"A report {problem}.", allowed="see docs/local.md", fix="make it with Client")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        values = list(self.values)
        return {"barrow": _KIND, "version": REPORT_VERSION, "study": self.study, "id": self.id, "values": values}

    def to_text(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_json(), separators=(",", ":"))


class MalformedReportError(ParameterError):
    """What was received is not a report; ``reason`` says why in one word or two.

    >>> MalformedReportError("malformed", "is not JSON").reason
    'malformed'
    """

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(f"A report {problem}.", allowed="see docs/local.md", fix="make it with Client")
        self.reason = reason


def report_from_json(data: str | bytes | Mapping[str, Any]) -> Report:
    """Reads a report strictly: exactly the known keys, types and lengths.

    >>> report_from_json("{}")
    Traceback (most recent call last):
    ...
    barrow.local.report.MalformedReportError: A report has not exactly the keys barrow, id, study, values, version.
      allowed: see docs/local.md
      fix:     make it with Client
    """
    result = _decoded(data, _ReportWire)
    if result.barrow != _KIND:
        raise _keys(_ReportWire)
    if result.version != REPORT_VERSION:
        raise MalformedReportError("another version", "is of another version")
    problem = _problem(result.study, result.id, result.values)
    if problem:
        raise MalformedReportError("malformed", problem)
    return Report(result.study, result.id, tuple(result.values))


def _decoded(data: str | bytes | Mapping[str, Any], kind: Any) -> Any:
    try:
        if isinstance(data, Mapping):
            return msgspec.convert(dict(data), kind)
        if not isinstance(data, str | bytes):
            raise MalformedReportError("malformed", "is not JSON")
        if len(data) > _MOST_TEXT:
            raise MalformedReportError("malformed", "is too long")
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise _keys(kind) from None
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        raise MalformedReportError("malformed", "is not JSON") from None


def _keys(kind: Any) -> MalformedReportError:
    return MalformedReportError("malformed", f"has not exactly the keys {', '.join(sorted(kind.__struct_fields__))}")


def read_for(study: str, received: Report | str | bytes | Mapping[str, Any]) -> Report | str:
    """What was received as a report of one study, or the reason why it is none."""
    try:
        report = received if isinstance(received, Report) else report_from_json(received)
    except MalformedReportError as error:
        return error.reason
    return report if report.study == study else "another study"


def _problem(study: Any, name: Any, values: Any) -> str | None:
    if not isinstance(study, str) or _DIGEST.fullmatch(study) is None:
        return "has no digest of a study"
    if not isinstance(name, str) or _ID.fullmatch(name) is None:
        return "has no id of 32 hexadecimal digits"
    if not values or any(type(v) is not int or abs(v) >= _MOST for v in values):
        return "has values that are not whole numbers"
    return None


def message_of(study: str, value: int, kinds: int) -> str:
    """One message of the shuffle model: one value, and nothing that says whose it is; all are of one size.

    >>> len(message_of("sha256:" + "0" * 64, 3, 100)) == len(message_of("sha256:" + "0" * 64, 42, 100))
    True
    """
    width = len(str(kinds - 1))
    return f'{{"barrow":"message","version":{REPORT_VERSION},"study":"{study}","value":"{value:0{width}d}"}}'


def value_of(study: str, text: str | bytes, kinds: int) -> int | str:
    """The value of a message of one study, or the reason why it is none."""
    line = text.decode("utf-8", "replace").strip() if isinstance(text, bytes) else text.strip()
    try:
        result = _decoded(line, _Message)
    except MalformedReportError as error:
        return "linked report" if f'"{_KIND}"' in line[:200] else error.reason
    if result.version != REPORT_VERSION:
        return "another version"
    if result.study != study:
        return "another study"
    if _DIGITS.fullmatch(result.value) is None or len(result.value) != len(str(kinds - 1)):
        return "malformed"
    value = int(result.value)
    # Sizes and spellings are fixed: anything else could mark a person.
    if value >= kinds or line != message_of(study, value, kinds):
        return "malformed"
    return value
