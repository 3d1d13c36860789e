"""What the error of an answer is made of, and what it is held against: for grids, previews and curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

from barrow.questions.answer import Answer


@dataclass(frozen=True)
class ErrorEstimate:
    """The predicted error of an answer in parts, all in the answer's ``error_unit``.

    Attributes:
        noise: The part that is noise and decoding.
        snapping: What snapping records to the grid adds.
        independent: Whether both add up as independent errors do, by their squares.
        scales: Whether ``noise`` falls as alpha and the number of people grow, and nothing else.
        guess: What a guess without any data errs by; None where that is not known.
        threshold: What noise alone reaches anywhere with 5 %, where values stand out of it one by one; else None.

    >>> ErrorEstimate(3.0, 4.0, independent=True).at(3.0), ErrorEstimate(3.0, 4.0).at(1.0)
    (5.0, 5.0)
    """

    noise: float
    snapping: float = 0.0
    independent: bool = False
    scales: bool = False
    guess: float | None = None
    threshold: float | None = None

    def at(self, noise: float) -> float:
        """The error if the noise were another one."""
        return math.hypot(noise, self.snapping) if self.independent else noise + self.snapping


@singledispatch
def errors_at(answer: Answer, times: Sequence[float], thorough: bool) -> dict[float, float]:
    """The error at so many times alpha, as far as it is known; if ``thorough``, also what takes long."""
    return {}


@singledispatch
def estimate(answer: Answer) -> ErrorEstimate:
    """The error of an answer in parts; by the type of the answer."""
    return ErrorEstimate(answer.error)


@singledispatch
def widest(answer: Answer) -> float:
    """The error of the value that is off by most: of a total, which is off by more than the mean beside it."""
    return answer.error
