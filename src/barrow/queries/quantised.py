"""A query's values on a public grid: integers times a public step, dense or sparse, and norms of their differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.numerics import TABLE_BITS, Exact, exact, exact_text, float_up
from barrow.numerics.exact import norm_power
from barrow.spaces.space import Floats, Ids


def norm_order(p: Exact) -> float:
    """The order of a norm as a float: 1 or more, or infinity.

    >>> norm_order("inf"), norm_order(2), norm_order("3/2")
    (inf, 2.0, 1.5)
    """
    power = norm_power(p)
    return math.inf if power is None else float(power)


@dataclass(frozen=True, eq=False, repr=False)
class Quantised:
    """What a query is on each item: ``integers * step``, one row for each item.

    Attributes:
        integers: int64, shape (items, outputs): a dense array, or a ``scipy.sparse.csr_array``.
        step: The public grid.
        error_upper: The largest difference between an entry and the real function that it stands for.

    This is the one place where the size of a table's integers is enforced: within 2^50, for sums over people
    (:mod:`barrow.mechanisms.statistics`) and bounds in floats rely on it.

    >>> table = quantise(np.array([[0.1], [0.9]]), step="1/4")
    >>> table.integers.tolist(), table.step
    ([[0], [4]], Fraction(1, 4))
    >>> Quantised(np.array([[2**50 + 1]]), Fraction(1), 0.0)
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: A value of the query is 1125899906842625 steps.
      allowed: whole numbers of steps within 2^50
      fix:     a larger step
    """

    integers: Any
    step: Fraction
    error_upper: float

    def __post_init__(self) -> None:
        data = self.integers.data if self.sparse else self.integers
        if data.dtype != np.int64:
            raise ParameterError(
                f"The values of the query are of the type {data.dtype}.", allowed="int64", fix="astype(np.int64)"
            )
        # Not by absolute values: that of -2^63 is negative.
        least, largest = (int(end(data, initial=0)) for end in (np.min, np.max))
        if least < -(2**TABLE_BITS) or largest > 2**TABLE_BITS:
            raise ParameterError(
                f"A value of the query is {largest if largest > 2**TABLE_BITS else least} steps.",
                allowed=f"whole numbers of steps within 2^{TABLE_BITS}",
                fix="a larger step",
            )

    @property
    def sparse(self) -> bool:
        """Whether most entries are zero and only the others are kept."""
        return not isinstance(self.integers, np.ndarray)

    @property
    def shape(self) -> tuple[int, int]:
        """(items, outputs)."""
        rows, columns = self.integers.shape
        return int(rows), int(columns)

    @property
    def widest_row(self) -> int:
        """The most entries that are not zero for one item."""
        if self.sparse:
            return int(np.diff(self.integers.indptr).max(initial=0))
        return int(np.count_nonzero(self.integers, axis=1).max(initial=0))

    def limits(self, reach: Fraction, grid: Fraction) -> list[tuple[int, int]]:
        """The least and the largest multiple of ``grid`` that is within ``reach`` of some item's value, by output.

        >>> quantise(np.array([[0.1], [0.9]]), step="1/4").limits(Fraction(1, 2), Fraction(1, 10))
        [(-5, 15)]
        """
        ends = self.integers.min(axis=0), self.integers.max(axis=0)
        lows, highs = (np.ravel(x.toarray()).tolist() if self.sparse else x.tolist() for x in ends)
        return [
            (math.floor((low * self.step - reach) / grid), math.ceil((high * self.step + reach) / grid))
            for low, high in zip(lows, highs, strict=True)
        ]

    def coarser(self, bits: int) -> Quantised:
        """The same on a grid that is 2^bits times as coarse: no value moves by more than half a step of it.

        >>> quantise(np.array([[0.1], [0.9]]), step="1/16").coarser(2).integers.tolist()
        [[1], [4]]
        """
        if bits <= 0:
            return self
        integers = entrywise(self.integers, lambda data: (data + (1 << (bits - 1))) >> bits)
        step = self.step * 2**bits
        return Quantised(integers, step, self.error_upper + float_up(step) / 2.0)

    def moved_upper(self, other: Quantised, p: float) -> float:
        """How much more two rows may differ here than there in the p-norm, where this is the coarser of the two."""
        if self.step == other.step:
            return 0.0
        differing = float(min(self.shape[1], 2 * self.row_width))
        return float(differing ** (1.0 / p)) * float_up(self.step) * (1.0 + 2.0**-40)

    def floats(self) -> Any:
        """The integers as floats (exactly), dense or sparse as they are."""
        return self.integers.astype(np.float64)

    @property
    def row_width(self) -> int:
        """How many entries of a row may differ from zero."""
        return int(np.diff(self.integers.indptr).max(initial=0)) if self.sparse else self.shape[1]

    def ranges(self) -> Floats:
        """The spread (largest minus smallest) of each output, in steps; exact."""
        return self._ranges

    @cached_property
    def _ranges(self) -> Floats:
        if self.sparse:
            top = self.integers.max(axis=0).toarray().ravel()
            bottom = self.integers.min(axis=0).toarray().ravel()
            return np.asarray(top - bottom, dtype=np.float64)
        return np.asarray(np.ptp(self.integers, axis=0), dtype=np.float64)

    def range_upper(self, p: float) -> float:
        """An upper bound on the p-norm of the difference of two rows, in units; exact for one output.

        It is the smaller of the norm of the spreads and, where no entry is negative, 2^(1/p) times the largest norm
        of a row: |a-b|^p <= a^p + b^p (docs/proofs/lipschitz.md).
        """
        bound = vector_norm(self.ranges(), p)
        data = self.integers.data if self.sparse else self.integers
        if np.size(data) and np.min(data) >= 0 and self.shape[1] > 1:
            bound = min(bound, 2.0 ** (1.0 / p) * float(row_norms(self.floats(), p).max()))
        return bound * float_up(self.step) * (1.0 + relative_slack(self.shape[1]))


def entrywise(table: Any, change: Callable[[Ids], Ids]) -> Any:
    """A table of integers with every entry changed; a sparse one holds its zeros still."""
    if isinstance(table, np.ndarray):
        return change(table)
    return type(table)((change(table.data), table.indices, table.indptr), shape=table.shape)


def quantise(values: Floats, *, step: Exact | None = None, evaluation_error: float = 0.0) -> Quantised:
    """Rounds ``values`` to a public grid: ``step``, or the power of two that keeps 50 bits of the largest.

    ``evaluation_error`` is how far they may be from the real function.
    """
    largest = float(np.abs(values).max(initial=0.0))
    grid = default_step(largest) if step is None else _checked_step(step, largest)
    integers = np.rint(values / float(grid)).astype(np.int64)
    residual = float(np.abs(values - integers * float(grid)).max(initial=0.0))
    # Neither the quotient, nor the product, nor the difference is off by more than a few units of the largest value.
    return Quantised(integers, grid, residual + evaluation_error + largest * 2.0**-50)


def default_step(largest: float) -> Fraction:
    """The power of two that keeps 50 bits of a value as large as ``largest``."""
    # Values so small that their 50th bit is no float are kept to fewer bits.
    return Fraction(2) ** max(math.frexp(largest)[1] - TABLE_BITS, -1000) if largest else Fraction(1, 2**TABLE_BITS)


def _checked_step(step: Exact, largest: float) -> Fraction:
    grid = exact(step, "step")
    finest = default_step(largest)
    if grid < finest:
        raise ParameterError(
            f"step is {exact_text(grid)}.",
            allowed=f"a number above 0, and at least {float(finest):.3g} for values up to {largest:.6g}",
            fix="leave step out",
        )
    return grid


def relative_slack(outputs: int) -> float:
    """A bound on the relative rounding error of a norm of ``outputs`` entries and a quotient (16 units per power)."""
    return (outputs + 64) * 2.0**-52


def vector_norm(vector: Floats, p: float) -> float:
    """The p-norm of one vector, without overflow."""
    return float(row_norms(vector[None, :], p)[0]) if vector.size else 0.0


def row_norms(rows: Any, p: float) -> Floats:
    """The p-norm of each row, dense or sparse; entries that underflow lose less than the slack."""
    if not isinstance(rows, np.ndarray):
        return _sparse_row_norms(rows, p)
    size: NDArray[np.float64] = np.abs(rows)
    if p == 1.0:
        return np.asarray(size.sum(axis=1))
    top = size.max(axis=1, initial=0.0)
    if p == math.inf:
        return np.asarray(top)
    size /= np.where(top > 0.0, top, 1.0)[:, None]
    powers = size * size if p == 2.0 else size**p
    return np.asarray(top * powers.sum(axis=1) ** (1.0 / p))


def _sparse_row_norms(rows: Any, p: float) -> Floats:
    size = abs(rows)
    if p == 1.0:
        return np.asarray(size.sum(axis=1), dtype=np.float64).ravel()
    top = np.asarray(size.max(axis=1).toarray(), dtype=np.float64).ravel()
    if p == math.inf:
        return top
    scaled = size.tocsr(copy=True)
    scaled.data /= np.repeat(np.where(top > 0.0, top, 1.0), np.diff(scaled.indptr))
    scaled.data **= p
    return np.asarray(top * np.asarray(scaled.sum(axis=1)).ravel() ** (1.0 / p))
