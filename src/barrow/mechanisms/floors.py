"""The least possible error: of any additive noise, and of any method at all in the worst case.

All are lower bounds on expected earth mover's distances under pure alpha-EMD-DP, rounded down; proofs in
docs/proofs/floors.md. They say what is left to gain, and claim nothing about a single release.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.numerics import Exact
from barrow.promises.definitions import positive
from barrow.spaces import Space
from barrow.spaces.space import Floats

_DOWN = 1.0 - 1e-9
_MOST_PACKED = 2000


def noise_floor_lower(items: int, alpha: Exact, *, users: int, moment: int = 1) -> float:
    """No additive noise on the mean of ``users`` over ``items`` items has an expected EMD below this.

    It is (N-1)/(alpha n); the k-th moment of the EMD is at least (N-1) N ... (N+k-2)/(alpha n)^k.

    N is the number of items, n that of users, k the ``moment``.

    >>> round(noise_floor_lower(1025, 25, users=1000), 9), round(noise_floor_lower(2, 1, users=1, moment=2), 6)
    (0.04096, 2.0)
    """
    rate = _rate(alpha, users)
    if items < 1 or moment < 1:
        raise ParameterError(f"items is {items}, moment is {moment}.", allowed="whole numbers from 1 on", fix="items=2")
    return float(np.prod([(items - 1 + j) / rate for j in range(moment)])) * _DOWN


def worst_case_floor_lower(space: Space, alpha: Exact, *, users: int) -> float:
    """Whatever the method, some population on ``space`` makes it err by at least this (0 where nothing is known).

    Lines and boxes in the plane have formulas of their own; elsewhere pairs of near items are packed so that moving
    the mass of one pair cannot be mistaken for another's.

    >>> from barrow.spaces import Discrete
    >>> round(worst_case_floor_lower(Discrete(["a", "b"]), 1, users=1), 6)  # 1/(1 + e)
    0.268941
    >>> from barrow.spaces import Euclidean
    >>> square = Euclidean([0, 0], [1, 1], step=1/32)
    >>> round(worst_case_floor_lower(square, 25, users=1000), 4)
    0.0056
    """
    rate = _rate(alpha, users)
    if space.items < 2:
        return 0.0
    result = 0.0
    grid = space.geometry.lattice
    if space.geometry.gaps is not None:
        result = _on_path(_positions(space.geometry.gaps, space.geometry.periodic), rate)
    elif grid is not None and grid.full and grid.dimension <= 2:
        result = _on_grid(grid.shape, grid.widths / space.diameter, rate)
    if space.items <= _MOST_PACKED:
        result = max(result, _packed(space, rate))
    return result * _DOWN


def _rate(alpha: Exact, users: int) -> float:
    if isinstance(users, bool) or not isinstance(users, int | np.integer) or users < 1:
        raise ParameterError(f"users is {users!r}.", allowed="a whole number from 1 on", fix="users=1000")
    return float(positive(alpha, "alpha")) * int(users)


def _pairs(size: ArrayLike, loss: ArrayLike) -> Floats:
    """Size/(1 + exp(loss)), without overflow."""
    return np.asarray(np.asarray(size) * np.exp(-np.logaddexp(0.0, loss)), dtype=np.float64)


def _positions(gaps: Floats, periodic: bool) -> Floats:
    if not periodic:
        return np.asarray(np.concatenate([[0.0], np.cumsum(gaps)]), dtype=np.float64)
    # Half a circle is a line: the distance of two of its points is that along it.
    return np.asarray(np.arange(len(gaps) // 2 + 1) * gaps[0], dtype=np.float64)


def _on_path(at: Floats, rate: float) -> float:
    """Cells between every t-th point: one cell's mass sits at one end or the other."""
    best, count = 0.0, len(at)
    for k in {1, *np.unique(np.geomspace(1, count - 1, 200).astype(int)).tolist()}:
        ends = at[np.unique(np.rint(np.linspace(0, count - 1, k + 1)).astype(int))]
        widths = np.diff(ends)
        cells = len(widths)
        best = max(best, float(_pairs(widths / cells, rate * widths / cells).sum()))
    return best


def _on_grid(shape: tuple[int, ...], gaps: Floats, rate: float) -> float:
    """Every t-th cell of a box, paired along its finer axis: tents of half the gap do not meet."""
    if len(shape) == 1:
        shape, gaps = (*shape, 1), np.append(gaps, 1.0)
    best = 0.0
    for axis in (0, 1):
        other = 1 - axis
        for t in range(1, shape[axis]):
            h = t * float(gaps[axis])
            across = max(1, math.ceil(h / float(gaps[other]) - 1e-9))
            along = ((shape[axis] - 1) // t + 1) // 2 * 2
            pairs = along // 2 * ((shape[other] - 1) // across + 1)
            if pairs:
                best = max(best, float(_pairs(h, rate * h / pairs)))
    return best


def _packed(space: Space, rate: float) -> float:
    """Items at least h apart, each paired with a near one: J pairs give the mean of h/(1 + exp(rate d_j/J))."""
    distances = space.block(np.arange(space.items), np.arange(space.items))
    best = 0.0
    for h in np.geomspace(max(space.least_distance_lower, 1e-6), float(distances.max()), 24):
        chosen: list[int] = []
        free = np.ones(space.items, dtype=bool)
        for item in range(space.items):
            if free[item]:
                chosen.append(item)
                free &= distances[item] >= h
        far = distances[np.ix_(chosen, chosen)].copy()
        np.fill_diagonal(far, np.inf)
        taken, apart = np.zeros(len(chosen)), []
        for first in range(len(chosen)):
            if taken[first]:
                continue
            taken[first] = np.inf
            partner = int((far[first] + taken).argmin())
            if taken[partner]:
                break
            taken[partner] = np.inf
            apart.append(float(far[first, partner]))
        if apart:
            d = np.array(apart)
            best = max(best, float(_pairs(h, rate * d / len(d)).mean()))
    return best
