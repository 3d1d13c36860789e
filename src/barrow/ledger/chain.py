"""The hash chain: each record's hash covers its text and the hash before it.

It shows edits, swaps and drops inside the chain. It cannot show that records are missing at its end, nor that
somebody wrote the whole chain anew: both need a head that was kept elsewhere (``Head``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from barrow.errors import ParameterError
from barrow.numerics import exact_text

GENESIS = "0" * 64
"""What stands for the hash before the first record."""

_DOMAIN = b"barrow ledger 1\n"


class Row(NamedTuple):
    """One record as a store keeps it: number (from 1), canonical text, hash."""

    seq: int
    body: str
    hash: str


def link(previous: str, body: str) -> str:
    """SHA-256 over the hash before and the text of a record."""
    return hashlib.sha256(_DOMAIN + previous.encode() + b"\n" + body.encode()).hexdigest()


def canonical(data: Any) -> str:
    r"""The one JSON text of plain data: sorted keys, no spaces, exact numbers as text."""
    return json.dumps(_plain(data), sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(data: Any) -> str:
    """SHA-256 of :func:`canonical`."""
    return "sha256:" + hashlib.sha256(canonical(data).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ParameterError("A parameter has a name that is not text.", allowed="names that are text")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Fraction):
        return exact_text(value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and value - value == 0.0:
        return value
    raise ParameterError(
        f"A parameter of the type {type(value).__name__} cannot be written down.",
        allowed="text, finite numbers, fractions, true, false, nothing, and lists and mappings of these",
        fix="give plain data, e.g. arrays as lists or as their digest",
    )
