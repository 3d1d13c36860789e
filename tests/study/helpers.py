"""A small study with files on disk, for the tests of releases and of the command line."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from barrow.ledger import Ledger
from barrow.spaces import Line
from barrow.study import Study, read

USERS = 40
PROMISES = ["all, 5 years, 0.5", "1/10, 20 years, 0.3"]


def write_ages(path: Path, *, users: int = USERS, bad: str | None = None) -> Path:
    """Users with 1 to 5 records each; ``bad`` is appended as a record of its own."""
    rng = np.random.default_rng(7)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["uid", "age"])
        for user in range(users):
            for _ in range(1 + user % 5):
                writer.writerow([f"person-{user}", int(rng.integers(0, 100))])
        if bad is not None:
            writer.writerow(["person-0", bad])
    return path


def ages(path: Path, **options: Any) -> Any:
    return read(str(path), user="uid", item="age", **options)


def make_study(folder: Path, **changes: Any) -> Study:
    study = Study(
        Line(0, 100, unit="years", step=1, cells=True),
        PROMISES,
        users=USERS,
        dataset="ages",
        questions=["mean"],
        data=ages(write_ages(folder / "ages.csv")),
        ledger=str(folder / "ages.ledger"),
    )
    return study.replace(**changes)


def make_ledger(study: Study) -> Ledger:
    return Ledger.create(str(study.ledger), study)
