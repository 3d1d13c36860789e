"""SVG as text, and where things stand in it.

Elements, numbers, and texts that stay texts whatever they contain; scales with round ticks, how wide texts are (rather
too wide, so that none collide), and keys.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
KEY = "\x01"
"""Stands for the figure's key in ids until the key is known; :func:`clean` lets no text contain it."""
# What XML 1.0 forbids, lone surrogates, and controls that reorder the text around them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_REORDERING = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_ZEROS = re.compile(r"\.?0+(?![\d.])")
_BELOW_ZERO = re.compile(r"-0(?![\d.])")
_BLANKS = re.compile(r"\s+")
_WIDTHS = {0.30: "ijlI|!.,:;'`", 0.40: 'ftr()[]{}/\\-" ', 0.62: "abdeghknopqsuvxyzc0123456789_L", 0.92: "mwMW@%—…"}
_WIDTH = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
_ROW = 21.0
_SIXTY, _HOURS, _TURN = (5, 10, 15, 30, 60, 120, 180, 360, 720, 1440), (1, 2, 3, 6, 12, 24), (5, 10, 15, 30, 45, 90)
_STEPS = {
    **dict.fromkeys(("s", "min", "minutes", "seconds"), _SIXTY),
    **dict.fromkeys(("h", "hour", "hours"), _HOURS),
    **dict.fromkeys(("°", "degrees"), _TURN),
}
"""Steps that people count such units in: minutes tick at 0, 30, 60."""
_SHADES = {1: (3,), 2: (2, 5), 3: (1, 3, 5), 4: (1, 2, 4, 5), 5: (1, 2, 3, 4, 5)}


def clean(text: object) -> str:
    r"""A label as one line of text that any XML parser takes and that cannot reorder its neighbours."""
    return _BLANKS.sub(" ", _REORDERING.sub("", _FORBIDDEN.sub("\ufffd", str(text)))).strip()


def lawful(text: str) -> str:
    r"""A sentence of the library's own, without what XML forbids."""
    return _FORBIDDEN.sub("\ufffd", text)


def isolated(text: object) -> str:
    r"""A cleaned label inside a sentence: a right-to-left label leaves the rest of the sentence in order."""
    sentence = clean(text)
    turned = not sentence.isascii() and any(
        unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in sentence
    )
    return f"\u2068{sentence}\u2069" if turned else sentence


def escape(text: str) -> str:
    """The text as XML character data, also within double quotes, without what XML forbids."""
    return _FORBIDDEN.sub("\ufffd", text).translate(_ESCAPES)


