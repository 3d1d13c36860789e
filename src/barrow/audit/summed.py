"""Exact audits of sums that aggregators add up: the law of every output, and draws word by word.

Given what everybody else sent, the outputs are independent, each a rounded answer plus discrete Laplace noise. So the
loss of a pair of data sets is the sum over outputs of the largest logarithm of a ratio of two numbers, and all of them
are fractions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from barrow import heavy
from barrow.accounting import price
from barrow.audit.pairs import compare_losses, known_distances, small_users
from barrow.audit.verdict import NEAR, Finding, Tally
from barrow.mechanisms import UserCounts, sampled_sums
from barrow.mechanisms.sampled_sums import SampledEdgeNoise, sampled_edge_noise
from barrow.mechanisms.summed import SummedNoise, sum_form, summed_noise
from barrow.noise.source import SeededSource
from barrow.promises import Aggregation
from barrow.queries import Query, mean, tree_edges
from barrow.spaces import Circle, Clustered, Line, NeighbourGraph, Space
from barrow.spaces.space import Floats

_UNLIKELY = 1e-6
_PARTS = 60
SETTINGS = ((2, 1), (Fraction(1, 2), 4), (8, 25), (3, 9))
"""Alpha and the number of people that the grid is made for: grids of 4, 2, 64 and 12 steps."""
_COARSE = Fraction(1, 2)
"""A grid on which leaves have half a step: what rounding costs is seen best."""


def audit_sums() -> list[Finding]:
    """One edge with every share of a person's items in sixtieths, in four settings; a tree and a line's mean."""
    edge = Line(0, 1, points=[0, 1])
    results = [_edge(edge, Fraction(alpha), people) for alpha, people in SETTINGS]
    clusters, line = Clustered.grid(2, 2, r=0.25), Line(0, 4, step=1, cells=True)
    results.append(_small("secure sums, tree", clusters, tree_edges(clusters)))
    results.append(_small("secure sums, tree on a coarse grid", clusters, tree_edges(clusters), _COARSE))
    results.append(_small("secure sums, mean", line, mean(line)))
    return [*results, audit_samples(3, 4, Fraction(2)), audit_samples(5, 2, Fraction(4))]


def output_loss(one: Fraction, other: Fraction, p: Fraction) -> float:
    """The largest |log ratio| of one output whose answers, in steps, are ``one`` and ``other``.

    Between the two answers the logarithm is linear in the output, and beyond both it is constant, so that outputs next
    to an answer are all that must be looked at.
    """
    looked = {math.floor(x) + more for x in (one, other) for more in (-1, 0, 1, 2)}
    ratios = [chance(one, y, p) / chance(other, y, p) for y in looked]
    return max(abs(math.log(max(r, 1 / r))) for r in ratios)


def chance(answer: Fraction, y: int, p: Fraction) -> Fraction:
    """P[Y = y] but for the factor (1 - p)/(1 + p): the answer rounded at random, and noise p^|k|."""
    k = answer.numerator // answer.denominator
    f = answer - k
    return (1 - f) * p ** abs(y - k) + f * p ** abs(y - k - 1)


def _answers(noise: SummedNoise, query: Query, users: Sequence[Sequence[int]], space: Space) -> list[list[Fraction]]:
    """Each person's exact answers, in steps."""
    centers = [UserCounts.of_users(space, [user]).center(query) for user in users]
    return [[center.exact_entry(j) / noise.step for j in range(query.dimension)] for center in centers]


def _edge(space: Space, alpha: Fraction, people: int) -> Finding:
    """Every pair of shares, and pairs right beside a step, where the bound is attained."""
    query = tree_edges(space)
    noise = summed_noise(query, alpha, users=people)
    tally, promised = Tally(f"secure sums, an edge at α = {alpha} for {people}", "aggregated"), price(noise.event)
    steps = [Fraction(i, _PARTS) for i in range(_PARTS + 1)]
    fine = noise.step * Fraction(1, 4096)  # a lattice point, and a little beside it
    steps += [Fraction(0), fine, noise.step, noise.step + fine] if noise.step + fine <= 1 else [Fraction(0), fine]
    for one, other in combinations(steps, 2):
        w = float(abs(one - other))
        if w == 0.0:
            continue
        loss = output_loss(one / noise.step, other / noise.step, noise.ratio)
        tally.compared(f"shares {one} and {other}", loss, promised.epsilon_at(w), w, NEAR)
    return tally.finding()


def on_grid(noise: SummedNoise, rate: Fraction) -> SummedNoise:
    """The same noise on another grid: every grid keeps the promise."""
    return replace(noise, rate=rate, step=noise.step * rate / noise.rate)


def _small(name: str, space: Space, query: Query, rate: Fraction | None = None) -> Finding:
    """Every ordered pair of people of one to four items; their distances by assignments."""
    users = small_users(space.items, (1, 2, 3, 4))
    noise = summed_noise(query, 2, users=3)
    noise = noise if rate is None else on_grid(noise, rate)
    tally, promised = Tally(name, "aggregated"), price(noise.event)
    apart, answers = known_distances(space, tuple(users)), _answers(noise, query, users, space)
    pairs = (zip(one, two, strict=True) for one, two in combinations(answers, 2))
    losses = (sum(output_loss(x, y, noise.ratio) for x, y in pair) for pair in pairs)
    compare_losses(tally, users, losses, promised.epsilon_at, apart)
    _conforms(tally, noise, query)
    return tally.finding()


_TURNS = 80


