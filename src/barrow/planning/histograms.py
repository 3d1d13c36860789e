"""Every mechanism that can give a histogram, with the EMD error to expect after decoding, from public numbers only.

What would take too long to plan is refused at once, with an estimate and a grid that can be planned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from zlib import crc32

import numpy as np

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms import FrequencyEstimator, item_wise
from barrow.mechanisms.edge_histogram import Spacing
from barrow.mechanisms.histograms import HISTOGRAMS, HistogramKind, HistogramNoise, NoiseTarget
from barrow.planning.candidates import ALIKE, Candidate, Errors, best_first
from barrow.planning.item_choice import ItemChoice, choose_items, most_accurate_items
from barrow.planning.node_spacing import best_spacing
from barrow.planning.references import QUICK, most_error
from barrow.planning.simulate import MOST_RANKED, Simulable, Simulated, draws_of, raw_error, simulate, stand_in
from barrow.planning.terms import Terms
from barrow.promises import Model
from barrow.randomisers import randomiser_from_spec
from barrow.spaces import Space
from barrow.spaces.grids import snapping_means
from barrow.spaces.space import Floats
from barrow.transport import measure_of
from barrow.transport.measure import MOST_MEASURED

_FEW_ITEMS, _SOME_ITEMS, _MANY_ITEMS, _MANY_OF_PRODUCTS = 300, 500, 2000, 50_000
_SURE, _MOST_DRAWS = 0.08, 40
"""Up to some items, the best has at most this relative standard error, or comes from so many releases."""
_SURVEY, _SURVEY_DRAWS = 6000, (10, 120)
"""Where aggregators add up: releases of the best times items, and their least and largest number. A survey is not
asked twice, so that its prediction has a relative standard error of about 2 %, whatever snapping adds to the error."""
_FIRST_DRAWS, _CLOSE = 3, 1.3
"""So many releases of each mechanism on small spaces, and more of those that are within this of the best."""
_PER_ITEM, _LONGEST, _QUICK = 1.2e-4, 120.0, 15.0
"""Seconds of planning and decoding a histogram for each item, the most that is begun, and what is proposed."""


@dataclass(frozen=True)
class HistogramTarget:
    """What a histogram is wanted for: public numbers only.

    Attributes:
        terms: What must be kept.
        reference: The distribution at which decoded errors are predicted.
        items: m, where it is public and the same for all; None otherwise.
        noise: The additive noise to use.
        decode: ``"auto"``, or ``"nearest"``, which has a proven bound.
        spacing: The spacing of a graph's nodes; ``"auto"`` for the one of least predicted error.
        report_values: In the local model: how many numbers a person's report may hold.

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
    spacing: Spacing = "auto"
    report_values: int = 20_000

    @property
    def uniform_guess(self) -> float:
        """The EMD between the uniform histogram and raw records at the reference: what a guess without data errs by."""
        space = self.terms.space
        uniform = np.full(space.items, 1.0 / space.items)
        decoded = measure_of(space, MOST_RANKED).distance(uniform - self.reference)
        return raw_error(decoded, float(self.reference @ snapping_means(space))) * space.diameter


