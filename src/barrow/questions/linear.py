"""Linear questions: the mean over people of a public function of their items, with additive noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from barrow import mechanisms, planning
from barrow.engines import Counts
from barrow.errors import ParameterError
from barrow.numerics import exact_text, float_up
from barrow.numerics.exact import at_most, near
from barrow.planning.candidates import Candidate, Versus, checked_definition, kept_user_level, preferred, versus
from barrow.planning.terms import Terms
from barrow.privacy import Event, Guarantee, Model
from barrow.queries import Query
from barrow.questions.base import Question, at_alpha
from barrow.questions.channels import NoiseChannel
from barrow.questions.collecting import Collected, Collector, averaged_of
from barrow.questions.kept import Kept, kept_query, query_ready
from barrow.questions.noise_words import noise_sentence, snapping_words, value_unit
from barrow.questions.plan import Plan, Rows, placed
from barrow.questions.statement import AnswerFacts, NoiseFacts, Statement, needed
from barrow.spaces import Space
from barrow.spaces.base import Floats

_QUICK = 5_000_000
"""Entries of a table up to which user-level DP is planned in milliseconds."""
_SIMULATED: Kept[Floats] = Kept(12)


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

    error_words: ClassVar[str] = "95 % half width"
    each_alone: ClassVar[bool] = True
    noise: str = "auto"
    definition: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_definition(self.definition)

    @property
    def missing(self) -> tuple[str, ...]:
        """Their share is released beside the values."""
        return ("no records", "default item")

    @abstractmethod
    def query(self, space: Space) -> Query:
        """The question on ``space``."""

    def fits(self, space: Space) -> None:
        """Refuse, within a second, a space on which it has no answer."""
        kept_query(self, space.records_space)

    @property
    def in_percent(self) -> bool:
        """As the values."""
        return self.of_shares

    def compared(self, terms: Terms, promises: Any, epsilons: Any, **given: Any) -> planning.Comparison:
        """By what the plan itself is chosen by, so that both say the same numbers."""
        from barrow.questions.comparing import compared_plan

        return compared_plan(self.plan(terms), promises, epsilons)

    def ready(self, space: Space) -> bool:
        """Whether it is planned at once: the space is small, or its query was made before."""
        return super().ready(space) or query_ready(self, space.records_space)

    def previewed(self, model: Model, finer: bool) -> bool:
        """User-level DP costs as much on every grid, and a preview is one of EMD-DP."""
        return finer and self.definition != "user_level"

    def preview(self, terms: Terms, space: Space) -> Plan:
        """A plan on ``space`` with the alpha that ``terms`` leave to a query of its range."""
        ratio = self.plan(at_alpha(terms, space, Fraction(1))).ratio
        return self.plan(at_alpha(terms, space, terms.alpha_for(ratio)))

    def plan(self, terms: Terms) -> LinearPlan:
        """The most accurate noise that keeps the terms; it reads no data."""
        self._check(terms)
        return self._over_holders(terms) if terms.space.no_records_distance is not None else self._planned(terms)

    def _check(self, terms: Terms) -> None:
        """Refuse terms on which there is nothing to average."""
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

    def channel(self, terms: Terms) -> NoiseChannel:
        """A person's own answer with the most accurate noise that keeps the terms, by closed forms."""
        self._check(terms)
        found = self._over_holders(terms) if terms.space.no_records_distance is not None else self._planned(terms)
        query, best = found.query, found.chosen
        proved = best.user_level or query.constant_proved
        return NoiseChannel(terms, query.description, best.guarantee, query, best.mechanism, proved=proved)

    def _planned(self, terms: Terms) -> LinearPlan:
        query = kept_query(self, terms.space)
        found = planning.kept_errors(query, terms, self.noise)
        rivals: list[Candidate] = []
        if self.noise == "auto" or self.definition == "user_level":
            rivals = kept_user_level(terms, user_level_of(query, terms), self.definition)
        moved = query.snapping_upper if query.snapping_counted else 0.0
        best = preferred(found, rivals, self.definition, moved)
        others = [candidate for candidate in found if candidate is not best]
        return LinearPlan(self, terms, query, best, tuple(others), own=tuple(found), rivals=tuple(rivals))

    def _over_holders(self, terms: Terms) -> LinearPlan:
        """The mean over people with records, where the others have an item of their own."""
        from barrow.questions.holders import plan_holders

        return plan_holders(self, terms)

    @classmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and how accurate it is."""
        facts, people = statement.answer, f"{statement.people:,} people"
        if facts.share_half_width_95 is not None:
            return (
                f"We released {statement.released}, computed from {people}, each person with records "
                "counting once, and the share of people with records. Each value comes with an interval that holds the "
                "true one with probability 95 %, snapping included; where the share may be 0 it is not determined."
            )
        within = at_most(needed(facts.half_width_95), value_unit(facts, cls.of_shares))
        return (
            f"We released {statement.released}, computed from {people}, each person counting once. "
            f"Each value is within {within} of the true one with probability 95 %"
            f"{snapping_words(facts, cls.of_shares)}."
        )

    @classmethod
    def counted(cls, statement: Statement) -> str:
        """What the noise was added to."""
        people = f"{statement.people:,} people"
        return f"Every person counts once: {statement.released}, over {people}, as an exact fraction."

    @classmethod
    def drawn(cls, statement: Statement) -> list[str]:
        """How the noise was drawn."""
        facts = statement.answer
        unit = value_unit(facts, cls.of_shares)
        all_at_once = at_most(needed(facts.half_width_95_all), unit, digits=4) if facts.outputs > 1 else ""
        many = f", all {facts.outputs:,} at once by {all_at_once}" if all_at_once else ""
        each = f"Each value is off by at most {at_most(needed(facts.half_width_95), unit, digits=4)}"
        return [noise_sentence(facts), f"{each} with probability 95 %{many}{snapping_words(facts, cls.of_shares)}."]


def user_level_of(query: Query, terms: Terms) -> Callable[[Fraction], list[Candidate]]:
    """From an epsilon to the mechanisms of user-level DP."""
    return lambda epsilon: planning.user_level_errors(
        query, epsilon, terms.delta, users=terms.users, model=terms.model.value
    )


@dataclass(frozen=True, eq=False)
class LinearPlan(Plan):
    """What a linear release would give: the noise, the error in the question's unit, the guarantee and its price.

    Args:
        question: What is asked.
        terms: What the study grants.
        query: The question on the space.
        chosen: The most accurate noise that keeps the terms.
        others: The other noises that would keep them, and lose.
        own: The candidates of EMD-DP, best first.
        rivals: Those of user-level DP at the largest epsilon that keeps every promise.

    >>> from barrow.questions import Mean
    >>> from barrow.spaces import Line
    >>> plan = Mean().plan(Terms(Line(0, 100, unit="years", points=range(101)), 1000, given=Fraction(25)))
    >>> plan.noise.name, round(plan.half_width, 3), plan.query.unit
    ('Laplace', 0.512, 'years')
    """

    question: Question
    terms: Terms
    query: Query
    chosen: Candidate
    others: tuple[Candidate, ...]
    own: tuple[Candidate, ...] = field(default=(), kw_only=True)
    rivals: tuple[Candidate, ...] = field(default=(), kw_only=True)

    @cached_property
    def versus(self) -> Versus | None:
        """What is released beside the best of the other definition, EMD-DP or user-level DP."""
        return self._versus()

    def _versus(self) -> Versus | None:
        return versus(
            self.terms,
            self.chosen,
            self.own,
            self.rivals,
            emd=self.by_emd,
            user_level=self.by_user_level,
            snapping=self._moved,
        )

    def by_emd(self, terms: Terms) -> Sequence[Candidate]:
        """The candidates of EMD-DP that keep other terms."""
        return planning.kept_errors(self.query, terms)

    def by_user_level(self, epsilon: Fraction) -> Sequence[Candidate]:
        """Those of user-level DP at an epsilon."""
        return user_level_of(self.query, self.terms)(epsilon)

    def compared_by_emd(self) -> Sequence[Candidate]:
        """The candidates of EMD-DP that keep the terms, before snapping."""
        return self.own or self.by_emd(self.terms)

    def compared_by_user_level(self, epsilon: Fraction) -> Sequence[Candidate]:
        """Those of user-level DP at an epsilon, before snapping."""
        kept = self.rivals if self.terms.promises and epsilon == min(self.terms.epsilons) else ()
        return kept or self.by_user_level(epsilon)

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What it promises, with the worst case."""
        return self.chosen.guarantee

    @property
    def noise(self) -> Any:
        """The noise: on the mean over people, or on each person's own answer (local)."""
        return self.chosen.mechanism

    @property
    def ratio(self) -> Fraction:
        """B/ell in the norm of the noise."""
        found = getattr(self.event, "range_ratio", None)
        return Fraction(1) if found is None else Fraction(found)

    @property
    def constant(self) -> tuple[bool, str, float | None]:
        """Whether the Lipschitz constant is proved, how it was found, and what it is per largest distance.

        Noise along edges needs none: it is proved for the graph. User-level DP goes by the range.
        """
        if isinstance(self.noise, mechanisms.EdgeNoise):
            return True, "graph", None
        if self.chosen.user_level:
            return True, "range", None
        order = 2 if self.noise.p is None else self.noise.p
        found = self.query.constants([order])[0]
        return self.query.constant_proved, self.query.constant_method, found.lipschitz_upper

    @property
    def snapping(self) -> float:
        """How far snapping records to the grid may move a value, in the question's unit."""
        return self.query.snapping_upper

    @property
    def snapping_included(self) -> bool:
        """Whether the half widths hold against unsnapped records; where not, the words say so."""
        return self.query.snapping_counted

    @property
    def half_width(self) -> float:
        """Each value will be within this of the true one with probability at least 95 %, in the question's unit."""
        return self.chosen.error + self._moved

    @property
    def _moved(self) -> float:
        """What snapping adds to a half width."""
        return self.snapping if self.snapping_included else 0.0

    @property
    def error_parts(self) -> tuple[float, float]:
        """The noise, and what snapping adds to the half width."""
        return self.chosen.error, self._moved

    @property
    def half_width_all(self) -> float:
        """The same for all values at once."""
        if self.terms.model is Model.LOCAL:
            return self.half_width
        noise: float = self.noise.simultaneous_half_width
        return noise + self._moved

    @property
    def error(self) -> float:
        """The half width of each value."""
        return self.half_width

    @property
    def error_unit(self) -> str:
        """The unit of the values."""
        return self.query.unit

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return self.query.description

    @property
    def event(self) -> Event:
        """What drawing will cause."""
        event: Event = self.noise.event
        return event

    @property
    def declared(self) -> str:
        """A sentence where the Lipschitz constant is somebody's word."""
        if self.constant[0]:
            return ""
        return (
            "The Lipschitz constant was declared by whoever wrote the study and is not proved; if it is too small, "
            "nothing that is promised holds."
        )

    @property
    def places(self) -> Floats | None:
        """Where the outputs are."""
        return self.query.places

    @property
    def mapped(self) -> bool:
        """Whether the rows are places on a map."""
        return self.places is not None and self.space.records_space.geometry.on_earth

    @property
    def scales(self) -> bool:
        """The noise of each value does; user-level DP has no alpha."""
        return self.question.each_alone and self.alpha is not None

    def errors_at(self, times: Sequence[float], *, thorough: bool) -> dict[float, float]:
        """The half width at so many times alpha: noise without delta scales exactly."""
        return {each: self._error_at(each) for each in times} if self.scales else {}

    def _error_at(self, times: float) -> float:
        if self.noise.p is not None:
            return self.combined(self.chosen.error / times)
        looser = replace(self.terms, fraction=self.terms.fraction * Fraction(times))
        found = [candidate for candidate in self.by_emd(looser) if candidate.name == "gaussian"]
        return self.combined(found[0].error)

    def rival_error(self, *, thorough: bool) -> tuple[float, float] | None:
        """The best of user-level DP at the same promises; on large tables it is looked for if ``thorough``."""
        found: Sequence[Candidate] = self.rivals
        if self.terms.promises and not found and (thorough or self._rivals_are_quick):
            found = self.by_user_level(min(self.terms.epsilons))
        return (self.combined(found[0].error), found[0].guarantee.epsilon_at(1)) if found else None

    def statistics(self, counts: Counts) -> Any:
        """The exact mean over people, from an engine's integers (private)."""
        held = mechanisms.UserCounts.of(
            self.space, item=counts.items, size=counts.sizes, count=counts.counts, users=self.terms.users
        )
        return held.center(self.query)

    @property
    def _rivals_are_quick(self) -> bool:
        table = self.query.table
        return table.sparse or table.shape[0] * self.query.dimension <= _QUICK

    def center(self, statistics: Any) -> Floats:
        """The mean over people, as floats (private)."""
        return np.asarray(statistics.approximation)

    def simulated(self, people: Floats, seed: int) -> Floats:
        """The values with simulated noise: of scale 1 it is drawn once for each kind and number of outputs."""
        noise = self.noise

        def drawn() -> Floats:
            from barrow.noise.additive.values import Center
            from barrow.noise.source import SeededSource

            zeros = Center.from_integers(np.zeros(self.query.dimension, dtype=np.int64))
            return np.asarray(noise.draw(zeros, SeededSource(seed)).values) / float(noise.scale)

        true = np.asarray(self.query.table.floats().T @ people).ravel() * float(self.query.step)
        key = f"{seed} {noise.name} {noise.p} {self.query.dimension}"
        return np.asarray(true + _SIMULATED.get(key, drawn) * float(noise.scale))

    def draw(self, statistics: Any) -> tuple[Any, bool]:
        """The released values, and whether the noise was the system's."""
        drawn = self.noise.draw(statistics)
        return drawn.values, drawn.private

    def tables(self, drawn: Any) -> dict[str, Rows]:
        """One row for each output: its name, its place if it has one, the value, its error and unit."""
        return {"values": self._rows(drawn, [self.half_width] * len(drawn))}

    def _rows(self, values: Any, widths: Any) -> Rows:
        outputs = zip(self.query.outputs, values, widths, strict=True)
        return [
            {
                "output": name,
                **placed(self.space, self.query.places, i),
                "value": float(value),
                "half_width_95": float(width),
                "unit": self.query.unit,
            }
            for i, (name, value, width) in enumerate(outputs)
        ]

    def summary(self, drawn: Any) -> list[str]:
        """The values with their errors, or how many of them stand out of the noise."""
        unit, width = self.query.unit, self.half_width
        if len(drawn) <= 12:
            named = zip(self.query.outputs, drawn, strict=True)
            return [f"{name}: {float(value):.6g} ± {width:.3g} {unit} (95 %)".rstrip() for name, value in named]
        width = self.half_width_all  # of thousands of values some pass a threshold for one value
        above = int((drawn > width).sum())
        return [f"{above:,} of {len(drawn):,} values stand out of the noise (all at once ± {width:.3g}, 95 %)."]

    def collected(self, collector: Collector) -> Collected:
        """The mean of all reports with its half widths."""
        sums = averaged_of(collector)
        here = self.for_people(sums.n)
        means = sums.means(self.noise.grid)
        noise = self.noise.mean_half_width(sums.n)
        slack = self._moved
        spread = sums.spreads(self.noise.grid)
        about = None if spread is None else [width + slack + self.query.rounding_upper for width in spread]
        rows = here._rows(means, [noise + slack] * len(means))
        unit = f" {self.query.unit}".rstrip()
        like = (
            [""] * len(rows) if about is None else [f"; people like them: about ± {width:.3g}{unit}" for width in about]
        )
        lines = [
            f"{row['output']}: {row['value']:.6g} ± {row['half_width_95']:.3g}{unit} (95 %, of these people){words}"
            for row, words in zip(rows, like, strict=True)
        ]
        lines.append(f"From {sums.n:,} reports; noise alone: ± {noise:.3g}{unit} (95 %).")
        details = {
            "outputs": list(self.query.outputs),
            "unit": self.query.unit,
            "means": means,
            "noise_half_width_95": noise,
            "half_width_population_about": about,
        }
        return Collected(sums.n, {"values": rows}, lines, details, self.guarantee)

    def parameters(self) -> dict[str, Any]:
        """The public numbers on which the distribution of the values depends."""
        return {
            "query": self.query.to_spec(),
            "noise": self.noise.name,
            "scale": exact_text(self.noise.scale),
            "grid": exact_text(self.noise.grid),
            "constant": self.constant[1],
        }

    def fields(self) -> AnswerFacts:
        """What the statement says about the values."""
        noise = self.noise
        return AnswerFacts(
            outputs=self.query.dimension,
            unit=self.query.unit,
            half_width_95=self.half_width,
            half_width_95_all=self.half_width_all,
            snapping=self.snapping,
            snapping_included=self.snapping_included,
            noise=NoiseFacts(distribution=noise.name, scale=float_up(noise.scale), grid=str(noise.grid)),
        )

    def details(self) -> dict[str, Any]:
        """What is this kind's own in plain data."""
        return {
            "outputs": self.query.dimension,
            "noise": self.noise.name,
            "scale": float_up(self.noise.scale),
            "constant": dict(zip(("proved", "method", "lipschitz"), self.constant, strict=True)),
            "half_width_95": self.half_width,
            "half_width_95_all": self.half_width_all,
            "snapping_values": self.snapping,
            "others": [{"noise": other.name, "half_width_95": other.error + self._moved} for other in self.others],
            "versus": None if self.versus is None else self.versus.to_json(),
        }

    def answer_lines(self) -> list[str]:
        """The noise, the error, and from which size on a share stands out."""
        unit = f" {self.query.unit}" if self.query.unit else ""
        noise, many = self.noise, self.query.dimension > 1
        whose = " on each person's answer" if self.terms.model is Model.LOCAL else ""
        all_at_once = f"; all at once ± {at_most(self.half_width_all)}{unit}" if many else ""
        words = snapping_words(self.fields())
        lines = [
            f"Noise     {noise.name}, scale {near(float_up(noise.scale))}{unit}{whose}",
            f"Error     each value ± {at_most(self.half_width)}{unit} (95 %){all_at_once}{words}",
        ]
        _, method, constant = self.constant
        if many and constant is not None:
            lines.append(f"Constant  {constant:.4g}{unit} per largest distance, by {method}")
        return lines

    def other_lines(self) -> list[str]:
        """The noises that lose."""
        lost = ", ".join(f"{other.name} ± {at_most(other.error + self._moved)}" for other in self.others)
        lines = [] if self.versus is None else [f"Against   {self.versus.line}"]
        return [*lines, *([f"Others    {lost}"] if lost else [])]

    def _wider(self, times: float) -> str:
        """What a question with a width of its own would gain by another one; empty for others."""
        return ""

    @property
    def warnings(self) -> list[str]:
        """A warning where the half width is not below half of what a guess in the middle errs by at most."""
        table = self.query.table
        whole = table.range_upper(math.inf)
        if self.half_width < whole / 4.0:
            return []
        unit = f" {self.query.unit}".rstrip()
        return [
            f"The answer will be nearly useless: ± {at_most(self.half_width)}{unit} is to be expected, and all "
            f"possible answers lie within {near(whole)}{unit} of each other. {self._help(whole)}"
        ]

    def _help(self, whole: float) -> str:
        times = 4.0 * self.half_width / whole
        better = self.finer_words or self._wider(times)
        if better:
            return better
        local = self.terms.model is Model.LOCAL
        people = math.ceil(self.terms.users * (times * times if local else times))
        unit = f" {self.query.unit}".rstrip()
        looser = f"promises {near(times, digits=2)} times looser"
        return f"About {people:,} people, or {looser}, would make it ± {near(whole / 4.0)}{unit}."
