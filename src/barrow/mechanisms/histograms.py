"""One face for the three ways to a histogram by additive noise: on the cells, along a tree, at several scales.

Each asks a linear query, adds noise, and decodes what was released to one histogram. Every output is a public factor
times a share, so the released values speak for shares of their own, with intervals, beside the histogram.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.additive import AdditiveNoise
from barrow.mechanisms.decoding import decode, edge_values, nearest_in_simplex
from barrow.mechanisms.linear import linear_candidates
from barrow.mechanisms.pyramid import DensityPyramid, density_pyramid
from barrow.mechanisms.tree_histogram import tree_histogram
from barrow.numerics import Exact
from barrow.privacy import Event
from barrow.queries import Query, histogram
from barrow.spaces import TREES, Space, edge_tree
from barrow.spaces.base import Floats

KINDS = ("tree", "pyramid", "cells")
"""The ways by name."""
HOW = ("auto", "nearest")
"""Decoders: the most accurate one on average, and the one with a proven bound (docs/proofs/histograms.md)."""


@dataclass(frozen=True, eq=False)
class HistogramNoise:
    """A histogram by additive noise on a query, ready to draw; everything in it is public.

    Attributes:
        kind: One of ``KINDS``.
        query: What noise is added to.
        noise: The noise.
        factors: Each output is a share divided by its factor.
        decoder: From released values to a histogram.
        undecoded: The expected EMD error before decoding, normalised, where it has a closed form.
        upper: No data have a larger expected EMD error, normalised, if the decoder is ``"nearest"``.

    >>> from barrow.spaces import Clustered
    >>> made = histogram_noise(Clustered.grid(2, 2, r=0.25), "tree", 25, users=1000)
    >>> made.query.dimension, made.factors.round(2).tolist()
    (6, [2.67, 2.67, 8.0, 8.0, 8.0, 8.0])
    """

    kind: str
    query: Query
    noise: AdditiveNoise
    factors: Floats
    decoder: Callable[[Floats], Floats]
    undecoded: float | None = None
    upper: float = 1.0

    @property
    def space(self) -> Space:
        """The public space."""
        return self.query.space

    @property
    def event(self) -> Event:
        """What drawing it causes."""
        return self.noise.event

    def decode(self, values: Floats) -> Floats:
        """The histogram, one share for each item with sum 1, that released values speak for."""
        found = np.maximum(self.decoder(np.asarray(values, dtype=np.float64)), 0.0)
        return np.asarray(found / found.sum())

    def shares(self, values: Floats) -> tuple[Floats, Floats]:
        """The unbiased shares that the values are, and the half width of each (95 %)."""
        return np.asarray(values) * self.factors, self.noise.half_width * self.factors

    @cached_property
    def matrix(self) -> Any:
        """(outputs, items): the values of a histogram before noise."""
        table = self.query.table.floats() * float(self.query.step)
        return table.T.tocsr() if self.query.table.sparse else np.ascontiguousarray(table.T)


def histogram_noise(
    space: Space, kind: str, alpha: Exact, delta: Exact = 0, *, users: int, noise: str = "auto", how: str = "auto"
) -> HistogramNoise:
    """A central histogram of one kind under (alpha, delta)-EMD-DP, unbounded.

    Args:
        space: The public space.
        kind: ``"tree"`` (tree, clustered, discrete and line spaces), ``"pyramid"`` (spaces with a geometry), or
            ``"cells"`` (any).
        alpha: Privacy loss per unit of EMD.
        delta: 0 for pure noise; above 0, Gaussian noise is considered too.
        users: n, public.
        noise: ``"auto"``, ``"laplace"`` or ``"gaussian"``; others where the query allows them.
        how: The decoder: ``"auto"``, the most accurate one on average, or ``"nearest"``, which has a proven bound.

    >>> from barrow.spaces import Line
    >>> made = histogram_noise(Line(0, 8, step=1), "cells", 25, users=1000)
    >>> made.decode(made.matrix @ np.eye(8)[3]).round(9).tolist()
    [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """
    if how not in HOW:
        raise ParameterError(f"decode is {how!r}.", allowed=", ".join(map(repr, HOW)), fix="decode = 'auto'")
    if kind == "tree":
        made = tree_histogram(space, alpha, delta, users=users, noise=noise)
        tree, variance, law = made.tree, made.variance, made.law
        return HistogramNoise(
            kind,
            made.query,
            made.noise,
            1.0 / tree.lengths,
            lambda values: decode(tree, values, how=how, variances=variance, law=law),
            made.undecoded_error,
            min(made.nearest_error_upper, 1.0),
        )
    if kind == "pyramid":
        return _of_scales(density_pyramid(space, alpha, delta, users=users, noise=noise), how)
    if kind == "cells":
        query = histogram(space)
        best = linear_candidates(query, alpha, delta, noise=noise, model="central", users=users)[0]
        return _of_cells(query, best, how)
    raise ParameterError(f"The kind of histogram is {kind!r}.", allowed=", ".join(KINDS), fix="kind='cells'")


def _of_scales(scales: DensityPyramid, how: str) -> HistogramNoise:
    levels, k = scales.query.levels, scales.query.space.items
    factors = np.concatenate([np.full(level.query.dimension, 1.0 / level.weight) for level in levels])
    finest = max((level.weight for level in levels if level.name == "cells"), default=0.0)
    spread = math.sqrt(k * scales.query.dimension) * scales.noise.deviation
    return HistogramNoise(
        "pyramid",
        scales.query,
        scales.noise,
        factors,
        lambda values: scales.decode(values, method="nearest" if how == "nearest" else "smooth").weights,
        upper=min(1.0, 0.5 * spread / finest) if finest > 0.0 else 1.0,
    )


def _of_cells(query: Query, noise: AdditiveNoise, how: str) -> HistogramNoise:
    k = query.space.items
    decoder = nearest_in_simplex if how == "nearest" else _flat(query.space, noise)
    # Projections bring points of a convex set no farther apart, and EMD <= 1-norm/2 <= sqrt(k) 2-norm/2.
    return HistogramNoise(
        "cells", query, noise, np.ones(k), decoder, _undecoded(query.space, noise), min(1.0, 0.5 * k * noise.deviation)
    )


def _undecoded(space: Space, noise: AdditiveNoise) -> float | None:
    """The expected EMD of noisy cells moved to the sum 1, where the space is a tree: E|error| of every edge's run."""
    if not isinstance(space, TREES) or space.items == 1 or noise.p not in ("1", None):
        return None
    from scipy.special import gammaln

    tree, k = edge_tree(space), space.items
    below = (tree.ends - tree.starts).astype(np.float64)
    mean: Any = math.sqrt(2.0 / math.pi)
    if noise.p == "1":
        # The sum of t Laplace variables is no normal one: its mean size is 2 t binom(2t, t)/4^t scales.
        t = np.maximum(np.minimum(below, k - below), 1.0)
        mean = np.sqrt(2.0 * t) * np.exp(gammaln(2.0 * t + 1.0) - 2.0 * gammaln(t + 1.0) - t * math.log(4.0))
    return float(tree.lengths @ (mean * noise.deviation * np.sqrt(below * (1.0 - below / k))))


def _flat(space: Space, noise: AdditiveNoise) -> Callable[[Floats], Floats]:
    """The decoder of noisy cells: along the tree where there is one, by the variances of its edges; else flat."""
    if not isinstance(space, TREES) or space.items == 1:
        return nearest_in_simplex
    tree, k = edge_tree(space), space.items
    below = tree.ends - tree.starts
    # The sum is known to be 1: what is moved to it is spread evenly, and a run of t items keeps t (1 - t/k) variances.
    variances = np.maximum(below * (1.0 - below / k), 1.0 / k) * (noise.deviation * tree.lengths) ** 2

    def along(values: Floats) -> Floats:
        whole = values + (1.0 - values.sum()) / k
        return decode(tree, edge_values(tree, whole), how="top_down", variances=variances)

    return along
