"""What commands remember between processes: public choices and texts, in the person's own cache folder, under a seal.

Nothing in it is needed, and nothing in it is believed that this person's own program did not write: each entry is
sealed by a key that only its owner can read (HMAC with SHA-256 over what it is, what it is about and what it says), and
is about all public inputs and the very code that wrote it. Whatever is damaged, planted, of another study, of another
version, or cannot be read or written, counts as not remembered. Scales, events and prices are never taken from it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

VARIABLE = "BARROW_MEMORY"
"""The environment variable that says ``off``, or another folder for what is remembered."""
_ON: ContextVar[bool] = ContextVar("remembering", default=False)
_KEY, _MOST_BYTES, _MOST_ENTRIES = "seal", 200_000, 400
_SEAL = hashlib.sha256().digest_size


@contextmanager
def remembering() -> Iterator[None]:
    """Commands remember meanwhile; a program that uses the library does not, and writes nothing to a home folder."""
    before = _ON.set(True)
    try:
        yield
    finally:
        _ON.reset(before)


def recall(kind: str, about: str) -> str | None:
    """What was kept as ``kind`` about these inputs; None where nothing is, or nothing that this person's program wrote.

    >>> recall("choice", "nothing")
    """
    key = _key(create=False)
    if key is None:
        return None
    name = _name(kind, about)
    content = _read(_folder() / name, _MOST_BYTES + _SEAL)
    if content is None or not hmac.compare_digest(content[:_SEAL], _sealed(key, name, content[_SEAL:])):
        return None
    with suppress(UnicodeDecodeError):
        return content[_SEAL:].decode()
    return None


def keep(kind: str, about: str, text: str) -> None:
    """Remember ``text``; where that is not possible nothing is remembered, and nobody is told."""
    content = text.encode()
    key = _key(create=True) if len(content) <= _MOST_BYTES else None
    if key is None:
        return
    name, folder = _name(kind, about), _folder()
    draft = folder / f".{name[:16]}.{os.getpid()}.new"
    with suppress(OSError):
        draft.write_bytes(_sealed(key, name, content) + content)
        os.replace(draft, folder / name)
        _forget_oldest(folder)
    with suppress(OSError):
        draft.unlink(missing_ok=True)


@lru_cache(maxsize=1)
def code_digest() -> str:
    """What the code is that computes: each file of this package by size and time, and the libraries below it."""
    seen = [sys.version, *_listed(os.path.dirname(__file__))]
    for library in ("numpy", "scipy", "duckdb", "ot", "flint"):
        found = find_spec(library)
        seen.append(library if found is None or found.origin is None else _state(found.origin))
    return hashlib.sha256("\n".join(seen).encode()).hexdigest()


def _listed(folder: str) -> list[str]:
    result = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir() and entry.name != "__pycache__":
                result += _listed(entry.path)
            elif entry.name.endswith(".py"):
                result.append(_state(entry.path))
    return result


def _state(path: str) -> str:
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _folder() -> Path:
    """Where it is: the cache folder of the person."""
    named = os.environ.get(VARIABLE, "")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "barrow"


def _key(create: bool) -> bytes | None:
    """The key of the seal; None where nothing is remembered: the folder must be this person's, and theirs alone."""
    if not _ON.get() or os.environ.get(VARIABLE) == "off" or not hasattr(os, "getuid"):
        return None
    try:
        folder = _folder()
        if create:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _own(os.lstat(folder), stat.S_ISDIR):
            return None
        place = folder / _KEY
        if create and not place.exists():
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(os.urandom(32))
        key = _read(place, 32, stat.S_IRWXG | stat.S_IRWXO)
    except (OSError, RuntimeError):  # no such folder, no right to write, no home
        return None
    return key if key is not None and len(key) == 32 else None


def _own(status: os.stat_result, kind: object, forbidden: int = stat.S_IWGRP | stat.S_IWOTH) -> bool:
    return callable(kind) and kind(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & forbidden


def _read(path: Path, most: int, forbidden: int = stat.S_IWGRP | stat.S_IWOTH) -> bytes | None:
    """A plain file of this person's, as long as it is short; no link is followed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not _own(os.fstat(descriptor), stat.S_ISREG, forbidden):
            return None
        with suppress(OSError):
            content = file.read(most + 1)
            return content if len(content) <= most else None
    return None


def _name(kind: str, about: str) -> str:
    return hashlib.sha256(f"{kind}\n{code_digest()}\n{about}".encode()).hexdigest()


def _sealed(key: bytes, name: str, content: bytes) -> bytes:
    return hmac.digest(key, name.encode() + b"\n" + content, "sha256")


def _forget_oldest(folder: Path) -> None:
    """Only so many are kept."""
    with os.scandir(folder) as entries:
        known = [entry for entry in entries if len(entry.name) == 2 * _SEAL]
        if len(known) > _MOST_ENTRIES:
            for entry in sorted(known, key=lambda entry: entry.stat().st_mtime_ns)[: len(known) - _MOST_ENTRIES]:
                with suppress(OSError):
                    os.unlink(entry.path)
