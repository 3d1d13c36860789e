"""Sessions of Spark: the caller's own or one that is started for an address; and its words, none of which may pass."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from barrow.engines.addresses import spark_master, spark_options
from barrow.engines.counts import PrivateTextError, refuse_stopped
from barrow.errors import BarrowError, ParameterError, optional_library

T = TypeVar("T")

_OWN = {
    "spark.app.name": "barrow",
    "spark.ui.enabled": "false",  # it shows how many records each stage handled to whoever can reach the port
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}
_NO_PYTHON = ("No module named", "another version of barrow", "PYTHON_VERSION_MISMATCH")
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""They print messages of the engine, which quote values, on standard error."""


def session_at(address: str) -> Any:
    """The session for an address: the running one if it has the same master, or a new one that ends with the process.

    The new one's own messages go nowhere: they quote values. Its settings come from ``spark-defaults.conf``.
    """
    sql = pyspark("pyspark.sql")
    master = spark_master(spark_options(address)[0])
    remote = master.startswith("sc://")
    active = sql.SparkSession.getActiveSession()
    if active is not None and not _same(active, master, remote):
        raise ParameterError(
            "A Spark session with another master runs in this process already.",
            allowed="one session in a process",
            fix="end it (spark.stop()), or give the DataFrame itself instead of an address",
        )
    if active is not None:
        return active
    result = None
    with suppress(Exception):  # whatever is wrong, its words are not ours
        result = sql.SparkSession.builder.remote(master).getOrCreate() if remote else _started(master)
        result.sql("SELECT 1").collect()
    if result is None:
        raise ParameterError(
            "The Spark session cannot be started or reached.",
            allowed="an address that Spark knows, and Java 17 or newer for a session of this machine",
            fix=f"try the same address with: pyspark {'--remote' if remote else '--master'} …",
        )
    return result


def _same(active: Any, master: str, remote: bool) -> bool:
    here = not hasattr(active, "_jsparkSession")
    return here == remote and (remote or str(active.sparkContext.master) == master)


def _started(master: str) -> Any:
    sql, gateway = pyspark("pyspark.sql"), pyspark("pyspark.java_gateway")
    conf = pyspark("pyspark.conf").SparkConf(loadDefaults=False)
    for name, value in _OWN.items():
        conf.set(name, value)
    conf.setMaster(master)
    quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    launched = gateway.launch_gateway(conf=conf, popen_kwargs=quiet)
    context = pyspark("pyspark.core.context").SparkContext(gateway=launched, conf=conf)
    if master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    return sql.SparkSession(context)


def pyspark(module: str) -> Any:
    """A module of pyspark, or the error that says what to install."""
    return optional_library(module, extra="spark", purpose="Sources in Spark")


def stopped(session: Any) -> bool:
    """Whether a session has ended."""
    try:
        if not hasattr(session, "_jsparkSession"):
            return bool(session.is_stopped)
        return session._sc._jsc is None or bool(session._sc._jsc.sc().isStopped())
    except Exception:
        return True


def guarded(session: Any, act: Callable[[], T]) -> T:
    """Do ``act``; Spark's messages quote values, so none of them may pass, not even as a cause, nor be printed."""
    failure: Exception
    try:
        with _silent():
            return act()
    except BarrowError:
        raise
    except Exception as error:
        failure = _failure(session, error)
    raise failure


def _failure(session: Any, error: Exception) -> Exception:
    text = str(error)
    if stopped(session):
        return refuse_stopped()
    if any(sign in text for sign in _NO_PYTHON):
        return ParameterError(
            "The executors' Python does not have this version of barrow, which draws the samples there.",
            allowed="the same version of Python and of barrow[spark] on the driver and on all executors",
            fix="name that Python in PYSPARK_PYTHON, or ship an environment with spark.archives",
        )
    return PrivateTextError(text)


@contextmanager
def _silent() -> Iterator[None]:
    # By their own class: a plain logger of the same name would take their place, and fail.
    loggers = [pyspark("pyspark.logger").PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions of other libraries
            yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


@contextmanager
def settings(session: Any, wanted: Mapping[str, str]) -> Iterator[None]:
    """Settings of a session for a while."""
    before = {name: session.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            session.conf.set(name, value)
        yield
    finally:
        with suppress(Exception):  # the session may have ended
            for name, was in before.items():
                session.conf.unset(name) if was is None else session.conf.set(name, was)
