"""Questions about whole people: how many spend much of their time somewhere, how far a person's life reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np
from msgspec import structs

from barrow.engines import Counts, ItemSums, PeopleCounts
from barrow.errors import DataError
from barrow.noise import Center
from barrow.numerics import Exact
from barrow.numerics.exact import at_most
from barrow.planning.notes import Note
from barrow.planning.terms import Terms
from barrow.promises.periods import Window
from barrow.queries import PersonQuery, Query, person
from barrow.questions.answer import Sample
from barrow.questions.cache import cached_query
from barrow.questions.linear import Linear, LinearAnswer, unproved_constant, value_lines
from barrow.questions.noise_words import nearly_useless
from barrow.questions.parted import mean_of_people
from barrow.questions.plan_text import own_notes
from barrow.questions.question import VALUES, Traits
from barrow.questions.releasing import summary
from barrow.questions.statement import AnswerFacts, Statement
from barrow.spaces import Space

_UNIT = 2.0**-46
"""How far a float is from an exact mean at most, as a share of it."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Person(Linear):
    """The mean over people of a function of each person's whole data that is Lipschitz in the earth mover's distance.

    Args:
        function: ``"share"``: how many people have more than about ``above`` of their items in ``region``;
            ``"radius"``: the mean distance of a person's items from the best of some public centres;
            ``"spread"``: the mean distance of two of a person's items;
            ``"distance"``: the earth mover's distance between a person's items and a public ``reference``.
        region: Of a share: one label, a list of items, or a table with ``center``, ``radius`` and ``border``, or
            ``members`` and ``border``: the distance over which the region's edge falls to 0.
        above: Of a share: the threshold, e.g. ``"10 %"``.
        ramp: Of a share: how wide the ramp around it is, e.g. ``"10 %"`` from 5 % to 15 %.
        bracket: Of a share: whether two half ramps that enclose the sharp share are released in place of one.
        centers: Of a radius: public records; all items by default, or 100 of them.
        reference: Of a distance: public records that count alike, or ``"uniform"``.

    >>> from barrow.spaces import Discrete
    >>> person = Person(function="share", region="bar", above="10 %", ramp="10 %")
    >>> person.query(Discrete(["home", "bar"])).outputs
    ('share of people with more than about 10 % of their items at bar',)
    """

    kind: ClassVar[str] = "person"
    traits: ClassVar[Traits] = replace(VALUES, whole_people=True)
    missing: ClassVar[tuple[str, ...]] = ("default item", "no records")
    curated: ClassVar[tuple[str, str] | None] = (
        "Questions of kind 'person'",
        "model = 'central', or a linear question such as region or distance for reports",
    )
    function: str
    region: Mapping[str, object] | Sequence[object] | str | None = None
    above: Exact | None = None
    ramp: Exact | None = None
    bracket: bool = False
    centers: Sequence[object] | None = None
    reference: Sequence[object] | str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.function == "share":  # shares of people are said in per cent
            object.__setattr__(self, "traits", replace(self.traits, of_shares=True))

    def query(self, space: Space) -> Query:
        """The question on ``space``."""
        return person(
            space, function=self.function, region=self.region, above=self.above, ramp=self.ramp, bracket=self.bracket,
            centers=self.centers, reference=self.reference,
        )  # fmt: skip

    def plan(self, terms: Terms) -> PersonAnswer:
        """The most accurate noise that keeps the terms; it reads no data."""
        self._check(terms)
        query = cached_query(self, terms.space)
        best, own, baselines = self._ranked(query, terms)
        return PersonAnswer(self, terms, best, cast("PersonQuery", query), own=own, baselines=baselines)

    @classmethod
    def _counted(cls, statement: Statement) -> str:
        """What the noise was added to."""
        about = statement.answer.about
        window = "" if about is None else about.reads
        made = f"their records of {window}" if window else "all their records"
        if about is not None and about.pool == "periods" and len(Window.parse(window).periods) > 1:
            made = f"their records of each period of {window}, whose weighted mean it is"
        return (
            f"Every person counts once, with a number made of {made}: {statement.released}, over "
            f"{statement.people:,} people, as an exact fraction. No person's number was rounded."
        )


@dataclass(frozen=True, eq=False)
class PersonAnswer(LinearAnswer):
    """What a release about whole people would give."""

    query: PersonQuery

    def statistics(self, counts: Counts | ItemSums) -> Center:
        """The exact mean over people, from each person's items (private)."""
        return self.weighted([(counts, Fraction(1))])

    def weighted(self, parts: Sequence[tuple[Counts | ItemSums, Fraction]]) -> Center:
        """The same where each person's number is the weighted mean of those of several periods (private)."""
        means = []
        for counts, weight in parts:
            if not isinstance(counts, PeopleCounts):
                raise DataError("The records were not read person by person.", fix="read them with engine.people")
            means.append((self.query.exact_means(counts.profiles, self.terms.users), weight))
        floats = np.sum([[about * float(weight) for about, _, _ in each] for each, weight in means], axis=0)

        def entry(i: int) -> Fraction:
            added = (weight * Fraction(each[i][1].exact() + each[i][2]) for each, weight in means)
            return sum(added, Fraction(0)) / self.terms.users

        return Center.approximated(floats, np.abs(floats) * _UNIT + 2.0**-1000, entry)

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        return structs.replace(super().facts(), shares=self.question.traits.of_shares)


@mean_of_people.register(PersonAnswer)
def _(answer: PersonAnswer, parts: Sequence[tuple[PeopleCounts, Fraction]]) -> Center:
    """The mean over people of the weighted mean of their periods' numbers."""
    return answer.weighted(parts)


@summary.register(PersonAnswer)
def _(answer: PersonAnswer, drawn: Sample) -> list[str]:
    """The values with their errors."""
    if not answer.question.traits.of_shares:
        return value_lines(answer, drawn)
    named = zip(answer.query.outputs, drawn.values.tolist(), strict=True)
    width = at_most(answer.half_width, "%")
    return [f"{name}: {100.0 * min(max(value, 0.0), 1.0):.4g} % ± {width} (95 %)" for name, value in named]


@own_notes.register(PersonAnswer)
def _(answer: PersonAnswer) -> list[Note]:
    """A warning where the half width is not below half of what a guess in the middle errs by at most."""
    whole, shares = answer.query.range_upper("inf"), answer.question.traits.of_shares
    if answer.half_width < whole / 4.0:
        return unproved_constant(answer)
    unit = "%" if shares else answer.query.unit
    times = 4.0 * answer.half_width / whole
    steep = "; a wider ramp or border lowers it as well" if shares else ""
    what = (
        f"± {at_most(answer.half_width, unit)} is the expected error, and all possible answers lie within "
        f"{at_most(whole, unit)} of each other"
    )
    useless = nearly_useless(what, answer.terms.users, times, f"make it a quarter of that{steep}")
    return [*unproved_constant(answer), *useless]