def histogram_candidates(
    target: HistogramTarget, *, only: str = "auto", thorough: bool = True
) -> tuple[list[Candidate], dict[str, str]]:
    """All mechanisms that can answer, best first, and why each of the others cannot.

    Errors are earth mover's distances in the space's units, after decoding, at the target's reference; they come from
    simulations with fixed seeds.

    Args:
        target: What is wanted.
        only: The name of the one candidate that is wanted.
        thorough: Whether randomised items are calibrated, for seconds, where they would err more at any alpha0.

    >>> from barrow.spaces import Clustered
    >>> from barrow.planning.simulate import reference_distribution
    >>> space = Clustered.grid(5, 4, r=0.02)
    >>> terms = Terms(space, 1000, given=Fraction(25), delta=Fraction(1, 10**9))
    >>> result, cannot = histogram_candidates(HistogramTarget(terms, reference_distribution(space), 100))
    >>> [c.name for c in result], sorted(cannot)
    (['tree', 'frequency', 'paper', 'cells'], ['edges', 'multiscale'])
    """
    candidates: list[Candidate] = []
    cannot: dict[str, str] = {}
    additive = {name: _additive(kind) for name, kind in HISTOGRAMS.items()}
    itemwise = {"frequency": _frequency, "paper": _paper}
    builders: dict[str, Callable[[HistogramTarget], Candidate]] = {
        **({} if target.terms.model is Model.SHUFFLE else additive),
        **({} if target.terms.model is Model.AGGREGATED else itemwise),
    }
    if only == "auto":
        cannot.update(_hopeless(target))
        builders = {name: build for name, build in builders.items() if name not in cannot}
    for name in builders if only == "auto" else [only]:
        if name not in builders:
            raise ParameterError(
                f"The mechanism {name!r} is not known in the {target.terms.model.value} model.",
                allowed="'auto', " + ", ".join(map(repr, builders)),
                fix="mechanism = 'auto'",
            )
        if only == "auto" and not thorough and (why := _outdone(name, candidates, target)):
            cannot[name] = why
            continue
        try:
            candidates.append(builders[name](target))
        except ParameterError as error:
            if only != "auto":
                raise
            cannot[name] = error.problem.rstrip(".")
    if not candidates:
        alike = {why: [name for name in cannot if cannot[name] == why] for why in cannot.values()}
        reasons = "; ".join(f"{' and '.join(names)}: {why}" for why, names in alike.items())
        raise ParameterError(
            f"No mechanism can give this histogram: {reasons}.",
            allowed="a delta above 0 and a public number of items for each person (items = 30), or another model",
            fix="items = 30 in the question, and a delta such as 1e-9",
        )
    best, *others = best_first(_contest(candidates, target))
    return best_first([_settled(best, target), *others]), cannot


def _outdone(name: str, candidates: Sequence[Candidate], target: HistogramTarget) -> str | None:
    """Why randomised items need no calibration: at the largest alpha0 to hope for they err more than others."""
    terms = target.terms
    if name not in ("frequency", "paper") or not candidates or target.items is None or terms.model is not Model.CENTRAL:
        return None
    if name == "paper":
        return "Randomised items with a better accountant are listed too"
    try:
        result = most_accurate_items(terms.space, terms.alpha, terms.delta, items=target.items, users=terms.users)
    except ParameterError:
        result = None  # a calibration says why
    if result is None:
        return None
    error = simulate(FrequencyEstimator(result, terms.users), target.reference, _FIRST_DRAWS).mean
    best = min(candidate.error for candidate in candidates)
    if error <= ALIKE * best:
        return None
    return f"Even at the largest possible alpha0 its error is {error / best:.3g} times as much"


def _contest(candidates: list[Candidate], target: HistogramTarget) -> list[Candidate]:
    """A few draws tell who may win; those are simulated again with as many as a prediction needs."""
    if target.terms.space.items > _FEW_ITEMS:
        return candidates
    best = min(candidate.error for candidate in candidates)
    return [
        _simulated(candidate, target, None)
        if candidate.error <= _CLOSE * best and candidate.name != "paper"
        else candidate
        for candidate in candidates
    ]


