"""Estimates along a tree, level by level: least squares and empirical Bayes.

Least squares are consistent estimates, and their projection to a histogram from the root downward: the two passes of
Hay, Rastogi, Miklau and Suciu (2010), here for any tree and any variances (docs/proofs/tree-histograms.md). On a line
the sums are a running one, and the nearest histogram is an isotonic regression.

Empirical Bayes moves values that noise made large or small towards what the others suggest. From the root downward, a
level's edges have shares in what is above them: draws from one distribution, none with some probability, else Gamma of
some shape, with the mean that the mass above dictates if all items are alike. The two numbers are fitted to the noisy
values of the level (maximum likelihood on a grid), every value is replaced by its posterior mean, and the means are
projected so that they add up. No bound on the error follows from it: it is chosen because it is the most accurate on
average by test (docs/histograms.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.spaces import EdgeTree
from barrow.spaces.space import Floats, Ids

_FAR = 16.0
"""Values beyond so many scales of the noise are left as they are."""
_ENDS = np.concatenate([[0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5], np.arange(0.75, 6, 0.25), np.arange(6, 28.5, 0.5)])
_MASSES = np.append(0.0, (_ENDS[1:] + _ENDS[:-1]) / 2.0)
"""True masses in scales of the noise: exactly none, and the middles of cells."""
_STEP = 0.25
_VALUES = np.arange(-10.0, _FAR + _STEP / 2, _STEP)
"""Noisy values in scales of the noise."""
_SHAPES, _EMPTY = (
    x.ravel()
    for x in np.meshgrid(
        [0.05, 0.15, 0.4, 1.0, 2.5, 8.0, 50.0],
        [0.0, 0.4, 0.7, 0.9, 0.97, 0.995],
    )
)
_DOUBT = 0.003
"""The share of a uniform distribution that is mixed in, so that no value is impossible."""
_RATIO = 1.3
"""Means are rounded to powers of this."""
_FEW = 8
"""Levels with fewer values near the noise are left as they are."""


def firsts(*keys: Ids | Floats | NDArray[np.bool_]) -> Ids:
    """Where each group begins, in arrays in which the entries of a group (equal in all keys) are contiguous."""
    new = np.zeros(len(keys[0]), dtype=bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)


def running(values: Floats, begins: Ids) -> Floats:
    """Running sums within each group."""
    if len(begins) <= 1:
        return np.cumsum(values)
    reset = values.astype(np.float64)
    # The sum starts anew in each group, so that rounding errors do not grow with the number of groups.
    reset[begins[1:]] -= np.add.reduceat(values, begins)[:-1]
    return np.cumsum(reset)


def spread(begins: Ids, length: int) -> Ids:
    """The number of the group of each entry."""
    return np.repeat(np.arange(len(begins)), np.diff(np.append(begins, length)))


def multipliers(values: Floats, variances: Floats, begins: Ids, totals: Floats) -> Floats:
    """The multiplier of each group for which max(value + multiplier * variance, 0) has the sum wanted."""
    group = spread(begins, len(values))
    leaves = -values / variances  # the multiplier at which a number leaves 0
    order = np.lexsort((leaves, group))
    value, variance = running(values[order], begins), running(variances[order], begins)
    multiplier = (totals[group] - value) / variance
    # The first entries of a group are above 0, as many as there are with a multiplier beyond where they leave 0.
    above = multiplier > leaves[order]
    above[begins] = True
    counts = np.add.reduceat(above.astype(np.int64), begins)
    return np.asarray(multiplier[begins + counts - 1])


def project(values: Floats, variances: Floats, begins: Ids, totals: Floats) -> Floats:
    """The nearest numbers of 0 or more, in least squares weighted by 1/variance, with a given sum in each group."""
    if not len(values):
        return values.astype(np.float64)
    group = spread(begins, len(values))
    result = np.maximum(values + multipliers(values, variances, begins, totals)[group] * variances, 0.0)
    # What rounding left is put where the mass is.
    sums = np.add.reduceat(result, begins)
    factor = np.divide(totals, sums, out=np.zeros_like(sums), where=sums > 0.0)
    return np.asarray(result * factor[group])


def best_below(tree: EdgeTree, targets: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """From the leaves upward: the best unbiased estimate of the mass below each edge from values at it and below.

    Returns:
        The estimates and their variances.
    """
    best, noise = targets.astype(np.float64), variances.astype(np.float64)
    for below in reversed(tree.levels[1:]):
        begins = firsts(tree.parents[below])
        inner = tree.parents[below[begins]]
        sums, noise_of_sums = np.add.reduceat(best[below], begins), np.add.reduceat(noise[below], begins)
        weight = noise_of_sums / (noise_of_sums + noise[inner])
        best[inner] = weight * best[inner] + (1.0 - weight) * sums
        noise[inner] *= weight
    return best, noise


def totals_above(tree: EdgeTree, masses: Floats, edges: Ids) -> Floats:
    """The mass at the upper end of each of ``edges``, which is 1 at the root."""
    above = tree.parents[edges]
    return np.where(above >= 0, masses[above], 1.0)


def consistent(tree: EdgeTree, targets: Floats, variances: Floats) -> Floats:
    """The least squares estimate of the mass below each edge, given that sums agree and that all have mass 1."""
    if tree.path:
        return targets.astype(np.float64)
    best, noise = best_below(tree, targets, variances)
    for here in tree.levels:
        begins = firsts(tree.parents[here])
        totals = totals_above(tree, best, here[begins])
        missing = totals - np.add.reduceat(best[here], begins)
        group = spread(begins, len(here))
        best[here] += (missing / np.add.reduceat(noise[here], begins))[group] * noise[here]
    return best


def top_down(tree: EdgeTree, targets: Floats, variances: Floats) -> Floats:
    """Histogram: the best estimates, projected so that none is negative and children add up to their parent."""
    if tree.path:
        limit = heavy.pava(targets, 1.0 / variances)
        return np.diff(np.clip(limit, 0.0, 1.0), prepend=0.0, append=1.0)
    best, noise = best_below(tree, targets, variances)
    for here in tree.levels:
        begins = firsts(tree.parents[here])
        totals = totals_above(tree, best, here[begins])
        best[here] = project(best[here], noise[here], begins, totals)
    return np.asarray(best[tree.owners])


def empirical_bayes(tree: EdgeTree, targets: Floats, scales: Floats, *, gaussian: bool) -> Floats:
    """Histogram: posterior means of the masses below the edges, projected from the root downward.

    ``scales`` are those of Laplace noise on ``targets``, or the standard deviations of Gaussian noise.
    """
    factor = 1.0 if gaussian else 2.0
    best, variances = best_below(tree, targets, factor * scales**2)
    scale = np.sqrt(variances / factor)
    likelihood = _likelihood(gaussian)
    for here in tree.levels:
        begins = firsts(tree.parents[here])
        totals = totals_above(tree, best, here[begins])
        group = spread(begins, len(here))
        value, unit = best[here] / scale[here], scale[here]
        items = (tree.ends - tree.starts)[here]
        mean = np.clip((totals / np.add.reduceat(items, begins))[group] * items / unit, 1e-2, 1e4)
        near = value < _FAR
        variance = np.full(len(here), factor)
        if np.count_nonzero(near) >= _FEW:
            value, variance = _posterior(value, mean, near, variance, likelihood)
        best[here] = project(value * unit, variance * unit**2, begins, totals)
    return np.asarray(best[tree.owners])


def _likelihood(gaussian: bool) -> Floats:
    """The density of each noisy value (rows) given each mass (columns), up to a factor."""
    off = _VALUES[:, None] - _MASSES[None, :]
    return np.asarray(np.exp(-0.5 * off * off) if gaussian else np.exp(-np.abs(off)))


def _posterior(
    value: Floats, mean: Floats, near: NDArray[np.bool_], variance: Floats, likelihood: Floats
) -> tuple[Floats, Floats]:
    """Posterior means and variances of values near the noise, in scales of the noise; the others as they are."""
    powers, which = np.unique(np.rint(np.log(mean) / np.log(_RATIO)).astype(np.int64), return_inverse=True)
    place = np.clip((value - _VALUES[0]) / _STEP, 0.0, len(_VALUES) - 1.001)
    cell = np.rint(place).astype(np.int64)
    seen = np.zeros((len(powers), len(_VALUES)))
    np.add.at(seen, (which[near], cell[near]), 1.0)
    beyond = np.bincount(which[~near], minlength=len(powers))
    prior = _fitted(_RATIO ** powers.astype(np.float64), seen, beyond, likelihood)
    weights = likelihood[None] * prior[:, None, :]
    weights /= weights.sum(axis=2, keepdims=True)
    first = weights @ _MASSES
    second = np.maximum(weights @ _MASSES**2 - first**2, 1e-3)
    low = place.astype(np.int64)
    part = place - low

    def between(table: Floats) -> Floats:
        return np.asarray((1.0 - part) * table[which, low] + part * table[which, low + 1])

    return np.where(near, between(first), value), np.where(near, between(second), variance)


def _fitted(means: Floats, seen: Floats, beyond: Ids, likelihood: Floats) -> Floats:
    """The prior of the masses for each mean: the most likely shape and share of empty edges."""
    shape, empty = _SHAPES[:, None, None], _EMPTY[:, None, None]
    below = heavy.special.gammainc(shape, shape * (1.0 - empty) / means[None, :, None] * _ENDS)
    full = (1.0 - empty) * np.diff(below, axis=2)
    priors = np.concatenate([np.broadcast_to(empty, (*full.shape[:2], 1)), full], axis=2)
    flat = np.append(0.0, np.diff(_ENDS) / _ENDS[-1])
    priors = (1.0 - _DOUBT) * priors + _DOUBT * flat
    density = np.log(priors @ likelihood.T)
    tail = np.log(np.maximum(1.0 - priors[:, :, _MASSES < _FAR].sum(axis=2), 1e-12))
    scores = (density * seen).sum(axis=(1, 2)) + tail @ beyond
    return np.asarray(priors[int(scores.argmax())])
