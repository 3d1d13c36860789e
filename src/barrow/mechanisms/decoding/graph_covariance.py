"""Solves with the covariance of noise along the edges of a graph.

Released are y = Q + D eta at the nodes. The covariance C of D eta is a Laplacian: sparse, and zero on constants. Smooth
decoders need C alone, never its inverse; least squares and discrepancies need one sparse factorisation
(docs/proofs/edge-decoding.md, Sections 1 and 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from barrow.spaces.base import Floats
from barrow.transport.graph_flow import grounded


@dataclass(frozen=True, eq=False)
class NodeCovariance:
    """The covariance of what noise along edges adds to the nodes.

    Attributes:
        matrix: C, shape (nodes, nodes), sparse.

    >>> from scipy.sparse import csr_array
    >>> one_edge = NodeCovariance(csr_array([[2.0, -2.0], [-2.0, 2.0]]))
    >>> one_edge.inverse(np.array([1.0, -1.0])).tolist(), one_edge.discrepancy(np.array([2.0, -2.0]))
    ([0.25, -0.25], 2.0)
    """

    matrix: Any

    @cached_property
    def _unit(self) -> float:
        # In units of the typical variance no entry is tiny.
        return float(np.median(self.matrix.diagonal()))

    @cached_property
    def _solve(self) -> Any:
        return grounded(self.matrix / self._unit)

    def inverse(self, values: Floats) -> Floats:
        """C^+ values, of mean 0, for values of sum 0 (their mean is taken off)."""
        return np.asarray(self._solve(values - values.mean()) / self._unit)

    def discrepancy(self, values: Floats) -> float:
        """values^T C^+ values: on average the number of nodes minus 1 if ``values`` are noise."""
        centred = values - values.mean()
        return float(centred @ self.inverse(centred))
