"""One map from densities at several scales: calibrated together, released with one noise, decoded to a histogram.

The release is PrivEMDLinear of all densities: pure (alpha, 0)-EMD-DP, unbounded. The map is computed from the released
values and public numbers alone (docs/proofs/multiscale.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.additive import AdditiveNoise
from barrow.mechanisms.decoding.grid import DecodedMap, discrepancy_map, nearest_map
from barrow.mechanisms.linear import linear_noise
from barrow.mechanisms.multiscale_scales import best_shares, scales_of, usable_bandwidths
from barrow.numerics import Exact, float_down, whole
from barrow.privacy import Event
from barrow.privacy.definitions import positive
from barrow.queries import MultiscaleQuery, multiscale

_ENTROPY = 0.003
"""At most, entropy counts this much times the noise per output times the Lipschitz constant."""
_ADDED = 0.1
"""How much is expected of an item that was added to the space: it claims nothing, entropy pulls little."""


@dataclass(frozen=True, eq=False)
class MultiscaleDensity:
    """Densities at several scales with its noise, ready to release; everything in it is public.

    Attributes:
        query: What is asked.
        noise: What is added.

    >>> from barrow.spaces import Line
    >>> found = multiscale_density(Line(0, 1, step=1/64), 25, users=1000)
    >>> found.noise.name, found.event.alpha
    ('Laplace', Fraction(25, 1))
    """

    query: MultiscaleQuery
    noise: AdditiveNoise

    @property
    def event(self) -> Event:
        """What a release is, for an accountant to price."""
        return self.noise.event

    def decode(self, values: Any, *, method: str = "smooth") -> DecodedMap:
        """One histogram over the items from noisy values, by ``"smooth"`` or ``"nearest"``; it reads nothing else.

        >>> from barrow.spaces import Line
        >>> found = multiscale_density(Line(0, 1, step=1/16), 25, users=10**6)
        >>> truth = found.query.table.floats()[3].toarray().ravel() * float(found.query.step)
        >>> int(found.decode(truth).weights.argmax())
        3
        """
        return map_of(self.query, self._matrix, values, deviation=self.noise.deviation, method=method)

    @cached_property
    def _matrix(self) -> Any:
        """(outputs, items): what the released values of a histogram are before noise."""
        return (self.query.table.floats() * float(self.query.step)).T.tocsr()


def map_of(
    query: MultiscaleQuery, matrix: Any, values: Any, *, deviation: float, method: str = "smooth", added: int = 0
) -> DecodedMap:
    """One histogram from noisy values of densities at several scales, by ``"smooth"`` or ``"nearest"``.

    Args:
        query: The densities.
        matrix: (outputs, items): what the values of a histogram are before noise.
        values: What was released.
        deviation: The standard deviation of each value's noise.
        method: The decoder.
        added: How many items, the last ones, the query's space does not have: each is a bump of its own.
    """
    if method == "nearest":
        return nearest_map(matrix, values)
    if method != "smooth":
        raise ParameterError(f"method is {method!r}.", allowed="'smooth' or 'nearest'", fix="method='smooth'")
    scales = scales_of(query.space)
    atoms, prior = scales.atoms, scales.prior
    if added:
        from scipy.sparse import block_diag

        atoms = block_diag([atoms, np.eye(added)], format="csr")
        prior = np.append(prior * (1.0 - _ADDED) ** added, np.full(added, (1.0 - (1.0 - _ADDED) ** added) / added))
    strongest = _ENTROPY * deviation * query.lipschitz_upper(1)
    return discrepancy_map(matrix, values, deviation=deviation, strongest=strongest, atoms=atoms, prior=prior)


def multiscale_density(
    space: Any,
    alpha: Exact,
    delta: Exact = 0,
    *,
    users: int,
    bandwidths: Sequence[Exact] | None = None,
    shares: Sequence[Exact] | None = None,
    noise: str | Exact = "auto",
    grid: Exact | None = None,
) -> MultiscaleDensity:
    """A map at several scales that is (alpha, delta)-EMD-DP, with bandwidths and shares of least predicted error.

    Spaces are lines, circles, Euclidean ones, the Earth and hexagons. ``bandwidths`` are distances in words,
    ``"cells"`` among them; by default halves, quarters and so on of the width of the space, as many as are worth their
    share. ``shares`` of the budget have the sum 1; by default they are those of least predicted error. The other
    arguments are those of :func:`linear_noise`.

    >>> from barrow.spaces import Euclidean
    >>> square = Euclidean([0, 0], [1, 1], step=1/8)
    >>> found = multiscale_density(square, 25, users=100)
    >>> {level.name: float(level.share) for level in found.query.levels}
    {'0.353554': 0.3, 'cells': 0.7}
    """
    users = whole(users, "users")
    rate = float_down(positive(alpha, "alpha")) * users
    if shares is not None and bandwidths is None:
        raise ParameterError(
            f"shares is {shares!r}, but no bandwidths are given.",
            allowed="shares with bandwidths, one for each",
            fix=f"bandwidths={usable_bandwidths(space)!r}",
        )
    if shares is None:
        wanted = usable_bandwidths(space) if bandwidths is None else bandwidths
        multiscale(space, bandwidths=wanted)  # refuses what is no list of bandwidths
        chosen = best_shares(space, tuple(wanted), rate)
        bandwidths, shares = [name for name, _ in chosen], [share for _, share in chosen]
    query = multiscale(space, bandwidths=bandwidths or [], shares=shares)
    return MultiscaleDensity(query, linear_noise(query, alpha, delta, noise=noise, users=users, grid=grid))
