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

from barrow.errors import DataError, ParameterError, one_of
from barrow.numerics import digest_of, exact_text
from barrow.spaces.checks import Written, build, without_names
from barrow.spaces.geometry import Floats, Geometry, Ids, check_bounds, states
from barrow.spaces.records import Formula, LabelIndex, Labels, Reads

if TYPE_CHECKING:
    from barrow.spaces.neighbours import NeighbourGraph

Unknown = Literal["error", "nearest", "default"]

DISTANCE_ERROR = 2.0**-44
"""Relative error of computed distances in most spaces, tested against 50 digits."""

_LONGEST = 10_000
"""Characters of a call beyond which a space prints in short."""
_BLOCK = 2**22
"""How many distances are held at once when all pairs are visited."""


class Space(ABC):
    """A public set of items with a normalised metric.

    Items are the integers 0 .. size-1. ``unit`` names what distances are measured in, and ``diameter`` is the public
    number of units that counts as 1.
    """

    kind: ClassVar[str]
    """The name of the kind in plain data, e.g. ``"line"``."""
    no_records_distance: Fraction | None = None
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
                f"unknown is 'nearest', but the {self.kind} space has only names, so an unknown name has no nearest "
                f"one.",
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

    def _spec(self) -> dict[str, Any]:
        """Plain data that hold everything; a space that never reads files may say them in ``to_spec`` itself."""
        raise NotImplementedError(f"{type(self).__name__} does not say its plain data")

    def _plain(self, *names: str, **values: Any) -> dict[str, Any]:
        """The kind, attributes by their names and other values as plain data; those that are None are left out."""
        given = {"kind": self.kind, **{name: getattr(self, name) for name in names}, **values}
        return {name: _plain_value(value) for name, value in given.items() if value is not None}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Space:
        """The space that ``spec`` describes, which has no ``kind``."""
        return build(cls, **spec)

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
        own = states(type(self), "_metric_name")
        return self._metric_name() if own else Space._metric_name(self)

    def _metric_name(self) -> str:
        return f"{self.kind} {self.digest}"

    @property
    def records_space(self) -> Space:
        """The space of records, where there is one more item for people without them; else itself.

        >>> from barrow.spaces import Line, NoRecords
        >>> NoRecords(Line(0, 10, step=5)).records_space.kind, Line(0, 1).records_space.kind
        ('line', 'line')
        """
        return self

    @cached_property
    def geometry(self) -> Geometry:
        """What closed forms may know of it; nothing where a class overrides the distance and does not state it anew."""
        check_bounds(type(self))
        return self._geometry() if states(type(self), "_geometry") else Geometry()

    def _geometry(self) -> Geometry:
        """What closed forms may know of it; by default nothing, so that all pairs of items are visited."""
        return Geometry()

    @property
    def snapping_upper(self) -> float:
        """rho: the largest normalised distance by which snapping to the grid moves a record; 0 where none is."""
        return 0.0

    @property
    @abstractmethod
    def least_distance_lower(self) -> float:
        """A lower bound, tight or nearly so, on the distance of two different items."""

    @cached_property
    def distance_error(self) -> float:
        """The relative error of computed distances; larger only where short edges hang deep in a tree."""
        return self._distance_error() if states(type(self), "_distance_error") else DISTANCE_ERROR

    def _distance_error(self) -> float:
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
        one_of(unknown, "unknown", ("error", "nearest", "default"))
        _ = self.items
        with np.errstate(all="ignore"):  # a warning about private values would be a message about them
            ids = self._encode(records, unknown)
        lost = ids < 0
        if lost.any():
            if unknown != "default":
                raise DataError(
                    "Some records are missing or are not items of the public space.",
                    allowed="records that are items of the space",
                    fix="correct the records, or say unknown='default' (or 'nearest' where the space has distances "
                    "to outside points)",
                )
            ids = np.where(lost, self.default_item, ids)
        return ids

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
            raise only_in_python(self.kind, self.reads)
        return Labels({label: i for i, label in enumerate(self.labels)})

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
                fix="no question is needed: every record is that item",
            )
        # Spanners take a while, and everything that asks for a graph asks for the same one.
        known = self.__dict__.setdefault("_graphs", {})
        key = repr(spacing)
        if key not in known:
            check_bounds(type(self))
            own = states(type(self), "_graph")
            known[key] = self._graph(spacing) if own else Space._graph(self, spacing)
            object.__setattr__(known[key], "proved_for", self)
        graph: NeighbourGraph = known[key]
        return graph

    def _graph(self, spacing: Any) -> NeighbourGraph:
        """The tree, or a sparse graph whose paths are nearly as short as the distances, divided by what they exceed."""
        from barrow.spaces.spanners import spanner_graph
        from barrow.spaces.tree_edges import tree_graph

        self._no_spacing(spacing)
        return tree_graph(self) if self.geometry.has_tree else spanner_graph(self)

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


def strips(space: Space) -> Iterator[tuple[slice, Floats]]:
    """All pairs, a strip of rows of distances at a time, without ever holding size x size numbers.

    >>> from barrow.spaces import Discrete
    >>> [(rows, d.shape) for rows, d in strips(Discrete(["a", "b"]))]
    [(slice(0, 2, None), (2, 2))]
    """
    step = max(1, _BLOCK // space.items)
    for start in range(0, space.items, step):
        rows = slice(start, min(start + step, space.items))
        yield rows, space.block(np.arange(rows.start, rows.stop))


def only_in_python(kind: str, reads: Reads) -> ParameterError:
    """The refusal of records that engines cannot encode."""
    if kind == "hexagons" and reads.columns == 2:
        return ParameterError(
            "Hexagons are found from latitude and longitude in Python only, not inside the engine.",
            allowed="one column of H3 cells, or a space with a grid of its own",
            fix="add a column of H3 cells to the records, or use an Earth space: earth(box=…, cell=1)",
        )
    return ParameterError(
        f"The {kind} space cannot be encoded inside the engine.",
        allowed="line, circle, euclidean (a ball in at most 7 dimensions), earth, product, and spaces of labels",
        fix="add a column of labels to the records and use a space of labels",
    )


def _plain_value(value: Any) -> Any:
    """Arrays, tuples and lists of labels as lists, exact numbers as texts, spaces as their plain data."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list | LabelIndex):
        return [_plain_value(part) for part in (value.labels if isinstance(value, LabelIndex) else value)]
    if isinstance(value, Fraction):
        return exact_text(value)
    return value.to_spec() if isinstance(value, Space) else value


def _shown(value: Any) -> str:
    """Numbers as people write them: 100 and not 100.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return repr(int(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)
