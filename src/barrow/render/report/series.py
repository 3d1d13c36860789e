"""The part of a report about several periods or groups: small multiples, a line over time, and what really differs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest
from itertools import combinations
from typing import Any

from msgspec import structs

from barrow.errors import ParameterError
from barrow.numerics.exact import between, within
from barrow.promises import Scope, Window, exposure
from barrow.questions.answer import TableRow
from barrow.questions.statement import Statement
from barrow.questions.value_tables import Rows, bounds_of, unit_of, values_of
from barrow.render.figures import Figure, intervals
from barrow.render.figures.readings import Readings
from barrow.render.released import drawn, readings_of
from barrow.render.report.page import MOST_ROWS, Picture, ReportTable, Section
from barrow.study import Release
from barrow.study.outputs import csv_text
from barrow.study.prose import kind_of

WIDE, NARROW, SMALL = 720, 360, 240
GROUP, PERIOD = "group", "period"
_MOST_MULTIPLES = 60
_MOST_PAIRS = 12
"""Of so many pairs of values that differ each one is named."""
_ALL = 0.05
_MOST_LINES = 4
"""Lines of groups in one picture; more of them have a picture each."""


@dataclass(frozen=True, eq=False)
class Part:
    """One group in one period: what a picture of its own shows.

    Attributes:
        name: The period, the group, or both.
        statement: The statement as far as it is about this part.
        tables: The tables of this part alone.
        group: The group; empty for everybody.
        period: The period; empty for all records.
    """

    name: str
    statement: Statement
    tables: Mapping[str, Rows]
    group: str = ""
    period: str = ""


def parts_of(statement: Statement, tables: Mapping[str, Rows]) -> list[Part]:
    """The parts of a release; itself where it is about everybody."""
    about, hidden = statement.answer.about, statement.answer.hidden_groups
    if hidden is not None:
        when = f", {about.reads}" if about is not None and about.reads else ""
        return [Part(f"{label}{when}", statement, _own(tables, label)) for label in hidden.labels]
    if about is None:
        return [Part(statement.name, statement, tables)]
    if not about.groups:
        return [Part(about.reads, statement, drawn(statement, tables), period=about.reads)]
    results = []
    for facts in about.groups:
        told = structs.replace(statement, answer=facts.answer, people=facts.people, error=facts.error)
        name = f"{facts.group}, {about.reads}" if about.reads else facts.group
        own = drawn(told, _own(tables, facts.group))
        results.append(Part(name, told, own, facts.group, about.reads))
    return results


def _own(tables: Mapping[str, Rows], label: str) -> dict[str, Rows]:
    """The rows of one group, without its name; tables about all groups are left out."""
    own = {name: [_without(row) for row in rows if row.get(GROUP) == label] for name, rows in tables.items()}
    return {name: rows for name, rows in own.items() if rows}


def common_scale(parts: Sequence[Part]) -> Readings | None:
    """What pictures of all parts share: none where they have no values alike."""
    try:
        known = [part for part in parts if any(row.get("determined", True) for row in part.tables["values"])]
        every = [readings_of(part.statement, part.tables) for part in known]
    except ParameterError:
        return None  # one of them has nothing to draw, and says so itself
    return Readings.together(every) if len({one.unit for one in every}) == 1 else None


def _without(row: TableRow) -> TableRow:
    return {name: value for name, value in row.items() if name != GROUP}


def together(scope: Scope | None, paid: Sequence[tuple[Window | None, float]]) -> float:
    """What releases about these windows cost together at a promise, rounded up (docs/proofs/scopes.md, corollary).

    >>> october, november = Window.parse("2026-10"), Window.parse("2026-11")
    >>> together(Scope.parse("any month"), [(october, 0.5), (november, 0.25)])
    0.5
    >>> round(together(Scope.parse("every month"), [(october, 0.5), (november, 0.25)]), 9)
    0.75
    """
    whole, cells = 0.0, dict[str, float]()
    for reads, epsilon in paid:
        met = {} if scope is None or reads is None else exposure(scope, Fraction(1), None, reads=reads).cells
        if not met:
            whole = added(whole, epsilon)
        for label, part in met.items():
            cells[label] = added(cells.get(label, 0.0), epsilon * float(part))
    for epsilon in nlargest(len(cells) if scope is None or scope.periods is None else scope.periods, cells.values()):
        whole = added(whole, epsilon)
    return whole


def added(a: float, b: float) -> float:
    """The sum, rounded up."""
    return b if a == 0.0 else math.nextafter(a + b, math.inf)


def series_section(
    title: str, parts: Sequence[Part], draw: Callable[[Part, int], Figure], *, in_time: bool, sentence: str = ""
) -> Section:
    """Several parts of one answer: a line or points with intervals where each has one value, else small multiples."""
    single = all(len(part.tables["values"]) == 1 for part in parts)
    if single and all(bounds_of(part.statement.answer, part.tables).low is not None for part in parts):
        return _of_numbers(title, parts, in_time, sentence)
    known = [part for part in parts if any(row.get("determined", True) for row in part.tables["values"])]
    lost = [part.name for part in parts if part not in known]
    # A row for each group, its periods side by side.
    ranks = {group: k for k, group in enumerate(dict.fromkeys(part.group for part in parts))}
    ordered = sorted(known, key=lambda part: ranks[part.group])
    pictures = [Picture(draw(part, SMALL), part.name) for part in ordered[:_MOST_MULTIPLES]]
    more = len(known) - len(pictures)
    left = [f"{more:,} more are in the tables."] if more else []
    left += [f"Not determined, because they may hold no records: {', '.join(lost)}."] if lost else []
    return Section(
        title, left, pictures, _whole_table(parts), sentence=f"{sentence} All pictures have one scale.".strip()
    )


def series_figure(releases: Sequence[Release], width: int = WIDE) -> Figure | None:
    """One picture of one number for each period or group of several releases; None where it cannot be one."""
    parts = [part for release in releases for part in parts_of(release.statement, release.tables)]
    single = len(parts) > 1 and all(len(part.tables["values"]) == 1 for part in parts)
    if not single or any(bounds_of(part.statement.answer, part.tables).low is None for part in parts):
        return None
    in_time = len(parts) == len(releases)
    ordered = sorted(parts, key=lambda part: part.name) if in_time else parts
    return _of_numbers("", ordered, in_time, "").pictures[0].figure


def _of_numbers(title: str, parts: Sequence[Part], in_time: bool, error: str) -> Section:
    facts = parts[0].statement.answer
    unit = unit_of(facts, parts[0].tables["values"], kind_of(parts[0].statement).traits.of_shares)
    values = [float(values_of(part.tables["values"])[0]) for part in parts]
    bounds = [bounds_of(part.statement.answer, part.tables) for part in parts]
    low = [float(one.low[0]) for one in bounds if one.low is not None]
    high = [float(one.high[0]) for one in bounds if one.high is not None]
    names = [part.name for part in parts]
    shown = parts[0].statement.released
    periods, groups = {part.period for part in parts} - {""}, [part.group for part in parts]
    lines = len(periods) > 1 and len(set(groups)) > 1
    across = [part.period for part in parts] if lines else names
    style: dict[str, Any] = {"unit": unit, "joined": in_time or lines, "groups": groups if lines else None}

    def figure(width: int) -> Figure:
        return intervals(across, values, low, high, title=shown[:1].upper() + shown[1:], width=width, **style)

    def of_group(group: str) -> Figure:
        own = [k for k, other in enumerate(groups) if other == group]
        when, (value, start, end) = [across[k] for k in own], ([side[k] for k in own] for side in (values, low, high))
        heading, whole = f"{shown[:1].upper()}{shown[1:]}: {group}", (min(low), max(high))
        of_one: dict[str, Any] = {"unit": unit, "joined": True, "width": SMALL, "height": 200}
        return intervals(when, value, start, end, title=heading, span=whole, **of_one)

    wide = figure(WIDE)
    pictures = [Picture(wide, wide.description, figure(NARROW))]
    if lines and len(set(groups)) > _MOST_LINES:  # colours and dashes tell no more lines apart
        pictures = [Picture(of_group(group), group) for group in dict.fromkeys(groups)]
        error = f"{error} All pictures have one scale.".strip()
    additive = all("half_width_95" in part.tables["values"][0] for part in parts)
    at_once = len({id(part.statement) for part in parts}) == 1 and facts.hidden_groups is not None
    sentence = differences(names, values, low, high, additive=additive, at_once=at_once)
    return Section(
        title,
        (),
        pictures,
        _table(names, values, low, high, unit),
        sentence,
        sentence=error,
    )


def differences(
    names: Sequence[str],
    values: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    additive: bool,
    at_once: bool = False,
) -> list[str]:
    """Which values differ by more than the noise, and how sure that is of all comparisons together.

    Additive noise has a density that is log-concave and symmetric, so that -log P(abs(Z) > t) is convex and 0 at 0:
    what is exceeded with probability 0.05/k is at most log(20 k)/log(20) times what is exceeded with 0.05. Intervals
    that are wider by this hold all k at once with 95 % (the union bound), and where two do not meet the values differ
    (docs/proofs/differences.md).
    Intervals that hold ``at_once`` are taken as they are.

    >>> differences(["a", "b"], [1.0, 9.0], [0.5, 8.5], [1.5, 9.5], additive=True)[0]
    'Differences larger than the noise: a and b. All comparisons together hold with probability 95 %.'
    """
    count = len(names)
    if count < 2:
        return []
    wider = math.log(count / _ALL) / math.log(1.0 / _ALL) if additive and not at_once else 1.0
    ends = [
        (value - wider * (value - a), value + wider * (b - value)) if math.isfinite(value) else (a, b)
        for value, a, b in zip(values, low, high, strict=True)
    ]
    apart = [
        f"{names[i]} and {names[j]}"
        for i, j in combinations(range(count), 2)
        if ends[i][1] < ends[j][0] or ends[j][1] < ends[i][0]
    ]
    pairs = count * (count - 1) // 2
    if additive or at_once:
        sure = "All comparisons together hold with probability 95 %."
    else:
        sure = (
            f"The 95 % intervals of these pairs do not overlap: each pair alone is wrong with probability at most 10 "
            f"%, and of the {pairs:,} pairs that were compared some may be wrong by chance."
        )
    if not apart:
        return ["No two values differ by more than the noise."]
    listed = "; ".join(apart[:_MOST_PAIRS])
    more = f"; and {len(apart) - _MOST_PAIRS:,} more pairs" if len(apart) > _MOST_PAIRS else ""
    same = "" if len(apart) == pairs else " The differences of all others may be noise."
    return [f"Differences larger than the noise: {listed}{more}. {sure}{same}"]


def _table(
    names: Sequence[str], values: Sequence[float], low: Sequence[float], high: Sequence[float], unit: str
) -> ReportTable:
    rows = [
        [
            name,
            within(value, a, b, unit, zeros=True) if math.isfinite(value) else "not determined",
            between(a, b, unit, zeros=True),
        ]
        for name, value, a, b in zip(names, values, low, high, strict=True)
    ]
    return ReportTable(["part", "value", "95 % interval"], rows, numeric=(1, 2), total=len(rows))


def _whole_table(parts: Sequence[Part]) -> ReportTable:
    """All rows of all parts, the part in a column of its own."""
    rows = [{"part": part.name, **row} for part in parts for row in part.tables["values"]]
    heads = list(rows[0])
    shown = [[_cell(row.get(name)) for name in heads] for row in rows[:MOST_ROWS]]
    whole = csv_text(rows) if len(rows) <= MOST_ROWS * 8 else None
    return ReportTable(heads, shown, numeric=(), caption="All values", total=len(rows), csv=whole)


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
