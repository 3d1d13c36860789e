"""What commands need to write a page and to show it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from barrow.cli.files import beside, write_new
from barrow.cli.terminal import echo
from barrow.render import report as pages

if TYPE_CHECKING:
    from barrow.render.report import ReportPage

Command = TypeVar("Command", bound=Callable[..., Any])


def page_options(command: Command) -> Command:
    """``--html`` and ``--open`` of commands that can write a page."""
    command = click.option("--open", "opened", is_flag=True, help="Open the page in a browser.")(command)
    return click.option("--html", type=click.Path(), metavar="FILE", help="Write a page to this new file.")(command)


def write_page(report: Callable[[], ReportPage | str], place: str | None, opened: bool, default: str) -> str | None:
    """Write the page where it was asked for, and open it; None where no page was asked for."""
    if place is None and not opened:
        return None
    file = Path(place or default)
    built = report()
    page = built if isinstance(built, str) else pages.report_html(built)
    write_new(file, [page.encode()], str(beside(file)))
    if opened:
        show_page(file)
    return str(file)


def show_page(file: Path) -> None:
    """Open a page, where there is a browser."""
    import webbrowser  # takes longer to load than a plan

    if not webbrowser.open(file.resolve().as_uri()):
        echo(f"No browser was found; open {file} yourself.", err=True)
