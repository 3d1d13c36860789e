"""Items one by one: every item of every person is replaced by a random report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, TypeVar

import numpy as np

from barrow import accounting, mechanisms
from barrow.accounting.sampling import inner_alpha_for
from barrow.engines import Counts, ItemSums, PeopleCounts
from barrow.engines.sampling import sampled
from barrow.errors import ParameterError, one_of
from barrow.mechanisms.itemwise import refuse_sizes
from barrow.numerics import exact_text, float_up, whole
from barrow.planning.item_choice import ItemChoice, ItemHelp, choose_items
from barrow.planning.notes import Note, warnings_of
from barrow.planning.terms import Terms
from barrow.promises import Guarantee, Model
from barrow.questions.answer import Answer, Rows, Sample, Statistics, Tables, not_its_own, placed
from barrow.questions.channels import LocalChannel, Wire
from barrow.questions.collecting import (
    Collected,
    Counted,
    Integers,
    ReportSums,
    collected,
    for_people,
)
from barrow.questions.item_words import how_many, items_counted, reports_sentence
from barrow.questions.parted import items_of_part, shared
from barrow.questions.plan_text import answer_lines, details, own_notes
from barrow.questions.prices import finer_words
from barrow.questions.question import Question, Traits, public_items
from barrow.questions.releasing import HeldItems, drawn_by_curator, held_by_each, most_rows, on_map, parameters, summary
from barrow.questions.statement import AnswerFacts, Json, NoiseFacts, Statement, needed
from barrow.randomisers import MixtureRandomiser, Randomiser
from barrow.spaces.space import Floats, Ids

MOST_SAMPLES = 10**7
_MOST_LISTED = 10**7
AnyItemsAnswer = TypeVar("AnyItemsAnswer", bound="ItemsAnswer")


@dataclass(frozen=True, kw_only=True, repr=False)
class ItemWiseQuestion(Question):
    """What is asked of reports on all items.

    Args:
        items: m, how many items each person holds; public. Or
        samples: s, how many items are drawn from each person, who may hold any number of them.
        randomiser: A kind or plain data; the one that suits the space by default.
    """

    missing: ClassVar[tuple[str, ...]] = ("default item", "no records")
    items: int | None = None
    samples: int | None = None
    randomiser: Mapping[str, object] | str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.items is not None and self.samples is not None:
            raise ParameterError(
                f"The question gives items = {self.items} and samples = {self.samples}.",
                allowed="items (everybody holds exactly so many), or samples (so many are drawn from each person)",
                fix="remove items",
            )
        self._whole("items", 10**12)
        self._whole("samples", MOST_SAMPLES)

    @property
    def listed(self) -> bool:
        """Whether all reports are released one by one."""
        return False

    def _whole(self, name: str, most: int) -> None:
        if getattr(self, name) is not None:
            object.__setattr__(self, name, whole(getattr(self, name), name, least=1, most=most))

    def choose(self, terms: Terms) -> tuple[ItemChoice, mechanisms.ItemWise | mechanisms.Reduced, Guarantee]:
        """The randomiser that keeps the terms, behind samples where they are asked for, and its price."""
        if terms.model is Model.AGGREGATED:
            raise ParameterError(
                f"The question {self.kind!r} is about randomised items, which cannot be added up in shares.",
                allowed="a mean, a distance, a function, a histogram where model = 'aggregated'",
                fix="kind = 'histogram', or model = 'shuffle'",
            )
        if self.items is None and self.samples is None:
            raise ParameterError(
                f"The question {self.kind!r} lacks the number of items that each person holds.",
                allowed="items, a public whole number; or samples, where people hold any number",
                fix="items = 30",
            )
        held = self.items or self.samples or 1
        rate = terms.alpha
        if self.samples is not None:
            rate = Fraction(inner_alpha_for(rate, self.samples))
        choice = choose_items(
            terms.space,
            rate,
            terms.delta,
            items=held,
            users={Model.LOCAL: None, Model.SHUFFLE: terms.anonymity_set}.get(terms.model, terms.users),
            model=terms.model.value,
            randomiser=self.randomiser,
        )
        if self.samples is None:
            return choice, choice.mechanism, choice.guarantee
        built = mechanisms.reduced(choice.mechanism)
        return choice, built, accounting.price(built.event)

    def channel(self, terms: Terms) -> LocalChannel:
        """Reports on all items."""
        _, built, guarantee = self.choose(terms)
        return ItemsChannel(terms, self.asked_words, guarantee, built)

    @property
    @abstractmethod
    def asked_words(self) -> str:
        """What is released, in plain words."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Items(ItemWiseQuestion):
    """Randomised items: how often each report occurs, or all reports.

    Args:
        output: ``"histogram"`` (how often each report occurs) or ``"list"`` (all reports, sorted).

    >>> Items(items=30)
    Items(items=30)
    """

    kind: ClassVar[str] = "items"
    traits: ClassVar[Traits] = Traits("mean distance of a report from its item")
    output: str = "histogram"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.output, "output", ("histogram", "list"))

    @property
    def listed(self) -> bool:
        """Whether all reports are released one by one."""
        return self.output == "list"

    @property
    def asked_words(self) -> str:
        """What is released, in plain words."""
        return f"the {'sorted list' if self.listed else 'histogram'} of randomised items"

    def choose(self, terms: Terms) -> tuple[ItemChoice, mechanisms.ItemWise | mechanisms.Reduced, Guarantee]:
        """What is too much to list, or to draw one by one, is refused."""
        result = super().choose(terms)
        itemwise = result[0].mechanism
        reports = terms.users * itemwise.items
        if self.listed and reports > _MOST_LISTED:
            raise ParameterError(
                f"The sorted list would hold {reports:,} reports.",
                allowed=f"at most {_MOST_LISTED:,}; the histogram says the same",
                fix="output = 'histogram'",
            )
        most = itemwise.randomiser.most_items
        if most is not None and reports > most and terms.model is not Model.LOCAL:
            raise ParameterError(
                f"{itemwise.randomiser.description} is drawn one by one, and there are {reports:,} items.",
                allowed=f"at most {most:,} items with this randomiser",
                fix='randomiser = "exponential", which is drawn from counts',
            )
        return result

    def plan(self, terms: Terms) -> Answer:
        """The randomiser that keeps the terms; it reads no data."""
        return ItemsAnswer(self, terms, *self.choose(terms))

    @classmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and how far reports are from their items."""
        facts = statement.answer
        unit = f" {statement.unit}" if statement.unit else ""
        moved, guess = facts.distortion, facts.uniform_guess
        far = "" if moved is None else f" A report is {moved:.3g}{unit} from its item on average"
        far += "" if moved is None else f" (a uniform guess: {guess:.3g}{unit})." if guess is not None else "."
        warning = " One by one the reports are nearly useless." if facts.warning else ""
        return (
            f"We released {statement.released} of {statement.people:,} people, {how_many(facts)}. Every item was "
            f"replaced by a random report ({needed(facts.noise).distribution}).{far}{warning}"
        )

    @classmethod
    def _counted(cls, statement: Statement) -> str:
        """What was randomised."""
        return items_counted(statement)

    @classmethod
    def _noise_steps(cls, statement: Statement) -> list[str]:
        """How reports were drawn."""
        moved, unit = statement.answer.distortion, statement.unit
        far = [] if moved is None else [f"A report is {moved:.4g} {unit}".rstrip() + " from its item on average."]
        return [reports_sentence(statement), *far]


@dataclass(frozen=True, eq=False)
class PooledItems:
    """How often each item occurs among all people (private).

    Attributes:
        counts: For each item.
        private: Whether samples, where there are some, were drawn with the system's randomness.
    """

    counts: Integers
    private: bool = True

    @property
    def approximation(self) -> Floats:
        """The counts as floats (private)."""
        return self.counts.astype(np.float64)


@dataclass(frozen=True, eq=False)
class ItemsAnswer(Answer):
    """What an item-wise release would give: reports, how far they are from their items, the guarantee.

    Args:
        question: What is asked.
        terms: What the study grants.
        choice: The randomiser, and how it was found.
        reports: What will be drawn; behind samples where people may hold any number of items.
        guarantee: What it promises, by the best certified method.
    """

    question: ItemWiseQuestion
    terms: Terms
    choice: ItemChoice
    reports: mechanisms.ItemWise | mechanisms.Reduced
    guarantee: Guarantee

    @property
    def mechanism(self) -> mechanisms.ItemWise | mechanisms.Reduced:
        """The reports."""
        return self.reports

    @property
    def itemwise(self) -> mechanisms.ItemWise:
        """The bounded release: of the items, or of those that were drawn from each person."""
        return self.choice.mechanism

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return self.question.asked_words

    @property
    def error(self) -> float:
        """How far a report is from its item on average, in the space's units; NaN where reports are no items."""
        moved = self.choice.distortion
        return float("nan") if moved is None else moved

    def statistics(self, counts: Counts | ItemSums) -> PooledItems:
        """How often each item occurs among all people; people of other sizes are refused with a constant text."""
        if not isinstance(counts, Counts):
            raise TypeError("reports on items need the sizes of people")
        pooled = mechanisms.pooled_items(
            self.terms.space,
            item=counts.items,
            size=counts.sizes,
            count=counts.counts,
            present=counts.users,
            items=self.itemwise.items,
            users=self.terms.users,
        )
        return PooledItems(pooled, getattr(counts, "private", True))

    def draw(self, statistics: Statistics) -> Sample:
        """The counts of reports, and whether the randomness, that of the samples too, was the system's."""
        if not isinstance(statistics, PooledItems):
            raise not_its_own()
        sample = replace(self.itemwise, users=self.terms.users).release(statistics.counts)
        return Sample(sample.counts, private=sample.private and statistics.private)

    def tables(self, sample: Sample) -> Tables:
        """One row for each kind of report with its count, or one for each report of the sorted list."""
        counted = zip(self.itemwise.randomiser.report_labels, sample.values.tolist(), strict=True)
        if self.question.listed:
            return {"values": [{"report": label} for label, count in counted for _ in range(count)]}
        space, points = self.terms.space, self.places
        rows: Rows = [
            {"report": label, **placed(space, points, i), "count": int(count)}
            for i, (label, count) in enumerate(counted)
        ]
        return {"values": rows}

    @property
    def places(self) -> Floats | None:
        """Where reports are, if they are items."""
        labels, space = self.itemwise.randomiser.report_labels, self.terms.space
        points = space.geometry.places
        same = points is not None and len(points) == len(labels) and list(labels) == list(space.labels)
        return points if same else None

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        built = self.itemwise
        return AnswerFacts(
            outputs=built.randomiser.reports,
            unit="reports",
            items_per_person=built.items,
            sampled=self.question.samples is not None,
            distortion=self.choice.distortion,
            uniform_guess=built.randomiser.uniform_guess,
            warning=self.choice.warning,
            noise=NoiseFacts(
                distribution=built.randomiser.description,
                alpha0=float_up(built.event.alpha0),
                method=self.choice.guarantee.method,
            ),
        )

    def guarantee_for(self, users: int) -> Guarantee:
        """What holds if the reports of ``users`` people are mixed, and not of as many as was planned."""
        built = self.itemwise
        anonymity_set = self.terms.anonymity_set_among(users)
        if (
            built.model is not Model.SHUFFLE or anonymity_set >= self.terms.anonymity_set
        ):  # more people were not promised
            return self.guarantee
        here = mechanisms.item_wise(
            built.randomiser, items=built.items, users=anonymity_set, model="shuffle", delta=built.delta
        )
        return accounting.price(here.event if self.question.samples is None else mechanisms.reduced(here).event)


