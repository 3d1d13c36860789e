"""Items one by one: every item of every person is replaced by a random report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from barrow import accounting, mechanisms, planning
from barrow.engines import Counts
from barrow.errors import ParameterError
from barrow.mechanisms.itemwise import refuse_sizes
from barrow.numerics import exact_text, float_up, whole
from barrow.numerics.exact import near
from barrow.planning.terms import Terms
from barrow.privacy import Event, Guarantee, Model
from barrow.questions.base import Question
from barrow.questions.channels import LocalChannel, Wire
from barrow.questions.collecting import Collected, Collector, Counted, counted_of
from barrow.questions.plan import Plan, Rows, placed
from barrow.questions.statement import AnswerFacts, NoiseFacts, Statement, needed
from barrow.randomisers import MixtureRandomiser, Randomiser
from barrow.spaces.base import Floats, Ids

MOST_SAMPLES = 10**7
_MOST_LISTED = 10**7


@dataclass(frozen=True, kw_only=True, repr=False)
class ItemWiseQuestion(Question):
    """What is asked of reports on all items.

    Args:
        items: m, how many items each person holds; public. Or
        samples: s, how many items are drawn from each person, who may hold any number of them.
        randomiser: A kind or plain data; the one that suits the space by default.
    """

    items: int | None = None
    samples: int | None = None
    randomiser: Mapping[str, Any] | str | None = None

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

    @property
    def missing(self) -> tuple[str, ...]:
        """An item of their own by name only: randomisers that suit a space are made for its own items."""
        return ("default item", "no records")

    def _whole(self, name: str, most: int) -> None:
        if getattr(self, name) is not None:
            object.__setattr__(self, name, whole(getattr(self, name), name, least=1, most=most))

    def choose(self, terms: Terms) -> tuple[planning.ItemChoice, mechanisms.ItemWise | mechanisms.Reduced, Guarantee]:
        """The randomiser that keeps the terms, behind samples where they are asked for, and its price."""
        if self.items is None and self.samples is None:
            raise ParameterError(
                f"The question {self.kind!r} does not say how many items each person holds.",
                allowed="items, a public whole number; or samples, where people hold any number",
                fix="items = 30",
            )
        held = self.items or self.samples or 1
        rate = terms.alpha
        if self.samples is not None:
            from barrow.accounting.sampling import inner_alpha_for

            rate = Fraction(inner_alpha_for(rate, self.samples))
        choice = planning.choose_items(
            terms.space,
            rate,
            terms.delta,
            items=held,
            users={Model.LOCAL: None, Model.SHUFFLE: terms.hiding}.get(terms.model, terms.users),
            model=terms.model.value,
            randomiser=self.randomiser,
        )
        if self.samples is None:
            return choice, choice.mechanism, choice.guarantee
        made = mechanisms.reduced(choice.mechanism)
        return choice, made, accounting.price(made.event)

    def channel(self, terms: Terms) -> LocalChannel:
        """Reports on all items."""
        _, made, guarantee = self.choose(terms)
        return ItemsChannel(terms, self.description, guarantee, made)

    @property
    @abstractmethod
    def description(self) -> str:
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
    error_words: ClassVar[str] = "mean distance of a report from its item"
    output: str = "histogram"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output not in ("histogram", "list"):
            raise ParameterError(
                f"output is {self.output!r}.", allowed="'histogram' or 'list'", fix="output = 'histogram'"
            )

    @property
    def listed(self) -> bool:
        """Whether all reports are released one by one."""
        return self.output == "list"

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return f"the {'sorted list' if self.listed else 'histogram'} of randomised items"

    def choose(self, terms: Terms) -> tuple[planning.ItemChoice, mechanisms.ItemWise | mechanisms.Reduced, Guarantee]:
        """What is too much to list, or to draw one by one, is refused."""
        found = super().choose(terms)
        itemwise = found[0].mechanism
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
        return found

    def plan(self, terms: Terms) -> Plan:
        """The randomiser that keeps the terms; it reads no data."""
        return ItemsPlan(self, terms, *self.choose(terms))

    @classmethod
    def accuracy(cls, statement: Statement) -> str:
        """A distance, and no error of counts."""
        error, unit = statement.error, statement.error_unit
        return "" if error is None else f"a report is about {near(error, unit)} from its item on average"

    @classmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and how far reports are from their items."""
        facts = statement.answer
        unit = f" {statement.unit}" if statement.unit else ""
        moved, guess = facts.distortion, facts.uniform_guess
        far = "" if moved is None else f" A report is {moved:.3g}{unit} from its item on average"
        far += "" if moved is None else f" (a uniform guess: {guess:.3g}{unit})." if guess is not None else "."
        warning = f" {facts.warning}" if facts.warning else ""
        return (
            f"We released {statement.released} of {statement.people:,} people, {how_many(facts)}. Every item was "
            f"replaced by a random report ({needed(facts.noise).distribution}).{far}{warning}"
        )

    @classmethod
    def counted(cls, statement: Statement) -> str:
        """What was randomised."""
        return items_counted(statement)

    @classmethod
    def drawn(cls, statement: Statement) -> list[str]:
        """How reports were drawn."""
        moved, unit = statement.answer.distortion, statement.unit
        far = [] if moved is None else [f"A report is {moved:.4g} {unit}".rstrip() + " from its item on average."]
        return [reports_sentence(statement), *far]


