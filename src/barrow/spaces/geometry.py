"""What closed forms ask of a space. A space that answers none of it still works: then all pairs of items are visited.

Constants, noise, decoders and randomisers look here and never at the class of a space, so that a new one with the same
geometry has their formulas for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError

if TYPE_CHECKING:
    from barrow.spaces.base import Space

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]
"""South, west, north and east, in degrees."""
Pairs = tuple[Ids, Ids, int, Floats]
"""Tails, heads, the number of nodes, and lengths."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """The cells of a box, with distances of the Euclidean norm; of a circle, cut open.

    Attributes:
        low: The lower corner, in units.
        high: The upper one.
        shape: How many cells along each axis.
        full: Whether each cell has an item, at its middle.
    """

    low: Floats
    high: Floats
    shape: tuple[int, ...]
    full: bool = True

    @property
    def dimension(self) -> int:
        """How many axes."""
        return len(self.shape)

    @property
    def widths(self) -> Floats:
        """How wide cells are along each axis, in units."""
        return np.asarray((self.high - self.low) / np.array(self.shape))


class Geometry:
    """The part of a space that formulas are about; every answer here is that of a space without any formula."""

    has_tree: ClassVar[bool] = False
    """Whether distances are lengths of ways in a tree, so that histograms have closed forms: a space with
    :attr:`gaps`, or with :meth:`edge_spans`."""
    goes_round: ClassVar[bool] = False
    """Whether halfway between two places is not one place: circles, and the Earth."""
    on_earth: ClassVar[bool] = False
    """Whether the places are latitudes and longitudes, and distances great circles."""
    equidistant: ClassVar[bool] = False
    """Whether all items are at distance 1 of each other."""
    exact_distances: ClassVar[bool] = False
    """Whether computed distances are the very distances, without any error."""
    randomisers: ClassVar[tuple[str, ...]] = ("exponential",)
    """The randomisers of single items that suit it, the best first."""

    flat: ClassVar[bool] = False
    """Whether Euclidean distances of :attr:`point_rows` are the space's, in units; see :attr:`angular`."""
    angular: bool = False
    """Whether the rows have length 1, and distances are the angles between them, in degrees."""
    earth_box: Box | None = None
    """The box on Earth that rows of cells fill."""

    @property
    def point_rows(self) -> Floats:
        """The points of all items, a row each, where they have any."""
        return np.asarray(getattr(self, "points", ()), dtype=np.float64).reshape(cast("Space", self).items, -1)

    @property
    def gaps(self) -> Floats | None:
        """From each item to the next, normalised, where all distances are lengths of ways along these gaps."""
        return None

    @property
    def lattice(self) -> Lattice | None:
        """The grid along straight axes, or round a circle, whose cells the items are."""
        return None

    @property
    def even_clusters(self) -> tuple[int, int, Fraction] | None:
        """How many clusters, of how many items each, how far apart inside, where all are alike; else None."""
        return None

    @property
    def on_line(self) -> bool:
        """Whether items lie on a line, so that they have an order."""
        return self.has_tree and self.gaps is not None

    @property
    def has_map(self) -> bool:
        """Whether items are places of which densities can be drawn."""
        return self.on_earth or self.lattice is not None

    @property
    def cell_width(self) -> float:
        """How wide the cells of the items are, in units, at most."""
        lattice, space = self.lattice, cast("Space", self)
        return space.least_distance_lower * space.diameter if lattice is None else float(lattice.widths.max())

    def near_pairs(self) -> Pairs:
        """Pairs of near items whose paths stand in for distances."""
        from barrow.spaces.neighbours import near_pairs

        return near_pairs(cast("Space", self))

    def marginals(self, shares: Floats) -> Iterable[tuple[Space, Floats]]:
        """The parts of a product, each with its histogram, from one share for each item; else nothing."""
        return ()

    # Trees.

    def edge_spans(self) -> tuple[Ids, Ids, Floats]:
        """Of a tree's edges, in any order: the first item below, the one after the last, and the normalised length."""
        raise ParameterError(
            f"The space is {cast('Space', self).kind!r}, whose distances are not those of a tree.",
            allowed="tree, clustered, discrete or line",
            fix="a Tree or Clustered space over the same items, or the query 'density'",
        )

    def edge_lengths(self) -> list[Fraction]:
        """The lengths of :meth:`edge_spans`, exact."""
        return [Fraction(length) for length in self.edge_spans()[2].tolist()]

    def group_names(self) -> dict[tuple[int, int], str]:
        """The names of a tree's inner nodes, by the first item below and the one after the last."""
        return {}

    # The earth mover's distance.

    @property
    def has_closed_form(self) -> bool:
        """Whether :meth:`flow_cost` is known."""
        return self.has_tree or self.gaps is not None

    def flow_cost(self, difference: Floats) -> Floats:
        """The EMD of two histograms with this difference, along the last axis (docs/proofs/closed-forms.md).

        On a line sum_i |F_i| gap_i with F the running sum of the difference; on a circle of equal gaps min_c sum_i
        |F_i - c| gap_i, and the best place to cut it is at the median of F; on a tree sum_e length_e |mass below e|.
        """
        gaps = self.gaps
        if gaps is None:
            starts, ends, lengths = self.edge_spans()
            below = masses_below(difference, starts, ends)
            return np.asarray(np.abs(below, out=below).dot(lengths))
        if not self.goes_round:
            running = np.add.accumulate(difference[..., :-1], axis=-1)
            return np.asarray(np.abs(running, out=running).dot(gaps))
        running = np.cumsum(difference, axis=-1)
        running -= np.median(running, axis=-1, keepdims=True)
        return np.asarray(np.abs(running, out=running).dot(ones(running.shape[-1])) * gaps[0])


@lru_cache(maxsize=64)
def ones(size: int) -> Floats:
    """A cached vector of ones: ``row.dot(ones)`` is the fastest sum of a row."""
    vector = np.ones(size)
    vector.setflags(write=False)
    return vector


def masses_below(values: Floats, starts: Ids, ends: Ids) -> Floats:
    """The sum of ``values`` from each start up to its end, along the last axis: running sums give every one."""
    running = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=running[..., 1:])
    return np.asarray(running[..., ends] - running[..., starts])
