"""Noise along the edges of a public graph, exactly rounded at its nodes.

Every edge draws one real number eta, with its ideal distribution, that is added at one end and subtracted at the other;
released is, for each node, floor((q + sum of its edges' eta)/grid + 1/2) * grid. An edge's number is drawn once and
kept as a bit string that grows on demand, so that both ends, and every question about rounding, see the same one
(docs/proofs/edge-noise.md, Section 2).

Edges alone have Laplace noise of scale/length. The four edges of a cycle are drawn together: one of them is 0 and the
others have signs, chosen by exact integer weights (the cones of Section 6), and sizes that are exponential.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow import heavy
from barrow.errors import ParameterError
from barrow.noise.additive.rounded import Centered, Rounder
from barrow.noise.additive.values import Center, RoundedValues, checked_scale
from barrow.noise.additive.variates import Approximation, Exponential, SymmetricVariates
from barrow.noise.lazy_uniform import Ball, LazyUniform
from barrow.noise.source import RandomSource, Words, checked_source
from barrow.numerics import Exact, exact, exact_text

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_FINER = 2**20
"""The grid is at least so much finer than the least noise: rounding is then invisible, and seldom left open."""
_MANY = 256
"""Nodes with more edges are summed without rounding errors."""
_UNIT = 2.0**-52


def edge_grid(scale: Exact, longest: float) -> Fraction:
    """The largest power of two that is at most a 2^20th of the noise of the longest edge.

    >>> edge_grid(1, 1.0) == Fraction(1, 2**20)
    True
    """
    target = checked_scale(scale) / (Fraction(longest) * _FINER)
    exponent = target.numerator.bit_length() - target.denominator.bit_length()
    return Fraction(2) ** (exponent if Fraction(2) ** exponent <= target else exponent - 1)


def rounded_edges(
    center: Centered,
    tails: ArrayLike,
    heads: ArrayLike,
    lengths: ArrayLike,
    scale: Exact,
    *,
    cycles: ArrayLike | None = None,
    turns: ArrayLike | None = None,
    grid: Exact | None = None,
    source: RandomSource | None = None,
) -> RoundedValues:
    """Adds noise along the edges of a graph to one exact value for each node, and rounds exactly to the grid.

    Args:
        center: The exact values, one for each node.
        tails: The node of each edge from which its noise is subtracted.
        heads: The node to which it is added.
        lengths: Floats above 0, taken at their exact value: an edge's noise has scale ``scale/length``.
        scale: The noise of an edge of length 1.
        cycles: Rows of four edges that go round a cycle, no edge twice: they are drawn together.
        turns: For each of these edges, 1 if going round passes it from tail to head, else -1.
        grid: The public grid; by default a power of two, a 2^20th of the least noise or finer.
        source: Where randomness comes from; by default the system's.

    >>> noisy = rounded_edges(["1/2", "1/4", "1/4"], [0, 1], [1, 2], [0.5, 0.5], "0.01")
    >>> len(noisy), noisy.grid == Fraction(1, 2**26), noisy.private
    (3, True, True)
    """
    vector, spread, origin = Center.of(center), checked_scale(scale), checked_source(source)
    long = np.asarray(lengths, dtype=np.float64)
    ends = np.asarray(tails, dtype=np.int64), np.asarray(heads, dtype=np.int64)
    if not (ends[0].shape == ends[1].shape == long.shape) or long.ndim != 1 or not long.size:
        raise ParameterError("The graph has no edges, or not as many ends as lengths.", allowed="one of each an edge")
    if not (np.isfinite(long) & (long > 0.0)).all() or min(e.min() for e in ends) < 0:
        raise ParameterError("An edge has a length that is not above 0, or no end.", allowed="lengths above 0")
    if max(int(e.max()) for e in ends) >= len(vector):
        raise ParameterError("An edge ends at a node without a value.", allowed="one value for each node")
    cell = checked_edge_grid(grid, spread, float(long.max()))
    words = origin.words(len(long))
    factors = None
    if cycles is not None and np.size(cycles):
        rows, turned = np.asarray(cycles, dtype=np.int64), np.asarray(turns, dtype=np.int64)
        signs = cycle_signs(long[rows], origin) * turned
        # A variate has a sign of its own, which the cone's replaces.
        factors = np.ones(len(long))
        factors[rows] = np.where(words[rows].view(np.int64) < 0, -1, 1) * signs
    noise = NodeSums(len(vector), *ends, long, SymmetricVariates(Exponential(), words, origin), factors)
    rounder = Rounder(vector, spread, cell)
    rounder.add(noise, 0, len(vector))
    return RoundedValues(rounder.integers(), cell, origin.private)


def checked_edge_grid(grid: Exact | None, scale: Fraction, longest: float) -> Fraction:
    """``grid`` as a rational of at most the noise of the longest edge, or the default one of :func:`edge_grid`."""
    finest = edge_grid(scale, longest)
    if grid is None:
        return finest
    value = exact(grid, "grid")
    if not 0 < value <= scale / Fraction(longest):
        raise ParameterError(
            f"grid is {exact_text(value)}.",
            allowed="a number above 0 and at most the noise of the longest edge",
            fix=f"leave grid out (it would be {exact_text(finest)})",
        )
    return value


@dataclass(frozen=True, eq=False)
class NodeSums:
    """For each node, the sum over its edges of +-variate/length: a noise vector in units of the scale.

    Attributes:
        nodes: How many nodes.
        tails: Where an edge's noise is subtracted.
        heads: Where it is added.
        lengths: Of the edges.
        variates: One for each edge.
        factors: -1, 0 or 1 for each edge, or None for 1 everywhere.
        inflate: Multiplies the error bound; for tests.
    """

    nodes: int
    tails: Ints
    heads: Ints
    lengths: Floats
    variates: SymmetricVariates
    factors: Floats | None = None
    inflate: float = 1.0

    def approximate(self) -> Approximation:
        """Floats for all sums, each with a bound of its own."""
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is left to the balls
            return self._floats(self.variates.approximate())

    def _floats(self, sample: Approximation) -> Approximation:
        inverse = 1.0 / self.lengths
        eta = sample.values * inverse
        if self.factors is not None:
            eta *= self.factors
        ends = np.concatenate([self.heads, self.tails])
        values = np.asarray(
            np.bincount(self.heads, eta, self.nodes) - np.bincount(self.tails, eta, self.nodes), dtype=np.float64
        )
        size = np.abs(eta)
        sizes = np.bincount(self.heads, size, self.nodes) + np.bincount(self.tails, size, self.nodes)
        rates = np.bincount(self.heads, inverse, self.nodes) + np.bincount(self.tails, inverse, self.nodes)
        degrees = np.bincount(ends, minlength=self.nodes).astype(np.float64)
        for node in np.flatnonzero(degrees > _MANY).tolist():
            edges, signs = self._at(node)
            values[node] = math.fsum((eta[edges] * signs).tolist())
            degrees[node] = 0.0
        # A product has two roundings; a running sum one for each edge, of all that was added so far.
        error = rates * (sample.error * 1.001) + sizes * ((degrees + 4.0) * _UNIT)
        return Approximation(values, error * self.inflate, np.abs(values))

    def ball(self, index: int, precision: int) -> Ball:
        """A ball around one node's sum, from the same bits for each of its edges whenever it is asked for."""
        edges, signs = self._at(index)
        total = heavy.arb(0)
        for edge, sign in zip(edges.tolist(), signs.tolist(), strict=True):
            factor = sign if self.factors is None else sign * int(self.factors[edge])
            if factor:
                total += factor * self.variates.ball(edge, precision) / heavy.arb(float(self.lengths[edge]))
        return total

    def _at(self, node: int) -> tuple[Ints, Ints]:
        """The edges of a node, and whether their noise is added (1) or subtracted (-1)."""
        order, starts = self._lists
        here = order[starts[node] : starts[node + 1]]
        count = len(self.heads)
        return here % count, np.where(here < count, 1, -1)

    @cached_property
    def _lists(self) -> tuple[Ints, Ints]:
        ends = np.concatenate([self.heads, self.tails])
        order = np.argsort(ends, kind="stable")
        return order, np.searchsorted(ends[order], np.arange(self.nodes + 1))


