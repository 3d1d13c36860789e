"""One person's report: integers on the study's grid, the study's digest and a random number of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barrow.errors import ParameterError

REPORT_VERSION = 1
_KIND = "local report"
_KEYS = {"barrow", "version", "study", "id", "values"}
_MOST = 2**256
_MOST_TEXT = 2**26


@dataclass(frozen=True)
class Report:
    """What a person hands over.

    Attributes:
        study: The digest of the study that it answers.
        id: 128 random bits in hexadecimal, so that a report sent twice is counted once.
        values: One integer for each output, in units of the study's grid.

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
            raise ParameterError(f"A report {problem}.", allowed="see docs/local.md", fix="make it with LocalClient")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "barrow": _KIND,
            "version": REPORT_VERSION,
            "study": self.study,
            "id": self.id,
            "values": list(self.values),
        }

    def to_text(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_json(), separators=(",", ":"))


class MalformedReportError(ParameterError):
    """What was received is not a report; ``reason`` says why in one word or two.

    >>> MalformedReportError("malformed", "is not JSON").reason
    'malformed'
    """

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(f"A report {problem}.", allowed="see docs/local.md", fix="make it with LocalClient")
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return (MalformedReportError, (self.reason, self.problem[len("A report ") : -1]))


def report_from_json(data: str | bytes | Mapping[str, Any]) -> Report:
    """Reads a report strictly: exactly the known keys, types and lengths.

    >>> report_from_json("{}")
    Traceback (most recent call last):
    ...
    barrow.local.report.MalformedReportError: A report has not exactly the keys barrow, id, study, values, version.
      allowed: see docs/local.md
      fix:     make it with LocalClient
    """
    if isinstance(data, str | bytes):
        if len(data) > _MOST_TEXT:
            raise MalformedReportError("malformed", "is too long")
        try:
            data = json.loads(data)
        except (ValueError, RecursionError):
            raise MalformedReportError("malformed", "is not JSON") from None
    if not isinstance(data, Mapping) or set(data) != _KEYS or data["barrow"] != _KIND:
        raise MalformedReportError("malformed", f"has not exactly the keys {', '.join(sorted(_KEYS))}")
    if isinstance(data["version"], bool) or data["version"] != REPORT_VERSION:
        raise MalformedReportError("another version", "is of another version")
    values = data["values"]
    problem = "has values that are no list" if not isinstance(values, list) else None
    problem = problem or _problem(data["study"], data["id"], values)
    if problem:
        raise MalformedReportError("malformed", problem)
    return Report(data["study"], data["id"], tuple(values))


def read_for(study: str, received: Report | str | bytes | Mapping[str, Any]) -> Report | str:
    """What was received as a report of one study, or the reason why it is none.

    >>> read_for("sha256:" + "0" * 64, "hello")
    'malformed'
    """
    try:
        report = received if isinstance(received, Report) else report_from_json(received)
    except MalformedReportError as error:
        return error.reason
    return report if report.study == study else "another study"


def _problem(study: Any, name: Any, values: Any) -> str | None:
    if not isinstance(study, str) or re.fullmatch(r"sha256:[0-9a-f]{64}", study) is None:
        return "has no digest of a study"
    if not isinstance(name, str) or re.fullmatch(r"[0-9a-f]{32}", name) is None:
        return "has no id of 32 hexadecimal digits"
    if not values or any(type(v) is not int or abs(v) >= _MOST for v in values):
        return "has values that are not whole numbers"
    return None
