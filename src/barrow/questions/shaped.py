"""Answers by strategies: other combinations get the noise, and a linear question's values follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec import structs

from barrow.accounting import price
from barrow.engines import Counts, ItemSums
from barrow.errors import ParameterError
from barrow.mechanisms import EdgeNoise, Strategy, strategies_for
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.numerics.exact import at_most, plus_minus
from barrow.planning.candidates import ALIKE, Candidate, best_first
from barrow.planning.terms import Terms
from barrow.promises import Model
from barrow.queries import Query
from barrow.questions.answer import Answer, Sample, Statistics, Tables, center_of
from barrow.questions.comparing import against, by_user_level
from barrow.questions.linear import (
    Linear,
    LinearAnswer,
    constant_of,
    linear_lines,
    mean_over_people,
    noise_parameters,
    value_lines,
)
from barrow.questions.parted import averaged_query
from barrow.questions.plan_text import answer_lines, other_lines
from barrow.questions.releasing import parameters, simulated, summary
from barrow.questions.statement import AnswerFacts, Json
from barrow.questions.value_tables import names_of
from barrow.spaces.space import Floats

_NAMES = {"Laplace": "laplace", "Gaussian": "gaussian", "l2 K-norm": "l2", "linf K-norm": "linf"}
_QUICK, _QUICK_ROUND = 40_000, 200_000
"""Items times values up to which a strategy is looked for without being asked for; more where noise may be Gaussian."""


def shaped(query: Query, terms: Terms, noise: str = "auto") -> list[Candidate]:
    """Every strategy that keeps ``terms``, by the half width of its widest answer, best first."""
    built = strategies_for(query, terms.alpha_for, terms.delta, users=terms.users, noise=noise, mu_for=terms.mu_for)
    if not built:
        raise ParameterError(
            f"The workload has {query.dimension:,} answers on {query.space.items:,} items, which is too many for a "
            f"joint strategy.",
            allowed="at most about 8,000,000 items times answers",
            fix="a coarser space, or the questions one by one",
        )
    return best_first(
        [
            Candidate(
                _NAMES.get(each.additive.name, each.additive.name),
                f"{each.name} noise ({each.factors.name})",
                price(each.event),
                each.half_width,
                mechanism=each,
            )
            for each in built
        ]
    )


def or_shaped(answer: LinearAnswer) -> Candidate | None:
    """A strategy that answers at least five per cent more accurately than ``answer``; None where there is none.

    It is looked for where that is quick: in the central model, several values, few items.
    """
    query, terms = answer.query, answer.terms
    asked = isinstance(answer.question, Linear) and answer.question.noise == "auto"
    most = _QUICK_ROUND if terms.delta else _QUICK
    small = answer.measured.dimension >= 2 and query.space.items * query.dimension <= most
    if not asked or not small or terms.model is not Model.CENTRAL:
        return None
    if answer.question.to_spec().get("definition", "auto") == "user_level" or not query.constant_proved:
        return None
    best = answer.ranked(shaped(query, terms))[0]
    return best if best.mechanism.name.startswith("shaped") and best.error * ALIKE < answer.chosen.error else None


@dataclass(frozen=True, eq=False)
class StrategyAnswer(LinearAnswer):
    """What a strategy would give: combinations with noise, and answers that follow, each with an error of its own."""

    @property
    def strategy(self) -> Strategy:
        """The noise and how answers follow from what is released."""
        strategy: Strategy = self.chosen.mechanism
        return strategy

    @property
    def constant(self) -> tuple[bool, str, float | None]:
        """Of the combinations, on the table that is really used."""
        query, noise = self.strategy.query, self.strategy.additive
        if isinstance(noise, EdgeNoise):
            return constant_of(query, noise, user_level=False)
        result = query.constants([2 if noise.p is None else noise.p])[0]
        return result.proved, result.method, result.lipschitz_upper

    def by_emd(self, terms: Terms) -> Sequence[Candidate]:
        """The strategies that keep other terms."""
        return shaped(self.query, terms)

    def statistics(self, counts: Counts | ItemSums) -> Center:
        """The mean over people of the combinations (private)."""
        return mean_over_people(self.terms, self.strategy.query, counts)

    def draw(self, statistics: Statistics) -> Sample:
        """The answers that follow from the released combinations."""
        sample = self.strategy.draw(center_of(statistics))
        answers = self.strategy.read(np.asarray(sample.values, dtype=np.float64))
        return Sample(answers, private=sample.private)

    @cached_property
    def widths(self) -> Floats:
        """The half width of each answer, snapping included."""
        return np.asarray(self.strategy.half_widths() + self.moved)

    def tables(self, sample: Sample) -> Tables:
        """One row for each answer, with its own half width."""
        return {"values": self.rows_of(sample.values, self.widths)}

    def facts(self) -> AnswerFacts:
        """What the statement says about the answers."""
        return structs.replace(super().facts(), shares=self.question.traits.of_shares)


@simulated.register(StrategyAnswer)
def _(answer: StrategyAnswer, people: Floats, seed: int) -> Floats:
    """The answers that follow from combinations with noise; of no people, the noise alone."""
    query = answer.strategy.query
    zeros = Center.from_integers(np.zeros(query.dimension, dtype=np.int64))
    noise = np.asarray(answer.strategy.draw(zeros, SeededSource(seed)).values)
    true = np.asarray(query.table.floats().T @ people).ravel() * float(query.step)
    nobody = answer.strategy.factors.offsets * (1.0 - float(people.sum()))  # each person's answers hold their part
    return np.asarray(answer.strategy.read(true + noise) - nobody)


@by_user_level.register(StrategyAnswer)
def _(answer: StrategyAnswer) -> tuple[Answer, float] | None:
    return None  # no strategy of this shape is user-level DP's


@averaged_query.register(StrategyAnswer)
def _(answer: StrategyAnswer) -> Query | None:
    """The combinations get the noise, not the answers that follow from them."""
    return answer.strategy.query


@summary.register(StrategyAnswer)
def _(answer: StrategyAnswer, sample: Sample) -> list[str]:
    """The answers with their errors, or how many of them stand out from the noise."""
    if len(sample.values) > 12:
        return value_lines(answer, sample)
    names, unit = names_of(answer.tables(sample)["values"]), answer.said_in
    rows = zip(names, sample.values, answer.widths, strict=True)
    return [f"{name}: {plus_minus(float(value), width, unit)} (95 %)" for name, value, width in rows]


@parameters.register(StrategyAnswer)
def _(answer: StrategyAnswer) -> Json:
    noise = noise_parameters(answer.query, answer.noise, answer.constant[1])
    return {**noise, "strategy": answer.strategy.query.to_spec()}


@other_lines.register(StrategyAnswer)
def _(answer: StrategyAnswer) -> list[str]:
    """The strategies that lose, and user-level DP beside them."""
    lost = ", ".join(f"{other.words} ± {at_most(other.error + answer.moved)}" for other in answer.others)
    return [*against(answer), *([f"Others    {lost}"] if lost else [])]


@answer_lines.register(StrategyAnswer)
def _(answer: StrategyAnswer) -> list[str]:
    """The noise, the error, and how many combinations get the noise."""
    return [*linear_lines(answer), released_line(answer)]


def released_line(answer: StrategyAnswer) -> str:
    """How many combinations get the noise, and how wide the answers are on average."""
    strategy, root = answer.strategy, float(np.sqrt((answer.widths**2).mean()))
    unit = f" {answer.query.unit}".rstrip()
    return (
        f"Released  {strategy.query.dimension:,} combinations ({strategy.factors.name}), from which "
        f"{answer.query.dimension:,} answers follow; half widths have the root mean square {at_most(root)}{unit}"
    )
