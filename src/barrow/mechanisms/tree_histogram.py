"""Histograms along a tree: noise on the edges, of the same size everywhere, then decoding.

EMD is the 1-norm of the difference of edge values (length times mass below), so Laplace noise of scale 1/(alpha n) on
each is (alpha, 0)-EMD-DP, unbounded, whatever the tree (docs/proofs/tree-histograms.md). The expected error of the edge
values is their number times the noise's mean size, and decoding only sees what was released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from barrow.errors import ParameterError
from barrow.mechanisms.additive import AdditiveNoise, checked_model
from barrow.mechanisms.linear import linear_candidates
from barrow.numerics import Exact, float_up
from barrow.privacy import Event, Model
from barrow.privacy.definitions import probability
from barrow.queries import Query, tree_edges
from barrow.spaces import EdgeTree, Space, edge_tree


@dataclass(frozen=True, eq=False, repr=False)
class TreeHistogram:
    """A histogram along a tree, ready to release; everything in it is public. Made by :func:`tree_histogram`.

    Attributes:
        query: The edge values as a query.
        noise: The noise on each: of the mean over all users (central), or of one user's report (local).
        users: n, public.
        model: ``central`` or ``local``.

    >>> from barrow.spaces import Clustered
    >>> plan = tree_histogram(Clustered.grid(10, 10, r=0.05), 25, users=10_000)
    >>> plan.noise.name, round(plan.undecoded_error, 6), round(plan.nearest_error_upper, 6)
    ('Laplace', 0.00044, 0.00088)
    """

    query: Query
    noise: AdditiveNoise
    users: int
    model: Model

    def __repr__(self) -> str:
        return f"TreeHistogram({self.tree}, {self.noise.name} noise, {self.model.value})"

    @cached_property
    def tree(self) -> EdgeTree:
        """Its edges."""
        return edge_tree(self.query.space)

    @property
    def event(self) -> Event:
        """What releasing it causes; in the local model, each user's report."""
        return self.noise.event

    @property
    def reports(self) -> int:
        """How many noisy values are averaged for each output: n in the local model, else 1."""
        return self.users if self.model is Model.LOCAL else 1

    @property
    def distribution(self) -> str:
        """That of the noise that is left: means of 30 or more reports are taken as Gaussian."""
        return "gaussian" if self.noise.p is None or self.reports >= 30 else "laplace"

    @property
    def variance(self) -> float:
        """The variance of each edge value that is decoded."""
        return self.noise.deviation**2 / self.reports

    @property
    def mean_size(self) -> float:
        """E |noise| of each edge value that is decoded (rounding to the grid, a millionth of it, aside)."""
        scale, n = float_up(self.noise.scale), self.reports
        if self.noise.p is None:
            return scale * math.sqrt(2.0 / math.pi / n)
        if n > 1000:
            return 2.0 * scale / math.sqrt(math.pi * n) * (1.0 - 1.0 / (8.0 * n))
        return 2.0 * scale * float(math.comb(2 * n, n) / 4**n)

    @property
    def undecoded_error(self) -> float:
        """The expected 1-norm of the noise on all edge values: the expected EMD error before decoding."""
        return self.tree.edges * self.mean_size

    @property
    def nearest_error_upper(self) -> float:
        """The expected EMD error of ``how="nearest"`` is at most this, whatever the data: twice the undecoded one."""
        return 2.0 * self.undecoded_error


def tree_histogram(
    space: Space,
    alpha: Exact,
    delta: Exact = 0,
    *,
    users: int,
    model: str = "central",
    noise: str = "auto",
    grid: Exact | None = None,
) -> TreeHistogram:
    """The histogram of a tree, clustered, discrete or line space under (alpha, delta)-EMD-DP, unbounded.

    The arguments are those of :func:`barrow.mechanisms.linear_noise`; in the local model ``users`` is how many reports
    are expected. ``noise="auto"`` takes the one with the smaller expected error.
    """
    if noise not in ("auto", "laplace", "gaussian"):
        raise ParameterError(f"noise is {noise!r}.", allowed="'auto', 'laplace' or 'gaussian'", fix="noise='auto'")
    place, _ = checked_model(model, users)
    _, n = checked_model("central", users)
    query = tree_edges(space)
    wanted = [noise] if noise != "auto" else ["laplace", "gaussian"] if probability(delta) > 0 else ["laplace"]
    plans = []
    for each in wanted:
        made = linear_candidates(
            query, alpha, delta, noise=each, model=model, users=None if model == "local" else n, grid=grid
        )
        plans.append(TreeHistogram(query, made[0], n, place))
    return min(plans, key=lambda plan: plan.mean_size)
