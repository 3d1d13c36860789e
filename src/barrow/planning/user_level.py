"""Ordinary user-level DP as a competitor: every mechanism for an epsilon, with its error, the most accurate first.

Everything here is a function of public numbers. The candidates are releasable: each carries its mechanism, whose event
is priced as (epsilon, delta)-user-level DP.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms.histograms import HistogramNoise, histogram_noise
from barrow.mechanisms.user_level.histograms import user_level_histogram
from barrow.mechanisms.user_level.levels import has_groups, has_levels
from barrow.mechanisms.user_level.local import LocalSubsets, local_subsets
from barrow.numerics import Exact
from barrow.planning.candidates import Candidate, Errors, best_first, no_epsilon
from barrow.planning.histograms import HistogramTarget, noise_candidate
from barrow.planning.linear import local_budget
from barrow.planning.simulate import MOST_RANKED, Reference, reference_distribution, simulate
from barrow.planning.terms import Terms
from barrow.promises import Model, UserLevelRelease
from barrow.promises.definitions import positive, probability
from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.spaces.space import Floats

DRAWS, FEW_DRAWS, _FIRST_DRAWS = 12, 4, 3
"""Simulated releases behind each error; fewer where outputs are many, or decoding takes long."""
_MANY_OUTPUTS, _MANY_ITEMS, _CLOSE = 500, 2000, 1.3
_SETTLED = 0.02


def user_level_histograms(
    space: Space,
    epsilon: Exact,
    delta: Exact = 0,
    *,
    users: int,
    model: str = Model.CENTRAL,
    reference: Reference = "auto",
    decode: str = "auto",
    draws: int = DRAWS,
) -> list[Candidate]:
    """Every histogram under (epsilon, delta)-user-level DP, by its simulated EMD error after decoding, in units.

    The decoders are those of EMD-DP, and EMD-DP at the alpha whose worst case is epsilon is among the candidates.

    Args:
        space: The public space.
        epsilon: The privacy parameter of a user.
        delta: By how much more often a guess may be right than epsilon says; 0 leaves the pure ones.
        users: n, public.
        model: ``"central"``, ``"local"``, or ``"shuffle"``: local reports, amplified by shuffling.
        reference: The public distribution at which errors are simulated.
        decode: ``"auto"`` or ``"nearest"``.
        draws: How many releases are simulated.

    >>> from barrow.spaces import Clustered
    >>> result = user_level_histograms(Clustered.grid(5, 4, r=0.02), 1, users=1000)
    >>> [c.name for c in result], result[0].user_level, result[0].standard_error < result[0].error / 5
    (['levels', 'tree', 'cells'], True, True)
    """
    budget, slack = positive(epsilon, "epsilon"), probability(delta)
    guess = reference_distribution(space, reference)
    if model == Model.CENTRAL:
        built = _central(space, budget, slack, users, decode)
        return best_first([_simulated(name, each, guess, draws) for name, each in built])
    names = ["subset", *(["subset-levels"] if has_levels(space) else [])]
    if model == Model.LOCAL and space.geometry.has_tree:
        names.append("tree")
    reported = [(name, _reports(space, name, budget, slack, users, model)) for name in names]
    return best_first([_simulated(name, each, guess, draws) for name, each in reported])


def _reports(
    space: Space, name: str, budget: Fraction, slack: Fraction, users: int, model: str
) -> LocalSubsets | HistogramNoise:
    """What people report by themselves: a set of groups, flat or by levels, or edges of a tree."""
    if name in ("subset", "subset-levels"):
        own, event = local_budget(budget, slack, users, model)
        return local_subsets(space, own, users=users, levels=name == "subset-levels", event=event)
    # EMD-DP itself at alpha = epsilon: distances are at most 1, so it is user-level DP at epsilon.
    built = histogram_noise(space, name, budget, slack, users=users, model=Model.LOCAL)
    event = UserLevelRelease(budget, delta=0 if built.noise.p is not None else slack, model=Model.LOCAL)
    return replace(built, noise=replace(built.on_outputs, event=event))


def reported_user_level(terms: Terms, name: str, noise: str = "auto") -> LocalSubsets | HistogramNoise:
    """What people report under user-level DP at the largest epsilon that keeps every promise, by its name.

    >>> from barrow.promises import Promise
    >>> from barrow.spaces import Discrete
    >>> terms = Terms(Discrete(["a", "b"]), 100, promises=(Promise("all", "anywhere", 1),), model=Model.LOCAL)
    >>> reported_user_level(terms, "subset").name
    'subset selection'
    """
    if not terms.promises:
        raise no_epsilon()
    if name not in ("subset", "subset-levels", "tree") or terms.model is not Model.LOCAL:
        raise ParameterError(
            f"The mechanism {name!r} of user-level DP is not for reports that people make themselves.",
            allowed="'subset', 'subset-levels' or 'tree'",
            fix="mechanism = 'subset'",
        )
    slack = Fraction(0) if noise == "laplace" else terms.adding_delta
    return _reports(terms.space, name, min(terms.epsilons), slack, terms.users, terms.model)


def _central(
    space: Space, budget: Fraction, slack: Fraction, users: int, decode: str, only: str | None = None
) -> Iterator[tuple[str, HistogramNoise]]:
    inner = base_space(space)
    few, added = inner.items <= _MANY_ITEMS, inner is not space
    # A tree has levels of its own, or none that would help.
    flat = inner.geometry.has_tree and not inner.geometry.on_line
    levels = has_levels(inner) or (has_groups(inner) and not (flat and few))
    kinds = ["levels"] if levels else []
    if has_levels(inner) if added else inner.geometry.has_tree and (few or not has_groups(inner)):
        kinds.append("tree")
    if few or not levels:  # many single items lose to groups of them, and so do scales and long paths
        # Where noise is far below an item's share, scales were no better wherever measured, and take long to decode.
        scales = few and inner.geometry.places is not None and inner.items > _SETTLED * float(budget) * users
        kinds += ["cells", "multiscale"] if scales else ["cells"]
    for kind in kinds if only is None else [only]:
        try:
            built = [user_level_histogram(space, kind, budget, users=users, how=decode)]
            if slack:
                noises = user_level_histogram(space, kind, budget, slack, users=users, noise="gaussian", how=decode)
                built.append(noises)
        except ParameterError:
            continue  # this kind has no answer on this space
        yield kind, min(built, key=lambda each: each.noise.deviation * float(np.mean(each.factors)))


def _simulated(name: str, built: LocalSubsets | HistogramNoise, guess: Floats, draws: int) -> Candidate:
    """With simulated errors; reports of sets are decoded and compared with the pool they are about."""
    if isinstance(built, LocalSubsets):
        words, errors = f"user-level: {built.name}, one item of each person", simulate(built, guess, draws).errors
        return Candidate(name, words, price(built.event), mechanism=built, **errors._asdict())
    few = built.query.dimension >= _MANY_OUTPUTS or name == "multiscale"
    most = 1 if built.space.items > _MANY_ITEMS else FEW_DRAWS if few else draws
    return _additive(built, simulate(built, guess, min(draws, most), MOST_RANKED).errors)


def _additive(built: HistogramNoise, errors: Errors) -> Candidate:
    return noise_candidate(built, f"user-level: {built.family.user_level_words}", errors)


def alone_user_level(target: HistogramTarget, name: str, errors: Errors) -> Candidate:
    """The mechanism ``name`` at the largest epsilon that keeps every promise, with errors that were predicted of it."""
    terms = target.terms
    slack = Fraction(0) if target.noise == "laplace" else terms.adding_delta
    for _, built in _central(terms.space, min(terms.epsilons), slack, terms.users, target.decode, name):
        return _additive(built, errors)
    raise ParameterError(f"The mechanism {name!r} has no answer here.")


def released_user_level(
    target: HistogramTarget, epsilon: Fraction, rivals: Sequence[Candidate] = ()
) -> list[Candidate]:
    """The histograms of user-level DP at ``epsilon`` that a study can release, best first.

    Where people report themselves, every client plans: what is far behind the ``rivals`` of EMD-DP is known well enough
    by a few draws.

    >>> from barrow.planning.terms import Terms
    >>> from barrow.spaces import Line
    >>> line = Line(0, 32, step=1, cells=True)
    >>> target = HistogramTarget(Terms(line, 1000, given=Fraction(1)), reference_distribution(line))
    >>> released_user_level(target, Fraction(1))[0].user_level
    True
    """
    terms = target.terms
    if terms.model is Model.LOCAL and terms.space.items > _MANY_ITEMS:
        return []  # sets of so many groups take long to simulate, and every client plans for itself
    if terms.model is Model.SHUFFLE or target.noise not in ("auto", "laplace", "gaussian"):
        return []
    results = user_level_histograms(
        terms.space,
        epsilon,
        Fraction(0) if target.noise == "laplace" else terms.adding_delta,
        users=terms.users,
        model=terms.model,
        reference=target.reference,
        decode=target.decode,
        draws=_FIRST_DRAWS,
    )
    results = [candidate for candidate in results if isinstance(candidate.mechanism, HistogramNoise | LocalSubsets)]
    if not results or terms.space.items > _MANY_OUTPUTS:
        return results
    # A few draws say which may be the best, more how good they are.
    least = min(one.error for one in (results[0], *(rivals if terms.model is Model.LOCAL else ())))
    return best_first(
        [
            one.with_errors(simulate(one.mechanism, target.reference).errors) if one.error <= _CLOSE * least else one
            for one in results
        ]
    )
