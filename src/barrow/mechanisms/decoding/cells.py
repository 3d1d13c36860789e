"""The decoder of noisy shares of cells that suits a space, whatever was added to its items.

A study's space has one more item for people without records, and may have one for what is outside. Which decoder is
right is a matter of the space inside: it is decoded there, and what was added keeps its own share.

Noisy shares of cells to a histogram: cells in which nothing shows at any scale are emptied, the rest is fitted.

A cell alone hides in its noise long before a block of cells does. So sums over nested blocks are compared with what
noise alone reaches, cells that no block speaks for become 0, and what is kept is made a histogram: on a line by
isotonic regression of its running sums, elsewhere by the cheapest flow between near items. Without the screen the noise
of every empty cell stays as mass far from the data. No bound on the error is claimed; the argument and its limits are
in docs/proofs/screening.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.mechanisms.decoding.grid import nearest_in_simplex
from barrow.mechanisms.decoding.tree import decode, edge_values
from barrow.spaces import Space, edge_tree
from barrow.spaces.augmented import base_space
from barrow.spaces.nearness import coordinates
from barrow.spaces.space import Floats, Ids
from barrow.transport.graph_flow import near_pairs, nearest_flow

_LEAST = 1e-3
"""Where less is left to the other items it hardly matters how they share it."""


def cells_decoder(space: Space, noise: CellNoise) -> Callable[[Floats], Floats]:
    """From noisy shares of all items to a histogram: along a line or a map screened, along a tree from the root down.

    >>> from barrow.spaces import Elsewhere, Line, NoRecords
    >>> space = NoRecords(Elsewhere(Line(0, 4, step=1, cells=True)))
    >>> cells_decoder(space, CellNoise(0.001))(np.array([0.5, 0.001, -0.001, 0.3, 0.001, 0.2])).round(3).tolist()
    [0.5, 0.0, 0.0, 0.3, 0.0, 0.2]
    """
    inside, added = inner_decoder(base_space(space)), space.items - base_space(space).items
    shows = float(noise.reached(np.ones(1), np.full(1, GAMMA))[0])

    def decoded(values: Floats) -> Floats:
        # All shares have the sum 1, which corrects those of added items a little where there are few others.
        whole = np.append(values[: len(values) - added], moved(values)[len(values) - added :])
        return without_added(whole, added, lambda rest, times: inside(rest, noise.times(times)), shows)

    return decoded


@lru_cache(maxsize=16)
def inner_decoder(space: Space) -> Callable[[Floats, CellNoise], Floats]:
    """The decoder of a space to which nothing was added."""
    if space.items == 1:
        return lambda values, noise: nearest_in_simplex(values)
    if space.geometry.on_line:
        runs = ScreenBlocks.dyadic(space.items)
        return lambda values, noise: screened_line(values, runs, noise)
    if space.geometry.has_tree:
        return _along_tree(space)
    if space.geometry.has_map or space.geometry.parts or space.geometry.places is not None:
        blocks = ScreenBlocks.halved(coordinates(space))
        return lambda values, noise: screened_map(space, values, blocks, noise)
    return lambda values, noise: nearest_in_simplex(values)


def _along_tree(space: Space) -> Callable[[Floats, CellNoise], Floats]:
    tree, k = edge_tree(space), space.items
    below = tree.ends - tree.starts
    # The sum is known to be 1: what is moved to it is spread evenly, and a run of t items keeps t (1 - t/k) variances.
    variances = np.maximum(below * (1.0 - below / k), 1.0 / k) * tree.lengths**2

    def along(values: Floats, noise: CellNoise) -> Floats:
        return decode(tree, edge_values(tree, moved(values)), how="top_down", variances=variances)

    return along


def without_added(values: Floats, added: int, decode: Callable[[Floats, float], Floats], shows: float = 0.0) -> Floats:
    """The histogram of released values: shares of the added items as they are, what is left by the others' decoder.

    Args:
        values: What was released, times the factors that make shares of the added items' outputs.
        added: How many of the last ones are theirs.
        decode: From the values of the other outputs, as if nobody held an added item, to a histogram; the second
            argument says how many times larger their noise has become.
        shows: Shares of added items that are no larger are taken as 0.
    """
    if not added:
        return decode(values, 1.0)
    own = np.where(values[-added:] > shows, np.maximum(values[-added:], 0.0), 0.0)
    own = own / max(1.0, float(own.sum()))
    left = max(0.0, 1.0 - float(own.sum()))
    times = 1.0 / max(left, _LEAST)
    result = np.maximum(decode(values[:-added] * times, times), 0.0)
    return np.append(result * (left / result.sum()), own)


GAMMA = 0.02
"""Noise alone makes some block of a level active with about this probability."""
REST = 2.3
"""What is left of an active block is kept if its sum is above so many standard deviations."""
_MOST = 0.3
"""No block is held to be active more often than this by noise alone."""
_MOST_FLOW = 20_000
"""Flows between more items take long: there the nearest point of the simplex does."""
Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class CellNoise:
    """The law of independent noise on cells.

    Attributes:
        deviation: The standard deviation on each cell.
        terms: The noise of a cell is the mean of so many Laplace variables; infinity for Gaussian noise.
    """

    deviation: float
    terms: float = math.inf

    def reached(self, cells: Floats, chance: Floats) -> Floats:
        """What the noise on sums of so many cells exceeds with these probabilities, about."""
        z = -heavy.special.ndtri(chance)
        # Sums of t Laplace variables are nearly normal: the next term of the expansion by Cornish and Fisher.
        size = z + (z**3 - 3.0 * z) / (8.0 * cells * self.terms)
        one = np.log(0.5 / chance) / math.sqrt(2.0)
        return np.asarray(self.deviation * np.where(cells * self.terms == 1.0, one, np.sqrt(cells) * size))

    def times(self, factor: float) -> CellNoise:
        """The law of so many times the noise."""
        return CellNoise(self.deviation * factor, self.terms)


@dataclass(frozen=True, eq=False)
class ScreenBlocks:
    """Nested blocks of cells; everything is public.

    Attributes:
        parents: For each level from the cells upward: the number of the block of the next level that each lies in.
        sizes: How many cells each block of each level has; the last level is one block.
    """

    parents: tuple[Ids, ...]
    sizes: tuple[Floats, ...]

    @staticmethod
    def of(parents: list[Ids], cells: int) -> ScreenBlocks:
        """From the parents of each level."""
        sizes: list[Floats] = [np.ones(cells)]
        for above in parents:
            sizes.append(np.asarray(np.bincount(above, sizes[-1]), dtype=np.float64))
        return ScreenBlocks(tuple(parents), tuple(sizes))

    @staticmethod
    def dyadic(cells: int) -> ScreenBlocks:
        """Runs of 1, 2, 4, … cells.

        >>> [sizes.tolist() for sizes in ScreenBlocks.dyadic(5).sizes]
        [[1.0, 1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 1.0], [4.0, 1.0], [5.0]]
        """
        parents, count = [], cells
        while count > 1:
            parents.append(np.arange(count) // 2)
            count = -(-count // 2)
        return ScreenBlocks.of(parents, cells)

    @staticmethod
    def halved(places: Floats) -> ScreenBlocks:
        """Quarters of quarters: items are halved along their longest side again and again, those at one place together.

        >>> grid = np.stack(np.meshgrid([0.0, 1.0, 2.0, 3.0], [0.0, 1.0]), axis=-1).reshape(-1, 2)
        >>> [sizes.tolist() for sizes in ScreenBlocks.halved(grid).sizes]
        [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0], [8.0]]
        """
        cells, quarters = len(places), places.shape[1] > 1
        results = [np.zeros(cells, dtype=np.int64)]
        while int(results[-1].max()) + 1 < cells:
            finer = _halves(results[-1], places)
            results.append(_halves(finer, places) if quarters else finer)
        results[-1] = np.arange(cells)
        parents = []
        for fine, coarse in itertools.pairwise(reversed(results)):
            above = np.zeros(int(fine.max()) + 1, dtype=np.int64)
            above[fine] = coarse
            parents.append(above)
        return ScreenBlocks.of(parents, cells)

    def sums(self, values: Floats) -> list[Floats]:
        """The sums over the blocks of each level."""
        results = [np.asarray(values, dtype=np.float64)]
        for above in self.parents:
            results.append(np.asarray(np.bincount(above, results[-1]), dtype=np.float64))
        return results

    def below(self, marks: list[Marks]) -> list[Marks]:
        """Whether a block of a lower level inside each one is marked."""
        results = [np.zeros(len(marks[0]), dtype=bool)]
        for level, above in enumerate(self.parents):
            inside = np.zeros(len(marks[level + 1]), dtype=bool)
            inside[above[marks[level] | results[-1]]] = True
            results.append(inside)
        return results


def screened_cells(values: Floats, blocks: ScreenBlocks, noise: CellNoise) -> Marks:
    """Which cells are kept: those of blocks that stand out from the noise, at the finest scale that shows them.

    A block is active if its sum exceeds what noise alone reaches in some block of its level with about 2 %; the whole
    is always. Active blocks without active ones inside are kept. From the whole downward, what is left of an active
    block is kept too if its sum stands out: mass that is too thin to show at any finer scale.
    """
    top = len(blocks.parents)
    sums, active = blocks.sums(values), []
    for size, total in zip(blocks.sizes, sums, strict=True):
        chance = np.full(len(size), min(GAMMA / len(size), _MOST))
        active.append(total > noise.reached(size, chance))
    active[top][:] = True
    inside = blocks.below(active)
    marks = _spread(blocks, [here & ~finer for here, finer in zip(active, inside, strict=True)])
    left, counts = blocks.sums(np.where(marks, 0.0, values)), blocks.sums((~marks).astype(np.float64))
    rest = [
        here & finer & (number > 1.0) & (total > REST * noise.deviation * np.sqrt(number))
        for here, finer, total, number in zip(active, inside, left, counts, strict=True)
    ]
    # Coarse first: what an outer block keeps is no longer left to those inside, which can only keep parts of it again.
    return np.asarray(marks | _spread(blocks, rest))


def _spread(blocks: ScreenBlocks, marks: list[Marks]) -> Marks:
    """Whether a cell lies in a marked block of any level."""
    result = marks[-1]
    for level in range(len(blocks.parents) - 1, -1, -1):
        result = marks[level] | result[blocks.parents[level]]
    return result


def _halves(block: Ids, places: Floats) -> Ids:
    """Each block in two along its longest side; by the order of items where all are at one place."""
    order = np.argsort(block, kind="stable")
    starts = np.flatnonzero(np.diff(block[order], prepend=-1))
    counts = np.diff(np.append(starts, len(block)))
    low, high = (reduce.reduceat(places[order], starts) for reduce in (np.minimum, np.maximum))
    side = (high - low).argmax(axis=1)
    value = places[np.arange(len(block)), side[block]]
    value = np.where((high == low).all(axis=1)[block], np.arange(len(block)), value)
    ranked = value[np.lexsort((value, block))]
    middle, least = ranked[starts + counts // 2], ranked[starts]
    upper = np.where((middle == least)[block], value > middle[block], value >= middle[block])
    return np.asarray(np.unique(2 * block + upper, return_inverse=True)[1], dtype=np.int64)


def screened_line(values: Floats, blocks: ScreenBlocks, noise: CellNoise) -> Floats:
    """The histogram of cells in a row: an isotonic regression of the running sums of the cells that are kept.

    >>> noise = CellNoise(0.001)
    >>> screened_line(np.array([0.6, 0.0005, -0.0005, 0.4]), ScreenBlocks.dyadic(4), noise).round(3).tolist()
    [0.6, 0.0, 0.0, 0.4]
    """
    indices = np.flatnonzero(screened_cells(values, blocks, noise))
    result = np.zeros(len(values))
    if len(indices) == 1:
        result[indices] = 1.0
        return result
    running = np.cumsum(moved(values[indices]))[:-1]
    limit = np.clip(heavy.pava(running), 0.0, 1.0)
    result[indices] = np.diff(limit, prepend=0.0, append=1.0)
    return result


def screened_map(space: Space, values: Floats, blocks: ScreenBlocks, noise: CellNoise) -> Floats:
    """The histogram on the cells that are kept, nearest to their values by the cheapest flow between near items."""
    indices = np.flatnonzero(screened_cells(values, blocks, noise))
    result, whole = np.zeros(len(values)), moved(values[indices])
    if (whole >= 0.0).all() or len(values) > _MOST_FLOW:
        result[indices] = nearest_in_simplex(whole)
        return result
    net = near_pairs(space)
    at = np.zeros(net.nodes)
    at[indices] = whole
    homes = heavy.sparse.csr_array(
        (np.ones(len(indices)), (np.arange(len(indices)), indices)), shape=(len(indices), net.nodes)
    )
    stays = nearest_flow(net, at, homes).remainder
    result[indices] = nearest_in_simplex(whole) if stays is None else stays
    return result


def moved(values: Floats) -> Floats:
    """Moved to the sum 1, which is known."""
    return np.asarray(values + (1.0 - values.sum()) / len(values))
