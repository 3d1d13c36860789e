"""Sampling s items from each user: what a bounded release on the samples promises to users of any size.

If the release on exactly s items is (alpha, delta)-bounded EMD-DP, then sampling with replacement and releasing is
(s ln R(alpha/s, w), delta)-indistinguishable for users at EMD w, of whatever sizes, hence (alpha e^(alpha/s), delta)-
unbounded EMD-DP: no radius, and no second delta. R(eps, w) is the largest (d + w(E-1))/(d + w(E e^(-eps d) - 1)) over
w <= d <= 1, with E = e^eps. Proofs: docs/proofs/sampling.md.

At one radius there is a second way, through how far the samples are (Section 5, theory B4): with probability at least
1 - delta_p two users at EMD at most r have samples at EMD below c, where c is the better of

* the paper's (1 + sqrt 2) r + (3/s) ln(1/delta_p) (``lem:coupling-dist``, through Bernstein), and
* the solution c >= r of KL(c || r) = ln(1/delta_p)/s (through Chernoff-Hoeffding); c = 1 needs no delta_p.

Proofs: docs/proofs/projection.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from barrow import heavy
from barrow.accounting.inputs import open_delta
from barrow.errors import ParameterError
from barrow.noise.lazy_uniform import working_precision
from barrow.numerics import Exact, float_down, float_up, largest_safe, smallest_safe, whole
from barrow.promises.definitions import positive, share

if TYPE_CHECKING:
    from flint import arb

_INFLATED = (1e-14, 1e-13, 1e-12, 1e-10, 1e-8, 1e-6)
"""By how much the computed R - 1 is raised until it is certified; the first nearly always is."""
_UNIT = 2.0**-53
_LARGEST = Fraction(700)
"""Beyond this alpha/s, e^(alpha/s) is no double: then only ln R <= alpha/s is left."""


def sampled_epsilon_upper(alpha: Exact, samples: int, distance: Exact) -> float:
    """S ln R(alpha/s, w), rounded up: the epsilon of samples at EMD w and below, at the inner release's delta.

    >>> round(sampled_epsilon_upper(20, 1000, "0.008"), 4), sampled_epsilon_upper(20, 1000, 1)
    (0.1628, 20.0)
    """
    rate, s, w = positive(alpha, "alpha"), whole(samples, "samples"), share(distance, "distance")
    if rate / s > _LARGEST:
        return float_up(rate)
    return min(float_up(rate), float_up(Fraction(_loss_upper(rate / s, w)) * s))


def sampled_alpha_upper(alpha: Exact, samples: int) -> float:
    """Alpha e^(alpha/s), rounded up: what a bounded release of ``alpha`` on s samples costs users of any size.

    >>> round(sampled_alpha_upper(25, 1000), 4)
    25.6329
    """
    rate, s = positive(alpha, "alpha"), whole(samples, "samples")
    if rate / s > _LARGEST:
        raise ParameterError(
            f"A release of alpha = {float_up(rate):g} on {s:,} samples costs e^{float_up(rate / s):.3g} times it.",
            allowed=f"an alpha of at most {_LARGEST} for each sample",
            fix="more samples, or a smaller alpha",
        )
    with working_precision(200):
        exact_rate, each = _ball(rate), _ball(rate / s)
        return _up(exact_rate * each.exp())


def inner_alpha_for(alpha: Exact, samples: int) -> float:
    """The largest alpha, rounded down, of a bounded release on s samples that keeps ``alpha`` for users of any size.

    It is s W(alpha/s), with Lambert's W.

    >>> [round(inner_alpha_for(25, s), 2) for s in (1000, 10_000, 100_000)]
    [24.4, 24.94, 24.99]
    """
    target, s = positive(alpha, "alpha"), whole(samples, "samples")
    top = float_down(min(target, _LARGEST * s))
    low = max(top * math.exp(-min(float_up(target / s), 700.0)) * (1.0 - 1e-12), 5e-324)
    return largest_safe(lambda a: Fraction(sampled_alpha_upper(Fraction(a), s)) <= target, low, top, relative=1e-15)


def inner_alpha_within(epsilon: Exact, distance: Exact, samples: int) -> float:
    """The largest alpha, rounded down, of a release on s samples that costs ``epsilon`` at EMD ``distance`` or below.

    >>> [round(inner_alpha_within("0.2", "0.008", s), 2) for s in (1000, 10_000, 100_000)]
    [24.47, 24.95, 24.99]
    """
    target, w, s = positive(epsilon, "epsilon"), share(distance, "distance"), whole(samples, "samples")

    def is_safe(alpha: float) -> bool:
        return Fraction(sampled_epsilon_upper(Fraction(alpha), s, w)) <= target

    low = float_down(target)
    high = low
    while is_safe(high) and high < 1e290:
        low, high = high, 2.0 * high
    return largest_safe(is_safe, low, high, relative=1e-13)


def _divergence_lower(c: float, r: float) -> float:
    """KL(c || r), less what rounding can have added; c > r."""
    gap = c - r
    first = c * math.log1p(gap / r)
    second = (1.0 - c) * math.log1p(-gap / (1.0 - r)) if c < 1.0 else 0.0
    # Each term carries a few units in the last place, and so does the gap, which enters c and 1 - c as well.
    return first + second - 16.0 * _UNIT * (abs(first) + abs(second))


def projection_distance_upper(radius: Exact, samples: int, delta_p: Exact) -> float:
    """The c of theory B4, rounded up: P[EMD of the samples >= c] <= delta_p when the users are within ``radius``.

    >>> round(projection_distance_upper("0.008", 1000, "1e-12"), 12)
    0.036703471099
    """
    r, s = float_up(share(radius, "radius")), whole(samples, "samples")
    need = math.log(1.0 / open_delta(delta_p, "a projection below EMD 1")) * (1.0 + 4.0 * _UNIT)
    if r >= 1.0:
        return 1.0

    def is_safe(c: float) -> bool:
        return c > r and s * _divergence_lower(c, r) >= need

    return smallest_safe(is_safe, r, 1.0, relative=1e-15) if is_safe(1.0) else 1.0


def projection_distance_paper(radius: Exact, samples: int, delta_p: Exact) -> float:
    """The paper's (1 + sqrt 2) r + (3/s) ln(1/delta_p), rounded up and at most 1 (``lem:coupling-dist``).

    >>> round(projection_distance_paper("0.008", 1000, "1e-12"), 12)
    0.102206771847
    """
    r, s = float_up(share(radius, "radius")), whole(samples, "samples")
    log_term = math.log(1.0 / open_delta(delta_p, "a projection below EMD 1"))
    return min(1.0, ((1.0 + math.sqrt(2.0)) * r + 3.0 * log_term / s) * (1.0 + 8.0 * _UNIT))


def best_projection(radius: Exact, samples: int, delta_p: Exact) -> tuple[float, str]:
    """The smaller c of the two, and which method gave it.

    >>> best_projection("0.05", 500, "1e-9")[1]
    'projection_kl'
    """
    tight = projection_distance_upper(radius, samples, delta_p)
    paper = projection_distance_paper(radius, samples, delta_p)
    return (tight, "projection_kl") if tight <= paper else (paper, "projection_paper")


@lru_cache(maxsize=4096)
def _loss_upper(eps: Fraction, w: Fraction) -> float:
    """Ln R(eps, w), rounded up: the closed form in floats, raised until the convex condition certifies it."""
    if w == 1:
        return float_up(eps)
    guess = _excess(float_up(eps), float_up(w))
    bits = 160 + 2 * (max(0, -math.frexp(float(eps))[1]) + max(0, -math.frexp(float(w))[1]))
    with working_precision(min(bits, 8000)):
        result = math.inf
        for more in _INFLATED:
            rho = guess * (1.0 + more)
            if math.isfinite(rho) and _certified(_ball(eps), _ball(w), Fraction(rho)):
                result = _up(_ball(Fraction(rho)).log1p())
                break
        simple = _up((_ball(w) * _ball(eps) * _ball(eps).exp()).log1p())
    return min(result, simple, float_up(eps))


def _excess(eps: float, w: float) -> float:
    """R - 1 by its closed form, nearly: d* solves e^(eps d) - 1 - eps d = eps w (e^eps - 1)."""
    grown = math.expm1(eps)
    target = eps * w * grown
    if _gap(eps) <= target:
        return w * grown
    # Newton from above on a convex function: e^u - 1 - u >= u^2/2.
    u = min(math.sqrt(2.0 * target), eps)
    for _ in range(100):
        step = (_gap(u) - target) / math.expm1(u)
        u, last = u - step, u
        if u >= last or step <= 1e-16 * u:
            break
    # With y = w eps e^(eps - u) this is y/(1 - y), and 1 - y is (1 + u - w eps) e^(-u), where u >= w eps.
    return w * eps * math.exp(eps) / (1.0 + u - w * eps)


def _gap(u: float) -> float:
    """e^u - 1 - u without cancellation."""
    if u > 0.1:
        return math.expm1(u) - u
    return u * u * (1 / 2 + u * (1 / 6 + u * (1 / 24 + u * (1 / 120 + u * (1 / 720 + u * (1 / 5040 + u / 40320))))))


def _certified(eps: arb, w: arb, rho: Fraction) -> bool:
    """Whether d rho + w (R E e^(-eps d) - E - rho) >= 0 on [0, 1], R = 1 + rho, in balls.

    It is convex in d, and smallest at d0 = ln(w eps R E/rho)/eps; at d = 0 it is w rho (E - 1) >= 0.
    """
    excess = _ball(rho)
    grown = eps.exp()
    least = (w * eps * (1 + excess) * grown / excess).log() / eps
    if least <= 0:
        return True
    if least >= 1:
        least = heavy.arb(1)
    elif not (least > 0 and least < 1):
        return False
    value = least * excess + w * (grown * (excess.log1p() - eps * least).expm1() - excess)
    return bool(value > 0)


def _ball(value: Fraction) -> arb:
    return heavy.arb(heavy.fmpq(value.numerator, value.denominator))


def _up(ball: arb) -> float:
    """The upper end of a ball, as a float that is not below it."""
    result = float(ball.upper())
    while not heavy.arb(result) >= ball:
        result = math.nextafter(result, math.inf)
    return result
