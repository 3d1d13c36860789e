"""How much worse than at its reference an answer may be: the error at other public distributions, none of them data.

An error after decoding depends on how the truth is spread, which no plan may know. One reference says *about* how large
it will be; the largest error over several says *at most about*: all alike, many at one end, everybody at one end, and a
few single items. These are no bounds: what they hold for is measured (docs/histograms.md).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from barrow.planning.simulate import WITH_RECORDS, even_numbers, reference_distribution
from barrow.spaces import Space
from barrow.spaces.space import Floats

_END = 0.03
"""The bump at an end falls to 1/e over this share of the items."""
_SHAPE = 0.1
"""Of the gamma weights of single items: about one item in ten has most of its weight."""
_OFTEN = {"levels": 1.25}
"""Empirical Bayes by levels errs more off its reference, by so much on real sets."""
QUICK, _USUAL = {"cells": 10, "tree": 10, "levels": 4}, 1
"""So many releases at each of them up to so many items, more of what is quick to decode."""
_MANY = 2000
_LARGE = 2
"""Beyond them so many at a few single items, which is where noise along edges errs most."""


def other_references(space: Space) -> list[Floats]:
    """Distributions that are unlike the usual reference, and unlike each other; the one of few single items first.

    >>> from barrow.spaces import Line
    >>> [np.round(result, 2).tolist() for result in other_references(Line(0, 3, step=1, cells=True))][1:3]
    [[0.33, 0.33, 0.33], [0.55, 0.27, 0.18]]
    """
    records_space = space.records_space
    k = records_space.items
    # From one end of the space: the first item is at a corner of a map, and at the end of a line.
    rank = np.empty(k)
    rank[np.argsort(records_space.distance(np.arange(k), 0), kind="stable")] = np.arange(k)
    results = [_few(k), np.ones(k), 1.0 / (1.0 + rank), np.exp(-rank / max(1.0, _END * k))]
    if not records_space.geometry.has_map:  # names have no neighbours that are alike
        results.append(reference_distribution(records_space, "rough"))
    return [_whole(raw / raw.sum(), space) for raw in results]


def _whole(held: Floats, space: Space) -> Floats:
    """With people without records, where the space has an item for them."""
    return held if space.no_records_distance is None else np.append(WITH_RECORDS * held, 1.0 - WITH_RECORDS)


def _few(items: int) -> Floats:
    """Most of the weight on few items: u^(1/shape) for even u is about what gamma variables of a small shape are."""
    return np.asarray(even_numbers(items) ** (1.0 / _SHAPE))


def most_error(kind: str, space: Space, known: float, error: Callable[[Floats, int], float]) -> float:
    """The largest error over the references: "at most about".

    Args:
        kind: What the mechanism is called.
        space: The public space.
        known: The error at the usual reference.
        error: From a reference and a number of releases to the mean error there, in the unit of ``known``.
    """
    few = space.items <= _MANY
    draws = QUICK.get(kind, _USUAL) if few else _LARGE
    used = other_references(space)[: None if few else 1]
    return max(known, *(error(reference, draws) for reference in used)) * _OFTEN.get(kind, 1.0)