def how_many(facts: AnswerFacts) -> str:
    """How many items each person gave."""
    items = needed(facts.items_per_person)
    return f"{items:,} items drawn from each" if facts.sampled else f"each holding exactly {items:,} items"


def items_counted(statement: Statement) -> str:
    """What was counted before it was randomised."""
    people, items = statement.people, needed(statement.answer.items_per_person)
    if statement.answer.sampled:
        return (
            f"{items:,} items were drawn from each of the {people:,} people with replacement, exactly uniformly, from "
            "the operating system's entropy, and counted together inside the engine."
        )
    return f"The items of all {people:,} people, exactly {items:,} of each, were counted together."


def reports_sentence(statement: Statement) -> str:
    """How reports were drawn in place of items."""
    noise = needed(statement.answer.noise)
    how = "by each person's client" if statement.conditions else "as counts"
    return (
        f"Every item was replaced by a random report ({noise.distribution}, α₀ = {needed(noise.alpha0):.6g} for each, "
        f"by {noise.method}), drawn exactly, {how}, from the operating system's entropy; only the multiset of "
        "reports is released."
    )


@dataclass(frozen=True, eq=False)
class ItemsPlan(Plan):
    """What an item-wise release would give: reports, how far they are from their items, the guarantee and its price.

    Args:
        question: What is asked.
        terms: What the study grants.
        choice: The randomiser, and how it was found.
        mechanism: What will be drawn; behind samples where people may hold any number of items.
        guarantee: What it promises, by the best certified method.
    """

    question: ItemWiseQuestion
    terms: Terms
    choice: planning.ItemChoice
    mechanism: mechanisms.ItemWise | mechanisms.Reduced
    guarantee: Guarantee

    @property
    def itemwise(self) -> mechanisms.ItemWise:
        """The bounded release: of the items, or of those that were drawn from each person."""
        return self.choice.mechanism

    @property
    def samples(self) -> int | None:
        """s, where items are drawn from each person first."""
        return self.question.samples

    @property
    def items(self) -> int | None:
        """m, for people who all hold exactly this many items; None where samples hide how many they hold."""
        return self.question.items

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return self.question.description

    @property
    def event(self) -> Event:
        """What drawing will cause."""
        return self.mechanism.event

    @property
    def error(self) -> float:
        """How far a report is from its item on average, in the space's units; NaN where reports are no items."""
        moved = self.choice.distortion
        return float("nan") if moved is None else moved

    @property
    def mapped(self) -> bool:
        """Whether the rows are places on a map."""
        return self.space.geometry.on_earth and not self.question.listed and self._points() is not None

    @property
    def rows(self) -> int:
        """One more for each report of a sorted list."""
        return super().rows + (self.terms.users * self.itemwise.items if self.question.listed else 0)

    def _points(self) -> Floats | None:
        labels, points = self.itemwise.randomiser.report_labels, self.space.geometry.places
        same = points is not None and len(points) == len(labels) and list(labels) == list(self.space.labels)
        return points if same else None

    @property
    def by_curator(self) -> bool:
        """Reports of all people can be drawn by whoever holds the records."""
        return True

    def statistics(self, counts: Counts) -> Any:
        """How often each item occurs among all people, and whether samples were drawn with the system's randomness.

        People of other sizes are refused with a constant text.
        """
        return mechanisms.pooled_items(
            self.space,
            item=counts.items,
            size=counts.sizes,
            count=counts.counts,
            present=counts.users,
            items=self.itemwise.items,
            users=self.terms.users,
        ), getattr(counts, "private", True)

    def draw(self, statistics: Any) -> tuple[Any, bool]:
        """The counts of reports, and whether the randomness, that of the samples too, was the system's."""
        held, sampled_privately = statistics
        central = replace(self.itemwise, users=self.terms.users)
        drawn = central.release(held)
        return drawn.counts, drawn.private and sampled_privately

    def tables(self, drawn: Any) -> dict[str, Rows]:
        """One row for each kind of report with its count, or one for each report of the sorted list."""
        labels: Sequence[str] = self.itemwise.randomiser.report_labels
        counted = list(zip(labels, np.asarray(drawn).tolist(), strict=True))
        if self.question.listed:
            return {"values": [{"report": label} for label, count in counted for _ in range(count)]}
        points = self._points()
        rows = [
            {"report": label, **placed(self.space, points, i), "count": int(count)}
            for i, (label, count) in enumerate(counted)
        ]
        return {"values": rows}

    def summary(self, drawn: Any) -> list[str]:
        """How many reports there are."""
        return [f"{int(drawn.sum()):,} reports of {len(drawn):,} kinds."]

    def guarantee_for(self, users: int) -> Guarantee:
        """What holds if the reports of ``users`` people are mixed, and not of as many as was planned."""
        made = self.itemwise
        hiding = self.terms.hiding_among(users)
        if made.model is not Model.SHUFFLE or hiding >= self.terms.hiding:  # more people were not promised
            return self.guarantee
        here = mechanisms.item_wise(made.randomiser, items=made.items, users=hiding, model="shuffle", delta=made.delta)
        return accounting.price(here.event if self.samples is None else mechanisms.reduced(here).event)

    def for_people(self, users: int) -> Self:
        """The same channel, priced for as many people as really took part."""
        terms = replace(self.terms, users=users)
        made = replace(self.itemwise, users=min(terms.hiding, self.terms.hiding))
        return replace(
            self,
            terms=terms,
            choice=replace(self.choice, mechanism=made),
            mechanism=made if self.samples is None else mechanisms.reduced(made),
            guarantee=self.guarantee_for(users),
        )

    def collected(self, collector: Collector) -> Collected:
        """The histogram of all reports."""
        counts = counted_of(collector)
        labels = self.itemwise.randomiser.report_labels
        histogram = dict(zip(labels, counts.counts.tolist(), strict=True))
        lines = [*(f"{label}: {count}" for label, count in histogram.items()), self.counted_line(counts)]
        details = {"histogram": histogram, "distortion": self.choice.distortion}
        return Collected(counts.n, self.tables(counts.counts), lines, details, self.guarantee_for(counts.n))

    def counted_line(self, counts: Counted) -> str:
        """How many reports of how many people were counted."""
        return f"{int(counts.counts.sum()):,} reports on items, from {counts.n:,} people."

    def parameters(self) -> dict[str, Any]:
        """The public numbers on which the distribution of the reports depends."""
        made = self.itemwise
        return {
            "randomiser": made.randomiser.kind,
            "alpha0": exact_text(made.event.alpha0),
            **({} if self.samples is None else {"samples": self.samples}),
        }

    def fields(self) -> AnswerFacts:
        """What the statement says about the values."""
        made = self.itemwise
        return AnswerFacts(
            outputs=made.randomiser.reports,
            unit="reports",
            items_per_person=made.items,
            sampled=self.samples is not None,
            distortion=self.choice.distortion,
            uniform_guess=made.randomiser.uniform_guess,
            warning=self.choice.warning,
            noise=NoiseFacts(
                distribution=made.randomiser.description,
                alpha0=float_up(made.event.alpha0),
                method=self.choice.guarantee.method,
            ),
        )

    def details(self) -> dict[str, Any]:
        """What is this kind's own in plain data."""
        return {**self.choice.to_json(), "samples": self.samples}

    def answer_lines(self) -> list[str]:
        """The randomiser, and how far reports are from their items."""
        return [*self._sampling_lines(), *self._choice_lines(), *self._bounded_lines()]

    def _choice_lines(self) -> list[str]:
        """The choice without its warning, which all plans say at the same place."""
        return [line for line in self.choice.lines() if not line.startswith("Warning")]

    @property
    def warnings(self) -> list[str]:
        """A warning where reports are hardly nearer to their items than a guess, and what would help most."""
        return [] if self.choice.warning is None else [f"{self.choice.warning} {self._most_helpful}".rstrip()]

    @cached_property
    def _most_helpful(self) -> str:
        """The one change that would help most, computed; empty where none is known."""
        if self.finer_words:
            return self.finer_words
        from barrow.planning.items import ItemHelp

        made, asked = self.itemwise, self.question
        found = ItemHelp.of(self.terms, made.items, self.samples is not None, asked.randomiser, made.randomiser)
        return "" if found is None else found.sentence

    def _sampling_lines(self) -> list[str]:
        if self.samples is None:
            return []
        inner = float_up(self.choice.guarantee.definition.parameters["alpha"])
        return [
            f"Sampling  {self.samples:,} items are drawn from each person; how many they hold is hidden, which costs "
            f"a factor e^(α/s): α = {inner:.4g} inside"
        ]

    def _bounded_lines(self) -> list[str]:
        if self.items is None:
            return []
        return [f"Bounded   every person must hold exactly {self.items:,} items; how many there are is not hidden"]


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
        drawn = self.mechanism.randomise(items).counts
        numbers: list[int] = np.repeat(np.arange(len(drawn)), drawn).tolist()
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
        made, default = self.itemwise, self.terms.space.default_item
        return stops_wire(made.randomiser, items=made.items, sampled=self.sampled, default=default)

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
