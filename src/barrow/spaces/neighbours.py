"""The public neighbourhood graph of a space: what noise on edges is added along; and pairs of items that are near.

Nodes carry items, either one each or by public weights (hats), and edges have lengths. Whatever the graph, moving an
item costs no more along it than in the space: the contraction condition of docs/proofs/edge-noise.md,

    W1_G(h(x), h(y)) <= d(x, y)    for all items x, y,

which whoever makes a graph has to prove. This file holds the value and checks what can be checked locally.

Paths along near pairs stand in for distances where errors are measured, on grids and on the Earth: these may be longer.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics.search import median
from barrow.spaces.geometry import Floats, Ids
from barrow.spaces.sphere import unit_vectors

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from barrow.spaces.space import Space

Ints = NDArray[np.int64]
FEW_NODES = 32
"""Up to so many nodes paths are found without scipy, which takes longer to load than they take."""
WEIGHT_BITS = 48
"""Weights are whole multiples of 2^-48, so that floats hold them and sums of them exactly."""


@dataclass(frozen=True, eq=False)
class Net:
    """Edges between numbered nodes: what paths and flows go along.

    Attributes:
        nodes: The number of nodes.
        tails: One end of each edge, shape (edges,).
        heads: The other end.
        lengths: The length of each edge, above 0.
    """

    nodes: int
    tails: Ints
    heads: Ints
    lengths: Floats

    def __post_init__(self) -> None:
        for name, kind in (("tails", np.int64), ("heads", np.int64), ("lengths", np.float64)):
            array = np.array(getattr(self, name), dtype=kind)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        tails, heads, lengths = self.tails, self.heads, self.lengths
        if not (tails.ndim == 1 and tails.shape == heads.shape == lengths.shape and tails.size):
            raise _bad("tails, heads and lengths do not have one entry for each edge")
        ends = np.concatenate([tails, heads])
        if ends.min() < 0 or ends.max() >= self.nodes:
            raise _bad(f"an edge ends at node {ends.max() if ends.min() >= 0 else ends.min()} of {self.nodes}")
        good = np.isfinite(lengths) & (lengths > 0.0)
        if not good.all():
            edge = int(np.argmin(good))
            raise _bad(f"edge {edge} has the length {lengths[edge]}")

    @property
    def edges(self) -> int:
        """The number of edges."""
        return len(self.lengths)

    @cached_property
    def incidence(self) -> Any:
        """D, shape (nodes, edges): a flow f along the edges moves mass D f from their tails to their heads.

        >>> Net(2, [0], [1], [1.0]).incidence.toarray().tolist()
        [[-1.0], [1.0]]
        """
        each = np.arange(self.edges)
        signs = np.repeat([-1.0, 1.0], self.edges)
        ends = np.concatenate([self.tails, self.heads])
        return heavy.sparse.csr_array((signs, (ends, np.concatenate([each, each]))), shape=(self.nodes, self.edges))

    @cached_property
    def repeated(self) -> Ints:
        """Edges with the same ends as another one that is not longer."""
        low, high = np.minimum(self.tails, self.heads), np.maximum(self.tails, self.heads)
        order = np.lexsort((self.lengths, high, low))
        again = np.append(False, (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0))
        return np.asarray(order[again], dtype=np.int64)

    @cached_property
    def arcs(self) -> tuple[Ids, Ids, Floats, Ids, Ids]:
        """All ways of one edge, and from each node to itself, in order and each once; and where each edge is there."""
        n, each = self.nodes, np.arange(self.nodes)
        keys = np.concatenate([each * (n + 1), self.tails * n + self.heads, self.heads * n + self.tails])
        costs = np.concatenate([np.zeros(n), self.lengths, self.lengths])
        order = np.lexsort((costs, keys))
        first = order[np.append(True, np.diff(keys[order]) != 0)]
        ways = keys[first]
        places = np.searchsorted(ways, keys[n:])
        return ways // n, ways % n, costs[first], places[: self.edges], places[self.edges :]

    def distances(self, sources: Any = None) -> Floats:
        """Lengths of shortest paths from ``sources`` (nodes; all by default) to every node.

        >>> Net(3, [0, 1], [1, 2], [0.5, 0.25]).distances([0]).tolist()
        [[0.0, 0.5, 0.75]]
        """
        if self.nodes <= FEW_NODES:
            return self._relaxed[slice(None) if sources is None else sources]
        once = np.delete(np.arange(self.edges), self.repeated)
        tails, heads = self.tails[once], self.heads[once]
        ends = np.minimum(tails, heads), np.maximum(tails, heads)
        matrix = heavy.sparse.coo_array((self.lengths[once], ends), shape=(self.nodes, self.nodes)).tocsr()
        return np.asarray(heavy.dijkstra(matrix, directed=False, indices=sources))

    @property
    def _relaxed(self) -> Floats:
        """The same between all nodes, edge by edge until nothing gets shorter: quick where nodes are few."""
        known = np.where(np.eye(self.nodes, dtype=bool), 0.0, np.inf)
        starts, ends = np.concatenate([self.tails, self.heads]), np.concatenate([self.heads, self.tails])
        while True:
            shorter = known.copy()
            np.minimum.at(shorter.T, ends, (known[:, starts] + np.concatenate([self.lengths, self.lengths])).T)
            if (shorter == known).all():
                return known
            known = shorter


@dataclass(frozen=True, eq=False, repr=False)
class NeighbourGraph(Net):
    """A public weighted graph whose nodes carry items: the metric of its paths never exceeds the space's.

    Attributes:
        nodes: The number of nodes; those that carry no item are released like any other.
        tails: One end of each edge, shape (edges,).
        heads: The other end.
        lengths: The length of each edge, above 0, in units of the space's diameter: floats, meant exactly, rounded
            down by whoever made them.
        weights: Shape (items, nodes): how much of an item each node carries, whole multiples of 2^-48 with sum 1 in
            each row; None where item i is node i and the nodes after the last item carry none.
        faces: Shape (faces, 4): indices of the edges of cycles of four, in the order round the cycle, no edge in two
            of them; noise is drawn for such a cycle as a whole and for every other edge alone.
        stretch: Where nodes are items: no path between items is shorter than their distance divided by it.
        proved_for: The space whose :meth:`~barrow.spaces.Space.graph` made it, and so proved the condition.

    >>> square = NeighbourGraph(4, [0, 1, 3, 2], [1, 3, 2, 0], [0.5] * 4, faces=[[0, 1, 2, 3]])
    >>> square, square.face_nodes.tolist(), square.face_signs.tolist()
    (NeighbourGraph(4 nodes, 4 edges), [[0, 1, 3, 2]], [[1, 1, 1, 1]])
    """

    weights: csr_array | None = None
    faces: Ints | None = None
    stretch: Fraction = Fraction(1)
    proved_for: Space | None = field(default=None, init=False)  # a changed copy has to prove it again

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.tails == self.heads).any():
            raise _bad(f"edge {int(np.argmax(self.tails == self.heads))} goes from a node to itself")
        check_connected(self.nodes, self.tails, self.heads)
        object.__setattr__(self, "stretch", Fraction(self.stretch))
        self._check_weights()
        if self.faces is not None:
            faces = np.array(self.faces, dtype=np.int64).reshape(-1, 4)
            faces.setflags(write=False)
            object.__setattr__(self, "faces", faces)
            _ = self.face_nodes

    def _check_weights(self) -> None:
        if self.weights is None:
            return
        whole = self.whole_weights
        if whole.shape[1] != self.nodes or (whole.data < 0).any():
            raise _bad(f"weights have the shape {whole.shape} for {self.nodes} nodes, or are negative")
        if (np.asarray(whole.sum(axis=1)).ravel() != 2**WEIGHT_BITS).any() or (
            np.ldexp(whole.data.astype(np.float64), -WEIGHT_BITS) != self.weights.data
        ).any():
            raise _bad("some weights are not whole multiples of 2^-48 with sum 1 for each item")

    def __repr__(self) -> str:
        return f"NeighbourGraph({self.nodes:,} nodes, {self.edges:,} edges)"

    @property
    def whole_weights(self) -> Any:
        """The weights times 2^48, as integers.

        >>> NeighbourGraph(2, [0], [1], [1.0]).whole_weights.toarray().tolist() == [[2**48, 0], [0, 2**48]]
        True
        """
        if self.weights is None:
            return heavy.sparse.eye_array(self.nodes, dtype=np.int64, format="csr") * 2**WEIGHT_BITS
        whole = np.rint(np.ldexp(self.weights.data, WEIGHT_BITS)).astype(np.int64)
        return heavy.sparse.csr_array((whole, self.weights.indices, self.weights.indptr), shape=self.weights.shape)

    @cached_property
    def face_nodes(self) -> Ints:
        """The nodes of each face: node k lies between edges k-1 and k."""
        return self._walked[0]

    @cached_property
    def face_signs(self) -> Ints:
        """Whether going round a face passes each edge from its tail to its head (1) or the other way (-1)."""
        return self._walked[1]

    @cached_property
    def _walked(self) -> tuple[Ints, Ints]:
        faces = np.zeros((0, 4), dtype=np.int64) if self.faces is None else self.faces
        if faces.size and (faces.min() < 0 or faces.max() >= self.edges or np.bincount(faces.ravel()).max() > 1):
            raise _bad("a face names an edge that is none, or an edge that is in another face")
        tails, heads = self.tails[faces], self.heads[faces]
        after = np.roll(faces, -1, axis=1)
        # An edge is passed forwards if its head is an end of the next edge, and the cycle closes up.
        forward = (heads == self.tails[after]) | (heads == self.heads[after])
        first, last = np.where(forward, tails, heads), np.where(forward, heads, tails)
        if (last != np.roll(first, -1, axis=1)).any() or (np.diff(np.sort(first, axis=1), axis=1) == 0).any():
            raise _bad("the edges of a face do not go round a cycle of four nodes")
        return first, np.where(forward, 1, -1)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the graph: two graphs with the same digest are the same."""
        result = hashlib.sha256(f"{self.nodes} {self.stretch} {self.weights is None}".encode())
        weights = self.whole_weights
        faces = np.zeros((0, 4), dtype=np.int64) if self.faces is None else self.faces
        for array, kind in (
            (self.tails, "<i8"), (self.heads, "<i8"), (self.lengths, "<f8"), (faces, "<i8"),
            (weights.indptr, "<i8"), (weights.indices, "<i8"), (weights.data, "<i8"),
        ):  # fmt: skip
            result.update(f"{array.shape}".encode() + np.ascontiguousarray(array).astype(kind).tobytes())
        return "sha256:" + result.hexdigest()


