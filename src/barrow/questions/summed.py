"""What a person hands over where aggregators add up: their own answer as whole numbers, rounded at random, in shares.

The numbers themselves never leave a person's device: a client cuts them into shares, one for each aggregator, and
proves that they have the public form. What the aggregators' sums say together is decoded as a curator's values are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.statistics import UserCounts
from barrow.mechanisms.summed import SumForm, SummedNoise, mean_of_sums, sum_form
from barrow.promises import Guarantee
from barrow.questions.answer import Sample
from barrow.questions.channels import MOST_ENTRIES, LocalChannel, Wire, exact_metric
from barrow.questions.collecting import ReportSums, for_people

if TYPE_CHECKING:
    from barrow.mechanisms.sampled_sums import SampledEdgeNoise  # which loads decoders
    from barrow.queries import Query
    from barrow.questions.answer import Answer
    from barrow.spaces.space import Ids

_MOST_NODES = 2000
"""Graphs of more nodes are not written down: whoever proves a card measures all its distances."""


@dataclass(frozen=True, eq=False)
class SummedChannel(LocalChannel):
    """A person's answer to a linear query, in steps of a public grid.

    Attributes:
        query: What is asked.
        noise: What the aggregators will add.

    >>> from fractions import Fraction
    >>> from barrow.planning.terms import Terms
    >>> from barrow.promises import Aggregation, Model
    >>> from barrow.questions import Histogram
    >>> from barrow.spaces import Clustered
    >>> space = Clustered.grid(2, 2, r=0.25)
    >>> terms = Terms(space, 100, given=Fraction(5), model=Model.AGGREGATED, parties=Aggregation())
    >>> channel = Histogram().channel(terms)
    >>> channel.form.most, len(channel.report(np.array([3, 3]))), len(channel.noise_share())
    ((30, 30, 10, 10, 10, 10), 6, 6)
    """

    query: Query
    noise: SummedNoise | SampledEdgeNoise

    @cached_property
    def form(self) -> SumForm:
        """What honest answers look like."""
        noise = self.noise
        return noise.form if not isinstance(noise, SummedNoise) else sum_form(self.query.table, noise.step)

    def report(self, items: Ids) -> list[int]:
        """One person's answer, drawn once: whoever calls keeps it, and never lets it out of the device."""
        if not isinstance(self.noise, SummedNoise):
            return self.noise.sample(self.query, items)
        center = UserCounts.of_users(self.terms.space, [items]).center(self.query)
        return self.form.encode([center.exact_entry(j) for j in range(self.query.dimension)])

    def noise_share(self) -> list[int]:
        """One aggregator's noise: drawn once, after the last answer was counted."""
        return self.noise.noise_share()

    def collector(self) -> AnswerSums:
        """What adds up answers; aggregators do so in shares."""
        return AnswerSums(self.form)

    @property
    def alone(self) -> Guarantee:
        """Nothing holds against all aggregators together."""
        raise ParameterError(
            "All aggregators together can see a person's answer: there is no guarantee against all of them.",
            allowed="the guarantee, which holds while enough of them keep to the rules",
            fix="channel.guarantee",
        )

    @property
    def report_description(self) -> str:
        """What leaves a phone, in words."""
        parties = self.noise.parties
        how = "rounded at random"
        if not isinstance(self.noise, SummedNoise):
            how = f"counted in {self.noise.samples:,} random samples of what you hold"
        return (
            f"your own answer, {how} and cut into {parties.aggregators} sealed shares, one for each aggregator, each "
            "of which alone looks random, with a proof that it is an answer that somebody can give"
        )

    @property
    def wire(self) -> Wire | None:
        """The table with its grid and form, where the metric is a line or a tree; samples, with the graph."""
        if not isinstance(self.noise, SummedNoise):
            return _sampled_wire(self.query, self.noise)
        table = self.query.table
        metric = exact_metric(self.query.space)
        if metric is None or self.query.space.items * self.query.dimension > MOST_ENTRIES:
            return None
        rows = np.asarray(table.integers.toarray() if table.sparse else table.integers)
        form, parties = self.form, self.noise.parties
        channel: dict[str, object] = {
            "kind": "sums",
            "messages": 1,
            "default": self.query.space.default_item,
            "alpha": str(self.guarantee.definition.parameters["alpha"]),
            "rate": str(self.noise.rate),
            "grid": str(form.step),
            "aggregators": parties.aggregators,
            "dishonest": parties.dishonest,
            "offsets": [str(offset) for offset in form.offsets],
            "most": list(form.most),
            "groups": [[list(group.members), group.floor, group.span] for group in form.groups],
            "step": str(table.step),
            "table": [[str(int(value)) for value in row] for row in rows],
        }
        return channel, metric


