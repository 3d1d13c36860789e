"""The ledger over time: steps up to a limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from barrow.errors import ParameterError
from barrow.numerics import exact
from barrow.numerics.exact import at_least, at_most, near
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.svg import (
    AxisScale,
    clean,
    element,
    hatched,
    isolated,
    left_axis,
    mark,
    number,
    shortened,
    text_width,
    ticks_width,
)


@dataclass(frozen=True)
class Step:
    """One release and what all releases up to it have spent together.

    Args:
        label: What was released.
        when: The day, as text.
        total: Spent after it.

    >>> Step("map of visits", "3 Feb", 40).total
    40
    """

    label: str
    when: str
    total: float


def timeline(
    steps: Sequence[Step],
    limit: float,
    *,
    unit: str = "α",
    title: str = "The privacy budget",
    width: int = 720,
    height: int = 260,
) -> Figure:
    """What releases have spent, step by step, below the limit; what is left is hatched.

    Args:
        steps: In the order of time; totals never fall.
        limit: Beyond it every release is refused.
        unit: What is spent.
        title: What the figure is.
        width: In pixels.
        height: In pixels.

    >>> print(timeline([Step("mean", "3 Feb", 40), Step("map", "4 Mar", 60)], 100))
    The privacy budget. 2 releases spent at most α 60 of 100; at least 40 is left.
    """
    totals = [0.0, *(float(step.total) for step in steps)]
    if not all(map(math.isfinite, [*totals, limit])) or limit <= 0 or totals != sorted(totals) or totals[-1] > limit:
        raise ParameterError(
            f"The totals go up to {totals[-1]} with a limit of {limit}.",
            allowed="finite totals that never fall and stay within a limit above 0",
            fix="Step('mean', '3 Feb', 40), limit=100",
        )
    unit = clean(unit)
    top, bottom = 44.0, height - 40.0
    y = AxisScale(0.0, float(limit), bottom, top)
    left = ticks_width(y, near)
    right = width - 12.0
    slot = (right - left) / max(len(steps) + 0.6, 4.0)
    points = [f"M{number(left)},{number(bottom)}"]
    marks, free, last = [], -1e9, ""
    for k, step in enumerate(steps):
        x, level = left + slot * (k + 0.35), y(totals[k + 1])
        points.append(f"H{number(x)}V{number(level)}")
        text = f"{clean(step.when)}: {isolated(step.label)}; {unit} {at_most(totals[k + 1])} spent in all"
        parts = [element("circle", cx=x, cy=level, r=4.5 if slot > 12 else 2.0, class_="kept")]
        day = shortened(step.when, 130, 11.5)
        half = text_width(day, 11.5) / 2
        if max(x - half, 2) > free:
            start = max(x - half, 2.0)
            if day != last:  # a day is written once, below its first release
                parts.append(element("text", text=day, x=start, y=bottom + 17, class_="tick"))
                last = day
            name = shortened(step.label, max(slot - 12, 0)) if slot > 46 else ""
            below = level + 15 < bottom - 4
            parts.append(element("text", text=name, x=x + 8, y=level + (16 if below else -8)))
            free = start + 2 * half + 10
        marks.append(mark(*parts, at=(x, level), label=text))
    step_line = "".join(points) + f"H{number(right)}"
    left_over = exact(limit) - exact(totals[-1])
    body = [
        left_axis(y, left, f"{unit} spent", near, right=right),
        element("path", d=f"{step_line}V{number(bottom)}Z", class_="spent"),
        element("rect", x=left, y=top, width=right - left, height=max(y(totals[-1]) - top, 0.0), fill=hatched()),
        element("path", d=step_line, class_="curve k0"),
        *marks,
        element("path", d=f"M{number(left)},{number(top)}H{number(right)}", class_="limit"),
        element(
            "text",
            text=f"limit {unit} {at_least(limit)}: beyond it every release is refused",
            x=right,
            y=top - 10,
            class_="note end",
        ),
    ]
    rest = f"at least {at_least(left_over)} left" if left_over > 0 else "nothing left"
    at = (top + y(totals[-1])) / 2 + 4 if y(totals[-1]) - top > 18 else top + 36  # below the last name
    body.append(element("text", text=rest, x=right - 8, y=at, class_="strong halo end"))
    many = f"{len(steps):,} release{'s' * (len(steps) != 1)}"
    about = f"{many} spent at most {unit} {at_most(totals[-1])} of {near(limit)}; " + (
        f"at least {at_least(left_over)} is left." if left_over > 0 else "nothing is left."
    )
    return build_figure(*body, title=title, description=about, width=width, height=height, kind="timeline", reach=200)
