"""What groups and periods cost inside DuckDB: the sums of 20 groups, of 12 months, and of both, against those of all.

Ten records for each person on average (skewed), 10,000 items, a group for each person, a timestamp for each record, one
Parquet file. Each is the whole ``sums`` or ``sum_cells``, candidates in turns. Then the planning of 12 months of 20
groups, each with an error of its own.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path

import duckdb

from barrow.engines import Breakdown, Columns, DuckDBEngine
from barrow.promises import Grouping, Window
from barrow.promises.periods import Calendar
from barrow.spaces import Line
from barrow.study import Study
from barrow.study.about import About
from barrow.study.parts import Planner
from benchmarks._groups_statistics import coverage, false_differences
from benchmarks._timing import finish
from benchmarks.engines import make, processor_seconds, space

GROUPS = [f"region {i}" for i in range(20)]
COLUMNS = Columns("uid", "item", group="region", time="at")


def file(rows: int, folder: Path) -> Path:
    """The records of ``scripts/bench engines`` with a group and a time; made once."""
    path = folder / f"groups-{rows}.parquet"
    if not path.exists():
        region = "'region ' || (hash(uid) % 20)"
        moment = "TIMESTAMP '2026-01-01' + to_seconds(hash(uid, item, rowid) % 31536000)"
        numbered = f"SELECT *, row_number() OVER () AS rowid FROM read_parquet('{make(rows, folder)}')"
        with duckdb.connect() as session:
            session.execute(
                f"COPY (SELECT uid, item, {region} AS region, {moment} AS \"at\" FROM ({numbered})) TO '{path}' "
                "(FORMAT parquet)"
            )
    return path


def planning() -> dict[str, float]:
    """CPU seconds to plan twelve months of twenty groups, of a mean and of a histogram, with nothing known before."""
    sizes = {group: 500 + 25 * i for i, group in enumerate(GROUPS)}
    grouping = Grouping("region", sizes=sizes)
    months = Calendar("month", "Europe/Berlin").parse_range("2026-01..2026-12")
    seconds = {}
    for name in ("mean", "histogram"):
        study = Study(
            Line(0, 100, step=1, unit="years", whole=True), ["1 of 30, 5 years, 0.5, in any month"],
            users=sum(sizes.values()), groups=[grouping], missing="default item", questions=[name],
        )  # fmt: skip
        planner = Planner(study, study.question(name))
        start = processor_seconds()
        plans = [planner.parts(About(Window((month,)), grouping)) for month in months]
        seconds[f"plan_{name}_cpu_seconds"] = round(processor_seconds() - start, 2)
        assert sum(len(parts.plans) for parts in plans) == len(GROUPS) * len(months)
    return seconds


def main() -> None:
    """Print the figures; the last line is one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--statistics", type=int, metavar="DRAWS", help="Coverage by simulation in place of times.")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/barrow-bench"))
    options = parser.parse_args()
    if options.statistics:
        figures = coverage(options.statistics) | false_differences(options.statistics)
        for name, share in figures.items():
            print(f"{name:32} {share:.4f}")
        finish({"draws": options.statistics, **figures})
        return
    path, items = file(int(options.rows), options.folder), space()
    months = Calendar("month", "Europe/Berlin").parse_range("2026-01..2026-12")
    asked = {
        "groups": Breakdown([(group, None) for group in GROUPS], labels=GROUPS),
        "months": Breakdown([(None, month) for month in months]),
        "groups_and_months": Breakdown([(g, m) for g in GROUPS for m in months], labels=GROUPS),
    }
    calls: dict[str, Callable[[], object]] = {
        "all": lambda: DuckDBEngine(progress=False).sums(path, COLUMNS, items),
        **{
            name: lambda cells=cells: DuckDBEngine(progress=False).sum_cells(path, COLUMNS, items, cells)  # type: ignore[misc]
            for name, cells in asked.items()
        },
    }
    costs: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(options.repeats):
        for name, call in calls.items():
            start = processor_seconds()
            call()
            costs[name].append(processor_seconds() - start)
    medians = {name: statistics.median(values) for name, values in costs.items()}
    for name, seconds in medians.items():
        print(f"{name:20} {seconds:7.2f} CPU s  {seconds / medians['all']:6.2f} of all")
    times: dict[str, object] = {f"{name}_cpu_seconds": round(x, 2) for name, x in medians.items()}
    times |= {f"{name}_vs_all_cpu": round(x / medians["all"], 2) for name, x in medians.items() if name != "all"}
    plans = planning()
    for name, seconds in plans.items():
        print(f"{name:24} {seconds:7.2f} (12 months of 20 groups)")
    finish({"rows": int(options.rows), **times, **plans})


if __name__ == "__main__":
    main()
