"""A histogram that people report themselves under user-level DP: each reports a set of groups that holds one item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from barrow.engines import Counts, ItemSums
from barrow.errors import ParameterError
from barrow.mechanisms.user_level.local import LocalSubsets, SubsetReport
from barrow.noise.source import SeededSource
from barrow.numerics.exact import PERCENT, near
from barrow.planning import after
from barrow.planning.notes import Note
from barrow.questions.answer import Sample, Statistics, Tables, number, value_words
from barrow.questions.channels import LocalChannel
from barrow.questions.collecting import Collected, Integers, ReportSums, collected, for_people
from barrow.questions.estimates import ErrorEstimate, estimate
from barrow.questions.frequency import decoded_line, estimated_rows, hardly_better
from barrow.questions.histogram_answer import DecodedAnswer
from barrow.questions.plan_text import answer_lines, own_notes
from barrow.questions.releasing import parameters, simulated, summary
from barrow.questions.statement import AnswerFacts, HistogramFacts, Json, NoiseFacts
from barrow.spaces.space import Floats, Ids

_NOTHING = -1
"""Fills up reports at levels whose sets are smaller, so that all reports are of one size."""


class Sets(ReportSums):
    """How often each group was reported at each level.

    Args:
        built: The mechanism, whose public numbers say what a report can be.
    """

    def __init__(self, built: LocalSubsets) -> None:
        self.n, self._built = 0, built
        self.length = 1 + max(channel.subset for channel in built.channels)
        self.counts = [np.zeros(channel.items, dtype=np.int64) for channel in built.channels]
        self.reports = [0] * len(built.channels)

    def refusal(self, values: Sequence[int]) -> str | None:
        """A level, then its groups in ascending order, then nothing."""
        level, channels = values[0], self._built.channels
        if not 0 <= level < len(channels):
            return "impossible value"
        size, groups = channels[level].subset, list(values[1:])
        members, rest = groups[:size], groups[size:]
        ascending = all(a < b for a, b in pairwise(members))
        good = ascending and members[0] >= 0 and members[-1] < channels[level].items
        return None if good and rest == [_NOTHING] * len(rest) else "impossible value"

    def add(self, values: Sequence[int]) -> None:
        """Adds one report."""
        self.n += 1
        level = values[0]
        self.reports[level] += 1
        self.counts[level][np.asarray(values[1 : 1 + self._built.channels[level].subset], dtype=np.int64)] += 1

    @property
    def tallies(self) -> list[tuple[Integers, int]]:
        """For each level how often each group was reported, and how many reports there were."""
        return list(zip(self.counts, self.reports, strict=True))


@dataclass(frozen=True, eq=False)
class SetsChannel(LocalChannel):
    """A set of groups that holds one of the person's items.

    Attributes:
        built: The mechanism.
    """

    built: LocalSubsets

    def report(self, items: Ids) -> list[int]:
        """The level, the groups of the set, and nothing up to the size of all reports."""
        built: SubsetReport = self.built.report(items)
        numbers = [built.level, *sorted(built.members)]
        return numbers + [_NOTHING] * (Sets(self.built).length - len(numbers))

    def collector(self) -> Sets:
        """Tallies of sets."""
        return Sets(self.built)


@dataclass(frozen=True, eq=False)
class SubsetsAnswer(DecodedAnswer):
    """What a histogram of reported sets would be like."""

    @property
    def mechanism(self) -> LocalSubsets:
        """How each person's set is drawn."""
        mechanism: LocalSubsets = self.chosen.mechanism
        return mechanism

    def statistics(self, counts: Counts | ItemSums) -> Statistics:
        """Refused: people report themselves."""
        raise _local_only()

    def draw(self, statistics: Statistics) -> Sample:
        """Refused: people report themselves."""
        raise _local_only()

    def tables(self, sample: Sample) -> Tables:
        """One row for each item: its decoded share, the unbiased one, which may be negative, and the ends of it.

        Variances are those at the decoded shares, which are no smaller than the estimate's, and laws are normal.
        """
        unbiased = np.asarray(sample.values, dtype=np.float64)
        shares = self.mechanism.decode(unbiased) if sample.shares is None else sample.shares
        return {"values": estimated_rows(self.terms.space, shares, unbiased, self.mechanism.deviations(shares))}

    def facts(self) -> AnswerFacts:
        """What a statement says about the values."""
        facts = HistogramFacts(
            mechanism=self.chosen.name, words=self.chosen.words, emd_predicted=self.error, emd_most=self.error_most,
            emd_decoded=self.error,
        )  # fmt: skip
        noise = NoiseFacts(distribution=self.chosen.name, method=self.chosen.words)
        return AnswerFacts(outputs=self.terms.space.items, histogram=facts, noise=noise)


