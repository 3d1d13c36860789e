"""One digest of plain data, by which spaces, queries, studies and randomisers name themselves."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def digest_of(data: Any) -> str:
    """SHA-256 of the canonical JSON text of plain data: sorted keys, no spaces.

    >>> digest_of({"b": 1, "a": 2}) == digest_of({"a": 2, "b": 1})
    True
    """
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
