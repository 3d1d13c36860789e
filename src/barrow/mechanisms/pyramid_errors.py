"""The error of a decoded map at a public reference distribution, by simulation with replayable noise.

The earth mover's distance is exact where the space has a closed form or a solver is quick enough, and otherwise an
upper bound along a tree of the space's scales: the result says which.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.additive import AdditiveNoise
from barrow.mechanisms.pyramid_scales import mixed_reference, scales_of
from barrow.noise import Center
from barrow.noise.simulation import SeededSource
from barrow.numerics import whole
from barrow.spaces import EARTH_RADIUS_KM, Earth, Euclidean, Hexagons, Space
from barrow.spaces.base import Floats, Ids
from barrow.transport import kr_norm
from barrow.transport.closed_forms import CLOSED_FORMS
from barrow.transport.graph_flow import EXACT_NODES, emd_flow_upper
from barrow.transport.solvers import pot

_EXACT_ITEMS, _EXACT_ITEMS_WITHOUT_POT = 1600, 150


@dataclass(frozen=True)
class MapError:
    """A simulated EMD error of a map.

    Attributes:
        reference: The public distribution at which it was simulated.
        mean: The mean over simulated releases.
        deviation: Their standard deviation.
        draws: How many there were.
        method: ``"exact"``, or ``"graph, at most"`` or ``"tree, at most"`` where the EMD was bounded from above.

    >>> MapError("uniform", 0.01, 0.001, 4, "exact").mean
    0.01
    """

    reference: str
    mean: float
    deviation: float
    draws: int
    method: str


def predicted_map_error(
    space: Space,
    matrix: Any,
    noise: AdditiveNoise,
    decode: Callable[[Floats], Floats],
    reference: Any,
    draws: int,
) -> MapError:
    """Mean and deviation of the EMD between a public distribution and maps decoded from its noisy densities.

    The noise is that of a release but for its source, which is seeded: equal arguments give equal numbers.
    """
    draws = whole(draws, "draws", most=10_000, fix="draws=4")
    name, weights = _reference(space, reference)
    true = matrix @ weights
    zero = Center.from_integers(np.zeros(len(true), dtype=np.int64))
    errors, method = [], "exact"
    for seed in range(draws):
        noisy = true + noise.draw(zero, SeededSource(seed)).values
        error, method = map_distance(space, decode(noisy), weights)
        errors.append(error)
    return MapError(name, float(np.mean(errors)), float(np.std(errors)), draws, method)


def map_distance(space: Space, a: Floats, b: Floats) -> tuple[float, str]:
    """The EMD of two histograms and ``"exact"``, or an upper bound and how it was found.

    Up to 50,000 items ``"graph, at most"`` is at most 1.3 times the EMD: transport along near pairs
    (docs/proofs/edge-decoding.md). Beyond, ``"tree, at most"`` may be several times too large.

    >>> from barrow.spaces import Line
    >>> map_distance(Line(0, 4, step=1, cells=True), np.eye(4)[0], np.eye(4)[2])
    (0.5, 'exact')
    """
    return signed_distance(space, np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64))


def signed_distance(space: Space, difference: Floats) -> tuple[float, str]:
    """The EMD norm of a difference of mass 0 and ``"exact"``, or an upper bound and how it was found.

    >>> from barrow.spaces import Line
    >>> signed_distance(Line(0, 4, step=1, cells=True), np.array([1.0, 0.0, -1.0, 0.0]))
    (0.5, 'exact')
    """
    most = _EXACT_ITEMS if pot() is not None else _EXACT_ITEMS_WITHOUT_POT
    if type(space) in CLOSED_FORMS or space.items <= most:
        return float(kr_norm(space, difference - difference.mean())), "exact"
    zero = np.zeros(len(difference))
    if space.items <= EXACT_NODES or not isinstance(space, Euclidean | Earth | Hexagons):
        return emd_flow_upper(space, difference, zero), "graph, at most"
    return emd_tree_upper(space, difference, zero), "tree, at most"


def emd_tree_upper(space: Space, a: Floats, b: Floats) -> float:
    """An upper bound on the EMD: differences are carried to the nearest centre of each broader scale in turn.

    A way through the tree is at least as long as the distance (triangle inequality), so its transport cost is too.

    >>> square = Euclidean([0, 0], [1, 1], step=1/8)
    >>> from barrow.transport import emd
    >>> a, b = np.eye(64)[0], np.eye(64)[63]
    >>> bool(emd(square, a, b) <= emd_tree_upper(square, a, b) < 3.0)
    True
    """
    left = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    cost = 0.0
    for parents, lengths in _carriers(space):
        cost += float(np.abs(left) @ lengths)
        left = np.asarray(np.bincount(parents, weights=left), dtype=np.float64)
    return cost * (1.0 + 1e-9)


@lru_cache(maxsize=4)
def _carriers(space: Space) -> tuple[tuple[Ids, Floats], ...]:
    """For each scale, finest first: the nearest centre one scale up of each of its places, and the distance."""
    from scipy.spatial import cKDTree

    places = [_cartesian(space, _points(space))]
    places += [_cartesian(space, level.query.places) for level in reversed(scales_of(space).levels) if _has(level)]
    middle = places[-1].mean(axis=0)
    steps = []
    for here, above in zip(places, [*places[1:], None], strict=True):
        if above is None:
            nearest: Any = np.zeros(len(here), dtype=np.int64)
            root = here[int(((here - middle) ** 2).sum(axis=1).argmin())]
            apart = np.sqrt(((here - root) ** 2).sum(axis=1))
        else:
            apart, nearest = cKDTree(above).query(here)
        steps.append((np.asarray(nearest, dtype=np.int64), _normalised(space, np.asarray(apart))))
    return tuple(steps)


def _has(level: Any) -> bool:
    return level.query.places is not None


def _points(space: Space) -> Floats:
    if not isinstance(space, Euclidean | Earth | Hexagons):
        raise ParameterError(
            f"There is no tree of scales on the {space.kind} space.",
            allowed="a Euclidean space, the Earth or hexagons",
            fix="barrow.emd, which has a closed form on lines and circles",
        )
    return space.points


def _cartesian(space: Space, places: Any) -> Floats:
    at = np.asarray(places, dtype=np.float64).reshape(len(places), -1)
    if isinstance(space, Euclidean):
        return at
    lat, lon = np.radians(at[:, 0]), np.radians(at[:, 1])
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def _normalised(space: Space, apart: Floats) -> Floats:
    """Cartesian distances as shares of the diameter, along the sphere where there is one."""
    if isinstance(space, Euclidean):
        return apart / space.diameter
    return 2.0 * np.arcsin(np.minimum(apart / 2.0, 1.0)) * (EARTH_RADIUS_KM / space.diameter)


def _reference(space: Space, reference: Any) -> tuple[str, Floats]:
    if isinstance(reference, str):
        if reference == "uniform":
            return reference, np.full(space.items, 1.0 / space.items)
        if reference == "mixed":
            return reference, mixed_reference(space)
        raise ParameterError(f"reference is {reference!r}.", allowed="'mixed', 'uniform', or weights", fix="'uniform'")
    weights = np.asarray(reference, dtype=np.float64)
    total = float(weights.sum()) if weights.shape == (space.items,) else math.nan
    if not total > 0.0 or not np.isfinite(total) or (weights < 0.0).any():
        raise ParameterError(
            f"The reference has shape {weights.shape}, or weights that are negative or all 0.",
            allowed=f"{space.items:,} public weights of 0 or more",
            fix="reference='uniform'",
        )
    return "given", weights / total
