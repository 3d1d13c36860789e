"""``scripts/paper``: the paper, row by row, measured; writes ``docs/paper.json`` and ``docs/paper.md``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import msgspec

from lab.paper import Result, markdown, paper_html, reproduce_all, rows, to_json
from lab.paper.page import summary, verdicts


@click.command()
@click.argument("labels", nargs=-1)
@click.option("--quick", is_flag=True, help="Draw less in simulations: about a minute instead of several.")
@click.option("--write", type=click.Path(file_okay=False), help="Write paper.json and paper.md into this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")
@click.option("--html", type=click.Path(dir_okay=False), help="Write a page with plots.")
@click.option("--list", "names", is_flag=True, help="Print the labels without measuring anything.")
def main(labels: tuple[str, ...], quick: bool, write: str | None, as_json: bool, html: str | None, names: bool) -> None:
    """Measure what the paper says: every definition, algorithm, theorem, table, example and number.

    Each row says what the paper says, which function implements it, what was measured, and the verdict: holds, holds
    corrected, unsafe, vacuous or open. Seeds are fixed. Rows that are not named stay in --write's folder as they were.

    \b
    Example:
      scripts/paper --write docs
      scripts/paper ex:alpha0
      scripts/paper --quick --html paper.html
    """  # noqa: D301  (click reads the backspace)
    if names:
        click.echo("\n".join(f"{row.label:32}  {row.place}" for row in rows().values()))
        return
    results: list[Result] = []

    def add(result: Result) -> None:
        results.append(result)
        if write is not None:
            _write(Path(write), result, keep=bool(labels) or len(results) > 1)
        if not as_json and len(labels) != 1:
            click.echo(f"{result.verdict:15}  {result.row.label:32}  {result.measured.text}")

    reproduce_all(list(labels) or None, quick=quick, progress=add)
    data = to_json(results, quick=quick)
    if html is not None:
        Path(html).write_text(paper_html(results, quick=quick), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(data, ensure_ascii=False))
        return
    click.echo("\n".join(_whole(results[0])) if len(labels) == 1 else f"\n{len(results)} rows: {summary(data)}.")


def _write(folder: Path, found: Result, *, keep: bool) -> None:
    """Both files, with this row as it was measured now."""
    file = folder / "paper.json"
    known: dict[str, Any] = {}
    if keep and file.exists():
        known = {row["label"]: row for row in msgspec.json.decode(file.read_bytes())["rows"]}
    known[found.row.label] = found.to_json()
    subset = [known[label] for label in rows() if label in known]
    missing = [label for label in rows() if label not in known]
    data = {**to_json([]), "verdicts": verdicts(subset), "missing": missing, "rows": subset}
    file.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "paper.md").write_text(markdown(data), encoding="utf-8")


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


if __name__ == "__main__":
    main()
