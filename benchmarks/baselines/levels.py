"""Histograms along a tree under user-level DP: noise, or reports, at every level, joined by least squares.

The EMD is mostly made of the masses of large groups, which a flat histogram adds up from many noisy entries. Central:
each level of the tree gets a share of epsilon. Local: each user reports at one level, drawn at random. Both are
ordinary user-level DP, and on trees much stronger baselines than flat ones (benchmarks/baselines/PROOFS.md).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.mechanisms.additive import AdditiveNoise
from barrow.mechanisms.decoding.tree_estimates import best_below, consistent
from barrow.mechanisms.user_level.levels import PARTS, LevelGroups, cells_of, levelled_tree, parts, weighted_masses
from barrow.mechanisms.user_level.local import consistent_variances, parts_of_groups
from barrow.mechanisms.user_level.noise import axis_candidates
from barrow.noise import RandomSource, exact_multinomials, uniform_below
from barrow.noise.source import checked_source
from barrow.numerics import Exact
from barrow.promises import UserLevelRelease
from barrow.spaces import EdgeTree, Space
from benchmarks.baselines.channels import LocalChannel
from benchmarks.baselines.edges import Edges, Floats, Integers, checked_reference
from benchmarks.baselines.histograms import HistogramAnswer, HistogramBaseline

_MISSING = 1e6


class _Levelled(HistogramBaseline):
    """What both share: variances below edges, found on the tree and read off for its edges and items."""

    @abstractmethod
    def _edge_variances(self, tree: EdgeTree, reference: Floats) -> Floats:
        """The variance of the noisy share below each edge, before the shares are made consistent."""

    def run_variances(self, edges: Edges, reference: Floats) -> Floats:
        """Of runs that are edges of the tree."""
        tree = levelled_tree(self.space)
        known = consistent_variances(tree, self._edge_variances(tree, reference))
        place = {pair: e for e, pair in enumerate(zip(tree.starts.tolist(), tree.ends.tolist(), strict=True))}
        runs = list(zip(edges.starts.tolist(), edges.ends.tolist(), strict=True))
        if any(run not in place for run in runs):
            raise ParameterError(
                "Some runs of items are not below one edge of the tree.",
                allowed="edges of the space's tree",
                fix="edge_variances(), or variances() for each item",
            )
        return known[[place[run] for run in runs]]


@dataclass(frozen=True, eq=False)
class LevelledHistogram(_Levelled):
    """Noise from a curator on the mass below every edge, with a share of epsilon for each level.

    Attributes:
        space: A clustered or tree space.
        users: n.
        noise: The calibrated noise on the weighted masses.
        weights: The whole weight of each level's masses.

    >>> from barrow.spaces import Clustered
    >>> built = levelled_histogram(Clustered.grid(10, 10, r=0.05), "1.25", users=10**4)
    >>> built.name, built.weights, round(built.predicted_emd(), 5)
    ('Laplace histogram by levels', (580, 420), 0.00216)
    """

    space: Space
    users: int
    noise: AdditiveNoise
    weights: tuple[int, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        """The noise's name, and that it is by levels."""
        return f"{self.noise.name} histogram by levels"

    @property
    def event(self) -> UserLevelRelease:  # type: ignore[override]
        """The noise's event."""
        event = self.noise.event
        if not isinstance(event, UserLevelRelease):
            raise ParameterError(
                "The noise is not for user-level DP.", allowed="user_level_noise", fix="levelled_histogram"
            )
        return event

    def estimate(self, data: ArrayLike, *, source: RandomSource | None = None) -> HistogramAnswer:
        """Exactly rounded noise on exact masses, joined by least squares."""
        return self.estimate_pooled(self._pooled(data), source=source)

    def estimate_pooled(self, held: ArrayLike, *, source: RandomSource | None = None) -> HistogramAnswer:
        """The same: the pooled counts are all it needs."""
        tree = levelled_tree(self.space)
        query = weighted_masses(self.space, tree, self.weights)
        sample = self.noise.draw(self._user_counts(held).center(query), source)
        each = _by_level(tree, self.weights)
        masses = consistent(tree, np.asarray(sample.values) / each, 1.0 / each**2)
        return HistogramAnswer(np.asarray(masses[tree.owners]), self.event, sample.private)

    def _edge_variances(self, tree: EdgeTree, reference: Floats) -> Floats:
        return np.asarray((self.noise.deviation / _by_level(tree, self.weights)) ** 2)

    def _mean_absolute(self, edges: Edges) -> Floats:
        """A leaf's error is mostly its own Laplace variable; E|X| = sd sqrt(2/pi) (1 - kurtosis/24) to first order."""
        flat = super()._mean_absolute(edges)
        if self.noise.name != "Laplace":
            return flat
        tree = levelled_tree(self.space)
        own = self._edge_variances(tree, np.zeros(0))
        _, best = best_below(tree, np.zeros(tree.edges), own)
        subset = (1.0 - parts_of_groups(tree, best)) * best / own
        share = np.minimum(subset**2 * own / consistent_variances(tree, own), 1.0)
        return np.asarray(flat * (1.0 - share**2 / 8.0))


