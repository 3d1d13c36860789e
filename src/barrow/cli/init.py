"""``barrow init``: a study file and its data set's ledger, from flags or by asking."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from barrow.cli import work
from barrow.cli.approvers import approver_options, quorum_of
from barrow.cli.numbers import Whole
from barrow.cli.plan import next_step
from barrow.cli.series import in_series
from barrow.cli.study_options import (
    DEFAULT,
    data_options,
    publication_options,
    question_options,
    read_off_lines,
    selected_questions,
    study_of_flags,
    time_options,
    with_numbers,
)
from barrow.cli.terminal import Printer, echo, echo_alarm, output_options
from barrow.errors import ParameterError, clean, nearest_name
from barrow.numerics import float_up

Checked = TypeVar("Checked")

_CATALOGUE = (
    "earth(box=(south, west, north, east), cell=KM), line(low=0, high=100, step=1, unit='years'), hours, weekdays, "
    "months, discrete(labels=[…])"
)

_PUBLISHED = {
    "curator": "Who publishes the releases",
    "purpose": "What are they for",
    "about_region": "Which part of the world are they about",
    "contact": "Whom can people ask about them",
    "licence": "Under which licence may they be used, e.g. CC-BY-4.0",
}


@click.command()
@click.argument("records", required=False, metavar="[SOURCE]")
@click.option("--study", "file", type=click.Path(), default=DEFAULT, show_default=True, help="The study file to write.")
@data_options
@time_options
@question_options
@click.option("--releases", type=Whole(1, 10_000), default=1, help="Divide every promise among this many releases.")
@publication_options
@click.option("--ledger", type=click.Path(), help="The data set's ledger; DATASET.ledger by default.")
@click.option("--anchor", type=click.Path(), help="A file, best on another disk, with a copy of the ledger's head.")
@approver_options
@output_options
def init(
    records: str | None,
    file: str,
    releases: int,
    ledger: str | None,
    anchor: str | None,
    approvers: tuple[str, ...],
    need: int | None,
    output: Printer,
    **flags: Any,
) -> None:
    """Write a study and create the ledger of its data set, or join the existing one.

    On a terminal, barrow asks for missing options. It reads column names from the file's header; you type the space,
    which is never derived from records.

    \b
    Example:
      barrow init visits.parquet --user uid --item lat --item lon \\
        --users 1083 --dataset visits \\
        --space 'earth(box=(40.5, -74.3, 41.0, -73.6), cell=0.2)' \\
        --promise "1 day of 30, 10 km, 0.5" --promise "all, anywhere, 1" \\
        --question "density(bandwidth='1 km')"
    """  # noqa: D301  (click reads the backspace)
    if Path(file).exists():
        raise ParameterError(
            f"The file {file!r} exists.", allowed="a new file", fix="--study other.toml, or remove it first"
        )
    approval = quorum_of(approvers, need)
    if records is not None:
        flags["source"] = records
    if sys.stdin.isatty() and not output.silent:
        _ask(flags)
    _complete(flags)
    flags["space"] = _with_cells(flags["space"])
    with work.bars(output.progress):
        study = study_of_flags(**flags)
    if study.questions:
        selected_questions(study)
    study = _settled(study)
    if releases > 1:
        study = _shared(study, releases)
    place = ledger or str(Path(file).parent / f"{study.dataset}.ledger")
    study = study.replace(ledger=place)
    if study.data is not None and study.data.source is not None and study.data.user and study.data.items:
        study.data.validate(study.space)
    state = work.Ledger.join(place, study, anchor=anchor, approval=approval)
    study.write(file)
    told: dict[str, Any] = {"study": file, "ledger": place, "dataset": study.dataset, "alpha": float(study.alpha)}
    told |= {"releases": releases, "composition": study.composition}
    grids = None if study.grids is None else study.grids.to_json()
    lines = [] if study.grids is None else list(study.grids.lines())
    lines.append(f"Wrote {file} and {'joined' if state.head().length > 1 else 'made'} the ledger {place}.")
    if releases > 1:
        sums = "the root of the sum of squares" if study.composition == "quadrature" else "a sum"
        lines.append(f"Each of {releases:,} releases has its share of every promise; together they cost {sums}.")
    lines += read_off_lines(study)
    release = next_step(study, file)
    then = f"barrow propose, then {release} when it is approved" if state.governed else release
    plan = "barrow plan" if file == DEFAULT else f"barrow plan {shlex.quote(file)}"
    lines.append(f"Next: {plan}, then {then}")
    problem = _alarm(study)
    told |= {"budget": state.budget.to_json(), "grids": grids, "alarm": problem}
    output.tell(told, file, *lines)
    if problem and not output.silent:
        echo_alarm(problem)
        cap = work.cap(_unit(study))
        echo(f'Nothing was spent. To add that promise, remove {file} and {place}, and type --promise "{cap}" too.')


def _unit(study: work.Study) -> str | None:
    """What one period is called, where each release is about one."""
    return None if study.calendar is None else study.calendar.unit


def _alarm(study: work.Study) -> str | None:
    """What must be said of the worst case of all questions of the study together."""
    delta = float_up(study.delta)
    if work.alarm(float_up(study.alpha), delta) is None:
        return None  # whatever is asked
    total = 0.0
    for question in study.questions:
        with suppress(ParameterError):  # barrow plan says what is wrong
            total = math.nextafter(total + study.plan(question).worst_epsilon, math.inf)
    return work.alarm(total, delta, _unit(study))


def _with_cells(space: Any) -> Any:
    """The space with cells that are chosen, where their size was left out; in each part of a product."""
    spec = work.parse_spec(space) if isinstance(space, str) else dict(space)
    if spec is None:
        return space
    if isinstance(spec.get("parts"), list):
        return {**spec, "parts": [_with_cells(part) for part in spec["parts"]]}
    key = work.cell_key(spec.get("kind"))
    if not key or spec.get(key) is not None or work.space_from_spec(spec).size is not None:  # it has items already
        return spec
    return {**spec, key: work.AUTO}


def _bare(space: Any) -> Any:
    """The space without cells that are yet to be chosen."""
    spec = work.parse_spec(space) if isinstance(space, str) else dict(space)
    if spec is None:
        return work.parse_space(space).to_spec()  # says why not
    if isinstance(spec.get("parts"), list):
        return {**spec, "parts": [_bare(part) for part in spec["parts"]]}
    key = work.cell_key(spec.get("kind"))
    return {name: value for name, value in spec.items() if name != key or value != work.AUTO}


def _settled(study: work.Study) -> work.Study:
    """The study with what was left to be chosen written out."""
    chosen = [question if work.is_resolved(question) else study.plan(question).question for question in study.questions]
    return study if chosen == list(study.questions) else study.replace(questions=chosen)


def _shared(study: work.Study, releases: int) -> work.Study:
    """The study with a share of every promise for each of several releases."""
    if not study.questions:
        raise ParameterError(
            f"--releases is {releases:,}, but no question is given.", allowed="with --question", fix="--question mean"
        )
    with work.bars(False):
        return in_series(study, study.questions, releases)


def _complete(flags: dict[str, Any]) -> None:
    """What a study cannot be without."""
    needed = {
        "space": ("No space is named.", f"--space, one of: {_CATALOGUE}"),
        "users": ("The number of people is missing.", "--users 100000, a public number"),
        "dataset": ("The data set has no name.", "--dataset visits: its ledger is found by it"),
    }
    for name, (problem, fix) in needed.items():
        if flags.get(name) is None:
            raise ParameterError(problem, allowed="a flag, or an answer on a terminal", fix=fix)
    if not flags.get("promises") and flags.get("alpha") is None:
        raise ParameterError(
            "No promise is given.",
            allowed="at least one --promise, or --alpha",
            fix='--promise "1 day of 30, 10 km, 0.5"',
        )


def _columns(names: list[str], text: str, most: int | None = None) -> tuple[str, ...]:
    """Columns as they were typed, each of which the file has."""
    parts = tuple(part.strip() for part in text.split(","))[:most]
    for part in parts:
        if part not in names:
            raise ParameterError(
                f"There is no column {part!r}.", allowed=", ".join(names), fix=nearest_name(part, names) or names[0]
            )
    return parts


def _known_space(text: str) -> str:
    """A space as it was typed, which can be read."""
    work.space_from_spec(_bare(text))
    return text


def _asked(question: str, check: Callable[[str], Checked]) -> Checked:
    """An answer as ``check`` reads it; what it refuses is said, and asked for again."""
    while True:
        try:
            return check(click.prompt(question))
        except ParameterError as error:
            echo(f"Error: {error}", err=True)


def _ask(flags: dict[str, Any]) -> None:
    """Fill in what is missing, one question at a time; who typed everything is asked nothing."""
    given = dict(flags)
    say = click.prompt
    if flags.get("source") is not None:
        names = list(work.engine_for(work.Source.parse(flags["source"])).columns(work.Source.parse(flags["source"])))
        if flags.get("user") is None:
            who = clean(f"Which column identifies the person ({', '.join(names)})")
            (flags["user"],) = _asked(who, lambda text: _columns(names, text, most=1))
        if not flags.get("items") and not with_numbers(flags).get("per_person"):
            what = "Which column or columns say what the item is (commas between)"
            flags["items"] = _asked(what, lambda text: _columns(names, text))
    if flags.get("space") is None:
        flags["space"] = _asked(f"In which public space do items live\n  {_CATALOGUE}\n", _known_space)
    space = work.space_from_spec(_bare(flags["space"]))
    if not flags.get("promises") and flags.get("alpha") is None:
        units = ", ".join(work.units_of(space)) or "a share of the largest distance"
        promises: list[str] = []
        while not promises or click.confirm("Another promise?", default=False):
            share = say("Which share of a person's data might have been different", default="1 of 30")
            distance = say(f"How far away might it have been ({units}, or anywhere)")
            epsilon = say("Largest acceptable epsilon (0.2: a 50 % guess becomes at most 55 %)", default="0.2")
            try:
                promise = work.to_promise(f"{share}, {distance}, {epsilon}")
                work.Policy(space, [promise])
            except ParameterError as error:
                echo(f"Error: {error}", err=True)
                continue
            promises.append(promise.text)
        flags["promises"] = tuple(promises)
    if not flags.get("questions"):
        flags["questions"] = (
            say("What do you ask (mean, histogram, density(bandwidth='1 km'), …)", default="histogram"),
        )
    if flags.get("users") is None:
        flags["users"] = say("How many people are the data about (public)", type=Whole(1))
    if flags.get("dataset") is None:
        flags["dataset"] = say("What is the data set called (public)")
    if flags == given:
        return
    echo("The rest is for catalogues of data; Enter leaves it out.")
    for flag, words in _PUBLISHED.items():
        if flags.get(flag) is None:
            flags[flag] = say(words, default="", show_default=False)
