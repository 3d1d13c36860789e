"""The positive part of a sum of many small terms, from above, as a contour integral; and the rate that follows.

Proofs: docs/proofs/blanket.md, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.accounting.profile import rate_from_lines

Floats = NDArray[np.float64]

_GROWTHS = 40
_MOST_NODES = 12_000
"""A sum that needs more nodes is one of very few terms, for which composition is the better bound."""
_NEVER = -1e4
"""Stands for the logarithm of a positive part that is 0, from above."""
_WIDE = 400.0
_BLUR = 70.0
"""A little Gaussian noise is added to the sum (which can only raise e) so that frequencies beyond 8/noise vanish."""


def _bend(z: NDArray[np.complex128] | Floats) -> NDArray[np.complex128] | Floats:
    """e^z - 1 - z without cancellation."""
    small = np.abs(z) < 0.1
    bent = np.exp(z) - 1.0 - z
    near = z[small]
    series = np.zeros_like(near)
    for k in range(11, 1, -1):
        series = (series + 1.0) * near / k
    bent[small] = series * near
    return bent


def _log_mgf(
    s: NDArray[np.complex128] | Floats, mass: Floats, xi: Floats, c: float, reports: float, blur: float
) -> NDArray[np.complex128] | Floats:
    # The mean of xi is -c exactly.
    inner = np.sum(mass[:, None] * _bend(np.multiply.outer(xi, s)), axis=0) - c * s
    return np.asarray(reports * np.log1p(inner) + 0.5 * (blur * s) ** 2)


def _log_mgf_along(
    tilt: float, step: float, nodes: int, mass: Floats, xi: Floats, c: float, reports: float, blur: float
) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """The nodes tilt + i step k, and what :func:`_log_mgf` is there.

    With B(z) = e^z - 1 - z and E(z) = e^z - 1, B(z + w) = B(z) + B(w) + E(z) E(w): strides and single steps are bent
    once each, and their products are one product of matrices. Both lie within a right angle of each other, so that the
    three terms cancel as little as the series of one (docs/proofs/blanket.md, section 3).
    """
    width = max(1, math.isqrt(nodes))
    strides = tilt + 1j * (step * width * np.arange(-(-nodes // width)))
    single = 1j * (step * np.arange(width))
    far, near = np.multiply.outer(strides, xi), np.multiply.outer(xi, single)
    bent_far, bent_near = _bend(far), _bend(near)
    bent = (bent_far @ mass)[:, None] + mass @ bent_near + ((bent_far + far) * mass) @ (bent_near + near)
    s = np.add.outer(strides, single).ravel()[:nodes]
    inner = bent.ravel()[:nodes] - c * s
    return s, np.asarray(reports * np.log1p(inner) + 0.5 * (blur * s) ** 2)


def _tilt(mass: Floats, xi: Floats, c: float, reports: float, sigma: float) -> float:
    """A tilt near the saddle point of mgf/s^2; any positive one is valid."""
    drift = c * reports / sigma
    best = (drift + math.sqrt(drift * drift + 8.0)) / (2.0 * sigma)
    for _ in range(3):
        grid = best * np.array([0.5, 0.65, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5])
        powers = np.multiply.outer(xi, grid)
        value = reports * np.log1p(mass @ (np.expm1(powers) - powers) - c * grid) - 2.0 * np.log(grid)
        best = float(grid[int(np.argmin(np.where(np.isfinite(value), value, np.inf)))])
    return best


def log_excess_upper(
    mass: Floats, xi: Floats, c: float, reports: float, *, rounding: float = 1e-10, blurs: float = _BLUR
) -> float:
    """The logarithm of (1/N) E(xi_1 + ... + xi_N)_+, rounded up: a sum over nodes plus all error bounds.

    Args:
        mass: Probabilities of the values; the rest of the mass is at 0.
        xi: The values; their mean is -c.
        c: The slope of the line.
        reports: N.
        rounding: Relative error allowed for the moment generating function at each node.
        blurs: The deviation of the sum over that of the noise added to it; fewer nodes where it is smaller.

    Infinite where the sum is out of the reach of doubles.
    """
    if float(xi.max()) < -1e-9 * float(np.max(np.abs(xi))):
        return _NEVER
    variance = float(np.dot(mass, xi * xi)) - c * c
    # Where the variance drowns in rounding nothing is said.
    if not variance > 1e-7 * c * c:
        return math.inf
    tilt = _tilt(mass, xi, c, reports, math.sqrt(reports * variance))
    values = np.concatenate([xi, [0.0]])
    widest = float(values.max() - values.min())
    weights = np.concatenate([mass * np.exp(tilt * xi), [1.0 - float(mass.sum())]])
    weights = weights / weights.sum()
    spread = math.sqrt(max(float(np.dot(weights, (values - float(np.dot(weights, values))) ** 2)), 0.0))
    sigma = spread * math.sqrt(reports)
    if not 1e-3 < tilt * sigma < 50.0:
        return math.inf
    natural = math.pi / widest
    if natural * sigma >= _WIDE:
        # Up to pi/widest the tilted characteristic function is below exp(-(2/pi^2)(theta sigma)^2).
        blur, last = 8.0 / natural, 18.0 / sigma
        cut = 2.0 / last * math.exp(-2.0 / math.pi**2 * 18.0**2) + 2.0 / natural * math.exp(-32.0)
    else:
        blur = sigma / blurs
        last = 8.0 / blur
        cut = 2.0 / last * math.exp(-32.0)
    strip = tilt / 2.0
    logs = np.real(_log_mgf(np.array([tilt, tilt - strip, tilt + strip]), mass, xi, c, reports, blur))
    base, side = float(logs[0]), float(np.max(logs[1:] - logs[0]))
    if not side < 500.0:
        return math.inf
    # Aliasing is about 5 tilt sigma exp(side - 2 pi strip/step) of the whole: a step that makes it 1e-8 or less.
    step = 2.0 * math.pi * strip / (max(side, 0.0) + 24.0)
    if not last < _MOST_NODES * step:
        return math.inf
    s, log_mgf = _log_mgf_along(tilt, step, int(last / step) + 2, mass, xi, c, reports, blur)
    terms = np.real(np.exp(log_mgf - base) / (s * s))
    total = step * (2.0 * float(terms.sum()) - float(terms[0]))
    slips = rounding * step * 2.0 * float(np.sum(1.0 / np.abs(s) ** 2))
    largest = math.exp(side) * math.pi / (tilt - strip)
    aliasing = 2.0 * largest / math.expm1(2.0 * math.pi * strip / step)
    # The sum over all nodes beyond the last differs from its integral by one more term of its first bound.
    bound = max(total, 0.0) + slips + 2.0 * cut + aliasing
    return base + math.log(bound / (2.0 * math.pi * reports))


def rate_of_excess(log_upper: Callable[[float], float], first: float, level: float, *, lines: int) -> float:
    """The kappa, rounded up, that follows from upper bounds on ln e(c); infinite where nothing can be said.

    Args:
        log_upper: c to an upper bound on ln e(c).
        first: The slope to try first as the largest, about level times the deviation of the mean.
        level: L.
        lines: How many slopes are used.
    """
    top = first
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(_GROWTHS):
            if not top < math.inf:
                return math.inf
            # Where the last two lines cross decides whether the lines reach the level.
            before, last = log_upper(top * (1.0 - 1.0 / lines)), log_upper(top)
            if not (math.isfinite(before) and math.isfinite(last)):
                return math.inf
            drop = -math.expm1(min(last - before, -1e-12))
            reached = -float(heavy.special.ndtri_exp(min(before + math.log(drop) - math.log(top / lines), -1e-9)))
            if reached >= level:
                break
            # Tails that are heavier than normal ones need slopes far beyond the first guess.
            top *= min(max(1.02, 1.01 * level / max(reached, 1e-3)), 1.5)
        c = np.linspace(0.0, top, lines)
        log_e = np.array([log_upper(float(x)) for x in c])
    return rate_from_lines(c, log_e, level) if np.all(np.isfinite(log_e)) else math.inf
