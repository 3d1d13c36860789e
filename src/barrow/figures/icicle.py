"""A histogram on a tree: a box for each node, as wide as its share, above the boxes of its children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from barrow.errors import ParameterError
from barrow.figures.bars import largest_said
from barrow.figures.figure import Figure, drawn
from barrow.figures.lettering import shortened, text_width
from barrow.figures.numbers import PERCENT, between, near
from barrow.figures.readings import Numbers, Readings
from barrow.figures.svg import element, hatched, isolated, mark

_NARROWEST = 3.0
_MOST_LEVELS = 6
_GROUPS = 6


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
    low: Numbers | None = None,
    high: Numbers | None = None,
    noise: Numbers | None = None,
    unit: str = PERCENT,
    title: str = "Histogram on a tree",
    width: int = 720,
) -> Figure:
    """The tree from the top; nodes too narrow to be seen are drawn together, and it says how many they are.

    Args:
        paths: Each node's way from the top: "food/cafe", or a list of names. Inner nodes may be left out: they are then
            as wide as their children.
        values: The share of each node.
        low: The lower ends of 95 % intervals.
        high: The upper ends.
        noise: What the noise alone reaches anywhere with 5 %: nodes not above it are hatched.
        unit: "%" for shares, else the unit of the values.
        title: What the figure is.
        width: In pixels.

    >>> print(icicle(["food", "food/cafe", "work"], [0.6, 0.6, 0.4], title="Where"))
    Where. The largest value is food: 60 %.
    """
    readings = Readings.of(values, low=low, high=high, noise=noise, unit=unit)
    if len(paths) != len(readings):
        raise ParameterError(
            f"There are {len(paths)} paths for {len(readings)} values.",
            allowed="one path a value",
            fix="add or drop paths",
        )
    ways = [tuple(p.split("/")) if isinstance(p, str) else tuple(str(name) for name in p) for p in paths]
    root, depth = _tree(ways, readings)
    levels = min(depth, _MOST_LEVELS)
    tall = 46.0
    picture = _Picture(readings, ways, tall, levels)
    picture.place(root, 0.0, float(width), 0, 0)
    notes = []
    if picture.hidden:
        many = "1 node is" if picture.hidden == 1 else f"{picture.hidden:,} nodes are"
        notes.append(f"{many} too small to be drawn alone.")
    if depth > levels:
        notes.append(f"{levels} of {depth} levels are drawn.")
    body, height = picture.parts, tall * levels + 6
    for note in notes:
        height += 18
        body.append(element("text", text=note, x=2, y=height - 4, class_="note"))
    about = " ".join([largest_said(readings, [" / ".join(way) for way in ways]), *notes])
    return drawn(*body, title=title, description=about, width=width, height=height, kind="icicle", reach=80)


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

    def __init__(self, readings: Readings, ways: Sequence[tuple[str, ...]], tall: float, levels: int) -> None:
        self.readings, self.ways, self.tall, self.levels = readings, ways, tall, levels
        self.parts: list[str] = []
        self.hidden = 0

    def place(self, node: _Node, start: float, end: float, level: int, group: int) -> None:
        if level >= self.levels or node.size <= 0:
            self.hidden += node.given if node.size <= 0 else 0
            return
        at, small = start, 0
        for k, child in enumerate(sorted(node.children.values(), key=lambda c: -c.size)):
            wide = (end - start) * child.size / node.size
            if wide < _NARROWEST:
                small += child.given
                continue
            hue = k % _GROUPS if level == 0 else group
            self._box(child, at, wide, level, hue)
            self.place(child, at, at + wide, level + 1, hue)
            at += wide
        if small and end - at >= 0.5:
            box: dict[str, Any] = {"x": at, "y": level * self.tall, "width": end - at, "height": self.tall - 1}
            said = f"{small:,} smaller node{'s' * (small > 1)}"
            self.parts.append(
                mark(
                    element("rect", **box, class_="rest"),
                    _words(said, "", at, level * self.tall, end - at),
                    at=((at + end) / 2, (level + 0.5) * self.tall),
                    said=said,
                )
            )
        self.hidden += small

    def _box(self, node: _Node, at: float, wide: float, level: int, group: int) -> None:
        y = level * self.tall
        box: dict[str, Any] = {"x": at, "y": y, "width": max(wide - 1, 0.5), "height": self.tall - 1}
        middle = (at + wide / 2, y + self.tall / 2)
        if node.reading < 0:
            said = f"{isolated(node.name)}: {near(node.size, self.readings.unit)}, the sum of its children"
            self.parts.append(
                mark(element("rect", **box, class_="rest"), _words(node.name, "", at, y, wide), at=middle, said=said)
            )
            return
        i, readings = node.reading, self.readings
        below = bool(readings.below[i])
        shape = element("rect", **box, class_="open") if below else ""
        shape += (
            element("rect", **box, fill=hatched())
            if below
            else element("rect", **box, class_=f"g{group}" + (f" l{min(level, 2)}" if level else ""))
        )
        value = near(readings.value[i], readings.unit, digits=2)
        if readings.low is not None and readings.high is not None:
            ends = between(max(readings.low[i], 0.0), readings.high[i], readings.unit)
            longer = f"{near(readings.value[i], readings.unit)} ({ends})"
            value = longer if text_width(longer) + 12 < wide else value
        words = _words(node.name, "" if below else value, at, y, wide)
        self.parts.append(mark(shape, words, at=middle, said=readings.said(i, " / ".join(self.ways[i]))))


def _words(name: str, value: str, x: float, y: float, wide: float) -> str:
    shown = shortened(name, wide - 10)
    if len(shown) < min(3, len(name)):
        return ""
    parts = element("text", text=shown, x=x + 6, y=y + 19, class_="strong")
    if value and text_width(value) + 10 < wide:
        parts += element("text", text=value, x=x + 6, y=y + 35)
    return parts
