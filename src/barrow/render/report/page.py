"""A report as one page of HTML: texts, tables and figures, checked, in the order in which a reader meets them.

In all texts ``**two stars**`` make bold; everything else is text and stays text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby

from barrow.errors import ParameterError
from barrow.numerics import exact
from barrow.render.figures import Figure, document, hundred, script, stylesheet
from barrow.render.figures.svg import escape, lawful

MOST_ROWS = 1000
MOST_CSV = 400_000
"""Letters of a table that are put into the page for saving; a longer file lies beside the report."""
_SHORT, _WHOLE = 12, 20
"""Of a table so many rows are shown at once; all of them where there are few."""
_LONG = 18
"""Words of more letters may be broken anywhere."""
_WIDE = 500
"""Figures of less than so many pixels stand side by side."""
_MANY = 3
"""A table of more columns may be scrolled sideways."""
_FIXED, _TO = "\u00a0", "\u00a0to\u00a0"
_BOLD = re.compile(r"\*\*(.+?)\*\*")
_UNIT = re.compile(r"(?<=\d) (?=(?:%|×|km|m|h|years?|hours?|days?|degrees|people)(?!\w))|(?<=[ε±α≤=]) (?=[=\d])")
"""Blanks within which no line ends: before a unit, about a sign."""


@dataclass(frozen=True)
class Picture:
    """A figure with its caption, and the same figure drawn for a phone.

    >>> from barrow.render.figures import bars
    >>> Picture(bars(["a"], [1], unit="km"), "Lengths.").caption
    'Lengths.'
    """

    figure: Figure
    caption: str = ""
    narrow: Figure | None = None


@dataclass(frozen=True)
class ReportTable:
    """Rows of texts; a long table is folded.

    Args:
        columns: Their names.
        rows: One text for each column.
        numeric: Which columns are numbers, to be aligned at the right.
        caption: What the rows are.
        total: How many rows there are in all, where only the first are given.
        csv: The whole table as a file that readers may save, as its exact text.
        name: What that file is called.

    >>> ReportTable(["place", "share"], [["Paris", "3 %"]], numeric=[1]).rows
    [['Paris', '3 %']]
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[int] = ()
    caption: str = "All values"
    total: int | None = None
    csv: str | None = None
    name: str = "values.csv"

    def __post_init__(self) -> None:
        """As many texts in each row as there are columns."""
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ParameterError(
                f"A row has another length than {len(self.columns)}.",
                allowed="a text for each column",
                fix="fill the row",
            )


@dataclass(frozen=True)
class Learnt:
    """What anyone can learn if something about one person had been different.

    Args:
        words: What had been different, e.g. "1 flight of 50 had been 1,000 km elsewhere".
        probability: What a 50 % guess can become at most, rounded up.
        worst: Whether this is the worst case; the others are numbered as in the figure.

    >>> Learnt("everything had been different", 0.693).probability
    0.693
    """

    words: str
    probability: float
    worst: bool = False

    def __post_init__(self) -> None:
        """Check the probability."""
        if not 0.5 <= self.probability <= 1:
            raise ParameterError(f"probability is {self.probability}.", allowed="from 0.5 to 1", fix="probability=0.6")


@dataclass(frozen=True)
class Section:
    """One answer: what it is, its pictures, its values, and how sure they are.

    Args:
        title: The heading, where there are several answers.
        text: Sentences before the pictures.
        pictures: The pictures; several of one size stand side by side.
        sentence: One sentence below them: how far off this is.
        certainty: More about how sure the values are.
        regions: What stands out together.
        table: The values.

    >>> Section("The map", ["Shares of visits."]).title
    'The map'
    """

    title: str
    text: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    table: ReportTable | None = None
    certainty: Sequence[str] = ()
    regions: ReportTable | None = None
    sentence: str = ""


