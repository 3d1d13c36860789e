"""A release, in the one safe order: validate, read, reserve, draw, stage, commit, publish."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from barrow.display import renderer
from barrow.engines import Engine
from barrow.errors import BarrowError, LedgerError, ParameterError
from barrow.ledger import Ledger, SpaceRef
from barrow.ledger.errors import NoAuthorityError
from barrow.ledger.opened import Committed, Reservation, Staged
from barrow.progress import task
from barrow.questions import Answer, Question
from barrow.questions.answer import Rows, Sample, Statistics
from barrow.questions.prices import charges, price_words
from barrow.questions.releasing import (
    drawn_by_curator,
    error_after,
    held_by_each,
    most_rows,
    on_map,
    summary,
)
from barrow.questions.statement import LedgerEntry, ReleaseFile
from barrow.study.about import ALL, About
from barrow.study.bars import bars
from barrow.study.data import Data
from barrow.study.formats import format_files
from barrow.study.geoparquet import cells_file
from barrow.study.keys import AskedRelease, parameters_of, public_digest
from barrow.study.outputs import Stage, digest_of, folder_exists, value_files
from barrow.study.parts import CellReader, PartsDraw, ReleaseParts, Series, totals_so_far, with_parts
from barrow.study.prose import statement_text
from barrow.study.rehearsal import Renderer, rehearse
from barrow.study.result import Release
from barrow.study.statement import (
    approved_by,
    make_statement,
    parse_statement,
    short_spec,
    statement_digest,
    write_statement,
)
from barrow.study.study import Study

if TYPE_CHECKING:
    from barrow.planning.after import OwnError

STAGES = ("validate", "read", "reserve", "draw", "stage", "commit", "publish")
_OUTSIDE = (OSError, MemoryError, LedgerError)
"""Errors of the machine, which do not depend on the values that were drawn."""
_STATEMENT = ("statement.json", "statement.txt")


class LostReleaseError(BarrowError):
    """A release was paid for and interrupted; the text says what to type to go on without paying again.

    >>> LostReleaseError.exit_code
    130
    """

    exit_code = 130


def run_release(
    study: Study,
    question: Question,
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    key: str | None = None,
    progress: bool | None = None,
    renderers: Iterable[Renderer] | None = None,
    stages: Callable[[str], None] = lambda stage: None,
    about: About = ALL,
    series: Series | None = None,
) -> Release:
    """Release the answer to ``question``; the same key gives the same answer again, for free.

    Args:
        study: The study.
        question: What is asked.
        ledger: The ledger to charge, or its file; by default the one that the study names.
        out: A new folder for the results; by default a private one beside the ledger.
        key: Names this release. By default a digest of everything public about it, so that running a study again
            returns what was drawn and never draws fresh noise by mistake.
        progress: Show what takes long, and how far it is; by default on a terminal and in a notebook.
        renderers: What makes further files of the statement and its tables; by default the report.
        stages: Is told each stage as it begins.
        about: The periods that it reads and the groups that it tells apart; everybody and all records by default.
        series: Plans and counts for several releases at once; by default this release does so for itself.

    >>> import tempfile
    >>> from barrow.questions import Mean
    >>> from barrow.spaces import Line
    >>> from barrow.study.data import read
    >>> people = read({"uid": [1, 2, 3], "age": [20, 30, 40]}, user="uid", item="age")
    >>> study = Study(Line(0, 100, unit="years", step=1), alpha=5, users=3, dataset="ages", data=people)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(folder + "/ages.ledger", study)
    ...     first = run_release(study, Mean(), ledger=ledger, out=folder + "/mean")
    ...     again = run_release(study, Mean(), ledger=ledger, out=folder + "/mean")
    >>> len(first.values), first.statement.alpha, first.values.tolist() == again.values.tolist()
    (1, 5.0, True)
    """
    study = study.within(about.grouping)
    with bars(progress):
        job = _prepared(study, question, ledger, out, key, stages, about, series or Series(study, question, [about]))
        return _run(job, _standard(renderers), stages)


def _standard(renderers: Iterable[Renderer] | None) -> tuple[Renderer, ...]:
    return (renderer().release_files,) if renderers is None else tuple(renderers)


@dataclass(frozen=True, eq=False)
class CollectedReports:
    """Results of collected reports, which people randomised themselves: nothing is read for it, and nothing drawn.

    Attributes:
        plan: The plan, for as many people as took part.
        output: What the plan's ``draw`` would give.
        named: What is public about where it came from.
        conditions: What the guarantee rests on beside mathematics: who must not work together with whom.
        tables: The values; by default what the plan makes of ``output``.
        summary: The values in a few lines; by default the plan's.
        own: How far off they are by themselves; by default what the plan makes of ``output``.
    """

    plan: Answer
    output: Sample
    named: Mapping[str, Any]
    conditions: tuple[str, ...]
    tables: Mapping[str, list[dict[str, Any]]] | None = None
    summary: Sequence[str] | None = None
    own: OwnError | None = None

    def parameters(self, study: Study) -> dict[str, Any]:
        """Every public number on which the values depend, and which reports they are of."""
        return {**parameters_of(study, self.plan), "data": dict(self.named)}

    def paid(self, ledger: Ledger) -> dict[str, Any]:
        """What a ledger is asked."""
        return {**payment_of(self.plan, ledger.budget.dataset), "users": ledger.budget.users}


def release_collected(
    study: Study,
    reports: CollectedReports,
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    key: str,
    renderers: Iterable[Renderer] | None = None,
    stages: Callable[[str], None] = lambda stage: None,
) -> Release:
    """Release results of collected reports, once for each key, with a statement and an entry in the ledger.

    Args:
        study: The study.
        reports: What there is to release.
        ledger: The ledger to charge, or its file; by default the one that the study names.
        out: A new folder for the results; by default a private one beside the ledger.
        key: Names this release.
        renderers: What makes further files of the statement and its tables; by default the report.
        stages: Is told each stage as it begins.
    """
    stages("validate")
    plan, state = reports.plan, open_ledger(study, ledger)
    check_ledger(state, study)
    _check_place(study, state, out, key)
    stage = Stage(_place(state, out, key), key)
    job = _Job(study, None, None, state, plan, reports.parameters(study), key, stage, reports)
    return _run(job, _standard(renderers), stages)


def _run(job: _Job, renderers: Sequence[Renderer], stages: Callable[[str], None]) -> Release:
    here = os.path.abspath(job.stage.out)
    known = job.ledger.resume(
        job.key, job.parameters, folder=here, forget=lambda folders: _forget([*folders, here], job.key)
    )
    if isinstance(known, Staged | Committed):
        return _finished(job.ledger, known, job.stage, stages)
    if known is None:
        named = job.study if job.study.dataset is not None else job.study.replace(dataset=job.ledger.budget.dataset)
        job.ledger.check_study(named, spaces=[SpaceRef.of(job.plan.terms.space, number=job.plan.terms.number)])
        if not job.ledger.governed:
            job.ledger.check(**job.paid, parameters=job.parameters)
        else:
            label = job.plan.question.label
            job.ledger.check_approved(job.ledger.proposed(**job.paid, parameters=job.parameters, question=label))
    job.stage.open(_room(job.plan))
    try:
        rehearse(renderers, job.stage.folder)
        stages("read")
        with task("reading the records"):
            statistics = None if job.reports is not None else _statistics(job)
        stages("reserve")
        reservation = known or job.ledger.reserve(
            key=job.key, what=job.plan.description, parameters=job.parameters, question=job.plan.question.label,
            folder=here, resumable=True, earlier=None if job.asked is None else job.asked.earlier, **job.paid,
        )  # fmt: skip
    except BaseException:
        job.stage.discard()
        raise
    try:
        with task("drawing noise and writing what is released"):
            files, tables = _draw(job, reservation, statistics, renderers, stages)
        stages("stage")
        job.stage.write(files)
    except BaseException as error:
        job.stage.discard()
        given_up = reservation.taken and isinstance(error, Exception) and not _of_the_machine(error, renderers)
        if given_up:  # it may have failed because of its values: drawing until nothing fails would select them
            job.ledger.abandon(reservation)
        raise _interrupted(job.plan, reservation, error, given_up) from (
            error if isinstance(error, Exception) else None
        )
    try:
        staged = job.ledger.stage(reservation, *_digests(files))
    except BaseException as error:  # the record may be on the disk all the same, so what was staged stays
        if isinstance(error, NoAuthorityError):  # unless somebody else has the right to stage: then this is nobody's
            job.stage.discard()
        raise _interrupted(job.plan, reservation, error, False) from (error if isinstance(error, Exception) else None)
    return _finished(job.ledger, staged, job.stage, stages, job.plan, tables)


def _of_the_machine(error: Exception, renderers: Sequence[Renderer]) -> bool:
    """Whether a failure says nothing about the values: the machine's, or one that a public dummy meets as well."""
    if isinstance(error, _OUTSIDE):
        return True
    try:
        rehearse(renderers)
    except ParameterError:
        return True
    return False