def _settled(best: Candidate, target: HistogramTarget) -> Candidate:
    """With more releases where few of them differ much from each other; of what is quick to decode."""
    items = target.terms.space.items
    if target.terms.model is Model.AGGREGATED and items <= _MANY_ITEMS:
        fewest, most = _SURVEY_DRAWS
        return _simulated(best, target, min(most, max(fewest, _SURVEY // items)))
    if items > _SOME_ITEMS or best.name not in QUICK or not best.standard_error:
        return best
    wanted = min(_MOST_DRAWS, draws_of(items) * (best.standard_error / (_SURE * best.error)) ** 2)
    return best if wanted <= draws_of(items) else _simulated(best, target, math.ceil(wanted))


def _simulated(candidate: Candidate, target: HistogramTarget, draws: int | None) -> Candidate:
    return candidate.with_errors(simulate(candidate.mechanism, target.reference, draws).errors)


def _hopeless(target: HistogramTarget) -> dict[str, str]:
    """Mechanisms that take seconds to plan and lose to noise along edges wherever both were measured."""
    space, central = target.terms.space, target.terms.model is Model.CENTRAL
    line, grid = space.geometry.on_line, space.geometry.lattice
    if target.terms.model is Model.AGGREGATED or target.noise not in ("auto", "laplace"):
        return {}
    if space.items <= _FEW_ITEMS or (space.geometry.has_tree and not line):
        return {}
    deep = grid is not None and grid.dimension > 2  # where nodes have many edges scales may win
    lost = ["multiscale"] if central and not (deep and space.items <= _MANY_ITEMS) else []
    product = bool(space.geometry.parts)  # of few nodes with many edges each, single cells have less noise
    if space.items > (_MANY_OF_PRODUCTS if product else _MANY_ITEMS):
        lost += ["cells", *(["tree"] if line else [])]  # along a line it is the same noise at the finest spacing
    return {
        kind: f"On large spaces it is less accurate than noise along edges; mechanism = {kind!r} forces it"
        for kind in lost
    }


def _additive(kind: HistogramKind) -> Callable[[HistogramTarget], Candidate]:
    def build(target: HistogramTarget) -> Candidate:
        built = noise_within(target, kind.name)
        return additive_candidate(target, built, _predicted(built, target).errors)

    return build


def additive_candidate(target: HistogramTarget, built: HistogramNoise, errors: Errors) -> Candidate:
    """Additive noise of EMD-DP with its price, and errors that were predicted of it."""
    whose = "each person's " if target.terms.model is Model.LOCAL else ""
    words, upper = f"{whose}{built.family.words}", built.upper * target.terms.space.diameter
    return replace(noise_candidate(built, words, errors), upper=upper)


def noise_candidate(built: HistogramNoise, words: str, errors: Errors) -> Candidate:
    """Additive noise with its price, in some words."""
    undecoded = None if built.undecoded is None else built.undecoded * built.space.diameter
    named = f"{words} ({built.noise.name})"
    return Candidate(
        built.family.name, named, price(built.event), undecoded=undecoded, mechanism=built, **errors._asdict()
    )


def _predicted(
    mechanism: HistogramNoise, target: HistogramTarget, draws: int | None = None, most: int = MOST_MEASURED, **seed: int
) -> Simulated:
    """The simulated error: on a coarser grid where nodes are few and items very many."""
    space = target.terms.space
    if not mechanism.family.spaced or space.items <= most:
        return simulate(mechanism, target.reference, draws or _first_draws(space), most, **seed)
    here = stand_in(space, target.reference, mechanism.noise.dimension, most)
    if here.space is space:
        return simulate(mechanism, target.reference, draws, most, **seed)
    plan = mechanism.along_edges.plan
    alike = _noise_of(
        target, mechanism.family, mechanism.along_edges.alpha, plan.query.arguments.get("spacing"), here.space
    )
    result = simulate(alike, here.reference, draws, most, **seed)
    decoded = here.error(result.decoded / space.diameter)
    mean = raw_error(decoded, float(target.reference @ snapping_means(space)))
    return replace(result, mean=mean * space.diameter, decoded=decoded * space.diameter, method="coarser grid")


def error_at(target: HistogramTarget, built: Simulable, reference: Floats, draws: int) -> float:
    """The mean error of a mechanism of the target's if people hold ``reference``, in the space's units.

    The noise is another one at every reference: few draws that are lucky at one of them are not at all of them.
    """
    seed = crc32(np.ascontiguousarray(reference).tobytes())
    if isinstance(built, HistogramNoise):
        return _predicted(built, replace(target, reference=reference), draws, MOST_RANKED, seed=seed).mean
    return simulate(built, reference, draws, MOST_RANKED, seed).mean


def error_most(target: HistogramTarget, chosen: Candidate) -> float:
    """The largest predicted error of a candidate over several public references, in the space's units."""
    return most_error(
        chosen.name, target.terms.space, chosen.error, lambda at, draws: error_at(target, chosen.mechanism, at, draws)
    )


def _first_draws(space: Space) -> int | None:
    return _FIRST_DRAWS if space.items <= _FEW_ITEMS else None


def noise_within(target: HistogramTarget, kind: str, *, quick: bool = False) -> HistogramNoise:
    """The noise of one kind with the largest alpha that keeps the terms: what the answer cannot show costs nothing.

    Args:
        target: What is wanted.
        kind: The name of the mechanism.
        quick: Whether a spacing that is left open is guessed, and not simulated.
    """
    terms, family = target.terms, HISTOGRAMS[kind]
    family.check(terms.space)
    spacing = target.spacing if family.spaced else None

    def at(alpha: Fraction, spacing: Spacing, space: Space = terms.space) -> HistogramNoise:
        return _noise_of(target, family, alpha, spacing, space)

    most = target.report_values if terms.model is Model.LOCAL else None
    if isinstance(spacing, str):
        spacing = best_spacing(
            terms.space, target.reference, lambda here, gap: at(terms.alpha, gap, here), most, quick=quick
        )
    built = at(terms.alpha, spacing)
    if most is not None and built.noise.dimension > most:
        raise ParameterError(
            f"Each person's report would hold {built.noise.dimension:,} numbers.",
            allowed=f"at most report_values = {most:,}",
            fix=f"report_values = {built.noise.dimension}, or a coarser space",
        )
    larger = terms.alpha_for(Fraction(getattr(built.event, "range_ratio", None) or 1))
    if larger <= terms.alpha:
        return built
    better = at(larger, spacing)
    # Scales are chosen anew at another alpha, and with them the ratio: only what keeps the terms is taken.
    return better if terms.alpha_for(Fraction(getattr(better.event, "range_ratio", None) or 1)) >= larger else built


def _noise_of(
    target: HistogramTarget, kind: HistogramKind, alpha: Fraction, spacing: Spacing, space: Space
) -> HistogramNoise:
    terms = target.terms
    return kind.build(
        NoiseTarget(
            space,
            alpha,
            terms.delta,
            terms.users,
            terms.model,
            target.noise,
            target.decode,
            spacing,
            terms.mu_for,
            terms.parties,
        )
    )


def _items(target: HistogramTarget) -> int:
    if target.items is None:
        raise ParameterError("It needs the public number of items that everybody holds, which is not given.")
    return target.items


@lru_cache(maxsize=16)
def _calibrated(space: Space, alpha: Fraction, delta: Fraction, items: int, users: int, model: Model) -> ItemChoice:
    """One calibration for all candidates that need it: it takes a second."""
    alone = model is Model.LOCAL
    return choose_items(space, alpha, delta, items=items, users=None if alone else users, model=model)


def _choice(target: HistogramTarget) -> ItemChoice:
    terms = target.terms
    return _calibrated(terms.space, terms.alpha, terms.delta, _items(target), terms.users, terms.model)


def _frequency(target: HistogramTarget) -> Candidate:
    choice = _choice(target)
    estimator = FrequencyEstimator(choice.mechanism, target.terms.users)
    words = f"every item randomised ({choice.mechanism.randomiser.description}), priced by {choice.guarantee.method}"
    return _estimated("frequency", words, estimator, target)


def _paper(target: HistogramTarget) -> Candidate:
    """The paper's own: GKRR with the alpha0 of its Theorem 4.4, safely inverted."""
    terms = target.terms
    if "gkrr" not in terms.space.geometry.randomisers:
        raise ParameterError("The paper's histogram is for clustered spaces.")
    n = None if terms.model is Model.LOCAL else terms.users
    choice = _choice(target)
    methods = choice.calibration.methods
    alpha0 = max(methods.get("theorem") or 0.0, float(choice.calibration.composition))
    randomiser = randomiser_from_spec(terms.space, Fraction(alpha0), None)
    built = item_wise(randomiser, items=_items(target), users=n, model=terms.model, delta=terms.delta)
    words = "every item randomised (GKRR) with the alpha0 of the paper's Theorem 4.4"
    return _estimated("paper", words, FrequencyEstimator(built, terms.users), target)


def _estimated(name: str, words: str, estimator: FrequencyEstimator, target: HistogramTarget) -> Candidate:
    return Candidate(
        name,
        words,
        price(estimator.itemwise.event),
        undecoded=estimator.predicted_error(target.reference),
        upper=estimator.decoded_upper,
        note=f"every person must hold exactly {estimator.itemwise.items:,} items",
        mechanism=estimator,
        **simulate(estimator, target.reference, _first_draws(target.terms.space)).errors._asdict(),
    )


def check_size(space: Space) -> None:
    """Refuses histograms of so many items that planning and decoding them takes minutes."""
    seconds = space.records_space.items * _PER_ITEM  # an item for people without records takes no time
    if seconds <= _LONGEST:
        return
    grid = space.records_space
    part = max((part for part, _ in grid.geometry.parts), key=lambda part: part.items, default=grid)
    spec = part.to_spec()
    key = next((name for name in ("cell", "step") if isinstance(spec.get(name), int | float)), None)
    fix = "a coarser space"
    if key is not None:
        power = 1.0 / (2 if part.geometry.lattice is None else part.geometry.lattice.dimension)
        size = float(spec[key]) * (seconds / _QUICK) ** power
        fix = f"{key} = {float(f'{size:.2g}'):g} takes about {_QUICK:g} s"
    raise ParameterError(
        f"A histogram of {space.records_space.items:,} items takes about {seconds / 60.0:.0f} min to plan.",
        allowed=f"at most about {_LONGEST / _PER_ITEM:,.0f} items",
        fix=fix,
    )
