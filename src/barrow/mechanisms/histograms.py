"""One face for the ways to a histogram by additive noise: on the cells, along a tree or a graph, at several scales.

Each asks a linear query, adds noise, and decodes what was released to one histogram. Every output is a public factor
times a share, so the released values speak for shares of their own, with intervals, beside the histogram.

Along a tree noise is of the same size on every edge: EMD is the 1-norm of the difference of edge values (length times
mass below), so Laplace noise of scale 1/(alpha n) on each is (alpha, 0)-EMD-DP, unbounded, whatever the tree
(docs/proofs/tree-histograms.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError, one_of
from barrow.mechanisms.additive import AdditiveNoise, checked_model
from barrow.mechanisms.decoding.cells import CellNoise, cells_decoder
from barrow.mechanisms.decoding.grid import nearest_in_simplex
from barrow.mechanisms.decoding.tree import decode
from barrow.mechanisms.edge_histogram import Spacing, edge_histogram
from barrow.mechanisms.edge_noise import EdgeNoise
from barrow.mechanisms.linear import MuFor, linear_candidates, linear_noise
from barrow.mechanisms.multiscale import chosen_scales, map_of
from barrow.mechanisms.sampled_sums import sampled_edge_noise
from barrow.mechanisms.summed import SummedNoise, summed_noise
from barrow.noise import Center, rounded_gaussian
from barrow.noise.source import SeededSource
from barrow.numerics import Exact, checked_people, float_up
from barrow.promises import Aggregation, Event, Model
from barrow.promises.definitions import probability
from barrow.queries import MultiscaleQuery, Query, histogram, tree_edges
from barrow.spaces import Space, edge_tree
from barrow.spaces.space import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MANY = 30
"""The mean of so many reports is taken as Gaussian, for decoding and for predictions only."""
HOW = ("auto", "nearest")
"""Decoders: the most accurate one on average, and the one with a proven bound (docs/proofs/histograms.md)."""


@dataclass(frozen=True, eq=False)
class HistogramNoise:
    """A histogram by additive noise on a query, ready to draw; everything in it is public.

    Attributes:
        family: Of what kind it is.
        query: What noise is added to.
        noise: The noise: :class:`AdditiveNoise` or :class:`EdgeNoise`.
        factors: Each output is a share divided by its factor.
        decoder: From released values to a histogram.
        undecoded: The expected EMD error before decoding, normalised, where it has a closed form.
        upper: No data have a larger expected EMD error, normalised, if the decoder is ``"nearest"``.
        reports: How many noisy values are averaged for each output: n in the local model, else 1.

    >>> from barrow.spaces import Clustered
    >>> built = histogram_noise(Clustered.grid(2, 2, r=0.25), "tree", 25, users=1000)
    >>> built.query.dimension, built.factors.round(2).tolist()
    (6, [2.67, 2.67, 8.0, 8.0, 8.0, 8.0])
    """

    family: HistogramKind
    query: Query
    noise: AdditiveNoise | EdgeNoise
    factors: Floats
    decoder: Callable[[Floats], Floats]
    undecoded: float | None = None
    upper: float = 1.0
    reports: int = 1

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return self.family.name

    @property
    def space(self) -> Space:
        """The public space."""
        return self.query.space

    @property
    def event(self) -> Event:
        """What drawing it causes."""
        return self.noise.event

    @property
    def along_edges(self) -> EdgeNoise:
        """Its noise, where it is added along edges."""
        if isinstance(self.noise, EdgeNoise):
            return self.noise
        raise TypeError(f"The noise of a histogram by {self.kind} is not along edges.")

    @property
    def on_outputs(self) -> AdditiveNoise:
        """Its noise, where it is added to every output by itself."""
        if isinstance(self.noise, AdditiveNoise):
            return self.noise
        raise TypeError(f"The noise of a histogram by {self.kind} is along edges.")

    def decode(self, values: Floats) -> Floats:
        """The histogram, one share for each item with sum 1, that released values speak for."""
        result = np.maximum(self.decoder(np.asarray(values, dtype=np.float64)), 0.0)
        return np.asarray(result / result.sum())

    def shares(self, values: Floats) -> tuple[Floats, Floats]:
        """The unbiased shares that the values are, and the half width of each (95 %)."""
        widths = self.noise.half_widths(self.reports) if isinstance(self.noise, EdgeNoise) else self.half_width
        return np.asarray(values) * self.factors, np.asarray(widths * self.factors)

    @property
    def determined(self) -> tuple[bool, float | None]:
        """Whether cells are no finer than what noise is added to, and else how far nodes are apart, in units."""
        if isinstance(self.noise, EdgeNoise):
            fine, gap = self.noise.plan.graph.weights is None, self.query.arguments.get("spacing")
            return fine, gap if not fine and isinstance(gap, int | float) else None
        return self.family.fine, None

    @property
    def half_width(self) -> float:
        """Each value that is decoded is off by more with probability at most 5 %."""
        return float(self.noise.mean_half_width(self.reports))

    def simulated(self, reference: Floats, source: SeededSource) -> Floats:
        """One decoded histogram if everybody's items followed ``reference``; means of many reports are Gaussian."""
        true = np.asarray(self.matrix @ reference)
        if isinstance(self.noise, EdgeNoise):
            return self.decode(true + self.noise.mean_draw(self.reports, source))
        zeros = Center.from_integers(np.zeros(len(true), dtype=np.int64))
        if self.reports >= MANY:
            spread = Fraction(self.noise.deviation / math.sqrt(self.reports))
            noise = rounded_gaussian(zeros, spread, source=source).values
        else:
            noise = np.mean([self.noise.draw(zeros, source).values for _ in range(self.reports)], axis=0)
        return self.decode(true + noise)

    @cached_property
    def matrix(self) -> Floats | csr_array[np.float64]:
        """(outputs, items): the values of a histogram before noise."""
        table = self.query.table.floats() * float(self.query.step)
        return table.T.tocsr() if self.query.table.sparse else np.ascontiguousarray(table.T)


