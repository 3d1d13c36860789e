"""Hadamard response in blocks (Acharya, Sun and Zhang 2019), decoded by fast Walsh-Hadamard transforms."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.mechanisms.user_level.subsets import checked_items
from barrow.numerics import Exact, float_down
from barrow.promises.definitions import positive
from barrow.randomisers import TOTAL
from benchmarks.baselines.channels import SetChannel
from benchmarks.baselines.edges import Floats, Integers, sum_to_one


class HadamardResponse(SetChannel):
    """Items are dealt to B blocks; item x is row i of the b x b Hadamard matrix of its block, i from 1 on.

    Its set holds the b/2 reports of its block where the row is +1. With one block this is the classic Hadamard response
    with K = b reports; more blocks have smaller sets, which is better once e^epsilon is large.

    Args:
        items: k.
        epsilon: The privacy parameter of one report.
        blocks: B, a power of two; None takes the most accurate number for evenly spread items.

    >>> channel = HadamardResponse(100, 1)
    >>> channel.blocks, channel.outputs, channel.size
    (1, 128, 64)
    >>> HadamardResponse(100, 4).blocks
    32
    """

    name: ClassVar[str] = "Hadamard response"

    def __init__(self, items: int, epsilon: Exact, *, blocks: int | None = None) -> None:
        k = checked_items(items)
        if blocks is None:
            blocks = best_blocks(k, float_down(positive(epsilon, "epsilon")))
        if isinstance(blocks, bool) or blocks < 1 or blocks & (blocks - 1) or blocks > k:
            raise ParameterError(f"blocks is {blocks!r}.", allowed=f"a power of two up to {k}", fix="blocks=None")
        self.blocks = blocks
        self.order = _order(k, blocks)
        half = self.order // 2
        # Sets of one block share half of their reports, sets of different blocks none.
        super().__init__(k, epsilon, outputs=blocks * self.order, size=half, apart=half if blocks > 1 else half // 2)

    def at(self, epsilon: Exact) -> HadamardResponse:
        """With as many blocks."""
        return HadamardResponse(self.items, epsilon, blocks=self.blocks)

    def member(self, ids: Integers, ranks: Integers) -> Integers:
        """The bits of the rank around the row's lowest bit, which is set so that row and report agree."""
        row = ids // self.blocks + 1
        low = row & -row
        column = (ranks & (low - 1)) | ((ranks & -low) << 1)
        odd = np.bitwise_count(row & column) & 1
        return np.asarray((ids % self.blocks) * self.order + (column | (low * odd)))

    def contains(self, ids: Integers, outputs: Integers) -> NDArray[np.bool_]:
        """Whether the report is in the item's block, where its row is +1."""
        even = np.bitwise_count((ids // self.blocks + 1) & (outputs % self.order)) & 1 == 0
        return np.asarray(even & (ids % self.blocks == outputs // self.order))

    def contributions(self, outputs: Integers) -> Floats:
        """The entry of the Hadamard matrix in the item's own block, divided by w; 0 in other blocks."""
        ids, column = np.arange(self.items)[None, :], outputs[:, None]
        odd = np.bitwise_count((ids // self.blocks + 1) & (column % self.order)) & 1
        here = ids % self.blocks == column // self.order
        return np.where(here, 1.0 - 2.0 * odd, 0.0) * (TOTAL / self.weight)

    def decode(self, tally: Integers, reports: int) -> Floats:
        """One transform for each block."""
        shares = walsh_hadamard(tally.reshape(self.blocks, self.order) / reports) * (TOTAL / self.weight)
        ids = np.arange(self.items)
        return sum_to_one(shares[ids % self.blocks, ids // self.blocks + 1])


def walsh_hadamard(table: NDArray[Any]) -> Floats:
    """Rows times the Hadamard matrix of Sylvester's form, in n log n steps; their length is a power of two.

    >>> walsh_hadamard(np.array([[1.0, 2.0, 3.0, 4.0]])).tolist()
    [[10.0, -2.0, -4.0, 0.0]]
    """
    result = np.array(table, dtype=np.float64)
    rows, length = result.shape
    width = 1
    while width < length:
        pairs = result.reshape(rows, -1, 2, width)
        result = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2).reshape(rows, -1)
        width *= 2
    return result


def best_blocks(items: int, epsilon: float) -> int:
    """The power of two B that makes (2B + e^epsilon - 1)^2/B least: the variance on evenly spread items.

    >>> [best_blocks(100, e) for e in (0.1, 1.0, 2.0, 3.0)]
    [1, 1, 4, 8]
    """
    gain = math.expm1(min(epsilon, 28.0))
    tried = [1 << j for j in range(items.bit_length())]
    return min(tried, key=lambda b: (2.0 * b + gain) ** 2 / b)


def _order(items: int, blocks: int) -> int:
    """The least power of two, at least 4 for one block (where pairs of rows share half), with a row for each item."""
    rows = -(-items // blocks) + 1
    return max(2 if blocks > 1 else 4, 1 << (rows - 1).bit_length())
