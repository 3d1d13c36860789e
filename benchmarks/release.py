"""A histogram release from Parquet, end to end, against the bare SQL for the same integers and against OpenDP.

End to end: validate, read, reserve durably, draw exactly rounded noise, commit, write values and statement.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import duckdb

from barrow.ledger import Budget, Ledger, SpaceRef
from barrow.promises import Emd
from barrow.spaces import Discrete, Line, Space
from barrow.study import Study, read
from benchmarks._peers import peer_python
from benchmarks._release_engine import BARE, ITEMS, PER_USER, make, space
from benchmarks._timing import finish

_FOLDER = Path(tempfile.gettempdir()) / "barrow-bench"
_COUNTER = itertools.count()


def study(path: Path, users: int, items: Space, folder: Path, column: str = "item") -> Study:
    """A study with a ledger and an output folder of its own."""
    number = next(_COUNTER)
    ledger = str(folder / f"{number}.ledger")
    Ledger.create(ledger, Budget(f"visits-{number}", users, SpaceRef.of(items), Emd(10, model="central")))
    return Study(
        items,
        alpha=1,
        users=users,
        dataset=f"visits-{number}",
        questions=["histogram"],
        data=read(str(path), user="uid", item=column),
        ledger=ledger,
    )


def measure(rows: int, repeats: int) -> dict[str, float]:
    """Median seconds of a whole release, and of the fastest plain SQL for the same integers, measured in turns.

    Making the ledger is not part of a release.
    """
    path, items = make(rows, _FOLDER), space()
    names = [name for name in BARE if name != "window" or rows <= 2 * 10**7]
    times: dict[str, list[float]] = {name: [] for name in ["release", *names]}
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        studies = [study(path, rows // PER_USER, items, Path(folder)) for _ in range(repeats + 1)]
        studies.pop().release()  # not counted
        for one in studies:
            times["release"].append(_seconds(one.release))
            for name in names:
                sql = BARE[name].format(file=f"read_parquet('{path}')")
                times[name].append(_seconds(partial(_fetch, connection, sql)))
    medians = {name: statistics.median(values) for name, values in times.items()}
    ours, theirs = medians.pop("release"), min(medians.values())
    print(f"{rows:>13,} rows: release {ours:7.3f} s, bare SQL {theirs:7.3f} s, ratio {ours / theirs:5.2f}")
    return {"seconds": ours, "bare": theirs}


def _fetch(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    return connection.execute(sql).fetchnumpy()


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peak(rows: int) -> float:
    """Peak memory, in GiB, of a fresh process that makes one release."""
    command = [sys.executable, "-m", "benchmarks.release", "--peak", str(rows)]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    return float(done.stdout.splitlines()[-1])


def against_opendp() -> dict[str, float]:
    """OpenDP's seconds for a user-level histogram of 1e6 rows, divided by ours: with a report, and without."""
    _FOLDER.mkdir(exist_ok=True)
    path = _FOLDER / "opendp-1e6.parquet"
    if not path.exists():
        select = "SELECT (i // 100)::INT AS uid, (hash(i) % 100)::INT AS item FROM range(1000000) r(i)"
        duckdb.sql(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    python = peer_python("opendp-polars", "opendp[polars]")
    script = Path(__file__).with_name("_opendp_release.py")
    done = subprocess.run([python, str(script), str(path), "5"], capture_output=True, text=True, check=True)
    theirs = float(json.loads(done.stdout.splitlines()[-1])["seconds"])
    items, result, seconds = Discrete([str(i) for i in range(100)]), {}, dict[str, float]()
    with tempfile.TemporaryDirectory() as folder:
        for name, renderers in {"opendp_1e6": None, "opendp_1e6_without_report": ()}.items():
            studies = [study(path, 10_000, items, Path(folder)) for _ in range(10)]
            times = [_seconds(partial(one.release, renderers=renderers)) for one in studies]
            ours = statistics.median(times[1:])
            result[name] = round(theirs / ours, 2)
            seconds[name] = ours
            print(f"{name}: release {ours:.3f} s, OpenDP {theirs:.3f} s, ratio {theirs / ours:.1f}")
    share = 1.0 - seconds["opendp_1e6_without_report"] / seconds["opendp_1e6"]
    print(f"the report takes {share:.0%} of a release of 1e6 rows")
    return {**result, "report_share_1e6": round(share, 3), **_fresh(python, script, path)}


def doubles(rows: int, repeats: int) -> dict[str, float]:
    """Seconds of a release whose items are doubles on a line of 1,000 cells, and of the same with labels.

    Both files have the same people, as texts, with lognormal sizes; releases are measured in turns.
    """
    _FOLDER.mkdir(exist_ok=True)
    path, users = _FOLDER / f"doubles-{rows}.parquet", rows // PER_USER
    if not path.exists():
        # A person's share of the rows is lognormal: exp of a sum of six uniform numbers, nearly normal.
        weight = "exp(" + " + ".join(f"(hash(u + {k}) % 1000) / 500.0" for k in range(6)) + ")"
        weights = f"(SELECT u, {weight} AS w FROM range({users}) r(u))"
        sizes = f"(SELECT u, 1 + floor({rows} * w / sum(w) OVER ()) AS m FROM {weights})"
        number = f"{ITEMS} * pow((hash(u * 100003 + k) % 1000003) / 1000003.0, 3)"
        select = (
            f"SELECT 'person ' || u AS uid, {number} AS place, CAST(floor({number}) AS INTEGER) AS item "
            f"FROM {sizes}, LATERAL (SELECT unnest(range(CAST(m AS BIGINT))) AS k)"
        )
        duckdb.sql(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    line = Line(0, ITEMS, step=1, cells=True)
    times: dict[str, list[float]] = {"doubles": [], "labels": []}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(repeats + 1):
            for name, items, column in (("doubles", line, "place"), ("labels", space(), "item")):
                seconds = _seconds(study(path, users, items, Path(folder), column=column).release)
                if turn:
                    times[name].append(seconds)
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(
        f"{rows:,} rows of lognormal sizes, ids as texts: "
        f"doubles {medians['doubles']:.2f} s, labels {medians['labels']:.2f} s"
    )
    return {f"{name}_{rows:.0e}_seconds".replace("+0", ""): round(value, 3) for name, value in medians.items()}


def _fresh(python: str, script: Path, path: Path) -> dict[str, float]:
    """OpenDP's CPU seconds of a fresh process with one release, imports included, over ours with report and ledger."""
    root = Path(__file__).parent.parent
    theirs = min(_process([python, str(script), str(path), "0"], root) for _ in range(2))
    ours = min(_process([sys.executable, "-m", "benchmarks.release", "--once", str(path)], root) for _ in range(2))
    print(f"fresh process: ours {ours:.2f} CPU s, OpenDP {theirs:.2f}, ratio {theirs / ours:.2f}")
    return {"opendp_1e6_fresh_process": round(theirs / ours, 2), "fresh_process_cpu_seconds": round(ours, 3)}


def _process(command: Sequence[str], root: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True, check=True, cwd=root)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure, print a table and one JSON line."""
    parser = argparse.ArgumentParser(prog="scripts/bench release", description=__doc__)
    parser.add_argument("--rows", type=float, default=1e8, help="rows of the large file (1e8 by default)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peak", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--once", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--only-opendp", action="store_true", help="only what is measured against OpenDP")
    options = parser.parse_args()
    if options.once is not None:
        with tempfile.TemporaryDirectory() as folder:
            study(options.once, 10_000, Discrete([str(i) for i in range(100)]), Path(folder)).release()
        return
    if options.only_opendp:
        finish(against_opendp())
        return
    if options.peak is not None:
        rows = int(options.peak)
        with tempfile.TemporaryDirectory() as folder:
            study(make(rows, _FOLDER), rows // PER_USER, space(), Path(folder)).release()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
        return
    rows = int(options.rows)
    small, large = measure(10**6, 5), measure(rows, options.repeats)
    figures = {
        "rows": rows,
        "time_vs_groupby": round(large["seconds"] / large["bare"], 3),
        "release_seconds": round(large["seconds"], 3),
        "peak_gib": round(peak(rows), 3),
        "growth_1e6_1e8": round(large["seconds"] / small["seconds"] / (rows / 10**6), 3),
        **doubles(10**7, options.repeats),
        **against_opendp(),
    }
    finish(figures)


if __name__ == "__main__":
    main()
