"""The study file ``study.toml``, read strictly: what it may hold is written down as types.

Numbers are read as written: ``delta = 1e-9`` is 1/10^9, not the binary number next to it.
"""

from __future__ import annotations

import math
import os
import time
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from barrow.engines import table_names, with_tables
from barrow.errors import ParameterError, nearest_name, path_text, plain_file, plain_table
from barrow.numerics import exact_text
from barrow.promises import Grouping, Model, Promise, UserLevel
from barrow.questions.statement import Publication
from barrow.registry import usable
from barrow.spaces import cell_key, parse_spec, space_from_spec
from barrow.study.arguments import from_here, from_study
from barrow.study.data import Data
from barrow.study.study import Study

if TYPE_CHECKING:
    from barrow.study.study import Study

AUTO = "auto"
"""In place of the size of a space's cells: they are chosen (:mod:`barrow.study.grids`)."""
_LARGEST = 2**22
_MOST = 1000
"""Promises, and questions, of one study."""
Number = Any
"""A number as written, or a text; what it means is checked where it is used."""
Place = tuple[str | int, ...]
"""The way to a space in plain data: nothing for the space itself, ``("parts", 0)`` for the first part of a product."""


class DataTable(msgspec.Struct, forbid_unknown_fields=True):
    """``[data]``: where the records are."""

    source: str | None = None
    sql: str | None = None
    user: str | None = None
    items: list[str] | str = msgspec.field(default_factory=list)
    weight: str | None = None
    outside: str = "error"
    version: str | int | None = None
    acknowledge_sql: bool = False
    encoding: str = "utf-8"
    timeout: str | None = None
    per_person: str | None = None
    time: str | None = None
    period: str | None = None
    zone: str | None = None


class GroupTable(msgspec.Struct, forbid_unknown_fields=True):
    """``[[group]]``: a public attribute that puts everybody into exactly one group, or a hidden one of records."""

    name: str
    sizes: dict[str, int] = msgspec.field(default_factory=dict)
    column: str | None = None
    labels: list[str] = msgspec.field(default_factory=list)
    distance: Number | None = None


class PromiseTable(msgspec.Struct, forbid_unknown_fields=True):
    """``[[promise]]``: what must stay hidden."""

    share: Number
    distance: Number
    epsilon: Number
    scope: str | None = None


class PrivacyTable(msgspec.Struct, forbid_unknown_fields=True):
    """``[privacy]``: a separate user-level budget."""

    user_epsilon: Number | None = None
    user_delta: Number = 0


class StudyFile(msgspec.Struct, forbid_unknown_fields=True):
    """Everything that a study file may hold."""

    space: dict[str, Any]
    title: str = ""
    description: str = ""
    dataset: str | int | None = None
    users: int | None = None
    model: str = "central"
    honest: Number = 1
    aggregators: int | None = None
    dishonest: int | None = None
    ledger: str | None = None
    missing: str | None = None
    alpha: Number | None = None
    delta: Number = 0
    out: str | None = None
    periods: int | None = None
    composition: str = "additive"
    data: DataTable | None = None
    group: list[GroupTable] = msgspec.field(default_factory=list)
    promise: list[PromiseTable] = msgspec.field(default_factory=list)
    question: list[dict[str, Any]] = msgspec.field(default_factory=list)
    privacy: PrivacyTable = msgspec.field(default_factory=PrivacyTable)
    publication: dict[str, Any] = msgspec.field(default_factory=dict)


_ALIKE = (
    "users", "model", "aggregators", "dishonest", "missing", "alpha", "delta", "periods", "composition", "publication",
    "title", "description",
)  # fmt: skip
"""What a study file calls as the arguments of a study are called."""
_KEPT = (
    "title", "description", "dataset", "users", "model", "honest", "aggregators", "dishonest", "ledger", "alpha",
    "delta", "periods", "composition", "data", "missing",
)  # fmt: skip
"""The first keys of a study file, in their order."""
_ARGUMENTS = {"honest": "honest_fraction"}
"""Keys of a study file that have another name as arguments."""
_KEYS = sorted(
    {
        name
        for table in (StudyFile, DataTable, GroupTable, PromiseTable, PrivacyTable, Publication)
        for name in table.__struct_fields__
    }
)


