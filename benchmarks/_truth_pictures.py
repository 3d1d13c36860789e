"""The two pictures of docs/accuracy.md, drawn from what ``scripts/bench all truth`` kept: the same bytes every time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from barrow.render import figures as fig
from benchmarks.all import KEPT, PAGE

FOLDER = PAGE.parent / "pictures"


def _by_set(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The rows of each real set, in the order of the run."""
    result: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        result.setdefault(f"{row['set']} ({row['kind']})", []).append(row)
    return result


def errors(rows: Sequence[Mapping[str, Any]]) -> fig.Figure:
    """The true error over the one that plans said, for each set."""
    sets = _by_set(rows)
    times = [np.exp(np.mean([np.log(row["true"] / row["about"]) for row in each])) for each in sets.values()]
    title = "True error over what plans said, mean over the settings of each set (1 is exact)"
    return fig.bars(list(sets), times, unit="", title=title)


def misses(rows: Sequence[Mapping[str, Any]]) -> fig.Figure:
    """Which share of the intervals of items with records miss, for each set."""
    sets = _by_set(rows)
    shares = []
    for each in sets.values():
        known = [row["held"]["nonzero"] for row in each]
        shares.append(1.0 - sum(many * held for many, held in known) / sum(many for many, _ in known))
    title = "Share of 95 % intervals of items with records that miss, for each set"
    return fig.bars(list(sets), shares, title=title)


PICTURES = {"accuracy-errors": errors, "accuracy-misses": misses}


def drawn() -> dict[str, fig.Figure]:
    """Both, from the figures that are kept."""
    figures = json.loads(KEPT.read_text())["truth"]["figures"]
    rows = figures["rows"][: figures["settings"]]  # after them come the made-up extremes
    return {name: draw(rows) for name, draw in PICTURES.items()}


def save(folder: Path = FOLDER) -> list[str]:
    """Write them."""
    return [str(figure.save(folder / f"{name}.svg")) for name, figure in drawn().items()]
