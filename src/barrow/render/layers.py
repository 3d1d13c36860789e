"""What else a picture of released values could show: the noise drawn again, and ordinary user-level DP.

Both take the released values for the truth and add noise from a seed: they are made of what was released alone, cost
nothing, and are the same whenever the release is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from barrow.numerics.exact import near
from barrow.promises import Model
from barrow.questions import Answer
from barrow.questions.answer import Sample, number
from barrow.questions.comparing import by_user_level
from barrow.questions.releasing import noisy_values, simulated
from barrow.questions.statement import AnswerFacts
from barrow.questions.value_tables import Rows, bounds_of, values_of
from barrow.render.figures.layers import FigureLayer

_SEED = 20261118
_FRAMES = ((8, 1), (2000, 3), (12_000, 2), (40_000, 1))
"""So many draws up to so many values; beyond them there are no layers."""
_ANOTHER = "If the released values were the truth, the noise could as well have shown this. What changes is noise."
_USER_LEVEL = (
    "If the released values were the truth, ordinary user-level DP that keeps the same promises (ε = {}) could have "
    "shown this. Simulated; nothing was released this way."
)


def layers_of(answer: Answer | None, facts: AnswerFacts, tables: Mapping[str, Rows]) -> list[FigureLayer]:
    """The layers of a picture of released values; none where the plan is not known or there are too many values."""
    if answer is None:
        return []
    many = next((frames for most, frames in _FRAMES if len(tables["values"]) <= most), 0)
    drawn = [rows for k in range(many) if (rows := _drawn(answer, tables, _SEED + k)) is not None]
    layers = [_layer("Another draw", _ANOTHER, facts, drawn)] if drawn else []
    other = by_user_level(answer) if drawn else None
    if other is not None and (rows := _drawn(other[0], tables, _SEED)) is not None:
        layers.append(_layer("User-level DP", _USER_LEVEL.format(near(other[1], digits=3)), facts, [rows]))
    return layers


def _layer(name: str, about: str, facts: AnswerFacts, drawn: Sequence[Rows]) -> FigureLayer:
    bounds = [bounds_of(facts, {"values": rows}) for rows in drawn]
    ends = [(one.low, one.high) for one in bounds if one.low is not None and one.high is not None]
    return FigureLayer(name, about, [values_of(rows) for rows in drawn], ends)


def _drawn(answer: Answer, tables: Mapping[str, Rows], seed: int) -> Rows | None:
    """The rows of one more draw; None where released values do not say what noise would be added to."""
    rows, space = tables["values"], answer.terms.space
    if "item" in rows[0] and "share" in rows[0]:
        missing = [number(row, "share") for row in tables.get("no_records", [])]
        shares = np.maximum([*(number(row, "share") for row in rows), *missing], 0.0)
        if len(shares) != space.items or not shares.sum() > 0.0:
            return None
        again = simulated(answer, shares / shares.sum(), seed)[: len(rows)]
        if all(number(row, "share") >= 0.0 for row in rows):  # decoded, and so are these but for whole reports
            again = np.maximum(again, 0.0)
        return [{"share": share} for share in again.tolist()]
    values = noisy_values(answer, tables) if answer.terms.model is Model.CENTRAL else None
    if values is None:
        return None
    again = values + simulated(answer, np.zeros(space.items), seed)
    drawn = answer.tables(Sample(again))["values"]
    return drawn if all(row.get("determined", True) for row in drawn) else None
