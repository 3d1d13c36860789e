"""Linear questions: the mean over people of a public function of their items, with additive noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from msgspec import structs

from barrow import mechanisms
from barrow.engines import Counts, ItemSums
from barrow.errors import ParameterError
from barrow.mechanisms.additive import AdditiveNoise
from barrow.mechanisms.summed import SummedNoise
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.numerics import exact_text, float_up
from barrow.numerics.exact import PERCENT, at_most, near, plus_minus
from barrow.planning.candidates import Candidate, checked_definition, preferred, user_level_within
from barrow.planning.linear import errors_within, user_level_errors
from barrow.planning.notes import Note, Severity, warnings_of
from barrow.planning.terms import Terms
from barrow.promises import Model
from barrow.queries import Query
from barrow.questions.answer import Answer, Rows, Sample, Statistics, Tables, center_of, number, placed
from barrow.questions.cache import Cache, cached_query
from barrow.questions.channels import LocalChannel, NoiseChannel, ReportNoise
from barrow.questions.collecting import Averaged, Collected, ReportSums, collected, for_people
from barrow.questions.comparing import (
    RankedAnswer,
    against,
    baseline_error,
    user_level_error,
)
from barrow.questions.estimates import ErrorEstimate, errors_at, estimate
from barrow.questions.noise_words import noise_sentence, points, snapping_words, stated_noise, value_unit
from barrow.questions.plan_text import answer_lines, details, other_lines, own_notes
from barrow.questions.prices import finer_words
from barrow.questions.question import VALUES, Question, Traits, needs_curator
from barrow.questions.releasing import noisy_values, on_map, parameters, places_of, simulated, summary
from barrow.questions.statement import AnswerFacts, Json, NoiseFacts, Statement, needed
from barrow.questions.summed import SummedChannel
from barrow.spaces import Space
from barrow.spaces.space import Floats

Measured = Callable[[Sequence[Candidate]], tuple[Candidate, ...]]
_NOISE: Cache[Floats] = Cache(12)


@dataclass(frozen=True, kw_only=True, repr=False)
class Linear(Question):
    """A question about the mean over people of a public function of their items.

    Args:
        noise: ``"auto"``, ``"laplace"``, ``"l2"``, ``"linf"``, the order of a norm, or ``"gaussian"``.
        definition: ``"auto"``: what keeps the promises with the least error; ``"emd"`` or ``"user_level"`` for EMD-DP
            or user-level DP.

    >>> from barrow.questions import Mean
    >>> issubclass(Mean, Linear)
    True
    """

    traits: ClassVar[Traits] = VALUES
    missing: ClassVar[tuple[str, ...]] = ("no records", "default item")
    curated: ClassVar[tuple[str, str] | None] = None
    """What needs a curator, in the plural, and what to ask of reports instead; None where people report themselves."""

    noise: str = "auto"
    definition: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_definition(self.definition)

    @abstractmethod
    def query(self, space: Space) -> Query:
        """The question on ``space``."""

    def outputs_of(self, space: Space) -> tuple[str, ...]:
        """The name of the question that each value answers, where there are several in one; else nothing."""
        return ()

    def fits(self, space: Space) -> None:
        """Refuse, within a second, a space on which it has no answer."""
        cached_query(self, space.records_space)

    def plan(self, terms: Terms) -> LinearAnswer:
        """The most accurate noise that keeps the terms; it reads no data."""
        self._check(terms)
        if terms.space.geometry.within is not None:
            return self._within_groups(terms)
        return self._over_holders(terms) if terms.space.no_records_distance is not None else self._planned(terms)

    def _check(self, terms: Terms) -> None:
        """Refuse terms on which there is nothing to average, and reports where somebody must hold the data."""
        if self.curated is not None and terms.model is not Model.CENTRAL:
            raise needs_curator(*self.curated)
        if terms.model is Model.SHUFFLE:
            raise ParameterError(
                f"The question {self.kind!r} gains nothing from shuffling.",
                allowed="model 'central' or 'local'; 'shuffle' for items, frequencies and histograms",
                fix="model='local'",
            )
        if terms.model is Model.CENTRAL and terms.users == 1:
            raise ParameterError(
                "users is 1, so the mean over users is one person's answer.",
                allowed="2 or more people",
                fix="model='local', where each person adds noise",
            )

    def channel(self, terms: Terms) -> LocalChannel:
        """A person's own answer with the most accurate noise that keeps the terms, by closed forms."""
        self._check(terms)
        result = self._over_holders(terms) if terms.space.no_records_distance is not None else self._planned(terms)
        query, best = result.query, result.chosen
        proved = best.user_level or query.constant_proved
        if isinstance(best.mechanism, SummedNoise):
            return SummedChannel(terms, query.description, best.guarantee, query, best.mechanism, proved=proved)
        return NoiseChannel(terms, query.description, best.guarantee, query, best.mechanism, proved=proved)

    def _planned(self, terms: Terms) -> LinearAnswer:
        query = cached_query(self, terms.space)
        best, own, baselines = self._ranked(query, terms)
        return LinearAnswer(self, terms, best, query, own=own, baselines=baselines)

    def _ranked(
        self, query: Query, terms: Terms, measured: Measured = tuple, inner: Query | None = None
    ) -> tuple[Candidate, tuple[Candidate, ...], tuple[Candidate, ...]]:
        """What is released of all noises that keep the terms, those of EMD-DP, and those of user-level DP.

        Args:
            query: What the noise is on.
            terms: What the study grants.
            measured: From candidates to the same by another error, best first.
            inner: The query about records, where that is another one.
        """
        own, baselines = measured(errors_within(query, terms, self.noise)), tuple[Candidate, ...]()
        if self.noise == "auto" or self.definition == "user_level":
            baselines = measured(user_level_within(terms, user_level_of(query, terms), self.definition))
        about = query if inner is None else inner
        moved = about.snapping_upper if about.snapping_counted else 0.0
        return preferred(own, baselines, self.definition, moved), own, baselines

    def _over_holders(self, terms: Terms) -> LinearAnswer:
        """The mean over people with records, where the others have an item of their own."""
        from barrow.questions.holders import plan_holders

        return plan_holders(self, terms)

    def _within_groups(self, terms: Terms) -> LinearAnswer:
        """The means within hidden groups of records."""
        from barrow.questions.grouped import plan_grouped

        return plan_grouped(self, terms)

    @classmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and how accurate it is."""
        facts, people = statement.answer, f"{statement.people:,} people"
        if facts.share_half_width_95 is not None:
            return (
                f"We released {statement.released}, computed from {people}, each person with records counting once, "
                f"and the share of people with records. Each value comes with an interval that contains the true "
                f"value with probability 95 %, snapping included; if the share may be 0, the value is not determined."
            )
        within = at_most(needed(facts.half_width_95), value_unit(facts, cls.traits.of_shares))
        return (
            f"We released {statement.released}, computed from {people}, each person counting once. "
            f"Each value is within {points(within)} of the true value with probability 95 %"
            f"{snapping_words(facts, cls.traits.of_shares)}."
        )

    @classmethod
    def _counted(cls, statement: Statement) -> str:
        """What the noise was added to."""
        people = f"{statement.people:,} people"
        return f"Every person counts once: {statement.released}, over {people}, as an exact fraction."

    @classmethod
    def _noise_steps(cls, statement: Statement) -> list[str]:
        """How the noise was drawn."""
        facts = statement.answer
        unit = value_unit(facts, cls.traits.of_shares)
        if facts.share_half_width_95 is not None:  # a ratio: the fewer hold records, the wider its interval
            whole = at_most(needed(facts.half_width_95), unit, digits=4)
            return [
                noise_sentence(facts),
                "Each value has an interval of its own, which contains the true value with probability 95 %: ± "
                f"{whole} if everybody holds records, more the fewer do{snapping_words(facts, cls.traits.of_shares)}.",
            ]
        all_at_once = at_most(needed(facts.half_width_95_all), unit, digits=4) if facts.outputs > 1 else ""
        many = f", all {facts.outputs:,} at once by {all_at_once}" if all_at_once else ""
        each = f"Each value is off by at most {at_most(needed(facts.half_width_95), unit, digits=4)}"
        return [
            noise_sentence(facts),
            f"{each} with probability 95 %{many}{snapping_words(facts, cls.traits.of_shares)}.",
        ]


def user_level_of(query: Query, terms: Terms) -> Callable[[Fraction], list[Candidate]]:
    """From an epsilon to the mechanisms of user-level DP."""
    return lambda epsilon: user_level_errors(
        query, epsilon, terms.adding_delta, users=terms.users, model=terms.model.value
    )


@dataclass(frozen=True, eq=False)
class LinearAnswer(RankedAnswer):
    """What a linear release would give: the noise, the error in the question's unit, the guarantee.

    Args:
        query: The question on the space.

    >>> from barrow.questions import Mean
    >>> from barrow.spaces import Line
    >>> plan = Mean().plan(Terms(Line(0, 100, unit="years", points=range(101)), 1000, given=Fraction(25)))
    >>> plan.noise.name, round(plan.half_width, 3), plan.query.unit
    ('Laplace', 0.512, 'years')
    """

    query: Query

    @property
    def others(self) -> tuple[Candidate, ...]:
        """The other noises of EMD-DP that would keep the terms, and lose."""
        return tuple(one for one in self.own if one is not self.chosen)

    @property
    def mechanism(self) -> ReportNoise:
        """The noise: on the mean over people, or on each person's own answer (local)."""
        noise: ReportNoise = self.chosen.mechanism
        return noise

    @property
    def noise(self) -> ReportNoise:
        """The same."""
        return self.mechanism

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return self.query.description

    @property
    def measured(self) -> Query:
        """The query whose values people get: of people with records alone, where the others have an item."""
        return self.query

    @property
    def moved(self) -> float:
        """What snapping adds to a half width, in the question's unit."""
        return self.measured.snapping_upper if self.measured.snapping_counted else 0.0

    @property
    def parts_named(self) -> tuple[str, ...]:
        """The name of the question that each value answers, where there are several in one; else nothing."""
        space = self.terms.space.records_space
        return self.question.outputs_of(space) if isinstance(self.question, Linear) else ()

    @property
    def said_in(self) -> str:
        """The unit in which values are said: shares in per cent."""
        return PERCENT if self.question.traits.in_percent else self.query.unit

    @property
    def half_width(self) -> float:
        """Each value will be within this of the true one with probability at least 95 %, in the question's unit."""
        return self.chosen.error + self.moved

    @property
    def half_width_all(self) -> float:
        """The same for all values at once."""
        if self.terms.model is Model.LOCAL:
            return self.half_width
        return self.noise.simultaneous_half_width + self.moved

    @property
    def error(self) -> float:
        """The half width of each value."""
        return self.half_width

    @property
    def error_unit(self) -> str:
        """The unit of the values."""
        return self.query.unit

    @property
    def constant(self) -> tuple[bool, str, float | None]:
        """Whether the Lipschitz constant is proved, how it was found, and what it is per largest distance."""
        return constant_of(self.query, self.noise, self.chosen.user_level)

    def told(self, error: float) -> float:
        """With what snapping adds."""
        return estimate(self).at(error)

    def by_emd(self, terms: Terms) -> Sequence[Candidate]:
        """The candidates of EMD-DP that keep other terms."""
        return self.ranked(errors_within(self.query, terms))

    def by_user_level(self, epsilon: Fraction) -> Sequence[Candidate]:
        """Those of user-level DP at an epsilon."""
        return self.ranked(user_level_of(self.query, self.terms)(epsilon))

    def statistics(self, counts: Counts | ItemSums) -> Center:
        """The exact mean over people, from an engine's integers (private)."""
        return mean_over_people(self.terms, self.query, counts)

    def draw(self, statistics: Statistics) -> Sample:
        """The mean with noise."""
        sample = self.noise.draw(center_of(statistics))
        return Sample(sample.values, private=sample.private)

    def tables(self, sample: Sample) -> Tables:
        """One row for each output: its name, its place if it has one, the value, its error and unit."""
        return {"values": self.rows_of(sample.values, [self.half_width] * len(sample.values))}

    def rows_of(self, values: Iterable[float], widths: Iterable[float]) -> Rows:
        """A row for each value with its half width."""
        outputs, named = zip(self.query.outputs, values, widths, strict=True), self.parts_named
        return [
            {
                **({"question": named[i]} if named else {}),
                "output": name,
                **placed(self.terms.space.records_space, self.query.places, i),
                "value": float(value),
                "half_width_95": float(width),
                "unit": self.query.unit,
            }
            for i, (name, value, width) in enumerate(outputs)
        ]

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        measured = self.measured
        return structs.replace(
            noise_facts(self.query, self.noise, self.half_width, self.half_width_all),
            snapping=measured.snapping_upper,
            snapping_included=measured.snapping_counted,
        )


