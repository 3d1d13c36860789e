"""The one place where text goes to the terminal: names, labels and statements of strangers cannot steer it.

What steers it is shown as a sign of replacement (:func:`barrow.errors.clean`), in JSON as its code. Sentences are
broken between words at the terminal's width, at 80 columns where there is no terminal; tables leave columns out.
"""

from __future__ import annotations

import difflib
import io
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click

from barrow.errors import STEERS, clean
from barrow.synonyms import meant

WIDTH = 80
"""How wide text is where it does not go to a terminal."""
_NARROW = 40
_HEAD = re.compile(
    r" {2}(allowed|fix): +|Error: |(?=.{10}\S)(\S+( \S+)? {2,}|Intervals |Not tried )|\d+\. |[-✓✗–→!] | +"
)
"""What stands before a text whose further lines are indented by as much: a label, a number, a sign, an indentation."""


Command = TypeVar("Command", bound=Callable[..., Any])
_HEARD: list[str] | None = None


@contextmanager
def heard(printed: list[str]) -> Iterator[None]:
    """Add to ``printed`` what goes to standard output meanwhile, each line as it is printed."""
    global _HEARD
    _HEARD = printed
    try:
        yield
    finally:
        _HEARD = None


def _print(text: str, *, err: bool = False, nl: bool = True) -> None:
    if _HEARD is not None and nl and not err:
        _HEARD.append(text)
    click.echo(text, err=err, nl=nl)


def columns() -> int:
    """How many columns a line may have."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return WIDTH
    return max(_NARROW, shutil.get_terminal_size((WIDTH, 24)).columns)


def fitted(text: str, width: int) -> str:
    """The text with lines that are too long broken between words; no word is cut, and labels stay in their column.

    >>> print(fitted("Error     each value is off by at most 0.5 min", 30))
    Error     each value is off by
              at most 0.5 min
    """
    return "\n".join(_broken(line, width) for line in text.split("\n"))


def _broken(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    head = _HEAD.match(line)
    indent = 0 if head is None else min(len(head[0]), width // 2)
    # A number and its sign stay together.
    text = re.sub(r"(?<=\d) (?=%)|(?<=[±≤≥εδα]) (?=[\d.])", "\xa0", line[indent:])
    parts = textwrap.wrap(text, width - indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(
        (line[:indent] if i == 0 else " " * indent) + part.replace("\xa0", " ") for i, part in enumerate(parts)
    )


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print sentences."""
    _print(fitted(clean(text), columns()), err=err, nl=nl)


def echo_alarm(text: str) -> None:
    """Print what nobody should overlook: in red, where there is a terminal that has colours."""
    plain = fitted(clean(text), columns())
    _print(plain if "NO_COLOR" in os.environ else click.style(plain, fg="red", bold=True))


def echo_again(text: str) -> None:
    """Print once more what was printed here before (:func:`heard`)."""
    click.echo(text)


def echo_raw(text: str, *, nl: bool = True) -> None:
    """Print a text for programs, line by line as it is."""
    _print(clean(text), nl=nl)


def fitting(names: Sequence[str], rows: Sequence[Sequence[str]], last: Sequence[str], room: int) -> list[int]:
    """Which columns of a table fit into ``room``, of those that may be left out the first of ``last`` first.

    >>> fitting(["a", "long name", "c"], [["1", "2", "3"]], ["long name"], 6)
    [0, 2]
    """
    widths = [max(len(name), *(len(row[i]) for row in rows)) + 2 for i, name in enumerate(names)]
    chosen = list(range(len(names)))
    for name in last:
        if sum(widths[i] for i in chosen) <= room + 2:
            break
        chosen = [i for i in chosen if names[i] != name]
    return chosen


def echo_count(text: str) -> None:
    """Print a short text over the one before, to say how far something is."""
    click.echo(f"\r{clean(text)}", err=True, nl=False)


def echo_json(data: Any) -> None:
    """Print plain data as one line of JSON, which reads back to the same data."""
    _print(STEERS.sub(lambda result: f"\\u{ord(result[0]):04x}", json.dumps(data, ensure_ascii=False)))


@dataclass(frozen=True)
class Printer:
    """How a command prints what it found: one JSON object, as little as possible, or sentences.

    >>> Printer(quiet=True).silent
    True
    """

    as_json: bool = False
    quiet: bool = False

    @property
    def silent(self) -> bool:
        """Whether nothing is printed that only people read."""
        return self.as_json or self.quiet

    @property
    def progress(self) -> bool | None:
        """Whether to show how far something is; on a terminal where that is left open."""
        return False if self.silent else None

    def tell(self, told: Any, short: str | None, *lines: str) -> None:
        """Print plain data, or ``short`` if there is one, or sentences."""
        if self.as_json:
            echo_json(told)
        elif not self.quiet:
            echo("\n".join(lines))
        elif short is not None:
            echo(short)


def output_options_with(little: str) -> Callable[[Command], Command]:
    """``--json`` and ``--quiet``, which a command gets as ``output``; ``little`` says what is printed if quiet."""

    def add(command: Command) -> Command:
        @wraps(command)
        def run(*arguments: Any, as_json: bool, quiet: bool, **named: Any) -> Any:
            return command(*arguments, output=Printer(as_json, quiet), **named)

        quietly = click.option("--quiet", is_flag=True, help=little)(run)
        result: Any = click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")(quietly)
        return result  # type: ignore[no-any-return]

    return add


output_options = output_options_with("Print as little as possible.")


def meant_option(typed: str, named: Sequence[str]) -> str | None:
    """The option that is meant by one that there is not: near in meaning, or wrong by a letter or two.

    >>> meant_option("--record", ["--period", "--item"]), meant_option("--itme", ["--period", "--item"])
    ('--item', '--item')
    >>> meant_option("--value", ["--user"])
    """
    by_meaning = meant(typed.lstrip("-").replace("-", "_"), [name[2:] for name in named])
    if by_meaning is not None:
        return f"--{by_meaning}"
    close = difflib.get_close_matches(typed, named, 1, 0.75)
    return close[0] if close else None


def echo_usage(error: click.ClickException) -> None:
    """Print what is wrong with a command line; for an option that there is not, the one that is meant."""
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        named = [name for one in error.ctx.command.params for name in one.opts if name.startswith("--")]
        near = meant_option(error.option_name, named)
        error.possibilities = [near] if near is not None else None  # type: ignore[misc]
    text = io.StringIO()
    error.show(file=text)
    echo(text.getvalue(), err=True, nl=False)
