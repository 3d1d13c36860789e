"""Heat maps under ordinary user-level DP against ours: ``scripts/bench heatmaps [--draws 3] [--check-ins FOLDER]``.

The peer follows Differentially Private Heatmaps (Ghazi et al., AAAI 2023), which has no public code: counts of a
quadtree at all levels with Laplace noise, the largest cells of each level kept, and the histogram nearest to them level
by level. Its budget shares, how many cells are kept and its decoder are the best of several in hindsight: its own, or
our smooth decoder of maps. Keys that end in ``_shrunk`` lend it our decoder of trees too, by which quadtrees are read
best. It promises user-level epsilon: a person may change everything. Ours promises alpha per unit of EMD, which is
epsilon = alpha w for changes of at most w.

At epsilon = alpha the peer is more accurate, as it promises less protection of small changes: both are compared at the
epsilon = alpha w that ours gives to movements of w. ``w_break_even_*`` is the movement below which ours is the more
accurate one. Populations: the nine of benchmarks/_multiscale.py, real flights (an aircraft stands in for a person), and
real check-ins, if a folder with NYC.npy (user, place, minute) and NYC_POI.npy (place, latitude, longitude) is given.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from barrow.mechanisms.decoding.entropic import EntropicDual
from barrow.mechanisms.decoding.graph_scales import graph_scales
from barrow.mechanisms.decoding.tree import decode
from barrow.mechanisms.edge_histogram import edge_histogram
from barrow.spaces import Tree, edge_tree
from barrow.transport import emd
from benchmarks._multiscale import SIDE, SQUARE, populations
from benchmarks._timing import finish
from benchmarks.edges import ALPHA, errors, spacing_for

LEVELS = 5
EPSILONS = (1.0, 1.5, 2.25, 3.4, 5.0, 8.0, 25.0)
SHARES = {"equal": 1.0, "to fine": 1.6, "to finest": 2.5}
"""Each level's budget is this many times that of the one above."""
KEPT = 128
"""Cells that are kept of each level, where not all are."""


class Peer:
    """The quadtree of 32 x 32 cells with Laplace noise."""

    def __init__(self) -> None:
        cell = np.arange(SIDE * SIDE)
        x, y = cell // SIDE, cell % SIDE
        parts = [(x >> (LEVELS - 1 - j)) * 64 + (y >> (LEVELS - 1 - j)) for j in range(LEVELS)]
        names = ["/".join(f"{part[i]:05d}" for part in parts) for i in cell]
        self.space = Tree.nested(names, distances=[2.0**-j for j in range(LEVELS)])
        place = {name: i for i, name in enumerate(names)}
        self.order = np.array([place[label] for label in self.space.labels])
        self.tree = edge_tree(self.space)
        sizes = self.tree.ends - self.tree.starts
        self.level = LEVELS - 1 - np.rint(np.log2(sizes) / 2.0).astype(int)
        self.scales = graph_scales(SQUARE.graph())

    def scale(self, epsilon: float, users: int, ratio: float) -> Any:
        """Of each edge: a person moves at most 2/n of each level's shares."""
        budget = ratio ** np.arange(LEVELS, dtype=np.float64)
        return (2.0 / (users * epsilon * budget / budget.sum()))[self.level]

    def masses(self, truth: Any) -> Any:
        """The mass below each edge."""
        return self.tree.masses(truth[self.order])

    def onto_cells(self, weights: Any) -> Any:
        """From the order of the quadtree to that of the cells."""
        result = np.empty(SIDE * SIDE)
        result[self.order] = weights
        return result / result.sum()

    def keep_largest(self, noisy: Any, most: int | None) -> Any:
        """The largest cells of each level; the others count as empty."""
        if most is None:
            return noisy
        result = noisy.copy()
        for level in range(LEVELS):
            here = np.flatnonzero(self.level == level)
            if len(here) > most:
                result[here[np.argsort(noisy[here])[:-most]]] = 0.0
        return result

    def own(self, noisy: Any, scale: Any, most: int | None, how: str) -> Any:
        """The histogram nearest to what was kept, by transport along the quadtree or by least squares."""
        values = self.keep_largest(noisy, most) * self.tree.lengths
        variances = 2.0 * (scale * self.tree.lengths) ** 2
        return self.onto_cells(decode(self.tree, values, how=how, variances=variances))

    def smooth(self, noisy: Any, scale: Any, strength: float) -> Any:
        """Our smooth decoder on the whitened counts."""
        inverse = 1.0 / (np.sqrt(2.0) * scale)

        def forward(weights: Any) -> Any:
            return self.masses(weights) * inverse

        def backward(v: Any) -> Any:
            spread = np.zeros(self.tree.items + 1)
            np.add.at(spread, self.tree.starts, v * inverse)
            np.add.at(spread, self.tree.ends, -v * inverse)
            result = np.empty(self.tree.items)
            result[self.order] = np.cumsum(spread[:-1])
            return result

        dual = EntropicDual(
            noisy * inverse, self.scales.spread, self.scales.gather, forward, backward, self.scales.prior,
            float((inverse**2).max()),
        )  # fmt: skip
        return dual.fit(strength, 3e-2).weights


