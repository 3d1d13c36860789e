"""How far from each other people's items on a line are: their mean and their standard deviation, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from msgspec import structs

from barrow.errors import ParameterError
from barrow.numerics.exact import near
from barrow.planning.notes import Note
from barrow.queries import Query, function
from barrow.queries.holders import Holders
from barrow.questions.answer import Rows, Sample, Tables, number, share_row, value_words
from barrow.questions.linear import LinearAnswer, unproved_constant
from barrow.questions.noise_words import nearly_useless
from barrow.questions.plan_text import answer_lines, own_notes
from barrow.questions.question import READ_FROM_HISTOGRAM
from barrow.questions.read_off import ReadOff, ReadOffAnswer
from barrow.questions.releasing import summary
from barrow.questions.statement import AnswerFacts
from barrow.spaces import Space
from barrow.spaces.space import Floats


@dataclass(frozen=True, kw_only=True, repr=False)
class Spread(ReadOff):
    """The mean and the standard deviation of people's items on a line, each person counting once.

    >>> from barrow.spaces import Line
    >>> Spread().query(Line(0, 100, unit="years", step=1)).dimension
    2
    """

    kind: ClassVar[str] = "spread"
    curated: ClassVar[tuple[str, str] | None] = ("Standard deviations", READ_FROM_HISTOGRAM)
    intervals: ClassVar[str] = (
        "Both come with intervals that contain the true values simultaneously with probability 95 %, snapping included."
    )
    decoding: ClassVar[str] = (
        "The standard deviation is the root of the noisy mean square less the square of the noisy mean; the intervals "
        "hold every pair of moments within the noise."
    )

    def query(self, space: Space) -> Query:
        """The mean of t and of t^2, t from -1 to 1 along the line."""
        if not space.geometry.on_line:
            round_it = space.geometry.periodic and not space.geometry.on_earth
            raise ParameterError(
                f"Standard deviations need a line, but the kind of this space is {space.kind!r}.",
                allowed="a line with a grid",
                fix="circular_mean" if round_it else "histogram, or distance(to=…)",
            )
        middle, half = _middle_and_half(space)
        t = np.clip((np.asarray(space.geometry.places, dtype=np.float64).ravel() - middle) / half, -1.0, 1.0)
        words = "the mean over people of the mean and the mean square of their items"
        return function(space, np.stack([t, t * t], axis=1), names=["mean", "mean square"], description=words)

    def _read_off(self, built: LinearAnswer, pair: Holders | None) -> ReadOffAnswer:
        return SpreadAnswer(self, built.terms, built.chosen, built.query, pair)


def _middle_and_half(line: Space) -> tuple[float, float]:
    """Where t is 0, and how far from there it is 1."""
    low, high = float(line.geometry.lattice.low[0]), float(line.geometry.lattice.high[0])  # type: ignore[union-attr]
    return 0.5 * (low + high), 0.5 * (high - low)


@dataclass(frozen=True, eq=False)
class SpreadAnswer(ReadOffAnswer):
    """What a mean and a standard deviation would be like (docs/proofs/spread.md)."""

    question: Spread

    @property
    def what(self) -> str:
        """What is read off."""
        return "the mean and the standard deviation"

    @property
    def error(self) -> float:
        """Half the width of the standard deviation's interval if people's items were spread uniformly."""
        inner = self.question.query(self.terms.space.records_space)
        uniform = np.asarray(inner.table.integers, dtype=np.float64).mean(axis=0) * float(inner.step)
        row = self._rows_of(uniform - self._middles, 1.0)[1]
        return 0.5 * float(number(row, "high_95") - number(row, "low_95"))

    def _moments(self, sample: Sample) -> tuple[Floats, float]:
        """The sums of t and t^2 over all people, less their middles for those with records, and the share of these."""
        values = np.asarray(sample.values, dtype=np.float64)
        if self.pair is None:
            return values, 1.0
        return values[:-1], float(values[-1]) / self.pair.weight

    @property
    def _middles(self) -> Floats:
        return np.zeros(2) if self.pair is None else np.asarray(self.pair.middles)

    def _rows_of(self, sums: Floats, share: float) -> Rows:
        """Both answers, with intervals that hold wherever the true sums and the true share are within the noise."""
        width, off, middles = float(self.noise.simultaneous_half_width), self.share_width, self._middles
        determined = share > off
        people = (max(share - off, 1e-300), min(share + off, 1.0) if off else 1.0)
        ends = np.stack([(sums + sign * width) / count for sign in (-1.0, 1.0) for count in people]) + middles
        bounds = np.clip(ends, [-1.0, 0.0], 1.0) if determined else np.array([[-1.0, 0.0], [1.0, 1.0]])
        low, high = bounds.min(axis=0), bounds.max(axis=0)
        squares = np.square([low[0], high[0]])
        least = 0.0 if low[0] <= 0.0 <= high[0] else float(squares.min())
        narrow = math.sqrt(max(low[1] - float(squares.max()), 0.0))
        wide = math.sqrt(max(high[1] - least, 0.0))
        about = np.clip(middles + sums / max(share, 1e-300), low, high)
        root = math.sqrt(max(float(about[1] - about[0] ** 2), 0.0))
        middle, half = _middle_and_half(self.terms.space.records_space)
        moved, unit = self.terms.space.snapping_upper * self.terms.space.diameter, self.terms.space.unit
        more = {} if self.pair is None else {"determined": determined}
        answers = (
            ("mean", middle + half * float(about[0]), middle + half * low[0], middle + half * high[0]),
            ("standard deviation", half * min(max(root, narrow), wide), half * narrow, half * wide),
        )
        floors, ceilings = (middle - half, 0.0), (middle + half, half)
        return [
            {
                "output": name,
                "value": value if determined else None,
                "low_95": max(float(least_of) - moved, floor),
                "high_95": min(float(most_of) + moved, ceiling),
                "unit": unit,
                **more,
            }
            for (name, value, least_of, most_of), floor, ceiling in zip(answers, floors, ceilings, strict=True)
        ]

    def tables(self, sample: Sample) -> Tables:
        """Mean and standard deviation with their intervals, and where some hold no records the others' share."""
        sums, share = self._moments(sample)
        tables = {"values": self._rows_of(sums, share)}
        return tables if self.pair is None else {**tables, "people": [share_row(share, self.share_width)]}

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        return structs.replace(super().facts(), holders=self.pair is not None)


@summary.register(SpreadAnswer)
def _(answer: SpreadAnswer, drawn: Sample) -> list[str]:
    """Both with their intervals."""
    return [f"{row['output']}: {value_words(row, answer.error_unit)}" for row in answer.tables(drawn)["values"]]


@answer_lines.register(SpreadAnswer)
def _(answer: SpreadAnswer) -> list[str]:
    """The noise, and how wide the intervals would be."""
    wide = near(answer.error, answer.error_unit)
    return [
        f"Noise     {answer.noise.name} on the mean and the mean square",
        f"Error     standard deviation ± {wide} (95 %) if people's items were spread uniformly; more where they are "
        "near each other",
    ]


@own_notes.register(SpreadAnswer)
def _(answer: SpreadAnswer) -> list[Note]:
    """A warning where the interval would hold most of what a standard deviation can be."""
    half, unit = _middle_and_half(answer.terms.space.records_space)[1], answer.error_unit
    if answer.error < half / 4.0:
        return unproved_constant(answer)
    times = 16.0 * float(answer.noise.simultaneous_half_width)
    what = f"± {near(answer.error, unit)} where no standard deviation is above {near(half, unit)}"
    return [*unproved_constant(answer), *nearly_useless(what, answer.terms.users, times, "help")]
