"""Several linear questions that are answered together, with noise shaped for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from barrow.errors import ParameterError
from barrow.planning.terms import Terms
from barrow.queries import Query, workload
from barrow.questions.cache import cached_query
from barrow.questions.linear import Linear
from barrow.questions.question import SHARES, Question, asked_of, to_question
from barrow.questions.shaped import StrategyAnswer, shaped
from barrow.questions.shaped_holders import shaped_holders
from barrow.spaces import Space

_LISTED = 12
"""Names of parts that a description holds."""
KINDS = ("density", "distance", "function", "mean", "projection", "region", "similarity")
"""Kinds of question whose answers are means over people of a function of single items."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Workload(Linear):
    """Several linear questions in one release: other combinations get the noise, and the answers follow from them.

    Args:
        parts: The questions: means, distances, regions, densities, functions, similarities or projections, all in one
            unit; as objects, texts or tables. Where all of them have names, these stand beside the values.

    >>> from barrow.spaces import Line
    >>> both = Workload(parts=["distance(to=3)", {"kind": "distance", "to": 7}])
    >>> both.query(Line(0, 10, unit="km", step=1)).dimension
    2
    """

    kind: ClassVar[str] = "workload"
    curated: ClassVar[tuple[str, str] | None] = ("Questions of kind 'workload'", "ask the questions one by one")
    parts: Sequence[Question | str | Mapping[str, object] | type[Question]]

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.parts, str) or not isinstance(self.parts, Sequence) or not self.parts:
            raise ParameterError(
                "parts of the question 'workload' is not a list of questions.",
                allowed="one question or more",
                fix="parts = [\"region(members=['a'], ramp='1 km')\", …]",
            )
        requests = [to_question(part) for part in self.parts]
        for part in requests:
            _check_part(part)
        if self.definition == "user_level":
            raise ParameterError(
                "The definition of a workload is 'user_level'.",
                allowed="'auto' or 'emd': its noise is shaped by distances",
                fix="ask the questions one by one",
            )
        object.__setattr__(self, "parts", tuple(_written(part) for part in requests))
        if all(part.traits.of_shares for part in requests):
            object.__setattr__(self, "traits", SHARES)

    @cached_property
    def questions(self) -> tuple[Linear, ...]:
        """The parts as questions."""
        requests = [to_question(part) for part in self.parts]
        return tuple(part for part in requests if isinstance(part, Linear))

    def query(self, space: Space) -> Query:
        """All parts side by side on ``space``."""
        parts = [part.query(space) for part in self.questions]
        units = sorted({part.unit for part in parts})
        if len(units) > 1:
            raise ParameterError(
                f"The parts of the workload have different units: {', '.join(unit or 'shares' for unit in units)}.",
                allowed="one unit, so that errors can be compared",
                fix="a workload for each unit",
            )
        result = workload(space, parts)
        names = [part.name for part in self.questions if part.name]
        if len(names) < len(parts) or len(parts) < 2:
            return result
        listed = [*names[:_LISTED], *([f"{len(names) - _LISTED} more"] if len(names) > _LISTED else [])]
        return replace(result, description=f"{', '.join(listed[:-1])} and {listed[-1]}, answered together")

    def outputs_of(self, space: Space) -> tuple[str, ...]:
        """The name of the part that each value answers; nothing where a part has none."""
        if not all(part.name for part in self.questions):
            return ()
        return tuple(part.name for part in self.questions for _ in range(cached_query(part, space).dimension))

    def plan(self, terms: Terms) -> StrategyAnswer:
        """The strategy with the smallest half width of its widest answer; it reads no data."""
        self._check(terms)
        if terms.space.no_records_distance is not None:
            return shaped_holders(self, terms)
        query = cached_query(self, terms.space)
        result = shaped(query, terms, self.noise)
        return StrategyAnswer(self, terms, result[0], query, own=tuple(result))


def _written(part: Question) -> dict[str, object]:
    """A part as plain data, with its name where it has one."""
    return {**asked_of(part), **({"name": part.name} if part.name else {})}


def _check_part(part: Question) -> None:
    """Refuse what is no mean over single items, and options that belong to the workload as a whole."""
    if part.kind not in KINDS or not isinstance(part, Linear):
        raise ParameterError(
            f"A part of the workload is a question of the kind {part.kind!r}.",
            allowed=", ".join(KINDS),
            fix="ask it as a question of its own",
        )
    if part.noise != "auto" or part.definition != "auto" or part.fraction is not None:
        raise ParameterError(
            f"The part {part.kind!r} of the workload has a noise, a definition or a fraction of its own.",
            allowed="these for the workload as a whole",
            fix="leave it out of the part",
        )
    if part.kind == "density" and part.to_spec().get("bandwidth") == "auto":
        raise ParameterError(
            "The bandwidth of a density in a workload is 'auto'.",
            allowed="a distance",
            fix="bandwidth = '5 km'",
        )
