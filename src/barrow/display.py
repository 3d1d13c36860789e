"""What values ask of ``barrow.render``, which draws them and which nothing below it imports.

``barrow/__init__.py`` knows every folder and runs before any of them: there it is said where the renderer is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, Protocol


class Renderer(Protocol):
    """How values are shown to people."""

    def bundle(self, thing: object) -> dict[str, str]:
        """What a notebook shows of a value, by media type."""

    def plot(self, thing: object, **style: Any) -> Any:
        """The figure of a value."""

    def release_files(self, statement: Any, tables: Mapping[str, Any], plan: Any) -> dict[str, bytes]:
        """What every release writes beside its values and its statement."""


_load: list[Callable[[], Renderer]] = []


def install(load: Callable[[], Renderer]) -> None:
    """Says how the renderer is loaded when it is asked for first."""
    _load[:] = [load]


def renderer() -> Renderer:
    """The renderer.

    >>> renderer().__name__
    'barrow.render'
    """
    return _load[0]()


def paragraphs_html(texts: Iterable[str]) -> str:
    """Texts as paragraphs, for notebooks.

    >>> paragraphs_html(["a < b", ""])
    '<p>a &lt; b</p>'
    """
    return "".join(f"<p>{escape(text)}</p>" for text in texts if text)


def table_html(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table for notebooks: columns of numbers at the right, head and all; floats in a few digits.

    >>> for row in table_html(["who", "error"], [["Ann", 0.123456]]).split("<tr>")[1:]:
    ...     print(row)
    <th style="text-align:left">who</th><th style="text-align:right">error</th></tr>
    <td style="text-align:left">Ann</td><td style="text-align:right">0.1235</td></tr></table>
    """
    texts = [[_cell(value) for value in row] for row in rows]
    sides = ["right" if texts and _NUMBER.fullmatch(texts[0][k]) else "left" for k in range(len(heads))]

    def row(tag: str, cells: Iterable[str]) -> str:
        inner = (table_cell(tag, cell, side) for side, cell in zip(sides, cells, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    return f"<table>{row('th', heads)}{''.join(row('td', cells) for cells in texts)}</table>"


def table_cell(tag: str, text: str, side: str) -> str:
    """A cell of a table for notebooks; JupyterLab's own style, right, outweighs the attribute ``align``.

    >>> table_cell("td", "a < b", "left")
    '<td style="text-align:left">a &lt; b</td>'
    """
    return f'<{tag} style="text-align:{side}">{escape(text)}</{tag}>'


_NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?( \S+)?")
"""A number, with a unit perhaps."""


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Displayed:
    """A value that a notebook shows as text and figure."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return renderer().bundle(self)


class Plotted(Displayed):
    """A value whose figure people ask for by itself: released values."""

    def plot(self, **style: Any) -> Any:
        """The figure of these values, as :func:`barrow.plot` draws it."""
        return renderer().plot(self, **style)
