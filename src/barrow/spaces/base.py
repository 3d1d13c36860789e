"""What every space of items knows, whatever its metric.

A space is a public, finite set of items with a metric, normalised by a public diameter so that distances are at
most 1. Continuous spaces (a line, a box, the Earth) become finite by naming a public grid to which records are
snapped; without one they still turn distances with units into normalised ones, which is all that promises need.

Distances are floats within a relative error of ``distance_error`` of the real metric; whoever divides by one
(a Lipschitz constant) must allow for that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import DataError, ParameterError
from barrow.numerics import digest_of
from barrow.spaces.checks import Written, made, without_names
from barrow.spaces.geometry import Floats, Geometry, Ids
from barrow.spaces.inherited import lose_formulas
from barrow.spaces.records import Formula, Labels, Reads

if TYPE_CHECKING:
    from barrow.spaces.neighbours import NeighbourGraph

Unknown = Literal["error", "nearest", "default"]

DISTANCE_ERROR = 2.0**-44
"""Relative error of computed distances in most spaces, tested against 50 digits."""

_LONGEST = 10_000
"""Characters of a call beyond which a space prints in short."""
_BLOCK = 2**22
"""How many distances are held at once when all pairs are visited."""


class Space(Geometry, ABC):
    """A public set of items with a normalised metric.

    Items are the integers 0 .. size-1. ``unit`` names what distances are measured in, and ``diameter`` is the public
    number of units that counts as 1.
    """

    kind: ClassVar[str]
    """The name of the kind in plain data, e.g. ``"line"``."""
    axes: ClassVar[tuple[str, ...]] = ("x", "y", "z", "u", "v", "w")
    """What the columns of :attr:`places` are called."""
    cell_key: ClassVar[str] = ""
    """What the size of its cells is called, where it has one to choose."""
    apart: Fraction | None = None
    """How far people without records are from every item, where these have one more item for them; else None."""

    _unit: str
    _diameter: float
    _written: Written | None = None

    @property
    def unit(self) -> str:
        """The unit of distance for display, e.g. ``"km"``."""
        return self._unit

    @property
    def diameter(self) -> float:
        """How many units count as distance 1; public."""
        return self._diameter

    @property
    @abstractmethod
    def size(self) -> int | None:
        """The number of items; None for a continuous space without a grid."""

    @abstractmethod
    def _distance(self, a: Ids, b: Ids) -> Floats:
        """Normalised distances of broadcastable arrays of valid ids."""

    def _encode(self, records: Any, unknown: Unknown) -> Ids:
        """Ids of records, -1 where a record is missing or outside and ``unknown`` does not map it."""
        if unknown == "nearest" and not self.reads.numbers:
            raise ParameterError(
                f"unknown is 'nearest', but the {self.kind} space has only names, and no name is near an unknown one.",
                allowed="'error' or 'default'",
                fix="unknown='default'",
            )
        return self.formula.find(records, unknown == "nearest")

    @abstractmethod
    def label(self, item: int) -> str:
        """What item number ``item`` is called."""

    def to_spec(self) -> dict[str, Any]:
        """Plain data (TOML, JSON) from which :func:`barrow.spaces.space_from_spec` makes an equal space.

        A space whose tables were read from files names these.
        """
        return self._spec() if self._written is None else dict(self._written.spec)

    @abstractmethod
    def _spec(self) -> dict[str, Any]:
        """Plain data that hold everything."""

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Space:
        """The space that ``spec`` describes, which has no ``kind``."""
        return made(cls, **spec)

    @property
    def default_item(self) -> int:
        """The public item that stands in for missing data: what a user without items is taken to hold."""
        default = getattr(self, "default", None)
        return 0 if default is None else int(self._encode([default], "error")[0])

    @property
    def metric_name(self) -> str:
        """The distance between records, by name: equal for spaces that differ in grid, box or default only.

        >>> from barrow.spaces import Earth, Line
        >>> Line(0, 100, unit="years", step=1).metric_name, Earth(cell=50).metric_name == Earth(cell=20).metric_name
        ('line years', True)
        """
        return f"{self.kind} {self.digest}"

    @property
    def caveat(self) -> str:
        """What promises about one person's data do not say in this space, for plans and statements; mostly nothing."""
        return ""

    @property
    def places(self) -> Floats | None:
        """Coordinates of all items, a row each, where people know items by where they are; else None."""
        return getattr(self, "points", None)

    @property
    def cell_range(self) -> tuple[float, float] | None:
        """The narrowest and the widest cells worth trying, in units; None where there is no grid to change."""
        return None

    def takes_cells(self, width: float) -> bool:
        """Whether cells can be so wide."""
        return True

    @property
    def marks(self) -> tuple[Fraction, ...] | None:
        """Where the items are on a line, as exact shares of its length; None for spaces that are no line.

        >>> from barrow.spaces import Line
        >>> Line(0, 8, step=4).marks
        (Fraction(0, 1), Fraction(1, 2), Fraction(1, 1))
        """
        return None

    @property
    def held(self) -> Space:
        """The space of records, where there is one more item for people without them; else itself.

        >>> from barrow.spaces import Line, NoRecords
        >>> NoRecords(Line(0, 10, step=5)).held.kind, Line(0, 1).held.kind
        ('line', 'line')
        """
        return self

    @cached_property
    def with_no_records(self) -> Space:
        """These items and one more, which people without records hold; itself where it has one.

        >>> from barrow.spaces import Line
        >>> Line(0, 10, step=5, cells=True).with_no_records.labels
        ['2.5', '7.5', 'no records']
        """
        from barrow.spaces.one_more import NoRecords

        return self if self.apart is not None else NoRecords(self)

    @property
    def innermost(self) -> Space:
        """The space without the items that were added to it; they are the last ones.

        >>> from barrow.spaces import Elsewhere, Line, NoRecords
        >>> NoRecords(Elsewhere(Line(0, 10, step=5, cells=True))).innermost.kind
        'line'
        """
        return self

    @property
    def has_outside(self) -> bool:
        """Whether there is one more item for records outside."""
        return self.held is not self.innermost

    @property
    def numbered(self) -> str:
        """How the space is typed with numbers for its names, where these have an order that people know."""
        return ""

    @property
    def summands(self) -> tuple[tuple[Space, Fraction], ...]:
        """The parts of a product with their weights, of which distances are the weighted sum; else nothing."""
        return ()

    @property
    def coordinates(self) -> Floats:
        """Numbers for all items, a row each, in which items that are near each other mostly are near; public.

        The longest side of places is 1; items without places are a step of 1 apart.

        >>> from barrow.spaces import Discrete, Line
        >>> Line(0, 4, step=2, cells=True).coordinates.tolist(), Discrete(["a", "b"]).coordinates.tolist()
        ([[0.5], [1.5]], [[0.0], [1.0]])
        """
        if self.places is None:
            return np.arange(self.items, dtype=np.float64)[:, None]
        found = np.asarray(self.places, dtype=np.float64).reshape(self.items, -1)
        longest = float((found.max(axis=0) - found.min(axis=0)).max())
        return found / longest if longest > 0.0 else found

    @property
    def snapping_upper(self) -> float:
        """rho: the largest normalised distance by which snapping to the grid moves a record; 0 where none is."""
        return 0.0

    @property
    def may_be_whole(self) -> str:
        """What items are, where ``whole=True`` would say that records are so, too; empty elsewhere."""
        return ""

    @property
    def snapping_means(self) -> Floats:
        """For each item, the mean normalised distance by which snapping moves a record that is anywhere in its cell.

        For predictions only: no guarantee rests on it.
        """
        return np.full(self.items, 0.5 * self.snapping_upper)

    def coarser(self, most: int) -> tuple[Space, Ids] | None:
        """A space with the same distances and about ``most`` items at most, and to which of them each item belongs.

        For predictions only; None where items do not lie on a grid.

        >>> from barrow.spaces import Discrete
        >>> Discrete(["a", "b"]).coarser(1) is None
        True
        """
        return None

    @property
    def fitting_cells(self) -> list[float]:
        """Sizes of cells that fit into the space a few times, the first to be tried for a part of a product."""
        return []

    @property
    @abstractmethod
    def least_distance_lower(self) -> float:
        """A lower bound, tight or nearly so, on the distance of two different items."""

    @property
    def distance_error(self) -> float:
        """The relative error of computed distances; larger only where short edges hang deep in a tree."""
        return DISTANCE_ERROR

    # What follows from these.

    @property
    def items(self) -> int:
        """The number of items, where there is one.

        >>> from barrow.spaces import Discrete
        >>> Discrete(["a", "b"]).items
        2
        """
        size = self.size
        if size is None:
            raise ParameterError(
                f"The {self.kind} space has no grid, so it has no items.",
                allowed="a space with a public grid",
                fix=self._grid_fix(),
            )
        return size

    def _grid_fix(self) -> str:
        return "name a grid"

    @property
    def labels(self) -> Sequence[str]:
        """The labels of all items, in order.

        >>> from barrow.spaces import Discrete
        >>> list(Discrete(["a", "b"]).labels)
        ['a', 'b']
        """
        return [self.label(i) for i in range(self.items)]

    def distance(self, a: ArrayLike, b: ArrayLike) -> Floats:
        """Normalised distances between items ``a`` and ``b`` (ids; arrays broadcast).

        >>> from barrow.spaces import Discrete
        >>> Discrete(["a", "b"]).distance([0, 1], [1, 1]).tolist()
        [1.0, 0.0]
        """
        return self._distance(self._ids(a), self._ids(b))

    def block(self, rows: ArrayLike | None = None, columns: ArrayLike | None = None) -> Floats:
        """The matrix of distances between ``rows`` and ``columns`` (ids; all items by default).

        >>> from barrow.spaces import Discrete
        >>> Discrete(["a", "b"]).block().tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        a = np.arange(self.items) if rows is None else self._ids(rows)
        b = np.arange(self.items) if columns is None else self._ids(columns)
        return self._distance(a[:, None], b[None, :])

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """All pairs, a strip of rows at a time, without ever holding size x size numbers.

        >>> from barrow.spaces import Discrete
        >>> [(rows, d.shape) for rows, d in Discrete(["a", "b"]).blocks()]
        [(slice(0, 2, None), (2, 2))]
        """
        step = max(1, _BLOCK // self.items)
        for start in range(0, self.items, step):
            rows = slice(start, min(start + step, self.items))
            yield rows, self.block(np.arange(rows.start, rows.stop))

    def encode(self, records: Any, *, unknown: Unknown = "error") -> Ids:
        """Ids of many records at once.

        Args:
            records: What the space's items are made from; see each space.
            unknown: What to do with a missing or unknown record: ``"error"`` (a constant text), ``"nearest"`` (move
                it to the nearest item, where the space has one), ``"default"`` (the space's public default item).

        >>> from barrow.spaces import Discrete
        >>> Discrete(["a", "b"]).encode(["b", "a", "c"], unknown="default").tolist()
        [1, 0, 0]
        """
        if unknown not in ("error", "nearest", "default"):
            raise ParameterError(
                f"unknown is {unknown!r}.", allowed="'error', 'nearest' or 'default'", fix="unknown='default'"
            )
        _ = self.items
        with np.errstate(all="ignore"):  # a warning about private values would be a message about them
            ids = self._encode(records, unknown)
        lost = ids < 0
        if lost.any():
            if unknown != "default":
                raise DataError(
                    "Some records are missing or are not items of the public space.",
                    allowed="records that the space knows",
                    fix="mend the records, or say unknown='default' (or 'nearest' where the space has distances "
                    "to outside points)",
                )
            ids = np.where(lost, self.default_item, ids)
        return ids

    def keeps_near(self, unknown: Unknown) -> bool:
        """Whether records that are near each other stay so, snapping aside, where those outside are treated so.

        Names have no distances but those of this space, in which an unknown name is its default item. A number outside
        has one, and the default item may be far from it (docs/proofs/budget.md, section 4).

        >>> from barrow.spaces import Discrete, Line
        >>> line, names = Line(0, 10, step=1), Discrete(["a", "b"])
        >>> [space.keeps_near("default") for space in (line, names)], line.keeps_near("nearest")
        ([False, True], True)
        """
        if unknown != "default":
            return unknown == "error"
        named = self.reads.columns == 1 and not self.reads.numbers and self.reads.moments is None
        return named and self.metric_name == f"{self.kind} {self.digest}"

    def columns_of(self, records: list[Any]) -> Any:
        """Records, one a person's item, in the form that :meth:`encode` reads.

        >>> from barrow.spaces import Discrete
        >>> Discrete(["a", "b"]).columns_of(["a"])
        ['a']
        """
        return records

    @property
    def reads(self) -> Reads:
        """What the columns of a record hold.

        >>> from barrow.spaces import Earth
        >>> Earth().reads.words, Earth().reads.columns
        ('latitude and longitude', 2)
        """
        return Reads()

    @property
    def formula(self) -> Formula:
        """How a record becomes an item, as public numbers; refused where only :meth:`encode` can say.

        >>> from barrow.spaces import Discrete
        >>> Discrete(["a", "b"]).formula
        Labels(known={'a': 0, 'b': 1})
        """
        if self.reads.columns != 1 or self.reads.numbers:
            raise self.only_in_python()
        return Labels({label: i for i, label in enumerate(self.labels)})

    def only_in_python(self) -> ParameterError:
        """The refusal of records that engines cannot encode."""
        return ParameterError(
            f"The {self.kind} space cannot be encoded inside the engine.",
            allowed="line, circle, euclidean (a ball in at most 7 dimensions), earth, product, and spaces of labels",
            fix="add a column of labels to the records and use a space of labels",
        )

    def distances_from(self, record: Any) -> Floats:
        """Normalised distances of all items from one public record (a point or a label).

        >>> from barrow.spaces import Discrete
        >>> Discrete(["a", "b"]).distances_from("b").tolist()
        [1.0, 0.0]
        """
        ids = self._encode([record], "error")
        if ids[0] < 0:
            raise ParameterError(
                f"{record!r} is not an item of the {self.kind} space.",
                allowed="a label of the space",
                fix=f"e.g. {self.label(0)!r}",
            )
        return np.asarray(self.block([int(ids[0])])[0])

    def normalise(self, distance: Fraction) -> Fraction:
        """A distance in the space's unit as a share of its diameter, exactly.

        >>> from barrow.spaces import Line
        >>> Line(0, 10, unit="km").normalise(Fraction(5, 2))
        Fraction(1, 4)
        """
        return distance / Fraction(self.diameter)

    def graph(self, spacing: Any = None) -> NeighbourGraph:
        """The public neighbourhood graph: no item is farther from another along it than in the space.

        Args:
            spacing: The widest gap between nodes, in the space's unit, where the space has coordinates; None for
                nodes as fine as the items. Products take one for each part.

        >>> from barrow.spaces import Line
        >>> Line(0, 8, step=1).graph(), Line(0, 8, step=1).graph(spacing=3)
        (NeighbourGraph(9 nodes, 8 edges), NeighbourGraph(4 nodes, 3 edges))
        """
        if self.items == 1:
            raise ParameterError(
                "The space has one item, so its graph has no edges.",
                allowed="a space with at least two items",
                fix="nothing needs to be asked: every record is that item",
            )
        # Spanners take a while, and everything that asks for a graph asks for the same one.
        known = self.__dict__.setdefault("_graphs", {})
        key = repr(spacing)
        if key not in known:
            known[key] = self._graph(spacing)
            object.__setattr__(known[key], "proved_for", self)
        graph: NeighbourGraph = known[key]
        return graph

    def _graph(self, spacing: Any) -> NeighbourGraph:
        """The tree, or a sparse graph whose paths are nearly as short as the distances, divided by what they exceed."""
        from barrow.spaces.edges import tree_graph
        from barrow.spaces.spanners import spanner_graph

        self._no_spacing(spacing)
        return tree_graph(self) if self.has_tree else spanner_graph(self)

    def _no_spacing(self, spacing: Any) -> None:
        if spacing is not None:
            raise ParameterError(
                f"spacing is {spacing!r}, but the {self.kind} space has no coordinates in which to space nodes.",
                allowed="None",
                fix="leave spacing out",
            )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical plain data: two spaces are the same if and only if their digests are.

        >>> from barrow.spaces import Discrete
        >>> Discrete(["a", "b"]).digest == Discrete(["a", "b"]).digest
        True
        """
        return digest_of(without_names(self.to_spec()))

    def __init_subclass__(cls, **options: Any) -> None:
        """What another package gives another distance loses what rests on that of its parent."""
        super().__init_subclass__(**options)
        lose_formulas(cls, Space)

    def __repr__(self) -> str:
        text = ", ".join(f"{name}={_shown(value)}" for name, value in self._arguments().items() if value != "")
        name = type(self).__name__
        if self._written is not None:
            return f"<{name} of {self.items:,} items: {text}>"
        return f"{name}({text})" if len(text) <= _LONGEST else f"<{name} of {self.items:,} items, {self.digest}>"

    def _arguments(self) -> dict[str, Any]:
        """What its class is called with to make an equal space."""
        return {name: value for name, value in self.to_spec().items() if name != "kind"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def _ids(self, ids: ArrayLike) -> Ids:
        array = np.asarray(ids)
        if array.size == 0:
            return array.astype(np.int64)
        if array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= self.items:
            raise ParameterError(
                "Some item ids are not items of the space.",
                allowed=f"whole numbers from 0 to {self.items - 1}",
                fix="space.encode(records) gives ids",
            )
        return array.astype(np.int64)


def _shown(value: Any) -> str:
    """Numbers as people write them: 100 and not 100.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return repr(int(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)
