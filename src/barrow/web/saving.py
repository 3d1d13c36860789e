"""The study file: saved whole or not at all, never over what somebody else wrote meanwhile; drafts outlive a crash."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from barrow.errors import ParameterError, plain_file
from barrow.study import Study, read_study
from barrow.study.file import floats, read_table


@dataclass
class StudyPlace:
    """Where a designer's study lives; the file need not exist."""

    file: Path
    _left: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.file = Path(os.path.abspath(self.file))

    @property
    def digest(self) -> str | None:
        """Of what is in the file now; None where there is none."""
        return _digest(self.file)

    def read(self) -> dict[str, Any] | None:
        """The study of the file as plain data, with the space as it was written; None where there is no file."""
        if not self.file.exists():
            return None
        study: Study = read_study(self.file)
        spec = study.to_spec()
        spec["space"] = floats(read_table(self.file)["space"])
        return spec

    def save(self, text: str, *, seen: str | None, over: bool = False) -> str:
        """Write the file and give back its digest; refused where it is not as ``seen``, unless ``over`` says so."""
        result, new = _digest(self.file), hashlib.sha256(text.encode()).hexdigest()
        if result not in (seen, new) and not over:
            raise ParameterError(
                f"{self.file.name} was changed by somebody else since it was opened here.",
                allowed="the file as it was seen",
                fix="download this one, or save over it",
            )
        partial = self.file.with_name(f".{self.file.name}.{os.getpid()}-{time.monotonic_ns()}")
        try:
            with open(partial, "x", encoding="utf-8") as out:  # never through a name that somebody else put there
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            if result not in (None, new):
                os.replace(self.file, self.file.with_name(f"{self.file.name}.before"))
            os.replace(partial, self.file)
        except OSError as error:
            with suppress(OSError):
                partial.unlink()
            raise ParameterError(
                f"{self.file.name} cannot be written: {error.strerror}.", fix="barrow design elsewhere/study.toml"
            ) from None
        self.forget()
        return new

    # Drafts: what was on the page, for the next start after a crash.

    @property
    def _own(self) -> Path:
        return self.file.with_name(f".{self.file.name}.draft-{os.getpid()}")

    def keep(self, state: Mapping[str, Any]) -> None:
        """Remember what is on the page; a folder that cannot be written loses nothing but this."""
        self._left = None
        with suppress(OSError):
            partial = self._own.with_name(f"{self._own.name}.{time.monotonic_ns()}")
            with open(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as out:
                out.write(json.dumps(state))
            os.replace(partial, self._own)

    def forget(self) -> None:
        """The page is saved: nothing is left to be remembered."""
        self._left = None
        with suppress(OSError):
            self._own.unlink()

    def draft(self) -> dict[str, Any] | None:
        """What a designer that is no longer there left; it is this one's until something else is kept."""
        drafts = [path for path in self.file.parent.glob(f".{self.file.name}.draft-*") if _left(path)]
        for path in sorted(drafts, key=lambda path: path.stat().st_mtime, reverse=True):
            with suppress(OSError, ValueError, RecursionError):
                state = msgspec.json.decode(plain_file(path, "The draft").read_bytes(), type=dict[str, Any])
                os.replace(path, self._own)
                self._left = state
                break
        return self._left


def _digest(file: Path) -> str | None:
    try:
        return hashlib.sha256(plain_file(file, "The study file").read_bytes()).hexdigest()
    except OSError:
        return None


def _left(draft: Path) -> bool:
    """Whether the process that kept a draft is gone."""
    number = draft.name.rpartition("-")[2]
    if not number.isdigit() or int(number) == os.getpid():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