def constant_of(query: Query, noise: ReportNoise, user_level: bool) -> tuple[bool, str, float | None]:
    """Whether a Lipschitz constant is proved, how it was found, and what it is per largest distance.

    Noise along edges needs none: it is proved for the graph. User-level DP goes by the range.
    """
    if not isinstance(noise, AdditiveNoise) and isinstance(noise, mechanisms.EdgeNoise):
        return True, "graph", None
    if user_level:
        return True, "range", None
    result = query.constants([2 if noise.p is None else noise.p])[0]
    return query.constant_proved, query.constant_method, result.lipschitz_upper


def mean_over_people(terms: Terms, query: Query, counts: Counts | ItemSums) -> Center:
    """The mean over people of a query, from an engine's integers (private): its sums, or the counts of a few people."""
    if isinstance(counts, ItemSums):
        sums = mechanisms.UserSums.of(terms.space, items=counts.items, values=counts.steps, users=terms.users)
        return sums.center(query)
    held = mechanisms.UserCounts.of(
        terms.space, item=counts.items, size=counts.sizes, count=counts.counts, users=terms.users
    )
    return held.center(query)


def noise_facts(query: Query, noise: ReportNoise, half_width: float, half_width_all: float) -> AnswerFacts:
    """What a statement says about values with additive noise."""
    scale, grid = stated_noise(noise)
    return AnswerFacts(
        outputs=query.dimension,
        unit=query.unit,
        half_width_95=half_width,
        half_width_95_all=half_width_all,
        noise=NoiseFacts(distribution=noise.name, scale=float_up(scale), grid=str(grid)),
    )


