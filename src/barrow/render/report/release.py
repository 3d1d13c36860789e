"""The report of releases: from statements and tables, and from plans where they are at hand, to what a report says."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from barrow.accounting import epsilon_at
from barrow.errors import ParameterError
from barrow.numerics import exact
from barrow.numerics.exact import within
from barrow.promises import Scope, event_from_json, guarantee_from_json, odds_upper
from barrow.questions import Answer, Collected
from barrow.questions.merging import REGIONS
from barrow.questions.noise_words import off_words
from barrow.questions.plan_text import warnings
from barrow.questions.statement import Statement
from barrow.questions.value_tables import (
    Bounds,
    Rows,
    bounds_of,
    counted_rows,
    names_of,
    quantile_words,
    unit_of,
    values_of,
)
from barrow.render.figures import Figure, at_most, bars, between, near
from barrow.render.figures.readings import Readings
from barrow.render.item_figures import item_names
from barrow.render.layers import layers_of
from barrow.render.promises import belief_figure
from barrow.render.released import values_figure
from barrow.render.report.accuracy import accuracy_of
from barrow.render.report.headings import Released, error_sentence, glance, lead_of, own_intervals, title_of
from barrow.render.report.merged import STANDS, placed_names, region_table, sure_items
from barrow.render.report.page import MOST_ROWS, Learnt, Picture, ReportPage, ReportTable, Section, report_html
from barrow.render.report.series import Part, added, common_scale, parts_of, series_section, together
from barrow.spaces import Space
from barrow.study.outputs import csv_text
from barrow.study.prose import kind_of, statement_lines
from barrow.study.statement import window_read

WIDE, NARROW = 720, 360
_MOST = 250_000
"""Beyond so many values nothing is drawn: the table has the largest."""
_MANY = 30_000
"""Beyond so many values a map is drawn once: twice would double the page."""
_APART = 3
"""Of so many releases each has a line of its own to verify it."""
_FRACTION = re.compile(r"-?\d{9,}/\d+|-?\d+/\d{9,}")


def release_files(statement: Statement, tables: Mapping[str, Rows], plan: Answer) -> dict[str, bytes]:
    """``report.html`` for a release that is being made: what every release writes beside its values.

    >>> from barrow.study.rehearsal import rehearse
    >>> rehearse([release_files])  # on a public dummy
    """
    page = report_html(release_report([Released(statement, tables, plan=plan)]))
    return {"report.html": page.encode()}


def release_report(
    releases: Sequence[Released], *, outline: Any = None, thorough: bool = False, **more: Any
) -> ReportPage:
    """What a report says about one or several releases of a study.

    ``outline`` is GeoJSON for maps instead of the bundled coasts; ``thorough`` compares with what takes long to plan;
    ``more`` are further parts of the :class:`ReportPage`.
    """
    if not releases:
        raise ParameterError("There is no release.", allowed="one or more", fix="barrow report FOLDER")
    about = {(r.statement.dataset, r.statement.people) for r in releases}
    if len(about) > 1:
        raise ParameterError(
            "The releases are about different data sets.", allowed="releases about one data set", fix="one report each"
        )
    first, several = releases[0].statement, len(releases) > 1
    learnt, worst = _learnt(releases)
    texts, pictures = ([], []) if several else accuracy_of(releases[0].plan, thorough=thorough)
    spent = "" if several else "" if first.ledger is None else f" (entry {first.ledger.entry} of the ledger)"
    return ReportPage(
        title_of(releases),
        lead_of(releases),
        kicker=" · ".join(["Privacy-preserving release", *_kicker(first, several), first.library]),
        glance=glance(releases, learnt),
        answers=_sections(releases, several, outline),
        learnt=learnt,
        belief=None if several else _belief(first, worst),
        accuracy_text=texts,
        accuracy=pictures,
        technical=_technical(releases),
        parameters=[pair for r in releases for pair in _parameters(r, several)],
        **{
            "warnings": [w for r in releases for w in _warnings(r)],
            "budget": _budget(releases),
            "budget_text": [f"Releases about the same people add up. {_cap(_price(releases))}{spent}."],
            "commands": _commands(releases),
            **more,
        },
    )


def collected_report(result: Collected, *, outline: Any = None) -> ReportPage:
    """What a report says about the values of people's own reports: that of a release, without a ledger."""
    page = release_report([Released(result.statement, result.tables, plan=result.plan)], outline=outline)
    warnings = [result.warning] if result.warning else []
    told = [note for note in result.notes if note not in (result.warning, *page.technical)]
    return replace(
        page,
        kicker=page.kicker.replace("release", "results of people's own reports", 1),
        warnings=[*warnings, *page.warnings],
        technical=[*page.technical, *told],
        budget=None,
        budget_text=(),
        commands=(),
    )


