"""A study of visits with times and regions, small enough to count by hand, for the tests of months and groups."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from barrow.promises import Grouping
from barrow.study import Study, read

USERS = 60
SIZES = {"north": 20, "south": 40}
PROMISES = ["all, 5 years, 0.5, in any month", "all, 5 years, 6, in every month"]
SPACE = "line(low=0, high=100, step=1, unit='years')"
Row = tuple[str, int, str, str]


def rows(seed: int = 5, months: int = 13) -> list[Row]:
    """(person, age, region, time) of some months of 2026 and 2027; a few people have no records in some months."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for person in range(USERS - 2):  # two people have no records at all
        region = "north" if person < SIZES["north"] - 1 else "south"
        for month in range(months):
            for _ in range(int(rng.integers(0, 4))):
                year, number = divmod(month, 12)
                at = f"{2026 + year}-{number + 1:02}-{int(rng.integers(1, 29)):02} 12:00:00"
                rows.append((f"p{person}", int(rng.integers(0, 100)), region, at))
    return rows


def write(path: Path, records: list[Row]) -> Path:
    """The records as a file, whole or not at all."""
    partial = path.with_suffix(".partial")
    columns = dict(zip(("uid", "age", "region", "at"), map(list, zip(*records, strict=True)), strict=True))
    moments = pa.array([at and datetime.fromisoformat(at) for at in columns["at"]], pa.timestamp("us"))
    pq.write_table(pa.table({**columns, "at": moments}), partial)
    partial.replace(path)
    return path


def make_study(folder: Path, records: list[Row] | None = None, **changes: Any) -> Study:
    """The study with its records in ``folder``."""
    file = write(folder / "ages.parquet", rows() if records is None else records)
    study = Study(
        SPACE,
        PROMISES,
        users=USERS,
        dataset="ages",
        questions=["mean"],
        data=read(str(file), user="uid", item="age", time="at", period="month", zone="Europe/Berlin"),
        ledger=str(folder / "ages.ledger"),
        missing="default item",
        groups=[Grouping("region", sizes=SIZES)],
        periods=12,
    )
    return study.replace(**changes)


def mean_of(records: list[Row], people: int, months: list[str], *, region: str | None = None) -> Fraction:
    """The mean over people of the mean of their ages in these months together; who has none counts as 0."""
    mine: dict[str, list[int]] = {}
    for person, age, where, at in records:
        if at[:7] in months and region in (None, where):
            mine.setdefault(person, []).append(age)
    return sum((Fraction(sum(ages), len(ages)) for ages in mine.values()), Fraction(0)) / people
