"""Density maps at several scales at once: bandwidths that share one Lipschitz budget.

Level j is a density of bandwidth h_j (or the histogram of the cells), multiplied by a public weight lambda_j. What is
released is all of them side by side, with the joint constant: the largest sum_j lambda_j ||f_j(x) - f_j(x')||/d over
pairs of items, which is never more than the sum of the levels' own constants (docs/proofs/multiscale.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics import TABLE_BITS, Exact, exact, exact_text
from barrow.queries.density import check_places, density
from barrow.queries.quantised import Quantised
from barrow.queries.query import ClosedForm, Query, plain
from barrow.queries.tables import histogram
from barrow.spaces import Space, parse_distance
from barrow.spaces.geometry import cell_width

CELLS = "cells"
"""The name of the finest level: one output for each item."""
_MOST_LEVELS = 16


@dataclass(frozen=True, eq=False)
class Level:
    """One scale of several.

    Attributes:
        query: The density, or the histogram of the cells, without its weight.
        share: Its share of the privacy budget, as asked for.
        weight: lambda: the outputs are the query's, times this.
        width: The bandwidth as a share of the diameter; of the cells, the least distance.
        outputs: Where the level's outputs are among its.

    >>> from barrow.spaces import Line
    >>> query = multiscale(Line(0, 100, unit="km", step=1, cells=True), bandwidths=["25 km", "cells"])
    >>> [(level.outputs.stop, round(level.weight, 3)) for level in query.levels]
    [(5, 1.0), (105, 0.04)]
    """

    query: Query
    share: Fraction
    weight: float
    width: float
    outputs: slice

    @property
    def name(self) -> str:
        """The bandwidth in words, or ``"cells"``."""
        return CELLS if self.query.kind == "histogram" else str(self.query.arguments["bandwidth"])


@dataclass(frozen=True, eq=False, repr=False)
class MultiscaleQuery(Query):
    """A query made by :func:`multiscale`.

    Attributes:
        levels: The scales, in the order of the outputs.

    >>> from barrow.spaces import Line
    >>> multiscale(Line(0, 1, step=0.1), bandwidths=["1/2", "1/4"]).kind
    'multiscale'
    """

    levels: tuple[Level, ...] = ()

    def _beyond(self, p: float, distance: float) -> float:
        """Each level changes by at most its constant, and by at most 2^(1/p) in all (docs/proofs/multiscale.md)."""
        flat = 2.0 ** (1.0 / p) / distance
        each = [level.weight * min(_known(level.query, p), flat) for level in self.levels]
        entries = float(min(self.dimension, 2 * self.table.row_width)) ** (1.0 / p)
        rounding = 2.0 * self.table.error_upper * entries / distance
        return float(np.linalg.norm(each, ord=p) + rounding) * (1.0 + 2.0**-40)


def multiscale(
    space: Space,
    *,
    bandwidths: Sequence[Exact],
    shares: Sequence[Exact] | None = None,
) -> MultiscaleQuery:
    """Smoothed maps of where people's items are, at several scales that share one privacy budget.

    Each output is a share of people near a place, times the public weight of its level;
    ``barrow.mechanisms.multiscale.map_of`` turns noisy ones into one map.

    Args:
        space: A line, a circle, a Euclidean space, the Earth or hexagons.
        bandwidths: Distances in words, e.g. ``["20 km", "5 km"]``, each at least two cells of the space; ``"cells"``
            stands for the histogram of the cells themselves.
        shares: How much of the budget each level gets: numbers above 0 with sum 1; equal by default. A level with
            share w and Lipschitz constant about ell has a weight proportional to w/ell.

    >>> from barrow.spaces import Line
    >>> query = multiscale(Line(0, 100, unit="km", step=1), bandwidths=["25 km", "10 km"], shares=["1/4", "3/4"])
    >>> query.dimension, round(query.lipschitz_upper(1), 6)  # weights 25/4 : 30/4, so (8/1.2 + 20)
    (16, 26.666667)
    """
    check_places(space)
    widths = _widths(space, bandwidths)
    parts = _shares(shares, len(widths))
    queries = [
        histogram(space) if width is None else density(space, bandwidth=bandwidth)
        for bandwidth, width in zip(bandwidths, widths, strict=True)
    ]
    sizes = [space.least_distance_lower if width is None else float(width) for width in widths]
    weights = [
        float(share) / usual_constant(query, size) for query, share, size in zip(queries, parts, sizes, strict=True)
    ]
    largest = max(weights)
    levels, start = [], 0
    for query, share, weight, size in zip(queries, parts, weights, sizes, strict=True):
        stop = start + query.dimension
        levels.append(Level(query, share, weight / largest, size, slice(start, stop)))
        start = stop
    names = [CELLS if width is None else plain(bandwidth) for bandwidth, width in zip(bandwidths, widths, strict=True)]
    return MultiscaleQuery(
        space,
        "multiscale",
        "",
        f"the share of people (their items) near each of {start:,} places, at {len(levels)} scales "
        f"({', '.join(level.name for level in levels)}), times the weight of the scale",
        _stacked(levels),
        {"bandwidths": names, "shares": [exact_text(share) for share in parts]},
        _closed(levels),
        lambda: [f"{level.name}: {name}" for level in levels for name in level.query.outputs],
        None,  # outputs at one place differ by scale and weight: they are not points of one map
        _cartesian(levels),
        levels=tuple(levels),
    )


def dyadic_bandwidths(space: Space) -> list[str]:
    """Half the width of the space, a quarter and so on while at least two cells wide, and the cells themselves.

    >>> from barrow.spaces import Line
    >>> dyadic_bandwidths(Line(0, 100, unit="km", step=5, cells=True))
    ['50 km', '25 km', '12.5 km', 'cells']
    """
    check_places(space)
    grid, cell = space.geometry.lattice, cell_width(space)
    extent = space.diameter / 2.0**0.5 if grid is None else float((grid.high - grid.low).max())
    texts: list[str] = []
    width = min(extent, space.diameter) / 2.0
    while width >= 2.0 * cell * (1.0 - 1e-9) and len(texts) < _MOST_LEVELS - 1:
        texts.append(_distance_words(space, width))
        width /= 2.0
    return [*texts, CELLS]


def _distance_words(space: Space, width: float) -> str:
    """Six digits, rounded up, so that two cells stay at least two cells."""
    number = width if space.unit else width / space.diameter
    text = f"{number:.6g}"
    if float(text) < number * (1.0 - 1e-12):
        digits = 5 - math.floor(math.log10(number))
        text = f"{math.ceil(number * 10.0**digits) / 10.0**digits:.6g}"
    return f"{text} {space.unit}".strip()


def _stacked(levels: Sequence[Level]) -> Quantised:
    """The levels side by side, times their weights, rounded to one grid.

    The largest weight is 1, so entries stay within 2^50; constants are those of these integers.
    """
    parts, error = [], 0.0
    for level in levels:
        table = level.query.table
        part = table.integers.copy().astype(np.float64)
        # Integers up to 2^50 times a step that is a power of two are exact; the product is rounded twice.
        part.data = np.rint(part.data * float(table.step) * level.weight * 2.0**TABLE_BITS)
        parts.append(part.astype(np.int64))
        error = max(error, level.weight * table.error_upper)
    stacked = heavy.sparse.hstack(parts, format="csr")
    stacked.eliminate_zeros()
    step = Fraction(1, 2**TABLE_BITS)
    return Quantised(stacked, step, error + 2.0 * float(step))


def _closed(levels: Sequence[Level]) -> ClosedForm:
    """||(v_j)_j||_p is the p-norm of (||v_j||_p)_j, and each of these is at most lambda_j ell_j d."""

    def bound(p: float) -> float:
        each = [level.weight * _known(level.query, p) for level in levels]
        return float(np.linalg.norm(each, ord=p)) * (1.0 + 2.0**-40)

    return ClosedForm(bound, tight=[level.name for level in levels] == [CELLS])


def _known(query: Query, p: float) -> float:
    return query.closed_form.bound(p) if query.closed_form is not None else query.lipschitz_upper(p)


def _cartesian(levels: Sequence[Level]) -> Any:
    """Where near pairs are looked for, and how far at first: little, as what is found says how far is needed."""
    space = levels[0].query.space
    known = [level.query.cartesian for level in levels if level.query.cartesian is not None]
    finest = max(min(level.width for level in levels), 2.5 * space.least_distance_lower)
    if known:
        return known[0][0], finest
    boxes = space.geometry.lattice is not None and space.geometry.gaps is None
    return (space.geometry.points, finest) if boxes else None


def usual_constant(level_query: Query, width: float) -> float:
    """The usual l1-Lipschitz constant of a level, by which a share becomes a weight: a convention, no bound."""
    grid = level_query.space.geometry.lattice
    if level_query.kind == "histogram":
        return 2.0 / width
    return (3.0 if grid is None else 2.0 * float(grid.dimension**0.5)) / width


def _widths(space: Space, bandwidths: Sequence[Exact]) -> list[Fraction | None]:
    """The bandwidths as shares of the diameter, None for the cells."""
    if isinstance(bandwidths, str | int | float | Fraction) or not 1 <= len(bandwidths) <= _MOST_LEVELS:
        raise ParameterError(
            f"bandwidths is {bandwidths!r}.",
            allowed=f"a list of 1 to {_MOST_LEVELS} distances",
            fix=f"bandwidths={dyadic_bandwidths(space)!r}",
        )
    widths = [
        None if isinstance(h, str) and h.strip().lower() == CELLS else parse_distance(h, space) for h in bandwidths
    ]
    if len(set(widths)) < len(widths):
        raise ParameterError(
            f"A bandwidth occurs twice in {[str(h) for h in bandwidths]}.",
            allowed="different bandwidths",
            fix="leave one out, and give its share to the other",
        )
    return widths


def _shares(shares: Sequence[Exact] | None, levels: int) -> list[Fraction]:
    if shares is None:
        return [Fraction(1, levels)] * levels
    equal = ", ".join([f'"1/{levels}"'] * levels)
    wrong = f"shares is {shares!r}"
    if isinstance(shares, str | int | float | Fraction) or len(shares) != levels:
        raise ParameterError(
            f"{wrong} for {levels} bandwidths.", allowed="one share for each bandwidth", fix=f"shares=[{equal}]"
        )
    parts = [exact(share, "a share") for share in shares]
    if min(parts) <= 0:
        raise ParameterError(
            f"{wrong}: one is not above 0.",
            allowed="numbers above 0 with sum 1",
            fix="leave out the bandwidths that should get nothing",
        )
    total = sum(parts, Fraction(0))
    if abs(total - 1) > Fraction(1, 10**9):
        scaled = ", ".join(f'"{exact_text(part / total)}"' for part in parts)
        raise ParameterError(
            f"{wrong}, with sum {float(total):.9g}.", allowed="numbers above 0 with sum 1", fix=f"shares=[{scaled}]"
        )
    return parts
