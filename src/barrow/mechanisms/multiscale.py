"""One map from densities at several scales: calibrated together, released with one noise, decoded to a histogram.

The release is PrivEMDLinear of all densities: pure (alpha, 0)-EMD-DP, unbounded. The map is computed from the released
values and public numbers alone (docs/proofs/multiscale.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from barrow.errors import ParameterError
from barrow.mechanisms.additive import AdditiveNoise, LinearAnswer
from barrow.mechanisms.decoding.grid import DecodedMap, discrepancy_map, nearest_map
from barrow.mechanisms.linear import linear_noise
from barrow.mechanisms.multiscale_errors import MapError, predicted_map_error
from barrow.mechanisms.multiscale_scales import best_shares, scales_of, usable_bandwidths
from barrow.mechanisms.statistics import UserCounts
from barrow.noise import RoundedValues, Source
from barrow.numerics import Exact, float_down, whole
from barrow.privacy import Event
from barrow.privacy.definitions import positive
from barrow.queries import MultiscaleQuery, multiscale
from barrow.spaces.base import Floats

_ENTROPY = 0.003
"""At most, entropy counts this much times the noise per output times the Lipschitz constant."""


@dataclass(frozen=True)
class LevelError:
    """How accurate one scale of several is before decoding; public.

    Attributes:
        name: Its bandwidth.
        outputs: The number of its places.
        half_width: Each place's share is off by more with probability at most 5%.
        simultaneous_half_width: No share of any scale is off by more than its own, with probability at least 95%.
        expected_total: The expected sum of the absolute errors of its places' shares (rounding to the grid aside).

    >>> from barrow.spaces import Line
    >>> found = multiscale_density(Line(0, 1, step=1/64), 25, users=1000, bandwidths=["1/4"])
    >>> error = found.level_errors[0]
    >>> error.outputs, round(error.expected_total, 9)  # five times 8/(25 000)
    (5, 0.0016)
    """

    name: str
    outputs: int
    half_width: float
    simultaneous_half_width: float
    expected_total: float


@dataclass(frozen=True, eq=False)
class MultiscaleDensity:
    """densities at several scales with its noise, ready to release; everything in it is public.

    Attributes:
        query: What is asked.
        noise: What is added.
        users: The public number of users for whom it was calibrated.

    >>> from barrow.spaces import Line
    >>> found = multiscale_density(Line(0, 1, step=1/64), 25, users=1000)
    >>> found.noise.name, found.event.alpha
    ('Laplace', Fraction(25, 1))
    """

    query: MultiscaleQuery
    noise: AdditiveNoise
    users: int

    @property
    def event(self) -> Event:
        """What a release is, for an accountant to price."""
        return self.noise.event

    @property
    def shares(self) -> dict[str, float]:
        """The share of the budget of each bandwidth."""
        return {level.name: float(level.share) for level in self.query.levels}

    @cached_property
    def level_errors(self) -> list[LevelError]:
        """What each scale is off by before decoding, the weights taken off."""
        total = float(self.noise.scale) * self.noise.distribution.mean_size
        return [
            LevelError(
                level.name,
                level.query.dimension,
                self.noise.half_width / level.weight,
                self.noise.simultaneous_half_width / level.weight,
                level.query.dimension * total / level.weight,
            )
            for level in self.query.levels
        ]

    def decode(self, values: Any, *, method: str = "smooth") -> DecodedMap:
        """One histogram over the items from noisy values, by ``"smooth"`` or ``"nearest"``; it reads nothing else.

        >>> from barrow.spaces import Line
        >>> found = multiscale_density(Line(0, 1, step=1/16), 25, users=10**6)
        >>> truth = found.query.table.floats()[3].toarray().ravel() * float(found.query.step)
        >>> int(found.decode(truth).weights.argmax())
        3
        """
        matrix = self._matrix
        if method == "nearest":
            return nearest_map(matrix, values)
        if method != "smooth":
            raise ParameterError(f"method is {method!r}.", allowed="'smooth' or 'nearest'", fix="method='smooth'")
        scales = scales_of(self.query.space)
        deviation = self.noise.deviation
        strongest = _ENTROPY * deviation * self.query.lipschitz_upper(1)
        return discrepancy_map(
            matrix, values, deviation=deviation, strongest=strongest, atoms=scales.atoms, prior=scales.prior
        )

    @cached_property
    def _matrix(self) -> Any:
        """(outputs, items): what the released values of a histogram are before noise."""
        return (self.query.table.floats() * float(self.query.step)).T.tocsr()

    def release(self, counts: UserCounts, *, source: Source | None = None) -> MultiscaleAnswer:
        """The mean over users of all densities with exactly rounded noise, and the map decoded from it.

        >>> from barrow.spaces import Line
        >>> line = Line(0, 1, step=1/16)
        >>> counts = UserCounts.of_users(line, [[3], [3, 4], [5]], users=100)
        >>> answer = multiscale_density(line, 25, users=100).release(counts)
        >>> answer.map.shape, round(float(answer.map.sum()), 9), answer.private
        ((16,), 1.0, True)
        """
        if counts.users != self.users:
            raise ParameterError(
                f"The statistics are those of {counts.users} users, but the noise was calibrated for others.",
                allowed="the number of users that was given",
                fix=f"multiscale_density(..., users={counts.users})",
            )
        rounded = self.noise.draw(counts.center(self.query), source)
        return MultiscaleAnswer(self.query, self.noise, rounded, self, self.decode(rounded.values))

    def predict(self, reference: Any = "mixed", *, draws: int = 4, method: str = "smooth") -> MapError:
        """The mean EMD error of the decoded map at a public reference distribution, by simulation.

        Args:
            reference: ``"mixed"`` (half in clusters, half in single cells), ``"uniform"``, or public
                weights, one for each item.
            draws: How many simulated releases.
            method: The decoder.

        >>> from barrow.spaces import Line
        >>> line = Line(0, 1, step=1/16)
        >>> few, many = (multiscale_density(line, 25, users=n).predict("uniform") for n in (100, 10_000))
        >>> few.mean > many.mean, many.method
        (True, 'exact')
        """
        return predicted_map_error(
            self.query.space, self._matrix, self.noise, lambda values: self.decode(values, method=method).weights,
            reference, draws,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class MultiscaleAnswer(LinearAnswer):
    """A release at several scales: raw noisy values, the map decoded from them, and intervals for each scale's shares.

    Attributes:
        multiscale: What was released.
        decoded: The map, and how near to the decoder's exact solution it is.

    >>> from barrow.spaces import Line
    >>> line = Line(0, 1, step=1/16)
    >>> answer = multiscale_density(line, 25, users=100).release(UserCounts.of_users(line, [[3]], users=100))
    >>> low, high = answer.intervals()[answer.query.levels[0].name]
    >>> bool((low <= high).all())
    True
    """

    rounded: RoundedValues
    multiscale: MultiscaleDensity
    decoded: DecodedMap

    @property
    def map(self) -> Floats:
        """One weight for each item, with sum 1."""
        return self.decoded.weights

    def shares(self) -> dict[str, Floats]:
        """The noisy shares of people near the places of each scale, the weights taken off."""
        levels = self.multiscale.query.levels
        return {level.name: self.values[level.outputs] / level.weight for level in levels}

    def intervals(self) -> dict[str, tuple[Floats, Floats]]:
        """Intervals that hold the true shares of all places of all scales at once with probability at least 95%.

        They use the released values alone; shares are in [0, 1], so the intervals are cut there.
        """
        widths = {error.name: error.simultaneous_half_width for error in self.multiscale.level_errors}
        return {
            name: ((share - widths[name]).clip(0.0, 1.0), (share + widths[name]).clip(0.0, 1.0))
            for name, share in self.shares().items()
        }


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

    Args:
        space: A line, a circle, a Euclidean space, the Earth or hexagons.
        alpha: Privacy loss per unit of EMD, above 0.
        delta: 0 for pure noise; above 0, Gaussian noise is considered too.
        users: The public number of users.
        bandwidths: Distances in words, ``"cells"`` among them; by default halves, quarters and so on of the space's
            width, as many as are worth their share.
        shares: The share of the budget of each bandwidth, with sum 1; by default those of least predicted error.
        noise: As for ``linear_noise``.
        grid: The public grid of the answer.

    >>> from barrow.spaces import Euclidean
    >>> square = Euclidean([0, 0], [1, 1], step=1/8)
    >>> [multiscale_density(square, 25, users=n).shares for n in (100, 10**6)]
    [{'0.353554': 0.3, 'cells': 0.7}, {'0.353554': 0.2, 'cells': 0.8}]
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
    return MultiscaleDensity(query, linear_noise(query, alpha, delta, noise=noise, users=users, grid=grid), users)
