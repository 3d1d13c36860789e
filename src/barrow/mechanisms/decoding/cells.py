"""The decoder of noisy shares of cells that suits a space, whatever was added to its items.

A study's space has one more item for people without records, and may have one for what is outside. Which decoder is
right is a matter of the space inside: it is decoded there, and what was added keeps its own share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from barrow.mechanisms.decoding.grid import nearest_in_simplex
from barrow.mechanisms.decoding.screened import GAMMA, CellNoise, ScreenBlocks, moved, screened_line, screened_map
from barrow.mechanisms.decoding.tree import decode, edge_values
from barrow.spaces import Space, edge_tree
from barrow.spaces.augmented import base_space
from barrow.spaces.nearness import coordinates
from barrow.spaces.space import Floats

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
