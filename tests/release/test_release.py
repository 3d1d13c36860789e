"""Releases: the order of events, what is written, what is refused, and that noise is what the plan said."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from barrow.engines import Source
from barrow.errors import BarrowError, DataError, ParameterError
from barrow.ledger import AlreadyPaidError, Ledger, LedgerIOError, OverBudgetError
from barrow.noise.simulation import SeededSource
from barrow.release import LostReleaseError, Plan, explain, read_statement, statement_text, verify
from barrow.release.run import run_release
from tests.release.helpers import USERS, make_ledger, make_study, write_ages


def true_mean(path) -> Fraction:
    """By hand: the mean over users of each user's mean, on the middle of each year."""
    with open(path) as file:
        rows = list(csv.DictReader(file))
    ages: dict[str, list[Fraction]] = {}
    for row in rows:
        ages.setdefault(row["uid"], []).append(Fraction(int(row["age"])) + Fraction(1, 2))
    return sum((sum(x) / len(x) for x in ages.values()), Fraction(0)) / len(ages)


def test_a_release_from_a_file_to_a_statement(tmp_path):
    study = make_study(tmp_path)
    ledger = make_ledger(study)
    result = study.release()
    plan = study.plan()
    assert result.folder == tmp_path / "out"
    assert sorted(p.name for p in result.folder.iterdir()) == [
        "statement.json", "statement.txt", "values.csv", "values.parquet",
    ]  # fmt: skip
    assert abs(result.values[0] - float(true_mean(tmp_path / "ages.csv"))) < 12 * plan.half_width
    assert (Fraction(float(result.values[0])) / plan.noise.grid).denominator == 1
    said = read_statement(result.folder)
    assert said == json.loads(json.dumps(result.statement))
    assert said["people"] == USERS
    assert said["alpha"] == pytest.approx(float(study.alpha_exact))
    assert said["worst_case"]["epsilon"] == plan.worst_epsilon
    assert {"alpha", "delta", "unit", "theorem", "worst_case", "not_hidden", "definition"} <= set(said)
    for row, promise in zip(said["protected"], study.promises, strict=True):
        assert row["epsilon"] <= float(promise.epsilon) * (1 + 1e-12)
    assert (result.folder / "statement.txt").read_text().strip() == statement_text(said) == result.text
    kinds = [record.kind for record in ledger.records()]
    assert kinds == ["init", "reserve", "commit"]
    assert ledger.left().loss == 30 - study.alpha_exact
    assert all(check.holds for check in verify(result.folder))
    assert "1. The records were read once" in explain(said)
    assert "<table>" in result._repr_html_()
    assert "<table>" in plan._repr_html_()


def test_parquet_and_csv_say_the_same(tmp_path):
    import duckdb

    study = make_study(tmp_path, query={"kind": "density", "bandwidth": "10 years"})
    make_ledger(study)
    result = study.release()
    with open(result.folder / "values.csv") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == result.values.tolist()
    parquet = duckdb.sql(f"SELECT value FROM '{result.folder}/values.parquet'").fetchall()
    assert [x for (x,) in parquet] == result.values.tolist()


def test_statistics_are_exact_and_noise_has_the_planned_scale(tmp_path, monkeypatch):
    """With seeded noise, releases centre on the true mean and spread as planned (half the noise would show)."""
    study = make_study(tmp_path, out=None)
    plan = study.plan()
    truth = float(true_mean(tmp_path / "ages.csv"))
    draw, source = type(plan.noise).draw, SeededSource(5)
    monkeypatch.setattr(
        type(plan.noise), "draw", lambda self, center: replace(draw(self, center, source), private=True)
    )
    ledger = make_ledger(study, 10**6)
    values = np.array([run_release(study, ledger=ledger, key=f"k{i}").values[0] for i in range(100)])
    scale = np.abs(values - truth).mean() / float(plan.noise.scale)
    assert abs(scale - 1.0) < 5 / np.sqrt(100)  # Laplace: the mean of |x| is the scale
    assert not abs(scale * 2.0 - 1.0) < 5 / np.sqrt(100)
    covered = (np.abs(values - truth) <= plan.half_width).mean()
    assert covered > 0.85


