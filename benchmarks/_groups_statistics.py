"""How often intervals of hidden groups hold, and how often "more than the noise" is false, by simulation."""

from __future__ import annotations

import numpy as np

from barrow import Grouping, Line, Study
from barrow.mechanisms.additive import NoiseDistribution
from barrow.questions.answer import Sample
from barrow.render.report.series import differences

SHARES = (0.7, 0.2, 0.07, 0.02, 0.009, 0.001, 0.0)
"""Of the groups: skewed, sparse, and one without any records."""


def coverage(draws: int) -> dict[str, float]:
    """How often the intervals of all groups with records hold at once, and how often the empty one is determined."""
    line = Line(0, 50, unit="km", step=1, whole=True)
    labels = [f"g{i}" for i in range(len(SHARES))]
    grouping = Grouping("group", labels=labels, distance="20 km")
    study = Study(line, ["1 of 10, 5 km, 0.5", "1 of 10, another group, 0.5"], users=20_000, groups=[grouping])
    rng, points = np.random.default_rng(1), np.asarray(line.geometry.places).ravel()
    inside = rng.exponential(1.0, (len(SHARES), line.items)) * np.exp(-np.arange(line.items) / 10.0)
    rows = inside / inside.sum(axis=1, keepdims=True)
    exact = np.append((rows * np.array(SHARES)[:, None]).ravel(), 0.0)
    true = {
        "mean": rows @ points,
        "median": points[[int(np.searchsorted(np.cumsum(row), 0.5 - 1e-12)) for row in rows]],
    }
    figures: dict[str, float] = {}
    for question, answers in true.items():
        plan = study.plan(question, by="group")
        center = np.asarray(plan.query.table.integers.toarray() * float(plan.query.step)).T @ exact  # type: ignore[attr-defined]
        held = determined = 0
        for _ in range(draws):
            noisy = center + rng.laplace(0.0, float(plan.noise.scale), len(center))  # type: ignore[attr-defined]
            tables = plan.tables(Sample(noisy, private=False))["values"]
            pairs = list(zip(tables, answers, SHARES, strict=True))
            held += all(row["low_95"] <= x <= row["high_95"] for row, x, share in pairs if share)
            determined += bool(tables[-1]["determined"])
        figures[f"{question}_all_groups_hold"] = round(held / draws, 4)
        figures[f"{question}_empty_group_determined"] = round(determined / draws, 4)
    return figures


def false_differences(draws: int) -> dict[str, float]:
    """How often any two of twelve equal months are called different."""
    rng, names = np.random.default_rng(2), [str(month) for month in range(12)]
    kinds = {"laplace": (1.0, rng.laplace), "gaussian": (None, rng.normal)}
    figures = {}
    for kind, (p, draw) in kinds.items():
        half = NoiseDistribution(p, 1).quantile(0.05)
        false = 0
        for _ in range(draws):
            values = draw(size=len(names))
            low, high = (values - half).tolist(), (values + half).tolist()
            told = differences(names, values.tolist(), low, high, additive=True)
            false += told[0].startswith("More")
        figures[f"{kind}_false_differences"] = round(false / draws, 4)
    return figures
