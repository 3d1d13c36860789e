"""One digest of plain data, by which spaces, queries, studies and randomisers name themselves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def digest_of(data: Any) -> str:
    """SHA-256 of the canonical JSON text of plain data: sorted keys, no spaces.

    >>> digest_of({"b": 1, "a": 2}) == digest_of({"a": 2, "b": 1})
    True
    """
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def table_digest(labels: Sequence[str] = (), numbers: NDArray[np.float64] | None = None) -> str:
    """SHA-256 of a public table: its labels and its numbers as doubles, whatever file they were read from."""
    result = hashlib.sha256(b"table")
    for label in labels:
        text = label.encode()
        result.update(len(text).to_bytes(8, "little") + text)
    if numbers is not None:
        result.update(repr(numbers.shape).encode())
        result.update(np.ascontiguousarray(numbers, dtype="<f8").tobytes())
    return "sha256:" + result.hexdigest()
