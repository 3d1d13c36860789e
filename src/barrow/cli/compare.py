"""``barrow compare``: every mechanism that can answer, and ordinary user-level DP beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from barrow.cli import work
from barrow.cli.numbers import Whole
from barrow.cli.pages import page_options, write_page
from barrow.cli.study_options import asking_options, study_and_questions, verbose_option
from barrow.cli.terminal import Printer, echo, echo_alarm, echo_json, output_options
from barrow.render import report as pages

if TYPE_CHECKING:
    from barrow.planning.comparison import Comparison


@click.command()
@asking_options
@click.option("--eps", "epsilons", multiple=True, help="An epsilon of user-level DP to compare with; may be repeated.")
@click.option(
    "--held", type=Whole(), help="How many items each person holds, where that is public and the same for all."
)
@click.option("--models", is_flag=True, help="All four models side by side, and who must be trusted in each.")
@click.option("--reference", help="Reference data for predicted errors: uniform, rough, zipf or mixed.")
@verbose_option
@page_options
@output_options
def compare(
    words: tuple[str, ...],
    file: str | None,
    verbose: bool,
    html: str | None,
    opened: bool,
    output: Printer,
    epsilons: tuple[str, ...],
    held: int | None,
    models: bool,
    reference: str | None,
    **flags: Any,
) -> None:
    """Show every mechanism that can answer, its predicted error, the choice, and user-level DP beside it.

    No data are read and nothing is spent. By default user-level DP has the epsilon that keeps every promise. For a
    histogram the error is the earth mover's distance after decoding, for other questions the 95 % half width of each
    value.

    \b
    Example:
      barrow compare
      barrow compare --models
      barrow compare --space 'clustered(shape=[10, 10], r=0.05)' \\
        --question histogram --users 10000 --held 1000 \\
        --alpha 25 --delta 1e-9 --eps 1.25
    """  # noqa: D301  (click reads the backspace)
    study, questions, _ = study_and_questions(words, file, flags)
    if models:
        _models(study, questions, held, output)
        return
    with work.bars(output.progress):
        results = [study.compare(q, epsilons=epsilons, items=held, reference=reference) for q in questions]
    named = [(question.label, one) for question, one in zip(questions, results, strict=True)]
    wrote = write_page(lambda: pages.comparison_report(named, dataset=study.dataset), html, opened, "compare.html")
    if output.as_json:
        told = [one.to_json() for one in results]
        echo_json(told[0] if len(told) == 1 else {"comparisons": told})
        return
    for question, one in zip(questions, results, strict=True):
        if output.quiet:
            echo(one.choice.name)
            continue
        if len(results) > 1:
            echo(f"── {question.label}")
        for line in one.lines(verbose=verbose) if verbose or len(results) == 1 else _beside(one):
            echo_alarm(line) if line == one.alarm else echo(line)
    if not output.quiet:
        if len(results) > 1 and not verbose and (problem := max(results, key=_worst).alarm):
            echo_alarm(problem)
        if wrote is not None:
            echo(f"\nWrote {wrote}.")
        echo(f"\nNothing was read and nothing was spent{_more(verbose, len(results) > 1)}. Next: barrow plan")


def _beside(one: Comparison) -> list[str]:
    """What a comparison says without its table, where there are several."""
    others = [one.against(baseline) for baseline in one.baselines[1:]]
    return [one.sentence, *others, *(line for line in one.warnings() if line != one.alarm)]


def _worst(one: Comparison) -> float:
    return one.choice.guarantee.epsilon_at(1)


def _more(verbose: bool, several: bool) -> str:
    if verbose:
        return ""
    return f" (--verbose shows {'the tables' if several else 'the other mechanisms, and which cannot answer'})"


def _models(study: work.Study, questions: list[work.Question], held: int | None, output: Printer) -> None:
    with work.bars(output.progress):
        results = {question.label: work.compare_models(study, question, held=held) for question in questions}
    if output.as_json:
        echo_json({"models": {label: one.to_json() for label, one in results.items()}})
        return
    for label, one in results.items():
        if output.quiet:
            echo(" ".join(row.model.value for row in one.rows if row.error is not None))
            continue
        echo(f"── {label}: {one.description}")
        echo(str(one))
    if not output.quiet:
        echo(
            "\nThe same promises in each; nothing was read and nothing was spent. Next: barrow plan --model aggregated"
        )
