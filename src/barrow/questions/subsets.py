"""A histogram that people report themselves under user-level DP: each reports a set of groups that holds one item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from barrow.engines import Counts
from barrow.errors import ParameterError
from barrow.mechanisms.user_level import LocalSubsets, SubsetReport
from barrow.numerics.exact import near
from barrow.planning import (
    Candidate,
    HistogramTarget,
    histogram_candidates,
    reasons,
    released_user_level,
    useless,
)
from barrow.planning.after import own_error
from barrow.planning.candidates import Versus, versus
from barrow.planning.histograms import error_most
from barrow.planning.terms import Terms
from barrow.privacy import Event, Guarantee
from barrow.questions.base import Question
from barrow.questions.channels import LocalChannel
from barrow.questions.collecting import Collected, Collector
from barrow.questions.noise_words import people_words
from barrow.questions.plan import Plan, Rows, labelled
from barrow.questions.statement import AnswerFacts, HistogramFacts
from barrow.spaces.base import Floats, Ids

_NOTHING = -1
"""Fills up reports at levels whose sets are smaller, so that all reports are of one size."""


class Sets(Collector):
    """How often each group was reported at each level.

    Args:
        made: The mechanism, whose public numbers say what a report can be.
    """

    def __init__(self, made: LocalSubsets) -> None:
        self.n, self._made = 0, made
        self.length = 1 + max(channel.subset for channel in made.channels)
        self.counts = [np.zeros(channel.items, dtype=np.int64) for channel in made.channels]
        self.reports = [0] * len(made.channels)

    def refusal(self, values: Sequence[int]) -> str | None:
        """A level, then its groups in ascending order, then nothing."""
        level, channels = values[0], self._made.channels
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
        self.counts[level][np.asarray(values[1 : 1 + self._made.channels[level].subset], dtype=np.int64)] += 1

    @property
    def tallies(self) -> list[tuple[Any, int]]:
        """For each level how often each group was reported, and how many reports there were."""
        return list(zip(self.counts, self.reports, strict=True))


@dataclass(frozen=True, eq=False)
class SetsChannel(LocalChannel):
    """A set of groups that holds one of the person's items.

    Attributes:
        made: The mechanism.
    """

    made: LocalSubsets

    def report(self, items: Ids) -> list[int]:
        """The level, the groups of the set, and nothing up to the size of all reports."""
        made: SubsetReport = self.made.report(items)
        numbers = [made.level, *sorted(made.members)]
        return numbers + [_NOTHING] * (Sets(self.made).length - len(numbers))

    def collector(self) -> Sets:
        """Tallies of sets."""
        return Sets(self.made)


def plan_sets(
    question: Question, target: HistogramTarget, best: Candidate, own: Sequence[Candidate], rivals: Sequence[Candidate]
) -> SubsetsPlan:
    """Sets that people report themselves, beside the best of EMD-DP."""
    against = versus(
        target.terms,
        best,
        own,
        rivals,
        emd=lambda terms: histogram_candidates(replace(target, terms=terms))[0],
        user_level=lambda epsilon: released_user_level(target, epsilon),
    )
    return SubsetsPlan(question, target.terms, best, target, tuple(own), versus=against)


@dataclass(frozen=True, eq=False)
class SubsetsPlan(Plan):
    """What a histogram of reported sets would be like.

    Args:
        question: What is asked.
        terms: What the study grants.
        chosen: The mechanism.
        target: What was wanted.
        own: The candidates of EMD-DP, best first.
        versus: What is released beside the best of EMD-DP.
    """

    question: Question
    terms: Terms
    chosen: Candidate
    target: HistogramTarget
    own: tuple[Candidate, ...] = ()
    versus: Versus | None = field(default=None, kw_only=True)

    @property
    def made(self) -> LocalSubsets:
        """The mechanism."""
        found: LocalSubsets = self.chosen.mechanism
        return found

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What each person is promised."""
        return self.chosen.guarantee

    @property
    def event(self) -> Event:
        """What a report causes."""
        return self.made.event

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return f"the histogram of people's items over {self.space.records_space.items:,} items"

    @property
    def error(self) -> float:
        """The predicted EMD between the histogram and the true one, in the space's units."""
        return self.chosen.error

    @cached_property
    def error_most(self) -> float:
        """The largest predicted error over several public references, "at most about"."""
        return error_most(self.target, self.chosen)

    def statistics(self, counts: Counts) -> Any:
        """Refused: people report themselves."""
        raise self._local_only()

    def draw(self, statistics: Any) -> tuple[Any, bool]:
        """Refused: people report themselves."""
        raise self._local_only()

    def _local_only(self) -> ParameterError:
        return ParameterError(
            "The histogram is planned for reports that people make themselves.",
            allowed="barrow local, or model='central'",
            fix="study.replace(model='central')",
        )

    def simulated(self, people: Floats, seed: int) -> Floats:
        """A histogram decoded from simulated sets."""
        from barrow.noise.source import SeededSource

        return np.asarray(self.made.simulated(people, SeededSource(seed)))

    def collected(self, collector: Collector) -> Collected:
        """The histogram decoded from all sets."""
        if not isinstance(collector, Sets):
            raise ParameterError("These are no tallies.", allowed="the plan's own collector", fix="plan.collector()")
        here = replace(self.made, users=max(collector.n, 1))
        estimate = here.estimate(collector.tallies)
        shares = here.decode(estimate)
        lines = [f"{label}: {share:.6g}" for label, share in zip(self.space.labels, shares.tolist(), strict=True)]
        lines.append(f"From {collector.n:,} reports; these shares were decoded from the reported sets.")
        own = own_error(self.target, here, shares, self.error)
        lines.append(
            f"They are off by an earth mover's distance of about {near(own.about, self.space.unit, digits=1)}."
        )
        details = {
            "error_after": own.to_json(),
            "histogram": dict(zip(self.space.labels, shares.tolist(), strict=True)),
            "estimate": estimate.tolist(),
        }
        return Collected(collector.n, self.tables(shares), lines, details, self.guarantee)

    def tables(self, drawn: Floats) -> dict[str, Rows]:
        """One share for each item."""
        return {"values": labelled(self.space, {"share": np.asarray(drawn).tolist()})}

    def summary(self, drawn: Floats) -> list[str]:
        """The largest shares."""
        top = np.argsort(-np.asarray(drawn), kind="stable")[:8].tolist()
        return [f"{self.space.labels[i]}: {100 * drawn[i]:.3g} %" for i in top]

    def parameters(self) -> dict[str, Any]:
        """The public numbers on which the distribution of reports depends."""
        sizes = [[channel.items, channel.subset, str(channel.weight)] for channel in self.made.channels]
        return {"mechanism": self.chosen.name, "channels": sizes, "levels": list(self.made.weights)}

    def fields(self) -> AnswerFacts:
        """What a statement says about the values."""
        found = HistogramFacts(
            mechanism=self.chosen.name, words=self.chosen.words, emd_predicted=self.error, emd_most=self.error_most
        )
        return AnswerFacts(outputs=self.space.items, histogram=found)

    def details(self) -> dict[str, Any]:
        """What is this kind's own in plain data."""
        return {
            "outputs": self.space.items,
            "histogram": {"mechanism": self.chosen.name, "words": self.chosen.words},
            "emd_predicted": self.error,
            "emd_most": self.error_most,
            "emd_uniform_guess": self.uniform_guess,
            "versus": None if self.versus is None else self.versus.to_json(),
            "why_others_lose": reasons([self.chosen, *self.own]),
        }

    @cached_property
    def uniform_guess(self) -> float:
        """What a guess without any data errs by."""
        return self.target.uniform_guess

    @property
    def warnings(self) -> list[str]:
        """A warning where the histogram would be hardly better than a guess."""
        found = useless(self.error, self.uniform_guess, self.space.unit, self.error_most)
        return [f"{text} {people_words(self, self.error_most, self.uniform_guess)}" for text in found]

    def answer_lines(self) -> list[str]:
        """The mechanism, and the error to expect."""
        return [
            f"Chosen    {self.chosen.name}: {self.chosen.words}",
            f"Error     the histogram is off by about {self.sized(self.error)}, at most about "
            f"{self.sized(self.error_most)} (EMD after decoding, predicted)",
        ]

    def other_lines(self) -> list[str]:
        """The other definition, and the mechanisms that lose."""
        lines = [] if self.versus is None else [f"Against   {self.versus.line}"]
        lost = [f"{name} ({why})" for name, why in reasons([self.chosen, *self.own]).items()]
        return [*lines, *([f"Others    {', '.join(lost)}"] if lost else [])]
