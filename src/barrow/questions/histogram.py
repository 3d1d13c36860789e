"""The histogram of people's items, by the most accurate mechanism for the promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from msgspec import structs

from barrow import mechanisms, planning
from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms.histograms import HISTOGRAMS
from barrow.numerics import Exact, exact_text, whole
from barrow.numerics.exact import near
from barrow.planning.candidates import Candidate, checked_definition, kept_user_level, preferred, reasons, useless
from barrow.planning.histograms import check_size, error_most, kept_noise
from barrow.planning.terms import Terms
from barrow.privacy import Model
from barrow.progress import track
from barrow.questions.base import Question
from barrow.questions.channels import LocalChannel, NoiseChannel
from barrow.questions.collecting import Collected, Collector, averaged_of
from barrow.questions.distribution import Reading, check_line, quantile_words, reading_of, shares_asked
from barrow.questions.frequency import Frequency
from barrow.questions.histogram_help import HistogramChoice, answer_words, most_helpful, too_coarse_words
from barrow.questions.kept import Kept, choice_key
from barrow.questions.linear import LinearPlan
from barrow.questions.merging import shown_tables
from barrow.questions.noise_words import noise_sentence, off_words
from barrow.questions.plan import Plan, Rows, marginal_tables
from barrow.questions.statement import AnswerFacts, HistogramFacts, ReadFrom, Statement, needed
from barrow.questions.subsets import SetsChannel, plan_sets
from barrow.spaces import Space
from barrow.spaces.base import Floats
from barrow.spaces.grids import snapping_means

if TYPE_CHECKING:
    from barrow.planning.after import OwnError

_MANY = 2000
"""On larger spaces a plan takes seconds, and is not made again for the sake of a comparison."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Histogram(Question):
    """The mean histogram over people, one share for each item.

    Args:
        mechanism: ``"auto"``, the most accurate one, or its name: ``"edges"``, ``"tree"``, ``"multiscale"``,
            ``"cells"``, ``"frequency"``.
        items: m, where every person holds the same public number of items; then randomised items can answer too.
        reference: The public distribution at which errors are predicted: ``"auto"``, ``"uniform"``, ``"zipf"``,
            ``"mixed"``, ``"rough"``, or public weights.
        decode: ``"auto"``, the most accurate decoder on average, or ``"nearest"``, which has a proven bound.
        noise: ``"auto"``, ``"laplace"`` or ``"gaussian"``.
        definition: ``"auto"``: what keeps the promises with the least error; ``"emd"`` or ``"user_level"`` for EMD-DP
            or user-level DP.
        report_values: In the local model: how many numbers a person's report may hold.
        quantiles: Shares in (0, 1): quantiles of a line, read off the same noise with the distribution function.

    >>> Histogram(decode="nearest")
    Histogram(decode='nearest')
    """

    kind: ClassVar[str] = "histogram"
    of_shares: ClassVar[bool] = True
    leads_grid: ClassVar[bool] = True
    at_once: ClassVar[int] = 8  # several mechanisms are simulated
    mechanism: str = "auto"
    items: int | None = None
    reference: Any = "auto"
    decode: str = "auto"
    noise: str = "auto"
    definition: str = "auto"
    report_values: int = 20_000
    quantiles: Sequence[Exact] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_definition(self.definition)
        object.__setattr__(self, "report_values", whole(self.report_values, "report_values", least=1))
        if self.quantiles:
            asked = [exact_text(share) for share in shares_asked(list(self.quantiles), "quantiles")]
            object.__setattr__(self, "quantiles", asked)
        if self.items is not None:
            object.__setattr__(self, "items", whole(self.items, "items", least=1))
        if self.decode not in ("auto", "nearest"):
            raise ParameterError(f"decode is {self.decode!r}.", allowed="'auto' or 'nearest'", fix="decode = 'auto'")
        if self.mechanism == "paper":
            raise ParameterError(
                "The mechanism 'paper' is there to be compared with: it gives away accuracy for nothing.",
                allowed="'auto', 'edges', 'tree', 'multiscale', 'cells' or 'frequency'",
                fix="mechanism = 'frequency', the same randomiser with a tighter accountant",
            )

    @property
    def missing(self) -> tuple[str, ...]:
        """An item of their own; by name only where a mechanism is asked for that is made for the space's own items."""
        return ("default item", "no records")[:: 1 if self.mechanism in ("tree", "multiscale", "frequency") else -1]

    def compared_as(self, space: Space) -> dict[str, Any]:
        """With its own reference, noise and decoder."""
        return {**super().compared_as(space), "noise": self.noise, "decode": self.decode, "reference": self.reference}

    def answers(self, other: Question) -> bool:
        """Quantiles that it has."""
        asked = getattr(other, "shares", None) if other.kind == "quantile" else None
        return asked is not None and {exact_text(share) for share in asked} <= set(self.quantiles)

    def for_grid(self) -> Question:
        """Along edges, which is quick to predict."""
        return Histogram(mechanism="edges", definition="emd", reference=self.reference)

    def preview_items(self, space: Space) -> int:
        """More along a tree than of cells."""
        return 2000 if space.geometry.has_tree else 64

    def previewed(self, model: Model, finer: bool) -> bool:
        """A mechanism that takes no time to simulate stands in for the choice of a curator, on any grid."""
        return self.mechanism == "auto" and self.items is None and model is Model.CENTRAL

    def quick(self, space: Space) -> Question:
        """By a mechanism that takes no time to simulate."""
        return replace(self, mechanism="tree" if space.geometry.has_tree else "cells", definition="emd")

    def target(self, terms: Terms) -> planning.HistogramTarget:
        """What is wanted of mechanisms."""
        reference = planning.reference_distribution(terms.space, self.reference)
        return planning.HistogramTarget(
            terms, reference, self.items, self.noise, self.decode, report_values=self.report_values
        )

    def fits(self, space: Space) -> None:
        """Quantiles are asked of lines."""
        if self.quantiles:
            check_line(space)

    def plan(self, terms: Terms) -> Plan:
        """All mechanisms are compared, and the most accurate one is chosen; it reads no data."""
        target, own, rivals, found, cannot, best = self._choice(terms)
        if isinstance(best.mechanism, mechanisms.LocalSubsets):
            return plan_sets(self, target, best, own, rivals)
        if not isinstance(best.mechanism, mechanisms.HistogramNoise):
            return self._frequency(terms).plan(terms)
        kept = {"own": tuple(own), "rivals": tuple(rivals)}
        return HistogramPlan(self, terms, best.mechanism.query, best, (), target, tuple(found), cannot, **kept)

    def channel(self, terms: Terms) -> LocalChannel:
        """What people report; a mechanism that is named needs no comparison."""
        words = histogram_words(terms.space)
        if self.mechanism in HISTOGRAMS and self.definition != "user_level":
            made = kept_noise(self.target(terms), self.mechanism)
            return NoiseChannel(terms, words, price(made.event), made.query, made.noise)
        best = self._choice(terms).best
        if isinstance(best.mechanism, mechanisms.LocalSubsets):
            return SetsChannel(terms, words, best.guarantee, best.mechanism)
        if not isinstance(best.mechanism, mechanisms.HistogramNoise):
            return self._frequency(terms).channel(terms)
        return NoiseChannel(terms, words, best.guarantee, best.mechanism.query, best.mechanism.noise)

    def _frequency(self, terms: Terms) -> Frequency:
        """The decoder with a proven bound is the nearest histogram, along the tree where there is one."""
        nearest = "tree" if terms.space.geometry.has_tree else "simplex"
        decode = nearest if self.decode == "nearest" else None
        return Frequency(name=self.name, fraction=self.fraction, items=self.items, decode=decode)

    def _choice(self, terms: Terms) -> HistogramChoice:
        """All mechanisms, and the most accurate one; the last few choices are kept."""
        check_size(terms.space)
        self.fits(terms.space)
        key = choice_key(self, terms)
        return self._chosen(terms) if key is None else _CHOICES.get(key, lambda: self._chosen(terms))

    def _chosen(self, terms: Terms) -> HistogramChoice:
        target = self.target(terms)
        levels = self.mechanism == "levels"
        definition = "user_level" if levels else self.definition
        rivals: list[Candidate] = []
        if self.mechanism in ("auto", "levels") or definition == "user_level":
            rivals = kept_user_level(terms, lambda epsilon: planning.released_user_level(target, epsilon), definition)
            rivals = [rival for rival in rivals if self.mechanism in ("auto", rival.name)]
        found, cannot = planning.histogram_candidates(target, only="auto" if levels else self.mechanism, thorough=False)
        own = [candidate for candidate in found if candidate.name != "paper"]
        if self.quantiles:
            own, rivals = (_readable(some, terms.space) for some in (own, rivals))
        return HistogramChoice(target, own, rivals, found, cannot, preferred(own, rivals, definition))

    @classmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and how accurate it is."""
        found, unit = needed(statement.answer.histogram), statement.unit
        snapped = f", {near(found.emd_snapping_typical, unit)} by snapping to the grid"
        return (
            f"We released {statement.released}, computed from {statement.people:,} people, each person counting once. "
            f"{off_words(statement, found.emd_predicted, found.emd_most)} At a public reference distribution "
            f"{near(needed(found.emd_decoded), unit)} were predicted by noise and decoding"
            + (snapped if found.emd_snapping_typical else "")
            + f". The unbiased shares of {found.unbiased_outputs} go with it, each with a 95 % interval, and from "
            "them come limits of every item and the regions that stand out of the noise."
        )

    @classmethod
    def counted(cls, statement: Statement) -> str:
        """What the noise was added to."""
        return shares_counted(statement, needed(statement.answer.histogram))

    @classmethod
    def drawn(cls, statement: Statement) -> list[str]:
        """How the noise was drawn and decoded."""
        found = needed(statement.answer.histogram)
        before = found.emd_undecoded
        size = "" if before is None else f"{before:.3g} {statement.unit}".rstrip()
        error = "" if before is None else f" The expected error before decoding is {size}, whatever the data."
        return [
            noise_sentence(statement.answer),
            f"The noisy values ({found.words}) were decoded to one histogram, which uses nothing else.{error}",
        ]


_CHOICES: Kept[HistogramChoice] = Kept(6)


def histogram_words(space: Space) -> str:
    """What is released, in plain words."""
    return f"the histogram of people's items over {space.records_space.items:,} items"


def shares_counted(statement: Statement, found: ReadFrom) -> str:
    """What the noise of a histogram was added to."""
    return (
        f"Every person counts once: the shares of {found.unbiased_outputs}, over {statement.people:,} people, as exact "
        "fractions."
    )


def _readable(found: Sequence[Candidate], space: Space) -> list[Candidate]:
    """The candidates off which quantiles can be read."""
    return [one for one in found if reading_of(space, one.mechanism, (Fraction(1, 2),)) is not None]


@dataclass(frozen=True, eq=False)
class HistogramDraw:
    """What was drawn, and the histogram decoded from it.

    Attributes:
        raw: The noisy values of the query.
        shares: The histogram decoded from them: one share for each item, with sum 1.
    """

    raw: Floats
    shares: Floats


@dataclass(frozen=True, eq=False)
class HistogramPlan(LinearPlan):
    """What a histogram would be like: the mechanism that was chosen, its EMD error, the guarantee and its price.

    Args:
        target: What was wanted.
        candidates: All mechanisms that can answer, the most accurate first.
        cannot: Why each of the others cannot answer.
    """

    target: planning.HistogramTarget
    candidates: tuple[Candidate, ...]
    cannot: Mapping[str, str]

    @property
    def declared(self) -> str:
        """Nothing is somebody's word: the constants of histograms are proved, and need not be looked for to say so."""
        return ""

    def by_emd(self, terms: Terms) -> Sequence[Candidate]:
        """The candidates of EMD-DP that keep other terms; on large spaces along edges, by a coarser grid."""
        target = replace(self.target, terms=terms)
        if self.space.items > _MANY and self.own[0].name == "edges" and target.noise in ("auto", "laplace"):
            return [planning.edges_by_stand_in(target)]
        return planning.histogram_candidates(target)[0]

    def by_user_level(self, epsilon: Fraction) -> Sequence[Candidate]:
        """Those of user-level DP at an epsilon."""
        return planning.released_user_level(self.target, epsilon)

    @property
    def made(self) -> mechanisms.HistogramNoise:
        """The query, its noise and its decoder."""
        return cast("mechanisms.HistogramNoise", self.chosen.mechanism)

    @property
    def noise(self) -> Any:
        """The additive noise."""
        return self.made.noise

    @property
    def half_width(self) -> float:
        """Each noisy value that is decoded is within this of the true one with probability at least 95 %."""
        return self.made.half_width

    @property
    def snapping_included(self) -> bool:
        """Shares are those of cells, which snapping does not change."""
        return True

    @property
    def snapping(self) -> float:
        """Snapping moves no record to another cell."""
        return 0.0

    @property
    def error(self) -> float:
        """The predicted EMD between the released histogram and the raw records, in the space's units."""
        return self.chosen.error

    @cached_property
    def error_most(self) -> float:
        """The largest predicted error over several public references, "at most about"; no bound."""
        return error_most(self.target, self.chosen)

    def own_error(self, drawn: HistogramDraw) -> OwnError:
        """How far off this histogram is, by drawing the noise again around it."""
        from barrow.planning.after import own_error

        return own_error(self.target, self.made, drawn.shares, self.error)

    @property
    def decoded_error(self) -> float:
        """The part of it that is noise and decoding, without what snapping moves."""
        return self.chosen.error if self.chosen.decoded is None else self.chosen.decoded

    @property
    def error_parts(self) -> tuple[float, float]:
        """Noise and decoding, and what snapping moves on average."""
        return self.decoded_error, self.snapping_typical

    @cached_property
    def snapping_typical(self) -> float:
        """How far snapping moves a record on average at the reference, in the space's units."""
        return float(self.target.reference @ snapping_means(self.space)) * self.space.diameter

    @property
    def error_unit(self) -> str:
        """The unit of distances."""
        return self.space.unit

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        read = "" if self.reading is None else f", and {self.reading.what} read off the same noise"
        return histogram_words(self.space) + read

    @cached_property
    def reading(self) -> Reading | None:
        """What reads quantiles off, where they are asked for."""
        asked = self.question.quantiles if isinstance(self.question, Histogram) else ()
        return reading_of(self.space, self.made, shares_asked(list(asked))) if asked else None

    @property
    def places(self) -> Floats | None:
        """Where the items are."""
        return self.space.records_space.geometry.places

    @property
    def mapped(self) -> bool:
        """Whether the rows are places on a map."""
        return self.space.records_space.geometry.on_earth

    def errors_at(self, times: Sequence[float], *, thorough: bool) -> dict[float, float]:
        """The error by the same mechanism at other alphas, each simulated."""
        if not thorough or self.alpha is None:
            return {}
        found, terms = {1.0: self.error}, self.terms
        near_by = [each for each in times if 0.05 < each < 20 and each != 1.0]
        for each in track(near_by, "simulating other alphas"):
            target = replace(self.target, terms=replace(terms, fraction=terms.fraction * Fraction(each)))
            try:
                found[each] = planning.histogram_candidates(target, only=self.made.kind)[0][0].error
            except ParameterError:
                continue
        return found

    def remarks(self) -> list[str]:
        """What a guess errs by, and why each of the other mechanisms was not chosen."""
        guess = (
            f"A guess without any data would be off by {self.sized(self.uniform_guess)} at the same public reference."
        )
        return [guess, *(f"{name}: {why}." for name, why in self._reasons.items())]

    def noisy(self, drawn: HistogramDraw) -> Floats:
        """What was decoded."""
        return drawn.raw

    def simulated(self, people: Floats, seed: int) -> Floats:
        """A histogram decoded from simulated noise."""
        from barrow.noise.source import SeededSource

        return np.asarray(self.made.simulated(people, SeededSource(seed)))

    def draw(self, statistics: Any) -> tuple[HistogramDraw, bool]:
        """Noisy values and the histogram decoded from them, and whether the noise was the system's."""
        raw, private = super().draw(statistics)
        return self.decoded(raw), private

    def decoded(self, raw: Floats) -> HistogramDraw:
        """Noisy values with the histogram decoded from them."""
        return HistogramDraw(raw, self.made.decode(raw))

    def tables(self, drawn: HistogramDraw) -> dict[str, Rows]:
        """The histogram with intervals, the regions that stand out, and the unbiased shares that all of it is from."""
        known = self.shares_of(drawn.raw, self.terms.users)
        ends = mechanisms.intervals_of(self.made, known, drawn.raw)
        tables = shown_tables(self.space, drawn.shares, ends, None if known is None else known.merged())
        values = {"values": tables.pop("values")}
        shares = drawn.shares[: self.space.records_space.items]
        tables |= {} if self.reading is None else self.reading.tables(drawn.raw, drawn.shares)
        return values | {"unbiased": self.intervals(drawn)} | tables | marginal_tables(self.space.records_space, shares)

    def intervals(self, drawn: HistogramDraw) -> Rows:
        """The released values themselves: unbiased shares, each with its 95 % interval, cut to [0, 1]."""
        shares, widths = self.made.shares(drawn.raw)
        low, high = np.clip(shares - widths, 0.0, 1.0), np.clip(shares + widths, 0.0, 1.0)
        rows = zip(self.query.outputs, shares.tolist(), low.tolist(), high.tolist(), strict=True)
        return [{"output": name, "share": s, "low_95": a, "high_95": b} for name, s, a, b in rows]

    def summary(self, drawn: HistogramDraw) -> list[str]:
        """The largest shares, and the error to expect."""
        here = drawn.shares[: self.space.records_space.items]
        top = np.argsort(-here, kind="stable")[:8]
        labels = self.space.labels
        missing = [] if here.size == drawn.shares.size else [f"no records: {100 * drawn.shares[-1]:.3g} %"]
        read = [] if self.reading is None else quantile_words(self.reading.quantiles(drawn.raw, drawn.shares))
        return [
            *read,
            *missing,
            *(f"{labels[i]}: {100 * drawn.shares[i]:.3g} %" for i in top.tolist()),
        ]

    def collected(self, collector: Collector) -> Collected:
        """The histogram decoded from the means of all reports."""
        sums = averaged_of(collector)
        here = self.for_people(sums.n)
        drawn = HistogramDraw(np.array(sums.means(self.noise.grid)), np.zeros(0))
        drawn = replace(drawn, shares=here.made.decode(drawn.raw))
        histogram = dict(zip(self.space.labels, drawn.shares.tolist(), strict=True))
        lines = [f"{label}: {share:.6g}" for label, share in histogram.items()]
        lines.append(f"From {sums.n:,} reports; these shares were decoded from the means of noisy values.")
        own = here.own_error(drawn)
        lines.append(
            f"They are off by an earth mover's distance of about {near(own.about, self.space.unit, digits=1)}."
        )
        details = {
            "outputs": list(self.query.outputs),
            "unit": self.query.unit,
            "means": drawn.raw.tolist(),
            "noise_half_width_95": here.half_width,
            "half_width_population_about": sums.spreads(self.noise.grid),
            "error_after": own.to_json(),
            "histogram": histogram,
        }
        shares = self.shares_of(drawn.raw, sums.n)
        return Collected(sums.n, here.tables(drawn), lines, details, self.guarantee, shares=shares)

    def shares_of(self, raw: Any, users: int) -> mechanisms.ReleasedShares | None:
        """The shares of outputs along edges, along a tree, on levels or of cells; widths are kept with the plan."""
        if np.shape(raw) != (self.query.dimension,):
            return None
        found = mechanisms.ReleasedShares.of(self.space, self._made_for(users), raw)
        if found is None or users != self.terms.users:
            return found
        return replace(found, kept=self._widths)

    @cached_property
    def _widths(self) -> dict[Any, Any]:
        """What follows from the noise alone."""
        return {}

    def for_people(self, users: int) -> Self:
        """The same promise, with the decoder for as many reports as there are."""
        chosen = replace(self.chosen, mechanism=self._made_for(users))
        return replace(self, terms=replace(self.terms, users=users), chosen=chosen)

    def _made_for(self, users: int) -> mechanisms.HistogramNoise:
        """The same mechanism when other than the planned number of people report."""
        if users == self.terms.users:
            return self.made
        noise = "gaussian" if self.noise.p is None else "laplace"
        target = replace(self.target, terms=replace(self.terms, users=users), noise=noise)
        if self.made.family.spaced:  # people reported the nodes that were planned
            target = replace(target, spacing=self.query.arguments.get("spacing"))
        return kept_noise(target, self.made.kind)

    def parameters(self) -> dict[str, Any]:
        """The public numbers on which the distribution of the values depends."""
        return {**super().parameters(), "mechanism": self.chosen.name, "decode": self.target.decode}

    @property
    def read_from(self) -> ReadFrom:
        """What mechanism it was, and what its noise is on."""
        outputs = self.made.family.outputs
        return ReadFrom(mechanism=self.chosen.name, words=self.chosen.words, unbiased_outputs=outputs)

    def fields(self) -> AnswerFacts:
        """What the statement says about the values."""
        return structs.replace(
            super().fields(),
            quantiles=[] if self.reading is None else self.reading.names,
            histogram=HistogramFacts(
                **structs.asdict(self.read_from),
                emd_predicted=self.error,
                emd_most=self.error_most,
                emd_decoded=self.decoded_error,
                emd_snapping_typical=self.snapping_typical,
                emd_snapping_upper=self.space.snapping_upper * self.space.diameter,
                emd_undecoded=self.chosen.undecoded,
                emd_upper_nearest=self.chosen.upper,
                decode=self.target.decode,
                determined=self.made.determined[0],
                gap=self.made.determined[1],
            ),
        )

    @property
    def rows(self) -> int:
        """Values, unbiased ones, and regions, of which there are no more than outputs."""
        return super().rows + self.query.dimension

    @cached_property
    def uniform_guess(self) -> float:
        """What a guess without any data errs by."""
        return self.target.uniform_guess

    @cached_property
    def floors(self) -> dict[str, float | None]:
        """The noise and the predicted error as multiples of what is least possible, for pure noise of a curator.

        ``noise``: at most so many times the least expected cost of any additive noise on the same outputs; ``method``:
        the predicted error against what every method errs by on some data; None where nothing is known.
        """
        alpha, users = getattr(self.event, "alpha", None), self.terms.users
        if self.terms.model is not Model.CENTRAL or self.noise.p is None or alpha is None:
            return {"noise": None, "method": None}
        noise = None
        if isinstance(self.noise, mechanisms.EdgeNoise):  # a drawn flow costs ``freedom`` times the scale
            noise = self.noise.plan.freedom / max(1, self.noise.plan.graph.nodes - 1)
        elif self.made.kind == "tree" and self.made.undecoded is not None and self.space.items > 1:
            noise = self.made.undecoded / mechanisms.noise_floor_lower(self.space.items, alpha, users=users)
        least = mechanisms.worst_case_floor_lower(self.space, alpha, users=users) * self.space.diameter
        return {"noise": noise, "method": self.error / least if least > 0.0 else None}

    def details(self) -> dict[str, Any]:
        """What is this kind's own in plain data."""
        return {
            **super().details(),
            "mechanism": self.chosen.name,
            "emd_predicted": self.error,
            "emd_most": self.error_most,
            "emd_decoded": self.decoded_error,
            "emd_snapping_typical": self.snapping_typical,
            "emd_uniform_guess": self.uniform_guess,
            "times_the_least": self.floors,
            "candidates": [candidate.to_json() for candidate in self.candidates],
            "why_others_lose": self._reasons,
            "cannot_answer": dict(self.cannot),
        }

    @property
    def warnings(self) -> list[str]:
        """A warning where the histogram would be hardly better than a guess."""
        found = useless(self.error, self.uniform_guess, self.space.unit, self.error_most)
        return [f"{text} {most_helpful(self)}" for text in found] + too_coarse_words(self)

    def answer_lines(self) -> list[str]:
        """The mechanism, the error before and after decoding, and the intervals that go with it."""
        return answer_words(self)

    def other_lines(self) -> list[str]:
        """The mechanisms that lose, and those that were not tried; a comparison says why."""
        lost = [f"{name} ({why})" for name, why in self._reasons.items()]
        lines = [] if self.versus is None else [f"Against   {self.versus.line}"]
        lines += [f"Others    {', '.join(lost)}"] if lost else []
        return lines + ([f"Not tried {', '.join(self.cannot)} (barrow compare says why)"] if self.cannot else [])

    @property
    def _reasons(self) -> dict[str, str]:
        """Why each of the others loses."""
        if self.chosen.user_level:
            return reasons([self.chosen, *self.candidates])
        return {name: why for name, why in reasons(self.candidates).items() if name != self.chosen.name}
