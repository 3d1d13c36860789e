"""The two tables of docs/accuracy.md, from what ``scripts/bench all truth`` kept: one run, all figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.all import KEPT, PAGE

ACCURACY = PAGE.parent / "accuracy.md"
Figures = Mapping[str, Any]
_KINDS = ("line", "map", "tree", "product")


def _held(sort: str) -> Callable[[Figures], str]:
    def told(of: Figures) -> str:
        width = f"{100 * of[f'{sort}_width']:.2g}"
        return f"{of[f'{sort}_coverage']:.1%} of {of[f'{sort}_count']:,} (mean width {width} %)".replace("%", " %", 1)

    return told


def _percent(key: str) -> Callable[[Figures], str]:
    return lambda of: f"{100 * of[key]:.1f} %"


def _most(of: Figures) -> str:
    result = of["decoder_vs_best"]
    return f"{result['most']:.2f} ({result['where']})"


def _worst(of: Figures) -> str:
    name, misses, releases = of["merged_any_miss"]["worst"]
    return f"{misses} of {releases} ({name})"


def _least(of: Figures) -> str:
    share, where = of["worst_sets"][0]
    return f"{100 * share:.1f} % ({where})"


def _pooled(of: Figures) -> str:
    misses, releases = of["merged_any_miss"]["pooled"]
    return f"{misses} of {releases:,}"


_ROWS: Sequence[tuple[str, str, Callable[[Figures], str]]] = (
    ("before: true error over X within [0.25, 1.25]", "90 % of settings", _percent("before_within")),
    ("the same without snapping, on both sides", "", _percent("before_within_without_snapping")),
    ("before: true error below 1.2 Y", "95 %", _percent("before_most_within")),
    ("after: said over true within [0.67, 1.5], cells no finer than nodes", "90 %", _percent("after_within")),
    ("after, coarse nodes: true error between A and 1.25 B", "", _percent("after_coarse_between")),
    ("items that stand out, held", "93 %", _held("standing_out")),
    ("busiest 50 items, held", "92 %", _held("busiest")),
    ("items with records, held", "92 %", _held("nonzero")),
    ("upper limits, held", "94 %", _held("limits")),
    ("the least of these four in any setting with 20 or more", "85 %", _least),
    (
        "decoder of cells over the best of four in hindsight, mean",
        "1.2",
        lambda of: f"{of['decoder_vs_best']['mean']:.2f}",
    ),
    ("the same, the most", "2 on a set touched once", _most),
    (
        "people strictly inside the median's interval over the width of one cumulative share's, mean",
        "2",
        lambda of: f"{of['median_probability_width']:.2f}",
    ),
    ("the same, the most", "2", lambda of: f"{of['median_probability_width_most']:.2f}"),
    (
        "intervals of the median that hold it",
        "95 %",
        lambda of: f"{100 * of['median_coverage']:.1f} % of {of['median_releases']:,}",
    ),
    ("releases with a miss anywhere among blocks", "5 %", _pooled),
    ("the same, the worst set", "13 of 150", _worst),
)


def overview(figures: Figures) -> str:
    """What was aimed at and what came out, of all settings and of sets touched once."""
    once = figures["touched_once"]
    lines = [
        f"| | aim | all {figures['settings']} settings | the {once['settings']} of sets touched once |",
        "|---|---|---|---|",
    ]
    for what, aim, told in _ROWS:
        lines.append(f"| {what} | {aim} | {told(figures)} | {told(once)} |")
        if told is _most:
            extreme = figures["decoder_vs_best_extremes"]
            what = "the same on four made-up extremes, the most"
            lines.append(f"| {what} | 4 | {extreme['most']:.2f} ({extreme['where']}) | |")
    return "\n".join(lines)


def _range(values: Sequence[float]) -> str:
    return f"{np.median(values):.2f} ({min(values):.2f} to {max(values):.2f})" if values else ""


def by_kind(figures: Figures) -> str:
    """The same for each kind of set."""
    lines = [
        "| | settings | true/X, median (least to most) | said after/true, median | coarse nodes: between A and 1.25 B "
        "| items with records held | a miss anywhere |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in _KINDS:
        rows = [row for row in figures["rows"][: figures["settings"]] if row["kind"] == kind]
        after = [row["after"] / row["true"] for row in rows if not row["coarse_nodes"]]
        coarse = [row for row in rows if row["coarse_nodes"] and row["between"] is not None]
        inside = sum(row["between"][0] <= row["true"] <= 1.25 * row["between"][1] for row in coarse)
        known = [row["held"]["nonzero"] for row in rows if "nonzero" in row["held"]]
        held = 100 * sum(many * share for many, share in known) / sum(many for many, _ in known)
        missed, releases = (sum(row["any_miss"][i] for row in rows) for i in (0, 1))
        lines.append(
            f"| {len({row['set'] for row in rows})} {kind}s | {len(rows)} | "
            f"{_range([row['true'] / row['about'] for row in rows])} | {_range(after)} | {inside} of {len(coarse)} | "
            f"{held:.1f} % | {missed} of {releases:,} |"
        )
    return "\n".join(lines)


def written(page: str, figures: Figures) -> str:
    """The page with both tables made anew."""
    for table in (overview(figures), by_kind(figures)):
        head = table.split("|")[2].strip()
        lines = page.split("\n")
        start = next(i for i, line in enumerate(lines) if line.startswith(f"| | {head} |"))
        end = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
        page = "\n".join([*lines[:start], table, *lines[end:]])
    return page


def save() -> str:
    """Write them into the page."""
    figures = json.loads(KEPT.read_text())["truth"]["figures"]
    ACCURACY.write_text(written(ACCURACY.read_text(encoding="utf-8"), figures), encoding="utf-8")
    return str(ACCURACY)
