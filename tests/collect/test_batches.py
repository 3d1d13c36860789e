"""Sealed batches: whole people only, signed, and refused in words."""

from __future__ import annotations

import pytest

from barrow.collect.batches import read_batch, write_batch
from barrow.collect.keys import new_key, public_bytes
from barrow.errors import ParameterError


def test_batches_hold_whole_people(tmp_path):
    some = [bytes([i]) * 64 for i in range(7)]
    options = {"card": "sha256:0", "name": "0" * 32, "count": 7, "people_of": 2, "size": 64, "in_memory": 3}
    mine = new_key("shuffler")
    head = write_batch(tmp_path / "batch", some, mine, **options)
    assert (head.messages, head.left_out) == (6, 1)
    result = read_batch(tmp_path / "batch")
    assert len(set(result.items())) == 6
    assert result.signed_by(public_bytes(mine))
    assert not result.signed_by(public_bytes(new_key("shuffler")))
    assert not result.signed_by(bytes(31))


def test_read_batch():
    with pytest.raises(ParameterError) as refused:
        read_batch("nowhere.batch")
    assert str(refused.value) == (
        "There is no batch 'nowhere.batch'.\n"
        "  allowed: a file that barrow collect shuffle wrote\n"
        "  fix:     check the path"
    )