def _forget(folders: Iterable[str], key: str) -> None:
    """Destroy what was drawn and not published at each of these places."""
    for folder in dict.fromkeys(folders):
        Stage(folder, key).forget()


@dataclass(frozen=True, eq=False)
class _Job:
    """A release that can be made: everything about it that is public has been checked."""

    study: Study
    data: Data | None
    engine: Engine | None
    ledger: Ledger
    plan: Answer
    parameters: Mapping[str, Any]
    key: str
    stage: Stage
    reports: CollectedReports | None = None
    parts: ReleaseParts | None = None
    reader: CellReader | None = None
    asked: AskedRelease | None = None

    @property
    def paid(self) -> dict[str, Any]:
        """What the ledger is asked."""
        if self.reports is not None:
            return self.reports.paid(self.ledger)
        return payment_of(self.plan, self.study.dataset or self.ledger.budget.dataset)


def _prepared(
    study: Study,
    question: Question,
    ledger: Ledger | str | os.PathLike[str] | None,
    out: str | os.PathLike[str] | None,
    key: str | None,
    stages: Callable[[str], None],
    about: About,
    series: Series,
) -> _Job:
    """Everything that can be refused without reading a record, the quick things before the plan."""
    stages("validate")
    if study.data is None:
        raise _no_records()
    state = open_ledger(study, ledger)
    space = study.terms(question, reads=about.window).space
    check_ledger(state, study)
    _check_place(study, state, out, key)
    engine = study.data.validate(space, about)
    with task(f"planning {question.label}"):
        parts = series.planner.parts(about)
    plan = parts.plan
    _check_plan(plan)
    asked = AskedRelease.of(study, parts.stated, about)
    paid = asked.earlier(state.records()) if key is None else None
    name, parameters = (key or asked.key, asked.public) if paid is None else (paid.data["key"], paid.data["parameters"])
    stage = Stage(_place(state, out, name), name)
    job = _Job(study, study.data, engine, state, plan, parameters, name, stage, parts=parts, reader=series.reader)
    return replace(job, asked=asked) if key is None else job


