"""The same plan again: what a plan printed is shown once more where nothing that it rests on has changed.

It rests on the command, the terminal's width, the code, the study file, and every file that the command, the study or
the environment names: the records by size and times, files up to a megabyte (the ledger) by all of their bytes. Where
something else may matter (a server, a query, a pattern, a calendar, a plug-in), the plan is made anew. Only texts are
kept here: no release reads them.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from barrow.cli import terminal
from barrow.remembered import VARIABLE, keep, recall

DEFAULT = "study.toml"
"""The study file that is meant where none is named."""
_END = "\0"
"""Between texts, in none of which it is: what steers a terminal is never printed."""
_SMALL, _LARGEST_STUDY = 2**20, 2**22
_ELSEWHERE = frozenset("*?[")
_WRITES = frozenset({"--html", "--open", "--sql"})
"""Flags with which a plan does more than print, or reads what cannot be seen from here."""
_CHANGES = frozenset({"sql", "time"})
"""The same in the table of the records: a query, and times, of which the last period is another one tomorrow."""
_BESIDE = ("", "-wal", "-journal")
"""What else SQLite may keep of a ledger."""


class Changing(Exception):  # noqa: N818  (nothing is wrong)
    """The plan rests on something that is not seen from here."""


class RepeatedRun:
    """One run of a command line whose output may be shown again.

    Args:
        arguments: What was typed.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = list(arguments)
        self._about, self._printed = self._inputs(), list[str]()

    def show(self) -> bool:
        """Print what was printed before, if it would be the same."""
        text = None if self._about is None else recall("plan", self._about)
        if text is None:
            return False
        for printed in text.split(_END):
            terminal.echo_again(printed)
        return True

    def listening(self) -> AbstractContextManager[None]:
        """What is printed meanwhile is kept in mind."""
        return terminal.heard(self._printed)

    def keep(self) -> None:
        """Remember what was printed, if nothing has changed since it began."""
        if self._about is not None and self._inputs() == self._about:
            keep("plan", self._about, _END.join(self._printed))

    def _inputs(self) -> str | None:
        """All that the text rests on, as one text; None where that cannot be known."""
        if self._arguments[:1] != ["plan"] or _WRITES & {text.partition("=")[0] for text in self._arguments}:
            return None
        environment = {key: value for key, value in os.environ.items() if key.startswith("BARROW") and key != VARIABLE}
        shown = [terminal.columns(), sys.stdout.isatty(), "NO_COLOR" in os.environ]
        try:
            study, folder = self._study()
            typed = [text.partition("=")[2] if text.startswith("-") else text for text in self._arguments]
            texts = {*_texts(study), *_texts(typed), *environment.values()}
            places = sorted({os.path.join(base, text) for text in texts for base in ("", folder) if text})
            files = [[place + end, _state(place + end)] for place in places for end in _BESIDE]
        except (OSError, ValueError, Changing):  # a study that cannot be read is refused by its plan
            return None
        return json.dumps([os.getcwd(), self._arguments, environment, shown, study, files], default=str)

    def _study(self) -> tuple[object, str]:
        """The plain data of the study file that is meant, and its folder."""
        named = [text.removeprefix("--study=") for text in self._arguments if text.endswith(".toml")]
        if not named and (any(t.startswith("--space") for t in self._arguments) or not os.path.isfile(DEFAULT)):
            return None, ""
        place = named[0] if named else DEFAULT
        with open(place, "rb") as file:
            content = file.read(_LARGEST_STUDY + 1)
        study = tomllib.loads(content.decode())
        data = study.get("data", {})
        if len(named) > 1 or len(content) > _LARGEST_STUDY or not isinstance(data, dict) or _CHANGES & data.keys():
            raise Changing
        return study, os.path.dirname(place)


def _texts(value: object) -> Iterator[str]:
    """Every text in plain data, keys aside."""
    if isinstance(value, str):
        if "://" in value or (_ELSEWHERE & set(value) and "(" not in value):
            raise Changing
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, Iterable):
        for inner in value:
            yield from _texts(inner)


def _state(place: str) -> list[object] | None:
    """A file as it is now; None where there is none."""
    if "\0" in place or len(os.fsencode(place)) > 4000:
        return None
    try:
        status = os.stat(place)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == 36:  # a text that is no name
            return None
        raise
    if not stat.S_ISREG(status.st_mode):
        raise Changing
    seen: list[object] = [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    if status.st_size > _SMALL:
        return seen
    with open(place, "rb") as file:
        return [*seen, hashlib.sha256(file.read()).hexdigest()]
