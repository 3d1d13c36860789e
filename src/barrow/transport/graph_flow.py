"""Transport along the edges of a graph: the cheapest flow that turns one distribution over nodes into another.

With lengths that are distances between the ends this is never less than the earth mover's distance, and exceeds it by
at most the graph's stretch: a few edges a node stand in for all pairs, so tens of thousands of items take seconds.
Two solvers: an exact network simplex (POT), and splitting with one sparse factorisation, whose answer is a flow (so an
upper bound) and a potential (so a lower one). Proofs in docs/proofs/edge-decoding.md, Sections 5 and 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics.search import distinct, median
from barrow.spaces import Space, nearness
from barrow.spaces.geometry import Floats
from barrow.spaces.neighbours import Net
from barrow.transport.solver import pot

EXACT_NODES = 50_000
"""Up to so many nodes the network simplex is used where it is installed."""
_FEW_NODES = 15_000
_MOST_STEPS = 600
_RELAXED = 1.6


@dataclass(frozen=True, eq=False)
class Flow:
    """A flow along edges that makes up a difference between two distributions, and how near the cheapest it is.

    Attributes:
        upper: Its cost: the cheapest flow costs no more.
        lower: The cheapest flow costs no less.
        masses: What moves along each edge from its tail to its head; negative the other way.
        remainder: For :func:`nearest_flow`, the histogram of what stays.
    """

    upper: float
    lower: float
    masses: Floats
    remainder: Floats | None = None


def cheapest_flow(net: Net, difference: Any, *, tolerance: float = 0.02, exact: bool = True) -> Flow:
    """The cheapest flow from where ``difference`` is positive to where it is negative.

    Args:
        net: Edges, whose lengths are what a unit of mass costs along each, either way.
        difference: One number for each node, with sum 0.
        tolerance: Where it is not exact: how much the cost may exceed its lower bound, as a share.
        exact: Use the network simplex where it is installed and the graph is not too large.
    """
    left = _checked(net.nodes, difference)
    left = left - left.sum() / net.nodes
    if not left.any():
        return Flow(0.0, 0.0, np.zeros(len(net.lengths)))
    result = _on_star(net, left)
    if result is None and exact:
        result = _by_network(net, left, None)
    return result if result is not None else _by_splitting(net, left, None, tolerance)


def exact_flow(net: Net, difference: Floats) -> Flow | None:
    """The cheapest flow by the network simplex; None where it is not installed or the graph is too large for it."""
    left = _checked(net.nodes, difference)
    return _by_network(net, left - left.sum() / net.nodes, None)


def _on_star(net: Net, left: Floats) -> Flow | None:
    """Where every edge ends at one node there is one flow only: what each of the others has too much or too little."""
    for middle, ends, sign in ((net.heads[0], net.tails, 1.0), (net.tails[0], net.heads, -1.0)):
        if len(ends) == net.nodes - 1 and ((net.heads if sign > 0 else net.tails) == middle).all():
            if distinct(ends).size < len(ends):
                return None
            masses = sign * left[ends]
            cost = float(np.abs(masses) @ net.lengths)
            return Flow(cost * (1.0 + 1e-9), cost * (1.0 - 1e-9), masses)
    return None


def nearest_flow(net: Net, values: Any, weights: Any, *, tolerance: float = 0.02, exact: bool = True) -> Flow:
    """The histogram nearest to signed values at the nodes, by the cheapest flow; see :func:`cheapest_flow`.

    ``values`` have the sum 1, about; ``weights``, sparse, (items, nodes), say how much of an item each node carries.
    """
    signed = _checked(net.nodes, values)
    signed = signed + (1.0 - signed.sum()) / net.nodes
    single = weights.nnz == weights.shape[0] and distinct(weights.indices).size == weights.shape[0]
    result = _by_network(net, signed, weights) if exact and single else None
    return result if result is not None else _by_splitting(net, signed, weights, tolerance)


def _checked(nodes: int, values: Any) -> Floats:
    left = np.asarray(values, dtype=np.float64)
    if left.shape != (nodes,) or not np.isfinite(left).all():
        raise ParameterError(
            f"The values have shape {left.shape}, or are not finite.",
            allowed=f"a finite number for each of the {nodes:,} nodes",
            fix="weights of one histogram minus those of another",
        )
    return left


def _by_network(net: Net, left: Floats, weights: Any) -> Flow | None:
    """Exactly: a flow through nodes is a transport plan from each node to itself and its neighbours.

    Every node gets room for all that may pass through it; what it does not pass on stays, at no cost.
    """
    solver, n = pot(), net.nodes
    if solver is None or n > EXACT_NODES:
        return None
    room = float(np.abs(left).sum())
    begins, ends, costs, forth, back = net.arcs
    supply, demand = room + np.maximum(left, 0.0), room + np.maximum(-left, 0.0)
    ways, homes = len(costs), np.zeros(0, dtype=np.int64)
    if weights is not None:  # mass 1 may stay wherever there is an item
        homes = np.asarray(weights.indices, dtype=np.int64)
        begins, ends = np.concatenate([begins, homes]), np.concatenate([ends, np.full(len(homes), n)])
        costs, demand = np.concatenate([costs, np.zeros(len(homes))]), np.append(demand, 1.0)
    demand = demand * (supply.sum() / demand.sum())
    order = np.lexsort((ends, begins)) if weights is not None else slice(None)
    # All costs are shifted alike, which moves every plan's cost alike: among equal ways it then takes the same as ever.
    shift = float(net.lengths.max())
    plan = solver.sparse(supply, demand, (begins[order], ends[order], costs[order] + shift))
    if plan is None:  # splitting answers instead
        return None
    staying = plan[1] == n
    mass = np.zeros(ways)
    inside = ~staying
    mass[np.searchsorted(begins[:ways] * n + ends[:ways], plan[0][inside] * n + plan[1][inside])] = plan[2][inside]
    moved = mass[forth] - mass[back]
    moved[net.repeated] = 0.0
    remainder = None
    if weights is not None:
        stays = np.zeros(n)
        stays[plan[0][staying]] = np.maximum(plan[2][staying], 0.0)
        remainder = stays[homes] / stays[homes].sum()
    cost = float(np.abs(moved) @ net.lengths)
    return Flow(cost, cost * (1.0 - 1e-9), moved, remainder)


def grounded(matrix: Any) -> Callable[[Floats], Floats]:
    """Solves with a Laplacian: the solution of mean 0 for a right-hand side of sum 0, by one sparse factorisation."""
    # Without the node that has the most neighbours a star falls apart; orderings are slow where one row is full.
    rows = matrix.tocsr()
    ground = int(np.argmax(np.diff(rows.indptr)))
    free = np.delete(np.arange(rows.shape[0]), ground)
    solve = factorised(rows[free][:, free])

    def solution(right: Floats) -> Floats:
        result = np.insert(solve(right[free]), ground, 0.0)
        return np.asarray(result - result.mean())

    return solution


def factorised(matrix: Any) -> Callable[[Floats], Floats]:
    """Solves with a sparse symmetric positive definite matrix."""
    # Symmetric: pivots stay on the diagonal, and the order is that of minimum degree.
    parts = heavy.sparse.linalg.splu(
        matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    return lambda right: np.asarray(parts.solve(right))


def _by_splitting(net: Net, left: Floats, weights: Any, tolerance: float) -> Flow:
    """Alternating directions on (costs of edges, histogram): projections to all flows, and shrinkage.

    In units of cost the edges' matrix is D/length. What is projected is a flow, so its cost is an upper bound; a
    potential that changes by at most the length along each edge gives a lower one.
    """
    cost_side = (-net.incidence @ heavy.diagonal(1.0 / net.lengths)).tocsr()
    edges = len(net.lengths)
    unit = 1.0
    if weights is not None:
        unit = 1.0 / median(net.lengths)
        matrix = heavy.sparse.hstack([cost_side, unit * weights.T]).tocsr()
    else:
        matrix = cost_side
    turned = matrix.T.tocsr()
    normal = (matrix @ turned).tocsc()
    solve = grounded(normal) if weights is None else factorised(normal)
    flow = turned @ solve(left)
    held, past = flow.copy(), np.zeros_like(flow)
    rho = float(np.abs(flow[:edges]).mean()) or 1.0
    best, upper, lower = flow, np.inf, 0.0
    for step in range(1, _MOST_STEPS + 1):
        flow = held - past
        flow = flow - turned @ solve(matrix @ flow - left)
        mixed = _RELAXED * flow + (1.0 - _RELAXED) * held + past
        held = np.sign(mixed) * np.maximum(np.abs(mixed) - rho, 0.0)
        held[edges:] = np.maximum(mixed[edges:], 0.0)
        past = mixed - held
        if step % 10:
            continue
        if weights is None and float(np.abs(flow).sum()) < upper:
            best, upper = flow, float(np.abs(flow).sum())
        elif weights is not None:
            best, upper = flow, float(np.abs(flow[:edges]).sum())
        lower = max(lower, _dual_value(net, left, weights, solve(matrix @ (past / rho))))
        if weights is None and upper <= lower * (1.0 + tolerance):
            break
        if weights is not None and upper <= lower * (1.0 + tolerance) and float(-flow[edges:].min()) < 1e-9 / unit:
            break
    if weights is None:
        return Flow(upper * (1.0 + 1e-9), lower * (1.0 - 1e-9), best / net.lengths)
    remainder = np.maximum(best[edges:], 0.0)
    remainder = remainder / remainder.sum()
    rest = cheapest_flow(net, left - weights.T @ remainder, tolerance=tolerance)
    return Flow(rest.upper, min(lower, rest.upper), rest.masses, remainder)


def _dual_value(net: Net, left: Floats, weights: Any, potential: Floats) -> float:
    """What a potential proves, scaled so that it changes by at most the length along every edge."""
    steepest = float((np.abs(potential[net.tails] - potential[net.heads]) / net.lengths).max())
    if steepest == 0.0:
        return 0.0
    p = potential / steepest
    if weights is None:
        return abs(float(p @ left))
    # g >= 0 with mass 1 may lie where the potential is highest.
    return max(float(p @ left) - float((weights @ p).max()), float(-p @ left) - float((weights @ -p).max()), 0.0)


def emd_flow_upper(space: Space, a: Any, b: Any) -> float:
    """An upper bound on the earth mover's distance on a large space, at most the graph's stretch too large.

    On the Earth and on boxes each item is joined to all within 2.4 cells (at most 2.8 % too large in two dimensions),
    products along one part at a time; elsewhere along the space's own neighbourhood graph.
    """
    net = near_pairs(space)
    difference = np.zeros(net.nodes)
    difference[: space.items] = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    # Splitting stops early: its flow is near the cheapest long before its lower bound says so.
    return cheapest_flow(net, difference, exact=net.nodes <= _FEW_NODES, tolerance=0.1).upper * (1.0 + 1e-9)


@lru_cache(maxsize=8)
def near_pairs(space: Space) -> Net:
    """Pairs of near items whose paths stand in for distances."""
    return nearness.near_pairs(space)
