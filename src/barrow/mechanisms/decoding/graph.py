"""From noisy values at the nodes of a public graph to a histogram over the items: post-processing, free of charge.

Two decoders, both of which see released values and public numbers alone (docs/proofs/edge-decoding.md):

* ``smooth`` mixes bumps of all scales, entropy keeping to broad ones what the noise does not contradict;
* ``nearest`` is nearest by transport along the graph: its error there is at most twice the noise, whatever the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow import heavy
from barrow.errors import ParameterError, one_of
from barrow.mechanisms.decoding.entropic import EntropicDual, inner
from barrow.mechanisms.decoding.graph_scales import GraphScales, graph_scales
from barrow.spaces.neighbours import NeighbourGraph
from barrow.spaces.space import Floats
from barrow.transport.graph_flow import nearest_flow

HOW = ("auto", "smooth", "nearest")
_USUAL = 0.06
"""Entropy is usually this strong, divided by the typical scale of an edge's noise."""
_LOW, _HIGH, _HIGH_OF_MANY = 0.72, 0.8, 1.1
"""It is made stronger while the map's discrepancy, as a share of noise alone, stays below, weaker while above."""
_MOST_CHANGES = 8
_LOOSEST, _MANY_NODES = 0.01, 20_000
_TIGHTEST = 1e-8
"""Total variation below which nothing is gained: the dual's own rounding is near."""
"""Maps are as near the exact minimiser in total variation as the noise is in EMD; of fewer nodes nearer still."""


@dataclass(frozen=True, eq=False)
class GraphMap:
    """A decoded histogram, and what the decoder did.

    Attributes:
        weights: One weight for each item, none negative, with sum 1.
        strength: How much entropy counts.
        discrepancy: The squared residual by C^+, as a share of what noise alone has on average.
        steps: How many steps the solver took.
        dual: The potential that it was found by.
    """

    weights: Floats
    strength: float
    discrepancy: float
    steps: int
    dual: Floats


