"""Runs a bundled example as anyone would run a study: promises, ledger, releases, files."""

from __future__ import annotations

import html
import math
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from barrow.demo.examples import Example, bundled, example
from barrow.demo.picture import standing_out
from barrow.errors import ParameterError
from barrow.ledger import Budget, Ledger, SpaceRef
from barrow.numerics import exact_text
from barrow.policy import Policy, odds_upper
from barrow.privacy import Emd
from barrow.release import LostReleaseError, Release, Study, as_linear, write_study

_FEW = 10
"""Up to so many values are given in full; the others are in the files."""


@dataclass(frozen=True)
class DemoResult:
    """What the demo released, and where its files are; all of it may be published.

    Args:
        example: The bundled example.
        folder: The demo's folder.
        policy: What was promised.
        releases: The releases by name.
        left: What is left of alpha in the ledger.
        seconds: How long it took.

    >>> DemoResult.__dataclass_params__.frozen
    True
    """

    example: Example
    folder: Path
    policy: Policy
    releases: Mapping[str, Release]
    left: Fraction
    seconds: float

    @property
    def worst_epsilon(self) -> float:
        """The epsilon, rounded up, if all data of one person were different: that of all releases together."""
        total = math.fsum(release.plan.worst_epsilon for release in self.releases.values())
        return min(math.nextafter(total, math.inf), self.policy.worst_epsilon)

    @property
    def files(self) -> list[str]:
        """Every file of the demo."""
        return sorted(path.as_posix() for path in self.folder.rglob("*") if path.is_file())

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        policy = self.policy.to_json()
        return {
            "data": self.example.name,
            "people": next(iter(self.releases.values())).statement["people"],
            "person": self.example.person,
            "credit": self.example.credit,
            **{name: policy[name] for name in ("promises", "alpha", "delta", "unit", "diameter", "snapping")},
            "releases": [_plain(name, release) for name, release in self.releases.items()],
            "worst_case": {"epsilon": self.worst_epsilon, "odds": odds_upper(self.worst_epsilon)},
            "ledger": {"file": (self.folder / "demo.ledger").as_posix(), "alpha_left": exact_text(self.left)},
            "folder": self.folder.as_posix(),
            "files": self.files,
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        from barrow.demo.words import lines

        return "\n".join(lines(self))

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _plain(name: str, release: Release) -> dict[str, Any]:
    plan, said = as_linear(release.plan), release.statement
    values: dict[str, Any] = {"stand_out": standing_out(plan, release.values)}
    if len(release.values) <= _FEW:
        values = {"values": {row["output"]: row["value"] for row in release.rows()}}
    return {
        "name": name,
        "description": plan.query.description,
        "part": exact_text(plan.study.part),
        "alpha": said["alpha"],
        "outputs": plan.query.dimension,
        **values,
        "unit": plan.query.unit,
        "half_width_95": plan.half_width,
        "half_width_95_all": plan.noise.simultaneous_half_width,
        "worst_case": said["worst_case"],
        "folder": str(release.folder),
        "file": str(release.folder / "values.csv") if release.folder else None,
    }


def run_demo(out: str | Path = "barrow-demo", data: str = "flights") -> DemoResult:
    """Release from bundled data into a new folder: data, studies, ledger, results.

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
        studies = chosen.studies(folder)
        for name, study in studies.items():
            write_study(study, folder / f"study-{name}.toml")
        policy = next(iter(studies.values())).policy
        ledger = Ledger.create(folder / "demo.ledger", _budget(policy, studies))
        releases = {name: study.release(ledger=ledger) for name, study in studies.items()}
        left = ledger.left().loss
    except LostReleaseError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise LostReleaseError(
            "The demo was stopped before it had finished; its folder was removed.", fix="barrow demo"
        ) from error
    except BaseException:
        # Nothing was shown to anyone and the data are public, so a half-made demo may be forgotten, ledger and all.
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return DemoResult(chosen, folder, policy, releases, left, time.perf_counter() - start)


def _budget(policy: Policy, studies: Mapping[str, Study]) -> Budget:
    """All that is promised, and no more; the studies' parts add up to it."""
    study = next(iter(studies.values()))
    return Budget(
        str(study.dataset),
        int(study.users or 0),
        SpaceRef.of(study.space),
        Emd(policy.alpha_exact, policy.delta, model="central"),
    )


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
