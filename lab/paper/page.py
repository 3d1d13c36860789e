"""The rows as plain data, as ``docs/paper.md`` and as one HTML file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from barrow.render.figures import Curve, loglog
from barrow.render.report import Picture, ReportPage, ReportTable, Section, report_html
from lab.paper.registry import CORRECTED, HOLDS, OPEN, UNSAFE, VACUOUS, VERDICTS, Plot, Result

_TITLE = "The paper, row by row"
_SOURCE = (
    "Imola, Roy Chowdhury and Chaudhuri, “Metric Differential Privacy at the User-Level via the Earth Mover's "
    "Distance” (CCS 2024)"
)
_LEAD = (
    f"Every definition, algorithm, theorem, table, example and numeric claim of {_SOURCE}, measured by the code of "
    "this package. A verdict is computed from the measurement, never written down."
)


def to_json(results: Sequence[Result], *, quick: bool = False) -> dict[str, Any]:
    """Plain data of all rows.

    >>> from lab.paper.registry import reproduce
    >>> to_json([reproduce("ex:earth")])["rows"][0]["label"]
    'ex:earth'
    """
    rows = [result.to_json() for result in results]
    return {"paper": _SOURCE, "quick": quick, "verdicts": verdicts(rows), "rows": rows}


def verdicts(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many rows came to each verdict."""
    counter = Counter(row["verdict"] for row in rows)
    return {verdict: counter[verdict] for verdict in VERDICTS if counter[verdict]}


def summary(data: Mapping[str, Any]) -> str:
    """How many rows came to what.

    >>> summary({"rows": [], "verdicts": {"holds": 2, "open": 1}})
    '2 hold, 1 open'
    """
    words = {HOLDS: "hold", CORRECTED: "hold corrected", UNSAFE: "are unsafe", VACUOUS: "vacuous", OPEN: "open"}
    return ", ".join(f"{count} {words[verdict]}" for verdict, count in data["verdicts"].items())


def markdown(data: Mapping[str, Any]) -> str:
    """The page ``docs/paper.md``.

    >>> from lab.paper.registry import reproduce
    >>> markdown(to_json([reproduce("ex:earth")])).splitlines()[0]
    '# The paper, row by row'
    """
    rows, absent = data["rows"], ", ".join(f"`{label}`" for label in data.get("missing", []))
    lines = [
        f"# {_TITLE}",
        "",
        f"{_LEAD} {len(rows)} rows: {summary(data)}.",
        "",
        "`scripts/paper` measures them all, `scripts/paper LABEL` shows one with its computation, `--quick` draws less "
        "in simulations, `--json` and `--html` write them down. This page is made by `scripts/paper --write docs`; a "
        "test fails when a number of it drifts.",
        "",
        *([f"Not on this page yet, `scripts/paper LABEL` measures them: {absent}.", ""] if absent else []),
        "| verdict | means |",
        "|---|---|",
        *(f"| **{verdict}** | {meaning} |" for verdict, meaning in VERDICTS.items()),
        "",
        "## All rows",
        "",
        "| where | label | verdict |",
        "|---|---|---|",
        *(
            f"| {_text(row['place'])} | [`{row['label']}`](#{_anchor(row['label'])}) | {row['verdict']} |"
            for row in rows
        ),
        "",
    ]
    for row in rows:
        lines += _section(row)
    return "\n".join(lines).rstrip() + "\n"


def _section(row: Mapping[str, Any]) -> list[str]:
    lines = [
        f'<a id="{_anchor(row["label"])}"></a>',
        "",
        f"## {row['place']}: {row['verdict']}",
        "",
        f"`{row['label']}`",
        "",
        f"*The paper:* {_text(row['claim'])}",
        "",
        f"*Measured:* {_text(row['measured'])}",
        "",
    ]
    for table in row["tables"]:
        lines += [
            f"{table['title']}:",
            "",
            "| " + " | ".join(map(_text, table["columns"])) + " |",
            "|" + "---|" * len(table["columns"]),
            *("| " + " | ".join(map(_text, cells)) + " |" for cells in table["rows"]),
            "",
        ]
    if row["erratum"]:
        lines += [f"*Erratum:* {_text(row['erratum'])}", ""]
    code = ", ".join(f"`{name}`" for name in row["uses"])
    links = ", ".join(f"[{link.rpartition('/')[2]}]({link})" for link in row["links"])
    return [*lines, f"*Code:* {code}." + (f" *More:* {links}." if links else ""), ""]


def _anchor(label: str) -> str:
    return label.replace(":", "-")


def _text(value: str) -> str:
    """Text that Markdown takes as text."""
    for sign in ("\\", "|", "*", "_", "<", ">"):
        value = value.replace(sign, f"\\{sign}")
    return value


def paper_html(results: Sequence[Result], *, quick: bool = False) -> str:
    """One HTML file with the plots, in the style of the report.

    >>> from lab.paper.registry import reproduce
    >>> "ex:earth" in paper_html([reproduce("ex:earth")])
    True
    """
    data = to_json(results, quick=quick)
    wrong = [r for r in results if r.row.erratum]
    return report_html(
        ReportPage(
            _TITLE,
            kicker="scripts/paper" + (" --quick" if quick else ""),
            lead=f"{_LEAD} {'; '.join(f'{count} {verdict}' for verdict, count in data['verdicts'].items())}.",
            glance=[(f"What does “{verdict}” mean?", meaning) for verdict, meaning in VERDICTS.items()],
            answers=[_answer(result) for result in results],
            technical=[
                f"{len(results)} rows, of which {len(wrong)} have an erratum. All randomness is from fixed seeds."
            ],
            commands=["scripts/paper", "scripts/paper ex:alpha0", "scripts/paper --json"],
        )
    )


def _answer(found: Result) -> Section:
    row, measured = found.row, found.measured
    texts = [f"**{measured.verdict}** ({row.label}). The paper: {row.claim}", f"Measured: {measured.text}"]
    texts += [f"**Erratum.** {row.erratum}"] if row.erratum else []
    texts.append(f"Code: {', '.join(row.uses)}.")
    table = None
    if measured.tables:
        grid = measured.tables[0]
        numeric = [k for k in range(len(grid.columns)) if k > 0]
        table = ReportTable(grid.columns, grid.rows, numeric=numeric, caption=grid.title)
    return Section(row.place, text=texts, pictures=[_picture(plot) for plot in measured.plots], table=table)


def _picture(plot: Plot) -> Picture:
    curves = [Curve(label, list(x), list(y)) for label, x, y in plot.curves]
    return Picture(loglog(curves, x=plot.x, y=plot.y, title=plot.title), plot.title)
