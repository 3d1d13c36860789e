"""The planner's error over a range of grids or bandwidths, as a curve with the best point marked."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

from barrow.errors import ParameterError
from barrow.numerics.exact import PERCENT
from barrow.planning.densities import best_of
from barrow.questions.question import bandwidths_of
from barrow.render import figures as fig
from barrow.spaces import cell_key
from barrow.spaces.grids import coarser
from barrow.study.file import AUTO
from barrow.study.grids import choose_grid
from barrow.web.request import DesignRequest, at

_MOST_ITEMS = 6500
"""Bandwidths are tried on a grid of at most so many cells."""


def suggestion(request: DesignRequest, over: str, width: int = 720) -> dict[str, Any]:
    """The planner's error for each of some grids (``"grid"``) or bandwidths (``"bandwidth"``), and its choice."""
    with at(f"question-{request.looked}"):
        rows, best, words = _bandwidths(request) if over == "bandwidth" else _grids(request)
        if len(rows) < 2:
            raise ParameterError("There is nothing to compare.", allowed="a grid or a bandwidth", fix="choose by hand")
    axis = "smoothed over" if over == "bandwidth" else "width of the cells"
    unit = request.study.space.unit
    rows = sorted(rows, key=lambda row: float(row["at"]))
    figure = fig.sweep(
        fig.Curve("error", [row["at"] for row in rows], [row["error"] for row in rows]),
        here=fig.Here(f"best: {best['text']}", best["at"], best["error"]),
        axis=f"{axis} ({unit})" if unit else axis,
        unit=best["unit"],
        error=best["what"],
        title="The error over a range",
        width=width,
    )
    return {"svg": figure.svg, "said": figure.description, "best": best, "words": words}


Rows = tuple[list[dict[str, Any]], dict[str, Any], str]


def _row(at: float, unit: str, error: float, error_unit: str, what: str, items: int) -> dict[str, Any]:
    """One that was tried: how wide it is, and how far off the answer would be."""
    return {
        "at": at,
        "text": f"{at:g} {unit}".strip(),
        "error": error,
        "unit": error_unit,
        "what": what,
        "items": items,
    }


def _grids(request: DesignRequest) -> Rows:
    """What ``cell = "auto"`` tries and takes."""
    study, question = request.study, request.question
    # Whether there are points or cells between whole numbers is settled by each step.
    spec = {
        name: value for name, value in study.space.records_space.to_spec().items() if name not in ("cells", "whole")
    }
    key = cell_key(study.space.records_space.kind)
    if not key or spec.get(key) is None:
        raise ParameterError("This space has no grid.", allowed="a grid that can be finer", fix="choose by hand")
    alone = replace(question, fraction=study.terms(question).fraction)
    _, result = choose_grid({**spec, key: AUTO}, lambda space: study.replace(space=space, questions=[alone]))
    unit = PERCENT if question.traits.in_percent else result.error_unit
    what = f"{question.traits.error_words}, snapping included"
    rows = [
        _row(cast("float", grid.cell), str(result.unit), grid.total, unit, what, grid.items) for grid in result.grids
    ]
    best = next(row for row in rows if row["at"] == result.chosen)
    here, least = next(grid for grid in result.grids if grid.cell == result.chosen), min(row["error"] for row in rows)
    more = f", {math.ceil(100 * (best['error'] / least - 1))} % above the least" if best["error"] > least else ""
    snapped = f", {fig.near(here.snapping, unit)} by snapping" if here.snapping else ""
    words = (
        f"Cells of {best['text']} are the coarsest with nearly the least error{more}: {best['items']:,} items, "
        f"{fig.near(here.noise, unit)} by noise{snapped}."
    )
    return rows, best, words


def _bandwidths(request: DesignRequest) -> Rows:
    """What ``bandwidth = "auto"`` tries and takes, on a grid that is not too fine to try them all."""
    study, question = request.study, request.question
    coarse = coarser(study.space, _MOST_ITEMS) if study.space.items > _MOST_ITEMS else None
    space = study.space if coarse is None else coarse[0]
    tried = bandwidths_of(question, study.replace(space=space).terms(question))
    if not tried:
        raise ParameterError("This question has no bandwidth.", allowed="a smooth map", fix="choose by hand")
    scale = 1.0 if space.unit else space.diameter
    what = "earth mover's distance of the map"
    rows = [_row(size / scale, space.unit, error, space.unit, what, space.items) for size, error in tried]
    size = best_of([(row["at"], row["error"]) for row in rows])
    best = next(row for row in rows if row["at"] == size)
    about = "" if space is study.space else " Computed on a coarser grid (≈)."
    off = fig.near(best["error"], space.unit, digits=2)
    words = (
        f"Smoothed over {best['text']} the whole map is off by about {off}, the least of these: wider blurs more, "
        f"narrower is noisier.{about}"
    )
    return rows, best, words
