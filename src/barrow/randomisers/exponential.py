"""The exponential mechanism on any finite space, with its tight alpha0 instead of the usual factor 2."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics import Exact, float_down
from barrow.randomisers.claim import neighbour_pairs
from barrow.randomisers.matrix import MOST_ENTRIES, MatrixRandomiser, whole_rows
from barrow.randomisers.randomiser import DEEPEST, wanted_alpha0
from barrow.randomisers.rows import RowExponential, row_exponential
from barrow.spaces import Space
from barrow.spaces.space import Floats, Ids

_HALVINGS = 30
_TRIES = 12


class ExponentialRandomiser(MatrixRandomiser):
    """Reports y on item x with probability proportional to exp(-beta min(d, c)); beta is as large as alpha0 allows.

    c = 28/alpha0 keeps the rarest reports within the reach of whole weights; nearer than that it changes nothing.
    """

    kind = "exponential"
    beta: float

    description = "the exponential mechanism on all items"

    def to_spec(self) -> dict[str, Any]:
        """Plain data; the weights follow from the space and alpha0."""
        return {"kind": self.kind}


class PlanarLaplaceRandomiser(ExponentialRandomiser):
    """Planar Laplace on the cells of a map: the exponential mechanism on their middles, truncated to the map."""

    kind = "planar_laplace"
    description = "planar Laplace on the cells of the map"


Kind = TypeVar("Kind", bound=ExponentialRandomiser)


def exponential(space: Space, alpha0: Exact) -> ExponentialRandomiser | RowExponential:
    """The exponential mechanism with the largest beta whose tight alpha0 is at most ``alpha0``.

    The usual bound is alpha0 <= 2 beta. The tight one of the whole weights is computed over all pairs and reports, and
    beta is raised until it is used up: on spaces that look the same from every item that is twice the usual beta.
    A space has at most 12,000 items; above 2,048 rows are made as they are needed, and beta is about 1 % less.

    >>> from barrow.spaces import Line
    >>> line = exponential(Line(0, 10, step=1), 4)
    >>> float(line.alpha0_upper) <= 4.0 and float(line.alpha0_upper) > 3.99
    True
    """
    return _build(ExponentialRandomiser, space, alpha0)


def planar_laplace(space: Space, alpha0: Exact) -> PlanarLaplaceRandomiser | RowExponential:
    """Planar Laplace on a geographic or Euclidean grid, truncated to the domain and discretised to its cells.

    What is exact: the matrix over cells is whole numbers with weights proportional to exp(-beta d) up to 2^-52, and
    its alpha0 is the tight one of those numbers. It is not the integral of the continuous density over each cell;
    :func:`laplace` draws that one, on Euclidean spaces, exactly.

    >>> from barrow.spaces import Euclidean
    >>> grid = planar_laplace(Euclidean([0, 0], [3, 4], unit="km", step=1), 10)
    >>> grid.distortion < 1.5
    True
    """
    if "planar_laplace" not in space.geometry.randomisers:
        raise ParameterError(
            f"Planar Laplace noise needs a map, and the space is {space.kind!r}.",
            allowed="earth, hexagons or euclidean",
            fix="exponential(space, alpha0), which works on every finite space",
        )
    return _build(PlanarLaplaceRandomiser, space, alpha0)


def _build(kind: type[Kind], space: Space, request: Exact) -> Kind | RowExponential:
    if space.items**2 > MOST_ENTRIES:
        return row_exponential(space, request, kind=kind.kind, description=kind.description)
    if space.items == 1:
        return kind(space, whole_rows(np.ones((1, 1))), alpha0=request)
    distances = space.block()
    target = float_down(wanted_alpha0(request))
    # min(d, c) is a metric too, and never larger than d: what is private for it is private for d.
    near = np.minimum(distances, DEEPEST / target)
    beta = _largest(near, distances, target * (1.0 - 2.0**-30), neighbour_pairs(space))
    for _ in range(_TRIES):
        built = kind(space, whole_rows(_rows(near, beta)))
        result = float(built.alpha0_upper)
        if result <= target:
            built.beta = beta
            return built
        # Rounding to whole weights cost more than the margin; give back twice the excess.
        beta *= 1.0 - 2.0 * (result / target - 1.0) - 2.0**-40
    raise ParameterError(
        f"alpha0 is {target:.6g}, for which whole weights cannot express how unlikely the farthest reports are.",
        allowed="a smaller alpha0",
        fix=f"alpha0={target / 2:.3g}",
    )


def _rows(distances: Floats, beta: float) -> Floats:
    raw = np.exp(-beta * distances)
    return np.asarray(raw / raw.sum(axis=1, keepdims=True))


def _largest(near: Floats, distances: Floats, target: float, pairs: tuple[Ids, Ids] | None) -> float:
    """The largest beta, up to 2^-30, whose alpha0 is at most ``target``, in real numbers.

    By the triangle inequality the report that grows most from x' to x is x itself, so alpha0 is the largest over
    pairs of (beta min(d, c) + ln Z_x' - ln Z_x)/d(x, x') with Z the sums of the rows; on paths over neighbours.
    """
    apart = np.where(distances > 0.0, distances, np.inf)

    def tight(beta: float) -> float:
        z = np.log(np.exp(-beta * near).sum(axis=1))
        if pairs is not None:
            return float(((beta * near[pairs] + z[pairs[1]] - z[pairs[0]]) / apart[pairs]).max())
        return float(((beta * near + z[None, :] - z[:, None]) / apart).max())

    if tight(target) <= target:
        return target
    low, high = target / 2.0, target
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if tight(middle) <= target:
            low = middle
        else:
            high = middle
    return low
