"""Every mechanism that can give a histogram, with the EMD error to expect after decoding, from public numbers only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms import FrequencyEstimator, item_wise, tree_histogram
from barrow.mechanisms.baselines import CentralHistogram
from barrow.mechanisms.histograms import histogram_noise, user_level_histogram_noise
from barrow.mechanisms.pyramid_errors import map_distance, predicted_map_error
from barrow.numerics import Exact
from barrow.planning.baselines import decoded_emd, histogram_baselines, predicted_error
from barrow.planning.candidates import Candidate, best_first
from barrow.planning.items import choose_items
from barrow.planning.references import GEOMETRY, Reference, reference_distribution
from barrow.planning.tree import decoded_error
from barrow.privacy.definitions import positive, probability
from barrow.randomisers import randomiser_from_spec
from barrow.spaces import TREES, Clustered, Space
from barrow.spaces.base import Floats

DRAWS = 12
"""Simulated releases behind each predicted error."""
_FEW_DRAWS, _MANY_OUTPUTS = 4, 500
"""Errors of many outputs average out, so that few draws are enough."""
_MOST_BASELINES = 3


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
        if kind == "cells" and made.noise.p in ("1", None):
            flat = CentralHistogram(space, question.users, made.noise)
            undecoded = predicted_error(flat, question.reference)
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


def _frequency(question: HistogramQuestion, alpha: Fraction) -> Candidate:
    n = None if question.model == "local" else question.users
    choice = choose_items(question.space, alpha, question.delta, items=_items(question), users=n, model=question.model)
    made = FrequencyEstimator(choice.mechanism, question.users)
    words = f"every item randomised ({choice.mechanism.randomiser.description}), priced by {choice.guarantee.method}"
    return _estimated("frequency", words, made, question)


def _paper(question: HistogramQuestion, alpha: Fraction) -> Candidate:
    """The paper's own: GKRR with the alpha0 of its Theorem 4.4, safely inverted."""
    if not isinstance(question.space, Clustered):
        raise ParameterError("The paper's histogram is for clustered spaces.")
    n = None if question.model == "local" else question.users
    choice = choose_items(question.space, alpha, question.delta, items=_items(question), users=n, model=question.model)
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


def user_level_histograms(question: HistogramQuestion, epsilon: Exact) -> list[Candidate]:
    """The most accurate histograms under ordinary user-level DP, by the error after decoding where that is known.

    >>> from barrow.spaces import Clustered
    >>> asked = HistogramQuestion.of(Clustered.grid(5, 4, r=0.02), "1e-9", users=1000, items=100)
    >>> user_level_histograms(asked, 1)[0].user_level
    True
    """
    space, size = question.space, question.space.diameter
    if question.model == "central" and not isinstance(space, TREES):
        return best_first(_user_level_maps(question, epsilon))
    found = histogram_baselines(
        space,
        epsilon,
        question.delta,
        users=question.users,
        items=question.items or 1,
        model="central" if question.model == "central" else "local",
        reference=question.reference,
    )
    decoded = []
    for candidate in found[:_MOST_BASELINES]:
        error = candidate.error
        if isinstance(space, TREES):
            reference = question.reference
            error = decoded_emd(candidate.mechanism, reference, items=question.items or 1000, draws=DRAWS)
        decoded.append(replace(candidate, error=error * size, undecoded=candidate.error * size))
    return best_first(decoded)


def _user_level_maps(question: HistogramQuestion, epsilon: Exact) -> list[Candidate]:
    """Where there is no tree: the same questions and decoders as under EMD-DP, with noise for user-level DP."""
    space, found = question.space, []
    for kind in ("cells", "pyramid") if isinstance(space, GEOMETRY) else ("cells",):
        made = user_level_histogram_noise(space, kind, epsilon, question.delta, users=question.users)
        error = predicted_map_error(space, made.matrix, made.noise, made.decode, question.reference, DRAWS)
        words = f"user-level: {'noise on every share' if kind == 'cells' else 'densities at several scales'}"
        name, size = f"user-level-{kind}", space.diameter
        found.append(
            Candidate(name, f"{words} ({made.noise.name})", price(made.event), error.mean * size, mechanism=made)
        )
    return found