def _commands(releases: Sequence[Released]) -> list[str]:
    """What to type to verify: a page that lies in the folder of its release names that folder ``.``."""
    here = [] if any(released.folder for released in releases) else ["# in the folder of this page"]
    folders = [released.folder or "." for released in releases]
    if len(folders) > _APART:
        return [*here, f"barrow verify {' '.join(folders)}", f"barrow explain {folders[0]}"]
    return here + [line for folder in folders for line in (f"barrow verify {folder}", f"barrow explain {folder}")]


def _kicker(first: Statement, several: bool) -> list[str]:
    entry = [] if several or first.ledger is None else [f"ledger entry {first.ledger.entry}"]
    return [*([f"data set {first.dataset}"] if first.dataset else []), *entry]


def _learnt(releases: Sequence[Released]) -> tuple[list[Learnt], float]:
    """What can be learnt from all releases together: epsilons of one promise add up."""
    rows = {row.changed: _together(releases, row.changed) for r in releases for row in r.statement.protected}
    everywhere = [{row.changed for row in r.statement.protected} for r in releases]
    common = [words for words in rows if all(words in result for result in everywhere)]
    worst = delta = last = 0.0
    for released in releases:
        worst = added(worst, released.statement.worst_case.epsilon)
        delta = added(delta, released.statement.delta)
        last = added(last, released.statement.worst_case.delta)
    learnts = [Learnt(words, odds_upper(rows[words], delta)) for words in common]
    learnts.append(Learnt("everything about one person had been different", odds_upper(worst, last), worst=True))
    return learnts, worst


def _together(releases: Sequence[Released], changed: str) -> float:
    """What releases cost together at a promise: in any one month those about that month, else all of them."""
    paid, scope = [], None
    for released in releases:
        reads, rows = window_read(released.statement), released.statement.protected
        told = msgspec.convert(released.statement.parameters.get("promises", []), list[list[str]])
        promises = told if len(told) == len(rows) else [[] for _ in rows]  # a plan names none
        for row, promise in zip(rows, promises, strict=True):
            if row.changed == changed:
                paid.append((reads, row.epsilon))
                scope = Scope.parse(promise[3]) if len(promise) > 3 else None
    return together(scope, paid)


def _sections(releases: Sequence[Released], several: bool, outline: Any) -> list[Section]:
    """A section for each release; for each question where there are several periods or groups of it."""
    results, by_name = [], dict[str, list[Released]]()
    for released in releases:
        by_name.setdefault(released.statement.name, []).append(released)
    for same in by_name.values():
        parts = [part for released in same for part in parts_of(released.statement, released.tables)]
        if len(parts) == len(same) == 1 or (len(parts) == len(same) and any(not r.reads for r in same)):
            results += [_answer(released, several, outline) for released in same]
            continue
        where, scale = same[0].where, common_scale(parts)

        def draw(part: Part, width: int, where: Space | None = where, scale: Readings | None = scale) -> Figure:
            style = {"title": part.name, "width": width, "outline": outline, "scale": scale}
            return values_figure(part.statement, part.tables, where, **style)

        in_time = len(parts) == len(same)
        title = _heading(same[0]) if len(by_name) > 1 else "The answer"
        worst = max(same, key=lambda released: released.statement.error or 0.0)
        sentence = error_sentence(worst, parts=len(parts))
        results.append(series_section(title, parts, draw, in_time=in_time, sentence=sentence))
    return results


def _heading(released: Released) -> str:
    return released.statement.title or _cap(released.statement.name.replace("_", " ")) + released.by


def _answer(released: Released, several: bool, outline: Any) -> Section:
    statement, rows = released.statement, counted_rows(released.tables["values"])

    layers = layers_of(released.plan, statement.answer, released.tables)

    def draw(width: int) -> Any:
        return values_figure(statement, released.tables, released.where, width=width, outline=outline, layers=layers)

    bounds = bounds_of(statement.answer, released.tables)
    title = _heading(released) if several else "The answer"
    text = [f"{_cap(statement.released)}."] if several else []
    sentence = error_sentence(released)
    table = _table(released, rows, bounds)
    if len(rows) > _MOST:
        much = f"There are {len(rows):,} values, too many to draw: the table has the largest."
        return Section(title, [*text, much], table=table, certainty=_sure(released, bounds), sentence=sentence)
    if not any(row.get("determined", True) for row in rows):
        return Section(title, [*text, "The noise is too large to determine any value."], table=table)
    wide = draw(WIDE)
    narrow = draw(NARROW) if len(rows) <= _MANY else None
    caption = wide.description
    if bounds.low is not None and bounds.regions is None and len(rows) > 1:
        shades = " Cells whose shades differ by two steps really differ; one step may be noise."
        caption += shades if "map" in wide.svg[:400] and 'class="cell' in wide.svg else ""
    pictures = [Picture(wide, caption, narrow)]
    regions = region_table(released.tables, released.where) if REGIONS in released.tables else None
    return Section(title, text, pictures, table, _sure(released, bounds), regions, sentence)


