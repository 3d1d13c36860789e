"""For whoever runs a service: what went wrong, without a word about anybody; how many, in hundreds; a secret to ask."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from barrow.collect.keys import b64
from barrow.collect.tokens import random_bytes
from barrow.errors import ParameterError
from barrow.ledger.keys import private_text, write_private

STEP = 100
"""Metrics are rounded down to such steps: who reads them every second cannot tell when one person came."""
_EXACT = ("wanted",)
_ANOTHER = "--operator with another file"
_HERE = str(Path(__file__).parents[1])


class Troubles:
    """The log of errors: their kind and the line of the program, never their text, which may hold what was sent.

    Each is written the first, tenth, hundredth time, so that nobody can fill the log.

    >>> import io
    >>> log = Troubles(io.StringIO())
    >>> for text in ["of one person"] * 12:
    ...     log.note(KeyError(text))
    >>> print(log.file.getvalue(), end="")
    error: KeyError (1 so far)
    error: KeyError (10 so far)
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self.file, self._seen = file, Counter[str]()

    @property
    def number(self) -> int:
        """How many there were since the start."""
        return self._seen.total()

    def note(self, error: BaseException) -> None:
        """Count an error, and write it down where it is new or frequent."""
        name = _kind(error)
        if error.__cause__ is not None:
            name += f" after {_kind(error.__cause__)}"
        frames = reversed(traceback.extract_tb(error.__traceback__))
        ours = next((frame for frame in frames if frame.filename.startswith(_HERE)), None)
        if ours is not None:
            name += f" at {Path(ours.filename).name}:{ours.lineno}"
        self._seen[name] += 1
        count = self._seen[name]
        if count == 10 ** (len(str(count)) - 1):
            print(f"error: {name} ({count} so far)", file=self.file or sys.stderr, flush=True)


def _kind(error: BaseException) -> str:
    """The class, and the name of the system's or the database's code; both are words of programs."""
    code = getattr(error, "sqlite_errorname", None)
    if code is None and isinstance(error, OSError) and error.errno is not None:
        code = errno.errorcode.get(error.errno)
    return type(error).__name__ + (f" {code}" if code else "")


def metrics_text(told: Mapping[str, Any]) -> str:
    """Prometheus' text of counts, in steps of 100.

    >>> print(metrics_text({"card": "sha256:0", "accepted": 1234, "refused": {"malformed": 99}, "closed": True}))
    # TYPE barrow_accepted gauge
    barrow_accepted 1200
    # TYPE barrow_refused gauge
    barrow_refused{reason="malformed"} 0
    # TYPE barrow_closed gauge
    barrow_closed 1
    <BLANKLINE>
    """
    lines = []
    for name, result in told.items():
        rows = {f'{{reason="{why}"}}': n for why, n in result.items()} if isinstance(result, Mapping) else {"": result}
        numbers = {label: _stepped(name, n) for label, n in rows.items() if isinstance(n, int)}
        if numbers:
            lines.append(f"# TYPE barrow_{name} gauge")
            lines += [f"barrow_{name}{label} {n}" for label, n in numbers.items()]
    return "\n".join(lines) + "\n"


def _stepped(name: str, number: int) -> int:
    return int(number) if isinstance(number, bool) or name in _EXACT else number - number % STEP


def operator_secret(path: str | os.PathLike[str]) -> str:
    """The secret in a file of the operator's; made, for its owner alone, where there is none."""
    if not Path(path).exists():
        write_private(path, b64(random_bytes(32)).encode() + b"\n", fix=_ANOTHER)
    words = private_text(path, allowed="the operator's secret", fix=_ANOTHER).split()
    secret = words[0].decode("ascii", "replace") if words else ""
    if len(words) != 1 or len(secret) < 32 or not (secret.isascii() and secret.isprintable()):
        raise ParameterError(
            f"The operator's secret in {str(path)!r} is too short, or no single word.",
            allowed="one word of at least 32 letters",
            fix="remove the file: the service makes a new one",
        )
    return secret
