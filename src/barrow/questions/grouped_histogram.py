"""Histograms within hidden groups of records: one histogram of groups and items, divided by the groups' shares.

The division uses released values alone. Its intervals are those of items and of groups, each of which may miss half as
often, divided by each other (docs/proofs/private-groups.md, section 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec import structs

from barrow.errors import ParameterError
from barrow.mechanisms import HistogramNoise, ReleasedShares
from barrow.mechanisms.edge_intervals import RegionInterval
from barrow.mechanisms.item_intervals import item_intervals
from barrow.noise.source import SeededSource
from barrow.numerics.exact import near
from barrow.planning.after import OwnError
from barrow.planning.candidates import Candidate
from barrow.planning.notes import Note
from barrow.questions.answer import Rows, Sample, Tables, labelled
from barrow.questions.grouped import GROUP, group_lines, hidden_facts, hidden_notes, within_groups
from barrow.questions.histogram_answer import HistogramAnswer
from barrow.questions.histogram_help import answer_words
from barrow.questions.plan_text import answer_lines, own_notes
from barrow.questions.releasing import error_after, most_rows, released_shares, summary
from barrow.questions.statement import AnswerFacts
from barrow.spaces import Space
from barrow.spaces.space import Floats
from barrow.transport import measure_of
from barrow.transport.measure import MOST_MEASURED

_HALF = 0.975
"""Items and groups each miss at most half of 5 %."""
_DRAWS, _SEED = 4, 20261120


def readable(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates whose values add up to shares of groups with a known noise."""
    return [
        one
        for one in candidates
        if isinstance(one.mechanism, HistogramNoise)
        and one.mechanism.kind in ("edges", "tree", "levels", "cells")
        and one.mechanism.noise.p in (None, "1")
    ]


@dataclass(frozen=True, eq=False)
class GroupedHistogramAnswer(HistogramAnswer):
    """What histograms within hidden groups would be like."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The groups."""
        return tuple(self.terms.space.geometry.parts[0][0].labels)

    @property
    def within(self) -> Space:
        """The space of items within each group."""
        return within_groups(self.terms.space)

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        items, groups = self.within.items, len(self.labels)
        return f"the histogram of people's items over {items:,} items, within each of {groups} hidden groups"

    def blocks(self, shares: Floats) -> Floats:
        """The shares of items, a row for each group."""
        return np.asarray(shares)[: len(self.labels) * self.within.items].reshape(len(self.labels), -1)

    def group_shares(self, known: ReleasedShares) -> list[RegionInterval]:
        """The share of records in each group with its interval, all at once."""
        of = np.repeat(np.arange(len(self.labels)), self.within.items)
        return known.regions([of == i for i in range(len(self.labels))], _HALF)

    def errors_of(self, truth: Floats) -> list[float] | None:
        """About how far off the histogram within each group would be, if ``truth`` were true; None on large spaces."""
        if self.within.items > MOST_MEASURED:
            return None
        measure, true = measure_of(self.within), self.blocks(truth)
        results = np.zeros(len(self.labels))
        for draw in range(_DRAWS):
            drawn = self.blocks(self.mechanism.simulated(truth, SeededSource(_SEED + draw)))
            for i, (a, b) in enumerate(zip(true, drawn, strict=True)):
                even = np.full(len(b), 1.0 / len(b))
                mine = a / a.sum() if a.sum() > 0.0 else even
                results[i] += measure.distance(mine - (b / b.sum() if b.sum() > 0.0 else even)) * self.within.diameter
        return [math.hypot(one, self.snapping_typical) for one in (results / _DRAWS).tolist()]

    @cached_property
    def error_at_equal_shares(self) -> float:
        """The mean over groups of what their histograms would be off by, if all groups were equally large."""
        reference = np.array(self.target.reference, dtype=np.float64)
        rows = self.blocks(reference)
        whole = rows.sum()
        rows[:] = rows / rows.sum(axis=1, keepdims=True) * (whole / len(rows))
        errors = self.errors_of(reference)
        return self.error * len(self.labels) if errors is None else float(np.mean(errors))

    def tables(self, sample: Sample) -> Tables:
        """The histogram within each group with intervals, the shares of groups, and the unbiased shares."""
        key = np.asarray(sample.values, dtype=np.float64).tobytes()
        if key not in self._known:
            self._known.clear()
            self._known[key] = self._tables(sample)
        return dict(self._known[key])

    @cached_property
    def _known(self) -> dict[bytes, Tables]:
        """The tables of what was asked last: errors within groups are simulated."""
        return {}

    def _tables(self, sample: Sample) -> Tables:
        values, decoded = np.asarray(sample.values, dtype=np.float64), self.shares(sample)
        known = released_shares(self, values, self.terms.users)
        if known is None:
            raise ParameterError("Nothing is known about sums of these values.", allowed="another mechanism", fix="")
        ends, groups = item_intervals(known, _HALF), self.group_shares(known)
        low, high = self.blocks(ends.low), self.blocks(ends.high)
        errors = self.errors_of(decoded)
        rows: Rows = []
        shares: Rows = []
        for i, (label, block, group) in enumerate(zip(self.labels, self.blocks(decoded), groups, strict=True)):
            determined, total = group.low > 0.0, float(block.sum())
            most = np.minimum(high[i] / group.low, 1.0) if determined else np.ones(len(block))
            least = np.minimum(low[i] / max(group.high, 1e-300), most) if determined else np.zeros(len(block))
            mine = np.clip(block / total, least, most) if determined and total > 0.0 else [None] * len(block)
            columns = {"share": list(mine), "low_95": least.tolist(), "high_95": most.tolist()}
            columns["determined"] = [determined] * len(block)
            rows += [{GROUP: label, **row} for row in labelled(self.within, columns)]
            about = None if errors is None or not determined else errors[i]
            share = {"share": min(max(group.estimate, 0.0), 1.0), "low_95": group.low, "high_95": group.high}
            shares.append({GROUP: label, **share, "error_about": about, "unit": self.within.unit})
        return {"values": rows, "groups": shares, "unbiased": self._unbiased(values)}

    def facts(self) -> AnswerFacts:
        """What the statement says about the values."""
        wide = max(one.noise for one in self._planned_groups)
        hidden = hidden_facts(self.terms.space, self.error_at_equal_shares, wide)
        return structs.replace(super().facts(), hidden_groups=hidden)

    @cached_property
    def _planned_groups(self) -> list[RegionInterval]:
        """The intervals of groups at the public reference."""
        known = released_shares(self, np.asarray(self.mechanism.matrix @ self.target.reference), self.terms.users)
        return [] if known is None else self.group_shares(known)