@dataclass(frozen=True, eq=False)
class GraphDecoder:
    """Decodes released values of one graph; what does not depend on the values is kept for the next ones.

    Attributes:
        graph: The public graph.
        items: How many items the space has.
        covariance: Of the noise at the nodes; sparse.
        cost: The expected cost of the noise along the graph: maps are made as precise as it asks for.
    """

    graph: NeighbourGraph
    items: int
    covariance: Any
    cost: float

    def __post_init__(self) -> None:
        carried = self.graph.nodes if self.graph.weights is None else int(self.graph.weights.shape[0])
        if not 1 <= self.items <= carried or self.covariance.shape != (self.graph.nodes,) * 2:
            raise ParameterError(
                f"items is {self.items!r}, but the graph carries {carried:,}, or the covariance is not of its nodes.",
                allowed="the space's items and graph, and the covariance of the noise at its nodes",
                fix="plan.decoder of an edge histogram",
            )

    @cached_property
    def typical_scale(self) -> float:
        """The scale of Laplace noise on one edge, if all edges had their mean variance."""
        return math.sqrt(float(self.covariance.trace()) / (4.0 * self.graph.edges))

    @cached_property
    def scales(self) -> GraphScales:
        """The bumps that smooth decoders mix."""
        return graph_scales(self.graph, self.items)

    @cached_property
    def weights(self) -> Any:
        """(items, nodes): how much of an item each node carries."""
        if self.graph.weights is None:
            return heavy.diagonal(np.ones(self.items), self.graph.nodes)
        return self.graph.weights.tocsr()

    def decode(self, values: ArrayLike, how: str = "auto") -> Floats:
        """The histogram, one weight for each item with sum 1.

        ``how`` is one of ``HOW``; ``"auto"`` is the most accurate one on average by test (docs/histograms.md).
        """
        one_of(how, "how", HOW)
        if how == "nearest":
            return self.nearest(values)
        return self.smooth(values).weights

    def smooth(self, values: ArrayLike) -> GraphMap:
        """The mixture of bumps with the usual entropy, or as much more or less as the discrepancy asks for."""
        return self.discrepant(self.checked(values), self.scales.prior)

    def nearest(self, values: ArrayLike) -> Floats:
        """The nearest histogram along the graph: W1_G from the truth is at most twice the noise's (to 2%)."""
        g = self.graph
        result = nearest_flow(g, self.checked(values), self.weights)
        remainder = result.remainder
        return np.full(self.items, 1.0 / self.items) if remainder is None else np.asarray(remainder)

    def checked(self, values: ArrayLike) -> Floats:
        """The values, one for each node, moved to the sum 1."""
        y = np.asarray(values, dtype=np.float64)
        if y.shape != (self.graph.nodes,) or not np.isfinite(y).all():
            raise ParameterError(
                f"The values have shape {y.shape}, or are not finite.",
                allowed=f"a finite number for each of the {self.graph.nodes:,} nodes",
                fix="the released values, in the order of the graph's nodes",
            )
        # Noise along edges adds 0 in all; what is missing from 1 is rounding.
        return np.asarray(y + (1.0 - y.sum()) / y.size, dtype=np.float64)

    def dual(self, y: Floats, prior: Floats) -> _GraphDual:
        """The dual of the smooth map for checked values."""
        scales = self.scales
        return _GraphDual(y, scales.spread, scales.gather, *self._both_ways, prior, matrix=self._sparse)

    @cached_property
    def _sparse(self) -> Any:
        return self.covariance.tocsr()

    @cached_property
    def _both_ways(self) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
        """From items to nodes, and back."""
        return heavy.times(self.weights.T.tocsr()), heavy.times(self.weights)

    def discrepant(self, y: Floats, prior: Floats) -> GraphMap:
        """The usual strength, or by halves of a doubling the nearest one whose discrepancy suits the noise."""
        dual = self.dual(y, prior)
        tolerance = min(_LOOSEST, self.cost) * min(1.0, max(0.05, self.graph.nodes / _MANY_NODES))
        tolerance = max(tolerance, _TIGHTEST)
        steps = 0

        def attempt(strength: float, start: Floats | None = None) -> GraphMap:
            nonlocal steps
            fit = dual.fit(strength, tolerance, start)
            steps += fit.steps
            # Where the gradient is 0 the residual is C v, so this is its discrepancy.
            ratio = inner(fit.dual, dual.covaried(fit.dual)) / max(1, self.graph.nodes - 1)
            return GraphMap(fit.weights, strength, ratio, steps, fit.dual)

        result = attempt(_USUAL / self.typical_scale)
        high = _HIGH if self.graph.nodes <= _MANY_NODES else _HIGH_OF_MANY
        weaker = result.discrepancy > high
        for _ in range(_MOST_CHANGES):
            if (not weaker and result.discrepancy > _LOW) or (weaker and result.discrepancy <= high):
                break
            # The residual is C v, which another strength changes little: its dual is a good beginning.
            after = attempt(result.strength * (0.5 if weaker else math.sqrt(2.0)), result.dual)
            # Weaker entropy must pay, or what is left is noise that no histogram explains; stronger must stay low.
            if after.discrepancy > (0.95 * result.discrepancy if weaker else _LOW):
                break
            result = after
        return result


@dataclass(frozen=True, eq=False)
class _GraphDual(EntropicDual):
    """The dual with a sparse covariance. Its curvature is C plus the mass at each node, divided by the strength."""

    matrix: Any = field(kw_only=True)
    rounds = (6, 15, 400)
    memory = 10

    @cached_property
    def diagonal(self) -> Floats:
        """Of the covariance."""
        return np.asarray(self.matrix.diagonal())

    @cached_property
    def _covaried(self) -> Callable[[Floats], Floats]:
        return heavy.times(self.matrix)

    def covaried(self, v: Floats) -> Floats:
        return self._covaried(v)

    def units(self, strength: float, outputs: Floats) -> Any:
        mass = np.maximum(outputs, 0.0) + 1e-4 / outputs.size
        return np.sqrt(strength / (self.diagonal + mass / strength))

    def gap(self, gradient: Floats, units: Any, strength: float) -> float:
        """An estimate: half the squared gradient by the diagonal of the curvature."""
        scaled = gradient * units
        return 0.5 * inner(scaled, scaled) / strength