def study_from_spec(
    spec: Mapping[str, Any], folder: str | os.PathLike[str] | None = None, *, acknowledge_sql: bool = False
) -> Study:
    """The study that plain data describe; unknown keys are refused.

    Args:
        spec: Plain data, as a study file holds them.
        folder: Where the names of files start; here by default.
        acknowledge_sql: Whether to accept a query that barrow cannot check. What the data say about
            that is their author's word, and does not count.

    >>> study_from_spec({"space": {"kind": "earth"}, "alpha": 25}).alpha
    Fraction(25, 1)
    """
    if not isinstance(spec, Mapping):
        raise _refused(f"it is a {type(spec).__name__} and not a table")
    if "space" not in spec:
        raise ParameterError(
            "The study names no space.",
            allowed="a [space] table; the domain is public and never learnt from the data",
            fix='[space]\nkind = "earth"',
        )
    try:
        result = msgspec.convert(dict(spec), StudyFile)
    except (msgspec.ValidationError, RecursionError, UnicodeEncodeError) as error:
        raise _refused(str(error) or "it is nested too deeply") from None
    for name, rows in (("promises", result.promise), ("questions", result.question), ("groupings", result.group)):
        if len(rows) > _MOST:
            raise ParameterError(
                f"The study has {len(rows):,} {name}.", allowed=f"at most {_MOST:,}", fix="make several studies"
            )
    space = with_tables(floats(result.space), folder)
    return Study(
        space if auto_spec(space) else space_from_spec(space),  # cells that are to be chosen need the promises
        [Promise(row.share, row.distance, row.epsilon, scope=row.scope) for row in result.promise],
        **{name: getattr(result, name) for name in _ALIKE},
        dataset=None if result.dataset is None else str(result.dataset),
        questions=[floats(question) for question in result.question],
        honest_fraction=result.honest,
        data=_data(result.data, folder or "", acknowledge_sql),
        ledger=None if result.ledger is None else from_here(result.ledger, folder or ""),
        folder=folder,
        groups=[Grouping(row.name, row.column, row.sizes, row.labels, floats(row.distance)) for row in result.group],
        user_level=None
        if result.privacy.user_epsilon is None
        else UserLevel(
            result.privacy.user_epsilon,
            result.privacy.user_delta,
            model=Model(result.model) if result.model else Model.CENTRAL,
        ),
    )


def _data(table: DataTable | None, folder: str | os.PathLike[str], acknowledge_sql: bool) -> Data | None:
    if table is None:
        return None
    told = msgspec.structs.asdict(table)
    told["source"] = None if table.source is None else from_here(table.source, folder)
    told["items"] = tuple([table.items] if isinstance(table.items, str) else table.items)
    return Data(**{**told, "acknowledge_sql": acknowledge_sql})


def auto_spec(space: Any) -> dict[str, Any] | None:
    """The plain data of a space whose cells are to be chosen, or those of some of its parts; None for all others."""
    spec = parse_spec(space) if isinstance(space, str) else dict(space) if isinstance(space, Mapping) else None
    return spec if spec is not None and auto_places(spec) else None


def auto_places(spec: Mapping[str, Any], above: Place = ()) -> list[Place]:
    """Where in plain data cells are to be chosen."""
    key = cell_key(spec.get("kind"))
    results = [above] if key and isinstance(spec.get(key), str) and spec[key] == AUTO else []
    parts = spec.get("parts")
    inside = list(enumerate(parts)) if isinstance(parts, list | tuple) else []
    nested = [((*above, "parts", i), part) for i, part in inside] + [((*above, "inner"), spec.get("inner"))]
    return results + [place for at, part in nested if isinstance(part, Mapping) for place in auto_places(part, at)]


