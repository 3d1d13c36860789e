"""A session of DuckDB that is interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress

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