@dataclass(frozen=True)
class NoiseTarget:
    """What a histogram by additive noise is asked for with, whatever its kind; see :func:`histogram_noise`."""

    space: Space
    alpha: Exact
    delta: Exact
    users: int
    model: Model
    noise: str
    how: str
    spacing: Spacing
    mu_for: MuFor | None
    parties: Aggregation | None = None

    @property
    def reports(self) -> int:
        """How many noisy values are averaged for each output."""
        return self.users if self.model is Model.LOCAL else 1

    @property
    def summed(self) -> bool:
        """Whether aggregators add up and add the noise."""
        return self.model is Model.AGGREGATED

    def sums(self, query: Query) -> SummedNoise:
        """The aggregators' noise on a query."""
        if self.noise not in ("auto", "laplace"):
            raise ParameterError(
                f"noise is {self.noise!r}, and aggregators add discrete Laplace noise.",
                allowed="'auto' or 'laplace'",
                fix="noise='auto'",
            )
        return summed_noise(query, self.alpha, users=self.users, parties=self.parties)


class HistogramKind(ABC):
    """One way to a histogram by additive noise.

    Attributes:
        name: What it is called in a study.
        words: What is done, in words.
        outputs: What the released values speak for, in words.
        user_level_words: What is done under user-level DP.
        fine: Whether its values determine the share of every item, if they do so on no coarser nodes.
        spaced: Whether its noise is on nodes, which may be coarser than items.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    outputs: ClassVar[str]
    user_level_words: ClassVar[str]
    fine: ClassVar[bool] = True
    spaced: ClassVar[bool] = False

    @abstractmethod
    def build(self, target: NoiseTarget) -> HistogramNoise:
        """The histogram, ready to draw."""

    def check(self, space: Space) -> None:  # noqa: B027  (most kinds refuse none)
        """Refuses a space on which another kind does the same, and decodes it better."""


class EdgesKind(HistogramKind):
    """Laplace noise along the edges of the space's graph."""

    name = "edges"
    words = "noise along the edges of the space's graph, decoded along it"
    outputs = "what each node of the graph carries"
    spaced = True

    def build(self, target: NoiseTarget) -> HistogramNoise:
        """The nearest histogram along the graph has a proven bound where nodes are items."""
        if target.noise not in ("auto", "laplace"):
            raise ParameterError(
                f"noise is {target.noise!r}, but noise along edges is Laplace.",
                allowed="'auto' or 'laplace'",
                fix="noise='auto'",
            )
        noise = self._noise(target)
        plan = noise.plan
        graph, how = plan.graph, target.how
        upper = 1.0
        if graph.weights is None:
            # Along the graph the nearest histogram is off by at most twice the noise (2 % more by its solver), and
            # paths are at most ``stretch`` times too short. Means of reports: by the standard deviations of the edges.
            cost = plan.noise_cost_upper
            if plan.reports > 1:
                cost = min(cost, graph.edges * float_up(plan.scale) * math.sqrt(2.0 / plan.reports))
            upper = min(1.0, 2.05 * cost * float_up(graph.stretch))
        return HistogramNoise(
            self,
            plan.query,
            noise,
            np.ones(graph.nodes),
            lambda values: plan.decoder.decode(values, how),
            upper=upper,
            reports=plan.reports,
        )

    @staticmethod
    def _noise(target: NoiseTarget) -> EdgeNoise:
        """The noise; that of aggregators is on counts of samples."""
        if target.summed:
            return sampled_edge_noise(
                target.space, target.alpha, users=target.users, parties=target.parties, spacing=target.spacing
            )
        plan = edge_histogram(
            target.space, target.alpha, users=target.users, model=target.model, spacing=target.spacing
        )
        return EdgeNoise(plan)

    def check(self, space: Space) -> None:
        """Along a tree the noise of edges is that of the tree, which has decoders of its own."""
        if space.items == 1:
            raise ParameterError("The space has one item, so its graph has no edges.")
        if space.geometry.has_tree and not space.geometry.on_line:
            raise ParameterError("The space is a tree, and noise along its edges is what the mechanism 'tree' adds.")


