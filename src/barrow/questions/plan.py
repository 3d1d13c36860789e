"""The plan: what an answer would give and cost, from public numbers only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from barrow.accounting import epsilon_at
from barrow.display import Displayed
from barrow.engines import Counts
from barrow.numerics import exact_text, float_up
from barrow.numerics.exact import at_most, near
from barrow.planning.terms import Terms
from barrow.policy import RecordMap, describe_move, odds_upper, percent_up
from barrow.privacy import Emd, Event, Guarantee, Model
from barrow.questions.base import AnyItems, Question, declared_parts
from barrow.spaces import Space
from barrow.spaces.base import Floats
from barrow.spaces.covariates import caveat
from barrow.spaces.grids import may_be_whole
from barrow.spaces.product import marginals

if TYPE_CHECKING:
    from barrow.mechanisms import ReleasedShares
    from barrow.planning.after import OwnError
    from barrow.planning.candidates import Versus
    from barrow.questions.collecting import Collected, Collector
    from barrow.questions.statement import AnswerFacts

Rows = list[dict[str, Any]]
_LOUD = 2
"""A grid that makes a promise cost so many times its distance is spoken of."""


class Plan(Displayed, AnyItems, ABC):
    """What a release would give: the mechanism, its error, its guarantee and its price.

    Attributes:
        question: What is asked.
        terms: What the study grants.
        guarantee: What it promises, with the worst case.

    >>> from barrow.questions import Mean
    >>> from barrow.spaces import Line
    >>> plan = Mean().plan(Terms(Line(0, 100, unit="years", step=1), 1000, given=Fraction(25)))
    >>> plan.question.kind, plan.alpha, plan.worst_epsilon <= 25
    ('mean', Fraction(25, 1), True)
    """

    question: Question
    terms: Terms
    guarantee: Guarantee

    @property
    def space(self) -> Space:
        """The public space."""
        return self.terms.space

    @property
    @abstractmethod
    def description(self) -> str:
        """What is released, in plain words."""

    @property
    @abstractmethod
    def event(self) -> Event:
        """What drawing will cause."""

    @property
    @abstractmethod
    def error(self) -> float:
        """The one number that says how accurate the release will be."""

    @property
    def error_parts(self) -> tuple[float, float]:
        """The error without snapping, and what snapping adds, in the unit of :attr:`error`."""
        return self.error, 0.0

    def combined(self, noise: float) -> float:
        """The error if the first of :attr:`error_parts` were another one."""
        return noise + self.error_parts[1]

    @property
    def error_unit(self) -> str:
        """The unit of :attr:`error`."""
        return self.space.unit

    @property
    def uniform_guess(self) -> float | None:
        """What a guess without any data errs by, in the unit of :attr:`error`; None where that is not known."""
        return None

    @property
    def threshold(self) -> float | None:
        """What noise alone reaches anywhere with 5 %, where values stand out of it one by one; else None."""
        return None

    @property
    def versus(self) -> Versus | None:
        """What is released beside the best of the other definition, EMD-DP or user-level DP; None if nothing is."""
        return None

    @property
    def scales(self) -> bool:
        """Whether the first of :attr:`error_parts` falls as alpha and the number of people grow, and nothing else."""
        return False

    def errors_at(self, times: Sequence[float], *, thorough: bool) -> dict[float, float]:
        """The error at so many times alpha, as far as it is known; if ``thorough``, also what takes long."""
        return {}

    def rival_error(self, *, thorough: bool) -> tuple[float, float] | None:
        """The error and the epsilon of user-level DP that keeps the same promises; None where it is not known."""
        return None

    def remarks(self) -> list[str]:
        """Sentences of a report about mechanisms that were not chosen."""
        return []

    @property
    def rows(self) -> int:
        """How many rows the tables have, at most."""
        return self.fields().outputs + (self.space.size or 0)

    @property
    def ratio(self) -> Fraction:
        """B/ell: no change of one item moves the answer by more than this many times ell."""
        return Fraction(1)

    @property
    def declared(self) -> str:
        """A sentence where the guarantee rests on somebody's word, not on a proof; else empty."""
        return ""

    # Central: from an engine's integers to values.

    @abstractmethod
    def statistics(self, counts: Counts) -> Any:
        """What noise will be added to, from an engine's integers (private)."""

    @abstractmethod
    def draw(self, statistics: Any) -> tuple[Any, bool]:
        """What is released, the statistics with noise, and whether the noise was the system's."""

    @property
    def by_curator(self) -> bool:
        """Whether somebody who holds the records can draw it."""
        return self.terms.model is Model.CENTRAL

    def center(self, statistics: Any) -> Floats | None:
        """What additive noise is added to (private); None where there is no such noise."""
        return None

    def noisy(self, drawn: Any) -> Any:
        """The values with noise themselves, before anything is made of them."""
        return drawn

    def simulated(self, people: Floats, seed: int) -> Floats:
        """What would be released of public shares of the items, with simulated noise; for pictures only."""
        return people

    @abstractmethod
    def tables(self, drawn: Any) -> dict[str, Rows]:
        """The rows of every file of values by the file's name without its ending; ``values`` is the first."""

    @abstractmethod
    def summary(self, drawn: Any) -> list[str]:
        """The released values in a few lines, for a terminal."""

    def own_error(self, drawn: Any) -> OwnError | None:
        """How far off what was drawn is, from itself and public numbers; None where the plan's number says it all."""
        return None

    @property
    def mapped(self) -> bool:
        """Whether the rows are places on a map."""
        return False

    @property
    def places(self) -> Floats | None:
        """Where the values belong; None where nowhere."""
        return self.space.records_space.geometry.places

    def shares_of(self, raw: Any, users: int) -> ReleasedShares | None:
        """The unbiased shares that released values are, or means of so many people's reports; None for other kinds.

        Args:
            raw: The values with noise.
            users: How many people they are about.
        """
        return None

    # Local: what one person reports, and what a server makes of many reports.

    def collected(self, collector: Collector) -> Collected:
        """What the reports say together."""
        raise self.question.central_only()

    def for_people(self, users: int) -> Self:
        """The same channel, priced and decoded for as many people as really took part."""
        return replace(self, terms=replace(self.terms, users=users))  # type: ignore[type-var]

    # What is said about it.

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The public numbers on which the distribution of the values depends, beside the terms."""

    @abstractmethod
    def fields(self) -> AnswerFacts:
        """What the statement says about the values."""

    @abstractmethod
    def details(self) -> dict[str, Any]:
        """What is this kind's own in :meth:`to_json`."""

    @abstractmethod
    def answer_lines(self) -> list[str]:
        """The lines that say how it is answered and how accurate that is."""

    def other_lines(self) -> list[str]:
        """The lines about what would keep the promises too, and loses."""
        return []

    @property
    def alpha(self) -> Fraction | None:
        """The alpha that the release has; None where it is user-level DP, the same for every change."""
        definition = self.guarantee.definition
        return definition.alpha if isinstance(definition, Emd) else None

    @property
    def delta(self) -> Fraction:
        """The delta that the release has."""
        found: Fraction = self.guarantee.definition.parameters["delta"]
        return found

    def charge(self, share: Fraction, reach: Fraction) -> Fraction:
        """The epsilon, exact, that this release costs if ``share`` of a person's items move by ``reach`` on average."""
        return epsilon_at(self.event, share, reach, self.delta)

    def charges(self) -> tuple[Fraction, ...]:
        """For each promise of the terms the epsilon, exact, that this release costs there."""
        if not self.terms.promises:
            return ()
        return tuple(self.charge(kept.share, kept.reach) for kept in self.terms.policy.kept)

    @property
    def price_words(self) -> str:
        """What the ledger is charged with, in words."""
        if self.terms.promises:
            paid = [
                f"ε {at_most(epsilon)} of {near(promise.epsilon)} ({describe_move(promise, self.space)})"
                for promise, epsilon in zip(self.terms.promises, self.charges(), strict=True)
            ]
            return ", ".join([*paid, *([f"δ {float(self.delta):.3g}"] if self.delta else [])])
        if self.alpha is None:
            return f"ε {float_up(self.guarantee.definition.parameters['epsilon']):.4g}, δ {float(self.delta):.3g}"
        return f"α {float_up(self.alpha):.4g}, δ {float(self.delta):.3g}"

    @property
    def worst_epsilon(self) -> float:
        """The epsilon, rounded up, if all data of one person were different."""
        return self.guarantee.epsilon_at(1)

    @property
    def worst_delta(self) -> float:
        """The delta, rounded up, that goes with it."""
        return float(self.guarantee.definition.delta_at(1))

    @property
    def warnings(self) -> list[str]:
        """Sentences about an answer that would be of little use, and what would help."""
        return []

    @property
    def grid_costs(self) -> list[str]:
        """A sentence for each promise that the grid makes cost twice as much as it asks, or more."""
        space, found = self.space, []
        for kept in self.terms.kept:
            charged = kept.reach
            if self.terms.records is RecordMap.CONTRACTION and kept.distance and charged >= _LOUD * kept.distance:
                far, times = self.sized(float(charged) * space.diameter), float(charged / kept.distance)
                far = far if space.unit else f"{far} of the largest distance"
                found.append(
                    f'The promise "{kept.promise.text}" is charged as {far} on these cells, {times:.3g} times its '
                    'distance; finer ones cost less (cell = "auto" finds the best)'
                )
        return found

    @property
    def record_costs(self) -> str:
        """Why promises cost more than the distance that records move, and what would cost less; mostly nothing."""
        records = self.terms.records
        said = records is not RecordMap.CONTRACTION and (self.terms.promises or records is RecordMap.FILTER)
        return f"{records.words}; {records.advice}" if said else ""

    @property
    def finer_gain(self) -> float:
        """How many times larger alpha would be on cells a quarter as wide."""
        rho, kept = Fraction(self.space.snapping_upper), self.terms.kept
        if not rho or not kept or self.terms.records is not RecordMap.CONTRACTION:
            return 1.0
        here = [one.promise.epsilon / (one.promise.share * (one.distance + 2 * rho)) for one in kept]
        finer = [one.promise.epsilon / (one.promise.share * (one.distance + rho / 2)) for one in kept]
        return float(min(finer) / min(here))

    @property
    def finer_words(self) -> str:
        """That finer cells would help most; empty where they would not."""
        gain = self.finer_gain
        words = f"Finer cells would help most: a quarter as wide, they allow an alpha {gain:.2g} times larger."
        return words if gain >= 2.0 else ""

    @property
    def missing_people(self) -> str:
        """What people without records count as, and how well it is hidden that somebody is one of them."""
        space = self.space
        if space.no_records_distance is None:
            return (
                f"people without records count as holding the public item {space.label(space.default_item)!r}, and "
                "cannot be told from people whose records are there"
            )
        epsilon = float_up(self.charge(Fraction(1), space.no_records_distance))
        far = f"{float(space.no_records_distance) * space.diameter:,.6g} {space.unit or 'of the largest distance'}"
        default = space.label(space.records_space.default_item)
        # A ledger of alpha may be about the space without this item, and every promise is about records that move.
        counted = f", also from people whose records are all at {default!r}, which a ledger of alpha counts as the same"
        return (
            f"people without records count as holding the public item 'no records', {far} from every other; whether "
            f"somebody is one of them is hidden at ε = {at_most(epsilon)} (a 50 % guess can become at most "
            f"{percent_up(odds_upper(epsilon, float_up(self.delta)))}){'' if self.terms.promises else counted}"
        )

    def _missing_lines(self) -> list[str]:
        """Where people without records are counted; who reports themselves is always there."""
        if self.terms.model is not Model.CENTRAL:
            return []
        apart = self.space.no_records_distance is not None or "no records" not in self.question.missing
        advice = "" if apart else '; missing = "no records" gives them an item of their own'
        return [f"Missing   {self.missing_people}{advice}"]

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        space = self.space
        return {
            "question": self.question.to_spec(),
            "description": self.description,
            "alpha": None if self.alpha is None else float_up(self.alpha),
            "delta": float(self.delta),
            "fraction": exact_text(self.terms.fraction),
            "unit": space.unit,
            "diameter": space.diameter,
            "snapping": space.snapping_upper * space.diameter,
            "users": self.terms.users,
            "model": self.terms.model.value,
            "error": self.error,
            "error_unit": self.error_unit,
            **self.details(),
            "warnings": self.warnings,
            "grid_costs": self.grid_costs,
            "records": self.terms.records.value,
            "record_costs": self.record_costs,
            "missing_people": self.missing_people if self.terms.model is Model.CENTRAL else None,
            "promises": [float_up(epsilon) for epsilon in self.charges()],
            "worst_case": {"epsilon": self.worst_epsilon, "odds": odds_upper(self.worst_epsilon, self.worst_delta)},
            "guarantee": self.guarantee.to_json(),
        }

    def lines(self) -> list[str]:
        """The plan in words, a line each.

        >>> from barrow.questions import Mean
        >>> from barrow.spaces import Line
        >>> Mean().plan(Terms(Line(0, 100, unit="years", step=1), 1000, given=Fraction(25))).lines()[0]
        'Question  the mean over people of the mean of their items (years)'
        """
        space = self.space
        lines = [f"Question  {self.description}", self._rate()]
        if space.snapping_upper:
            moved = f"{space.snapping_upper * space.diameter:.3g} {space.unit}".strip()
            whole = may_be_whole(space)
            hint = f"; by nothing if records are {whole} (whole = true)" if whole else ""
            items = f"{space.records_space.items:,} items"
            lines.append(f"Grid      {items}; snapping moves a record by at most {moved} (counted in α){hint}")
        lines += [f"Warning   {text}" for text in self.grid_costs]
        if self.record_costs:
            lines.append(f"Records   {self.record_costs}")
        if told := caveat(space):
            lines.append(f"Space     {told}")
        lines += self._missing_lines()
        lines += self.answer_lines()
        others = declared_parts(self.question, space)
        lines += [f"Warning   {text}" for text in [self.declared, *others, *self.warnings] if text]
        lines.append(f"Worst     all data of one person different: ε ≤ {at_most(self.worst_epsilon)}")
        lines.append(f"Price     {self.price_words}{'' if self.terms.promises else ' of the budget'}")
        return [*lines, *self.other_lines()]

    def _rate(self) -> str:
        space, delta = self.space, float(self.delta)
        if self.alpha is None:
            return (
                f"ε         {at_most(self.worst_epsilon, digits=4)} for every change (user-level DP), δ = {delta:.3g}"
            )
        largest = f"{space.diameter:,.1f} {space.unit}" if space.unit else "largest distance"
        return f"α         {near(self.alpha, digits=4)} per {largest}, δ = {delta:.3g}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        from html import escape

        rows = ((line[:10].strip(), line[10:].strip()) for line in self.lines() if line.strip())
        cells = "".join(f"<tr><th align=left>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
        return f"<table>{cells}</table>"

    def sized(self, error: float) -> str:
        """An earth mover's distance with the space's unit."""
        return near(error, self.space.unit)


def placed(space: Space, points: Floats | None, i: int) -> dict[str, float]:
    """The coordinates of the i-th of some points, by the names of the space's axes."""
    if points is None:
        return {}
    return dict(zip(space.geometry.axes, np.atleast_1d(points[i]).tolist(), strict=False))


def marginal_tables(space: Space, shares: Floats) -> dict[str, Rows]:
    """The histogram of each part of a product, from the one that was drawn: nothing more is paid for them."""
    return {
        f"marginal_{i}_{part.kind}": labelled(part, {"share": own.tolist()})
        for i, (part, own) in enumerate(marginals(space, shares), start=1)
    }


def labelled(space: Space, columns: Mapping[str, Sequence[Any]]) -> Rows:
    """One row for each item of ``space``: its label, its place if it has one, and the given columns."""
    points, names = space.geometry.places, list(columns)
    rows = zip(*columns.values(), strict=True)
    return [
        {"item": label, **placed(space, points, i), **dict(zip(names, row, strict=True))}
        for i, (label, row) in enumerate(zip(space.labels, rows, strict=True))
    ]
