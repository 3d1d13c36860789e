"""The kinds of questions by name, and questions from texts, tables and classes."""

from __future__ import annotations

import dataclasses
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

import barrow.questions
from barrow.errors import ParameterError, nearest_name
from barrow.questions.base import Question
from barrow.spaces import parse_call


def question_kinds() -> dict[str, type[Question]]:
    """Every kind of question by its name: whatever class with a ``kind`` stands in this folder.

    >>> question_kinds()["mean"].__name__
    'Mean'
    """
    _load()
    return dict(sorted(Question.kinds.items()))


@cache
def _load() -> None:
    for module in pkgutil.iter_modules(barrow.questions.__path__):
        import_module(f"barrow.questions.{module.name}")


def to_question(asked: Question | str | Mapping[str, Any] | type[Question]) -> Question:
    """The question that was asked: an object, a text such as ``"density(bandwidth='1 km')"``, a table, or a class.

    >>> from barrow.questions import Mean
    >>> to_question("density(bandwidth='1 km')"), to_question({"kind": "mean"}), to_question(Mean)
    (Density(bandwidth='1 km'), Mean(), Mean())
    >>> to_question("maen")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The kind of question is 'maen'. Did you mean 'mean'?
      allowed: circular_mean, density, ...
      fix:     mean
    """
    if isinstance(asked, Question):
        return asked
    if isinstance(asked, type) and issubclass(asked, Question):
        return _made(asked, {})
    if isinstance(asked, str):
        spec = parse_call(asked)
        if spec is None:
            raise ParameterError(
                f"The question {asked[:200]!r} cannot be read.",
                allowed="a kind of question with named arguments",
                fix='"mean", "histogram" or "density(bandwidth=\'5 km\')"',
            )
        return to_question(spec)
    if not isinstance(asked, Mapping):
        raise ParameterError(
            f"The question is a {type(asked).__name__}.",
            allowed="a question, a text or a table",
            fix='"mean"',
        )
    options = {str(key): value for key, value in asked.items()}
    if options.get("over") == "people":  # the only answer there is, and what the first studies wrote out
        options.pop("over")
    name = str(options.pop("kind", "")).replace("-", "_")
    kinds = question_kinds()
    for kind in kinds.values():
        if name in kind.formerly:
            return _made(kind, kind.formerly[name](options))
    if name not in kinds:
        close = nearest_name(name, kinds)
        raise ParameterError(
            f"The kind of question is {name!r}." + (f" Did you mean {close!r}?" if close else ""),
            allowed=", ".join(kinds),
            fix=close or "mean",
        )
    return _made(kinds[name], options)


def _made(kind: type[Question], options: Mapping[str, Any]) -> Question:
    """The question, or an error that names the option that is wrong."""
    known = {field.name: field for field in dataclasses.fields(kind)}
    missing = [
        name
        for name, field in known.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING and name not in options
    ]
    if missing and set(options) <= set(known):  # an option that is not known is refused below, with the nearest one
        raise ParameterError(
            f"The question {kind.kind!r} lacks {', '.join(missing)}.",
            allowed=", ".join(known),
            fix=f'"{kind.kind}({missing[0]}=…)"',
        )
    return kind(**options)
