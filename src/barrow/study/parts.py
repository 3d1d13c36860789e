"""A release about periods and groups: its plans, one for each group, what it counts, what it draws and what it says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import structs

from barrow.engines import Breakdown, Cell, Columns, Counts, Engine, ItemSums, PeopleCounts
from barrow.engines.base import People
from barrow.engines.breakdown import WHOLE
from barrow.engines.counts import refuse_empty, refuse_more_users
from barrow.errors import ParameterError
from barrow.ledger import Ledger, PromiseLimit
from barrow.numerics import float_up
from barrow.planning.terms import Terms
from barrow.promises import Promise, Scope, describe_change, guarantee_from_json, odds_upper
from barrow.questions import Answer, Question
from barrow.questions.answer import Rows, Sample, Statistics
from barrow.questions.parted import (
    can_be_parted,
    for_terms,
    items_of_part,
    mean_of_parts,
    mean_of_people,
    mechanism_of,
    reports_items,
    same_mechanism,
    shared,
)
from barrow.questions.releasing import error_after, summary
from barrow.questions.statement import AboutFacts, AnswerFacts, GroupFacts, SoFar, Statement, needed
from barrow.spaces import Space
from barrow.study.about import About, breakdown_of
from barrow.study.claim import claim_of
from barrow.study.data import Data
from barrow.study.study import Study

if TYPE_CHECKING:
    from barrow.planning.after import OwnError

GROUP, PERIOD = "group", "period"
"""The columns of a table that say which group and which period a row is about."""
_RANGE = "range_ratio"


@dataclass(frozen=True, eq=False)
class PartsDraw:
    """What was drawn: everything in it may be published.

    Attributes:
        tables: The rows of every table of values.
        summary: The values in a few lines.
        own: How far off it is by itself, at the worst of its groups.
    """

    tables: dict[str, Rows]
    summary: Sequence[str]
    own: OwnError | None = None


@dataclass(frozen=True, eq=False)
class ReleaseParts:
    """The plans of a release, one for each group, all of the same mechanism and price.

    Attributes:
        about: What it is about.
        plans: The plan of each group; under None where everybody is in one.
        plan: What all of them cost: the costliest one, about all people.
        worst: The least accurate one.
    """

    about: About
    plans: Mapping[str | None, Answer]
    plan: Answer
    worst: Answer

    @property
    def stated(self) -> Answer:
        """What is said of the accuracy of all of them: the least accurate one, about all people."""
        return self.worst if len(self.plans) == 1 else for_terms(self.worst, self.plan.terms)

    def statistics(self, cells: Mapping[Cell, Counts] | Mapping[Cell, ItemSums]) -> dict[str | None, Statistics]:
        """What noise will be added to, for each group (private)."""
        users, item = self.plan.terms.users, self.plan.terms.space.default_item
        counted = self.about.counted(cells, item, users).items()
        return {label: mean_of_parts(self.plans[label], counts, people) for label, (counts, people) in counted}

    def statistics_of_items(self, cells: Mapping[Cell, Counts]) -> dict[str | None, Statistics]:
        """The same where items are randomised one by one (private)."""
        return {
            label: items_of_part(plan, counts)
            for label, plan in self.plans.items()
            for counts, _ in self.about.weights(cells, label)
        }

    def statistics_of_people(self, cells: Mapping[Cell, PeopleCounts]) -> dict[str | None, Statistics]:
        """The same where each person's whole data are read (private)."""
        result: dict[str | None, Statistics] = {}
        for label, plan in self.plans.items():
            parts = self.about.weights(cells, label)
            if any(counts.users > plan.terms.users for counts, _ in parts):
                raise refuse_more_users()
            result[label] = mean_of_people(plan, parts)
        return result

    def draw(self, statistics: Mapping[str | None, Statistics]) -> dict[str | None, Sample]:
        """The values of each group with noise."""
        return {label: plan.draw(statistics[label]) for label, plan in self.plans.items()}

    def told(self, sample: Mapping[str | None, Sample]) -> PartsDraw:
        """The tables of all groups together, their lines, and how far off the worst of them is."""
        tables: dict[str, Rows] = {}
        lines: list[str] = []
        own: OwnError | None = None
        for label, plan in self.plans.items():
            named = self._named(label)
            for name, rows in plan.tables(sample[label]).items():
                tables.setdefault(name, []).extend([{**named, **row} for row in rows] if named else rows)
            lines += [line if label is None else f"{label}: {line}" for line in summary(plan, sample[label])]
            error = error_after(plan, sample[label])
            own = error if own is None or (error is not None and error.about > own.about) else own
        return PartsDraw(tables, lines, own)

    def _named(self, label: str | None) -> dict[str, str]:
        window = self.about.window
        return {**({} if window is None else {PERIOD: window.text}), **({} if label is None else {GROUP: label})}