@public_items.register(ItemWiseQuestion)
def _(question: ItemWiseQuestion) -> int | None:
    return question.items


@drawn_by_curator.register(ItemsAnswer)
def _(answer: ItemsAnswer) -> bool:
    """Reports of all people can be drawn by whoever holds the records."""
    return True


@held_by_each.register(ItemsAnswer)
def _(answer: ItemsAnswer) -> HeldItems:
    return HeldItems(answer.question.items, answer.question.samples)


@on_map.register(ItemsAnswer)
def _(answer: ItemsAnswer) -> bool:
    return answer.terms.space.geometry.on_earth and not answer.question.listed and answer.places is not None


@most_rows.register(ItemsAnswer)
def _(answer: ItemsAnswer) -> int:
    """One more for each report of a sorted list."""
    listed = answer.terms.users * answer.itemwise.items if answer.question.listed else 0
    return 2 * answer.itemwise.randomiser.reports + (answer.terms.space.size or 0) + listed


@summary.register(ItemsAnswer)
def _(answer: ItemsAnswer, drawn: Sample) -> list[str]:
    """How many reports there are."""
    return [f"{int(drawn.values.sum()):,} reports of {len(drawn.values):,} kinds."]


@parameters.register(ItemsAnswer)
def _(answer: ItemsAnswer) -> Json:
    built, samples = answer.itemwise, answer.question.samples
    return {
        "randomiser": built.randomiser.kind,
        "alpha0": exact_text(built.event.alpha0),
        **({} if samples is None else {"samples": samples}),
    }


