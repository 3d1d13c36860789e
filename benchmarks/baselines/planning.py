"""Histograms under ordinary user-level DP, calibrated exactly and ranked by their predicted EMD error.

A user of m items may report one of them with all of epsilon, or r of them, each with an epsilon0 whose r-fold
composition is (epsilon, delta). All are tried: a baseline that is weaker than it needs to be proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.accounting import price
from barrow.errors import ParameterError
from barrow.mechanisms.decoding.tree import edge_values, top_down_histogram
from barrow.noise.source import SeededSource
from barrow.numerics import Exact
from barrow.planning.candidates import Candidate, best_first
from barrow.planning.simulate import Reference, reference_distribution
from barrow.promises import UserLevelRelease
from barrow.promises.definitions import positive, probability
from barrow.spaces import Clustered, Space, Tree, edge_tree
from barrow.spaces.space import Floats
from barrow.transport import emd
from benchmarks.baselines import (
    HadamardResponse,
    HistogramBaseline,
    LocalChannel,
    LocalHistogram,
    ProjectiveResponse,
    RandomisedResponse,
    SubsetSelection,
    UnaryEncoding,
    gaussian_histogram,
    laplace_histogram,
    levelled_histogram,
    levelled_local_histogram,
    local_gaussian_histogram,
)
from benchmarks.baselines.edges import MEAN_ABSOLUTE
from benchmarks.baselines.homogeneous import homogeneous_delta_upper, homogeneous_epsilon0_lower

CHANNELS: dict[str, Callable[[int, Exact], LocalChannel]] = {
    "subset-selection": SubsetSelection,
    "projective": ProjectiveResponse,
    "unary": UnaryEncoding,
    "hadamard": HadamardResponse,
    "response": RandomisedResponse,
}
"""Local channels by name."""

_MOST_SET_ENTRIES = 10**9
"""Subset selection draws its reports entry by entry; projective geometry response, within a percent, does not."""
_SMALLEST = Fraction(1, 10**9)


def local_histogram(
    space: Space,
    epsilon: Exact,
    delta: Exact = 0,
    *,
    users: int,
    items: int,
    channel: str = "subset-selection",
    reports: int = 1,
    own_law: bool = True,
) -> LocalHistogram:
    """A local baseline: each user reports ``reports`` of their ``items`` items through a channel.

    Args:
        space: The public space.
        epsilon: The privacy parameter of all of a user's reports together.
        delta: The probability with which it may fail; used only where there are several reports.
        users: n, public.
        items: m, how many items each user holds; public.
        channel: One of ``CHANNELS``.
        reports: r, from 1 to m.
        own_law: Compose the channel's own law of losses, exactly; otherwise the worst law of its epsilon0
            (Kairouz-Oh-Viswanath), as the paper's baseline does.

    >>> from barrow.spaces import Clustered
    >>> space = Clustered.grid(10, 10, r=0.05)
    >>> one = local_histogram(space, "1.25", users=10**4, items=1000)
    >>> every = local_histogram(space, "1.25", "1e-9", users=10**4, items=1000, channel="hadamard", reports=1000)
    >>> round(one.predicted_emd(), 3), round(every.predicted_emd(), 3), round(every.channel.epsilon, 5)
    (0.199, 0.839, 0.01007)
    """
    if channel not in CHANNELS:
        raise ParameterError(f"channel is {channel!r}.", allowed=", ".join(map(repr, CHANNELS)), fix="channel='unary'")
    if isinstance(reports, bool) or not 1 <= reports <= items:
        raise ParameterError(f"reports is {reports!r}.", allowed="from 1 to the number of items", fix="reports=1")
    total, slack, make = positive(epsilon, "epsilon"), probability(delta), CHANNELS[channel]
    if reports == 1 or slack == 0:
        built = make(space.items, _enough(total / reports))
        return LocalHistogram(space, users, items, reports, built, UserLevelRelease(total, model="local"))
    worst = Fraction(homogeneous_epsilon0_lower(total, slack, reports))
    built = make(space.items, _enough(worst))
    if own_law:
        built = _calibrated(built, total, slack, reports)
    return LocalHistogram(space, users, items, reports, built, UserLevelRelease(total, delta=slack, model="local"))


def _calibrated(shape: LocalChannel, total: Fraction, slack: Fraction, reports: int) -> LocalChannel:
    """The channel of this shape with the largest epsilon0, and a last check of the one that was made."""
    value = Fraction(homogeneous_epsilon0_lower(total, slack, reports, active=shape.active_upper))
    for _ in range(8):
        built = shape.at(_enough(value))
        if homogeneous_delta_upper(value, reports, total, active=built.active) <= slack:
            return built
        value *= 1 - Fraction(1, 10**8)
    raise ParameterError(
        f"No epsilon0 was found at which {reports} reports keep delta = {float(slack):.3g}.",
        allowed="a larger delta",
        fix="reports=1",
    )


def histogram_baselines(
    space: Space,
    epsilon: Exact,
    delta: Exact = 0,
    *,
    users: int,
    items: int = 1,
    model: str = "central",
    reference: Reference = "uniform",
) -> list[Candidate]:
    """Every histogram baseline of ordinary user-level DP, with its predicted EMD error, the most accurate first.

    The error is that of the unbiased estimate; :func:`decoded_emd` says what is left of it after decoding.

    Args:
        space: The public space.
        epsilon: The privacy parameter of a user.
        delta: The probability with which it may fail; 0 leaves the pure ones.
        users: n, public.
        items: m, how many items each user holds; public.
        model: ``"local"`` or ``"central"``.
        reference: A public distribution at which errors are predicted.

    >>> from barrow.spaces import Clustered
    >>> space = Clustered.grid(10, 10, r=0.05)
    >>> result = histogram_baselines(space, "1.25", "1e-9", users=10**4, items=1000, model="local")
    >>> result[0].name, round(result[0].error, 3)
    ('subset-selection-levels', 0.109)
    >>> [c.name for c in histogram_baselines(space, "1.25", "1e-9", users=10**4)]
    ['laplace-levels', 'laplace-histogram', 'gaussian-levels', 'gaussian-histogram']
    """
    if model not in ("local", "central"):
        raise ParameterError(f"model is {model!r}.", allowed="'local' or 'central'", fix="model='central'")
    slack, guess = probability(delta), reference_distribution(space, reference)
    if model == "central":
        built: dict[str, Any] = {"laplace-histogram": laplace_histogram(space, epsilon, users=users)}
        if slack:
            built["gaussian-histogram"] = gaussian_histogram(space, epsilon, slack, users=users)
        if _has_levels(space):
            built["laplace-levels"] = levelled_histogram(space, epsilon, users=users)
            if slack:
                built["gaussian-levels"] = levelled_histogram(space, epsilon, slack, users=users, noise="gaussian")
    else:
        built = _local(space, epsilon, slack, users, items, guess)
    return best_first([_candidate(name, each, guess) for name, each in built.items()])


def predicted_error(baseline: HistogramBaseline, reference: Floats) -> float:
    """The expected EMD error of the unbiased estimate; where the space is no tree, an upper bound by total variation.

    >>> from barrow.spaces import Circle
    >>> built = laplace_histogram(Circle(4, step=1), 1, users=1000)
    >>> round(predicted_error(built, np.full(4, 0.25)), 4)
    0.0039
    """
    if baseline.space.geometry.has_tree:
        return baseline.predicted_emd(reference)
    return float(0.5 * MEAN_ABSOLUTE * np.sqrt(baseline.variances(reference)).sum())


def decoded_emd(
    baseline: HistogramBaseline, reference: Reference = "uniform", *, items: int = 1000, draws: int = 50, seed: int = 1
) -> float:
    """The mean EMD error after decoding along the tree to a histogram, over simulated draws.

    Args:
        baseline: On a tree, clustered, discrete or line space.
        reference: A public distribution; users are taken to hold it, up to rounding.
        items: How many items each user holds in the simulation.
        draws: How many simulated releases.
        seed: Of the simulation.

    >>> from barrow.spaces import Clustered
    >>> built = laplace_histogram(Clustered.grid(3, 2, r=0.1), 1, users=100)
    >>> decoded_emd(built, draws=5) < 2 * built.predicted_emd()
    True
    """
    space = baseline.space
    shares = reference_distribution(space, reference)
    held = np.floor(shares * (baseline.users * items)).astype(np.int64)
    held[int(np.argmax(held))] += baseline.users * items - int(held.sum())
    truth, source = held / held.sum(), SeededSource(seed)
    tree = edge_tree(space)
    variances = np.maximum(baseline.edge_variances(truth) * tree.lengths**2, 1e-300)
    errors = []
    for _ in range(draws):
        values = baseline.estimate_pooled(held, source=source).values
        errors.append(
            float(emd(space, top_down_histogram(space, edge_values(space, values), variances=variances), truth))
        )
    return float(np.mean(errors))


def _local(space: Space, epsilon: Exact, slack: Fraction, users: int, items: int, guess: Floats) -> dict[str, Any]:
    built: dict[str, Any] = {}
    several = _best_reports(space, epsilon, slack, users, items, guess)
    for name in CHANNELS:
        for reports in sorted({1, several}):
            try:
                result = local_histogram(space, epsilon, slack, users=users, items=items, channel=name, reports=reports)
                result.variances(guess)
            except ParameterError:
                continue  # a table of this channel would be too large, or its epsilon0 too small
            if not (isinstance(result.channel, SubsetSelection) and _entries(result) > _MOST_SET_ENTRIES):
                built[name if reports == 1 else f"{name}-{reports}-items"] = result
    if items > 1 and slack:
        every = "hadamard-all-items"
        built[every] = local_histogram(
            space, epsilon, slack, users=users, items=items, channel="hadamard", reports=items
        )
    if slack:
        built["gaussian-each-user"] = local_gaussian_histogram(space, epsilon, slack, users=users)
    if _has_levels(space):
        kinds: dict[str, type[LocalChannel]] = {
            "subset-selection": SubsetSelection,
            "unary": UnaryEncoding,
            "hadamard": HadamardResponse,
        }
        for name, kind in kinds.items():
            if name in built:
                built[f"{name}-levels"] = levelled_local_histogram(
                    space, epsilon, users=users, channel=kind, reference=guess
                )
    return built


def _best_reports(space: Space, epsilon: Exact, slack: Fraction, users: int, items: int, guess: Floats) -> int:
    """How many items to report: by unary encoding, whose error has a closed form and is nearly the best everywhere."""
    best, least = 1, float("inf")
    tried = [2**j for j in range(items.bit_length()) if 2**j < items] + [items]
    for reports in tried:
        try:
            built = local_histogram(space, epsilon, slack, users=users, items=items, channel="unary", reports=reports)
        except ParameterError:
            break
        error = float(np.sqrt(built.variances(guess)).sum())
        if error < least:
            best, least = reports, error
    return best


def _entries(made: LocalHistogram) -> int:
    channel = made.channel
    return made.users * made.reports * (channel.subset if isinstance(channel, SubsetSelection) else 1)


def _candidate(name: str, made: HistogramBaseline, guess: Floats) -> Candidate:
    error = predicted_error(made, guess)
    tree = made.space.geometry.has_tree
    note = "" if tree else "the error is an upper bound, by total variation"
    return Candidate(name, f"user-level: {made.name}", price(made.event), error, error, None, note, made)


def _has_levels(space: Space) -> bool:
    if not isinstance(space, Tree | Clustered) or space.items < 3:
        return False
    tree = edge_tree(space)
    return not tree.path and len(tree.levels) > 1


def _enough(epsilon0: Fraction) -> Fraction:
    if epsilon0 < _SMALLEST:
        raise ParameterError(
            f"Each report would get epsilon0 = {float(epsilon0):.3g}: the reports would be noise and nothing else.",
            allowed=f"an epsilon0 of at least {float(_SMALLEST):g} for each report",
            fix="reports=1",
        )
    return epsilon0
