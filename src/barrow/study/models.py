"""One question under the same promises in all four models, side by side: the error of each, and who must be trusted."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barrow.errors import ParameterError
from barrow.numerics.exact import near
from barrow.promises import Aggregation, Model
from barrow.questions import to_question

if TYPE_CHECKING:
    from barrow.study.study import QuestionLike, Study

_TRUSTED = {
    Model.CENTRAL: "a curator, with all records",
    Model.SHUFFLE: "the mixer, to mix messages and keep no trace",
    Model.LOCAL: "nobody",
}
_WIDTH = 80


@dataclass(frozen=True)
class ModelRow:
    """What a question would be like in one model.

    Attributes:
        model: Who adds the noise.
        error: Its predicted error; None where it cannot be answered.
        trusted: Who must be trusted.
        why: Why it cannot be answered; empty where it can.
    """

    model: Model
    error: float | None
    trusted: str
    why: str = ""


@dataclass(frozen=True)
class ModelComparison:
    """The rows of all models, the most trusting first.

    Attributes:
        description: What is asked.
        unit: Of the errors.
        rows: One for each model.

    >>> from barrow.study import Study
    >>> study = Study("clustered(shape=[5, 4], r=0.02)", alpha=25, users=10_000)
    >>> result = compare_models(study, "histogram")
    >>> [(row.model.value, row.error is None) for row in result.rows]
    [('central', False), ('aggregated', False), ('shuffle', True), ('local', False)]
    """

    description: str
    unit: str
    rows: Sequence[ModelRow]

    def to_json(self) -> list[dict[str, object]]:
        """Plain data."""
        return [
            {"model": row.model.value, "error": row.error, "trusted": row.trusted, "why": row.why} for row in self.rows
        ]

    def __str__(self) -> str:
        known = [row.error for row in self.rows if row.error is not None]
        least = known[0] if known else 0.0
        table = [("model", "error", "times", "who must be trusted")]
        for row in self.rows:
            if row.error is None:
                table.append((row.model.value, "-", "", f"cannot answer: {row.why}"))
                continue
            times = f"{row.error / least:.3g}" if least else ""
            table.append((row.model.value, near(row.error, self.unit), times, row.trusted))
        heads = [f"{model:11}{error:>14} {times:>6}  " for model, error, times, _ in table]
        pairs = zip(heads, table, strict=True)
        return "\n".join(
            textwrap.fill(row[3], _WIDTH, initial_indent=head, subsequent_indent=" " * len(head)) for head, row in pairs
        )


def compare_models(study: Study, request: QuestionLike = None, *, held: int | None = None) -> ModelComparison:
    """A question of a study in all four models, each planned for the same promises; reads no private value.

    Args:
        study: The study; its own model does not matter, and two aggregators are taken where it names none.
        request: The question.
        held: How many items each person holds, where that is public and the same for all.
    """
    question = study.question(request)
    if held is not None:
        with suppress(ParameterError):  # most kinds do not care
            question = to_question({**question.to_spec(), "items": held})
    rows, description, unit = [], "", study.space.unit
    refused: ParameterError | None = None
    for model in reversed(Model):
        parties = (study.parties or Aggregation()) if model is Model.AGGREGATED else None
        trusted = _TRUSTED[model] if parties is None else parties.trusted
        try:
            here = study.replace(
                model=model,
                questions=[question],
                missing=study.missing if model is Model.CENTRAL else None,
                **({} if model is Model.SHUFFLE else {"honest_fraction": 1}),
            )
            answer = here.plan(here.questions[0])
        except ParameterError as error:
            refused = refused or error
            problem = error.problem.rstrip(".")
            rows.append(ModelRow(model, None, trusted, problem[:1].lower() + problem[1:]))
            continue
        if not description:
            description, unit = answer.description, answer.error_unit
        rows.append(ModelRow(model, answer.error, trusted))
    if refused is not None and not description:
        raise refused
    return ModelComparison(description, unit, tuple(rows))
