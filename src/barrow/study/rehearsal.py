"""Everything that a release does after it was paid, tried before on a public dummy: what cannot be written is not paid.

A writer that fails then fails for every value alike. So an attempt that breaks off while the dummy fails, too, says
nothing about the values that were drawn, and may be resumed (docs/proofs/budget.md, section 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from barrow.engines import Counts
from barrow.errors import ParameterError
from barrow.questions import Answer
from barrow.questions.answer import Rows
from barrow.questions.statement import Statement
from barrow.spaces import Line
from barrow.study.formats import format_files
from barrow.study.outputs import value_files
from barrow.study.prose import statement_text
from barrow.study.statement import make_statement, write_statement
from barrow.study.study import Study

Renderer = Callable[[Statement, Mapping[str, Rows], Answer], Mapping[str, bytes]]
"""From a statement, its tables and its plan to further files, e.g. a report."""
_PLACE: Rows = [{"output": "dummy", "lat": 0.0, "lon": 0.0, "value": 0.5, "unit": ""}]


@cache
def _dummy() -> tuple[Study, Answer, dict[str, Rows]]:
    """The mean of two people who hold the same public item; its noise is drawn for nothing."""
    study = Study(Line(0, 2, step=1), alpha=1, users=2, dataset="rehearsal", missing="default item")
    plan = study.plan("mean")
    sample = plan.draw(plan.statistics(Counts([1], [1], [2], users=2)))
    return study, plan, plan.tables(sample)


def rehearse(renderers: Iterable[Renderer], folder: Path | None = None) -> None:
    """Let every writer write a public dummy; an error, which costs nothing, where one cannot.

    Args:
        renderers: What makes further files.
        folder: Where files that are needed on the way are written.

    >>> rehearse([])
    """
    try:
        study, plan, tables = _dummy()
        value_files({"values": _PLACE}, mapped=True, folder=folder)
        statement = make_statement(study, plan)
        for render in renderers:
            render(statement, tables, plan)
        format_files(statement, tables, {f"{name}.csv": b"" for name in tables})
        write_statement(statement)
        statement_text(statement)
    except Exception as error:
        raise ParameterError(
            f"Results cannot be written here: {type(error).__name__}: {error}. Nothing was spent.",
            allowed="a machine on which tables, statement and report can be written",
            fix="repair it (pip install --force-reinstall barrow brings missing parts back), then run the same command",
        ) from error
