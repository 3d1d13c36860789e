"""``scripts/faults spark``: executors are killed while samples are drawn; the last line is one JSON object.

Each person's items are nobody else's, so the pooled counts show how often each person was drawn. The control draws in
the same way and then shuffles: it must give some people other than s draws, or the harness is blind.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

PEOPLE, HELD, SAMPLES, PARTS = 6000, 3, 20, 8
EXECUTORS = 2


def session():
    """Two executors of one core as processes of their own; without checksums Spark does not notice other draws.

    They are off for both, so that it is the design and not Spark's repair that keeps people whole.
    """
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # executors, too, listen here only
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(PARTS),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.worker.cleanup.enabled": "true",
        "spark.task.maxFailures": "10000",
        "spark.stage.maxConsecutiveAttempts": "10000",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
        "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
        "spark.sql.shuffle.orderIndependentChecksum.enableQueryLevelRollbackOnMismatch": "false",
    }
    builder = SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,1024]").appName("faults")
    for name, value in settings.items():
        builder = builder.config(name, value)
    result = builder.getOrCreate()
    result.sparkContext.setLogLevel("OFF")
    result.sparkContext.pythonExec = sys.executable
    return result


def executors() -> dict[int, float]:
    """The executors that descend from this process, and for how many seconds each has run."""
    parents, result = {}, {}
    now, tick = time.clock_gettime(time.CLOCK_BOOTTIME), os.sysconf("SC_CLK_TCK")
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            parents[int(place.name)] = int(fields[1])
            if b"CoarseGrainedExecutorBackend" in (place / "cmdline").read_bytes():
                result[int(place.name)] = now - int(fields[19]) / tick

    def ours(pid: int) -> bool:
        while pid > 1 and pid != os.getpid():
            pid = parents.get(pid, 0)
        return pid == os.getpid()

    return {pid: age for pid, age in result.items() if ours(pid)}


class Killer(threading.Thread):
    """kill -9 of an executor, now and then of all, at random instants while all work, until told to stop.

    The others go on meanwhile, so that a run ends however long a new executor takes to start.
    """

    def __init__(self, rng: random.Random, pause: float, age: float) -> None:
        super().__init__(daemon=True)
        self.rng, self.pause, self.age, self.kills, self.over = rng, pause, age, 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(self.rng.uniform(0.5, 1.5) * self.pause):
            working = [pid for pid, age in executors().items() if age >= self.age]
            if len(working) < EXECUTORS:
                continue
            for pid in working if self.rng.random() < 0.2 else [self.rng.choice(working)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.kills += 1


def slowly(act):
    """The same function of batches, but slow, so that kills hit it in the middle."""

    def slow(batches):
        time.sleep(0.4)
        for batch in act(batches):
            time.sleep(0.4)
            yield batch

    return slow


def people_off(items, counts) -> int:
    """How many people have other than s draws."""
    counter: Counter[int] = Counter()
    for item, count in zip(items, counts, strict=True):
        counter[item // HELD] += count
    return sum(counter[person] != SAMPLES for person in range(PEOPLE))


def records(spark):
    return spark.range(PEOPLE * HELD, numPartitions=PARTS).selectExpr(
        f"id DIV {HELD} AS uid", "CAST(id AS DOUBLE) AS x"
    )


def design(spark) -> int:
    """The engine itself, slowed down."""
    from barrow.engines import Columns, SparkEngine
    from barrow.engines.spark import engine as module
    from barrow.spaces import Line

    real = module.drawing
    module.drawing = lambda samples: slowly(real(samples))
    try:
        space = Line(0, PEOPLE * HELD - 1, step=1)
        sample = SparkEngine().sample(records(spark), Columns("uid", "x"), space, samples=SAMPLES)
    finally:
        module.drawing = real
    assert sample.private
    return people_off(sample.items.tolist(), sample.counts.tolist())


def control(spark) -> int:
    """The same draws, shuffled afterwards: what the engine must not do."""
    from barrow.engines.sampling import RunSampler

    def draw(batches):
        import pyarrow as pa

        sampler = RunSampler(SAMPLES)
        for batch in batches:
            fresh, item, c, m = (batch.column(name).to_numpy() for name in ("fresh", "item", "c", "m"))
            yield pa.RecordBatch.from_pydict({"item": item, "drawn": sampler.draw(fresh == 1, m, c)})

    grouped = (
        "SELECT CASE WHEN ROW_NUMBER() OVER (PARTITION BY uid ORDER BY x) = 1 THEN 1 ELSE 0 END AS fresh, "
        "CAST(x AS BIGINT) AS item, CAST(1 AS BIGINT) AS c, COUNT(*) OVER (PARTITION BY uid) AS m FROM {records}"
    )
    sample = spark.sql(grouped, records=records(spark)).mapInArrow(draw, "item BIGINT, drawn BIGINT")
    shuffled = sample.repartition(PARTS, "item").mapInArrow(slowly(iter), "item BIGINT, drawn BIGINT").toArrow()
    return people_off(shuffled["item"].to_pylist(), shuffled["drawn"].to_pylist())


def trials(spark, work, kills: int, seed: int, pause: float, age: float) -> Counter[str]:
    """Runs of ``work`` under kills, until there were enough of them."""
    counter: Counter[str] = Counter()
    for _ in range(2):  # in peace: everything is there and warm, and how long it takes
        began = time.monotonic()
        assert not work(spark)
    pause = max(pause, (time.monotonic() - began) / 4)
    while counter["kills"] < kills:
        killer = Killer(random.Random(seed + counter["runs"]), pause, age)
        killer.start()
        try:
            off = work(spark)
        finally:
            killer.over.set()
            killer.join()
        counter.update(runs=1, kills=killer.kills, off=off, people=PEOPLE)
        told = f"{killer.kills} kills, {off} people with other than {SAMPLES} draws"
        print(f"  run {counter['runs']}: {told}", flush=True)
    return counter


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/faults spark", description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="executors killed while the engine draws (default 50)")
    parser.add_argument("--control-kills", type=int, default=8, help="the same for the control (default 8)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=1.5, help="least seconds between kills (default 1.5)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    spark = session()
    try:
        spark.range(2, numPartitions=2).selectExpr("sum(id)").collect()
        age = max(executors().values())  # as long as it takes here until an executor works
        print(f"executors work after {age:.0f} s; control: draws that are shuffled", flush=True)
        wrong = trials(spark, control, options.control_kills, options.seed, options.pause, age)
        print("draws collected in the result stage", flush=True)
        right = trials(spark, design, options.kills, options.seed, options.pause, age)
    finally:
        spark.stop()
    result = {
        "kills": right["kills"],
        "runs": right["runs"],
        "people_drawn_for": right["people"],
        "people_with_other_draws": right["off"],
        "control_kills": wrong["kills"],
        "control_people_with_other_draws": wrong["off"],
    }
    print(json.dumps(result))
    if not wrong["off"]:
        print("The control saw nothing: the harness may be blind.", file=sys.stderr)
    sys.exit(1 if right["off"] or not wrong["off"] or right["kills"] < options.kills else 0)


if __name__ == "__main__":
    main()
