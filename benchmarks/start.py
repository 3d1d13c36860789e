"""How long the commands take that a person types: CPU seconds of a fresh process, and over those of a bare import.

Each command runs in a process of its own, with bytecode and disk warm. A process that imports numpy and duckdb runs
right before each command, in every round; medians of all rounds count, so that other work on the machine falls on both
alike, and the load is printed. Studies: 100 people, 1,000 records. A first plan has an empty memory; "again"
is the same command once more; a release follows.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks._timing import finish

PEOPLE = 100
RECORDS = (
    "SELECT range % 100 AS person, (hash(range) % 8640) / 360.0 AS hour, 40 + (hash(range) % 1000) / 1000.0 AS lat, "
    "-74 + (hash(range + 7) % 1000) / 1000.0 AS lon FROM range(1000)"
)
LINE = ["--item", "hour", "--promise", "all, 1 hours, 0.5"]
MAP = ["--item", "lat", "--item", "lon", "--promise", "all, 5 km, 0.5"]
STUDIES = {
    "mean": [*LINE, "--space", 'line(low=0, high=24, step=0.1, unit="hours")', "--question", "mean"],
    "line_1e3": [*LINE, "--space", 'line(low=0, high=24, step=0.024, unit="hours")', "--question", "histogram"],
    "map_1e3": [*MAP, "--space", "earth(box=(40, -74, 41, -73), cell=3.15)", "--question", "histogram"],
    "line_1e5": [*LINE, "--space", 'line(low=0, high=24, step=0.00024, unit="hours")', "--question", "histogram"],
    "map_1e5": [*MAP, "--space", "earth(box=(40, -74, 41, -73), cell=0.307)", "--question", "histogram"],
}
MOST = {"mean": 2.5, "line_1e3": 6.0, "map_1e3": 6.0, "line_1e5": 15.0, "map_1e5": 15.0}
"""What is aimed at, as a ratio to the bare import."""
AGAIN = 1.3
"""The same plan again."""


def cpu(command: Sequence[str], folder: Path, environment: dict[str, str]) -> float:
    """User and system time of a fresh process and of those that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(
    name: str, options: Sequence[str], place: Path, environment: dict[str, str], rounds: int
) -> dict[str, float]:
    """The median CPU seconds of each command, and of the bare imports right before them."""
    barrow = str(Path(sys.executable).with_name("barrow"))
    bare = [sys.executable, "-c", "import numpy, duckdb"]
    folder = place / name
    times: dict[str, list[float]] = {"bare": [], "plan": [], "again": [], "release": [], "help": []}
    for turn in range(rounds + 1):  # the first one warms bytecode and disk
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(place / "cache", ignore_errors=True)  # a first plan remembers nothing
        folder.mkdir()
        common = ["--user", "person", "--users", str(PEOPLE), "--dataset", name]
        cpu([barrow, "init", "../records.parquet", *common, *options], folder, environment)
        for key, command in {
            "plan": [barrow, "plan"],
            "again": [barrow, "plan"],
            "release": [barrow, "release"],
            "help": [barrow, "plan", "--help"],
        }.items():
            before = cpu(bare, folder, environment)
            spent = cpu(command, folder, environment)
            if turn:
                times["bare"].append(before)
                times[key].append(spent)
    return {key: statistics.median(values) for key, values in times.items()}


def main() -> None:
    """Measure the studies that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", choices=[*STUDIES, []])
    parser.add_argument("--rounds", type=int, default=5)
    request = parser.parse_args()
    result: dict[str, float] = {}
    loads: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"PYTHONPYCACHEPREFIX": str(place / "bytecode"), "XDG_CACHE_HOME": str(place / "cache")}
        subprocess.run(
            [sys.executable, "-c", f"import duckdb; duckdb.sql({RECORDS!r}).write_parquet('records.parquet')"],
            cwd=place, check=True,
        )  # fmt: skip
        for name in request.studies or STUDIES:
            times = measure(name, STUDIES[name], place, environment, request.rounds)
            for key, seconds in times.items():
                result[f"{name}_{key}_seconds"] = round(seconds, 3)
                if key != "bare":
                    result[f"{name}_{key}_ratio"] = round(seconds / times["bare"], 2)
            ratios = ", ".join(f"{key} {result[f'{name}_{key}_ratio']}" for key in times if key != "bare")
            result[f"{name}_met"] = int(
                max(result[f"{name}_plan_ratio"], result[f"{name}_release_ratio"]) <= MOST[name]
                and result[f"{name}_again_ratio"] <= AGAIN
            )
            loads.append(os.getloadavg()[0])
            shown = f"bare {times['bare']:.3f} s; {ratios} (aim {MOST[name]}; load {loads[-1]:.1f})"
            print(f"{name:10} {shown}", flush=True)
    result["load"] = round(max(loads), 1)
    finish(result)


if __name__ == "__main__":
    main()
