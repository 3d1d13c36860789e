"""SVG as text: elements, numbers, and texts that stay texts whatever they contain."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

KEY = "\x01"
"""Stands for the figure's key in ids until the key is known; :func:`clean` lets no text contain it."""

# What XML 1.0 forbids, lone surrogates, and controls that reorder the text around them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_REORDERING = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_SPECIAL = re.compile('[&<>"]')
_BLANKS = re.compile(r"\s+")


def clean(text: object) -> str:
    r"""A label as one line of text that any XML parser takes and that cannot reorder its neighbours."""
    return _BLANKS.sub(" ", _REORDERING.sub("", _FORBIDDEN.sub("\ufffd", str(text)))).strip()


def lawful(text: str) -> str:
    r"""A sentence of the library's own, without what XML forbids."""
    return _FORBIDDEN.sub("\ufffd", text)


def isolated(text: object) -> str:
    r"""A cleaned label inside a sentence: a right-to-left label leaves the rest of the sentence in order."""
    said = clean(text)
    turned = not said.isascii() and any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in said)
    return f"\u2068{said}\u2069" if turned else said


def escape(text: str) -> str:
    """The text as XML character data, also within double quotes."""
    if _SPECIAL.search(text) is None:
        return text
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def number(value: float) -> str:
    """A coordinate with at most two decimals.

    >>> number(12.0), number(0.126), number(-0.001), number(1234.5)
    ('12', '0.13', '0', '1234.5')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def element(tag: str, *children: str, text: str | None = None, **attributes: object) -> str:
    """One element; children are SVG already, ``text`` and attributes are escaped here.

    A trailing underscore of a name goes, others become hyphens; floats are written as coordinates; None is left out.
    """
    inner = "".join(children) + ("" if text is None else escape(text))
    written = "".join(
        [f' {_hyphens(name)}="{_attribute(value)}"' for name, value in attributes.items() if value is not None]
    )
    return f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>"


@cache
def _hyphens(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _attribute(value: object) -> str:
    return number(float(value)) if isinstance(value, float | np.floating) else escape(str(value))


def polyline(points: Iterable[tuple[float, float]]) -> str:
    """The path through points."""
    return "M" + "L".join(f"{number(x)},{number(y)}" for x, y in points)


def mark(*children: str, at: tuple[float, float], said: str) -> str:
    """Something that can be read out: pointers and arrow keys find it at ``at`` and read ``said``."""
    return element("g", element("title", text=said), *children, data_at=f"{number(at[0])},{number(at[1])}")


def hatch() -> str:
    """The pattern of what is below the noise; :func:`hatched` refers to it."""
    lines = element("path", d="M-2,2l4,-4M0,7l7,-7M5,9l4,-4", class_="hatch")
    return element("pattern", lines, id=f"{KEY}-hatch", width=7, height=7, patternUnits="userSpaceOnUse")


def hatched() -> str:
    """The fill of what is below the noise."""
    return f"url(#{KEY}-hatch)"
