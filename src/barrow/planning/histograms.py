"""Every mechanism that can give a histogram, with the EMD error to expect after decoding, from public numbers only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms import FrequencyEstimator, item_wise, tree_histogram
from barrow.mechanisms.histograms import histogram_noise
from barrow.mechanisms.pyramid_errors import map_distance, predicted_map_error
from barrow.numerics import Exact
from barrow.planning.candidates import Candidate, best_first
from barrow.planning.items import ItemChoice, choose_items
from barrow.planning.references import Reference, reference_distribution
from barrow.planning.tree import decoded_error
from barrow.privacy.definitions import positive, probability
from barrow.randomisers import randomiser_from_spec
from barrow.spaces import Clustered, Space
from barrow.spaces.base import Floats

DRAWS = 12
"""Simulated releases behind each predicted error."""
_FEW_DRAWS, _MANY_OUTPUTS = 4, 500
"""Errors of many outputs average out, so that few draws are enough."""


@dataclass(frozen=True)
class HistogramQuestion:
    """What a histogram is asked for with: public numbers only.

    Attributes:
        space: The public space.
        delta: The probability with which guarantees may fail.
        users: n.
        items: m, where it is public and the same for all; None otherwise.
        model: ``"central"`` or ``"local"``.
        reference: The distribution at which decoded errors are predicted.
        noise: The additive noise to use.
        decode: ``"auto"``, or ``"nearest"``, which has a proven bound.

    >>> from barrow.spaces import Discrete
    >>> HistogramQuestion.of(Discrete(["a", "b"]), users=10).model
    'central'
    """

    space: Space
    delta: Fraction
    users: int
    items: int | None
    model: str
    reference: Floats
    noise: str
    decode: str = "auto"

    @classmethod
    def of(
        cls,
        space: Space,
        delta: Exact = 0,
        *,
        users: int,
        items: int | None = None,
        model: str = "central",
        reference: Reference = "auto",
        noise: str = "auto",
        decode: str = "auto",
    ) -> HistogramQuestion:
        """The question, checked."""
        if model not in ("central", "local", "shuffle"):
            raise ParameterError(
                f"model is {model!r}.", allowed="'central', 'shuffle' or 'local'", fix="model='central'"
            )
        guess = reference_distribution(space, reference)
        return cls(space, probability(delta), users, items, model, guess, noise, decode)

    @property
    def blind_error(self) -> float:
        """The EMD between the even histogram and the reference: what a guess without any data errs by."""
        even = np.full(self.space.items, 1.0 / self.space.items)
        return map_distance(self.space, even, self.reference)[0] * self.space.diameter


def histogram_candidates(
    question: HistogramQuestion, alpha: Exact, *, only: str = "auto"
) -> tuple[list[Candidate], dict[str, str]]:
    """All mechanisms that can answer, best first, and why each of the others cannot.

    Errors are earth mover's distances in the space's units, after decoding, at the question's reference; they come from
    simulations with fixed seeds.

    Args:
        question: What is asked.
        alpha: Privacy loss per unit of EMD.
        only: The name of the one candidate that is wanted.

    >>> from barrow.spaces import Clustered
    >>> asked = HistogramQuestion.of(Clustered.grid(5, 4, r=0.02), "1e-9", users=1000, items=100)
    >>> found, cannot = histogram_candidates(asked, 25)
    >>> [c.name for c in found], sorted(cannot)
    (['tree', 'frequency', 'paper', 'cells'], ['pyramid'])
    """
    rate = positive(alpha, "alpha")
    made: list[Candidate] = []
    cannot: dict[str, str] = {}
    builders: dict[str, Callable[[HistogramQuestion, Fraction], Candidate]] = (
        {"tree": _local_tree, "frequency": _frequency, "paper": _paper}
        if question.model != "central"
        else {"tree": _additive("tree"), "pyramid": _additive("pyramid"), "cells": _additive("cells"),
              "frequency": _frequency, "paper": _paper}
    )  # fmt: skip
    for name in builders if only == "auto" else [only]:
        if name not in builders:
            raise ParameterError(
                f"The mechanism {name!r} is not known here.",
                allowed="'auto', " + ", ".join(map(repr, builders)),
                fix="mechanism = 'auto'",
            )
        try:
            made.append(builders[name](question, rate))
        except ParameterError as error:
            if only != "auto":
                raise
            cannot[name] = error.problem.rstrip(".")
    if not made:
        raise ParameterError(
            "No mechanism can give this histogram with a valid guarantee.",
            allowed="a central model, or a delta above 0 with a public number of items for each person",
            fix="model='central'",
        )
    return best_first(made), cannot


def _additive(kind: str) -> Callable[[HistogramQuestion, Fraction], Candidate]:
    words = {
        "tree": "noise on every edge of the tree, decoded along it",
        "pyramid": "noise on densities at several scales, decoded to one map",
        "cells": "noise on every item's share",
    }

    def build(question: HistogramQuestion, alpha: Fraction) -> Candidate:
        space = question.space
        made = histogram_noise(
            space, kind, alpha, question.delta, users=question.users, noise=question.noise, how=question.decode
        )
        draws = DRAWS if made.query.dimension < _MANY_OUTPUTS else _FEW_DRAWS
        found = predicted_map_error(space, made.matrix, made.noise, made.decode, question.reference, draws)
        undecoded = made.undecoded
        size = space.diameter
        return Candidate(
            kind,
            f"{words[kind]} ({made.noise.name})",
            price(made.event),
            found.mean * size,
            None if undecoded is None else undecoded * size,
            made.upper * size,
            "" if found.method == "exact" else "its error is an upper bound along a tree of the cells",
            made,
        )

    return build


def _local_tree(question: HistogramQuestion, alpha: Fraction) -> Candidate:
    if question.model == "shuffle":
        raise ParameterError("Noise on edges has no gain from shuffling; it is local or central.")
    made = tree_histogram(question.space, alpha, question.delta, users=question.users, model="local")
    found, size = decoded_error(made, reference=question.reference, repeats=DRAWS), question.space.diameter
    return Candidate(
        "tree",
        f"each person's noise on every edge of the tree, decoded along it ({made.noise.name})",
        price(made.event),
        found.mean * size,
        made.undecoded_error * size,
        min(made.nearest_error_upper, 1.0) * size,
        "",
        made,
    )


def _items(question: HistogramQuestion) -> int:
    if question.items is None:
        raise ParameterError(
            "It needs people who all hold the same public number of items, and that number is not given."
        )
    return question.items


@lru_cache(maxsize=16)
def _calibrated(space: Space, alpha: Fraction, delta: Fraction, items: int, users: int, model: str) -> ItemChoice:
    """One calibration for all candidates that need it: it takes a second."""
    return choose_items(space, alpha, delta, items=items, users=None if model == "local" else users, model=model)


def _frequency(question: HistogramQuestion, alpha: Fraction) -> Candidate:
    choice = _calibrated(question.space, alpha, question.delta, _items(question), question.users, question.model)
    made = FrequencyEstimator(choice.mechanism, question.users)
    words = f"every item randomised ({choice.mechanism.randomiser.description}), priced by {choice.guarantee.method}"
    return _estimated("frequency", words, made, question)


def _paper(question: HistogramQuestion, alpha: Fraction) -> Candidate:
    """The paper's own: GKRR with the alpha0 of its Theorem 4.4, safely inverted."""
    if not isinstance(question.space, Clustered):
        raise ParameterError("The paper's histogram is for clustered spaces.")
    n = None if question.model == "local" else question.users
    choice = _calibrated(question.space, alpha, question.delta, _items(question), question.users, question.model)
    methods = choice.calibration.methods
    alpha0 = max(methods.get("theorem") or 0.0, float(choice.calibration.composition))
    randomiser = randomiser_from_spec(question.space, Fraction(alpha0), None)
    made = item_wise(randomiser, items=_items(question), users=n, model=question.model, delta=question.delta)
    words = "every item randomised (GKRR) with the alpha0 of the paper's Theorem 4.4"
    return _estimated("paper", words, FrequencyEstimator(made, question.users), question)


def _estimated(name: str, words: str, made: FrequencyEstimator, question: HistogramQuestion) -> Candidate:
    return Candidate(
        name,
        words,
        price(made.itemwise.event),
        made.decoded_error(question.reference, draws=DRAWS),
        made.predicted_error(question.reference),
        made.decoded_upper,
        f"every person must hold exactly {made.itemwise.items:,} items",
        made,
    )
