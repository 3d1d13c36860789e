"""From a study to what the page shows: alpha, odds, error, pictures, the file, the commands and the statement."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import Any, cast

from barrow.numerics import Exact
from barrow.numerics.exact import PERCENT, at_most
from barrow.planning.candidates import BaselineComparison
from barrow.planning.notes import Severity, texts
from barrow.planning.terms import Terms
from barrow.promises import Model
from barrow.questions import Answer, Question
from barrow.questions.cache import Cache, query_ready
from barrow.questions.comparing import comparison_of
from barrow.questions.density import Density
from barrow.questions.estimates import estimate, widest
from barrow.questions.histogram import Histogram
from barrow.questions.linear import Linear, ratio_of
from barrow.questions.plan_text import notes_of, plan_lines
from barrow.questions.prices import charge
from barrow.questions.question import is_resolved
from barrow.render import figures as fig
from barrow.render.plots import answer_belief
from barrow.render.report.accuracy import NARROW, accuracy_of
from barrow.spaces import Space, grids, parse_distance
from barrow.study import Study
from barrow.study.file import study_text
from barrow.study.prose import statement_text
from barrow.study.statement import make_statement
from barrow.web.example import Pictured
from barrow.web.request import DesignRequest, at
from barrow.web.words import alarmed, grid_words, guess, promise_rows

_AT_ONCE, _SIMULATED_AT_ONCE = 700, 8
"""Questions are planned at once on spaces of up to so many items; less where several mechanisms are simulated."""


@singledispatch
def ready(question: Question, space: Space) -> bool:
    """Whether it is planned at once."""
    return space.size is not None and space.items <= _AT_ONCE


@ready.register(Linear)
def _(question: Linear, space: Space) -> bool:
    """The space is small, or its query was made before."""
    small = space.size is not None and space.items <= _AT_ONCE
    return small or query_ready(question, space.records_space)


@ready.register(Histogram)
def _(question: Histogram, space: Space) -> bool:
    return space.size is not None and space.items <= _SIMULATED_AT_ONCE


@singledispatch
def preview_items(question: Question, space: Space) -> int:
    """How many items the grid of a preview has."""
    return 400


@preview_items.register(Histogram)
def _(question: Histogram, space: Space) -> int:
    """More along a tree than of cells."""
    return 2000 if space.geometry.has_tree else 64


@singledispatch
def smoothed_over(question: Question) -> Exact | None:
    """The distance over which it smooths, as it was typed; None where it does not."""
    return None


@smoothed_over.register(Density)
def _(question: Density) -> Exact | None:
    return question.bandwidth if is_resolved(question) else None


@singledispatch
def previewed(question: Question, model: Model, finer: bool) -> bool:
    """Whether a preview can stand in for the plan on this grid, or on one that is ``finer`` than its own."""
    return finer


@previewed.register(Linear)
def _(question: Linear, model: Model, finer: bool) -> bool:
    """User-level DP costs as much on every grid, and a preview is one of EMD-DP."""
    return finer and question.definition != "user_level"


@previewed.register(Histogram)
def _(question: Histogram, model: Model, finer: bool) -> bool:
    """A mechanism that takes no time to simulate stands in for the choice of a curator, on any grid."""
    return question.mechanism == "auto" and question.items is None and model is Model.CENTRAL


@singledispatch
def preview(question: Question, terms: Terms, space: Space) -> Answer:
    """A plan on ``space`` with the alpha of ``terms``."""
    return question.plan(_at_alpha(terms, space, terms.alpha))


@preview.register(Linear)
def _(question: Linear, terms: Terms, space: Space) -> Answer:
    """With the alpha that ``terms`` leave to a query of its range."""
    ratio = ratio_of(question.plan(_at_alpha(terms, space, Fraction(1))))
    return question.plan(_at_alpha(terms, space, terms.alpha_for(ratio)))


@preview.register(Histogram)
def _(question: Histogram, terms: Terms, space: Space) -> Answer:
    """By a mechanism that takes no time to simulate."""
    request = replace(question, mechanism="tree" if space.geometry.has_tree else "cells", definition="emd")
    return request.plan(_at_alpha(terms, space, terms.alpha))


def _at_alpha(terms: Terms, space: Space, alpha: Fraction) -> Terms:
    """The same people on another space, with an alpha in place of promises."""
    return replace(terms, space=space, promises=(), given=alpha, fraction=Fraction(1))


_PLANS: Cache[Answer] = Cache(32)
_WITHIN = 5.0
"""In a preview, snapping moves records by at most this part of the distance over which a question smooths."""


@dataclass(frozen=True, eq=False)
class Design:
    """What is shown for one question of a study: by its own plan, or quickly by that of a coarser grid."""

    request: DesignRequest
    exact: bool = True
    width: int = 720

    @cached_property
    def plan(self) -> Answer:
        """The plan of the question; that of a preview has the study's own alpha, on a coarser grid."""
        study, question = self.request.study, self.request.question
        with at(f"question-{self.request.looked}"):
            key = _key(self.request, self.exact)
            return _PLANS.get(key, lambda: study.plan(question.label) if self.exact else self._preview())

    def _preview(self) -> Answer:
        question = self.request.question
        terms = self.request.study.terms(question)
        return preview(question, terms, coarser(terms.space, question))

    @property
    def comparison(self) -> BaselineComparison | None:
        """User-level DP beside it, or EMD-DP where user-level DP is better; a preview has none."""
        return comparison_of(self.plan) if self.exact else None

    @property
    def sentence(self) -> str:
        """How it compares, in words."""
        result = self.comparison
        if result is None:
            return ""
        line = f"{result.line[0].upper()}{result.line[1:]}."
        better = "User-level DP keeps these promises with less error here, so that is what would be released. "
        return f"{better}{line}" if result.chosen.user_level else line

    @cached_property
    def charges(self) -> list[Fraction]:
        """What the release costs at each promise."""
        return [
            charge(self.plan, satisfied.share, satisfied.reach)
            for satisfied in self.plan.terms.satisfied or self.request.study.policy.satisfied
        ]

    @cached_property
    def pictured(self) -> Pictured:
        """The release of a public example population."""
        return Pictured(self.plan, whiskers=self.exact)

    def to_json(self) -> dict[str, Any]:
        """All that the page shows."""
        study = self.request.study
        told = notes_of(self.plan)
        sample = {"picture": self.pictured.figure(self.width), "belief": self.belief(), "accuracy": self.accuracy()}
        return {
            "exact": self.exact,
            "alpha": at_most(study.alpha, digits=4),
            "cost": cost(self.plan),
            "cards": self.cards(),
            "promises": promise_rows(study.policy, self.charges),
            "grid": grid_words(study.policy),
            "picture_words": f"{self.pictured.words.capitalize()}, with the noise that these promises ask for; no data "
            f"of yours are in it.{self.pictured.legend}",
            "sentence": self.sentence,
            "alarm": alarmed(self.plan),
            "warnings": [*texts(told, Severity.WARNING), *texts(told, Severity.UNPROVED)],
            "figures": {name: figure.svg for name, figure in sample.items() if figure is not None},
            "said": {name: figure.description for name, figure in sample.items() if figure is not None},
            "plan": plan_lines(self.plan) if self.exact else [],
            "statement": self.statement() if self.exact else "",
        }

    def cards(self) -> dict[str, dict[str, str]]:
        """The four numbers."""
        plan, space = self.plan, self.request.study.space
        unit = PERCENT if plan.question.traits.in_percent else plan.error_unit
        largest = f"{space.diameter:,.0f} {space.unit}" if space.unit else "largest distance"
        about = "" if self.exact else "≈ "
        alone = plan.question.traits.per_value_error
        error = f"± {at_most(widest(plan), unit)}" if alone else at_most(plan.error, unit)
        worst = guess(plan.worst_epsilon, float(plan.guarantee.definition.delta_at(1)))
        seen, guessed = self.pictured.standing_out, estimate(plan).guess
        if seen is not None:
            last = {"value": f"{about}{seen[0]:,} of {seen[1]:,}", "label": "places stand out from the noise"}
        elif guessed:
            last = {"value": f"{about}{at_most(guessed, unit)}", "label": "would be the error without any data"}
        else:
            last = {"value": f"{about}{self.spent}", "label": "of the promises is spent by this question"}
        return {
            "alpha": {"value": at_most(self.request.study.alpha, digits=4), "label": f"α, per {largest}"},
            "error": {
                "value": f"{about}{error}",
                "label": f"{plan.question.traits.error_words} {'of each value' if alone else 'from the truth'}",
            },
            "worst": {
                "value": f"{about}≤ {worst}".replace("≤ more than", ">"),
                "label": "a 50 % guess, at worst",
            },
            "seen": last,
        }

    @property
    def spent(self) -> str:
        """The share of the most costly promise that the question uses."""
        promised = [promise.epsilon for promise in self.request.study.promises]
        return at_most(max(c / e for c, e in zip(self.charges, promised, strict=True)), PERCENT)

    def belief(self) -> fig.Figure | None:
        """What anyone can learn about one person from this release."""
        study = self.request.study
        return answer_belief(self.plan, study.policy.satisfied, study.space, self.width, 1.0)

    def accuracy(self) -> fig.Figure | None:
        """The error against alpha, with other numbers of people and user-level DP beside it; as the report draws it."""
        _, pictures = accuracy_of(self.plan) if estimate(self.plan).scales else ([], [])
        return next((picture.narrow if self.width <= NARROW else picture.figure for picture in pictures), None)

    def statement(self) -> str:
        """The statement as it would read."""
        return statement_text(make_statement(self.request.study, self.plan))


