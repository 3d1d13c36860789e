"""Histograms under user-level DP in the central model: the queries and decoders of EMD-DP with noise for epsilon.

Noise at alpha on a query of range B is user-level DP at epsilon = alpha B/ell, so the strongest competitor on the same
query is EMD-DP itself at alpha = epsilon ell/B; beside it stand weights by level, which suit no alpha. Items that were
added to a space, such as "no records", have an output of their own each: they answer 0 to whatever is asked about the
others, and the weight of their output is the largest that leaves the range of the query as it is
(docs/proofs/user-level.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError, one_of
from barrow.mechanisms.additive import AdditiveNoise
from barrow.mechanisms.decoding.cells import without_added
from barrow.mechanisms.decoding.tree import decode
from barrow.mechanisms.histograms import (
    HISTOGRAMS,
    MULTISCALE,
    TREE,
    HistogramKind,
    HistogramNoise,
    NoiseTarget,
)
from barrow.mechanisms.multiscale import map_of
from barrow.mechanisms.user_level.levels import (
    PARTS,
    Grouped,
    grouped,
    has_levels,
    levelled_tree,
    parts,
    weighted_masses,
)
from barrow.mechanisms.user_level.noise import axis_candidates
from barrow.numerics import TABLE_BITS, Exact, float_down, float_up, gdp_mu_lower
from barrow.numerics.gdp import gdp_epsilon_upper
from barrow.promises import GaussianNoise, KNormNoise, Model, UserLevelRelease
from barrow.promises.definitions import positive, probability
from barrow.queries import MultiscaleQuery, Query, tree_edges
from barrow.queries.quantised import Quantised, relative_slack, row_norms
from barrow.queries.query import ClosedForm
from barrow.spaces import EdgeTree, Space, edge_names
from barrow.spaces.augmented import base_space
from barrow.spaces.space import Floats

_UP = 1.0 + 2.0**-40
_TURNS = 6
_MARGIN = 1 - Fraction(1, 10**7)


def user_level_histogram(
    space: Space,
    kind: str,
    epsilon: Exact,
    delta: Exact = 0,
    *,
    users: int,
    noise: str = "laplace",
    how: str = "auto",
) -> HistogramNoise:
    """A central histogram of one kind under (epsilon, delta)-user-level DP, ready to release.

    Args:
        space: The public space.
        kind: ``"levels"`` (noise on the mass below every edge of a tree, weighted by level; where the space is no
            tree, on groups of near items and on the items), or one of the kinds of
            :func:`barrow.mechanisms.histograms.histogram_noise`, whose query and decoder it then shares.
        epsilon: The privacy parameter of a user.
        delta: By how much more often a guess may be right; used by Gaussian noise only.
        users: n, public.
        noise: ``"laplace"`` or ``"gaussian"``.
        how: The decoder: ``"auto"`` or ``"nearest"``.
    """
    one_of(noise, "noise", ("laplace", "gaussian"))
    budget = positive(epsilon, "epsilon")
    slack = probability(delta) if noise == "gaussian" else Fraction(0)
    if noise == "gaussian" and slack == 0:
        raise ParameterError(
            "delta is 0, but Gaussian noise has no pure guarantee.", allowed="a delta above 0", fix="delta=1e-9"
        )
    one_of(kind, "kind", list(USER_LEVEL))
    request = _HistogramRequest(space, budget, slack, users, noise, how)
    with_others = USER_LEVEL[kind]
    if with_others is not None and (kind not in HISTOGRAMS or base_space(space) is not space):
        return with_others(request)
    built = request.at_worst(space, HISTOGRAMS[kind])
    event = UserLevelRelease(budget, delta=slack, model=Model.CENTRAL)
    return replace(built, noise=replace(built.on_outputs, event=event))


@dataclass(frozen=True)
class _HistogramRequest:
    """What a histogram is asked for with, but for its kind."""

    space: Space
    budget: Fraction
    slack: Fraction
    users: int
    noise: str
    how: str

    @property
    def added(self) -> int:
        """How many items were added to the space inside."""
        return self.space.items - base_space(self.space).items

    def noisy(self, query: Query) -> tuple[Query, AdditiveNoise]:
        """A query about the space inside, with an output for each added item, and its noise."""
        whole = with_added(query, self.space, 1 if self.noise == "laplace" else 2) if self.added else query
        return whole, axis_candidates(whole, self.budget, self.slack, noise=self.noise, users=self.users)[0]

    def at_worst(self, space: Space, kind: HistogramKind) -> HistogramNoise:
        """The histogram at the largest alpha found whose worst case is the budget; alpha = epsilon always serves."""
        slack = self.slack
        limit = Fraction(gdp_mu_lower(float_down(self.budget), float_down(slack))) if slack else self.budget
        alpha = self.budget
        best: HistogramNoise | None = None
        for _ in range(_TURNS):
            built = kind.build(
                NoiseTarget(space, alpha, slack, self.users, Model.CENTRAL, self.noise, self.how, None, None)
            )
            rate, ratio = _rate_and_ratio(built)
            if rate * ratio <= limit:
                if best is not None and built.noise.scale >= best.noise.scale:
                    return best
                best = built
                if rate * ratio >= limit * _MARGIN**2:
                    return best
            target = limit / ratio * (1 if best is built else _MARGIN)
            alpha = Fraction(gdp_epsilon_upper(float_down(target), float_down(slack))) * _MARGIN if slack else target
        if best is None:
            raise ParameterError(f"No alpha was found whose worst case is epsilon = {float(self.budget):g}.")
        return best


def _rate_and_ratio(mechanism: HistogramNoise) -> tuple[Fraction, Fraction]:
    """Alpha (or mu), and B/ell: the product is the worst case."""
    event = mechanism.event
    if isinstance(event, KNormNoise):
        return event.alpha, Fraction(1) if event.range_ratio is None else event.range_ratio
    if isinstance(event, GaussianNoise):
        return event.mu, Fraction(1) if event.range_ratio is None else event.range_ratio
    raise ParameterError("The histogram is not made by additive noise.", allowed="K-norm or Gaussian noise", fix="")


def _weights(tree: EdgeTree, noise: str) -> tuple[int, ...]:
    """The weights of the levels that make the sum of length times noise least: multiples of 1/1000, public."""
    lengths = np.array([tree.lengths[level].sum() for level in tree.levels])
    # Least sum of A/w: under w_1 + w_2 + ... = 1 (Laplace) or the sum of squares (Gaussian).
    return parts(lengths ** (1.0 / 2.0 if noise == "laplace" else 1.0 / 3.0))


def levelled(space: Space) -> Grouped:
    """The levels of the space's own tree, or groups of its items."""
    if has_levels(space):
        return Grouped(np.arange(space.items), levelled_tree(space), lambda: tuple(edge_names(space)))
    return grouped(space)