class TreeKind(HistogramKind):
    """Noise of one size on every edge of a tree."""

    name = "tree"
    words = "noise on every edge of the tree, decoded along it"
    outputs = "what lies below each edge of the tree"
    user_level_words = "noise on every edge of the tree, as EMD-DP at alpha = epsilon"

    def build(self, target: NoiseTarget) -> HistogramNoise:
        """Noise for a target."""
        query, reports = tree_edges(target.space), target.reports
        noise: AdditiveNoise
        if target.summed:
            noise = sums = target.sums(query)
            reports = sums.copies
        else:
            noise = self._least(query, target)
        tree, how, variance = edge_tree(target.space), target.how, noise.deviation**2 / reports
        distribution = "gaussian" if noise.p is None or reports >= MANY else "laplace"
        undecoded = tree.edges * mean_size(noise, reports)
        return HistogramNoise(
            self,
            query,
            noise,
            1.0 / tree.lengths,
            lambda values: decode(tree, values, how=how, variances=variance, distribution=distribution),
            undecoded,
            min(2.0 * undecoded, 1.0),  # of how="nearest", whatever the data
            reports,
        )

    @staticmethod
    def _least(query: Query, target: NoiseTarget) -> AdditiveNoise:
        """The noise of least expected size, of those that are asked for."""
        one_of(target.noise, "noise", ("auto", "laplace", "gaussian"))
        place, people = checked_model(target.model, target.users)[0], checked_people(target.users)
        wanted = ["laplace", "gaussian"] if probability(target.delta) > 0 else ["laplace"]
        users = None if place is Model.LOCAL else people
        built = [
            linear_candidates(
                query, target.alpha, target.delta, noise=law, model=place, users=users, mu_for=target.mu_for
            )[0]
            for law in (wanted if target.noise == "auto" else [target.noise])
        ]
        return min(built, key=lambda noise: mean_size(noise, target.reports))


class MultiscaleKind(HistogramKind):
    """Noise on densities at several scales, of a curator."""

    name = "multiscale"
    words = "noise on densities at several scales, decoded to one map"
    outputs = "the surroundings of each place, at each scale"
    user_level_words = "noise on densities at several scales"
    fine = False

    def build(self, target: NoiseTarget) -> HistogramNoise:
        """Decoded to one map."""
        if target.model is not Model.CENTRAL:
            raise ParameterError("Noise at several scales needs the central model, in which a curator holds the data.")
        query = chosen_scales(target.space, target.alpha, target.users)
        noise = linear_noise(
            query, target.alpha, target.delta, noise=target.noise, users=target.users, mu_for=target.mu_for
        )
        return self.of(query, noise, target.how)

    def of(self, query: MultiscaleQuery, noise: AdditiveNoise, how: str = "auto") -> HistogramNoise:
        """Noise on given densities, decoded together."""
        levels, k = query.levels, query.space.items
        factors = np.concatenate([np.full(level.query.dimension, 1.0 / level.weight) for level in levels])
        finest = max((level.weight for level in levels if level.name == "cells"), default=0.0)
        spread = math.sqrt(k * query.dimension) * noise.deviation
        method = "nearest" if how == "nearest" else "smooth"

        def decoded(values: Floats) -> Floats:
            return map_of(query, result.matrix, values, deviation=noise.deviation, method=method).weights

        upper = min(1.0, 0.5 * spread / finest) if finest > 0.0 else 1.0
        result = HistogramNoise(self, query, noise, factors, decoded, upper=upper)
        return result