class CellReader:
    """Counts all that several releases are about in one pass, when the first of them asks; and keeps it (private).

    Args:
        data: The records.
        abouts: What the releases are about; at most one grouping.
    """

    def __init__(self, data: Data, abouts: Iterable[About]) -> None:
        self._data, self._abouts = data, tuple(abouts)
        self._known: dict[str, Mapping[Cell, Counts]] = {}
        self._sums: dict[str, Mapping[Cell, ItemSums]] = {}
        self._people: dict[str, Mapping[Cell, PeopleCounts]] = {}

    def cells(self, engine: Engine, space: Space) -> Mapping[Cell, Counts]:
        """The counts of each cell, of people who have records there (private integers)."""
        return self._read(self._known, self._data.count_cells, engine, space)

    def sums(self, engine: Engine, space: Space) -> Mapping[Cell, ItemSums]:
        """The mass of the people of each cell on each item (private integers)."""
        return self._read(self._sums, self._data.sum_cells, engine, space)

    def people(self, engine: Engine, space: Space) -> Mapping[Cell, PeopleCounts]:
        """The people who have records in each cell, one by one (private integers)."""
        return self._read(self._people, self._data.people_cells, engine, space)

    def _read(
        self,
        known: dict[str, Mapping[Cell, People]],
        read: Callable[[Engine, Space, Columns, Breakdown], Mapping[Cell, People]],
        engine: Engine,
        space: Space,
    ) -> Mapping[Cell, People]:
        if space.digest not in known:
            cells = read(engine, space, self.columns, self.breakdown)
            if self.breakdown == WHOLE and not any(each.users for each in cells.values()):
                raise refuse_empty()  # single periods and groups may be empty
            known[space.digest] = cells
        return known[space.digest]

    @property
    def breakdown(self) -> Breakdown:
        """The cells that are counted."""
        return breakdown_of(self._abouts, self._data.calendar)

    @property
    def columns(self) -> Columns:
        """The columns that are read."""
        return self._data.columns_about(self._abouts)


@dataclass(eq=False)
class Planner:
    """Plans of a series: what differs by the name of a period alone is planned once."""

    study: Study
    question: Question
    _known: dict[tuple[object, ...], Answer] = field(default_factory=dict)

    def parts(self, about: About) -> ReleaseParts:
        """The plans of a release about ``about``."""
        study = self.study.within(about.grouping)
        people = about.people(study.users or 1)
        plans = self._plans(about, people, self.question)
        if _costliest(plans.values()) is None:  # each group would take another mechanism: the smallest chooses
            smallest = plans[min(people, key=lambda label: people[label])]
            alike = {label: shared(smallest, plan.terms) for label, plan in plans.items()}
            one = {label: plan for label, plan in alike.items() if plan is not None}
            plans = one if len(one) == len(plans) else self._plans(about, people, same_mechanism(smallest))
        costliest = _costliest(plans.values())
        if costliest is None:
            raise ParameterError(
                f"The groups of {self.question.label!r} would be released by different mechanisms.",
                allowed="one mechanism for all groups of a release",
                fix="name it: mechanism = 'edges', or noise = 'laplace'",
            )
        if not about.whole and not all(map(can_be_parted, plans.values())):
            raise _no_parts(self.question)
        if about.window is not None and about.window.pool == "periods" and reports_items(costliest):
            raise _not_by_periods(self.question)
        worst = max(plans.values(), key=lambda plan: plan.error)
        everybody = replace(costliest.terms, users=sum(people.values()))
        return ReleaseParts(about, plans, costliest if len(plans) == 1 else for_terms(costliest, everybody), worst)

    def _plans(self, about: About, people: Mapping[str | None, int], question: Question) -> dict[str | None, Answer]:
        result = {}
        for label, size in people.items():
            study = self.study.within(about.grouping)
            terms = study.terms(self.question, reads=about.window, people=size, by=about.grouping)
            key = _alike(terms, question)
            if key in self._known:
                result[label] = for_terms(self._known[key], terms)
            else:
                result[label] = self._known[key] = question.plan(terms)
        return result


@dataclass(eq=False)
class Series:
    """Several releases of one question by one grouping: planned together, and counted in one pass.

    Args:
        study: The study.
        question: What is asked.
        abouts: What each release is about.
    """

    study: Study
    question: Question
    abouts: Sequence[About]

    def __post_init__(self) -> None:
        self.planner = Planner(self.study, self.question)
        data = self.study.within(self.abouts[0].grouping).data if self.abouts else self.study.data
        self.reader = None if data is None else CellReader(data, self.abouts)


def plan_parts(study: Study, question: Question, about: About) -> ReleaseParts:
    """The plans of one release.

    >>> from barrow.promises import Grouping
    >>> regions = Grouping("region", sizes={"north": 400, "south": 600})
    >>> study = Study("hours", ["all, 1 hour, 0.5"], users=1000, groups=[regions], missing="default item")
    >>> parts = plan_parts(study, study.question("histogram"), About(grouping=regions))
    >>> [plan.terms.users for plan in parts.plans.values()], parts.plan.terms.users
    ([400, 600], 1000)
    """
    return Planner(study, question).parts(about)


