"""What a histogram would be like: mechanism, error, intervals, and the words of its plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np
from msgspec import structs

from barrow import mechanisms
from barrow.engines import Counts, ItemSums
from barrow.errors import ParameterError
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.numerics.exact import near
from barrow.planning import after
from barrow.planning.candidates import (
    Candidate,
    reasons,
    useless,
)
from barrow.planning.histograms import HistogramTarget, error_at, error_most, histogram_candidates, noise_within
from barrow.planning.notes import Note, Severity, warnings_of
from barrow.planning.simulate import draws_of
from barrow.planning.terms import Terms
from barrow.planning.user_level import released_user_level
from barrow.planning.worst_case import edges_by_stand_in
from barrow.progress import with_progress
from barrow.promises import Model
from barrow.queries import Query
from barrow.questions.answer import (
    Rows,
    Sample,
    Statistics,
    TableRow,
    Tables,
    center_of,
    largest_shares,
    marginal_tables,
    placed,
)
from barrow.questions.channels import ReportNoise
from barrow.questions.collecting import Averaged, Collected, ReportSums, collected, for_people
from barrow.questions.comparing import RankedAnswer, against, baseline_error, user_level_error
from barrow.questions.distribution import QuantileReader, quantile_reader
from barrow.questions.estimates import ErrorEstimate, errors_at, estimate
from barrow.questions.histogram_help import answer_words, floors, more_people, most_helpful, too_coarse_words
from barrow.questions.linear import constant_json, constant_of, mean_over_people, noise_facts, noise_parameters
from barrow.questions.merging import shown_tables
from barrow.questions.parted import averaged_query
from barrow.questions.plan_text import answer_lines, details, other_lines, own_notes
from barrow.questions.releasing import error_after, on_map, parameters, released_shares, simulated, summary
from barrow.questions.statement import AnswerFacts, HistogramFacts, Json, ReadFrom
from barrow.questions.value_tables import quantile_words
from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.spaces.grids import snapping_means
from barrow.spaces.space import Floats

_MANY = 2000
"""On larger spaces a plan takes seconds, and is not made again for the sake of a comparison."""


def histogram_words(space: Space) -> str:
    """What is released, in plain words."""
    return f"the histogram of people's items over {space.records_space.items:,} items"


@dataclass(frozen=True, eq=False)
class DecodedAnswer(RankedAnswer):
    """What a histogram would be like: the mechanism that was chosen, its EMD error, the guarantee.

    Args:
        target: What was wanted.
        candidates: All mechanisms of EMD-DP that can answer, the most accurate first.
        cannot: Why each of the others cannot answer.
    """

    target: HistogramTarget
    candidates: tuple[Candidate, ...]
    cannot: Mapping[str, str]

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return histogram_words(self.terms.space)

    @property
    def error(self) -> float:
        """The predicted EMD between the released histogram and the raw records, in the space's units."""
        return self.chosen.error

    @cached_property
    def error_most(self) -> float:
        """The largest predicted error over several public references, "at most about"; no bound."""
        return error_most(self.target, self.chosen)

    @cached_property
    def uniform_guess(self) -> float:
        """What a guess without any data errs by."""
        return self.target.uniform_guess

    @cached_property
    def why_others_lose(self) -> dict[str, str]:
        """Why each of the other mechanisms loses."""
        if self.chosen.user_level:
            return reasons([self.chosen, *self.candidates])
        return {name: why for name, why in reasons(self.candidates).items() if name != self.chosen.name}

    def by_emd(self, terms: Terms) -> Sequence[Candidate]:
        """The candidates of EMD-DP that keep other terms."""
        return self.ranked(histogram_candidates(replace(self.target, terms=terms))[0])

    def by_user_level(self, epsilon: Fraction) -> Sequence[Candidate]:
        """Those of user-level DP at an epsilon."""
        return self.ranked(released_user_level(self.target, epsilon))


