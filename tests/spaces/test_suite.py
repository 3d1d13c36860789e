"""What every space must obey: one suite, every kind."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest
import tomli_w

from barrow.errors import DataError, ParameterError
from barrow.spaces import space_from_spec, space_kinds
from barrow.spaces.axioms import check_metric
from tests.spaces.cases import CASES, IDS, Case


@pytest.fixture(params=CASES, ids=IDS)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def records_of(case: Case, n: int):
    rng = np.random.default_rng(11)
    if case.draw is None:
        return [case.space.label(i) for i in rng.integers(0, case.space.items, n)]
    return case.draw(rng, n)


def test_every_kind_has_a_case():
    """A kind that is another one with fewer arguments (the week is a product) is tested by that one's suite."""
    known = space_kinds()
    tested = {case.space.kind for case in CASES}
    assert tested <= set(known)
    untested = [kind for name, kind in known.items() if name not in tested]
    assert all(any(issubclass(kind, known[name]) for name in tested) for kind in untested)


def test_it_is_a_metric_with_distances_of_at_most_one(case):
    block = case.space.block()
    assert block.max() <= 1.0
    check_metric((block + block.T) / 2, case.space.labels)
    assert np.allclose(block, block.T, rtol=1e-12, atol=0)


def test_blocks_pairs_and_single_distances_agree(case):
    space = case.space
    whole = np.concatenate([block for _, block in space.blocks()])
    i, j = np.indices(whole.shape)
    assert np.allclose(space.distance(i, j), whole, rtol=1e-13, atol=1e-16)
    assert np.array_equal(space.block([0], [space.items - 1]), space.block()[:1, -1:])


def test_least_distance_is_a_tight_lower_bound(case):
    block = case.space.block()
    least = block[~np.eye(len(block), dtype=bool)].min()
    assert 0.0 < case.space.least_distance_lower <= least
    slack = 0.15 if case.space.kind == "earth" else 1e-8  # rows of the Earth need not be aligned
    assert case.space.least_distance_lower >= least * (1 - slack)


def test_plain_data_bring_back_an_equal_space(case):
    spec = case.space.to_spec()
    for again in (
        space_from_spec(json.loads(json.dumps(spec))),
        space_from_spec(tomllib.loads(tomli_w.dumps(spec))),
    ):
        assert again == case.space
        assert hash(again) == hash(case.space)
        assert again.digest == case.space.digest
        assert np.array_equal(again.block(), case.space.block())


def test_digests_tell_spaces_apart():
    assert len({case.space.digest for case in CASES}) == len(CASES)


def test_labels_are_different_and_encode_in_bulk(case):
    labels = case.space.labels
    assert len(set(labels)) == len(labels) == case.space.items
    ids = case.space.encode(records_of(case, 500))
    assert ids.dtype == np.int64
    assert ids.shape == (500,)
    assert ids.min() >= 0
    assert ids.max() < case.space.items


def test_snapping_never_moves_a_record_further_than_rho(case):
    space = case.space
    if case.draw is None or space.kind in ("product", "elsewhere"):
        pytest.skip("nothing to snap, or no single point to measure from")
    records = np.asarray(case.draw(np.random.default_rng(3), 400), dtype=float)
    ids = space.encode(records)
    moved = [space.distances_from(record)[i] for record, i in zip(records, ids, strict=True)]
    assert max(moved) <= space.snapping_upper
    assert max(moved) >= 0.5 * space.snapping_upper  # and rho is not absurdly large


def test_missing_records_are_refused_with_a_constant_text(case):
    space = case.space
    texts = set()
    for bad in _bad_records(case):
        with pytest.raises(DataError) as error:
            space.encode(bad)
        texts.add(str(error.value))
    assert len(texts) == 1
    for text in texts:
        assert "secret" not in text
        assert not any(character.isdigit() for character in text)


def test_missing_records_become_the_public_default_item_if_asked(case):
    for bad in _bad_records(case):
        assert case.space.encode(bad, unknown="default").tolist() == [case.space.default_item]


def test_unknown_policies_are_checked(case):
    with pytest.raises(ParameterError, match="unknown is 'drop'"):
        case.space.encode(records_of(case, 2), unknown="drop")


def test_wrong_ids_are_refused(case):
    for bad in ([-1], [case.space.items], [0.5]):
        with pytest.raises(ParameterError, match="item ids"):
            case.space.distance(bad, [0])


def _bad_records(case: Case):
    """One bad record at a time, in the form that the space reads."""
    if case.space.kind == "product":
        return [[[np.nan], [1.0]], [[1.0], [99.0]]]
    if case.draw is None:
        return [["secret"], [None], [float("nan")]]
    width = np.shape(case.draw(np.random.default_rng(0), 1))[1:]
    return [np.full((1, *width), value) for value in (np.nan, np.inf, -np.inf, 1e9)][
        : -1 if case.space.kind == "elsewhere" else None
    ]
