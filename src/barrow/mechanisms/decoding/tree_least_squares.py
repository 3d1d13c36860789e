"""Least squares along a tree: consistent estimates, and their projection to a histogram from the root downward.

The two passes are those of Hay, Rastogi, Miklau and Suciu (2010), here for any tree and any variances
(docs/proofs/tree-histograms.md). On a line the sums are a running one, and the nearest histogram is an isotonic
regression.
"""

from __future__ import annotations

import numpy as np

from barrow.mechanisms.decoding.tree_groups import firsts, project, spread
from barrow.spaces import EdgeTree
from barrow.spaces.base import Floats, Ids


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
        from scipy.optimize import isotonic_regression

        limit = isotonic_regression(targets, weights=1.0 / variances).x
        return np.diff(np.clip(limit, 0.0, 1.0), prepend=0.0, append=1.0)
    best, noise = best_below(tree, targets, variances)
    for here in tree.levels:
        begins = firsts(tree.parents[here])
        totals = totals_above(tree, best, here[begins])
        best[here] = project(best[here], noise[here], begins, totals)
    return np.asarray(best[tree.owners])
