"""Several linear questions answered together where some people hold no records: ratios of a strategy's answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from barrow.planning.notes import Note
from barrow.planning.terms import Terms
from barrow.queries.holders import holders
from barrow.questions.answer import Sample, Tables
from barrow.questions.cache import cached_query
from barrow.questions.fieller import LEVEL, Ratio
from barrow.questions.holders import HoldersAnswer, plan_holders, ranked_means, ratio_lines, ratio_of, slacks_of
from barrow.questions.linear import Linear, LinearAnswer, unproved_constant, useless_values
from barrow.questions.plan_text import answer_lines, own_notes
from barrow.questions.releasing import noisy_values, summary
from barrow.questions.shaped import StrategyAnswer, or_shaped, released_line, shaped
from barrow.questions.statement import AnswerFacts
from barrow.spaces.space import Floats


def shaped_holders(question: Linear, terms: Terms) -> ShapedHoldersAnswer:
    """The plan of several means over people with records by one strategy; it reads no data."""
    pair = holders(cached_query(question, terms.space.records_space), terms.space)
    own = ranked_means(pair, shaped(pair.query, terms, question.noise))
    return ShapedHoldersAnswer(question, terms, own[0], pair.query, pair, own=own)


@dataclass(frozen=True, repr=False)
class SeveralValues(Linear):
    """A linear question that may have several values, with a strategy where that is more accurate.

    >>> from barrow.questions import Function
    >>> issubclass(Function, SeveralValues)
    True
    """

    def _planned(self, terms: Terms) -> LinearAnswer:
        answer = super()._planned(terms)
        best = or_shaped(answer)
        if best is None:
            return answer
        own, baselines = (best, *answer.own), answer.baselines
        return StrategyAnswer(self, terms, best, answer.query, own=own, baselines=baselines)

    def _over_holders(self, terms: Terms) -> LinearAnswer:
        answer = plan_holders(self, terms)
        best = or_shaped(answer)
        if best is None:
            return answer
        own, baselines, pair = (best, *answer.own), answer.baselines, answer.pair
        return ShapedHoldersAnswer(self, terms, best, pair.query, pair, own=own, baselines=baselines)


@dataclass(frozen=True, eq=False)
class ShapedHoldersAnswer(StrategyAnswer, HoldersAnswer):
    """What several means over people with records would be like, by one strategy for their sums and their share.

    >>> from barrow.promises import Promise
    >>> from barrow.questions import Workload
    >>> from barrow.spaces import Line
    >>> from barrow.spaces.augmented import with_no_records
    >>> space = with_no_records(Line(0, 60, unit="km", step=1))
    >>> both = Workload(parts=["distance(to=3)", "distance(to=50)"])
    >>> answer = both.plan(Terms(space, 1000, (Promise("all", "6 km", "0.5"),)))
    >>> type(answer).__name__, len(answer.widths)
    ('ShapedHoldersAnswer', 2)
    """

    @cached_property
    def ratio(self) -> Ratio:
        """The first sum beside the share."""
        return self.ratio_at(0)

    def ratio_at(self, output: int) -> Ratio:
        """The sum of one output beside the share."""
        return ratio_of(self.pair, self.strategy, output)

    @cached_property
    def widths(self) -> Floats:
        """The half width of each mean if everybody holds records, at the end of its range, snapping included."""
        return np.asarray(slacks_of(self.pair, self.strategy) + self.moved)

    @property
    def half_width_all(self) -> float:
        """The same for all values at once: each has its share of the 5 %."""
        return float(slacks_of(self.pair, self.strategy, LEVEL / len(self.pair.reaches)).max()) + self.moved

    def tables(self, sample: Sample) -> Tables:
        """As of other noise: a row for each mean with its interval, and the share of people with records."""
        return HoldersAnswer.tables(self, sample)

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        return StrategyAnswer.facts(self)


noisy_values.register(ShapedHoldersAnswer, noisy_values.dispatch(HoldersAnswer))
summary.register(ShapedHoldersAnswer, summary.dispatch(HoldersAnswer))


@answer_lines.register(ShapedHoldersAnswer)
def _(answer: ShapedHoldersAnswer) -> list[str]:
    """How wide intervals would be, and how many combinations get the noise."""
    return [*ratio_lines(answer), released_line(answer)]


@own_notes.register(ShapedHoldersAnswer)
def _(answer: ShapedHoldersAnswer) -> list[Note]:
    return [*unproved_constant(answer), *useless_values(answer, 2.0 * max(answer.pair.reaches))]
