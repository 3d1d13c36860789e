"""The three use cases of Section 1, from plain files: places, words, a graph. The files are made from fixed seeds."""

from __future__ import annotations

import csv
import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from barrow.engines import Columns, engine_for, with_tables
from barrow.spaces import Covariates, space_from_spec
from barrow.study import Study
from lab.paper.measuring import sized, uniforms
from lab.paper.registry import CORRECTED, HOLDS, UNSAFE, Effort, Grid, Measure, Measured, row

_Rows = Sequence[Sequence[object]]


def _file(folder: Path, name: str, rows: _Rows) -> Path:
    with (folder / name).open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)
    return folder / name


def _in_a_folder(measure: Callable[[Path, Effort], Measured]) -> Measure:
    def measured(effort: Effort) -> Measured:
        with tempfile.TemporaryDirectory(prefix="barrow-paper-") as folder:
            return measure(Path(folder), effort)

    return measured


@row(
    "use:location",
    "Section 1, location data",
    "tau is the share of the time that changes, q how far: close places over short times are the hardest to tell "
    "apart.",
    ("barrow.study.Study", "barrow.promises.Policy", "barrow.questions.Histogram"),
    links=("how-to/places.md", "how-to/histograms.md"),
)
@_in_a_folder
def _location(folder: Path, effort: Effort) -> Measured:
    draws = uniforms(41, 3 * 4000).reshape(-1, 3)
    lat, lon = 40.5 + 0.5 * draws[:, 0] ** 2, -74.2 + 0.5 * draws[:, 1] ** 2
    people = (draws[:, 2] * 200).astype(int)
    rows = zip(people.tolist(), lat.round(5).tolist(), lon.round(5).tolist(), strict=True)
    file = _file(folder, "visits.csv", [("uid", "lat", "lon"), *rows])
    space = {"kind": "earth", "box": [40.5, -74.2, 41.0, -73.7], "cell": 5}
    study = Study(space, ["1 of 30, 10 km, 0.5", "all, 5 km, 0.5"], users=200, dataset="visits", missing="default item")
    counts = engine_for(str(file)).count(str(file), Columns("uid", ("lat", "lon")), study.space)
    plan = study.plan("histogram")
    short, whole = (float(satisfied.emd) for satisfied in study.policy.satisfied)
    alpha = float(study.alpha)
    near = alpha * short / 10, alpha * whole / 10
    return Measured(
        f"A CSV of {int(counts.counts.sum()):,} visits by {counts.users} people: alpha = {sized(alpha)} keeps “1 of 30 "
        f"by 10 km” and “all by 5 km” at eps = 0.5 each; a tenth of either change costs a tenth ({sized(near[0], 3)}, "
        f"{sized(near[1], 3)}). The map errs by {sized(plan.error, 3)} km (EMD).",
        HOLDS if max(near) <= 0.05 + 1e-9 and counts.users == 200 else UNSAFE,
        {"alpha": alpha, "map_error_km": plan.error, "visits": int(counts.counts.sum())},
    )