def _sure(released: Released, bounds: Bounds) -> list[str]:
    statement, facts, texts = released.statement, released.statement.answer, []
    shares = kind_of(statement).traits.of_shares or facts.shares
    unit = "%" if shares else facts.unit
    if facts.histogram is not None:
        result = facts.histogram
        texts.append(off_words(statement, result.emd_predicted, result.emd_most))
        texts += sure_items(result, statement.unit, bounds)
        texts += quantile_words(released.tables.get("quantiles", []))
    elif facts.frequency is not None and bounds.low is not None:
        texts.append(
            f"{STANDS} Variances are estimated from the reports, so this holds approximately and is not proved."
        )
    elif own_intervals(released):
        alone = "Each interval holds" if facts.share_half_width_95 is not None else "All intervals hold at once"
        many = alone if len(released.tables["values"]) > 1 else "The interval holds"
        texts.append(f"{many} with probability 95 %: computed from the released values.")
    elif facts.half_width_95 is not None:
        each, every = facts.half_width_95, facts.half_width_95_all
        which = "Each value" if facts.outputs > 1 else "The value"
        texts.append(f"{which} is within ± {at_most(each, unit)} of the true one with probability 95 %.")
        if every is not None and facts.outputs > 1:
            texts.append(f"All {facts.outputs:,} at once are within ± {at_most(every, unit)} (95 %).")
    if facts.snapping and not facts.snapping_included and not shares:
        texts.append(f"Snapping records to the grid may move a value by up to {at_most(facts.snapping, unit)} more.")
    return texts


def _table(released: Released, rows: Rows, bounds: Bounds) -> ReportTable:
    facts = released.statement.answer
    unit = unit_of(facts, rows, kind_of(released.statement).traits.of_shares)
    values = values_of(rows)
    order = np.argsort(-values, kind="stable")[:MOST_ROWS].tolist() if len(rows) > 24 else list(range(len(rows)))
    digits = 12 if unit == "reports" else 4
    limits = facts.histogram is not None or facts.frequency is not None
    names = dict(zip(order, _names(released, rows, order), strict=True))
    shown = []
    for i in order:
        known = math.isfinite(values[i])
        value = near(float(values[i]), unit, digits=digits, zeros=unit != "reports") if known else "not determined"
        cells = [names[i], value]
        if bounds.low is not None and bounds.high is not None:
            low = max(float(bounds.low[i]), 0.0) if unit == "%" else float(bounds.low[i])
            high = float(bounds.high[i])
            sure = math.isfinite(low) and math.isfinite(high)
            cells = [names[i], within(float(values[i]), low, high, unit, zeros=True) if known and sure else value]
            cells.append(_ends(low, high, unit, limits) if sure else "not determined")
        shown.append(cells)
    heads = [
        "place" if "lat" in rows[0] else "item" if "item" in rows[0] else "value of",
        "value",
        *(["95 % interval"] if bounds.low is not None else []),
    ]
    whole = csv_text(released.tables["values"]) if len(rows) <= MOST_ROWS * 8 else None
    caption = "The largest values" if len(rows) > 24 else "All values"
    return ReportTable(heads, shown, numeric=range(1, len(heads)), caption=caption, total=len(rows), csv=whole)


def _ends(low: float, high: float, unit: str, limits: bool) -> str:
    """An interval; of a share that does not stand out its upper limit alone."""
    return f"at most {at_most(high, unit)}" if limits and low <= 0.0 else between(low, high, unit, zeros=True)


def _names(released: Released, rows: Rows, order: Sequence[int]) -> list[str]:
    """What some values are, as the picture calls them: places by the nearest city, cells by their ends."""
    if "lat" in rows[0] and "lon" in rows[0]:
        return placed_names([rows[i] for i in order], released.where)
    where = released.where
    inner = None if where is None else where.records_space
    if inner is not None and {"item", "report"} & rows[0].keys() and inner.size == len(rows):
        return item_names(inner, order)
    every = names_of(rows)
    return [every[i] for i in order]


