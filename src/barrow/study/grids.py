"""A grid that is chosen and not typed: ``cell = "auto"`` (``step = "auto"``), from public numbers alone.

Coarse cells blur and cost a lot of every promise, because two records may be snapped apart; fine ones have more noise
to decode. Cells are tried from coarse to fine, the whole question is planned on each, and the one of least predicted
error against raw records is taken. All grids are planned with the same family of mechanisms, so that the error is
smooth in the size of the cells.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barrow.errors import ParameterError
from barrow.progress import track
from barrow.spaces import Space, parse_call, space_from_spec

if TYPE_CHECKING:
    from barrow.questions import Plan, Question
    from barrow.study.study import Study

KEYS = {"earth": "cell", "line": "step", "circle": "step", "euclidean": "step"}
"""What the size of a cell is called, for each kind of space that has one."""
AUTO = "auto"
_NICE = (1.0, 2.0, 5.0)
_COARSEST, _MOST_ITEMS = 8.0, 40_000
"""The first cell is this fraction of the space's extent; spaces of more items are not tried."""
_WORSE, _ALIKE = 1.1, 1.05
"""Finer cells are tried until the error is so much above the least; of those alike the coarsest is taken."""
_LOUD = 2.0


@dataclass(frozen=True)
class Grid:
    """One size of cells.

    Attributes:
        cell: The size, in the space's unit.
        items: How many there are.
        alpha: What the release has; None where it is user-level DP.
        noise: The predicted error without snapping, in the question's unit.
        snapping: What snapping adds: typical for histograms, at most for other questions.
        total: The predicted error.
        seconds: How long planning took here.
        charged: As what distance each promise is charged, in the space's unit: its own plus twice the snapping.

    >>> Grid(10.0, 100, 5.0, 1.0, 3.8, 3.93, 0.1, (14.4,)).cell
    10.0
    """

    cell: float
    items: int
    alpha: float | None
    noise: float
    snapping: float
    total: float
    seconds: float
    charged: tuple[float, ...]


@dataclass(frozen=True)
class GridChoice:
    """The sizes that were tried, and the one that was chosen.

    Attributes:
        grids: From coarse to fine.
        chosen: The size that was taken.
        unit: Of sizes.
        error_unit: Of errors.
        promises: The promises' texts and distances in the space's unit; None for "anywhere".
    """

    grids: tuple[Grid, ...]
    chosen: float
    unit: str
    error_unit: str
    promises: tuple[tuple[str, float], ...]

    def lines(self) -> list[str]:
        """A table, and what the grid costs of each promise.

        >>> row = Grid(10.0, 100, 5.0, 1.0, 3.8, 3.93, 0.1, (14.4,))
        >>> for line in GridChoice((row,), 10.0, "km", "km", (("all by 300 m", 0.3),)).lines():
        ...     print(line)
        Cells     cell km    items  alpha    noise  snapping    total  seconds
                       10      100      5        1       3.8     3.93      0.1  <- chosen
        Promise   all by 300 m: charged as 14.4 km on these cells, 48 times its distance
        """
        unit = f"cell {self.unit}".strip()
        lines = [
            f"Cells     {unit:>7} {'items':>8} {'alpha':>6} {'noise':>8} {'snapping':>9} {'total':>8} {'seconds':>8}"
        ]
        least = min(grid.total for grid in self.grids)
        for grid in self.grids:
            alpha = "-" if grid.alpha is None else f"{grid.alpha:.3g}"
            alike = "" if grid.total == least else " (the coarsest within 5 % of the least)"
            mark = f"  <- chosen{alike}" if grid.cell == self.chosen else ""
            lines.append(
                f"          {grid.cell:>7.4g} {grid.items:>8,} {alpha:>6} {grid.noise:>8.3g} {grid.snapping:>9.3g} "
                f"{grid.total:>8.3g} {grid.seconds:>8.2g}{mark}"
            )
        here = next(grid for grid in self.grids if grid.cell == self.chosen)
        for (text, asked), charged in zip(self.promises, here.charged, strict=True):
            times = charged / asked if asked else math.inf
            loud = f", {times:.3g} times its distance" if times >= _LOUD else ""
            lines.append(f"Promise   {text}: charged as {charged:.3g} {self.unit}".rstrip() + f" on these cells{loud}")
        return lines

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "chosen": self.chosen,
            "unit": self.unit,
            "error_unit": self.error_unit,
            "grids": [
                {**{name: getattr(grid, name) for name in grid.__dataclass_fields__}, "charged": list(grid.charged)}
                for grid in self.grids
            ],
        }


