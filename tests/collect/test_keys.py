"""Keys of the parties: kinds, files, and what is refused."""

from __future__ import annotations

import pytest

from barrow.collect.keys import b64, new_key, price_of, public_bytes, read_key, unb64, write_key
from barrow.errors import ParameterError
from barrow.ledger.keys import SigningKey


def test_keys(tmp_path):
    assert (b64(bytes(3)), b64(b"ab"), unb64("YWI"), unb64("YWI", 2)) == ("AAAA", "YWI", b"ab", b"ab")
    assert price_of("7/2") * 2 == 7
    assert len(public_bytes(new_key("analyser"))) == 32
    write_key(new_key("signer"), tmp_path / "signer.key")
    assert (tmp_path / "signer.key").stat().st_mode & 0o777 == 0o600


def test_what_signs_is_one_kind_of_key_and_files_are_read_in_one_place(tmp_path):
    """What barrow key new makes signs cards and batches too, and a file that holds no key ends in words."""
    built = SigningKey.new(tmp_path / "owner.key")
    for kind in ("signer", "shuffler", "front"):
        assert public_bytes(read_key(tmp_path / "owner.key", kind)) == built.public
    write_key(new_key("front"), tmp_path / "front.key")
    assert SigningKey.read(tmp_path / "front.key").public == public_bytes(read_key(tmp_path / "front.key", "front"))
    with pytest.raises(ParameterError, match="another one"):
        read_key(tmp_path / "owner.key", "analyser")
    write_key(new_key("analyser"), tmp_path / "analyser.key")
    with pytest.raises(ParameterError, match="not one that signs"):
        SigningKey.read(tmp_path / "analyser.key")
    odd = tmp_path / "odd.key"  # of a kind that nobody has heard of
    odd.write_text("-----BEGIN PRIVATE KEY-----\nMA4CAQAwBQYDKgMEBAIEAA==\n-----END PRIVATE KEY-----\n")
    odd.chmod(0o600)
    for read in (SigningKey.read, lambda path: read_key(path, "signer"), lambda path: read_key(path, "issuer")):
        with pytest.raises(ParameterError, match="holds no key"):
            read(odd)
    for path in (tmp_path / "front.key", tmp_path / "nowhere" / "x.key"):
        with pytest.raises(ParameterError, match=r"exists|cannot be written"):
            write_key(new_key("front"), path)


def test_read_key():
    with pytest.raises(ParameterError) as refused:
        read_key("nowhere.key", "analyser")
    assert str(refused.value) == (
        "There is no key 'nowhere.key'.\n"
        "  allowed: the analyser's private key, as barrow collect keys wrote it\n"
        "  fix:     run this where the key is, or name its folder: --keys FOLDER"
    )