class CellsKind(HistogramKind):
    """Noise on the share of every item."""

    name = "cells"
    words = user_level_words = "noise on every item's share"
    outputs = "each item"

    def build(self, target: NoiseTarget) -> HistogramNoise:
        """Brought to the shares of a histogram."""
        query, reports = histogram(target.space), target.reports
        noise: AdditiveNoise
        if target.summed:
            noise = sums = target.sums(query)
            reports = sums.copies
        else:
            noise = linear_candidates(
                query,
                target.alpha,
                target.delta,
                noise=target.noise,
                model=target.model,
                users=None if target.model is Model.LOCAL else target.users,
                mu_for=target.mu_for,
            )[0]
        k, deviation = query.space.items, noise.deviation / math.sqrt(reports)
        decoder = nearest_in_simplex if target.how == "nearest" else cells_decoder(query.space, _law(noise, reports))
        # Projections bring points of a convex set no farther apart, and EMD <= 1-norm/2 <= sqrt(k) 2-norm/2.
        upper = min(1.0, 0.5 * k * deviation)
        undecoded = _undecoded(query.space, noise) if reports == 1 else None
        return HistogramNoise(self, query, noise, np.ones(k), decoder, undecoded, upper, reports)


EDGES, TREE, MULTISCALE, CELLS = EdgesKind(), TreeKind(), MultiscaleKind(), CellsKind()
HISTOGRAMS: dict[str, HistogramKind] = {"edges": EDGES, "tree": TREE, "multiscale": MULTISCALE, "cells": CELLS}
"""The ways by name."""


def histogram_noise(
    space: Space,
    kind: str,
    alpha: Exact,
    delta: Exact = 0,
    *,
    users: int,
    model: str = Model.CENTRAL,
    noise: str = "auto",
    how: str = "auto",
    spacing: Spacing = None,
    mu_for: MuFor | None = None,
) -> HistogramNoise:
    """A histogram of one kind under (alpha, delta)-EMD-DP, unbounded.

    Args:
        space: The public space.
        kind: ``"edges"`` (any space), ``"tree"`` (tree, clustered, discrete and line spaces), ``"multiscale"`` (spaces
            with a geometry), or ``"cells"`` (any).
        alpha: Privacy loss per unit of EMD.
        delta: 0 for pure noise; above 0, Gaussian noise is considered too.
        users: n, public; in the local model, how many reports are expected.
        model: ``"central"``, or ``"local"``: each person adds noise, and the mean of all reports is decoded.
        noise: ``"auto"``, ``"laplace"`` or ``"gaussian"``; others where the query allows them.
        how: The decoder: ``"auto"``, the most accurate one on average, or ``"nearest"``, which has a proven bound.
        spacing: For ``"edges"``: the widest gap between nodes, see :meth:`barrow.spaces.Space.graph`.
        mu_for: From B/ell to the mu of Gaussian noise, see :func:`barrow.mechanisms.linear_noise`.

    >>> from barrow.spaces import Clustered
    >>> built = histogram_noise(Clustered.grid(10, 10, r=0.05), "tree", 25, users=10_000)
    >>> built.noise.name, round(built.undecoded, 6), round(built.upper, 6)
    ('Laplace', 0.00044, 0.00088)
    """
    one_of(how, "decode", HOW)
    one_of(kind, "kind", list(HISTOGRAMS))
    return HISTOGRAMS[kind].build(NoiseTarget(space, alpha, delta, users, Model(model), noise, how, spacing, mu_for))


def _undecoded(space: Space, noise: AdditiveNoise) -> float | None:
    """The expected EMD of noisy cells moved to the sum 1, where the space is a tree: E|error| of every edge's run."""
    if not space.geometry.has_tree or space.items == 1 or noise.p not in ("1", None):
        return None

    tree, k = edge_tree(space), space.items
    below = (tree.ends - tree.starts).astype(np.float64)
    mean: float | Floats = math.sqrt(2.0 / math.pi)
    if noise.p == "1":
        # The sum of t Laplace variables is no normal one: its mean size is 2 t binom(2t, t)/4^t scales.
        t = np.maximum(np.minimum(below, k - below), 1.0)
        mean = np.sqrt(2.0 * t) * np.exp(
            heavy.special.gammaln(2.0 * t + 1.0) - 2.0 * heavy.special.gammaln(t + 1.0) - t * math.log(4.0)
        )
    return float(tree.lengths @ (mean * noise.deviation * np.sqrt(below * (1.0 - below / k))))


def _law(noise: AdditiveNoise, reports: int) -> CellNoise:
    """The law of the noise on cells that is decoded; norms other than the first are taken as Gaussian."""
    spread = noise.deviation / math.sqrt(reports)
    return CellNoise(spread, reports) if noise.p == "1" and reports < MANY else CellNoise(spread)


def mean_size(noise: AdditiveNoise, reports: int) -> float:
    """E |noise| of a mean of reports (rounding to the grid, a millionth of it, aside), Laplace or Gaussian."""
    scale = float_up(noise.scale)
    if noise.p is None:
        return scale * math.sqrt(2.0 / math.pi / reports)
    if reports > 1000:
        return 2.0 * scale / math.sqrt(math.pi * reports) * (1.0 - 1.0 / (8.0 * reports))
    return 2.0 * scale * float(math.comb(2 * reports, reports) / 4**reports)
