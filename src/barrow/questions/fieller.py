"""Fieller's intervals of a ratio of two released values with additive noise (docs/proofs/no-records.md, section 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from barrow.mechanisms import AdditiveNoise, NoiseDistribution, Strategy
from barrow.mechanisms.additive import CalibratedNoise
from barrow.numerics import float_up
from barrow.numerics.search import root

LEVEL = 0.05
_TURNS, _GAIN = 60, 1e-9


@lru_cache(maxsize=256)
def _one(distribution: NoiseDistribution, level: float) -> float:
    """What one output at scale 1 exceeds with probability ``level``."""
    return float(distribution.quantile(level))


@dataclass(frozen=True, eq=False)
class Ratio:
    """A released sum beside a released share, of which only the ratio is asked.

    Attributes:
        noise: The noise of both.
        weight: c, what the share was multiplied by.
        rounding: How far quantising moves an output, at most.
        level: How often an interval may miss.
    """

    noise: CalibratedNoise
    weight: float
    rounding: float
    level: float = LEVEL

    def slack(self, ratio: float) -> float:
        """What |sum - t share| exceeds with probability at most ``level`` at the true t, |t| = ``ratio``; grows."""
        lean, noise = ratio / self.weight, self.noise
        rounding = (float_up(noise.grid) / 2.0 + self.rounding) * (1.0 + lean)
        if isinstance(noise, AdditiveNoise) and (noise.p is None or noise.p == "2"):
            reach = _one(noise.distribution, self.level) * math.hypot(1.0, lean)
        elif isinstance(noise, AdditiveNoise) and noise.p == "1":
            reach = laplace_pair_quantile(lean, self.level)
        elif isinstance(noise, AdditiveNoise) and self.level != LEVEL:
            reach = _one(noise.distribution, self.level / 2.0) * (1.0 + lean)
        else:
            return float(noise.simultaneous_half_width) * (1.0 + lean)
        return float(reach * float_up(noise.scale) * (1.0 + 1e-9) + rounding)

    @property
    def share_half_width(self) -> float:
        """The released share is off by more with probability at most ``level``."""
        noise = self.noise
        if self.level == LEVEL or not isinstance(noise, AdditiveNoise):
            return float(noise.half_width) / self.weight
        reach = _one(noise.distribution, self.level) * float_up(noise.scale)
        return float(reach + float_up(noise.grid) / 2.0 + self.rounding) / self.weight

    def interval(self, total: float, share: float, reach: float) -> tuple[float, float] | None:
        """Fieller's interval of t = sum/share within [-reach, reach]; None where the share may be 0.

        Whatever t is true, |total - t share| <= slack(|t|) with probability 1 - level. The slack grows with |t|, so
        with |t| <= reach the true one is between (total -+ slack(reach))/share; and so on with what is known by then.
        """
        if share <= self.share_half_width:
            return None
        low, high = -reach, reach
        for _ in range(_TURNS):
            slack = self.slack(max(abs(low), abs(high)))
            result = max(low, (total - slack) / share), min(high, (total + slack) / share)
            if result[0] > result[1]:  # all of the range is ruled out, which happens no more often than a miss may
                edge = min(max(total / share, -reach), reach)
                return edge, edge
            gained = (result[0] - low) + (high - result[1])
            low, high = result
            if gained <= _GAIN * reach:  # every turn's interval holds: a little wider is sound
                break
        return low, high


@dataclass(frozen=True, eq=False)
class ShapedRatio(Ratio):
    """An answer of a strategy beside the share of people with records, which is the last one.

    Attributes:
        output: Which answer.
    """

    noise: Strategy
    output: int = 0

    def slack(self, ratio: float) -> float:
        """As for other noise; the two answers may have noise in common."""
        return self.noise.beside(self.output, self.noise.dimension - 1, ratio / self.weight, self.level)

    @property
    def share_half_width(self) -> float:
        """The released share is off by more with probability at most ``level``."""
        return float(self.noise.half_widths(self.level)[-1]) / self.weight


def laplace_pair_quantile(lean: float, level: float = LEVEL) -> float:
    """What |L1 + lean L2| exceeds with probability ``level``, for independent standard Laplace variables.

    P(|L1 + s L2| > t) = (e^(-t) - s^2 e^(-t/s))/(1 - s^2), and (1 + t/2) e^(-t) at s = 1.

    >>> round(laplace_pair_quantile(0.0), 6), round(laplace_pair_quantile(1.0), 4)
    (2.995732, 4.113)
    """
    s = abs(lean)
    if s > 1.0:
        return s * laplace_pair_quantile(1.0 / s, level)

    def excess(t: float) -> float:
        if s < 1e-9:
            return math.exp(-t) - level
        if s > 1.0 - 1e-6:  # from above: the tail grows with s
            return (1.0 + t / 2.0) * math.exp(-t) - level
        return (math.exp(-t) - s * s * math.exp(-t / s)) / (1.0 - s * s) - level

    most = 60.0 - 2.0 * math.log(level)
    return float(root(excess, 0.0, most, xtol=1e-12)) * (1.0 + 1e-9)
