"""Reports of plans, comparisons and ledgers: the same page, before anything is released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from barrow.ledger import Overview
from barrow.numerics import float_up
from barrow.numerics.exact import at_most
from barrow.planning.comparison import Comparison
from barrow.promises import describe_change, odds_upper
from barrow.questions import Answer
from barrow.questions.plan_text import plan_lines, warnings, worst_alarm
from barrow.questions.prices import charges
from barrow.render.plots import comparison_figure, comparison_rows, plot
from barrow.render.report.accuracy import NARROW, WIDE, accuracy_of
from barrow.render.report.page import Learnt, Picture, ReportPage, ReportTable, Section
from barrow.study.proposal import Proposal


def plan_report(plans: Sequence[Answer], *, dataset: str | None = None) -> ReportPage:
    """What releases would give and cost; histograms are simulated at other alphas, which takes a while."""
    one = plans[0] if len(plans) == 1 else None
    texts, pictures = ([], []) if one is None else accuracy_of(one, thorough=True)
    belief = None if one is None else _both(one)
    title = ", ".join(plan.question.label for plan in plans)
    return ReportPage(
        f"{dataset}: {title}" if dataset else f"Plan: {title}",
        f"What releases about {plans[0].terms.users:,} people would give and cost.",
        kicker="Plan: no private value was read, and nothing was spent",
        answers=[_planned(plan) for plan in plans],
        learnt=_learnt(plans),
        belief=belief,
        accuracy=pictures,
        accuracy_text=texts,
        warnings=[text for plan in plans for text in [*warnings(plan), worst_alarm(plan)] if text],
        commands=["barrow release"],
        commands_title="What to type next",
    )


def proposal_report(proposal: Proposal, plans: Sequence[Answer], quorum: str) -> ReportPage:
    """What approvers are asked to sign: the plans, every release of the proposal, and its digest."""
    page = plan_report(plans, dataset=proposal.dataset)
    rows = [[one.question, ", ".join(one.periods) or "all records", one.digest] for one in proposal.releases]
    proposed = Section(
        "What is proposed",
        [
            f"{len(rows):,} release{'s' if len(rows) > 1 else ''} from {proposal.dataset}, until "
            f"{proposal.expires[:10]}, if {quorum} approve.",
            f"The digest of the proposal, which barrow approve must show too: {proposal.digest}",
            "An approval covers these releases only, each of them once, from this ledger only.",
        ],
        table=ReportTable(["question", "period", "digest"], rows, caption="The releases"),
    )
    return replace(
        page,
        kicker="Proposal: nothing was released, and nothing was spent",
        answers=[proposed, *page.answers],
        commands=["barrow approve proposal", "barrow approve proposal --by NAME --key FILE"],
    )


def _both(thing: Answer | Overview) -> Picture | None:
    wide = plot(thing, width=WIDE)
    return None if wide is None else Picture(wide, wide.description, plot(thing, width=NARROW))


def _planned(plan: Answer) -> Section:
    rows = [(line[:10].strip(), line[10:].strip()) for line in plan_lines(plan)]
    error = f"The error to expect: {at_most(plan.error, plan.error_unit)}." if plan.error == plan.error else ""
    return Section(
        plan.question.label,
        [f"{plan.description[:1].upper()}{plan.description[1:]}.", *([error] if error else [])],
        table=ReportTable(["about", "what is planned"], rows, caption="The plan in full"),
    )


def _learnt(plans: Sequence[Answer]) -> list[Learnt]:
    """What could be learnt from all of them together."""
    terms = plans[0].terms
    delta = float_up(sum((plan.guarantee.delta for plan in plans), Fraction(0)))
    last = sum(float(plan.guarantee.definition.delta_at(1)) for plan in plans) * (1.0 + 2.0**-50)
    results = []
    for k, promise in enumerate(terms.promises):
        words = describe_change(promise, terms.space)
        epsilon = float(sum(charges(plan)[k] for plan in plans)) * (1.0 + 2.0**-50)
        results.append(Learnt(words, odds_upper(epsilon, delta)))
    worst = sum(plan.worst_epsilon for plan in plans) * (1.0 + 2.0**-50)
    return [*results, Learnt("everything about one person had been different", odds_upper(worst, last), worst=True)]


def comparison_report(results: Sequence[tuple[str, Comparison]], *, dataset: str | None = None) -> ReportPage:
    """Every mechanism that can answer each question, with ordinary user-level DP beside it."""
    return ReportPage(
        ", ".join(name for name, _ in results) if dataset is None else f"{dataset}: mechanisms compared",
        "Every mechanism that can answer, its predicted error, and ordinary user-level DP.",
        kicker="Comparison: no private value was read, and nothing was spent",
        answers=[_compared(name, one) for name, one in results],
        warnings=[text for _, one in results for text in one.warnings()],
        commands=["barrow plan"],
        commands_title="What to type next",
    )


def _compared(name: str, comparison: Comparison) -> Section:
    heads = ["mechanism", "how", "error", "worst case: a 50 % guess becomes at most"]
    lost = [f"{other} cannot answer: {why}." for other, why in comparison.cannot.items()]
    wide, narrow = (comparison_figure(comparison, width=width) for width in (WIDE, NARROW))
    pictures = [Picture(wide, f"{comparison.measure}, predicted.", narrow)]
    return Section(
        name,
        [f"**{comparison.sentence}**", *lost],
        pictures,
        ReportTable(heads, comparison_rows(comparison), numeric=[2], caption="All mechanisms"),
    )


def ledger_report(shown: Overview, *, ledger: str = "") -> ReportPage:
    """What was spent, when and on what, and what is left."""
    return ReportPage(
        f"{shown.budget.dataset}: the privacy budget",
        shown.title,
        kicker="Ledger",
        **ledger_parts(shown),
        commands=[f"barrow ledger verify {ledger or 'FILE'}"],
    )


def ledger_parts(shown: Overview) -> dict[str, Any]:
    """The budget's part of a report: the ledger over time, in words, and its entries."""
    numeric = [k for k, name in enumerate(shown.columns) if name[0] in "#αεδ"]
    table = ReportTable(shown.columns, shown.cells(), numeric=numeric, caption="Entries") if shown.lines else None
    return {
        "budget": _both(shown),
        "budget_text": [text.strip() for text in shown.sentences()],
        "entries": table,
    }
