"""Empirical Bayes along a tree: values that noise made large or small are moved towards what the others suggest.

From the root downward, a level's edges have shares in what is above them: draws from one distribution, none with
some probability, else Gamma of some shape, with the mean that the mass above dictates if all items are alike. The two
numbers are fitted to the noisy values of the level (maximum likelihood on a grid), every value is replaced by its
posterior mean, and the means are projected so that they add up. No bound on the error follows from it: it is chosen
because it is the most accurate on average by test (docs/histograms.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from barrow.mechanisms.decoding.tree_groups import firsts, project, spread
from barrow.mechanisms.decoding.tree_least_squares import best_below, totals_above
from barrow.spaces import EdgeTree
from barrow.spaces.base import Floats, Ids

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
    from scipy.special import gammainc

    shape, empty = _SHAPES[:, None, None], _EMPTY[:, None, None]
    below = gammainc(shape, shape * (1.0 - empty) / means[None, :, None] * _ENDS)
    full = (1.0 - empty) * np.diff(below, axis=2)
    priors = np.concatenate([np.broadcast_to(empty, (*full.shape[:2], 1)), full], axis=2)
    flat = np.append(0.0, np.diff(_ENDS) / _ENDS[-1])
    priors = (1.0 - _DOUBT) * priors + _DOUBT * flat
    density = np.log(priors @ likelihood.T)
    tail = np.log(np.maximum(1.0 - priors[:, :, _MASSES < _FAR].sum(axis=2), 1e-12))
    scores = (density * seen).sum(axis=(1, 2)) + tail @ beyond
    return np.asarray(priors[int(scores.argmax())])
