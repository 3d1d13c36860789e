"""The plan: what a release would give and cost, from public numbers only."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from barrow.engines import Counts
from barrow.errors import ParameterError
from barrow.numerics import float_up
from barrow.policy import odds_upper
from barrow.privacy import Event, Guarantee, Model
from barrow.release.study import Study
from barrow.spaces import Earth, Hexagons
from barrow.spaces.base import Floats


class Plan(ABC):
    """What a release would give: the mechanism, its error, its guarantee and its price.

    Attributes:
        kind: Which words describe it: ``linear``, ``items``, …
        study: The study.
        guarantee: What it promises, with the worst case.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Line
    >>> study = Study(Line(0, 100, unit="years", step=1), alpha=Fraction(25), query={"kind": "mean"}, users=1000)
    >>> plan = study.plan()
    >>> plan.kind, round(plan.error, 3), round(plan.worst_epsilon, 6)
    ('linear', 0.012, 24.75)
    """

    kind: ClassVar[str]
    study: Study
    guarantee: Guarantee

    @property
    @abstractmethod
    def description(self) -> str:
        """What is released, in plain words."""

    @property
    @abstractmethod
    def event(self) -> Event:
        """What drawing will cause."""

    @property
    @abstractmethod
    def error(self) -> float:
        """The one number that says how accurate the release will be."""

    @property
    def items(self) -> int | None:
        """m, where the guarantee is bounded; None where people may hold any number of items."""
        return None

    @property
    def mapped(self) -> bool:
        """Whether the rows are places on a map."""
        return False

    @abstractmethod
    def statistics(self, counts: Counts, users: int) -> Any:
        """What noise will be added to, from an engine's integers (private)."""

    @abstractmethod
    def draw(self, statistics: Any) -> tuple[Any, bool]:
        """What is released, the statistics with noise, and whether the noise was the system's."""

    @abstractmethod
    def law_parameters(self) -> dict[str, Any]:
        """The public numbers on which the values' law depends, beside the study's."""

    def values(self, drawn: Any) -> Any:
        """What a caller gets as the released values."""
        return drawn

    def tables(self, drawn: Any) -> dict[str, list[dict[str, Any]]]:
        """The rows of every file of values, by the file's name without its ending."""
        return {"values": self.rows(drawn)}

    @abstractmethod
    def rows(self, drawn: Any) -> list[dict[str, Any]]:
        """One row for each output: its name, its place if it has one, the value, and its error."""

    @abstractmethod
    def summary(self, drawn: Any) -> list[str]:
        """The released values in a few lines, for a terminal."""

    @abstractmethod
    def statement_fields(self) -> dict[str, Any]:
        """What the statement says about the values."""

    @abstractmethod
    def _details(self) -> dict[str, Any]:
        """What is this kind's own in :meth:`to_json`."""

    @abstractmethod
    def _question(self) -> list[str]:
        """The line or lines that say what is asked."""

    @abstractmethod
    def _answer(self) -> list[str]:
        """The lines that say how it is answered and how accurate that is."""

    def _rate(self) -> str:
        """The line that says what is promised."""
        study, space = self.study, self.study.space
        largest = f"{space.diameter:,.1f} {space.unit}" if space.unit else "largest distance"
        return f"α         {float_up(study.alpha_exact):.4g} per {largest}, δ = {float(study.delta):.3g}"

    def _others(self) -> list[str]:
        """The lines about what would keep the promises too, and loses."""
        return []

    @property
    def price(self) -> str:
        """What the ledger is charged with, in words."""
        return f"α {float_up(self.study.alpha_exact):.4g}, δ {float(self.study.delta):.3g}"

    @property
    def samples(self) -> int | None:
        """s, where items are drawn from each person first; None otherwise."""
        return None

    def promised(self, index: int, emd: float) -> float:
        """The epsilon, rounded up, that the study's promise number ``index`` gets: a change of ``emd`` at most."""
        return self.guarantee.epsilon_at(emd)

    @property
    def worst_epsilon(self) -> float:
        """The epsilon, rounded up, if all data of one person were different."""
        return self.guarantee.epsilon_at(1)

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        study, space = self.study, self.study.space
        return {
            "alpha": None if self.samples is not None else float_up(study.alpha_exact),
            "delta": float(study.delta),
            "unit": space.unit,
            "diameter": space.diameter,
            "snapping": space.snapping_upper * space.diameter,
            "users": study.users,
            "model": study.model.value,
            **self._details(),
            "worst_case": {"epsilon": self.worst_epsilon, "odds": odds_upper(self.worst_epsilon)},
            "guarantee": self.guarantee.to_json(),
        }

    def lines(self) -> list[str]:
        """The plan in words, a line each.

        >>> from fractions import Fraction
        >>> from barrow.spaces import Line
        >>> study = Study(Line(0, 100, unit="years", step=1), alpha=Fraction(25), query={"kind": "mean"}, users=1000)
        >>> study.plan().lines()[0]
        'Question  the mean over people of the mean of their items (years)'
        """
        space = self.study.space
        lines = [*self._question(), self._rate()]
        if space.snapping_upper:
            moved = f"{space.snapping_upper * space.diameter:.3g} {space.unit}".strip()
            lines.append(f"Grid      {space.items:,} items; snapping moves a record by at most {moved} (counted in α)")
        return [
            *lines,
            *self._answer(),
            f"Worst     all data of one person different: ε ≤ {self.worst_epsilon:.3g}",
            f"Price     {self.price} of the ledger's budget",
            *self._others(),
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        rows = (line.split(None, 1) for line in self.lines())
        cells = "".join(f"<tr><th align=left>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in rows)
        return f"<table>{cells}</table>"

    def _place(self, points: Floats | None, i: int) -> dict[str, float]:
        """The coordinates of the i-th of some points, by the names of their axes."""
        if points is None:
            return {}
        axes = ("lat", "lon") if self._on_earth else "xyzuvw"
        return dict(zip(axes, np.atleast_1d(points[i]).tolist(), strict=False))

    @property
    def _on_earth(self) -> bool:
        return isinstance(self.study.space, Earth | Hexagons)


def make_plan(study: Study, *, users: int | None = None) -> Plan:
    """The plan of ``study``; it reads no data. ``users`` stands in for a study that does not say n.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Line
    >>> make_plan(Study(Line(0, 1, step=0.1), alpha=Fraction(1), query={"kind": "mean"}), users=10).noise.name
    'Laplace'
    """
    n = study.users if study.users is not None else users
    if n is None:
        raise ParameterError(
            "The study does not say how many people the data are about.",
            allowed="users, a public whole number: a plan reads no data",
            fix="--users 100000, or users = 100000 in the study",
        )
    if study.asks_items:
        from barrow.release.frequency import make_frequency_plan
        from barrow.release.items import make_items_plan

        return make_frequency_plan(study, n) if study.asks == "frequency" else make_items_plan(study, n)
    if study.model is not Model.CENTRAL:
        raise ParameterError(
            f"model is {study.model.value!r}, but a release from data already held adds noise centrally.",
            allowed="'central'",
            fix="model='central', or barrow local for reports that people randomise themselves",
        )
    if n == 1:
        raise ParameterError(
            "users is 1, so the mean over users is one person's answer.",
            allowed="2 or more people",
            fix="barrow local, where each person adds noise",
        )
    from barrow.release.histogram import make_histogram_plan
    from barrow.release.linear import make_linear_plan

    return make_histogram_plan(study, n) if study.asks == "histogram" else make_linear_plan(study, n)
