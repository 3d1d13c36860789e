"""Every mechanism that can give a histogram, with the EMD error to expect after decoding, from public numbers only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms import FrequencyEstimator, item_wise
from barrow.mechanisms.histograms import HistogramNoise, histogram_noise
from barrow.mechanisms.pyramid_errors import map_distance
from barrow.planning.candidates import Candidate, best_first
from barrow.planning.items import ItemChoice, choose_items
from barrow.planning.simulate import simulate
from barrow.planning.terms import Terms
from barrow.privacy import Model
from barrow.randomisers import randomiser_from_spec
from barrow.spaces import Clustered, Space
from barrow.spaces.base import Floats

WORDS = {
    "tree": "noise on every edge of the tree, decoded along it",
    "pyramid": "noise on densities at several scales, decoded to one map",
    "cells": "noise on every item's share",
}


@dataclass(frozen=True)
class HistogramTarget:
    """What a histogram is wanted for: public numbers only.

    Attributes:
        terms: What must be kept.
        reference: The distribution at which decoded errors are predicted.
        items: m, where it is public and the same for all; None otherwise.
        noise: The additive noise to use.
        decode: ``"auto"``, or ``"nearest"``, which has a proven bound.

    >>> from barrow.spaces import Discrete
    >>> terms = Terms(Discrete(["a", "b"]), 10, given=Fraction(5))
    >>> HistogramTarget(terms, np.array([0.5, 0.5])).uniform_guess
    0.0
    """

    terms: Terms
    reference: Floats
    items: int | None = None
    noise: str = "auto"
    decode: str = "auto"

    @property
    def uniform_guess(self) -> float:
        """The EMD between the uniform histogram and the reference: what a guess without any data errs by."""
        space = self.terms.space
        uniform = np.full(space.items, 1.0 / space.items)
        return map_distance(space, uniform, self.reference)[0] * space.diameter


def histogram_candidates(target: HistogramTarget, *, only: str = "auto") -> tuple[list[Candidate], dict[str, str]]:
    """All mechanisms that can answer, best first, and why each of the others cannot.

    Errors are earth mover's distances in the space's units, after decoding, at the target's reference; they come from
    simulations with fixed seeds.

    Args:
        target: What is wanted.
        only: The name of the one candidate that is wanted.

    >>> from barrow.planning import reference_distribution
    >>> space = Clustered.grid(5, 4, r=0.02)
    >>> terms = Terms(space, 1000, given=Fraction(25), delta=Fraction(1, 10**9))
    >>> found, cannot = histogram_candidates(HistogramTarget(terms, reference_distribution(space), 100))
    >>> [c.name for c in found], sorted(cannot)
    (['tree', 'frequency', 'paper', 'cells'], ['pyramid'])
    """
    made: list[Candidate] = []
    cannot: dict[str, str] = {}
    additive = {kind: _additive(kind) for kind in WORDS}
    builders: dict[str, Callable[[HistogramTarget], Candidate]] = {
        **({} if target.terms.model is Model.SHUFFLE else additive),
        "frequency": _frequency,
        "paper": _paper,
    }
    for name in builders if only == "auto" else [only]:
        if name not in builders:
            raise ParameterError(
                f"The mechanism {name!r} is not known in the {target.terms.model.value} model.",
                allowed="'auto', " + ", ".join(map(repr, builders)),
                fix="mechanism = 'auto'",
            )
        try:
            made.append(builders[name](target))
        except ParameterError as error:
            if only != "auto":
                raise
            cannot[name] = error.problem.rstrip(".")
    if not made:
        raise ParameterError(
            "No mechanism can give this histogram: "
            + "; ".join(f"{name}: {why}" for name, why in cannot.items())
            + ".",
            allowed="a delta above 0 and a public number of items for each person (items = 30), or another model",
            fix="items = 30 in the question, and a delta such as 1e-9",
        )
    return best_first(made), cannot


def _additive(kind: str) -> Callable[[HistogramTarget], Candidate]:
    def build(target: HistogramTarget) -> Candidate:
        terms, made = target.terms, kept_noise(target, kind)
        found, size = simulate(made, target.reference), terms.space.diameter
        whose = "each person's " if terms.model is Model.LOCAL else ""
        return Candidate(
            kind,
            f"{whose}{WORDS[kind]} ({made.noise.name})",
            price(made.event),
            found.mean,
            None if made.undecoded is None else made.undecoded * size,
            made.upper * size,
            "" if found.method == "exact" else "its error is an upper bound along a tree of the cells",
            made,
        )

    return build


def kept_noise(target: HistogramTarget, kind: str) -> HistogramNoise:
    """The noise of one kind with the largest alpha that keeps the terms: what the answer cannot show costs nothing.

    >>> from barrow.planning import reference_distribution
    >>> from barrow.policy import Promise
    >>> from barrow.spaces import Line
    >>> line = Line(0, 10, step=1)
    >>> terms = Terms(line, 1000, (Promise("all", "anywhere", "1"),))
    >>> made = kept_noise(HistogramTarget(terms, reference_distribution(line)), "cells")
    >>> float(terms.alpha), round(float(made.event.alpha), 6)
    (1.0, 10.0)
    """
    terms = target.terms

    def at(alpha: Fraction) -> HistogramNoise:
        return histogram_noise(
            terms.space,
            kind,
            alpha,
            terms.delta,
            users=terms.users,
            model=terms.model.value,
            noise=target.noise,
            how=target.decode,
        )

    made = at(terms.alpha)
    larger = terms.alpha_for(Fraction(getattr(made.event, "range_ratio", None) or 1))
    if larger <= terms.alpha:
        return made
    better = at(larger)
    # Scales are chosen anew at another alpha, and with them the ratio: only what keeps the terms is taken.
    return better if terms.alpha_for(Fraction(getattr(better.event, "range_ratio", None) or 1)) >= larger else made


def _items(target: HistogramTarget) -> int:
    if target.items is None:
        raise ParameterError(
            "It needs people who all hold the same public number of items, and that number is not given."
        )
    return target.items


@lru_cache(maxsize=16)
def _calibrated(space: Space, alpha: Fraction, delta: Fraction, items: int, users: int, model: str) -> ItemChoice:
    """One calibration for all candidates that need it: it takes a second."""
    return choose_items(space, alpha, delta, items=items, users=None if model == "local" else users, model=model)


def _choice(target: HistogramTarget) -> ItemChoice:
    terms = target.terms
    return _calibrated(terms.space, terms.alpha, terms.delta, _items(target), terms.users, terms.model.value)


def _frequency(target: HistogramTarget) -> Candidate:
    choice = _choice(target)
    made = FrequencyEstimator(choice.mechanism, target.terms.users)
    words = f"every item randomised ({choice.mechanism.randomiser.description}), priced by {choice.guarantee.method}"
    return _estimated("frequency", words, made, target)


def _paper(target: HistogramTarget) -> Candidate:
    """The paper's own: GKRR with the alpha0 of its Theorem 4.4, safely inverted."""
    terms = target.terms
    if not isinstance(terms.space, Clustered):
        raise ParameterError("The paper's histogram is for clustered spaces.")
    n = None if terms.model is Model.LOCAL else terms.users
    choice = _choice(target)
    methods = choice.calibration.methods
    alpha0 = max(methods.get("theorem") or 0.0, float(choice.calibration.composition))
    randomiser = randomiser_from_spec(terms.space, Fraction(alpha0), None)
    made = item_wise(randomiser, items=_items(target), users=n, model=terms.model.value, delta=terms.delta)
    words = "every item randomised (GKRR) with the alpha0 of the paper's Theorem 4.4"
    return _estimated("paper", words, FrequencyEstimator(made, terms.users), target)


def _estimated(name: str, words: str, made: FrequencyEstimator, target: HistogramTarget) -> Candidate:
    return Candidate(
        name,
        words,
        price(made.itemwise.event),
        simulate(made, target.reference).mean,
        made.predicted_error(target.reference),
        made.decoded_upper,
        f"every person must hold exactly {made.itemwise.items:,} items",
        made,
    )
