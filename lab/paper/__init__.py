"""The paper, reproduced: one row for each definition, algorithm, theorem, table, example and numeric claim.

Every row is measured by the code that the package ships, with fixed seeds, and comes to a verdict. ``docs/paper.md`` is
made from the same rows.
"""

from lab.paper.page import markdown, paper_html, to_json
from lab.paper.registry import VERDICTS, Measured, Result, Row, reproduce, reproduce_all, rows

__all__ = [
    "VERDICTS",
    "Measured",
    "Result",
    "Row",
    "markdown",
    "paper_html",
    "reproduce",
    "reproduce_all",
    "rows",
    "to_json",
]