def _statistics(job: _Job) -> dict[str | None, Statistics]:
    """What noise will be added to, for each group (private): an engine's integers, which hold no ids."""
    parts, data, engine, reader = job.parts, job.data, job.engine, job.reader
    if parts is None or data is None or engine is None or reader is None:
        raise _no_records()
    space, held = parts.plan.terms.space, held_by_each(parts.plan)
    if held.samples is not None and parts.about.whole:  # drawn within the engine
        return {None: job.plan.statistics(data.sample(engine, space, job.plan.terms.users, held.samples))}
    if held.samples is not None:
        return parts.statistics_of_items(reader.people(engine, space))
    if held.items is not None:  # missing people hold m default items and not one, so the plan adds them
        return parts.statistics_of_items(reader.cells(engine, space))
    if job.plan.question.traits.whole_people:
        return parts.statistics_of_people(reader.people(engine, space))
    if engine.sums_alone or parts.about.whole:
        return parts.statistics(reader.sums(engine, space))
    return parts.statistics(reader.cells(engine, space))


def _no_records() -> ParameterError:
    return ParameterError("The study names no records.", allowed="[data], or data=…", fix="data=bw.read(…)")


def _draw(
    job: _Job,
    reservation: Reservation,
    statistics: Mapping[str | None, Statistics] | None,
    renderers: Sequence[Renderer],
    stages: Callable[[str], None],
) -> tuple[dict[str, bytes], dict[str, Rows]]:
    """Draw, and everything that will be published, with its tables as they are in memory."""
    study, plan = job.study, job.plan
    stages("draw")
    reservation.take()
    result = _noisy(job, statistics)
    cells = None if short_spec(plan.terms.space) is None else plan.terms.space  # so that a verifier can draw them, too
    files = value_files(result.tables, mapped=on_map(plan), space=cells, folder=job.stage.folder)
    if on_map(plan):
        files |= cells_file(result.tables["values"], plan.terms.space, job.stage.folder)
    place = study.ledger if study.ledger is not None or job.ledger.file is None else str(job.ledger.file)
    place = None if place is None else study.written(place)
    statement = make_statement(
        study, plan, entry=_entry(job, place, reservation.seq),
        parameters=dict(job.parameters), summary=result.summary,
        conditions=() if job.reports is None else job.reports.conditions, own=result.own,
        date=datetime.now(UTC).date().isoformat(),
    )  # fmt: skip
    if job.parts is not None and not job.parts.about.whole:
        statement = with_parts(statement, study, job.parts, totals_so_far(study, job.ledger))
    tables = result.tables
    worst = plan if job.parts is None else job.parts.worst
    for render in renderers:
        files |= _further(renderers, partial(render, statement, tables, worst))
    files |= _further(renderers, partial(format_files, statement, tables, dict(files)))
    listed = [ReleaseFile(name=name, sha256=hashlib.sha256(content).hexdigest()) for name, content in files.items()]
    statement = structs.replace(statement, files=listed)
    statement = structs.replace(statement, digest=statement_digest(statement))
    files["statement.json"] = write_statement(statement)
    files["statement.txt"] = (statement_text(statement) + "\n").encode()
    return files, tables