def _local_only() -> ParameterError:
    return ParameterError(
        "The histogram is planned for reports that people randomise themselves.",
        allowed="barrow local, or model='central'",
        fix="study.replace(model='central')",
    )


@for_people.register(SubsetsAnswer)
def _for(answer: SubsetsAnswer, users: int) -> SubsetsAnswer:
    """The same sets, of as many people as really took part."""
    chosen = replace(answer.chosen, mechanism=replace(answer.mechanism, users=users))
    return replace(answer, terms=answer.terms.for_people(users), chosen=chosen)


@collected.register(SubsetsAnswer)
def _(answer: SubsetsAnswer, collector: ReportSums) -> Collected:
    """The histogram decoded from all sets."""
    sets, space = Sets.of(collector), answer.terms.space
    built = _for(answer, max(sets.n, 1))
    here = built.mechanism
    estimated = here.estimate(sets.tallies)
    shares = here.decode(estimated)
    histogram = dict(zip(space.labels, shares.tolist(), strict=True))
    own = after.own_error(answer.target, here, shares, answer.error)
    tables = built.tables(Sample(estimated, shares))
    lines = [
        *(f"{row['item']}: {value_words(row, PERCENT, 'share')}" for row in tables["values"]),
        f"From {sets.n:,} reports; these shares were decoded from the reported sets.",
        f"On average, items appear about {near(own.about, space.unit, digits=1)} from where they were.",
    ]
    told = {"error_after": own.to_json(), "histogram": histogram, "estimate": estimated.tolist()}
    return Collected(sets.n, tables, lines, told, answer.guarantee, own=own)


@summary.register(SubsetsAnswer)
def _(answer: SubsetsAnswer, drawn: Sample) -> list[str]:
    """The largest shares."""
    rows = answer.tables(drawn)["values"]
    shares = np.array([number(row, "share") for row in rows])
    top = np.argsort(-shares, kind="stable")[:8].tolist()
    return [f"{answer.terms.space.labels[i]}: {100 * shares[i]:.3g} %" for i in top]


@simulated.register(SubsetsAnswer)
def _(answer: SubsetsAnswer, people: Floats, seed: int) -> Floats:
    """A decoded histogram."""
    return np.asarray(answer.mechanism.simulated(people, SeededSource(seed)))


@parameters.register(SubsetsAnswer)
def _(answer: SubsetsAnswer) -> Json:
    built = answer.mechanism
    sizes = [[channel.items, channel.subset, str(channel.weight)] for channel in built.channels]
    return {"mechanism": answer.chosen.name, "channels": sizes, "levels": list(built.weights)}


@estimate.register(SubsetsAnswer)
def _(answer: SubsetsAnswer) -> ErrorEstimate:
    return ErrorEstimate(answer.error, guess=answer.uniform_guess)


@own_notes.register(SubsetsAnswer)
def _(answer: SubsetsAnswer) -> list[Note]:
    """A warning where the histogram would be hardly better than a guess."""
    return hardly_better(answer, answer.uniform_guess, answer.error_most)


@answer_lines.register(SubsetsAnswer)
def _(answer: SubsetsAnswer) -> list[str]:
    """The mechanism, and the error to expect."""
    return [f"Chosen    {answer.chosen.name}: {answer.chosen.words}", decoded_line(answer, answer.error_most)]
