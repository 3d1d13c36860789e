"""Half widths of all node values of a release along edges at once: nodes with equal surroundings share one number.

The noise of a node is a sum of independent noises of its edges and of the cycles it lies on
(docs/proofs/edge-decoding.md, Section 7).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.edge_sums import EdgeSum, laplace_half_widths
from barrow.numerics import float_up
from barrow.spaces.base import Floats, Ids

_FEW = 64
"""Nodes with as many edges or fewer are looked at all at once."""


def node_half_widths(plan: EdgeHistogram, level: float = 0.05) -> Floats:
    """The value of node v is farther from its value without noise than entry v with probability at most ``level``.

    >>> from barrow.mechanisms.edge_histogram import edge_histogram
    >>> from barrow.spaces import Line
    >>> plan = edge_histogram(Line(0, 4, step=1, cells=True), 1, users=1000)
    >>> node_half_widths(plan).round(5).tolist()  # one edge, or two
    [0.01198, 0.01646, 0.01646, 0.01198]
    """
    nodes, codes, laplace, corners = _parts(plan)
    order = np.argsort(nodes, kind="stable")
    nodes, codes = nodes[order], codes[order]
    starts = np.searchsorted(nodes, np.arange(plan.graph.nodes + 1))
    first, kinds = _kinds(nodes, codes, plan.graph.nodes, len(laplace) + len(corners))
    degrees = (starts[1:] - starts[:-1])[first]
    found = np.zeros(len(first))
    for degree in np.unique(degrees).tolist():
        here = np.flatnonzero(degrees == degree)
        mine = codes[starts[first[here]][:, None] + np.arange(degree)]
        plain = (mine < len(laplace)).all(axis=1) & (degree <= _FEW)
        if plain.any():
            found[here[plain]] = laplace_half_widths(laplace[mine[plain]], level, plan.reports)
        for place, row in zip(here[~plain].tolist(), mine[~plain], strict=True):
            round_it = corners[row[row >= len(laplace)] - len(laplace)]
            turns = np.tile([1.0, -1.0, 0.0, 0.0], (len(round_it), 1))
            scales = laplace[row[row < len(laplace)]]
            found[place] = EdgeSum(scales, turns, round_it, reports=plan.reports).half_width(level)
    return np.asarray(found[kinds] * (float_up(plan.scale) * (1.0 + 1e-9)) + float_up(plan.grid) / 2.0)


def _parts(plan: EdgeHistogram) -> tuple[Ids, Ids, Floats, Floats]:
    """The node and the distribution of each part, at scale 1: scales of Laplace variables, then lengths round corners.

    Node k of a face lies between its edges k-1 and k: the cycle's noise adds f_(k-1) - f_k there.
    """
    graph = plan.graph
    alone = np.ones(graph.edges, dtype=bool)
    if plan.faces is not None:
        alone[plan.faces] = False
    scales, codes = np.unique(1.0 / graph.lengths[alone], return_inverse=True)
    nodes = np.concatenate([graph.tails[alone], graph.heads[alone]])
    codes = np.concatenate([codes, codes])
    if plan.faces is None:
        return nodes, codes, scales, np.zeros((0, 4))
    around = graph.lengths[plan.faces]
    turned = np.concatenate([np.roll(around, 1 - k, axis=1) for k in range(4)])
    rows, corners = np.unique(turned, axis=0, return_inverse=True)
    nodes = np.concatenate([nodes, *(graph.face_nodes[:, k] for k in range(4))])
    return nodes, np.concatenate([codes, len(scales) + corners.ravel()]), scales, rows


def _kinds(nodes: Ids, codes: Ids, count: int, distributions: int) -> tuple[Ids, Ids]:
    """One node of each kind of surroundings, and the kind of every node: equal sums of two marks for each part."""
    sums = np.zeros((2, count), dtype=np.uint64)
    for row, mark in zip(sums, _marks(2 * distributions).reshape(2, distributions), strict=True):
        np.add.at(row, nodes, mark[codes])
    _, first, kinds = np.unique(sums.T, axis=0, return_index=True, return_inverse=True)
    return first, kinds.ravel()


def _marks(count: int) -> Any:
    """Different 64-bit numbers whose sums tell different multisets apart: the counter, thoroughly mixed."""
    x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))