def noise_parameters(query: Query, noise: ReportNoise, method: str) -> Json:
    """The public numbers on which the distribution of values with additive noise depends."""
    scale, grid = stated_noise(noise)
    return {
        "query": query.to_spec(),
        "noise": noise.name,
        "scale": exact_text(scale),
        "grid": exact_text(grid),
        "constant": method,
    }


def ratio_of(answer: Answer) -> Fraction:
    """B/ell in the norm of the noise: no change of one item moves the answer by more than this many times ell."""
    result = getattr(answer.event, "range_ratio", None)
    return Fraction(1) if result is None else Fraction(result)


@parameters.register(LinearAnswer)
def _(answer: LinearAnswer) -> Json:
    return noise_parameters(answer.query, answer.noise, answer.constant[1])


@places_of.register(LinearAnswer)
def _(answer: LinearAnswer) -> Floats | None:
    return answer.query.places


@on_map.register(LinearAnswer)
def _(answer: LinearAnswer) -> bool:
    return answer.query.places is not None and answer.terms.space.records_space.geometry.on_earth


@estimate.register(LinearAnswer)
def _(answer: LinearAnswer) -> ErrorEstimate:
    scales = answer.question.traits.per_value_error and answer.alpha is not None
    return ErrorEstimate(answer.chosen.error, answer.moved, scales=scales)


