"""The study file ``study.toml``: one place that says everything that is public about a study.

Paths in it are relative to the folder in which barrow runs.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barrow.engines import Columns, Source
from barrow.errors import ParameterError
from barrow.numerics import exact_text
from barrow.planning import sampling_of
from barrow.policy import Policy, Promise
from barrow.privacy import Model, UserLevel
from barrow.privacy.definitions import positive, probability, share, to_model
from barrow.queries import Query, query_from_spec
from barrow.spaces import Space, space_from_spec
from barrow.spaces.base import Unknown

if TYPE_CHECKING:
    from barrow.ledger import Ledger
    from barrow.release.plan import Plan
    from barrow.release.record import Release

_KEYS = {
    "": ("dataset", "users", "model", "ledger", "out", "data", "space", "query", "privacy", "promise"),
    "[data]": ("source", "sql", "user", "items", "unknown"),
    "[privacy]": ("alpha", "delta", "part", "noise", "user_epsilon", "user_delta"),
    "[[promise]]": ("share", "distance", "epsilon"),
}


@dataclass(frozen=True)
class Study:
    """What a study says: the space, the promises (or alpha), the question, and where the data are.

    Args:
        space: The space of items.
        promises: Promises that alpha has to keep; or
        alpha: alpha itself.
        delta: The probability with which promises may fail.
        part: The part of the promised alpha that this release may use, in (0, 1].
        noise: ``"auto"`` or the noise to use.
        query: The question, as plain data: its kind and its arguments.
        source: Where the records are: a path, the address of a database, or in Python a frame.
        user: The column that says whose record it is.
        items: The columns that say what the item is.
        unknown: What to do with missing or unknown records: ``"error"``, ``"default"`` or ``"nearest"``.
        user_level: A separate user-level budget, out of which releases about other spaces are paid by their worst
            case; without it they are refused.
        dataset: A public name of the data set.
        users: n, how many people the data are about; public.
        model: Who adds the noise.
        ledger: The file that remembers what was spent.
        out: The folder for the results.

    >>> from barrow.spaces import Line
    >>> study = Study(
    ...     Line(0, 100, unit="years", step=1), promises=(Promise("all", "5 years", "0.5"),),
    ...     query={"kind": "mean"}, users=1000,
    ... )
    >>> round(float(study.alpha_exact), 3), study.question.description
    (8.333, 'the mean over people of the mean of their items (years)')
    """

    space: Space
    promises: tuple[Promise, ...] = ()
    alpha: Fraction | None = None
    delta: Fraction = Fraction(0)
    part: Fraction = Fraction(1)
    noise: str = "auto"
    query: Mapping[str, Any] | None = None
    source: Source | None = None
    user: str | None = None
    items: tuple[str, ...] = ()
    unknown: Unknown = "error"
    user_level: UserLevel | None = None
    dataset: str | None = None
    users: int | None = None
    model: Model = Model.CENTRAL
    ledger: str | None = None
    out: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.alpha is not None and self.promises:
            raise ParameterError("The study gives alpha and promises.", allowed="one of them", fix="remove alpha")
        if self.users is not None and (isinstance(self.users, bool) or self.users != int(self.users) or self.users < 1):
            raise ParameterError(f"users is {self.users!r}.", allowed="a whole number, 1 or more", fix="users = 100000")
        if self.unknown not in ("error", "default", "nearest"):
            raise ParameterError(
                f"unknown is {self.unknown!r}.", allowed="'error', 'default' or 'nearest'", fix="unknown = 'default'"
            )
        share(self.part, "part")

    @property
    def policy(self) -> Policy:
        """The promises as a policy; a study that gives alpha itself has none."""
        if not self.promises:
            raise ParameterError(
                "The study makes no promises.", allowed="[[promise]] tables", fix="barrow choose … --save study.toml"
            )
        return Policy(self.space, self.promises, delta=self.delta)

    @cached_property
    def alpha_exact(self) -> Fraction:
        """Alpha of this release: as given, or the largest that keeps the promises, times ``part``."""
        return (self.policy.alpha_exact if self.alpha is None else self.alpha) * self.part

    @cached_property
    def question(self) -> Query:
        """The query, made on the space."""
        if self.query is None:
            raise ParameterError("The study asks no question.", allowed="a [query] table", fix='[query]\nkind = "mean"')
        if self.asks_items:
            raise ParameterError(
                "The study asks for items one by one, which is no mean over people.",
                allowed="a linear query such as mean, histogram or density",
                fix="study.plan() and study.release() for items; barrow local for people who randomise themselves",
            )
        return query_from_spec(self.space, self.query)

    @property
    def asks(self) -> str | None:
        """The kind of the question, if one is asked."""
        return None if self.query is None else str(self.query.get("kind"))

    @property
    def asks_items(self) -> bool:
        """Whether the question is item-wise (reports on all items) and not a mean over people."""
        return self.asks in ("items", "frequency")

    @property
    def samples(self) -> int | None:
        """s, where the question draws items from each person first (the reduction to bounded data)."""
        found = sampling_of(self.query or {})[1] if self.asks_items else None
        return None if found is None else found.samples

    @property
    def columns(self) -> Columns:
        """The user and item columns."""
        if self.user is None or not self.items:
            raise ParameterError(
                "The study does not say which columns hold the user and the item.",
                allowed="[data] with user and items; barrow never guesses who is one person",
                fix='[data]\nuser = "uid"\nitems = ["lat", "lon"]',
            )
        return Columns(self.user, self.items)

    def plan(self) -> Plan:
        """What a release would give and cost; reads no private value."""
        from barrow.release.plan import make_plan

        return make_plan(self)

    def release(self, *, ledger: Ledger | None = None, key: str | None = None, progress: bool = False) -> Release:
        """Release the answer: reserve, draw, commit, write."""
        from barrow.release.run import run_release

        return run_release(self, ledger=ledger, key=key, progress=progress)

    def to_spec(self) -> dict[str, Any]:
        """Plain data that :func:`study_from_spec` reads back (frames in memory are left out)."""
        data: dict[str, Any] = {"user": self.user, "items": list(self.items) or None}
        if self.source is not None and self.source.path is not None:
            data |= {"source": self.source.text if self.source.table else self.source.path, "sql": self.source.sql}
        elif self.source is not None:
            data["sql"] = self.source.sql
        if self.unknown != "error":
            data["unknown"] = self.unknown
        privacy = {
            "alpha": None if self.alpha is None else exact_text(self.alpha),
            "delta": exact_text(self.delta),
            "part": None if self.part == 1 else exact_text(self.part),
            "noise": None if self.noise == "auto" else self.noise,
        }
        if self.user_level is not None:
            privacy["user_epsilon"] = exact_text(self.user_level.epsilon)
            privacy["user_delta"] = exact_text(self.user_level.delta)
        promises = [
            {"share": p.share_text, "distance": p.distance, "epsilon": exact_text(p.epsilon)} for p in self.promises
        ]
        spec = {
            "dataset": self.dataset,
            "users": self.users,
            "model": self.model.value,
            "ledger": self.ledger,
            "out": self.out,
            "data": _given(data),
            "space": self.space.to_spec(),
            "query": None if self.query is None else dict(self.query),
            "privacy": _given(privacy),
            "promise": promises or None,
        }
        return {key: value for key, value in _given(spec).items() if value != {}}


def _given(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def study_from_spec(data: Mapping[str, Any]) -> Study:
    """The study that plain data describe; unknown keys are refused.

    >>> study_from_spec({"space": {"kind": "earth"}, "privacy": {"alpha": 25}}).alpha_exact
    Fraction(25, 1)
    """
    _refuse_unknown(data, "")
    if "space" not in data:
        raise ParameterError(
            "The study names no space.",
            allowed="a [space] table; the domain is public and never learnt from the data",
            fix='[space]\nkind = "earth"',
        )
    privacy = _table(data, "privacy")
    where = _table(data, "data")
    source = None
    if "source" in where or "sql" in where:
        source = Source.parse(where.get("source"), sql=where.get("sql"))
    items = where.get("items", ())
    model = to_model(data.get("model", "central"))
    user_level = None
    if "user_epsilon" in privacy:
        user_level = UserLevel(privacy["user_epsilon"], privacy.get("user_delta", 0), model=model)
    return Study(
        space=space_from_spec(_table(data, "space", known=False)),
        promises=_promises(data.get("promise", [])),
        alpha=None if "alpha" not in privacy else positive(privacy["alpha"], "alpha"),
        delta=probability(privacy.get("delta", 0)),
        part=share(privacy.get("part", 1), "part"),
        noise=str(privacy.get("noise", "auto")),
        query=_table(data, "query", known=False) if "query" in data else None,
        source=source,
        user=where.get("user"),
        items=(items,) if isinstance(items, str) else tuple(items),
        unknown=where.get("unknown", "error"),
        user_level=user_level,
        dataset=None if data.get("dataset") is None else str(data["dataset"]),
        users=data.get("users"),
        model=model,
        ledger=data.get("ledger"),
        out=data.get("out"),
    )


def _promises(rows: Any) -> tuple[Promise, ...]:
    if not isinstance(rows, list | tuple):
        raise ParameterError("promise is not a list of tables.", allowed="[[promise]]", fix="write [[promise]] twice")
    promises = []
    for row in rows:
        if not isinstance(row, Mapping):
            raise ParameterError(f"A promise is {row!r}.", allowed="a table", fix="[[promise]]")
        _refuse_unknown(row, "[[promise]]")
        missing = [key for key in _KEYS["[[promise]]"] if key not in row]
        if missing:
            raise ParameterError(
                f"A promise lacks {', '.join(missing)}.", allowed="share, distance, epsilon", fix='share = "1/30"'
            )
        promises.append(Promise(row["share"], row["distance"], row["epsilon"]))
    return tuple(promises)


def read_study(path: str | Path) -> Study:
    """The study in the TOML file ``path``.

    >>> read_study("nowhere.toml")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: There is no study file 'nowhere.toml'.
      fix:     barrow choose … --save nowhere.toml
    """
    return study_from_spec(read_table(path))


def read_table(path: str | Path) -> dict[str, Any]:
    """The plain data in the TOML file ``path``.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "study.toml"
    >>> _ = file.write_text("users = 3")
    >>> read_table(file)
    {'users': 3}
    """
    file = Path(path)
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParameterError(
            f"There is no study file {str(path)!r}.", fix=f"barrow choose … --save {file.name}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"The study file {str(path)!r} cannot be read: {error}.", fix="check the path") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(
            f"The study file {str(path)!r} is not TOML: {error}.", allowed="TOML", fix="mend that line"
        ) from None


def write_study(study: Study, path: str | Path) -> None:
    """Write ``study`` to a new TOML file, whole or not at all; an existing file is never overwritten.

    >>> import tempfile
    >>> from barrow.spaces import Earth
    >>> file = Path(tempfile.mkdtemp()) / "study.toml"
    >>> write_study(Study(Earth(), alpha=Fraction(25)), file)
    >>> read_study(file).alpha
    Fraction(25, 1)
    """
    import tomli_w

    file = Path(path)
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        partial.write_text(tomli_w.dumps(study.to_spec()), encoding="utf-8")
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


def _table(data: Mapping[str, Any], key: str, *, known: bool = True) -> Mapping[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, Mapping):
        raise ParameterError(f"[{key}] is {value!r}.", allowed="a table", fix=f"[{key}] on a line of its own")
    if known:
        _refuse_unknown(value, f"[{key}]")
    return value


def _refuse_unknown(data: Mapping[str, Any], where: str) -> None:
    allowed: Iterable[str] = _KEYS[where]
    for key in data:
        if key not in allowed:
            close = difflib.get_close_matches(key, allowed, n=1)
            raise ParameterError(
                f"The key {key!r} in {where or 'the study'} is not known."
                + (f" Did you mean {close[0]!r}?" if close else ""),
                allowed=", ".join(allowed),
                fix=f"rename it to {close[0]!r}" if close else f"remove {key!r}",
            )
