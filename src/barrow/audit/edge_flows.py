"""Exact audits of noise along the edges of a graph: the cheapest flow between data sets, and the noise as it is drawn.

Adding a flow to the noise of the edges turns the release of one data set into that of the other, and costs the flow's
length over the scale. So the cheapest flow bounds the privacy loss, and on a tree it is the loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from barrow import heavy
from barrow.accounting import price
from barrow.audit.pairs import compare_losses, conforms, known_distances, small_users
from barrow.audit.verdict import Finding, Tally
from barrow.mechanisms import UserCounts
from barrow.mechanisms.edge_histogram import EdgeHistogram, edge_histogram
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.spaces import Space
from barrow.spaces.space import Floats

_UNLIKELY = 1e-6


def audit_edges(name: str, space: Space) -> list[Finding]:
    """A histogram by noise along edges in both models, for every pair of users of one to four items."""
    users = small_users(space.items, (1, 2, 3, 4))
    apart = known_distances(space, tuple(users))
    results = []
    for model, rest in (("local", []), ("central", [(0,), (2,)])):
        tally = Tally(name, model)
        plan = edge_histogram(space, 2, users=1 + len(rest), model=model)
        promised = price(plan.event)
        counts = [UserCounts.of_users(space, [user, *rest]) for user in users]
        centers = [[c.center(plan.query).exact_entry(v) for v in range(plan.graph.nodes)] for c in counts]
        paths = plan.graph.distances(np.arange(plan.graph.nodes))
        losses = (_flow(two, one, paths) / float(plan.scale) for one, two in combinations(centers, 2))
        compare_losses(tally, users, losses, promised.epsilon_at, apart)
        conforms(tally, plan.draw, counts[-1].center(plan.query))
        if plan.faces is None:
            _edges_conform(tally, plan, centers[-1])
        else:
            _cycles_conform(tally, plan)
        results.append(tally.finding())
    return results


def _flow(one: Sequence[Fraction], other: Sequence[Fraction], paths: Floats) -> float:
    """The cost of the cheapest flow: what is too much at some nodes, in equal units, goes to where it lacks."""
    moved = [a - b for a, b in zip(one, other, strict=True)]
    unit = Fraction(1, math.lcm(*(m.denominator for m in moved)))
    rows = [v for v, m in enumerate(moved) for _ in range(max(0, int(m / unit)))]
    columns = [v for v, m in enumerate(moved) for _ in range(max(0, int(-m / unit)))]
    if not rows:
        return 0.0
    costs = paths[np.ix_(rows, columns)]
    best = heavy.optimize.linear_sum_assignment(costs)
    return math.fsum(costs[best].tolist()) * float(unit)


def _edges_conform(tally: Tally, plan: EdgeHistogram, center: Sequence[Fraction]) -> None:
    """Edges alone: one word for each, Laplace noise of scale over length, added at one end, subtracted at the other."""
    graph = plan.graph
    for seed in range(200):
        words = SeededSource(seed).words(graph.edges).view(np.int64).astype(np.float64) / 2.0**63
        noise = -np.log(np.abs(words)) * np.sign(words) * float(plan.scale) / graph.lengths
        sums = np.bincount(graph.heads, noise, graph.nodes) - np.bincount(graph.tails, noise, graph.nodes)
        place = (np.array([float(x) for x in center]) + sums) / float(plan.grid) + 0.5
        sample = np.asarray(plan.draw(Center.from_fractions(list(center)), SeededSource(seed)).integers)
        clear = np.abs(place - np.rint(place)) > 1e-4
        tally.draws += 1
        if (sample[clear] != np.floor(place)[clear]).any():
            tally.violation("node values are not the center plus the noise of their edges, rounded", 1, 0)
            return


def _cycles_conform(tally: Tally, plan: EdgeHistogram) -> None:
    """A cycle of four: the cheapest flow of the noise is a Gamma(3) variate, and falls into cones by their volumes."""
    graph = plan.graph
    source = SeededSource(3)
    zero = Center.from_fractions([Fraction(0)] * graph.nodes)
    noise = np.array([plan.draw(zero, source).values for _ in range(2000)]) / float(plan.scale)
    if graph.faces is None or graph.nodes != 4 or graph.edges != 4:
        return
    face, turns = graph.faces[0], graph.face_signs[0]
    # Flow round the cycle is known up to a constant t: the cheapest has a 0 at one of the edges.
    tree = np.delete(np.arange(4), 3)
    incidence = graph.incidence.toarray()[:, face] * turns
    flows = np.zeros((len(noise), 4))
    flows[:, tree] = np.linalg.lstsq(incidence[:, tree], noise.T, rcond=None)[0].T
    lengths = graph.lengths[face]
    costs = np.stack([np.abs(flows - flows[:, [k]]) @ lengths for k in range(4)])
    tally.draws += len(noise)
    # Flows of equal cost belong to the cone whose signed length is above -l and at most l, l being that of its 0.
    chances = {}
    for k in range(4):
        for signs in product((-1, 1), repeat=3):
            around = np.insert(np.array(signs), k, 0)
            if _belongs(float(around @ lengths), lengths[k]):
                chances[tuple(around.tolist())] = float(lengths[k])
    counts = dict.fromkeys(chances, 0)
    for flow, cost in zip(flows, costs.T, strict=True):
        for k in np.flatnonzero(cost <= cost.min() + 1e-9).tolist():
            cone = tuple(np.sign(np.where(np.arange(4) == k, 0.0, flow - flow[k])).astype(int).tolist())
            if cone in counts:
                counts[cone] += 1
                break
    seen = np.array(list(counts.values()), dtype=np.float64)
    expected = np.array(list(chances.values())) / sum(chances.values())
    outside = len(noise) - seen.sum()
    radius = heavy.stats.kstest(costs.min(axis=0), heavy.stats.gamma(3).cdf).pvalue
    split = heavy.stats.chisquare(seen, expected * seen.sum()).pvalue if seen.sum() else 0.0
    if min(radius, split) < _UNLIKELY or outside > 0.01 * len(noise):
        tally.violation("the noise of a cycle is not distributed as its cones demand", 1, 0)


def _belongs(signed: float, own: float) -> bool:
    return -own + 1e-9 < signed <= own + 1e-9
