"""``barrow engines check`` from the outside."""

from __future__ import annotations

import json

import duckdb
import pytest

from barrow.engines import conformance


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1 AS uid) TO '{path}'")
    return path


def test_an_engine_is_compared_with_the_spaces(barrow, visits):
    code, out, err = barrow("engines", "check", visits, "--rows", 20, "--json")
    result = json.loads(out)
    assert (code, err, result["engine"], result["passed"], result["differences"]) == (0, "", "duckdb", True, [])
    assert result["cases"] > 35
    assert barrow("engines", "check", visits, "--rows", 3, "--quiet")[:2] == (0, "the same\n")


def test_a_difference_is_named_and_is_an_error(barrow, visits, monkeypatch):
    real = conformance.items_in_python

    def other(space, values, mode):
        ids = real(space, values, mode).copy()
        ids[0] += mode == "nearest"
        return ids

    monkeypatch.setattr(conformance, "items_in_python", other)
    code, out, _ = barrow("engines", "check", visits, "--rows", 3)
    assert code == 1
    assert "line, nearest, real: 1 of 3 rows" in out
    assert barrow("engines", "check", visits, "--rows", 3, "--quiet")[:2] == (1, "different\n")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("nowhere.parquet", "There is no file"),
        ("snowflake://account/db", "cannot be read"),
        ("postgresql://u:hunter2@h/d", "holds a password"),
        ("postgresql://localhost:1/x?connect_timeout=2", "cannot be reached"),
        ("spark://u:hunter2@h", "cannot be read, or holds a secret"),
        ("visits.docx", "format of the source"),
    ],
)
def test_bad_sources(barrow, source, told):
    code, out, err = barrow("engines", "check", source)
    assert (code, out) == (1, "")
    assert told in err
    assert "hunter2" not in err
    assert json.loads(barrow("engines", "check", source, "--json")[1])["error"]


def test_help(barrow):
    code, out, _ = barrow("engines", "check", "--help")
    assert code == 0
    assert "No record is read" in out
    assert barrow("engines", "check", "x.parquet", "--rows", 0)[0] == 2
