"""Linear questions within hidden groups of records: one release, a mean for each group as a ratio with its interval.

Each person counts in a group with the share of their records there. The noise does not depend on how many groups there
are (docs/proofs/private-groups.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from msgspec import structs

from barrow.errors import ParameterError
from barrow.numerics import float_up
from barrow.numerics.exact import PERCENT, at_most, near
from barrow.planning.after import OwnError
from barrow.planning.candidates import Candidate, best_first
from barrow.planning.linear import errors_within
from barrow.planning.notes import Note, Severity
from barrow.planning.terms import Terms
from barrow.promises import Model
from barrow.queries.private_groups import GroupMeans, group_means
from barrow.questions.answer import Rows, Sample, TableRow, Tables, number, value_words
from barrow.questions.cache import cached_query
from barrow.questions.fieller import LEVEL, Ratio
from barrow.questions.holders import RatioAnswer
from barrow.questions.linear import Linear, unproved_constant, useless_values
from barrow.questions.plan_text import answer_lines, own_notes
from barrow.questions.question import Question, needs_curator
from barrow.questions.releasing import error_after, summary
from barrow.questions.statement import AnswerFacts, HiddenGroups
from barrow.spaces import Space

GROUP = "group"
"""The column of a table that says which group a row is about."""


def within_groups(space: Space) -> Space:
    """The space of items within each hidden group."""
    result = space.geometry.within
    if result is None:
        raise ParameterError("The space has no groups.", allowed="items in hidden groups", fix="Groups(labels, space)")
    return result


def check_hidden_terms(question: Question, terms: Terms) -> None:
    """Refuse what is not planned within hidden groups."""
    if terms.model is not Model.CENTRAL:
        raise needs_curator("Hidden groups")
    if getattr(question, "definition", "auto") == "user_level":
        raise ParameterError(
            f"The question {question.label!r} is asked by hidden groups and by user-level DP.",
            allowed="definition 'emd' or 'auto' by hidden groups",
            fix="definition = 'emd'",
        )


def plan_grouped(question: Linear, terms: Terms) -> GroupedAnswer:
    """The plan of a mean within each hidden group; it reads no data."""
    check_hidden_terms(question, terms)
    pair = group_means(terms.space, cached_query(question, within_groups(terms.space)))
    result = _at_equal_shares(pair, errors_within(pair.query, terms, question.noise))
    return GroupedAnswer(question, terms, result[0], pair.query, pair, own=tuple(result))


def _at_equal_shares(pair: GroupMeans, candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates by the half width of a mean at the end of the range if all groups are equally large."""
    groups = len(pair.labels)

    def error(one: Candidate) -> float:
        ratio = Ratio(one.mechanism, pair.weight, pair.query.rounding_upper, LEVEL / groups)
        return groups * ratio.slack(max(pair.reaches))

    return best_first([replace(one, error=error(one)) for one in candidates])


@dataclass(frozen=True, eq=False)
class HiddenGroupsAnswer(RatioAnswer):
    """What values within hidden groups would be like, read off sums and shares of every group.

    Args:
        pair: The sums within groups, the groups' shares, and what was subtracted.
    """

    pair: GroupMeans
    what: ClassVar[str] = "each value"
    smaller: ClassVar[str] = "twice that in one half as large"

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return f"{self._asked}, within each of {len(self.pair.labels)} hidden groups"

    @property
    def _asked(self) -> str:
        return self.pair.inner.description.replace("over people", "over people with records in the group", 1)

    @property
    def half_width_all(self) -> float:
        """The same: intervals hold for all groups at once."""
        return self.half_width

    @property
    def whole_range(self) -> float:
        """How far apart possible answers are at most."""
        return 2.0 * max(self.pair.reaches)

    @cached_property
    def ratio(self) -> Ratio:
        """Of sums and shares, so that the intervals of all groups hold at once."""
        return Ratio(self.noise, self.pair.weight, self.pair.query.rounding_upper, LEVEL / len(self.pair.labels))

    def blocks(self, sample: Sample) -> list[tuple[str, list[float], float]]:
        """For each group its sums and its share, as they were released."""
        rows = np.asarray(sample.values, dtype=np.float64).reshape(len(self.pair.labels), -1)
        shares = rows[:, -1] / self.pair.weight
        return list(zip(self.pair.labels, rows[:, :-1].tolist(), shares.tolist(), strict=True))

    def group_rows(self, sample: Sample) -> Rows:
        """The share of each group with its interval: all hold at once."""
        return share_rows([(label, share, self.share_half_width) for label, _, share in self.blocks(sample)])

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        hidden = hidden_facts(self.terms.space, self.half_width, self.share_half_width)
        return structs.replace(super().facts(), hidden_groups=hidden)