@errors_at.register(LinearAnswer)
def _(answer: LinearAnswer, times: Sequence[float], thorough: bool) -> dict[float, float]:
    """The half width: noise without delta scales exactly."""
    parts = estimate(answer)
    if not parts.scales:
        return {}
    if answer.noise.p is not None:
        return {each: parts.at(parts.noise / each) for each in times}
    result = {}
    for each in times:
        looser = replace(answer.terms, fraction=answer.terms.fraction * Fraction(each))
        result[each] = parts.at(next(one.error for one in answer.by_emd(looser) if one.name == "gaussian"))
    return result


@simulated.register(LinearAnswer)
def _(answer: LinearAnswer, people: Floats, seed: int) -> Floats:
    """The values with noise: of scale 1 it is drawn once for each kind and number of outputs."""
    noise, query = answer.noise, answer.query

    def draw() -> Floats:
        zeros = Center.from_integers(np.zeros(query.dimension, dtype=np.int64))
        return np.asarray(noise.draw(zeros, SeededSource(seed)).values) / float(noise.scale)

    true = np.asarray(query.table.floats().T @ people).ravel() * float(query.step)
    key = f"{seed} {noise.name} {noise.p} {query.dimension}"
    return np.asarray(true + _NOISE.get(key, draw) * float(noise.scale))


