"""Composition of the reports of one user: alpha0 = alpha/m, delta = 0.

Along the best matching of two data sets of m items the losses alpha0 d_i add up to alpha0 m w (``lem:bvn``); nothing
is assumed about the shuffle, so this is what remains when nothing better can be said.
"""

from __future__ import annotations

from fractions import Fraction

from barrow.numerics import Exact, whole
from barrow.privacy.definitions import positive


def per_report_composition(alpha: Exact, items: int) -> Fraction:
    """The alpha0 = alpha/m of the item randomiser that is pure (alpha, 0)-EMD-DP by composition, exactly.

    >>> per_report_composition(25, items=1000)
    Fraction(1, 40)
    """
    return positive(alpha, "alpha") / whole(items, "items")


def per_report_alpha(alpha0: Exact, items: int) -> Fraction:
    """The alpha = alpha0 m that composition charges for ``items`` reports, exactly.

    >>> per_report_alpha("0.025", items=1000)
    Fraction(25, 1)
    """
    return positive(alpha0, "alpha0") * whole(items, "items")