@for_people.register(ItemsAnswer)
def items_for_people(answer: AnyItemsAnswer, users: int) -> AnyItemsAnswer:
    """The same channel, priced for as many people as really took part."""
    terms = replace(answer.terms, users=users)
    built = replace(answer.itemwise, users=min(terms.anonymity_set, answer.terms.anonymity_set))
    return replace(
        answer,
        terms=terms,
        choice=replace(answer.choice, mechanism=built),
        reports=built if answer.question.samples is None else mechanisms.reduced(built),
        guarantee=answer.guarantee_for(users),
    )


@items_of_part.register(ItemsAnswer)
def _(answer: ItemsAnswer, counts: Counts) -> Statistics:
    """The items of people who have records, or samples of them; the plan adds those of missing people."""
    samples, space = answer.question.samples, answer.terms.space
    if samples is not None and isinstance(counts, PeopleCounts):
        counts = sampled(counts.profiles, samples).with_users(answer.terms.users, space.default_item)
    return answer.statistics(counts)


@shared.register(ItemsAnswer)
def _(answer: ItemsAnswer, terms: Terms) -> Answer | None:
    """The same randomiser: reports of more people hide each of them no worse (docs/proofs/scopes.md, public groups)."""
    if terms.model is not Model.CENTRAL or terms.users < answer.terms.users:
        return None
    result: Answer = replace(for_people(answer, terms.users), terms=terms)  # type: ignore[type-var]
    return result


