"""Synthetic records against the real ones: ``scripts/bench synthetic [--rows 100000] [--draws 3]``.

For five real sets (two lines, a map, a tree, a product) a histogram is released and records are drawn from it. The
figure is the earth mover's distance from these records to the real ones (each person counting once), over what is said
beforehand: the error of the release plus the stated distance of the records from the release. On lines the distance is
that of the raw numbers, elsewhere that of their cells.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import barrow as bw
from barrow.spaces import Space
from barrow.spaces.space import Floats
from barrow.transport.measure import measure_of
from benchmarks._real_sets import RealSet, lines, maps, products, shares, trees
from benchmarks._timing import finish

DISTANCE = "all, anywhere, 2"
"""One promise for every set: what is compared is the error that was said, not how small it is."""


def chosen_sets() -> list[RealSet]:
    """Five sets, of which three were never looked at."""
    return [lines()[8], lines()[11], maps()[0], trees()[2], products()[1]]


def measured(of: RealSet, rows: int, draws: int) -> dict[str, float | str]:
    """The mean over releases of the distance of synthetic records to the truth, and of what was said."""
    whose, columns = of.records()
    names = [f"column_{i}" for i in range(len(columns))]
    data = bw.read({"uid": whose, **dict(zip(names, columns, strict=True))}, user="uid", item=names)
    people = len(np.unique(whose))
    study = bw.Study(of.space, [DISTANCE], users=people, dataset=of.name, data=data, missing="default item")
    real, stated, samples = [], [], []
    for draw in range(draws):
        with tempfile.TemporaryDirectory() as folder:
            one = study.replace(dataset=f"{of.name} {draw}")
            ledger = bw.Ledger.create(f"{folder}/x.ledger", one)
            release = one.release("histogram", ledger=ledger, out=Path(folder) / "histogram", renderers=())
            records = release.sample(rows)
        real.append(_distance(of, study.space, list(records.columns.values())))
        samples.append(records.distance)
        stated.append(release.error + records.distance)
    ratio = float(np.mean([a / b for a, b in zip(real, stated, strict=True)]))
    return {"set": of.name, "people": people, "real": float(np.mean(real)), "stated": float(np.mean(stated)),
            "of_rows": float(np.mean(samples)), "ratio": ratio}  # fmt: skip


def _distance(of: RealSet, space: Space, columns: list[Floats]) -> float:
    """From the synthetic to the real records, in the space's unit."""
    if of.kind == "line":
        from scipy.stats import wasserstein_distance

        whose, (values,) = of.records()
        _, number, sizes = np.unique(whose, return_inverse=True, return_counts=True)
        return float(wasserstein_distance(columns[0], values, None, 1.0 / sizes[number]))
    records = {"product": columns, "map": np.stack(columns, axis=-1)}.get(of.kind, columns[0])
    items = space.encode(records)
    have = np.bincount(items, minlength=space.items) / len(items)
    return measure_of(space).distance(have - shares(of, space)) * space.diameter


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--draws", type=int, default=3)
    given = parser.parse_args()
    results = []
    print(f"{'set':24}{'people':>8}{'to the truth':>14}{'said':>12}{'of rows':>12}{'ratio':>8}")
    for of in chosen_sets():
        row = measured(of, given.rows, given.draws)
        results.append(row)
        numbers = f"{row['real']:>14.4g}{row['stated']:>12.4g}{row['of_rows']:>12.4g}{row['ratio']:>8.2f}"
        print(f"{row['set']:24}{row['people']:>8}{numbers}", flush=True)
    ratios = [float(row["ratio"]) for row in results]
    finish({"sets": results, "rows": given.rows, "ratio_mean": float(np.mean(ratios)), "ratio_most": max(ratios)})


if __name__ == "__main__":
    main()