@dataclass(frozen=True, eq=False)
class HistogramAnswer(DecodedAnswer):
    """What a histogram by additive noise would be like.

    Args:
        quantiles: The shares whose quantiles are read off the same noise.
    """

    quantiles: tuple[Fraction, ...] = field(default=(), kw_only=True)

    @property
    def mechanism(self) -> mechanisms.HistogramNoise:
        """The query, its noise and its decoder."""
        return cast("mechanisms.HistogramNoise", self.chosen.mechanism)

    @property
    def noise(self) -> ReportNoise:
        """The additive noise."""
        noise: ReportNoise = self.mechanism.noise
        return noise

    @property
    def query(self) -> Query:
        """What noise is added to."""
        return self.mechanism.query

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        read = "" if self.reading is None else f", and {self.reading.what} read off the same noise"
        return super().description + read

    @property
    def decoded_error(self) -> float:
        """The part of the error that is noise and decoding, without what snapping moves."""
        return self.chosen.error if self.chosen.decoded is None else self.chosen.decoded

    @cached_property
    def snapping_typical(self) -> float:
        """How far snapping moves a record on average at the reference, in the space's units."""
        space = self.terms.space
        return float(self.target.reference @ snapping_means(space)) * space.diameter

    @cached_property
    def reading(self) -> QuantileReader | None:
        """What reads quantiles off, where they are asked for."""
        return quantile_reader(self.terms.space, self.mechanism, self.quantiles) if self.quantiles else None

    @cached_property
    def helped(self) -> tuple[int | None, float]:
        """How many times as many people would help, and the error with them."""
        return more_people(self)

    def by_emd(self, terms: Terms) -> Sequence[Candidate]:
        """The candidates of EMD-DP that keep other terms; on large spaces along edges, by a coarser grid."""
        target = replace(self.target, terms=terms)
        if terms.space.items > _MANY and self.own[0].name == "edges" and target.noise in ("auto", "laplace"):
            return self.ranked([edges_by_stand_in(target)])
        return super().by_emd(terms)

    def statistics(self, counts: Counts | ItemSums) -> Center:
        """The exact mean over people of what noise is added to, from an engine's integers (private)."""
        return mean_over_people(self.terms, self.query, counts)

    def draw(self, statistics: Statistics) -> Sample:
        """Noisy values and the histogram decoded from them."""
        sample = self.noise.draw(center_of(statistics))
        return replace(self.decoded(sample.values), private=sample.private)

    def decoded(self, values: Floats) -> Sample:
        """Noisy values with the histogram decoded from them."""
        return Sample(values, self.mechanism.decode(values))

    def shares(self, sample: Sample) -> Floats:
        """The decoded histogram of what was drawn."""
        result = sample.shares
        return self.mechanism.decode(np.asarray(sample.values, dtype=np.float64)) if result is None else result

    def tables(self, sample: Sample) -> Tables:
        """The histogram with intervals, the regions that stand out, and the unbiased shares that all of it is from."""
        space, values, decoded = self.terms.space, np.asarray(sample.values, dtype=np.float64), self.shares(sample)
        known = released_shares(self, values, self.terms.users)
        ends = mechanisms.intervals_of(self.mechanism, known, values)
        tables = shown_tables(space, decoded, ends, None if known is None else known.merged())
        first = {"values": tables.pop("values")}
        tables |= {} if self.reading is None else self.reading.tables(values, decoded)
        parts = marginal_tables(space.records_space, decoded[: space.records_space.items])
        return first | {"unbiased": self._unbiased(values)} | tables | parts

    def _unbiased(self, values: Floats) -> Rows:
        """The released values themselves: unbiased shares, each with its 95 % interval, cut to [0, 1]."""
        shares, widths = self.mechanism.shares(values)
        low, high = np.clip(shares - widths, 0.0, 1.0), np.clip(shares + widths, 0.0, 1.0)
        rows = zip(self.query.outputs, self._output_places, shares.tolist(), low.tolist(), high.tolist(), strict=True)
        return [{"output": name, **where, "share": s, "low_95": a, "high_95": b} for name, where, s, a, b in rows]

    @cached_property
    def _output_places(self) -> list[TableRow]:
        """The middle of the items on Earth that an output holds, by how much of each; nowhere for any other."""
        base, matrix = base_space(self.terms.space), self.mechanism.matrix
        if not base.geometry.on_earth or matrix.min() < 0.0:
            return [{}] * self.query.dimension
        held = matrix[:, : base.items]
        whole = np.asarray(held @ np.ones(base.items)).ravel()
        middles = np.asarray(held @ base.geometry.points) / np.where(whole > 0.0, whole, 1.0)[:, None]
        known: list[TableRow] = [dict(placed(base, middles, i)) for i in range(len(whole))]
        return [where if total > 0.0 else dict.fromkeys(where) for where, total in zip(known, whole, strict=True)]

    @cached_property
    def widths(self) -> dict[object, object]:
        """Half widths that follow from the noise alone, kept with the answer."""
        return {}

    @property
    def read_from(self) -> ReadFrom:
        """What mechanism it was, and what its noise is on."""
        outputs = self.mechanism.family.outputs
        return ReadFrom(mechanism=self.chosen.name, words=self.chosen.words, unbiased_outputs=outputs)

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        space, determined = self.terms.space, self.mechanism.determined
        return structs.replace(
            value_facts(self),
            quantiles=[] if self.reading is None else self.reading.names,
            histogram=HistogramFacts(
                **structs.asdict(self.read_from),
                emd_predicted=self.error,
                emd_most=self.error_most,
                emd_decoded=self.decoded_error,
                emd_snapping_typical=self.snapping_typical,
                emd_snapping_upper=space.snapping_upper * space.diameter,
                emd_undecoded=self.chosen.undecoded,
                emd_upper_nearest=self.chosen.upper,
                decode=self.target.decode,
                determined=determined[0],
                gap=determined[1],
            ),
        )