@collected.register(ItemsAnswer)
def _(answer: ItemsAnswer, collector: ReportSums) -> Collected:
    """The histogram of all reports."""
    counts = Counted.of(collector)
    histogram = dict(zip(answer.itemwise.randomiser.report_labels, counts.counts.tolist(), strict=True))
    lines = [*(f"{label}: {count}" for label, count in histogram.items()), counted_line(counts)]
    told = {"histogram": histogram, "distortion": answer.choice.distortion}
    return Collected(counts.n, answer.tables(Sample(counts.counts)), lines, told, answer.guarantee_for(counts.n))


def counted_line(counts: Counted) -> str:
    """How many reports of how many people were counted."""
    return f"{int(counts.counts.sum()):,} reports on items, from {counts.n:,} people."


@details.register(ItemsAnswer)
def _(answer: ItemsAnswer) -> Json:
    """Which randomiser was chosen, and what every accountant would allow."""
    kind, methods = answer.itemwise.randomiser.kind, dict(answer.choice.calibration.methods)
    return {"randomiser": kind, "methods": methods, "samples": answer.question.samples}


@answer_lines.register(ItemsAnswer)
def _(answer: ItemsAnswer) -> list[str]:
    """The randomiser, and how far reports are from their items."""
    moved, guess = answer.choice.distortion, answer.itemwise.randomiser.uniform_guess
    if moved is None or guess is None:
        return [*report_lines(answer), *bounded_lines(answer)]
    unit = f" {answer.error_unit}".rstrip()
    error = f"an item is reported {moved:.3g}{unit} away on average (a uniform guess: {guess:.3g}{unit})"
    return [*report_lines(answer), f"Error     {error}", *bounded_lines(answer)]


@own_notes.register(ItemsAnswer)
def _(answer: ItemsAnswer) -> list[Note]:
    """A warning where reports are hardly nearer to their items than a guess, and what would help most."""
    told = answer.choice.warning
    return [] if told is None else warnings_of([f"{told} {_most_helpful(answer)}".rstrip()])


def _most_helpful(answer: ItemsAnswer) -> str:
    """The one change that would help most, computed; empty where none is known."""
    if finer := finer_words(answer.terms):
        return finer
    built, request = answer.itemwise, answer.question
    item_help = ItemHelp.of(
        answer.terms, built.items, request.samples is not None, request.randomiser, built.randomiser
    )
    return "" if item_help is None else item_help.sentence


