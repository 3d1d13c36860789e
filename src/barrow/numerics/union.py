"""The outline of several cells: the rings round their union, for files that other programs read."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.numerics.search import among

Floats = npt.NDArray[np.float64]

Ring = list[tuple[float, float]]
_DIGITS = 9
"""Corners that differ by less are one: a tenth of a millimetre."""


def outline(corners: Floats) -> list[Ring]:
    """The rings round a union of cells, from rows of corners; closed, those round an outside turn to the left.

    Cells of neighbouring rows need not share their corners: an edge is cut wherever a corner lies on it.

    >>> outline(np.array([[[0, 0], [1, 0], [1, 1], [0, 1]], [[1, 0], [2, 0], [2, 1], [1, 1]]], dtype=float))
    [[(0.0, 1.0), (0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0)]]
    """
    cells: Floats = np.asarray(np.round(corners, _DIGITS), dtype=np.float64)
    x, y = cells[:, :, 0], cells[:, :, 1]
    area = (x * np.roll(y, -1, axis=1) - np.roll(x, -1, axis=1) * y).sum(axis=1)
    cells = np.asarray(np.where((area < 0)[:, None, None], cells[:, ::-1], cells), dtype=np.float64)
    edges = _cut(cells.reshape(-1, 2), np.roll(cells, -1, axis=1).reshape(-1, 2))
    points, ids = _distinct(edges.reshape(-1, 2))
    start, end = ids.reshape(-1, 2).T
    used = start != end
    start, end = start[used], end[used]
    forth, back = start * len(points) + end, end * len(points) + start
    outer = ~among(forth, back)
    return _chained(start[outer], end[outer], points)


def _cut(starts: Floats, ends: Floats) -> Floats:
    """Edges along a row, cut at all corners on it; others as they are."""
    level = (starts[:, 1] == ends[:, 1]) & (starts[:, 0] != ends[:, 0])
    rows = np.flatnonzero(level)
    rows = rows[np.argsort(starts[rows, 1], kind="stable")]
    # By height first, so that all corners on an edge stand between its ends.
    marks, ids = _distinct(np.concatenate([starts, ends])[:, ::-1])
    first, last = ids[rows], ids[len(starts) + rows]
    pieces, way = np.abs(last - first), np.sign(last - first)
    piece = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    at = np.repeat(first, pieces) + np.repeat(way, pieces) * piece
    cut = np.stack([marks[at], marks[at + np.repeat(way, pieces)]], axis=1)[:, :, ::-1]
    return np.concatenate([np.stack([starts[~level], ends[~level]], axis=1), cut])


def _distinct(points: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Each point once, in order, and which one each is: numpy sorts complex numbers as pairs, and rows far slower."""
    pairs, ids = np.unique(points[:, 0] + 1j * points[:, 1], return_inverse=True)
    return np.stack([pairs.real, pairs.imag], axis=1), ids


def _chained(start: npt.NDArray[np.int64], end: npt.NDArray[np.int64], points: Floats) -> list[Ring]:
    following: dict[int, list[int]] = {}
    for a, b in zip(start.tolist(), end.tolist(), strict=True):
        following.setdefault(a, []).append(b)
    rings = []
    while following:
        first = next(iter(following))
        chain, at = [first], _onward(following, first)
        while at != first and at in following:
            chain.append(at)
            at = _onward(following, at)
        rings.append(_straight([(float(points[i, 0]), float(points[i, 1])) for i in chain]))
    return rings


def _onward(following: dict[int, list[int]], at: int) -> int:
    onward = following[at].pop()
    if not following[at]:
        del following[at]
    return onward


def _straight(ring: Ring) -> Ring:
    """The ring without corners between two edges of one direction, and closed."""
    points = []
    for k, (x, y) in enumerate(ring):
        (a, b), (c, d) = ring[k - 1], ring[(k + 1) % len(ring)]
        if (x - a) * (d - y) != (c - x) * (y - b):
            points.append((x, y))
    points = points or ring
    return [*points, points[0]]
