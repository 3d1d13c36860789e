"""Runs a bundled example as anyone would run a study: promises, ledger, releases, files."""

from __future__ import annotations

import html
import math
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from barrow.demo.examples import Example, bundled, example
from barrow.demo.picture import standing_out
from barrow.demo.words import lines
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.numerics import exact_text, float_up
from barrow.promises import Policy, odds_upper
from barrow.questions import Answer
from barrow.questions.answer import Sample
from barrow.study import LostReleaseError, Release, Study

_FEW = 10
"""Up to so many values are given in full; the others are in the files."""


@dataclass(frozen=True)
class Shown:
    """One release of the demo, how it compares, and how wrong it really is.

    Attributes:
        release: The release.
        plan: Its plan.
        true_error: The largest distance of a released value from the true one; known because the data are public.
        ratio: The comparison with user-level DP that keeps the same promises, in words.
    """

    release: Release
    plan: Answer
    true_error: float
    ratio: str


@dataclass(frozen=True)
class DemoResult:
    """What the demo released, and where its files are; all of it may be published.

    Args:
        example: The bundled example.
        folder: The demo's folder.
        study: The study.
        shown: The releases by name.
        seconds: How long it took.

    >>> DemoResult.__dataclass_params__.frozen
    True
    """

    example: Example
    folder: Path
    study: Study
    shown: Mapping[str, Shown]
    seconds: float

    @property
    def policy(self) -> Policy:
        """What was promised."""
        return self.study.policy

    @property
    def worst_epsilon(self) -> float:
        """The epsilon, rounded up, if all data of one person were different: that of all releases together."""
        total = math.fsum(shown.plan.worst_epsilon for shown in self.shown.values())
        return math.nextafter(total, math.inf)

    @property
    def files(self) -> list[str]:
        """Every file of the demo."""
        return sorted(path.as_posix() for path in self.folder.rglob("*") if path.is_file())

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        policy = self.policy.to_json()
        return {
            "data": self.example.name,
            "people": self.study.users,
            "person": self.example.person,
            "credit": self.example.credit,
            **{name: policy[name] for name in ("promises", "alpha", "delta", "unit", "diameter", "snapping")},
            "releases": [_plain(name, shown) for name, shown in self.shown.items()],
            "worst_case": {
                "epsilon": self.worst_epsilon,
                "odds": odds_upper(self.worst_epsilon, float_up(self.policy.delta)),
            },
            "ledger": {"file": str(self.study.ledger)},
            "folder": self.folder.as_posix(),
            "files": self.files,
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        return "\n".join(lines(self))

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _plain(name: str, shown: Shown) -> dict[str, Any]:
    plan, release, statement = shown.plan, shown.release, shown.release.statement
    values: dict[str, Any] = {"stand_out": standing_out(plan, release.values)}
    if len(release.values) <= _FEW:
        values = {"values": {row["output"]: row["value"] for row in release.rows()}}
    return {
        "name": name,
        "description": plan.description,
        "fraction": exact_text(plan.terms.fraction),
        "alpha": statement.alpha,
        "outputs": statement.answer.outputs,
        **values,
        "unit": statement.answer.unit,
        "half_width_95": statement.answer.half_width_95,
        "half_width_95_all": statement.answer.half_width_95_all,
        "true_error_largest": shown.true_error,
        "compared": shown.ratio,
        "worst_case": msgspec.to_builtins(statement.worst_case),
        "folder": str(release.folder),
        "file": str(release.folder / "values.csv"),
    }


def run_demo(out: str | Path = "barrow-demo", data: str = "flights") -> DemoResult:
    """Release from bundled data into a new folder: data, study, ledger, results.

    Args:
        out: The folder; it must not exist. If anything fails it is removed again.
        data: ``"flights"`` or ``"shakespeare"``.

    >>> run_demo(data="storms")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: There is no bundled data set 'storms'.
      allowed: flights, shakespeare
      fix:     barrow demo --data flights
    """
    start = time.perf_counter()
    chosen, folder = example(data), Path(out)
    _make(folder)
    try:
        for name in chosen.files:
            (folder / name).write_bytes(bundled(name).read_bytes())
        study = chosen.study(folder).replace(folder=folder)
        study.write(folder / "study.toml")
        Ledger.create(str(study.ledger), study)
        shown = {question.label: _shown(study, question.label, folder) for question in study.questions}
    except LostReleaseError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise LostReleaseError(
            "The demo was stopped before it had finished; its folder was removed.", fix="barrow demo"
        ) from error
    except BaseException:
        # Nothing was shown to anyone and the data are public, so a half-made demo may be forgotten, ledger and all.
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return DemoResult(chosen, folder, study, shown, time.perf_counter() - start)


def _shown(study: Study, name: str, folder: Path) -> Shown:
    release = study.release(name, out=folder / name)
    plan, data = release.plan, study.data
    # Only because these data are public may the truth be looked at; barrow itself never shows it.
    if plan is None or data is None:
        raise ParameterError("The demo shows linear questions.", allowed="mean, distance, density, …")
    exact = plan.statistics(data.count(data.engine(), plan.terms.space, plan.terms.users)).approximation
    truth = np.array([row["value"] for row in plan.tables(Sample(exact))["values"]])
    return Shown(release, plan, float(np.abs(release.values - truth).max()), study.compare(name).sentence)


def _make(folder: Path) -> None:
    if folder.exists():
        raise ParameterError(
            f"The folder {str(folder)!r} exists.",
            allowed="a new folder, so that nothing is overwritten",
            fix=f"barrow demo --out {_free(folder)}",
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except OSError as error:
        raise ParameterError(
            f"The folder {str(folder)!r} cannot be made: {error.strerror}.",
            allowed="a folder that can be written",
            fix="barrow demo --out with another folder",
        ) from None


def _free(folder: Path) -> Path:
    """The first name that is free: barrow-demo-2, barrow-demo-3 and so on."""
    number = 2
    while folder.with_name(f"{folder.name}-{number}").exists():
        number += 1
    return folder.with_name(f"{folder.name}-{number}")
