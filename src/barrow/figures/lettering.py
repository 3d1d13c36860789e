"""How wide a text is, roughly and rather too wide, so that labels can be shortened before they collide."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from barrow.figures.svg import clean

_WIDTHS = {0.30: "ijlI|!.,:;'`", 0.40: 'ftr()[]{}/\\-" ', 0.62: "abdeghknopqsuvxyzc0123456789_L", 0.92: "mwMW@%—…"}
_WIDTH = {letter: width for width, letters in _WIDTHS.items() for letter in letters}


def text_width(text: str, size: float = 12.0) -> float:
    """The width of a text in pixels, estimated for a wide sans-serif."""
    return size * sum(_letter(letter) for letter in text)


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
    """A label that fits: its beginning and an ellipsis where it is too long; empty where nothing fits.

    >>> shortened("a very long label", 60), shortened("short", 60), shortened("x", 1)
    ('a very l…', 'short', '')
    """
    said = clean(text)
    if len(said) * size * 0.25 <= width and text_width(said, size) <= width:
        return said
    room = width - text_width("…", size)
    kept = 0
    for letter in said:
        room -= size * _letter(letter)
        if room < 0:
            break
        kept += 1
    # A combining mark stays with its letter.
    while 0 < kept < len(said) and unicodedata.combining(said[kept]):
        kept -= 1
    return said[:kept] + "…" if kept else ""


def apart(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions moved as little as possible so that neighbours are ``gap`` apart, within low and high where it fits.

    >>> apart([10, 11, 50], 10, 0, 100)
    [5.5, 15.5, 50.0]
    """
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
    """Which of some things of given widths stand in which row.

    >>> wrapped([50, 40, 30], 100)
    [[0, 1], [2]]
    """
    rows: list[list[int]] = []
    used = 0.0
    for i, width in enumerate(widths):
        if not rows or used + width > room:
            rows.append([])
            used = 0.0
        rows[-1].append(i)
        used += width
    return rows
