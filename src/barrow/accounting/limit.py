"""What no accountant can certify: an explicit randomiser and test that break (alpha, delta)-EMD-DP.

Items x0 and x1 are w apart, f is at distance 1 from both, q = e^alpha0, p = e^(alpha0 w). All m items of a user move
from x0 to x1, everybody else holds f, outputs are A, B and F, and the test counts #A - #B. Two randomisers are tried:

* "hidden": P(x0) = (p a, a, t), P(x1) = (a, p a, t), P(f) = (p a/q, p a/q, rest) with t = rest/q;
* "open": P(x0) = (p, 1, 0)/(1 + p), P(x1) mirrored, P(f) = (1/2, 1/2, 0): binary randomised response.

Both are alpha0-d_X-DP, so an alpha0 at which the test wins is above anything that holds for every randomiser. The tail
probabilities are exact up to rounding: a tilted discrete Fourier transform for small shuffles, a contour integral for
large ones. Known randomisers may do better than this limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from barrow.accounting.inputs import LARGEST_ALPHA0, alpha_down, least_down, open_delta, reports_and_items
from barrow.numerics import Exact, exact, float_up, smallest_safe
from barrow.numerics.gdp import gdp_delta_upper_array
from barrow.promises.definitions import positive

Floats = NDArray[np.float64]

_SMALL = 4096
_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Attack:
    """P[A], P[B] of a moved item and P[A] = P[B] of everybody else's."""

    up: float
    down: float
    other: float


def _attacks(alpha0: float, w: float) -> tuple[_Attack, _Attack]:
    q, p = math.exp(min(alpha0, 300.0)), math.exp(min(alpha0 * w, 300.0))
    # a (p + 1) + t = 1 with t = (1 - 2 p a/q)/q.
    a = -math.expm1(-alpha0) / (p + 1.0 - 2.0 * p / (q * q))
    hidden = _Attack(p * a, a, p * a / q)
    return hidden, _Attack(p / (1.0 + p), 1.0 / (1.0 + p), 0.5)


def _log_mgf(attack: _Attack, s: NDArray[np.complex128], items: float, others: float) -> NDArray[np.complex128]:
    moved = np.log1p(attack.up * np.expm1(s) + attack.down * np.expm1(-s))
    rest = np.log1p(attack.other * 4.0 * np.sinh(s / 2.0) ** 2)
    return np.asarray(items * moved + others * rest)


def _tails(attack: _Attack, items: float, others: float, k: Floats) -> tuple[Floats, Floats]:
    """P[#A - #B >= k] for each k, and a bound on the rounding of each."""
    gap = attack.up - attack.down
    mean = items * gap
    variance = items * (attack.up + attack.down - gap * gap) + 2.0 * others * attack.other
    deviation = math.sqrt(max(variance, 1e-12))
    if items + others <= _SMALL:
        size = 1 << math.ceil(math.log2(2.0 * (items + others) + 2.0))
        tilt = min(max((float(np.median(k)) - mean) / max(variance, 1e-3), -2.0), 2.0)
        nodes = np.asarray(tilt + 2j * np.pi * np.fft.fftfreq(size), dtype=np.complex128)
        shift = float(_log_mgf(attack, np.array([complex(tilt)]), items, others)[0].real)
        spectrum = np.exp(_log_mgf(attack, nodes, items, others) - shift)
        values = np.fft.fft(spectrum).real / size
        support = np.fft.fftfreq(size) * size
        order = np.argsort(support)
        points, masses = support[order], np.maximum(values[order], 0.0)
        factors = np.exp(np.minimum(shift - tilt * points, 700.0))
        # The masses before tilting back carry an absolute error of a few units of 1.
        upper = np.cumsum((masses * factors)[::-1])[::-1]
        error = np.cumsum((1e-14 * factors)[::-1])[::-1] + 1e-10 * upper
        index = np.clip(np.searchsorted(points, k), 0, size - 1)
        inside = k <= points[-1]
        return np.where(inside, upper[index], 0.0), np.where(inside, error[index], 0.0)
    if variance < 25.0:
        # So few reports stray that the count is nearly certain; no use is made of such shuffles.
        return np.zeros_like(k), np.ones_like(k)
    tilt_array = np.minimum(np.maximum((k - mean) / variance, 1.0 / deviation), 30.0)
    theta = np.linspace(-14.0 / deviation, 14.0 / deviation, 601)
    s = tilt_array[:, None] + 1j * theta[None, :]
    integrand = np.exp(_log_mgf(attack, s, items, others) - s * k[:, None]) / -np.expm1(-s)
    width = (theta[1] - theta[0]) / (2.0 * np.pi)
    sizes = np.abs(integrand)
    # What was cut off is taken to be no larger than the last term throughout.
    error = 1e-10 * np.sum(sizes, axis=1) * width + np.maximum(sizes[:, 0], sizes[:, -1])
    return np.maximum(np.sum(integrand.real, axis=1) * width, 0.0), error


