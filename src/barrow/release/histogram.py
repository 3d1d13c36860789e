"""Histograms of data already held: the most accurate mechanism for the promise, its noise, and decoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.histograms import HistogramNoise
from barrow.numerics import float_up
from barrow.planning import Candidate, HistogramQuestion, histogram_candidates, reasons, useless
from barrow.release.linear import LinearPlan
from barrow.release.plan import Plan
from barrow.release.study import Study
from barrow.spaces.base import Floats

_KEYS = ("kind", "over", "mechanism", "items", "reference", "decode")
_OUTPUTS = {
    "tree": "what lies below each edge of the tree",
    "pyramid": "the surroundings of each place, at each scale",
    "cells": "each item",
}


@dataclass(frozen=True, eq=False)
class HistogramDraw:
    """What was drawn, and the histogram that it speaks for.

    Attributes:
        raw: The noisy values of the query.
        shares: The histogram decoded from them: one share for each item, with sum 1.

    >>> HistogramDraw(np.array([0.1]), np.array([1.0])).shares.tolist()
    [1.0]
    """

    raw: Floats
    shares: Floats


@dataclass(frozen=True, eq=False)
class HistogramPlan(LinearPlan):
    """What a histogram would be like: the mechanism that was chosen, its EMD error, the guarantee and its price.

    Args:
        made: The query, its noise and its decoder.
        asked: What is asked.
        candidates: All mechanisms that can answer, the most accurate first.
        chosen: The one that will be used.
        cannot: Why each of the others cannot answer.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Clustered
    >>> study = Study(Clustered.grid(5, 4, r=0.02), alpha=Fraction(25), query={"kind": "histogram"}, users=1000)
    >>> plan = study.plan()
    >>> plan.chosen.name, plan.error < 0.01
    ('tree', True)
    """

    kind: ClassVar[str] = "histogram"
    made: HistogramNoise
    asked: HistogramQuestion
    candidates: tuple[Candidate, ...]
    chosen: Candidate
    cannot: Mapping[str, str]

    @property
    def error(self) -> float:
        """The predicted EMD between the released histogram and the true one, in the space's units."""
        return self.chosen.error

    @property
    def description(self) -> str:
        """What is released, in plain words."""
        return f"the histogram of people's items over {self.study.space.items:,} items"

    @property
    def mapped(self) -> bool:
        """Whether the rows are places on a map."""
        return self._on_earth

    def draw(self, statistics: Any) -> tuple[HistogramDraw, bool]:
        """Noisy values and the histogram decoded from them, and whether the noise was the system's."""
        raw, private = super().draw(statistics)
        return HistogramDraw(raw, self.made.decode(raw)), private

    def law_parameters(self) -> dict[str, Any]:
        """The public numbers on which the values' law depends, beside the study's."""
        return {**super().law_parameters(), "mechanism": self.chosen.name, "decode": self.asked.decode}

    def values(self, drawn: HistogramDraw) -> Floats:
        """The histogram."""
        return drawn.shares

    def rows(self, drawn: HistogramDraw) -> list[dict[str, Any]]:
        """One row for each item: its label, its place if it has one, and its share."""
        space = self.study.space
        points = getattr(space, "points", None) if space.kind != "embedding" else None
        return [
            {"item": label, **self._place(points, i), "share": float(share)}
            for i, (label, share) in enumerate(zip(space.labels, drawn.shares, strict=True))
        ]

    def tables(self, drawn: HistogramDraw) -> dict[str, list[dict[str, Any]]]:
        """The histogram, and the unbiased shares with intervals from which it was decoded."""
        return {"values": self.rows(drawn), "unbiased": self.intervals(drawn)}

    def intervals(self, drawn: HistogramDraw) -> list[dict[str, Any]]:
        """The released values themselves: unbiased shares, each with its 95 % interval, cut to [0, 1]."""
        shares, widths = self.made.shares(drawn.raw)
        low, high = np.clip(shares - widths, 0.0, 1.0), np.clip(shares + widths, 0.0, 1.0)
        rows = zip(self.query.outputs, shares.tolist(), low.tolist(), high.tolist(), strict=True)
        return [{"output": name, "share": s, "low_95": a, "high_95": b} for name, s, a, b in rows]

    def summary(self, drawn: HistogramDraw) -> list[str]:
        """The largest shares, and the error to expect."""
        top = np.argsort(-drawn.shares, kind="stable")[:8]
        labels = self.study.space.labels
        return [
            *(f"{labels[i]}: {100 * drawn.shares[i]:.3g} %" for i in top.tolist()),
            f"The histogram is off by {self._about} {self._size(self.error)} (EMD, predicted).",
        ]

    def statement_fields(self) -> dict[str, Any]:
        """What the statement says about the values."""
        return {
            **super().statement_fields(),
            "outputs": self.query.dimension,
            "histogram": {
                "mechanism": self.chosen.name,
                "words": self.chosen.words,
                "unbiased_outputs": _OUTPUTS[self.made.kind],
                "emd_predicted": self.error,
                "about": self._about,
                "emd_undecoded": self.chosen.undecoded,
                "emd_upper_nearest": self.chosen.upper,
                "decode": self.asked.decode,
            },
        }

    def _details(self) -> dict[str, Any]:
        return {
            **super()._details(),
            "mechanism": self.chosen.name,
            "emd_predicted": self.error,
            "emd_blind": self.asked.blind_error,
            "candidates": [candidate.to_json() for candidate in self.candidates],
            "why_others_lose": reasons(self.candidates),
            "cannot_answer": dict(self.cannot),
            "warnings": useless(self.chosen, self.asked.blind_error, self.study.space.unit),
        }

    def _question(self) -> list[str]:
        return [f"Question  {self.description}"]

    def _answer(self) -> list[str]:
        chosen = self.chosen
        lines = [
            f"Chosen    {chosen.name}: {chosen.words}, scale {float_up(self.noise.scale):.3g}",
            f"Error     the histogram is off by {self._about} {self._size(self.error)} (EMD after decoding, predicted)",
        ]
        if chosen.undecoded is not None:
            lines.append(f"          before decoding {self._size(chosen.undecoded)} are expected, whatever the data")
        if self.asked.decode == "nearest" and chosen.upper is not None:
            lines.append(f"          at most {self._size(chosen.upper)} after decoding on average, whatever the data")
        _, widths = self.made.shares(np.zeros(self.query.dimension))
        low, high = float(widths.min()), float(widths.max())
        each = f"± {high:.2g}" if low > 0.99 * high else f"± {low:.2g} to ± {high:.2g}"
        lines.append(f"Intervals the share of {_OUTPUTS[self.made.kind]} {each} (95 %), released too")
        warning = useless(chosen, self.asked.blind_error, self.study.space.unit)
        return [*lines, *(f"Warning   {text}" for text in warning)]

    def _others(self) -> list[str]:
        lost = [f"{name} ({why})" for name, why in reasons(self.candidates).items() if name != self.chosen.name]
        lines = [f"Others    {', '.join(lost)}"] if lost else []
        return lines + [
            f"          {name} cannot answer: {why[0].lower()}{why[1:]}" for name, why in self.cannot.items()
        ]

    @property
    def _about(self) -> str:
        """On large spaces the EMD of simulated releases is bounded, not computed."""
        return "at most about" if self.chosen.note else "about"

    def _size(self, error: float) -> str:
        return f"{error:.3g} {self.study.space.unit}".rstrip()


