"""Quantiles on a line, with intervals: read off the shares up to each point of the best histogram."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms import HistogramNoise
from barrow.mechanisms.cumulative import Cumulative, cumulative_of
from barrow.numerics import Exact, exact, exact_text
from barrow.numerics.exact import near
from barrow.planning import Comparison
from barrow.planning.candidates import Candidate, best_first, checked_definition, preferred
from barrow.planning.terms import Terms
from barrow.privacy import Model
from barrow.questions.base import Question, Said
from barrow.questions.histogram import Histogram, HistogramDraw, HistogramPlan
from barrow.questions.noise_words import noise_sentence
from barrow.questions.plan import Rows
from barrow.spaces import Space
from barrow.spaces.base import Floats

_LEVEL = 0.05


def shares_asked(of: Exact | Sequence[Exact], name: str = "of") -> tuple[Fraction, ...]:
    """Shares strictly between 0 and 1, exact, from one or several.

    >>> shares_asked(["0.25", "1/2"])
    (Fraction(1, 4), Fraction(1, 2))
    """
    several: Sequence[Any] = of if isinstance(of, list | tuple) else [of]
    found = tuple(exact(share, name) for share in several)
    if not found or not all(0 < share < 1 for share in found):
        raise ParameterError(
            f"{name} is {of!r}.", allowed="shares strictly between 0 and 1", fix=f'{name} = "0.5", the median'
        )
    return found


def check_line(space: Space) -> None:
    """Refuse a space whose items have no order."""
    if not space.held.on_line:
        raise ParameterError(
            f"Quantiles are asked of a line, and the space is a {space.held.kind}.",
            allowed="a line with a grid",
            fix="a histogram, or a line for this column",
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Quantile(Question):
    """The values below which given shares of people's items lie; the median by default.

    They are read off a histogram of the line, and asked together with one they cost nothing more.

    Args:
        of: One share in (0, 1), or several.
        noise: ``"auto"``, ``"laplace"`` or ``"gaussian"``.
        definition: ``"auto"``: what keeps the promises with the narrowest intervals; ``"emd"`` or ``"user_level"`` for
            EMD-DP or user-level DP.

    >>> Quantile(of=["0.25", "0.5"]).shares
    (Fraction(1, 4), Fraction(1, 2))
    """

    kind: ClassVar[str] = "quantile"
    error_words: ClassVar[str] = "half the width of the widest 95 % interval"
    formerly: ClassVar[Mapping[str, Any]] = {"median": lambda old: {"name": "median", **old, "of": "1/2"}}
    of: Exact | Sequence[Exact] = "0.5"
    noise: str = "auto"
    definition: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_definition(self.definition)
        shares_asked(self.of)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The shares, exact."""
        return shares_asked(self.of)

    @property
    def missing(self) -> tuple[str, ...]:
        """An item of their own."""
        return ("no records", "default item")

    def fits(self, space: Space) -> None:
        """Refuse, within a second, a space on which it has no answer."""
        check_line(space)

    @property
    def histogram(self) -> Histogram:
        """The histogram that they are read off."""
        return Histogram(name=self.name, fraction=self.fraction, noise=self.noise, definition=self.definition)

    def plan(self, terms: Terms) -> QuantilePlan:
        """The histogram with the narrowest intervals of these quantiles; it reads no data."""
        check_line(terms.space)
        if terms.model is not Model.CENTRAL:
            raise ParameterError(
                "Quantiles are planned for data already held.",
                allowed="model 'central'",
                fix="histogram, which people can report themselves, and from which they can be read off",
            )
        plan = self.histogram.plan(terms)
        if not isinstance(plan, HistogramPlan):
            raise ParameterError("No histogram with additive noise answers here.", allowed="2 points or more", fix="")
        return QuantilePlan.of(self, plan)

    def compared(self, terms: Terms, promises: Any, epsilons: Any, **given: Any) -> Comparison:
        """By what the plan itself is chosen by, so that both say the same numbers."""
        from barrow.questions.comparing import compared_plan

        return compared_plan(self.plan(terms), promises, epsilons)

    @classmethod
    def released(cls, said: Said) -> str:
        """What was released, and that it comes with intervals."""
        once = "with records counting once" if said.get("holders") else "counting once"
        return (
            f"We released {said['released']}, computed from {said['people']:,} people, each person {once}. Each comes "
            "with an interval that holds the true one with probability 95 %, all of them at once, snapping included."
        )

    @classmethod
    def counted(cls, said: Said) -> str:
        """What the noise was added to."""
        return Histogram.counted(said)

    @classmethod
    def drawn(cls, said: Said) -> list[str]:
        """How the noise was drawn, and what was made of it."""
        return [
            noise_sentence(said),
            f"The noisy values ({said['histogram']['words']}) were decoded to one histogram, from which the quantiles "
            "were read off; their intervals come from the noisy values, which say at which points the share asked for "
            "may be reached.",
        ]

    @classmethod
    def figure(cls, said: Said, tables: Mapping[str, Any], space: Space | None = None, **style: Any) -> Any:
        """A picture of the quantiles."""
        return super().figure(said, tables, space, alike=False, **style)