def peer_errors(peer: Peer, people: list[Any], users: int, epsilon: float, draws: int) -> dict[str, float]:
    """The mean EMD of every reading of the peer, with the best shares for each."""
    result: dict[str, float] = {}
    generator = np.random.default_rng(users)
    for share, ratio in SHARES.items():
        scale = peer.scale(epsilon, users, ratio)
        finest = float(scale.max())
        sums: dict[str, float] = {}
        for truth in people:
            for _ in range(draws):
                noisy = peer.masses(truth) + generator.laplace(size=len(scale)) * scale
                maps = {
                    f"{how} of {most or 'all'}": peer.own(noisy, scale, most, how)
                    for how, most in (("nearest", KEPT), ("nearest", None), ("empirical_bayes", None))
                }
                maps |= {f"smooth {k}": peer.smooth(noisy, scale, k / finest) for k in (0.1, 0.3)}
                for name, weights in maps.items():
                    key = f"{name}, {share}"
                    sums[key] = sums.get(key, 0.0) + float(emd(SQUARE, weights, truth)) / (len(people) * draws)
        result |= sums
    return result


def break_even(name: str, people: list[Any], users: int, draws: int, peer: Peer) -> dict[str, float]:
    """The movements w at whose epsilon = alpha w the peer is as accurate as ours is at alpha.

    One for the peer with its own and our map decoder, one where it has our decoder of trees too.
    """
    chosen = spacing_for(SQUARE, users)
    plan = edge_histogram(SQUARE, ALPHA, users=users, spacing=chosen)
    ours = errors(SQUARE, plan, people, draws, ("smooth",))["smooth"]
    curves: dict[str, list[float]] = {"": [], "_shrunk": []}
    for epsilon in EPSILONS:
        each = peer_errors(peer, people, users, epsilon, draws)
        for lent, curve in curves.items():
            usable = {key: value for key, value in each.items() if lent or not key.startswith("empirical_bayes")}
            best = min(usable, key=lambda key: usable[key])
            curve.append(usable[best])
            print(f"{name} n={users:,} eps={epsilon}: peer {usable[best]:.5f} ({best}), ours {ours:.5f}", flush=True)
        if max(curve[-1] for curve in curves.values()) < ours / 1.1:
            break
    result = {}
    for lent, curve in curves.items():
        # Between two epsilons the logarithm of the error is nearly linear in that of epsilon.
        falling = np.minimum.accumulate(curve)[::-1]
        at = np.log(np.array(EPSILONS[: len(curve)]))[::-1]
        result[lent] = round(float(np.exp(np.interp(np.log(ours), np.log(falling), at)) / ALPHA), 4)
    return result


def flights() -> tuple[Any, int]:
    """Where the aircraft of the embedded flights went, on 32 x 32 cells of the map."""
    from importlib.resources import files

    import duckdb

    file = str(files("barrow.demo") / "data" / "flights.parquet")
    rows = duckdb.connect().execute(
        f"""WITH one AS (SELECT "user" AS u, lat, lon, count(*) AS c FROM '{file}' GROUP BY ALL),
        sizes AS (SELECT u, sum(c) AS m FROM one GROUP BY u)
        SELECT lat, lon, sum(c / m), (SELECT count(*) FROM sizes) FROM one JOIN sizes USING (u) GROUP BY lat, lon"""
    ).fetchall()  # fmt: skip
    table = np.array([[float(v) for v in row] for row in rows])
    return mapped(table[:, :2], table[:, 2]), int(table[0, 3])


def real_check_ins(folder: str) -> tuple[Any, int]:
    """Where people checked in, each person counting once."""
    from pathlib import Path

    visits, places = np.load(Path(folder) / "NYC.npy"), np.load(Path(folder) / "NYC_POI.npy")
    where = {int(place): i for i, place in enumerate(places[:, 0])}
    at = places[[where[int(place)] for place in visits[:, 1]], 1:3]
    _, user, sizes = np.unique(visits[:, 0], return_inverse=True, return_counts=True)
    return mapped(at, 1.0 / sizes[user]), len(sizes)


def mapped(at: Any, weights: Any) -> Any:
    """Shares of 32 x 32 cells of the smallest box round all places."""
    low, high = at.min(axis=0), at.max(axis=0)
    cells = SQUARE.encode(np.clip((at - low) / (high - low), 0.0, 0.999))
    result = np.bincount(cells, weights=weights, minlength=SQUARE.items)
    return result / result.sum()


def main() -> None:
    """Prints errors, then one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--check-ins", metavar="FOLDER", help="with NYC.npy and NYC_POI.npy")
    given = parser.parse_args()
    peer, figures = Peer(), {}
    cases = [("n1e3", populations(), 10**3, given.draws), ("n1e4", populations(), 10**4, given.draws)]
    for name, (truth, number) in {
        "flights": flights(),
        **({"check_ins": real_check_ins(given.check_ins)} if given.check_ins else {}),
    }.items():
        cases.append((name, [truth], number, 3 * given.draws))
    for name, people, users, draws in cases:
        for lent, w in break_even(name, people, users, draws, peer).items():
            figures[f"w_break_even_{name}{lent}"] = w
    finish(figures)


if __name__ == "__main__":
    main()
