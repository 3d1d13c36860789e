"""Flags that say the same as a study file, and the study that both make together."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from barrow.cli import work
from barrow.cli.again import DEFAULT
from barrow.cli.numbers import Whole
from barrow.errors import ParameterError
from barrow.promises.periods import UNITS
from barrow.promises.records import MISSING, OUTSIDE

Command = TypeVar("Command", bound=Callable[..., Any])
_RECORDS = re.compile(r'\bfrom\s+"?records\b', re.IGNORECASE)
"""A query over the records of the study's own source."""
_SOURCE = re.compile(r"\.(csv|tsv|txt|parquet|pq|duckdb|ddb|sqlite|sqlite3|db)(\.gz|\.zst)?$")

_GROUP = re.compile(r"([^:()=]+)(?:\(([^()]+)\))?\s*:(.+)")

_STUDY = [
    click.option("--study", "file", type=click.Path(), help=f"The study file; {DEFAULT} in this folder by default.")
]
_DATA = [
    click.option("--source", help="Where the records are: a file, a pattern, the address of a database."),
    click.option("--user", help="The column that identifies the person."),
    click.option("--item", "items", multiple=True, help="A column of the item; repeat it, e.g. for lat and lon."),
    click.option("--sql", help="A query over the source (its records are the table 'records')."),
    click.option("--acknowledge-sql", is_flag=True, default=None, help="Accept a query that barrow cannot check."),
    click.option(
        "--outside", "--unknown", type=click.Choice(OUTSIDE), help="What to do with records outside the space."
    ),
    click.option(
        "--missing",
        type=click.Choice(MISSING),
        help="How people without records count: as an item of their own, or as the default item.",
    ),
    click.option("--weight", help="A column of whole numbers: how often each record counts."),
    click.option(
        "--per-person", "per_person", metavar="NUMBER",
        help="One number of each person's records: count, 'sum(column)', min, max; with --time first, last or days.",
    ),
    click.option("--data-version", "version", help="A public name of this version of the records, e.g. 2026-10."),
    click.option("--encoding", help="How text files are encoded: utf-8 (by default) or latin-1."),
    click.option("--timeout", help="How long one SQL statement may take, e.g. 4h; 1h by default."),
    click.option("--space", metavar="SPACE", help="The public space, e.g. 'earth(box=(40, -75, 41, -73), cell=1)'."),
    click.option("--users", type=Whole(), help="How many people the data are about (public)."),
    click.option("--dataset", help="A public name of the data set."),
]  # fmt: skip
_QUESTION = [
    click.option(
        "--question", "--query", "questions", multiple=True, metavar="QUESTION",
        help="mean, histogram, \"density(bandwidth='5 km')\", …; may be repeated.",
    ),
    click.option("--promise", "promises", multiple=True, metavar="'SHARE, DISTANCE, EPSILON'",
        help="May be repeated; a scope may follow: ', in any month'."),
    click.option("--alpha", help="alpha itself, instead of promises."),
    click.option("--delta", help="The delta of all releases together."),
    click.option("--fraction", "--part", "fraction", help="The share of every promise that the question may use."),
    click.option("--model", type=click.Choice([model.value for model in work.Model]), help="Who adds the noise."),
    click.option("--aggregators", type=Whole(2, 16), metavar="M", help="How many parties add up shares (aggregated)."),
    click.option("--dishonest", type=Whole(1, 15), metavar="B", help="How many of them may break the rules."),
]  # fmt: skip


_PARTS = [
    click.option(
        "--period", metavar="PERIOD", help="Which period: 2026-10, a list, a range 2026-01..2026-10, last, or all."
    ),
    click.option("--by", multiple=True, metavar="NAME", help="Answer by this [[group]] of the study; may be repeated."),
]
_POOL = [
    click.option(
        "--pool", type=click.Choice(["records", "periods"]),
        help="One release for all named periods together, with equal weight for records, or for periods.",
    ),
    click.option("--weights", help="How much each period counts with --pool periods, e.g. '1/2, 1/4, 1/4'."),
]  # fmt: skip
_TIMES = [
    click.option("--time", help="The column that says when a record was made."),
    click.option("--period", "unit", type=click.Choice(UNITS), help="How time is divided, with --time and --zone."),
    click.option("--zone", help="The public time zone in which days begin, e.g. Europe/Berlin."),
    click.option("--periods", type=Whole(1, 10_000), help="How many periods the promises cover, e.g. 12."),
    click.option(
        "--group", "groups", multiple=True, metavar="'NAME: GROUP=PEOPLE, …'",
        help='Public groups, e.g. "region: north=512, south=571"; may be repeated.',
    ),
]  # fmt: skip


