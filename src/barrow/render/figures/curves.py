"""Curves: named points, their labels beside their ends, and the log-log figures made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics.exact import near
from barrow.render.figures.readings import Numbers, finite
from barrow.render.figures.svg import AxisScale, Floats, apart, clean, element, polyline, shortened, text_width

Style = Literal["main", "faint"]
_COLOURS = 4
LINE = 16.5
"""Between two lines of text: Noto's letters of 12 pixels stand in boxes of 17, DejaVu's and Liberation's of 14."""


@dataclass(frozen=True)
class Curve:
    """A named curve through points, x rising.

    Args:
        label: What stands beside it; any text.
        x: Where its points are.
        y: How high they are.
        style: "faint" for curves that only help to read the others.

    >>> Curve("1 in 10", [0, 1], [0.5, 0.6]).y.tolist()
    [0.5, 0.6]
    """

    label: str
    x: Floats
    y: Floats
    style: Style

    def __init__(self, label: object, x: Numbers, y: Numbers, style: Style = "main") -> None:
        object.__setattr__(self, "label", clean(label))
        object.__setattr__(self, "x", finite(x, "x").ravel())
        object.__setattr__(self, "y", finite(y, "y").ravel())
        object.__setattr__(self, "style", style)
        if len(self.x) != len(self.y) or not len(self.x) or (np.diff(self.x) < 0).any():
            raise ParameterError(
                f"The curve {self.label!r} has {len(self.x)} x and {len(self.y)} y.",
                allowed="as many of both, at least one, x rising",
                fix="x=[0, 1], y=[0.5, 0.6]",
            )


def line_of(curve: Curve, x: AxisScale, y: AxisScale, kind: int) -> str:
    """The curve as a path, thinned where points share a pixel; ``kind`` chooses colour and dashes."""
    points: list[tuple[float, float]] = []
    for p in zip(x.positions(curve.x).tolist(), y.positions(curve.y).tolist(), strict=True):
        if not points or abs(p[0] - points[-1][0]) + abs(p[1] - points[-1][1]) > 0.4:
            points.append(p)
    if len(points) == 1:
        return element("circle", cx=points[0][0], cy=points[0][1], r=3.0, class_=f"curve k{kind % _COLOURS}")
    style = "faint" if curve.style == "faint" else f"k{kind % _COLOURS}"
    return element("path", d=polyline(points), class_=f"curve {style}")


def end_labels(ends: Sequence[tuple[float, str, str, str]], x: float, low: float, high: float, room: float) -> str:
    """Two lines beside each curve's end, moved apart where they would touch, with a thread to the end they belong to.

    Each of ``ends`` has its height, the first line, the second line, and the class of the text.
    """
    tall = 2 * LINE if any(second for _, _, second, _ in ends) else LINE
    placed = apart([height for height, *_ in ends], tall, low + tall / 2, high - tall / 2)
    parts = []
    for (height, first, second, kind), at in zip(ends, placed, strict=True):
        parts.append(element("path", d=f"M{x + 2:.1f},{height:.1f}L{x + 11:.1f},{at:.1f}", class_="rule"))
        top = at + (4 - LINE / 2 if second else 4)
        parts.append(element("text", text=shortened(first, room - 16), x=x + 14, y=top, class_=f"strong {kind}"))
        if second:
            parts.append(element("text", text=second, x=x + 14, y=top + LINE, class_=kind))
    return "".join(parts)


def log_range(values: Sequence[float], name: str) -> tuple[float, float]:
    """A range for a logarithmic axis with a little room; numbers must be above 0."""
    low, high = min(values), max(values)
    if low <= 0:
        raise ParameterError(f"{name} has {near(low)}.", allowed="numbers above 0", fix="leave out what is not above 0")
    spare = max(1.15, (high / low) ** 0.04)
    return low / spare, high * spare


def labels_width(texts: Sequence[str], most: float) -> float:
    """The room that labels at the right need."""
    return min(max([text_width(text, 13.0) for text in texts], default=0.0) + 22, most)


def interpolated(curve: Curve, at: Floats) -> Floats:
    """The heights of a curve at some places, between its points along straight lines of logarithms."""
    return np.asarray(np.exp(np.interp(np.log(at), np.log(curve.x), np.log(curve.y))))