def auto_spec(space: Any) -> dict[str, Any] | None:
    """The plain data of a space whose cells are to be chosen; None for all others.

    >>> auto_spec("earth(box=(40, -75, 41, -73), cell='auto')")["cell"], auto_spec("earth(cell=5)")
    ('auto', None)
    """
    spec = parse_call(space) if isinstance(space, str) else dict(space) if isinstance(space, Mapping) else None
    if spec is None:
        return None
    key = KEYS.get(str(spec.get("kind")))
    return spec if key is not None and spec.get(key) == AUTO else None


def choose_grid(spec: Mapping[str, Any], study_on: Callable[[Space], Study]) -> tuple[Space, GridChoice]:
    """The space with the cells of least predicted error, and the table of what was tried.

    Args:
        spec: The plain data of the space, with ``"auto"`` for its cells.
        study_on: From a space to the study on it.

    >>> from barrow.study import Study
    >>> study = Study("line(low=0, high=100, step='auto', unit='years')", ["all, 5 years, 0.5"], users=1000,
    ...               questions="mean")
    >>> study.space.step, study.grids.chosen == study.space.step
    (0.005, True)
    """
    key = KEYS[str(spec["kind"])]
    rest = {name: value for name, value in spec.items() if name != key}
    bare = space_from_spec(rest)
    unit = bare.unit
    found: list[tuple[Grid, Space]] = []
    last: Plan | None = None
    for cell in track(_sizes(bare), "trying grids"):
        space = space_from_spec({**rest, key: cell})
        if space.items > _MOST_ITEMS:
            break
        study = study_on(space)
        question, planned = _asked(study)
        start = time.perf_counter()
        try:
            last = planned.plan(study.terms(question))
        except ParameterError:
            if found or space.items > _MOST_ITEMS // 4:
                raise
            continue  # too coarse for this question
        found.append((_row(cell, last, time.perf_counter() - start), space))
        least = min(grid.total for grid, _ in found)
        if found[-1][0].total > _WORSE * least:
            break
        if len(found) > 2 and found[-3][0].total < _ALIKE * found[-1][0].total:
            break  # finer cells gain nothing any more
    if not found or last is None:
        raise ParameterError(
            f"No size of cells can answer this question with at most {_MOST_ITEMS:,} items.",
            allowed=f"a {key} of your own",
            fix=f"{key} = …",
        )
    least = min(grid.total for grid, _ in found)
    best, space = next((grid, space) for grid, space in found if grid.total <= _ALIKE * least)
    kept = last.terms.kept
    promises = tuple((one.promise.text, float(one.distance) * space.diameter) for one in kept)
    return space, GridChoice(tuple(grid for grid, _ in found), best.cell, unit, last.error_unit, promises)


def _asked(study: Study) -> tuple[Question, Question]:
    """What the grid is chosen for, the first histogram or else the first question, and what is planned in its place."""
    from barrow.questions import Density, Histogram

    if not study.questions:
        raise ParameterError(
            'The cells are "auto", but no question says what they are for.',
            allowed="a question in the study",
            fix='questions="histogram", or a size in place of "auto"',
        )
    for question in study.questions:
        if isinstance(question, Histogram):
            return question, Histogram(mechanism="edges", definition="emd", reference=question.reference)
    first = study.questions[0]
    if isinstance(first, Density) and first.bandwidth == AUTO:
        return first, Histogram(mechanism="edges", definition="emd")
    return first, first


def _row(cell: float, plan: Plan, seconds: float) -> Grid:
    noise, snapping = plan.error_parts
    charged = tuple(float(kept.emd / kept.promise.share) * plan.space.diameter for kept in plan.terms.kept)
    alpha = None if plan.alpha is None else float(plan.alpha)
    return Grid(cell, plan.space.items, alpha, noise, snapping, plan.error, round(seconds, 3), charged)


def _sizes(bare: Space) -> list[float]:
    """Round numbers, from an eighth of the extent to a ten-thousandth of it."""
    extent = bare.diameter
    top = math.floor(math.log10(extent / _COARSEST))
    ladder = [step * 10.0**power for power in range(top, top - 6, -1) for step in reversed(_NICE)]
    return [float(f"{size:.6g}") for size in ladder if extent / 20_000.0 <= size <= extent / _COARSEST]