def share_rows(shares: Iterable[tuple[str, float, float]]) -> Rows:
    """Rows of shares of records in each group, with half widths.

    >>> share_rows([("a", 0.25, 0.5)])
    [{'group': 'a', 'share': 0.25, 'low_95': 0.0, 'high_95': 0.75}]
    """

    def cut(value: float) -> float:
        return min(max(value, 0.0), 1.0)

    return [
        {GROUP: label, "share": cut(share), "low_95": cut(share - wide), "high_95": cut(share + wide)}
        for label, share, wide in shares
    ]


def hidden_facts(space: Space, error: float, share_half_width: float) -> HiddenGroups:
    """What a statement says of hidden groups."""
    groups = space.records_space
    within = within_groups(space)
    far = float_up((space.geometry.group_distance or Fraction(1)) * Fraction(space.diameter))
    return HiddenGroups(
        name=str(getattr(groups, "name", "group")), labels=list(groups.geometry.parts[0][0].labels), distance=far,
        unit=within.unit, error_at_equal_shares=error, share_half_width_95=share_half_width,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class GroupedAnswer(HiddenGroupsAnswer):
    """What means within hidden groups would be like."""

    def ranked(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """By the half width of a mean at the end of the range if all groups are equally large."""
        return _at_equal_shares(self.pair, candidates)

    def tables(self, sample: Sample) -> Tables:
        """A row for each value in each group with its interval, and the shares of the groups."""
        blocks = self.blocks(sample)
        rows = [row for label, sums, share in blocks for row in self.means(sums, share, **{GROUP: label})]
        return {"values": rows, "groups": self.group_rows(sample)}


@summary.register(HiddenGroupsAnswer)
def _(answer: HiddenGroupsAnswer, drawn: Sample) -> list[str]:
    """The values of each group with their intervals."""
    tables = answer.tables(drawn)
    lines = [_value_line(row) for row in tables["values"][:24]]
    return [*lines, *group_lines(tables["groups"][:24])]


def _value_line(row: TableRow) -> str:
    name = row["output"] if "output" in row else f"quantile {row['quantile']}"
    return f"{row[GROUP]}, {name}: {value_words(row, str(row['unit']))}"


def group_lines(rows: Rows) -> list[str]:
    """How many of people's records are in each group, a line each.

    >>> group_lines([{"group": "a", "share": 0.25, "low_95": 0.2, "high_95": 0.3}])
    ['a, share of records: 25 %, from 20 % to 30 % (95 %)']
    """
    return [f"{row[GROUP]}, share of records: {value_words(row, PERCENT, 'share')}" for row in rows]


@error_after.register(HiddenGroupsAnswer)
def _(answer: HiddenGroupsAnswer, drawn: Sample) -> OwnError | None:
    """Half the width of the widest interval of a group that is determined; the whole range where none is."""
    rows = answer.tables(drawn)["values"]
    known = [row for row in rows if row["determined"]] or rows
    return OwnError(max((number(row, "high_95") - number(row, "low_95")) / 2.0 for row in known))


@answer_lines.register(HiddenGroupsAnswer)
def _(answer: HiddenGroupsAnswer) -> list[str]:
    """The noise, and how wide intervals would be."""
    unit, groups = f" {answer.query.unit}".rstrip(), len(answer.pair.labels)
    return [
        f"Noise     {answer.noise.name}, scale {near(float_up(answer.noise.scale))}{unit} on each number of each of "
        f"{groups} hidden groups; it does not grow with their number",
        f"Error     {answer.what} ± {at_most(answer.half_width)}{unit} (95 %, all groups at once) in a group with 1 of "
        f"{groups} of all records, {answer.smaller}",
        f"          the share of each group ± {at_most(answer.share_half_width)} (95 %, all at once); a group whose "
        "share may be 0 is not determined",
    ]


@own_notes.register(HiddenGroupsAnswer)
def _(answer: HiddenGroupsAnswer) -> list[Note]:
    notes = [*unproved_constant(answer), *hidden_notes(answer.terms.space)]
    return [*notes, *useless_values(answer, answer.whole_range)]


def hidden_notes(space: Space) -> list[Note]:
    """What hidden groups mean for promises, in the statement's words."""
    far = hidden_facts(space, 0.0, 0.0)
    distance = f"{near(far.distance, far.unit)}".strip() if far.unit else "the distance of groups"
    text = (
        f"which group a record is in is hidden like its item: in this release a record in another {far.name} counts as "
        f"{distance} elsewhere; over several releases only promises about another group say how well that is hidden. "
        "The list of groups is public, and each person counts in a group with the share of their records there"
    )
    return [Note(Severity.LIMIT, text)]
