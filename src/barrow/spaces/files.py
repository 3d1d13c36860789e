"""Spaces whose public tables were read from files: what is written down instead of the tables.

Spaces take arrays; files are read by ``barrow.engines.with_tables``, which hands over the plain data that name them
with the digests of what they held. Such a space writes these, and is known by the digests, not by names of files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

DIGESTS = "digests"


@dataclass(frozen=True)
class Written:
    """Plain data that name files, with their digests: what a space was read from."""

    spec: Mapping[str, Any]


def remembered(to_spec: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """``to_spec`` of a space, which says what the space was read from where that is known."""

    @wraps(to_spec)
    def found(self: Any) -> dict[str, Any]:
        written = vars(self).get("_written")
        return to_spec(self) if written is None else dict(written.spec)

    return found


def without_names(spec: Any) -> Any:
    """Plain data in which files are known by their digests alone, so that a file may be moved or renamed."""
    if isinstance(spec, list):
        return [without_names(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    named = spec.get(DIGESTS, {})
    return {key: without_names(value) for key, value in spec.items() if key not in named}
