"""Embeddings of many words, angles, and nodes that nothing public tells apart."""

from __future__ import annotations

import numpy as np
import pytest

import barrow as bw
from barrow.randomisers import laplace
from barrow.render.item_figures import _way
from barrow.spaces.checks import without_names


@pytest.mark.parametrize("metric", ["euclidean", "angular"])
def test_least_distances_are_those_of_all_pairs(metric):
    vectors = np.random.default_rng(6).normal(size=(200, 10))
    space = bw.Embedding([str(i) for i in range(200)], vectors, metric=metric)
    apart = space.block()
    least = apart[apart > 0].min()
    assert least * (1 - 1e-9) <= space.least_distance_lower <= least


def test_noise_on_directions_pays_for_angles():
    vectors = np.random.default_rng(7).normal(size=(60, 5))
    space = bw.Embedding([str(i) for i in range(60)], vectors, metric="angular")
    built = laplace(space, 3)
    chords = np.sqrt(((space.points[:, None] - space.points[None]) ** 2).sum(axis=2))
    loss = chords / float(built._scale)
    assert (loss <= 3.0 * space.block() * (1 + 1e-12)).all()
    assert loss.max() > 1.5  # and not far more noise than that
    assert built.from_items([1, 2]).shape == (2,)


def test_nodes_with_the_same_covariates_are_one_item():
    people = bw.Covariates(["a", "b", "c", "d"], [[1.0], [2.0], [1.0], [1.0]])
    assert people.items == 2
    assert list(people.labels) == ["a (+2)", "b"]
    assert people.encode(["d", "b", "a"]).tolist() == [0, 1, 0]
    assert bw.space_from_spec(people.to_spec()) == people
    turned = bw.Covariates(["a", "b"], [[1.0, 2.0], [2.0, 4.0]], metric="angular")
    assert turned.items == 1


def test_engines_know_every_name_of_an_item(tmp_path):
    from barrow.engines import Columns, engine_for

    people = bw.Covariates(["a", "b", "c"], [[1.0], [2.0], [1.0]])
    file = tmp_path / "edges.csv"
    file.write_text("u,v\nx,a\nx,c\ny,b\n")
    counts = engine_for(str(file)).count(str(file), Columns("u", "v"), people)
    assert sorted(zip(counts.items.tolist(), counts.counts.tolist(), strict=True)) == [(0, 2), (1, 1)]


def test_an_undirected_edge_moves_three_people():
    people = bw.Covariates(["a", "b", "c"], [[0.0], [1.0], [4.0]])
    # c replaces its neighbour a by b; a loses c and b wins it. All have 4 neighbours before.
    before = {"a": [2, 1, 1, 1], "b": [0, 0, 0, 0], "c": [0, 1, 1, 1]}
    after = {"a": [1, 1, 1], "b": [0, 0, 0, 0, 2], "c": [1, 1, 1, 1]}
    moved = sum(_emd(people, before[x], after[x]) for x in before)
    assert moved <= people.edge_change(people.distance(0, 1).item(), degree=4, least_degree=4)
    with pytest.raises(bw.ParameterError, match="degree"):
        people.edge_change(0.1, degree=0)


def _emd(space, a, b):
    from barrow.transport import emd_between

    return emd_between(space, a, b)


def test_large_vocabularies_are_planned_and_released(tmp_path):
    rng = np.random.default_rng(8)
    words = [f"w{i}" for i in range(2500)]
    space = bw.Embedding(words, rng.normal(size=(2500, 10)), metric="angular")
    study = bw.Study(space, alpha=300, delta="1e-9", users=50, dataset="talk")
    assert study.plan("items(items=2)").itemwise.randomiser.kind == "laplace"
    assert study.plan("frequency(items=2)").itemwise.randomiser.kind == "response"
    ledger = bw.Ledger.create(tmp_path / "talk.ledger", study)
    data = bw.read({"u": np.repeat(np.arange(50), 2).tolist(), "w": words[:100]}, user="u", item="w")
    result = study.release("items(samples=2, fraction=0.5)", data, ledger=ledger, out=tmp_path / "items")
    assert sum(result.values) == 100


def test_without_names():
    assert without_names({"kind": "discrete", "labels": "a.txt", "digests": {"labels": "sha256:00"}}) == {
        "kind": "discrete",
        "digests": {"labels": "sha256:00"},
    }


def test_way():
    assert _way("US/NY", {"US/NY": "US", "US": "all"}) == ["US", "NY"]
