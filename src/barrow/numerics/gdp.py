"""The normal distribution and Gaussian differential privacy: delta at an epsilon and the inverses, each with a side.

With a = eps/mu - mu/2 and b = eps/mu + mu/2 one has e^eps = phi(a)/phi(b), hence

    delta(mu, eps) = Phi(-a) - e^eps Phi(-b) = phi(a) * (R(a) - R(b)),      R(x) = Phi(-x)/phi(x)  (Mills' ratio),

which has no overflow and loses digits only in the last subtraction; that loss is bounded and added. Negative epsilon
is covered by the identity delta(-x) = 1 - e^-x + e^-x delta(x) of symmetric pairs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics.search import largest_safe, smallest_safe

Floats = NDArray[np.float64]

SQRT_TWO_PI = math.sqrt(2.0 * math.pi)
_UNIT = 2.0**-53
_TINY = 5e-324


def mills(x: ArrayLike) -> Floats:
    """Mills' ratio Phi(-x)/phi(x), good to a few units in the last place."""
    return np.asarray(heavy.special.erfcx(np.asarray(x, dtype=np.float64) / math.sqrt(2.0)) * math.sqrt(math.pi / 2.0))


def _mills(x: float) -> float:
    return float(heavy.special.erfcx(x / math.sqrt(2.0))) * math.sqrt(math.pi / 2.0)


def gdp_delta_upper_array(mu: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Upper bounds on the delta of mu-GDP at ``epsilon``, element by element; epsilon may be negative."""
    mu_, eps_ = np.broadcast_arrays(np.asarray(mu, dtype=np.float64), np.asarray(epsilon, dtype=np.float64))
    size = np.abs(eps_)
    safe_mu = np.where(mu_ > 0.0, mu_, 1.0)
    ratio = size / safe_mu
    a = np.clip(ratio - safe_mu / 2.0, -38.0, 1e6)
    b = ratio + safe_mu / 2.0
    phi = np.exp(np.maximum(-0.5 * a * a, -745.0)) / SQRT_TWO_PI
    first, second = phi * mills(a), phi * mills(b)
    # The same bound on rounding as in the scalar function.
    slack = 16.0 * (2.0 + a * a + np.abs(a) * ratio) * _UNIT * (first + second)
    delta = np.minimum(1.0, np.maximum(first - second, 0.0) + slack + _TINY)
    delta = np.where(a < -8.0, 1.0, delta)
    delta = np.where(a > 38.0, 1e-300, delta)
    delta = np.where(mu_ == 0.0, 0.0, delta)
    shrink = np.exp(-np.minimum(size, 745.0))
    mirrored = np.minimum(1.0, (-np.expm1(-size) + shrink * delta) * (1.0 + 8.0 * _UNIT))
    return np.where(eps_ < 0.0, mirrored, delta)


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
    phi = math.exp(-0.5 * a * a) / SQRT_TWO_PI
    first, second = phi * _mills(a), phi * _mills(b)
    # erfcx, exp and the arguments are good to a few units; exp(-a^2/2) magnifies those by a^2.
    slack = 16.0 * (2.0 + a * a + abs(a) * epsilon / mu) * _UNIT * (first + second)
    return min(1.0, max(first - second, 0.0) + slack + _TINY)


def gdp_epsilon_upper(mu: float, delta: float) -> float:
    """The smallest epsilon, rounded up, for which mu-GDP implies (epsilon, delta); 0 where delta allows it.

    >>> round(gdp_epsilon_upper(2.99099946767, 1e-12), 6)
    25.0
    """
    _check_delta(delta)
    if gdp_delta_upper(mu, 0.0) <= delta:
        return 0.0
    # delta(mu, eps) <= Phi(mu/2 - eps/mu) <= exp(-(eps/mu - mu/2)^2/2): safe from here on.
    high = mu * (mu / 2.0 + math.sqrt(2.0 * math.log(1.0 / delta)) + 1.0)
    while gdp_delta_upper(mu, high) > delta:
        high *= 2.0
    return smallest_safe(lambda eps: gdp_delta_upper(mu, eps) <= delta, 0.0, high, relative=1e-14)


def gdp_mu_lower(epsilon: float, delta: float) -> float:
    """The largest mu, rounded down, for which mu-GDP implies (epsilon, delta) (theory: Gaussian noise, w = 1).

    >>> round(gdp_mu_lower(25.0, 1e-12), 9)
    2.990999468
    """
    _check_delta(delta)
    high = 1.0
    while gdp_delta_upper(high, epsilon) <= delta and high < 1e150:
        high *= 2.0
    low = high / 2.0
    while low > 1e-300 and gdp_delta_upper(low, epsilon) > delta:
        high, low = low, low / 2.0
    return largest_safe(lambda mu: gdp_delta_upper(mu, epsilon) <= delta, low, high, relative=1e-15)


def _check_delta(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise ParameterError(
            f"delta is {delta!r}.",
            allowed="a number strictly between 0 and 1 (Gaussian noise has no pure guarantee)",
            fix="delta=1e-9, or choose Laplace noise for delta = 0",
        )