@summary.register(GroupedHistogramAnswer)
def _(answer: GroupedHistogramAnswer, drawn: Sample) -> list[str]:
    """The largest shares within each group."""
    tables, lines = answer.tables(drawn), []
    for label in answer.labels[:12]:
        mine = [row for row in tables["values"] if row[GROUP] == label]
        if not mine[0]["determined"]:
            lines.append(f"{label}: not determined")
            continue
        top = sorted(mine, key=lambda row: -float(str(row["share"])))[:3]
        lines.append(f"{label}: " + ", ".join(f"{row['item']} {100 * float(str(row['share'])):.3g} %" for row in top))
    return [*lines, *group_lines(tables["groups"][:24])]


@error_after.register(GroupedHistogramAnswer)
def _(answer: GroupedHistogramAnswer, drawn: Sample) -> OwnError | None:
    """At the least accurate group that is determined."""
    rows = answer.tables(drawn)["groups"]
    known = [float(str(row["error_about"])) for row in rows if row["error_about"] is not None]
    return OwnError(max(known)) if known else None


@most_rows.register(GroupedHistogramAnswer)
def _(answer: GroupedHistogramAnswer) -> int:
    return 2 * answer.terms.space.items + len(answer.labels)


@answer_lines.register(GroupedHistogramAnswer)
def _(answer: GroupedHistogramAnswer) -> list[str]:
    wide = max(one.noise for one in answer._planned_groups)
    about = near(answer.error_at_equal_shares, answer.within.unit)
    groups = len(answer.labels)
    return [
        *answer_words(answer),
        f"Groups    {groups} hidden ones: off by about {about} within a group of 1 of {groups} of all records, more "
        f"in smaller ones; the share of each ± {near(100 * wide)} % (97.5 %, all at once); a group whose share may "
        "be 0 is not determined",
    ]


@own_notes.register(GroupedHistogramAnswer)
def _(answer: GroupedHistogramAnswer) -> list[Note]:
    return [*own_notes.dispatch(HistogramAnswer)(answer), *hidden_notes(answer.terms.space)]
