"""What every space must obey, built in or not."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
import tomli_w

from barrow.engines import Columns
from barrow.engines.base import refuse_unknown
from barrow.errors import DataError, ParameterError
from barrow.spaces import Finite, Space, check_metric, space_from_spec
from barrow.spaces.nearness import distances_from
from barrow.spaces.space import strips
from barrow.transport import emd


@dataclass(frozen=True)
class SpaceCase:
    """A small space, with records that it snaps to items.

    Args:
        name: What the test is called.
        space: The space, of at most a few hundred items.
        records: Records inside it, as ``encode`` reads them; its labels by default.
        bad: Lists of one record each that it must refuse; missing and unknown names, or numbers outside, by default.
        least_slack: By how much the lower bound of the least distance may be below it, relatively.
        measured: Whether ``distances_from`` measures from any record, so that snapping can be tested.

    >>> from barrow.spaces import Discrete
    >>> SpaceCase("names", Discrete(["a", "b"])).some(3)
    ['a', 'b', 'a']
    """

    name: str
    space: Space
    records: Any = None
    bad: Sequence[Any] | None = None
    least_slack: float = 1e-8
    measured: bool = True

    def some(self, number: int) -> Any:
        """So many records."""
        if self.records is not None:
            return self.records
        return [self.space.label(i % self.space.items) for i in range(number)]

    @property
    def refused(self) -> Sequence[Any]:
        """Records that it must refuse, in lists of one."""
        if self.bad is not None:
            return self.bad
        if self.records is None:
            return [["secret"], [None], [float("nan")]]
        width = np.shape(self.records)[1:]
        return [np.full((1, *width), value) for value in (np.nan, np.inf, -np.inf, 1e9)]


class SpaceSuite:
    """Inherit it, and say which spaces are tested.

    >>> from barrow.spaces import Discrete
    >>> class TestNames(SpaceSuite):
    ...     cases = (SpaceCase("names", Discrete(["a", "b"])),)
    >>> TestNames().test_it_is_a_metric_with_distances_of_at_most_one(TestNames.cases[0])
    """

    cases: ClassVar[Sequence[SpaceCase]] = ()

    def test_it_is_a_metric_with_distances_of_at_most_one(self, case: SpaceCase) -> None:
        """Zero from itself, symmetric, and the triangle inequality holds."""
        block = case.space.block()
        assert block.max() <= 1.0
        check_metric((block + block.T) / 2, case.space.labels)
        assert np.allclose(block, block.T, rtol=1e-12, atol=0)

    def test_blocks_pairs_and_single_distances_agree(self, case: SpaceCase) -> None:
        """The same distance by every way to ask for it."""
        space = case.space
        whole = np.concatenate([block for _, block in strips(space)])
        i, j = np.indices(whole.shape)
        assert np.allclose(space.distance(i, j), whole, rtol=1e-13, atol=1e-16)
        assert np.array_equal(space.block([0], [space.items - 1]), space.block()[:1, -1:])

    def test_least_distance_is_a_tight_lower_bound(self, case: SpaceCase) -> None:
        """No two items are nearer."""
        block = case.space.block()
        least = block[~np.eye(len(block), dtype=bool)].min()
        assert 0.0 < case.space.least_distance_lower <= least
        assert case.space.least_distance_lower >= least * (1 - case.least_slack)

    def test_closed_forms_are_the_linear_programmes(self, case: SpaceCase) -> None:
        """What the space says of its geometry gives the earth mover's distance of its own distances."""
        space, size = case.space, case.space.items
        if not space.geometry.has_closed_form or size > 60:
            pytest.skip("no closed form, or too many items")
        i, block = np.arange(size), space.block()
        pairs = Finite(space.labels, (block + block.T) / 2)
        for turn in range(1, 4):
            a, b = (i * i * turn + 1) % 7 + 1.0, (3 * i + turn) % 5 + 1.0
            a, b = a / a.sum(), b / b.sum()
            expected = float(emd(pairs, a, b)) * pairs.diameter
            assert float(space.geometry.flow_cost(a - b)) == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def test_plain_data_bring_back_an_equal_space(self, case: SpaceCase) -> None:
        """By JSON and by TOML."""
        spec = case.space.to_spec()
        for again in (
            space_from_spec(msgspec.json.decode(msgspec.json.encode(spec))),
            space_from_spec(tomllib.loads(tomli_w.dumps(spec))),
        ):
            assert again == case.space
            assert hash(again) == hash(case.space)
            assert again.digest == case.space.digest
            assert np.array_equal(again.block(), case.space.block())

    def test_digests_tell_spaces_apart(self) -> None:
        """Different spaces have different digests."""
        assert len({case.space.digest for case in self.cases}) == len(self.cases)

    def test_labels_are_different_and_encode_in_bulk(self, case: SpaceCase) -> None:
        """Every record becomes an item."""
        labels = case.space.labels
        assert len(set(labels)) == len(labels) == case.space.items
        ids = case.space.encode(case.some(500))
        assert ids.dtype == np.int64
        assert ids.ndim == 1
        assert len(ids) > 0
        assert ids.min() >= 0
        assert ids.max() < case.space.items

    def test_snapping_never_moves_a_record_further_than_rho(self, case: SpaceCase) -> None:
        """And rho is not absurdly large."""
        space = case.space
        if case.records is None or not case.measured:
            pytest.skip("nothing to snap, or no single point to measure from")
        records = np.asarray(case.records, dtype=float)
        ids = space.encode(records)
        moved = [distances_from(space, record)[i] for record, i in zip(records, ids, strict=True)]
        assert max(moved) <= space.snapping_upper
        assert max(moved) >= 0.5 * space.snapping_upper

    def test_missing_records_are_refused_with_a_constant_text(self, case: SpaceCase) -> None:
        """An error about records tells nothing about them."""
        texts = set()
        for bad in case.refused:
            with pytest.raises(DataError) as error:
                case.space.encode(bad)
            texts.add(str(error.value))
        assert len(texts) == 1
        for text in texts:
            assert "secret" not in text
            assert not any(character.isdigit() for character in text)

    def test_missing_records_become_the_public_default_item_if_asked(self, case: SpaceCase) -> None:
        """One public item stands in for what is missing."""
        for bad in case.refused:
            assert case.space.encode(bad, unknown="default").tolist() == [case.space.default_item]

    def test_unknown_policies_are_checked(self, case: SpaceCase) -> None:
        """A word that means nothing is refused."""
        with pytest.raises(ParameterError, match="unknown is 'drop'"):
            case.space.encode(case.some(2), unknown="drop")  # type: ignore[arg-type]

    def test_wrong_ids_are_refused(self, case: SpaceCase) -> None:
        """Ids are whole numbers below the number of items."""
        for bad in ([-1], [case.space.items], [0.5]):
            with pytest.raises(ParameterError, match="item ids"):
                case.space.distance(bad, [0])

    def test_engines_know_its_columns(self, case: SpaceCase) -> None:
        """How many columns a record has, and what they hold."""
        columns = Columns("uid", [f"c{i}" for i in range(case.space.reads.columns)])
        refuse_unknown(columns, case.space, "error")
        assert case.space.reads.words
