"""Accuracy: against privacy, and against the number of people; both axes logarithmic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics.exact import PERCENT, at_most, near
from barrow.render.figures.curves import Curve, end_labels, interpolated, labels_width, line_of, log_range
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.svg import (
    LogScale,
    bottom_axis,
    clean,
    element,
    isolated,
    left_axis,
    mark,
    shortened,
    text_width,
    ticks_width,
)


@dataclass(frozen=True)
class Here:
    """Where the study stands in a figure.

    >>> Here("this study", 43.1, 0.0018).y
    0.0018
    """

    label: str
    x: float
    y: float


def tradeoff(
    curves: Sequence[Curve],
    *,
    here: Here | None = None,
    guesses: Sequence[tuple[float, float]] = (),
    promise: str = "",
    unit: str = PERCENT,
    error: str = "95 % half width of each value",
    title: str = "Privacy against accuracy",
    width: int = 720,
    height: int = 400,
) -> Figure:
    """The error against alpha, for this study and for what it may be compared with.

    Args:
        curves: Errors over alphas: this study first; faint ones for other numbers of people; user-level DP that keeps
            the same promises (a curve of one height is a level line).
        here: Alpha and error of the study.
        guesses: Pairs of alpha and what a 50 % guess can become under the deciding promise: an axis above.
        promise: The deciding promise in words.
        unit: Of the errors: "%" for shares.
        error: What the error is.
        title: What the figure is.
        width: In pixels.
        height: In pixels.

    >>> print(tradeoff([Curve("this study", [1, 100], [0.1, 0.001])], here=Here("now", 10, 0.01)))
    Privacy against accuracy. now: α at most 10, error at most 1 %.
    """
    above = f"a 50 % guess can become at most …, if {clean(promise)}" if guesses and promise else ""
    frame = _Frame(curves, here, unit, error, width, height, 66.0 if guesses else 44.0)
    body = [frame.axes("α: more privacy ← → more accuracy"), frame.upper(guesses, above), frame.lines()]
    return frame.figure(body, here, lambda x: f"α at most {at_most(x)}", "α", title=title, kind="tradeoff")


def growth(
    curves: Sequence[Curve],
    *,
    here: Here | None = None,
    unit: str = PERCENT,
    error: str = "95 % half width of each value",
    title: str = "Error by the number of people",
    width: int = 720,
    height: int = 360,
) -> Figure:
    """The error against the number of people.

    Args:
        curves: Errors over numbers of people: this study first, then what it is compared with.
        here: The study's number of people and its error.
        unit: Of the errors: "%" for shares.
        error: What the error is.
        title: What the figure is.
        width: In pixels.
        height: In pixels.

    >>> print(growth([Curve("this study", [100, 10_000], [0.1, 0.001])], here=Here("now", 1000, 0.01)))
    Error by the number of people. now: 1,000 people, error at most 1 %.
    """
    frame = _Frame(curves, here, unit, error, width, height, 44.0)
    body = [frame.axes("people"), frame.lines()]
    return frame.figure(body, here, lambda x: f"{near(x, digits=12)} people", "people", title=title, kind="growth")


def sweep(
    curve: Curve,
    *,
    here: Here | None = None,
    axis: str,
    unit: str = PERCENT,
    error: str = "95 % half width of each value",
    title: str = "The error over a range",
    width: int = 720,
    height: int = 300,
) -> Figure:
    """The error over a range of some choice, with the best point marked.

    Args:
        curve: Errors over the choice.
        here: The point to mark.
        axis: What is chosen, with its unit.
        unit: Of the errors: "%" for shares.
        error: What the error is.
        title: What the figure is.
        width: In pixels.
        height: In pixels.

    >>> print(sweep(Curve("error", [1, 10], [0.2, 0.1]), here=Here("best", 10, 0.1), axis="cells (km)"))
    The error over a range. best: error at most 10 %.
    """
    frame = _Frame([curve], here, unit, error, width, height, 44.0)
    body, about = [frame.axes(clean(axis)), frame.lines()], f"{len(curve.x)} errors over a range."
    if here is not None:
        about = f"{isolated(here.label)}: error at most {at_most(here.y, unit)}."
        body.append(frame.here(here, about))
    return build_figure(*body, title=title, description=about, width=width, height=height, kind="sweep", reach=400)


def loglog(
    curves: Sequence[Curve], *, x: str, y: str, title: str, unit: str = "", width: int = 720, height: int = 360
) -> Figure:
    """Any curves on two logarithmic axes.

    Args:
        curves: Named points above 0.
        x: What is below.
        y: What is at the left.
        title: What the figure is.
        unit: Of the heights.
        width: In pixels.
        height: In pixels.

    >>> print(loglog([Curve("flow", [1, 100], [0.1, 0.001])], x="reports", y="alpha0", title="Reports"))
    Reports. 1 curve: flow from 0.1 to 0.001.
    """
    frame = _Frame(curves, None, unit, y, width, height, 44.0)
    ends = ", ".join(f"{isolated(c.label)} from {near(float(c.y[0]))} to {near(float(c.y[-1]))}" for c in curves)
    about = f"{len(curves)} curve{'s' if len(curves) > 1 else ''}: {ends}."
    body = [frame.axes(clean(x)), frame.lines()]
    return build_figure(*body, title=title, description=about, width=width, height=height, kind="growth", reach=400)


class _Frame:
    """Scales, axes and curves of a log-log figure."""

    def __init__(
        self,
        curves: Sequence[Curve],
        here: Here | None,
        unit: str,
        error: str,
        width: int,
        height: int,
        top: float,
    ) -> None:
        if not curves:
            raise ParameterError(
                "There is no curve.", allowed="at least one", fix='Curve("this study", [1, 10], [1, 0.1])'
            )
        xs = [v for c in curves for v in (float(c.x.min()), float(c.x.max()))] + ([here.x] if here else [])
        ys = [v for c in curves for v in (float(c.y.min()), float(c.y.max()))] + ([here.y] if here else [])
        x0, x1 = min(xs), max(xs)
        if x0 <= 0:
            log_range(xs, "x")
        self.unit, self.error, self.curves, self.size = unit, clean(error), curves, (width, height)
        self.bottom, self.top = height - 48.0, top
        self.y = LogScale(*log_range(ys, "y"), self.bottom, top)
        self.turned = top > 60
        self.left = ticks_width(self.y, self.write) + (20 if self.turned else 0)
        room = labels_width([c.label for c in curves], 0.3 * width)
        self.right = width - room
        self.x = LogScale(x0, x1 if x1 > x0 else x0 * 1.01, self.left, self.right)
        self.room = room

    def write(self, value: float) -> str:
        return near(value, self.unit)

    def axes(self, label: str) -> str:
        # Below an upper axis there is no room above the left one: its label is turned.
        ticks = left_axis(self.y, self.left, "" if self.turned else self.error, self.write, right=self.right)
        if self.turned:
            at = f"translate(14 {(self.top + self.bottom) / 2:.1f}) rotate(-90)"
            ticks += element("text", text=self.error, transform=at, class_="label mid")
        return ticks + bottom_axis(self.x, self.bottom, label, near, top=self.top)

    def upper(self, guesses: Sequence[tuple[float, float]], label: str) -> str:
        parts, free = [], -1e9
        for alpha, odds in sorted(guesses):
            if not self.x.low <= alpha <= self.x.high:
                continue
            at, text = self.x(alpha), at_most(odds, PERCENT)
            half = text_width(text, 11.5) / 2
            if at - half > free:
                parts.append(element("path", d=f"M{at:.1f},{self.top:.1f}v-6", class_="axis"))
                parts.append(element("text", text=text, x=at, y=self.top - 11, class_="tick mid"))
                free = at + half + 8
        if parts:
            line = f"M{self.left:.1f},{self.top:.1f}H{self.right:.1f}"
            parts.append(element("path", d=line, class_="rule"))
            wide = self.right - self.left + self.room - 10
            text = label if text_width(label, 12.5) <= wide else shortened(label.partition(",")[0], wide, 12.5)
            parts.append(element("text", text=text, x=self.left, y=self.top - 34, class_="label"))
        return "".join(parts)

    def lines(self) -> str:
        parts, ends, kind = [], [], 0
        for curve in self.curves:
            faint = curve.style == "faint"
            parts.append(line_of(curve, self.x, self.y, kind))
            ends.append((self.y(float(curve.y[-1])), curve.label, "", "note" if faint else f"t{kind % 4}"))
            kind += 0 if faint else 1
        parts.append(end_labels(ends, self.right, self.top - 8, self.bottom + 8, self.room))
        return "".join(parts)

    def here(self, here: Here, sentence: str) -> str:
        x, y = self.x(here.x), self.y(here.y)
        text = f"{clean(here.label)}: {at_most(here.y, self.unit)}"
        if text_width(text) * 1.06 > self.right - self.left - 8:  # on a phone: the number alone
            text = at_most(here.y, self.unit)
        wide = text_width(text) * 1.06
        inside = max(self.left + 4, min(x - wide / 2, self.right - wide - 4))
        spots = [(x + 12, y - 10), (x - 12 - wide, y + 22), (x + 12, y + 22), (x - 12 - wide, y - 10)]
        spots += [(inside, y - 14), (inside, y + 26)]
        troubles: list[int] = []
        for spot in spots:
            troubles.append(self._trouble(spot[0], spot[1] - 4, wide))
            if not troubles[-1]:
                break
        at = spots[troubles.index(min(troubles))]
        return mark(
            element("path", d=f"M{x:.1f},{self.bottom:.1f}V{y:.1f}H{self.left:.1f}", class_="now"),
            element("circle", cx=x, cy=y, r=5.5, class_="kept"),
            element("text", text=text, x=at[0], y=at[1], class_="strong halo"),
            at=(x, y),
            label=sentence,
        )

    def _trouble(self, x: float, y: float, wide: float) -> int:
        """How much a text at a place would cover: points of curves, or the world outside."""
        if x < self.left or x + wide > self.right or not self.top < y < self.bottom:
            return 1000
        hidden, at = 0, x + wide * np.arange(21) / 20
        values = self.x.low * (self.x.high / self.x.low) ** ((at - self.left) / (self.right - self.left))
        for curve in self.curves:
            within = values[(curve.x[0] <= values) & (values <= curve.x[-1])]
            hidden += int((np.abs(self.y.positions(interpolated(curve, within)) - y) < 12).sum())
        return hidden

    def figure(
        self, body: list[str], here: Here | None, write: Callable[[float], str], over: str, *, title: str, kind: str
    ) -> Figure:
        """The figure with the study's place in it, and words about both."""
        about = f"{len(self.curves)} curves of errors over {over}."
        if here is not None:
            text = f"{isolated(here.label)}: {write(here.x)}, error at most {at_most(here.y, self.unit)}"
            body.append(self.here(here, text))
            about = " ".join([f"{text}.", *self.compared(here)])
        width, height = self.size
        return build_figure(*body, title=title, description=about, width=width, height=height, kind=kind, reach=400)

    def compared(self, here: Here) -> list[str]:
        """Whose error is smaller at the study's place."""
        lines = []
        for curve in self.curves[1:]:
            if curve.style == "main" and curve.x[0] <= here.x <= curve.x[-1]:
                other = float(interpolated(curve, np.array(here.x)))
                word = "smaller" if here.y < other else "larger" if here.y > other else "the same"
                lines.append(
                    f"The error of {isolated(curve.label)} there is {near(other, self.unit)}: this one is {word}."
                )
        return lines
