"""Checks that all accountants share: whole numbers, reports against items, delta where one is needed."""

from __future__ import annotations

import math

from barrow.errors import ParameterError
from barrow.numerics import Exact, exact, float_down, float_up, whole
from barrow.promises.definitions import positive, share

SMALLEST_DELTA = 1e-280
"""Below this the doubles that carry the bounds would run out of exponent."""

LARGEST_ALPHA0 = 600.0
"""Above this e^-alpha0 times any number of reports is nothing, and e^alpha0 nears the end of the doubles."""


def reports_and_items(reports: int, items: int) -> tuple[int, int]:
    """N and m as whole numbers with m at most N."""
    n, m = whole(reports, "reports"), whole(items, "items")
    if m > n:
        raise ParameterError(
            f"items is {m} but reports is only {n}.",
            allowed="items (m, of one user) at most reports (N, of all users)",
            fix=f"reports={m} in the local model, or items times users in the central model",
        )
    return n, m


def open_delta(delta: Exact, method: str) -> float:
    """Delta rounded down to a float, for methods that have no pure guarantee."""
    value = exact(delta, "delta")
    if value == 0:
        raise ParameterError(
            f"delta is 0, but {method} gives approximate guarantees only.",
            allowed="a number strictly between 0 and 1; the pure methods are per_report_composition (shuffled "
            "reports) and K-norm or Laplace noise (queries)",
            fix="delta=1e-12, or per_report_composition(alpha, items)",
        )
    if not 0 < value < 1:
        raise ParameterError(f"delta is {delta}.", allowed="a number strictly between 0 and 1", fix="delta=1e-12")
    number = float_down(value)
    if number < SMALLEST_DELTA:
        raise ParameterError(
            f"delta is {number:g}, which is too small to compute with.",
            allowed=f"a number from {SMALLEST_DELTA:g} up, or exactly 0",
            fix="delta=1e-30, or delta=0 for a pure guarantee",
        )
    return number


def alpha0_up(alpha0: Exact) -> float:
    """alpha0 rounded up to a float; refused where it is beyond what doubles represent."""
    value = float_up(positive(alpha0, "alpha0"))
    if value > LARGEST_ALPHA0:
        raise ParameterError(
            f"alpha0 is {value:g}, for which e^-alpha0 reports hide nothing.",
            allowed=f"a number in (0, {LARGEST_ALPHA0:g}]",
            fix="alpha0=4",
        )
    if value < 1e-290:
        raise ParameterError(f"alpha0 is {value:g}.", allowed="a number from 1e-290 up", fix="alpha0=0.01")
    return value


def alpha_down(alpha: Exact) -> float:
    """Alpha rounded down to a finite float, for calibration."""
    value = float_down(positive(alpha, "alpha"))
    if not 1e-290 < value < math.inf or value > 1e290:
        raise ParameterError(f"alpha is {value:g}.", allowed="a number from 1e-290 to 1e290", fix="alpha=25")
    return value


def least_down(least_distance: Exact | None) -> float:
    """d_min rounded down to a float; 0 where it is not known (then changes may be as small as they like)."""
    return 0.0 if least_distance is None else float_down(share(least_distance, "least_distance"))
