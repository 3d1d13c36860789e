"""The only door to randomness: a cryptographic stream of 64-bit words.

Every random bit that reaches a release comes from :class:`SystemSource`, which takes no seed. Nothing in barrow takes
one but :class:`SeededSource`, for tests and simulations: it can be replayed, so that it says ``private = False``, what
is drawn with it says so too, and a release refuses that.
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from abc import ABC, abstractmethod
from typing import Any, NoReturn, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.numerics import whole

Words = NDArray[np.uint64]
_REKEY_BYTES = 2**30
"""A key serves at most 2^26 AES blocks: the collision bound of counter mode stays below 2^-76 per key."""
_REQUEST_BYTES = 2**27
"""Larger requests are split, so that none can carry a key beyond its limit."""
_RESERVE_BYTES = 2**15


class KeyStream:
    """The AES-256-CTR key stream of one key, with the counter starting at zero.

    A key belongs to one stream and a stream never goes back, so no pair (key, counter) is used twice.
    """

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._reserve = memoryview(b"")
        self.produced = 0

    def read(self, size: int) -> bytes | memoryview:
        """The next ``size`` bytes."""
        if size > len(self._reserve):
            if size >= _RESERVE_BYTES:
                # Bulk: straight from the cipher; the reserve stays for the small requests of refinement.
                self.produced += size
                return self._encryptor.update(bytes(size))
            self.produced += _RESERVE_BYTES
            # What is left of the old reserve is dropped: it has never been handed out.
            self._reserve = memoryview(self._encryptor.update(bytes(_RESERVE_BYTES)))
        taken, self._reserve = self._reserve[:size], self._reserve[size:]
        return taken


def as_words(stream: bytes | memoryview) -> Words:
    """Bytes as words, the same on every machine."""
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64, copy=False)


def checked_count(count: int) -> int:
    """``count`` as an integer of at least 0."""
    return whole(count, "count", least=0, fix="words(1)")


class RandomSource(ABC):
    """A stream of independent uniform 64-bit words.

    ``private`` says whether an adversary is unable to predict the words. A release path must refuse a
    source for which it is not ``True``, and results carry it along.

    >>> isinstance(system_source(), RandomSource), system_source().private
    (True, True)
    """

    @property
    @abstractmethod
    def private(self) -> bool:
        """Whether what is drawn may protect anybody."""

    @abstractmethod
    def words(self, count: int) -> Words:
        """``count`` fresh words; no word is handed out twice."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        # copy, deepcopy and pickle all come through here: a copied state would draw the same noise twice.
        raise ParameterError(
            f"{type(self).__name__} cannot be copied or pickled: two copies would draw the same noise.",
            allowed="one source per process",
            fix="make a new SystemSource() in the process that draws",
        )


class SystemSource(RandomSource):
    """The operating system's randomness, stretched by AES-256 in counter mode.

    The key comes from ``os.urandom``; it is replaced after 1 GiB of output and in a child process after a
    fork. One source may be shared by threads.

    >>> source = SystemSource()
    >>> source.words(3).shape, source.private
    ((3,), True)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream: KeyStream | None = None
        self._process = -1
        _ALIVE.add(self)

    @property
    def private(self) -> bool:
        """Always true: nobody can replay the stream."""
        return True

    def words(self, count: int) -> Words:
        """``count`` fresh uniform words."""
        size = 8 * checked_count(count)
        if size > _REQUEST_BYTES:
            half = count // 2
            return np.concatenate([self.words(half), self.words(count - half)])
        with self._lock:
            stream = self._stream
            if (
                stream is None
                # The hook below sees os.fork; the process id also catches a fork made behind Python's back.
                or self._process != os.getpid()
                or stream.produced + max(size, _RESERVE_BYTES) > _REKEY_BYTES
            ):
                stream = self._stream = KeyStream(os.urandom(32))
                self._process = os.getpid()
            return as_words(stream.read(size))

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._stream = None


_ALIVE: weakref.WeakSet[SystemSource] = weakref.WeakSet()


def _forget_all() -> None:
    """Runs in the child after a fork, where a lock may be held by a thread that no longer exists."""
    for source in list(_ALIVE):
        source._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)

_shared: SystemSource | None = None

_shared_lock = threading.Lock()


def system_source() -> SystemSource:
    """The process-wide source that is used when none is given.

    >>> system_source() is system_source()
    True
    """
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = SystemSource()
        return _shared


def checked_source(source: Any) -> RandomSource:
    """``source``, or the process-wide one for ``None``; anything that is not a :class:`RandomSource` is refused."""
    if source is None:
        return system_source()
    if not isinstance(source, RandomSource):
        raise ParameterError(
            f"source is a {type(source).__name__}, which is no source of randomness.",
            allowed="None (the system's randomness) or a Source",
            fix="leave source out",
        )
    return source


class SeededSource(RandomSource):
    """A stream that depends on ``seed`` alone: whoever knows the seed can take the noise off again."""

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise ParameterError(f"seed is {seed!r}.", allowed="an integer", fix="SeededSource(1)")
        self._stream = KeyStream(hashlib.sha256(f"barrow simulation {int(seed)}".encode()).digest())

    @property
    def private(self) -> bool:
        """Always false: the stream can be replayed."""
        return False

    def words(self, count: int) -> Words:
        """The next ``count`` words of the stream."""
        return as_words(self._stream.read(8 * checked_count(count)))
