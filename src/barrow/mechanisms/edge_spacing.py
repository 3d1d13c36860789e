"""How far apart the nodes of an edge histogram should be: chosen beforehand, from public numbers alone.

Fine nodes blur nothing and are noisy, coarse ones the other way round. The error of the decoded map is simulated at a
public reference distribution, with the noise of a release but for its source, and the best spacing is taken. No data
are read, so the choice costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.edge_histogram import EdgeHistogram, edge_histogram
from barrow.mechanisms.pyramid_errors import map_distance
from barrow.mechanisms.pyramid_scales import mixed_reference
from barrow.noise import Center
from barrow.noise.simulation import SeededSource
from barrow.numerics import Exact
from barrow.spaces import Circle, Earth, Euclidean, Line, Space, held
from barrow.spaces.base import Floats

_GAPS = (4, 6, 8, 11, 16, 22, 32, 45, 64, 90, 128, 181, 256, 362, 512, 724, 1024)
_SMALL = 4096
_NOISE = 0.3
"""The search begins where the noise of all nodes together is about this much mass."""


@dataclass(frozen=True)
class SpacingError:
    """A simulated error.

    Attributes:
        spacing: The widest gap between nodes in the space's unit; None for nodes as fine as the items.
        nodes: How many nodes that makes.
        mean: The mean EMD of the decoded map from the reference, normalised (an upper bound on large spaces).

    >>> SpacingError(None, 64, 0.01).nodes
    64
    """

    spacing: float | None
    nodes: int
    mean: float


def simulated_error(plan: EdgeHistogram, reference: Any, *, draws: int = 2, how: str = "auto") -> float:
    """The mean EMD between ``reference`` and maps decoded from its simulated releases; equal for equal arguments.

    >>> from barrow.spaces import Line
    >>> line = Line(0, 1, step=1/16)
    >>> few, many = (simulated_error(edge_histogram(line, 25, users=n), np.full(16, 1/16)) for n in (10, 1000))
    >>> few > many
    True
    """
    truth = np.asarray(reference, dtype=np.float64)
    exact = plan.decoder.weights.T @ truth
    zero = Center.from_integers(np.zeros(plan.graph.nodes, dtype=np.int64))
    errors = []
    for seed in range(draws):
        source = SeededSource(seed)
        noise = plan.draw(zero, source).values
        if plan.reports > 1:  # a mean of many reports is nearly normal
            noise = _normal(plan, source)
        errors.append(map_distance(plan.space, plan.decoder.decode(exact + noise, how), truth)[0])
    return float(np.mean(errors))


def _normal(plan: EdgeHistogram, source: SeededSource) -> Floats:
    """Normal noise along the edges with about the covariance of the mean of all reports."""
    from scipy.special import ndtri

    graph = plan.graph
    uniform = (source.words(graph.edges) / 2.0**64).clip(2.0**-53, 1.0 - 2.0**-53)
    deviation = np.sqrt(2.0 / plan.reports) * float(plan.scale) / graph.lengths
    return np.asarray(graph.incidence @ (ndtri(uniform) * deviation))


def spacings(space: Space) -> list[float | None]:
    """What is tried, from coarse to fine: None (nodes as fine as the items) last, and alone without coordinates.

    >>> from barrow.spaces import Line
    >>> spacings(Line(0, 1, step=1/16))
    [0.234375, 0.15625, 0.1171875, 0.08522727272727272, None]
    """
    space = held(space)
    if isinstance(space, Euclidean):
        shape = np.array(space.shape)
        extent = float(((space.high - space.low) * (shape - 1) / shape).max())
        finest = int(shape.max()) - 1
    elif isinstance(space, Line | Circle):
        extent = space.diameter * (float(space.gaps.sum()) if isinstance(space, Line) else 2.0)
        finest = space.items - 1
    elif isinstance(space, Earth):
        extent, finest = space.diameter, max(1, int(space.items**0.5))
    else:
        return [None]
    return [*(extent / gaps for gaps in _GAPS if gaps <= 0.75 * finest), None]


def best_spacing(
    space: Space,
    alpha: Exact,
    *,
    users: int,
    model: str = "central",
    reference: Any = None,
    draws: int | None = None,
    most_nodes: int = 40_000,
) -> list[SpacingError]:
    """Spacings with simulated errors, the best one first: a search from the likely one to both sides.

    Args:
        space: The public space.
        alpha: Privacy loss per unit of EMD.
        users: The public number of users.
        model: ``"central"`` or ``"local"``.
        reference: Public weights, one for each item; by default half in clusters and half in single items.
        draws: Simulated releases for each spacing; by default 6, and 2 on spaces of more than 4,096 items.
        most_nodes: Graphs with more nodes are not tried unless there is no other.

    >>> from barrow.spaces import Line
    >>> line = Line(0, 1, step=1/64)
    >>> [best_spacing(line, 25, users=n)[0].nodes for n in (10, 10_000)]
    [9, 64]
    """
    if draws is None:
        draws = 6 if space.items <= _SMALL else 2
    if draws < 1:
        raise ParameterError(f"draws is {draws!r}.", allowed="at least 1", fix="draws=2")
    truth = mixed_reference(space) if reference is None else np.asarray(reference, dtype=np.float64)
    tried = spacings(space)
    plans: dict[int, EdgeHistogram] = {}
    found: dict[int, SpacingError] = {}

    def plan(index: int) -> EdgeHistogram:
        if index not in plans:
            plans[index] = edge_histogram(space, alpha, users=users, model=model, spacing=tried[index])
        return plans[index]

    def error(index: int) -> float:
        if index not in found:
            made = plan(index)
            found[index] = SpacingError(tried[index], made.graph.nodes, simulated_error(made, truth, draws=draws))
        return found[index].mean

    usable = [i for i in range(len(tried)) if plan(i).graph.nodes <= most_nodes] or [0]
    sizes = [abs(np.log(_total_noise(plan(i)) / _NOISE)) for i in usable]
    at = int(np.argmin(sizes))
    for direction in (1, -1):
        misses, place = 0, at
        while misses < 2 and 0 <= place + direction < len(usable):
            place += direction
            best = min([error(usable[at]), *(e.mean for e in found.values())])
            misses = 0 if error(usable[place]) < best else misses + 1
    error(usable[at])
    return sorted(found.values(), key=lambda e: e.mean)


def likely_spacing(space: Space, alpha: Exact, *, users: int, model: str = "central") -> float | None:
    """Where the search begins: the spacing at which the noise of all nodes together is about 0.3 of the mass.

    >>> from barrow.spaces import Line
    >>> likely_spacing(Line(0, 1, step=1/64), 25, users=10**6) is None
    True
    """
    plans = [(s, edge_histogram(space, alpha, users=users, model=model, spacing=s)) for s in spacings(space)]
    return min(plans, key=lambda made: abs(np.log(_total_noise(made[1]) / _NOISE)))[0]


def _total_noise(plan: EdgeHistogram) -> float:
    """Nodes times the typical noise of an edge: the mass that noise moves."""
    return plan.graph.nodes * plan.decoder.typical_scale
