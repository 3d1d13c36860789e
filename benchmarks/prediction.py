"""Whether plans predict the error that a person will see: real releases against raw records, in fixed settings.

Each setting of ``prediction_settings.toml`` is planned, released several times with the system's noise, and measured as
the earth mover's distance between the released histogram and the *raw* records, which nothing has snapped to a grid.
"""

from __future__ import annotations

import argparse
import time
import tomllib
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from barrow.engines import Counts
from barrow.questions import Answer
from barrow.questions.answer import number
from barrow.study import Study
from benchmarks._airports import airports
from benchmarks._populations import Floats, Population, population, raw_error
from benchmarks._timing import finish

SETTINGS = Path(__file__).with_name("prediction_settings.toml")
LOW, HIGH, APART = 0.67, 1.5, 1.25
DRAWS = ((2000, 12), (10_000, 4), (10**9, 2))
"""(items up to, releases): errors of many items average out."""


def study_of(setting: dict[str, Any]) -> Study:
    """The study of a setting."""
    space = airports() if setting["space"] == "airports" else setting["space"]
    return Study(space, setting["promises"], users=setting["users"], questions="histogram")


def released(plan: Answer, people: Population, users: int, records: int) -> tuple[Floats, float]:
    """One real release: the shares of all items, and of people without records."""
    items, counts = people.items, people.counts
    held = np.bincount(items, weights=counts, minlength=plan.terms.space.items).astype(np.int64)
    there = np.flatnonzero(held)
    sizes = np.full(len(there), records)
    counted = Counts(there, sizes, held[there], users=users).with_users(plan.terms.users, plan.terms.space.default_item)
    sample = plan.draw(plan.statistics(counted))
    tables = plan.tables(sample)
    nobody = sum(number(row, "share") for row in tables.get("no_records", ()))
    return np.array([row["share"] for row in tables["values"]]), nobody


def error_of(plan: Answer, shares: Floats, nobody: float, people: Population, present: float) -> float:
    """How far a release is from the raw records: of people with records, and by how many others there are."""
    inside = raw_error(plan.terms.space.records_space, shares / shares.sum(), people.places, people.shares)
    apart = float(plan.terms.space.no_records_distance or 0) * plan.terms.space.diameter
    return present * inside + abs(nobody - (1.0 - present)) * apart


def measured(setting: dict[str, Any], draws: int | None = None) -> dict[str, Any]:
    """The predicted and the true mean error of one setting."""
    study = study_of(setting)
    start = time.perf_counter()
    plan = study.plan()
    seconds = time.perf_counter() - start
    rng = np.random.default_rng(zlib.crc32((setting.get("group") or setting["name"]).encode()))
    users, records, space = setting["users"], setting["records"], study.space
    present = users - round(users * float(setting.get("missing", 0)))
    people = population(space, setting["population"], present * records, rng)
    times = draws or next(count for most, count in DRAWS if space.items <= most)
    errors = [error_of(plan, *released(plan, people, present, records), people, present / users) for _ in range(times)]
    true = float(np.mean(errors))
    return {
        "name": setting["name"],
        "group": setting.get("group"),
        "drawn_from_reference": setting["population"]["kind"] == "reference",
        "items": space.items,
        "predicted": plan.error,
        "true": true,
        "ratio": true / plan.error,
        "spread": float(np.std(errors)),
        "plan_seconds": seconds,
    }


def ordered(rows: list[dict[str, Any]]) -> tuple[int, int]:
    """How many pairs of grids whose true errors differ by 25 % were predicted in the right order, and of how many."""
    right = pairs = 0
    for i, a in enumerate(rows):
        for b in rows[i + 1 :]:
            if a["group"] is None or a["group"] != b["group"]:
                continue
            if max(a["true"], b["true"]) >= APART * min(a["true"], b["true"]):
                pairs += 1
                right += (a["true"] < b["true"]) == (a["predicted"] < b["predicted"])
    return right, pairs


def main() -> None:
    """Measure all settings, or those whose name begins with a word."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="settings whose name begins so")
    parser.add_argument("--draws", type=int, default=None, help="releases of each setting")
    given = parser.parse_args()
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["setting"]
    rows = []
    for setting in settings:
        if not setting["name"].startswith(given.only):
            continue
        row = measured(setting, given.draws)
        rows.append(row)
        mark = " " if LOW <= row["ratio"] <= HIGH else "*"
        print(
            f"{mark} {row['name']:20} {row['items']:7,} items  predicted {row['predicted']:9.4g}"
            f"  true {row['true']:9.4g}  ratio {row['ratio']:6.2f}  ± {row['spread']:8.2g}"
            f"  plan {row['plan_seconds']:6.2f} s",
            flush=True,
        )
    right, pairs = ordered(rows)
    within = [LOW <= row["ratio"] <= HIGH for row in rows]
    finish(
        {
            "within": round(float(np.mean(within)), 4),
            "order_right": round(right / pairs, 4) if pairs else 1.0,
            "settings": len(rows),
            "not_from_reference": sum(not row["drawn_from_reference"] for row in rows),
            "pairs_ordered": pairs,
            "ratios": {row["name"]: round(row["ratio"], 3) for row in rows},
        }
    )


if __name__ == "__main__":
    main()
