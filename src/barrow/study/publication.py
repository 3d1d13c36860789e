"""Who publishes a study's releases, and what for: the ``[publication]`` of a study, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

import msgspec

from barrow.errors import STEERS, ParameterError, nearest_name
from barrow.questions.statement import Publication

FIELDS = Publication.__struct_fields__
_LONGEST = 1000


def publication_of(given: Publication | Mapping[str, object] | None) -> Publication | None:
    """A publication from plain data; None where nothing is said.

    >>> publication_of({"curator": "City of Example", "date": "2026-11-18"}).curator
    'City of Example'
    >>> publication_of({}) is None
    True
    """
    if given is None or isinstance(given, Publication):
        told: Mapping[str, object] = {} if given is None else msgspec.to_builtins(given)
    elif isinstance(given, Mapping):
        told = given
    else:
        raise _refused(f"is a {type(given).__name__}")
    unknown = next((name for name in told if name not in FIELDS), None)
    if unknown is not None:
        near = nearest_name(str(unknown), FIELDS)
        raise _refused(f"has no {unknown!r}" + (f"; did you mean {near!r}?" if near else ""))
    for name, value in told.items():
        if not isinstance(value, str) or len(value) > _LONGEST or STEERS.search(value) or "\n" in value:
            raise _refused(f"has a {name} that is no text of one line of at most {_LONGEST:,} characters")
    if told.get("date") and not _is_date(str(told["date"])):
        raise _refused(f"has the date {told['date']!r}, which is no day such as 2026-11-18")
    result = Publication(**{name: str(value).strip() for name, value in told.items()})
    return None if result == Publication() else result


def _is_date(text: str) -> bool:
    try:
        return re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _refused(problem: str) -> ParameterError:
    return ParameterError(
        f"The study's publication {problem}.",
        allowed=", ".join(FIELDS) + ", all of them texts",
        fix='[publication]\ncurator = "City of Example"\npurpose = "planning of buses"',
    )
