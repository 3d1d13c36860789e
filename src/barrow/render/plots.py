"""Figures of the values that people hold in their hands, and what a notebook shows of them; dispatched by type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING
from fractions import Fraction
from functools import partial, singledispatch
from html import escape
from typing import Any, overload

from barrow.display import paragraphs_html, table_cell, table_html
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.ledger.table import Overview
from barrow.numerics import float_down, float_up
from barrow.numerics.exact import near, rounded_to
from barrow.planning.candidates import Candidate
from barrow.planning.comparison import Comparison
from barrow.promises import Policy, Satisfied, odds_upper, percent_up
from barrow.questions import Answer, Collected
from barrow.questions.plan_text import plan_lines
from barrow.questions.prices import charge
from barrow.questions.statement import Statement
from barrow.render.axes import draw_on
from barrow.render.figures import Figure, Step, bars, timeline
from barrow.render.figures import bundle as figure_bundle
from barrow.render.item_figures import item_figure
from barrow.render.promises import CERTAIN, belief_on
from barrow.render.released import values_figure
from barrow.spaces import Space
from barrow.study import Release, Study
from barrow.study.prose import statement_lines, statement_text
from barrow.study.statement import protected


@overload
def plot(thing: object, *values: Any, ax: None = None, **style: Any) -> Figure | None: ...
@overload
def plot(thing: object, *values: Any, ax: object, **style: Any) -> Any: ...
def plot(thing: object, *values: Any, ax: Any = None, **style: Any) -> Any:
    """A figure of ``thing``; ``save`` writes it as SVG, HTML, PNG or PDF. None where there is nothing to draw.

    Args:
        thing: A release or what people's reports say (their values), a study, a policy or a plan (what anyone can
            learn about one person), a ledger (what was spent), a comparison (the errors), or a space (with one value
            for each item).
        values: Of a space, one value for each item.
        ax: Axes of matplotlib to draw into instead, which are given back: histograms, bars, means and quantiles, maps,
            matrices and planes.
        style: ``width`` in pixels; of a release also ``outline``, GeoJSON for a map instead of the bundled coasts; of
            a space what :func:`barrow.render.item_figures.item_figure` takes.

    >>> from barrow.spaces import Discrete, Earth
    >>> plot(Policy(Earth(), ["1, 1000 mi, 0.2"])).title
    'What anyone can learn about one person'
    >>> print(plot(Discrete(["tea", "coffee"]), [0.25, 0.75], title="Drinks"))
    Drinks. The largest value is coffee: 75 %.
    """
    figure = _figure(thing, *values, **style)
    return figure if ax is None else draw_on(figure, ax)


@singledispatch
def _figure(thing: object, *values: Any, **style: Any) -> Figure | None:
    raise ParameterError(
        f"A {type(thing).__name__} has no figure.",
        allowed="a release, collected reports, a study, policy, plan, ledger or comparison, or a space with values",
        fix="bw.plot(study.plan('mean'))",
    )


@_figure.register
def _(thing: Figure) -> Figure:
    return thing


@_figure.register
def _(thing: Space, values: Any, **style: Any) -> Figure:
    return item_figure(thing, values, **style)


@_figure.register
def _(thing: Release, *, width: int = 720, outline: Any = None) -> Figure:
    return values_figure(thing.statement, thing.tables, thing.space, width=width, outline=outline)


@_figure.register
def _(thing: Collected, *, width: int = 720, outline: Any = None) -> Figure:
    space = None if thing.plan is None else thing.plan.terms.space
    return values_figure(thing.statement, thing.tables, space, width=width, outline=outline)


@_figure.register
def _(thing: Policy, *, width: int = 720) -> Figure | None:
    paid = (Fraction(row.epsilon_got) for row in thing.satisfied)
    return belief_on(
        thing.space,
        protected(thing.satisfied, paid, thing.space, thing.delta),
        cost=lambda share, reach: thing.alpha_exact * share * reach,
        worst=thing.worst_epsilon,
        delta=float_up(thing.delta),
        records=thing.records,
        width=width,
    )


@_figure.register
def _(thing: Answer, *, width: int = 720) -> Figure | None:
    return answer_belief(thing, thing.terms.satisfied, thing.terms.space, width)


def answer_belief(
    answer: Answer, satisfied: Sequence[Satisfied], space: Space, width: int, certain: float = CERTAIN
) -> Figure | None:
    """What anyone can learn from an answer, beside promises on a space; None if a guess can become certain."""
    charged = [charge(answer, row.share, row.reach) for row in satisfied]
    return belief_on(
        space,
        protected(satisfied, charged, space, answer.guarantee.delta),
        cost=None if answer.alpha is None else partial(charge, answer),
        worst=answer.worst_epsilon,
        delta=float(answer.guarantee.definition.delta_at(1)),
        records=answer.terms.records,
        width=width,
        certain=certain,
    )


@_figure.register
def _(thing: Study, *, width: int = 720) -> Figure | None:
    return plot(thing.policy, width=width)


def comparison_rows(comparison: Comparison) -> list[list[str]]:
    """Every mechanism, how it works, its error and what a 50 % guess can become at worst."""
    ranked = [(c.name, c.words, c) for c in comparison.candidates]
    ranked += [(f"user-level: {r.best.name}", r.words, r.best) for r in comparison.baselines]
    rows = []
    for name, words, one in ranked:
        size = near(_said(one), comparison.unit) if math.isfinite(one.error) else "unknown"
        worst = odds_upper(one.guarantee.epsilon_at(1), one.guarantee.definition.delta_at(1))
        rows.append([name, words, size, percent_up(worst)])
    return rows


def _said(one: Candidate) -> float:
    """An error as tables and pictures say it: a half width rounded up; what was simulated as it is."""
    if one.standard_error is not None or not math.isfinite(one.error):
        return one.error
    return float(rounded_to(Fraction(repr(float(one.error))), 3, ROUND_CEILING))


@_figure.register
def comparison_figure(thing: Comparison, *, width: int = 720) -> Figure:
    """The error of every mechanism, the choice first."""
    results = [(c.name, _said(c)) for c in thing.candidates]
    results += [(f"user-level, ε = {float(r.epsilon):.3g}: {r.best.name}", _said(r.best)) for r in thing.baselines]
    names, errors = zip(*(pair for pair in results if math.isfinite(pair[1])), strict=True)
    return bars(names, errors, unit=thing.unit, title=f"Error: {thing.measure}", width=width)


@_figure.register
def _(thing: Ledger, *, width: int = 720) -> Figure | None:
    return plot(thing.overview(), width=width)


@_figure.register
def _(thing: Overview, *, width: int = 720) -> Figure | None:
    """Steps up to the limit in the newest period, of the promise that is used most."""
    if not thing.balances:
        return None

    def used(k: int) -> Fraction:
        limit = thing.balances[k].limit.loss
        return thing.balances[k].spent.loss / limit if limit else Fraction(0)

    main = max(range(len(thing.balances)), key=used) if thing.budget.promises else 0
    balance, limit = thing.balances[main], thing.balances[main].limit.loss
    if limit <= 0:
        return None
    lines = list(thing.lines)
    if not thing.budget.promises:
        lines = [line for line in lines if line.account == balance.account]
    total, steps = Fraction(0), []
    for line in lines:
        # What was left says what was spent, however it adds up; promises add up.
        total = min(limit, total + line.epsilons[main] if thing.budget.promises else limit - line.left.loss)
        steps.append(Step(line.question or line.what, line.when[:10], min(float_up(total), float_down(limit))))
    sign = "ε" if thing.budget.promises or balance.symbol == "epsilon" else "α"
    title = "The privacy budget" + (f": {balance.text}" if balance.text else "")
    return timeline(steps, float_down(limit), unit=sign, title=title, width=width)


@singledispatch
def bundle(thing: object) -> dict[str, str]:
    """What a notebook shows of a value: its text, and its figure above a table or sentences.

    >>> from barrow.spaces import Line
    >>> list(bundle(Study(Line(0, 9, step=1), ["all, anywhere, 0.5"], users=9).plan("mean")))
    ['text/plain', 'text/html']
    """
    html = getattr(thing, "_repr_html_", None)
    return figure_bundle(str(thing), plot(thing), "" if html is None else html())


@bundle.register
def _(thing: Answer) -> dict[str, str]:
    rows = ((line[:10].strip(), line[10:].strip()) for line in plan_lines(thing) if line.strip())
    cells = "".join(f"<tr>{table_cell('th', a, 'left')}{table_cell('td', b, 'left')}</tr>" for a, b in rows)
    return figure_bundle(str(thing), plot(thing), f"<table>{cells}</table>")


@bundle.register
def _(thing: Comparison) -> dict[str, str]:
    table = table_html(("mechanism", "how", "error", "worst case at most"), comparison_rows(thing))
    return figure_bundle(str(thing), plot(thing), paragraphs_html([thing.sentence]) + table)


@bundle.register
def _(thing: Policy) -> dict[str, str]:
    text = thing.explain()
    return figure_bundle(text, plot(thing), paragraphs_html(text.splitlines()))


@bundle.register
def _(thing: Study) -> dict[str, str]:
    figure = plot(thing) if thing.promises else None
    return figure_bundle(repr(thing), figure, f"<p><code>{escape(repr(thing))}</code></p>")


@bundle.register
def _(thing: Statement) -> dict[str, str]:
    return figure_bundle(statement_text(thing), html=paragraphs_html(statement_lines(thing)))


@bundle.register
def _(thing: Ledger) -> dict[str, str]:
    shown = thing.overview()
    return figure_bundle("\n".join([shown.title, *shown.sentences()]), plot(shown), shown.to_html())