@dataclass(frozen=True)
class ReportPage:
    """All that a report says. What is empty is left out, so plans, comparisons and ledgers use the same page.

    Args:
        title: The heading.
        lead: One or two sentences below it: what this is about.
        kicker: A few words above it.
        glance: Questions that a member of the public asks, with their answers.
        answers: What was released.
        learnt: What anyone can learn about one person, for each promise and in the worst case.
        belief: The figure that goes with it.
        accuracy: Figures of privacy against accuracy, of errors by the number of people.
        accuracy_text: Sentences before them.
        budget: The ledger over time.
        budget_text: Sentences before it.
        entries: The ledger's entries.
        warnings: What must not be overlooked.
        technical: The technical statement, in paragraphs.
        parameters: Every parameter with its value.
        commands: What to type next.
        commands_title: What that is for.

    >>> ReportPage("Where people went", "The share of visits near each place.").title
    'Where people went'
    """

    title: str
    lead: str = ""
    kicker: str = "Privacy-preserving release"
    glance: Sequence[tuple[str, str]] = ()
    answers: Sequence[Section] = ()
    learnt: Sequence[Learnt] = ()
    belief: Picture | None = None
    accuracy: Sequence[Picture] = ()
    accuracy_text: Sequence[str] = ()
    budget: Picture | None = None
    budget_text: Sequence[str] = ()
    entries: ReportTable | None = None
    warnings: Sequence[str] = ()
    technical: Sequence[str] = ()
    parameters: Sequence[tuple[str, str]] = ()
    commands: Sequence[str] = ()
    commands_title: str = "How to verify this"


def report_html(report: ReportPage) -> str:
    """The report as one HTML file: strict content policy inside, complete without scripts, the same bytes every time.

    >>> page = report_html(ReportPage("A map", glance=[("Are the numbers exact?", "No: **they are noisy**.")]))
    >>> "<h1" in page, "<b>they are noisy</b>" in page, "default-src 'none'" in page
    (True, True, True)
    """
    several = len(report.answers)
    sections = [
        *(_answer(answer, k, several) for k, answer in enumerate(report.answers)),
        _learnt(report),
        *(_values(answer, k, several) for k, answer in enumerate(report.answers)),
        _accuracy(report),
        _budget(report),
        _technical(report),
    ]
    body = f"{_header(report)}{_contents(report)}<main>{''.join(sections)}</main>"
    css = stylesheet() + _resource("report.css")
    return document(lawful(report.title), body, css=css, js=script() + _resource("report.js"))


@cache
def _resource(name: str) -> str:
    return files("barrow.render.report").joinpath(name).read_text(encoding="utf-8")


def _text(value: str) -> str:
    """Text as HTML: escaped, bold where two stars ask for it, and no line between a number and its sign."""
    subset = escape(_UNIT.sub("\u00a0", value))
    return _BOLD.sub(r"<b>\1</b>", subset) if "**" in subset else subset


def _paragraphs(texts: Iterable[str]) -> str:
    """Texts one after the other; those that begin with a dash are a list."""
    parts = []
    for listed, group in groupby(texts, key=lambda text: text.startswith("- ")):
        if listed:
            items = "".join(f'<li dir="auto">{_text(text[2:])}</li>' for text in group)
            parts.append(f'<ul class="list">{items}</ul>')
        else:
            parts += [f'<p dir="auto">{_text(text)}</p>' for text in group]
    return "".join(parts)


def _section(key: str, title: str, *parts: str) -> str:
    inner = "".join(parts)
    if not inner:
        return ""
    return f'<section aria-labelledby="{key}"><h2 id="{key}" dir="auto">{_text(title)}</h2>{inner}</section>'


def _header(report: ReportPage) -> str:
    kicker = f'<p class="dim">{_text(report.kicker)}</p>' if report.kicker else ""
    lead = f'<p class="lead" dir="auto">{_text(report.lead)}</p>' if report.lead else ""
    warnings = "".join(f'<p class="warning" dir="auto">{_text(text)}</p>' for text in dict.fromkeys(report.warnings))
    return f'<header>{kicker}<h1 dir="auto">{_text(report.title)}</h1>{lead}{warnings}</header>'


