"""Histograms with noise along the edges of the space's neighbourhood graph.

Moving a user's data by EMD w is a flow along the graph of cost at most w, so Laplace noise of scale 1/(alpha n length)
on every edge, added at one end and subtracted at the other, is (alpha, 0)-EMD-DP, unbounded, whatever the graph
(docs/proofs/edge-noise.md). Only values at nodes are released: on a tree they say what the noisy edges say, on other
graphs the noise of single edges must stay unknown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.errors import ParameterError, one_of
from barrow.mechanisms.additive import checked_model
from barrow.mechanisms.decoding.graph import GraphDecoder
from barrow.noise import Center, RandomSource, RoundedValues, rounded_edges
from barrow.noise.additive.graph_noise import checked_edge_grid, cycle_moments
from barrow.numerics import Exact, float_up
from barrow.promises import Event, KNormNoise, Model
from barrow.promises.definitions import positive
from barrow.queries import Query
from barrow.queries.edges import hats, node_query
from barrow.spaces import NeighbourGraph, Space
from barrow.spaces.space import Ids, strips
from barrow.spaces.spanners import check_memory

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Spacing = Exact | Sequence[Exact | None] | None
"""The widest gap between nodes, in the space's unit; one for each part of a product."""
BLOCKS = ("faces", "edges")
"""How noise is drawn: cycles of four together where the graph names them, or every edge alone."""
_FEW_NODES = 2000