_PUBLICATION = [
    click.option("--curator", help="Who holds the records and publishes the releases, for catalogues of data."),
    click.option("--purpose", help="What the releases are for."),
    click.option("--region", "about_region", metavar="TEXT", help="The region that the releases are about."),
    click.option("--contact", help="Whom to ask about them: an e-mail address or a web page."),
    click.option("--license", "licence", metavar="SPDX", help="Under which licence they may be used, e.g. CC-BY-4.0."),
]
PUBLICATION = {
    "curator": "curator", "purpose": "purpose", "region": "about_region", "contact": "contact", "license": "licence",
}  # fmt: skip
"""The fields of a study's publication, with the flags that say them."""


_ALIKE = (
    "users", "dataset", "model", "aggregators", "dishonest", "alpha", "delta", "missing", "periods", "ledger",
)  # fmt: skip
"""Flags that say what a study file says under the same name."""
_COLUMNS = (
    "source", "sql", "user", "weight", "outside", "version", "acknowledge_sql", "encoding", "timeout", "time", "zone",
    "per_person",
)  # fmt: skip
"""The same of its ``[data]``."""


def _with(options: list[Any]) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


part_options = _with(_PARTS)
"""Which periods, and by which groups."""
pool_options = _with(_POOL)
"""Whether several periods are one release."""
time_options = _with(_TIMES)
"""Flags about periods and groups that a study has."""
publication_options = _with(_PUBLICATION)
"""Flags about who publishes releases, and what for."""
study_option = _with(_STUDY)
"""``--study``."""
data_options = _with(_DATA)
"""Flags about where the records are and what they are."""
question_options = _with(_QUESTION)
"""Flags about what is asked and what is promised."""
asking_options = _with([click.argument("words", nargs=-1, metavar="[NAME]…"), *_STUDY, *_DATA, *_QUESTION])
"""What a command takes that is about questions of a study: names, the study file, and all flags in place of it."""


def verbose_option(command: Command) -> Command:
    """``--verbose``, for commands that say the most important things on one screen."""
    return click.option("--verbose", "-v", is_flag=True, help="Print all details.")(command)


def study_and_questions(
    words: tuple[str, ...], file: str | None, flags: dict[str, Any]
) -> tuple[work.Study, list[work.Question], tuple[str, ...]]:
    """The study, the questions that a command is about (all of them by default), and those that were named."""
    file, names = split_words(words, file, flags)
    study = make_study(file, **flags)
    return study, selected_questions(study, names), names


def strange_questions(words: tuple[str, ...], file: str | None, flags: Mapping[str, Any]) -> list[str]:
    """What ``--question`` means where the study file asks questions of its own: another release, at the whole price."""
    named = next((word for word in words if word.endswith(".toml")), file)
    place = named or (DEFAULT if Path(DEFAULT).is_file() else None)
    if not flags.get("questions") or place is None or flags.get("space") is not None:
        return []
    own = [work.to_question(question).label for question in work.read_table(place).get("question", [])]
    if not own:
        return []
    asked = [work.to_question(text) for text in with_numbers(flags)["questions"]]
    meant = next((question.label for question in asked if question.label in own), own[0])
    whole = any(question.fraction is None for question in asked) and flags.get("fraction") is None
    cost = "It may use all that is left of every promise. " if whole else ""
    return [
        f"Note: --question asks a question of its own, not one of {place} ({', '.join(own)}). {cost}"
        f"For the study's question type: barrow release {meant}"
    ]


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


def selected_questions(study: work.Study, names: tuple[str, ...] = ()) -> list[work.Question]:
    """The questions that are meant, all of the study by default; each has an answer on the study's space."""
    questions = [study.question(name) for name in names] or list(study.questions) or [study.question()]
    for question in questions if len(questions) > 1 else ():  # a single one is refused by its plan
        try:
            question.fits(study.space)
        except ParameterError as error:
            problem = f"The question {question.label!r} has no answer: {error.problem}"
            raise ParameterError(problem, allowed=error.allowed, fix=error.fix) from None
    return questions


def read_off_lines(study: work.Study) -> list[str]:
    """Which questions have no release of their own, because another one's answers them."""
    hosts = [(asked.label, study.question(asked.label).label) for asked in study.requests]
    return [
        f"The question {asked!r} is answered from the noise of {host!r}, in its folder (quantiles.csv)."
        for asked, host in hosts
        if asked != host
    ]


def make_study(file: str | None, **flags: Any) -> work.Study:
    """The study of a file, with what the flags say in place of what it says."""
    if file is None and Path(DEFAULT).is_file() and flags.get("space") is None:
        file = DEFAULT
    return _study_of({} if file is None else work.read_table(file), file, flags)


