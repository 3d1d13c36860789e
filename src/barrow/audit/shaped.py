"""Exact audits of user-level noise that is shaped by the query: half spheres, and the polytope of all differences.

The half sphere's side is followed through every way its random words can go, so that its chances are exact fractions;
where on the side a point lies must not depend on the data, and is compared with the uniform distribution. The largest
log-ratio of noise in the norm of a polytope is that norm of the difference of two answers, which is computed here from
the facets alone; radius and direction are compared with draws made another way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from barrow import heavy
from barrow.accounting import price
from barrow.audit.enumeration import distribution
from barrow.audit.pairs import User, compare, compare_losses, known_distances
from barrow.audit.verdict import Finding, Tally
from barrow.mechanisms import UserCounts
from barrow.mechanisms.user_level.ball import BallNoise
from barrow.mechanisms.user_level.noise import QueryNoise
from barrow.noise import Center, RandomSource
from barrow.noise.source import SeededSource, Words
from barrow.queries import Query
from barrow.spaces.space import Floats

_DRAWS, _RARE = 1500, 1e-6
_CUT = Fraction(1, 2**20)


def audit_half_sphere(name: str, noise: BallNoise, query: Query, users: Sequence[User]) -> Finding:
    """The side on which a report lies, for all pairs of users: exact chances through the shipped draw.

    Given the side, points are uniform, so two users' reports are as far apart as their sides; with one output the
    report is its side.
    """
    tally = Tally(name, "local")
    apart = known_distances(query.space, tuple(users))
    epsilon = price(noise.event).epsilon_at(1)
    centers = [UserCounts.of_users(query.space, [user]).center(query) for user in users]
    answers = [tuple(c.exact_entry(j) for j in range(noise.dimension)) for c in centers]
    # Users with the same answer have the same distribution: it is followed once.
    result = {
        answer: distribution(lambda source, c=c, i=i: _side(noise, c, source, i), cut=_CUT, continuations=2)  # type: ignore[misc]
        for i, (answer, c) in enumerate(dict(zip(answers, centers, strict=True)).items())
    }
    distributions: list[Any] = [result[answer].chances for answer in answers]
    left = max(float(each.left) for each in result.values())

    def allowed(_: float) -> tuple[float, float]:
        return epsilon, 0.0

    if noise.dimension > 1:
        # Sides of two users may overlap in any way: the larger chance of one against the smaller of the other.
        distributions = [{"near": max(each.values()), "far": min(each.values())} for each in distributions]
        crossed = [{"near": each["far"], "far": each["near"]} for each in distributions]
        both = np.block([[apart, apart], [apart, apart]])
        compare(tally, [*users, *users], [*distributions, *crossed], both, allowed, slack=left)
        _uniform_on_side(tally, noise, centers[-1])
    else:
        compare(tally, users, distributions, apart, allowed, slack=left)
    tally.draws += len(users)
    return tally.finding()


class _Coins(RandomSource):
    """The first two words, which decide the side, from one source; those of the direction from a fixed one.

    Whatever the direction is, one sign is chosen so that the point lies on the side that was decided.
    """

    def __init__(self, source: RandomSource, seed: int) -> None:
        self._source, self._left, self._rest = source, 2, SeededSource(seed)

    @property
    def private(self) -> bool:
        """Never: the direction is known."""
        return False

    def words(self, count: int) -> Words:
        """The next words."""
        first = min(self._left, count)
        self._left -= first
        results = [self._source.words(first)] if first else []
        return np.concatenate([*results, self._rest.words(count - first)]) if count > first else results[0]


def _side(noise: BallNoise, center: Center, source: RandomSource, seed: int) -> int:
    """On which side of the middle a report lies: of several outputs as seen from the user's own answer."""
    sample = noise.draw(center, _Coins(source, seed))
    own = [center.exact_entry(j) - m for j, m in enumerate(noise.middle)]
    if not any(own) or noise.dimension == 1:
        own = [Fraction(1), *own[1:]]
    report = [int(k) * noise.grid - m for k, m in zip(sample.integers.tolist(), noise.middle, strict=True)]
    total = sum((a * b for a, b in zip(own, report, strict=True)), Fraction(0))
    return 1 if total > 0 else -1


def _uniform_on_side(tally: Tally, noise: BallNoise, center: Center) -> None:
    """|<u, v>|/|v| of a report's direction u, squared, is a Beta(1/2, (d - 1)/2) variate, whatever v is."""
    own = np.array([float(center.exact_entry(j) - m) for j, m in enumerate(noise.middle)])
    middle, source = np.array([float(m) for m in noise.middle]), SeededSource(11)
    sample = np.array([noise.draw(center, source).values for _ in range(_DRAWS)]) - middle
    lengths = np.linalg.norm(sample, axis=1)
    tally.draws += len(sample)
    if np.abs(lengths - float(noise.length)).max() > 2.0 * float(noise.grid) * math.sqrt(noise.dimension):
        tally.violation("a report is not as long as it must be", 1, 0)
    squares = (sample @ own) ** 2 / (lengths**2 * float(own @ own))
    if heavy.stats.kstest(squares, heavy.stats.beta(0.5, (noise.dimension - 1) / 2.0).cdf).pvalue < _RARE:
        tally.violation("a report is not uniform on its side", 1, 0)


def audit_polytope(
    name: str, model: str, noise: QueryNoise, query: Query, users: Sequence[User], others: Sequence[Sequence[User]]
) -> Finding:
    """Noise in the norm of a polytope, for all pairs of users and all data of the others."""
    tally = Tally(name, model)
    promised = price(noise.event)
    apart = known_distances(query.space, tuple(users))
    facets = np.array([[float(a) for a in row] for row in noise.polytope.facets])
    for rest in others:
        counts = [UserCounts.of_users(query.space, [user, *rest]) for user in users]
        points = np.array([_scaled(c.center(query), noise.scale) for c in counts])
        losses = (float(np.abs((one - two) @ facets.T).max()) for one, two in combinations(points, 2))
        compare_losses(tally, users, losses, promised.epsilon_at, apart)
    _has_its_density(tally, noise, facets)
    return tally.finding()


def _scaled(center: Center, scale: Fraction) -> list[float]:
    return [float(center.exact_entry(j) / scale) for j in range(len(center))]


def _has_its_density(tally: Tally, noise: QueryNoise, facets: Floats) -> None:
    """The norm of the noise is a Gamma(d) variate; its points on the unit sphere are those of a box, cut to K."""
    d, source = noise.dimension, SeededSource(5)
    zero = Center.from_fractions([Fraction(0)] * d)
    sample = np.array([noise.draw(zero, source).values for _ in range(_DRAWS)]) / float(noise.scale)
    norms = np.abs(sample @ facets.T).max(axis=1)
    tally.draws += len(sample)
    radius = heavy.stats.kstest(norms, heavy.stats.gamma(d).cdf).pvalue
    # A second way to the same directions: uniform points of a box around K, those of K kept, divided by their norm.
    reach = noise.reach_upper
    box = (SeededSource(6).words(64 * _DRAWS * d).astype(np.float64) / 2.0**63 - 1.0).reshape(-1, d) * reach
    inside = np.abs(box @ facets.T).max(axis=1)
    subset = box[inside <= 1.0] / inside[inside <= 1.0, None]
    unit = sample / norms[:, None]
    directions = [heavy.stats.ks_2samp(unit[:, j], subset[:, j]).pvalue for j in range(d)]
    if min(radius, *directions) < _RARE:
        tally.violation("radius or direction of the noise are not those of its density", 1, 0)
