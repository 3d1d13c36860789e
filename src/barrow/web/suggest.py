"""The planner's error over a range of grids or bandwidths, as a curve with the best point marked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from barrow import figures as fig
from barrow.errors import BarrowError, ParameterError
from barrow.figures.numbers import PERCENT
from barrow.questions import Density, Histogram, LinearPlan, Plan
from barrow.spaces import Circle, Earth, Line, Space
from barrow.study import Study
from barrow.web.asked import Asked, at
from barrow.web.catalogue import distances, grids
from barrow.web.design import Design, coarser, quick_plan
from barrow.web.example import Pictured

_MOST_ITEMS = 4000
_WORTH = 1.05
"""A coarser grid is suggested where it errs by at most this many times the least."""
_CLEAR = 0.1
"""A map is clear where its noise is at most this share of its largest value."""


def suggestion(asked: Asked, over: str, width: int = 720) -> dict[str, Any]:
    """The error for each of some grids (``"grid"``) or bandwidths (``"bandwidth"``), and which to take.

    >>> from barrow.study import Study
    >>> study = Study("line(low=0, high=100, step=5, unit='years')", ["all, 5 years, 0.5"], users=99, questions="mean")
    >>> suggestion(Asked(study, 0), "grid")["best"]["text"]
    '0.05 years'
    """
    with at(f"question-{asked.looked}"):
        rows = _bandwidths(asked) if over == "bandwidth" else _grids(asked)
    if len(rows) < 2:
        raise ParameterError("There is nothing to compare.", allowed="a grid or a bandwidth", fix="choose by hand")
    best = _best(rows, over)
    axis = "smoothed over" if over == "bandwidth" else "width of the cells"
    unit = asked.study.space.unit
    figure = fig.sweep(
        fig.Curve("error", [row["at"] for row in rows], [row["error"] for row in rows]),
        here=fig.Here(f"best: {best['text']}", best["at"], best["error"]),
        axis=f"{axis} ({unit})" if unit else axis,
        unit=rows[0]["unit"],
        error=rows[0]["what"],
        title="The error over a range",
        width=width,
    )
    return {"svg": figure.svg, "said": figure.description, "best": best, "words": _words(best, over, rows)}


def _grids(asked: Asked) -> list[dict[str, Any]]:
    found = []
    for size in grids(asked.study.space):
        space = with_grid(asked.study.space, size)
        if space is None or not 8 <= space.items <= _MOST_ITEMS:
            continue
        try:
            plan = _planned(asked.study.replace(space=space), asked)
        except BarrowError:
            continue
        what = "95 % half width" if Pictured(plan).linear else "earth mover's distance, snapping included"
        found.append(_row(size, f"{size:g} {space.unit}".strip(), plan, plan.error, what))
    return found


def _planned(study: Study, asked: Asked) -> Plan:
    """The plan of the question on another grid; of a histogram by a mechanism that takes no time."""
    if isinstance(asked.question, Histogram):
        return quick_plan(study.terms(asked.question), asked.question, study.space)
    return Design(replace(asked, study=study)).plan


def _bandwidths(asked: Asked) -> list[dict[str, Any]]:
    study, found = asked.study, []
    for text in distances(study.space):
        if not isinstance(asked.question, Density):
            return []
        question = replace(asked.question, bandwidth=text)
        space = coarser(study.space, question)
        asks = [question if k == asked.looked else other for k, other in enumerate(study.questions)]
        try:
            plan = Design(replace(asked, study=study.replace(space=space, questions=asks))).plan
        except BarrowError:
            continue
        largest = float(Pictured(plan).values.max())
        if largest > 0 and isinstance(plan, LinearPlan):
            size = float(text.split()[0])
            found.append(_row(size, text, plan, plan.half_width / largest, "noise, of the largest value"))
            found[-1]["unit"] = PERCENT
    return found


def _row(size: float, text: str, plan: Plan, error: float, what: str) -> dict[str, Any]:
    return {"at": size, "text": text, "error": error, "unit": plan.error_unit, "what": what, "items": plan.space.items}


def _best(rows: list[dict[str, Any]], over: str) -> dict[str, Any]:
    """The coarsest grid that errs hardly more than the best; the narrowest bandwidth whose map is clear."""
    if over == "bandwidth":
        clear = [row for row in rows if row["error"] <= _CLEAR]
        return min(clear, key=lambda row: row["at"]) if clear else min(rows, key=lambda row: row["error"])
    least = min(row["error"] for row in rows)
    return max((row for row in rows if row["error"] <= _WORTH * least), key=lambda row: row["at"])


def _words(best: Mapping[str, Any], over: str, rows: list[dict[str, Any]]) -> str:
    if over == "bandwidth":
        return (
            f"Smoothed over {best['text']} the noise of each value is about "
            f"{fig.near(best['error'], PERCENT, digits=2)} of the largest one: the narrowest of these at which it is "
            "at most 10 %, or the clearest there is. Worked out on a coarser grid (≈)."
        )
    least = min(row["error"] for row in rows)
    more = f", {math.ceil(100 * (best['error'] / least - 1))} % above the least" if best["error"] > least else ""
    return f"Cells of {best['text']} are the coarsest with nearly the least error{more}: {best['items']:,} items."


def with_grid(space: Space, size: float) -> Space | None:
    """The same space with cells of another size; None where it has none.

    >>> with_grid(Line(0, 10, step=1), 5).items
    3
    """
    if isinstance(space, Earth):
        return Earth(box=space.box, cell=size, default=space.default)
    if isinstance(space, Line):
        return Line(space.low, space.high, unit=space.unit, step=size)
    if isinstance(space, Circle) and space.step is not None:
        return Circle(space.period, unit=space.unit, step=size)
    return None
