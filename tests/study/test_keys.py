"""The same question is paid for once, whatever processor or version chose the noise; another question is another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy._core import _multiarray_umath as built

import barrow as bw
from barrow.errors import ParameterError
from barrow.ledger.errors import AlreadyPaidError
from barrow.ledger.state import Record
from barrow.mechanisms import factorisation
from barrow.mechanisms.ellipsoids import least_trace
from barrow.study.keys import AskedRelease, default_key, plain_deep
from barrow.study.release import run_release

RELEASE = """
import json, sys
import barrow as bw
release = bw.Study.read(sys.argv[1]).release(out=sys.argv[2])
print(json.dumps([release.values.tolist(), release.statement.ledger.key, release.statement.parameters]))
"""
PARTS = [{"kind": "region", "center": c, "radius": f"{3 + c % 4} km", "ramp": "6 km"} for c in (5, 12, 30, 33, 50, 59)]
SHAPED = {"kind": "workload", "parts": PARTS, "noise": "gaussian", "name": "places"}


def study(folder: Path, question: object = SHAPED, **options: object) -> bw.Study:
    file = folder / "rides.csv"
    if not file.exists():
        file.write_text("uid,item\n" + "".join(f"p{i % 40},{(i * i) % 61}\n" for i in range(200)))
    given = {
        "users": 50, "dataset": "rides", "missing": "default item", "delta": "1e-6",
        "data": bw.read(str(file), user="uid", item="item"), "ledger": str(folder / "rides.ledger"), **options,
    }  # fmt: skip
    fractions = {"fraction": "0.1"} if isinstance(question, dict) else {}
    asked = {**question, **fractions} if isinstance(question, dict) else question
    return bw.Study(bw.Line(0, 60, unit="km", step=1), ["all, 6 km, 0.5"], questions=[asked], **given)  # type: ignore[arg-type]


def paid(ledger: bw.Ledger) -> list[str]:
    return [record.data["key"] for record in ledger.records() if record.kind == "reserve"]


@pytest.fixture(autouse=True)
def afresh() -> None:
    factorisation.factorisations.cache_clear()


def chosen_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a processor or a version found other strategies."""
    monkeypatch.setattr(factorisation, "least_trace", lambda rows, far: least_trace(rows, far, gap=1.3))
    factorisation.factorisations.cache_clear()


