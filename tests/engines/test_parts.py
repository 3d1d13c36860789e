"""What internal names do, each by one known answer."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from barrow.engines.addresses import spark_address, spark_master, spark_options, without_secrets
from barrow.engines.advice import advise
from barrow.engines.base import Columns
from barrow.engines.conformance import Conformance
from barrow.engines.counts import PrivateTextError, quietly
from barrow.engines.duckdb.relations import kind, reading_call
from barrow.engines.duckdb.session import sweep
from barrow.engines.source import Source
from barrow.engines.spark.engine import gathered
from barrow.engines.spark.relations import kind_of
from barrow.engines.values import to_number
from barrow.errors import DataError
from barrow.spaces import Earth

ENDLESS = """
import signal, threading
from barrow.engines.duckdb.session import Session

def begin(x: int) -> int:
    threading.Timer(0.3, print, ["begun"], {"flush": True}).start()  # when this function has long returned
    return x

try:
    with Session(memory=None, threads=1, folder=None, progress=False) as session:
        session.connection.create_function("begin_now", begin, side_effects=True)
        session.rows("SELECT sum(a.range * b.x) FROM range(1000000000000) a, (SELECT begin_now(1::BIGINT) AS x) b")
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("KeyboardInterrupt")
except BaseException as error:
    print(repr(error))
"""
"""A query that says itself that it has begun, and would run for days."""


def test_an_interrupted_query_is_no_word_about_the_records():
    """It is interrupted until it ends, in a process of its own: no clock decides which is first."""
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout.readline() == "begun\n"
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)
        assert "KeyboardInterrupt" in process.stdout.read().splitlines()[-1]


def test_without_secrets():
    assert (
        without_secrets("postgresql://db.example/shop?table=visits&sslmode=verify-full")
        == "postgresql://db.example/shop?sslmode=verify-full"
    )
    assert without_secrets("postgresql:///?service=shop&table=visits") == "postgresql:///?service=shop"


def test_spark_options():
    assert spark_options("spark://local[*]?path=visits.parquet") == ("spark://local[*]", {"path": "visits.parquet"})


def test_spark_master():
    assert spark_master("spark://local[2]") == "local[2]"
    assert spark_master("spark://localhost:7077") == "spark://localhost:7077"
    assert spark_master("sc://localhost") == "sc://localhost"


def test_spark_address():
    assert spark_address("spark://local[2]?path=a+b.parquet&sql=SELECT") == "spark://local[2]?path=a+b.parquet"


def test_advise():
    assert advise([(-74.0, 40.7)], Columns("uid", ["lat", "lon"]), Earth(box=(40, -75, 41, -73), cell=1)) == (
        "Latitude and longitude are swapped: name the item columns lon, lat.",
    )


def test_conformance():
    assert str(Conformance("duckdb", 3, 100, ())) == "duckdb: 3 cases, 100 rows, the same items in all"


def test_kind():
    assert [kind(x) for x in ("BIGINT", "DECIMAL(18,3)", "DOUBLE", "VARCHAR", "BOOLEAN", "INTEGER[]")] == [
        "integer",
        "decimal",
        "real",
        "text",
        "boolean",
        "nested",
    ]


def test_reading_call():
    assert reading_call(Source.parse("a.parquet"), ["a.parquet"]) == "read_parquet(['a.parquet'])"


def test_sweep():
    assert sweep(Path("/nowhere/at/all")) == 0


def test_to_number():
    assert (
        repr([to_number(x) for x in (3, " 1e3 ", "abc", None, "１", "1e00001", "-inf")])
        == "[3.0, 1000.0, nan, nan, nan, nan, -inf]"
    )


def test_quietly():
    def fail():
        raise PrivateTextError("could not convert 'secret'")

    with pytest.raises(
        DataError,
        match=re.escape(
            "The records cannot be read.\n  allowed: a readable source\n"
            "  fix:     barrow check (Python: engine.check) shows the curator the engine's own message"
        ),
    ):
        quietly(fail)


def test_gathered():
    part, item = np.array([0, 0]), np.array([4, -9])
    answer = {"part": part, "item": item, "drawn": np.array([6, 0]), "users": np.array([0, 2])}
    assert gathered(answer | {"private": np.array([True, True])}, 3)[1:] == (2, True)


def test_kind_of():
    assert [kind_of(x) for x in ("bigint", "decimal(18,3)", "string collate UTF8_LCASE", "array<int>", "binary")] == [
        "integer",
        "decimal",
        "text",
        "nested",
        "other",
    ]