def levelled_histogram(
    space: Space, epsilon: Exact, delta: Exact = 0, *, users: int, noise: str = "laplace"
) -> LevelledHistogram:
    """Noise at every level of the tree; the shares of epsilon make the sum of length times noise least.

    Args:
        space: A clustered space, or a tree of two levels or more.
        epsilon: The privacy parameter.
        delta: The probability with which it may fail; Gaussian noise needs one.
        users: n, public.
        noise: ``"laplace"`` or ``"gaussian"``.

    >>> from barrow.spaces import Clustered
    >>> levelled_histogram(Clustered.grid(3, 2, r=0.1), 1, "1e-6", users=100, noise="gaussian").name
    'Gaussian histogram by levels'
    """
    tree = levelled_tree(space)
    lengths = np.array([tree.lengths[level].sum() for level in tree.levels])
    # Least sum of A/w: under w_1 + w_2 + ... = 1 (Laplace) or the sum of squares (Gaussian).
    power = 1.0 / 2.0 if noise == "laplace" else 1.0 / 3.0
    weights = parts(lengths**power)
    query = weighted_masses(space, tree, weights)
    return LevelledHistogram(space, users, axis_candidates(query, epsilon, delta, noise=noise, users=users)[0], weights)


@dataclass(frozen=True, eq=False)
class LevelledLocalHistogram(_Levelled):
    """Each user reports one item, at one level of the tree: which group of that level it is in.

    Attributes:
        space: A clustered or tree space.
        users: n.
        channels: A channel on the groups of each level.
        weights: Whole weights of drawing each level; their sum is 1,000.
        event: What one report is priced by.

    >>> from benchmarks.baselines import SubsetSelection
    >>> from barrow.spaces import Clustered
    >>> built = levelled_local_histogram(Clustered.grid(10, 10, r=0.05), "1.25", users=10**4, channel=SubsetSelection)
    >>> built.name, built.weights, round(built.predicted_emd(), 3)
    ('subset selection by levels, 1 item', (598, 402), 0.109)
    """

    space: Space
    users: int
    channels: tuple[LocalChannel, ...]
    weights: tuple[int, ...]
    event: UserLevelRelease

    @property
    def name(self) -> str:  # type: ignore[override]
        """The channels' name, and that they are by levels."""
        return f"{self.channels[0].name} by levels, 1 item"

    def estimate(self, data: ArrayLike, *, source: RandomSource | None = None) -> HistogramAnswer:
        """One item of each user, drawn evenly, at one level, drawn by the public weights."""
        rows, origin = self._rows(data), checked_source(source)
        place = uniform_below(np.full(len(rows), rows.shape[1]), source=origin)
        chosen = np.bincount(rows[np.arange(len(rows)), place], minlength=self.space.items)
        return self._decoded(chosen, origin)

    def estimate_pooled(self, held: ArrayLike, *, source: RandomSource | None = None) -> HistogramAnswer:
        """The reported items are drawn from the pool."""
        origin = checked_source(source)
        return self._decoded(exact_multinomials([self.users], [self._held(held)], source=origin)[0], origin)

    def _decoded(self, chosen: Integers, source: RandomSource) -> HistogramAnswer:
        tree = levelled_tree(self.space)
        split = exact_multinomials(chosen, [list(self.weights)], source=source)
        precision, sums = np.zeros(tree.edges), np.zeros(tree.edges)
        even = checked_reference(None, self.space.items)
        for cells, channel, held in zip(cells_of(tree), self.channels, split.T, strict=True):
            reports = int(held.sum())
            if reports:
                groups = np.bincount(cells.of_item, weights=held, minlength=len(cells.edges)).astype(np.int64)
                values = channel.decode(channel.tally(groups, source=source), reports)
                weight = reports / _cell_variances(cells, channel, even)
                precision[cells.edges] += weight
                sums[cells.edges] += weight * values
        targets = sums / np.where(precision > 0.0, precision, 1.0)
        variances = 1.0 / np.where(precision > 0.0, precision, 1.0 / _MISSING)
        masses = consistent(tree, targets, variances)
        return HistogramAnswer(np.asarray(masses[tree.owners]), self.event, source.private)

    def _edge_variances(self, tree: EdgeTree, reference: Floats) -> Floats:
        precision = np.zeros(tree.edges)
        for cells, channel, weight in zip(cells_of(tree), self.channels, self.weights, strict=True):
            reports = self.users * weight / PARTS
            precision[cells.edges] += reports / _cell_variances(cells, channel, reference)
        return np.asarray(1.0 / precision)


