"""Spark for ``scripts/bench engines``: two executors as processes of their own, so that the driver is seen apart."""

from __future__ import annotations

import importlib
import json
import os
import re
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from barrow.engines import DuckDBEngine, SparkEngine
from benchmarks.engines import BARE, COLUMNS, make, processor_seconds, ratio, space


def measure(rows: int, folder: Path, repeats: int) -> dict[str, Any]:
    """Ratio to the bare statement, skew, growth, samples, and the driver's memory."""
    try:
        session = _session()
    except Exception as trouble:
        return {"spark_skipped": type(trouble).__name__}
    try:
        return _figures(session, rows, folder, repeats)
    finally:
        session.stop()


MEASURES = {"spark": measure}
"""What ``scripts/bench engines --only`` knows it by."""


def _session() -> Any:
    warnings.simplefilter("ignore")
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # executors, too, listen here only
    builder = importlib.import_module("pyspark.sql").SparkSession.builder.master("local-cluster[2,1,4096]")
    settings = {
        "spark.executor.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "16",
        "spark.sql.files.maxPartitionBytes": "32m",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(x for x in sys.path if x),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.sparkContext.pythonExec = sys.executable
    return session


def _figures(session: Any, rows: int, folder: Path, repeats: int) -> dict[str, Any]:
    path, engine = make(rows, folder), SparkEngine()
    frame = session.read.parquet(str(path))
    if engine.count(frame, COLUMNS, space()) != DuckDBEngine(progress=False).count(path, COLUMNS, space()):
        raise RuntimeError("Spark and DuckDB count differently")
    frame.createOrReplaceTempView("visits")

    def bare(name: str) -> Callable[[], object]:
        return lambda: session.sql(BARE[name].format(table="visits")).toArrow()

    plain = ratio(
        {
            "ours": lambda: engine.count(frame, COLUMNS, space()),
            "broadcast": lambda: SparkEngine(shape="broadcast").count(frame, COLUMNS, space()),
            **{name: bare(name) for name in BARE},
        },
        repeats,
    )
    best, least = (min(plain[name + tail] for name in BARE) for tail in ("", "_cpu"))
    skewed = frame.selectExpr("CASE WHEN rand(7) < 0.3 THEN 0 ELSE uid END AS uid", "item")
    skew, skew_cpu = _median(lambda: engine.count(skewed, COLUMNS, space()), repeats)
    draws = {s: _median(lambda s=s: engine.sample(frame, COLUMNS, space(), samples=s), 1) for s in (10, 200)}  # type: ignore[misc]
    figures: dict[str, Any] = {
        "spark_vs_groupby": plain["ratio"],
        "spark_vs_groupby_cpu": plain["ratio_cpu"],
        "spark_cpu_microseconds_a_row": round(plain["ours_cpu"] / rows * 10**6, 3),
        "spark_broadcast_vs_groupby": round(plain["broadcast"] / best, 3),
        "spark_broadcast_vs_groupby_cpu": round(plain["broadcast_cpu"] / least, 3),
        "spark_skew": round(skew / plain["ours"], 3),
        "spark_skew_cpu": round(skew_cpu / plain["ours_cpu"], 3),
        "sample_spark_seconds_10": round(draws[10][0], 2),
        "sample_spark_seconds": round(draws[200][0], 2),
        "sample_spark_seconds_cpu": round(draws[200][1], 2),
        "spark": plain,
    }
    few, many = rows // 10, min(rows * 10, 10**8)
    small = session.read.parquet(str(make(few, folder)))
    seconds, cost = _median(lambda: engine.count(small, COLUMNS, space()), repeats)
    figures |= {f"spark_seconds_{_power(few)}": round(seconds, 2), f"spark_seconds_{_power(rows)}": plain["ours"]}
    figures |= _driver(session, _power(rows))
    print(json.dumps(figures), flush=True)
    large = session.read.parquet(str(make(many, folder)))
    most, most_cost = _median(lambda: engine.count(large, COLUMNS, space()), 1)
    figures |= {f"spark_seconds_{_power(many)}": round(most, 2), **_driver(session, _power(many))}
    grown = f"spark_growth_{_power(few)}_{_power(many)}"
    return figures | {grown: round(most / seconds, 1), grown + "_cpu": round(most_cost / cost, 1)}


def _median(call: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median seconds of a call, and of processors."""
    times, costs = [], []
    for _ in range(repeats):
        start, spent = time.perf_counter(), processor_seconds()
        call()
        times.append(time.perf_counter() - start)
        costs.append(processor_seconds() - spent)
    return statistics.median(times), statistics.median(costs)


def _power(rows: int) -> str:
    return f"{rows:.0e}".replace("e+0", "e").replace("e+", "e")


def _driver(session: Any, name: str) -> dict[str, float]:
    """The most memory so far of the driver: its Python process, and its Java process, which holds no executor."""
    status = Path(f"/proc/{session.sparkContext._gateway.proc.pid}/status")
    java = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    python = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures = {f"driver_python_gib_{name}": round(python / 2**20, 2)}
    return figures if java is None else figures | {f"driver_java_gib_{name}": round(int(java.group(1)) / 2**20, 2)}