def _sampled_wire(query: Query, noise: SampledEdgeNoise) -> Wire | None:
    """Samples at the nodes of a graph: at which nodes each item lies, and how long edges are, in doubles."""
    rows, graph = query.table.integers.tocsr(), noise.plan.graph
    totals = np.asarray(rows.sum(axis=1)).ravel()
    if graph.nodes > _MOST_NODES or (totals != totals[0]).any() or int(totals[0]).bit_count() != 1:
        return None
    ends = zip(graph.heads.tolist(), graph.tails.tolist(), graph.lengths.tolist(), strict=True)
    parts = [slice(*pair) for pair in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)]
    channel: dict[str, object] = {
        "kind": "samples",
        "messages": 1,
        "default": query.space.default_item,
        "alpha": str(noise.rate),
        "inner": str(noise.inner),
        "samples": noise.samples,
        "aggregators": noise.parties.aggregators,
        "dishonest": noise.parties.dishonest,
        "rows": [
            [[node, str(weight)] for node, weight in zip(rows.indices[p].tolist(), rows.data[p].tolist(), strict=True)]
            for p in parts
        ],
    }
    edges = [[head, tail, str(Fraction(length))] for head, tail, length in ends]
    return channel, {"kind": "graph", "nodes": graph.nodes, "edges": edges}


class AnswerSums(ReportSums):
    """Sums of the numbers of answers.

    Args:
        form: What honest answers look like.

    >>> from fractions import Fraction
    >>> sums = AnswerSums(SumForm(Fraction(1), (0,), (3,), ()))
    >>> sums.refusal([4]), sums.refusal([2])
    ('impossible value', None)
    """

    def __init__(self, form: SumForm) -> None:
        self.n, self.length, self._form = 0, len(form.most), form
        self.sums = [0] * self.length

    def refusal(self, values: Sequence[int]) -> str | None:
        """Numbers that are outside their range, or whose groups do not add up, are refused."""
        form = self._form
        inside = all(0 <= v <= most for v, most in zip(values, form.most, strict=True))
        level = all(
            group.floor <= sum(values[j] for j in group.members) <= group.floor + group.span for group in form.groups
        )
        return None if inside and level else "impossible value"

    def add(self, values: Sequence[int]) -> None:
        """Adds the numbers of one answer."""
        self.n += 1
        self.sums = [total + value for total, value in zip(self.sums, values, strict=True)]


def summed_answer(plan: Answer, channel: LocalChannel, sums: Sequence[int], people: int) -> tuple[Answer, Sample]:
    """The plan for as many people as took part, and what was released: sums of all aggregators, noise included.

    Args:
        plan: What was planned.
        channel: The survey's own channel.
        sums: One whole number for each output.
        people: How many answers are in them.

    >>> from barrow.study import Study
    >>> study = Study("line(low=0, high=1, points=[0, 1])", alpha=5, users=100, model="aggregated")
    >>> plan, channel = study.plan("mean"), study.question("mean").channel(study.terms(study.question("mean")))
    >>> answer, sample = summed_answer(plan, channel, [80], 40)
    >>> answer.terms.users, answer.terms.parties.planned, sample.values.round(3).tolist()
    (40, 100, [0.025])
    """
    if not isinstance(channel, SummedChannel) or len(sums) != channel.query.dimension or people < 1:
        raise ParameterError(
            "These are not sums of answers to this question.",
            allowed="one whole number for each output, of one or more people",
            fix="the sums of this card's aggregators",
        )
    answer = for_people(plan, people)
    return answer, Sample(mean_of_sums(channel.form, sums, people))
