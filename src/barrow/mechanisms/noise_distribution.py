"""The distributions of additive noise: how far one output may be off, and its standard deviation.

Noise with density proportional to exp(-||x||_p) in d dimensions is G Y: G is Gamma(d+1), Y uniform in the unit ball of
the p-norm, and |Y_1|^p is Beta(1/p, 1 + (d-1)/p) (docs/proofs/linear.md). These numbers claim accuracy, not privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError


@cache
def _nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gauss-Legendre nodes and weights on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(300)
    return nodes, weights


@dataclass(frozen=True)
class NoiseDistribution:
    """The noise of scale 1 on ``dimension`` outputs: K-norm of order ``p``, or Gaussian where ``p`` is None.

    >>> round(NoiseDistribution(1.0, 5).quantile(0.05), 6)  # Laplace: ln 20
    2.995732
    >>> round(NoiseDistribution(None, 1).quantile(0.05), 6)
    1.959964
    """

    p: float | None
    dimension: int

    @property
    def _independent(self) -> bool:
        return self.p is None or self.p == 1.0 or self.dimension == 1

    def tail(self, t: float) -> float:
        """The probability that one output is off by more than ``t``."""
        from scipy import special

        if self.p is None:
            return float(special.erfc(t / math.sqrt(2.0)))
        if self._independent:
            return math.exp(-t)
        d = self.dimension
        if self.p == math.inf:
            # P(G U > t) = P(G > t) - t E[1/G; G > t], G ~ Gamma(d+1), U uniform.
            return float(special.gammaincc(d + 1, t) - t / d * special.gammaincc(d, t))
        spread = 14.0 * math.sqrt(d + 1.0)
        low, high = max(t, d + 1.0 - spread), max(t, d + 1.0) + spread + 80.0
        nodes, weights = _nodes()
        g = low + (high - low) * (nodes + 1.0) / 2.0
        pdf = np.exp(d * np.log(g) - g - special.gammaln(d + 1))
        share = np.clip((t / g) ** self.p, 0.0, 1.0)
        beyond = special.betainc(1.0 + (d - 1.0) / self.p, 1.0 / self.p, 1.0 - share)
        return float((weights * pdf * beyond).sum() * (high - low) / 2.0)

    def quantile(self, share: float) -> float:
        """The distance beyond which one output is off with probability ``share``, rounded up."""
        from scipy import optimize, special

        if not 0.0 < share < 1.0:
            raise ParameterError(f"share is {share!r}.", allowed="a number in (0, 1)", fix="share=0.05")
        if self.p is None:
            found = float(special.erfcinv(share)) * math.sqrt(2.0)
        elif self._independent:
            found = -math.log(share)
        else:
            high = float(special.gammainccinv(self.dimension, share)) + 1.0
            found = float(optimize.brentq(lambda t: self.tail(t) - share, 0.0, high, xtol=1e-10, rtol=1e-12))
        return found * (1.0 + 1e-9)

    def simultaneous_quantile(self, share: float) -> float:
        """The distance beyond which any output is off with probability at most ``share``.

        >>> round(NoiseDistribution(math.inf, 3).simultaneous_quantile(0.05), 6)  # the norm itself is Gamma(3)
        6.295794
        """
        from scipy import special

        d = self.dimension
        if self._independent:
            return self.quantile(-math.expm1(math.log1p(-share) / d))
        norm = float(special.gammainccinv(d, share)) * (1.0 + 1e-9)
        return norm if self.p == math.inf else min(norm, self.quantile(share / d))

    @property
    def deviation(self) -> float:
        """The standard deviation of one output.

        >>> round(NoiseDistribution(1.0, 4).deviation ** 2, 9), round(NoiseDistribution(math.inf, 1).deviation ** 2, 9)
        (2.0, 2.0)
        """
        if self.p is None:
            return 1.0
        if self._independent:
            return math.sqrt(2.0)
        d, q = self.dimension, self.p
        if q == math.inf:
            return math.sqrt((d + 1.0) * (d + 2.0) / 3.0)
        a, c = 1.0 / q, 1.0 + (d - 1.0) / q
        log_moment = math.lgamma(3.0 * a) + math.lgamma(a + c) - math.lgamma(a) - math.lgamma(3.0 * a + c)
        return math.sqrt((d + 1.0) * (d + 2.0) * math.exp(log_moment))