def _attack_delta(attack: _Attack, items: int, others: float, epsilon: float) -> float:
    """The largest P0[#A - #B >= k] - e^epsilon P1[...] over a few thresholds near the best one, rounded down."""
    gap = attack.up - attack.down
    variance = items * (attack.up + attack.down - gap * gap) + 2.0 * others * attack.other
    best = epsilon * variance / (2.0 * items * gap)
    step = max(1.0, 0.02 * math.sqrt(variance))
    k = np.round(np.clip(best + step * np.arange(-4, 5), 1.0 - items - others, items + others))
    mirrored = _Attack(attack.down, attack.up, attack.other)
    with np.errstate(over="ignore", invalid="ignore"):
        power, lost = _tails(attack, float(items), others, k)
        level, more = _tails(mirrored, float(items), others, k)
        won = (power - lost) - math.exp(min(epsilon, 700.0)) * (level + more)
    # What overflowed tells nothing.
    return float(np.max(np.where(np.isfinite(won), won, -1.0)))


def attack_delta(alpha0: float, *, reports: int, items: int, w: float, epsilon: float) -> float:
    """The delta that the better of the two attacks reaches at distance ``w``: no valid bound is below it.

    >>> attack_delta(0.0952, reports=1000, items=1000, w=1.0, epsilon=25.0) > 1e-12
    True
    """
    n, m = reports_and_items(reports, items)
    return max(_attack_delta(attack, m, float(n - m), epsilon) for attack in _attacks(alpha0, w))


def _gaussian_guess(alpha: float, reports: int, items: int, delta: float, w: Floats) -> tuple[float, float]:
    """Where the attacks would win if their counts were normal: (alpha0, the w at which they do)."""
    others = float(reports - items)

    def excess(alpha0: float) -> tuple[float, float]:
        mu = np.zeros_like(w)
        for i, distance in enumerate(w):
            for attack in _attacks(alpha0, float(distance)):
                gap = attack.up - attack.down
                variance = items * (attack.up + attack.down - gap * gap) + 2.0 * others * attack.other
                mu[i] = max(mu[i], 2.0 * items * gap / math.sqrt(max(variance, 1e-12)))
        result = gdp_delta_upper_array(np.minimum(mu, 1e6), alpha * w)
        worst = int(np.argmax(result))
        return float(result[worst]), float(w[worst])

    low, high = alpha / items * 1e-3, LARGEST_ALPHA0 / 2.0
    for _ in range(50):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if excess(middle)[0] > delta else (middle, high)
    return high, excess(high)[1]


def limit_black_box(
    alpha: Exact, *, reports: int, items: int, delta: Exact, least_distance: Exact | None = None
) -> float | None:
    """An alpha0 at which an explicit attack breaks (alpha, delta): nothing above it can hold for every randomiser.

    None where no attack was found. At delta = 0 it is alpha/m, so composition is then the best possible.

    >>> round(limit_black_box(25, reports=1000, items=1000, delta="1e-12"), 4)
    0.0951
    """
    n, m = reports_and_items(reports, items)
    if exact(delta, "delta") == 0:
        # With delta = 0 the output "A from everybody" alone shows the ratio e^(alpha0 m) at w = 1.
        return float_up(positive(alpha, "alpha") / m)
    target, small = alpha_down(alpha), open_delta(delta, "the attack") * (1.0 + _ROUNDING)
    least = max(least_down(least_distance), 1e-4)
    grid = np.geomspace(least, 1.0, 60) if least < 1.0 else np.ones(1)
    guess, near = _gaussian_guess(target, n, m, small, grid)
    candidates = np.unique(np.clip(near * np.geomspace(0.8, 1.25, 9), least, 1.0))
    margins = [attack_delta(guess, reports=n, items=m, w=float(w), epsilon=target * float(w)) for w in candidates]
    best = int(np.argmax(margins))
    nearest = candidates[max(0, best - 1) : best + 2]

    def breaks(alpha0: float) -> bool:
        return alpha0 <= LARGEST_ALPHA0 and any(
            attack_delta(alpha0, reports=n, items=m, w=float(w), epsilon=target * float(w)) > small for w in nearest
        )

    # Composition holds, so nothing breaks up to alpha/m, whatever rounding says.
    pure = float_up(positive(alpha, "alpha") / m)
    low, high = max(guess * 0.9, pure), max(guess * 1.02, pure * 1.02)
    while not breaks(high):
        low, high = high, high * 1.3
        if high > LARGEST_ALPHA0:
            return None
    while low > pure and breaks(low):
        low, high = max(low * 0.7, pure), low
    return smallest_safe(breaks, low, high, relative=2e-6, steps=40)
