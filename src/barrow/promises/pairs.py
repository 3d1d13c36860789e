"""Pairs of distributions that dominate a release: what composition adds up (docs/proofs/composition.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from barrow.numerics import float_up

PairKind = Literal["gaussian", "laplace", "pure"]
UP = 1.0 + 1e-13
"""What a product of a few floats is raised by."""


@dataclass(frozen=True)
class Pair:
    """A pair that dominates one release at every distance up to w.

    Args:
        kind: Which pair.
        at: Its parameter at w: increasing, and at(w)/w does not increase where ``slope`` is finite.
        delta: What it adds to delta.
        slope: The limit of at(w)/w as w goes to 0; infinite where the parameter does not shrink.
        cap: Where the parameter stops growing.
        times: How many such releases there are.
    """

    kind: PairKind
    at: Callable[[float], float]
    delta: Fraction
    slope: float
    cap: float = 1.0
    times: int = 1


def linear_pair(kind: PairKind, value: Fraction, ratio: Fraction | None = None) -> Pair:
    """The pair of a parameter that is ``value`` times the distance, up to ``ratio``.

    >>> pair = linear_pair("laplace", Fraction(6), Fraction(1, 2))
    >>> round(pair.at(0.25), 9), round(pair.at(1.0), 9)
    (1.5, 3.0)
    """
    rate, cap = float_up(value), 1.0 if ratio is None else float_up(ratio)
    return Pair(kind, lambda w: rate * min(w, cap) * UP, Fraction(0), rate * UP, cap)
