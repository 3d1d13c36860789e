"""While somebody waits: whether a plan is there at once, and what can stand in for it; by the type of the question."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import singledispatch

from barrow.numerics import Exact
from barrow.planning.terms import Terms
from barrow.promises import Model
from barrow.questions import Answer, Question
from barrow.questions.cache import query_ready
from barrow.questions.density import Density
from barrow.questions.histogram import Histogram
from barrow.questions.linear import Linear, ratio_of
from barrow.spaces import Space

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
    return question.bandwidth if question.is_resolved else None


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
