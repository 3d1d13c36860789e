"""Sums of independent edge noises: how far one is off with a given probability, on the safe side.

A linear statistic of released node values is off by sum_e (c_head - c_tail) eta_e: independent Laplace variables, and
for every cycle that is drawn together a mixture, over its cones, of sums of signed exponentials. Equal scales have a
closed form. Otherwise every exponential is rounded up to a lattice and the distributions are convolved by their
characteristic functions; what lies beyond the window is bounded by Chernoff's inequality
(docs/proofs/edge-decoding.md, Section 7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.noise.additive.edges import cones
from barrow.spaces.base import Floats, Ids

_LEAST_LEVEL = 1e-9
"""Below it the convolution's rounding matters, and Chernoff's inequality is used where there is no closed form."""
_POINTS = 2**15
_MOST_WORK = 2**27
_SAFE = 1.0 + 1e-9


@dataclass(frozen=True, eq=False)
class EdgeSum:
    """A sum of independent noises of edges and of cycles of four.

    Attributes:
        scales: Scales of Laplace variables, above 0.
        cycles: Shape (cycles, 4): what a unit of noise on each edge of a cycle adds, with its sign.
        lengths: Shape (cycles, 4): the lengths of these edges, which set the probabilities of the cones.
        rate: The sizes on a cycle's edge are exponential with mean 1/(rate length).

    >>> round(EdgeSum(np.ones(1)).half_width(0.05), 3), round(EdgeSum(np.ones(8)).half_width(0.05), 3)
    (2.996, 7.947)
    """

    scales: Floats
    cycles: Floats | None = None
    lengths: Floats | None = None
    rate: float = 1.0

    @cached_property
    def _laplace(self) -> tuple[Floats, Ids]:
        """Different scales and how many there are of each."""
        scales, counts = np.unique(np.asarray(self.scales, dtype=np.float64), return_counts=True)
        return scales, counts

    @cached_property
    def _mixtures(self) -> list[tuple[Floats, Floats, int]]:
        """For each kind of cycle: weights of its cones, signed scales (cones, 4), and how many there are."""
        if self.cycles is None or self.lengths is None or not len(self.cycles):
            return []
        ratio = self.lengths / self.lengths[:, :1]
        rows, counts = np.unique(np.hstack([self.cycles / self.lengths / self.rate, ratio]), axis=0, return_counts=True)
        found = []
        for row, count in zip(rows, counts.tolist(), strict=True):
            signs, weights = cones(tuple(row[4:].tolist()))
            share = np.array([float(w) for w in weights])
            found.append((share / share.sum(), np.array(signs) * row[:4], count))
        return found

    @property
    def terms(self) -> int:
        """How many exponential sizes there are at most: three for each cycle."""
        return len(self.scales) + 3 * (0 if self.cycles is None else len(self.cycles))

    @property
    def deviation(self) -> float:
        """The standard deviation.

        >>> EdgeSum(np.array([1.0, 2.0])).deviation ** 2
        10.000000000000002
        """
        total = 2.0 * float((np.asarray(self.scales) ** 2).sum())
        for share, scales, count in self._mixtures:
            mean = scales.sum(axis=1)
            total += count * float(share @ ((scales**2).sum(axis=1) + mean**2))
        return math.sqrt(total)

    def half_width(self, level: float) -> float:
        """The sum is farther from 0 than this with probability at most ``level``."""
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level is {level!r}.", allowed="a number in (0, 1)", fix="level=0.05")
        if self.terms == 0:
            return 0.0
        scales, counts = self._laplace
        if len(scales) == 1 and not self._mixtures:
            return float(scales[0]) * equal_half_width(int(counts[0]), level)
        chernoff = self._chernoff(level)
        kinds = len(scales) + sum(len(share) * 3 for share, _, _ in self._mixtures)
        if level < _LEAST_LEVEL or kinds * _POINTS > _MOST_WORK:
            return chernoff
        return min(chernoff, self._convolved(level, kinds))

    def _chernoff(self, level: float) -> float:
        """The least of (log E exp(t S) + log(2/level))/t: the sum is symmetric."""
        largest = max(
            [float(np.max(self.scales, initial=0.0)), *(float(np.abs(s).max()) for _, s, _ in self._mixtures)]
        )
        t = np.geomspace(1e-4, 0.9999, 400) / largest
        scales, counts = self._laplace
        total = -(counts[:, None] * np.log1p(-((scales[:, None] * t) ** 2))).sum(axis=0)
        for share, signed, count in self._mixtures:
            each = np.prod(1.0 / (1.0 - signed[:, :, None] * t), axis=1)
            total += count * np.log(share @ each)
        return float(((total + math.log(2.0 / level)) / t).min()) * _SAFE

    def _convolved(self, level: float, kinds: int) -> float:
        beyond = level * 1e-3
        reach = self._chernoff(beyond)
        points = _POINTS
        # The lattice may cost 0.2% of a standard deviation, if that is not too much work.
        while self.terms * 2.0 * reach / points > 0.002 * self.deviation and 2 * points * kinds <= _MOST_WORK:
            points *= 2
        step = 2.0 * reach / points
        angle = 2.0 * np.pi * np.fft.rfftfreq(points)
        turn = np.exp(1j * angle)
        total = np.ones(len(angle), dtype=np.complex128)
        for scale, count in zip(*self._laplace, strict=True):
            p = math.exp(-step / float(scale))
            total *= ((1.0 - p) * (turn.real - p) / (1.0 - 2.0 * p * turn.real + p * p)) ** int(count)
        for share, signed, count in self._mixtures:
            total *= _cycle(share, signed, step, turn) ** count
        mass = np.maximum(np.fft.irfft(total, points), 0.0)
        # Index j is the sum j*step for j below half, and (j - points)*step above; it is symmetric.
        half = points // 2
        sizes = mass[: half + 1].copy()
        sizes[1:half] += mass[half + 1 :][::-1]
        tail = np.cumsum(sizes[::-1])[::-1]  # P[|sum| >= j*step], of what was wrapped round too
        allowed = level - beyond - min(1e-9, level * 1e-3)
        above = np.append(tail[1:], 0.0)
        first = int(np.argmax(above <= allowed))
        return (first + self.terms) * step * _SAFE


def _cycle(share: Floats, signed: Floats, step: float, turn: Any) -> Any:
    """The characteristic function of a cycle's part, with sizes rounded up to the lattice."""
    total = np.zeros(len(turn), dtype=np.complex128)
    known: dict[float, Any] = {0.0: 1.0}
    for scale in np.unique(signed):
        if scale != 0.0:
            p = math.exp(-step / abs(float(scale)))
            way = turn if scale > 0.0 else np.conj(turn)
            known[float(scale)] = (1.0 - p) * way / (1.0 - p * way)
    for weight, row in zip(share.tolist(), signed.tolist(), strict=True):
        part: Any = weight
        for scale in row:
            part = part * known[scale]
        total += part
    return total


