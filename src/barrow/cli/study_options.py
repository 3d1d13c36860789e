"""Flags that say the same as a study file, and the study that both make together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from barrow.cli.numbers import Whole
from barrow.errors import ParameterError
from barrow.policy import Promise
from barrow.questions import Question, to_question
from barrow.spaces import parse_space, parse_spec
from barrow.study import Study, study_from_spec
from barrow.study.data import OUTSIDE
from barrow.study.file import read_table
from barrow.study.study import MISSING

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT = "study.toml"
_SOURCE = re.compile(r"\.(csv|tsv|txt|parquet|pq|duckdb|ddb|sqlite|sqlite3|db)(\.gz|\.zst)?$")

_STUDY = [
    click.option("--study", "file", type=click.Path(), help=f"The study file; {DEFAULT} in this folder by default.")
]
_DATA = [
    click.option("--source", help="Where the records are: a file, a pattern, the address of a database."),
    click.option("--user", help="The column that says whose record it is."),
    click.option("--item", "items", multiple=True, help="A column of the item; repeat it, e.g. for lat and lon."),
    click.option("--sql", help="A query over the source (its records are the table 'records')."),
    click.option("--acknowledge-sql", is_flag=True, default=None, help="Let a query through that nobody has checked."),
    click.option(
        "--outside", "--unknown", type=click.Choice(OUTSIDE), help="What to do with records outside the space."
    ),
    click.option(
        "--missing", type=click.Choice(MISSING), help="What people without records hold: an item of their own, or one."
    ),
    click.option("--weight", help="A column of whole numbers: how often each record counts."),
    click.option("--data-version", "version", help="A public name of this state of the records, e.g. 2026-10."),
    click.option("--encoding", help="How text files are encoded: utf-8 (by default) or latin-1."),
    click.option("--timeout", help="How long a statement of a database server may take, e.g. 4h; 1h by default."),
    click.option("--space", metavar="SPACE", help="The public space, e.g. 'earth(box=(40, -75, 41, -73), cell=1)'."),
    click.option("--users", type=Whole(), help="How many people the data are about (public)."),
    click.option("--dataset", help="A public name of the data set."),
]
_QUESTION = [
    click.option(
        "--question", "--query", "questions", multiple=True, metavar="QUESTION",
        help="mean, histogram, \"density(bandwidth='5 km')\", …; may be repeated.",
    ),
    click.option("--promise", "promises", multiple=True, metavar="'SHARE, DISTANCE, EPSILON'", help="May be repeated."),
    click.option("--alpha", help="alpha itself, instead of promises."),
    click.option("--delta", help="The delta of all releases together."),
    click.option("--fraction", "--part", "fraction", help="The share of every promise that the question may use."),
    click.option("--model", type=click.Choice(["local", "shuffle", "central"]), help="Who adds the noise."),
]  # fmt: skip


def _with(options: list[Any]) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


study_option = _with(_STUDY)
"""``--study``."""
data_options = _with(_DATA)
"""Flags about where the records are and what they are."""
question_options = _with(_QUESTION)
"""Flags about what is asked and what is promised."""
asking_options = _with([click.argument("words", nargs=-1, metavar="[NAME]…"), *_STUDY, *_DATA, *_QUESTION])
"""What a command takes that is about questions of a study: names, the study file, and all flags in place of it."""


def output_options(command: Command) -> Command:
    """``--json`` and ``--quiet``, which every command has."""
    command = click.option("--quiet", is_flag=True, help="Print as little as possible.")(command)
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")(command)


def asked_of(
    words: tuple[str, ...], file: str | None, flags: dict[str, Any]
) -> tuple[Study, list[Question], tuple[str, ...]]:
    """The study, the questions that a command is about (all of them by default), and those that were named."""
    file, names = split_words(words, file, flags)
    study = make_study(file, **flags)
    return study, asked_questions(study, names), names


def split_words(words: tuple[str, ...], file: str | None, flags: dict[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """The study file among a command's words, if one ends in .toml, and names of questions; a source goes to flags."""
    files = [word for word in words if word.endswith(".toml")]
    sources = [word for word in words if word not in files and (_SOURCE.search(word) or "://" in word)]
    if len(files) + (file is not None) > 1 or len(sources) + (flags.get("source") is not None) > 1:
        raise ParameterError("Several study files or sources are named.", allowed="one of each", fix="name one")
    if sources:
        flags["source"] = sources[0]
    names = tuple(word for word in words if word not in files and word not in sources)
    return (files[0] if files else file), names