def _of_the_worst(facts: AnswerFacts, groups: Sequence[GroupFacts]) -> AnswerFacts:
    """The half widths of the group that is off by most: of totals, which grow with it, that is another one."""
    own = [group.answer for group in groups if group.answer.half_width_95 is not None]
    if not own:
        return facts
    worst = max(own, key=lambda answer: needed(answer.half_width_95))
    return structs.replace(
        facts,
        half_width_95=worst.half_width_95,
        half_width_95_all=worst.half_width_95_all,
        snapping=worst.snapping,
    )


def _alike(terms: Terms, question: Question) -> tuple[object, ...]:
    """What a plan depends on: everything but the names of the periods."""
    seen = tuple((row.share, row.reach) for row in terms.satisfied)
    return (*mechanism_of(question), terms.users, seen, terms.epsilons, terms.delta, terms.space.digest, terms.alpha)


def _costliest(plans: Iterable[Answer]) -> Answer | None:
    """The plan that costs at least as much as the others at every change; None where they are of different kinds.

    Grids of noise depend on the number of people, and with them the largest change of an answer by a hair: of two
    events that differ in nothing but that range, the one with the larger range costs as much or more everywhere.
    """
    listed = list(plans)
    kinds = {str({k: v for k, v in plan.event.to_json().items() if k != _RANGE}) for plan in listed}
    ranges = [Fraction(str(plan.event.to_json().get(_RANGE) or 0)) for plan in listed]
    return listed[ranges.index(max(ranges))] if len(kinds) == 1 else None


def _no_parts(question: Question) -> ParameterError:
    return ParameterError(
        f"The question {question.label!r} is not a sum over people's items, and can be asked about everybody and all "
        "records only (docs/queries.md says why).",
        allowed="means, shares, densities, histograms and what is read off them by period and group",
        fix="histogram or mean, by the same periods and groups; or --period all without --by, for this question about "
        "all records",
    )


def _not_by_periods(question: Question) -> ParameterError:
    return ParameterError(
        f"The question {question.label!r} randomises items one by one, and periods that count alike are no items.",
        allowed="one period, or several with --pool records, where each person's records of all of them count alike",
        fix="--pool records; or a release for each period, without --pool",
    )


def totals_so_far(study: Study, ledger: Ledger) -> tuple[int, list[SoFar]]:
    """How many periods the ledger has released, and what all its releases cost together if each of them had changed.

    The release that is being made is among them: it is paid for already.
    """
    paid = [record.data for record in ledger.records() if record.kind == "reserve"]
    periods = {label for data in paid if data.get("reads") for label in data["reads"]["periods"]}
    guarantees = [guarantee_from_json(data["guarantee"]) for data in paid]
    delta = sum((Fraction(str(data["amount"]["delta"])) for data in paid), Fraction(0))
    limits = {limit.change: one for limit, one in zip(ledger.budget.promises, ledger.balances(), strict=False)}
    rows = []
    for promise in study.promises:
        balance = limits.get(PromiseLimit.of(promise, study.space).change)
        if balance is None:
            continue
        scope = None if promise.scope is None else Scope(None, promise.scope.unit)
        every = Promise(promise.share_text, promise.distance, promise.epsilon, scope=scope)
        spent = balance.spent.loss if balance.repeated is None else max(balance.spent.loss, balance.repeated)
        rows.append((describe_change(every, study.space), float_up(spent), float_up(delta)))
    worst = sum((Fraction(one.epsilon_at(1)) for one in guarantees), Fraction(0))
    slack = sum((Fraction(float(one.definition.delta_at(1))) for one in guarantees), Fraction(0))
    rows.append(("everything had been different in all of them", float_up(worst), float_up(slack)))
    told = {words: SoFar(changed=words, epsilon=loss, odds=odds_upper(loss, d)) for words, loss, d in rows}
    return len(periods), list(told.values())


def with_parts(
    statement: Statement, study: Study, parts: ReleaseParts, so_far: tuple[int, Sequence[SoFar]]
) -> Statement:
    """The statement of a release about periods or groups: which they are, and what all releases so far cost."""
    about, window, calendar = parts.about, parts.about.window, study.calendar
    periods: AboutFacts = AboutFacts()
    if window is not None and calendar is not None:
        periods = AboutFacts(
            unit=calendar.unit, zone=calendar.zone, reads=window.text, pool=window.pool, periods_so_far=so_far[0],
            so_far=list(so_far[1]),
        )  # fmt: skip
    groups = [
        GroupFacts(
            group=label, people=plan.terms.users, error=plan.error if math.isfinite(plan.error) else None,
            answer=plan.facts(),
        )
        for label, plan in parts.plans.items()
        if label is not None
    ]  # fmt: skip
    facts = structs.replace(periods, grouping="" if about.people_of is None else about.people_of.name, groups=groups)
    stated, own = parts.stated, statement.error_after
    error = stated.error if own is None else own.about
    whole = structs.replace(
        statement,
        answer=structs.replace(_of_the_worst(stated.facts(), groups), about=facts),
        error=error if math.isfinite(error) else None,
    )
    return structs.replace(whole, claim=claim_of(whole))
