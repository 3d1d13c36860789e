"""Earth mover's distance in linear time where the metric has a closed form, over many pairs at once.

Each function takes differences ``a - b`` of equal mass along the last axis and returns normalised distances. Proofs:
docs/proofs/closed-forms.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from barrow.spaces import Circle, Clustered, Discrete, Line, Space, Tree
from barrow.spaces.base import Floats

_CHUNK = 1 << 15
"""How many numbers are worked on at once, so that they stay in the cache."""


@lru_cache(maxsize=64)
def ones(size: int) -> Floats:
    """A cached vector of ones: ``row.dot(ones)`` is the fastest sum of a row.

    >>> ones(2).tolist()
    [1.0, 1.0]
    """
    vector = np.ones(size)
    vector.setflags(write=False)
    return vector


def clustered(space: Clustered, difference: Floats) -> Floats:
    """r/2 sum_x |d_x| + (1-r)/2 sum_clusters |D_c|: the clustered space is a two-level tree.

    >>> space = Clustered.grid(2, 2, r=0.1)
    >>> clustered(space, np.array([1.0, -1.0, 0.0, 0.0])).item()
    0.1
    """
    shape = space.equal_shape
    if shape is None:
        sums = np.add.reduceat(difference, space.starts, axis=-1)
    else:
        sums = difference.reshape(*difference.shape[:-1], *shape).dot(ones(shape[1]))
    leaves = np.abs(difference).dot(ones(difference.shape[-1]))
    return np.asarray((space.r / 2.0) * leaves + ((1.0 - space.r) / 2.0) * np.abs(sums).dot(ones(sums.shape[-1])))


def tree(space: Tree, difference: Floats) -> Floats:
    """sum_e len(e) |mass of d below e|: leaves below an edge are consecutive, so running sums give every mass.

    >>> space = Tree([("a", "root", 1), ("b", "root", 3)])
    >>> tree(space, np.array([1.0, -1.0])).item()
    0.9999999999999716
    """
    running = np.zeros((*difference.shape[:-1], difference.shape[-1] + 1))
    np.cumsum(difference, axis=-1, out=running[..., 1:])
    below = running[..., space.ends] - running[..., space.starts]
    return np.asarray(np.abs(below, out=below).dot(space.lengths) / space.diameter)


def line(space: Line, difference: Floats) -> Floats:
    """sum_i |F_i| (x_{i+1} - x_i) with F the running sum of the difference.

    >>> line(Line(0, 2, points=[0, 1, 2]), np.array([1.0, 0.0, -1.0])).item()
    1.0
    """
    running = np.add.accumulate(difference[..., :-1], axis=-1)
    return np.asarray(np.abs(running, out=running).dot(space.gaps))


def circle(space: Circle, difference: Floats) -> Floats:
    """min_c sum_i |F_i - c| times the spacing: the best place to cut the circle is at the median of F.

    >>> circle(Circle(4, step=1), np.array([1.0, 0.0, 0.0, -1.0])).item()
    0.5
    """
    running = np.cumsum(difference, axis=-1)
    running -= np.median(running, axis=-1, keepdims=True)
    return np.asarray(np.abs(running, out=running).dot(ones(running.shape[-1])) * (2.0 / space.items))


def discrete(space: Discrete, difference: Floats) -> Floats:
    """Total variation: half the sum of |d_x|.

    >>> discrete(Discrete(["a", "b"]), np.array([0.25, -0.25])).item()
    0.25
    """
    return np.asarray(np.abs(difference).dot(ones(difference.shape[-1])) * 0.5)


CLOSED_FORMS: dict[type, Callable[[Any, Floats], Floats]] = {
    Clustered: clustered,
    Tree: tree,
    Line: line,
    Circle: circle,
    Discrete: discrete,
}
"""Kinds of spaces with a closed form."""


def in_closed_form(space: Space, a: Floats, b: Floats) -> Floats:
    """EMD of many pairs by the closed form of ``space``, a chunk at a time.

    >>> in_closed_form(Discrete(["a", "b"]), np.eye(2), np.array([1.0, 0.0])).tolist()
    [0.0, 1.0]
    """
    formula = CLOSED_FORMS[type(space)]
    if a.ndim == b.ndim == 1:
        return formula(space, np.subtract(a, b))
    left, right = np.broadcast_arrays(a, b)
    size = left.shape[-1]
    rows_a, rows_b = left.reshape(-1, size), right.reshape(-1, size)
    out = np.empty(len(rows_a))
    step = max(1, _CHUNK // size)
    room = np.empty((step, size))
    for start in range(0, len(out), step):
        chunk = slice(start, start + step)
        difference = room[: len(out[chunk])]
        np.subtract(rows_a[chunk], rows_b[chunk], out=difference)
        out[chunk] = formula(space, difference)
    return out.reshape(left.shape[:-1])
