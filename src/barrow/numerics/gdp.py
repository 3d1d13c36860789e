"""Gaussian differential privacy on arrays: delta at many (mu, epsilon) at once, and epsilon at a given delta.

The scalar functions are in :mod:`barrow.numerics.normal`; these are the same bounds, element by element, and also
cover negative epsilon by the identity delta(-x) = 1 - e^-x + e^-x delta(x) of symmetric pairs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx

from barrow.errors import ParameterError
from barrow.numerics.normal import gdp_delta_upper
from barrow.numerics.search import smallest_safe

Floats = NDArray[np.float64]

SQRT_TWO_PI = math.sqrt(2.0 * math.pi)
_UNIT = 2.0**-53
_TINY = 5e-324


def mills(x: ArrayLike) -> Floats:
    """Mills' ratio Phi(-x)/phi(x), good to a few units in the last place.

    >>> float(mills(0.0)) == math.sqrt(math.pi / 2)
    True
    """
    return np.asarray(erfcx(np.asarray(x, dtype=np.float64) / math.sqrt(2.0)) * math.sqrt(math.pi / 2.0))


def gdp_delta_upper_array(mu: ArrayLike, epsilon: ArrayLike) -> Floats:
    """Upper bounds on the delta of mu-GDP at ``epsilon``, element by element; epsilon may be negative.

    >>> [round(float(d) * 1e12, 6) for d in gdp_delta_upper_array([2.99099946767], [25.0])]
    [1.0]
    >>> gdp_delta_upper_array([0.0, 1.0], [1.0, -800.0]).tolist()
    [0.0, 1.0]
    """
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


def gdp_epsilon_upper(mu: float, delta: float) -> float:
    """The smallest epsilon, rounded up, for which mu-GDP implies (epsilon, delta); 0 where delta allows it.

    >>> round(gdp_epsilon_upper(2.99099946767, 1e-12), 6)
    25.0
    """
    if not 0.0 < delta < 1.0:
        raise ParameterError(
            f"delta is {delta!r}.",
            allowed="a number strictly between 0 and 1 (Gaussian noise has no pure guarantee)",
            fix="delta=1e-9, or choose Laplace noise for delta = 0",
        )
    if gdp_delta_upper(mu, 0.0) <= delta:
        return 0.0
    # delta(mu, eps) <= Phi(mu/2 - eps/mu) <= exp(-(eps/mu - mu/2)^2/2): safe from here on.
    high = mu * (mu / 2.0 + math.sqrt(2.0 * math.log(1.0 / delta)) + 1.0)
    while gdp_delta_upper(mu, high) > delta:
        high *= 2.0
    return smallest_safe(lambda eps: gdp_delta_upper(mu, eps) <= delta, 0.0, high, relative=1e-14)