def _further(renderers: Sequence[Renderer], make: Callable[[], Mapping[str, bytes]]) -> Mapping[str, bytes]:
    """Files about values that are drawn and paid for: where they cannot be made of these values, the values go alone.

    What is left out says something about released values only. A machine that can make no such file is another thing:
    there nothing is published, and the release may be resumed.
    """
    try:
        return make()
    except Exception as error:
        if _of_the_machine(error, renderers):
            raise
        return {}


def _entry(job: _Job, place: str | None, seq: int) -> LedgerEntry:
    """Where the ledger remembers the release, and who approved it."""
    return LedgerEntry(ledger=place, entry=seq, key=job.key, approved=approved_by(job.ledger, seq))


def _noisy(job: _Job, statistics: Mapping[str | None, Statistics] | None) -> PartsDraw:
    """What is released of every group: the values with noise, in lines and tables."""
    reports, parts = job.reports, job.parts
    if reports is not None:
        if reports.tables is not None and reports.summary is not None:
            return PartsDraw(dict(reports.tables), reports.summary, reports.own)
        drawn = reports.output
        return PartsDraw(job.plan.tables(drawn), summary(job.plan, drawn), error_after(job.plan, drawn))
    if parts is None or statistics is None:
        raise ParameterError("Nothing was read.", allowed="a study with records", fix="data=bw.read(…)")
    sample = parts.draw(statistics)
    if not all(one.private for one in sample.values()):  # noise that somebody can predict protects nobody
        raise ParameterError("The noise came from a seed.", allowed="the system's entropy", fix="draw without a source")
    return parts.told(sample)


def _digests(files: Mapping[str, bytes]) -> tuple[str, str]:
    """Of the values with what was made of them, and of the whole statement."""
    values = {name: content for name, content in files.items() if name not in _STATEMENT}
    return digest_of(values), digest_of({name: files[name] for name in _STATEMENT if name in files})


def _find(stage: Stage, wanted: tuple[str, str | None]) -> tuple[Path, dict[str, bytes]]:
    """Where the files with these digests are, and the files; other files beside them do not matter."""
    for place, result in stage.folders():
        with suppress(KeyError, ParameterError):
            names = {file.name for file in parse_statement(result["statement.json"]).files}.union(_STATEMENT)
            files = {name: content for name, content in result.items() if name in names}
            if _digests(files) == wanted:
                return place, files
    return stage.out, {}


def _finished(
    ledger: Ledger,
    known: Staged | Committed,
    stage: Stage,
    stages: Callable[[str], None],
    plan: Answer | None = None,
    tables: Mapping[str, Rows] | None = None,
) -> Release:
    """Commit and publish what was staged, now or before; never draw again."""
    folders = ledger.folders(known.seq)
    for stage in (stage, *(Stage(folder, known.key) for folder in folders)):  # noqa: B020
        place, files = _find(stage, (known.outputs, known.statement))
        if files:
            break
    else:
        raise LostReleaseError(
            f"The release {known.key!r} was charged (entry {known.seq} of the ledger), but its files were moved or "
            f"changed.",
            allowed="the folder as it was written, published or hidden beside it",
            fix=f"bring {str(stage.out)!r} back, or release under a new --key, which costs again",
        )
    if isinstance(known, Staged):
        stages("commit")
        ledger.commit(known)
    stages("publish")
    try:
        folder = stage.publish(place)
    except OSError as error:
        raise LostReleaseError(
            f"The release {known.key!r} is charged and written, but {str(stage.out)!r} cannot be made: "
            f"{error.strerror}.",
            allowed="a folder of that name that does not exist yet",
            fix="make room and run the same command again: it publishes the finished release and costs nothing",
        ) from None
    with suppress(ParameterError):  # what cannot be removed now is removed when the release is shown again
        _forget([str(stage.out), *folders], known.key)
    return Release.of(files, folder, plan, tables)


