"""A histogram on a tree: a box for each node, as high as its share, at the left of the boxes of its children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from barrow.errors import ParameterError
from barrow.numerics.exact import near
from barrow.render.figures.bars import largest_text
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.readings import Beside, Numbers, Readings
from barrow.render.figures.svg import element, hatched, isolated, mark, shortened, text_width

_LOWEST = 3.0
_MOST_LEVELS = 6
_GROUPS = 6
_LINE = 15.0
"""A box as high as this has room for a line of text."""


@dataclass
class _Node:
    """A node while the tree is put together."""

    name: str
    reading: int = -1
    children: dict[str, _Node] = field(default_factory=dict)
    size: float = 0.0
    given: int = 0


def icicle(
    paths: Sequence[str | Sequence[object]],
    values: Numbers,
    *,
    title: str = "Histogram on a tree",
    width: int = 720,
    scale: Readings | None = None,
    **beside: Unpack[Beside],
) -> Figure:
    """The tree from the left; nodes too low to be seen are drawn together, and it says how many they are.

    Args:
        paths: Each node's way from the top: "food/cafe", or a list of names. Inner nodes may be left out: they are then
            as high as their children.
        values: The share of each node.
        title: What the figure is.
        width: In pixels.
        scale: Taken and not needed: shares of a whole have one scale.
        beside: Intervals, noise and unit, see :class:`Beside`; nodes not above the noise are hatched.

    >>> print(icicle(["food", "food/cafe", "work"], [0.6, 0.6, 0.4], title="Where"))
    Where. The largest value is food: 60 %.
    """
    readings = Readings.of(values, **beside)
    if len(paths) != len(readings):
        raise ParameterError(
            f"There are {len(paths)} paths for {len(readings)} values.",
            allowed="one path a value",
            fix="add or drop paths",
        )
    ways = [tuple(p.split("/")) if isinstance(p, str) else tuple(str(name) for name in p) for p in paths]
    root, depth = _tree(ways, readings)
    levels = min(depth, _MOST_LEVELS)
    tall = min(max(28.0 * len(readings), 200.0), 560.0)
    picture = _Picture(readings, ways, width / levels, levels)
    picture.place(root, 0.0, tall, 0, 0)
    notes = []
    if picture.hidden:
        many = "1 node is" if picture.hidden == 1 else f"{picture.hidden:,} nodes are"
        notes.append(f"{many} too small to be drawn alone.")
    if depth > levels:
        notes.append(f"{levels} of {depth} levels are drawn.")
    body, height = picture.parts, tall + 4
    for note in notes:
        height += 18
        body.append(element("text", text=note, x=2, y=height - 4, class_="note"))
    about = " ".join([largest_text(readings, [" / ".join(way) for way in ways]), *notes])
    return build_figure(*body, title=title, description=about, width=width, height=height, kind="icicle", reach=80)


def _tree(ways: Sequence[tuple[str, ...]], readings: Readings) -> tuple[_Node, int]:
    root, depth = _Node(""), 0
    for i, way in enumerate(ways):
        node = root
        for name in way:
            node = node.children.setdefault(name, _Node(name))
        if not way or node.reading >= 0:
            raise ParameterError(
                f"The path {'/'.join(way)!r} is {'empty' if not way else 'there twice'}.",
                allowed="each node once",
                fix='paths=["food", "food/cafe"]',
            )
        node.reading, depth = i, max(depth, len(way))
    # Children before parents, without recursion: trees may be deep.
    stack, order = [root], []
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(node.children.values())
    for node in reversed(order):
        below = sum(child.size for child in node.children.values())
        node.given = (node.reading >= 0) + sum(child.given for child in node.children.values())
        node.size = max(below, 0.0 if node.reading < 0 else float(readings.value[node.reading]))
    return root, depth


class _Picture:
    """The boxes of a tree."""

    def __init__(self, readings: Readings, ways: Sequence[tuple[str, ...]], wide: float, levels: int) -> None:
        self.readings, self.ways, self.wide, self.levels = readings, ways, wide, levels
        self.parts: list[str] = []
        self.hidden = 0

    def place(self, node: _Node, start: float, end: float, level: int, group: int) -> None:
        if level >= self.levels or node.size <= 0:
            self.hidden += node.given if node.size <= 0 else 0
            return
        at, small = start, 0
        for k, child in enumerate(sorted(node.children.values(), key=lambda c: -c.size)):
            tall = (end - start) * child.size / node.size
            if tall < _LOWEST:
                small += child.given
                continue
            hue = k % _GROUPS if level == 0 else group
            self._box(child, at, tall, level, hue)
            self.place(child, at, at + tall, level + 1, hue)
            at += tall
        if small and end - at >= 0.5:
            text = f"{small:,} smaller node{'s' * (small > 1)}"
            shape = element("rect", **self._place(level, at, end - at), class_="rest")
            self._add(shape, self._words(text, (), level, at, end - at), level, (at + end) / 2, text)
        self.hidden += small

    def _place(self, level: int, at: float, tall: float) -> dict[str, Any]:
        return {"x": level * self.wide, "y": at, "width": self.wide - 1, "height": max(tall - 1, 0.5)}

    def _add(self, shape: str, words: str, level: int, middle: float, text: str) -> None:
        self.parts.append(mark(shape, words, at=((level + 0.5) * self.wide, middle), label=text))

    def _box(self, node: _Node, at: float, tall: float, level: int, group: int) -> None:
        box, middle, readings = self._place(level, at, tall), at + tall / 2, self.readings
        if node.reading < 0:
            whole = near(node.size, readings.unit)
            words = self._words(node.name, (whole,), level, at, tall)
            text = f"{isolated(node.name)}: {whole}, the sum of its children"
            self._add(element("rect", **box, class_="rest"), words, level, middle, text)
            return
        i = node.reading
        if readings.below[i]:
            shape, values = element("rect", **box, class_="open") + element("rect", **box, fill=hatched()), []
        else:
            shape = element("rect", **box, class_=f"g{group}" + (f" l{min(level, 2)}" if level else ""))
            values, ends = [readings.told(i), near(readings.value[i], readings.unit, digits=2)], readings.span(i)
            if readings.beside(i):
                values = [f"({ends})"]
            elif ends:
                values.insert(0, f"{values[0]} ({ends})")
        words = self._words(node.name, values, level, at, tall)
        self._add(shape, words, level, middle, readings.describe(i, " / ".join(self.ways[i])))

    def _words(self, name: str, values: Sequence[str], level: int, at: float, tall: float) -> str:
        """A name, and the longest way to say its value that leaves the name whole, or else the shortest."""
        if tall < _LINE:
            return ""
        x, y, room = level * self.wide, at + tall / 2 + 4, self.wide - 14
        fits = [v for v in values if text_width(name) * 1.08 + text_width(v, 11.5) + 12 <= room]
        value = fits[0] if fits else values[-1] if values else ""
        shown = shortened(name, room - (text_width(value, 11.5) + 12 if value else 0))
        if len(shown) < min(3, len(name)):
            shown, value = shortened(name, room), ""
        parts = element("text", text=shown, x=x + 7, y=y, class_="strong") if shown else ""
        if value:
            parts += element("text", text=value, x=x + self.wide - 8, y=y, class_="tick end")
        return parts