@lru_cache(maxsize=2**14)
def cones(lengths: tuple[float, ...]) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """The cones of a cycle, as signs round it with a 0 at the edge that carries nothing, and their integer weights.

    Signs s belong to the zero edge k if -l_k < sum of s_i l_i <= l_k, decided exactly; the weight is l_k.
    """
    parts = [float(x).as_integer_ratio() for x in lengths]
    below = max(d for _, d in parts)
    whole = [n * (below // d) for n, d in parts]
    results, weights = [], []
    for k, own in enumerate(whole):
        rest = whole[:k] + whole[k + 1 :]
        for signs in product((-1, 1), repeat=len(rest)):
            if -own < sum(s * x for s, x in zip(signs, rest, strict=True)) <= own:
                results.append((*signs[:k], 0, *signs[k:]))
                weights.append(own)
    return tuple(results), tuple(weights)


@lru_cache(maxsize=2**14)
def cycle_moments(lengths: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """E f_i f_j round a cycle, where f is 0 or +-Exp(l_i) as in the drawn cone."""
    signs, weights = (np.array(x, dtype=np.float64) for x in cones(lengths))
    pairs = np.einsum("c,ci,cj->ij", weights / weights.sum(), signs, signs)
    moments = pairs * (1.0 + np.eye(len(lengths))) / np.outer(lengths, lengths)
    return tuple(tuple(row) for row in moments.tolist())


def cycle_signs(lengths: Floats, source: RandomSource) -> Ints:
    """A cone for each cycle, with probability proportional to its weight, exactly; one row of signs for each."""
    words = source.words(len(lengths))
    order = np.lexsort(lengths.T)
    new = np.append(True, (np.diff(lengths[order], axis=0) != 0.0).any(axis=1))
    bounds = np.append(np.flatnonzero(new), len(order))
    result = np.zeros(lengths.shape, dtype=np.int64)
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        here = order[start:stop]
        signs, weights = cones(tuple(lengths[here[0]].tolist()))
        result[here] = np.array(signs)[weighted(words[here], weights, source)]
    return result


def weighted(words: Words, weights: tuple[int, ...], source: RandomSource) -> Ints:
    """An index for each word, drawn with probability proportional to integer ``weights``, exactly.

    A word is the first 64 bits of a uniform number; where they do not decide, more bits are drawn.
    """
    sums = list(accumulate(weights))
    total = sums.pop()
    # U < sum/total is certain below the threshold and false above it; a word that equals it is open.
    limits = np.array([(s << 64) // total for s in sums], dtype=np.uint64)
    index = np.searchsorted(limits, words, side="right").astype(np.int64)
    for i in np.flatnonzero(np.searchsorted(limits, words) < index).tolist():
        index[i] = _settled(LazyUniform(int(words[i]), 64, source), sums, total)
    return index


def _settled(number: LazyUniform, sums: list[int], total: int) -> int:
    while True:
        reached = [s for s in sums if s << number.length <= number.bits * total]
        beyond = [s for s in sums if s << number.length < (number.bits + 1) * total]
        if len(reached) == len(beyond):
            return len(reached)
        number.reach(number.length + 64)
