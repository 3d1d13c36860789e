"""What the page asks, taken apart with care: each mistake is found where it was made, so that it is shown there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from barrow.errors import BarrowError, ParameterError
from barrow.promises import Policy, Promise
from barrow.questions import Question, to_question
from barrow.questions.cache import Cache
from barrow.spaces import Space, parse_distance, parse_space, space_from_spec
from barrow.study import Study, study_from_spec

_SPACES: Cache[Space] = Cache(8)
_FEW = 60


class MisfitError(Exception):
    """A mistake, and the control of the page that it belongs to."""

    def __init__(self, where: str, error: BarrowError) -> None:
        super().__init__(str(error))
        self.where, self.error = where, error

    def to_json(self) -> dict[str, Any]:
        """What the page shows beside the control."""
        return {"where": self.where, **self.error.to_json()}


@contextmanager
def at(where: str) -> Iterator[None]:
    """Mistakes in here belong to the control ``where``."""
    try:
        yield
    except BarrowError as error:
        raise MisfitError(where, error) from None


def space_of(spec: Any) -> Space:
    """The space of plain data, or of a text such as ``{"call": "line(low=0, high=1, step=0.1)"}``; kept."""
    if not isinstance(spec, Mapping):
        raise ParameterError("The space is no table.", allowed="a kind of space", fix="choose one from the list")
    if "call" in spec:
        return _SPACES.get(json.dumps(spec), lambda: parse_space(str(spec["call"])))
    return _SPACES.get(json.dumps(spec, sort_keys=True), lambda: space_from_spec(spec))


@dataclass(frozen=True)
class DesignRequest:
    """A study as the page has it, and the number of the question that is looked at."""

    study: Study
    looked: int

    @property
    def question(self) -> Question:
        """The question that is shown."""
        return self.study.question(self.study.requests[self.looked])

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> DesignRequest:
        """Plain data of the page, checked in the order in which the page shows them."""
        spec = body.get("study")
        if not isinstance(spec, Mapping):
            raise MisfitError("page", ParameterError("No study was sent.", fix="reload the page"))
        with at("space"):
            space = space_of(spec.get("space"))
        promises = _promises(spec.get("promise"), space)
        questions = _questions(spec.get("question"))
        rest = {key: value for key, value in spec.items() if key not in ("space", "promise", "question")}
        built = _rest(rest)
        with at("questions"):
            study = built.replace(space=space, promises=promises, questions=questions)
        looked = body.get("looked", 0)
        looked = looked if isinstance(looked, int) and 0 <= looked < len(questions) else 0
        return cls(study, looked)


def _rest(spec: Mapping[str, Any]) -> Study:
    """A study of everything but space, promises and questions; what is wrong is looked for part by part."""
    plain = {"space": {"kind": "discrete", "labels": ["a", "b"]}}
    try:
        return study_from_spec({**plain, **spec})
    except BarrowError as error:
        for name, table in _PARTS:
            with at(name):
                study_from_spec({**plain, **{key: spec[key] for key in table if key in spec}})
        raise MisfitError("page", error) from None


_PARTS = (
    ("users", ("users",)),
    ("dataset", ("dataset",)),
    ("delta", ("delta",)),
    ("data", ("data",)),
    ("groups", ("users", "group")),
    ("periods", ("data", "periods")),
)


def _promises(rows: Any, space: Space) -> list[Promise]:
    results = []
    for k, row in enumerate(_tables(rows, "promises", "No promise is given.")):
        with at(f"promise-{k}"):
            parts = [row.get(name, "") for name in ("share", "distance", "epsilon")]
            results.append(Promise(*parts, scope=row.get("scope") or None))
            Policy(space, results[-1:])
    return results


def _questions(rows: Any) -> list[Question]:
    questions: list[Question] = []
    for k, row in enumerate(_tables(rows, "questions", "No question is given.")):
        with at(f"question-{k}"):
            questions.append(to_question(row))
            if questions[-1].label in [question.label for question in questions[:-1]]:
                raise ParameterError(
                    f"Two questions are called {questions[-1].label!r}.",
                    allowed="a name of its own for each",
                    fix=f"{questions[-1].label}-{k + 1}",
                )
    return questions


def _tables(rows: Any, where: str, empty: str) -> list[Mapping[str, Any]]:
    with at(where):
        if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
            raise ParameterError(empty, allowed="at least one", fix="add one")
    return rows


def rescaled(body: Mapping[str, Any]) -> list[str]:
    """The distances of a study's promises for the space ``body["space"]``, as parts of the largest distance.

    >>> line = {"kind": "line", "low": 0, "high": 100, "step": 1, "unit": "years"}
    >>> promises = [{"share": "all", "distance": "5 years", "epsilon": 1}, {"distance": "anywhere"}]
    >>> day = {"kind": "circle", "period": 24, "step": 0.1, "unit": "h"}
    >>> rescaled({"study": {"space": line, "promise": promises}, "space": day})
    ['0.6 h', 'anywhere']
    """
    study = body.get("study")
    rows = study.get("promise") if isinstance(study, Mapping) else None
    old, new = space_of(study.get("space") if isinstance(study, Mapping) else None), space_of(body.get("space"))
    results, least = [], _least(new)
    for row in rows if isinstance(rows, list) else []:
        typed = row.get("distance", "anywhere") if isinstance(row, Mapping) else "anywhere"
        try:
            part = float(parse_distance(typed, old))
        except BarrowError:
            part = 1.0
        part = max(part, least)
        far = float(f"{part * (new.diameter if new.unit else 1.0):.1g}")
        results.append("anywhere" if part >= 1.0 or far <= 0.0 else f"{far:g} {new.unit}".strip())
    return results


def _least(space: Space) -> float:
    """The least distance between two of a few items, as a part of the largest: nothing moves by less."""
    if space.size is None or space.items > _FEW:
        return 0.0
    pairs = ((i, j) for i in range(space.items) for j in range(i))
    return min(float(space.distance(i, j)) for i, j in pairs)
