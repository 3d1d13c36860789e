"""The frequency question: how often each item occurs, from randomised items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from barrow.errors import ParameterError
from barrow.mechanisms.frequency import DECODERS

_KEYS = ("kind", "items", "randomiser", "decode")


@dataclass(frozen=True)
class FrequencyQuestion:
    """The mean histogram over people, estimated from reports on all their items.

    Args:
        items: m, how many items each person holds; public.
        randomiser: A kind or plain data; the one that suits the space by default.
        decode: ``"tree"``, ``"simplex"``, ``"bayesian"`` or ``"none"``; the one that suits the space by default.

    >>> frequency_question({"kind": "frequency", "items": 30}).to_spec()
    {'kind': 'frequency', 'items': 30}
    """

    items: int
    randomiser: Mapping[str, Any] | str | None = None
    decode: str | None = None

    def to_spec(self) -> dict[str, Any]:
        """Plain data."""
        named = {"randomiser": self.randomiser, "decode": self.decode}
        return {"kind": "frequency", "items": self.items, **{k: v for k, v in named.items() if v is not None}}


def frequency_question(spec: Mapping[str, Any]) -> FrequencyQuestion:
    """The question that a study's ``[query]`` table asks; unknown keys are refused.

    >>> frequency_question({"kind": "frequency", "items": 30, "decode": "median"})
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: decode is 'median'.
      allowed: 'tree', 'simplex', 'bayesian', 'none', or nothing
      fix:     leave it out
    """
    items = held_items(spec, _KEYS)
    decode = spec.get("decode")
    if decode is not None and decode not in DECODERS:
        raise ParameterError(
            f"decode is {decode!r}.", allowed=", ".join(map(repr, DECODERS)) + ", or nothing", fix="leave it out"
        )
    return FrequencyQuestion(items, spec.get("randomiser"), decode)


def held_items(spec: Mapping[str, Any], keys: Sequence[str]) -> int:
    """m, how many items each person holds, from a study's ``[query]`` table; keys other than ``keys`` are refused.

    >>> held_items({"kind": "items", "items": 30}, ("kind", "items"))
    30
    """
    kind = spec.get("kind")
    unknown = next((key for key in spec if key not in keys), None)
    if unknown is not None:
        raise ParameterError(
            f"The query {kind!r} has no key {unknown!r}.", allowed=", ".join(keys), fix=f"remove {unknown!r}"
        )
    items = spec.get("items")
    if items is None:
        raise ParameterError(
            f"The query {kind!r} does not say how many items each person holds.",
            allowed="items, a public whole number; or samples, where people hold any number",
            fix="items = 30",
        )
    if isinstance(items, bool) or not isinstance(items, int) or items < 1:
        raise ParameterError(f"items is {items!r}.", allowed="a whole number, 1 or more", fix="items = 30")
    return items