@dataclass(frozen=True, eq=False)
class Reading:
    """Quantiles and the distribution function of released values.

    Attributes:
        cumulative: The shares up to each point, and their noise.
        shares: Which quantiles.
    """

    cumulative: Cumulative
    shares: tuple[Fraction, ...]

    @property
    def _space(self) -> Space:
        return self.cumulative.space

    @cached_property
    def _points(self) -> Floats:
        return np.asarray(self._space.held.places, dtype=np.float64).ravel()

    def spans(self, raw: Floats) -> list[tuple[int, int]]:
        """The first and the last point that each quantile may be, all at once with 95 %."""
        level = _LEVEL / len(self.shares)
        return [self.cumulative.interval(raw, float(share), level) for share in self.shares]

    def quantiles(self, drawn: HistogramDraw) -> Rows:
        """A row for each quantile, with its interval; not determined where nobody may hold records."""
        people, off = self.cumulative.holders(drawn.raw, _LEVEL)
        determined, points = people > off, self._points
        moved = self._space.snapping_upper * self._space.diameter
        below = np.cumsum(drawn.shares[: len(points)])
        rows: Rows = []
        for share, (first, last) in zip(self.shares, self.spans(drawn.raw), strict=True):
            at = int(np.searchsorted(below, float(share) * below[-1] * (1.0 - 1e-12)))
            row = {
                "quantile": exact_text(share),
                "value": float(points[min(max(at, first), last)]) if determined else None,
                "low_95": float(points[first if determined else 0]) - moved,
                "high_95": float(points[last if determined else -1]) + moved,
                "unit": self._space.unit,
            }
            rows.append({**row, "determined": determined} if self.cumulative.apart else row)
        return rows

    def below(self, drawn: HistogramDraw) -> Rows:
        """The share of items up to each point among people with records, in a band that holds all at once."""
        values, low, high = self.cumulative.band(drawn.raw)
        columns = (self._points[self.cumulative.first], self._points[self.cumulative.last], values, low, high)
        names = ("from", "up_to", "share", "low_95", "high_95")
        return [dict(zip(names, row, strict=True)) for row in zip(*(each.tolist() for each in columns), strict=True)]

    def people(self, drawn: HistogramDraw) -> Rows:
        """The share of people with records, where the others have an item of their own."""
        share, width = self.cumulative.holders(drawn.raw, _LEVEL)
        low, value, high = (min(max(x, 0.0), 1.0) for x in (share - width, share, share + width))
        return [{"output": "share of people with records", "value": value, "low_95": low, "high_95": high}]


def reading_of(space: Space, made: Any, shares: tuple[Fraction, ...]) -> Reading | None:
    """What reads quantiles off a mechanism's values; None where nothing is known about sums of them."""
    found = cumulative_of(space, made) if isinstance(made, HistogramNoise) else None
    return None if found is None else Reading(found, shares)


