"""EMD on clustered, tree, line and Euclidean spaces against POT's best call, one pair and a batch of 1,000 pairs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
import ot

from barrow.spaces import Clustered, Euclidean, Line, Space, Tree
from barrow.transport import emd
from benchmarks._timing import finish, interleaved

SIZES = (10, 100, 1000)
BATCH = 1000


def spaces(k: int) -> dict[str, Space]:
    """One space of each kind with k items."""
    side = {10: (2, 5), 100: (10, 10), 1000: (20, 50)}[k]
    leaves = [(f"leaf{i}", f"twig{i % (k // 5)}", 0.1) for i in range(k)]
    twigs = [(f"twig{i}", f"branch{i % 2}", 0.4) for i in range(k // 5)]
    box = {10: (2, 5), 100: (10, 10), 1000: (25, 40)}[k]
    return {
        "clustered": Clustered.grid(*side, r=0.05),
        "tree": Tree([*leaves, *twigs, ("branch0", "root", 1.0), ("branch1", "root", 1.0)]),
        "line": Line(0, 1, step=1 / k),
        "euclid": Euclidean([0, 0], [box[0], box[1]], step=1),
    }


def peer(kind: str, space: Space, a: np.ndarray, b: np.ndarray) -> Callable[[], object]:
    """POT's best call on the same pair: sorted points on the line, the network simplex elsewhere."""
    if isinstance(space, Line):
        points = np.asarray(space.points) / space.diameter
        return lambda: ot.emd2_1d(points, points, a, b, metric="euclidean")
    costs = space.block()
    return lambda: ot.emd2(a, b, costs, numItermax=10_000_000)


def main() -> None:
    """Measure, print a table and one JSON line."""
    parser = argparse.ArgumentParser(prog="scripts/bench emd", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each candidate is timed (median)")
    rounds = parser.parse_args().rounds
    rng = np.random.default_rng(0)
    figures: dict[str, float] = {}
    print(f"{'space':10} {'k':>5} {'pairs':>6} {'POT s':>11} {'barrow s':>11} {'POT / barrow':>13}   difference")
    for k in SIZES:
        for kind, space in spaces(k).items():
            a, b = rng.dirichlet(np.ones(k), size=2)
            theirs = peer(kind, space, a, b)
            gap = abs(float(np.asarray(theirs())) - float(emd(space, a, b)))
            times = interleaved({"pot": theirs, "barrow": partial(emd, space, a, b)}, rounds=rounds)
            ratio = times["pot"] / times["barrow"]
            print(f"{kind:10} {k:5} {1:6} {times['pot']:11.3g} {times['barrow']:11.3g} {ratio:13,.1f}   {gap:.1e}")
            name = "line_{}_vs_emd2_1d" if kind == "line" else f"{kind}_{{}}_vs_pot"
            figures[name.format(k)] = round(ratio, 2)
            if kind == "euclid":
                continue
            many_a, many_b = rng.dirichlet(np.ones(k), size=(2, BATCH))
            batch = interleaved({"barrow": partial(emd, space, many_a, many_b)}, rounds=rounds)["barrow"]
            loop = times["pot"] * BATCH  # POT has no batch call on a given metric: one pair at a time
            print(f"{kind:10} {k:5} {BATCH:6} {loop:11.3g} {batch:11.3g} {loop / batch:13,.1f}   (POT: single x 1,000)")
            figures[name.format(f"{k}_batch")] = round(loop / batch, 2)
    finish(figures)


if __name__ == "__main__":
    main()
