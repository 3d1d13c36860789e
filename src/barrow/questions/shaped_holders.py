"""Several linear questions answered together where some people hold no records: ratios of a strategy's answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from barrow.mechanisms import Strategy
from barrow.mechanisms.additive import CalibratedNoise
from barrow.planning.candidates import Candidate, best_first
from barrow.planning.notes import Note
from barrow.planning.terms import Terms
from barrow.queries.holders import Holders, holders
from barrow.questions.answer import Sample, Tables
from barrow.questions.cache import cached_query
from barrow.questions.fieller import LEVEL, Ratio
from barrow.questions.holders import HoldersAnswer, ratio_lines
from barrow.questions.linear import Linear, unproved_constant, useless_values
from barrow.questions.plan_text import answer_lines, own_notes
from barrow.questions.releasing import noisy_values, summary
from barrow.questions.shaped import StrategyAnswer, released_line, shaped
from barrow.questions.statement import AnswerFacts
from barrow.spaces.space import Floats


@dataclass(frozen=True, eq=False)
class ShapedRatio(Ratio):
    """An answer of a strategy beside the share of people with records, which is the last one.

    Attributes:
        output: Which answer.
    """

    noise: Strategy
    output: int = 0

    def slack(self, ratio: float) -> float:
        """As for other noise; the two answers may have noise in common."""
        return self.noise.beside(self.output, self.noise.dimension - 1, ratio / self.weight, self.level)

    @property
    def share_half_width(self) -> float:
        """The released share is off by more with probability at most ``level``."""
        return float(self.noise.half_widths(self.level)[-1]) / self.weight


def shaped_holders(question: Linear, terms: Terms) -> ShapedHoldersAnswer:
    """The plan of several means over people with records by one strategy; it reads no data."""
    pair = holders(cached_query(question, terms.space.records_space), terms.space)
    own = tuple(_of_means(pair, shaped(pair.query, terms, question.noise)))
    return ShapedHoldersAnswer(question, terms, own[0], pair.query, pair, own=own)


def _ratio(pair: Holders, noise: Strategy | CalibratedNoise, output: int, miss: float = LEVEL) -> Ratio:
    """An output beside the share; user-level DP, which is looked at beside strategies, has noise on the answers."""
    if isinstance(noise, Strategy):
        return ShapedRatio(noise, pair.weight, 0.0, miss, output)
    return Ratio(noise, pair.weight, pair.query.rounding_upper, miss)


def _slacks(pair: Holders, noise: Strategy | CalibratedNoise, miss: float = LEVEL) -> Floats:
    """The half width of each mean at the end of its range, if everybody holds records."""
    return np.array([_ratio(pair, noise, i, miss).slack(reach) for i, reach in enumerate(pair.reaches)])


def _of_means(pair: Holders, candidates: Sequence[Candidate]) -> list[Candidate]:
    return best_first([replace(one, error=float(_slacks(pair, one.mechanism).max())) for one in candidates])


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

    def ranked(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """By the half width of the widest mean."""
        return _of_means(self.pair, candidates)

    @cached_property
    def ratio(self) -> Ratio:
        """The first sum beside the share."""
        return self.ratio_of(0)

    def ratio_of(self, output: int) -> Ratio:
        """The sum of one output beside the share."""
        return _ratio(self.pair, self.strategy, output)

    @cached_property
    def widths(self) -> Floats:
        """The half width of each mean if everybody holds records, at the end of its range, snapping included."""
        return np.asarray(_slacks(self.pair, self.strategy) + self.moved)

    @property
    def half_width_all(self) -> float:
        """The same for all values at once: each has its share of the 5 %."""
        return float(_slacks(self.pair, self.strategy, LEVEL / len(self.pair.reaches)).max()) + self.moved

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
