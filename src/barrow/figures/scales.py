"""From numbers to positions: linear and logarithmic scales with round ticks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from barrow.figures.lettering import text_width
from barrow.figures.svg import element


@dataclass(frozen=True)
class Scale:
    """A map from the numbers low to high to the positions start to end.

    >>> x = Scale(0, 10, 100, 200)
    >>> x(5), x.ticks(5)
    (150.0, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0])
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The position of a number."""
        span = self.high - self.low
        return self.start + (0.5 if span == 0 else (value - self.low) / span) * (self.end - self.start)

    def ticks(self, count: int = 6) -> list[float]:
        """Round numbers within the scale, about ``count`` of them."""
        if self.high <= self.low:
            return [self.low]
        raw = (self.high - self.low) / count
        base = 10.0 ** math.floor(math.log10(raw))
        step = next(m * base for m in (1, 2, 2.5, 5, 10) if m * base >= raw * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]


@dataclass(frozen=True)
class LogScale(Scale):
    """A logarithmic scale.

    >>> y = LogScale(0.1, 10, 0, 100)
    >>> y(1), y.ticks(4)
    (50.0, [0.1, 0.3, 1.0, 3.0, 10.0])
    """

    def __call__(self, value: float) -> float:
        """The position of a positive number."""
        span = math.log(self.high / self.low)
        return self.start + (0.5 if span == 0 else math.log(value / self.low) / span) * (self.end - self.start)

    def ticks(self, count: int = 6) -> list[float]:
        """1, 2 or 3, 5 times powers of ten, about ``count`` of them."""
        if self.high <= 1.5 * self.low:  # so short that it is nearly linear
            return super().ticks(count)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found: list[float] = []
        for steps in ((1, 2, 5), (1, 3), (1,)):
            found = [float(f"{s}e{k}") for k in powers for s in steps]
            found = [t for t in found if self.low * 0.9999 <= t <= self.high * 1.0001]
            if len(found) <= count + 2:
                return found
        return found[:: math.ceil(len(found) / (count + 1))]


def bottom_axis(scale: Scale, y: float, label: str, write: Callable[[float], str], *, top: float | None = None) -> str:
    """Ticks below, grid lines up to ``top``, the label in the middle; ticks that would touch are left out."""
    parts, free = [], -math.inf
    for tick in scale.ticks(max(2, int(abs(scale.end - scale.start) / 90))):
        x, said = scale(tick), write(tick)
        half = text_width(said, 11.5) / 2
        if top is not None:
            parts.append(element("path", d=f"M{x:.1f},{top:.1f}V{y:.1f}", class_="grid"))
        if x - half > free:
            parts.append(element("text", text=said, x=x, y=y + 16, class_="tick mid"))
            free = x + half + 6
    parts.append(element("path", d=f"M{scale.start:.1f},{y:.1f}H{scale.end:.1f}", class_="axis"))
    parts.append(element("text", text=label, x=(scale.start + scale.end) / 2, y=y + 36, class_="label mid"))
    return "".join(parts)


def left_axis(
    scale: Scale, x: float, label: str, write: Callable[[float], str], *, right: float | None = None, lift: float = 12
) -> str:
    """Ticks on the left, grid lines up to ``right``, the label level above the axis by ``lift``."""
    parts = []
    for tick in scale.ticks(max(2, int(abs(scale.end - scale.start) / 55))):
        y = scale(tick)
        if right is not None:
            parts.append(element("path", d=f"M{x:.1f},{y:.1f}H{right:.1f}", class_="grid"))
        parts.append(element("text", text=write(tick), x=x - 7, y=y + 4, class_="tick end"))
    if label:
        parts.append(element("text", text=label, x=2, y=min(scale.start, scale.end) - lift, class_="label"))
    return "".join(parts)


def ticks_width(scale: Scale, write: Callable[[float], str]) -> float:
    """How much room the ticks of a left axis need."""
    count = max(2, int(abs(scale.end - scale.start) / 55))
    return max((text_width(write(t), 11.5) for t in scale.ticks(count)), default=0.0) + 12
