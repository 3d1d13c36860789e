"""The registry: one row for each statement of the paper, with the code that measures it and the verdict it gives."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from barrow.errors import ParameterError, nearest_name

HOLDS, CORRECTED, UNSAFE, VACUOUS, OPEN = "holds", "holds corrected", "unsafe", "vacuous", "open"
VERDICTS: Mapping[str, str] = {
    HOLDS: "as the paper says, as far as was measured",
    CORRECTED: "true after a correction, which the row states and barrow uses",
    UNSAFE: "less private than it says, or than its own proof shows; barrow does not do it",
    VACUOUS: "true, and says nothing at the sizes at which it was measured",
    OPEN: "a question that the paper leaves open; the row says what is known here",
}
"""What a row may come to."""

Number = float | int | bool | str


@dataclass(frozen=True)
class Grid:
    """A table of a row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Plot:
    """Curves of a row on logarithmic axes."""

    title: str
    x: str
    y: str
    curves: tuple[tuple[str, tuple[float, ...], tuple[float, ...]], ...]


@dataclass(frozen=True)
class Measured:
    """What was found.

    Args:
        text: In a sentence or two.
        verdict: What it comes to; one of ``VERDICTS``.
        numbers: Every number of the text, and more, by name.
        tables: Tables, if one sentence is not enough.
        plots: Curves.

    >>> Measured("1 = 1", HOLDS, {"one": 1}).verdict
    'holds'
    """

    text: str
    verdict: str
    numbers: Mapping[str, Number]
    tables: tuple[Grid, ...] = ()
    plots: tuple[Plot, ...] = ()


@dataclass(frozen=True)
class Effort:
    """How long a measurement may take; simulations draw less when it is quick."""

    quick: bool = False

    def of(self, quick: int, full: int) -> int:
        """The number for this effort."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Row:
    """One statement of the paper.

    Args:
        label: The paper's label, or a name of ours for what has none.
        place: Where in the paper.
        claim: What the paper says, in our words.
        uses: The functions of barrow that implement it, by their full names.
        measure: Measures it.
        erratum: What is wrong with the statement and what barrow does instead; empty if nothing is.
        links: Pages of the documentation, from ``docs/`` on.
        steady: Whether the numbers are the same at every effort.

    >>> rows()["ex:earth"].place
    'Section 3, footnote'
    """

    label: str
    place: str
    claim: str
    uses: tuple[str, ...]
    measure: Callable[[Effort], Measured] = field(repr=False)
    erratum: str = ""
    links: tuple[str, ...] = ()
    steady: bool = True


@dataclass(frozen=True)
class Result:
    """A row and what was measured.

    >>> reproduce("ex:alpha").row.place
    'Section 3, concrete example'
    """

    row: Row
    measured: Measured
    seconds: float

    @property
    def verdict(self) -> str:
        """What the measurement came to."""
        return self.measured.verdict

    def to_json(self) -> dict[str, Any]:
        """Plain data; seconds are left out, so that the same numbers are the same bytes."""
        return {
            "label": self.row.label,
            "place": self.row.place,
            "claim": self.row.claim,
            "uses": list(self.row.uses),
            "measured": self.measured.text,
            "numbers": {name: _plain(value) for name, value in self.measured.numbers.items()},
            "verdict": self.verdict,
            "erratum": self.row.erratum,
            "links": list(self.row.links),
            "steady": self.row.steady,
            "tables": [
                {"title": t.title, "columns": list(t.columns), "rows": [list(r) for r in t.rows]}
                for t in self.measured.tables
            ],
        }


def _plain(value: Any) -> Any:
    """A number of numpy as Python's own; JSON has no infinity, so "never" is null there."""
    number = value.item() if hasattr(value, "item") else value
    return None if isinstance(number, float) and not math.isfinite(number) else number


_CHAPTERS = ("definitions", "tables", "linear", "shuffling", "reduction", "embeddings", "applications",
             "interpretation", "appendix", "cases", "open_questions")  # fmt: skip
_ROWS: dict[str, Row] = {}
Measure = Callable[[Effort], Measured]


def row(
    label: str,
    place: str,
    claim: str,
    uses: str | tuple[str, ...],
    *,
    erratum: str = "",
    links: str | tuple[str, ...] = (),
    steady: bool = True,
) -> Callable[[Measure], Measure]:
    """Registers the decorated measurement as a row, in the order of the source."""

    def register(measure: Measure) -> Measure:
        if label in _ROWS:
            raise ParameterError(f"The row {label!r} is registered twice.", fix="choose another label")
        _ROWS[label] = Row(label, place, claim, _tuple(uses), measure, erratum, _tuple(links), steady)
        return measure

    return register


def _tuple(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def rows() -> dict[str, Row]:
    """Every row by its label, in the paper's order.

    >>> len(rows()) >= 40
    True
    """
    chapters = [import_module(f"lab.paper.{name}").__name__ for name in _CHAPTERS]
    return dict(sorted(_ROWS.items(), key=lambda pair: chapters.index(pair[1].measure.__module__)))


def reproduce(label: str, *, quick: bool = False) -> Result:
    """Measures one row.

    >>> reproduce("ex:alpha").verdict
    'holds corrected'
    """
    known = rows()
    if label not in known:
        close = nearest_name(label, known)
        raise ParameterError(
            f"There is no row {label!r}." + (f" Did you mean {close!r}?" if close else ""),
            allowed="a label that scripts/paper --list prints",
            fix=f"scripts/paper {close or 'thm:eps-amp'}",
        )
    start = time.perf_counter()
    measured = known[label].measure(Effort(quick))
    if measured.verdict not in VERDICTS:
        raise ParameterError(f"The row {label!r} came to {measured.verdict!r}.", allowed=", ".join(VERDICTS))
    return Result(known[label], measured, time.perf_counter() - start)


def reproduce_all(
    labels: Iterable[str] | None = None, *, quick: bool = False, progress: Callable[[Result], None] | None = None
) -> list[Result]:
    """Measures every row, or those named, in the paper's order.

    >>> [result.row.label for result in reproduce_all(["ex:alpha", "ex:earth"], quick=True)]
    ['ex:earth', 'ex:alpha']
    """
    wanted = set(rows() if labels is None else labels)
    for unknown in wanted - set(rows()):
        reproduce(unknown)
    results = []
    for label in rows():
        if label in wanted:
            results.append(reproduce(label, quick=quick))
            if progress is not None:
                progress(results[-1])
    return results
