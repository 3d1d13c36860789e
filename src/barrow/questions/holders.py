"""Linear questions where some people hold no records: the mean over those who do, as a ratio with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from msgspec import structs

from barrow.errors import ParameterError
from barrow.mechanisms import Strategy
from barrow.mechanisms.additive import CalibratedNoise
from barrow.numerics import float_up
from barrow.numerics.exact import PERCENT, at_most, near
from barrow.planning.candidates import Candidate, best_first
from barrow.planning.notes import Note
from barrow.planning.terms import Terms
from barrow.promises import Model
from barrow.queries import Query
from barrow.queries.holders import Holders, holders
from barrow.queries.private_groups import GroupMeans
from barrow.questions.answer import Rows, Sample, TableRow, Tables, number, placed, share_row, value_words
from barrow.questions.cache import cached_query
from barrow.questions.fieller import LEVEL, Ratio, ShapedRatio
from barrow.questions.linear import Linear, LinearAnswer, unproved_constant, useless_values
from barrow.questions.plan_text import answer_lines, own_notes
from barrow.questions.releasing import noisy_values, summary
from barrow.questions.statement import AnswerFacts
from barrow.questions.value_tables import names_of
from barrow.spaces.space import Floats


def plan_holders(question: Linear, terms: Terms) -> HoldersAnswer:
    """The plan of a mean over people with records; it reads no data."""
    if terms.model is not Model.CENTRAL:
        raise ParameterError(
            "People without records have an item of their own in the central model only.",
            allowed="model 'central', or missing = 'default item'",
            fix="missing = 'default item'",
        )
    pair = holders(cached_query(question, terms.space.records_space), terms.space)
    best, own, baselines = question._ranked(pair.query, terms, partial(ranked_means, pair), pair.inner)
    return HoldersAnswer(question, terms, best, pair.query, pair, own=own, baselines=baselines)


def ratio_of(pair: Holders, noise: CalibratedNoise | Strategy, output: int, level: float = LEVEL) -> Ratio:
    """The sum of an output beside the share: of a strategy each has noise of its own."""
    if isinstance(noise, Strategy):
        return ShapedRatio(noise, pair.weight, 0.0, level, output)
    return Ratio(noise, pair.weight, pair.query.rounding_upper, level)


def slacks_of(pair: Holders, noise: CalibratedNoise | Strategy, level: float = LEVEL) -> Floats:
    """The half width of each mean at the end of its range, if everybody holds records."""
    if not isinstance(noise, Strategy):
        widest = ratio_of(pair, noise, 0, level).slack(max(pair.reaches))
        return np.full(len(pair.reaches), widest)
    return np.array([ratio_of(pair, noise, i, level).slack(reach) for i, reach in enumerate(pair.reaches)])


def ranked_means(pair: Holders, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The candidates by the half width of the widest mean."""
    return tuple(best_first([replace(one, error=float(slacks_of(pair, one.mechanism).max())) for one in candidates]))


@dataclass(frozen=True, eq=False)
class RatioAnswer(LinearAnswer):
    """What means would be like that are sums divided by shares, both of them released.

    Args:
        pair: The sums and the shares, and what was subtracted.
    """

    pair: Holders | GroupMeans

    @property
    def measured(self) -> Query:
        """The query about records."""
        return self.pair.inner

    @cached_property
    def ratio(self) -> Ratio:
        """A sum beside a share."""
        return Ratio(self.noise, self.pair.weight, self.pair.query.rounding_upper)

    def ratio_at(self, output: int) -> Ratio:
        """The sum of one output beside the share."""
        return self.ratio

    @property
    def share_half_width(self) -> float:
        """The released shares are off by more with probability at most 5 %."""
        return self.ratio.share_half_width

    def means(self, sums: Sequence[float], share: float, **named: str) -> Rows:
        """A row for each value with its interval, from sums and a share as they were released."""
        inner, rows = self.pair.inner, []
        # The mean over snapped records lies within the items' range; over records as they are it may lie beyond.
        least, most = (np.broadcast_to(end, (inner.dimension,)) for end in inner.between)
        columns = zip(inner.outputs, self.pair.middles, self.pair.reaches, sums, strict=True)
        asked = self.parts_named
        for i, (name, middle, reach, total) in enumerate(columns):
            reach += self.query.rounding_upper
            result = self.ratio_at(i).interval(total, share, reach)
            low, high = (-reach, reach) if result is None else result
            row: TableRow = {
                **named,
                **({"question": asked[i]} if asked else {}),
                "output": name,
                **placed(inner.space, inner.places, i),
                "value": None if result is None else middle + min(max(total / share, low), high),
                "low_95": max(middle + low - self.moved, float(least[i])),
                "high_95": min(middle + high + self.moved, float(most[i])),
                "unit": self.query.unit,
                "determined": result is not None,
            }
            rows.append(row)
        return rows


@dataclass(frozen=True, eq=False)
class HoldersAnswer(RatioAnswer):
    """What a mean over people with records would be like."""

    pair: Holders

    def ranked(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """By the half width of a mean."""
        return ranked_means(self.pair, candidates)

    @property
    def half_width_all(self) -> float:
        """The same for all values at once: intervals from half widths that hold together."""
        ratio = 1.0 + max(self.pair.reaches) / self.pair.weight
        return float(self.noise.simultaneous_half_width) * ratio + self.moved

    def tables(self, sample: Sample) -> Tables:
        """A row for each value with its interval, and the share of people with records with its own."""
        *sums, last = np.asarray(sample.values, dtype=np.float64).tolist()
        share = last / self.pair.weight
        return {"values": self.means(sums, share), "people": [share_row(share, self.share_half_width)]}

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        return structs.replace(super().facts(), share_half_width_95=self.share_half_width)


@noisy_values.register(HoldersAnswer)
def _(answer: HoldersAnswer, tables: Mapping[str, Rows]) -> Floats | None:
    """The sums over people with records and their share, where every mean is determined."""
    rows, share = tables["values"], number(tables["people"][0], "value")
    if len(rows) != answer.pair.inner.dimension or any(row["value"] is None for row in rows):
        return None
    sums = [(number(row, "value") - middle) * share for row, middle in zip(rows, answer.pair.middles, strict=True)]
    return np.array([*sums, share * answer.pair.weight])


@summary.register(HoldersAnswer)
def _(answer: HoldersAnswer, drawn: Sample) -> list[str]:
    """The values with their intervals."""
    tables = answer.tables(drawn)
    named = list(zip(names_of(tables["values"]), tables["values"], strict=True))[:12]
    lines = [f"{name}: {value_words(row, answer.said_in)}" for name, row in named]
    (share,) = tables["people"]
    return [*lines, f"people with records: {value_words(share, PERCENT)}"]


@answer_lines.register(HoldersAnswer)
def ratio_lines(answer: HoldersAnswer) -> list[str]:
    """The noise, and how wide intervals would be."""
    unit = f" {answer.query.unit}".rstrip()
    return [
        f"Noise     {answer.noise.name}, scale {near(float_up(answer.noise.scale))}{unit} on the sum over people with "
        "records and on their share",
        f"Error     each value ± {at_most(answer.half_width)}{unit} (95 %) if everybody holds records, twice that if "
        "half of them do",
        f"          the share of people with records ± {at_most(answer.share_half_width)} (95 %); not determined "
        "where that reaches 0",
    ]


@own_notes.register(HoldersAnswer)
def _(answer: HoldersAnswer) -> list[Note]:
    return [*unproved_constant(answer), *useless_values(answer, 2.0 * max(answer.pair.reaches))]