@dataclass(frozen=True, eq=False, repr=False)
class EdgeHistogram:
    """A histogram with noise along edges, ready to release; everything in it is public. See :func:`edge_histogram`.

    Attributes:
        query: What each node carries.
        graph: The public graph.
        alpha: Privacy loss per unit of EMD.
        users: n, public.
        model: ``central`` or ``local``.
        grid: The public grid of the values.
        blocks: One of ``BLOCKS``.

    >>> from barrow.spaces import Euclidean
    >>> plan = edge_histogram(Euclidean([0, 0], [1, 1], step=1/8), 25, users=10_000)
    >>> plan, plan.noise_cost_upper < 0.00036
    (EdgeHistogram(NeighbourGraph(64 nodes, 112 edges), faces, central), True)
    """

    query: Query
    graph: NeighbourGraph
    alpha: Fraction
    users: int
    model: Model
    grid: Fraction
    blocks: str

    def __repr__(self) -> str:
        return f"EdgeHistogram({self.graph}, {self.blocks}, {self.model.value})"

    @property
    def space(self) -> Space:
        """The public space."""
        return self.query.space

    @property
    def reports(self) -> int:
        """How many noisy values are averaged for each node: n in the local model, else 1."""
        return self.users if self.model is Model.LOCAL else 1

    @property
    def scale(self) -> Fraction:
        """The noise of an edge of length 1: of the mean over all users (central), or of one user's report (local)."""
        return 1 / (self.alpha * (1 if self.model is Model.LOCAL else self.users))

    @property
    def faces(self) -> Ids | None:
        """The cycles whose noise is drawn together, or None."""
        return self.graph.faces if self.blocks == "faces" else None

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Which edges have noise of their own: those of no face that is drawn together."""
        result = np.ones(self.graph.edges, dtype=bool)
        if self.faces is not None:
            result[self.faces] = False
        return result

    @cached_property
    def event(self) -> Event:
        """What releasing it causes; in the local model, each user's report.

        Blocks are independent with density exp(-alpha n ||z||) each, so that together they are K-norm noise of the
        sum of the blocks' norms; what is released is a function of it.
        """
        return KNormNoise(self.alpha, model=self.model, range_ratio=Fraction(reach_upper(self.space, self.graph)))

    @property
    def freedom(self) -> int:
        """How many exponential sizes the noise has: one for each edge alone, three for each face."""
        return self.graph.edges - (0 if self.faces is None else len(self.faces))

    @property
    def noise_cost_upper(self) -> float:
        """The expected cost of moving one draw of the noise away, along the graph, is at most this.

        The cost of the drawn flow has the Gamma distribution with shape ``freedom`` and scale ``scale``.
        """
        return self.freedom * float_up(self.scale)

    @cached_property
    def covariance(self) -> csr_array[np.float64]:
        """The covariance of the decoded noise (sparse, nodes x nodes), rounding to the grid aside."""
        graph = self.graph
        deviations = math.sqrt(2.0 / self.reports) * float(self.scale) / graph.lengths
        if self.faces is None:
            return heavy.sparse.csr_array(graph.incidence @ heavy.diagonal(deviations**2) @ graph.incidence.T)
        unit = float(self.scale) ** 2 / self.reports
        moments = np.array([cycle_moments(tuple(row)) for row in graph.lengths[self.faces].tolist()]) * unit
        moments *= graph.face_signs[:, :, None] * graph.face_signs[:, None, :]
        rows = np.repeat(self.faces, 4, axis=1).ravel()
        columns = np.tile(self.faces, (1, 4)).ravel()
        each = np.flatnonzero(self.alone)
        of_edges = heavy.sparse.csr_array(
            (
                np.concatenate([moments.ravel(), deviations[each] ** 2]),
                (np.concatenate([rows, each]), np.concatenate([columns, each])),
            ),
            shape=(graph.edges, graph.edges),
        )
        return heavy.sparse.csr_array(graph.incidence @ of_edges @ graph.incidence.T)

    @cached_property
    def decoder(self) -> GraphDecoder:
        """From values at nodes to a histogram over the items."""
        cost = self.noise_cost_upper / math.sqrt(self.reports)
        return GraphDecoder(self.graph, self.space.items, self.covariance, cost)

    def draw(self, center: Center, source: RandomSource | None = None) -> RoundedValues:
        """``center``, one exact value for each node, with noise along the edges, exactly rounded to the grid."""
        graph = self.graph
        return rounded_edges(
            center,
            graph.tails,
            graph.heads,
            graph.lengths,
            self.scale,
            cycles=self.faces,
            turns=None if self.faces is None else graph.face_signs,
            grid=self.grid,
            source=source,
        )


def edge_histogram(
    space: Space,
    alpha: Exact,
    *,
    users: int,
    model: str = Model.CENTRAL,
    spacing: Spacing = None,
    graph: NeighbourGraph | None = None,
    blocks: str = "faces",
    grid: Exact | None = None,
) -> EdgeHistogram:
    """A histogram of any space under (alpha, 0)-EMD-DP, unbounded, by noise along its neighbourhood graph.

    ``spacing`` is the widest gap between nodes (:meth:`barrow.spaces.Space.graph`); instead of it ``graph`` may be one
    that ``space.graph`` made, or one on the items, which is checked. ``blocks`` is ``"faces"`` (cycles of four are
    drawn together, where the graph has them) or ``"edges"``. In the local model ``users`` is how many reports are
    expected.
    """
    one_of(blocks, "blocks", BLOCKS)
    rate = positive(alpha, "alpha")
    place, divisor = checked_model(model, users)
    _, n = checked_model(Model.CENTRAL, users)
    if graph is None:
        net = space.graph(spacing)
        query = node_query(space, net, spacing)
    else:
        net = graph if graph.proved_for is not None and graph.proved_for == space else certified(space, graph)
        query = hats(space, spacing=spacing, graph=net)
    cell = checked_edge_grid(grid, 1 / (rate * divisor), float(net.lengths.max()))
    return EdgeHistogram(query, net, rate, n, place, cell, "edges" if net.faces is None else blocks)


def certified(space: Space, graph: NeighbourGraph) -> NeighbourGraph:
    """A graph on the items, shorter by what floats may be off; refused if items are farther apart along it."""
    if graph.weights is not None or graph.nodes < space.items:
        raise ParameterError(
            "The graph shares items between nodes, and nothing proves that it suits this space.",
            allowed="a graph that space.graph made for this space, or one whose nodes are the items",
            fix="space.graph(spacing)",
        )
    check_memory(space.items)
    slack = 2.0 * space.distance_error + graph.nodes * 2.0**-52
    for rows, block in strips(space):
        paths = graph.distances(np.arange(rows.start, rows.stop))[:, : space.items]
        far = np.argwhere(paths > block * (1.0 + slack))
        if far.size:
            a, b = int(far[0][0]), int(far[0][1])
            raise ParameterError(
                f"Along the graph, items {a + rows.start} and {b} are {paths[a, b]:.12g} apart, "
                f"but {block[a, b]:.12g} in the space.",
                allowed="a graph whose paths are no longer than the space's distances",
                fix="space.graph(), or spaces.certified_graph(space, tails, heads)",
            )
    return replace(
        graph, lengths=graph.lengths * (1.0 - 4.0 * slack), stretch=graph.stretch * (1 + Fraction(8 * slack))
    )


def reach_upper(space: Space, graph: NeighbourGraph) -> float:
    """An upper bound on the cost, along the graph, of moving a user's data anywhere: at most 1."""
    return min(1.0, diameter_upper(space, graph))


