"""The one place where text goes to the terminal: names, labels and statements of strangers cannot steer it.

What steers it is shown as a sign of replacement (:func:`barrow.errors.clean`), in JSON as its code.
"""

from __future__ import annotations

import io
import json
from typing import Any

import click

from barrow.errors import STEERS, clean


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text."""
    click.echo(clean(text), err=err, nl=nl)


def echo_count(text: str) -> None:
    """Print a short text over the one before, to say how far something is."""
    click.echo(f"\r{clean(text)}", err=True, nl=False)


def echo_json(data: Any) -> None:
    """Print plain data as one line of JSON, which reads back to the same data."""
    click.echo(STEERS.sub(lambda result: f"\\u{ord(result[0]):04x}", json.dumps(data, ensure_ascii=False)))


def echo_usage(error: click.ClickException) -> None:
    """Print what is wrong with a command line."""
    text = io.StringIO()
    error.show(file=text)
    echo(text.getvalue(), err=True, nl=False)
