"""Decoders of noisy shares of cells on a line: the library's own beside others, each judged by the same releases."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from barrow.mechanisms.decoding.grid import nearest_in_simplex

Floats = NDArray[np.float64]
_ROUNDS = 60


def isotonic(noisy: Floats) -> Floats:
    """The distribution function nearest in least squares."""
    even = noisy + (1.0 - noisy.sum()) / len(noisy)
    below = np.clip(isotonic_regression(np.cumsum(even)[:-1]).x, 0.0, 1.0)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def empirical_bayes(noisy: Floats, scale: float) -> Floats:
    """Posterior means of cells that share one prior on 60 sizes and 0, fitted to them by likelihood."""
    most = max(float(noisy.max()), 2.0 * scale)
    sizes = np.concatenate([[0.0], np.geomspace(scale / 20.0, most, 60)])
    apart = np.abs(noisy[:, None] - sizes[None, :]) / scale
    likely = np.exp(apart.min(axis=1, keepdims=True) - apart)
    prior = np.full(len(sizes), 1.0 / len(sizes))
    for _ in range(_ROUNDS):
        belief = likely * prior
        belief /= belief.sum(axis=1, keepdims=True)
        prior = belief.mean(axis=0)
    result = belief @ sizes
    return np.asarray(result / result.sum() if result.sum() > 0.0 else np.full(len(noisy), 1.0 / len(noisy)))


def line_errors(noisy: Floats, screened: Floats, truth: Floats, scale: float) -> dict[str, float]:
    """The error of each decoder, in cells of the line.

    Args:
        noisy: The released share of each cell, and of people without records after them.
        screened: What the library decoded them to.
        truth: The true share of each cell.
        scale: Of the Laplace noise.
    """
    cells = len(truth)
    there = max(float(screened[:cells].sum()), 1e-9)
    rest, own = noisy[:cells] / there, scale / there
    result: dict[str, Any] = {
        "screened": screened[:cells] / there,
        "isotonic": isotonic(rest),
        "simplex": nearest_in_simplex(rest),
        "empirical_bayes": empirical_bayes(rest, own),
    }
    return {name: float(np.abs(np.cumsum(shares - truth)).sum()) for name, shares in result.items()}


def extremes(cells: int = 401) -> dict[str, Floats]:
    """Four made-up histograms at which decoders fail: they are no data, and no real set is like them."""
    k = np.arange(cells)
    tail = (k + 1.0) ** -1.5
    return {
        "spike": (k == cells // 3).astype(np.float64),
        "even": np.full(cells, 1.0 / cells),
        "far spikes": np.isin(k, [3, cells // 2, cells - 4]) / 3.0,
        "heavy tail": tail / tail.sum(),
    }
