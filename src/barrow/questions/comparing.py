"""A linear plan beside user-level DP, by what the plan itself is chosen by: both say the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from barrow.planning import Comparison
from barrow.planning.candidates import Candidate
from barrow.planning.comparing import Asked, compared
from barrow.planning.rules import paper_rule_linear
from barrow.policy import Promise
from barrow.questions.linear import LinearPlan


def compared_plan(plan: LinearPlan, promises: Sequence[Promise], epsilons: Sequence[Any]) -> Comparison:
    """All that could answer in place of the plan, by the error that people get."""
    terms, own = plan.terms, _got(plan, plan.compared_by_emd())
    rate = own[0].guarantee.definition.parameters.get("alpha", terms.alpha)
    asked = Asked(
        plan.description,
        "95 % half width of each value",
        plan.error_unit,
        lambda epsilon, _: _got(plan, plan.compared_by_user_level(epsilon)),
        paper_rule_linear,
    )
    policy = terms.policy_of(promises)
    return compared(terms.space, asked, own, rate, terms.delta, policy=policy, epsilons=epsilons)


def _got(plan: LinearPlan, found: Sequence[Candidate]) -> list[Candidate]:
    """Snapping moves everybody's answer alike: without it a ratio of errors would flatter the smaller noise."""
    return [replace(one, error=plan.combined(one.error)) for one in found]
