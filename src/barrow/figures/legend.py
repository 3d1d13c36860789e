"""The key of a figure with classes: swatches and what they mean, in as many rows as they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barrow.figures.lettering import text_width, wrapped
from barrow.figures.svg import element, hatched

_ROW = 21.0
_SHADES = {1: (3,), 2: (2, 5), 3: (1, 3, 5), 4: (1, 2, 4, 5), 5: (1, 2, 3, 4, 5)}


def shades_of(names: Sequence[str]) -> list[int]:
    """The shade of each class, spread over the whole ladder; the first class is what is below the noise."""
    return [0, *_SHADES[len(names) - 1]]


def legend(
    names: Sequence[str], *, x: float, y: float, width: float, below: bool, classes: Sequence[int] | None = None
) -> tuple[str, float]:
    """The key, and how high it is.

    The first of ``names`` is what is below the noise: hatched, and left out unless ``below``.
    """
    shades = list(classes) if classes is not None else list(range(len(names)))
    names, shades = (names, shades) if below else (names[1:], shades[1:])
    widths = [text_width(name, 11.5) + 46 for name in names]
    parts = []
    rows = wrapped(widths, width)
    for line, row in enumerate(rows):
        at = x
        for i in row:
            level = y + _ROW * line
            box: dict[str, Any] = {"x": at, "y": level, "width": 22, "height": 14}
            if below and i == 0:
                parts.append(element("rect", **box, class_="open"))
                parts.append(element("rect", **box, fill=hatched()))
            else:
                parts.append(element("rect", **box, class_=f"q{shades[i]} swatch"))
            parts.append(element("text", text=names[i], x=at + 28, y=level + 11.5, class_="note"))
            at += widths[i]
    return "".join(parts), _ROW * len(rows) + 4
