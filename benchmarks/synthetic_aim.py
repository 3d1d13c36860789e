"""Synthetic records against AIM: ``scripts/bench synthetic_aim --python ENV/bin/python``.

AIM (an adaptive mechanism for synthetic tables under user-level differential privacy; the package smartnoise-synth, in
an environment of its own: ``pip install smartnoise-synth``) gets one record of each person, on public cells like ours,
at the worst-case epsilon of our plan and at the epsilon of our promise, with delta 1e-9. Five queries are answered from
100,000 synthetic records of each: means, shares of a region, quantiles, a two-way table and a correlation. The figure
is how far each is from the truth, each person counting once; one run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import barrow as bw
from barrow.spaces.space import Floats
from benchmarks._real_sets import RealSet, flown_pairs, maps, products
from benchmarks._timing import finish

EPSILON = "0.5"
SHARE = 20
"""The promise: everything about a person, moved by one part in so many of the largest distance, at EPSILON."""
_WORKER = """
import json, sys, contextlib
import pandas as pd
from snsynth.aim import AIMSynthesizer
from snsynth.transform import LabelTransformer, TableTransformer
given = json.load(sys.stdin)
wide, high = given["sizes"]
table = TableTransformer([LabelTransformer(nullable=False), LabelTransformer(nullable=False)])
table.fit([(min(i, wide - 1), min(i, high - 1)) for i in range(max(wide, high))])
with contextlib.redirect_stdout(sys.stderr):
    model = AIMSynthesizer(epsilon=given["epsilon"], delta=1e-9, max_cells=max(10_000, wide * high))
    model.fit(pd.DataFrame({"a": given["a"], "b": given["b"]}), transformer=table)
    rows = pd.DataFrame(model.sample(given["rows"]), columns=["a", "b"]).astype(int)
json.dump({"a": rows["a"].tolist(), "b": rows["b"].tolist()}, sys.stdout)
"""
_QUERIES = ("mean", "share", "quantile", "table", "correlation")


def sets() -> list[RealSet]:
    """Two sets of one record a person and one of many, and a map."""
    return [*products(), flown_pairs(), maps()[0]]


def grid(of: RealSet) -> tuple[Floats, Floats, list[int]]:
    """The public limits of both columns, and into how many cells AIM's are divided: ours, or a map's rows."""
    space = bw.Study(of.space, alpha=1).space
    if isinstance(space, bw.Earth):
        south, west, north, east = space.box
        rows = len(space.rows.columns)
        return np.array([south, west]), np.array([north, east]), [rows, int(space.rows.columns.max())]
    ends = [part.corners for part in getattr(space, "parts", ())]
    low, high = np.array([lower.min() for lower, _ in ends]), np.array([upper.max() for _, upper in ends])
    return low, high, [len(lower) for lower, _ in ends]


def answers(a: Floats, b: Floats, weights: Floats, low: Floats, high: Floats) -> dict[str, Floats]:
    """Five queries of weighted pairs, each on the scale from 0 to 1."""
    a, b = (a - low[0]) / (high[0] - low[0]), (b - low[1]) / (high[1] - low[1])
    weights = weights / weights.sum()
    x, y = a - weights @ a, b - weights @ b
    table, _, _ = np.histogram2d(a, b, bins=4, range=((0, 1), (0, 1)), weights=weights)
    return {
        "mean": np.array([weights @ a, weights @ b]),
        "share": np.array([weights @ (a < 0.25), weights @ ((a >= 0.25) & (b >= 0.5))]),
        "quantile": np.array([_quantile(v, weights, q) for v in (a, b) for q in (0.25, 0.5, 0.9)]),
        "table": table.ravel(),
        "correlation": np.array([weights @ (x * y) / np.sqrt((weights @ x**2) * (weights @ y**2))]),
    }


def _quantile(values: Floats, weights: Floats, share: float) -> float:
    order = np.argsort(values)
    return float(values[order][np.searchsorted(np.cumsum(weights[order]), share)])


def _error(name: str, got: Floats, truth: Floats) -> float:
    """The largest error; of the table half the sum, which is the share of people in a wrong cell."""
    gap = np.abs(got - truth)
    return float(gap.sum() / 2 if name == "table" else gap.max())


def of_barrow(of: RealSet, rows: int) -> tuple[list[Floats], float, float]:
    """Synthetic records of a release, the plan's worst-case epsilon, and that of the promise."""
    whose, columns = of.records()
    data = bw.read({"uid": whose, "a": columns[0], "b": columns[1]}, user="uid", item=["a", "b"])
    people = len(np.unique(whose))
    space = bw.Study(of.space, alpha=1).space
    moved = f"{space.diameter / SHARE:.6g} {space.unit}".rstrip()
    study = bw.Study(
        space, [f"all, {moved}, {EPSILON}"], users=people, dataset=of.name, data=data, missing="default item"
    )
    with tempfile.TemporaryDirectory() as folder:
        ledger = bw.Ledger.create(f"{folder}/x.ledger", study)
        release = study.release("histogram", ledger=ledger, out=Path(folder) / "histogram", renderers=())
        records = release.sample(rows)
    return list(records.columns.values()), release.statement.worst_case.epsilon, float(EPSILON)