def check_connected(nodes: int, tails: Ints, heads: Ints, labels: Sequence[str] | None = None) -> None:
    """Refuses a graph in several pieces, naming a node of each of two."""
    lower = np.zeros(nodes, dtype=bool)
    lower[np.maximum(tails, heads)[tails != heads]] = True
    if lower[1:].all():  # from every node an edge leads to an earlier one, as on grids, and so a path to the first
        return
    joined = heavy.sparse.coo_array((np.ones(len(tails)), (tails, heads)), shape=(nodes, nodes)).tocsr()
    pieces, part = heavy.connected_components(joined, directed=False)
    if pieces > 1:
        other = int(np.argmax(part != part[0]))
        names = ("node 0", f"node {other}") if labels is None else (repr(labels[0]), repr(labels[other]))
        raise ParameterError(
            f"The graph is in {pieces:,} pieces: no path leads from {names[0]} to {names[1]}.",
            allowed="a connected graph",
            fix="add the edges that join the pieces, or make one space of each",
        )


def _bad(problem: str) -> ParameterError:
    return ParameterError(
        f"This is no graph to move mass or to add noise along: {problem}.",
        allowed="a connected graph with lengths above 0, and items with weights that add up to 1",
        fix="space.graph() makes one",
    )


def near_pairs(space: Space) -> Net:
    """Pairs of items that touch on a grid of up to three dimensions, or are near on Earth; else along the graph.

    On maps no path along them is more than 2.8 % too long.
    """
    known, result = space.geometry, None
    grid = known.lattice
    if grid is not None and grid.full and known.gaps is None and grid.dimension <= 3:
        result = _touching(grid.shape)
    elif known.on_earth:
        result = _near_on_earth(known.points)
    if result is None:
        graph = space.graph()
        if graph.weights is not None or graph.nodes != space.items:
            return Net(graph.nodes, graph.tails, graph.heads, graph.lengths * float(graph.stretch))
        result = graph.tails, graph.heads
    return Net(space.items, *result, np.asarray(space.distance(*result), dtype=np.float64))


