"""``barrow propose``: releases as a file that approvers read and sign."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from barrow.cli.files import make_folder, refuse_existing, write_new
from barrow.cli.study_options import asking_options, part_options, study_and_questions
from barrow.cli.terminal import Printer, output_options
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.questions import Answer
from barrow.render import report as pages
from barrow.study.bars import bars
from barrow.study.parts import Series
from barrow.study.proposal import FILE, Proposal
from barrow.study.proposal import propose as proposal_of
from barrow.study.release import open_ledger

_PAGE = "proposal.html"


@click.command()
@asking_options
@click.option("--ledger", type=click.Path(), help="The ledger that would pay, if the study names none.")
@part_options
@click.option("--pool", type=click.Choice(["records", "periods"]), help="As in barrow release.")
@click.option("--expires", default="30 days", show_default=True, metavar="DATE", help="A date, or a number of days.")
@click.option("--out", type=click.Path(path_type=Path), default="proposal", show_default=True, help="A new folder.")
@output_options
def propose(
    words: tuple[str, ...],
    file: str | None,
    period: str | None,
    by: tuple[str, ...],
    pool: str | None,
    expires: str,
    out: Path,
    output: Printer,
    **flags: Any,
) -> None:
    """Write releases as a proposal: a page to read, and a file that approvers check and sign. It spends nothing.

    NAME is a question of the study; all of them by default. Each release names its question, its period and everything
    else about it, so that an approval is good for nothing else.

    \b
    Example:
      barrow propose
      barrow propose mean --period 2026-01..2026-12 --expires 2027-01-31
    """  # noqa: D301  (click reads the backspace)
    refuse_existing(out, "--out")
    with bars(output.progress):
        study, questions, _ = study_and_questions(words, file, flags)
        state = open_ledger(study, None)
        quorum_words(state)
        chosen = [study.by(question, by or None) for question in questions]
        series = [Series(study, one, abouts) for one in chosen for abouts in study.abouts(one, period, pool)]
        proposal = proposal_of([(one, about) for one in series for about in one.abouts], ledger=state, expires=expires)
        plans = [one.planner.parts(one.abouts[0]).plan for one in series]
    write_proposal(out, proposal, plans, state, output, "No private value was read and nothing was spent.")


def write_proposal(
    out: Path, proposal: Proposal, plans: Sequence[Answer], ledger: Ledger, output: Printer, last: str
) -> None:
    """Write a proposal and its page into a new folder, and say what comes next."""
    quorum = quorum_words(ledger)
    page = pages.report_html(pages.proposal_report(proposal, plans, quorum))
    make_folder(out)
    write_new(out / FILE, [proposal.content], "--out another")
    write_new(out / _PAGE, [page.encode()], "--out another")
    told = {
        "proposal": proposal.digest, "ledger": proposal.ledger, "expires": proposal.expires, "out": str(out),
        "releases": [{"question": r.question, "periods": r.periods, "digest": r.digest} for r in proposal.releases],
    }  # fmt: skip
    output.tell(
        told,
        str(out),
        f"Wrote {out / FILE} and {out / _PAGE}: what would be released, valid until {proposal.expires[:10]}.",
        f"Its digest: {proposal.digest}",
        f"It needs {quorum}. Each of them: barrow approve {out} --by NAME --key FILE",
        last,
    )


def quorum_words(ledger: Ledger) -> str:
    """Who must approve; refused where nobody need."""
    consent = ledger.consent
    if consent is None:
        raise ParameterError(
            f"The ledger of {ledger.budget.dataset!r} has no approvers: its releases need no proposal.",
            allowed="a ledger that was made with --approvers",
            fix="barrow release",
        )
    return consent.quorum.words
