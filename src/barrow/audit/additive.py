"""Exact audits of additive noise: tails as they are drawn, found word by word, for all pairs of small users.

A released integer is a function of one random word for each output (and of further bits where that leaves it open): it
never falls as the word, read as a number with its order reversed, grows. So the words that lead to at least t are
counted by halving, through the shipped draw, and a tail probability is known to 2^-44. Events are products of tails;
Laplace noise attains its largest ratio on them, and for one output of Gaussian noise they are the worst ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np

from barrow import heavy
from barrow.accounting import price
from barrow.audit.enumeration import ScriptedSource
from barrow.audit.pairs import User, allowed_by, compare_losses, conforms, known_distances
from barrow.audit.verdict import NEAR, Finding, Tally
from barrow.mechanisms import AdditiveNoise, UserCounts
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.numerics import Exact, exact
from barrow.promises import Emd
from barrow.queries import Query
from barrow.spaces.space import Floats

_BITS = 44
"""Words are told apart by this many leading bits."""
_LOOSE = 1 + Fraction(1, 10**9)
_MOST_CELLS = 220


def audit_additive(
    name: str,
    model: str,
    noise: AdditiveNoise,
    query: Query,
    users: Sequence[User],
    *,
    others: Sequence[Sequence[User]] = ((),),
    alpha: Exact | None = None,
) -> Finding:
    """Additive noise on the mean over users of a query, for every pair of users and all data of the others.

    ``others`` is what the other users may hold; ``alpha`` the alpha that was asked for, which the event must not
    exceed.
    """
    tally = Tally(name, model)
    promised = price(noise.event)
    if alpha is not None and isinstance(promised.definition, Emd) and promised.definition.alpha > exact(alpha) * _LOOSE:
        tally.violation("alpha, of what was asked", float(promised.definition.alpha), float(exact(alpha)))
    apart = known_distances(query.space, tuple(users))
    allowed = allowed_by(promised)
    limits = [[allowed(w) for w in row] for row in apart.tolist()]
    whole = noise.p not in (None, "1") and noise.dimension > 1
    for rest in others:
        counts = [UserCounts.of_users(query.space, [user, *rest]) for user in users]
        centers = [_exact(c.center(query)) for c in counts]
        if whole:
            compare_losses(tally, users, _norms(noise, centers), promised.epsilon_at, apart)
        else:
            _tails_of_pairs(tally, noise, users, centers, limits, apart)
        conforms(tally, noise.draw, counts[-1].center(query))
    if whole:
        _vectors_conform(tally, noise, centers[-1])
    else:
        _refines(tally, noise, centers[-1][0])
        _shape_conforms(tally, noise, centers[-1][0])
    return tally.finding()


def _exact(center: Center) -> list[Fraction]:
    """The exact entries, which the floats beside them must agree with."""
    return [center.exact_entry(j) for j in range(len(center))]


# One random word for each output.


def upper_tails(noise: AdditiveNoise, centers: Sequence[Fraction], cells: Sequence[int]) -> tuple[Floats, Floats]:
    """P[released integer >= cell], from below and from above, for each center and its cell, through ``noise.draw``."""
    wanted = np.array(cells)
    center = Center.from_fractions(list(centers))
    low, high = np.zeros(len(wanted), dtype=np.uint64), np.full(len(wanted), 2**_BITS, dtype=np.uint64)
    # The first rank of words that leads to the cell or beyond is in (low, high]; rank 0 is the least word of all.
    while True:
        middle = (low + high) >> np.uint64(1)
        if (high - low <= 1).all():
            break
        reached = np.asarray(_draw_ranks(noise, center, middle) >= wanted)
        high, low = np.where(reached, middle, high), np.where(reached, low, middle)
    first = high.astype(np.float64)
    return (2.0**_BITS - first) / 2.0**_BITS, (2.0**_BITS - first + 1.0) / 2.0**_BITS


def _draw_ranks(noise: AdditiveNoise, center: Center, ranks: Any) -> Any:
    """The integers drawn with the words of these ranks; later words, if any are asked for, are fixed ones."""
    words = ~(ranks.astype(np.uint64) << np.uint64(64 - _BITS))
    script = np.concatenate([words, SeededSource(7).words(4 * len(words) + 64)])
    return noise.draw(center, ScriptedSource(script)).integers


def _tails_of_pairs(
    tally: Tally,
    noise: AdditiveNoise,
    users: Sequence[User],
    centers: Sequence[Sequence[Fraction]],
    limits: Sequence[Sequence[tuple[float, float]]],
    apart: Floats,
) -> None:
    cells = [_cells(noise, [center[j] for center in centers]) for j in range(noise.dimension)]
    flat_centers = [center[j] for center in centers for j in range(noise.dimension) for _ in cells[j]]
    flat_cells = [cell for _ in centers for j in range(noise.dimension) for cell in cells[j]]
    low, high = upper_tails(noise, flat_centers, flat_cells)
    edges = np.cumsum([0, *(len(c) for c in cells)])
    low, high = low.reshape(len(users), -1), high.reshape(len(users), -1)
    _monotone(tally, noise, centers[0])
    for i, j in permutations(range(len(users)), 2):
        epsilon, delta = limits[i][j]
        result = _divergence(low[i], high[i], low[j], high[j], edges, epsilon if delta > 0.0 else None)
        kind, most, slack = ("delta", delta, 1e-3 * NEAR) if delta > 0.0 else ("epsilon", epsilon, NEAR)
        tally.compared(f"users {users[i]} and {users[j]}: {kind}", result, most, apart[i, j], slack)


def _cells(noise: AdditiveNoise, entries: Sequence[Fraction]) -> list[int]:
    """Thresholds: for Laplace noise just beyond all centers on both sides and between; for Gaussian noise all cells."""
    bottom, top = math.floor(min(entries) / noise.grid), math.ceil(max(entries) / noise.grid)
    if noise.p is not None:
        step = max(1, (top - bottom) // 4)
        return sorted({bottom - 1, bottom, *range(bottom, top + 2, step), top + 2})
    reach = math.ceil(7 * noise.scale / noise.grid)
    step = max(1, (top - bottom + 2 * reach) // _MOST_CELLS)
    return list(range(bottom - reach, top + reach + 1, step))


def _divergence(
    low: Floats, high: Floats, other_low: Floats, other_high: Floats, edges: Any, epsilon: float | None
) -> float:
    """What tails of both sides surely show: the largest log-ratio of a product of tails, or the largest excess."""
    tails = [(low, other_high), (1.0 - high, 1.0 - other_low)]  # events {>= t} and {< t}
    if epsilon is not None:
        grown = math.exp(min(epsilon, 700.0))
        return max(float((one - grown * two).max()) for one, two in tails)
    total = 0.0
    for a, b in pairwise(edges):
        best = 0.0
        for one, two in tails:
            seen = one[a:b] > 0.0
            ratios = np.log(one[a:b][seen]) - np.log(np.maximum(two[a:b][seen], 2.0**-60))
            best = max(best, float(ratios.max(initial=0.0)))
        total += best
    return total


def _monotone(tally: Tally, noise: AdditiveNoise, center: Sequence[Fraction]) -> None:
    """Larger ranks never lead to smaller integers, and each output depends on its own word alone."""
    ranks = np.sort(SeededSource(3).words(256) >> np.uint64(64 - _BITS))
    sample = _draw_ranks(noise, Center.from_fractions([center[0]] * len(ranks)), ranks)
    tally.draws += len(ranks)
    if (np.diff(np.asarray(sample, dtype=np.float64)) < 0).any():
        tally.violation("larger words give smaller answers", 1, 0)
    again = _draw_ranks(noise, Center.from_fractions([center[0]] * len(ranks)), ranks[::-1])
    if list(again[::-1]) != list(sample):
        tally.violation("an output depends on the word of another", 1, 0)


def _refines(tally: Tally, noise: AdditiveNoise, entry: Fraction) -> None:
    """Where a word leaves an integer open, further bits settle it: they never undo what the word says."""
    cell = math.floor(entry / noise.grid) + 3
    low, high = 0, 2**64 - 1
    center = Center.from_fractions([entry])

    def reached(rank: int, later: int) -> bool:
        script = np.array([2**64 - 1 - rank, *[later] * 40], dtype=np.uint64)
        return int(noise.draw(center, ScriptedSource(script)).integers[0]) >= cell

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle, 0) else (middle, high)
    for later in (0, 2**63, 2**64 - 1, 0x5555555555555555):
        for step in (2, 3, 5, 17):
            tally.draws += 2
            if reached(high - step, later) or not reached(high + step, later):
                tally.violation("further bits undo what the first word says", 1, 0)
                return


def _shape_conforms(tally: Tally, noise: AdditiveNoise, entry: Fraction) -> None:
    """Tails near and far are those of the noise that is named, at its scale."""
    steps = [Fraction(x) for x in (-8, -5, -3, -2, -1, "-1/2", 0, "1/2", 1, 2, 3, 5, 8)]
    cells = [math.floor((entry + x * noise.scale) / noise.grid) for x in steps if noise.p is not None or abs(x) < 6]
    low, high = upper_tails(noise, [entry] * len(cells), cells)
    places = np.array([float(((cell - Fraction(1, 2)) * noise.grid - entry) / noise.scale) for cell in cells])
    ideal = (heavy.stats.norm if noise.p is None else heavy.stats.laplace).sf(places)
    tally.draws += len(cells)
    slack = 1e-9 * np.minimum(ideal, 1.0 - ideal)
    if ((ideal < low - slack) | (ideal > high + slack)).any():
        tally.violation("the noise does not have the tails of its distribution", 1, 0)


# Several words for all outputs.


def _norms(noise: AdditiveNoise, centers: Sequence[Sequence[Fraction]]) -> Iterator[float]:
    """The largest log-ratio of K-norm noise is the norm of the difference of the centers over the scale."""
    points = [np.array([float(x / noise.scale) for x in center]) for center in centers]
    order = math.inf if noise.p == "inf" else float(Fraction(noise.p or "2"))
    return (float(np.linalg.norm(one - two, ord=order)) for one, two in combinations(points, 2))


def _vectors_conform(tally: Tally, noise: AdditiveNoise, center: Sequence[Fraction]) -> None:
    """A drawn vector is the center plus the ideal noise of the same words, rounded: a second way to compute it.

    Orders other than 2 and infinity are drawn by rejection, and are left to the test of their radius and direction.
    """
    size = len(center)
    if noise.p not in ("2", "inf"):
        _directions_conform(tally, noise, size)
        return

    for seed in range(200):
        words = SeededSource(seed).words(2 * size + 1).view(np.int64).astype(np.float64) / 2.0**63
        if noise.p == "2":
            radius = -np.log(np.abs(words[:size])).sum()
            normals = -heavy.special.ndtri(np.abs(words[size : 2 * size]) / 2.0) * np.sign(words[size : 2 * size])
            ideal = radius * normals / np.sqrt((normals**2).sum())
        else:
            ideal = -np.log(np.abs(words[: size + 1])).sum() * words[size + 1 : 2 * size + 1]
        place = np.array([float(x / noise.grid) for x in center]) + float(noise.scale / noise.grid) * ideal + 0.5
        sample = noise.draw(Center.from_fractions(list(center)), SeededSource(seed)).integers
        clear = np.abs(place - np.rint(place)) > 1e-6
        tally.draws += 1
        if (np.asarray(sample, dtype=np.float64)[clear] != np.floor(place)[clear]).any():
            tally.violation("a drawn vector is not its center plus the ideal noise, rounded", 1, 0)
            return


def _directions_conform(tally: Tally, noise: AdditiveNoise, size: int) -> None:
    """Density exp(-||z||_p): the p-norm is a Gamma(d) variate, and |z_1|^p/||z||^p a Beta(1/p, (d-1)/p) one."""
    p = float(Fraction(noise.p or "2"))
    source = SeededSource(5)
    zero = Center.from_fractions([Fraction(0)] * size)
    sample = np.array([noise.draw(zero, source).values for _ in range(4000)]) / float(noise.scale)
    powers = np.abs(sample) ** p
    length = powers.sum(axis=1)
    tally.draws += len(sample)
    # Rounding to a grid of a thousandth of the scale is far below what so few draws can see.
    radius = heavy.stats.kstest(length ** (1.0 / p), heavy.stats.gamma(size).cdf).pvalue
    direction = heavy.stats.kstest(powers[:, 0] / length, heavy.stats.beta(1.0 / p, (size - 1.0) / p).cdf).pvalue
    if min(radius, direction) < 1e-6:
        tally.violation("radius or direction of the noise are not those of its density", 1, 0)
