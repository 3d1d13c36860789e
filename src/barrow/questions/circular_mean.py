"""The mean and the spread on a circle: at which hour, on which day, in which month, and how much around it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from msgspec import structs

from barrow import heavy, mechanisms
from barrow.numerics import float_up
from barrow.numerics.exact import near
from barrow.planning.notes import Note
from barrow.queries import Query
from barrow.queries.coordinates import direction
from barrow.queries.holders import Holders
from barrow.questions.answer import Rows, Sample, Tables, Values, share_row, value_words
from barrow.questions.linear import LinearAnswer, unproved_constant
from barrow.questions.noise_words import nearly_useless
from barrow.questions.plan_text import answer_lines, own_notes
from barrow.questions.question import READ_FROM_HISTOGRAM
from barrow.questions.read_off import ReadOff, ReadOffAnswer
from barrow.questions.releasing import summary
from barrow.questions.statement import AnswerFacts
from barrow.spaces import Space


@dataclass(frozen=True, kw_only=True, repr=False)
class CircularMean(ReadOff):
    """The circular mean and the circular standard deviation of people's items, each person counting once.

    The mean of 23:00 and 1:00 is midnight, not noon: directions are averaged, not numbers.

    >>> from barrow.spaces import Circle
    >>> CircularMean().query(Circle.hours()).dimension
    2
    """

    kind: ClassVar[str] = "circular_mean"
    curated: ClassVar[tuple[str, str] | None] = ("Circular means", READ_FROM_HISTOGRAM)
    intervals: ClassVar[str] = (
        "Both come with intervals that contain the true values simultaneously with probability 95 %, snapping "
        "included; where the noise may have reversed the direction, the mean is given as not determined."
    )
    decoding: ClassVar[str] = (
        "The mean is the angle of the noisy mean of (cosine, sine), the spread sqrt(-2 ln R) turns of its length R; "
        "the intervals hold every direction within the noise's radius."
    )

    def query(self, space: Space) -> Query:
        """The mean direction."""
        return direction(space)

    def _read_off(self, built: LinearAnswer, pair: Holders | None) -> ReadOffAnswer:
        return CircularMeanAnswer(self, built.terms, built.chosen, built.query, pair)


@dataclass(frozen=True, eq=False)
class CircularMeanAnswer(ReadOffAnswer):
    """What a circular mean would be like.

    Args:
        pair: Where some people hold no records: the sums over those who do, and their share. The direction of a sum
            is that of the mean, whatever the share; only the spread needs it.
    """

    @property
    def what(self) -> str:
        """What is read off."""
        return "the circular mean and spread"

    @property
    def radius(self) -> float:
        """The released direction is within this of the true one, in the plane, with probability at least 95 %.

        Snapping moves the direction by at most pi rho, quantising by at most sqrt(2) times what it moves an output.
        """
        noise = self.noise
        if self.pair is not None:  # what is subtracted from the sums is added again, times the noisy share
            lean = 1.0 + max(abs(middle) for middle in self.pair.middles) / self.pair.weight
            near = math.sqrt(2.0) * noise.simultaneous_half_width * lean
            return float(near + math.pi * self.terms.space.snapping_upper)
        if isinstance(noise, mechanisms.AdditiveNoise) and noise.p in ("2", None) and noise.dimension == 2:
            # The norm is a Gamma(2) variate, or for Gaussian noise the root of an exponential one.
            reach = float(heavy.special.gammainccinv(2.0, 0.05)) if noise.p == "2" else math.sqrt(-2.0 * math.log(0.05))
            near = reach * (1.0 + 1e-12) * float_up(noise.scale) + math.sqrt(2.0) * (
                float_up(noise.grid) / 2.0 + noise.rounding_upper
            )
        else:
            near = math.sqrt(2.0) * noise.simultaneous_half_width
        return float(near + math.pi * self.terms.space.snapping_upper)

    @property
    def error(self) -> float:
        """Half the width of the mean's interval if all people were at the same place; more where they are spread."""
        return self._turn(math.asin(self.radius)) if self.radius < 1.0 else self.terms.space.diameter

    def _turn(self, angle: float) -> float:
        """An angle as a distance on the circle."""
        return angle * self.terms.space.diameter / math.pi

    def tables(self, sample: Sample) -> Tables:
        """Mean and spread with their intervals, and the noisy direction they are made of."""
        (x, y), share = self._direction(sample.values)
        length, radius, unit = math.hypot(x, y), self.radius, self.terms.space.unit
        period = 2.0 * self.terms.space.diameter
        mean = math.fmod(math.atan2(y, x) / (2.0 * math.pi) + 1.0, 1.0) * period
        determined = length > radius
        # Seen from the origin, a disc of this radius at this distance fills asin(radius/length) to each side.
        width = self._turn(math.asin(radius / length)) if determined else None
        off = self.share_width
        low = max(length - radius, 0.0) / min(max(share + off, 1e-300), 1.0)
        high = min((length + radius) / (share - off), 1.0) if share > off else 1.0
        low = min(low, high)
        rows: Rows = [
            {
                "output": "circular mean",
                "value": mean if determined else None,
                "low_95": None if width is None else math.fmod(mean - width + period, period),
                "high_95": None if width is None else math.fmod(mean + width, period),
                "unit": unit,
                "determined": determined,
            },
            {
                "output": "circular standard deviation",
                "value": self._spread(min(max(length / max(share, 1e-300), low), high)) if share > off else None,
                "low_95": self._spread(high),
                "high_95": self._spread(low),
                "unit": unit,
                "determined": low > 0.0 and share > off,
            },
        ]
        if self.pair is not None:
            return {"values": rows, "people": [share_row(share, off)]}
        return {"values": rows, "direction": self.rows_of(sample.values, [self.half_width] * 2)}

    def _direction(self, sample: Values) -> tuple[tuple[float, float], float]:
        """The noisy mean of (cosine, sine) over all people, 0 for those without records, and the others' share."""
        values = [float(value) for value in sample]
        if self.pair is None:
            return (values[0], values[1]), 1.0
        share = values[2] / self.pair.weight
        x, y = (value + middle * share for value, middle in zip(values[:2], self.pair.middles, strict=True))
        return (x, y), share

    def _spread(self, length: float) -> float | None:
        """sqrt(-2 ln R) as a distance; None where R may be 0, and the spread anything."""
        return self._turn(math.sqrt(max(0.0, -2.0 * math.log(length)))) if length > 0.0 else None

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        return structs.replace(super().facts(), radius_95=self.radius, holders=self.pair is not None)


