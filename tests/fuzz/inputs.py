"""Malformed inputs from well-formed ones: values that surprise, in places where they do not belong."""

import copy
import json
import random
from typing import Any

ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3.5, -0.0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf"),
    2**31, 2**63, 2**64, -(2**63), 10**40, "", " ", "0", "-1", "1/0", "1/3", "1e9999", "-1e-9999", "nan", "inf", "٣",
    "1_0", "0x10", "1e", "--1", "a", "é", "\x00", "\ud800", "💥" * 50, "x" * 5000, "[" * 500, "-" * 3000, "(" * 3000,
    [], {}, [[]], [None], {"a": 1}, {"kind": None}, [1, 2, 3], [[1, 2], [3]], ["a", "a"], ["a", 1], {"": {}},
    "'; drop table records; --", "../../etc/passwd", "%s%n", "{}", "{0}", "line", "all", "1 km", "1e400 km", "-1 km",
    "5 years", "km", "1 of 30", "1 of 0", "0 %", "200 %", b"bytes",
]  # fmt: skip
"""Values of the wrong kind, size or sign."""

MARKS = "()[]{}\"'=,;:-+*/.\\ \n\t\x000123456789eE%αé💥"

WORDS = [
    "kind", "low", "high", "step", "unit", "period", "point", "radius", "center", "box", "cell", "labels", "distances",
    "edges", "r", "values", "names", "lipschitz", "matrix", "weights", "alpha", "delta", "epsilon", "model", "bounded",
    "reports", "items", "samples", "inner", "event", "version", "space", "query", "privacy", "promise", "share", "data",
    "distance", "source", "user", "users", "dataset", "ledger", "out", "sql", "unknown", "density", "histogram",
]  # fmt: skip


def mutated(value: Any, rng: random.Random) -> Any:
    """A copy of plain data with one to four changes."""
    changed = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        changed = _once(changed, rng)
    return changed


def _once(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        roll = rng.random()
        if roll < 0.15:
            del value[key]
        elif roll < 0.25:
            value[rng.choice(WORDS)] = odd(rng)
        elif roll < 0.32:
            value[rng.choice(WORDS)] = value.pop(key)
        else:
            value[key] = _once(value[key], rng)
        return value
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        roll = rng.random()
        if roll < 0.15:
            del value[place]
        elif roll < 0.3:
            value.insert(place, copy.deepcopy(rng.choice(value)))
        else:
            value[place] = _once(value[place], rng)
        return value
    if isinstance(value, str) and rng.random() < 0.5:
        return mutated_text(value, rng)
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.4:
        return rng.choice((-value, value * 1e6, value / 7, str(value), [value], value + 0.5))
    return odd(rng)


def odd(rng: random.Random) -> Any:
    """A surprising value."""
    return copy.deepcopy(rng.choice(ODD))


def mutated_text(text: str, rng: random.Random) -> str:
    """A text with a few characters or stretches changed."""
    for _ in range(rng.choice((1, 1, 2, 5))):
        a, b = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        roll = rng.random()
        if roll < 0.3:
            text = text[:a] + text[b:]
        elif roll < 0.5:
            text = text[:b] + text[a:b] * rng.choice((1, 2, 200)) + text[b:]
        elif roll < 0.8:
            text = (
                text[:a]
                + rng.choice("()[]{}\"'=,;:-+*/.\\ \n\t\x000123456789eE%αé💥") * rng.choice((1, 1, 3))
                + text[a:]
            )
        else:
            text = text[:a] + str(odd(rng)) + text[b:]
        text = text[:20_000]
    return text


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes with a few of them changed, dropped or repeated."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 2, 5, 20))):
        place = rng.randrange(len(changed) + 1)
        roll = rng.random()
        if roll < 0.4 and changed:
            changed[place % len(changed)] = rng.randrange(256)
        elif roll < 0.6:
            del changed[place : place + rng.randint(1, 8)]
        elif roll < 0.8:
            changed[place:place] = rng.choice((b"\n", b",", b'"', b"\xff\xfe", b"\x00", b"nan", b"1e999", b";", b"\r"))
        else:
            changed[place:place] = changed[: rng.randint(0, 40)]
    return bytes(changed)


def as_json(value: Any) -> str:
    """JSON as other writers may write it: with NaN, and what is not JSON as text."""
    return json.dumps(value, default=str)