def make_histogram_plan(study: Study, users: int) -> Plan:
    """The plan of a histogram: all mechanisms are compared, and the most accurate one is chosen; it reads no data.

    >>> from fractions import Fraction
    >>> from barrow.spaces import Line
    >>> query = {"kind": "histogram", "mechanism": "cells"}
    >>> make_histogram_plan(Study(Line(0, 9, step=1), alpha=Fraction(25), query=query), 100).chosen.name
    'cells'
    """
    spec = study.query or {}
    unknown = next((key for key in spec if key not in _KEYS), None)
    if unknown is not None:
        raise ParameterError(
            f"The query 'histogram' has no key {unknown!r}.", allowed=", ".join(_KEYS), fix=f"remove {unknown!r}"
        )
    items = spec.get("items")
    if items is not None and (isinstance(items, bool) or not isinstance(items, int) or items < 1):
        raise ParameterError(f"items is {items!r}.", allowed="a whole number, 1 or more", fix="items = 30")
    asked = HistogramQuestion.of(
        study.space,
        study.delta,
        users=users,
        items=items,
        reference=spec.get("reference", "auto"),
        noise=study.noise,
        decode=str(spec.get("decode", "auto")),
    )
    wanted = str(spec.get("mechanism", "auto"))
    if wanted == "paper":
        raise ParameterError(
            "The mechanism 'paper' is there to be compared with: it gives away accuracy for nothing.",
            allowed="'auto', 'tree', 'pyramid', 'cells' or 'frequency'",
            fix="mechanism = 'frequency', the same randomiser with a tighter accountant",
        )
    found, cannot = histogram_candidates(asked, study.alpha_exact, only=wanted)
    best = next(candidate for candidate in found if candidate.name != "paper")
    if not isinstance(best.mechanism, HistogramNoise):
        from barrow.release.frequency import make_frequency_plan

        return make_frequency_plan(replace(study, query={"kind": "frequency", "items": items}), users)
    made = best.mechanism
    return HistogramPlan(study, made.query, made.noise, best.guarantee, (), made, asked, tuple(found), best, cannot)
