"""Studies as plain data: their digest, by which reports name them, and what is refused when they are read back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from typing import Any

from barrow.errors import ParameterError


def digest_of(data: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical text of plain data.

    >>> digest_of({"b": 1, "a": 2}) == digest_of({"a": 2, "b": 1})
    True
    """
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def check_kind(data: Mapping[str, Any], kind: str, version: int, keys: Set[str], maker: str) -> None:
    """Refuse plain data that are not exactly a study of one kind and version.

    >>> check_kind({"barrow": "item study", "version": 1}, "item study", 1, {"barrow", "version"}, "ItemStudy")
    """
    if set(data) != keys or data["barrow"] != kind or data["version"] != version:
        raise ParameterError(
            f"This is not {'an' if kind[0] in 'aeiou' else 'a'} {kind} of version {version}.",
            allowed=f"exactly the keys {', '.join(sorted(keys))}",
            fix=f"write it with {maker}(...).to_json()",
        )
