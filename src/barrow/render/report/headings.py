"""What a reader meets first: the title in words, one sentence with the error, and what anyone can learn."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from barrow.numerics.exact import at_most, between, near
from barrow.promises import Window, percent_up
from barrow.questions import Answer
from barrow.questions.question import digits_of
from barrow.questions.statement import Statement
from barrow.questions.value_tables import Rows, bounds_of, counted_rows, unit_of
from barrow.render.report.page import Learnt
from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.study.prose import kind_of
from barrow.study.statement import space_of

_MODELS = {
    "central": "The curator, who held them before and added the noise. Only what this page shows was published.",
    "aggregated": "Nobody alone: each person's answer was rounded and split into shares on their device, and several "
    "aggregators added up the shares; all of them together could have seen it.",
    "shuffle": "Nobody: each person's reports were randomised before they left, and mixed with those of all others.",
    "local": "Nobody: each person's report was randomised before it left.",
}
_HISTOGRAM = re.compile(r"the histogram of people's items over ([\d,]+) items")
_NOUNS = {
    "distance": ("mean distance", "of"),
    "frequency": ("frequencies", "among"),
    "items": ("randomised items", "of"),
    "quantile": ("quantiles", "of"),
    "region": ("share in a region", "among"),
    "spread": ("mean and spread", "of"),
    "workload": ("answers", "about"),
}
"""What questions without a name of their own are called in headings."""
_VERDICTS = ((0.55, "hardly"), (0.6, "a little"), (0.75, "partly"), (0.9, "mostly"), (1.0, "yes, almost surely"))


@dataclass(frozen=True, eq=False)
class Released:
    """One release as a report needs it; everything in it is public.

    Attributes:
        statement: The statement.
        tables: The tables of values.
        space: The space, where it is known.
        plan: The plan, where it is known.
        folder: Where the files are, for the commands that verify them.
    """

    statement: Statement
    tables: Mapping[str, Rows]
    space: Space | None = None
    plan: Answer | None = None
    folder: str = ""

    @property
    def where(self) -> Space | None:
        """The space, from wherever it is known."""
        if self.space is not None:
            return self.space
        return self.plan.terms.space if self.plan is not None else space_of(self.statement)

    @property
    def reads(self) -> str:
        """The periods that were read; empty for all records."""
        about = self.statement.answer.about
        return "" if about is None else about.reads

    @property
    def by(self) -> str:
        """The end of a heading where it is answered by groups: " by region"."""
        about, hidden = self.statement.answer.about, self.statement.answer.hidden_groups
        if hidden is not None:
            return f" by {hidden.name}"
        return f" by {about.grouping}" if about is not None and about.groups else ""


def title_of(releases: Sequence[Released]) -> str:
    """The heading: the study's own words, or the data set, what was asked, and about how many people."""
    first = releases[0].statement
    own = {released.statement.title or "" for released in releases}
    after = ("" if len(releases) == 1 and releases[0].statement.title else releases[0].by) + periods_of(releases)
    if len(own) == 1 and first.title:
        return first.title + after
    nouns = list(dict.fromkeys(_noun(released) for released in releases))
    joined = ", ".join(noun for noun, _ in nouns)
    asked = f"{joined} {nouns[0][1] if len(nouns) == 1 else 'of'} {first.people:,} people{after}"
    return f"{first.dataset}: {asked}" if first.dataset else asked[:1].upper() + asked[1:]


def _noun(released: Released) -> tuple[str, str]:
    """What was asked, and how it goes on: "mean", "of" (so many people)."""
    statement = released.statement
    if statement.title:
        return statement.title, "of"
    if statement.name in ("histogram", "density") and _on_earth(released):
        return "map", "of"
    if statement.name == "person":
        spec = statement.parameters.get("question")
        return str(spec.get("function", "share")) if isinstance(spec, dict) else "share", "of"
    return _NOUNS.get(statement.name, (statement.name.replace("_", " "), "of"))


def _on_earth(released: Released) -> bool:
    return released.where is not None and base_space(released.where).geometry.on_earth


def _asked(released: Released) -> str:
    """What was released, where a histogram is the share of each of its cells or values."""
    each = "cells" if _on_earth(released) else "values"
    return _HISTOGRAM.sub(rf"the share of people's records in each of \1 {each}", released.statement.released)


def lead_of(releases: Sequence[Released]) -> str:
    """What stands below the heading: the study's words, or what was released."""
    first = releases[0].statement
    if first.description and len({r.statement.description for r in releases}) == 1:
        return first.description
    if len(releases) > 1:
        return f"{len(releases)} releases about {first.people:,} people; each person counts once."
    words = _asked(releases[0])
    asked = f"{words[:1].upper()}{words[1:]}{releases[0].by}"
    return f"{asked}. Computed from {first.people:,} people, each counting once."


def periods_of(releases: Sequence[Released]) -> str:
    """The periods of all releases, in one piece; nothing where one of them reads everything."""
    if not all(released.reads for released in releases):
        return ""
    periods = {period for released in releases for period in Window.parse(released.reads).periods}
    return f", {Window(tuple(periods)).text.replace('..', ' to ')}" if len({p.unit for p in periods}) == 1 else ""


def own_intervals(released: Released) -> bool:
    """Whether every value was read off others, with an interval of its own."""
    rows, facts = released.tables["values"], released.statement.answer
    return bool(rows) and "low_95" in rows[0] and facts.histogram is None and facts.frequency is None