class LevelsKind(HistogramKind):
    """Noise on groups of items and on the items, each level at its weight: of user-level DP alone."""

    name = "levels"
    words = user_level_words = "noise on groups of items and on the items, each level at its weight"
    outputs = "each group of items and of each item"

    def build(self, target: NoiseTarget) -> HistogramNoise:
        """Under EMD-DP it has no answer: its weights are about a person's whole data."""
        raise ParameterError("Noise by levels is for user-level DP.", allowed=", ".join(HISTOGRAMS), fix="kind='cells'")


LEVELS = LevelsKind()


def _levels(request: _HistogramRequest) -> HistogramNoise:
    inner = base_space(request.space)
    levels = levelled(inner)
    weights = _weights(levels.tree, request.noise)
    query = weighted_masses(inner, levels.tree, weights, levels.order, lambda: levels.names, Fraction(1, PARTS))
    return _along(LEVELS, request, levels, query, PARTS / np.array(weights, dtype=np.float64)[levels.tree.depths])


def _edges(request: _HistogramRequest) -> HistogramNoise:
    """EMD-DP's noise along the tree of the space inside, and on the added items."""
    inner = base_space(request.space)
    levels = Grouped(np.arange(inner.items), levelled_tree(inner), tuple)
    return _along(TREE, request, levels, tree_edges(inner), 1.0 / levels.tree.lengths)


