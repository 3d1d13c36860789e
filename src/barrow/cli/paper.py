"""``barrow paper``: the paper, row by row, measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from barrow.paper import Result


@click.command()
@click.argument("label", required=False)
@click.option("--quick", is_flag=True, help="Draw less in simulations: about a minute instead of several.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")
@click.option(
    "--html",
    is_flag=False,
    flag_value="paper.html",
    metavar="[FILE]",
    help="Write a page with plots; paper.html by default.",
)
@click.option("--list", "names", is_flag=True, help="Print the labels without measuring anything.")
def paper(label: str | None, quick: bool, as_json: bool, html: str | None, names: bool) -> None:
    """Measure what the paper says: every definition, algorithm, theorem, table, example and number.

    Each row says what the paper says, which function implements it, what was measured, and the verdict: holds, holds
    corrected, unsafe, vacuous or open. Seeds are fixed; no data are read and nothing is spent.

    \b
    Example:
      barrow paper --quick
      barrow paper ex:alpha0
      barrow paper --html paper.html
    """  # noqa: D301  (click reads the backspace)
    from barrow.paper import paper_html, reproduce, reproduce_all, rows, to_json
    from barrow.paper.page import summary

    if names:
        click.echo("\n".join(f"{row.label:32}  {row.place}" for row in rows().values()))
        return
    if label is not None:
        found = [reproduce(label, quick=quick)]
    else:
        said = None if as_json else lambda result: click.echo(_line(result))
        found = reproduce_all(quick=quick, progress=said)
    data = to_json(found, quick=quick)
    if html is not None:
        Path(html).write_text(paper_html(found, quick=quick), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(data, ensure_ascii=False))
    elif label is not None:
        click.echo("\n".join(_whole(found[0])))
    else:
        click.echo(f"\n{len(found)} rows: {summary(data)}. Details: barrow paper LABEL")
    if html is not None and not as_json:
        click.echo(f"Written: {html}")


def _line(found: Result) -> str:
    return f"{found.verdict:15}  {found.row.label:32}  {found.measured.text}"


def _whole(found: Result) -> list[str]:
    row, measured = found.row, found.measured
    lines = [
        f"{row.place} ({row.label})",
        f"Paper     {row.claim}",
        f"Verdict   {found.verdict}",
        f"Measured  {measured.text}",
        *([f"Erratum   {row.erratum}"] if row.erratum else []),
        f"Code      {', '.join(row.uses)}",
        *([f"Pages     {', '.join('docs/' + link for link in row.links)}"] if row.links else []),
    ]
    for grid in measured.tables:
        widths = [max(len(cells[k]) for cells in (grid.columns, *grid.rows)) for k in range(len(grid.columns))]
        lines += ["", f"{grid.title}:"]
        for cells in (grid.columns, *grid.rows):
            lines.append("  " + "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))
    lines += ["", *(f"  {name} = {value!r}" for name, value in measured.numbers.items())]
    return [*lines, f"  ({found.seconds:.2f} s)"]
