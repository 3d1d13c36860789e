"""The recipes: short, the same on their pages, and run as far as what they are for is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow
import pytest
import yaml
from pyarrow import parquet

import barrow as bw
from tests.test_docs import check_command

ROOT = Path(__file__).parent.parent
RECIPES = ROOT / "examples" / "recipes"
FILES = sorted(path for path in RECIPES.rglob("*") if path.suffix in (".py", ".sh", ".R", ".sql", ".yml"))
PAGES = "".join((ROOT / "docs" / "how-to" / name).read_text() for name in ("schedule.md", "hand-over.md"))
SPACE = "line(low=0, high=120, step=1, unit='minutes')"


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_it_is_short_and_stands_on_its_page(file):
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 40
    if file.name not in ("dbt_project.yml", "profiles.yml"):
        assert text.rstrip("\n") in PAGES
    if file.suffix == ".py":
        compile(text, file.name, "exec")
    if file.suffix == ".yml":
        assert isinstance(yaml.safe_load(text), dict)
    if file.suffix == ".sh":
        assert subprocess.run(["sh", "-n", str(file)]).returncode == 0
    for line in re.findall(r"^(barrow [^|>\n]*)|command=\"(barrow [^\"]*)", text, re.MULTILINE):
        check_command(next(filter(None, line)).partition("$(")[0].rstrip('" '))


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a monthly study, of which October and September are over."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VISITS", str(tmp_path))
    rows = [(user, 5.0 + user, datetime(2026, month, 3)) for user in range(50) for month in range(1, 13)]
    columns = {name: list(held) for name, held in zip(("uid", "minutes", "at"), zip(*rows, strict=True), strict=True)}
    parquet.write_table(pyarrow.table(columns), "visits.parquet")
    data = bw.read("visits.parquet", user="uid", item="minutes", time="at", period="month", zone="UTC")
    study = bw.Study(
        SPACE, ["all, 30 minutes, 1, in any month"], users=50, dataset="visits", data=data, questions=["mean"],
        ledger="visits.ledger", periods=12,
    )  # fmt: skip
    bw.Ledger.create("visits.ledger", study)
    study.write("study.toml")
    return tmp_path


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("flock") is None, reason="there is no flock here")
def test_cron(visits):
    shutil.copy(RECIPES / "cron.sh", visits)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(["sh", "cron.sh"], capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
    assert (visits / "heads.txt").read_text().startswith("4:")
    assert len(list((visits / "release").glob("*/mean/statement.json"))) == 1


def test_dagster(visits, monkeypatch):
    dagster = pytest.importorskip("dagster", reason="dagster is not installed: pip install dagster")
    monkeypatch.syspath_prepend(str(RECIPES))
    import dagster_asset

    for _ in range(2):  # the second time it is the same release
        assert dagster.materialize([dagster_asset.visits_mean], partition_key="2026-03").success
    assert len([r for r in bw.Ledger.open("visits.ledger").records() if r.kind == "reserve"]) == 1


def test_airflow(monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    pytest.importorskip("airflow.sdk", reason="Airflow is not installed: pip install apache-airflow")
    monkeypatch.syspath_prepend(str(RECIPES))
    import airflow_dag

    assert airflow_dag.check.upstream_task_ids == {"release"}


def test_the_model_of_dbt_is_what_a_study_reads(visits):
    """dbt runs the SELECT in DuckDB; here DuckDB does."""
    csv = ["uid,minutes,at", *(f"{user},{5 + user},2026-03-0{1 + user % 9}T10:00:00" for user in range(50))]
    (visits / "raw_visits.csv").write_text("\n".join(csv))
    model = (RECIPES / "dbt" / "models" / "visits.sql").read_text()
    with duckdb.connect("warehouse.duckdb") as connection:
        connection.execute(f"CREATE TABLE visits AS {model}")
    source = "duckdb:///warehouse.duckdb?table=visits"
    data = bw.read(source, user="uid", item="minutes", time="at", period="month", zone="UTC")
    study = bw.Study.read("study.toml").replace(data=data)
    release = study.release("mean", period="2026-03", out="march")
    assert release.statement.records.words == ""  # no filter, no jumps: promises cost what they say


def test_geopandas(monkeypatch, tmp_path):
    pytest.importorskip("geopandas", reason="geopandas is not installed: pip install geopandas")
    monkeypatch.chdir(tmp_path)
    places = {"uid": list(range(60)), "lat": [40.75, 40.71, 40.8] * 20, "lon": [-73.99, -74.0, -73.95] * 20}
    data = bw.read(places, user="uid", item=["lat", "lon"])
    study = bw.Study(
        "earth(box=(40.7, -74.1, 40.9, -73.9), cell=4)", ["all, 3 km, 2"], users=60, dataset="x", data=data
    )
    study.release("histogram", ledger=bw.Ledger.create("x.ledger", study), out="release/map")
    exec(compile((RECIPES / "hand_over.py").read_text(), "hand_over.py", "exec"), {})
    assert (tmp_path / "cells.gpkg").is_file()


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_can_parse_it():
    command = f"invisible(parse('{RECIPES / 'hand_over.R'}'))"
    assert subprocess.run(["Rscript", "-e", command]).returncode == 0
