"""A graph drawn as one: nodes where their distances put them, as large as their values, joined by their edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np
import numpy.typing as npt

from barrow.render.figures.bars import largest_text
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.readings import (
    Beside,
    Numbers,
    Readings,
    checked_labels,
    class_edges,
    class_names,
    classes_of,
)
from barrow.render.figures.svg import Floats, clean, element, hatched, legend, mark, shades_of, text_width

MOST_NODES = 600
_STEPS = 60
Ids = npt.NDArray[np.int64]


def network(
    labels: Sequence[object],
    edges: tuple[Ids, Ids],
    distances: Floats,
    values: Numbers,
    *,
    title: str = "Values on a graph",
    width: int = 720,
    scale: Readings | None = None,
    **beside: Unpack[Beside],
) -> Figure:
    """Nodes and edges of a graph; colour and size of a node say its value.

    Args:
        labels: What each node is.
        edges: The numbers of the nodes that each edge joins.
        distances: How far apart any two nodes are: the picture puts them about so far apart.
        values: One for each node.
        title: What the figure is.
        width: In pixels.
        scale: The readings of all pictures that share this one's scale.
        beside: Intervals, noise and unit, see :class:`Beside`; nodes not above the noise are hatched.

    >>> apart = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> print(network("abc", (np.array([0, 1]), np.array([1, 2])), apart, [0.2, 0.3, 0.5], title="Stops"))
    Stops. The largest value is c: 50 %.
    """
    readings = Readings.of(values, **beside)
    names = checked_labels(labels, len(readings))
    x, y, height = _placed(np.asarray(distances, dtype=np.float64), width)
    cuts = class_edges(readings if scale is None else scale)
    shades = shades_of(class_names(cuts, readings.unit))
    classes = np.asarray(shades)[classes_of(readings, cuts)]
    top = max(float((readings if scale is None else scale).value.max()), 1e-300)
    most = float(np.clip(0.35 * np.sqrt(width * height / len(names)), 7.0, 20.0))
    radius = np.maximum(3.0, most * np.sqrt(np.clip(readings.value, 0.0, top) / top))
    lines = "".join(
        f"M{x[a]:.1f},{y[a]:.1f}L{x[b]:.1f},{y[b]:.1f}" for a, b in zip(*map(Ids.tolist, edges), strict=True)
    )
    body = [element("path", d=lines, class_="road")]
    for i, name in enumerate(names):
        at, r = (float(x[i]), float(y[i])), float(radius[i])
        ground = element("circle", cx=at[0], cy=at[1], r=r, class_="back")
        style = {"class_": f"q{classes[i]} swatch"} if classes[i] else {"class_": "unsure", "fill": hatched()}
        body.append(
            mark(ground, element("circle", cx=at[0], cy=at[1], r=r, **style), at=at, label=readings.describe(i, name))
        )
    body += _names(names, x, y, radius, readings, width)
    key, used = legend(
        class_names(cuts, readings.unit),
        x=6,
        y=height + 8,
        width=width - 6,
        below=bool((classes == 0).any()),
        classes=shades,
    )
    return build_figure(
        *body, key, title=title, description=largest_text(readings, names), width=width, height=height + used + 10,
        kind="network", reach=120,
    )  # fmt: skip


def _placed(apart: Floats, width: int) -> tuple[Floats, Floats, float]:
    """Where nodes are drawn: about as far apart as they are, the longest way level.

    Classical scaling begins, stress is then lowered step by step (Guttman's transform); nothing in it is random.
    """
    count = len(apart)
    centred = apart**2
    centred = -0.5 * (centred - centred.mean(axis=0) - centred.mean(axis=1)[:, None] + centred.mean())
    size, turns = np.linalg.eigh(centred)
    spots = turns[:, ::-1][:, :2] * np.sqrt(np.maximum(size[::-1][:2], 0.0))
    if spots.shape[1] < 2:
        spots = np.column_stack([spots, np.zeros(count)])
    spots = spots * np.where(spots[np.abs(spots).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)  # one sign on every machine
    spots[:, 1] += 1e-3 * apart.max() * np.cos(np.arange(count))  # nodes on one line can pass each other
    for _ in range(_STEPS if count > 2 else 0):
        gap = spots[:, None, :] - spots[None, :, :]
        now = np.maximum(np.hypot(gap[:, :, 0], gap[:, :, 1]), 1e-9 * apart.max())
        ratio = np.where(now > 0, apart / now, 0.0)
        np.fill_diagonal(ratio, 0.0)
        spots = (ratio.sum(axis=1)[:, None] * spots - ratio @ spots) / count
    span = np.maximum(np.ptp(spots, axis=0), 1e-9 * max(apart.max(), 1e-300))
    side, roof = 46.0, 24.0
    scale = min((width - 2 * side) / span[0], 380.0 / span[1])
    low = spots.min(axis=0)
    x = (width - scale * span[0]) / 2 + scale * (spots[:, 0] - low[0])
    y = roof + scale * (spots[:, 1] - low[1])
    return x, y, float(scale * span[1] + 2 * roof)


def _names(names: Sequence[str], x: Floats, y: Floats, radius: Floats, readings: Readings, width: int) -> list[str]:
    """The names of nodes, the largest first, as many as do not touch."""
    taken: list[tuple[float, float, float, float]] = []
    parts = []
    for i in readings.largest(len(names)).tolist():
        text = clean(names[i])[:40]
        half = text_width(text, 11.5) / 2
        level = float(y[i] - radius[i]) - 4
        box = (float(x[i]) - half - 2, level - 10, float(x[i]) + half + 2, level + 2)
        inside = box[0] >= 0 and box[2] <= width
        if inside and not any(box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in taken):
            taken.append(box)
            parts.append(element("text", text=text, x=float(x[i]), y=level, class_="note mid halo"))
    return parts
