"""A release, in the one safe order: validate, read, reserve, draw, commit, write."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from barrow.engines import Counts, engine_for
from barrow.errors import BarrowError, DataError, ParameterError
from barrow.ledger import Ledger
from barrow.numerics import exact_text
from barrow.release.outputs import OutputFolder, digest_of, value_files
from barrow.release.plan import Plan, make_plan
from barrow.release.record import Release
from barrow.release.statement import make_statement, statement_text
from barrow.release.study import Study

_ANY = 1000
"""Stands in for a number of users that is not known yet."""


class LostReleaseError(BarrowError):
    """A release was paid for and then not finished; the text says what was spent.

    >>> LostReleaseError.exit_code
    130
    """

    exit_code = 130


def run_release(
    study: Study, *, ledger: Ledger | None = None, key: str | None = None, progress: bool = False
) -> Release:
    """Release the answer to the study's question, and write its files if the study names a folder.

    Args:
        study: The study.
        ledger: The ledger to charge; by default the one that the study names.
        key: Names this release: the same key is never paid or drawn twice. By default a digest of the study, so
            that running a study again does not draw fresh noise by mistake.
        progress: Show the engine's progress on a terminal.

    >>> import tempfile
    >>> from fractions import Fraction
    >>> from barrow.engines import Source
    >>> from barrow.ledger import Budget, SpaceRef
    >>> from barrow.privacy import Emd
    >>> from barrow.spaces import Line
    >>> line = Line(0, 100, unit="years", step=1)
    >>> study = Study(
    ...     line, alpha=Fraction(5), query={"kind": "mean"}, users=3, dataset="ages",
    ...     source=Source.of({"uid": [1, 2, 3], "age": [20, 30, 40]}), user="uid", items=("age",),
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     budget = Budget("ages", 3, SpaceRef.of(line), Emd(10, model="central"))
    ...     result = run_release(study, ledger=Ledger.create(folder + "/l", budget))
    >>> len(result.values), result.statement["alpha"]
    (1, 5.0)
    """
    engine, plan = _validated(study, progress)
    book = ledger if ledger is not None else _open(study)
    dataset = study.dataset or book.budget.dataset
    folder = None if study.out is None else OutputFolder(study.out)
    try:
        counts, users = _counted(engine, study)
        plan = make_plan(study, users=users) if plan is None else plan
        statistics = plan.statistics(counts, users)
        parameters = _parameters(plan, users)
        name = key or "study-" + hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()[:16]
        reservation = book.reserve(
            key=name,
            what=plan.description,
            event=plan.event,
            guarantee=plan.guarantee,
            space=study.space,
            dataset=dataset,
            users=users,
            items=plan.items,
            parameters=parameters,
        )
    except BaseException:
        if folder is not None:
            folder.discard()
        raise
    try:
        reservation.take()
        drawn, private = plan.draw(statistics)
        if not private:  # noise that somebody can predict protects nobody
            raise ParameterError(
                "The noise came from a seed.", allowed="the system's entropy", fix="draw without a source"
            )
        files = value_files(plan, drawn)
        book.commit(reservation, digest_of(files))
        entry = {"ledger": study.ledger, "entry": reservation.seq, "key": name, "outputs": digest_of(files)}
        return _written(plan, drawn, files, users, entry, parameters, folder)
    except BaseException as error:
        if folder is not None:
            folder.discard()
        raise LostReleaseError(
            f"The release was paid for ({plan.price}, entry {reservation.seq} of the ledger) and "
            f"then not finished: {type(error).__name__}. Nothing was released.",
            allowed="what is spent is never given back",
            fix="mend the cause and release again under a new --key, which costs again",
        ) from (error if isinstance(error, Exception) else None)


def _validated(study: Study, progress: bool) -> tuple[Any, Plan | None]:
    """Everything that can be refused without reading a record; the plan, if n is public already."""
    if study.source is None:
        raise ParameterError(
            "The study names no source.", allowed="a file, a table or a frame", fix="source = 'x.parquet'"
        )
    engine = engine_for(study.source, progress=progress)
    # Names and types of columns are checked by the engine before it reads.
    _ = study.columns
    if study.users is not None:
        return engine, make_plan(study)
    make_plan(study, users=_ANY)  # whatever n will be: what cannot be asked is refused before anything is read
    return engine, None


def _counted(engine: Any, study: Study) -> tuple[Counts, int]:
    """The engine's integers, and n: the public number, or the one found."""
    where, unknown = (study.source, study.columns, study.space), study.unknown
    counts: Counts
    if study.samples is not None:
        counts = engine.sample(*where, samples=study.samples, unknown=unknown, users=study.users)
    else:
        # Item-wise, missing people hold m default items and not one, so the plan adds them and not the engine.
        counts = engine.count(*where, unknown=unknown, users=None if study.asks_items else study.users)
    users = counts.users if study.users is None else study.users
    if users == 1:
        raise DataError(
            "The data are about a single user.", allowed="two users or more", fix="barrow local, for one person"
        )
    return counts, users


def _open(study: Study) -> Ledger:
    if study.ledger is None:
        raise ParameterError(
            "The study names no ledger, and nothing is released that no ledger has recorded.",
            allowed="ledger, a file",
            fix="barrow ledger init FILE --study study.toml --alpha A, then --ledger FILE",
        )
    return Ledger.open(study.ledger)


def _parameters(plan: Plan, users: int) -> dict[str, Any]:
    """Every public number on which the values' law depends."""
    study = plan.study
    return {
        "dataset": study.dataset,
        "users": users,
        "space": study.space.digest,
        "alpha": None if study.samples is not None else exact_text(study.alpha_exact),
        "delta": exact_text(study.delta),
        **plan.law_parameters(),
        "unknown": study.unknown,
        "promises": [[p.share_text, str(p.distance), exact_text(p.epsilon)] for p in study.promises],
    }


def _written(
    plan: Plan,
    drawn: Any,
    files: dict[str, bytes],
    users: int,
    entry: dict[str, Any],
    parameters: dict[str, Any],
    folder: OutputFolder | None,
) -> Release:
    written = [] if folder is None else [folder.write(name, content) for name, content in files.items()]
    said = make_statement(
        plan,
        users=users,
        declared=plan.study.users is not None,
        entry=entry,
        parameters=parameters,
        files=written,
    )
    text = statement_text(said)
    place = None
    if folder is not None:
        folder.write("statement.json", json.dumps(said, indent=2, ensure_ascii=False).encode())
        folder.write("statement.txt", (text + "\n").encode())
        place = folder.publish()
    return Release(plan, drawn, plan.guarantee, said, text, place)
