"""Sums of independent edge noises: how far one is off with a given probability, on the safe side.

A linear statistic of released node values is off by sum_e (c_head - c_tail) eta_e: independent Laplace variables, and
for every cycle that is drawn together a mixture, over its cones, of sums of signed exponentials. Equal scales have a
closed form. Otherwise the distribution, wrapped round a circle, has a Fourier series whose coefficients are values of
the characteristic function; what wrapping may hide is bounded by Chernoff's inequality, and what is cut off the series
by how fast the coefficients fall (docs/proofs/edge-decoding.md, Section 7). Means of many reports are powers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.errors import ParameterError
from barrow.noise.additive.graph_noise import cones
from barrow.numerics.search import distinct, root
from barrow.spaces.space import Floats, Ids

_LEAST_MISS = 1e-9
"""Below it the rounding of the series matters, and Chernoff's inequality is used where there is no closed form."""
_ROUNDING = 1e-12
_MOST_CLOSED = 20_000
_FEWEST_TERMS, _MOST_TERMS, _MOST_WORK = 64, 2**17, 2**22
_HALVINGS = 11
_SAFE = 1.0 + 1e-9
Mixtures = list[tuple[Floats, Floats, int]]
"""For each kind of cycle: weights of its cones, signed scales (cones, 4), and how many there are."""


@dataclass(frozen=True, eq=False)
class EdgeSum:
    """A sum of independent noises of edges and of cycles of four, or the mean of several such sums.

    Attributes:
        scales: Scales of Laplace variables, above 0.
        cycles: Shape (cycles, 4): what a unit of noise on each edge of a cycle adds, with its sign.
        lengths: Shape (cycles, 4): the lengths of these edges, which set the probabilities of the cones.
        rate: The sizes on a cycle's edge are exponential with mean 1/(rate length).
        reports: How many independent sums are averaged.

    >>> round(EdgeSum(np.ones(1)).half_width(0.05), 3), round(EdgeSum(np.ones(8)).half_width(0.05), 3)
    (2.996, 7.947)
    """

    scales: Floats
    cycles: Floats | None = None
    lengths: Floats | None = None
    rate: float = 1.0
    reports: int = 1

    @cached_property
    def _laplace(self) -> tuple[Floats, Ids]:
        """Different scales and how many there are of each."""
        scales, counts = np.unique(np.asarray(self.scales, dtype=np.float64), return_counts=True)
        return scales, counts

    @cached_property
    def _mixtures(self) -> Mixtures:
        if self.cycles is None or self.lengths is None or not len(self.cycles):
            return []
        ratio = self.lengths / self.lengths[:, :1]
        rows, counts = np.unique(np.hstack([self.cycles / self.lengths / self.rate, ratio]), axis=0, return_counts=True)
        results = []
        for row, count in zip(rows, counts.tolist(), strict=True):
            signs, weights = cones(tuple(row[4:].tolist()))
            share = np.array([float(w) for w in weights])
            results.append((share / share.sum(), np.array(signs) * row[:4], count))
        return results

    @property
    def deviation(self) -> float:
        """The standard deviation.

        >>> EdgeSum(np.array([1.0, 2.0])).deviation ** 2
        10.000000000000002
        """
        total = 2.0 * float((np.asarray(self.scales) ** 2).sum())
        return math.sqrt((total + _variance(self._mixtures)) / self.reports)

    def half_width(self, miss: float) -> float:
        """The sum is farther from 0 than this with probability at most ``miss``."""
        if not 0.0 < miss < 1.0:
            raise ParameterError(f"miss is {miss!r}.", allowed="a number in (0, 1)", fix="miss=0.05")
        scales, counts = self._laplace
        if not len(scales) and not self._mixtures:
            return 0.0
        many = int(counts[0]) * self.reports if len(scales) == 1 else 0
        if 0 < many <= _MOST_CLOSED and not self._mixtures:
            return float(scales[0]) * equal_half_width(many, miss) / self.reports
        result = _Series(
            scales[None, :], counts * self.reports, [(s, c, n * self.reports) for s, c, n in self._mixtures]
        )
        return float(result.widths(miss)[0]) / self.reports