@noisy_values.register(LinearAnswer)
def _(answer: LinearAnswer, tables: Mapping[str, Rows]) -> Floats | None:
    """The values themselves, and what people without records hold."""
    rows = [*tables["values"], *tables.get("no_records", [])]
    fits = len(rows) == answer.query.dimension and "half_width_95" in rows[0]
    return np.array([number(row, "value") for row in rows]) if fits else None


@baseline_error.register(LinearAnswer)
def _(answer: LinearAnswer, thorough: bool) -> tuple[float, float] | None:
    return user_level_error(answer, answer.query, thorough)


@summary.register(LinearAnswer)
def value_lines(answer: LinearAnswer, drawn: Sample) -> list[str]:
    """The values with their errors, or how many of them stand out from the noise."""
    unit, width, values = answer.said_in, answer.half_width, drawn.values
    if len(values) <= 12:
        named = zip(answer.query.outputs, values, strict=True)
        return [f"{name}: {plus_minus(float(value), width, unit)} (95 %)" for name, value in named]
    width = answer.half_width_all  # of thousands of values some pass a threshold for one value
    above = int((values > width).sum())
    return [
        f"{above:,} of {len(values):,} values stand out from the noise (all at once ± {at_most(width, unit)}, 95 %)."
    ]


@collected.register(LinearAnswer)
def _(answer: LinearAnswer, collector: ReportSums) -> Collected:
    """The mean of all reports with its half widths."""
    sums, query, grid = Averaged.of(collector), answer.query, answer.noise.grid
    means, noise, slack = sums.means(grid), answer.noise.mean_half_width(sums.n), answer.moved
    spread = sums.spreads(grid)
    about = None if spread is None else [width + slack + query.rounding_upper for width in spread]
    rows = answer.rows_of(means, [noise + slack] * len(means))
    unit = answer.said_in
    like = [""] * len(rows) if about is None else [f"; people like them: about ± {near(w, unit)}" for w in about]
    lines = [
        f"{row['output']}: {plus_minus(row['value'], row['half_width_95'], unit)} (95 %, of these people){words}"
        for row, words in zip(rows, like, strict=True)
    ]
    lines.append(f"From {sums.n:,} reports; noise alone: ± {near(noise, unit)} (95 %).")
    details = {
        "outputs": list(query.outputs),
        "unit": query.unit,
        "means": means,
        "noise_half_width_95": noise,
        "half_width_population_about": about,
    }
    return Collected(sums.n, {"values": rows}, lines, details, answer.guarantee)


