"""One map from densities at several scales: calibrated together, released with one noise, decoded to a histogram.

The release is PrivEMDLinear of all densities: pure (alpha, 0)-EMD-DP, unbounded. The map is computed from the released
values and public numbers alone (docs/proofs/multiscale.md). So are the scales, which are densities at dyadic bandwidths
as bumps to mix, and their shares of the budget, which are chosen by predicted error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations
from typing import Any

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.mechanisms.decoding.grid import DecodedMap, discrepancy_map, nearest_map
from barrow.numerics import Exact, checked_people, float_down
from barrow.promises.definitions import positive
from barrow.queries import MultiscaleQuery, dyadic_bandwidths, multiscale
from barrow.queries.multiscale import Level, usual_constant
from barrow.spaces import Space
from barrow.spaces.space import Floats

_MOST_CHOICES = 60_000
_NOISE_KEPT = 0.35
"""How much of the noise at a scale a decoder leaves, in standard deviations (chosen by simulation)."""
_ENTROPY = 0.003
"""At most, entropy counts this much times the noise per output times the Lipschitz constant."""
_ADDED = 0.1
"""How much is expected of an item that was added to the space: it claims nothing, entropy pulls little."""


@dataclass(frozen=True, eq=False)
class Scales:
    """Every dyadic scale of a space, the broadest first, as matrices.

    Attributes:
        levels: The levels of the multiscale query of all of them, equal shares.
        matrices: (items, outputs) of each, without weights.
        atoms: (items, bumps): each bump a histogram, of all scales.
        prior: How much is expected of each bump: broad scales have as much more as they are broader.
    """

    levels: tuple[Level, ...]
    matrices: tuple[Any, ...]
    atoms: Any
    prior: Floats


@lru_cache(maxsize=4)
def scales_of(space: Space) -> Scales:
    """The scales of ``space``."""
    levels = multiscale(space, bandwidths=usable_bandwidths(space)).levels
    matrices = tuple(level.query.table.floats() * float(level.query.step) for level in levels)
    bumps, prior = [], []
    for level, matrix in zip(levels, matrices, strict=True):
        bumps.append(matrix @ heavy.diagonal(1.0 / np.asarray(matrix.sum(axis=0)).ravel()))
        prior.append(np.full(matrix.shape[1], level.width / matrix.shape[1]))
    # The uniform distribution is the broadest bump of all.
    bumps.append(np.full((space.items, 1), 1.0 / space.items))
    prior.append(np.array([2.0 * levels[0].width]))
    total = np.concatenate(prior)
    return Scales(levels, matrices, heavy.sparse.hstack(bumps, format="csr"), total / total.sum())


@lru_cache(maxsize=16)
def usable_bandwidths(space: Space) -> tuple[str, ...]:
    """The dyadic bandwidths for which the space has a density: very broad ones may have no centre near some items."""
    results = []
    for bandwidth in dyadic_bandwidths(space):
        try:
            multiscale(space, bandwidths=[bandwidth])
        except ParameterError:
            continue
        results.append(bandwidth)
    return tuple(results)


@lru_cache(maxsize=16)
def mixed_reference(space: Space) -> Floats:
    """A public stand-in for a population: half in broad clusters, half in single cells, with sizes 1, 1/2, 1/3..."""
    k = space.items
    sizes = 1.0 / np.arange(1, 121)
    # Multiples of the golden ratio and of the root of 2 are spread evenly over the items, and the same everywhere.
    towns = np.floor(k * ((np.arange(1, 25) * (math.sqrt(5.0) - 1.0) / 2.0) % 1.0)).astype(np.int64)
    spots = np.floor(k * ((np.arange(1, 121) * (math.sqrt(2.0) - 1.0)) % 1.0)).astype(np.int64)
    country = np.full(k, 0.05 / k)
    far = space.block(towns, np.arange(k))
    for i in range(len(towns)):
        bump = np.exp(-far[i] / (0.02, 0.05, 0.1, 0.15)[i % 4])
        country += 0.95 * bump / bump.sum() * sizes[i] / sizes[:24].sum()
    town = np.bincount(spots, weights=sizes, minlength=k) / sizes.sum()
    mixed = (town + country / country.sum()) / 2.0
    return np.asarray(mixed / mixed.sum())


def predicted_error(query: MultiscaleQuery, rate: float, shares: Sequence[Floats] | Floats) -> Floats:
    """A rough error of each row of ``shares`` of the levels of ``query``: what the choice of shares is made by.

    At scale j the population differs from the next broader scale by details; each is lost if it is below the noise at
    that scale, and otherwise replaced by noise. Noise at scale j comes from level j and, summed up, from finer levels.
    A detail counts its mass times the bandwidth.

    Args:
        query: A multiscale density with all levels, the broadest first.
        rate: alpha times the number of users.
        shares: One row for each candidate, one column for each level; 0 leaves a level out.
    """
    table = np.atleast_2d(np.asarray(shares, dtype=np.float64))
    levels, outputs, usual, real, details_of = _details(query)
    joint = table[:, levels] @ (real / usual)
    precise = (table[:, levels] * rate / usual / joint[:, None]) ** 2
    error = np.zeros(len(table))
    for i, (j, details) in enumerate(zip(levels, details_of, strict=True)):
        finer = (precise[:, i:] * (outputs[i] / outputs[i:])).sum(axis=1)
        noise = _NOISE_KEPT * math.sqrt(2.0) / np.sqrt(np.maximum(finer, 1e-300))
        # The sum of min(detail, noise): whole details below it, as often the noise above it.
        below = np.searchsorted(details, noise)
        sums = np.concatenate([[0.0], np.cumsum(details)])
        noise_part = np.where(below < len(details), (len(details) - below) * noise, 0.0)
        error += query.levels[j].width * (sums[below] + noise_part)
    return error


@lru_cache(maxsize=8)
def _details(query: MultiscaleQuery) -> tuple[list[int], Floats, Floats, Floats, list[Floats]]:
    """What a prediction needs of a query at any rate.

    Its levels, the broadest first, their outputs, their usual constants and about their real ones, and the details of
    the reference at each level, in order. Shares w become weights w_j/usual_j; their joint constant is at most
    sum_j w_j real_j/usual_j.
    """
    levels = sorted(range(len(query.levels)), key=lambda j: -query.levels[j].width)
    smooth = np.full(query.space.items, 1.0 / query.space.items)
    reference = mixed_reference(query.space)
    outputs = np.array([query.levels[j].query.dimension for j in levels], dtype=np.float64)
    usual = np.array([usual_constant(query.levels[j].query, query.levels[j].width) for j in levels])
    real = np.array([_sampled_constant(query.levels[j]) for j in levels])
    details = []
    for j in levels:
        matrix = query.levels[j].query.table.floats() * float(query.levels[j].query.step)
        details.append(np.sort(np.abs(matrix.T @ (reference - smooth))))
        mass = matrix.T @ reference
        smooth = matrix @ (mass / np.asarray(matrix.sum(axis=0)).ravel())
    return levels, outputs, usual, real, details


def _sampled_constant(level: Level) -> float:
    """About the l1-Lipschitz constant of a level, from some items and those next to them; it is no bound."""
    query, space = level.query, level.query.space
    if query.cartesian is None:
        return usual_constant(query, level.width)
    points = query.cartesian[0]
    some = np.arange(0, len(points), max(1, len(points) // 1000))
    near = np.asarray(heavy.cKDTree(points).query(points[some], k=min(9, len(points)))[1])
    x, y = np.repeat(some, near.shape[1] - 1), near[:, 1:].ravel()
    change = abs(query.table.integers[x] - query.table.integers[y]).sum(axis=1) * float(query.step)
    return float((np.asarray(change).ravel() / space.distance(x, y)).max())


@lru_cache(maxsize=64)
def best_shares(space: Space, bandwidths: tuple[Any, ...], rate: float) -> tuple[tuple[Any, Fraction], ...]:
    """The bandwidths worth having, with their shares in tenths (or coarser, of many): the least predicted error."""
    query, levels = _looked_at(space, bandwidths), len(bandwidths)
    others = query.levels[levels:]
    parts = 10
    while parts > 1 and math.comb(parts + levels - 1, levels - 1) > _MOST_CHOICES:
        parts -= 1
    table = _compositions(parts, levels)
    padded = np.pad(table / parts, [(0, 0), (0, len(others))])
    best = table[int(predicted_error(query, rate, padded).argmin())].astype(np.int64)
    return tuple(
        (bandwidth, Fraction(int(share), parts)) for bandwidth, share in zip(bandwidths, best, strict=True) if share
    )


@lru_cache(maxsize=8)
def _looked_at(space: Space, bandwidths: tuple[Any, ...]) -> MultiscaleQuery:
    """The bandwidths, and all dyadic scales beside them: details between the bandwidths are lost at their own scale."""
    own = multiscale(space, bandwidths=list(bandwidths))
    taken = {round(level.width, 9) for level in own.levels}
    others = [level.name for level in scales_of(space).levels if round(level.width, 9) not in taken]
    return multiscale(space, bandwidths=[*bandwidths, *others])


@lru_cache(maxsize=16)
def _chosen_query(space: Space, chosen: tuple[tuple[Any, Fraction], ...]) -> MultiscaleQuery:
    """The query of a choice of bandwidths: it is often the same at another alpha, and keeps its constants."""
    return multiscale(space, bandwidths=[name for name, _ in chosen], shares=[share for _, share in chosen])


@lru_cache(maxsize=4)
def _compositions(total: int, parts: int) -> Floats:
    """All ways to write ``total`` as an ordered sum of ``parts``, as rows: places of bars among stars."""
    places = total + parts - 1
    flat = chain.from_iterable(combinations(range(places), parts - 1))
    inner = np.fromiter(flat, np.float64).reshape(math.comb(places, parts - 1), parts - 1)
    result = np.diff(inner, axis=1, prepend=-1.0, append=float(places)) - 1.0
    result.setflags(write=False)
    return result


def map_of(
    query: MultiscaleQuery, matrix: Any, values: Any, *, deviation: float, method: str = "smooth", added: int = 0
) -> DecodedMap:
    """One histogram from noisy values of densities at several scales, by ``"smooth"`` or ``"nearest"``.

    Args:
        query: The densities.
        matrix: (outputs, items): what the values of a histogram are before noise.
        values: What was released.
        deviation: The standard deviation of each value's noise.
        method: The decoder.
        added: How many items, the last ones, the query's space does not have: each is a bump of its own.
    """
    if method == "nearest":
        return nearest_map(matrix, values)
    if method != "smooth":
        raise ParameterError(f"method is {method!r}.", allowed="'smooth' or 'nearest'", fix="method='smooth'")
    scales = scales_of(query.space)
    atoms, prior = scales.atoms, scales.prior
    if added:
        atoms = heavy.sparse.block_diag([atoms, np.eye(added)], format="csr")
        prior = np.append(prior * (1.0 - _ADDED) ** added, np.full(added, (1.0 - (1.0 - _ADDED) ** added) / added))
    strongest = _ENTROPY * deviation * query.lipschitz_upper(1)
    return discrepancy_map(matrix, values, deviation=deviation, strongest=strongest, atoms=atoms, prior=prior)


def chosen_scales(space: Space, alpha: Exact, users: int) -> MultiscaleQuery:
    """Densities at halves, quarters and so on of the width of a space, and the cells: as many as are worth their share.

    The bandwidths, and their shares of the budget, are those of least predicted error. Spaces are lines, circles,
    Euclidean ones, the Earth and hexagons.

    >>> from barrow.spaces import Euclidean
    >>> query = chosen_scales(Euclidean([0, 0], [1, 1], step=1/8), 25, users=100)
    >>> {level.name: float(level.share) for level in query.levels}
    {'0.353554': 0.3, 'cells': 0.7}
    """
    people = checked_people(users)
    rate = float_down(positive(alpha, "alpha")) * people
    return _chosen_query(space, best_shares(space, usable_bandwidths(space), rate))