def _contents(report: ReportPage) -> str:
    """Links within the page, where it has several answers."""
    if len(report.answers) < 2:
        return ""
    links = "".join(
        f'<li><a href="#answer-{k + 1}" dir="auto">{_text(a.title)}</a></li>' for k, a in enumerate(report.answers)
    )
    return f'<nav aria-label="Answers"><ol>{links}</ol></nav>'


def _glance(report: ReportPage) -> str:
    rows = "".join(f'<dt>{_text(q)}</dt><dd dir="auto">{_text(a)}</dd>' for q, a in report.glance)
    return f'<dl class="card">{rows}</dl>' if rows else ""


def _answer(answer: Section, k: int, count: int) -> str:
    """The picture and one sentence; the heading of a single answer is the page's own and is only heard."""
    key = f"answer-{k + 1}" if count > 1 else "answer"
    error = f'<p class="lead" dir="auto">{_text(answer.sentence)}</p>' if answer.sentence else ""
    alone = len(answer.pictures) == 1
    shown = _picture(answer.pictures[0], error) if alone else "".join(map(_picture, answer.pictures))
    many = len(answer.pictures) > 1 and len({picture.figure.width for picture in answer.pictures}) == 1
    grid = f'<div class="multiples">{shown}</div>' if many and answer.pictures[0].figure.width < _WIDE else shown
    inner = f"{_paragraphs(answer.text)}{grid}{'' if alone else error}"
    kind = "" if count > 1 else ' class="heard"'
    heading = f'<h2 id="{key}"{kind} dir="auto">{_text(answer.title)}</h2>'
    return f'<section aria-labelledby="{key}">{heading}{inner or "<p>No values are shown.</p>"}</section>'


def _values(answer: Section, k: int, count: int) -> str:
    """The values as tables, and how sure they are."""
    key = f"values-{k + 1}" if count > 1 else "values"
    return _section(
        key,
        f"{answer.title}: the values" if count > 1 else "The values",
        _paragraphs(answer.certainty),
        "" if answer.regions is None else _table(answer.regions, f"{key}-regions"),
        "" if answer.table is None else _table(answer.table, key),
    )


def _learnt(report: ReportPage) -> str:
    cards = []
    for k, learnt in enumerate(report.learnt):
        most = math.ceil(exact(learnt.probability) * 100)
        number = "Worst case" if learnt.worst else str(k + 1)
        dots = hundred(learnt.probability, title=f"{number}: 50 in 100 become at most {most} in 100")
        words = (
            f'<p dir="auto"><b>{number}.</b> If <b>{_text(learnt.words)}</b>: of 100 people who would otherwise toss a '
            f"coin, 50 guess right without this release, at most <b>{most}</b> with it.</p>"
        )
        cards.append(f"<div>{words}{dots.svg}</div>")
    text = f'<div class="learnt">{"".join(cards)}</div>' if cards else ""
    return _section("learnt", "What anyone can learn about one person", _glance(report), text, _maybe(report.belief))


def _accuracy(report: ReportPage) -> str:
    pictures = "".join(map(_picture, report.accuracy))
    return _section("accuracy", "Privacy against accuracy", _paragraphs(report.accuracy_text), pictures)


def _budget(report: ReportPage) -> str:
    table = "" if report.entries is None else _table(report.entries, "entries")
    return _section("budget", "The budget", _paragraphs(report.budget_text), _maybe(report.budget), table)


