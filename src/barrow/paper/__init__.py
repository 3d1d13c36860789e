"""The paper, reproduced: one row for each definition, algorithm, theorem, table, example and numeric claim.

Every row is measured by the code that the package ships, with fixed seeds, and comes to a verdict. ``docs/paper.md`` is
made from the same rows.
"""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.paper.page import markdown, paper_html, to_json
    from barrow.paper.registry import VERDICTS, Measured, Result, Row, reproduce, reproduce_all, rows
else:
    __getattr__, __dir__ = lazily(__name__)
