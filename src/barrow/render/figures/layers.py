"""Layers of a figure: what else it could show, drawn in the same place; a script lets readers switch to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from barrow.render.figures.figure import Figure
from barrow.render.figures.readings import Numbers
from barrow.render.figures.svg import element


@dataclass(frozen=True, eq=False)
class FigureLayer:
    """Other values in the place of a figure's own.

    Attributes:
        name: What the button says.
        about: What it is, in a sentence or two.
        frames: The values; of several a script shows one after the other while the reader lets it.
        ends: For each frame the lower and the upper ends of its 95 % intervals, where these are drawn.
    """

    name: str
    about: str
    frames: Sequence[Numbers]
    ends: Sequence[tuple[Numbers, Numbers]] = ()


FIRST = FigureLayer("The release", "What was released.", [()])
"""The layer that is shown before anybody switches."""


def layer_group(
    *parts: str, layer: FigureLayer, shown: bool = False, frame: int | None = None, **attributes: str
) -> str:
    """What belongs to one layer of a figure, or to one frame of it; what is not ``shown`` waits for a script."""
    several = None if frame is None or len(layer.frames) == 1 else str(frame)
    about = {"data_layer": layer.name, "data_about": layer.about or None, "data_frame": several}
    return element("g", *parts, class_=None if shown else "off", **about, **attributes)


def layered(first: Figure, others: Sequence[tuple[FigureLayer, Sequence[Figure]]]) -> Figure:
    """A figure with its layers, each drawn whole by the same hand; they must be of one size.

    >>> from barrow.render.figures import bars
    >>> one, other = (bars(["a"], [value], unit="km") for value in (1, 2))
    >>> layered(one, [(FigureLayer("Another draw", "Noise.", [[2]]), [other])]).svg.count("data-layer")
    2
    """
    known = [(layer, figures) for layer, figures in others if all(_size(one) == _size(first) for one in figures)]
    if not known:
        return first
    head, mark, _ = first.svg.partition("</desc>")
    body = [layer_group(_inside(first), layer=FIRST, shown=True)]
    for layer, figures in known:
        body += [layer_group(_inside(figure), layer=layer, frame=k) for k, figure in enumerate(figures)]
    return replace(first, svg=f"{head}{mark}{''.join(body)}</svg>")


def _size(figure: Figure) -> tuple[int, int]:
    return figure.width, figure.height


def _inside(figure: Figure) -> str:
    return figure.svg.partition("</desc>")[2].removesuffix("</svg>")