def value_facts(answer: HistogramAnswer) -> AnswerFacts:
    """What a statement says about the noisy values; shares are those of cells, which snapping does not change."""
    return structs.replace(noise_facts(answer.query, answer.noise, *half_widths(answer)), snapping=0.0)


def half_widths(answer: HistogramAnswer) -> tuple[float, float]:
    """Each noisy value is within the first of the true one (95 %), all of them at once within the second."""
    one = answer.mechanism.half_width
    return one, one if answer.terms.model is Model.LOCAL else answer.noise.simultaneous_half_width


@averaged_query.register(HistogramAnswer)
def _(answer: HistogramAnswer) -> Query | None:
    return answer.query


@parameters.register(HistogramAnswer)
def _(answer: HistogramAnswer) -> Json:
    method = constant_of(answer.query, answer.noise, answer.chosen.user_level)[1]
    noise = noise_parameters(answer.query, answer.noise, method)
    return {**noise, "mechanism": answer.chosen.name, "decode": answer.target.decode}


@error_after.register(HistogramAnswer)
def _(answer: HistogramAnswer, drawn: Sample) -> after.OwnError | None:
    """How far off this histogram is, by drawing the noise again around it."""
    return after.own_error(answer.target, answer.mechanism, answer.shares(drawn), answer.error)


@on_map.register(HistogramAnswer)
def _(answer: HistogramAnswer) -> bool:
    return base_space(answer.terms.space).geometry.on_earth


@released_shares.register(HistogramAnswer)
def _(answer: HistogramAnswer, values: Floats, users: int) -> mechanisms.ReleasedShares | None:
    """The shares of outputs along edges, along a tree, on levels or of cells."""
    if np.shape(values) != (answer.query.dimension,):
        return None
    shares = mechanisms.ReleasedShares.of(answer.terms.space, _made_for(answer, users), values)
    if shares is None or users != answer.terms.users:
        return shares
    return replace(shares, cache=answer.widths)


@summary.register(HistogramAnswer)
def _(answer: HistogramAnswer, drawn: Sample) -> list[str]:
    """The largest shares."""
    decoded, space = answer.shares(drawn), answer.terms.space
    here = decoded[: space.records_space.items]
    top = np.argsort(-here, kind="stable")[:8]
    missing = [] if here.size == decoded.size else [f"no records: {100 * decoded[-1]:.3g} %"]
    values = np.asarray(drawn.values, dtype=np.float64)
    read = [] if answer.reading is None else quantile_words(answer.reading.quantiles(values, decoded))
    return [*read, *missing, *(f"{space.label(i)}: {100 * decoded[i]:.3g} %" for i in top.tolist())]


@for_people.register(HistogramAnswer)
def _for(answer: HistogramAnswer, users: int) -> HistogramAnswer:
    """The same promise, with the decoder for as many reports as there are."""
    terms, built = answer.terms.for_people(users), _made_for(answer, users)
    chosen = replace(answer.chosen, mechanism=built)
    if terms.model is not Model.AGGREGATED or users == answer.terms.users:
        return replace(answer, terms=terms, chosen=chosen)
    # The noise is on the sum, so that its part in the mean is another one than was planned.
    target = replace(answer.target, terms=terms)
    error = error_at(target, built, target.reference, draws_of(terms.space.items))
    chosen = replace(chosen, error=error, decoded=None, undecoded=None, upper=built.upper * terms.space.diameter)
    return replace(answer, terms=terms, chosen=chosen, target=target)


def _made_for(answer: HistogramAnswer, users: int) -> mechanisms.HistogramNoise:
    """The same mechanism when other than the planned number of people report."""
    if users == answer.terms.users:
        return answer.mechanism
    noise = "gaussian" if answer.noise.p is None else "laplace"
    target = replace(answer.target, terms=answer.terms.for_people(users), noise=noise)
    if answer.mechanism.family.spaced:  # people reported the nodes that were planned
        target = replace(target, spacing=answer.query.arguments.get("spacing"))
    return noise_within(target, answer.mechanism.kind)


