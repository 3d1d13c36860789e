"""From noisy edge values of a tree to a histogram: post-processing, which costs no privacy.

The edge value of an edge is its length times the mass below it; EMD is the 1-norm of the difference of edge values
(docs/proofs/tree-histograms.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.mechanisms.decoding.tree_estimates import empirical_bayes, top_down
from barrow.mechanisms.decoding.tree_nearest import nearest_on_line, nearest_on_tree
from barrow.spaces import EdgeTree, Space, edge_tree
from barrow.spaces.base import Floats

HOW = ("auto", "nearest", "top_down", "empirical_bayes")
DISTRIBUTIONS = ("laplace", "gaussian")


def as_tree(space: Space | EdgeTree) -> EdgeTree:
    """The edges of ``space``, which may be given as such already."""
    return space if isinstance(space, EdgeTree) else edge_tree(space)


def edge_values(space: Space | EdgeTree, histogram: ArrayLike) -> Floats:
    """Length times mass below, for every edge of the tree; weights may be negative, as unbiased estimates are."""
    tree = as_tree(space)
    weights = np.asarray(histogram, dtype=np.float64)
    if weights.ndim == 0 or weights.shape[-1] != tree.items:
        raise ParameterError(
            f"histogram has shape {weights.shape}.",
            allowed=f"{tree.items} weights along the last axis",
            fix="one weight for each item of the space",
        )
    return np.asarray(tree.masses(weights) * tree.lengths)


def decode(
    space: Space | EdgeTree,
    values: ArrayLike,
    *,
    how: str = "auto",
    variances: ArrayLike | None = None,
    distribution: str = "laplace",
) -> Floats:
    """The histogram that noisy edge values speak for.

    Args:
        space: A tree, clustered, discrete or line space, or its edges.
        values: A noisy edge value for each edge.
        how: ``"nearest"`` (see :func:`nearest_histogram`), ``"top_down"`` (see :func:`top_down_histogram`),
            ``"empirical_bayes"`` (see :func:`empirical_bayes_histogram`), or ``"auto"``: the most accurate one by test
            (docs/histograms.md), which is ``"nearest"`` on a line and on trees that are deep or narrow, elsewhere
            ``"empirical_bayes"`` where variances are given and ``"top_down"`` where not.
        variances: The variance of each edge value, or one for all. Where they differ, the nearest histogram weighs
            values by the inverse of their standard deviations.
        distribution: That of their noise: ``"laplace"``, or ``"gaussian"`` (means of many reports are nearly that).
    """
    if how not in HOW:
        raise ParameterError(f"how is {how!r}.", allowed=", ".join(map(repr, HOW)), fix="how='auto'")
    tree = as_tree(space)
    if how == "auto":
        how = "nearest" if _narrow(tree) else "top_down" if variances is None else "empirical_bayes"
    if how == "nearest":
        noise = np.ones(tree.edges) if variances is None else _positive(tree, variances, "variances")
        return nearest_histogram(tree, values, weights=np.sqrt(noise.min() / noise))
    if how == "top_down":
        return top_down_histogram(tree, values, variances=variances)
    if variances is None:
        raise ParameterError(
            "how is 'empirical_bayes', but variances are missing.",
            allowed="the variance of each edge value: how much to move a value depends on it",
            fix="variances=2*scale**2 for Laplace noise, or how='top_down'",
        )
    return empirical_bayes_histogram(tree, values, variances=variances, distribution=distribution)


def _narrow(tree: EdgeTree) -> bool:
    """Whether projections from the root downward would pile up errors: many levels, or few edges in each."""
    return tree.path or len(tree.levels) > 16 or tree.edges < 8 * len(tree.levels)


def nearest_histogram(space: Space | EdgeTree, values: ArrayLike, *, weights: ArrayLike | None = None) -> Floats:
    """The histogram whose edge values are nearest in the 1-norm, over all edges jointly; exact, in O(k log k) a level.

    Its EMD from the truth is at most twice the 1-norm of the noise, always: no other decoder here has such a bound.

    ``weights`` is what a unit of difference costs at each edge: 1 by default, which is what the bound needs.
    """
    tree = as_tree(space)
    targets = _numbers(tree, values, "values") / tree.lengths
    costs = tree.lengths if weights is None else tree.lengths * _positive(tree, weights, "weights")
    return nearest_on_line(costs, targets) if tree.path else nearest_on_tree(tree, costs, targets)


def top_down_histogram(space: Space | EdgeTree, values: ArrayLike, *, variances: ArrayLike | None = None) -> Floats:
    """Least squares from the leaves upward, then a projection to histograms from the root downward; O(k log k).

    On a line it is the isotonic regression: exactly the nearest distribution function in weighted least squares.

    Of ``variances`` only the ratios matter; they are equal by default.
    """
    tree, targets, noise = _scaled(space, values, variances)
    return top_down(tree, targets, noise)


def empirical_bayes_histogram(
    space: Space | EdgeTree, values: ArrayLike, *, variances: ArrayLike, distribution: str = "laplace"
) -> Floats:
    """Empirical Bayes from the root downward: the most accurate decoder on average, without a bound on its error.

    ``distribution`` is that of the noise, ``"laplace"`` or ``"gaussian"``. On a line it is :func:`nearest_histogram`.
    """
    tree = as_tree(space)
    if distribution not in DISTRIBUTIONS:
        raise ParameterError(
            f"distribution is {distribution!r}.", allowed="'laplace' or 'gaussian'", fix="distribution='laplace'"
        )
    noise = _positive(tree, variances, "variances")
    if tree.path:
        return nearest_histogram(tree, values)
    scales = np.sqrt(noise / (1.0 if distribution == "gaussian" else 2.0)) / tree.lengths
    targets = _numbers(tree, values, "values") / tree.lengths
    return empirical_bayes(tree, targets, scales, gaussian=distribution == "gaussian")


def _scaled(space: Space | EdgeTree, values: ArrayLike, variances: ArrayLike | None) -> tuple[EdgeTree, Floats, Floats]:
    """The tree, estimates of the masses below its edges, and their variances."""
    tree = as_tree(space)
    noise = np.ones(tree.edges) if variances is None else _positive(tree, variances, "variances")
    # The largest variance counts as 1, so that squares of short lengths do not overflow.
    spread = noise / tree.lengths**2
    return tree, _numbers(tree, values, "values") / tree.lengths, spread / spread.max()


def _numbers(tree: EdgeTree, values: ArrayLike, name: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 and name != "values":
        array = np.full(tree.edges, float(array))
    if array.shape != (tree.edges,) or not np.isfinite(array).all():
        problem = f"has shape {array.shape}" if array.shape != (tree.edges,) else "holds numbers that are not finite"
        raise ParameterError(
            f"{name} {problem}.",
            allowed=f"a finite number for each of the {tree.edges} edges of the tree",
            fix="edge_values(space, histogram) shows their order",
        )
    return array


def _positive(tree: EdgeTree, values: ArrayLike, name: str) -> Floats:
    array = _numbers(tree, values, name)
    if not (array > 0.0).all():
        raise ParameterError(f"Some {name} are 0 or negative.", allowed="numbers above 0", fix=f"leave {name} out")
    return array