def _near_on_earth(points: Floats) -> tuple[Ids, Ids] | None:
    """All pairs of places (rows of latitude and longitude) within 2.4 of the usual gap; None if they fall apart."""
    at = unit_vectors(points)
    tree = heavy.cKDTree(at)
    some = at[:: max(1, len(at) // 500)]
    gap = median(np.asarray(tree.query(some, k=min(4, len(at)))[0])[:, -1])
    pairs = tree.query_pairs(2.4 * gap, output_type="ndarray").astype(np.int64)
    tails, heads = pairs[:, 0], pairs[:, 1]
    links = heavy.sparse.coo_array((np.ones(len(tails)), (tails, heads)), shape=(len(at), len(at)))
    return (tails, heads) if heavy.connected_components(links, directed=False)[0] == 1 else None


def _touching(shape: tuple[int, ...]) -> tuple[Ids, Ids]:
    """Pairs of cells of a grid whose coordinates differ by at most 1; in two dimensions also by 1 and 2."""
    ids = np.arange(int(np.prod(shape))).reshape(shape)
    tails, heads = [], []
    reach = 2 if len(shape) == 2 else 1
    for move in np.ndindex(*[2 * reach + 1] * len(shape)):
        offset = tuple(x - reach for x in move)
        if offset <= (0,) * len(shape) or math.gcd(*offset) > 1:
            continue
        here = ids[tuple(slice(max(0, -o), n - max(0, o)) for o, n in zip(offset, shape, strict=True))]
        there = ids[tuple(slice(max(0, o), n - max(0, -o)) for o, n in zip(offset, shape, strict=True))]
        tails.append(here.ravel())
        heads.append(there.ravel())
    return np.concatenate(tails).astype(np.int64), np.concatenate(heads).astype(np.int64)
