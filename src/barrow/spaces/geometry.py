"""What closed forms ask of a space. A space that answers none of it still works: then all pairs of items are visited.

Constants, noise, decoders and randomisers look here and never at the class of a space, so that a new one with the same
geometry has their formulas for nothing. A class of another package that overrides ``_distance`` keeps nothing of its
parents that rests on distances; kinds that are built in are written with their parents in sight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache, singledispatch, update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError

if TYPE_CHECKING:
    from barrow.spaces.space import Space

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]
"""South, west, north and east, in degrees."""
BOUNDS = ("least_distance_lower", "snapping_upper")
"""What a class must state that states its own distance."""
P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True, eq=False)
class BoxCells:
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


@dataclass(frozen=True, eq=False)
class TreeEdges:
    """The edges of a tree whose leaves are the items, in any order.

    Attributes:
        starts: The first item below each edge.
        ends: The one after the last.
        lengths: Normalised.
        exactly: Gives the lengths as fractions; by default those of the floats.
        names: Gives the names of inner nodes, by the first item below and the one after the last.
    """

    starts: Ids
    ends: Ids
    lengths: Floats
    exactly: Callable[[], list[Fraction]] | None = None
    names: Callable[[], dict[tuple[int, int], str]] = dict

    @property
    def exact_lengths(self) -> list[Fraction]:
        """The lengths, exact."""
        return [Fraction(x) for x in self.lengths.tolist()] if self.exactly is None else self.exactly()


@dataclass(frozen=True, eq=False)
class Geometry:
    """What formulas may know of a space beside its distances; the defaults are those of a space without any formula.

    Attributes:
        tree: The edges of which all distances are lengths of ways, so that histograms have closed forms.
        gaps: From each item to the next, normalised, where all distances are lengths of ways along these gaps.
        paths: Tails, heads and normalised lengths of the edges of which all distances are shortest paths.
        periodic: Whether halfway between two places is not one place: circles, and the Earth.
        lattice: The grid along straight axes, or round a circle, whose cells the items are.
        located: Gives the points of all items, where they have any.
        known_places: Whether people know items by these points.
        axes: What the coordinates of points are called.
        flat: Whether Euclidean distances of points are the space's, in units.
        angular: Whether the points have length 1, and distances are the angles between them, in degrees.
        on_earth: Whether the points are latitudes and longitudes, and distances great circles.
        box: The box on Earth that rows of cells fill.
        cell: How wide these are, in units, at most.
        parts: The parts of a product with their weights, of which distances are the weighted sum.
        within: The space of items within each hidden group, which is the first part, where records have one.
        group_distance: How far another group is, normalised.
        clusters: How many clusters, of how many items each, how far apart inside, where all are alike.
        equidistant: Whether all items are at distance 1 of each other.
        exact: Whether computed distances are the very distances, without any error.
        randomisers: The randomisers of single items that suit it, the best first.
        flow: A quicker formula of :meth:`flow_cost`, or one of a space that is no line, circle or tree.
    """

    tree: TreeEdges | None = None
    gaps: Floats | None = None
    paths: tuple[Ids, Ids, Floats] | None = None
    periodic: bool = False
    lattice: BoxCells | None = None
    located: Callable[[], Floats] | None = None
    known_places: bool = True
    axes: tuple[str, ...] = ("x", "y", "z", "u", "v", "w")
    flat: bool = False
    angular: bool = False
    on_earth: bool = False
    box: Box | None = None
    cell: float | None = None
    parts: tuple[tuple[Space, Fraction], ...] = ()
    within: Space | None = None
    group_distance: Fraction | None = None
    clusters: tuple[int, int, Fraction] | None = None
    equidistant: bool = False
    exact: bool = False
    randomisers: tuple[str, ...] = ("exponential",)
    flow: Callable[[Floats], Floats] | None = None

    @cached_property
    def on_line(self) -> bool:
        """Whether items lie on a line, so that they have an order."""
        return self.gaps is not None and not self.periodic

    @cached_property
    def has_tree(self) -> bool:
        """Whether distances are lengths of ways in a tree; a line is one."""
        return self.tree is not None or self.on_line

    @cached_property
    def has_closed_form(self) -> bool:
        """Whether :meth:`flow_cost` is known."""
        return self.has_sums or self.flow is not None

    @cached_property
    def has_sums(self) -> bool:
        """Whether :meth:`flow_cost` is a sum over edges or gaps, which many rows share."""
        return self.tree is not None or self.gaps is not None

    @cached_property
    def has_map(self) -> bool:
        """Whether items are places of which densities can be drawn."""
        return self.on_earth or self.lattice is not None

    @cached_property
    def points(self) -> Floats:
        """The points of all items, a row each."""
        result = np.asarray(() if self.located is None else self.located(), dtype=np.float64)
        return result.reshape(len(result), -1)

    @property
    def places(self) -> Floats | None:
        """The points, one number or a row each, where people know items by them; else None."""
        return self.located() if self.located is not None and self.known_places else None

    def flow_cost(self, difference: Floats) -> Floats:
        """The EMD of two histograms with this difference, along the last axis (docs/proofs/closed-forms.md).

        On a line sum_i |F_i| gap_i with F the running sum of the difference; on a circle of equal gaps min_c sum_i
        |F_i - c| gap_i, and the best place to cut it is at the median of F; on a tree sum_e length_e |mass below e|.
        """
        if self.flow is not None:
            return self.flow(difference)
        if self.tree is not None:
            below = masses_below(difference, self.tree.starts, self.tree.ends)
            return np.asarray(np.abs(below, out=below).dot(self.tree.lengths))
        gaps = cast("Floats", self.gaps)
        if not self.periodic:
            running = np.add.accumulate(difference[..., :-1], axis=-1)
            return np.asarray(np.abs(running, out=running).dot(gaps))
        running = np.cumsum(difference, axis=-1)
        running -= np.median(running, axis=-1, keepdims=True)
        return np.asarray(np.abs(running, out=running).dot(ones(running.shape[-1])) * gaps[0])


def tree_edges_of(space: Space) -> TreeEdges:
    """The edges of a space that is a tree."""
    if space.geometry.tree is None:
        raise ParameterError(
            f"The space is {space.kind!r}, whose distances are not those of a tree.",
            allowed="tree, clustered, discrete or line",
            fix="a Tree or Clustered space over the same items, or the query 'density'",
        )
    return space.geometry.tree


def cell_width(space: Space) -> float:
    """How wide the cells of the items are, in units, at most."""
    lattice, cell = space.geometry.lattice, space.geometry.cell
    if cell is not None:
        return cell
    return space.least_distance_lower * space.diameter if lattice is None else float(lattice.widths.max())


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


@cache
def of_one_distance(kind: type) -> tuple[type, ...]:
    """The classes, from ``kind`` upward, that speak of its distance: up to the one that overrides it.

    >>> from barrow.spaces import Line, Space
    >>> roots = type("Roots", (Line,), {"_distance": lambda self, a, b: abs(a - b) ** 0.5, "__module__": "roots"})
    >>> Space in of_one_distance(Line), of_one_distance(roots) == (roots,)
    (True, True)
    """
    classes = kind.__mro__
    for i, each in enumerate(classes):
        if "_distance" in vars(each) and each.__module__.partition(".")[0] != "barrow":
            return classes[: i + 1]
    return classes


@cache
def states(kind: type, name: str) -> bool:
    """Whether one of these classes has ``name``."""
    return any(name in vars(each) for each in of_one_distance(kind))


@cache
def check_bounds(kind: type) -> None:
    """Refuses a class with a distance of its own and the bounds of a parent's."""
    for name in BOUNDS:
        above = next(each for each in kind.__mro__ if name in vars(each))
        if not states(kind, name) and above.__name__ != "Space":  # what holds of every space may stay
            raise ParameterError(
                f"The space {kind.__name__} has a distance of its own and the {name} of {above.__name__}.",
                allowed="a class that states its own bounds where it states its own distance",
                fix=f"def {name}(self) -> float: … as a property of {kind.__name__}",
            )


class ByDistance(Generic[P, T]):
    """A function of a space, by its class, as :func:`functools.singledispatch` does it among classes of one distance.

    >>> from barrow.spaces.nearness import distances_from
    >>> isinstance(distances_from, ByDistance)
    True
    """

    def __init__(self, function: Callable[Concatenate[Any, P], T]) -> None:
        self._by_kind = singledispatch(function)  # which has the function itself for object
        update_wrapper(self, function)

    def register(self, function: F) -> F:
        """Adds what is done for the class that the first argument is annotated with."""
        self._by_kind.register(function)  # type: ignore[arg-type]  # it gives T, for another class of space
        return function

    def __call__(self, space: object, *more: P.args, **named: P.kwargs) -> T:
        """What is done for the nearest class that speaks of the space's distance."""
        known = self._by_kind.registry
        kind: type = type(space)
        kind = next((each for each in of_one_distance(kind) if each in known), object)
        return known[kind](space, *more, **named)
