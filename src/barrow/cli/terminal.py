"""The one place where text goes to the terminal: names, labels and statements of strangers cannot steer it.

A control character may move the cursor, change what stands above, or run what the terminal offers; an override of the
writing direction makes a number read backwards. Each is shown as a sign of replacement, in JSON as its code.
"""

from __future__ import annotations

import io
import json
import re
from typing import Any

import click

_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but for the tabulator and the end of a line, directions, and halves of characters."""
_SHOWN = "\ufffd"


def clean(text: str) -> str:
    r"""The text without anything that steers a terminal.

    >>> clean("name\x1b[2J") == "name\ufffd[2J"
    True
    """
    return _STEERS.sub(_SHOWN, text)


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text."""
    click.echo(clean(text), err=err, nl=nl)


def echo_count(text: str) -> None:
    """Print a short text over the one before, to say how far something is."""
    click.echo(f"\r{clean(text)}", err=True, nl=False)


def echo_json(data: Any) -> None:
    """Print plain data as one line of JSON, which reads back to the same data."""
    click.echo(_STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(data, ensure_ascii=False)))


def echo_usage(error: click.ClickException) -> None:
    """Print what is wrong with a command line."""
    said = io.StringIO()
    error.show(file=said)
    echo(said.getvalue(), err=True, nl=False)