def _cell_variances(cells: LevelGroups, channel: LocalChannel, reference: Floats) -> Floats:
    """Of one report: as if groups were independent before their sum was fixed to 1, which takes 1/c of it away."""
    count = len(cells.edges)
    masses: Floats = np.bincount(cells.of_item, weights=reference, minlength=count).astype(np.float64)
    result = channel.noise_variances(Edges.of_items(count), masses) + masses * (1.0 - masses)
    return np.asarray(result * (count / (count - 1.0)))


def levelled_local_histogram(
    space: Space, epsilon: Exact, *, users: int, channel: type[LocalChannel], reference: ArrayLike | None = None
) -> LevelledLocalHistogram:
    """Reports by levels through ``channel``; the shares of users make the sum of length times deviation least.

    Args:
        space: A clustered space, or a tree of two levels or more.
        epsilon: The privacy parameter of a user's one report.
        users: n, public.
        channel: A kind of channel, e.g. SubsetSelection.
        reference: A public guess of the histogram; the even one by default.

    >>> from benchmarks.baselines import UnaryEncoding
    >>> from barrow.spaces import Clustered
    >>> levelled_local_histogram(Clustered.grid(3, 2, r=0.1), 1, users=100, channel=UnaryEncoding).event.delta
    Fraction(0, 1)
    """
    tree = levelled_tree(space)
    guess = checked_reference(reference, space.items)
    levels = cells_of(tree)
    built = tuple(channel(len(cells.edges), epsilon) for cells in levels)  # type: ignore[call-arg]
    costs = [
        float((tree.lengths[cells.edges] * np.sqrt(_cell_variances(cells, each, guess))).sum())
        for cells, each in zip(levels, built, strict=True)
    ]
    # Least sum of B/sqrt(share).
    weights = parts(np.array(costs) ** (2.0 / 3.0))
    return LevelledLocalHistogram(space, users, built, weights, UserLevelRelease(epsilon, model="local"))


def _by_level(tree: EdgeTree, weights: tuple[int, ...]) -> Floats:
    return np.array(weights, dtype=np.float64)[tree.depths]
