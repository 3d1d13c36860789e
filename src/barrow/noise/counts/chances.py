"""Rational probabilities as the samplers of counts use them: at most 1/2, with floats of known error beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = NDArray[Any]
"""uint64 where the denominators are at most 2^63, Python integers otherwise."""


@dataclass(frozen=True, eq=False)
class Chances:
    """Probabilities p = above/below <= 1/2, and which of them stand for 1 - p.

    Attributes:
        above: Numerators.
        below: Denominators.
        p: above/below in floats, within 2^-51 of itself.
        q: 1 - p in floats, as exact.
        flipped: Where failures are counted instead of successes; None if nowhere.
        places: Where each p has its numerator and denominator; None if in the same place.
    """

    above: Numbers
    below: Numbers
    p: Floats
    q: Floats
    flipped: NDArray[np.bool_] | None = None
    places: Integers | None = None

    @classmethod
    def of(cls, above: Numbers, below: Numbers) -> Chances:
        """From any fractions between 0 and 1."""
        other = below - above
        flipped = (above > other).astype(np.bool_)
        some = bool(flipped.any())
        if some:
            above, other = np.where(flipped, other, above), np.where(flipped, above, other)
        # A quotient of two rounded integers, or the rounded quotient of two Python integers.
        p, q = (above / below).astype(np.float64), (other / below).astype(np.float64)
        return cls(above, below, p, q, flipped if some else None)

    def take(self, which: Integers) -> Chances:
        """Some of them, in the given order, as p <= 1/2: what was flipped is forgotten."""
        places = which if self.places is None else self.places.take(which)
        return Chances(self.above, self.below, self.p.take(which), self.q.take(which), None, places)

    def fraction(self, number: int) -> tuple[int, int]:
        """Numerator and denominator of one of them."""
        place = number if self.places is None else int(self.places[number])
        return int(self.above[place]), int(self.below[place])
