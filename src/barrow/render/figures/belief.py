"""What anyone can learn about one person: curves of what a 50 % guess can become, and a hundred dots for one number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from barrow.errors import ParameterError
from barrow.numerics import exact
from barrow.numerics.exact import PERCENT, at_most, near
from barrow.render.figures.curves import Curve, end_labels, labels_width, line_of
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.svg import (
    AxisScale,
    apart,
    bottom_axis,
    clean,
    element,
    isolated,
    left_axis,
    mark,
    number,
    shortest,
    text_width,
)

_GUESS = "a 50 % guess about one person can become at most …"


@dataclass(frozen=True)
class BeliefBound:
    """A promise, what it asked for and what it gets, both as what a 50 % guess can become.

    Args:
        label: The change that is hidden, in words.
        distance: How far the records had been elsewhere.
        promised: What a guess may become at most.
        reached: What it can become at most.

    >>> BeliefBound("1 day of 30, 10 km elsewhere", 10, promised=0.63, reached=0.56).reached
    0.56
    """

    label: str
    distance: float
    promised: float
    reached: float

    def __post_init__(self) -> None:
        """Check that both are probabilities that a guess of 50 % can grow to."""
        for name, value in (("promised", self.promised), ("reached", self.reached)):
            _check(value, name)
        if not (math.isfinite(self.distance) and self.distance >= 0):
            raise ParameterError(f"distance is {self.distance}.", allowed="0 or more", fix="distance=10")


def _check(value: float, name: str) -> None:
    if not 0.5 <= value <= 1:
        raise ParameterError(f"{name} is {value}.", allowed="a probability from 0.5 to 1", fix=f"{name}=0.6")


def belief(
    curves: Sequence[Curve],
    promises: Sequence[BeliefBound] = (),
    *,
    worst: float,
    unit: str,
    title: str = "What anyone can learn about one person",
    width: int = 720,
    height: int = 390,
) -> Figure:
    """What a 50 % guess can become, against how far elsewhere the records had been; one curve for each share of them.

    Args:
        curves: For each share: distances, and upper bounds of what the guess can become (0.5 to 1).
        promises: Each is drawn as a bar (asked) and a circle (kept), with its number.
        worst: What the guess can become if everything were different: a dashed line that no curve passes.
        unit: Of the distances.
        title: What the figure is.
        width: In pixels.
        height: In pixels.

    >>> curve = Curve("everything", [0, 100], [0.55, 0.69])
    >>> print(belief([curve], [BeliefBound("all, 50 km elsewhere", 50, 0.7, 0.63)], worst=0.69, unit="km"))
    What anyone can learn about one person. If all, 50 km elsewhere: a 50 % guess can become at most 63 % (promised:
    70 %). Whatever is different: at most 69 %.
    """
    _check(worst, "worst")
    if not curves:
        raise ParameterError(
            "There is no curve.", allowed="at least one", fix='Curve("everything", [0, 1], [0.5, 0.6])'
        )
    for curve in curves:
        _check(float(curve.y.min()), "a curve")
        _check(float(curve.y.max()), "a curve")
    highest = max([worst, *(float(c.y.max()) for c in curves), *(p.promised for p in promises)])
    ceiling = next(top for top in (0.6, 0.75, 1.0) if highest <= top * 0.99 or top == 1.0)
    ends = [f"≤ {at_most(float(c.y[-1]), PERCENT)}" for c in curves]
    room = labels_width([*(c.label for c in curves), *ends], 0.3 * width)
    left, right, top, bottom = 52.0, width - room, 54.0, height - 48.0
    reach = max([float(c.x[-1]) for c in curves] + [p.distance for p in promises])
    x, y = AxisScale(0.0, reach, left, right), AxisScale(0.5, ceiling, bottom, top)
    body = [
        bottom_axis(x, bottom, _far(clean(unit), left + right), near, top=top),
        left_axis(y, left, _GUESS, lambda t: near(t, PERCENT), right=right, lift=27),
    ]
    body += [line_of(curve, x, y, k) for k, curve in enumerate(curves)]
    body.append(_cap(worst, x, y, promises))
    heights = [y(float(c.y[-1])) for c in curves]
    texts = zip(heights, (c.label for c in curves), ends, (f"t{k % 4}" for k in range(len(curves))), strict=True)
    body.append(end_labels(list(texts), right, top - 10, bottom + 10, room))
    numbers = apart([x(p.distance) for p in promises], 16, left, right)
    for k, promise in enumerate(promises):
        body.append(_promise(k + 1, promise, x(promise.distance), numbers[k], y))
    lines = [f"If {_bound_text(p)}." for p in promises]
    about = " ".join([*lines, f"Whatever is different: at most {at_most(worst, PERCENT)}."])
    return build_figure(*body, title=title, description=about, width=width, height=height, kind="belief", reach=200)


def _far(unit: str, room: float) -> str:
    """What the axis of distances says, in as many words as there is room for."""
    long = f"how far elsewhere the records had been ({unit})"
    return long if text_width(long) <= room else f"how far elsewhere ({unit})"


def _bound_text(promise: BeliefBound) -> str:
    reached, promised = at_most(promise.reached, PERCENT), at_most(promise.promised, PERCENT)
    return f"{isolated(promise.label)}: a 50 % guess can become at most {reached} (promised: {promised})"


def _cap(worst: float, x: AxisScale, y: AxisScale, promises: Sequence[BeliefBound]) -> str:
    level = y(worst)
    text = f"never above {at_most(worst, PERCENT)}"
    longer = f"{text}, even if everything were different"
    text = longer if text_width(longer, 11.5) < 0.6 * (x.end - x.start) else text
    wide = text_width(text, 11.5)
    # The note stands where no promise is drawn: at the right if there is room, else at the left.
    taken = [x(p.distance) for p in promises if abs(y(p.promised) - level) < 26 or abs(y(p.reached) - level) < 26]
    start = next(
        (s for s in (x.end - wide - 8, x.start + 8) if not any(s - 12 <= t <= s + wide + 12 for t in taken)),
        x.end - wide - 8,
    )
    return element("path", d=f"M{x.start:.1f},{level:.1f}H{x.end:.1f}", class_="cap") + element(
        "text", text=text, x=start, y=level - 8 if level - y.end > 14 else level + 17, class_="note halo"
    )


def _promise(number: int, promise: BeliefBound, x: float, label: float, y: AxisScale) -> str:
    promised, reached = y(promise.promised), y(promise.reached)
    line = f"M{x:.1f},{reached:.1f}V{promised:.1f}M{x - 7:.1f},{promised:.1f}h14"
    return mark(
        element("path", d=line, class_="asked"),
        element("circle", cx=x, cy=reached, r=5.0, class_="kept"),
        element("text", text=str(number), x=label, y=min(promised, reached) - 8, class_="strong mid halo"),
        at=(x, reached),
        label=f"Promise {number}: {_bound_text(promise)}",
    )


def hundred(probability: float, *, title: str = "", width: int = 250) -> Figure:
    """A hundred dots: of 100 undecided guessers 50 are right beforehand, at most so many afterwards (rounded up).

    Args:
        probability: What a 50 % guess can become at most.
        title: What the figure is.
        width: In pixels.

    >>> print(hundred(0.693))
    50 in 100 become at most 70 in 100. 50 dots are filled, at most 20 are added.
    """
    _check(probability, "probability")
    after = math.ceil(exact(probability) * 100)
    step = width / 20
    middles = [(step * (i % 20 + 0.5), step * (i // 20 + 0.5)) for i in range(100)]
    kinds = (("before", 0, 50, 0.37), ("after", 50, after, 0.37), ("never", after, 100, 0.37))
    # A ring, so that the added dots are told apart without colour.
    dots = [_dots(middles[a:b], step * r, kind) for kind, a, b, r in (*kinds, ("back", 50, after, 0.16)) if a < b]
    return build_figure(
        *dots,
        title=title or f"50 in 100 become at most {after} in 100",
        description=f"50 dots are filled, at most {after - 50} are added.",
        width=width,
        height=step * 5,
        kind="hundred",
    )


def _dots(middles: Sequence[tuple[float, float]], r: float, kind: str) -> str:
    size = number(r)
    half = f"a{size} {size} 0 1 0 "
    disc = f"{half}{number(2 * r)} 0{half}{number(-2 * r)} 0z"
    starts = shortest("M".join([f"{x - r:.2f} {y:.2f}" for x, y in middles]))
    return element("path", d=f"M{starts.replace('M', f'{disc}M')}{disc}", class_=kind)
