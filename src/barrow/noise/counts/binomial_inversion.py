"""Exact Bin(n, p) of small variance by inversion: how many values of its cumulative distribution a uniform U passed.

The sums are floats with an error bound; where U is nearer to one than that, or beyond the last, they are computed in
balls of growing precision on the same U, extended (docs/proofs/exact-counts.md, Section 6).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.noise.counts.chances import Chances
from barrow.noise.lazy_uniform import LazyUniform, decided
from barrow.noise.source import RandomSource

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

ERROR = 2.0**-38
"""Bound on the error of a partial sum in floats."""
_CELLS = 2**15
"""Partial sums held at once."""


def draw(counts: Integers, chances: Chances, source: RandomSource) -> Integers:
    """Independent Bin(n, p), p <= 1/2, of variance below 17.

    >>> from barrow.noise.source import SeededSource
    >>> rare = Chances.of(np.full(1000, 3), np.full(1000, 10**6))
    >>> result = draw(np.full(1000, 10**6), rare, SeededSource(1))
    >>> bool(abs(result.mean() - 3.0) < 0.3)
    True
    """
    result = np.empty(len(counts), dtype=np.int64)
    n, p, q = counts.astype(np.float64), chances.p, chances.q
    if not n.size:
        return result
    top = float((n * p).max())
    columns = int(top + 6.0 * math.sqrt(top)) + 12
    rows = max(1, _CELLS // columns)
    for low in range(0, len(counts), rows):
        part = slice(low, low + rows)
        words = source.words(len(counts[part]))
        u = words * 2.0**-64
        sums = partial_sums(n[part], p[part], q[part], columns)
        sums -= u
        value = (sums <= 0.0).sum(axis=0)
        result[part] = value
        near = np.abs(sums, out=sums).min(axis=0) <= 2.0 * ERROR
        near |= value == columns
        for j in near.nonzero()[0].tolist():
            lazy = LazyUniform(int(words[j]), 64, source)
            row = low + j
            result[row] = decide(int(counts[row]), *chances.fraction(row), lazy)
    return result


def partial_sums(n: Floats, p: Floats, q: Floats, columns: int) -> Floats:
    """P[X <= j] within ``ERROR``: a row for each j below ``columns``, a column for each distribution."""
    j = np.arange(columns)[:, None]
    terms: Floats = (n + 1.0) - j
    # P[j]/P[j-1]; beyond n there is nothing.
    np.maximum(terms, 0.0, out=terms)
    terms *= p / q
    terms[1:] /= j[1:]
    terms[0] = np.exp(n * np.log1p(-p))
    np.cumprod(terms, axis=0, out=terms)
    return np.cumsum(terms, axis=0, out=terms)


def decide(n: int, above: int, below: int, u: LazyUniform) -> int:
    """The j with P[X < j] <= U < P[X <= j], decided by balls of growing precision."""

    def question(precision: int) -> int | None:
        q = heavy.arb(heavy.fmpq(below - above, below))
        odds = heavy.arb(heavy.fmpq(above, below - above))
        known = u.ball(precision)
        term = total = q**n
        for j in range(n):
            if known < total:
                return j
            if not known > total:
                return None
            term = term * odds * (n - j) / (j + 1)
            total = total + term
        return n  # U has passed every other sum

    return int(decided(question))
