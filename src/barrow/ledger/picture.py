"""The ledger over time as a figure: of the promise that is used most, or of the main budget."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from barrow.figures import Figure, Step, timeline
from barrow.numerics import float_down, float_up

if TYPE_CHECKING:
    from barrow.ledger.table import Overview


def ledger_figure(shown: Overview, *, width: int = 720) -> Figure | None:
    """Steps up to the limit in the newest period; None where nothing can be spent."""
    if not shown.balances:
        return None

    def used(k: int) -> Fraction:
        limit = shown.balances[k].limit.loss
        return shown.balances[k].spent.loss / limit if limit else Fraction(0)

    main = max(range(len(shown.balances)), key=used) if shown.budget.promises else 0
    balance, limit = shown.balances[main], shown.balances[main].limit.loss
    if limit <= 0:
        return None
    lines = [line for line in shown.lines if line.period == shown.period]
    if not shown.budget.promises:
        lines = [line for line in lines if line.account == balance.account]
    total, steps = Fraction(0), []
    for line in lines:
        # What was left says what was spent, however it adds up; promises add up.
        total = min(limit, total + line.epsilons[main] if shown.budget.promises else limit - line.left.loss)
        steps.append(Step(line.question or line.what, line.when[:10], min(float_up(total), float_down(limit))))
    sign = "ε" if shown.budget.promises or balance.symbol == "epsilon" else "α"
    title = "The privacy budget" + (f": {balance.text}" if balance.text else "")
    return timeline(steps, float_down(limit), unit=sign, title=title, width=width)