def diameter_upper(space: Space, graph: NeighbourGraph) -> float:
    """How far items lie apart along the graph, at most."""
    slack = 1.0 + graph.nodes * 2.0**-50
    if graph.nodes > _FEW_NODES:
        # Twice the reach from one node: everything is within it through that node.
        middle = int(np.argmin(graph.distances([0, graph.nodes // 2, graph.nodes - 1]).max(axis=0)))
        return 2.0 * float(graph.distances([middle]).max()) * slack
    paths = graph.distances()
    if graph.weights is None:
        paths = paths[: space.items, : space.items]
    return float(paths.max()) * slack


_PRODUCT_GAPS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 45, 64, 90, 128, 181, 256, 362, 512)
"""Along the longest side of a product: with several sides the number of nodes grows faster."""
_GAPS = (4, 6, 8, 11, 16, 22, 32, 45, 64, 90, 128, 181, 256, 362, 512, 724, 1024)


def spacings(space: Space) -> list[Spacing]:
    """How far apart nodes may be, from coarse to fine: None (as fine as the items) last, and alone without coordinates.

    Fine nodes blur nothing and are noisy, coarse ones the other way round; planning chooses among them by simulation.
    In a product nodes are as far apart in every part that has coordinates, by how much the part counts.
    """
    space = space.records_space
    if space.geometry.parts:
        return _product_spacings(space)
    known = _extent(space)
    if known is None:
        return [None]
    extent, finest = known
    return [*(extent / gaps for gaps in _GAPS if gaps <= 0.75 * finest), None]


def _extent(space: Space) -> tuple[float, int] | None:
    """From the first node to the last along the longest side, and how many gaps of items that is."""
    gaps, grid = space.geometry.gaps, space.geometry.lattice
    if gaps is not None:
        return space.diameter * (2.0 if space.geometry.periodic else float(gaps.sum())), space.items - 1
    if grid is not None:
        shape = np.array(grid.shape)
        return float(((grid.high - grid.low) * (shape - 1) / shape).max()), int(shape.max()) - 1
    if space.geometry.box is not None:
        return space.diameter, max(1, int(space.items**0.5))
    return None


def _product_spacings(space: Space) -> list[Spacing]:
    parts = space.geometry.parts
    known = [None if part.items == 1 else _extent(part) for part, _ in parts]
    counts = [0.0 if e is None else float(w) * e[0] / part.diameter for e, (part, w) in zip(known, parts, strict=True)]
    results: list[Spacing] = []
    if space.geometry.within is None and max(counts) > 0.0:  # within hidden groups shares are read item by item
        for gaps in _PRODUCT_GAPS:
            wide = max(counts) / gaps
            each = tuple(
                None if e is None or round(count / wide) > 0.75 * e[1] else e[0] / max(1, round(count / wide))
                for e, count in zip(known, counts, strict=True)
            )
            if any(gap is not None for gap in each) and each not in results:
                results.append(each)
    return [*results, None]
