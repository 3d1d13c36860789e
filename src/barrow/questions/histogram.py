"""The histogram of people's items, by the most accurate mechanism for the promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import ClassVar, cast

from barrow import mechanisms
from barrow.accounting import price
from barrow.errors import ParameterError, one_of
from barrow.mechanisms.edge_histogram import Spacing
from barrow.mechanisms.histograms import HISTOGRAMS
from barrow.mechanisms.sampled_sums import SampledEdgeNoise
from barrow.mechanisms.summed import SummedNoise
from barrow.numerics import Exact, exact_text, whole
from barrow.numerics.exact import near
from barrow.planning.candidates import (
    Candidate,
    checked_definition,
    preferred,
    user_level_within,
)
from barrow.planning.histograms import HistogramTarget, check_size, histogram_candidates, noise_within
from barrow.planning.simulate import reference_distribution
from barrow.planning.terms import Terms
from barrow.planning.user_level import released_user_level, reported_user_level
from barrow.promises import Model
from barrow.questions.answer import Answer
from barrow.questions.cache import Cache, choice_key
from barrow.questions.channels import LocalChannel, NoiseChannel
from barrow.questions.distribution import check_line, quantile_reader, quantile_shares
from barrow.questions.frequency import Frequency
from barrow.questions.grouped_histogram import GroupedHistogramAnswer, readable
from barrow.questions.histogram_answer import HistogramAnswer, histogram_words
from barrow.questions.histogram_help import HistogramChoice
from barrow.questions.noise_words import noise_sentence, off_words, shares_counted
from barrow.questions.question import Question, Traits, grid_question, public_items, resolved
from barrow.questions.recalled import recalled_histogram
from barrow.questions.statement import Statement, needed
from barrow.questions.subsets import SetsChannel, SubsetsAnswer
from barrow.questions.summed import SummedChannel
from barrow.spaces import Space


@dataclass(frozen=True, kw_only=True, repr=False)
class Histogram(Question):
    """The mean histogram over people, one share for each item.

    Args:
        mechanism: ``"auto"``, the most accurate one, or its name: ``"edges"``, ``"tree"``, ``"multiscale"``,
            ``"cells"``, ``"frequency"``; under user-level DP also ``"levels"``, ``"subset"``, ``"subset-levels"``.
        spacing: With ``"edges"``: how far apart nodes are, in the space's unit; ``"items"`` for a node at every item,
            ``"auto"`` for what is most accurate. Of a product a list, one of these for each part.
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
    traits: ClassVar[Traits] = Traits(of_shares=True, within_groups=True, drives_grid=True)
    missing: ClassVar[tuple[str, ...]] = ("no records", "default item")
    mechanism: str = "auto"
    spacing: float | str | Sequence[float | str] = "auto"
    items: int | None = None
    reference: object = "auto"
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
            shares = [exact_text(share) for share in quantile_shares(list(self.quantiles), "quantiles")]
            object.__setattr__(self, "quantiles", shares)
        if self.items is not None:
            object.__setattr__(self, "items", whole(self.items, "items", least=1))
        self._check_spacing()
        one_of(self.decode, "decode", ("auto", "nearest"))
        if self.mechanism in ("tree", "multiscale", "frequency"):  # made for the space's own items
            object.__setattr__(self, "missing", ("default item", "no records"))
        if self.mechanism == "paper":
            raise ParameterError(
                "The mechanism 'paper' is for comparisons only: it is less accurate at the same price.",
                allowed="'auto', 'edges', 'tree', 'multiscale', 'cells' or 'frequency'",
                fix="mechanism = 'frequency', the same randomiser with a tighter accountant",
            )

    def _check_spacing(self) -> None:
        gap = self.spacing if isinstance(self.spacing, str | int | float) else list(self.spacing)
        object.__setattr__(self, "spacing", gap)
        each = [("items", x) for x in gap] if isinstance(gap, list) else [("auto items", gap)]
        if not each or not all(x in names.split() if isinstance(x, str) else _is_gap(x) for names, x in each):
            raise ParameterError(
                f"spacing is {gap!r}.",
                allowed="'auto', 'items', or a number above 0 in the space's unit; of a product a list of these",
                fix="spacing = 'auto'",
            )
        if gap != "auto" and self.mechanism != "edges":
            raise ParameterError(
                f"spacing is {gap!r}, but only noise along edges has nodes with a spacing.",
                allowed="spacing with mechanism = 'edges'",
                fix="mechanism = 'edges'",
            )

    def target(self, terms: Terms) -> HistogramTarget:
        """What is wanted of mechanisms."""
        reference = reference_distribution(terms.space, self.reference)
        gap = self.spacing
        spacing: Spacing = None if gap == "items" else cast("Spacing", gap)
        if isinstance(gap, list):
            spacing = tuple(None if each == "items" else each for each in gap)
        return HistogramTarget(
            terms, reference, self.items, self.noise, self.decode, spacing, report_values=self.report_values
        )

    def fits(self, space: Space) -> None:
        """Quantiles are asked of lines, and of hidden groups by themselves."""
        if self.quantiles and space.geometry.within is not None:
            raise ParameterError(
                f"The histogram {self.label!r} asks for quantiles by hidden groups.",
                allowed="a question of its own for quantiles by hidden groups",
                fix='[[question]] kind = "quantile", by the same groups',
            )
        if self.quantiles:
            check_line(space)

    def plan(self, terms: Terms) -> Answer:
        """All mechanisms are compared, and the most accurate one is chosen; it reads no data."""
        if terms.space.geometry.within is None and (known := recalled_histogram(self, terms)) is not None:
            return known
        target, own, baselines, result, cannot, best = self.compared(terms)
        if isinstance(best.mechanism, mechanisms.LocalSubsets):
            return SubsetsAnswer(self, terms, best, target, own, {}, own=own, baselines=baselines)
        if terms.space.geometry.within is not None:
            return GroupedHistogramAnswer(self, terms, best, target, result, cannot, own=own, baselines=baselines)
        if not isinstance(best.mechanism, mechanisms.HistogramNoise):
            return self._frequency(terms).plan(terms)
        read = quantile_shares(list(self.quantiles)) if self.quantiles else ()
        return HistogramAnswer(self, terms, best, target, result, cannot, quantiles=read, own=own, baselines=baselines)

    def channel(self, terms: Terms) -> LocalChannel:
        """What people report; where mechanism and spacing are named nothing is compared or simulated."""
        words, name = histogram_words(terms.space), self.mechanism
        if name == "frequency":
            return self._frequency(terms).channel(terms)
        if name in HISTOGRAMS and self.definition != "user_level":
            built = noise_within(self.target(terms), name)
            if isinstance(built.noise, SummedNoise | SampledEdgeNoise):
                return SummedChannel(terms, words, price(built.event), built.query, built.noise)
            return NoiseChannel(terms, words, price(built.event), built.query, built.noise)
        if name == "auto":
            return self.resolved(terms).channel(terms)
        alone = reported_user_level(terms, name, self.noise)
        if isinstance(alone, mechanisms.LocalSubsets):
            return SetsChannel(terms, words, price(alone.event), alone)
        return NoiseChannel(terms, words, price(alone.event), alone.query, alone.noise)

    def resolved(self, terms: Terms) -> Histogram:
        """With the mechanism and the spacing that are most accurate, by their names."""
        spaced = self.mechanism == "edges" and self.definition != "user_level"
        if self.mechanism != "auto" and not (spaced and self.spacing == "auto"):
            return self
        best = self.compared(terms).best
        if best.user_level:
            return replace(self, mechanism=best.name, definition="user_level")
        if not isinstance(best.mechanism, mechanisms.HistogramNoise):
            return replace(self, mechanism="frequency")
        if not best.mechanism.family.spaced:
            return replace(self, mechanism=best.name)
        gap = best.mechanism.query.arguments.get("spacing")
        named = [_named_gap(x) for x in gap] if isinstance(gap, list) else _named_gap(gap)
        return replace(self, mechanism=best.name, spacing=named)

    def _frequency(self, terms: Terms) -> Frequency:
        """The decoder with a proven bound is the nearest histogram, along the tree where there is one."""
        nearest = "tree" if terms.space.geometry.has_tree else "simplex"
        decode = nearest if self.decode == "nearest" else None
        return Frequency(name=self.name, fraction=self.fraction, items=self.items, decode=decode)

    def compared(self, terms: Terms) -> HistogramChoice:
        """All mechanisms, and the most accurate one; the last few choices are kept."""
        check_size(terms.space)
        self.fits(terms.space)
        key = choice_key(self, terms)
        return self._chosen(terms) if key is None else _CHOICES.get(key, lambda: self._chosen(terms))

    def _chosen(self, terms: Terms) -> HistogramChoice:
        target = self.target(terms)
        levels = self.mechanism in _USER_LEVEL
        definition = "user_level" if levels else self.definition
        result, cannot = histogram_candidates(target, only="auto" if levels else self.mechanism, thorough=False)
        own = [candidate for candidate in result if candidate.name != "paper"]
        baselines: list[Candidate] = []
        if self.mechanism == "auto" or definition == "user_level":
            rivals = own if definition == "auto" else []
            baselines = user_level_within(
                terms, lambda epsilon: released_user_level(target, epsilon, rivals), definition
            )
            baselines = [baseline for baseline in baselines if self.mechanism in ("auto", baseline.name)]
        if terms.space.geometry.within is not None:
            own, baselines = readable(own), readable(baselines)
            if not own:
                raise ParameterError(
                    "No mechanism with additive shares can answer by hidden groups here.",
                    allowed="'edges', 'tree' or 'cells' with Laplace or Gaussian noise",
                    fix="mechanism = 'edges'",
                )
        elif self.quantiles:
            own, baselines = (_readable(some, terms.space) for some in (own, baselines))
        best = preferred(own, baselines, definition)
        return HistogramChoice(target, tuple(own), tuple(baselines), tuple(result), cannot, best)

    @classmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and how accurate it is."""
        result, unit = needed(statement.answer.histogram), statement.unit
        snapped = f", snapping to the grid {near(result.emd_snapping_typical, unit)}"
        return (
            f"We released {statement.released}, computed from {statement.people:,} people, each person counting once. "
            f"{off_words(statement, result.emd_predicted, result.emd_most)} Predicted at a public reference "
            f"distribution: noise and decoding {near(needed(result.emd_decoded), unit)}"
            + (snapped if result.emd_snapping_typical else "")
            + (
                ". Every item has an upper limit, and regions that stand out from the noise have 95 % intervals; both "
                "follow from the noisy values before decoding, which are published too."
                if result.unbiased_outputs
                else ". The share of each item before decoding is published too, with an upper limit."
            )
        )

    @classmethod
    def _counted(cls, statement: Statement) -> str:
        """What the noise was added to."""
        return shares_counted(statement, needed(statement.answer.histogram))

    @classmethod
    def _noise_steps(cls, statement: Statement) -> list[str]:
        """How the noise was drawn and decoded."""
        result = needed(statement.answer.histogram)
        before = result.emd_undecoded
        size = "" if before is None else f"{before:.3g} {statement.unit}".rstrip()
        error = "" if before is None else f" The expected error before decoding is {size}, whatever the data."
        return [
            noise_sentence(statement.answer),
            f"The noisy values{f' ({result.words})' if result.unbiased_outputs else ''} were decoded to one histogram, "
            f"from these values only.{error}",
        ]


def _is_gap(gap: object) -> bool:
    return isinstance(gap, int | float) and not isinstance(gap, bool) and 0 < gap < inf


def _named_gap(gap: object) -> float | str:
    return "items" if gap is None else cast("float", gap)


@resolved.register(Histogram)
def _(question: Histogram, terms: Terms) -> Question:
    return question if terms.model is Model.CENTRAL else question.resolved(terms)


_USER_LEVEL = ("levels", "subset", "subset-levels")
"""Mechanisms that there are under user-level DP only."""
_CHOICES: Cache[HistogramChoice] = Cache(6)


def _readable(candidates: Sequence[Candidate], space: Space) -> list[Candidate]:
    """The candidates off which quantiles can be read."""
    return [one for one in candidates if quantile_reader(space, one.mechanism, (Fraction(1, 2),)) is not None]


@public_items.register(Histogram)
def _(question: Histogram) -> int | None:
    return question.items


@grid_question.register(Histogram)
def _(question: Histogram) -> Question:
    """Along edges, which is quick to predict."""
    return Histogram(mechanism="edges", definition="emd", reference=question.reference)