def laplace_half_widths(scales: Floats, miss: float, reports: int = 1) -> Floats:
    """The half widths of many sums of Laplace variables at once, one row of scales each."""
    if scales.shape[1] == 1 and reports == 1:
        return np.asarray(scales[:, 0] * (math.log(1.0 / miss) * _SAFE))
    step = max(1, _MOST_WORK // (64 * scales.shape[1]))
    counts = np.full(scales.shape[1], reports)
    parts = [_Series(scales[i : i + step], counts, []).widths(miss) for i in range(0, len(scales), step)]
    return np.asarray(np.concatenate(parts) / reports)


class _Series:
    """The Fourier series of sums, in units of their standard deviations.

    Args:
        scales: Of Laplace variables, one row for each sum.
        counts: How many there are of each column.
        mixtures: Cycles of the sum, if it is one.
    """

    def __init__(self, scales: Floats, counts: Ids, mixtures: Mixtures) -> None:
        self.counts = counts.astype(np.float64)
        self.size = np.sqrt(2.0 * (scales**2 @ self.counts) + _variance(mixtures))
        self.scales = scales / self.size[:, None]
        self.mixtures = [(share, signed / self.size[0], count) for share, signed, count in mixtures]

    def widths(self, miss: float) -> Floats:
        """No sum is beyond its half width with probability above ``miss``."""
        result = self._chernoff(miss)
        if miss < _LEAST_MISS:
            return np.asarray(self.size * result * _SAFE)
        hidden = 1e-4 * miss
        half = self._chernoff(hidden)  # beyond it lies at most what may be hidden
        terms, cut = self._terms(half, 1e-3 * miss)
        allowed = miss - hidden - _ROUNDING - cut
        for many in distinct(terms).tolist():
            here = np.flatnonzero((terms == many) & (allowed > 0.0))
            step = max(1, _MOST_WORK // many)
            for i in range(0, len(here), step):
                rows = here[i : i + step]
                result[rows] = self._searched(rows, many, half[rows], allowed[rows], result[rows])
        return np.asarray(self.size * result * _SAFE)

    def _chernoff(self, miss: float) -> Floats:
        """The least of (log E exp(t S) + log(2/miss))/t: the sums are symmetric."""
        largest = np.max(self.scales, axis=1, initial=0.0)
        for _, signed, _ in self.mixtures:
            largest = np.maximum(largest, np.abs(signed).max())
        t = np.minimum(np.geomspace(0.3, 300.0, 60), np.linspace(0.9, 0.999, 60) / largest[:, None])
        total = np.zeros(t.shape)
        for column, count in zip(self.scales.T, self.counts.tolist(), strict=True):
            total -= count * np.log1p(-((column[:, None] * t) ** 2))
        for share, signed, count in self.mixtures:
            total += count * np.log(share @ np.prod(1.0 / (1.0 - signed[:, :, None] * t[0]), axis=1))
        return np.asarray(((total + math.log(2.0 / miss)) / t).min(axis=1))

    def _terms(self, half: Floats, enough: float) -> tuple[Ids, Floats]:
        """How many terms of each series are taken, and what the rest may be: parts fall like a constant over t^2."""
        with np.errstate(divide="ignore"):
            constants = -2.0 * np.log(self.scales)
            of_cycles = [math.log(_fall(share, signed)) for share, signed, _ in self.mixtures]
        constants = np.hstack([constants, np.broadcast_to(of_cycles, (len(half), len(of_cycles)))])
        counts = np.append(self.counts, [count for _, _, count in self.mixtures])
        most = max(_FEWEST_TERMS, min(_MOST_TERMS, _MOST_WORK // max(1, self.scales.shape[1])))
        terms, cut, many = np.zeros(len(half), dtype=np.int64), np.full(len(half), np.inf), _FEWEST_TERMS
        while True:
            ratios = constants - 2.0 * np.log(many * math.pi / half)[:, None]
            falls = np.where(ratios < 0.0, counts, 0.0)
            number = falls.sum(axis=1)
            left = np.exp((np.minimum(ratios, 0.0) * counts).sum(axis=1)) / (math.pi * np.maximum(number, 1e-300))
            new = (terms == 0) & ((left <= enough) | (2 * many > most))
            terms[new], cut[new] = many, np.where(number > 0.0, left, np.inf)[new]
            if 2 * many > most or terms.all():
                return terms, cut
            many *= 2

    def _searched(self, rows: Ids, many: int, half: Floats, allowed: Floats, high: Floats) -> Floats:
        """The least half width that the series shows to be enough, by halving; ``high`` is one by Chernoff."""
        t = np.arange(1.0, many + 1.0) * (math.pi / half)[:, None]
        values = np.zeros(t.shape)
        for column, count in zip(self.scales[rows].T, self.counts.tolist(), strict=True):
            values -= count * np.log1p((column[:, None] * t) ** 2)
        values = np.exp(values)
        for share, signed, count in self.mixtures:
            values *= _transform(share, signed, t[0]) ** count
        values /= t

        def good(x: Floats) -> NDArray[np.bool_]:
            inside = (x + 2.0 * (np.sin(x[:, None] * t) * values).sum(axis=1)) / half
            return np.asarray(1.0 - inside <= allowed)

        low, sure = 0.4 * high, high.copy()  # lower ones are not looked for: Chernoff is no worse than that
        for _ in range(_HALVINGS):
            middle = (low + sure) / 2.0
            enough = good(middle)
            sure, low = np.where(enough, middle, sure), np.where(enough, low, middle)
        return sure


def _variance(mixtures: Mixtures) -> float:
    return sum(
        count * float(share @ ((signed**2).sum(axis=1) + signed.sum(axis=1) ** 2)) for share, signed, count in mixtures
    )


def _transform(share: Floats, signed: Floats, t: Floats) -> Floats:
    """The characteristic function of a cycle's part, which is real, as the part is symmetric.

    It is the mean of the real parts of its cones, which neither the order nor a common sign of their scales changes.
    """
    sizes = np.sort(signed, axis=1)
    turned = np.sort(-signed, axis=1)
    rows, cone = np.unique(np.where((sizes.sum(axis=1) < 0.0)[:, None], turned, sizes), axis=0, return_inverse=True)
    total = np.zeros(t.shape)
    for row, weight in zip(rows.tolist(), np.bincount(cone.ravel(), share).tolist(), strict=True):
        real, imaginary, below = np.ones(t.shape), np.zeros(t.shape), np.ones(t.shape)
        for scale in (each for each in row if each != 0.0):  # 1/(1 - ix) = (1 + ix)/(1 + x^2)
            x = scale * t
            real, imaginary = real - x * imaginary, imaginary + x * real
            below *= 1.0 + x * x
        total += weight * (real / below)
    return total


def _fall(share: Floats, signed: Floats) -> float:
    """A number c with |transform(t)| <= c/t^2: by the two largest sizes of a cone, or by the square of the only one."""
    sizes = np.sort(np.abs(signed), axis=1)[:, ::-1]
    return float(share @ (1.0 / (sizes[:, 0] * np.where(sizes[:, 1] > 0.0, sizes[:, 1], sizes[:, 0]))))


def _log_equal_tail(count: int, x: float) -> float:
    """Log P[sum of ``count`` Laplace variables of scale 1 > x] for x >= 0, exact but for rounding.

    Weights C(2k-j-1, k-1) 2^-(2k-j) of P[Gamma(j) > x], all of one sign.
    """
    k, j = count, np.arange(1, count + 1)
    weights = (
        heavy.special.gammaln(2 * k - j)
        - heavy.special.gammaln(k)
        - heavy.special.gammaln(k - j + 1)
        - (2 * k - j) * math.log(2.0)
    )
    terms = (
        np.arange(k) * math.log(x) - heavy.special.gammaln(np.arange(1, k + 1))
        if x > 0.0
        else np.append(0.0, [-np.inf] * (k - 1))
    )
    tails = np.logaddexp.accumulate(terms) - x
    return float(min(0.0, np.logaddexp.reduce(weights + np.minimum(tails, 0.0))))


def equal_half_width(count: int, miss: float) -> float:
    """The sum of ``count`` Laplace variables of scale 1 is beyond this with probability at most ``miss``."""
    goal = math.log(miss / 2.0)
    high = 4.0 * math.sqrt(count) + 2.0
    while _log_equal_tail(count, high) > goal:
        high *= 2.0
    result = float(root(lambda x: _log_equal_tail(count, x) - goal, 0.0, high, xtol=1e-12, rtol=1e-13))
    return result * _SAFE


def sum_half_width(scales: Floats, counts: Ids, level: float) -> float:
    """The sum of ``counts[i]`` Laplace variables of each ``scales[i]`` is beyond this with probability ``level``.

    >>> round(sum_half_width(np.array([1.0]), np.array([8]), 0.05), 3)
    7.947
    """
    if len(scales) == 1 and int(counts[0]) <= _MOST_CLOSED:
        return float(scales[0]) * equal_half_width(int(counts[0]), level)
    return float(_Series(np.asarray(scales, dtype=np.float64)[None, :], np.asarray(counts), []).widths(level)[0])