@row(
    "use:text",
    "Section 1, textual data",
    "Words are points of an embedding; tau is the share of a conversation that changes, q how much its meaning does.",
    ("barrow.engines.with_tables", "barrow.spaces.Embedding", "barrow.questions.Items"),
    links=("how-to/words.md", "spaces.md"),
    steady=False,
)
@_in_a_folder
def _text(folder: Path, effort: Effort) -> Measured:
    from scipy.special import ndtri

    count = effort.of(400, 3000)
    vectors = (ndtri(uniforms(42, count * 20)).reshape(count, 20) * 0.3).round(4)
    vectors += np.repeat(ndtri(uniforms(43, 20 * 20)).reshape(20, 20).round(4), -(-count // 20), axis=0)[:count]
    lines = [f"{count} 20", *(f"w{i} " + " ".join(f"{x:.4f}" for x in v) for i, v in enumerate(vectors))]
    (folder / "words.vec").write_text("\n".join(lines), encoding="utf-8")
    np.savez(folder / "words.npz", labels=np.array([f"w{i}" for i in range(count)]), vectors=vectors.round(4))
    spaces = [
        space_from_spec(with_tables({"kind": "embedding", "vectors": name}, folder))
        for name in ("words.vec", "words.npz")
    ]
    study = Study(spaces[0], alpha=100, delta="1e-9", users=10_000, dataset="words", missing="default item")
    whole, items = study.plan("histogram"), study.plan("items(items=20)")
    same = spaces[0].digest == spaces[1].digest
    return Measured(
        f"{count:,} words of 20 dimensions from word2vec text and from npz are "
        f"{'the same space' if same else 'different'}; at alpha = 100, n = 10,000 the histogram is off by "
        f"{sized(whole.error / study.space.diameter, 3)} diameters (EMD, at most), and reports on 20 words a person "
        f"move each by {sized(items.error / study.space.diameter, 3)}.",
        HOLDS if same and math.isfinite(whole.error) else UNSAFE,
        {"words": count, "same": same, "histogram_error": whole.error / study.space.diameter},
    )


@row(
    "use:graph",
    "Section 1, graph data",
    "A user's items are its neighbours, at the distance of their public covariates; an edge is in the data of one "
    "user.",
    ("barrow.spaces.Covariates", "barrow.engines.with_tables"),
    erratum="An undirected edge stands in two people's data, and replacing a neighbour changes a third's. Who promises "
    "something about such an edge must price all three: d/degree + 2/(least degree) instead of d/degree.",
    links=("how-to/graphs.md", "spaces.md"),
)
@_in_a_folder
def _graph(folder: Path, effort: Effort) -> Measured:
    ages = (20 + 50 * uniforms(44, 120)).astype(int)
    nodes = [f"p{i}" for i in range(120)]
    _file(folder, "people.csv", [("name", "age"), *zip(nodes, ages.tolist(), strict=True)])
    ends = (uniforms(45, 2 * 2400) * 120).astype(int).reshape(-1, 2)
    pairs = sorted({(int(a), int(b)) for a, b in ends if a != b})
    edges = _file(folder, "edges.csv", [("a", "b"), *((nodes[a], nodes[b]) for a, b in pairs)])
    space = space_from_spec(with_tables({"kind": "covariates", "nodes": "people.csv", "unit": "years"}, folder))
    study = Study(space, ["1 of 20, 10 years, 0.5"], users=120, dataset="circles", missing="default item")
    counts = engine_for(str(edges)).count(str(edges), Columns("a", "b"), space)
    alpha, degree = float(study.alpha), 20
    distance = 10.0 / space.diameter
    directed = alpha * distance / degree
    changed = Covariates.edge_change(distance, degree=degree, least_degree=degree)
    rows = (
        ("directed: the edge is in one person's data", sized(distance / degree, 3), sized(directed, 3)),
        ("undirected: it is in two, and a third wins one", sized(changed, 3), sized(alpha * changed, 3)),
    )
    error = study.plan("histogram").error
    return Measured(
        f"{len(nodes)} people with {space.items} different ages ({len(nodes) - space.items} ties became one item each) "
        f"and {int(counts.counts.sum()):,} edges: one of 20 neighbours replaced by one 10 years off costs eps = "
        f"{sized(directed, 3)} if edges are directed and {sized(alpha * changed, 3)} if they stand in both ends' data. "
        f"Histogram of neighbours' ages: EMD {sized(error, 3)} years.",
        CORRECTED if changed > distance / degree and space.items < len(nodes) else UNSAFE,
        {"items": space.items, "directed": directed, "undirected": alpha * changed, "histogram_error": error},
        (Grid("What one edge costs", ("edges are", "EMD in all", "eps at the study's alpha"), rows),),
    )
