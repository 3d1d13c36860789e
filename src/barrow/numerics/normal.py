"""Gaussian differential privacy in log space: delta at a given epsilon, and the inverse, each with a side.

With a = eps/mu - mu/2 and b = eps/mu + mu/2 one has e^eps = phi(a)/phi(b), hence

    delta(mu, eps) = Phi(-a) - e^eps Phi(-b) = phi(a) * (R(a) - R(b)),      R(x) = Phi(-x)/phi(x)  (Mills' ratio),

which has no overflow and loses digits only in the last subtraction; that loss is bounded and added.
"""

from __future__ import annotations

import math

from barrow.errors import ParameterError
from barrow.numerics.search import largest_safe

_UNIT = 2.0**-53
_TINY = 5e-324


def _mills(x: float) -> float:
    from scipy.special import erfcx

    return float(erfcx(x / math.sqrt(2.0))) * math.sqrt(math.pi / 2.0)


def gdp_delta_upper(mu: float, epsilon: float) -> float:
    """An upper bound, tight to about 12 digits, on the delta of mu-Gaussian differential privacy at ``epsilon``.

    ``gdp_delta(mu, eps) = Phi(mu/2 - eps/mu) - exp(eps) Phi(-mu/2 - eps/mu)``.

    >>> round(gdp_delta_upper(2.99099946767, 25.0) * 1e12, 6)
    1.0
    >>> gdp_delta_upper(0.0, 1.0)
    0.0
    """
    if not (mu >= 0.0 and math.isfinite(mu)):
        raise ParameterError(f"mu is {mu!r}.", allowed="a finite number, 0 or more", fix="mu=1.0")
    if not (epsilon >= 0.0 and math.isfinite(epsilon)):
        raise ParameterError(f"epsilon is {epsilon!r}.", allowed="a finite number, 0 or more", fix="epsilon=1.0")
    if mu == 0.0:
        return 0.0
    a, b = epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0
    if a > 38.0:
        # delta <= phi(a) R(a) <= phi(a)/a: far below the smallest normal number, so any tiny positive bound will do.
        return max(math.exp(-0.5 * a * a * (1.0 - 1e-14)), _TINY)
    if a < -8.0:
        # Phi(-a) is 1 to within one unit in the last place, and the subtracted term only helps.
        return 1.0
    phi = math.exp(-0.5 * a * a) / math.sqrt(2.0 * math.pi)
    first, second = phi * _mills(a), phi * _mills(b)
    # erfcx, exp and the arguments are good to a few units; exp(-a^2/2) magnifies those by a^2.
    slack = 16.0 * (2.0 + a * a + abs(a) * epsilon / mu) * _UNIT * (first + second)
    return min(1.0, max(first - second, 0.0) + slack + _TINY)


def gdp_mu_lower(epsilon: float, delta: float) -> float:
    """The largest mu, rounded down, for which mu-GDP implies (epsilon, delta) (theory: Gaussian noise, w = 1).

    >>> round(gdp_mu_lower(25.0, 1e-12), 9)
    2.990999468
    """
    if not 0.0 < delta < 1.0:
        raise ParameterError(
            f"delta is {delta!r}.",
            allowed="a number strictly between 0 and 1 (Gaussian noise has no pure guarantee)",
            fix="delta=1e-9, or choose Laplace noise for delta = 0",
        )
    high = 1.0
    while gdp_delta_upper(high, epsilon) <= delta and high < 1e150:
        high *= 2.0
    low = high / 2.0
    while low > 1e-300 and gdp_delta_upper(low, epsilon) > delta:
        high, low = low, low / 2.0
    return largest_safe(lambda mu: gdp_delta_upper(mu, epsilon) <= delta, low, high, relative=1e-15)