@summary.register(CircularMeanAnswer)
def _(answer: CircularMeanAnswer, drawn: Sample) -> list[str]:
    """Mean and spread with their intervals."""
    lines, period = [], 2.0 * answer.terms.space.records_space.diameter
    for row in answer.tables(drawn)["values"]:
        if row["value"] is None:
            lines.append(f"{row['output']}: not determined: the noise may have reversed it")
            continue
        lines.append(f"{row['output']}: {value_words(row, answer.error_unit, period=period)}")
    return lines


@answer_lines.register(CircularMeanAnswer)
def _(answer: CircularMeanAnswer) -> list[str]:
    """The noise, and how wide the interval would be."""
    wide = near(answer.error, answer.error_unit)
    return [
        f"Noise     {answer.noise.name}, scale {float_up(answer.noise.scale):.3g} on the mean of (cosine, sine)",
        f"Error     mean ± {wide} (95 %) if all people were alike, more where they are spread; not determined where "
        f"the mean direction is shorter than {answer.radius:.2g}",
    ]


@own_notes.register(CircularMeanAnswer)
def _(answer: CircularMeanAnswer) -> list[Note]:
    """A warning where most directions would not be determined."""
    radius = answer.radius
    if radius < 0.5:
        return unproved_constant(answer)
    what = f"a mean direction shorter than {radius:.2g} is not determined, and none is longer than 1"
    useless = nearly_useless(what, answer.terms.users, 4 * radius, "make it a quarter")
    return [*unproved_constant(answer), *useless]