def _interrupted(plan: Answer, reservation: Reservation, error: BaseException, given_up: bool) -> LostReleaseError:
    again = "correct the cause and run the same command again: it finishes and costs nothing more"
    return LostReleaseError(
        f"The release was paid for ({price_words(plan)}, entry {reservation.seq} of the ledger) and then "
        f"interrupted: {type(error).__name__}. Nothing was published.",
        allowed="a spent budget is not refunded; a second run with the same key does not spend again",
        fix="correct the cause, then release under a new --key, which is charged again" if given_up else again,
    )


def check_ledger(ledger: Ledger, study: Study) -> None:
    """What can be refused before a plan is made: the ledger is about another data set."""
    budget = ledger.budget
    if (study.dataset is not None and study.dataset != budget.dataset) or study.users != budget.users:
        raise ParameterError(
            f"The study is about {study.users:,} users of {study.dataset or budget.dataset!r}, the ledger about "
            f"{budget.users:,} of {budget.dataset!r}.",
            allowed="the data set and the number of users that the ledger was made for",
            fix="use that data set's own ledger: barrow init makes one",
        )


def _check_place(study: Study, ledger: Ledger, out: str | os.PathLike[str] | None, key: str | None) -> None:
    """A folder that is taken by something else is found before a plan is made; a release may be shown again."""
    place = None if out is None else Path(out)
    for name in (place or ledger.file, study.ledger or ledger.file, key):
        if any("\ud800" <= letter <= "\udfff" for letter in str(name)):  # no statement could be written after paying
            raise ParameterError(
                f"The name {str(name)!r} is not UTF-8.",
                allowed="folders, ledgers and keys whose names are, as statements are",
                fix="rename it, or --out with another folder",
            )
    if place is not None and place.exists() and not (place / "statement.json").is_file():
        raise folder_exists(place)


def _check_plan(plan: Answer) -> None:
    if not drawn_by_curator(plan):
        raise ParameterError(
            f"model is {plan.terms.model.value!r}, but a release from data already held adds noise centrally.",
            allowed="'central'",
            fix="model='central', or barrow local for reports that people randomise themselves",
        )
    if any(paid > granted for paid, granted in zip(charges(plan), plan.terms.granted, strict=True)):
        raise ParameterError(
            "The mechanism would cost more than the question's fraction of a promise.",
            allowed="a mechanism that keeps every promise",
            fix="leave mechanism and randomiser out",
        )


def open_ledger(study: Study, ledger: Ledger | str | os.PathLike[str] | None) -> Ledger:
    """The ledger that pays for a study's releases: the one given, or the one that the study names."""
    if isinstance(ledger, Ledger):
        return ledger
    place = ledger if ledger is not None else study.ledger
    if place is None:
        raise ParameterError(
            "The study names no ledger, and every release must be recorded in one.",
            allowed="ledger, a file",
            fix="barrow init … makes study and ledger; in Python Ledger.create('visits.ledger', study)",
        )
    return Ledger.open(place)


def _place(ledger: Ledger, out: str | os.PathLike[str] | None, name: str) -> Path:
    """The folder of the results: as asked, or a private one beside the ledger."""
    if out is not None:
        return Path(out)
    place = ledger.file
    if place is None:
        raise ParameterError("No output folder is named.", allowed="a new folder", fix="out='results'")
    return Path(f"{place}.answers") / public_digest({"key": name})[:24]


def _room(plan: Answer) -> int:
    """A generous guess of the bytes that the files will need."""
    return 2**20 + 600 * most_rows(plan)


def payment_of(plan: Answer, dataset: str) -> dict[str, Any]:
    """What a ledger is asked to pay for a plan."""
    return {
        "event": plan.event,
        "guarantee": plan.guarantee,
        "space": SpaceRef.of(plan.terms.space, plan.terms.records, plan.terms.number, ungrouped=plan.terms.ungrouped),
        "dataset": dataset,
        "users": plan.terms.users,
        "items": held_by_each(plan).items,
        **({} if plan.terms.reads is None else {"reads": plan.terms.reads}),
    }
