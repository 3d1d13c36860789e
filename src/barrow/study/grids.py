"""A grid that is chosen and not typed: ``cell = "auto"`` (``step = "auto"``), from public numbers alone.

Coarse cells blur and cost a lot of every promise, because two records may be snapped apart; fine ones have more noise
to decode. Cells are tried from coarse to fine, the whole question is planned on each, and the one of least predicted
error against raw records is taken. All grids are planned with the same family of mechanisms, so that the error is
smooth in the size of the cells. On a product each part may have cells that are chosen, several at once too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from barrow.errors import ParameterError
from barrow.planning.candidates import ALIKE
from barrow.progress import task
from barrow.questions.estimates import estimate
from barrow.questions.question import grid_question
from barrow.spaces import Space, cell_key, space_from_spec
from barrow.spaces.grids import fitting_cells
from barrow.study.bars import bars
from barrow.study.file import Place, auto_places
from barrow.study.grid_table import Grid, GridChoice

if TYPE_CHECKING:
    from barrow.questions import Answer, Question
    from barrow.study.study import Study

At = tuple[int, ...]
"""A size of each part's cells, by its place in the part's list from coarse to fine."""
_WORSE = 1.1
"""A way ends where the error is so much above the least on it."""
_MOST_TRIES = 60
_NICE = (1.0, 2.0, 5.0)
_COARSEST, _COARSEST_PART, _MOST_ITEMS = 8.0, 2.0, 40_000
"""The first cell is this fraction of the extent of a space, or of a product's part; more items are not tried."""


def choose_grid(spec: Mapping[str, Any], study_on: Callable[[Space], Study]) -> tuple[Space, GridChoice]:
    """The space with the cells of least predicted error, and the table of what was tried.

    Args:
        spec: The plain data of the space, with ``"auto"`` for its cells, or for those of some parts of a product.
        study_on: From a space to the study on it.
    """
    search = _Search(spec, study_on)
    with bars(), task("trying grids") as done:
        search.told = done
        searched([len(sizes) for sizes in search.ladders], search.error)
    result = sorted(search.results, key=lambda one: one[0].items) if len(search.places) > 1 else search.results
    if not result:
        raise search.refused()
    least = min(grid.total for grid, _ in result)
    best, plan = next((grid, plan) for grid, plan in result if grid.total <= ALIKE * least)
    space, units = search.space(best.cells), tuple(part.unit for part in search.bare)
    promises = tuple((one.promise.text, float(one.distance) * space.diameter) for one in plan.terms.satisfied)
    return space, GridChoice(
        tuple(grid for grid, _ in result),
        best.cell,
        units if len(units) > 1 else units[0],
        plan.error_unit,
        promises,
        tuple(part.unit for part, _ in space.geometry.parts),
    )


class _Search:
    """Grids that are planned one after the other, for :func:`searched`."""

    def __init__(self, spec: Mapping[str, Any], study_on: Callable[[Space], Study]) -> None:
        self.spec, self.study_on = spec, study_on
        self.places = auto_places(spec)
        self.bare = [space_from_spec(_without(_at(spec, place))) for place in self.places]
        self.ladders = [_sizes(part, place == ()) for part, place in zip(self.bare, self.places, strict=True)]
        self.results: list[tuple[Grid, Answer]] = []
        self.coarsest = 0
        self.told: Callable[[float], None] = lambda done: None

    def space(self, cells: tuple[float, ...]) -> Space:
        """The space with cells of these sizes."""
        spec: Any = self.spec
        for place, cell in zip(self.places, cells, strict=True):
            spec = _put(spec, place, cell)
        return space_from_spec(spec)

    def error(self, at: At) -> float | None:
        """The predicted error of the question on the grid at a place."""
        cells = tuple(sizes[i] for sizes, i in zip(self.ladders, at, strict=True))
        space = self.space(cells)
        self.coarsest = self.coarsest or space.items
        if space.items > _MOST_ITEMS:
            return math.inf
        study = self.study_on(space)
        question, planned = _grid_questions(study)
        start = time.perf_counter()
        try:
            plan = planned.plan(study.terms(question))
        except ParameterError:
            if self.results or space.items > _MOST_ITEMS // 4:
                raise
            return None  # too coarse for this question
        self.results.append((_row(cells, plan, time.perf_counter() - start), plan))
        self.told(len(self.results))
        return plan.error

    def refused(self) -> ParameterError:
        """Why there is no grid."""
        keys = " and ".join(dict.fromkeys(cell_key(_at(self.spec, place)["kind"]) for place in self.places))
        if self.coarsest > _MOST_ITEMS:
            return ParameterError(
                f"The coarsest cells that are tried make {self.coarsest:,} items together with the other parts.",
                allowed=f"at most {_MOST_ITEMS:,} items",
                fix='fewer items in the other parts, or "auto" there too',
            )
        return ParameterError(
            f"No size of cells can answer this question with at most {_MOST_ITEMS:,} items.",
            allowed=f"a {keys} of your own",
            fix=f"{keys} = …",
        )


def _at(spec: Any, place: Place) -> dict[str, Any]:
    for step in place:
        spec = spec[step]
    return dict(spec)