def report_lines(answer: ItemsAnswer) -> list[str]:
    """By what items are replaced, and whether they are drawn from each person before, and what that costs."""
    built, guarantee, samples = answer.itemwise, answer.choice.guarantee, answer.question.samples
    each = f"α₀ = {float(built.event.alpha0):.4g} for each item (by {guarantee.method})"
    reports = f"Reports   {built.randomiser.description}; {each}"
    if samples is None:
        return [reports]
    inner = float_up(guarantee.definition.parameters["alpha"])
    return [
        f"Sampling  {samples:,} items are drawn from each person; how many they hold is hidden, which costs "
        f"a factor e^(α/s): α = {inner:.4g} inside",
        reports,
    ]


def bounded_lines(answer: ItemsAnswer) -> list[str]:
    """That everybody must hold the same number of items."""
    items = answer.question.items
    if items is None:
        return []
    return [f"Bounded   every person must hold exactly {items:,} items; this number is not hidden"]


@dataclass(frozen=True, eq=False)
class ItemsChannel(LocalChannel):
    """Every item of a person replaced by a random report.

    Attributes:
        mechanism: What is drawn; behind samples where people may hold any number of items.
    """

    mechanism: mechanisms.ItemWise | mechanisms.Reduced

    @property
    def itemwise(self) -> mechanisms.ItemWise:
        """The bounded release: of the items, or of those that are drawn from each person."""
        return self.mechanism.inner if isinstance(self.mechanism, mechanisms.Reduced) else self.mechanism

    @property
    def sampled(self) -> bool:
        """Whether these are drawn from any number."""
        return isinstance(self.mechanism, mechanisms.Reduced)

    def check(self, items: Ids) -> None:
        """People hold exactly as many as are reported, unless these are drawn from any number."""
        if not self.sampled and items.size != self.itemwise.items:
            raise refuse_sizes()

    def report(self, items: Ids) -> list[int]:
        """One person's reports, kinds in ascending order."""
        sample = self.mechanism.randomise(items).counts
        numbers: list[int] = np.repeat(np.arange(len(sample)), sample).tolist()
        return numbers

    def collector(self) -> Counted:
        """Counts of reports."""
        return Counted(self.itemwise.items, self.itemwise.randomiser.reports)

    @property
    def alone(self) -> Guarantee:
        """Without anybody's messages to hide among."""
        if self.itemwise.model is Model.LOCAL:
            return self.guarantee
        alone = replace(self.itemwise, users=None, model=Model.LOCAL, delta=Fraction(0))
        return accounting.price(alone.event if not self.sampled else mechanisms.reduced(alone).event)

    @property
    def alone_epsilon(self) -> Fraction:
        """What the reports on all items cost together."""
        return self.itemwise.items * self.itemwise.randomiser.alpha0_upper

    @property
    def message_kinds(self) -> int:
        """As many as there are reports."""
        return len(self.itemwise.randomiser.report_labels)

    @property
    def wire(self) -> Wire | None:
        """Stopping weights along a tree, where the randomiser is of that kind."""
        built, default = self.itemwise, self.terms.space.default_item
        return stops_wire(built.randomiser, items=built.items, sampled=self.sampled, default=default)

    @property
    def report_description(self) -> str:
        """What leaves a phone, in words."""
        return f"the numbers of {self.itemwise.items:,} item(s), each replaced by a random one"

    @property
    def fallback_hint(self) -> str:
        """Another randomiser."""
        return "randomiser = 'response' in the question, with a larger error"


def stops_wire(randomiser: Randomiser, *, items: int, sampled: bool, default: int) -> Wire | None:
    """Stopping weights along a tree; None for randomisers of other kinds."""
    if not isinstance(randomiser, MixtureRandomiser):
        return None
    shape = randomiser.shape
    nodes = zip(shape.starts.tolist(), shape.ends.tolist(), shape.parents.tolist(), randomiser.stops, strict=True)
    channel = {
        "kind": "stops",
        "messages": items,
        "sampled": sampled,
        "default": default,
        "alpha0": str(randomiser.alpha0_upper),
        "nodes": [[start, end, parent, str(stop)] for start, end, parent, stop in nodes],
    }
    return channel, {"kind": "tree", "depths": [str(depth) for depth in shape.depths]}