@for_people.register(LinearAnswer)
def _(answer: LinearAnswer, users: int) -> LinearAnswer:
    """The same noise; the mean of fewer people has more of it, on each report as on the sum that aggregators know."""
    terms = answer.terms.for_people(users)
    if terms.model is Model.LOCAL:
        return replace(answer, terms=terms, chosen=replace(answer.chosen, error=answer.noise.mean_half_width(users)))
    if terms.model is not Model.AGGREGATED:
        return replace(answer, terms=terms)
    return replace(answer, terms=terms, chosen=errors_within(answer.query, terms)[0])


def constant_json(constant: tuple[bool, str, float | None]) -> Json:
    """What :func:`constant_of` knows, as plain data."""
    return dict(zip(("proved", "method", "lipschitz"), constant, strict=True))


@details.register(LinearAnswer)
def _(answer: LinearAnswer) -> Json:
    others = [{"noise": other.name, "half_width_95": other.error + answer.moved} for other in answer.others]
    return {"constant": constant_json(answer.constant), "others": others}


@answer_lines.register(LinearAnswer)
def linear_lines(answer: LinearAnswer) -> list[str]:
    """The noise and the error."""
    unit = f" {answer.query.unit}" if answer.query.unit else ""
    noise, many = answer.noise, answer.query.dimension > 1
    whose = " on each person's answer" if answer.terms.model is Model.LOCAL else ""
    more = f"; all at once ± {at_most(answer.half_width_all)}{unit}" if many else ""
    more += snapping_words(answer.facts())
    lines = [
        f"Noise     {noise.name}, scale {near(float_up(stated_noise(noise)[0]))}{unit}{whose}",
        f"Error     each value ± {at_most(answer.half_width)}{unit} (95 %){more}",
    ]
    _, method, constant = answer.constant
    if many and constant is not None:
        lines.append(f"Constant  {constant:.4g}{unit} per largest distance, by {method}")
    return lines


@other_lines.register(LinearAnswer)
def _(answer: LinearAnswer) -> list[str]:
    """The noises that lose."""
    lost = ", ".join(f"{other.name} ± {at_most(other.error + answer.moved)}" for other in answer.others)
    return [*against(answer), *([f"Others    {lost}"] if lost else [])]


@own_notes.register(LinearAnswer)
def _(answer: LinearAnswer) -> list[Note]:
    return [*unproved_constant(answer), *useless_values(answer, answer.query.table.range_upper(math.inf))]


def unproved_constant(answer: LinearAnswer) -> list[Note]:
    """A note where the Lipschitz constant is somebody's word."""
    if answer.constant[0]:
        return []
    text = "The Lipschitz constant was declared in the study and is not proved; if it is too small, no promise holds."
    return [Note(Severity.UNPROVED, text)]


def useless_values(answer: LinearAnswer, whole: float, wider: str = "") -> list[Note]:
    """A warning where the half width is not below half of what a guess in the middle errs by at most.

    Args:
        answer: The answer.
        whole: How far apart possible answers are at most.
        wider: What a question with a width of its own would gain by another one.
    """
    if answer.half_width < whole / 4.0:
        return []
    said = answer.said_in
    better, room = finer_words(answer.terms) or wider, whole / 4.0 - answer.moved
    if room <= 0.0:
        better = (
            f"Snapping records to the grid alone may move it by {at_most(answer.moved, said)}: finer cells would help, "
            "more people would not."
        )
    if not better:
        times, local = (answer.half_width - answer.moved) / room, answer.terms.model is Model.LOCAL
        people = math.ceil(answer.terms.users * (times * times if local else times))
        looser = f"promises {near(times, digits=2)} times looser"
        better = f"About {people:,} people, or {looser}, would make it ± {near(whole / 4.0, said)}."
    return warnings_of(
        [
            f"The answer is nearly useless: ± {at_most(answer.half_width, said)} is the expected error, and all "
            f"possible answers lie within {near(whole, said)} of each other. {better}"
        ]
    )
