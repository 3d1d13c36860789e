"""One root for every error that barrow raises on purpose.

The tree::

    BarrowError
    ├── ParameterError     a public parameter is wrong: says what was received, what is allowed, what to type
    ├── DataError          private data are unusable: says what is wrong in kind, never a value or a count
    ├── MissingExtraError  an optional library is not installed: says the install command
    └── LedgerError        the budget cannot be read, written or spent (subclasses in barrow.ledger)

Errors about parameters may repeat the parameter. Errors about private data are constant texts, because the text of
an error is an output that nobody paid for.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from barrow.synonyms import meant


class BarrowError(Exception):
    """Base class of all errors that barrow raises on purpose.

    Args:
        problem: One sentence: what was received and why it cannot be used.
        allowed: What is allowed instead.
        fix: What to type next.

    ``exit_code`` is what the command line exits with.

    >>> print(BarrowError("alpha is -1.", allowed="a number above 0", fix="alpha=25"))
    alpha is -1.
      allowed: a number above 0
      fix:     alpha=25
    """

    exit_code = 1

    def __init__(self, problem: str, *, allowed: str | None = None, fix: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.allowed = allowed
        self.fix = fix

    def __str__(self) -> str:
        lines = [self.problem]
        if self.allowed is not None:
            lines.append(f"  allowed: {self.allowed}")
        if self.fix is not None:
            lines.append(f"  fix:     {self.fix}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, str | None]:
        """Plain data for ``--json``.

        >>> BarrowError("No.", fix="Yes.").to_json()
        {'error': 'BarrowError', 'problem': 'No.', 'allowed': None, 'fix': 'Yes.'}
        """
        return {
            "error": type(self).__name__,
            "problem": self.problem,
            "allowed": self.allowed,
            "fix": self.fix,
        }

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.problem, self.allowed, self.fix), dict(self.__dict__))


def _rebuild(kind: type[BarrowError], problem: str, allowed: str | None, fix: str | None) -> BarrowError:
    error = kind.__new__(kind)
    BarrowError.__init__(error, problem, allowed=allowed, fix=fix)
    return error


class ParameterError(BarrowError, ValueError):
    """A public parameter is wrong.

    >>> raise ParameterError("share is 1.5.", allowed="a number in (0, 1]", fix="share=1")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: share is 1.5.
      allowed: a number in (0, 1]
      fix:     share=1
    """


class DataError(BarrowError):
    """Private data cannot be used; the text is constant and tells nothing about them.

    >>> issubclass(DataError, ValueError)
    False
    """


class MissingExtraError(BarrowError, ImportError):
    """An optional library is missing; the text holds the exact install command.

    >>> print(MissingExtraError.for_extra("h3", extra="geo", purpose="H3 cells"))
    H3 cells need the library 'h3', which is not installed.
      fix:     pip install 'barrow[geo]'
    """

    @classmethod
    def for_extra(cls, library: str, *, extra: str, purpose: str) -> MissingExtraError:
        """The error for a missing ``library`` that ``extra`` would install."""
        return cls(
            f"{purpose} need the library {library!r}, which is not installed.",
            fix=f"pip install 'barrow[{extra}]'",
        )


def optional_library(name: str, *, extra: str, purpose: str) -> Any:
    """A library of an extra, loaded when it is needed; without it the error says what to install.

    >>> optional_library("json", extra="frames", purpose="Frames").dumps(1)
    '1'
    """
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError.for_extra(name.partition(".")[0], extra=extra, purpose=purpose) from None


class LedgerError(BarrowError):
    """The budget cannot be read, written or spent; nothing was released.

    >>> issubclass(LedgerError, BarrowError)
    True
    """


def nearest_name(word: object, names: Iterable[str]) -> str | None:
    """The one of ``names`` nearest to ``word`` in meaning, or else in letters, if one is near; case does not count.

    >>> nearest_name("UID", ["uid", "item"]), nearest_name("lime", ["line", "circle"]), nearest_name("x", ["line"])
    ('uid', 'line', None)
    >>> nearest_name("variance", ["distance", "spread"])
    'spread'
    """
    import difflib

    lower = {name.lower(): name for name in reversed(list(names))}
    if str(word).lower() not in lower and (close_in_meaning := meant(str(word), lower.values())):
        return close_in_meaning
    close = difflib.get_close_matches(str(word).lower(), lower, n=1)
    return lower[close[0]] if close else None


def unknown_name(
    problem: str, name: object, known: Iterable[str], *, otherwise: str, fix: str = "{}", more: Iterable[str] = ()
) -> ParameterError:
    """That there is no such name, with the nearest one that there is.

    Args:
        problem: What is wrong, as a sentence.
        name: What was typed.
        known: The names that there are.
        otherwise: What to type where none of them is near.
        fix: What to type of the nearest.
        more: What else may be typed.

    >>> print(unknown_name("There is no hue 'rde'.", "rde", ["red", "blue"], otherwise="red"))
    There is no hue 'rde'. Did you mean 'red'?
      allowed: red, blue
      fix:     red
    """
    names = list(known)
    close = nearest_name(name, names)
    hint = f" Did you mean {close!r}?" if close else ""
    return ParameterError(
        problem + hint, allowed=", ".join([*names, *more]), fix=fix.format(close) if close else otherwise
    )


def one_of(value: object, name: str, allowed: Sequence[str]) -> None:
    """Refuse a value that is not one of a few words, with the first of them.

    >>> one_of("hexagon", "shape", ["square", "ring"])
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: shape is 'hexagon'.
      allowed: 'square' or 'ring'
      fix:     shape='square'
    """
    if value not in allowed:
        *most, last = map(repr, allowed)
        words = f"{', '.join(most)} or {last}" if most else last
        raise ParameterError(f"{name} is {value!r}.", allowed=words, fix=f"{name}={allowed[0]!r}")


def check_options(what: str, known: Iterable[str], options: Iterable[str]) -> None:
    """Refuse an option that ``what`` does not have, with the nearest one.

    >>> check_options("Earth", ["box", "cell"], ["cel"])
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: Earth has no option 'cel'. Did you mean 'cell'?
      allowed: box, cell
      fix:     cell=…
    """
    known = list(known)
    for key in options:
        if key not in known:
            raise unknown_name(f"{what} has no option {key!r}.", key, known, fix="{}=…", otherwise=f"remove {key!r}")


@contextmanager
def reading(
    what: str, *, allowed: str = "what to_spec() or to_json() writes", fix: str = "correct it"
) -> Iterator[None]:
    """Public plain data are turned into a value here: what Python says about malformed ones becomes a ParameterError.

    >>> with reading("The event"):
    ...     {"kind": "x"}["version"]
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The event has wrong or missing keys, fields or values (KeyError: 'version').
      allowed: what to_spec() or to_json() writes
      fix:     correct it
    """
    try:
        yield
    except BarrowError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        sentence = " ".join(str(error).split())[:200]
        kind = type(error).__name__
        text = f"{what} has wrong or missing keys, fields or values ({kind}{f': {sentence}' if sentence else ''})."
        raise ParameterError(text, allowed=allowed, fix=fix) from None


def plain_table(data: object, what: str) -> dict[str, Any]:
    """``data`` as a table with names, as plain data have it; anything else is refused.

    >>> plain_table({"kind": "line"}, "The space")
    {'kind': 'line'}
    >>> plain_table([1], "The space")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The space is a list.
      allowed: a table of names and values
      fix:     {"kind": …}, or in a file [table] with key = value
    """
    if isinstance(data, Mapping) and all(isinstance(key, str) for key in data):
        return dict(data)
    raise ParameterError(
        f"{what} is a {type(data).__name__}.",
        allowed="a table of names and values",
        fix='{"kind": …}, or in a file [table] with key = value',
    )


def path_text(value: object, what: str) -> str:
    """``value`` as the text of a path; anything else is refused.

    >>> path_text("study.toml", "The study file")
    'study.toml'
    >>> path_text(7, "The study file")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The study file is a int.
      allowed: a path
      fix:     give a text, or a pathlib.Path
    """
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str):
        raise ParameterError(
            f"{what} is a {type(value).__name__}.", allowed="a path", fix="give a text, or a pathlib.Path"
        )
    return text


def plain_file(path: str | os.PathLike[str], what: str) -> Path:
    """``path``, if nothing but a file stands there: a pipe would wait for ever, and a device has no end.

    A path where there is nothing passes; whoever opens it says so.

    >>> plain_file("/dev/null", "The study file")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The study file '/dev/null' is a device.
      allowed: a file
      fix:     copy what it holds into a file, and name that
    """
    place = Path(path)
    try:
        mode = place.stat().st_mode
    except (OSError, ValueError):
        return place
    kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    if (kind := kinds.get(stat.S_IFMT(mode))) is not None:
        raise ParameterError(
            f"{what} {str(path)!r} is {kind}.", allowed="a file", fix="copy what it holds into a file, and name that"
        )
    return place


STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What may move a cursor, change what stands above or turn a number round: control characters but for the tabulator and
the end of a line, directions, and halves of characters."""
_SHOWN = "\ufffd"


def clean(text: str) -> str:
    r"""The text without anything that steers a terminal.

    >>> clean("name\x1b[2J") == "name\ufffd[2J"
    True
    """
    return STEERS.sub(_SHOWN, text)