@collected.register(HistogramAnswer)
def _(answer: HistogramAnswer, collector: ReportSums) -> Collected:
    """The histogram decoded from the means of all reports."""
    sums, space, grid = Averaged.of(collector), answer.terms.space, answer.noise.grid
    here = _for(answer, sums.n)
    sample = here.decoded(np.array(sums.means(grid)))
    histogram = dict(zip(space.labels, here.shares(sample).tolist(), strict=True))
    own = after.own_error(here.target, here.mechanism, here.shares(sample), here.error)
    tables = here.tables(sample)
    lines = [
        *largest_shares(tables["values"]),
        f"From {sums.n:,} reports; these shares were decoded from the means of noisy values.",
        f"On average, items appear about {near(own.about, space.unit, digits=1)} from where they were.",
    ]
    told = {
        "outputs": list(answer.query.outputs),
        "unit": answer.query.unit,
        "means": sample.values.tolist(),
        "noise_half_width_95": here.mechanism.half_width,
        "half_width_population_about": sums.spreads(grid),
        "error_after": own.to_json(),
        "histogram": histogram,
    }
    known = released_shares(answer, np.asarray(sample.values, dtype=np.float64), sums.n)
    return Collected(sums.n, tables, lines, told, answer.guarantee, shares=known, own=own)


@estimate.register(HistogramAnswer)
def _(answer: HistogramAnswer) -> ErrorEstimate:
    """Noise and decoding, and what snapping moves on average."""
    return ErrorEstimate(answer.decoded_error, answer.snapping_typical, independent=True, guess=answer.uniform_guess)


@errors_at.register(HistogramAnswer)
def _(answer: HistogramAnswer, times: Sequence[float], thorough: bool) -> dict[float, float]:
    """The error by the same mechanism at other alphas, each simulated."""
    if not thorough or answer.alpha is None:
        return {}
    result, terms = {1.0: answer.error}, answer.terms
    near_by = [each for each in times if 0.05 < each < 20 and each != 1.0]
    for each in with_progress(near_by, "simulating other alphas"):
        target = replace(answer.target, terms=replace(terms, fraction=terms.fraction * Fraction(each)))
        with suppress(ParameterError):
            result[each] = histogram_candidates(target, only=answer.mechanism.kind)[0][0].error
    return result


@simulated.register(HistogramAnswer)
def _(answer: HistogramAnswer, people: Floats, seed: int) -> Floats:
    """A decoded histogram."""
    return np.asarray(answer.mechanism.simulated(people, SeededSource(seed)))


@baseline_error.register(HistogramAnswer)
def _(answer: HistogramAnswer, thorough: bool) -> tuple[float, float] | None:
    return user_level_error(answer, answer.query, thorough)


@details.register(DecodedAnswer)
def _(answer: DecodedAnswer) -> Json:
    """The choice."""
    return {
        "candidates": [candidate.to_json() for candidate in answer.candidates],
        "why_others_lose": answer.why_others_lose,
        "cannot_answer": dict(answer.cannot),
        "emd_uniform_guess": answer.uniform_guess,
    }


@details.register(HistogramAnswer)
def _(answer: HistogramAnswer) -> Json:
    constant = constant_json(constant_of(answer.query, answer.noise, answer.chosen.user_level))
    return {**details.dispatch(DecodedAnswer)(answer), "constant": constant, "times_the_least": floors(answer)}


@own_notes.register(HistogramAnswer)
def _(answer: HistogramAnswer) -> list[Note]:
    """What a guess errs by and why others lose; a warning where the histogram would be hardly better than a guess."""
    unit, guess = answer.error_unit, answer.uniform_guess
    remarks = [f"A guess without any data would be off by {near(guess, unit)} at the same public reference."]
    remarks += [f"{name}: {why}." for name, why in answer.why_others_lose.items()]
    result = useless(answer.error, guess, unit, answer.error_most)
    warned = [f"{text} {most_helpful(answer)}" for text in result] + too_coarse_words(answer)
    return [*(Note(Severity.REMARK, text) for text in remarks), *warnings_of(warned)]


@answer_lines.register(HistogramAnswer)
def _(answer: HistogramAnswer) -> Iterable[str]:
    return answer_words(answer)


@other_lines.register(DecodedAnswer)
def _(answer: DecodedAnswer) -> list[str]:
    """The mechanisms that lose, and those that were not tried; a comparison says why."""
    lost = [f"{name} ({why})" for name, why in answer.why_others_lose.items()]
    lines = [*against(answer), *([f"Others    {', '.join(lost)}"] if lost else [])]
    return lines + ([f"Not tried {', '.join(answer.cannot)} (barrow compare says why)"] if answer.cannot else [])
