"""Spaces as plain data (TOML, JSON), and their short names on the command line."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from barrow.errors import ParameterError, nearest_name, plain_table, reading
from barrow.spaces.base import Space
from barrow.spaces.files import Written

_LONGEST = 10_000
"""Characters of a call; Python's own parser needs memory for every bracket and sign."""


def space_kinds() -> dict[str, type[Space]]:
    """Every kind of space by its name in plain data: whatever class with a ``kind`` stands in this folder.

    >>> space_kinds()["line"].__name__
    'Line'
    """
    for module in pkgutil.iter_modules(import_module("barrow.spaces").__path__):
        import_module(f"barrow.spaces.{module.name}")
    found: dict[str, type[Space]] = {}
    waiting: list[Any] = [Space]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if "kind" in vars(kind) and kind.__module__.startswith("barrow.spaces."):
            found[kind.kind] = kind
    return dict(sorted(found.items()))


def _ready() -> dict[str, Callable[..., Space]]:
    """What makes the spaces that people ask for by name."""
    return {word: getattr(kind, word) for kind in space_kinds().values() for word in vars(kind).get("ready", ())}


def cell_key(name: object) -> str:
    """What the size of cells is called in the plain data of a space with this name; nothing where there is none.

    >>> cell_key("earth"), cell_key("hours"), cell_key("weekdays")
    ('cell', 'step', '')
    """
    made: Any = space_kinds().get(str(name)) or _ready().get(str(name))
    if made is None:
        return ""
    key: str = getattr(made, "__self__", made).cell_key
    return key if key in inspect.signature(made).parameters else ""


def space_from_spec(spec: Mapping[str, Any]) -> Space:
    """The space that plain data describe; the way back is ``space.to_spec()``.

    >>> space_from_spec({"kind": "line", "low": 0, "high": 10, "step": 1, "unit": "km"}).size
    11
    >>> space_from_spec({"kind": "lime"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The kind of space is 'lime'. Did you mean 'line'?
      allowed: circle, clustered, ...
      fix:     kind = "line"
    """
    rest = plain_table(spec, "The space")
    name, written = rest.pop("kind", None), rest.pop("written", None)
    kinds, ready = space_kinds(), _ready()
    if isinstance(name, str) and name in ready:
        with reading(f"The space {name!r}", allowed="its own arguments", fix=f'kind = "{name}", and nothing else'):
            return ready[name](**rest)
    kind: Any = kinds.get(str(name))
    if kind is None:
        known = [*kinds, *ready]
        close = nearest_name(name, known)
        hint = f" Did you mean {close!r}?" if close else ""
        raise ParameterError(
            f"The kind of space is {name!r}.{hint}",
            allowed=", ".join(known),
            fix=f'kind = "{close or "earth"}"',
        )
    if not isinstance(rest.get("unit", ""), str):
        raise ParameterError(f"unit is {rest['unit']!r}.", allowed="a text", fix='unit = "km"')
    with reading(
        f"The {name} space", allowed="the arguments of its Python class", fix=f"see help(barrow.{kind.__name__})"
    ):
        space = kind.from_spec(rest)
    if not isinstance(space, Space):
        raise ParameterError(f"The kind {name!r} is not a space.", fix="choose another kind")
    if isinstance(written, Written):
        object.__setattr__(space, "_written", written)
    return space


def parse_call(text: str) -> dict[str, Any] | None:
    """``kind`` or ``kind(name=literal, …)`` as plain data; None where the text is neither. Nothing is evaluated.

    >>> parse_call("density(bandwidth='5 km')"), parse_call("mean"), parse_call("os.system('x')")
    ({'kind': 'density', 'bandwidth': '5 km'}, {'kind': 'mean'}, None)
    """
    import ast

    if len(text) > _LONGEST:
        return None
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if isinstance(node, ast.Name):
            return {"kind": node.id}
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
            return None
        arguments = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords if word.arg}
        return {"kind": node.func.id, **arguments}
    except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError):
        return None


def parse_space(text: str) -> Space:
    """The space named on a command line: ``earth``, ``earth(cell=10)``, ``line(low=0, high=100, unit="years")``.

    The arguments are those of the Python class, as literals; ``hours``, ``weekdays`` and ``months`` are circles.

    >>> parse_space("circle(period=24, unit='h')").diameter, parse_space("hours(step=2)").size
    (12.0, 12)

    A product is written with ``x`` between its parts, perhaps with weights before them:

    >>> parse_space("line(low=0, high=10, step=1, unit='km', cells=True) x hours").items
    240
    >>> [str(w) for w in parse_space("3/4 line(low=0, high=10, step=1, unit='km') x 1/4 hours").weights]
    ['3/4', '1/4']
    """
    spec = parse_spec(text)
    if spec is None:
        raise ParameterError(
            f"The space {text!r} cannot be read.",
            allowed="a kind of space with named arguments, several with ' x ' between them, or a study file",
            fix="--space 'earth(cell=10)', --space 'line(low=0, high=100)', --space 'earth(cell=10) x hours'",
        )
    return space_from_spec(spec)


def parse_spec(text: str) -> dict[str, Any] | None:
    """The plain data of the space that a text names, whether its arguments fit or not; None where it names none.

    >>> parse_spec("3/4 line(low=0, high=10, step='auto') x 1/4 hours")["parts"]
    [{'kind': 'line', 'low': 0, 'high': 10, 'step': 'auto'}, {'kind': 'hours'}]
    """
    pieces = _factors(text)
    return _product(text, pieces) if len(pieces) > 1 else parse_call(text)


def _factors(text: str) -> list[str]:
    """The parts of ``A x B``: an x on its own, outside of brackets and quotes."""
    found, depth, quote, start = [], 0, "", 0
    for i, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign in "x×" and depth == 0 and text[i - 1 : i] == " " and text[i + 1 : i + 2] == " ":
            found.append(text[start:i].strip())
            start = i + 1
    return [*found, text[start:].strip()]


def _product(text: str, pieces: list[str]) -> dict[str, Any] | None:
    """The product of spaces, with weights where they are written before the parts."""
    split = [re.fullmatch(r"(?:([\d./]+%?)\s+)?(.*)", piece, re.DOTALL) for piece in pieces]
    weights = [match[1] for match in split if match is not None]
    parts = [parse_spec(match[2]) for match in split if match is not None]
    if any(part is None for part in parts):
        return None
    if not any(weights):
        return {"kind": "product", "parts": parts}
    if not all(weights):
        raise ParameterError(
            f"Some parts of {text!r} have a weight and some have none.",
            allowed="a weight before each part, or before none",
            fix="3/4 earth(cell=10) x 1/4 hours",
        )
    return {"kind": "product", "parts": parts, "weights": weights}