def _refused(problem: str) -> ParameterError:
    unknown = problem.partition("unknown field `")[2].partition("`")[0]
    close = nearest_name(unknown, _KEYS) if unknown else None
    if unknown and close == unknown:
        return ParameterError(
            f"The study cannot be read: {problem}: {unknown!r} belongs to another table.",
            allowed=", ".join(StudyFile.__struct_fields__),
            fix="move that key",
        )
    return ParameterError(
        f"The study cannot be read: {problem}." + (f" Did you mean {close!r}?" if close else ""),
        allowed=", ".join(StudyFile.__struct_fields__),
        fix=f"rename it to {close!r}" if close else "correct or remove that key",
    )


def floats(value: Any) -> Any:
    """Decimals as the numbers that constructors take; a float means its shortest decimal, so nothing is lost."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): floats(item) for key, item in value.items()}
    return [floats(item) for item in value] if isinstance(value, list) else value


def read_table(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The plain data in the TOML file ``path``."""
    file = plain_file(path_text(path, "The study file"), "The study file")
    try:
        if file.stat().st_size > _LARGEST:
            raise _too_large(f"The study file {str(path)!r}")
        return tomllib.loads(file.read_text(encoding="utf-8"), parse_float=_decimal)
    except FileNotFoundError:
        raise ParameterError(
            f"There is no study file {str(path)!r}.",
            fix="barrow init … writes one; or --study FILE names another",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"The study file {str(path)!r} cannot be read: {error}.", fix="check the path") from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"The study file {str(path)!r} is not TOML: {str(error)[:200]}.", allowed="TOML", fix="correct that line"
        ) from None


def _too_large(what: str) -> ParameterError:
    return ParameterError(
        f"{what} is too large.",
        allowed=f"at most {_LARGEST // 2**20} MiB",
        fix="put public tables into files of their own",
    )


def _decimal(text: str) -> Decimal | float:
    value = Decimal(text)
    return value if value.is_finite() and value.adjusted() < 400 and -value.adjusted() < 400 else float(text)


def read_study(path: str | os.PathLike[str], *, acknowledge_sql: bool = False) -> Study:
    """The study in the TOML file ``path``.

    Args:
        path: The file.
        acknowledge_sql: Whether to accept a query that barrow cannot check.

    >>> read_study("nowhere.toml")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: There is no study file 'nowhere.toml'.
      fix:     barrow init … writes one; or --study FILE names another
    """
    folder = Path(path_text(path, "The study file")).parent
    return study_from_spec(read_table(path), folder, acknowledge_sql=acknowledge_sql)