def of_aim(python: str, of: RealSet, epsilon: float, rows: int) -> list[Floats]:
    """Synthetic records of AIM, anywhere in their cells."""
    whose, columns = of.records()
    low, high, sizes = grid(of)
    source = np.random.default_rng()
    order = np.argsort(source.integers(0, 2**62, len(whose)))  # one record of each person, drawn at random
    first = order[np.unique(whose[order], return_index=True)[1]]
    shares = [(column[first] - a) / (b - a) for column, a, b in zip(columns, low, high, strict=True)]
    cells = [np.minimum((share * size).astype(int), size - 1) for share, size in zip(shares, sizes, strict=True)]
    first_column, second_column = (column.tolist() for column in cells)
    asked = {"epsilon": epsilon, "rows": rows, "sizes": sizes, "a": first_column, "b": second_column}
    done = subprocess.run([python, "-c", _WORKER], input=json.dumps(asked), capture_output=True, text=True, check=True)
    drawn = json.loads(done.stdout)
    inside = [(np.array(drawn[name]) + source.random(rows)) / size for name, size in zip("ab", sizes, strict=True)]
    return [a + part * (b - a) for part, a, b in zip(inside, low, high, strict=True)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--python", required=True, help="The Python of an environment in which smartnoise-synth is installed."
    )
    parser.add_argument("--only", help="One set.")
    parser.add_argument("--rows", type=int, default=100_000)
    given = parser.parse_args()
    results = []
    for of in (one for one in sets() if given.only in (None, one.name)):
        whose, columns = of.records()
        _, number, sizes = np.unique(whose, return_inverse=True, return_counts=True)
        low, high, _ = grid(of)
        truth = answers(columns[0], columns[1], 1.0 / sizes[number], low, high)
        mine, worst, promised = of_barrow(of, given.rows)
        peers = {
            "aim at the worst case": of_aim(given.python, of, worst, given.rows),
            "aim at the promise": of_aim(given.python, of, promised, given.rows),
        }
        print(f"{of.name}: {len(np.unique(whose)):,} people, worst case {worst:.3g}, promise {promised:.3g}")
        for who, records in {"barrow": mine, **peers}.items():
            got = answers(records[0], records[1], np.ones(len(records[0])), low, high)
            errors = {name: _error(name, got[name], truth[name]) for name in _QUERIES}
            results.append({"set": of.name, "who": who, "epsilon": promised if "promise" in who else worst, **errors})
            print(f"  {who:24}" + "".join(f"{name} {value:.4f}  " for name, value in errors.items()), flush=True)
    finish({"rows": given.rows, "results": results})


if __name__ == "__main__":
    main()
