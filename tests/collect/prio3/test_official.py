"""Every byte of the official vectors; with another version byte none of them."""

import json

import pytest

from barrow.collect.prio3 import prio3 as xof
from barrow.collect.prio3.fields import FIELDS
from tests.collect.prio3.official import FILES, PLACE, comparisons

pytestmark = pytest.mark.skipif(PLACE is None, reason="the official vectors (shared/data/vdaf) are not here")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_byte_is_right(path):
    pairs = list(comparisons(path))
    assert len(pairs) >= 2
    for theirs, ours in pairs:
        assert theirs == ours


def test_all_files_are_there():
    assert len(FILES) == 15
    assert sum(len(list(comparisons(path))) for path in FILES if "bad" in path.stem) >= 11


def test_another_version_byte_makes_every_file_wrong(monkeypatch):
    monkeypatch.setattr(xof, "VERSION", 17)
    for path in FILES:
        assert any(theirs != ours for theirs, ours in comparisons(path)), path.stem


def test_the_source_of_randomness():
    vector = json.loads((PLACE / "XofTurboShake128.json").read_text())
    seed, label, binder = (bytes.fromhex(vector[name]) for name in ("seed", "dst", "binder"))
    field = FIELDS["Field128"]
    assert xof.derive_seed(seed, label, binder).hex() == vector["derived_seed"]
    expanded = xof.expand(field, seed, label, binder, vector["length"])
    assert field.write(expanded).hex() == vector["expanded_vec_field128"]