def test_an_older_processor_does_not_pay_again(tmp_path):
    request = study(tmp_path)
    request.write(tmp_path / "study.toml")
    ledger = bw.Ledger.create(str(request.ledger), request)
    newer = [name for name in built.__cpu_dispatch__ if built.__cpu_features__.get(name)]
    older = {"NPY_DISABLE_CPU_FEATURES": " ".join(newer), "OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "1"}
    told = []
    for environment, place in ({}, "first"), (older, "second"):
        command = [sys.executable, "-c", RELEASE, str(tmp_path / "study.toml"), str(tmp_path / place)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=True)
        told.append(json.loads(done.stdout))
    assert told[0] == told[1]
    assert len(paid(ledger)) == 1
    assert all(check.holds for check in bw.verify(tmp_path / "first", ledger=ledger))


def test_another_choice_of_noise_shows_what_was_released(tmp_path, monkeypatch):
    request = study(tmp_path)
    ledger = bw.Ledger.create(str(request.ledger), request)
    first = request.release(out=tmp_path / "first")
    chosen_elsewhere(monkeypatch)
    assert AskedRelease.of(request, request.plan(), request.abouts(request.question())[0][0]).key != paid(ledger)[0]
    again = request.release(out=tmp_path / "second")
    assert again.values.tolist() == first.values.tolist()
    assert again.statement.parameters == first.statement.parameters
    assert len(paid(ledger)) == 1
    assert len(request.release(out=tmp_path / "third", key="fresh").values) == len(PARTS)  # a typed key pays
    assert len(paid(ledger)) == 2
    assert request.release(out=tmp_path / "fourth").values.tolist() == first.values.tolist()


def test_paid_and_undrawn_is_not_drawn_with_other_noise(tmp_path, monkeypatch):
    request = study(tmp_path)
    ledger = bw.Ledger.create(str(request.ledger), request)

    def killed(stage: str) -> None:
        if stage == "draw":
            raise KeyboardInterrupt

    with pytest.raises(BaseException, match="interrupted"):
        run_release(request, request.question(), out=tmp_path / "first", stages=killed)
    with monkeypatch.context() as elsewhere:
        chosen_elsewhere(elsewhere)
        with pytest.raises(ParameterError, match="interrupted before it was drawn, with other noise"):
            request.release(out=tmp_path / "second")
    factorisation.factorisations.cache_clear()
    assert len(paid(ledger)) == 1
    assert request.release(out=tmp_path / "first").statement.parameters == ledger.records()[1].data["parameters"]
    assert len(paid(ledger)) == 1


def test_a_payment_that_came_in_between_is_seen_under_the_lock(tmp_path):
    request = study(tmp_path)
    ledger = bw.Ledger.create(str(request.ledger), request)

    def other_first(stage: str) -> None:
        if stage == "reserve":
            with pytest.MonkeyPatch.context() as elsewhere:
                chosen_elsewhere(elsewhere)
                request.release(out=tmp_path / "other")

    with pytest.raises(AlreadyPaidError):
        run_release(request, request.question(), out=tmp_path / "mine", stages=other_first)
    factorisation.factorisations.cache_clear()
    assert len(paid(ledger)) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"kind": "distance", "to": 3}, {"kind": "distance", "to": 4}),
        ({"kind": "function", "values": np.arange(61.0).tolist()}, {"kind": "function", "values": [0.5] * 60 + [1]}),
        (SHAPED, {**SHAPED, "parts": PARTS[:-1]}),
        (SHAPED, {**SHAPED, "noise": "laplace"}),
        (SHAPED, {**SHAPED, "name": "places-2"}),
        ("mean", "median"),
    ],
    ids=["distance", "function", "parts", "noise", "name", "kind"],
)  # fmt: skip
def test_another_question_is_paid_for(tmp_path, first, second):
    if second == "median":
        first, second = {"kind": "mean", "name": "m"}, {"kind": "quantile", "name": "m"}
    request = study(tmp_path, first)
    ledger = bw.Ledger.create(str(request.ledger), request)
    request.release(out=tmp_path / "first")
    study(tmp_path, second).release(out=tmp_path / "second")
    assert len(set(paid(ledger))) == 2


def test_other_terms_and_records_are_paid_for(tmp_path):
    request = study(tmp_path)
    ledger = bw.Ledger.create(str(request.ledger), request)
    request.release(out=tmp_path / "first")
    copy = tmp_path / "other.csv"
    copy.write_text((tmp_path / "rides.csv").read_text())
    question = {**SHAPED, "fraction": "0.2"}
    for k, changed in enumerate(
        [request.replace(questions=[question]), request.replace(data=bw.read(str(copy), user="uid", item="item"))]
    ):
        changed.release(out=tmp_path / f"more{k}")
    assert len(set(paid(ledger))) == 3


@pytest.mark.parametrize("beside", [{"reads": "2026-01", "pool": "records"}, {"hidden": ["region"]}, {"periods": 12}])
def test_what_was_about_less_is_not_the_answer_to_what_is_about_everything(tmp_path, beside):
    """A payment that names more than is asked now, such as a month, was for something else."""
    request = study(tmp_path, "mean")
    asked = AskedRelease.of(request, request.plan(), request.abouts(request.question())[0][0])

    def paid_for(parameters: dict[str, object]) -> Record:
        data = {"question": asked.label, "parameters": parameters, "key": default_key(asked.label, parameters)}
        return Record(2, "reserve", "", "", "", data, "")

    known = json.loads(json.dumps(asked.public))
    assert asked.earlier([paid_for(known)]) is not None
    assert asked.earlier([paid_for({**known, **beside})]) is None


def test_long_tables_inside_a_question_are_told_apart():
    """Written as text, arrays of more than a thousand numbers leave out what is in the middle."""
    values = np.zeros(1500)
    told = plain_deep({"parts": ({"kind": "function", "values": values},)})
    values[700] = 1.0
    assert told != plain_deep({"parts": ({"kind": "function", "values": values},)})
    assert json.loads(json.dumps(told)) == told == {"parts": [{"kind": "function", "values": [0.0] * 1500}]}
