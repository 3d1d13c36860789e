"""The draft's one source of derived randomness: TurboSHAKE128 of a tag, a seed and what both sides agree on."""

from __future__ import annotations

from typing import Any

from barrow.collect.prio3.fields import Elements, Field128
from barrow.errors import optional_library

VERSION = 18
"""The draft's version on the wire; every derived value depends on it."""
SEED = 32
"""Bytes of a seed."""


def tag(algorithm: int, usage: int, context: bytes) -> bytes:
    """What keeps uses apart: version, class 0 (a VDAF), algorithm, usage and the application's context."""
    return bytes([VERSION, 0]) + algorithm.to_bytes(4, "big") + usage.to_bytes(2, "big") + context


def _stream(seed: bytes, label: bytes, binder: bytes) -> Any:
    shake = optional_library("Crypto.Hash.TurboSHAKE128", extra="collect", purpose="Secure sums")
    head = len(label).to_bytes(2, "little") + label + bytes([len(seed)]) + seed
    return shake.new(domain=1, data=head + binder)


def derive_seed(seed: bytes, label: bytes, binder: bytes) -> bytes:
    """Another seed.

    >>> derive_seed(bytes(32), b"a use", b"what is agreed on").hex()[:16]
    '31dbe1169bcbc6eb'
    """
    return bytes(_stream(seed, label, binder).read(SEED))


def expand(field: Field128, seed: bytes, label: bytes, binder: bytes, length: int) -> Elements:
    """So many elements; what is not below the modulus is passed over, as it comes."""
    stream = _stream(seed, label, binder)
    result = field.read(stream.read(length * field.size))
    fits = field.canonical(result)
    if fits.all():
        return result
    data = field.write(result[fits])
    while len(data) < length * field.size:
        more = field.read(stream.read(field.size))
        data += field.write(more[field.canonical(more)])
    return field.read(data)