def error_sentence(released: Released, *, parts: int = 1) -> str:
    """How far off a release is, or each of its parts, in one sentence; bounds are rounded up."""
    statement, facts = released.statement, released.statement.answer
    error, kind = statement.error, kind_of(statement)
    if own_intervals(released):
        rows = counted_rows(released.tables["values"])
        if (parts > 1 and facts.hidden_groups is None) or (len(rows) > 1 and facts.share_half_width_95 is not None):
            return "Each value comes with its own interval, which holds the true value with probability 95 %."
        if len(rows) > 1:
            return "Each value comes with its own interval: all of them hold the true values with probability 95 %."
        known = bounds_of(facts, released.tables)
        if known.low is None or known.high is None or not np.isfinite([*known.low, *known.high]).all():
            return "The interval holds the true value with probability 95 %."
        unit = unit_of(facts, rows, kind.traits.of_shares)
        shown = between(float(known.low[0]), float(known.high[0]), unit).replace(" to ", " and ")
        return f"The true value lies between {shown} with probability 95 %."
    parted = facts.histogram is not None or facts.frequency is not None
    where = released.where
    if parted and error is not None and where is not None and base_space(where).geometry.equidistant:
        size = near(error, "%", digits=digits_of(statement))
        return f"About {size} of the records appear under another label than their own."
    if error is None:
        return ""
    if facts.distortion is not None and facts.frequency is None:
        return f"A report is about {near(error, statement.error_unit)} from its item on average."
    if kind.traits.per_value_error:
        shares = kind.traits.of_shares or facts.shares
        error = max(error, facts.half_width_95 or 0.0)  # a total is off by more than the mean beside it
        size = f"{at_most(100 * error)} percentage points" if shares else at_most(error, statement.error_unit)
        each = "Each value" if facts.outputs > 1 else "The value"
        return f"{each} is within {size} of the true one with probability 95 %."
    metres = statement.error_unit == "km" and error < 1.0
    unit, digits = "m" if metres else statement.error_unit, digits_of(statement)
    size = near(1000 * error if metres else error, unit, digits=digits)
    if not statement.error_unit:
        whole = f"The whole picture is off by about {size} (earth mover's distance)"
        alone = _in_parts(released.where, error, digits)
        if alone and len(set(alone)) == 1:
            return f"{whole}: {alone[0]} in one part of a record on average, or partly in each."
        return f"{whole}: {' or '.join(alone)} for a record on average, or partly each." if alone else f"{whole}."
    return f"On average, records appear about {size} from where they were (earth mover's distance)."


def _in_parts(space: Space | None, error: float, digits: int) -> list[str]:
    """What a distance of a product is in each part, if all of it were there; nothing for any other space.

    >>> from barrow.spaces import Circle, Product
    >>> _in_parts(Product([Circle.weekdays(), Circle.hours(2)], weights=["1/2", "1/2"]), 0.03, 2)
    ['0.21 days', '0.72 h']
    """
    parts = () if space is None else base_space(space).geometry.parts
    if not parts or not all(part.unit for part, _ in parts):
        return []
    return [near(error * part.diameter / float(weight), part.unit, digits=digits) for part, weight in parts]


def verdict(probability: float) -> str:
    """What a 50 % guess that can become so much means, in a word or three.

    >>> verdict(0.52), verdict(0.983)
    ('hardly', 'yes, almost surely')
    """
    return next(words for most, words in _VERDICTS if probability <= most)


def glance(releases: Sequence[Released], learnt: Sequence[Learnt]) -> list[tuple[str, str]]:
    """Questions that a member of the public asks, with their answers."""
    first = releases[0].statement
    rows = []
    small = [entry for entry in learnt if not entry.worst]
    if small:
        texts = [f"If {e.words}: {verdict(e.probability)}, at most **{percent_up(e.probability)}**." for e in small]
        rows.append(("Can anyone detect a change in one person's data?", _guess(texts[0]) + " ".join(["", *texts[1:]])))
    elif first.alpha is not None:
        rows.append(
            ("Can anyone detect a small change?", "The smaller a change in one person's data, the better it is hidden.")
        )
    delta = max(r.statement.delta for r in releases)
    extra = f"; δ = {at_most(delta)} is added to it" if delta else ""
    worst = learnt[-1].probability
    answer = f"{verdict(worst)[:1].upper()}{verdict(worst)[1:]}: a 50 % guess becomes at most **{percent_up(worst)}**"
    rows.append(
        (
            "Can anyone detect that everything about one person had been different?",
            f"{answer}, even for somebody who knows everybody else's data{extra}.",
        )
    )
    common = [text for text in first.not_hidden if all(text in r.statement.not_hidden for r in releases)]
    read = [f"which periods are read: {periods_of(releases)[2:]}"] if len(releases) > 1 and periods_of(releases) else []
    hidden = "; ".join([*read, *common])
    rows.append(("What is not hidden?", f"{hidden[:1].upper()}{hidden[1:]}."))
    rows.append(("Who saw the raw data?", _MODELS[first.model.value]))
    return rows


def _guess(text: str) -> str:
    """The first bound says what it bounds."""
    return text.replace("at most", "a 50 % guess becomes at most", 1)
