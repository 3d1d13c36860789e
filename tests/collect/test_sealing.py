"""Messages that only the analyser opens."""

from __future__ import annotations

from barrow.collect.keys import new_key, public_bytes
from barrow.collect.sealing import Opener, info_of, plain_of, seal


def test_sealed_messages():
    mine = new_key("analyser")
    sealed = seal("sha256:00", public_bytes(mine), 7)
    assert (len(sealed), Opener("sha256:00", mine, 10).open(sealed)) == (64, 7)
    assert Opener("sha256:01", mine, 10).open(sealed) == "cannot be opened"
    assert Opener("sha256:00", mine, 10).open(bytes(64)) == "cannot be opened"


def test_info_of():
    assert info_of("sha256:00") == b"barrow message 2 sha256:00"


def test_plain_of():
    assert plain_of(258).hex() == "01000000000000000000000000000102"
