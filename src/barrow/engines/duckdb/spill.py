"""The folder for what memory cannot hold: readable by its owner only, and swept should its process be killed.

A folder belongs to the process that holds the lock on the file in it. Locks end with their process, however it ends,
so a folder whose lock is free was left behind: the next start in the same place removes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

from barrow.errors import ParameterError

try:
    import fcntl
except ImportError:  # pragma: no cover - no such locks on this system: folders are removed, but not swept
    fcntl = None  # type: ignore[assignment]

_HELD = "barrow-spill-"
_UNBORN = "barrow-new-"
_LOCK = "held"
_STALE = 3600.0
"""Seconds after which a folder that never got its lock (and so holds nothing) is removed."""


class SpillFolder:
    """A fresh folder in ``place``; what killed processes of the same user left there is removed first.

    Args:
        place: The disk that the user names; the system's place for temporary files (``TMPDIR``) by default.

    >>> with SpillFolder(None) as path:
    ...     oct(path.stat().st_mode & 0o777)
    '0o700'
    >>> path.exists()
    False
    """

    def __init__(self, place: str | Path | None) -> None:
        where = Path(place if place is not None else tempfile.gettempdir())
        sweep(where)
        try:
            unborn = Path(tempfile.mkdtemp(prefix=_UNBORN, dir=where))
            self._lock = os.open(unborn / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            if fcntl is not None:
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            # Only now does it get the name that sweeping looks for: no folder is ever seen without its lock.
            self.path = unborn.rename(unborn.with_name(_HELD + unborn.name.removeprefix(_UNBORN)))
        except OSError:
            raise ParameterError(
                f"No temporary folder can be made in {str(where)!r}.",
                allowed="a folder that can be written to",
                fix="DuckDBEngine(folder='/tmp')",
            ) from None

    def close(self) -> None:
        """Remove the folder and let the lock go."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self._lock)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()


def sweep(place: Path) -> int:
    """Remove the folders that killed processes of this user left in ``place``; how many there were.

    >>> sweep(Path("/nowhere/at/all"))
    0
    """
    removed = 0
    if fcntl is None or not place.is_dir():
        return removed
    for path in place.glob("barrow-*"):
        with contextlib.suppress(OSError):
            about = path.lstat()
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
                continue
            left = path.name.startswith(_UNBORN) and about.st_mtime < time.time() - _STALE
            if left or (path.name.startswith(_HELD) and _is_free(path / _LOCK)):
                shutil.rmtree(path, ignore_errors=True)
                removed += 1
    return removed


def _is_free(lock: Path) -> bool:
    """Whether no living process holds the lock; a folder that lost its file is nobody's."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
