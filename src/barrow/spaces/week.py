"""The hours of the week: weekday and hour together, each around its own circle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from barrow.numerics import Exact, exact, exact_text
from barrow.spaces.checks import build
from barrow.spaces.circle import Circle
from barrow.spaces.product import Product


class Week(Product):
    """Weekdays times hours of the day; records are a weekday (``Mon`` to ``Sun``) and an hour in [0, 24).

    Args:
        step: The width of the cells of the day, in hours.
        weight: The share of the largest distance that is due to the weekday; the rest is due to the hour.

    >>> week = Week()
    >>> week.size, week.label(25), week.encode([["Tue"], [1.5]]).tolist()
    (168, 'Tue | 1.5', [25])
    """

    kind: ClassVar[str] = "week"

    def __init__(self, *, step: float = 1.0, weight: Exact = "1/2") -> None:
        day = exact(weight, "weight")
        super().__init__([Circle.weekdays(), Circle.hours(step)], weights=[day, 1 - day])

    def _spec(self) -> dict[str, Any]:
        hours = self.parts[1]
        step = hours.step if isinstance(hours, Circle) else 1.0
        return {"kind": self.kind, "step": step, "weight": exact_text(self.weights[0])}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Week:
        """The space that ``spec`` describes."""
        return build(cls, **spec)