def _key(request: DesignRequest, exact: bool) -> str:
    """What a plan depends on."""
    study, question = request.study, request.question
    groups = [grouping.to_spec() for grouping in study.groups]
    return f"{exact} {question!r} {study.terms(question).to_spec()} {study.calendar!r} {study.periods} {groups}"


def quick(request: DesignRequest) -> bool:
    """Whether the exact plan is there at once: it was made before, or takes no time."""
    study, question = request.study, request.question
    return ready(question, study.space) or _PLANS.ready(_key(request, True))


def can_preview(request: DesignRequest) -> bool:
    """Whether a coarser grid, or a mechanism that takes no time, can stand in for a while."""
    space, question = request.study.space, request.question
    return previewed(question, request.study.model, coarser(space, question) is not space)


def cost(plan: Answer) -> dict[str, str]:
    """What a release is confirmed by: its alpha, or its epsilon where it is user-level DP; rounded up."""
    if plan.alpha is None:
        return {"name": "ε", "value": at_most(plan.worst_epsilon, digits=4)}
    return {"name": "α", "value": at_most(plan.alpha, digits=4)}


def coarser(space: Space, question: Question) -> Space:
    """The same space with a grid of a few hundred cells, for a preview; itself where it has no grid to change.

    A question that smooths keeps a few cells within what it smooths over.
    """
    typed, most = smoothed_over(question), preview_items(question, space)
    widest = math.inf if typed is None else float(parse_distance(typed, space)) / _WITHIN
    while space.size is not None and most < space.items:
        result = grids.coarser(space, most)
        if result is None or result[0].snapping_upper <= widest:
            return space if result is None else result[0]
        most *= 2
    return space


def commands(study: Study, file: str) -> list[str]:
    """The same study on the command line."""
    name, words = shlex.quote(file), [f"barrow plan {shlex.quote(file)}", f"barrow compare {shlex.quote(file)}"]
    if study.ledger is not None:
        words.append(f"barrow ledger init {shlex.quote(study.ledger)} --study {name}")
    return [*words, f"barrow release {name}"]


def toml_of(study: Study, space: Mapping[str, Any] | None = None) -> str:
    """The study as a file; the space as the page wrote it, where that is plain data."""
    spec = study.to_spec()
    if space is not None and "call" not in space:
        spec["space"] = dict(space)
    return study_text(cast(Any, spec))