def equal_tail(count: int, x: float) -> float:
    """P[sum of ``count`` Laplace variables of scale 1 > x] for x >= 0, exact but for rounding.

    >>> round(equal_tail(1, 0.0), 12), round(equal_tail(1, 1.0) / math.exp(-1.0), 12)
    (0.5, 0.5)
    """
    return math.exp(_log_equal_tail(count, x))


def _log_equal_tail(count: int, x: float) -> float:
    """The logarithm: weights C(2k-j-1, k-1) 2^-(2k-j) of P[Gamma(j) > x], all of one sign."""
    from scipy.special import gammaln, logsumexp

    k, j = count, np.arange(1, count + 1)
    weights = gammaln(2 * k - j) - gammaln(k) - gammaln(k - j + 1) - (2 * k - j) * math.log(2.0)
    terms = (
        np.arange(k) * math.log(x) - gammaln(np.arange(1, k + 1)) if x > 0.0 else np.append(0.0, [-np.inf] * (k - 1))
    )
    tails = np.logaddexp.accumulate(terms) - x
    return float(min(0.0, logsumexp(weights + np.minimum(tails, 0.0))))


def equal_half_width(count: int, level: float) -> float:
    """The sum of ``count`` Laplace variables of scale 1 is beyond this with probability at most ``level``.

    >>> [round(equal_half_width(k, 0.05), 3) for k in (1, 2, 4, 16, 64)]
    [2.996, 4.113, 5.693, 11.163, 22.211]
    """
    from scipy.optimize import brentq

    goal = math.log(level / 2.0)
    high = 4.0 * math.sqrt(count) + 2.0
    while _log_equal_tail(count, high) > goal:
        high *= 2.0
    found = float(brentq(lambda x: _log_equal_tail(count, x) - goal, 0.0, high, xtol=1e-12, rtol=1e-13))
    return found * _SAFE
