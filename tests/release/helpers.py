"""A small study with files on disk, for the tests of releases and of the command line."""

from __future__ import annotations

import csv
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from barrow.engines import Source
from barrow.ledger import Budget, Ledger, SpaceRef
from barrow.policy import Promise
from barrow.privacy import Emd
from barrow.release import Study
from barrow.spaces import Line

USERS = 40


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


def make_study(folder: Path, **changes: object) -> Study:
    study = Study(
        Line(0, 100, unit="years", step=1),
        promises=(Promise("all", "5 years", "0.5"), Promise("1/10", "20 years", "0.3")),
        query={"kind": "mean"},
        source=Source.parse(write_ages(folder / "ages.csv")),
        user="uid",
        items=("age",),
        dataset="ages",
        users=USERS,
        ledger=str(folder / "ages.ledger"),
        out=str(folder / "out"),
    )
    return replace(study, **changes)


def make_ledger(study: Study, alpha: object = 30, *, delta: object = 0) -> Ledger:
    budget = Budget(
        study.dataset or "ages",
        study.users or USERS,
        SpaceRef.of(study.space),
        Emd(Fraction(str(alpha)), delta, model="central"),
    )
    return Ledger.create(str(study.ledger), budget)