@dataclass(frozen=True, eq=False)
class QuantilePlan(HistogramPlan):
    """What quantiles would be like; errors of candidates are half widths of intervals."""

    question: Quantile

    @classmethod
    def of(cls, question: Quantile, plan: HistogramPlan) -> QuantilePlan:
        """By the mechanism of the narrowest intervals."""
        own, rivals = (_by_width(found, plan.space, question.shares) for found in (plan.own, plan.rivals))
        if not own:
            raise ParameterError(
                "No mechanism whose shares can be added up answers here.",
                allowed="a line of 2 points or more, and Laplace or Gaussian noise",
                fix="noise = 'auto'",
            )
        best = preferred(own, rivals, question.definition)
        made: HistogramNoise = best.mechanism
        return cls(
            question, plan.terms, made.query, best, (), plan.target, tuple(own), plan.cannot,
            own=tuple(own), rivals=tuple(rivals),
        )  # fmt: skip

    def by_emd(self, terms: Terms) -> Sequence[Candidate]:
        """The candidates of EMD-DP that keep other terms."""
        return self._measured(super().by_emd(terms))

    def by_user_level(self, epsilon: Fraction) -> Sequence[Candidate]:
        """Those of user-level DP at an epsilon."""
        return self._measured(super().by_user_level(epsilon))

    def _measured(self, found: Sequence[Candidate]) -> list[Candidate]:
        measured = _by_width(found, self.space, self.question.shares)
        if not measured:
            raise ParameterError("No mechanism can answer here.", allowed="Laplace or Gaussian noise", fix="")
        return measured

    @cached_property
    def reading(self) -> Reading:
        """What reads them off."""
        found = reading_of(self.space, self.made, self.question.shares)
        if found is None:
            raise ParameterError("Nothing is known about sums of these values.", allowed="another mechanism", fix="")
        return found

    @property
    def what(self) -> str:
        """What is read off."""
        shares = self.question.shares
        return "the median" if shares == (Fraction(1, 2),) else f"the quantiles {', '.join(map(exact_text, shares))}"

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        whose = "people's items" if self.space.apart is None else "the items of people with records"
        return f"{self.what} of {whose}" + (f" ({self.space.unit})" if self.space.unit else "")

    @property
    def error_parts(self) -> tuple[float, float]:
        """All of it is the interval's."""
        return self.error, 0.0

    def tables(self, drawn: HistogramDraw) -> dict[str, Rows]:
        """The quantiles, the distribution function in its band, and the histogram that they were read off."""
        found = {"values": self.reading.quantiles(drawn), "below": self.reading.below(drawn)}
        return found if self.space.apart is None else {**found, "people": self.reading.people(drawn)}

    def summary(self, drawn: HistogramDraw) -> list[str]:
        """The quantiles with their intervals."""
        unit = f" {self.space.unit}".rstrip()
        lines = []
        for row in self.reading.quantiles(drawn):
            value = "not determined" if row["value"] is None else f"{row['value']:.6g}{unit}"
            lines.append(f"{row['quantile']}: {value}, from {row['low_95']:.6g} to {row['high_95']:.6g} (95 %)")
        return lines

    def fields(self) -> dict[str, Any]:
        """What the statement says about the values."""
        holders = {} if self.space.apart is None else {"holders": True}
        return {**super().fields(), "quantiles": [exact_text(share) for share in self.question.shares], **holders}

    @property
    def uniform_guess(self) -> float:
        """Half the line."""
        return self.space.held.diameter / 2.0

    @property
    def share_half_width(self) -> float:
        """The widest 95 % half width of a share up to a point where a quantile lies if items are spread uniformly."""
        wide = []
        for share, (first, last) in zip(self.question.shares, self._spans, strict=True):
            here = (self.reading.cumulative.last >= first) & (self.reading.cumulative.first <= last)
            widths = self.reading.cumulative.half_widths(float(share))
            wide.append(float(widths[here].max() if here.any() else widths.max()))
        return max(wide)

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        return self.reading.spans(np.asarray(self.made.matrix @ _uniform(self.space)))

    def answer_lines(self) -> list[str]:
        """The mechanism, and how wide intervals would be."""
        return [
            f"Chosen    {self.chosen.name}: {self.chosen.words}",
            f"Noise     each share of people below a point ± {near(100 * self.share_half_width)} % (95 %)",
            f"Error     ± {self.sized(self.error)} (95 %, all at once) if people's items were spread uniformly"
            + ("; less where many are alike" if self.error else ""),
        ]

    @property
    def warnings(self) -> list[str]:
        """A warning where an interval would cover most of the line."""
        whole = self.space.held.diameter
        if self.error < whole / 4.0:
            return []
        times = 8.0 * self.share_half_width
        return [
            f"The answer will be nearly useless: ± {self.sized(self.error)} on a line of {self.sized(whole)}. About "
            f"{math.ceil(self.terms.users * max(times, 2.0)):,} people, or promises {near(max(times, 2.0), digits=2)} "
            "times looser, would help."
        ]


def _uniform(space: Space) -> Floats:
    """Everybody's items spread uniformly over the line."""
    found = np.zeros(space.items)
    found[: space.held.items] = 1.0 / space.held.items
    return found


def _by_width(found: Sequence[Candidate], space: Space, shares: tuple[Fraction, ...]) -> list[Candidate]:
    """The candidates that can be read, by half the width of the widest interval if items are spread uniformly."""
    points = np.asarray(space.held.places, dtype=np.float64).ravel()
    moved, measured = space.snapping_upper * space.diameter, []
    for one in found:
        reading = reading_of(space, one.mechanism, shares)
        if reading is None:
            continue
        spans = reading.spans(np.asarray(one.mechanism.matrix @ _uniform(space)))
        wide = max(float(points[last] - points[first]) for first, last in spans) / 2.0 + moved
        measured.append(replace(one, error=wide, decoded=None, undecoded=None, upper=None, standard_error=None))
    return best_first(measured)
