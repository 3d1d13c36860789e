"""One local Spark session for all tests of a run; without Java or pyspark they are skipped, with the reason."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import warnings

import pytest


def without_spark() -> str | None:
    """Why no session can be started here, or None."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "pyspark is not installed (pip install 'barrow[spark]')"
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "Java is not installed (Debian: apt-get install default-jre-headless)"
    return None


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@pytest.fixture(scope="session")
def spark_logs(tmp_path_factory):
    """Where the session writes its event log, its warehouse and its standard error."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def spark(spark_logs):
    """A session with two threads whose event log can be read."""
    why = without_spark()
    if why is not None:
        pytest.skip(why)
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is not None:
        yield SparkSession.getActiveSession()
        return
    for folder in ("events", "warehouse"):
        (spark_logs / folder).mkdir()
    settings = {
        "spark.ui.enabled": "false",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",  # the same session serves Connect, too
        "spark.connect.grpc.binding.port": str(_free_port()),
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{spark_logs / 'events'}",
        "spark.eventLog.compress": "false",
        "spark.sql.warehouse.dir": str(spark_logs / "warehouse"),
        "spark.driver.memory": "3g",  # one session serves all tests; with 1g the last ones wait for its memory
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # for what serves Connect, too
    builder = SparkSession.builder.master("local[2, 4]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