def asked_questions(study: Study, names: tuple[str, ...] = ()) -> list[Question]:
    """The questions that are meant, all of the study by default; each has an answer on the study's space."""
    asked = [study.question(name) for name in names] or list(study.questions) or [study.question()]
    for question in asked if len(asked) > 1 else ():  # a single one is refused by its plan
        try:
            question.fits(study.space)
        except ParameterError as error:
            problem = f"The question {question.label!r} has no answer: {error.problem}"
            raise ParameterError(problem, allowed=error.allowed, fix=error.fix) from None
    return asked


def make_study(file: str | None, **flags: Any) -> Study:
    """The study of a file, with what the flags say in place of what it says."""
    if file is None and Path(DEFAULT).is_file() and flags.get("space") is None:
        file = DEFAULT
    return _study_of({} if file is None else read_table(file), file, flags)


def study_of_flags(**flags: Any) -> Study:
    """The study that flags alone describe."""
    return _study_of({}, None, flags)


def _study_of(spec: dict[str, Any], file: str | None, flags: Mapping[str, Any]) -> Study:
    for name in ("users", "dataset", "model", "ledger", "alpha", "delta", "missing"):
        if flags.get(name) is not None:
            spec[name] = flags[name]
    if flags.get("delta") is not None or flags.get("alpha") is not None:
        old = {key: value for key, value in spec.get("privacy", {}).items() if key not in ("alpha", "delta")}
        spec["privacy"] = old
    _data(spec, flags)
    if flags.get("space") is not None:
        spec["space"] = _space_spec(flags["space"])
    if flags.get("questions"):
        spec.pop("query", None)
        spec["question"] = [to_question(text).to_spec() for text in flags["questions"]]
    if flags.get("fraction") is not None:
        spec["question"] = [{**question, "fraction": flags["fraction"]} for question in spec.get("question", [])]
    if flags.get("promises"):
        made = [Promise.parse(text) for text in flags["promises"]]
        spec["promise"] = [{"share": p.share_text, "distance": p.distance, "epsilon": str(p.epsilon)} for p in made]
        if flags.get("alpha") is None:
            spec.pop("alpha", None)
            spec.get("privacy", {}).pop("alpha", None)
    elif flags.get("alpha") is not None:
        spec.pop("promise", None)
    if "space" not in spec:
        raise ParameterError(
            "No space is named.",
            allowed="a public space: barrow never learns the domain from the data",
            fix="--space 'earth(box=(40.5, -74.3, 41.0, -73.6), cell=1)', or a study file: barrow init",
        )
    folder = None if file is None or flags.get("space") is not None else Path(file).parent
    return study_from_spec(spec, folder, acknowledge_sql=bool(flags.get("acknowledge_sql")))


def _data(spec: dict[str, Any], flags: Mapping[str, Any]) -> None:
    data = dict(spec.get("data", {}))
    if flags.get("source") is not None or flags.get("sql") is not None:
        data = {key: value for key, value in data.items() if key not in ("source", "sql")}
    for name in ("source", "sql", "user", "weight", "outside", "version", "acknowledge_sql", "encoding", "timeout"):
        if flags.get(name) is not None:
            data[name] = flags[name]
    if flags.get("items"):
        data["items"] = list(flags["items"])
    if data:
        spec["data"] = data


def _space_spec(space: str | Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(space, str):
        return dict(space)
    if space.endswith(".toml"):
        return dict(read_table(space).get("space", {}))
    spec = parse_spec(space)
    return parse_space(space).to_spec() if spec is None else spec