def test_seeded_noise_never_leaves(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    make_ledger(study)
    draw, source = type(study.plan().noise).draw, SeededSource(5)
    monkeypatch.setattr(type(study.plan().noise), "draw", lambda self, center: draw(self, center, source))
    with pytest.raises(LostReleaseError, match="Nothing was released"):
        study.release()
    assert not (tmp_path / "out").exists()


def test_running_again_is_already_paid_and_draws_nothing(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    ledger = make_ledger(study)
    study.release()
    monkeypatch.setattr("barrow.mechanisms.additive.AdditiveNoise.draw", _never)
    with pytest.raises(AlreadyPaidError, match="already paid"):
        replace(study, out=str(tmp_path / "again")).release()
    assert not (tmp_path / "again").exists()
    assert [r.kind for r in ledger.records()] == ["init", "reserve", "commit"]


def test_over_budget_nothing_is_drawn_or_written(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    make_ledger(study, 1)
    monkeypatch.setattr("barrow.mechanisms.additive.AdditiveNoise.draw", _never)
    with pytest.raises(OverBudgetError):
        study.release()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ages.csv", "ages.ledger"]


def _never(*_args: object) -> None:
    raise AssertionError("noise was drawn")


def test_the_order_is_read_reserve_draw_commit_write(tmp_path, monkeypatch):
    events = []

    def spy(owner, name):
        original = getattr(owner, name)

        def wrapped(*args, **kwargs):
            events.append(name)
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, wrapped)

    from barrow.engines import DuckDBEngine
    from barrow.ledger import Reservation
    from barrow.mechanisms import AdditiveNoise
    from barrow.release.outputs import OutputFolder

    study = make_study(tmp_path)
    make_ledger(study)
    for owner, name in (
        (DuckDBEngine, "count"), (Ledger, "reserve"), (Reservation, "take"),
        (AdditiveNoise, "draw"), (Ledger, "commit"), (OutputFolder, "publish"),
    ):  # fmt: skip
        spy(owner, name)
    study.release()
    assert events == ["count", "reserve", "take", "draw", "commit", "publish"]


@pytest.mark.parametrize("where", ["draw", "commit", "write"])
@pytest.mark.parametrize("cause", [KeyboardInterrupt, OSError, MemoryError])
def test_an_interrupted_release_says_what_was_spent_and_leaves_nothing_half_written(
    tmp_path, monkeypatch, where, cause
):
    study = make_study(tmp_path)
    ledger = make_ledger(study)

    def fail(*_args, **_kwargs):
        raise cause

    target = {
        "draw": "barrow.mechanisms.additive.AdditiveNoise.draw",
        "commit": "barrow.ledger.ledger.Ledger.commit",
        "write": "barrow.release.outputs.OutputFolder.write",
    }[where]
    monkeypatch.setattr(target, fail)
    with pytest.raises(LostReleaseError, match=r"paid for \(α 8\.33") as error:
        study.release()
    assert error.value.exit_code == 130
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ages.csv", "ages.ledger"]
    assert ledger.left().loss == 30 - study.alpha_exact


def test_a_full_disk_in_the_ledger_releases_nothing(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    make_ledger(study)
    monkeypatch.setattr("barrow.mechanisms.additive.AdditiveNoise.draw", _never)

    def full(*_args, **_kwargs):
        raise LedgerIOError("The disk is full.", fix="make room")

    monkeypatch.setattr(Ledger, "reserve", full)
    with pytest.raises(LedgerIOError):
        study.release()
    assert not (tmp_path / "out").exists()


def test_bad_records_are_refused_before_anything_is_spent(tmp_path):
    for bad in ("secret", "", "999"):
        study = make_study(tmp_path, source=Source.parse(write_ages(tmp_path / "bad.csv", bad=bad)), out=None)
        if not (tmp_path / "ages.ledger").exists():
            make_ledger(study)
        with pytest.raises(DataError) as error:
            study.release()
        assert "secret" not in str(error.value)
        assert "999" not in str(error.value)
    assert len(Ledger.open(str(study.ledger)).records()) == 1
    assert study.users == USERS
    result = replace(study, unknown="default").release()
    assert result.statement["parameters"]["unknown"] == "default"


def test_fewer_users_than_declared_hold_the_default_item_and_more_are_refused(tmp_path):
    study = make_study(tmp_path, users=USERS * 1000, out=None)
    make_ledger(study)
    result = study.release()
    # Nearly everybody holds the default item, the first year, whose middle is 0.5.
    assert abs(result.values[0] - 0.5) < 1.0
    with pytest.raises(DataError, match="more users than"):
        replace(study, users=3).release()


def test_without_users_the_number_found_is_declared_public(tmp_path):
    study = make_study(tmp_path, users=None)
    make_ledger(study)
    result = study.release()
    assert result.statement["people"] == USERS
    assert result.statement["people_declared"] is False
    assert "hereby declared public" in " ".join(result.text.split())


def test_one_user_only_is_refused(tmp_path):
    alone = Source.parse(write_ages(tmp_path / "one.csv", users=1))
    study = make_study(tmp_path, source=alone, users=None)
    make_ledger(study)
    with pytest.raises(DataError, match="single user"):
        study.release()
    with pytest.raises(ParameterError, match="users is 1"):
        replace(study, users=1).plan()


REFUSED = {
    "no ledger": ({"ledger": None}, "names no ledger"),
    "missing ledger": ({"ledger": "nowhere.ledger"}, "no ledger"),
    "no source": ({"source": None}, "names no source"),
    "missing file": ({"source": Source.parse("nowhere/x.csv")}, "no folder"),
    "no columns": ({"user": None}, "which columns"),
    "wrong column": ({"items": ("aged",)}, "age"),
    "no question": ({"query": None}, "asks no question"),
    "wrong question": ({"query": {"kind": "meen"}}, "Did you mean 'mean'"),
    "local": ({"model": "local"}, "adds noise centrally"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_studies_are_refused_before_anything_is_spent(tmp_path, name):
    changes, pattern = REFUSED[name]
    study = make_study(tmp_path)
    make_ledger(study)
    if "model" in changes:
        from barrow.privacy import Model

        changes = {"model": Model(changes["model"])}
    with pytest.raises(BarrowError, match=pattern) as error:
        replace(study, **changes).release()
    assert error.value.fix
    assert len(Ledger.open(str(study.ledger)).records()) == 1
    assert not (tmp_path / "out").exists()


def test_an_output_folder_that_exists_or_cannot_be_made_is_found_first(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    ledger = make_ledger(study)
    monkeypatch.setattr(Plan, "statistics", _never)
    (tmp_path / "out").mkdir()
    with pytest.raises(ParameterError, match="exists"):
        study.release()
    (tmp_path / "file").write_text("x")
    with pytest.raises(ParameterError, match="cannot be made"):
        replace(study, out=str(tmp_path / "file" / "out")).release()
    assert len(ledger.records()) == 1


def test_verify_notices_every_change(tmp_path):
    study = make_study(tmp_path)
    make_ledger(study)
    folder = study.release().folder
    values = folder / "values.csv"
    before = values.read_text()
    values.write_text(before + " ")
    assert {c.what for c in verify(folder) if not c.holds} == {"values.csv", "ledger"}
    values.unlink()
    assert {c.what for c in verify(folder) if not c.holds} == {"values.csv", "ledger"}
    values.write_text(before)
    assert all(c.holds for c in verify(folder))
    (folder / "statement.txt").write_text("We promise everything.")
    assert [c.what for c in verify(folder) if not c.holds] == ["statement.txt"]
    said = read_statement(folder)
    said["parameters"]["alpha"] = "1"
    (folder / "statement.json").write_text(json.dumps(said))
    assert "ledger" in {c.what for c in verify(folder) if not c.holds}
    other = make_study(tmp_path, ledger=str(tmp_path / "other.ledger"))
    make_ledger(other)
    assert [c.finding for c in verify(folder, ledger=other.ledger) if c.what == "ledger"] == ["has no such entry"]


def test_the_guarantee_depends_on_public_parameters_only(tmp_path):
    """The same study on entirely different records makes the same promise, to the letter."""
    study = make_study(tmp_path, out=None)
    ledger = make_ledger(study, 100)
    first = run_release(study, ledger=ledger, key="a")
    other = tmp_path / "other.csv"
    other.write_text("uid,age\n" + "".join(f"x{i},99\n" for i in range(USERS)))
    second = run_release(replace(study, source=Source.parse(other)), ledger=ledger, key="b")
    assert first.guarantee == second.guarantee
    for key in ("alpha", "delta", "protected", "worst_case", "noise", "parameters", "half_width_95"):
        assert first.statement[key] == second.statement[key]


def test_frames_in_python_in_three_lines(tmp_path):
    import pandas

    study = make_study(tmp_path, out=None)
    make_ledger(study)
    frame = pandas.read_csv(tmp_path / "ages.csv")
    result = replace(study, source=Source.of(frame)).release()
    assert result.folder is None
    assert len(result.rows()) == 1
