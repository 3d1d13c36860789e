"""What the arguments of a study may be: read from all their forms, checked, and refused with what to type."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any
from urllib.parse import quote, unquote

from barrow.engines import with_tables
from barrow.errors import ParameterError, one_of, reading
from barrow.numerics import exact_text
from barrow.promises import Aggregation, Model, Promise, UserLevel
from barrow.promises.definitions import share as fraction_of
from barrow.promises.policy import to_promise
from barrow.promises.records import MISSING
from barrow.questions import Question, to_question
from barrow.spaces import Elsewhere, NoRecords, Space, parse_space, parse_spec, space_from_spec
from barrow.spaces.augmented import has_outside
from barrow.study.data import Data

_FILES = ("sqlite", "duckdb")
"""Schemes of addresses that name a file; all other addresses are servers'."""


def honest_share(honest: Any, model: Model) -> Fraction:
    """The share of honest people, checked against the model."""
    result = fraction_of(honest, "honest")
    if result != 1 and model is Model.AGGREGATED:
        raise ParameterError(
            f"honest is {exact_text(result)}, but the model is 'aggregated', which needs no honest share of people.",
            allowed="honest for model = 'shuffle' only",
            fix="leave honest out; dishonest = 1 says how many aggregators may break the rules",
        )
    if result != 1 and model is not Model.SHUFFLE:
        raise ParameterError(
            f"honest is {exact_text(result)}, and the model is {model.value!r}, which needs no honest share of people.",
            allowed="honest for model = 'shuffle' only",
            fix="leave honest out",
        )
    return result


def parties_of(aggregators: Any, dishonest: Any, model: Model) -> Aggregation | None:
    """Who adds up in the aggregated model; refused in others.

    >>> parties_of(3, None, Model.AGGREGATED), parties_of(None, None, Model.LOCAL)
    (Aggregation(aggregators=3, dishonest=1, planned=None), None)
    """
    if model is Model.AGGREGATED:
        return Aggregation(2 if aggregators is None else aggregators, 1 if dishonest is None else dishonest)
    for name, value in (("aggregators", aggregators), ("dishonest", dishonest)):
        if value is not None:
            raise ParameterError(
                f"{name} is {value!r}, and the model is {model.value!r}, which has no aggregators.",
                allowed=f"{name} for model = 'aggregated' only",
                fix=f"leave {name} out, or model = 'aggregated'",
            )
    return None


def space_of_any(space: Any) -> Space:
    """A space, from what stands for one."""
    if isinstance(space, Space):
        return space
    if isinstance(space, str):
        spec = parse_spec(space)
        return parse_space(space) if spec is None else space_from_spec(with_tables(spec))
    if isinstance(space, Mapping):
        return space_from_spec(with_tables(space))
    raise ParameterError(
        f"The space is a {type(space).__name__}.",
        allowed="a space, a text such as 'line(low=0, high=100, step=1)', or a table",
        fix="bw.Line(0, 100, step=1, unit='years')",
    )


def effective_space(space: Space, data: Data | None) -> Space:
    """The space with an item for what is outside it, where the records ask for one."""
    wanted = data is not None and data.outside == "elsewhere" and not has_outside(space)
    if not wanted:
        return space
    elsewhere = Elsewhere(space.records_space)
    return elsewhere if space.no_records_distance is None else NoRecords(elsewhere, distance=space.no_records_distance)


def checked_missing(missing: Any, space: Space, model: Model) -> str | None:
    """What people without records hold, checked."""
    if missing is not None and missing not in MISSING:
        raise ParameterError(f"missing is {missing!r}.", allowed=", ".join(map(repr, MISSING)), fix=MISSING[0])
    apart = missing == MISSING[0] or (missing is None and space.no_records_distance is not None)
    if apart and model is not Model.CENTRAL:
        raise ParameterError(
            f"missing is 'no records', and the model is {model.value!r}, in which everybody who takes part reports.",
            allowed="missing = 'no records' for model = 'central'",
            fix="missing = 'default item'",
        )
    return None if missing is None else str(missing)


def with_outside(space: Space, data: Data | None) -> Data | None:
    """The records, read as the space says where it has an item for what is outside."""
    if data is None or not has_outside(space) or data.outside == "elsewhere":
        return data
    if data.outside == "error":
        return replace(data, outside="elsewhere")
    raise ParameterError(
        f"outside is {data.outside!r}, but the space has an item for what is outside.",
        allowed="'elsewhere'",
        fix="outside = 'elsewhere'",
    )


def records_of(data: Any) -> Data | None:
    """Records, from what stands for them."""
    if data is None or isinstance(data, Data):
        return data
    if isinstance(data, Mapping) and set(data) <= set(Data.__dataclass_fields__) and "user" in data:
        return Data(**data)
    raise ParameterError(
        f"The records are a {type(data).__name__}.",
        allowed="what bw.read(…) gives, which says who is one person, or a table like [data]",
        fix="data=bw.read(source, user='uid', item='age')",
    )


def promises_of(promises: Any) -> tuple[Promise, ...]:
    """One promise, or several, in any of their forms."""
    single = isinstance(promises, str | Promise | Mapping) or _is_triple(promises)
    if not single and not isinstance(promises, Iterable):
        raise ParameterError(
            f"The promises are a {type(promises).__name__}.",
            allowed="promises, texts 'share, distance, epsilon', or triples",
            fix='["all, 300 m, 0.5"]',
        )
    return tuple(_promise(promise) for promise in ([promises] if single else promises))