def spec_of(study: Study, folder: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Plain data that :func:`study_from_spec` reads back from the same folder (frames in memory are left out)."""
    level, given = study.user_level, study._given
    spec = {name: _plain(given.get(_ARGUMENTS.get(name, name))) for name in _KEPT}
    if study.data is not None:
        spec["data"] = study.data.to_spec()
        if folder is not None and "source" in spec["data"]:
            spec["data"]["source"] = from_study(spec["data"]["source"], folder)
    if study.ledger is not None and folder is not None:
        spec["ledger"] = from_study(study.ledger, folder)
    spec |= {
        "space": study.space.to_spec(),
        "privacy": level and {"user_epsilon": _number(level.epsilon), "user_delta": _number(level.delta)},
        "publication": study.publication and msgspec.to_builtins(study.publication),
        "group": [grouping.to_spec() for grouping in study.groups] or None,
        "promise": [promise_table(promise) for promise in study.promises] or None,
        "question": [question.to_spec() for question in study.requests] or None,
    }
    return {key: value for key, value in spec.items() if value is not None}


def _plain(value: Any) -> Any:
    """An argument as a file holds it."""
    if isinstance(value, Fraction):
        return _number(value)
    return value.value if isinstance(value, Model) else value


def promise_table(promise: Promise) -> dict[str, Any]:
    """A promise as ``[[promise]]`` has it.

    >>> promise_table(Promise("1 of 30", "10 km", "0.5", scope="any month"))
    {'share': '1 of 30', 'distance': '10 km', 'epsilon': 0.5, 'scope': 'any month'}
    """
    scope = {} if promise.scope is None else {"scope": promise.scope.text}
    return {
        "share": promise.share_text,
        "distance": promise.distance,
        "epsilon": _number(promise.epsilon),
        **scope,
    }


def _number(value: Fraction) -> int | float | str:
    """The shortest way to write an exact number: a decimal where it is one, else a fraction in quotes."""
    text = exact_text(value)
    if value.denominator == 1 and abs(value) < 2**53:
        return int(value)
    short = math.inf if "/" in text else float(text)  # a number beyond all floats is written out
    return short if math.isfinite(short) and Fraction(repr(short)) == value else text


def write_study(study: Study, path: str | os.PathLike[str]) -> None:
    """Write ``study`` to a new TOML file, whole or not at all; an existing file is never overwritten.

    Records and ledger are named as seen from the file's folder.

    >>> import tempfile
    >>> from barrow.study.study import Study
    >>> file = Path(tempfile.mkdtemp()) / "study.toml"
    >>> write_study(Study("earth", alpha=25), file)
    >>> read_study(file).alpha
    Fraction(25, 1)
    """
    file = Path(path_text(path, "The study file"))
    if not isinstance(study, Study):
        raise ParameterError(f"The study is {study!r}.", allowed="a Study", fix="bw.Study(space, promises)")
    text = _text(plain_table(spec_of(study, file.parent), "The study"))
    partial = file.with_name(f".{file.name}.{os.getpid()}-{time.monotonic_ns()}")
    try:
        with partial.open("x", encoding="utf-8") as out:
            out.write(text)
        try:
            os.link(partial, file)  # unlike a rename, this fails if the file exists
        finally:
            partial.unlink()
    except FileExistsError:
        raise ParameterError(
            f"The file {str(path)!r} exists.", allowed="a new file", fix="choose another name, or remove it first"
        ) from None
    except OSError as error:
        raise ParameterError(
            f"The file {str(path)!r} cannot be written: {error.strerror}.", fix="choose another folder"
        ) from None


def study_text(study: Study) -> str:
    """The text of a study file."""
    return _text(plain_table(spec_of(study) if hasattr(study, "to_spec") else study, "The study"))


def study_from_text(text: str) -> Study:
    """The study that the text of a stranger's study file describes: one that names no file and no database."""
    if len(text) > _LARGEST:
        raise _too_large("The study")
    try:
        spec = tomllib.loads(text, parse_float=_decimal)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise ParameterError(f"The study is not TOML: {str(error)[:200]}.", allowed="TOML", fix="correct it") from None
    held = spec.get("data")
    if isinstance(held, dict) and set(held) == {"outside"}:  # a word about records, and not where they are
        held = None
    named = [key for key in ("ledger", "out") if key in spec] + ([] if held is None else ["data"])
    named += table_names(spec.get("space"))
    if named:
        raise ParameterError(
            f"The study names files ({', '.join(named)}), which are not opened, because somebody else chose them.",
            allowed="a study that holds everything itself",
            fix="ask whoever published it for one that names no files",
        )
    with usable("built in"):
        return study_from_spec(spec)


def _text(spec: Mapping[str, Any]) -> str:
    """TOML with a table of its own for each promise and question, as people write it."""
    import tomli_w

    rows = {name: spec[name] for name in ("promise", "question") if name in spec}
    plain = {name: table for name, table in rows.items() if not any(_nested(row) for row in table)}
    text = tomli_w.dumps({name: value for name, value in spec.items() if name not in plain})
    for name, table in plain.items():
        text += "".join(f"\n[[{name}]]\n{tomli_w.dumps(row)}" for row in table)
    return text


def _nested(row: Mapping[str, Any]) -> bool:
    return any(isinstance(value, Mapping) for value in row.values())