def _belief(statement: Statement, worst: float) -> Picture | None:
    """What a 50 % guess can become, from the statement's numbers, each rounded up."""
    rows = statement.protected
    event = event_from_json(statement.event)
    delta = guarantee_from_json(statement.guarantee).definition.parameters["delta"]

    draw = belief_figure(
        rows,
        cost=None if statement.alpha is None else lambda share, reach: epsilon_at(event, share, reach, delta),
        worst=worst,
        unit=statement.unit,
        diameter=statement.diameter,
        delta=statement.worst_case.delta,
        snapping=statement.snapping,
        records=statement.records,
    )
    if draw is None:
        return None
    bars = "The numbers are the promises: the bar is the promised limit, the circle the limit that holds. "
    numbers = bars if rows else ""
    curve = "Each curve is for one share of a person's data. No curve passes the dashed line."
    return Picture(draw(WIDE), numbers + curve, draw(NARROW))


def _budget(releases: Sequence[Released]) -> Picture | None:
    """How much of every promise the releases use."""
    rows = [row for row in releases[0].statement.protected if row.epsilon_promised > 0]
    if not rows:
        return None
    used = []
    for row in rows:
        used.append(_together(releases, row.changed) / row.epsilon_promised)
    names = [f"{k}. if {row.changed}" for k, row in enumerate(rows, 1)]
    title = "What is used of every promise"

    def draw(width: int) -> Any:
        shown = names if width > NARROW else [f"promise {k}" for k in range(1, len(rows) + 1)]
        return bars(shown, [min(1.0, share) for share in used], title=title, width=width, labels_share=0.55)

    many = "These releases use" if len(releases) > 1 else "This release uses"
    return Picture(draw(WIDE), f"{many} this much of what each promise allows for all releases together.", draw(NARROW))


def _price(releases: Sequence[Released]) -> str:
    if len(releases) == 1:
        return f"this release cost {releases[0].statement.price}"
    told = Counter(f"{r.statement.name} cost {r.statement.price}" for r in releases)
    return "; ".join(f"{text} in each of {count} releases" if count > 1 else text for text, count in told.items())


def _warnings(released: Released) -> list[str]:
    texts = [released.statement.answer.warning] if released.statement.answer.warning else []
    plan = released.plan
    planned = [] if plan is None else warnings(plan)
    return [*(text for text in texts if not any(text in more for more in planned)), *planned]


def _technical(releases: Sequence[Released]) -> list[str]:
    """The statements in words; of several what they have in common once, and then what each has alone."""
    told = [list(filter(None, statement_lines(r.statement))) for r in releases]
    if len(told) == 1:
        return told[0]
    common = [line for line in told[0] if all(line in other for other in told)]
    own = [
        f"- {r.statement.name}{f', {r.reads}' if r.reads else ''}: {line}"
        for r, lines in zip(releases, told, strict=True)
        for line in lines
        if line not in common and line.startswith("Releases about")
    ]
    if len(releases) > _APART:
        entries = [str(r.statement.ledger.entry) for r in releases if r.statement.ledger is not None]
        own = [f"They are the entries {', '.join(entries)} of the ledger."] if entries else []
    return [*common, *own, "Each folder holds its whole statement in words, statement.txt."]


def _parameters(released: Released, several: bool) -> list[tuple[str, str]]:
    statement = released.statement
    before = f"{statement.name}: " if several else ""
    rows: list[tuple[str, str]] = [("definition", statement.definition), ("theorem", statement.theorem)]
    groups = {"noise": statement.answer.noise, "event": statement.event, "ledger": statement.ledger}
    for name, group in {**groups, "parameters": statement.parameters}.items():
        rows += _flat(name, msgspec.to_builtins(group) or {})
    rows.append(("space digest", statement.space_digest))
    return [(before + name, value) for name, value in rows if value not in ("", "None")]


def _flat(name: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        before = "" if name == "parameters" else f"{name} "
        return [pair for key, inner in value.items() for pair in _flat(name if key == name else before + key, inner)]
    text = _listed(value)
    if _FRACTION.fullmatch(text):
        text = f"{near(exact(text), digits=6)} (rounded; exactly {text})"
    return [(name, text if len(text) <= 400 else f"{text[:400]}…")]


def _listed(value: Any) -> str:
    if isinstance(value, list):
        return ("; " if any(isinstance(inner, list) for inner in value) else ", ").join(map(_listed, value))
    return str(value)


def _cap(text: str) -> str:
    return text[:1].upper() + text[1:]


def ledger_of(statement: Statement) -> str | None:
    """The ledger's file that a statement names, if it is there."""
    place = None if statement.ledger is None else statement.ledger.ledger
    return place if place and Path(place).is_file() else None
