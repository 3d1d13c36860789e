"""Counts that fall uniformly into cells, exactly: what local randomisers spread over many reports at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.noise import RandomSource
from barrow.noise.counts.cascade import Cascade
from barrow.noise.counts.uniform_int import checked_counts
from barrow.noise.source import checked_source
from barrow.numerics import whole
from benchmarks.baselines.edges import Integers


def stars(rows: int, cells: int) -> Cascade:
    """``rows`` nodes with ``cells`` leaves each."""
    firsts = np.arange(rows) * cells
    every = np.arange(rows * cells)
    one = np.ones(rows * cells, dtype=np.int64)
    none: tuple[Integers, ...] = (np.zeros(0, dtype=np.int64),)
    return Cascade(
        np.arange(rows), ((0, rows),), firsts, np.full(rows, cells), firsts, every // cells, one, none, every, every
    )


def uniform_multinomials(counts: ArrayLike, cells: int, *, source: RandomSource | None = None) -> Integers:
    """Each count spread over ``cells`` equally likely cells, exactly: R x cells whole numbers.

    >>> uniform_multinomials([7], 1).tolist()
    [[7]]
    >>> uniform_multinomials([7, 100], 5).sum(axis=1).tolist()
    [7, 100]
    """
    totals = checked_counts(counts)
    if totals.ndim != 1:
        raise ParameterError("counts is not a list.", allowed="a list of counts", fix="counts=[100, 7]")
    cells = whole(cells, "cells")
    origin = checked_source(source)
    if cells == 1:
        return totals[:, None].copy()
    result = np.zeros(len(totals) * cells, dtype=np.int64)
    if totals.size:
        stars(len(totals), cells).spread(totals.copy(), result, origin)
    return result.reshape(len(totals), cells)