@lru_cache(maxsize=1024)
def number(value: float) -> str:
    """A coordinate with at most two decimals; axes, ticks and rows of a figure share most of theirs.

    >>> number(12.0), number(0.126), number(-0.001), number(1234.5)
    ('12', '0.13', '0', '1234.5')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def element(tag: str, *children: str, text: str | None = None, **attributes: object) -> str:
    """One element; children are SVG already, ``text`` and attributes are escaped here.

    A trailing underscore of a name goes, others become hyphens; floats are written as coordinates; None is left out.
    """
    inner = "".join(children) + ("" if text is None else text.translate(_ESCAPES))
    opened = f"<{tag}"
    for name, value in attributes.items():
        if value is not None:
            written = number(value) if isinstance(value, float) else str(value).translate(_ESCAPES)
            opened += f' {_hyphens(name)}="{written}"'
    return f"{opened}>{inner}</{tag}>" if inner else f"{opened}/>"


@cache
def _hyphens(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def polyline(points: Iterable[tuple[float, float]]) -> str:
    """The path through points, their coordinates written as :func:`number` does.

    >>> polyline([(0.0, -0.001), (100.5, 1234.567)])
    'M0,0L100.5,1234.57'
    """
    return "M" + shortest("L".join([f"{x:.2f},{y:.2f}" for x, y in points]))


def shortest(path: str) -> str:
    """A path all of whose numbers have two decimals, with each as short as :func:`number` writes it.

    >>> shortest("M100.00 -0.00l0.50 20.25")
    'M100 0l0.5 20.25'
    """
    return _BELOW_ZERO.sub("0", _ZEROS.sub("", path))


def mark(*children: str, at: tuple[float, float], label: str) -> str:
    """Something that can be read out: pointers and arrow keys find it at ``at`` and read ``label``."""
    return element("g", element("title", text=label), *children, data_at=f"{number(at[0])},{number(at[1])}")


def hatch() -> str:
    """The pattern of what is below the noise; :func:`hatched` refers to it."""
    lines = element("path", d="M-2,2l4,-4M0,7l7,-7M5,9l4,-4", class_="hatch")
    return element("pattern", lines, id=f"{KEY}-hatch", width=7, height=7, patternUnits="userSpaceOnUse")


def hatched() -> str:
    """The fill of what is below the noise."""
    return f"url(#{KEY}-hatch)"


@dataclass(frozen=True)
class AxisScale:
    """A map from the numbers low to high to the positions start to end."""

    low: float
    high: float
    start: float
    end: float
    unit: str = ""

    def __call__(self, value: float) -> float:
        """The position of a number."""
        span = self.high - self.low
        return self.start + (0.5 if span == 0 else (value - self.low) / span) * (self.end - self.start)

    def positions(self, values: Floats) -> Floats:
        """The positions of many numbers."""
        span = self.high - self.low
        shares = np.full(values.shape, 0.5) if span == 0 else (values - self.low) / span
        return np.asarray(self.start + shares * (self.end - self.start))

    def ticks(self, count: int = 6) -> list[float]:
        """Round numbers within the scale, about ``count`` of them, and at least two: one alone shows no scale."""
        if self.high <= self.low:
            return [self.low]
        raw = (self.high - self.low) / count
        base = 10.0 ** math.floor(math.log10(raw))
        own = [step for step in _STEPS.get(self.unit, ()) if 0.75 * raw <= step <= 4 * raw]
        step = own[0] if own else next(m * base for m in (1, 2, 2.5, 5, 10) if m * base >= raw * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)] if last > first else self.ticks(2 * count)


@dataclass(frozen=True)
class LogScale(AxisScale):
    """A logarithmic scale."""

    def __call__(self, value: float) -> float:
        """The position of a positive number."""
        span = math.log(self.high / self.low)
        return self.start + (0.5 if span == 0 else math.log(value / self.low) / span) * (self.end - self.start)

    def positions(self, values: Floats) -> Floats:
        """The positions of many positive numbers."""
        return AxisScale(0.0, math.log(self.high / self.low), self.start, self.end).positions(np.log(values / self.low))

    def ticks(self, count: int = 6) -> list[float]:
        """1, 2 or 3, 5 times powers of ten, about ``count`` of them."""
        if self.high <= 1.5 * self.low:  # so short that it is nearly linear
            return super().ticks(count)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        numbers: list[float] = []
        for steps in ((1, 2, 5), (1, 3), (1,)):
            numbers = [float(f"{s}e{k}") for k in powers for s in steps]
            numbers = [t for t in numbers if self.low * 0.9999 <= t <= self.high * 1.0001]
            if len(numbers) <= count + 2:
                return numbers
        return numbers[:: math.ceil(len(numbers) / (count + 1))]


def bottom_axis(
    scale: AxisScale, y: float, label: str, write: Callable[[float], str], *, top: float | None = None
) -> str:
    """Ticks below, grid lines up to ``top``, the label in the middle; ticks that would touch are left out."""
    parts, free = [], -math.inf
    for tick in scale.ticks(max(2, int(abs(scale.end - scale.start) / 90))):
        x, text = scale(tick), write(tick)
        half = text_width(text, 11.5) / 2
        if top is not None:
            parts.append(element("path", d=f"M{x:.1f},{top:.1f}V{y:.1f}", class_="grid"))
        if x - half > free:
            parts.append(element("text", text=text, x=x, y=y + 16, class_="tick mid"))
            free = x + half + 6
    parts.append(element("path", d=f"M{scale.start:.1f},{y:.1f}H{scale.end:.1f}", class_="axis"))
    parts.append(element("text", text=label, x=(scale.start + scale.end) / 2, y=y + 36, class_="label mid"))
    return "".join(parts)


def left_axis(
    scale: AxisScale,
    x: float,
    label: str,
    write: Callable[[float], str],
    *,
    right: float | None = None,
    lift: float = 12,
) -> str:
    """Ticks on the left, grid lines up to ``right``, the label level above the axis by ``lift``."""
    parts = []
    for tick in scale.ticks(max(2, int(abs(scale.end - scale.start) / 55))):
        y = scale(tick)
        if right is not None:
            parts.append(element("path", d=f"M{x:.1f},{y:.1f}H{right:.1f}", class_="grid"))
        parts.append(element("text", text=write(tick), x=x - 7, y=y + 4, class_="tick end"))
    if label:
        parts.append(element("text", text=label, x=2, y=min(scale.start, scale.end) - lift, class_="label"))
    return "".join(parts)


def ticks_width(scale: AxisScale, write: Callable[[float], str]) -> float:
    """How much room the ticks of a left axis need."""
    count = max(2, int(abs(scale.end - scale.start) / 55))
    return max([text_width(write(t), 11.5) for t in scale.ticks(count)], default=0.0) + 12


def text_width(text: str, size: float = 12.0) -> float:
    """The width of a text in pixels, estimated for a wide sans-serif."""
    return size * sum(map(_letter, text))


@cache
def _letter(letter: str) -> float:
    known = _WIDTH.get(letter)
    if known is not None:
        return known
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF" or ord(letter) > 0xFFFF:
        return 1.05
    return 0.72


def shortened(text: object, width: float, size: float = 12.0) -> str:
    """A label that fits: its beginning and an ellipsis where it is too long; empty where nothing fits."""
    sentence = clean(text)
    if len(sentence) * size * 0.25 <= width and text_width(sentence, size) <= width:
        return sentence
    room = width - text_width("…", size)
    count = 0
    for letter in sentence:
        room -= size * _letter(letter)
        if room < 0:
            break
        count += 1
    # A combining mark stays with its letter.
    while 0 < count < len(sentence) and unicodedata.combining(sentence[count]):
        count -= 1
    return sentence[:count] + "…" if count else ""


@lru_cache(maxsize=1024)
def two_lines(text: str, width: float, size: float = 12.0) -> tuple[str, ...]:
    """A label on one line, or on two where it is too long for one; then the second is shortened.

    >>> two_lines("tea", 60), two_lines("share within 2 km of Paris", 110)
    (('tea',), ('share within 2', 'km of Paris'))
    """
    sentence = clean(text)[:200]
    if text_width(sentence, size) <= width:
        return (sentence,)
    words, first = sentence.split(" "), ""
    while words and text_width(f"{first} {words[0]}".strip(), size) <= width:
        first = f"{first} {words.pop(0)}".strip()
    return (first, shortened(" ".join(words), width, size)) if first else (shortened(sentence, width, size),)


def side_label(text: str, width: float, x: float, y: float) -> str:
    """A label that ends at ``x``, its middle at the height ``y``, on up to two lines."""
    first, *more = two_lines(text, width)
    above = element("text", text=first, x=x, y=y + 4 - 6.5 * len(more), class_="end")
    return above + (element("text", text=more[0], x=x, y=y + 10.5, class_="end") if more and more[0] else "")


def apart(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions moved as little as possible so that neighbours are ``gap`` apart, within low and high where it fits."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    # Blocks of touching labels: each stands about the mean of what its members wish.
    blocks: list[tuple[list[int], float]] = []
    for i in order:
        members, middle = [i], float(positions[i])
        while blocks and middle - gap * (len(members) - 1) / 2 < blocks[-1][1] + gap * (len(blocks[-1][0]) + 1) / 2:
            before, _ = blocks.pop()
            members = before + members
            middle = sum(positions[j] for j in members) / len(members)
        half = gap * (len(members) - 1) / 2
        blocks.append((members, max(min(middle, high - half), low + half)))
    placed = [0.0] * len(positions)
    floor = low
    for members, middle in blocks:
        start = max(middle - gap * (len(members) - 1) / 2, floor)
        for k, i in enumerate(members):
            placed[i] = start + gap * k
        floor = start + gap * len(members)
    return placed


def wrapped(widths: Sequence[float], room: float) -> list[list[int]]:
    """Which of some things of given widths stand in which row."""
    rows: list[list[int]] = []
    used = 0.0
    for i, width in enumerate(widths):
        if not rows or used + width > room:
            rows.append([])
            used = 0.0
        rows[-1].append(i)
        used += width
    return rows


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