def audit_samples(nodes: int, samples: int, alpha: Fraction) -> Finding:
    """Samples at the nodes of a ring, integrated out: every ordered pair of different people of a few items.

    Noise along the ring is known up to a flow around it, over which its law is summed.
    """
    space = Circle(nodes, names=list("abcdefgh"[:nodes]))
    noise = sampled_edge_noise(space, alpha, users=1)
    graph = noise.plan.graph
    noise = replace(noise, samples=samples, inner=sampled_sums.inner_for(alpha, samples))
    tally, promised = Tally(f"secure sums, {samples} samples on {nodes} nodes", "aggregated"), price(noise.event)
    around = _around(graph)
    counts = [c for c in product(range(samples + 1), repeat=nodes) if sum(c) == samples]
    outputs = [c for c in product(range(-1, samples + 2), repeat=nodes) if sum(c) == samples]
    table = np.array([[_flow_chance(np.subtract(y, c), around, noise.ratios, graph) for c in counts] for y in outputs])
    sizes = (1, 2, 3, 4) if nodes == 3 else (1, 2, 3)
    users = list({tuple(np.bincount(u, minlength=nodes) / len(u)): u for u in small_users(nodes, sizes)}.values())
    laws = []
    for user in users:
        shares = np.bincount(user, minlength=nodes) / len(user)
        laws.append(table @ np.array([heavy.stats.multinomial(samples, shares).pmf(c) for c in counts]))
    apart = known_distances(space, tuple(users))
    losses = (float(np.abs(np.log(one / two)).max()) for one, two in combinations(laws, 2))
    compare_losses(tally, users, losses, lambda w: min(promised.epsilon_at(w), float(noise.alpha) * w), apart)
    _samples_conform(tally, noise)
    return tally.finding()


def _around(graph: NeighbourGraph) -> Floats:
    """The flow around a ring: what its incidence matrix does not see."""
    _, _, rows = np.linalg.svd(graph.incidence.toarray())
    return np.asarray(np.rint(rows[-1] / np.abs(rows[-1]).max()))


def _flow_chance(moved: Floats, around: Floats, ratios: Sequence[Fraction], graph: NeighbourGraph) -> float:
    """P of noise at the nodes, but for a constant: one flow that makes it, and all turns around the ring."""
    flow = np.rint(np.linalg.lstsq(graph.incidence.toarray()[:, :-1], moved, rcond=None)[0])
    turns = np.arange(-_TURNS, _TURNS + 1)[:, None] * around
    sizes = np.abs(np.append(flow, 0.0) + turns)
    return float(np.exp(sizes @ np.log([float(p) for p in ratios])).sum())


def _samples_conform(tally: Tally, noise: SampledEdgeNoise) -> None:
    """As many samples as are promised, of the person's own items in their shares; noise that adds up to nothing."""
    drawn = np.array([noise.sample(noise.plan.query, np.array([0, 0, 1]), source=SeededSource(i)) for i in range(600)])
    tally.draws += len(drawn)
    seen = drawn.sum(axis=0)
    wrong = (drawn.sum(axis=1) != noise.samples).any() or seen[2] > 0
    if wrong or heavy.stats.binomtest(int(seen[0]), int(seen.sum()), 2 / 3).pvalue < _UNLIKELY:
        tally.violation("samples are not drawn from a person's own items", 1, 0)
    if any(sum(noise.noise_share(source=SeededSource(i))) != 0 for i in range(20)):
        tally.violation("noise along edges does not add up to nothing", 1, 0)


def _conforms(tally: Tally, noise: SummedNoise, query: Query) -> None:
    """Answers are rounded by the words of the source; honest aggregators' noise has the law that is counted on."""
    form = sum_form(query.table, noise.step)
    for seed in range(40):
        values = [Fraction(seed * (j + 3) % 41, 41) * noise.step * form.most[j] for j in range(query.dimension)]
        words = [Fraction(int(word), 2**64) for word in SeededSource(seed).words(query.dimension)]
        answers = [v / noise.step for v in values]
        up = [u < x - math.floor(x) for x, u in zip(answers, words, strict=True)]
        rows = zip(answers, up, form.offsets, strict=True)
        tally.draws += 1
        if form.encode(values, source=SeededSource(seed)) != [math.floor(x) + more - low for x, more, low in rows]:
            tally.violation("an answer is not rounded by a coin on its exact fraction", 1, 0)
            return
    _noise_conforms(tally, noise)


def _noise_conforms(tally: Tally, noise: SummedNoise) -> None:
    """What all but the dishonest aggregators add is discrete Laplace: counts of 4,000 sums, three parties and two."""
    p = float(noise.ratio)
    for parties in (Aggregation(2), Aggregation(3)):
        here = SummedNoise(**{**vars(noise), "parties": parties, "dimension": 4000})
        honest = parties.aggregators - parties.dishonest
        total = np.sum([here.noise_share(source=SeededSource(7 * i + 1)) for i in range(honest)], axis=0)
        tally.draws += len(total)
        reach = max(1, math.floor(math.log(0.01) / math.log(p)))
        values = np.arange(-reach, reach + 1)
        law = (1 - p) / (1 + p) * p ** np.abs(values)
        seen = np.array([(total == v).sum() for v in values], dtype=np.float64)
        both = np.append(seen, len(total) - seen.sum()), np.append(law, 1 - law.sum()) * len(total)
        if heavy.stats.chisquare(*both).pvalue < _UNLIKELY:
            tally.violation("the honest aggregators' noise is not discrete Laplace", 1, 0)
