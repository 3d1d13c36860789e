"""What a release gives back: values with their errors, the guarantee, and the statement that goes with them."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.privacy import Guarantee
from barrow.release.plan import Plan
from barrow.spaces.base import Floats


@dataclass(frozen=True)
class Release:
    """A release: everything in it may be published.

    Args:
        plan: What was planned, with the public n.
        drawn: What was drawn, as the plan's kind has it.
        guarantee: What is promised, with the worst case.
        statement: The statement, as plain data.
        text: The statement in words.
        folder: Where the files are; None if none were written.

    >>> Release.__dataclass_params__.frozen
    True
    """

    plan: Plan
    drawn: Any
    guarantee: Guarantee
    statement: Mapping[str, Any]
    text: str
    folder: Path | None

    @property
    def values(self) -> Floats:
        """The released values, one for each output."""
        found: Floats = self.plan.values(self.drawn)
        return found

    @property
    def error(self) -> float:
        """The one number that says how accurate the release is; for a linear one the 95 % half width."""
        return self.plan.error

    def rows(self) -> list[dict[str, Any]]:
        """One row for each output: its name, its place if it has one, the value, its error and unit."""
        return self.plan.rows(self.drawn)

    def _repr_html_(self) -> str:
        shown = self.rows()[:20]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in shown[0])
        body = "".join("<tr>" + "".join(f"<td>{html.escape(f'{v}')}</td>" for v in r.values()) + "</tr>" for r in shown)
        more = "" if len(self.values) <= 20 else f"<p>… and {len(self.values) - 20:,} more</p>"
        words = "".join(f"<p>{html.escape(line)}</p>" for line in self.text.splitlines() if line)
        return f"{words}<table><tr>{head}</tr>{body}</table>{more}"
