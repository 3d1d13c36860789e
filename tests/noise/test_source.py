"""The door to randomness: fresh after a fork, re-keyed, not copyable, and honest about being private."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.noise import (
    SystemSource,
    rounded_gaussian,
    rounded_knorm,
    rounded_laplace,
    system_source,
)
from barrow.noise import source as source_module
from barrow.noise.source import SeededSource

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def _in_fresh_process(program: str) -> list[str]:
    # A process of its own: forking the process that runs the tests, with its threads, would be asking for
    # trouble.
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return done.stdout.split()


_FORK = """
    import os, sys
    from barrow.noise.source import KeyStream, SystemSource
    {make}
    drawn = [draw()]  # the state that the child inherits is in use, with a part-filled reserve
    out, into = os.pipe()
    if os.fork() == 0:
        os.write(into, draw().hex().encode())
        os._exit(0)
    os.wait()
    print(drawn[0].hex(), draw().hex(), os.read(out, 4096).decode())
"""


@needs_fork
@pytest.mark.parametrize("count", [2, 10_000])
def test_a_child_does_not_repeat_its_parent(count):
    make = f"source = SystemSource(); draw = lambda: source.words({count})[:2].tobytes()"
    before, parent, child = _in_fresh_process(_FORK.format(make=make))
    assert len({before, parent, child}) == 3


@needs_fork
def test_the_fork_test_would_see_a_repetition():
    make = "stream = KeyStream(b'k' * 32); draw = lambda: bytes(stream.read(16))"
    _, parent, child = _in_fresh_process(_FORK.format(make=make))
    assert parent == child


@needs_fork
def test_a_lock_held_during_the_fork_does_not_hang_the_child():
    program = """
    import os
    from barrow.noise import SystemSource
    source = SystemSource(); source.words(1)
    source._lock.acquire()
    out, into = os.pipe()
    if os.fork() == 0:
        os.write(into, str(len(source.words(3))).encode())
        os._exit(0)
    os.wait()
    print(os.read(out, 10).decode())
    """
    assert _in_fresh_process(program) == ["3"]


def test_a_fork_behind_pythons_back_is_noticed_by_the_process_id(monkeypatch):
    source = SystemSource()
    source.words(1)
    stream = source._stream
    source.words(1)
    assert source._stream is stream
    monkeypatch.setattr(os, "getpid", lambda: -5)
    source.words(1)
    assert source._stream is not stream


def test_a_key_is_replaced_and_none_is_used_twice(monkeypatch):
    keys = []
    urandom = os.urandom

    def recorded(size):
        keys.append(urandom(size))
        return keys[-1]

    monkeypatch.setattr(os, "urandom", recorded)
    monkeypatch.setattr(source_module, "_REKEY_BYTES", 2**16)
    source = SystemSource()
    for _ in range(40):
        source.words(2**11)
    assert len(keys) >= 8
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 32 for key in keys)


def test_a_request_larger_than_a_key_allows_is_split(monkeypatch):
    monkeypatch.setattr(source_module, "_REKEY_BYTES", 2**16)
    monkeypatch.setattr(source_module, "_REQUEST_BYTES", 2**12)
    streams = []

    class Recorded(source_module.KeyStream):
        def __init__(self, key):
            super().__init__(key)
            streams.append(self)

    monkeypatch.setattr(source_module, "KeyStream", Recorded)
    words = SystemSource().words(50_000)
    assert len(np.unique(words)) == 50_000
    assert len(streams) >= 50_000 * 8 // 2**16
    assert max(stream.produced for stream in streams) <= 2**16


@pytest.mark.parametrize("source", [SystemSource(), SeededSource(1)], ids=["system", "seeded"])
@pytest.mark.parametrize("count", [-1, 1.5, True, None])
def test_counts(source, count):
    with pytest.raises(ParameterError, match="count is"):
        source.words(count)
    assert source.words(0).shape == (0,)


def test_the_stream_is_the_counter_mode_of_aes_256():
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = bytes(range(32))
    blocks = b"".join(i.to_bytes(16, "big") for i in range(4096))
    # Counter mode by hand: the block cipher on the counters 0, 1, 2, ...
    by_hand = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(blocks)
    stream = source_module.KeyStream(key)
    assert b"".join(bytes(stream.read(64)) for _ in range(1024)) == by_hand


def test_no_word_is_handed_out_twice():
    source = SystemSource()
    sample = np.concatenate([source.words(n) for n in (1, 5, 4000, 3, 10_000, 2, 5000, 4095, 4096, 1)])
    assert len(np.unique(sample)) == len(sample)
    assert np.intersect1d(sample, SystemSource().words(10_000)).size == 0


def test_threads_share_a_source_without_sharing_words():
    source = SystemSource()
    samples: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: samples.extend(source.words(n) for n in (1, 7, 300, 5000) * 20))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = np.concatenate(samples)
    assert len(words) == 4 * 20 * 5308
    assert len(np.unique(words)) == len(words)


def test_bits_are_fair():
    words = SystemSource().words(200_000)
    ones = np.unpackbits(words.view(np.uint8)).reshape(len(words), 64).sum(axis=0, dtype=np.int64)
    # 64 positions, 7 standard deviations: a false alarm has probability below 2e-10.
    assert np.abs(ones - len(words) / 2).max() < 7 * np.sqrt(len(words)) / 2


@pytest.mark.parametrize("source", [SystemSource(), SeededSource(1)], ids=["system", "seeded"])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"])
def test_sources_cannot_be_duplicated(source, duplicate):
    with pytest.raises(ParameterError, match="cannot be copied or pickled"):
        duplicate(source)


def test_results_say_whether_they_are_private():
    draws = (
        lambda **k: rounded_laplace([0, 1], 1, **k),
        lambda **k: rounded_gaussian([0, 1], 1, **k),
        lambda **k: rounded_knorm([0, 1], 1, 1, **k),
        lambda **k: rounded_knorm([0, 1], 1, 2, **k),
        lambda **k: rounded_knorm([0, 1], 1, "inf", **k),
        lambda **k: rounded_knorm([0, 1], 1, 3, **k),
    )
    for draw in draws:
        assert draw().private is True
        assert draw(source=SystemSource()).private is True
        assert draw(source=SeededSource(1)).private is False
        assert (draw(source=SeededSource(1)).integers == draw(source=SeededSource(1)).integers).all()


def test_private_cannot_be_switched():
    with pytest.raises(AttributeError):
        SeededSource(1).private = True
    assert system_source().private is True


def test_seeds_matter():
    a, b = (rounded_laplace([0] * 50, 1, source=SeededSource(s)).integers for s in (1, 2))
    assert (a != b).any()
    with pytest.raises(ParameterError):
        SeededSource("x")  # type: ignore[arg-type]


def test_seeded_source():
    first = rounded_laplace([0, 0], 1, source=SeededSource(1))
    again = rounded_laplace([0, 0], 1, source=SeededSource(1))
    assert (first.integers == again.integers).all()
    assert not first.private