def _along(
    kind: HistogramKind, request: _HistogramRequest, levels: Grouped, query: Query, factors: Floats
) -> HistogramNoise:
    """Noise on what lies below every edge, and on each added item, decoded along the tree."""
    space, added, tree = request.space, request.added, levels.tree
    whole, built = request.noisy(query)
    order = np.append(levels.order, np.arange(space.items - added, space.items))
    lengths = factors * tree.lengths
    variances = (built.deviation * lengths) ** 2
    factors = np.append(factors, _own_factors(whole))

    def inside(values: Floats, times: float) -> Floats:
        return decode(
            tree, values * tree.lengths, how=request.how, variances=variances * times**2, distribution=request.noise
        )

    def along(values: Floats) -> Floats:
        result = np.empty(space.items)
        result[order] = without_added(values * factors, added, inside)
        return result

    return HistogramNoise(kind, whole, built, factors, along)


def _scales(request: _HistogramRequest) -> HistogramNoise:
    """Densities of the space inside at several scales, and the added items."""
    inside = request.at_worst(base_space(request.space), MULTISCALE)
    query, added = inside.query, request.added
    if not isinstance(query, MultiscaleQuery):
        raise ParameterError("The histogram is not made at several scales.", allowed="a multiscale query", fix="")
    whole, built = request.noisy(query)
    method = "nearest" if request.how == "nearest" else "smooth"
    mechanism = HistogramNoise(MULTISCALE, whole, built, np.append(inside.factors, _own_factors(whole)), np.asarray)

    def across(values: Floats) -> Floats:
        return map_of(query, mechanism.matrix, values, deviation=built.deviation, method=method, added=added).weights

    return replace(mechanism, decoder=across)


def _own_factors(query: Query) -> Floats:
    """From the outputs of the added items to their shares."""
    return np.array([1.0 / (weight * float(query.step)) for weight in query.arguments.get("added", [])])


def with_added(query: Query, space: Space, p: float) -> Query:
    """``query`` on ``space``, whose last items were added to the query's space; only its range is ever asked for.

    Args:
        query: A query without negative values on the base space.
        space: The space with the added items.
        p: The norm that noise is for: 1 or 2.
    """
    known = query.space.items
    added, slack = space.items - known, 1.0 + relative_slack(query.dimension)

    def size(table: Quantised, order: float) -> float:
        """The largest norm of the values of an item, rounded up."""
        return float(row_norms(table.floats(), order).max()) * float_up(table.step) * slack

    free = float(max(query.range_upper(p) ** p - size(query.table, p) ** p, 0.0) ** (1.0 / p))
    # Where an item is nearly as far from 0 as from any other, an output that says something costs a little.
    wanted = max(free, size(query.table, p) / 2.0) * (1.0 + 2.0**-30)
    # A coarser grid makes room for the weight; any weight is sound.
    table = query.table.coarser(math.frexp(wanted / float_up(query.step))[1] - TABLE_BITS)
    step = float_up(table.step)
    weight = min(max(1, math.floor(wanted / step)), 2**TABLE_BITS)
    alone = heavy.sparse.csr_array(weight * np.eye(added, dtype=np.int64))
    whole = replace(
        table, integers=heavy.sparse.csr_array(heavy.sparse.block_diag([table.integers, alone], format="csr"))
    )

    def span(order: float) -> float:
        """From an item to another, from an item to an added one, and from one of these to another."""
        own = weight * step
        apart = query.range_upper(order) + table.moved_upper(query.table, order)
        if math.isinf(order):
            return float(max(apart, size(table, order), own) * _UP)
        far = max(size(table, order) ** order, own**order) + own**order
        return float(max(apart, far ** (1.0 / order))) * _UP

    return Query(
        space,
        query.kind,
        query.unit,
        query.description,
        whole,
        {**query.arguments, "added": [weight] * added},
        ClosedForm(lambda order: span(order) / space.least_distance_lower, range_bound=span, quantised=True),
        lambda: [*query.outputs, *(space.label(item) for item in range(known, space.items))],
    )


USER_LEVEL: dict[str, Callable[[_HistogramRequest], HistogramNoise] | None] = {
    "levels": _levels,
    "tree": _edges,
    "multiscale": _scales,
    "cells": None,
}
"""The ways by name, and how each is built where items were added to the space (cells need no other way)."""