def _promise(promise: Any) -> Promise:
    if isinstance(promise, Mapping):
        with reading("The promise", allowed="share, distance, epsilon, scope", fix='"all, 300 m, 0.5"'):
            return Promise(**promise)
    return to_promise(promise)


def user_level_of_any(level: Any) -> UserLevel | None:
    """A user-level budget, from what stands for one."""
    if level is None or isinstance(level, UserLevel):
        return level
    return UserLevel(*level) if isinstance(level, tuple) and 0 < len(level) <= 2 else UserLevel(level)


def _is_triple(promises: Any) -> bool:
    """Whether this is one promise as a tuple, and not a tuple of promises."""
    return (
        isinstance(promises, tuple)
        and len(promises) == 3
        and not any(isinstance(part, Promise | tuple | list) for part in promises)
        and not all(isinstance(part, str) and part.count(",") >= 2 for part in promises)
    )


def questions_of(request: Any) -> tuple[Question, ...]:
    """The questions, each with a name of its own."""
    single = isinstance(request, Question | str | Mapping | type) or not isinstance(request, Iterable)
    results = tuple(to_question(one) for one in ([request] if single else request))
    names = [question.label for question in results]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(
            f"Two questions are called {twice!r}.", allowed="a name of its own for each", fix=f'name = "{twice}-2"'
        )
    return results


def asked_together(questions: tuple[Question, ...], model: Model, hidden: Collection[str] = ()) -> tuple[Question, ...]:
    """What is released: quantiles beside a histogram are read off it, but not by ``hidden`` groupings."""
    if any(set(question.by) & set(hidden) for question in questions):
        return questions
    if model is not Model.CENTRAL or not {"histogram", "quantile"} <= {question.kind for question in questions}:
        return questions
    from barrow.questions.quantile import read_together  # with both kinds there, their modules are loaded

    return read_together(questions)


def checked_text(value: Any, name: str) -> str:
    """A short text."""
    text = str(value).strip() if isinstance(value, str | int) else ""
    if not text or len(text) > 200:
        raise ParameterError(f"{name} is {text[:50]!r}.", allowed="1 to 200 characters", fix=f'{name} = "visits"')
    return text


def checked_composition(composition: str, promises: Sequence[Promise], delta: Fraction, model: Model) -> str:
    """How releases add up at promises.

    >>> checked_composition("additive", [], Fraction(0), Model.CENTRAL)
    'additive'
    """
    one_of(composition, "composition", ("additive", "quadrature"))
    if composition == "quadrature" and not (promises and delta > 0 and model is Model.CENTRAL):
        raise ParameterError(
            "Releases add up in quadrature at promises with a delta above 0, in the central model.",
            allowed="promises, and delta above 0",
            fix='delta = "1e-9", or composition = "additive"',
        )
    return composition


def from_here(name: str, folder: str | os.PathLike[str]) -> str:
    """What a study file in ``folder`` calls ``name``, as it is called from here.

    >>> from_here("visits.csv", "demo"), from_here("visits.csv", ""), from_here("/data/visits.csv", "demo")
    ('demo/visits.csv', 'visits.csv', '/data/visits.csv')
    >>> from_here("sqlite:///visits.db?table=visits", "my demo"), from_here("postgresql://host/db?table=visits", "demo")
    ('sqlite:///my%20demo/visits.db?table=visits', 'postgresql://host/db?table=visits')
    """
    start, path, end = _split(name)
    if not path or os.path.isabs(path) or os.fspath(folder) in ("", "."):
        return name
    return _joined(start, os.path.join(folder, path), end)


def from_study(name: str, folder: str | os.PathLike[str]) -> str:
    """What is called ``name`` here, as a study file in ``folder`` calls it: the other way round.

    An absolute path stays one, unless it leads into the study's folder.

    >>> from_study("demo/visits.csv", "demo"), from_study("visits.csv", "demo"), from_study("/data/visits.csv", "demo")
    ('visits.csv', '../visits.csv', '/data/visits.csv')
    >>> from_study("sqlite:///my%20demo/visits.db?table=visits", "my demo")
    'sqlite:///visits.db?table=visits'
    """
    start, path, end = _split(name)
    if not path:
        return name
    result = os.path.relpath(path, os.fspath(folder) or ".")
    outside = result == os.pardir or result.startswith(os.pardir + os.sep)
    return name if os.path.isabs(path) and outside else _joined(start, result, end)


def written_name(name: str, folder: str | None, ledger: str | None) -> str:
    """The name of a file or an address as a study in ``folder`` calls it; as it is where nothing says where that is.

    A study without a file is where its ledger is: read from a file there, it asks for the same release.

    >>> written_name("/data/visits.csv", None, "/data/visits.ledger"), written_name("/data/visits.csv", None, None)
    ('visits.csv', '/data/visits.csv')
    """
    if folder is None and ledger is not None and "://" not in ledger:
        folder = os.path.dirname(ledger)
    return name if folder is None else from_study(name, folder)


def _split(name: str) -> tuple[str, str, str]:
    """What stands before a path, the path (empty where a server is named), and what stands behind it."""
    scheme, colon, rest = name.partition("://")
    if not colon:
        return ("", "", "") if name.startswith(("local[", "local?")) else ("", name, "")
    if scheme not in _FILES:
        return "", "", ""
    path, mark, query = rest.partition("?")
    return f"{scheme}:///", unquote(path[1:]), mark + query


def _joined(start: str, path: str, end: str) -> str:
    return f"{start}{quote(path)}{end}" if start else path
