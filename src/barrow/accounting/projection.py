"""Sampling s items with replacement from each user: how far two projected data sets can be (Section 5, theory B4).

With probability at least 1 - delta_p two users at EMD at most r have samples at EMD below c, where c is the better of

* the paper's (1 + sqrt 2) r + (3/s) ln(1/delta_p) (``lem:coupling-dist``, through Bernstein), and
* the solution c >= r of KL(c || r) = ln(1/delta_p)/s (through Chernoff-Hoeffding); c = 1 needs no delta_p.

Proofs: docs/proofs/projection.md.
"""

from __future__ import annotations

import math

from barrow.accounting.inputs import open_delta
from barrow.numerics import Exact, float_up, smallest_safe, whole
from barrow.privacy.definitions import share

_UNIT = 2.0**-53


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