def _put(spec: Any, place: Place, cell: float) -> Any:
    """Plain data with the cells at a place."""
    if not place:
        return {**spec, cell_key(spec["kind"]): cell}
    inner = _put(spec[place[0]], place[1:], cell)
    if isinstance(place[0], str):
        return {**spec, place[0]: inner}
    return [inner if i == place[0] else part for i, part in enumerate(spec)]


def _without(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data of a space without the size of its cells."""
    key = cell_key(spec["kind"])
    return {name: value for name, value in spec.items() if name != key}


def _grid_questions(study: Study) -> tuple[Question, Question]:
    """What the grid is chosen for, the first histogram or else the first question, and what is planned in its place."""
    if not study.questions:
        raise ParameterError(
            'The cells are "auto", but no question says what they are for.',
            allowed="a question in the study",
            fix='questions="histogram", or a size in place of "auto"',
        )
    chosen = next((question for question in study.questions if question.traits.drives_grid), study.questions[0])
    return chosen, grid_question(chosen)


def _row(cells: tuple[float, ...], plan: Answer, seconds: float) -> Grid:
    parted = estimate(plan)
    charged = tuple(float(satisfied.reach) * plan.terms.space.diameter for satisfied in plan.terms.satisfied)
    parts = [part for part, _ in plan.terms.space.geometry.parts] or [plan.terms.space]
    return Grid(
        cells if len(cells) > 1 else cells[0],
        plan.terms.space.items,
        None if plan.alpha is None else float(plan.alpha),
        parted.noise,
        parted.snapping,
        plan.error,
        round(seconds, 3),
        charged,
        tuple(2.0 * part.snapping_upper * part.diameter for part in parts),
    )


def _sizes(bare: Space, alone: bool) -> list[float]:
    """Round numbers, from an eighth of the extent (half of it in a product) to a ten-thousandth of it."""
    extent = bare.diameter
    largest = extent / (_COARSEST if alone else _COARSEST_PART)
    first = [] if alone else fitting_cells(bare)
    largest = min([largest, *(0.99 * size for size in first)])
    top = math.floor(math.log10(largest))
    ladder = [float(f"{step * 10.0**power:.6g}") for power in range(top, top - 6, -1) for step in reversed(_NICE)]
    return first + [size for size in ladder if extent / 20_000.0 <= size <= largest]


def searched(lengths: Sequence[int], error: Callable[[At], float | None]) -> dict[At, float]:
    """Every place that was looked at and its error.

    The way leads from the coarsest sizes to finer ones, in all parts together, while that gains. From the best place of
    it, and from the coarsest that is as good, one part after the other is made finer or coarser, all of them, or one
    finer and another coarser, until none of that gains. Which places are looked at depends on errors alone, not on how
    long they take.

    Args:
        lengths: How many sizes each part has.
        error: The error at a place; None where the cells are too coarse for an answer, infinite where there are too
            many of them.
    """
    seen: dict[At, float | None] = {}

    def look(at: At) -> float | None:
        if at not in seen:
            seen[at] = error(at) if len(seen) < _MOST_TRIES else math.inf
        return seen[at]

    def walk(places: Iterable[At]) -> None:
        here: list[float] = []
        for at in places:
            value = look(at)
            if value is None:
                continue
            if math.isinf(value):
                return
            here.append(value)
            if value > _WORSE * min(here) or (len(here) > 2 and here[-3] < ALIKE * value):
                return  # finer cells gain nothing any more

    def known() -> dict[At, float]:
        return {at: value for at, value in seen.items() if value is not None and math.isfinite(value)}

    walk(tuple(min(i, length - 1) for length in lengths) for i in range(max(lengths)))
    before = None
    while len(lengths) > 1 and known() and before != (before := _best(known())):
        for centre in (0, 1):
            for way in _ways(len(lengths)):
                walk(_along(_best(known())[centre], way, lengths))
    return known()


def _best(result: dict[At, float]) -> tuple[At, At]:
    """The place of the least error, and the coarsest of those as good."""
    least = min(result.values())
    alike = [at for at, value in result.items() if value <= ALIKE * least]
    return min(result, key=lambda at: result[at]), min(alike, key=lambda at: (sum(at), result[at]))


def _ways(parts: int) -> list[At]:
    """One part finer or coarser, all of them, and one finer for another coarser, as far as that keeps items few."""
    unit = [tuple(int(i == part) for i in range(parts)) for part in range(parts)]
    pairs = [(a, b) for a in unit for b in unit if a != b]
    trades = [
        tuple(m * x - n * y for x, y in zip(a, b, strict=True)) for m, n in ((1, 1), (2, 1), (1, 2)) for a, b in pairs
    ]
    return [way for one in [*unit, (1,) * parts] for way in (one, tuple(-x for x in one))] + trades


def _along(start: At, way: At, lengths: Sequence[int]) -> Iterable[At]:
    """The places from ``start`` on, as far as there are sizes."""
    at = start
    while all(0 <= x < length for x, length in zip(at, lengths, strict=True)):
        yield at
        at = tuple(x + step for x, step in zip(at, way, strict=True))
