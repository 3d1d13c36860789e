"""``barrow explain``: how a release was made, from its statement."""

from __future__ import annotations

import click
import msgspec

from barrow.cli.first_values import first_sentences
from barrow.cli.pages import page_options, write_page
from barrow.cli.study_options import verbose_option
from barrow.cli.terminal import Printer, output_options
from barrow.errors import ParameterError
from barrow.render.idea import idea_page
from barrow.study import explain as explain_statement
from barrow.study import read_statement, statement_text
from barrow.study.prose import released_words


@click.command()
@click.argument("statement", type=click.Path(), required=False)
@click.option("--idea", is_flag=True, help="Explain the idea itself, in a page that needs no release.")
@page_options
@verbose_option
@output_options
def explain(statement: str | None, idea: bool, html: str | None, opened: bool, verbose: bool, output: Printer) -> None:
    """Explain in numbered steps how a release was made and what it promises.

    --verbose prints the whole statement, too.

    With --idea: a page on which you move one person and see what anyone can learn, from user-level DP and from barrow
    (idea.html by default; nothing is read, nothing is spent, and the page asks nobody for anything).

    \b
    Example:
      barrow explain visits-map
      barrow explain --idea --open
    """  # noqa: D301  (click reads the backspace)
    if idea:
        wrote = write_page(idea_page, html or "idea.html", opened, "idea.html")
        output.tell({"file": str(wrote)}, str(wrote), f"Wrote {wrote}. Open it in a browser.")
        return
    if statement is None:
        raise ParameterError(
            "No release is named.",
            allowed="the folder of a release, or --idea",
            fix="barrow explain release/map, or barrow explain --idea",
        )
    result = read_statement(statement)
    steps = explain_statement(result).splitlines()
    told = {"steps": steps, "statement": msgspec.to_builtins(result)}
    if verbose:
        output.tell(told, "\n".join(steps), statement_text(result) + "\n", *steps)
        return
    more = "The statement says what is protected and what is not: --verbose prints it."
    output.tell(told, "\n".join(steps), first_sentences(released_words(result), 1) + "\n", *steps, f"\n{more}")