def _technical(report: ReportPage) -> str:
    rows = "".join(
        f'<tr><th scope="row" dir="auto">{_text(name)}</th><td{_broken(value)} dir="auto">{_text(value)}</td></tr>'
        for name, value in report.parameters
    )
    table = f'<div class="scroll"><table class="parameters"><tbody>{rows}</tbody></table></div>' if rows else ""
    folded = (
        f"<details><summary>Every parameter: {len(report.parameters):,} rows</summary>{table}</details>" if rows else ""
    )
    lines = "\n".join(escape(line) for line in report.commands)
    commands = f'<h3>{_text(report.commands_title)}</h3><pre tabindex="0"><code>{lines}</code></pre>' if lines else ""
    name = "Technical statement" if report.technical or rows else "Next"
    return _section("technical", name, _paragraphs(report.technical), commands, folded)


def _maybe(picture: Picture | None) -> str:
    return "" if picture is None else _picture(picture)


def _picture(picture: Picture, sentence: str = "") -> str:
    """A figure and what is said of it; on a narrow screen its own drawing, or a box to scroll in.

    Texts keep their size either way. What stands among others as small is drawn once.
    """
    caption = f'<figcaption dir="auto">{_text(picture.caption)}</figcaption>' if picture.caption else ""
    if picture.narrow is None:
        kept = "scroll keep" if picture.figure.width > _WIDE else "small"
        return f'<figure><div class="{kept}">{picture.figure.svg}</div>{sentence}{caption}</figure>'
    wide, narrow = f'<div class="wide">{picture.figure.svg}</div>', f'<div class="narrow">{picture.narrow.svg}</div>'
    return f"<figure>{wide}{narrow}{sentence}{caption}</figure>"


def _table(table: ReportTable, key: str) -> str:
    """The first rows at once, all of them folded; the whole as a file to save where it is not too long."""
    rows, total, file = table.rows, table.total or len(table.rows), escape(table.name)
    first = rows if total <= _WHOLE else rows[:_SHORT]
    caption = table.caption if len(first) == total else f"{table.caption}: the first {len(first)}"
    parts = [_grid(table, first, caption)]
    if len(table.columns) > _MANY:
        parts = [f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">{parts[0]}</div>']
    if len(rows) > len(first):
        shown = rows[:MOST_ROWS]
        many = f"{len(shown):,} of {total:,} rows" if len(shown) < total else f"{total:,} rows"
        name = f"{table.caption}: {many}"
        inner = f'<div class="scroll tall" tabindex="0" role="region" aria-label="{escape(name)}">'
        parts.append(f"<details><summary>{_text(name)}</summary>{inner}{_grid(table, shown, name)}</div></details>")
    if total > min(len(rows), MOST_ROWS):
        parts.append(f'<p class="dim">All {total:,} rows are in {file} beside this page.</p>')
    if table.csv is not None and len(table.csv) <= MOST_CSV:
        data = json.dumps(table.csv).replace("<", "\\u003c")
        button = f'<button type="button" data-save="{key}-csv" data-name="{file}">Save {file}</button>'
        parts.append(f'<p class="tools" hidden>{button}</p>')
        parts.append(f'<script type="application/json" id="{key}-csv">{data}</script>')
    return "".join(parts)


def _broken(cell: str) -> str:
    """The class of a cell with a word that no column has room for."""
    return ' class="long"' if max(map(len, cell.split()), default=0) > _LONG else ""


def _grid(table: ReportTable, rows: Sequence[Sequence[str]], caption: str) -> str:
    def kind(k: int) -> str:
        return ' class="number"' if k in table.numeric else ""

    head = "".join(f'<th scope="col"{kind(k)} dir="auto">{_text(name)}</th>' for k, name in enumerate(table.columns))

    def cells(row: Sequence[str]) -> str:
        return "".join(
            [
                f'<td class="number" dir="auto">{_text(cell).replace(" ", _FIXED).replace(_TO, " to ")}</td>'
                if k in table.numeric
                else f'<td{_broken(cell)} dir="auto">{_text(cell)}</td>'
                for k, cell in enumerate(row)
            ]
        )

    body = "".join([f"<tr>{cells(row)}</tr>" for row in rows])
    return f"<table><caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
