"""``barrow demo``: real releases from bundled data, in seconds."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from barrow.cli.study_options import verbose_option
from barrow.cli.terminal import Printer, output_options_with
from barrow.demo import run_demo
from barrow.demo.words import brief_lines, lines


@click.command()
@click.option("--out", default="barrow-demo", show_default=True, metavar="DIR", help="A new folder for everything.")
@click.option(
    "--data", type=click.Choice(["flights", "shakespeare"]), default="flights", show_default=True, help="What to show."
)
@verbose_option
@output_options_with("Print the folder only.")
def demo(out: str, data: str, verbose: bool, output: Printer) -> None:
    """Release from bundled real data: promises, alpha, answers with their errors, the worst case.

    It works offline and takes a few seconds. The folder holds the data, the study, a ledger and the results.

    \b
    Example:
      barrow demo --out my-demo
      barrow demo --data shakespeare
    """  # noqa: D301  (click reads the backspace)
    result = run_demo(out, data)
    steps = _next_steps(str(result.folder), next(iter(result.shown)), str(result.study.ledger))
    told = (
        lines(result, next_steps=steps)
        if verbose
        else brief_lines(result, next_steps=[steps[0].removesuffix(" in a browser"), steps[1]])
    )
    output.tell(result.to_json(), str(result.folder), *told)


def _next_steps(folder: str, name: str, ledger: str) -> list[str]:
    """What to type next; outside an activated environment, with the path of the program that was started."""
    started = Path(sys.argv[0])
    hidden = shutil.which("barrow") is None and started.name == "barrow"
    barrow = os.path.relpath(started) if hidden else "barrow"
    return [
        f"open {folder}/{name}/report.html in a browser",
        f"{barrow} explain {folder}/{name}",
        f"{barrow} verify {folder}/{name}",
        f"{barrow} plan {folder}/study.toml",
        f"{barrow} ledger show {ledger}",
        f"{barrow} init YOUR-FILE",
    ]