def study_of_flags(**flags: Any) -> work.Study:
    """The study that flags alone describe."""
    return _study_of({}, None, flags)


def with_numbers(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Flags in which ``--question count`` and ``--question 'sum(column)'`` are totals of one number a person.

    >>> with_numbers({"questions": ("count",)})
    {'questions': ('total',), 'per_person': 'count'}
    """
    given = tuple(flags.get("questions") or ())
    numbers = {text.strip() for text in given if text.strip() == "count" or text.strip().startswith("sum(")}
    if not numbers:
        return dict(flags)
    if len(numbers | {flags.get("per_person") or next(iter(numbers))}) > 1:
        raise ParameterError(
            f"Several numbers of each person are asked for: {', '.join(sorted(numbers))}.",
            allowed="one study for each of them, all with the same ledger",
            fix="--study visits.toml for one and --study amounts.toml for the other",
        )
    questions = tuple(dict.fromkeys("total" if text.strip() in numbers else text for text in given))
    return {**flags, "questions": questions, "per_person": numbers.pop()}


def _study_of(spec: dict[str, Any], file: str | None, given: Mapping[str, Any]) -> work.Study:
    flags = with_numbers(given)
    folder = None if file is None else Path(file).parent
    for name in ("source", "ledger"):  # what is typed is seen from here, what the file says from its folder
        if flags.get(name) is not None and folder is not None:
            flags[name] = work.from_study(str(flags[name]), folder)
    spec |= {name: flags[name] for name in _ALIKE if flags.get(name) is not None}
    if flags.get("groups"):
        spec["group"] = [_group(text) for text in flags["groups"]]
    told = {field: flags[flag] for field, flag in PUBLICATION.items() if flags.get(flag)}
    if told:
        spec["publication"] = {**spec.get("publication", {}), **told}
    _data(spec, flags)
    if flags.get("space") is not None:
        spec["space"] = work.with_tables(_space_spec(flags["space"]))
    if flags.get("questions"):
        spec["question"] = [work.to_question(text).to_spec() for text in flags["questions"]]
    if flags.get("fraction") is not None:
        spec["question"] = [{**question, "fraction": flags["fraction"]} for question in spec.get("question", [])]
    if flags.get("promises"):
        spec["promise"] = [work.promise_table(work.Promise.parse(text)) for text in flags["promises"]]
        if flags.get("alpha") is None:
            spec.pop("alpha", None)
    elif flags.get("alpha") is not None:
        spec.pop("promise", None)
    if "space" not in spec:
        raise ParameterError(
            "No space is named."
            if file is not None
            else "There is no study.toml in this folder, and no space is named.",
            allowed="a study file, or a public space: barrow never learns the domain from the data",
            fix="barrow init YOUR-FILE, or --space 'earth(box=(40.5, -74.3, 41.0, -73.6), cell=1)'",
        )
    return work.study_from_spec(spec, folder, acknowledge_sql=bool(flags.get("acknowledge_sql")))


def _data(spec: dict[str, Any], flags: Mapping[str, Any]) -> None:
    data = dict(spec.get("data", {}))
    if flags.get("source") is not None or flags.get("sql") is not None:
        over_study = flags.get("source") is None and _RECORDS.search(flags["sql"]) is not None
        dropped = ("sql",) if over_study else ("source", "sql")
        data = {key: value for key, value in data.items() if key not in dropped}
    data |= {name: flags[name] for name in _COLUMNS if flags.get(name) is not None}
    if flags.get("unit") is not None:
        data["period"] = flags["unit"]
    if flags.get("items"):
        data["items"] = list(flags["items"])
    if data:
        spec["data"] = data


def _group(text: str) -> dict[str, Any]:
    """``"region: north=512, south=571"``, with a column of another name as ``"region(area): …"``."""
    match = _GROUP.fullmatch(text.strip())
    pairs = [part.partition("=") for part in match[3].split(",")] if match else []
    if match is None or not all(label.strip() and size.strip().isdecimal() for label, _, size in pairs):
        raise ParameterError(
            f"The group {text!r} cannot be read. Groups and sizes learnt from the data would reveal that somebody is "
            "in them.",
            allowed="a name, a colon, and the public number of people of every group",
            fix='--group "region: north=512, south=571"',
        )
    column = {} if match[2] is None else {"column": match[2].strip()}
    return {"name": match[1].strip(), **column, "sizes": {label.strip(): int(size) for label, _, size in pairs}}


def _space_spec(space: str | Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(space, str):
        return dict(space)
    if space.endswith(".toml"):
        return dict(work.read_table(space).get("space", {}))
    spec = work.parse_spec(space)
    return work.parse_space(space).to_spec() if spec is None else spec
